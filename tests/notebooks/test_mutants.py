"""No check accepts our solution with an error put in by a machine.

Each mutant is our solution with one constant, comparison, order of operands,
loop or line changed. One that its check accepts must be as right as ours:
then EQUIVALENT says why.
"""

import ast
import contextlib
import copy
import signal
import sys

import pytest
from equivalent import EQUIVALENT
from test_exercises import chapter, code_cells, without_call

assert chapter  # a fixture
OTHER = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt},
    **{ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.And: ast.Or, ast.Or: ast.And},
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div},
    **{ast.Div: ast.FloorDiv, ast.FloorDiv: ast.Div},
}
NAMES = {'max': 'min', 'min': 'max', 'sum': 'max', 'abs': 'float'}


def changes(node):
    """Yield nodes to put in the place of one."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        for value in {node.value + 1, node.value - 1, 2 * node.value}:
            if value != node.value:
                yield ast.Constant(value)
    elif isinstance(node, ast.Compare):
        if type(node.ops[0]) in OTHER:
            other = OTHER[type(node.ops[0])]()
            yield ast.Compare(node.left, [other], node.comparators)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(OTHER[type(node.op)](), node.values)
    elif isinstance(node, ast.BinOp):
        if type(node.op) in OTHER:
            yield ast.BinOp(node.left, OTHER[type(node.op)](), node.right)
        if not isinstance(node.op, (ast.Add, ast.Mult)):
            yield ast.BinOp(node.right, node.op, node.left)
        yield node.left
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.IfExp):
        yield from (node.body, node.orelse)
    elif isinstance(node, ast.Name) and node.id in NAMES:
        yield ast.Name(NAMES[node.id])
    elif isinstance(node, (ast.For, ast.comprehension)):  # the first only
        first = copy.copy(node)
        text = f'list({ast.unparse(node.iter)})[:1]'
        first.iter = ast.parse(text, mode='eval').body
        yield first
    if isinstance(node, ast.comprehension) and node.ifs:
        yield ast.comprehension(node.target, node.iter, [], 0)
    dropped = (ast.Assign, ast.AugAssign, ast.Expr, ast.For, ast.If, ast.While)
    is_docstring = isinstance(getattr(node, 'value', None), ast.Constant)
    if isinstance(node, dropped) and not (
        isinstance(node, ast.Expr) and is_docstring
    ):
        yield ast.Pass()


def replaced(tree, old, new):
    """Return the source of a tree with one node in the place of another."""

    class Replace(ast.NodeTransformer):
        def visit(self, node):
            return new if node is old else self.generic_visit(node)

    # a shallow copy of each node, so that `old` is found by identity
    with_new = copy.deepcopy(tree, {id(old): old})
    return ast.unparse(ast.fix_missing_locations(Replace().visit(with_new)))


def mutants(source):
    """Yield (what was changed, source) for each mutant of a solution."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        for new in changes(node):
            old = ast.unparse(node).splitlines()[0]
            now = ast.unparse(ast.fix_missing_locations(new)).splitlines()[0]
            yield f'{old} -> {now}', replaced(tree, node, new)


@contextlib.contextmanager
def time_limit(seconds):
    """Raise TimeoutError in what runs longer: a mutant may never end."""

    def end(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.long
@pytest.mark.skipif(sys.version_info < (3, 9), reason='no ast.unparse')
def test_no_mutant_of_a_solution_is_accepted(chapter):
    name, notebook, run_cell = chapter
    accepted = []
    cells = [code_cells(notebook, tag) for tag in ('check', 'solution')]
    for number, (check, solution) in enumerate(zip(*cells), 1):
        run_cell(check.source)  # solutions call it
        for change, source in mutants(without_call(solution.source)):
            with time_limit(20):
                error = run_cell(source) or run_cell(check.source)
            if error is None:
                accepted.append((f'{name} {number}', change))
    holes = [pair for pair in accepted if pair[1] not in EQUIVALENT[pair[0]]]
    assert not holes, '\n'.join(map(str, holes))
