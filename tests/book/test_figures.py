"""The figures that answer: in the browser they compute what Python does."""

import itertools
import math
import pathlib
import random
import re
from unittest import mock

import figure_model as model
import nbformat
import numpy as onp
import pytest
from matplotlib import pyplot
from mxnet import np, npx

import d2lmulti
from d2lmulti import model_parallel, scaling
from samestep import same_step

ROOT = pathlib.Path(__file__).parents[2]
FOLDER = ROOT / 'book' / '_static' / 'figures'
FILES = ['plot.min.js', 'data.js', 'model.js', 'figures.js']
NAMES = ['allreduce', 'pipeline', 'memory', 'step', 'planner', 'rounding']
RNG = random.Random(0)
SCHEDULES = {
    'GPipe': d2lmulti.gpipe_schedule,
    '1F1B': d2lmulti.one_f_one_b_schedule,
}


@pytest.mark.parametrize('k', range(2, 9))
@pytest.mark.parametrize('algorithm', model.ALGORITHMS)
def test_messages_take_the_rounds_and_bytes_of_chapter_23(algorithm, k):
    found = model.messages(algorithm, k)
    rounds = max(now for now, *_ in found)
    assert rounds == scaling.allreduce_seconds(algorithm, k, 1, 1, 0)
    largest = [
        max(size for now, _, _, size in found if now == i + 1)
        for i in range(rounds)
    ]
    carried = scaling.allreduce_seconds(algorithm, k, model.SIZE, 0, 1)
    assert sum(largest) == pytest.approx(carried)
    for now in range(1, rounds + 1):
        for column in (1, 2):  # of the senders, of the receivers
            busy = [message[column] for message in found if message[0] == now]
            assert len(set(busy)) == len(busy)


@pytest.mark.parametrize('name', SCHEDULES)
@pytest.mark.parametrize('p, m', [(1, 3), (2, 1), (3, 4), (4, 2)])
def test_time_steps_are_those_of_the_executor(name, p, m):
    calls, waitall = [], mock.Mock(side_effect=npx.waitall)

    def logged(run, phase):
        def run_and_log(stages, s, i, *others):
            calls.append((waitall.call_count, s, phase, i))
            run(stages, s, i, *others)

        return run_and_log

    stages = d2lmulti.split_layers(
        d2lmulti.init_params(), d2lmulti.try_devices(p)
    )
    with mock.patch.object(npx, 'waitall', waitall), mock.patch.multiple(
        model_parallel,
        forward_stage=logged(model_parallel.forward_stage, 'forward'),
        backward_stage=logged(model_parallel.backward_stage, 'backward'),
    ):
        d2lmulti.pipeline_gradients(
            *(np.zeros((m, 1, 28, 28)), np.zeros(m), stages, m),
            SCHEDULES[name],
        )
    found = model.time_steps(SCHEDULES[name](p, m))
    assert sorted(found) == sorted(calls)
    wanted = [m if name == 'GPipe' else min(m, p - s) for s in range(p)]
    assert model.live(found, p) == wanted


def test_memory_is_that_of_chapter_16_and_of_the_paper():
    cells = (ROOT / 'notebooks' / '16_sharding.ipynb').read_text()
    assert 'def zero_memory' in cells
    for stage, total in enumerate([120, 31.4, 16.6, 1.9]):  # its Figure 1
        with mock.patch.dict(model.NETWORKS, {'': (7.5e9, 1, 1, 1, 1, 1)}):
            *held, _ = model.memory('', 64, stage, 1, 'mixed', 'none')
        assert sum(held) == pytest.approx(total, abs=0.06)


def test_the_bound_decides_as_same_step_does():
    """The sums are those of a step whose gradient is one number."""
    n, k = 64, 3
    numbers = onp.array(model.random_numbers(5, 2 * n)).reshape(2, n)
    X = (numbers[0] * (numbers[0] - 0.5 * numbers[1]))[:, None]
    for bug in (0, 1e-1, 1e-3, 1e-5, 1e-9):

        def step(params, X, y, bug=bug):
            parts = [
                model.add(X[part, 0])
                for part in d2lmulti.devices.split_slices(len(X), k)
            ]
            return [onp.array([model.add(parts) * onp.float32(1 + bug)])]

        def reference(params, X, y):
            return [onp.array([sum(X[:, 0], X.dtype.type(0))])]

        wanted = bool(
            same_step(
                *(step, reference, [onp.zeros(1)], [(X, onp.zeros(n))]),
                gradients=True,
            )
        )
        error, bound, _ = model.rounding('scale', bug, n, k, 5)
        assert (error <= bound) == wanted


def test_the_data_of_the_page_are_those_of_the_book(tmp_path):
    with mock.patch.object(model, 'DATA', tmp_path / 'data.js'):
        model.write()
        assert model.DATA.read_text() == (FOLDER / 'data.js').read_text()


def test_all_files_together_are_small_and_the_library_has_its_license():
    assert sum((FOLDER / name).stat().st_size for name in FILES) < 300_000
    version = re.search(
        r'"@observablehq/plot": "([\d.]+)"',
        (ROOT / 'book' / 'plot' / 'package.json').read_text(),
    )[1]
    head = (FOLDER / 'plot.min.js').read_text()[:200]
    assert f'Observable Plot {version}' in head
    license = (FOLDER / 'plot-LICENSE.txt').read_text()
    assert '@observablehq/plot' in license and 'd3' in license


@pytest.fixture(scope='module')
def page(browser, tmp_path_factory):
    """A page with the figures alone, from files, without a server."""
    path = tmp_path_factory.mktemp('figures') / 'index.html'
    path.write_text(
        '<!DOCTYPE html><html lang="en"><body><main>'
        + ''.join(f'<div data-figure="{name}"></div>' for name in NAMES)
        + ''.join(
            f'<script src="{(FOLDER / name).as_uri()}"></script>'
            for name in FILES
        )
    )
    page, errors = browser.new_page(), []
    page.on('pageerror', lambda error: errors.append(str(error)))
    page.goto(path.as_uri())
    yield page
    assert not errors


def drawn(low, high):
    """Return a random number from low to high, by its logarithm."""
    return math.exp(RNG.uniform(math.log(low), math.log(high)))


def points():
    """Return (name in MODEL, arguments, what Python computes), 100 each."""
    for _ in range(100):
        arguments = [
            RNG.choice(list(model.ALGORITHMS)),
            *(RNG.randint(1, 3000), drawn(1, 1e12)),
            *(drawn(1e-7, 1e-1), drawn(1e-13, 1e-6)),
        ]
        yield (
            'allreduceSeconds',
            arguments,
            scaling.allreduce_seconds(*arguments),
        )
        k = RNG.randint(1, 3000)
        arguments = [
            *(k * RNG.randint(1, 9) + RNG.randint(0, k), k),
            *(drawn(1e-6, 1), drawn(1, 1e12), drawn(1e6, 1e12)),
            *(RNG.choice(list(model.ALGORITHMS)), RNG.random()),
        ]
        yield 'step', arguments, model.step(*arguments)
        arguments = [
            RNG.choice(list(model.NETWORKS)),
            *(RNG.randint(1, 9000), RNG.randint(0, 3), RNG.randint(1, 20)),
            RNG.choice(['mixed', 'float32']),
            RNG.choice(['none', 'selective', 'full']),
        ]
        yield 'memory', arguments, model.memory(*arguments)
        arguments = [RNG.choice(list(model.NETWORKS)), *plan_at_random()]
        yield 'planCosts', arguments, model.plan_costs(*arguments)
        arguments = [
            *(RNG.choice(['none', 'scale', 'missing']), drawn(1e-9, 1)),
            *(RNG.randint(8, 500), RNG.randint(1, 8), RNG.randint(1, 1000)),
        ]
        error, bound, errors = model.rounding(*arguments)
        yield 'rounding', arguments, [error, bound, *errors]


def plan_at_random():
    """Return a minibatch and a plan for it."""
    dp, tp, cp, m = (2 ** RNG.randint(0, 5) for _ in range(4))
    pp = RNG.randint(1, 32)
    batch = dp * m * RNG.randint(1, 9)
    return batch, [dp, tp, pp, cp, RNG.randint(0, 3), m, RNG.randint(0, 2)]


@pytest.mark.parametrize(
    'arguments',
    [
        ('Llama 3, 70 billion', 64, 256, 80),
        ('Llama 3, 405 billion', 512, 64, 80),
        ('Llama 3, 8 billion', 12, 48, 40),
        ('GPT-2 XL, 1.5 billion', 1, 4, 24),
        ('Llama 3, 405 billion', 1, 4, 24),  # nothing fits
    ],
)
def test_the_browser_finds_the_plans_that_python_does(page, arguments):
    found = page.evaluate('inputs => MODEL.plans(...inputs)', arguments)
    right = {plan[1:3]: row for *row, plan in model.plans(*arguments)}
    assert len(found) == len(right)
    for *row, plan in found:  # of equally good plans, any
        assert row == pytest.approx(right[tuple(plan[1:3])])
        assert row == pytest.approx(
            model.plan_costs(arguments[0], arguments[2], plan)[:2]
        )


def test_the_browser_computes_what_python_does(page):
    cases = list(points())
    found = page.evaluate(
        'cases => cases.map(([name, inputs]) => [MODEL[name](...inputs)]'
        '.flat(2))',
        [[name, arguments] for name, arguments, _ in cases],
    )
    for (name, arguments, wanted), value in zip(cases, found):
        wanted = onp.ravel(wanted).tolist()
        assert value == pytest.approx(wanted, rel=1e-9, abs=1e-15), (
            name,
            arguments,
        )


@pytest.mark.parametrize('name', SCHEDULES)
def test_the_browser_runs_the_schedules_that_python_does(page, name):
    for p, m in itertools.product(range(1, 7), range(1, 13)):
        calls, live = page.evaluate(
            """([name, p, m]) => {
              const calls = MODEL.timeSteps(MODEL.SCHEDULES[name](p, m));
              return [calls, MODEL.live(calls, p)]; }""",
            [name, p, m],
        )
        wanted = model.time_steps(SCHEDULES[name](p, m))
        assert sorted(map(tuple, calls)) == sorted(wanted)
        assert live == model.live(wanted, p)


@pytest.mark.parametrize('name', NAMES)
def test_every_control_answers_to_the_keyboard(page, name):
    place = page.locator(f'[data-figure={name}]')
    picture = place.locator('.figure-picture > svg, figure > svg')
    controls = place.locator('select, input')
    for i in range(controls.count()):
        control, before = controls.nth(i), picture.inner_html()
        assert control.evaluate('e => e.labels[0].textContent.trim()')
        control.focus()
        for key in ('ArrowDown', 'Home', 'End'):
            page.keyboard.press(key)
            if picture.inner_html() != before:
                break
        assert picture.inner_html() != before, control.get_attribute('name')
        words = place.locator('.figure-answer').inner_text()
        assert picture.get_attribute('role') == 'img'
        assert words in picture.get_attribute('aria-label')
    assert 'NaN' not in place.inner_html()


def test_a_table_has_the_numbers_of_the_picture(page):
    place = page.locator('[data-figure=memory]')
    place.locator('summary').click()
    rows = place.locator('tbody tr')
    assert rows.count() == 4
    network, power, batch, precision, recomputation = (
        place.locator(f'[name={name}]').input_value()
        for name in 'network power batch precision recomputation'.split()
    )
    for stage in range(4):
        cells = rows.nth(stage).locator('td').all_inner_texts()
        wanted = model.memory(
            *(network, 2 ** int(power), stage, int(batch)),
            *(precision, recomputation),
        )
        shown = [float(cell) for cell in cells[1:]]
        assert shown == pytest.approx([*wanted, sum(wanted)], rel=0.01)


def test_the_cells_for_jupyterlab_draw_and_print(monkeypatch, capsys):
    """For each control, its first, its second and its last value."""
    asked = []

    def ask(draw, **controls):
        options = {
            name: list(values_of(control))
            for name, control in controls.items()
        }
        for i in (0, 1, -1):
            draw(**{name: values[i] for name, values in options.items()})
        asked.append(draw.__name__)

    monkeypatch.setattr('ipywidgets.interact', ask)
    monkeypatch.setattr('matplotlib.pyplot.show', lambda: pyplot.close('all'))
    names = {}
    for cell in nbformat.read(ROOT / 'binder' / 'figures.ipynb', 4).cells:
        if cell.cell_type == 'code':
            exec(cell.source, names)
    assert asked == [f'draw_{name}' for name in NAMES]
    assert 'bubble 100%' not in capsys.readouterr().out


def values_of(control):
    """Return what a control can be, as `interact` understands it."""
    if isinstance(control, dict):
        return control.values()
    if hasattr(control, 'options'):
        return control.options
    return (
        control
        if isinstance(control, list)
        else range(control.min, control.max + 1)
    )
