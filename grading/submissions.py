"""What students handed in: notebooks of any name, in folders and zips."""

import dataclasses
import datetime
import io
import os
import pathlib
import re
import zipfile

from chapters.answers import parse_notebook

MAX_BYTES = 50_000_000  # of a notebook; a zip bomb is larger
MAX_ZIP = 500_000_000
MAX_DEPTH = 3  # zips in zips
TOO_LARGE = (
    f'too large: more than {MAX_BYTES // 10**6} MB, or zips in {MAX_DEPTH} '
    'zips: clear the outputs, and hand in again'
)
NOTEBOOKS = re.compile(r'\.(ipynb|zip)$', re.IGNORECASE)
# What students send instead of a notebook, by its ending. Beside notebooks,
# some are what a notebook needs or its export: see `without_extras`.
ARCHIVES = ('.rar', '.7z', '.tar', '.tgz', '.gz', '.xz', '.bz2', '.zst')
EXPORTS = ('.html', '.htm', '.pdf', '.docx', '.doc', '.odt')
TABLES = ('.csv',)  # a teacher's, beside the folders
NEEDED = 'hand in the notebook itself, the file that ends in .ipynb'
IGNORED = re.compile(r'(^|/)(\.ipynb_checkpoints|__MACOSX|\.[^/]*)(/|$)')


@dataclasses.dataclass
class File:
    """A notebook of a student: its content, or what is wrong with it.

    `time`: of the file or zip that was handed in, in seconds since 1970; 0 if
    it is not known. `marked_late`: whether Canvas says so. The grader fills in
    `chapter`, the stem, and `text`, the answer to its question.
    """

    student: str
    name: str
    content: bytes = b''
    problem: str = ''
    time: float = 0
    marked_late: bool = False
    is_notebook: bool = True
    chapter: str = ''
    text: str = ''


def find_files(folder):
    """Yield a `File` for each notebook under a folder, or in a zip file, and
    with a problem for what cannot be one.

    The first folder or zip below `folder` names the student; a notebook that
    lies in `folder` itself is named after its student.
    """
    folder, students = pathlib.Path(folder), set()
    for file in files_below(folder):
        students.add(file.student)
        yield file
    for student, has_files in sorted(folders_of(folder).items()):
        if student not in students:
            what = 'an empty folder'
            if (folder / student).is_symlink():  # it may point anywhere
                what = 'a link, not a folder'
            elif has_files:
                what = 'nothing that can be read'
            problem = f'{what}: {NEEDED}'
            yield File(student, student, problem=problem, is_notebook=False)


def folders_of(folder):
    """Return {name: whether there are files} of the students' folders."""
    if folder.is_file():
        try:
            with zipfile.ZipFile(folder) as archive:
                names = archive.namelist()
        except (zipfile.BadZipFile, OSError):
            names = []
    else:
        names = [
            path.relative_to(folder).as_posix() + '/' * path.is_dir()
            for path in folder.rglob('*')
        ]
    found: dict = {}
    for name in names:
        first, slash, rest = readable(name).partition('/')
        if slash and not IGNORED.search(first):
            found[first] = found.get(first) or rest[-1:] not in ('', '/')
    return found


def files_below(folder):
    """Yield a `File` for each file below a folder, or in a zip."""
    if folder.is_file():
        yield from from_zip(folder.read_bytes(), '', folder.name, 0, 0)
        return
    for path in sorted(folder.rglob('*')):
        name = readable(path.relative_to(folder).as_posix())
        if IGNORED.search(name):
            continue
        if not NOTEBOOKS.search(name):
            if path.is_file():
                yield from instead(student_of(name), name)
            continue
        if path.is_symlink():  # a student's may point anywhere
            yield File(student_of(name), name, problem='a link, not a file')
        elif path.is_file():
            yield from from_path(path, name)


def instead(student, name):
    """Yield a `File` with a problem for one that is no notebook, so that
    a student who sent nothing else has a row."""
    path, low = pathlib.PurePosixPath(name), name.lower()
    if '/' not in name and (
        path.stem.upper() == 'README' or low.endswith(TABLES)
    ):
        return
    what = f'a file that ends in {path.suffix}' if path.suffix else 'a file'
    if '.ipynb.' in low:
        what = 'renamed'
    elif low.endswith(ARCHIVES):
        what = 'an archive that is not a zip'
    problem = f'{what}, which is not graded: {NEEDED}'
    yield File(student, name, problem=problem, is_notebook=False)


def without_extras(files):
    """Return the files without those that a student sent beside a notebook,
    and that tell nothing more: modules, exports of it."""
    files, found = list(files), {}
    for file in files:
        if file.is_notebook:
            found.setdefault(file.student, set()).add(stem_of(file.name))
    return [
        file
        for file in files
        if file.is_notebook
        or file.student not in found
        or '.ipynb.' in file.name.lower()
        or file.name.lower().endswith(ARCHIVES)
        or (
            file.name.lower().endswith(EXPORTS)
            and stem_of(file.name) not in found[file.student]
        )
    ]


def stem_of(name):
    """Return the name of a file without folders and ending."""
    return pathlib.PurePosixPath(name).stem


def readable(name):
    """Return a name that can be written, whatever bytes it has."""
    return os.fsencode(name).decode('utf-8', 'replace')


def student_of(name):
    """Return the first folder of a name, or the name without its ending."""
    first, _, rest = name.partition('/')
    return first if rest else pathlib.PurePath(first).stem


def from_path(path, name):
    """Yield the `File`s in a file on the disk."""
    try:
        if path.stat().st_size > MAX_ZIP:
            yield File(student_of(name), name, problem=TOO_LARGE)
        else:
            when = path.stat().st_mtime
            yield from from_file(name, path.read_bytes(), when)
    except OSError as error:
        problem = f'cannot be read: {error.strerror}'
        yield File(student_of(name), name, problem=problem)


def from_file(name, content, when, depth=0):
    """Yield the `File`s in a file: itself, or what is in a zip."""
    student = student_of(name)
    if name.lower().endswith('.zip') or content[:4] == b'PK\x03\x04':
        yield from from_zip(content, student, name, depth, when)
    elif name.lower().endswith('.ipynb'):
        yield File(student, name, content, time=when)


def from_zip(content, student, name, depth, when):
    """Yield the notebooks in a zip; nothing is written to the disk.

    `when`: the time of the zip; 0 if the times in it count.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            is_empty = True
            for info in archive.infolist():
                parts = info.filename.split('/')
                name_in = '/'.join(p for p in parts if p not in ('.', '..'))
                if IGNORED.search(name_in) or info.is_dir():
                    continue
                inside = f'{student}/{name_in}'.lstrip('/')
                if not NOTEBOOKS.search(name_in):
                    for file in instead(student_of(inside), inside):
                        is_empty = False
                        yield file
                    continue
                is_empty = False
                if info.file_size > MAX_BYTES or depth >= MAX_DEPTH:
                    yield File(student, inside, problem=TOO_LARGE)
                    continue
                yield from from_file(
                    inside,
                    archive.read(info),
                    when or time_in(info),
                    depth + 1,
                )
        if is_empty and student:
            problem = f'a zip without a notebook: {NEEDED}'
            yield File(student, name, problem=problem, is_notebook=False)
    except Exception as error:  # a password, damage, an unknown method
        yield File(student, name, problem=f'cannot be unzipped: {error}')


def time_in(info):
    """Return the time of a file in a zip, which has no zone: this one's."""
    try:
        return datetime.datetime(*info.date_time).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0


def read_notebook(file):
    """Return the notebook of a `File`; raise ValueError if it is none."""
    if file.problem:
        raise ValueError(file.problem)
    if len(file.content) > MAX_BYTES:
        raise ValueError(TOO_LARGE)
    return parse_notebook(file.content)
