"""Each rule of `make lint` finds a fault that is planted, and only that."""

import nbformat
import pytest
from nbformat.v4 import (
    new_code_cell,
    new_markdown_cell,
    new_notebook,
    new_output,
)

from tools.lint import (
    __main__,
    expectations,
    files,
    generated,
    notebooks,
    numbers,
    pages,
    teaching,
    words,
)
from tools.notebooks import NOTEBOOKS

PHRASES = [*words.read_phrases(files.text_of(words.LIST))]


@pytest.mark.parametrize(
    'text, line',
    [
        ('It shall be.', 1),
        ('One.\nTwo device(s).', 2),
        ('# as it\n# comes', 1),
        ("f('as it '\n  'comes')", 1),
        ('a folder of its own.', 1),
    ],
)
def test_a_phrase_is_found_in_its_line_also_across_lines(text, line):
    (found,) = words.find_phrases('a.py', text, PHRASES)
    assert found.startswith(f'a.py:{line}: ')


def test_other_words_are_no_phrases():
    text = 'A marshal commends the busy; its own folder.'
    assert not [*words.find_phrases('a.py', text, PHRASES)]


def test_misspelled_and_british_words_of_a_cell_are_found():
    places, texts = ['a:cell 1', 'a:cell 2'], ['good\nteh thing', 'colour']
    assert [*words.misspelled(places, texts)] == [
        'a:cell 1:2: teh ==> the',
        'a:cell 2:1: colour ==> color',
    ]


def exercise(i):
    """Return the cells of an exercise."""
    call = f'\n\ncheck_{i}()'
    folded = {'source_hidden': True}
    return [
        new_code_cell(
            f'def f():\n    raise NotImplementedError({i})',
            metadata={'tags': ['exercise']},
        ),
        new_code_cell(
            f"def check_{i}():\n    print('Exercise {i}: passed'){call}",
            metadata={
                'tags': ['check', 'raises-exception'],
                'jupyter': folded,
            },
        ),
        new_code_cell(
            f'# Our solution to exercise {i}\ndef f(): pass{call}',
            metadata={
                'tags': ['solution'],
                'jupyter': {**folded, 'outputs_hidden': True},
            },
        ),
    ]


def chapter():
    """Return a notebook without a fault."""
    figure = new_code_cell(
        'plot(rounds=9)',
        metadata={
            'tags': ['nbval-ignore-output'],
            'mystnb': {'image': {'alt': 'two curves that end together'}},
            'small': {'rounds=9': 'rounds=1'},
        },
        outputs=[new_output('display_data', {'image/png': '', 'a': 'Figure'})],
    )
    number = new_code_cell(
        'print(1.5)', outputs=[new_output('stream', text='1.5\n')]
    )
    notebook = new_notebook(
        cells=[
            new_markdown_cell('# A chapter\n\n![two of them](a.svg)'),
            figure,
            number,
            new_markdown_cell('## Summary\n## If it goes wrong\n## Exercises'),
            new_markdown_cell('**1. Do it.** How?'),
            *exercise(1),
            new_markdown_cell('**2. To think about.** Why?'),
            new_markdown_cell(
                '<details>', metadata={'tags': ['solution']}, id='answer'
            ),
        ]
    )
    code = [cell for cell in notebook.cells if cell.cell_type == 'code']
    for count, cell in enumerate(code, 1):
        cell.execution_count = count
    return nbformat.from_dict(notebook)


def found_in(notebook):
    """Return what the rules for notebooks say."""
    return [text for rule in notebooks.RULES for _, text in rule(notebook)]


def test_a_good_notebook_has_no_finding():
    assert found_in(chapter()) == []


def output(notebook, *args, **options):
    notebook.cells[2].outputs = [new_output(*args, **options)]


FAULTS = {
    'executed once': lambda n: n.cells[2].update(execution_count=7),
    'kernelspec': lambda n: n.metadata.update(kernelspec={}),
    'an error': lambda n: output(n, 'error', ename='ValueError'),
    'a warning': lambda n: output(n, 'stream', name='stderr', text='Look'),
    'a path': lambda n: output(n, 'stream', text='/home/me'),
    'tag it': lambda n: n.cells[1].metadata.update(tags=[], small={}),
    'no figure': lambda n: n.cells[1].outputs[0].update(data={'a': 'Figure'}),
    'a figure without': lambda n: n.cells[1].metadata.update(mystnb={}),
    'a picture without': lambda n: n.cells[0].update(source='![](a.svg)'),
    'of `small`': lambda n: n.cells[1].metadata.small.update(x='y'),
    "no '## Summary'": lambda n: n.cells[3].update(
        source='## If it goes wrong\n## Exercises'
    ),
    'are stub, check': lambda n: n.cells.insert(5, n.cells.pop(6)),
    'raises-exception': lambda n: n.cells[6].metadata.tags.pop(),
    'passed': lambda n: n.cells[6].update(source='x\n\ncheck_1()'),
    'a call of check_1': lambda n: n.cells[6].update(
        source=n.cells[6].source[:-9]
    ),
    'and keep(f)': lambda n: n.cells[7].update(
        source='#| export\ndef f(): pass'
    ),
    'our f must follow': lambda n: n.cells[7].update(
        source='#| export\ndef g(): pass'
    ),
    'must begin': lambda n: n.cells[7].update(source='f\n\ncheck_1()'),
    'the last question': lambda n: n.cells[8].update(source='Why?'),
    'our answer': lambda n: n.cells[9].update(source='Because.'),
    'fold differently': lambda n: n.cells[7].metadata.jupyter.update(
        source_hidden=False
    ),
    'shows a solution': lambda n: n.cells[7].metadata.jupyter.update(
        outputs_hidden=False
    ),
    'cannot be all of': lambda n: n.cells[6].metadata.tags.append('solution'),
}


@pytest.mark.parametrize('fault', FAULTS)
def test_a_fault_in_a_notebook_is_found(fault):
    notebook = chapter()
    FAULTS[fault](notebook)
    assert any(fault in text for text in found_in(notebook))


def test_a_chapter_that_hides_what_it_needs_is_found(monkeypatch):
    path = NOTEBOOKS[2]
    assert not [*notebooks.check_needs(path)]
    monkeypatch.setattr(notebooks, 'needed_by', lambda path: {1, 20})
    said = '\n'.join(notebooks.check_needs(path))
    assert 'imports from chapter 20' in said
    assert 'that chapter 20 builds' in said


def unsupported(text):
    """Return the claims in a text below the cells of a chapter."""
    notebook = chapter()
    notebook.cells[0].source += f'\n\n{text}'
    read = {'tools/speed/results/A.md': 'as 4.94 is'}.get
    return [shown for _, shown, _ in numbers.unsupported(notebook, read)]


@pytest.mark.parametrize(
    'sentence, shown',
    [
        ('Two devices are 73,100,000,000 times as fast.', 73_100_000_000),
        ('It takes 0.000000123 ms.', '0.000000123 ms'),
        ('Only 98.7 % of them arrive.', '98.7 %'),
        ('Each device holds 77.7 MB.', '77.7 MB'),
        ('The loss falls to 0.0371.', '0.0371'),
    ],
)
def test_a_number_without_a_support_is_found(sentence, shown):
    shown = f'{shown:,} times' if isinstance(shown, int) else shown
    assert unsupported(sentence) == [shown]


@pytest.mark.parametrize(
    'sentence',
    [
        'It takes 1.5 times as long, in 2 cells and 9 rounds.',
        'It falls to 0.0371 (Goyal et al. 2017).',
        'See `tools/speed/results/A.md`: It falls to 4.94.',
        'Of code, `0.0371` is no claim.',
    ],
)
def test_a_number_with_a_support_is_no_finding(sentence):
    assert not unsupported(sentence)


def test_a_misquoted_result_is_found():
    text = 'One. In `tools/speed/results/A.md`, it takes 1.04 times.'
    assert not [*numbers.misquoted(text, lambda name: '| 1.04 |')]
    said = [*numbers.misquoted(text, lambda name: '| 1.14 |')]
    assert said == [('1.04', 'tools/speed/results/A.md')]


def expecting(text, shown, tags=()):
    """Return a notebook that expects something, and a cell below."""
    cell = new_code_cell('show()', metadata={'tags': [*tags]})
    cell.outputs = [new_output('stream', text=shown)]
    cells = [new_markdown_cell(text), cell, new_markdown_cell('## Next')]
    return new_notebook(cells=[*cells, new_code_cell('assert True')])


HELD = 'speed: expected at least 2, measured 3: held'
EXPECTING = 'It is new. We expect three devices to win.'


@pytest.mark.parametrize(
    'text, shown, tags, count',
    [
        (EXPECTING, HELD, ['nbval-ignore-output'], 0),
        (EXPECTING, HELD.replace('held', 'seen'), (), 1),
        (EXPECTING, HELD.replace('measured', ''), (), 1),
        (EXPECTING, 'equal: True', (), 0),
        (EXPECTING, 'equal: True', ['nbval-ignore-output'], 1),
        ('They win, as we expected.', '', (), 0),
        ('The expected value is 3.', '', (), 0),
        ('## Exercises\n\nWhat do you and we expect?', '', (), 0),
    ],
)
def test_what_no_cell_of_its_section_confronts_is_found(
    text, shown, tags, count
):
    notebook = expecting(text, shown, tags)
    assert len([*expectations.unconfronted(notebook)]) == count


@pytest.mark.parametrize(
    'check, right, wrong',
    [
        (
            lambda text: pages.check_paths('a', text, files.ROOT),
            '[a](README.md#x) `tools/site/conf.py` [b](https://x.org) `x/y`',
            [
                '[a](NONE.md)',
                '`tools/site/none.py`',
                '![a figure](img/none.svg)',
            ],
        ),
        (
            lambda text: pages.check_commands('a', text),
            '`make test SUITE=long` `make doctor`\nmake train ARGS=x  # it',
            ['`make tee`', 'make tea', '`make test SUITE=none`'],
        ),
        (
            lambda text: pages.check_chapters('a', text),
            'chapters 1 to 3, and chapter 5',
            ['chapter 99', 'chapters 3 and 99'],
        ),
        (
            pages.check_rows,
            files.text_of('notebooks/README.md'),
            [files.text_of('notebooks/README.md').replace('(03_', '(x/')],
        ),
    ],
    ids=['paths', 'commands', 'chapters', 'rows'],
)
def test_what_a_page_names_must_exist(check, right, wrong):
    assert not [*check(right)]
    for text in wrong:
        assert len([*check(text)]) == 1, text


GUIDE = files.text_of('tools/site/teaching.md')
CLOCK = {number: (30, 30) for number in teaching.NUMBERS}


def test_a_chapter_that_takes_longer_is_found():
    rows = ''.join(f'| chapter {n} | a | 35 | 30 | 1 | 2 |\n' for n in CLOCK)
    assert not [*teaching.check_minutes(rows, CLOCK)]
    assert len([*teaching.check_minutes(rows, {**CLOCK, 3: (60, 30)})]) == 1
    assert len([*teaching.check_minutes(rows, {**CLOCK, 99: (60, 30)})]) == 1


def test_another_core_is_found():
    text = (
        'takes three and a half hours: 85 minutes to read, and 125 for its '
        'exercises.'
    )
    readme = 'three and a half hours '
    assert not [*teaching.check_core(text, readme, (85, 125))]
    assert len([*teaching.check_core(text, readme, (97, 125))]) == 1
    assert len([*teaching.check_core(text, '', (85, 125))]) == 1


def test_a_week_that_takes_longer_is_found():
    table = '| w | what | minutes |\n|---|---|---|\n| 1 | %s | %d |\n'
    for what, minutes in (
        ('chapters 1 and 2', 120),
        ('chapter 1 or 2, the project', 110),
        ('installation, chapters 1 to 3', 240),
    ):
        assert not [*teaching.check_schedules(table % (what, minutes), CLOCK)]
        text = table % (what, minutes + 60)
        assert len([*teaching.check_schedules(text, CLOCK)]) == 1


def test_a_chapter_with_no_place_or_two_in_the_weeks_is_found():
    head, mark, plan = GUIDE.partition('**Thirteen weeks**')
    assert not [*teaching.check_places(head + mark + plan)]
    start = plan.index('| 3 | ')
    end = plan.index('\n', start) + 1
    without = head + mark + plan[:start] + plan[end:]
    assert [*teaching.check_places(without)]
    twice = head + mark + plan[:end] + '| 3 | chapter 1 | 60 |\n' + plan[end:]
    assert len([*teaching.check_places(twice)]) == 1


def test_an_exercise_without_a_place_is_found():
    text = '| chapter 1 | a | 35 | 30 | 1, 2* | 3 |\n'
    assert not [*teaching.check_lab(text, {1: ['1', '2*', '3']})]
    for wrong in ['1', '2*', '3', '4'], ['1', '2', '3']:
        assert len([*teaching.check_lab(text, {1: wrong})]) == 1


def test_a_chapter_without_an_exam_question_is_found():
    last = teaching.NUMBERS[-1]
    every = ', '.join(map(str, teaching.NUMBERS[:-1]))
    text = f'1. **Why?** Because. (Chapters {every})\n'
    second = f'2. **How?** So. (Chapter {last})\n'
    assert not [*teaching.check_exam(text + second)]
    assert len([*teaching.check_exam(text)]) == 1
    assert len([*teaching.check_exam(f'{text}2. **How?**\n{second}')]) == 1


def test_a_module_that_is_not_exported_is_found(monkeypatch):
    read = files.text_of

    def edited(name):
        return read(name) + 'x = 1\n' * name.endswith('/network.py')

    monkeypatch.setattr(generated, 'text_of', edited)
    (found,) = generated.check_modules()
    assert 'network.py' in found and 'make export' in found


def test_all_findings_are_printed_at_once(monkeypatch, capsys):
    for rule in __main__.RULES:
        monkeypatch.setattr(rule, 'check', lambda: ['a.md:1: a fault'])
    assert __main__.main() == len(__main__.RULES)
    assert capsys.readouterr().out.count('a.md:1: a fault\n') == 7
