"""README and the pages beside it name what exists."""

import ast
import json
import pathlib
import re
import statistics

import pytest
from PIL import Image

from benchmarks import readme
from chapters.contents import contents

ROOT = pathlib.Path(__file__).parents[2]
README = (ROOT / 'README.md').read_text()
MAKEFILE = (ROOT / 'Makefile').read_text()
PAGES = ('README.md', 'CONTRIBUTING.md', 'book/running.md')
each_page = pytest.mark.parametrize('page', PAGES)


@each_page
def test_every_path_exists(page):
    text, folder = (ROOT / page).read_text(), (ROOT / page).parent
    links = re.findall(r'\]\((?!https?:)([^)#]+)[^)]*\)', text)
    paths = re.findall(
        r'`((?:book|tests|benchmarks|notebooks|d2lmulti|requirements|deploy)'
        r'/[\w./-]*)`',
        text,
    )
    assert links + paths
    assert not [path for path in links if not (folder / path).exists()]
    assert not [path for path in paths if not (ROOT / path).exists()]


@each_page
def test_every_make_target_exists(page):
    text = (ROOT / page).read_text()
    commands = re.findall(r'(?:^|`)make ([^`\n]*)', text, re.MULTILINE)
    words = {
        word
        for command in commands
        for word in re.sub("ARGS='.*?'|#.*", '', command).split()
    }
    targets = {word for word in words if '=' not in word}
    assert targets
    for target in targets:
        assert re.search(f'^{target}:', MAKEFILE, re.MULTILINE), target
    for suite in {word[6:] for word in words if word.startswith('SUITE=')}:
        assert suite in MAKEFILE, suite


def test_the_first_screen_of_readme_fits_one():
    screen = README[: README.index('\n## All of it')]
    assert len(screen.splitlines()) <= 35
    commands = re.findall(r'^(git clone|make \w+)', screen, re.MULTILINE)
    assert commands == ['git clone', 'make train', 'make lab']
    assert '\nmake test\n' in README


def without_docstring(function):
    """Return the function's code."""
    function.body = function.body[1:]
    return ast.unparse(function)


def test_the_lines_in_readme_are_those_of_one_file():
    shown = ast.parse(re.search('```python\n(.*?)```', README, re.DOTALL)[1])
    source = (ROOT / 'd2lmulti' / 'one_file.py').read_text()
    all_of_it = {
        node.name: without_docstring(node)
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node)
    }
    assert {node.name: ast.unparse(node) for node in shown.body} == {
        node.name: all_of_it[node.name] for node in shown.body
    }
    assert 'train_batch' in {node.name for node in shown.body}


def test_readme_says_what_the_stored_run_says():
    run = json.loads(readme.STORED.read_text())
    assert readme.fill_in(README, run) == README, 'run `make readme`'
    for name, seconds in run['seconds'].items():
        rates = [
            f'{run["images"] / statistics.median(part):,.0f}'
            for part in seconds
        ]
        assert f'| {name} | {" | ".join(rates)} | ' in README


def test_the_figure_shows_the_stored_run():
    run = json.loads(readme.STORED.read_text())
    picture = Image.open(readme.FIGURE)
    assert json.loads(picture.info['Description']) == {
        'seconds': readme.medians(run)
    }
    for seconds in readme.medians(run):  # the bars, and the line below them
        assert f'{seconds:.2f} s' in readme.caption(run)


@pytest.mark.parametrize('part', ['seconds', 'accuracies'])
def test_another_run_makes_another_readme(part):
    run = json.loads(readme.STORED.read_text())
    if part == 'seconds':
        run['seconds'][readme.OURS] = [[4.0], [2.0]]
        assert '2.00 times as fast' in readme.fill_in(README, run)
    else:
        run['accuracies'][1][-1] = 0.125
    assert readme.fill_in(README, run) != README


def test_a_lost_mark_in_readme_is_named():
    run = json.loads(readme.STORED.read_text())
    with pytest.raises(ValueError, match='speeds'):
        readme.fill_in(README.replace('readme: speeds', 'read'), run)


def test_one_batch_size_is_named_above_the_results():
    """Figure and table come from one run; what others reach is linked."""
    screen = README[: README.index('\n## All of it')]
    speed = README[README.index('## How fast') :].split('\n## ')[0]
    sizes = re.findall(r'minibatches of (\d+)', screen + speed)
    assert sizes == [str(readme.BATCH_SIZE)] * 2
    assert 'benchmarks/results/RESULTS.md' in speed


def test_jupyterlab_lists_the_chapters_as_readme_does():
    page = (ROOT / 'notebooks' / 'README.md').read_text()
    assert page == contents(), 'run `make export`'
    links = re.findall(r'\]\((.*?)\)', page)
    assert len(links) == len([*ROOT.glob('notebooks/*.ipynb')])
    assert all((ROOT / 'notebooks' / link).exists() for link in links)


def test_every_chapter_has_a_row_with_its_number():
    rows = re.findall(
        r'^\| \[(\w+)\. .*?\]\(notebooks/(.*?)\)', README, re.MULTILINE
    )
    names = [path.name for path in sorted(ROOT.glob('notebooks/*.ipynb'))]
    assert [name for _, name in rows] == names
    assert [number for number, _ in rows] == [
        name.split('_')[0].lstrip('0') for name in names
    ]
