"""What the figures tell by their colors."""

import pathlib
import types

import pytest
from matplotlib.colors import to_hex

from d2lmulti import findings, plots

ROOT = pathlib.Path(__file__).parents[2]


def result(num_devices):
    return types.SimpleNamespace(
        devices=[0] * num_devices, accuracies=[0.1, 0.2], seconds=[1.0, 1.0]
    )


def test_a_number_of_devices_has_the_same_color_in_every_figure():
    left, right = plots.plot_results([result(2), result(4)]).axes
    for look in (
        [line.get_color() for line in left.lines],
        [to_hex(bar.get_facecolor()) for bar in right.patches],
    ):
        assert look == [plots.LINE_STYLES[i]['color'] for i in (1, 2)]


def test_no_color_means_both_a_device_and_a_run():
    runs = {style['color'] for style in plots.LINE_STYLES}
    assert not runs & set(plots.DEVICE_COLORS)


@pytest.mark.parametrize(
    'file', ['tools/figures/style.py', 'tools/site/_static/figures/figures.js']
)
def test_devices_have_their_colors_in_drawings_and_on_the_site(file):
    colors = ', '.join(f"'{color}'" for color in plots.DEVICE_COLORS)
    assert f'DEVICES = [{colors}' in (ROOT / file).read_text()


def test_no_two_runs_look_alike():
    looks = [tuple(sorted(map(str, s.items()))) for s in plots.LINE_STYLES]
    assert len(set(looks)) == len(looks)


@pytest.mark.parametrize(
    ('measured', 'limits', 'line'),
    [
        (1.0, {'high': 2}, 'expected at most 2, measured 1: held'),
        (2.5, {'high': 2}, 'expected at most 2, measured 2.5: did not hold'),
        (2.5, {'low': 2}, 'expected at least 2, measured 2.5: held'),
        (
            [9, 1.94, 0.5],
            {'low': 1.6, 'high': 2},
            'expected 1.6 to 2, measured 1.94 (0.5 to 9): held',
        ),
        (
            [1000.4, 1300.0],
            {'low': 1200, 'high': 1500},
            'expected 1,200 to 1,500, measured 1,150 (1,000 to 1,300): '
            'did not hold',
        ),
        (
            0.1002,
            {'high': 0.1},
            'expected at most 0.1, measured 0.1002: did not hold',
        ),
        (0.1, {'high': 0.1}, 'expected at most 0.1, measured 0.1: held'),
        (
            1000.4,
            {'low': 1000},
            'expected at least 1,000, measured 1,000.4: held',
        ),
    ],
)
def test_a_prediction_is_printed_beside_the_median(
    capsys, measured, limits, line
):
    findings.confront('speedup', measured, **limits)
    assert capsys.readouterr().out == f'speedup: {line}\n'


@pytest.mark.parametrize(
    ('measured', 'limits'), [([], {'low': 1}), (1.0, {}), ([], {})]
)
def test_nothing_to_confront_is_refused(measured, limits):
    with pytest.raises(ValueError, match='give a measurement, and low'):
        findings.confront('speedup', measured, **limits)
