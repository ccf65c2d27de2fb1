"""What the figures tell by their colors."""

import types

import pytest
from matplotlib.colors import to_hex

from d2lmulti import plots
from d2lmulti.timeline import Operator


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


@pytest.mark.parametrize(
    ('name', 'kind'),
    [
        ('Convolution', 'forward'),
        ('_np_dot', 'forward'),
        ('_backward_np_dot', 'backward'),
        ('_backward_npi_broadcast_add', 'backward'),
        ('CopyCPU2CPU', 'copy'),
        ('CopyCPU2GPU', 'copy'),
        ('_npi_subtract', 'sum, update'),
    ],
)
def test_a_timeline_tells_the_parts_of_a_step_apart(name, kind):
    assert plots.operator_kind(Operator('cpu(0)', name, 0, 1)) == kind


def test_a_lane_has_the_color_of_its_device_in_several_shades():
    operators = [
        Operator('cpu(0)', 'Convolution', 0, 1),
        Operator('cpu(0)', '_backward_Convolution', 1, 2),
        Operator('cpu(1)', '_backward_Convolution', 0, 2),
    ]
    axis = plots.plot_timeline(operators)
    first, second = (lane.get_facecolors() for lane in axis.collections)
    forward, backward = (tuple(color[:3]) for color in first)
    assert backward == plots.shade(plots.DEVICE_COLORS[0], 1)
    assert tuple(second[0][:3]) == plots.shade(plots.DEVICE_COLORS[1], 1)
    assert forward == plots.shade(plots.DEVICE_COLORS[0], 0.4)
