"""Grade a class that is made up, and print the seconds for each answer.

    python -m benchmarks.grade_class --students 6 --chapters 1 2 3 4 5

Every third student hands in our solutions, every third wrong answers of
`tests/notebooks/answers`, and every third both. The seconds of the processor
count all processes; those of the clock depend on what else the machine does.
"""

import argparse
import collections
import json
import pathlib
import resource
import runpy
import subprocess
import sys
import tempfile
import time

import nbformat

from chapters import ROOT, name_of, number_of
from chapters.exercises import read_chapters


def main():
    """Make a class, grade it, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--students', type=int, default=6)
    parser.add_argument(
        '--chapters', type=int, nargs='+', default=[1, 2, 3, 4, 5]
    )
    options, more = parser.parse_known_args()
    found = [
        chapter
        for chapter in read_chapters(ROOT / 'notebooks')
        if number_of(chapter.stem) in options.chapters
    ]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for student in range(options.students):
            for chapter in found:
                hand_in(chapter, student, folder / 'class')
        (folder / 'secret').write_text('a secret')
        start = time.monotonic()
        subprocess.run(
            [
                *(sys.executable, '-m', 'grading', folder / 'class'),
                *('--secret-file', folder / 'secret'),
                *('--out', folder / 'out', *more),
            ],
            cwd=ROOT,
            check=True,
        )
        wall = time.monotonic() - start
        results = json.loads((folder / 'out' / 'results.json').read_text())
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    report(options, results, wall, used.ru_utime + used.ru_stime)


def report(options, results, wall, cpu):
    """Print the seconds, and those of a class of thirty."""
    number = len(results)
    counts = collections.Counter(result['verdict'] for result in results)
    print(f'{number} answers: {dict(counts)}')
    print(f'{wall:.0f} s, {wall / number:.2f} s for each answer')
    print(f'{cpu:.0f} s of the processor, {cpu / number:.2f} s for each')
    factor = 30 / options.students
    print(
        f'thirty students, on two cores that do nothing else: at most '
        f'{cpu * factor / 2 / 60:.1f} minutes; as busy as now, '
        f'{wall * factor / 60:.1f} minutes'
    )


def hand_in(chapter, student, folder):
    """Write the notebook of a student, with right or wrong answers."""
    path = ROOT / 'notebooks' / f'{chapter.stem}.ipynb'
    notebook = nbformat.read(path, 4)
    table = ROOT / 'tests' / 'notebooks' / 'answers'
    wrong = runpy.run_path(str(table / f'{name_of(chapter.stem)}.py'))['WRONG']
    stubs = {exercise.stub: exercise for exercise in chapter.exercises}
    kept = []
    for cell in notebook.cells:
        if 'solution' in cell.metadata.get('tags', []):
            continue
        exercise = stubs.get(cell.source)
        if exercise:
            number = chapter.exercises.index(exercise)
            ours = exercise.solution.split('\n\ncheck_')[0]
            some = wrong[number]
            if student % 3 == 1 or (student % 3 == 2 and number % 2):
                *change, _ = some[student % len(some)]
                ours = ours.replace(*change) if len(change) == 2 else change[0]
            cell.source = ours.replace('# Our solution', '# My answer')
        kept.append(cell)
    notebook.cells = kept
    target = folder / f'student {student + 1}' / path.name
    target.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, target)


if __name__ == '__main__':
    main()
