"""Checks accept our solutions, and say what is wrong with others."""

import re
import sys
import tempfile
import types
from pathlib import Path

import nbformat
import pytest
from helpers import (
    HAS_FRAMEWORKS,
    needs_frameworks,
    read_answers,
)

from d2lmulti.device_error import DeviceError
from d2lmulti.devices import median_seconds
from d2lmulti.rounding import to_numpy
from tools.notebooks import name_of
from tools.notebooks.cells import code_cells, plain, small_source
from tools.notebooks.exercises import code_before

NOTEBOOKS = Path(__file__).parents[2] / 'notebooks'
NAMES = [
    path.stem
    for path in sorted(NOTEBOOKS.glob('*.ipynb'))
    if needs_frameworks(path) == HAS_FRAMEWORKS
]


def returning(value, stub):
    """Return an answer that does nothing but return a value."""
    return re.sub(
        r'raise NotImplementedError\(.*',
        f'return {value}',
        stub,
        flags=re.DOTALL,
    )


def computed_once(in_several_orders):
    """Return a function that computes what is right for a minibatch once,
    whatever the answers are that a check compares with it."""
    results = {}

    def remembered(reference, batches):
        key = (
            reference.__code__,
            *(
                to_numpy(array).tobytes()
                for batch in batches
                for array in batch
            ),
        )
        if key not in results:
            results[key] = in_several_orders(reference, batches)
        return results[key]

    return remembered


@pytest.fixture(scope='module', params=NAMES)
def chapter(request):
    """Yield (stem, notebook, a function that runs cells one after the other,
    as a kernel does, and gives the error of each, or None)."""
    module = types.ModuleType('__main__')

    def run(source):
        try:
            exec(compile(plain(source), 'cell', 'exec'), vars(module))
        except Exception as error:
            return error

    notebook = nbformat.read(NOTEBOOKS / f'{request.param}.ipynb', 4)
    for cell in notebook.cells:
        cell.source = small_source(cell)
    with pytest.MonkeyPatch.context() as patch:
        # Whatever an answer measures, once is enough to see what it does.
        patch.setattr(median_seconds, '__defaults__', (1,))
        patch.setitem(sys.modules, '__main__', module)
        patch.chdir(NOTEBOOKS)
        for source in code_before(notebook):
            assert run(source) is None, source
        if hasattr(module, 'in_several_orders'):
            module.in_several_orders = computed_once(module.in_several_orders)
        yield request.param, notebook, run
    for value in vars(module).values():  # the chapter's end would do it
        if isinstance(value, tempfile.TemporaryDirectory):
            value.cleanup()


def told(error, message):
    """Return whether the error is the one that a check is to raise."""
    if message is None:
        return error is None
    return isinstance(
        error, (AssertionError, NotImplementedError, DeviceError)
    ) and re.search(message, str(error))


def all_attempts(name, notebook):
    """Yield (number, answer, check, what it is to say) of each attempt; what
    it says is None where it accepts the answer."""
    written = read_answers(name_of(name))
    triples = zip(
        *(
            code_cells(notebook, tag)
            for tag in ('exercise', 'check', 'solution')
        )
    )
    for number, (stub, check, solution) in enumerate(triples, 1):
        reason = re.search(r"NotImplementedError\(\s*'(.{12})", stub.source)
        for answer, message in [
            (stub.source, re.escape(reason[1])),
            (returning(None, stub.source), ''),
            (returning(-1, stub.source), ''),
            (solution.source, None),  # calls the check itself, too
            *(
                (answer.source, None if answer.right else answer.said)
                for answer in written
                if answer.exercise == number
            ),
        ]:
            yield number, answer, check.source, message


def test_checks_tell_right_from_wrong(chapter):
    name, notebook, run_cell = chapter
    for check in code_cells(notebook, 'check'):
        run_cell(check.source)  # solutions call it
    wrong = []
    for number, answer, check, message in all_attempts(name, notebook):
        error = run_cell(answer) or run_cell(check)
        if not told(error, message):
            wrong.append((number, answer[-300:], message, repr(error)))
    assert not wrong, '\n\n'.join(map(str, wrong))


def test_a_wrong_answer_stays_wrong_when_all_cells_run(chapter):
    _, notebook, run_cell = chapter
    for cell in code_cells(notebook):
        tags = set(cell.metadata.get('tags', []))
        if 'exercise' in tags:
            assert run_cell(returning(-1, cell.source)) is None
        elif 'check' in tags:
            assert isinstance(run_cell(cell.source), AssertionError)
        elif 'solution' in tags:
            assert run_cell(cell.source) is None


def test_each_exercise_has_right_and_wrong_answers(chapter):
    name, notebook, _ = chapter
    answers = {(a.exercise, a.right) for a in read_answers(name_of(name))}
    count = len(code_cells(notebook, 'exercise'))
    assert answers == {
        (number, right)
        for number in range(1, count + 1)
        for right in (True, False)
    }
