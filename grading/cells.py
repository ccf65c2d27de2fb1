"""The code cells of a notebook: which define the names that others use."""

import ast
import builtins
import functools
import re
import symtable


def name_of(stem):
    """Return the name of a chapter, 'collectives' of '08_collectives'."""
    return stem.split('_', 1)[1]


def tags(cell):
    """Return the tags of a cell."""
    return cell.get('metadata', {}).get('tags', [])


def code_cells(notebook, tag=None):
    """Return the code cells, or those with a tag."""
    return [
        cell
        for cell in notebook['cells']
        if cell['cell_type'] == 'code' and (tag is None or tag in tags(cell))
    ]


def without_marks(source):
    """Return the source without nbdev's marks, such as `#| export`."""
    return re.sub(r'^#\|.*\n+', '', source, flags=re.MULTILINE)


def plain(source):
    """Return the source without the lines that only a notebook knows."""
    return re.sub('^[%!].*', '', source, flags=re.MULTILINE)


@functools.lru_cache(maxsize=1000)
def runnable(source):
    """Return a cell as Python: IPython rewrites its magics and questions.

    No line moves, so that a message names the line that a student sees.
    """
    if is_python(source):
        return source
    source = re.sub(r'^\s*%%capture +(\w+)', CAPTURED, source)
    source = re.sub(r'^(\s*)%%(time|timeit|capture)\b.*', r'\1', source)
    try:
        from IPython.core.inputtransformer2 import TransformerManager
    except ImportError:
        return plain(source)
    empty = re.match(r'\s*', source)[0].count('\n')  # IPython drops them
    try:
        found = TransformerManager().transform_cell(source)
        return inside_out('\n' * empty + found.lstrip('\n'))
    except SyntaxError:
        return source


CAPTURED = r'\1 = get_ipython().captured()'
OPTIONS = re.compile(r'((?:-[oqctpnr]+\s*\d*\s+)*)(.*)')


def inside_out(source):
    """Return a source with what its %time and %timeit run as code, not as a
    text in which nobody sees the names."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source
    lines = source.split('\n')
    statements = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)
    }
    for node in ast.walk(tree):
        if not (
            isinstance(node, ast.Call)
            and getattr(node.func, 'attr', '') == 'run_line_magic'
            and [type(one) for one in node.args] == [ast.Constant] * 2
            and node.lineno == node.end_lineno
        ):
            continue
        name, text = (one.value for one in node.args)
        options, code = OPTIONS.match(text).groups()
        if name == 'time' and is_value(code):
            code = f'({code})'
        elif name == 'timeit' and is_value(code):
            code = f'get_ipython().timeit({options!r}, lambda: ({code}))'
        elif not (
            name == 'time' and id(node) in statements and is_python(code)
        ):
            continue
        line = lines[node.lineno - 1].encode()
        lines[node.lineno - 1] = (
            line[: node.col_offset]
            + code.encode()
            + line[node.end_col_offset :]
        ).decode()
    return '\n'.join(lines)


def is_value(source):
    """Return whether a source is an expression."""
    try:
        ast.parse(source, mode='eval')
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def is_python(source):
    """Return whether Python can read a source."""
    try:
        ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def names_in(source):
    """Return the names that a cell leaves behind, and others that it uses.

    A cell that is not Python leaves and uses none.
    """
    try:
        tables = [symtable.symtable(runnable(source), 'cell', 'exec')]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set(), set()
    left = {
        symbol.get_name()
        for symbol in tables[0].get_symbols()
        if symbol.is_assigned() or symbol.is_imported()
    }
    used = set()
    for table in tables:  # of functions in it, too
        tables += table.get_children()
        used |= {
            symbol.get_name()
            for symbol in table.get_symbols()
            if symbol.is_global() and symbol.is_referenced()
        }
    return left, used - left


def changed_in(source):
    """Return the names whose objects a cell changes: tables that it fills."""
    if not is_python(runnable(source)):
        return set()
    found = set()
    for node in outside_functions(ast.parse(runnable(source))):
        stored = isinstance(getattr(node, 'ctx', None), (ast.Store, ast.Del))
        call = isinstance(node, ast.Call) and node.func
        for target in (stored and node, call):
            while isinstance(target, (ast.Subscript, ast.Attribute)):
                target = target.value
                if isinstance(target, ast.Name):
                    found.add(target.id)
    return found


def outside_functions(tree):
    """Yield the nodes that run when the cell does."""
    for node in ast.iter_child_nodes(tree):
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
        if not isinstance(node, kinds):
            yield node
            yield from outside_functions(node)


def needed_for(sources, others):
    """Return those of `others`, in order, whose names `sources` use,
    directly or not."""
    kept, before = [], None
    while len(kept) != before:
        before = len(kept)
        used = set().union(*(names_in(s)[1] for s in [*sources, *kept]))
        kept = [other for other in others if names_in(other)[0] & used]
    return kept


def is_quick(source):
    """Return whether a cell only imports and defines, or is exported."""
    kinds = (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
    return source.startswith('#| export') or (
        is_python(plain(source))
        and all(
            isinstance(one, kinds) for one in ast.parse(plain(source)).body
        )
    )


def used_at_once(source):
    """Return the names that a cell uses when it runs, not when its functions
    are called."""
    table = symtable.symtable(plain(source), 'cell', 'exec')
    return {
        symbol.get_name()
        for symbol in table.get_symbols()
        if symbol.is_referenced()
        and not (symbol.is_assigned() or symbol.is_imported())
    }


def code_before(notebook):
    """Return the sources of the cells whose names the exercises use, and of
    those that cost nothing: answers may use their names."""
    exercises = [
        cell
        for tag in ('exercise', 'solution', 'check')
        for cell in code_cells(notebook, tag)
    ]
    slow = code_cells(notebook, 'nbval-ignore-output')  # timings, figures
    others = [
        cell['source']
        for cell in code_cells(notebook)
        if cell not in exercises
        and (cell not in slow or is_quick(cell['source']))
        and not cell['source'].startswith('%%')  # writes a file
    ]
    needed = needed_for([cell['source'] for cell in exercises], others)
    kept, known = [], set(dir(builtins))
    for source in others:
        if source in needed or (
            is_quick(source) and used_at_once(source) <= known
        ):
            kept.append(source)
            known |= names_in(source)[0]
    return kept
