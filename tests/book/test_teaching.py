"""The guide for instructors agrees with the chapters."""

import collections
import itertools
import pathlib
import re

import numpy as np
import pytest

from chapters import NOTEBOOKS, number_of
from chapters.cells import read_chapter
from chapters.minutes import core_minutes, minutes_of, optional_exercises
from img.chapters import description

ROOT = pathlib.Path(__file__).parents[2]
GUIDE = ROOT / 'book' / 'teaching.md'
EXAM = ROOT / 'book' / 'exam.md'
MINUTES = {number_of(path.stem): sum(minutes_of(path)) for path in NOTEBOOKS}
INSTALLING, PROJECT = 60, 30  # minutes, the second per week


def test_the_table_has_each_chapter_and_about_its_minutes():
    rows = re.findall(
        r'^\| chapter (\d+) \| [^|]+ \| (\d+) \| (\d+) \|$',
        GUIDE.read_text(),
        re.M,
    )
    numbers = [number_of(path.stem) for path in NOTEBOOKS]
    assert [int(row[0]) for row in rows] == numbers
    for path, (_, *written) in zip(NOTEBOOKS, rows):
        for minutes, now in zip(written, minutes_of(path)):
            assert abs(int(minutes) - now) <= 10, f'{path.stem}: {now}'


def test_the_core_takes_four_hours():
    """By the one clock: README and the guide say it, and this is why."""
    text = ' '.join(GUIDE.read_text().split())
    written = re.search(
        r'about four hours: (\d+) minutes to read, and (\d+) for its '
        r'exercises\. .*? would take (\d+) minutes more',
        text,
    )
    for minutes, now in zip(written.groups(), core_minutes()):
        assert abs(int(minutes) - now) <= 10, core_minutes()
    assert round(sum(core_minutes()[:2]) / 60) == 4
    readme = (ROOT / 'README.md').read_text()
    assert 'the core is 1 to 5: four hours with its exercises' in readme
    assert 'the core, chapters 1 to 5, takes four hours' in readme


@pytest.mark.parametrize('path', NOTEBOOKS, ids=lambda path: path.stem)
def test_the_clock_leaves_out_what_the_text_calls_optional(path):
    cells = read_chapter(path).cells
    stubs = optional_exercises(path)
    for stub in stubs:
        question = cells[cells.index(stub) - 1].source
        assert re.search(r'^\*\*\d\. .* \(optional\)\.?\*\*', question, re.M)
    text = '\n'.join(cell.source for cell in cells)
    assert text.count('(optional)') == len(stubs)


def test_the_figure_of_the_chapters_is_drawn_from_the_imports():
    drawn = (ROOT / 'img' / 'chapters.svg').read_text()
    assert description() in drawn, 'run `make figures`'


def schedules():
    """Return [(what, minutes)] of each table whose last column is minutes."""
    tables = re.findall(r'((?:^\|.*\|\n)+)', GUIDE.read_text(), re.M)
    return [
        [
            (cells[-2].strip(), int(cells[-1]))
            for row in table.splitlines()[2:]
            for cells in [row.strip('|').split('|')]
        ]
        for table in tables
        if table.splitlines()[0].endswith('| minutes |')
    ]


def chapters_in(text):
    """Return the numbers in 'chapters 6 and 7' or 'chapters 1 to 3'; of
    'chapter 13 or 14' the first."""
    numbers = [int(number) for number in re.findall(r'\d+', text)]
    if ' to ' in text:
        return [n for n in MINUTES if numbers[0] <= n <= numbers[1]]
    return numbers[:1] if ' or ' in text else numbers


def test_the_minutes_of_the_schedules_are_those_of_the_clock():
    for table in schedules():
        for what, minutes in table:
            now = sum(MINUTES[number] for number in chapters_in(what))
            now += INSTALLING * ('installation' in what)
            least = now + PROJECT * ('project' in what)
            most = now + 2 * PROJECT * ('project' in what)
            assert least - 15 <= minutes <= most + 15, (what, now)


def test_thirteen_weeks_take_about_as_much_each():
    weeks, *_, days = schedules()
    assert len(weeks) == 13 and len(days) == 5
    for table in (weeks, days):
        minutes = [minutes for _, minutes in table]
        assert max(minutes) <= 1.5 * min(minutes), minutes


def placed(text):
    """Return how often each chapter is in the plan of thirteen weeks: in a
    week, or, in the paragraph below it, among the chapters of choice."""
    plan = text.split('**Thirteen weeks**')[1].split('**Seven weeks**')[0]
    weeks = re.findall(r'^\| \d+ \| (.+) \| \d+ \|$', plan, re.M)
    (choice,) = re.findall(r'^Chapters ([\d, and]+) are for', plan, re.M)
    return collections.Counter(
        number
        for part in [*weeks, choice]
        for number in (
            chapters_in(part)
            if ' to ' in part
            else map(int, re.findall(r'\d+', part))
        )
    )


def test_every_chapter_has_one_place_in_the_thirteen_weeks():
    text = GUIDE.read_text()
    assert placed(text) == collections.Counter([*MINUTES])
    head, mark, plan = text.partition('**Thirteen weeks**')
    for place in (r' and (\d+)(?= are for)', r'(?<=, )(\d+), ', r' or (\d+)'):
        found = re.search(place, plan)
        without = plan[: found.start()] + plan[found.end() :]
        assert placed(head + mark + without)[int(found[1])] == 0


def test_each_exercise_is_for_the_lab_or_for_home():
    rows = re.findall(
        r'^\| chapter (\d+) \| ([\d, ]+) \| ([\d, ]+) \|$',
        re.sub(r'\| read \|.*?\n\n', '', GUIDE.read_text(), flags=re.S),
        re.M,
    )
    assert [int(row[0]) for row in rows] == [*MINUTES]
    for path, (_, *places) in zip(NOTEBOOKS, rows):
        text = '\n'.join(c.source for c in read_chapter(path).cells)
        wanted = sorted(re.findall(r'^\*\*(\d)\. ', text, re.M))
        found = [number for place in places for number in place.split(', ')]
        assert sorted(found) == wanted, path.stem


def questions():
    """Return {number: text} of the exam."""
    text = EXAM.read_text().split('\n## ')[0]
    parts = re.split(r'^(\d+)\. ', text, flags=re.M)
    return dict(zip(map(int, parts[1::2]), parts[2::2]))


def test_every_chapter_has_an_exam_question_with_its_answer():
    numbers = set()
    for text in questions().values():
        question, answer, place = re.fullmatch(
            r'\*\*(.+?)\*\* (.+) \((Chapters? .+?)\)\s*', text, re.S
        ).groups()
        assert len(answer.split()) >= 5
        numbers |= {int(number) for number in re.findall(r'\d+', place)}
    assert numbers >= {*MINUTES}, 'write a question in book/exam.md'


def roundings(value, dtype='float32'):
    """Return the size of one rounding of `value`."""
    return value * float(np.finfo(dtype).eps)


# {question: what its answer computes, as it is written there}
COMPUTED = {
    1: [f'1/{2 * 30} against 1/{2 * 31}', f'1/{31 + 30}'],
    3: [f'{2 * 7 / 8 * 100:g} MB per', f'{2 * 7 * 100:,} MB'],
    5: [f'*m* ≥ {next(m for m in range(1, 99) if 3 / (m + 3) <= 0.1)}'],
    8: [f'(10 + 20)/(10 + 10) = {(10 + 100 * 0.2) / (10 + 50 * 0.2):g}'],
    14: [
        f'{60 * 1024 * 10_000 / 1e6:.0f} million',
        f'{90 * 1.28:.0f} million',
        f'{60 * 1024 * 0.01 / (90 * 1.28):.1f}',
    ],
    15: [
        f'{800 * 128 + 128:,}',
        f'{100 * 102_528 / 129_068:.0f} %',
        f'{4 * 102_528 / 1e3:.0f} of {4 * 129_068 / 1e3:.0f} kB',
    ],
    16: [
        f'{1e7 * roundings(2.3):.1f}·10⁻⁷',
        f'{1e4 * roundings(2.3) / 2e-3:.1f}·10⁻⁴',
        f'{1e13 * roundings(2.3, "float64") / 2e-3:.1f}·10⁻¹³',
    ],
    17: [f'{1e8 * roundings(0.5):.0f}·10⁻⁸ each'],
    18: [f'{96 / 256:g} of the step'],
    19: [f'{15 + 30 + 20} ms without', f'at least {15 + max(30, 20)} ms'],
    20: [f'{2 * 10 / 40:g} and 2 · 30/40 = {2 * 30 / 40:g}', '1/40'],
    21: [f'{4 * 100} MB at the server', f'receives {4 * 100 // 4} MB'],
    23: [f'{10 // 4 * 4} and {-(-10 // 4) * 4}'],
    24: [f' {64 // 4}. ', '4 times'],
    28: [f'30/61 = {30 / 61:.3f} and 31/61 = {31 / 61:.3f}'],
    29: [f'= {8 * (4 - 1) * 2 * 1000 * 512:,}, either way'],
}


@pytest.mark.parametrize('number', COMPUTED)
def test_the_numbers_in_the_answers_are_computed(number):
    answer = questions()[number].split('** ', 1)[1]
    for text in COMPUTED[number]:
        assert text in f' {answer}', text


def given_step():
    """Return `check(n, k)`: whether the project's step, on `n` images and `k`
    devices, is that of one device."""
    from d2lmulti import network
    from d2lmulti.devices import try_devices
    from d2lmulti.network import all_close, in_several_orders
    from d2lmulti.replicas import get_params
    from d2lmulti.training import sgd, train_batch

    mx = pytest.importorskip('mxnet')
    (source,) = re.findall(
        r'```python\n(def given_step.*?)```', GUIDE.read_text(), re.S
    )
    names = {
        'autograd': mx.autograd,
        'np': mx.np,
        'lenet': network.lenet,
        'loss': network.loss,
        'sgd': sgd,
    }
    exec(source, names)
    rng = np.random.RandomState(0)

    def after(step, batches, k):
        devices = try_devices(k)
        replicas = [get_params(network.init_params(), d) for d in devices]
        for X, y in batches:
            step(X, y, replicas, devices, 0.1)
        return [param.copyto(mx.cpu()) for param in replicas[-1]]

    def check(n, k):
        X = mx.np.array(rng.rand(n, 1, 28, 28), dtype='float32')
        batches = [(X, mx.np.array(rng.randint(0, 10, n), dtype='int32'))]
        right = in_several_orders(
            lambda batches: after(train_batch, batches, 1), batches
        )
        found = after(names['given_step'], batches, k)
        return all_close(found, right)

    return check


@pytest.mark.parametrize('n, k', itertools.product((12, 13), (2, 3)))
def test_the_projects_step_is_wrong_where_the_answer_says(n, k):
    """It drops what is left over, and is right otherwise."""
    assert given_step()(n, k) == (n % k == 0)
