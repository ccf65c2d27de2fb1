"""What a student's code sees and reaches in an isolated kernel."""

import os
import pathlib
import socket
import tempfile

import nbformat
import pytest

pytest.importorskip('nbgrader', reason='make grading')
from nbclient import NotebookClient  # noqa: E402
from traitlets.config import Config  # noqa: E402

from tools.grading import isolated  # noqa: E402
from tools.grading.isolated import IsolatedKernelManager  # noqa: E402

ROOT = str(pathlib.Path(isolated.__file__).parents[2])
try:
    isolated.check_bubblewrap()
except RuntimeError as error:
    pytest.skip(str(error), allow_module_level=True)


def run(folder, *sources, **options):
    """Return the outputs of cells, the last error or stdout of each."""
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source) for source in sources]
    )
    NotebookClient(
        notebook,
        kernel_manager_class=IsolatedKernelManager,
        kernel_name='python3',
        allow_errors=True,
        resources={'metadata': {'path': str(folder)}},
        **options,
    ).execute()
    return [
        ''.join(o.get('text', o.get('ename', '')) for o in cell.outputs)
        for cell in notebook.cells
    ]


def test_it_reaches_the_book_and_its_folder_and_nothing_else(
    tmp_path, monkeypatch
):
    monkeypatch.setenv('D2LMULTI_SECRET_FOR_TEST', 'x')
    others = tmp_path / 'submitted' / 'bob'
    others.mkdir(parents=True)
    own = tmp_path / 'autograded' / 'ann'
    own.mkdir(parents=True)
    hidden = [
        f'{ROOT}/tools/grading',
        f'{ROOT}/tools/notebooks',
        f'{ROOT}/notebooks',
        f'{ROOT}/tests',
        f'{ROOT}/.git',
        str(others),
        os.path.expanduser('~/.ssh'),
        '/etc/passwd',
        tempfile.mkdtemp(),
    ]
    with socket.socket() as server:
        server.bind(('127.0.0.1', 0))
        server.listen()
        port = server.getsockname()[1]
        said = run(
            own,
            'import d2lmulti; from mxnet import np; print(np.ones(3).sum())',
            "open('mine.txt', 'w').write('x'); print('written')",
            "import tempfile; print(tempfile.TemporaryFile().write(b'xy'))",
            f'import os; print([p for p in {hidden!r} if os.path.exists(p)])',
            "print(sum(name.isdigit() for name in os.listdir('/proc')) < 5)",
            "print('D2LMULTI_SECRET_FOR_TEST' in os.environ)",
            "open(d2lmulti.__file__, 'a').write('#')",
            'import socket\n'
            f"socket.create_connection(('127.0.0.1', {port}), 5)",
            'server = socket.create_server(("127.0.0.1", 0))\n'
            'socket.create_connection(server.getsockname(), 5)\n'
            "print('connected')",
        )
    assert (own / 'mine.txt').read_text() == 'x'
    assert said[:3] == ['3.0\n', 'written\n', '2\n']
    assert said[3:6] == ['[]\n', 'True\n', 'False\n']
    assert said[6:] == ['OSError', 'ConnectionRefusedError', 'connected\n']


def test_a_cell_that_does_not_end_is_interrupted(tmp_path):
    endless, after = run(
        tmp_path,
        'while True: pass',
        "print('next')",
        timeout=3,
        interrupt_on_timeout=True,
        error_on_timeout={'ename': 'T', 'evalue': 'late', 'traceback': []},
    )
    assert after == 'next\n'


def test_memory_is_limited(tmp_path):
    config = Config(IsolatedKernelManager=dict(megabytes=1000))
    said, after = run(
        tmp_path,
        'x = bytearray(2 * 10**9)',
        "print('next')",
        config=config,
    )
    assert (said, after) == ('MemoryError', 'next\n')


def test_where_bubblewrap_is_not_it_says_what_to_do(monkeypatch):
    monkeypatch.setenv('PATH', '/nowhere')
    with pytest.raises(RuntimeError, match='apt-get install bubblewrap'):
        isolated.check_bubblewrap()
