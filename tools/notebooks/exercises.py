"""The exercises of the book, from its notebooks.

Ids and points are those of nbgrader's metadata: the check of an exercise has
`points` and, as `grade_id`, the id of its exercise and '-check'.
"""

import ast
import builtins
import dataclasses
import importlib.util
import json
import pathlib
import re
import symtable

import nbformat

from .cells import code_cells, in_place, is_python, plain, without_marks
from .names import first_line, names_in, needed_for

KINDS = (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)


@dataclasses.dataclass
class Exercise:
    """A stub, its check, and what they are worth."""

    id: str
    points: float
    function: str
    stub: str
    check: str
    solution: str = ''


@dataclasses.dataclass
class Chapter:
    """A chapter's exercises, and the cells that they need.

    `ours`: the sources of its code cells, to tell what a student added.
    """

    stem: str
    before: list
    exercises: list
    ours: list


def chapter_of(path):
    """Return the `Chapter` of one of our notebooks."""
    notebook = nbformat.read(path, 4)
    stubs = code_cells(notebook, 'exercise')
    checks = code_cells(notebook, 'check')
    solutions = code_cells(notebook, 'solution')
    exercises = [
        Exercise(
            id=stub.metadata.nbgrader.grade_id,
            points=check.metadata.nbgrader.points,
            function=sorted(names_in(stub.source)[0])[0],
            stub=stub.source,
            check=check.source,
            solution=solution.source,
        )
        for stub, check, solution in zip(stubs, checks, solutions)
    ]
    ours = [
        source
        for cell in code_cells(notebook)
        if cell not in solutions
        for source in sorted({cell.source, without_marks(cell.source)})
    ]
    ours += [
        import_of(notebook, solution)
        for solution in filter(in_place, solutions)
    ]
    return Chapter(path.stem, code_before(notebook), exercises, ours)


def import_of(notebook, solution):
    """Return what stands in a student's notebook for an exported solution:
    the import of it."""
    (module,) = (
        found[1]
        for cell in code_cells(notebook)
        for found in re.finditer(r'^#\| default_exp (.+)', cell.source, re.M)
    )
    names = ', '.join(sorted(names_in(solution.source)[0]))
    return f'from d2lmulti.{module} import {names}'


def is_quick(source):
    """Return whether a cell only imports and defines, or is exported."""
    return source.startswith('#| export') or (
        is_python(plain(source))
        and all(
            isinstance(one, KINDS) for one in ast.parse(plain(source)).body
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
    """Return the sources of the cells whose names the exercises use, of those
    that cost nothing, and what others define: answers may use their names."""
    exercises = [
        cell
        for tag in ('exercise', 'solution', 'check')
        for cell in code_cells(notebook, tag)
        if not in_place(cell)  # the chapter's own, too
    ]
    slow = code_cells(notebook, 'nbval-ignore-output')  # timings, figures
    others = [
        cell['source']
        for cell in code_cells(notebook)
        if cell not in exercises
        and (cell not in slow or is_quick(cell['source']))
        and not cell['source'].startswith('%%')  # writes a file
    ]
    asked = [cell['source'] for cell in exercises]
    asked_names = set().union(*(names_in(source)[0] for source in asked))
    needed = needed_for(asked, others, given=asked_names)
    kept, known = [], set(dir(builtins))
    taken = set().union(*(names_in(source)[0] for source in needed))
    for source in others:
        if source in needed or (
            is_quick(source) and used_at_once(source) <= known
        ):
            kept.append(source)
        else:
            kept.append(definitions(source, known, taken))
        known |= names_in(kept[-1])[0]
    return [source for source in kept if source]


def definitions(source, known, taken):
    """Return what a cell defines beside what it computes: functions, classes,
    imports and plain constants, as far as they need only the names `known`
    and are none of those `taken`."""
    if not is_python(plain(source)):
        return ''
    lines, kept, known = plain(source).split('\n'), [], set(known)
    for node in ast.parse(plain(source)).body:
        text = '\n'.join(lines[first_line(node) - 1 : node.end_lineno])
        if (
            (isinstance(node, KINDS) or is_constant(node))
            and used_at_once(text) <= known
            and not names_in(text)[0] & taken
            and all(map(is_there, imported(node)))
        ):
            kept.append(text)
            known |= names_in(text)[0]
    return '\n\n'.join(kept)


def imported(node):
    """Return the packages that a statement imports."""
    if isinstance(node, ast.Import):
        return {alias.name.partition('.')[0] for alias in node.names}
    if isinstance(node, ast.ImportFrom):
        return {(node.module or '').partition('.')[0]}
    return set()


def is_there(package):
    """Return whether a package can be imported, and is not a file that a cell
    writes."""
    return bool(package) and importlib.util.find_spec(package) is not None


def is_constant(node):
    """Return whether a statement gives a name a number or a text."""
    return (
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Constant)
        and all(isinstance(one, ast.Name) for one in node.targets)
    )


def read_chapters(source):
    """Return the chapters in a folder of notebooks, or in a JSON file that
    `write_chapters` wrote."""
    source = pathlib.Path(source)
    if source.is_dir():
        return [chapter_of(path) for path in sorted(source.glob('*.ipynb'))]
    return [
        Chapter(
            **{
                **fields,
                'exercises': [Exercise(**e) for e in fields['exercises']],
            }
        )
        for fields in json.loads(source.read_text())
    ]


def write_chapters(chapters, path):
    """Save what a student needs to run the checks: no solution."""
    records = [dataclasses.asdict(chapter) for chapter in chapters]
    for chapter in records:
        chapter['before'] = []
        for exercise in chapter['exercises']:
            exercise['solution'] = ''
    path.write_text(json.dumps(records, indent=1))
