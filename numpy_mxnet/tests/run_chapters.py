"""Run each chapter of the book on the stand-in, compare what its cells print
with what is stored, and write into README which of them need MXNet.

    .venv/bin/python numpy_mxnet/tests/run_chapters.py [NUMBER ...]
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET

FOLDER = pathlib.Path(__file__).resolve().parents[1]
BOOK = FOLDER.parent
README = FOLDER / 'README.md'
BEGIN, END = '<!-- tests/run_chapters.py -->\n', '<!-- end -->'
OTHERS = ('21',)  # PyTorch, without MXNet
MISSING = (  # what an error says
    re.compile(r"import name '(?P<name>\w+)' from '(?P<module>mxnet[\w.]*)'"),
    re.compile(r'(?P<module>mxnet[\w.]*)\.(?P<name>\w+) is not in numpy_mx'),
)


def run(chapter):
    """Return the cells of a chapter that fail, and what they lack."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, 'report.xml')
        command = (
            f'{sys.executable} -m pytest -q --nbval --nbval-current-env '
            f'--nbval-cell-timeout=400 --junitxml={report} '
            f'tests/notebooks/test_marks.py {chapter}'
        )
        paths = str(FOLDER / 'src'), os.environ.get('PYTHONPATH', '')
        env = dict(
            os.environ, PYTHONPATH=os.pathsep.join(paths), D2LMULTI_SMALL='1'
        )
        done = subprocess.run(
            command.split(), cwd=BOOK, env=env, stdout=subprocess.PIPE
        )
        cells = [
            case for case in ET.parse(report).iter('testcase')
            if case.get('name').startswith('Cell')
        ]  # fmt: skip
    assert done.returncode in (0, 1) and cells, done.stdout.decode()
    failed = [case for case in cells if case.find('failure') is not None]
    text = '\n'.join(case.find('failure').text for case in failed)
    text = re.sub(r'\x1b\[[\d;]*m', '', text)
    lacks = sorted({
        '{module}.{name}'.format(**found.groupdict())
        for pattern in MISSING for found in pattern.finditer(text)
    })  # fmt: skip
    return len(cells), len(failed), lacks


def row(chapter):
    """Return a chapter's row of the table."""
    title = chapter.stem.replace('_', ' ', 1).replace('_', ' ')
    link = f'[{title}](../notebooks/{chapter.name})'
    if title[:2] in OTHERS:
        return f'| {link} | has no MXNet: `make test BUILD=frameworks` |'
    count, failed, lacks = run(chapter)
    said = f'all {count} cells'
    if failed:
        names = ', '.join(f'`{name}`' for name in lacks) or 'see its cells'
        said = f'{count - failed} of {count} cells; the others need {names}'
    return f'| {link} | {said} |'


def main():
    """Run the chapters whose numbers are given, all of them without."""
    text = README.read_text()
    head, rest = text.split(BEGIN)
    table, tail = rest.split(END)
    rows = {line[3:5]: line for line in table.splitlines()[2:]}
    for chapter in sorted((BOOK / 'notebooks').glob('[0-9]*.ipynb')):
        number = chapter.name[:2]
        if number in (sys.argv[1:] or [number]):
            rows[number] = row(chapter)
            print(rows[number], flush=True)
    lines = ['| chapter | on the stand-in |', '|---|---|', *map(
        rows.get, sorted(rows))]  # fmt: skip
    table = '\n'.join(lines) + '\n'
    README.write_text(head + BEGIN + table + END + tail)


if __name__ == '__main__':
    main()
