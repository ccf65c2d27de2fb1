"""Grade students' notebooks.

    make grade SUBMISSIONS=folder
    make grade SUBMISSIONS=folder SECRET_FILE=file ARGS='--seconds 120'

Each answer runs in a separate process, with the book's own check, limits on
time and memory, and, where the system allows it, without a network and with
everything else read-only. Writes build/grades: grades.csv, index.html and a
page for each student; flags.html, what a person should look at; gradebook.csv,
a row for each student, and the same for Canvas and Moodle; texts/, a page for
each question that is answered in words; similar.html, answers that are alike.
"""

import argparse
import collections
import os
import pathlib
import sys
from concurrent.futures import ThreadPoolExecutor

from tqdm import tqdm

from chapters import ROOT
from chapters.answers import NO_EXERCISE
from chapters.exercises import read_chapters

from .gradebook import (
    with_earlier,
    with_marks,
    write_gradebook,
    write_imports,
)
from .grading import read_file, read_secret, run_all
from .pages import write_report
from .roster import (
    CANVAS,
    how_late,
    parse_due,
    read_late,
    read_marks,
    read_roster,
    student_in,
)
from .sandbox import (
    VERDICTS,
    Kept,
    SandboxError,
    isolation,
    needed_folders,
)
from .similar import write_similar
from .submissions import find_files, without_extras
from .texts import merge, read_texts, write_texts

RAN_IN = {
    'bubblewrap': 'The answers run in bubblewrap.',
    'namespaces': 'The answers run in namespaces, without bubblewrap.',
    '': 'This system does not allow namespaces, so the answers have a network '
    'and can write anywhere: grade in a container, or on a separate machine.',
}

NOTHING_WRITTEN = 'No answer has a verdict, and {} is as it was.'


def main():
    """Parse the command line, grade, and write the report."""
    options = parse_options()
    chapters = read_chapters(options.chapters)
    if options.only:
        chapters = [c for c in chapters if options.only in c.stem]
        if not chapters:
            sys.exit(f'no chapter is called {options.only}')
    files = list(find_files(options.submissions))
    name_students(files, chapters, options)
    files = without_extras(files)
    if not files:
        sys.exit(f'there is no notebook in {options.submissions}')
    print(RAN_IN[isolation()], file=sys.stderr)
    folder, each = options.out / 'texts', options.text_points
    is_new = not options.out.exists()
    try:  # before the class is graded
        options.out.mkdir(parents=True, exist_ok=True)
        earlier = read_texts(folder, chapters, each)
    except (ValueError, OSError) as error:
        sys.exit(str(error))
    try:
        results = grade_files(files, chapters, options)
    except SandboxError as error:
        if is_new:
            options.out.rmdir()
        sys.exit(f'{error}\n{NOTHING_WRITTEN.format(options.out)}')
    saved = options.out / 'results.json'
    results, changes = with_earlier(results, saved, options.add)
    for student, exercise in with_marks(results, options.marks):
        print(f'marks: {student} has no {exercise}', file=sys.stderr)
    texts = merge(earlier, files, chapters, each, options.add)
    write_all(results, texts, chapters, options, changes)
    for one in changes:
        print(f'changed: {one}')
    counts = collections.Counter(result.verdict for result in results)
    print(
        f'{sum(file.is_notebook for file in files)} notebooks, '
        f'{len({r.student for r in results})} students, '
        f'{sum(bool(r.exercise) for r in results)} exercises: '
        + ', '.join(f'{counts[v]} {v}' for v in VERDICTS)
        + f'; {sum(bool(r.flags) for r in results)} flagged, to look at'
        + f'\nThe report is in {options.out}/index.html'
    )


def write_all(results, texts, chapters, options, changes):
    """Write all pages and tables."""
    out, pages = options.out, []
    if not options.student:
        pages = [
            (name, f'texts/{page}')
            for name, page in write_texts(texts, chapters, out / 'texts')
        ]
        number = write_similar(results, chapters, out / 'similar.html')
        pages.append((f'similar answers ({number})', 'similar.html'))
    write_report(
        results,
        out,
        RAN_IN[isolation()],
        [text for written in texts.values() for text in written],
        pages,
        options.roster,
        changes,
    )
    roster = options.roster
    write_gradebook(results, chapters, roster, out / 'gradebook.csv', texts)
    if roster:
        write_imports(results, chapters, roster, out, texts)


def others_work(options):
    """Return the folder or zip of what students handed in, the folder of the
    results, the file of the secret and the lists of the class, as far as they
    exist and do not hold Python or the book."""
    paths = [options.submissions, options.out, *options.secret_file]
    paths += options.lists
    found = [path.resolve() for path in paths if path.exists()]
    needed = [pathlib.Path(folder) for folder in needed_folders()]
    return [
        path
        for path in found
        if not any(path == one or path in one.parents for one in needed)
    ]


def name_students(files, chapters, options):
    """Set whose the files are."""
    stems = [chapter.stem for chapter in chapters]
    for file in files:
        canvas = CANVAS.fullmatch(file.student)
        file.marked_late = bool(canvas and canvas['late'])
        file.student = options.student or student_in(
            file.student, options.roster, stems
        )


def grade_files(files, chapters, options):
    """Return the results of all files; print a student's at once."""
    limits, kept = (options.seconds, options.memory), Kept()
    hidden = others_work(options)

    def grade(read):
        file, problem, *found = read
        if problem:
            return [problem]
        some = run_all(file, *found, limits, options.secret, hidden, kept)
        for result in some:
            if result.verdict == 'not answered':
                continue
            result.late = how_late(
                file, result.chapter, options.due, options.late
            )
            result.counts = options.late_counts / 100 if result.late else 1
        return some

    # One chapter after the other, so that its cells run once for each job.
    ready = sorted(
        (read_file(file, chapters) for file in files),
        key=lambda read: read[0].chapter,
    )
    results = {}
    try:
        with ThreadPoolExecutor(options.jobs) as pool:
            found = zip(ready, pool.map(grade, ready))
            for (file, *_), some in tqdm(
                found, total=len(files), disable=None
            ):
                # With one chapter asked for, other chapters are no mistake.
                if options.only and not any(r.exercise for r in some):
                    some = [r for r in some if r.message != NO_EXERCISE]
                results[id(file)] = some
                for result in some if options.student else []:
                    said = f': {result.message}' if result.message else ''
                    name = result.exercise or result.file
                    tqdm.write(f'{name}: {result.verdict}{said}')
    finally:
        kept.close()
    return [result for file in files for result in results[id(file)]]


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
        '--only', help='one chapter: a part of its name, such as network'
    )
    parser.add_argument(
        '--secret',
        default=os.environ.get('D2LMULTI_SECRET'),
        help='also check on hidden cases, drawn from this text, which `ps` '
        'shows; by default the variable D2LMULTI_SECRET, which other users '
        'cannot see',
    )
    parser.add_argument(
        '--secret-file',
        type=pathlib.Path,
        action='append',
        default=[],
        help='the secret is in this file, which no answer sees',
    )
    parser.add_argument(
        '--roster',
        type=pathlib.Path,
        help='a CSV file with a line for each student, such as student,name; '
        'an export of Canvas or Moodle is one, too',
    )
    parser.add_argument(
        '--due',
        type=from_file(parse_due),
        help='later files are late: 2026-11-30T18:00, of this time zone',
    )
    parser.add_argument(
        '--late',
        type=pathlib.Path,
        help='a CSV file of who is late, whatever the time of the file: '
        'student,chapter,late',
    )
    parser.add_argument(
        '--late-counts',
        type=percent,
        default=100,
        help='the percentage of its points that a late answer brings: 100',
    )
    parser.add_argument(
        '--marks',
        type=pathlib.Path,
        help='a CSV file of points by hand, which count before the verdict: '
        'student,exercise,points,comment',
    )
    parser.add_argument(
        '--text-points',
        type=positive,
        default=1,
        help='of each question to think about, marked by hand: 1',
    )
    parser.add_argument(
        '--add',
        action='store_true',
        help='to the results that are in --out, of earlier weeks',
    )
    parser.add_argument(
        '--seconds', type=positive, default=60, help='for each answer: 60'
    )
    parser.add_argument(
        '--memory', type=positive, default=4096, help='in MB: 4096'
    )
    parser.add_argument(
        '--jobs',
        type=positive,
        default=cores(),
        help='notebooks at once: as many as there are cores',
    )
    options = parser.parse_args()
    if not options.submissions.exists():
        parser.error(f'{options.submissions.absolute()} does not exist')
    options.out = options.out.resolve()
    options.lists = []
    for name, read in (
        ('roster', read_roster),
        ('late', read_late),
        ('marks', read_marks),
    ):
        path = getattr(options, name)
        options.lists += [path] if path else []
        try:
            setattr(options, name, read(path) if path else {})
        except (OSError, ValueError) as error:
            parser.error(f'--{name}: {error}')
    try:
        for file in options.secret_file:
            options.secret = read_secret(file)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    return options


def cores():
    """Return how many cores this process may use."""
    if hasattr(os, 'sched_getaffinity'):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def from_file(read):
    """Return `read`, so that the command line shows what is wrong."""

    def parse(text):
        try:
            return read(text)
        except (OSError, ValueError) as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return parse


def percent(text):
    """Return a percentage from the command line."""
    value = float(text)
    if not 0 <= value <= 100:
        raise argparse.ArgumentTypeError(f'{text} is not between 0 and 100')
    return value


def positive(text):
    """Return a positive integer from the command line."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f'{value} is not above 0')
    return value


if __name__ == '__main__':
    main()
