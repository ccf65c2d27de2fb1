"""Give chapters other numbers, and rewrite every reference to them.

    python -m tools.notebooks.renumber timeline=8 collectives=9
    python -m tools.notebooks.renumber timeline=10  # if it is free

moves the notebooks and rewrites, in all files of the project, their names,
headings, rows in tables, and what texts say: "chapter 8", "chapters 4, 5 and
9", "chapters 3 to 5". Then it exports and draws again. Afterwards read what
has changed: a text may say of a chapter that it comes later.
"""

import re
import subprocess
import sys

import nbformat

from . import PARTS, ROOT, name_of, number_of

# "chapter 8" and lists of chapters; a line may end inside, in a comment, too.
GAP = r'(?:[ ]|\n[ ]*(?:#[ ])?)'
BETWEEN = rf'(?:,{GAP}(?:and{GAP})?|{GAP}(?:and|or|to){GAP})'
REFERENCE = rf'\b([Cc]hapters?{GAP})(\d+(?:{BETWEEN}\d+)*)\b'
# A row of a table that begins with a chapter.
ROW = r'\| (?:\[(?=\d+\.)|chapter )(\d+)\b.*\n'


def rewrite(text, new, moved):
    """Return a text with other numbers.

    `new`: {number: new number} of all chapters. `moved`: {stem: new stem}.
    """
    for stem, other in moved.items():
        number = number_of(other)
        text = re.sub(
            rf'\[\d+\.( [^]]*\]\([^)]*{stem}\b)', rf'[{number}.\1', text
        )
        text = re.sub(rf'(?<![\w]){stem}\b', other, text)
    text = re.sub(
        REFERENCE,
        lambda found: found[1] + rewrite_list(found[2], new),
        text,
    )
    return re.sub(f'(?:{ROW}){{2,}}', sort_rows, text)


def rewrite_list(text, new):
    """Return a list such as '4, 5 and 9' or '3 to 5' with other numbers."""
    numbers = numbers_in(text, new)
    if not set(numbers) <= set(new):
        return text  # no chapters of this book
    others = sorted({new[number] for number in numbers})
    if re.search(r'\bto\b', text):
        return write_list(others)
    others = iter(others)
    return re.sub(r'\d+', lambda _: str(next(others)), text)


def numbers_in(text, chapters):
    """Return the numbers that '4, 5 and 9' or '3 to 5' means.

    `chapters`: all that there are, for those between two others.
    """
    numbers = [int(number) for number in re.findall(r'\d+', text)]
    for first, last in re.findall(rf'(\d+){GAP}to{GAP}(\d+)', text):
        numbers += [n for n in chapters if int(first) < n < int(last)]
    return numbers


def write_list(numbers):
    """Return '1, 3 to 5 and 9' of [1, 3, 4, 5, 9]."""
    runs = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    words = []
    for run in runs:
        short = [f'{run[0]} to {run[-1]}'] if len(run) > 2 else map(str, run)
        words.extend(short)
    return ' and '.join(filter(None, [', '.join(words[:-1]), words[-1]]))


def sort_rows(found):
    """Return rows of a table in the order of their chapters."""
    rows = found[0].splitlines(keepends=True)
    return ''.join(sorted(rows, key=lambda row: int(re.match(ROW, row)[1])))


def rewrite_notebook(text, new, moved):
    """Return the JSON of a notebook with other numbers."""
    notebook = nbformat.reads(text, 4)
    for cell in notebook.cells:
        cell.source = rewrite(cell.source, new, moved)
        slide = cell.metadata.get('slideshow', {})
        if 'text' in slide:
            slide['text'] = [
                rewrite(line, new, moved) for line in slide['text']
            ]
        for output in cell.get('outputs', []):
            if 'text' in output:
                output.text = rewrite(output.text, new, moved)
    return nbformat.writes(notebook).rstrip('\n') + '\n'


def project_files(root):
    """Return the text files of the project that are written by hand."""
    listed = subprocess.run(
        ['git', 'ls-files', '--cached', '--others', '--exclude-standard'],
        cwd=root,
        check=True,
        stdout=subprocess.PIPE,
    ).stdout.decode()
    kinds = '.cff .css .ipynb .js .md .py .sh .toml .txt .yaml .yml'.split()
    return [
        root / name
        for name in sorted(set(listed.splitlines()))
        if (root / name).suffix in kinds or name == 'Makefile'
        if (root / name).is_file() and not name.startswith('tools/setup/')
        if not name.endswith('test_renumber.py')  # whose examples stay
    ]


def renumber(wanted, root=ROOT):
    """Move chapters to other numbers, {name: number}, in the project."""
    paths = (root / 'notebooks').glob('*.ipynb')
    old = {name_of(path.stem): number_of(path.stem) for path in sorted(paths)}
    unknown = sorted(set(wanted) - set(old))
    if unknown:
        raise ValueError(f'no chapter {unknown[0]}: choose from {list(old)}')
    numbers = {**old, **wanted}
    for name, number in wanted.items():
        others = [n for n in numbers if numbers[n] == number and n != name]
        if others:
            hint = 'move it, too'
            if set().union(*PARTS.values()) <= set(old.values()):
                hint = 'no number is free, so exchange two: '
                hint += f'{name}={number} {others[0]}={old[name]}'
            raise ValueError(f'{others[0]} has number {number}: {hint}')
        if not any(number in part for part in PARTS.values()):
            raise ValueError(f'{number} is in no part: see PARTS')
    new = {old[name]: numbers[name] for name in old}
    moved = {
        f'{old[name]:02d}_{name}': f'{number:02d}_{name}'
        for name, number in wanted.items()
    }
    for path in project_files(root):
        before = path.read_text(encoding='utf-8')
        after = rewrite_file(path, before, new, moved)
        if after != before:
            path.write_text(after, encoding='utf-8')
    move_files(root / 'notebooks', moved)


def rewrite_file(path, text, new, moved):
    """Return the text of a file with other numbers, a heading's included."""
    if path.suffix != '.ipynb':
        return rewrite(text, new, moved)
    text = rewrite_notebook(text, new, moved)
    if path.stem not in moved:
        return text
    number = number_of(moved[path.stem])
    return re.sub(r'"# \d+\. ', f'"# {number}. ', text, count=1)


def move_files(folder, moved):
    """Rename the notebooks, two that exchange their numbers, too."""
    for stem in moved:
        (folder / f'{stem}.ipynb').rename(folder / f'{stem}.moving')
    for stem, other in moved.items():
        (folder / f'{stem}.moving').rename(folder / f'{other}.ipynb')


if __name__ == '__main__':
    try:
        pairs = [argument.split('=') for argument in sys.argv[1:]]
        renumber({name: int(number) for name, number in pairs})
    except ValueError as error:
        sys.exit(f'{error}\n\n{__doc__}')
    subprocess.run(['make', 'export', 'figures'], cwd=ROOT, check=True)
