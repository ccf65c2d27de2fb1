"""The list of the chapters and one of them in a real JupyterLab."""

import contextlib
import os
import pathlib
import re
import subprocess
import sys
import urllib.error
import urllib.request

import nbformat
import pytest

if sys.version_info < (3, 11):
    pytest.skip(
        'the book needs Python 3.11, as Sphinx 9 does', allow_module_level=True
    )

from browsing import run, wait_until

from tools.notebooks.cells import is_machinery

ROOT = pathlib.Path(__file__).parents[3]
MAKEFILE = ROOT / 'tools/notebooks/student/files/Makefile'
CHAPTER = '04_data'  # it runs in seconds, and draws
OPEN = 'const panel = window.jupyterapp.shell.currentWidget;'
LOOK = (
    f'() => {{ {OPEN}'
    """
  const {model, sessionContext} = panel.context;
  return {dirty: model.dirty, kernel: sessionContext.kernelDisplayStatus,
          cells: model.toJSON().cells}; }"""
)


@pytest.fixture(scope='module')
def lab(chromium, tmp_path_factory):
    """The address of a JupyterLab that shows the edition, and its folder."""
    folder = tmp_path_factory.mktemp('lab') / 'student'
    run('-m', 'tools.notebooks.student', folder)
    log = folder.with_name('log')
    command = (
        '-m jupyterlab --no-browser --allow-root --port=0 '
        '--expose-app-in-browser --IdentityProvider.token= '
        '--ServerApp.password='
    ).split()
    with log.open('w') as output:
        server = subprocess.Popen(
            [sys.executable, *command, f'--ServerApp.root_dir={folder}'],
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **own_folders(folder.parent)},
        )
    try:
        yield wait_until(lambda: address_in(log.read_text())), folder
    finally:
        server.terminate()
        server.wait(120)  # on a busy machine


def own_folders(folder):
    """Return variables that keep the user's settings and tabs out."""
    names = (
        'JUPYTER_CONFIG_DIR',
        'JUPYTER_DATA_DIR',
        'JUPYTER_RUNTIME_DIR',
        'JUPYTERLAB_SETTINGS_DIR',
        'JUPYTERLAB_WORKSPACES_DIR',
    )
    return {name: str(folder / name.lower()) for name in names}


def address_in(log):
    """Return where JupyterLab says that it listens, if it does already."""
    addresses = [w for w in log.split() if w.startswith('http://127.0.0.1:')]
    if not addresses:
        return None
    with contextlib.suppress(urllib.error.URLError):  # it said so too early
        urllib.request.urlopen(addresses[0], timeout=30).close()
        return addresses[0].partition('/lab')[0]


@pytest.fixture(scope='module')
def chapter(lab, browser):
    """A chapter, opened, with its page and its file."""
    address, folder = lab
    context = browser.new_context(viewport={'width': 1280, 'height': 900})
    page = context.new_page()
    path = f'notebooks/{CHAPTER}.ipynb'
    page.goto(f'{address}/lab/tree/{path}?reset', timeout=100_000)
    page.wait_for_selector('.jp-Notebook', timeout=100_000)
    wait_until(lambda: page.evaluate(LOOK)['kernel'] == 'idle', seconds=100)
    yield page, folder / path
    context.close()


def show(page, index):
    """Scroll to a cell, which JupyterLab draws only then; return it."""
    page.evaluate(
        f"""async i => {{ {OPEN}
        panel.content.activeCellIndex = i;
        await panel.content.scrollToItem(i); }}""",
        index,
    )
    cell = page.locator('.jp-Notebook .jp-Cell.jp-mod-active')
    cell.wait_for(state='visible')
    return cell


def indices(cells, tag):
    """Return where the cells with a tag are."""
    return [
        i for i, c in enumerate(cells) if tag in c['metadata'].get('tags', [])
    ]


def test_a_student_opens_runs_and_solves(chapter):
    page, path = chapter
    # It opens as saved, and nothing asks for a kernel.
    page.wait_for_timeout(1000)
    seen = page.evaluate(LOOK)
    assert not seen['dirty'] and not page.locator('.jp-Dialog').count()
    for i, cell in enumerate(seen['cells']):
        assert '#|' not in ''.join(cell['source'])
        hidden = cell['metadata'].get('jupyter', {}).get('source_hidden')
        assert bool(hidden) == (
            cell['cell_type'] == 'code'
            and (is_machinery(cell) or indices([cell], 'check') == [0])
        ), i
    folded = show(page, 1)
    assert folded.locator('.jp-InputPlaceholder, .jp-Placeholder').is_visible()
    assert not folded.locator('.cm-editor').is_visible()

    page.get_by_role('menuitem', name='Run', exact=True).click()
    page.get_by_role('menuitem', name='Run All Cells', exact=True).click()
    wait_until(lambda: finished(page), seconds=200)
    cells = page.evaluate(LOOK)['cells']
    failed = [
        i
        for i, cell in enumerate(cells)
        for output in cell.get('outputs', [])
        if output['output_type'] == 'error'
    ]
    checks = indices(cells, 'check')
    assert failed == checks  # red, until the student answers

    pictures = [
        i
        for i, cell in enumerate(cells)
        for output in cell.get('outputs', [])
        if 'image/png' in output.get('data', {})
    ]
    assert pictures
    for i in pictures:
        image = show(page, i).locator('.jp-RenderedImage img').first
        assert image.evaluate('e => e.decode().then(() => e.naturalWidth)')

    stub = indices(cells, 'exercise')[0]
    solution = solutions(path.stem)[0]
    cell = show(page, stub)
    cell.locator('.cm-content').click()
    page.keyboard.press('Control+A')
    page.keyboard.insert_text(solution.rpartition('\n\ncheck_')[0])
    page.keyboard.press('Shift+Enter')  # and on to the next cell
    assert (
        page.evaluate(
            f'() => {{ {OPEN} return panel.content.activeCellIndex; }}'
        )
        == checks[0]
    )
    page.keyboard.press('Shift+Enter')
    shown = show(page, checks[0]).locator('.jp-OutputArea')
    shown.get_by_text('Exercise 1: passed').wait_for(timeout=60_000)
    assert not shown.locator(
        '[data-mime-type$=stderr], .jp-RenderedText[data-mime-type*=error]'
    ).count()

    assert page.evaluate(LOOK)['dirty']
    page.keyboard.press('Control+S')
    wait_until(lambda: not page.evaluate(LOOK)['dirty'])
    saved = nbformat.read(path, 4).cells[stub]
    assert saved.source in solution and saved.metadata.nbgrader.solution


def test_the_first_page_lists_the_parts_and_opens_a_chapter(lab, browser):
    address, _ = lab
    context = browser.new_context(viewport={'width': 1280, 'height': 900})
    page = context.new_page()
    start = re.search('default_url=(.*README.md)', MAKEFILE.read_text())[1]
    page.goto(f'{address}{start}?reset', timeout=100_000)
    shown = page.locator('.jp-MarkdownViewer')
    shown.get_by_text('III. Learning on many devices').wait_for(timeout=60_000)
    shown.get_by_role('link', name='2. LeNet from raw arrays').click()
    page.wait_for_selector('.jp-Notebook', timeout=60_000)
    path = f'() => {{ {OPEN} return panel.context.path; }}'
    wait_until(lambda: page.evaluate(path) == 'notebooks/02_network.ipynb')
    wait_until(lambda: page.evaluate(LOOK)['kernel'] == 'idle', seconds=100)
    context.close()


def finished(page):
    """Return whether every code cell has run."""
    seen = page.evaluate(LOOK)
    return seen['kernel'] == 'idle' and all(
        cell['execution_count']
        for cell in seen['cells']
        if indices([cell], 'check')
        or cell['cell_type'] == 'code'
        and cell['source']
    )


def solutions(stem):
    """Return our solutions of a chapter."""
    notebook = nbformat.read(ROOT / 'notebooks' / f'{stem}.ipynb', 4)
    return [
        cell.source
        for cell in notebook.cells
        if cell.cell_type == 'code'
        and 'solution' in cell.metadata.get('tags', [])
    ]
