"""Make a JupyterLite that runs chapters 1 to 5 in a browser.

    python -m tools.site.make_lite build/lite

Python there is Pyodide, which the browser loads from PYODIDE, with NumPy and
matplotlib; JUPYTERLITE_PYODIDE_URL=pyodide.tar.bz2 bundles it instead. MXNet
is numpy_mxnet. Both packages of ours are wheels in the folder, and the first
cell of a chapter installs them.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell

from tools.notebooks import NOTEBOOKS
from tools.notebooks.cells import code_cells, small_source

ROOT = pathlib.Path(__file__).parents[2]
JUPYTER_LITE = ROOT / 'build/lite-env/bin/jupyter-lite'
# The newest that could be tried: no index of packages has NumPy for later
# ones. tools/setup/lite.txt has the JupyterLite that goes with it.
PYODIDE = 'https://cdn.jsdelivr.net/pyodide/v0.27.7/full/pyodide.js'
OTHERS = ['comm==0.2.2', 'tqdm==4.66.2']  # which no browser must ask PyPI for
NOTE = """\
**In the browser.** This page runs the chapter without installing anything: \
with `numpy_mxnet` in the place of MXNet, and in one thread. So nothing is \
faster here. Two devices take as long as one, the speedup is about 1, and \
nothing overlaps. What is computed is the same: what is equal on your \
computer, bit for bit or up to rounding, is equal here. Training is shorter \
than the text says, one epoch of 1,024 images: a browser takes about as long \
for it as a computer for the whole. For the speedup, install the book.

Run the first cell once after each start, then cell by cell with Shift+Enter: \
*Run All Cells* ends at the first exercise that is still open. What you write \
is kept in this browser only: *File > Download* saves it."""
INSTALL = '%pip install -q d2lmulti numpy_mxnet'


def write_contents(folder):
    """Write what the reader sees into a folder: the chapters, each with a
    cell more, and what they show and link to."""
    notebooks = folder / 'notebooks'
    notebooks.mkdir(parents=True)
    for path in NOTEBOOKS[:5]:
        chapter = nbformat.read(path, as_version=4)
        chapter.metadata.kernelspec = {
            'name': 'python',
            'display_name': 'Python (Pyodide)',
            'language': 'python',
        }
        title, *cells = chapter.cells
        for cell in code_cells(chapter):
            cell.source = small_source(cell)
            # else JupyterLite mixes old outputs and new ones
            cell.update(outputs=[], execution_count=None)
        chapter.cells = [
            title,
            new_markdown_cell(NOTE, id='in-the-browser'),
            new_code_cell(INSTALL, id='install'),
            *cells,
        ]
        nbformat.write(chapter, notebooks / path.name)
    shutil.copytree(ROOT / 'img', folder / 'img')
    (folder / 'tools/site').mkdir(parents=True)
    shutil.copy(ROOT / 'tools/site/rounding.md', folder / 'tools/site')


def make_wheels(folder):
    """Build the wheels of d2lmulti and numpy_mxnet, and fetch the others;
    return their paths."""
    pip = [JUPYTER_LITE.with_name('python'), '-m', 'pip', 'download']
    run([*pip, '--no-deps', '--dest', folder, *OTHERS])
    for project in (ROOT, ROOT / 'numpy_mxnet'):
        run(
            [sys.executable, '-m', 'build', '--no-isolation', '--wheel']
            + ['--outdir', folder, project]
        )
    return sorted(folder.glob('*.whl'))


def run(command, folder=None):
    """Run a command in a folder; what it says is shown only if it fails."""
    done = subprocess.run(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        sys.exit(done.stdout)


def make_lite(target):
    """Write the site into the folder `target`."""
    with tempfile.TemporaryDirectory() as name:
        lite = pathlib.Path(name)
        write_contents(lite / 'contents')
        kernel = '@jupyterlite/pyodide-kernel-extension:kernel'
        settings = {
            'jupyter-lite-schema-version': 0,
            'jupyter-config-data': {
                'appName': 'Training on multiple GPUs, from scratch',
                'litePluginSettings': {kernel: {'pyodideUrl': PYODIDE}},
            },
        }
        (lite / 'jupyter-lite.json').write_text(json.dumps(settings))
        wheels = [
            f'--piplite-wheels={wheel}' for wheel in make_wheels(lite / 'dist')
        ]
        shutil.rmtree(target, ignore_errors=True)
        run(
            [JUPYTER_LITE, 'build', '--lite-dir', lite, '--apps', 'lab']
            + ['--contents', lite / 'contents', '--no-sourcemaps']
            + ['--output-dir', pathlib.Path(target).resolve()]
            + wheels,
            lite,  # where it leaves a database
        )


if __name__ == '__main__':
    make_lite(sys.argv[1])
