"""d2lmulti/one_file.py is all of the core chapters, and runs alone."""

import gzip
import re
import shutil

import mxnet as mx
import numpy as onp
import pytest
from helpers import (
    SUPPORT_NEWER_PYTHON,
    minibatch,
    minibatches,
    reference_steps,
    replicas_on,
    roundings,
    run,
)

import d2lmulti
from d2lmulti import one_file
from tools.notebooks.one_file import TARGET, short
from tools.notebooks.one_file import one_file as written

TEXT = TARGET.read_text()


def test_it_is_what_make_export_writes():
    assert written() == TEXT, 'run make export'


def test_it_fits_a_screen_and_needs_nothing_of_ours():
    assert max(map(len, TEXT.splitlines())) < 80
    imports = re.findall(r'^ *(?:import|from) ([\w.]+)', TEXT, re.MULTILINE)
    assert {name for name in imports if name not in ('mxnet', 'numpy')} == {
        'gzip',
        'os',
        'pathlib',
        'sys',
        'time',
    }
    assert 'check_' not in TEXT


def test_a_function_loses_its_checks_and_the_rest_of_its_docstring():
    source = (
        'def f(x):\n    """Do it, to all; or not.\n\n    More."""\n'
        '    check_f(\n        x)\n    return g(x)'
    )
    right = 'def f(x):\n    """Do it, to all."""\n    return g(x)'
    assert short(source) == right


def assert_same_steps(k, sizes):
    devices = [mx.cpu(i) for i in range(k)]
    replicas = replicas_on(devices, 'float64')
    for X, y in minibatches(sizes):
        one_file.train_batch(
            X, y, replicas, devices, 0.1, allreduce=one_file.allreduce
        )
    for params in replicas:
        assert roundings(params, reference_steps(sizes)) <= 1


@pytest.mark.parametrize('k, sizes', [(1, (61,)), (2, (61, 7)), (3, (5,))])
def test_its_step_is_that_of_one_device(k, sizes):
    assert_same_steps(k, sizes)


@pytest.mark.parametrize('k', [1, 2])
def test_it_trains_to_the_bits_of_the_chapters(k):
    devices = [mx.cpu(i) for i in range(k)]
    data = [array.asnumpy() for array in minibatch(44) * 2]
    replicas, _ = one_file.train(devices, *data, batch_size=16, epochs=2)
    result = d2lmulti.train(k, 16, 0.2, num_epochs=2, data=data)
    for params, right in zip(replicas, result.device_params):
        for param, other in zip(params, right):
            assert (param.asnumpy() == other.asnumpy()).all()


def write_data(folder, num_rows=40):
    """Write the first of the bundled images and labels."""
    for path in d2lmulti.datasets.fashion_mnist.BUNDLED_FOLDER.glob('*.gz'):
        head, size = (16, 784) if 'images' in path.name else (8, 1)
        content = gzip.decompress(path.read_bytes())[: head + num_rows * size]
        (folder / path.name).write_bytes(gzip.compress(content, 1))


ALONE = """
import runpy, sys

class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] in ('d2lmulti', 'matplotlib', 'psutil', 'tqdm'):
            raise ImportError(f'{name} is not installed')

sys.meta_path.insert(0, Nothing())
sys.argv[1:] = [FOLDER]
runpy.run_path(COPY, run_name='__main__')
"""


def test_a_copy_of_it_runs_alone(tmp_path):
    write_data(tmp_path)
    copy = shutil.copy(TARGET, tmp_path / 'copied.py')
    code = f'FOLDER, COPY = {str(tmp_path)!r}, {str(copy)!r}\n' + ALONE
    process = run(SUPPORT_NEWER_PYTHON + code)
    assert process.returncode == 0, process.stderr
    *epochs, speedup = process.stdout.splitlines()
    starts = ['[cpu(0)]: accuracy 0.'] * 5 + [
        '[cpu(0), cpu(1)]: accuracy 0.'
    ] * 5
    assert [line[: len(s)] for line, s in zip(epochs, starts)] == starts
    assert re.fullmatch(r'speedup: [\d.]+ s / [\d.]+ s = [\d.]+', speedup)


def test_without_images_it_says_what_is_missing(tmp_path):
    with pytest.raises(AssertionError, match='four .gz files'):
        one_file.main(tmp_path)


def test_its_data_set_is_that_of_the_chapters():
    folder = d2lmulti.datasets.fashion_mnist.BUNDLED_FOLDER
    assert one_file.main.__defaults__ == (folder,)
    arrays = map(one_file.read, sorted(folder.glob('*.gz')))
    X, y, X_test, y_test = d2lmulti.read_fashion_mnist()
    for array, right in zip(arrays, (X_test, y_test, X, y)):
        assert array.dtype == right.dtype
        assert onp.array_equal(array, right)
