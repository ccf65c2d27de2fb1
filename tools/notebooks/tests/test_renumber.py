"""One command renumbers chapters, and changes all that names them."""

import re
import shutil
import subprocess

import nbformat
import pytest

from tools.notebooks import PARTS, ROOT, name_of, stems
from tools.notebooks.renumber import (
    REFERENCE,
    numbers_in,
    project_files,
    renumber,
    rewrite,
)

pytestmark = pytest.mark.ci

NEW = {1: 1, 3: 4, 4: 3, 5: 5, 9: 10}
MOVED = {
    '03_replicas': '04_replicas',
    '04_data': '03_data',
    '09_timeline': '10_timeline',
}


@pytest.mark.parametrize(
    'text, wanted',
    [
        ('Chapter 9 draws', 'Chapter 10 draws'),
        ('chapters 1, 3, and 9.', 'chapters 1, 4, and 10.'),
        ('chapters 3\n# and 9', 'chapters 4\n# and 10'),
        ('chapters 3 to 5 and 9', 'chapters 3 to 5 and 10'),
        ('chapters 1 to 3', 'chapters 1 and 4'),
        ('chapter 99, chapter 6c', 'chapter 99, chapter 6c'),
        ('a 9 chapter', 'a 9 chapter'),
        (
            '| [3. Synchronizing](notebooks/03_replicas.ipynb) | a |\n'
            '| [4. Splitting](notebooks/04_data.ipynb) | b |\n',
            '| [3. Splitting](notebooks/03_data.ipynb) | b |\n'
            '| [4. Synchronizing](notebooks/04_replicas.ipynb) | a |\n',
        ),
        (
            '| chapter 3 | a |\n| chapter 4 | b |\n',
            '| chapter 3 | b |\n| chapter 4 | a |\n',
        ),
        ("read('09_timeline.ipynb')", "read('10_timeline.ipynb')"),
    ],
)
def test_what_names_a_chapter_gets_its_new_number(text, wanted):
    assert rewrite(text, NEW, MOVED) == wanted


def test_every_text_names_chapters_that_exist():
    for path in project_files(ROOT):
        for found in re.finditer(REFERENCE, path.read_text()):
            numbers = numbers_in(found[2], stems())
            assert set(numbers) <= {*stems(), 99, 666}, (path, found[0])


@pytest.fixture
def copy(tmp_path):
    """Return a copy of the project, and a repository around it."""
    for path in project_files(ROOT):
        copied = tmp_path / path.relative_to(ROOT)
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copied)
    git(tmp_path, 'init', '-q')
    git(tmp_path, 'add', '.')
    git(tmp_path, 'commit', '-qm', 'As it is')
    return tmp_path


def git(folder, *arguments):
    name = ['-c', 'user.name=a test', '-c', 'user.email=a@test']
    return subprocess.check_output(['git', *name, *arguments], cwd=folder)


def test_a_chapter_moves_and_moves_back_without_a_difference(
    copy, monkeypatch
):
    number, stem = max(stems().items())
    name, free = name_of(stem), number + 1
    monkeypatch.setitem(PARTS, 'one more', [free])
    renumber({name: free}, copy)
    assert not (copy / 'notebooks' / f'{stem}.ipynb').exists()
    assert (
        nbformat.read(copy / 'notebooks' / f'{free:02d}_{name}.ipynb', 4)
        .cells[0]
        .source.startswith(f'# {free}. ')
    )
    for path in project_files(copy):
        if path.parent.name != 'd2lmulti':  # which `make export` writes
            assert stem not in path.read_text(), path
    renumber({name: number}, copy)
    assert git(copy, 'status', '--porcelain') == b''


# What would name a chapter by its number where `renumber` does not look.
HIDDEN = re.compile(r"-k '?\d+_|startswith\('\d+\. '|startswith\('\d\d_?'")


def leftovers(folder, stems):
    """Return where old names stand, or numbers that nothing rewrites."""
    old = re.compile('|'.join(rf'(?<!\w){stem}\b' for stem in stems))
    return [
        (path.name, found[0])
        for path in project_files(folder)
        if path.parent.name != 'd2lmulti'  # which `make export` writes
        for found in re.finditer(
            f'{old.pattern}|{HIDDEN.pattern}', path.read_text()
        )
    ]


def test_two_chapters_in_the_middle_change_places_and_back(copy):
    first, second = (stems()[number] for number in (9, 10))
    here, there = name_of(first), name_of(second)
    renumber({here: 10, there: 9}, copy)
    assert leftovers(copy, [first, second]) == []
    for number, name in ((10, here), (9, there)):
        path = copy / 'notebooks' / f'{number:02d}_{name}.ipynb'
        heading = nbformat.read(path, 4).cells[0].source
        assert heading.startswith(f'# {number}. ')
    assert git(copy, 'status', '--porcelain') != b''
    renumber({here: 9, there: 10}, copy)
    assert git(copy, 'status', '--porcelain') == b''


@pytest.mark.parametrize(
    'line', ['pytest -k 17_', "text.startswith('3. ')", "startswith('15')"]
)
def test_a_number_that_nothing_rewrites_is_caught(line, copy):
    (copy / 'README.md').write_text(line)
    assert leftovers(copy, ['99_none'])


@pytest.mark.parametrize(
    'wanted, message',
    [
        ({'nobody': 3}, 'no chapter nobody: choose from .*devices'),
        (
            {'devices': 2},
            'network has number 2: no .* two: devices=2 network=1',
        ),
        ({'devices': 99}, '99 is in no part'),
    ],
)
def test_what_cannot_be_moved_stays(wanted, message, copy):
    with pytest.raises(ValueError, match=message):
        renumber(wanted, copy)
    assert git(copy, 'status', '--porcelain') == b''
