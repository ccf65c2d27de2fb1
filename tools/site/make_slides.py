"""Make reveal.js slides of the chapters' main lines.

    python -m tools.site.make_slides build/slides

A chapter's slides are its title, the cells that are marked, its summary and
its exercises. A cell's metadata marks it:

    "slideshow": {"slide_type": "slide", "text": ["## Title", "- a line"],
                  "show": "output"}

"slide" begins a slide, "-" adds to it. The text stands above what is shown:
"code", "output", the output's "picture", a text cell's "figure", which may be
a table, or "text" alone; without "show", a code cell's code and output. Of
code, or of output alone, a "part" shows the lines from one to another: the
first with each of two texts, ["for X, y in", "waitall"]. The prose up to the
next slide becomes the speaker notes (key S).
"""

import html
import importlib.util
import pathlib
import re
import shutil
import sys
import textwrap
from copy import deepcopy

import nbformat
from nbconvert import SlidesExporter
from nbformat.v4 import new_markdown_cell, new_notebook, new_output
from traitlets.config import Config

from tools.notebooks import NOTEBOOKS, by_part
from tools.notebooks.atomic import atomically
from tools.notebooks.cells import without_marks

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
PICTURE = r'^!\[.*?\]\(.*?\)$'
TABLE = r'^(?:\|.*\n?)+'


def make_slides(folder):
    """Write the slides of all chapters, and an index, to a new `folder`."""
    folder.mkdir()
    copy_scripts(folder)
    exporter = SlidesExporter(
        template_name='slides',
        extra_template_basedirs=[str(HERE)],
        reveal_url_prefix='reveal',
        reveal_theme='white',
        mathjax_url='tex-svg.js',
        embed_images=True,
        exclude_input_prompt=True,
        exclude_output_prompt=True,
        config=Config(
            CoalesceStreamsPreprocessor={'enabled': True},
            TagRemovePreprocessor={
                'enabled': True,
                'remove_input_tags': {'output'},
                'remove_all_outputs_tags': {'code'},
            },
        ),
    )
    chapters = {path.stem: nbformat.read(path, 4) for path in NOTEBOOKS}
    for name, notebook in chapters.items():
        page, _ = exporter.from_notebook_node(
            slides_of(notebook),
            {'metadata': {'name': title_of(notebook), 'path': str(ROOT)}},
        )
        (folder / f'{name}.html').write_text(page)
    write_index(folder, chapters)


def package_folder(name):
    """Return the folder of an installed package, which is not imported."""
    return pathlib.Path(importlib.util.find_spec(name).origin).parent


def copy_scripts(folder):
    """Copy reveal.js, MathJax and the style to `folder`."""
    shutil.copytree(
        package_folder('sphinx_revealjs') / '_static/revealjs',
        folder / 'reveal',
    )
    shutil.copy(
        package_folder('sphinx-mathjax-offline') / 'static/mathjax/tex-svg.js',
        folder,
    )
    shutil.copy(HERE / 'slides' / 'slides.css', folder)


def slides_of(notebook):
    """Return a notebook of what the slides show, and the speaker's notes."""
    slides, notes = [title_slide(notebook)], []
    roomy = cells_with_room(notebook)

    def end_slide():
        if notes:
            slides.append(cell_of('notes', '\n\n'.join(notes)))
            notes.clear()

    for cell in notebook.cells:
        mark = cell.metadata.get('slideshow', {})
        if mark.get('slide_type') == 'slide':
            end_slide()
        if mark:
            slides.extend(marked_cells(cell, mark, cell.id in roomy))
        if cell.cell_type == 'markdown':
            main, *end = cell.source.split('## Summary')
            notes.append(main)
            if end:
                break
    end_slide()
    return new_notebook(cells=[*continued(slides), *end_slides(notebook)])


def continued(cells, enough=24):
    """Yield the cells, with a new slide where one would be overfull."""
    lines, title = 0, ''
    for cell in cells:
        kind, more = cell.metadata.slideshow.slide_type, lines_of(cell)
        if kind == 'slide':
            lines, title = 0, cell.source.split('\n')[0]
        elif kind == '-' and lines and lines + more > enough:
            yield cell_of('slide', f'{title} (continued)')
            lines = 0
        lines += more * (kind != 'notes')
        yield cell


def lines_of(cell):
    """Return about how many lines of code a cell takes on a slide."""
    tags = cell.metadata.get('tags', [])
    if cell.cell_type == 'markdown':
        return 1.75 * sum(
            1 + len(line) // 74
            for line in cell.source.splitlines()[1:]
            if line
        ) + 14 * len(re.findall(PICTURE, cell.source, flags=re.MULTILINE))
    lines = 0 if 'output' in tags else 1 + len(cell.source.splitlines())
    if 'code' not in tags:
        for output in cell.outputs:
            lines += len(output.get('text', '').splitlines())
            lines += 14 * ('image/png' in output.get('data', {}))
    return lines


def cell_of(slide_type, text):
    """Return a text cell that begins, or adds to, a slide."""
    # Slides are handed out alone: a link to another page would be dead.
    text = re.sub(r'(?<!!)\[([^]]+)\]\(\.\./[^)]*\)', r'\1', text)
    from_root = text.replace('](../', '](')  # only there nbconvert embeds
    return new_markdown_cell(
        from_root, metadata={'slideshow': {'slide_type': slide_type}}
    )


def cells_with_room(notebook):
    """Return the ids of the cells whose code fits on the slide, too.

    They are marked to show their output, on a slide with room for more.
    """
    room, outputs, fitting = 0, [], []
    for cell in [*notebook.cells, None]:
        mark = cell.metadata.get('slideshow', {}) if cell else {}
        if cell is None or mark.get('slide_type') == 'slide':
            fitting += [i for i, lines in outputs if lines <= room]
            room, outputs = 20, []
        show, text = mark.get('show'), ''
        code = shorten(cell.source) if cell else ''
        if mark and cell.cell_type == 'code' and show != 'text':
            text = ''.join(output.get('text', '') for output in cell.outputs)
            if any('image/png' in o.get('data', {}) for o in cell.outputs):
                room -= 16
            if show == 'output':
                outputs.append((cell.id, len(code.splitlines())))
            elif show != 'picture':
                room -= len(code.splitlines())
        elif show == 'figure':
            room -= 16
        lines = sum(1 + len(line) // 68 for line in mark.get('text', [])[1:])
        room -= len(text.splitlines()) + 1.5 * lines
    return fitting


def marked_cells(cell, mark, roomy):
    """Yield the cells that show one marked cell."""
    slide_type, show = mark['slide_type'], mark.get('show')
    if roomy and show == 'output' and 'part' not in mark:
        show = None
    if 'text' in mark:
        yield cell_of(slide_type, '\n'.join(mark['text']))
        slide_type = '-'
    if show == 'figure':
        figures = re.findall(f'{PICTURE}|{TABLE}', cell.source, re.MULTILINE)
        if not figures:
            raise ValueError(
                f'the cell {cell.id!r} is marked to show a figure on a slide, '
                'and has none: move the mark to the cell with the figure'
            )
        yield cell_of(slide_type, '\n\n'.join(figures))
    elif cell.cell_type == 'code' and show != 'text':
        yield shown_code(cell, slide_type, show, mark.get('part'))


def shown_code(cell, slide_type, show, part):
    """Return the code cell, tagged with what is shown of it."""
    shown = deepcopy(cell)
    shown.metadata = nbformat.from_dict(
        {'slideshow': {'slide_type': slide_type}, 'tags': [show or 'both']}
    )
    shown.source = shorten(cell.source)
    if part and show == 'output':
        printed = ''.join(o.get('text', '') for o in shown.outputs)
        shown.outputs = [
            new_output('stream', text=part_of(printed, part, cell.id))
        ]
    elif part:
        shown.source = part_of(shown.source, part, cell.id)
    if show == 'picture':
        shown.metadata.tags = ['output']
        shown.outputs = [
            output
            for output in shown.outputs
            if 'image/png' in output.get('data', {})
        ]
    alt = cell.metadata.get('mystnb', {}).get('image', {}).get('alt')
    for output in shown.outputs:
        if alt and 'image/png' in output.get('data', {}):
            output.metadata['image/png'] = {'alt': alt}
    return shown


def part_of(text, part, name):
    """Return the lines from the first of two texts to the second."""
    first, last = map(re.escape, part)
    match = re.search(
        rf'^[^\n]*{first}(.*?){last}[^\n]*', text, re.MULTILINE | re.DOTALL
    )
    if not match:
        raise ValueError(
            f'the cell {name!r} is marked to show a part on a slide, and has '
            f'no lines from {part[0]!r} to {part[1]!r}: correct the mark'
        )
    return textwrap.dedent(match[0])


def shorten(source):
    """Return the source without nbdev's marks, each docstring a sentence."""
    return re.sub(
        r'(:\n +"""[^"]+?(?<!et al)\.)\s[^"]*"""',
        r'\1"""',
        without_marks(source),
    )


def title_of(notebook):
    """Return the chapter's title, '4. Synchronization'."""
    return notebook.cells[0].source.split('\n')[0].lstrip('# ')


def title_slide(notebook):
    """Return the slide with the chapter's title, and what it is about."""
    preface = notebook.cells[0].source.split('\n\n')[1]
    return cell_of(
        'slide',
        'Training on multiple GPUs, from scratch\n\n'
        f'# {title_of(notebook)}\n\n{preface}',
    )


def end_slides(notebook):
    """Return a slide with the summary, and one with the exercises."""
    text = '\n\n'.join(
        cell.source for cell in notebook.cells if cell.cell_type == 'markdown'
    )
    summary = re.search(
        r'^## Summary\n(.*?)^## ', text, flags=re.MULTILINE | re.DOTALL
    )[1]
    tasks = re.findall(r'^(\*\*\d+\. .*?\*\*) (.*)', text, flags=re.MULTILINE)
    listed = '\n\n'.join(
        f'{title} {task_in_short(task).rstrip(":")}' for title, task in tasks
    )
    return [
        cell_of('slide', f'## Summary\n{summary}'),
        cell_of('slide', f'## Exercises\n\n{listed}'),
        *(
            cell_of('slide', f'## {title}\n\n{code}')
            for title, code in codes_in_tasks(text.split('## Exercises')[1])
        ),
    ]


def codes_in_tasks(text):
    """Yield the title, and the question and code, of tasks with code."""
    for task in re.split(r'^(?=\*\*\d+\. )', text, flags=re.MULTILINE):
        title = re.match(r'\*\*(\d+\. .*?)\.?\*\*', task)
        code = re.search(r'^```.*?^```', task, re.MULTILINE | re.DOTALL)
        if title and code:
            question = task[title.end() : code.start()].split('\n\n')[0]
            yield (
                f'Exercise {title[1]}',
                f'{task_in_short(question.strip())}\n\n{code[0]}',
            )


def task_in_short(task, enough=40):
    """Return the task or, of more than `enough` words, what matters most."""
    if len(task.split()) <= enough:
        return task
    sentences = re.split(r'(?<=[.?]) ', task)
    wanted = [
        sentence
        for sentence in sentences[1:]
        if re.match('Write|Return|How', sentence)
    ]
    return ' '.join([sentences[0], *wanted[:1]])


def write_index(folder, chapters):
    """Write a page that links to the slides of each chapter."""
    lists = []
    for part, stems in by_part(chapters).items():
        links = (
            f'<li><a href="{stem}.html">'
            f'{html.escape(title_of(chapters[stem]))}</a></li>'
            for stem in stems
        )
        lists += [f'<h2>{part}</h2>\n<ul>', *links, '</ul>']
    links = '\n'.join(lists)
    (folder / 'index.html').write_text(
        '<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        '<title>Slides: Training on multiple GPUs, from scratch</title>\n'
        '<link rel="stylesheet" href="reveal/dist/theme/fonts/'
        'source-sans-pro/source-sans-pro.css">\n'
        '<link rel="stylesheet" href="slides.css">\n<main>\n'
        '<h1>Training on multiple GPUs, from scratch</h1>\n'
        f'{links}\n<p>Arrow keys turn the slides, '
        'S opens the speaker notes, O shows all.</p>\n</main>\n'
    )


if __name__ == '__main__':
    with atomically(sys.argv[1]) as slides:
        make_slides(slides)
