"""The form of a chapter as stored: what a reader or nbval would trip over."""

import functools
import re

from tools.lint.files import ROOT, notebook_at
from tools.notebooks import (
    NOTEBOOKS,
    REFERENCE,
    number_of,
    numbers_in,
    stems,
)
from tools.notebooks.cells import code_cells, in_place, tags
from tools.notebooks.imports import needed_by
from tools.notebooks.names import names_in

FOREIGN = r'/(?:root|tmp|home|Users|work)/|site-packages'
HEADINGS = ('## Summary', '## If it goes wrong', '## Exercises')
EXERCISE = ('exercise', 'check', 'solution')
RUN = 'run `make execute`'


def check_outputs(notebook):
    """Yield what is wrong with the stored outputs."""
    counts = [cell.execution_count for cell in code_cells(notebook)]
    if counts != [*range(1, len(counts) + 1)]:
        yield None, f'not executed once from top to bottom: {RUN}'
    for key in ('kernelspec', 'language_info'):
        if key in notebook.metadata:
            yield None, f'stores {key}, of the machine that ran it: {RUN}'
    for cell in code_cells(notebook):
        for output in cell.outputs:
            if output.output_type == 'error' and not is_unanswered(
                cell, output
            ):
                yield cell, f'stores an error: {output.ename}'
            if output.get('name') == 'stderr':
                yield cell, f'stores a warning: {output.text.strip()}'
            text = str(output.get('text', output.get('data', '')))
            for word in re.findall(FOREIGN, text):
                yield cell, f'stores a path of one machine: {word}'


def is_unanswered(cell, output):
    """Return whether a check says, in one line, that the stub stands."""
    return (
        'check' in tags(cell)
        and output.ename == 'NotImplementedError'
        and len(output.traceback) == 1
    )


def check_figures(notebook):
    """Yield what is wrong with figures and pictures."""
    for cell in code_cells(notebook):
        shown = [output.data for output in cell.outputs if 'data' in output]
        if shown and 'nbval-ignore-output' not in tags(cell):
            yield cell, 'nbval compares a figure: tag it nbval-ignore-output'
        if any('Figure' in str(d) and 'image/png' not in d for d in shown):
            yield cell, 'stores the name of a figure, but no figure'
        if any('image/png' in data for data in shown):
            image = cell.metadata.get('mystnb', {}).get('image', {})
            if not describes(image.get('alt', '')):
                yield cell, 'a figure without alternative text'
    for cell in notebook.cells:
        if cell.cell_type == 'markdown':
            for text in re.findall(r'!\[(.*?)\]\(', cell.source, re.S):
                if not describes(text):
                    yield cell, f'a picture without alternative text: {text!r}'


def describes(text):
    """Return whether a text is more than a name."""
    return ' ' in text.strip()


def check_small(notebook):
    """Yield what is wrong with how cells run in the tests."""
    for cell in code_cells(notebook):
        for old in cell.metadata.get('small', {}):
            if cell.source.count(old) != 1:
                yield cell, f'{old!r} of `small` must be in the cell once'


def check_exercises(notebook):
    """Yield what is wrong with the exercises: stub, check and solution."""
    text = '\n'.join(c.source for c in notebook.cells)
    for heading in HEADINGS:
        if heading not in text:
            yield None, f'has no {heading!r}'
    cells = [c for c in code_cells(notebook) if {*EXERCISE} & {*tags(c)}]
    kinds = [tag for c in cells for tag in tags(c) if tag in EXERCISE]
    if not kinds or kinds != [*EXERCISE] * (len(kinds) // 3):
        yield None, f'exercises are stub, check and solution, not {kinds}'
        return
    for i, (stub, check, solution) in enumerate(zip(*[iter(cells)] * 3), 1):
        if 'raises-exception' not in tags(check):
            yield check, 'without the tag raises-exception Run All stops here'
        if f"print('Exercise {i}: passed')" not in check.source:
            yield check, f"never prints 'Exercise {i}: passed'"
        if in_place(solution):
            yield from check_in_place(i, stub, check, solution)
            continue
        # JupyterLab shows the first line of a folded cell.
        if not solution.source.startswith(f'# Our solution to exercise {i}\n'):
            yield solution, f"must begin '# Our solution to exercise {i}'"
        for cell in (check, solution):
            if not cell.source.endswith(f'\n\ncheck_{i}()'):
                yield cell, f'must end with a call of check_{i}()'
    *_, question, answer = notebook.cells
    if 'To think about' not in question.source:
        yield question, "the last question must be one 'To think about'"
    if tags(answer) != ['solution'] or not answer.source.startswith(
        '<details>'
    ):
        yield answer, 'our answer must be in <details>, with the tag solution'


def check_in_place(number, stub, check, solution):
    """Yield what is wrong with a function that is written in its place."""
    (name,) = names_in(stub.source)[0]
    if name not in names_in(solution.source)[0]:
        yield solution, f'our {name} must follow its check'
    if not check.source.endswith(
        f'\n\nyour_{name} = None  # until it has passed\n'
        f'check_{number}()\nyour_{name} = keep({name})'
    ):
        yield check, f'must end with check_{number}() and keep({name})'


def check_folding(notebook):
    """Yield the cells that JupyterLab and the site do not fold alike."""
    for cell in code_cells(notebook):
        jupyter = cell.metadata.get('jupyter', {})
        folded = {'solution', 'check', 'hide-input'} & {*tags(cell)}
        if jupyter.get('source_hidden', False) != bool(folded):
            yield cell, 'tags and JupyterLab fold differently: `make export`'
        # 'passed' below a stub that nobody has answered would be puzzling.
        hidden = jupyter.get('outputs_hidden', False)
        if hidden != ('solution' in tags(cell)):
            yield cell, 'hides an output, or shows a solution: `make export`'
        if len(folded) > 1 or (folded and 'exercise' in tags(cell)):
            yield cell, f'cannot be all of {sorted(tags(cell))}'


@functools.lru_cache(maxsize=None)
def stated_chapters(number):
    """Return the chapters that the first cell names, and what they need."""
    first = notebook_at(f'notebooks/{stems()[number]}.ipynb').cells[0]
    stated = {
        n
        for match in re.finditer(REFERENCE, first.source)
        for n in numbers_in(match[2], stems())
    }
    return stated.union(*(stated_chapters(n) for n in stated if n < number))


def check_needs(path):
    """Yield the chapters that one imports from and does not say it needs."""
    number = number_of(path.stem)
    for other in sorted(needed_by(path) - stated_chapters(number)):
        yield f'imports from chapter {other}: its first cell must say so'
    first = notebook_at(f'notebooks/{path.name}').cells[0].source
    for later in needed_by(path):
        if later > number and f'that chapter {later} builds' not in first:
            yield f"must begin with 'that chapter {later} builds', later"


RULES = (
    check_outputs,
    check_figures,
    check_small,
    check_exercises,
    check_folding,
)


def check():
    """Yield the findings in all chapters."""
    for path in NOTEBOOKS:
        name = str(path.relative_to(ROOT))
        cells = notebook_at(name).cells
        numbers = {id(cell): i for i, cell in enumerate(cells, 1)}
        for rule in RULES:
            for cell, message in rule(notebook_at(name)):
                where = f':cell {numbers[id(cell)]}' if cell else ''
                yield f'{name}{where}: {message}'
        for message in check_needs(path):
            yield f'{name}: {message}'
