"""Find the cells of exercises in notebooks that have lost nbgrader's metadata.

Some editors drop it, and students delete checks. A check is known by its
function, such as `check_2`, an answer by the function that it defines. What is
not there is added at the end, where all of the student's cells have run.
"""

import re

from nbformat.v4 import new_code_cell, new_markdown_cell
from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor

DEFINED = re.compile(r'^def (\w+)\(', re.MULTILINE)


class Restore(NbGraderPreprocessor):
    """Gives cells their metadata back, and adds cells that are missing."""

    def preprocess(self, nb, resources):
        """Restore the cells of a notebook."""
        found = resources['nbgrader']
        with Gradebook(found['db_url']) as gradebook:
            released = gradebook.find_notebook(
                found['notebook'], found['assignment']
            )
            points = {
                cell.name: cell.max_score for cell in released.grade_cells
            }
            answers = {cell.name for cell in released.solution_cells}
            for source in released.source_cells:
                if source.name not in map(id_of, nb.cells):
                    metadata = {
                        'cell_type': source.cell_type,
                        'grade': source.name in points,
                        'grade_id': source.name,
                        'locked': source.locked,
                        'schema_version': 3,
                        'solution': source.name in answers,
                        'task': False,
                    }
                    if source.name in points:
                        metadata['points'] = points[source.name]
                    cell = find_cell(nb.cells, source)
                    if cell is None:
                        self.log.warning('%s is added again', source.name)
                        cell = new_cell(source, self.has_ids(nb))
                        nb.cells.append(cell)
                    cell.metadata.nbgrader = metadata
        return nb, resources

    @staticmethod
    def has_ids(nb):
        """Return whether the cells of a notebook have ids."""
        return (nb.nbformat, nb.nbformat_minor) >= (4, 5)


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
