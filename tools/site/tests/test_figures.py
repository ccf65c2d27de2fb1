"""The interactive figures: in the browser they compute what Python does."""

import itertools
import math
import pathlib
import random
import re
from unittest import mock

import nbformat
import numpy as onp
import pytest
from mxnet import np, npx

import d2lmulti
from d2lmulti.judgment import scaling
from d2lmulti.model_parallelism import model_parallel
from samestep import same_step
from tools.site import figure_model as model

ROOT = pathlib.Path(__file__).parents[3]
FOLDER = ROOT / 'tools/site' / '_static' / 'figures'
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
        [(np.multiply, [np.ones(2)])] * p, d2lmulti.try_devices(p)
    )
    with mock.patch.object(npx, 'waitall', waitall), mock.patch.multiple(
        model_parallel,
        forward_stage=logged(model_parallel.forward_stage, 'forward'),
        backward_stage=logged(model_parallel.backward_stage, 'backward'),
    ):
        d2lmulti.pipeline_gradients(
            np.zeros((m, 1, 2)),
            np.zeros((m, 1)),
            stages,
            m,
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


def test_a_step_adds_up_and_waits_for_the_slowest():
    steady, uneven = (
        model.step(8192, 32, 1e-3, 1e8, 5e10, 'ring', 0.5, spread)
        for spread in (0, 0.1)
    )
    for compute, waiting, exchange, shown, total in (steady, uneven):
        assert compute == 0.256
        assert total == pytest.approx(compute + waiting + shown)
        hidden = min(exchange, 0.5 * (compute + waiting))
        assert shown == pytest.approx(exchange - hidden)
    assert steady[1] == pytest.approx(0)
    # The largest of 32 normal draws: 2.07 standard deviations above the mean.
    assert uneven[1] == pytest.approx(0.1 * 2.07 * 0.256, rel=0.1)


def test_a_published_run_has_as_many_examples_as_chapter_25_says():
    """Its seconds per example, times them, are those of its step."""
    per_example = {
        'ResNet-50': 16 * 60 / 1.28e6,
        'ResNet-101': 4 / 1656.82,  # a machine has 4 of the 16 GPUs
        'VGG-16': 4 / 1656.82 * 15.47 / 7.801,
        'AlexNet': 98.05 * 3600 / 90 / 1.28e6,
    }
    runs = model.published()
    assert list(runs) == list(model.SHARDS)
    for name, (seconds, *_) in runs.items():
        wanted = per_example[name.split(',')[0]] * model.SHARDS[name]
        assert seconds == pytest.approx(wanted)


def test_without_spread_the_published_runs_are_predicted_as_in_chapter_25():
    names = vars(d2lmulti).copy()
    notebook = nbformat.read(ROOT / 'notebooks' / '25_claims.ipynb', 4)
    (source,) = (c.source for c in notebook.cells if c.get('id') == 'runs')
    exec(source, names)
    for name, (*run, _) in names['RUNS'].items():
        seconds, k, *link = run
        shard = model.SHARDS[name]
        compute, *_, total = model.step(
            k * shard, k, seconds / shard, *link, 2 / 3, 0
        )
        assert compute / total == pytest.approx(names['predict'](*run, 2 / 3))


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
                step,
                reference,
                [onp.zeros(1)],
                [(X, onp.zeros(n))],
                gradients=True,
            )
        )
        error, bound, _ = model.rounding('scale', bug, n, k, 5)
        assert (error <= bound) == wanted


def test_the_data_of_the_page_are_those_of_the_book(tmp_path):
    with mock.patch.object(model, 'DATA', tmp_path / 'data.js'):
        model.write()
        assert model.DATA.read_text() == (FOLDER / 'data.js').read_text()


def test_the_library_has_its_license():
    version = re.search(
        r'"@observablehq/plot": "([\d.]+)"',
        (ROOT / 'tools/site' / 'plot' / 'package.json').read_text(),
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
            RNG.randint(1, 3000),
            drawn(1, 1e12),
            drawn(1e-7, 1e-1),
            drawn(1e-13, 1e-6),
        ]
        yield (
            'allreduceSeconds',
            arguments,
            scaling.allreduce_seconds(*arguments),
        )
        k = RNG.randint(1, 3000)
        arguments = [
            k * RNG.randint(1, 9) + RNG.randint(0, k),
            k,
            drawn(1e-6, 1),
            drawn(1, 1e12),
            drawn(1e6, 1e12),
            RNG.choice(list(model.ALGORITHMS)),
            RNG.random(),
            RNG.uniform(0, 0.3),
        ]
        yield 'step', arguments, model.step(*arguments)
        arguments = [
            RNG.choice(list(model.NETWORKS)),
            RNG.randint(1, 9000),
            RNG.randint(0, 3),
            RNG.randint(1, 20),
            RNG.choice(['mixed', 'float32']),
            RNG.choice(['none', 'selective', 'full']),
        ]
        yield 'memory', arguments, model.memory(*arguments)
        network = RNG.choice(list(model.NETWORKS))
        arguments = [network, *plan_at_random(network)]
        yield 'planCosts', arguments, model.plan_costs(*arguments)
        arguments = [
            RNG.choice(['none', 'scale', 'missing']),
            drawn(1e-9, 1),
            RNG.randint(8, 500),
            RNG.randint(1, 8),
            RNG.randint(1, 1000),
        ]
        error, bound, errors = model.rounding(*arguments)
        yield 'rounding', arguments, [error, bound, *errors]


def plan_at_random(network):
    """Return a minibatch and a legal plan for it."""
    _, _, _, heads, length, _, _, keys = model.NETWORKS[network]
    dp, m = (2 ** RNG.randint(0, 5) for _ in range(2))
    tp = RNG.choice(
        [tp for tp in divisors(heads) if not (keys % tp and tp % keys)]
    )
    cp = RNG.choice(divisors(max(1, length // 8_192)))
    pp = RNG.randint(1, 32)
    batch = dp * m * RNG.randint(1, 9)
    return batch, [dp, tp, pp, cp, RNG.randint(0, 3), m, RNG.randint(0, 2)]


def divisors(n):
    """Return all whole numbers that divide n."""
    return [i for i in range(1, n + 1) if n % i == 0]


@pytest.mark.parametrize(
    'arguments',
    [
        ('Llama 3, 70 billion', 64, 256, 80),
        ('Llama 3, 405 billion', 512, 64, 80),
        ('Llama 3, 8 billion', 12, 48, 40),
        ('GPT-2 XL, 1.5 billion', 1, 4, 24),
        ('Llama 3, 405 billion', 1, 4, 24),  # nothing fits
        ('Llama 3, 8 billion', 12, 40, 192),  # equally fast up to rounding
        ('GPT-2 XL, 1.5 billion', 12, 320, 24),
        ('Llama 3, 8 billion', 32, 16, 80),  # key heads on several devices
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
    picture = place.locator('.figure-picture')
    image = picture.locator('svg[role=img]')
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
        assert words in image.get_attribute('aria-label')
    assert 'NaN' not in place.inner_html()


# Texts of a picture that lie on each other or reach out of it.
MISPLACED = """name => {
  const picture = document.querySelector(
    `[data-figure=${name}] .figure-picture`);
  const box = picture.getBoundingClientRect();
  const texts = [...picture.querySelectorAll('svg text')].map(
    text => [text.textContent, text.getBoundingClientRect()]);
  return texts.filter(([text, {left, right, width}], i) => width && (
    left < box.left - 1 || right > box.right + 1
    || texts.slice(0, i).some(([, other]) =>
      Math.min(right, other.right) - Math.max(left, other.left) > 1
      && Math.min(texts[i][1].bottom, other.bottom)
      - Math.max(texts[i][1].top, other.top) > 3))).map(([text]) => text);
}"""


@pytest.mark.parametrize('width', [374, 768, 1280])
@pytest.mark.parametrize('name', NAMES)
def test_no_text_lies_on_another_or_is_cut(page, name, width):
    page.set_viewport_size({'width': width, 'height': 800})
    controls = page.locator(f'[data-figure={name}]').locator('select, input')
    for key in ('Home', 'End'):
        for i in range(controls.count()):
            controls.nth(i).focus()
            page.keyboard.press(key)
        page.evaluate('() => new Promise(requestAnimationFrame)')
        assert not page.evaluate(MISPLACED, name), key
    page.set_viewport_size({'width': 1280, 'height': 720})


# The least contrast of a text in a cell with the cell, and what it says.
CONTRAST = """name => {
  const parse = color => color.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const light = color => color.map(c => c / 255).map(
    c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4).reduce(
    (sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = parse(getComputedStyle(document.body).backgroundColor);
  const picture = document.querySelector(
    `[data-figure=${name}] .figure-picture`);
  const cells = [...picture.querySelectorAll('svg rect')].map(
    rect => [rect.getBoundingClientRect(), getComputedStyle(rect)]);
  let least = [99, ''];
  for (const text of picture.querySelectorAll('svg text')) {
    const box = text.getBoundingClientRect();
    const x = (box.left + box.right) / 2, y = (box.top + box.bottom) / 2;
    const under = cells.filter(([cell]) => cell.left < x && x < cell.right
                               && cell.top < y && y < cell.bottom);
    if (!under.length) continue;
    const color = under.reduce((below, [, style]) => parse(style.fill).map(
      (c, i) => below[i] + (c - below[i]) * style.fillOpacity), ground);
    const two = [parse(getComputedStyle(text).fill), color].map(light);
    const found = (Math.max(...two) + 0.05) / (Math.min(...two) + 0.05);
    if (found < least[0]) least = [found, text.textContent];
  }
  return least;
}"""


@pytest.mark.parametrize(
    'ground, ink', [('#ffffff', '#222832'), ('#121212', '#ced6dd')]
)
@pytest.mark.parametrize('name', ['pipeline', 'planner'])
def test_a_number_in_a_cell_can_be_read(page, name, ground, ink):
    """In the colors of the site's light and dark theme."""
    body = page.locator('body')
    body.evaluate(
        '(e, [background, color]) => Object.assign('
        'e.style, {background, color})',
        [ground, ink],
    )
    place = page.locator(f'[data-figure={name}]')
    if name == 'pipeline':
        place.locator('[name=p]').fill('8')
        place.locator('[name=m]').fill('3')
    else:
        place.locator('[name=power]').fill('6')
        place.locator('[name=batch]').fill('8')
    contrast, text = page.evaluate(CONTRAST, name)
    body.evaluate('e => e.removeAttribute("style")')
    assert 4.5 <= contrast < 99, text


def test_words_have_their_plurals_and_no_number_too_many_digits(page):
    for name in NAMES:
        place = page.locator(f'[data-figure={name}]')
        controls = place.locator('select, input')
        for key in ('End', 'Home'):
            for i in range(controls.count()):
                controls.nth(i).focus()
                page.keyboard.press(key)
            words = place.locator('.figure-answer').inner_text()
            assert not re.search(
                r'\b1 (arrays|messages|machines|times)\b|\b0\.0 |\d{5}', words
            ), words


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
            network,
            2 ** int(power),
            stage,
            int(batch),
            precision,
            recomputation,
        )
        shown = [float(cell.replace(',', '')) for cell in cells[1:]]
        assert shown == pytest.approx([*wanted, sum(wanted)], rel=0.01)


@pytest.mark.parametrize('scaling', ['weak', 'strong'])
def test_the_step_tells_what_python_computes(page, scaling):
    place = page.locator('[data-figure=step]')
    place.locator('[name=scaling]').select_option(scaling)
    chosen = {'power': 4, 'size': 2, 'link': -2, 'overlap': 40, 'spread': 10}
    for name, value in chosen.items():
        place.locator(f'[name={name}]').fill(str(value))
    run = place.locator('[name=run]').input_value()
    seconds, machines, size, bits, algorithm, _ = model.published()[run]
    shard, k = 4 * model.SHARDS[run], 2 ** chosen['power']
    batch = shard * (k if scaling == 'weak' else machines)
    *parts, total = model.step(
        batch,
        k,
        seconds / model.SHARDS[run],
        size,
        bits / 2,
        algorithm,
        0.4,
        0.1,
    )
    speedup = batch * seconds / model.SHARDS[run] / total
    compute, late, exchange, shown = (1e3 * part for part in parts)
    words = place.locator('.figure-answer').inner_text().replace(',', '')
    found = [float(n) for n in re.findall(r'\d+(?:\.\d+)?', words)]
    wanted = [k, batch, compute, exchange, exchange - shown]
    wanted += [late + shown, late, speedup]
    assert found == pytest.approx(wanted, rel=0.006)
    place.locator('summary').click()
    cells = place.locator('tbody tr').nth(chosen['power']).locator('td')
    row = [
        float(cell.replace(',', '').replace(' %', ''))
        for cell in cells.all_inner_texts()
    ]
    wanted = [k, batch, compute, late, exchange, shown, speedup]
    assert row[:7] == pytest.approx(wanted, rel=0.006)
    place.locator('summary').click()


def test_a_minibatch_has_an_example_for_each_machine(page):
    place = page.locator('[data-figure=step]')
    place.locator('[name=run]').select_option('AlexNet, 4 GPUs')
    place.locator('[name=scaling]').select_option('strong')
    place.locator('[name=size]').fill('-3')
    assert place.locator('[name=power]').get_attribute('max') == '6'
    assert 'NaN' not in place.inner_html()
    place.locator('[name=scaling]').select_option('weak')
    assert place.locator('[name=power]').get_attribute('max') == '10'


@pytest.mark.parametrize(
    'name, query, shown',
    [
        ('allreduce', 'algorithm=ring&k=8&now=14', 'Round 14 of 14'),
        ('allreduce', 'algorithm=tree&k=8&now=99', 'Round 6 of 6'),
        ('allreduce', 'algorithm=x&k=-1&now=2.5', 'Round 1 of 6'),
        ('pipeline', 'schedule=1F1B&m=16', 'activations of 4 micro-batches'),
    ],
)
def test_an_address_asks(page, name, query, shown):
    address = page.url.partition('?')[0].partition('#')[0]
    page.goto(f'{address}?{query}#figure-{name}')
    answer = page.locator(f'[data-figure={name}] .figure-answer')
    assert shown in answer.inner_text()
    others = page.locator('[data-figure=rounding] .figure-answer')
    assert others.inner_text().startswith('A bug')  # as it begins
    page.goto(address)


@pytest.mark.parametrize('name', NAMES)
def test_what_was_chosen_is_in_the_address(page, name):
    place = page.locator(f'[data-figure={name}]')
    controls = place.locator('select, input')
    for i in range(controls.count()):
        controls.nth(i).focus()
        page.keyboard.press('ArrowDown')
    chosen = controls.evaluate_all('all => all.map(e => e.value)')
    picture = place.locator('.figure-picture').inner_html()
    assert page.url.endswith(f'#figure-{name}') and '?' in page.url
    page.reload()
    assert controls.evaluate_all('all => all.map(e => e.value)') == chosen
    assert place.locator('.figure-picture').inner_html() == picture
    page.goto(page.url.partition('?')[0])
