"""The notebooks as stored: what a reader or nbval would trip over."""

import ast
import functools
import re
from pathlib import Path

import pytest
from helpers import needs_frameworks, small_source
from nbdev.export import nb_export

from chapters import NOTEBOOKS, number_of, stems
from chapters.cells import code_cells, read_chapter
from chapters.imports import needed_by
from chapters.renumber import REFERENCE, numbers_in

ROOT = Path(__file__).parents[2]
each_notebook = pytest.mark.parametrize(
    'path', NOTEBOOKS, ids=lambda path: path.stem
)


def tagged(path, tag):
    return code_cells(read_chapter(path), tag)


@each_notebook
def test_executed_once_from_top_to_bottom(path):
    cells = code_cells(read_chapter(path))
    counts = [cell.execution_count for cell in cells]
    assert counts == list(range(1, len(cells) + 1))


def is_unanswered(cell, output):
    """Return whether a check says, in one line, that the stub stands."""
    return (
        'check' in cell.metadata.get('tags', [])
        and output.ename == 'NotImplementedError'
        and len(output.traceback) == 1
    )


@each_notebook
def test_only_cells_without_compared_output_run_small(path):
    for cell in code_cells(read_chapter(path)):
        if cell.metadata.get('small'):
            assert small_source(cell) != cell.source
            assert (
                not cell.outputs
                or cell.source.startswith('%%writefile')
                or 'nbval-ignore-output' in cell.metadata.tags
            )


@each_notebook
def test_no_error_warning_or_path_in_the_outputs(path):
    for cell in code_cells(read_chapter(path)):
        for output in cell.outputs:
            assert output.output_type != 'error' or is_unanswered(cell, output)
            assert output.get('name') != 'stderr'
            text = str(output.get('text', output.get('data', '')))
            assert not re.search(
                r'/(root|tmp|home|Users|work)/|'
                r'site-packages',
                text,
            )


@each_notebook
def test_the_build_frameworks_has_the_chapters_that_need_it(path):
    source = '\n'.join(cell.source for cell in code_cells(read_chapter(path)))
    imports = re.findall(r'^import (torch|tensorflow)\b', source, re.M)
    assert bool(imports) == needs_frameworks(path)


@each_notebook
def test_cells_fit_a_screen(path):
    for cell in code_cells(read_chapter(path)):
        assert all(len(line) <= 78 for line in cell.source.splitlines())


@each_notebook
def test_figures_are_stored_and_not_compared(path):
    for cell in code_cells(read_chapter(path)):
        data = [o.data for o in cell.outputs if 'data' in o]
        if data:
            assert 'nbval-ignore-output' in cell.metadata.get('tags', [])
            assert all(
                'image/png' in d or 'Figure' not in str(d) for d in data
            )


@each_notebook
def test_every_figure_has_a_text_for_those_who_do_not_see_it(path):
    for cell in code_cells(read_chapter(path)):
        if any('image/png' in o.get('data', {}) for o in cell.outputs):
            assert len(cell.metadata.mystnb.image.alt) > 40
    for cell in read_chapter(path).cells:
        if cell.cell_type == 'markdown':
            for text in re.findall(r'!\[(.*?)\]', cell.source):
                assert len(text) > 40


@each_notebook
def test_the_parts_of_a_chapter_are_there(path):
    notebook = read_chapter(path)
    text = '\n'.join(
        cell.source for cell in notebook.cells if cell.cell_type == 'markdown'
    )
    for heading in ('## Summary', '## If it goes wrong', '## Exercises'):
        assert heading in text
    for image in re.findall(r'!\[.*?\]\((.*?)\)', text):
        assert (path.parent / image).is_file(), image
    assert 'kernelspec' not in notebook.metadata
    assert 'language_info' not in notebook.metadata


@each_notebook
def test_each_exercise_has_a_check_and_then_a_solution(path):
    kinds = [
        tag
        for cell in code_cells(read_chapter(path))
        for tag in cell.metadata.get('tags', [])
        if tag in ('exercise', 'check', 'solution')
    ]
    assert kinds and kinds == ['exercise', 'check', 'solution'] * (
        len(kinds) // 3
    )
    for number, cell in enumerate(tagged(path, 'check'), 1):
        assert 'raises-exception' in cell.metadata.tags  # the stub does
        assert f"print('Exercise {number}: passed')" in cell.source
        assert cell.source.endswith(f'\n\ncheck_{number}()')
    for number, cell in enumerate(tagged(path, 'solution'), 1):
        # JupyterLab shows the first line of a folded cell.
        assert cell.source.startswith(f'# Our solution to exercise {number}\n')
        assert cell.source.endswith(f'\n\ncheck_{number}()')
    *_, question, answer = read_chapter(path).cells
    assert 'To think about' in question.source
    assert answer.metadata.tags == ['solution']
    assert answer.source.startswith('<details>')


def is_folded(cell):
    return cell.metadata.get('jupyter', {}).get('source_hidden', False)


@each_notebook
def test_jupyter_and_the_site_fold_the_same_cells(path):
    for cell in code_cells(read_chapter(path)):
        tags = cell.metadata.get('tags', [])
        folded = {'solution', 'check', 'hide-input'} & set(tags)
        assert is_folded(cell) == bool(folded), 'run `make export`'
        assert len(folded) <= 1 and not (folded and 'exercise' in tags)
        # 'passed' below a stub that nobody has answered would be puzzling.
        hidden = cell.metadata.get('jupyter', {}).get('outputs_hidden', False)
        assert hidden == ('solution' in tags)


@each_notebook
def test_the_module_is_what_the_notebook_exports(path, tmp_path):
    nb_export(path, tmp_path / 'd2lmulti')
    for exported in tmp_path.glob('d2lmulti/*.py'):
        module = ROOT / 'd2lmulti' / exported.name
        assert ast.dump(ast.parse(module.read_text())) == ast.dump(
            ast.parse(exported.read_text())
        ), 'run make export'


@functools.lru_cache(maxsize=None)
def stated_chapters(number):
    """Return the chapters that the first cell names, and what they need."""
    cell = read_chapter(ROOT / 'notebooks' / f'{stems()[number]}.ipynb').cells[
        0
    ]
    stated = {
        n
        for found in re.finditer(REFERENCE, cell.source)
        for n in numbers_in(found[2], stems())
    }
    return stated.union(*(stated_chapters(n) for n in stated if n < number))


@each_notebook
def test_a_chapter_states_the_chapters_that_it_needs(path):
    number = number_of(path.stem)
    assert needed_by(path) <= stated_chapters(number)
    for later in needed_by(path):
        if later > number:
            assert (
                f'that chapter {later} builds'
                in read_chapter(path).cells[0].source
            )
