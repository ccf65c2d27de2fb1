"""Check the answers in your notebooks, as grading begins.

    python -m chapters.check notebooks
    python -m chapters.check notebooks/02_network.ipynb --seconds 120

Each answer runs in a separate process, after the chapter's own cells, and the
chapter's own check judges it: what stands in your notebook in their place
makes no difference.
"""

import argparse
import collections
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

from . import ROOT
from .answers import match, parse_notebook
from .exercises import read_chapters

# Students have the exercises without our solutions; else they are read.
EXERCISES = pathlib.Path(__file__).with_name('exercises.json')
FRAMEWORKS = re.compile("No module named '(torch|tensorflow)")


def main(argv=None):
    """Parse the command line, and print what the checks say."""
    parser = argparse.ArgumentParser(
        prog='python -m chapters.check',
        description=(__doc__ or '').split('\n')[0],
    )
    parser.add_argument(
        'notebooks',
        type=pathlib.Path,
        nargs='+',
        help='notebooks, or a folder of them',
    )
    parser.add_argument(
        '--only', default='', help='a part of the name of one chapter'
    )
    parser.add_argument(
        '--seconds', type=float, default=60, help='for each answer: 60'
    )
    options = parser.parse_args(argv)
    source = EXERCISES if EXERCISES.exists() else ROOT / 'notebooks'
    chapters = read_chapters(source)
    if not any(options.only in chapter.stem for chapter in chapters):
        parser.error(f'no chapter is called {options.only}')
    counts = collections.Counter()
    for path in find_notebooks(options.notebooks, parser.error):
        try:
            chapter, answers = match(
                parse_notebook(path.read_bytes()), chapters
            )
        except (OSError, ValueError) as error:
            print(f'{path}: {error}')
            continue
        if options.only in chapter.stem:
            check_chapter(chapter, answers, options.seconds, counts)
    if not counts:
        sys.exit('no exercise was found')
    print(', '.join(f'{counts[verdict]} {verdict}' for verdict in counts))


def find_notebooks(paths, fail):
    """Yield the notebooks among paths, and those in folders."""
    for path in paths:
        if not path.exists():
            fail(f'{path} does not exist')
        yield from sorted(path.glob('*.ipynb')) if path.is_dir() else [path]


def check_chapter(chapter, answers, seconds, counts):
    """Print the verdict on each exercise of a chapter, and count it."""
    found = {answer.exercise.id: answer for answer in answers}
    for exercise in chapter.exercises:
        verdict, message = 'not answered', ''
        answer = found.get(exercise.id)
        if answer and answer.is_changed():
            verdict, message = check_answer(chapter, answer, seconds)
        counts[verdict] += 1
        said = f': {message}' if message else ''
        print(f'{exercise.id}: {verdict}{said}', flush=True)


def check_answer(chapter, answer, seconds):
    """Return (verdict, what the check says) of an answer."""
    job = {
        'before': chapter.before,
        'answer': [*answer.sources, answer.exercise.check],
    }
    with tempfile.TemporaryDirectory() as folder:
        result, begun = (
            pathlib.Path(folder, name) for name in ('result.json', 'begun')
        )
        pathlib.Path(folder, 'job.json').write_text(json.dumps(job))
        process = subprocess.Popen(
            [sys.executable, '-m', 'chapters.run_answer'],
            cwd=folder,
            env={
                **os.environ,
                'IPYTHONDIR': folder,
                'MPLBACKEND': 'agg',
                'PYTHONPATH': str(ROOT),
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            wait_for(process, begun, seconds)
        except subprocess.TimeoutExpired:
            return 'stopped', (
                f'it took longer than {seconds:g} s (--seconds): look for a '
                'loop that does not end'
                if begun.exists()
                else "the chapter's own cells took too long: try again when "
                'the machine is less busy'
            )
        finally:  # with what the answer has started
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if not result.exists():
            return 'stopped', 'it ended the process before its check'
        verdict, message = json.loads(result.read_text())
    if verdict == 'failed' and FRAMEWORKS.search(message):
        message = f'{message}: make grade BUILD=frameworks'
    return verdict, message


def wait_for(process, begun, seconds):
    """Wait for the process of an answer; its `seconds` count from when
    `begun` is there. The chapter's own cells may take ten times as long."""
    limit = time.monotonic() + 10 * seconds
    while not begun.exists() and process.poll() is None:
        if time.monotonic() > limit:
            raise subprocess.TimeoutExpired(process.args, 10 * seconds)
        time.sleep(0.05)
    process.wait(seconds)


if __name__ == '__main__':
    main()
