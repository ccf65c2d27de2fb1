"""Find the cells of exercises in notebooks that have lost nbgrader's metadata.

Some editors drop it, and students delete checks and copy cells. A check is
known by its function, such as `check_2`, an answer by the function that it
defines. What is not there is added at the end, where all of the student's
cells have run.
"""

import re

from nbformat.v4 import new_code_cell, new_markdown_cell
from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor

DEFINED = re.compile(r'^def (\w+)\(', re.MULTILINE)


class Restore(NbGraderPreprocessor):
    """Gives cells the metadata that they were released with, and nothing else,
    and adds cells that are missing."""

    def preprocess(self, nb, resources):
        """Restore the cells of a notebook."""
        about = resources['nbgrader']
        found = {}
        for cell in nb.cells:
            found[id_of(cell)] = cell
            # What is none of ours, as of a copied cell, stops nbgrader.
            cell.metadata.pop('nbgrader', None)
        with Gradebook(about['db_url']) as gradebook:
            released = gradebook.find_notebook(
                about['notebook'], about['assignment']
            )
            lost = []
            for source in released.source_cells:
                if source.name in found:
                    mark(found[source.name], source, released)
                else:
                    lost.append(source)
            for source in lost:
                cell = find_cell(nb.cells, source)
                if cell is None:
                    self.log.warning('%s is added again', source.name)
                    has_id = (nb.nbformat, nb.nbformat_minor) >= (4, 5)
                    cell = new_cell(source, has_id)
                    nb.cells.append(cell)
                mark(cell, source, released)
        return nb, resources


def mark(cell, source, released):
    """Give a cell its metadata."""
    points = {one.name: one.max_score for one in released.grade_cells}
    cell.metadata.nbgrader = {
        'cell_type': source.cell_type,
        'grade': source.name in points,
        'grade_id': source.name,
        'locked': source.locked,
        'schema_version': 3,
        'solution': source.name in {c.name for c in released.solution_cells},
        'task': False,
    }
    if source.name in points:
        cell.metadata.nbgrader['points'] = points[source.name]


def id_of(cell):
    """Return the id that nbgrader gave a cell, or None."""
    found = cell.metadata.get('nbgrader', {})
    return found.get('grade_id') if isinstance(found, dict) else None


def find_cell(cells, source):
    """Return the cell without an id that is one of the released ones, the last
    if there are several, or None."""
    names = {*DEFINED.findall(source.source)}
    same = [
        cell
        for cell in cells
        if id_of(cell) is None
        and cell.cell_type == source.cell_type
        and (
            names & {*DEFINED.findall(cell.source)}
            if source.cell_type == 'code'
            else cell.source == source.source
        )
    ]
    return same[-1] if same else None


def new_cell(source, has_id):
    """Return a new cell of what was released."""
    make = new_code_cell if source.cell_type == 'code' else new_markdown_cell
    cell = make(source.source)
    if not has_id:
        del cell['id']
    return cell
