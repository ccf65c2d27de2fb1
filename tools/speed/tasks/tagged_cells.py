"""A chapter's own experiments: its cells that are tagged "benchmark"."""

from tools.notebooks import path_of
from tools.notebooks.cells import code_cells, plain, read_chapter


def run_tagged(name, names):
    """Run the tagged cells of the chapter `name`; `names` are there, and what
    they leave behind is returned with those."""
    for cell in code_cells(read_chapter(path_of(name)), 'benchmark'):
        exec(plain(cell.source), names)
    return names
