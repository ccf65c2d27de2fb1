"""Say what the checks say of the answers in your notebooks.

    python -m tools.notebooks.check notebooks
    python -m tools.notebooks.check notebooks/02_network.ipynb --json
    python -m tools.notebooks.check notebooks --only network-exercise-2

Each notebook runs from top to bottom in a new kernel, as Restart and Run All
does, with the checks as the book has them. A notebook without an answer is not
run. The exit status is 0 if every exercise that was asked for has passed, and
1 if one is wrong or not answered.
"""

import argparse
import collections
import json
import pathlib
import re
import sys

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import DeadKernelError
from tqdm import tqdm

from . import ROOT, name_of
from .cells import code_cells
from .exercises import read_chapters

# Students have the exercises without our solutions; else they are read.
EXERCISES = pathlib.Path(__file__).with_name('exercises.json')
FRAMEWORKS = re.compile("No module named 'torch")
ENDED = 'the kernel ended before this check'


def main(argv=None):
    """Parse the command line, print what the checks say, and exit."""
    options = parse_options(argv)
    chapters = read_chapters(
        EXERCISES if EXERCISES.exists() else ROOT / 'notebooks'
    )
    ids = [one.id for chapter in chapters for one in chapter.exercises]
    if not any(options.only in one for one in ids):
        sys.exit(f'no exercise is called {options.only}')
    rows = []
    for path in options.notebooks:
        for row in check_notebook(path, chapters, options):
            rows.append(row)
            if not options.json:
                said = f': {row["message"]}' if row['message'] else ''
                tqdm.write(f'{row["exercise"]}: {row["verdict"]}{said}')
    if options.json:
        print(json.dumps(rows, indent=1))
    if not rows:
        sys.exit('no exercise was found')
    counts = collections.Counter(row['verdict'] for row in rows)
    if not options.json:
        print(', '.join(f'{counts[one]} {one}' for one in counts))
    sys.exit(int(counts['passed'] < len(rows)))


def parse_options(argv):
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(
        prog='python -m tools.notebooks.check',
        description=(__doc__ or '').split('\n')[0],
    )
    parser.add_argument(
        'paths',
        type=pathlib.Path,
        nargs='+',
        help='notebooks, or a folder of them',
    )
    parser.add_argument(
        '--only',
        default='',
        help='a part of the ids of exercises: network, or network-exercise-2',
    )
    parser.add_argument(
        '--seconds', type=int, default=300, help='for each cell: 300'
    )
    parser.add_argument(
        '--json', action='store_true', help='print a list of results'
    )
    options = parser.parse_args(argv)
    options.notebooks = []
    for path in options.paths:
        if not path.exists():
            parser.error(f'{path} does not exist')
        options.notebooks += (
            sorted(path.glob('*.ipynb')) if path.is_dir() else [path]
        )
    return options


def check_notebook(path, chapters, options):
    """Yield {notebook, exercise, points, verdict, message} of each exercise of
    a notebook that was asked for."""
    try:
        notebook = nbformat.read(path, 4)
    except Exception as error:  # whatever a file has
        yield row_of(path, path.stem, 0, 'wrong', f'not a notebook: {error}')
        return
    chapter = find_chapter(notebook, path.stem, chapters)
    if chapter is None:
        return
    asked = [one for one in chapter.exercises if options.only in one.id]
    if not asked:
        return
    ran = any(c.source not in chapter.ours for c in code_cells(notebook))
    checks = with_checks(notebook, chapter)
    if ran:
        run(notebook, path, options.seconds)
    for exercise in asked:
        verdict, message = 'not answered', ''
        if ran:
            verdict, message = verdict_of(checks[exercise.id])
        yield row_of(path, exercise.id, exercise.points, verdict, message)


def row_of(path, exercise, points, verdict, message):
    """Return a result as a dictionary."""
    return {
        'notebook': str(path),
        'exercise': exercise,
        'points': points,
        'verdict': verdict,
        'message': message,
    }


def find_chapter(notebook, stem, chapters):
    """Return the chapter of a notebook, by the ids of its cells or else by its
    name, or None."""
    counts = collections.Counter(
        id_of(cell).partition('-exercise-')[0] for cell in notebook.cells
    )
    return max(
        (
            one
            for one in chapters
            if counts[name_of(one.stem)] or name_of(one.stem) in stem
        ),
        key=lambda one: counts[name_of(one.stem)],
        default=None,
    )


def id_of(cell):
    """Return the id of an exercise's cell, or ''."""
    nbgrader = cell.metadata.get('nbgrader', {})
    return nbgrader.get('grade_id', '') if isinstance(nbgrader, dict) else ''


def with_checks(notebook, chapter):
    """Return {id: check cell} of the exercises of a chapter, after the checks
    of a notebook are as the book has them. What is missing comes last."""
    chosen = {}
    for number, exercise in enumerate(chapter.exercises, 1):
        defined = re.compile(rf'^def check_{number}\(', re.MULTILINE)
        cells = [
            cell
            for cell in code_cells(notebook)
            if id_of(cell) == f'{exercise.id}-check'
            or defined.search(cell.source)
        ]
        if not cells:
            cells = [nbformat.v4.new_code_cell()]
            notebook.cells += cells
        cells[-1].source = exercise.check
        cells[-1].outputs = []
        chosen[exercise.id] = cells[-1]
    return chosen


def run(notebook, path, seconds):
    """Run a notebook in its folder, and show how far it is."""
    total = sum(cell.cell_type == 'code' for cell in notebook.cells)
    with tqdm(total=total, desc=path.stem, unit=' cells', leave=False) as bar:
        client = NotebookClient(
            notebook,
            timeout=seconds,
            allow_errors=True,
            interrupt_on_timeout=True,
            kernel_name='python3',
            extra_arguments=['--log-level=ERROR'],  # no advice on its network
            resources={'metadata': {'path': str(path.absolute().parent)}},
            on_cell_executed=lambda **_: bar.update(),
            error_on_timeout={
                'ename': 'TimeoutError',
                'evalue': f'a cell took longer than {seconds} s',
                'traceback': [],
            },
        )
        try:
            client.execute()
        except DeadKernelError:
            pass  # the checks that did not run say so


def verdict_of(cell):
    """Return (verdict, what the check says) of a check that has run."""
    text = ''
    for output in cell.outputs:
        if output.output_type == 'error':
            said = ' '.join(output.evalue.split())
            if output.ename == 'NotImplementedError':
                return 'not answered', said
            if output.ename != 'AssertionError':
                said = f'{output.ename}: {said}'
            if FRAMEWORKS.search(said):
                said += ': make check-answers BUILD=frameworks'
            return 'wrong', said
        text += output.get('text', '')
    if re.search(r'^Exercise \d+: passed$', text, re.MULTILINE):
        return 'passed', ''
    return 'wrong', ENDED


if __name__ == '__main__':
    main()
