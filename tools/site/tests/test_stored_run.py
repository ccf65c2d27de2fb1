"""The pages say, and the figure shows, what the stored runs measured."""

import copy
import json
import statistics

import pytest
from PIL import Image

from d2lmulti.communication.training_figure import titles
from tools.speed import readme

RUNS = json.loads(readme.STORED.read_text())
PAGES = {name: (readme.ROOT / name).read_text() for name in readme.texts(RUNS)}


def test_the_pages_say_what_the_stored_runs_say():
    for name, parts in readme.texts(RUNS).items():
        filled = readme.fill_in(PAGES[name], parts)
        assert filled == PAGES[name], 'tools.speed.readme again'
    for run in RUNS.values():
        for name, seconds in run['seconds'].items():
            rates = [
                f'{run["images"] / statistics.median(part):,.0f}'
                for part in seconds
            ]
            row = f'| {name} | {" | ".join(rates)} | '
            assert row in PAGES['tools/site/running.md']


def test_the_figure_shows_the_stored_run():
    steps = next(iter(RUNS.values()))['steps']
    one, two = (max(end for *_, end in steps[k]) for k in '12')
    right = (
        f'1 device: {one:.1f} ms; '
        f'2 devices: {two:.1f} ms, {one / two:.2f} times as fast'
    )
    assert '; '.join(titles(readme.steps_of(RUNS))) == right
    assert Image.open(readme.FIGURE).info['Description'] == right


def test_another_run_makes_another_page():
    runs = copy.deepcopy(RUNS)
    slower = {'seconds': {readme.OURS: [[4.0], [2.0]]}}
    next(iter(runs.values())).update(slower)
    assert '2.00 times as fast' in readme.epochs(runs)


def test_a_lost_mark_is_named():
    with pytest.raises(ValueError, match='speeds'):
        readme.fill_in('nothing', {'speeds': ''})
