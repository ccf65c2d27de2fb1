"""The pages say, and the figure shows, what the stored runs measured."""

import copy
import json
import statistics

import pytest
from PIL import Image

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
    seconds = readme.medians(next(iter(RUNS.values())))
    picture = Image.open(readme.FIGURE)
    assert json.loads(picture.info['Description']) == {'seconds': seconds}
    titles = [axis.get_title('left') for axis in readme.figure_of(RUNS).axes]
    for second, title in zip(seconds, titles):
        assert f'{second:.2f} s' in title
        assert f'{second:.2f} s' in PAGES['README.md']


@pytest.mark.parametrize(
    'name, value', [('first step apart', 0.5), ('replicas apart', 0.25)]
)
def test_another_run_makes_another_page(name, value):
    runs = copy.deepcopy(RUNS)
    next(iter(runs.values()))[name] = value
    assert f'{value:.0e}' in readme.caption(runs)
    slower = {'seconds': {readme.OURS: [[4.0], [2.0]]}}
    next(iter(runs.values())).update(slower)
    assert '2.00 times as fast' in readme.caption(runs)


def test_a_lost_mark_is_named():
    with pytest.raises(ValueError, match='speeds'):
        readme.fill_in('nothing', {'speeds': ''})
