"""Write d2lmulti/one_file.py: all of two-device training in one file.

    python -m tools.notebooks.one_file

What it needs of the core chapters' taught cells stands between the two texts
below, in the chapters' order and without the checks of arguments. `make
export` calls this.
"""

import ast
import functools
import re

from . import NOTEBOOKS, ROOT, name_of, number_of, path_of
from .cells import code_cells, read_chapter, tags
from .names import needed_for

CORE = ['devices', 'network', 'replicas', 'data', 'training']
TARGET = ROOT / 'd2lmulti' / 'one_file.py'
BEGIN = '''\
"""Training on one device and on two: all of it, from chapters 1 to 5.

`python one_file.py FOLDER`, where Fashion-MNIST's four .gz files are, needs
MXNet and NumPy alone; from Python 3.12 or NumPy 1.24 on, MXNet needs d2lmulti:
python -m d2lmulti.one_file.
"""
import gzip
import os
import pathlib
import sys
import time

# Else CPU devices would wait for each other: see chapter 6.
os.environ.update(OMP_NUM_THREADS='1', MXNET_EXEC_BULK_EXEC_TRAIN='0',
                  MXNET_CPU_TEMP_COPY='64')

import mxnet as mx
import numpy as onp
from mxnet import autograd, np, npx
npx.set_np()
'''
END = '''
# What runs it
def read(path):
    data = onp.frombuffer(gzip.decompress(path.read_bytes()), 'uint8')
    if 'labels' in path.name:
        return data[8:].astype('int32')
    return data[16:].reshape(-1, 1, 28, 28).astype('float32') / 255

def train(devices, X, y, X_test, y_test, batch_size=256, lr=0.2, epochs=5):
    """Return the replicas and the median of the seconds of an epoch."""
    replicas, seconds = [get_params(init_params(), d) for d in devices], []
    for epoch in range(epochs):
        order = onp.random.RandomState([0, epoch]).permutation(len(X))
        start = time.perf_counter()
        for rows in onp.split(order, range(batch_size, len(X), batch_size)):
            train_batch(np.array(X[rows]), np.array(y[rows]), replicas,
                        devices, lr)
            npx.waitall()
        seconds.append(time.perf_counter() - start)
        scores = lenet(np.array(X_test[:2048]), replicas[0]).asnumpy()
        accuracy = (scores.argmax(axis=1) == y_test[:2048]).mean()
        print(f'{devices}: accuracy {accuracy:.2f} in {seconds[-1]:.1f} s')
    return replicas, onp.median(seconds)

def main(folder=pathlib.Path(__file__).parent / 'datasets' / 'fashion_mnist'):
    files = sorted(pathlib.Path(folder).glob('*.gz'))
    assert len(files) == 4, f'no Fashion-MNIST (four .gz files) in {folder}'
    X_test, y_test, X, y = map(read, files)
    device = mx.gpu if mx.context.num_gpus() > 1 else mx.cpu
    _, one = train([device(0)], X, y, X_test, y_test)
    _, two = train([device(0), device(1)], X, y, X_test, y_test)
    print(f'speedup: {one:.2f} s / {two:.2f} s = {one / two:.2f}')

if __name__ == '__main__':
    main(*sys.argv[1:])
'''


@functools.lru_cache(maxsize=None)
def taught_cells(name):
    """Return the cells that a student types: exported and not folded."""
    return [
        cell.source
        for cell in code_cells(read_chapter(path_of(name)))
        if cell.source.startswith('#| export\n')
        and 'hide-input' not in tags(cell)
    ]


def definitions(name):
    """Return {name: source} of the functions and classes of a chapter."""
    return {
        node.name: ast.get_source_segment(source, node)
        for source in taught_cells(name)
        for node in ast.parse(source).body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef))
    }


def short(source):
    """Return a function without its checks, with one sentence about it."""
    function, lines = ast.parse(source).body[0], source.splitlines()
    for node in ast.walk(function):
        if is_check(node):
            lines[node.lineno - 1 : node.end_lineno] = [None] * (
                node.end_lineno - node.lineno + 1
            )
    text = ast.get_docstring(function)
    if text:
        first = re.match(r'.*?(?=[.;](\s|$))', text, re.DOTALL)[0]
        docstring = function.body[0]
        sentence = f'    """{first}."""'.replace('\n', '\n    ').splitlines()
        lines[docstring.lineno - 1 : docstring.end_lineno] = sentence
    return '\n'.join(line for line in lines if line is not None)


def is_check(node):
    """Return whether a statement does nothing but check arguments."""
    call = node.value if isinstance(node, ast.Expr) else None
    name = getattr(getattr(call, 'func', None), 'id', '')
    return name.startswith('check_')


def one_file():
    """Return the text of d2lmulti/one_file.py."""
    taught = {name: definitions(name) for name in CORE}
    everything = {k: v for each in taught.values() for k, v in each.items()}
    own = {  # which the file has in its own words
        node.name
        for node in ast.parse(END).body
        if isinstance(node, ast.FunctionDef)
    }
    others = [everything[name] for name in everything if name not in own]
    used = needed_for([END], others)
    parts = [BEGIN]
    for path in NOTEBOOKS:
        sources = taught.get(name_of(path.stem), {})
        number = number_of(path.stem)
        kept = [short(source) for source in sources.values() if source in used]
        if kept:
            parts.append(f'# Chapter {number}\n' + '\n\n'.join(kept) + '\n')
    return '\n'.join(parts) + END


if __name__ == '__main__':
    TARGET.write_text(one_file(), encoding='utf-8')
