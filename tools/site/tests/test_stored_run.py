"""README says and draws what the stored run measured."""

import json
import pathlib
import statistics

import pytest
from PIL import Image

from tools.speed import readme

ROOT = pathlib.Path(__file__).parents[3]
README = (ROOT / 'README.md').read_text()


def test_readme_says_what_the_stored_run_says():
    run = json.loads(readme.STORED.read_text())
    assert readme.fill_in(README, run) == README, 'tools.speed.readme'
    for name, seconds in run['seconds'].items():
        rates = [
            f'{run["images"] / statistics.median(part):,.0f}'
            for part in seconds
        ]
        assert f'| {name} | {" | ".join(rates)} | ' in README


def test_the_figure_shows_the_stored_run():
    run = json.loads(readme.STORED.read_text())
    picture = Image.open(readme.FIGURE)
    assert json.loads(picture.info['Description']) == {
        'seconds': readme.medians(run)
    }
    for seconds in readme.medians(run):  # the bars, and the line below them
        assert f'{seconds:.2f} s' in readme.caption(run)


@pytest.mark.parametrize('part', ['seconds', 'accuracies'])
def test_another_run_makes_another_readme(part):
    run = json.loads(readme.STORED.read_text())
    if part == 'seconds':
        run['seconds'][readme.OURS] = [[4.0], [2.0]]
        assert '2.00 times as fast' in readme.fill_in(README, run)
    else:
        run['accuracies'][1][-1] = 0.125
    assert readme.fill_in(README, run) != README


def test_a_lost_mark_in_readme_is_named():
    run = json.loads(readme.STORED.read_text())
    with pytest.raises(ValueError, match='speeds'):
        readme.fill_in(README.replace('readme: speeds', 'read'), run)
