"""No check accepts our solution with an error put in by a machine.

One that its check accepts must be as right as ours: then
tests/equivalent.py says why.
"""

import ast
import sys

import pytest
from equivalent import SOLUTIONS
from mutator import mutants, plain_changes, time_limit
from test_exercises import chapter, code_cells, without_call

assert chapter  # a fixture


@pytest.mark.long
@pytest.mark.skipif(sys.version_info < (3, 9), reason='no ast.unparse')
def test_no_mutant_of_a_solution_is_accepted(chapter):
    name, notebook, run_cell = chapter
    accepted = []
    cells = [code_cells(notebook, tag) for tag in ('check', 'solution')]
    for number, (check, solution) in enumerate(zip(*cells), 1):
        run_cell(check.source)  # solutions call it
        tree = ast.parse(without_call(solution.source))
        for change, mutant in mutants(tree, plain_changes):
            with time_limit(20):
                error = run_cell(ast.unparse(mutant)) or run_cell(check.source)
            if error is None:
                accepted.append((f'{name} {number}', change))
    holes = [pair for pair in accepted if pair[1] not in SOLUTIONS[pair[0]]]
    assert not holes, '\n'.join(map(str, holes))
