"""Files from the wild, of every editor and learning platform: every student
has a row that is true."""

import bz2
import copy
import csv
import gzip
import io
import json
import sys
import tarfile
import unicodedata
import zipfile

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from small_class import CHECK, SOLUTION, STUB, notebook

from grading import __main__ as command

PASSED = 'passed', ''
NOT_ONE = 'damaged', 'not a notebook'
SENT = 'damaged', 'the file that ends in .ipynb'
NAME = '99_small.ipynb'


def plain(answer=SOLUTION):
    """Return the notebook of an answer as a dictionary."""
    return json.loads(nbformat.writes(notebook(answer)))


def changed(answer=SOLUTION, **changes):
    """Return the text of a notebook, with changes at the top."""
    return json.dumps({**plain(answer), **changes})


def cells(change, answer=SOLUTION):
    """Return the text of a notebook after `change(cell, index)` of each."""
    found = plain(answer)
    for index, cell in enumerate(found['cells']):
        change(cell, index)
    return json.dumps(found)


def without(*keys):
    """Return the text of a notebook whose cells lack some keys."""
    return cells(lambda cell, _: [cell.pop(key, None) for key in keys])


def put(key, value):
    """Return the text of a notebook whose cells have one more key."""
    return cells(lambda cell, i: cell.update({key: value(i)}))


def metadata(**found):
    """Return the text of a notebook whose cells have other metadata."""
    return cells(lambda cell, _: cell['metadata'].update(found))


def in_format_3():
    old = nbformat.v4.downgrade(nbformat.from_dict(plain()))
    return nbformat.v3.writes_json(old)


def of(*sources):
    """Return the text of a notebook with new cells, without metadata."""
    return nbformat.writes(
        new_notebook(cells=[new_code_cell(source) for source in sources])
    )


def split():
    found = plain()
    first, second = SOLUTION.split('\n')
    half = copy.deepcopy(found['cells'][0])
    found['cells'][0]['source'], half['source'] = first, second
    found['cells'].insert(1, half)
    return json.dumps(found)


def zipped(*files, **options):
    """Return a zip with (name, content)."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, 'w', **options) as archive:
        for name, content in files:
            archive.writestr(name, content)
    return file.getvalue()


def tarred(mode):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode) as archive:
        info = tarfile.TarInfo(NAME)
        info.size = len(changed().encode())
        archive.addfile(info, io.BytesIO(changed().encode()))
    return file.getvalue()


def locked():
    """Return a zip that says it has a password."""
    found = bytearray(zipped((NAME, changed())))
    for start, at in ((b'PK\x03\x04', 6), (b'PK\x01\x02', 8)):
        found[found.index(start) + at] |= 1
    return bytes(found)


def deep(number):
    found, name = changed(), NAME
    for _ in range(number):
        found, name = zipped((name, found)), 'inside.zip'
    return found


WRONG = 'def double(n):\n    return 3 * n'
# Notebooks: {what: (text, verdict, a part of the message)}.
NOTEBOOKS = {
    'plain': (changed(), *PASSED),
    'minor 0 with ids': (changed(nbformat_minor=0), *PASSED),
    'minor 4 with ids': (changed(nbformat_minor=4), *PASSED),
    'minor 9': (changed(nbformat_minor=9), *PASSED),
    'format 3': (in_format_3(), *PASSED),
    'BOM': (b'\xef\xbb\xbf' + changed().encode(), *PASSED),
    'UTF-16': (changed().encode('utf-16'), *PASSED),
    'Latin-1': (
        changed('# \xe9t\xe9\n' + SOLUTION)
        .replace('\\u00e9', '\xe9')
        .encode('latin-1'),
        *NOT_ONE,
    ),
    'lines of Windows': (changed(SOLUTION.replace('\n', '\r\n')), *PASSED),
    'lines of an old Mac': (changed(SOLUTION.replace('\n', '\r')), *PASSED),
    'an untouched stub of Windows': (
        changed(STUB.replace('\n', '\r\n')),
        'not answered',
        'as it was',
    ),
    'a file of Windows': (
        json.dumps(plain(), indent=1).replace('\n', '\r\n'),
        *PASSED,
    ),
    'integer ids': (put('id', lambda i: i), *PASSED),
    'ids twice': (put('id', lambda i: 'same'), *PASSED),
    'no ids': (without('id'), *PASSED),
    'no outputs': (without('outputs', 'execution_count'), *PASSED),
    'no metadata of cells': (without('metadata'), *PASSED),
    'no metadata at all': (
        json.dumps({k: v for k, v in plain().items() if k != 'metadata'}),
        *PASSED,
    ),
    'keys that no format has': (
        put('outputs_hidden', lambda i: True),
        *PASSED,
    ),
    'Colab': (
        cells(lambda c, i: c.update(metadata={'id': f'x{i}', 'colab': {}})),
        *PASSED,
    ),
    'VS Code': (metadata(vscode={'languageId': 'python'}), *PASSED),
    'Kaggle': (metadata(_uuid='8f2', trusted=True), *PASSED),
    'Deepnote': (
        metadata(cell_id='00', deepnote_cell_type='code', tags=[]),
        *PASSED,
    ),
    'Databricks': (metadata(**{'application/vnd.x': {'a': 1}}), *PASSED),
    'tags as a text': (metadata(tags='exercise'), *PASSED),
    'large outputs': (
        put(
            'outputs',
            lambda i: [
                {
                    'output_type': 'stream',
                    'name': 'stdout',
                    'text': 'x' * 10**6,
                }
            ],
        ),
        *PASSED,
    ),
    'without checks': (of(SOLUTION), *PASSED),
    'a cell of all': (of(f'{SOLUTION}\n\n{CHECK}'), *PASSED),
    'a call below': (of(f'{SOLUTION}\n\ncheck_1()', CHECK), *PASSED),
    'halves of a cell': (split(), *PASSED),
    'answered below': (of(STUB, CHECK, SOLUTION), *PASSED),
    'a helper in another cell': (
        of(
            'def twice(x):\n    return 2 * x',
            'def double(n):\n    return twice(n)',
        ),
        *PASSED,
    ),
    'the cell timed': (of(f'%%time\n{SOLUTION}'), *PASSED),
    'a magic above': (of(f'%matplotlib inline\n!ls\n{SOLUTION}'), *PASSED),
    'await': (
        of('import asyncio\nawait asyncio.sleep(0)', SOLUTION),
        *PASSED,
    ),
    'tabs': (changed(SOLUTION.replace('    ', '\t')), *PASSED),
    'spaces of a word processor': (
        changed(SOLUTION.replace('return 2', 'return\xa02')),
        'wrong',
        'SyntaxError',
    ),
    'quotes of a word processor': (
        changed('def double(n):\n    return eval(\u201c2 * n\u201d)'),
        'wrong',
        'SyntaxError',
    ),
    'wrong': (changed(WRONG), 'wrong', '3 twice is 6'),
    'the check edited': (
        of(WRONG, 'def check_1():\n    print("passed")\ncheck_1()'),
        'wrong',
        '3 twice is 6',
    ),
    'unanswered': (changed(STUB), 'not answered', 'as it was'),
    'an endless line': (changed(SOLUTION + '  #' + 'x' * 10**6), *PASSED),
    'answered as text': (
        nbformat.writes(
            new_notebook(
                cells=[new_markdown_cell(SOLUTION), notebook().cells[1]]
            )
        ),
        'damaged',
        'no exercise of the book',
    ),
    'another course': (of('print("hello")'), 'damaged', 'no exercise of'),
    'no cells': (changed(cells=[]), 'damaged', 'no exercise of the book'),
    'R': (
        changed(
            cells=[],
            metadata={'kernelspec': {'name': 'ir', 'display_name': 'R'}},
        ),
        'damaged',
        'no exercise of the book',
    ),
    'cut off': (changed()[:500], *NOT_ONE),
    'a merge conflict': (
        changed().replace('{', '<<<<<<< HEAD\n{', 1) + '\n>>>>>>> b',
        *NOT_ONE,
    ),
    'empty': ('', 'damaged', 'the file is empty'),
    'null': ('null', *NOT_ONE),
    'zeros': (bytes(4096), *NOT_ONE),
    'a page to log in': ('<!doctype html><p>Log in', *NOT_ONE),
    'format 5': (changed(nbformat=5), *NOT_ONE),
    'a zip': (zipped((NAME, changed())), *PASSED),
    'a gzip': (gzip.compress(changed().encode()), *NOT_ONE),
    'huge': (b' ' * 50_000_001, 'damaged', 'too large'),
}
# Other files: {name: (content, verdict, a part of the message)}.
FILES = {
    '99_small.IPYNB': (changed(), *PASSED),
    '99_small.ipynb.ipynb': (changed(), *PASSED),
    '99_small (1).ipynb': (changed(), *PASSED),
    'Untitled.ipynb': (changed(), *PASSED),
    'week 1/lab/99_small.ipynb': (changed(), *PASSED),
    '99_small.ipynb.txt': (changed(), 'damaged', 'renamed'),
    '99_small.ipynb.json': (changed(), 'damaged', 'renamed'),
    '99_small.json': (changed(), *SENT),
    '99_small.txt': (changed(), *SENT),
    '99_small.html': ('<p>', *SENT),
    '99_small.py': (SOLUTION, *SENT),
    '99_small.md': (SOLUTION, *SENT),
    '99_small.pdf': ('%PDF', *SENT),
    '99_small.docx': (zipped(('word/document.xml', '')), *SENT),
    '99_small.pages': (zipped(('Index.zip', '')), *SENT),
    'photo.HEIC': ('x', *SENT),
    'README.md': ('my answers', *SENT),
    'answers.csv': ('1,2', *SENT),
    'answers': (changed(), *SENT),
    '99_small.ipynb - Shortcut.lnk': ('x', *SENT),
    '99_small.url': ('[InternetShortcut]', *SENT),
    'a.rar': ('Rar!', 'damaged', 'an archive that is not a zip'),
    'a.7z': ('7z', 'damaged', 'an archive that is not a zip'),
    'a.tar': (tarred('w'), 'damaged', 'an archive that is not a zip'),
    'a.tar.gz': (tarred('w:gz'), 'damaged', 'an archive that is not a zip'),
    'a.tar.bz2': (tarred('w:bz2'), 'damaged', 'an archive that is not a zip'),
    'a.tar.xz': (tarred('w:xz'), 'damaged', 'an archive that is not a zip'),
    'a.tgz': (tarred('w:gz'), 'damaged', 'an archive that is not a zip'),
    'a.bz2': (bz2.compress(b'x'), 'damaged', 'an archive that is not a zip'),
    'a.ipynb.gz': (gzip.compress(b'x'), 'damaged', 'the file that ends in'),
    'a.zip': (zipped((NAME, changed())), *PASSED),
    'folders.zip': (zipped(('lab/1/' + NAME, changed())), *PASSED),
    'nested.zip': (deep(2), *PASSED),
    'too deep.zip': (deep(5), 'damaged', 'zips in 3 zips'),
    'with others.zip': (
        zipped((NAME, changed()), ('helper.py', 'x'), ('.git/x.ipynb', '')),
        *PASSED,
    ),
    'of a Mac.zip': (
        zipped((NAME, changed()), ('__MACOSX/._' + NAME, b'\0\5\x16\7')),
        *PASSED,
    ),
    'of Windows.zip': (zipped((f'lab\\{NAME}', changed())), *PASSED),
    'from the root.zip': (zipped((f'/home/ann/{NAME}', changed())), *PASSED),
    'upwards.zip': (zipped((f'../../{NAME}', changed())), *PASSED),
    'locked.zip': (locked(), 'damaged', 'password'),
    'cut.zip': (zipped((NAME, changed()))[:-30], 'damaged', 'unzipped'),
    'empty.zip': (zipped(), 'damaged', 'a zip without a notebook'),
    'program.zip': (zipped(('99_small.py', SOLUTION)), *SENT),
    'in it.zip': (zipped(('a.tar.gz', 'x')), 'damaged', 'an archive'),
    'LZMA.zip': (
        zipped((NAME, changed()), compression=zipfile.ZIP_LZMA),
        *PASSED,
    ),
    '.ipynb_checkpoints/99_small-checkpoint.ipynb': (
        changed(),
        'damaged',
        'nothing that can be read',
    ),
    '.DS_Store': ('x', 'damaged', 'nothing that can be read'),
}
# As platforms and students name them, of the roster: {path: student}.
NAMED = {
    'smithann_101_201_99_small.ipynb': 's1000',
    'jonesbob_LATE_102_202_99_small-1.ipynb': 's1001',
    'Week 1_s1002_attempt_2026-11-30-10-33-12_99_small.ipynb': 's1002',
    'Dan Le_77_assignsubmission_file_/x.ipynb': 's1003',
    '12-34 - Eve van Dam - Nov 30, 2026 633 PM/x.ipynb': 's1004',
    'Copy of s1005_99_small.ipynb': 's1005',
    'Kopie von s1006_99_small.ipynb': 's1006',
    'Garcia_Hugo_s1007.ipynb': 's1007',
    '99_small_Ines_Roy.ipynb': 's1008',
    's1009 (2).zip': 's1009',
    unicodedata.normalize('NFD', 'Zo\xeb M\xfcller.ipynb'): 's1010',
    'S1011.ipynb': 's1011',
    '99_small.ipynb': '99_small',
    'Kim.ipynb': 'Kim',
}
PEOPLE = [
    ('s1000', 'Ann Smith', '101'),
    ('s1001', 'Bob Jones', '102'),
    ('s1002', 'Cem Kaya', '103'),
    ('s1003', 'Dan Le', '104'),
    ('s1004', 'Eve van Dam', '105'),
    ('s1005', 'Fay Oz', '106'),
    ('s1006', 'Gil Paz', '107'),
    ('s1007', 'Hugo Garcia', '108'),
    ('s1008', 'Ines Roy', '109'),
    ('s1009', 'Jo Kim', '110'),
    ('s1010', 'Zo\xeb M\xfcller', '111'),
    ('s1011', 'Lu Kim', '112'),
    ('s1012', 'Max Nobody', '113'),
]


@pytest.fixture(scope='module')
def graded(tmp_path_factory):
    """Return {student: (verdict, message)} of all files, the folder of the
    results, and {student: what its row must say}."""
    folder = tmp_path_factory.mktemp('wild')
    submissions, wanted = folder / 'handed in', {}
    for index, (what, row) in enumerate([*NOTEBOOKS.items(), *FILES.items()]):
        student = f'w{index:03}'
        name = NAME if what in NOTEBOOKS else what
        write(submissions / student / name, row[0])
        wanted[student] = what, *row[1:]
    for path, student in NAMED.items():
        content = changed()
        if path.endswith('.zip'):
            content = zipped((NAME, content))
        write(submissions / path, content)
        wanted[student] = path, *PASSED
    (submissions / 'empty').mkdir()
    (submissions / 'empty inside' / 'lab').mkdir(parents=True)
    (submissions / 'linked').mkdir()
    (submissions / 'linked' / NAME).symlink_to('/etc/hostname')
    wanted['empty'] = 'no file', 'damaged', 'an empty folder'
    wanted['empty inside'] = 'no file', 'damaged', 'an empty folder'
    wanted['linked'] = 'a link', 'damaged', 'a link, not a file'
    with open(folder / 'roster.csv', 'w', newline='') as file:
        csv.writer(file).writerows([('student', 'name', 'id'), *PEOPLE])
    (folder / 'chapters').mkdir()
    ours = folder / 'chapters' / NAME
    nbformat.write(notebook(solution=True), ours)
    line = ['grade', str(submissions), '--out', str(folder / 'out')]
    line += ['--chapters', str(ours.parent)]
    line += ['--roster', str(folder / 'roster.csv')]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, 'argv', line)
        command.main()
    with open(folder / 'out' / 'grades.csv', newline='') as file:
        rows = list(csv.DictReader(file))
    return rows, folder / 'out', wanted


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, str):
        content = content.encode('utf-8', 'surrogateescape')
    path.write_bytes(content)


def test_every_student_has_one_row_that_is_true(graded):
    rows, _, wanted = graded
    found = {}
    for row in rows:
        found.setdefault(row['student'], []).append(row)
    wrong = {
        student: (what, verdict, message, found.get(student))
        for student, (what, verdict, message) in wanted.items()
        if len(found.get(student, [])) != 1
        or found[student][0]['verdict'] != verdict
        or message not in found[student][0]['message']
    }
    assert not wrong, '\n\n'.join(map(str, wrong.values()))
    assert found.keys() == wanted.keys()
    assert len(wanted) >= 90


def test_who_is_not_in_the_roster_is_said_and_who_sent_nothing_too(graded):
    _, folder, wanted = graded
    with open(folder / 'gradebook.csv', newline='') as file:
        book = {row['student']: row for row in csv.DictReader(file)}
    listed = {student for student, _, _ in PEOPLE}
    assert book.keys() == {*wanted, *listed}
    for student, row in book.items():
        passed = wanted.get(student, ('', '', ''))[1] == 'passed'
        assert float(row['points']) == passed, row
