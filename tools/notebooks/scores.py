"""A table of what a student's answers cost, beside what ours do.

    python -m tools.notebooks.scores notebooks

The checks of exercises with a budget have printed both into the notebooks;
nothing is run.
"""

import argparse
import json
import pathlib
import re
import sys

from .cells import code_cells

SCORE = re.compile(r'^([a-z ]+): yours ([\d,]+), ours ([\d,]+)$', re.M)


def main(argv=None):
    """Parse the command line, and print the table."""
    parser = argparse.ArgumentParser(
        prog='python -m tools.notebooks.scores',
        description=(__doc__ or '').split('\n')[0],
    )
    parser.add_argument(
        'folder', type=pathlib.Path, help='the folder of your notebooks'
    )
    folder = parser.parse_args(argv).folder
    if not folder.is_dir():
        sys.exit(f'{folder} is not a folder with notebooks')
    rows = read_scores(folder)
    if not rows:
        sys.exit(f'{folder} has no check that was run: run them, and save')
    for chapter, number, state, scores in rows:
        print(f'{chapter:<24} {number}  {state:<6}  {scores}'.rstrip())
    passed = sum(state == 'passed' for _, _, state, _ in rows)
    print(
        f'{passed} of {len(rows)} checks that were run have passed. '
        'Yours comes first; < is fewer than ours, which is better.'
    )


def read_scores(folder):
    """Return (chapter, exercise, state, scores) of each check that was run."""
    rows = []
    for path in sorted(folder.glob('*.ipynb')):
        notebook = json.loads(path.read_text(encoding='utf-8'))
        for number, cell in enumerate(code_cells(notebook, 'check'), 1):
            text = ''.join(
                ''.join(output.get('text', '')) for output in cell['outputs']
            )
            if f'Exercise {number}: passed' in text:
                scores = ', '.join(map(describe, SCORE.findall(text)))
                rows.append((path.stem, number, 'passed', scores))
            elif cell['outputs']:
                rows.append((path.stem, number, 'open', ''))
    return rows


def describe(score):
    """Return a score in words: below ours, as ours, or above."""
    name, yours, ours = score
    apart = int(yours.replace(',', '')) - int(ours.replace(',', ''))
    sign = '<' if apart < 0 else '=' if apart == 0 else '>'
    return f'{name} {yours} {sign} {ours}'


if __name__ == '__main__':
    main()
