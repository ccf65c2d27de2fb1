"""Errors put into functions by a machine.

Each mutant is a function with one constant, comparison, operand, argument,
loop or line changed. `test_mutants.py` tries those of the exercises'
solutions, `mutants.py` those of a module's functions.
"""

import ast
import contextlib
import copy
import importlib.util
import inspect
import pathlib
import signal
import textwrap

OTHER = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt},
    **{ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.And: ast.Or, ast.Or: ast.And},
    **{ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn},
    **{ast.NotIn: ast.In, ast.Add: ast.Sub, ast.Sub: ast.Add},
    **{ast.Mult: ast.Div, ast.Div: ast.FloorDiv, ast.FloorDiv: ast.Div},
}
NAMES = {
    **{'max': 'min', 'min': 'max', 'sum': 'max', 'abs': 'float'},
    **{'any': 'all', 'all': 'any'},
}
# A sum where the mean is meant, an array where a copy of it is.
ATTRIBUTES = {
    **{'sum': 'mean', 'mean': 'sum', 'max': 'min', 'min': 'max'},
    **{'argmax': 'argmin', 'copyto': 'as_in_ctx'},
    **{'maximum': 'minimum', 'minimum': 'maximum'},
}


def changes(node):
    """Yield nodes to put in the place of one."""
    yield from plain_changes(node)
    yield from more_changes(node)


def plain_changes(node):
    """Yield what is most often wrong in an answer: another number, comparison
    or operator, the order of operands, a loop's first turn alone, no line."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        for value in {node.value + 1, node.value - 1, 2 * node.value}:
            if value != node.value:
                yield ast.Constant(value)
    elif isinstance(node, ast.Compare):
        if type(node.ops[0]) in OTHER:
            other = OTHER[type(node.ops[0])]()
            rest = node.ops[1:]
            yield ast.Compare(node.left, [other, *rest], node.comparators)
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
    elif isinstance(node, (ast.For, ast.comprehension)):
        yield partly(node, '[:1]')
    if isinstance(node, ast.comprehension) and node.ifs:
        yield ast.comprehension(node.target, node.iter, [], 0)
    dropped = (ast.Assign, ast.AugAssign, ast.Expr, ast.For, ast.If, ast.While)
    is_docstring = isinstance(getattr(node, 'value', None), ast.Constant)
    if isinstance(node, dropped) and not (
        isinstance(node, ast.Expr) and is_docstring
    ):
        yield ast.Pass()


def more_changes(node):
    """Yield what people write more seldom: for functions of the package."""
    if isinstance(node, ast.Constant) and type(node.value) is bool:
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Compare):
        yield from (ast.Constant(True), ast.Constant(False))
    elif isinstance(node, ast.BoolOp):
        for left_out in node.values:
            values = [value for value in node.values if value is not left_out]
            yield ast.BoolOp(node.op, values) if values[1:] else values[0]
    elif isinstance(node, ast.BinOp):
        yield node.right
    elif isinstance(node, ast.AugAssign):
        if type(node.op) in OTHER:
            other = OTHER[type(node.op)]()
            yield ast.AugAssign(node.target, other, node.value)
        yield ast.Assign([node.target], node.value)  # it rebinds the name
    elif isinstance(node, ast.Attribute) and node.attr in ATTRIBUTES:
        yield ast.Attribute(node.value, ATTRIBUTES[node.attr])
    elif isinstance(node, ast.Call):
        yield from changes_of_calls(node)
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        yield node.value
    elif isinstance(node, (ast.For, ast.comprehension)):
        yield partly(node, '[1:]')
    elif isinstance(node, (ast.If, ast.While)):
        for met in (True, False):
            if not (met and isinstance(node, ast.While)):  # it never ends
                always = copy.copy(node)
                always.test = ast.Constant(met)
                yield always
    elif isinstance(node, ast.Raise):
        yield ast.Pass()


def partly(loop, part):
    """Return a loop over a part of what it is over."""
    partial = copy.copy(loop)
    text = f'list({ast.unparse(loop.iter)}){part}'
    partial.iter = ast.parse(text, mode='eval').body
    return partial


def changes_of_calls(node):
    """Yield the call without its last argument or one that has a name; in
    its place what is called, or its first argument; a length that is off."""
    called = node.func
    if node.args[1:]:
        yield ast.Call(called, node.args[:-1], node.keywords)
    for left_out in node.keywords:
        kept = [word for word in node.keywords if word is not left_out]
        yield ast.Call(called, node.args, kept)
    if getattr(called, 'id', None) == 'len':
        yield ast.BinOp(node, ast.Add(), ast.Constant(1))
    elif node.args and not isinstance(node.args[0], ast.Starred):
        yield node.args[0]
    elif isinstance(called, ast.Attribute):
        yield called.value


def replaced(tree, old, new):
    """Return a copy of a tree with one node in the place of another."""

    class Replace(ast.NodeTransformer):
        def visit(self, node):
            return new if node is old else self.generic_visit(node)

    # a shallow copy of each node, so that `old` is found by identity
    with_new = copy.deepcopy(tree, {id(old): old})
    return ast.fix_missing_locations(Replace().visit(with_new))


def mutants(tree, changes=changes):
    """Yield (what was changed, tree) for each mutant of a tree."""
    seen = {ast.unparse(tree)}
    for node in ast.walk(tree):
        for new in changes(node):
            mutant = replaced(tree, node, new)
            if ast.unparse(mutant) not in seen:
                seen.add(ast.unparse(mutant))
                yield f'{first_line(node)} -> {first_line(new)}', mutant


def first_line(node):
    """Return the first line of a node's source."""
    return ast.unparse(ast.fix_missing_locations(node)).splitlines()[0]


@contextlib.contextmanager
def time_limit(seconds):
    """Raise TimeoutError in what runs longer: a mutant may never end."""

    def end(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# Functions of modules


def functions_of(module):
    """Return {name: (function, its tree)} of the functions and methods that
    a module defines."""
    tree = ast.parse(inspect.getsource(module))
    found = {}
    for node in tree.body:
        owner, nodes = module, [node]
        if isinstance(node, ast.ClassDef):
            owner, nodes = getattr(module, node.name), node.body
        for each in nodes:
            if isinstance(each, ast.FunctionDef):
                function = undecorated(vars(owner)[each.name])
                name = getattr(function, '__qualname__', None)
                prefix = f'{owner.__name__}.' if owner is not module else ''
                if name == prefix + each.name:
                    found[name] = function, each
    return found


def undecorated(function):
    """Return the function inside a property, a decorator or a method."""
    function = getattr(function, 'fget', function)
    return inspect.unwrap(getattr(function, '__func__', function))


@contextlib.contextmanager
def in_place(function, tree):
    """Let a function do what another tree says, wherever it is used."""
    without_decorators = copy.copy(tree)
    without_decorators.decorator_list = []
    source = ast.unparse(without_decorators)
    made = {}
    exec(compile(source, '<mutant>', 'exec'), function.__globals__, made)
    mutant = made[tree.name]
    names = '__code__', '__defaults__', '__kwdefaults__'
    before = [getattr(function, name) for name in names]
    try:
        for name in names:
            setattr(function, name, getattr(mutant, name))
        yield
    finally:
        for name, value in zip(names, before):
            setattr(function, name, value)


CALLED = set()  # of the functions that are recorded


@contextlib.contextmanager
def calls_recorded(functions):
    """Yield a set to which each of these functions adds itself."""
    CALLED.clear()
    with contextlib.ExitStack() as stack:
        for function in functions:
            source = textwrap.dedent(inspect.getsource(function))
            (tree,) = ast.parse(source).body
            note = 'import mutator; mutator.CALLED.add({!r})'
            tree.body[:0] = ast.parse(note.format(function.__qualname__)).body
            stack.enter_context(in_place(function, tree))
        yield CALLED


def load(name):
    """Return the module with a name such as `replicas` or `samestep.causes`;
    without the package, the first one in d2lmulti, if there is any."""
    *given, stem = name.split('.')
    for package in given or ('d2lmulti', 'd2lbase', 'd2ldoctor', 'samestep'):
        (folder,) = importlib.util.find_spec(
            package
        ).submodule_search_locations
        for path in pathlib.Path(folder).glob(f'**/{stem}.py'):
            parts = path.relative_to(folder).with_suffix('').parts
            return importlib.import_module('.'.join((package, *parts)))
    raise ValueError(f'no module {name}: name one as in `replicas`')
