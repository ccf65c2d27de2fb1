"""The cells of a notebook, and their code as Python."""

import ast
import functools
import re

import nbformat


@functools.lru_cache(maxsize=None)
def read_chapter(path):
    """Return the notebook of a chapter, which nobody may change."""
    return nbformat.read(path, 4)


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
    if not is_python(source):
        return source
    tree, lines = ast.parse(source), source.split('\n')
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
    return is_python(source, 'eval')


def is_python(source, mode='exec'):
    """Return whether Python can read a source."""
    try:
        ast.parse(source, mode=mode)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def only_imports(source):
    """Return whether a cell does nothing but import."""
    if not is_python(plain(source)):
        return False
    body = ast.parse(plain(source)).body
    kinds = (ast.Import, ast.ImportFrom)
    return bool(body) and all(isinstance(node, kinds) for node in body)


def is_machinery(cell):
    """Return whether a cell is tagged as supporting code, or only imports."""
    if tags(cell):
        return 'hide-input' in tags(cell)
    return only_imports(''.join(cell['source']))
