"""The exercises of the book, from its notebooks.

Ids and points are those of nbgrader's metadata: the check of an exercise has
`points` and, as `grade_id`, the id of its exercise and '-check'.
"""

import dataclasses
import json
import pathlib

import nbformat

from .cells import code_before, code_cells, names_in, without_marks


@dataclasses.dataclass
class Exercise:
    """A stub, its check, and what they are worth."""

    id: str
    points: float
    function: str
    cell_id: str
    stub: str
    check: str
    solution: str = ''


@dataclasses.dataclass
class Chapter:
    """A chapter's exercises, and the cells that they need.

    `ours`: the sources of its other code cells, to tell what a student added.
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
            cell_id=stub.id,
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
    return Chapter(path.stem, code_before(notebook), exercises, ours)


def read_chapters(source):
    """Return the chapters in a folder of notebooks, or in a JSON file that
    `write_chapters` wrote."""
    source = pathlib.Path(source)
    if source.is_dir():
        return [chapter_of(path) for path in sorted(source.glob('*.ipynb'))]
    return [
        Chapter(
            **{
                **found,
                'exercises': [Exercise(**e) for e in found['exercises']],
            }
        )
        for found in json.loads(source.read_text())
    ]


def write_chapters(chapters, path):
    """Save what a student needs to run the checks: no solution."""
    found = [dataclasses.asdict(chapter) for chapter in chapters]
    for chapter in found:
        for exercise in chapter['exercises']:
            exercise['solution'] = ''
    path.write_text(json.dumps(found, indent=1))
