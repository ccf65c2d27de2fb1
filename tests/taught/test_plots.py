"""What the figures tell by their colors."""

import types

from matplotlib.colors import to_hex

from d2lmulti import plots


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


def test_no_two_runs_look_alike():
    looks = [tuple(sorted(map(str, s.items()))) for s in plots.LINE_STYLES]
    assert len(set(looks)) == len(looks)
