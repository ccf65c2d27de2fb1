"""The notebook for Colab: it installs the book and runs chapter 1's start."""

import os
import pathlib
import re
import runpy
import subprocess
import sys
import types

import helpers
import nbformat
import pytest
from nbclient import NotebookClient

ROOT = pathlib.Path(__file__).parents[3]
COLAB = nbformat.read(ROOT / 'tools/setup/colab.ipynb', 4)
CHAPTER = nbformat.read(ROOT / 'notebooks/01_devices.ipynb', 4)
# What Colab has that matters here.
PREINSTALLED = """
    numpy==2.0.2 matplotlib==3.10.0 ipykernel==6.17.1 ipython==7.34.0
    pandas==2.2.2 scipy==1.16.3 psutil==5.9.5 requests==2.32.4 tqdm==4.67.1
""".split()


def sources(notebook):
    """Return {id: source} of the code cells."""
    return {
        cell.id: cell.source
        for cell in notebook.cells
        if cell.cell_type == 'code'
    }


def test_its_cells_are_those_of_chapter_1():
    colab, chapter = sources(COLAB), sources(CHAPTER).values()
    assert colab['colab-devices'] in chapter
    assert colab['colab-operators'] in chapter
    imports = '\n'.join(chapter).splitlines()
    assert set(colab['colab-import'].splitlines()) <= set(imports)


def test_it_stores_no_output_and_no_address():
    assert all(
        not cell.outputs and cell.execution_count is None
        for cell in COLAB.cells
        if cell.cell_type == 'code'
    )
    assert "REPOSITORY = ''" in sources(COLAB)['colab-address']


def test_a_chapter_is_set_up_as_this_notebook_is():
    """The lines that it prints for chapters are those that it runs."""
    lines = sources(COLAB)['colab-install'].splitlines()
    install = [line for line in lines if line.startswith('!')]
    assert len(install) == 2
    printed = sources(COLAB)['colab-links']
    for line in install:
        assert f"'{line}'" in printed


def links_of(source, folder):
    """Return the links that the last cell prints, from another folder."""
    (folder / 'multi-gpu-book').symlink_to(ROOT)
    output = subprocess.run(
        [sys.executable, '-c', f"REPOSITORY = '{GITHUB}book'\n{source}"],
        cwd=folder,
        text=True,
        check=True,
        stdout=subprocess.PIPE,
    ).stdout
    return [line for line in output.splitlines() if '://' in line][1:]


GITHUB = 'https://github.com/someone/'
LINK = 'https://colab.research.google.com/github/someone/book/blob/student/'


def assert_all_chapters_have_links(source, folder):
    """But those that need other frameworks than Colab has."""
    chapters = sorted((ROOT / 'notebooks').glob('*.ipynb'))
    others = [path for path in chapters if helpers.needs_frameworks(path)]
    assert len(others) == 1
    assert links_of(source, folder) == [
        f'{LINK}notebooks/{path.name}'
        for path in chapters
        if path not in others
    ]


def test_every_chapter_that_runs_on_colab_has_a_link(tmp_path):
    assert_all_chapters_have_links(sources(COLAB)['colab-links'], tmp_path)


def test_it_takes_the_versions_of_the_lock_and_no_dependencies():
    """Colab's NumPy would be replaced otherwise."""
    script = (ROOT / 'tools/setup/colab.sh').read_text()
    commands = re.findall(r'^python3 -m pip (.*)', script, re.MULTILINE)
    assert commands == [
        'install -q --no-deps -r tools/setup/cpu.in ./samestep .'
    ]
    lock = (ROOT / 'tools/setup/locks/cpu.txt').read_text()
    pins = re.findall(
        r'^[\w.-]+==.+$',
        (ROOT / 'tools/setup/cpu.in').read_text(),
        re.MULTILINE,
    )
    assert {pin.split('==')[0] for pin in pins} == {'d2l', 'mxnet'}
    pinned = {
        line.split(' ;')[0].split(' \\')[0] for line in lock.splitlines()
    }
    assert {pin.split(';')[0] for pin in pins} <= pinned


@pytest.mark.parametrize(
    'host, offered', [('github.com', True), ('gitlab.com', False)]
)
def test_the_site_offers_colab_if_the_book_is_on_github(
    host, offered, monkeypatch
):
    pytest.importorskip('sphinxcontrib.bibtex', reason='it needs Python 3.11')
    monkeypatch.setenv('D2LMULTI_REPOSITORY', f'https://{host}/someone/book')
    tags = types.SimpleNamespace(has=lambda name: False)
    conf = runpy.run_path(ROOT / 'tools/site/conf.py', {'tags': tags})
    group = {'label': 'launch-buttons', 'buttons': []}
    context = {'header_buttons': [group]}
    conf['add_github_buttons'](None, '', '', context, None)
    links = {button['text']: button['url'] for button in group['buttons']}
    assert ('Colab' in links) == offered
    if offered:
        page, path = links['Colab'].split('/blob/student/')
        assert page.endswith('/github/someone/book') and 'colab' in page
        assert (ROOT / path).exists()


def run(*command, **options):
    subprocess.run(list(map(str, command)), check=True, **options)


@pytest.fixture(scope='module')
def colab(tmp_path_factory):
    """An environment with what Colab has, and a clone of this repository."""
    folder = tmp_path_factory.mktemp('colab')
    run(sys.executable, '-m', 'venv', folder / 'env')
    run(folder / 'env/bin/python', '-m', 'pip', 'install', '-q', *PREINSTALLED)
    run('git', 'clone', '-q', ROOT, folder / 'book')
    run('git', '-C', folder / 'book', 'branch', '-q', 'student')
    return folder


@pytest.mark.long  # it downloads 200 MB
@pytest.mark.skipif(
    sys.version_info[:2] != (3, 12), reason="Colab's Python is 3.12"
)
def test_it_runs_in_an_environment_such_as_colabs(colab, monkeypatch):
    before = installed(colab)
    monkeypatch.setenv('PATH', f'{colab}/env/bin:{os.environ["PATH"]}')
    notebook = nbformat.from_dict(COLAB)
    for cell in notebook.cells:
        if cell.id == 'colab-address':
            # Colab's kernel may have imported NumPy before the first cell.
            cell.source = f'import numpy\nREPOSITORY = {str(colab / "book")!r}'
    run(
        colab / 'env/bin/python',
        *'-m ipykernel install --sys-prefix --name colab'.split(),
    )
    monkeypatch.setenv('JUPYTER_PATH', str(colab / 'env/share/jupyter'))
    NotebookClient(
        notebook,
        timeout=300,
        kernel_name='colab',
        resources={'metadata': {'path': str(colab)}},
    ).execute()
    after = installed(colab)
    assert {name: after.get(name) for name in before} == before
    assert set(after) - set(before) == {'d2l', 'd2lmulti', 'mxnet'}
    outputs = {
        cell.id: ''.join(output.get('text', '') for output in cell.outputs)
        for cell in notebook.cells
        if cell.cell_type == 'code'
    }
    stored = {cell.source: cell for cell in CHAPTER.cells}
    for name in ('colab-devices', 'colab-operators'):
        expected = stored[sources(COLAB)[name]].outputs[0].text
        assert outputs[name] == expected
    assert outputs['colab-import'] == ''  # no warning
    assert 'notebooks/01_devices.ipynb' in outputs['colab-links']
    assert re.search(r'installed in \d+ seconds', outputs['colab-install'])


def installed(colab):
    """Return {package: version} of the environment."""
    frozen = subprocess.run(
        [colab / 'env/bin/python', '-c', LIST],
        text=True,
        check=True,
        stdout=subprocess.PIPE,
    ).stdout
    return dict(line.split('==') for line in frozen.split())


LIST = """
import importlib.metadata as metadata
for package in metadata.distributions():
    print(package.metadata['Name'].lower() + '==' + package.version)
"""
