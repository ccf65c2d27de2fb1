"""Grade students' notebooks.

    make grade SUBMISSIONS=folder
    make grade SUBMISSIONS=folder ARGS='--secret ... --seconds 120'

Each answer runs in a separate process, with the book's own check, limits on
time and memory, and, where the system allows it, without a network and with
everything else read-only. Writes build/grades: grades.csv, index.html and a
page for each student.
"""

import argparse
import collections
import pathlib
import sys
from concurrent.futures import ThreadPoolExecutor

from tqdm import tqdm

from .exercises import read_chapters
from .grading import ROOT, best_of, grade_file
from .report import write_report
from .sandbox import VERDICTS, can_isolate
from .submissions import find_files

NOT_ISOLATED = (
    'This system does not allow namespaces, so the answers had a network and '
    'could write anywhere: grade in a container, or on a separate machine.'
)


def main():
    """Parse the command line, grade, and write the report."""
    options = parse_options()
    chapters = read_chapters(options.chapters)
    files = list(find_files(options.submissions))
    if options.student:
        for file in files:
            file.student = options.student
    if not files:
        sys.exit(f'there is no notebook in {options.submissions}')
    if not can_isolate():
        print(NOT_ISOLATED, file=sys.stderr)
    limits = options.seconds, options.memory
    with ThreadPoolExecutor(options.jobs) as pool:
        results = pool.map(
            lambda file: grade_file(file, chapters, limits, options.secret),
            files,
        )
        progress = tqdm(results, total=len(files), disable=None)
        results = best_of([r for some in progress for r in some])
    write_report(results, options.out, '' if can_isolate() else NOT_ISOLATED)
    graded = [result for result in results if result.exercise]
    if options.student:
        for result in graded:
            said = f': {result.message}' if result.message else ''
            print(f'{result.exercise}: {result.verdict}{said}')
    counts = collections.Counter(result.verdict for result in results)
    verdicts = ', '.join(f'{counts[v]} {v}' for v in VERDICTS)
    print(
        f'{len(files)} notebooks, {len({r.student for r in results})} '
        f'students, {len(graded)} exercises: {verdicts}\n'
        f'The report is in {options.out}/index.html'
    )


def parse_options():
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(
        prog='make grade', description=(__doc__ or '').split('\n')[0]
    )
    parser.add_argument(
        'submissions',
        type=pathlib.Path,
        help='a folder, or a zip; the first folders or zips in it, or the '
        'notebooks, are named after the students',
    )
    parser.add_argument(
        '--out', type=pathlib.Path, default=ROOT / 'build' / 'grades'
    )
    parser.add_argument(
        '--chapters',
        type=pathlib.Path,
        default=ROOT / 'notebooks',
        help='the notebooks with the checks',
    )
    parser.add_argument(
        '--student', help='all notebooks are of this student; print results'
    )
    parser.add_argument(
        '--secret', help='also check on hidden cases, drawn from this text'
    )
    parser.add_argument(
        '--seconds', type=positive, default=60, help='for each answer: 60'
    )
    parser.add_argument(
        '--memory', type=positive, default=4096, help='in MB: 4096'
    )
    parser.add_argument(
        '--jobs', type=positive, default=1, help='notebooks at once: 1'
    )
    options = parser.parse_args()
    if not options.submissions.exists():
        parser.error(f'{options.submissions} does not exist')
    return options


def positive(text):
    """Return a positive integer from the command line."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f'{value} is not above 0')
    return value


if __name__ == '__main__':
    main()
