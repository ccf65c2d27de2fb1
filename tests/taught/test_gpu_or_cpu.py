"""The chapter on GPUs and CPUs: its formula, and what its data decide."""

import types

import pytest

from tools.notebooks import ROOT, path_of
from tools.notebooks.cells import code_cells, plain, read_chapter

CELLS = (
    'imports',
    'data',
    'products',
    'prices',
    'formula',
    'crossing',
    'work',
    'model',
    'fit',
    'predict',
)


@pytest.fixture(scope='module')
def chapter():
    """Return a module in which the cells above have run."""
    module = types.ModuleType('chapter')
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT / 'notebooks')
        for cell in code_cells(read_chapter(path_of('gpu_or_cpu'))):
            if cell.id in CELLS:
                source = plain(cell.source)
                exec(compile(source, cell.id, 'exec'), vars(module))
    return module


@pytest.mark.parametrize('where', [20, 100.5, 999])
def test_lines_that_are_straight_on_logarithmic_axes_cross_where_equal(
    chapter, where
):
    sizes = [10, 50, 100, 400, 1000]
    cpu, gpu = [n**3 for n in sizes], [where**2 * n for n in sizes]
    assert chapter.crossing(sizes, cpu, gpu) == pytest.approx(where)


def test_the_gpu_must_overtake_for_good(chapter):
    crossing = chapter.crossing([1, 2, 4, 8], [1, 3, 1, 4], [2, 2, 2, 2])
    assert crossing == pytest.approx(4 * 2**0.5)


def test_what_is_faster_everywhere_needs_no_crossing(chapter):
    assert chapter.crossing([4, 8], [3, 9], [1, 1]) == 4
    assert chapter.crossing([4, 8], [1, 1], [3, 9]) == float('inf')


@pytest.mark.parametrize('seconds', ['gpu_seconds', 'with_copies'])
@pytest.mark.parametrize('cpu', [('cpu', 4096), ('cpu_one_thread', 1024)])
def test_a_predicted_crossing_is_the_first_at_which_the_gpu_is_faster(
    chapter, seconds, cpu
):
    prices = chapter.prices(chapter.H100, *cpu)
    seconds = getattr(chapter, seconds)
    n = chapter.predicted(seconds, prices)
    gains = [
        seconds(m, prices) < chapter.cpu_seconds(m, prices)
        for m in (n // 2, n - 1, n, 2 * n)
    ]
    assert gains == [False, False, True, True]


def test_the_formula_pays_for_each_launch_copy_and_operation_once(chapter):
    paid = (0, 1), (10, 1e3), (3, 1e2), (7, 1e1)
    assert chapter.gpu_seconds(5, paid) == 10 + 250 / 1e3
    copies = 2 * (3 + 100 / 1e2) + 7 + 100 / 1e1
    assert chapter.with_copies(5, paid) == 10 + 250 / 1e3 + copies


def test_the_longer_of_launches_and_work_counts_and_copies_always(chapter):
    seconds = chapter.gpu_step_seconds
    assert seconds((10, 3, 4, 5), launch=1) == 10 + 5
    assert seconds((10, 30, 40, 5), launch=1) == 70 + 5
    assert seconds((10, 30, 40, 0), launch=1, slowdown=2) == 140


def test_work_bytes_and_copies_grow_with_the_minibatch_launches_do_not(
    chapter,
):
    for network, rows in chapter.WORK.items():
        one, two, four = [
            chapter.step_costs(chapter.H100, network, n, 'step_with_copies')
            for n in (1, 2, 4)
        ]
        assert one[0] == four[0] == rows['step']['operators']
        assert four[1] == pytest.approx(4 * one[1])
        for i in (2, 3):  # the parameters' bytes, a copy's start
            assert four[i] - two[i] == pytest.approx(2 * (two[i] - one[i]))
        assert chapter.step_costs(chapter.H100, network, 4, 'step')[3] == 0


@pytest.mark.parametrize(
    'wrong',
    [
        lambda costs, launch, slowdown=1: costs[0] * launch,
        lambda costs, launch, slowdown=1: sum(costs[1:]),
        lambda costs, launch, slowdown=1: (
            10 * costs[0] * launch + slowdown * sum(costs[1:3])
        ),
    ],
    ids=['launches alone', 'work alone', 'launches ten times'],
)
def test_a_model_that_leaves_something_out_predicts_fewer(
    chapter, monkeypatch, wrong, capsys
):
    monkeypatch.setattr(chapter, 'gpu_step_seconds', wrong)
    cell = {
        cell.id: cell
        for cell in code_cells(read_chapter(path_of('gpu_or_cpu')))
    }['predict']
    exec(compile(plain(cell.source), cell.id, 'exec'), vars(chapter))
    assert 'did not hold' in capsys.readouterr().out


def triples(data):
    """Yield each [median, least, most]."""
    for part in data.values():
        if isinstance(part, dict):
            yield from triples(part)
        elif isinstance(part, list) and len(part) == 3:
            yield part


@pytest.mark.parametrize('name', ['H100', 'H200'])
def test_each_median_lies_in_its_range(chapter, name):
    ranges = [*triples(getattr(chapter, name))]
    assert len(ranges) > 200
    assert all(0 < least <= middle <= most for middle, least, most in ranges)


@pytest.mark.parametrize('name', ['H100', 'H200'])
def test_the_ten_answers_follow_from_both_machines(chapter, name):
    data, median = getattr(chapter, name), chapter.median
    ratio, networks = 39.33 / 8 / 0.68, [*data['networks']]

    def took(network, size, kind, task='step'):
        return median(data, 'networks', networks[network], size, kind, task)

    def gain(*case):
        return took(*case, 'cpu') / took(*case, 'cuda')

    def product(n, kind):
        return median(data, 'products', n, kind)

    (_, cpu), (launch, _), (_, there), _ = chapter.prices(data)
    answers = [
        5_000 * took(0, 1, 'cpu', 'infer') < 0.001 * 24 * 3_600,
        1 < gain(0, 16) < ratio,
        gain(1, 64) > ratio,
        took(3, 1, 'cuda', 'infer') < 0.02 < took(3, 1, 'cpu', 'infer'),
        1 / 12 < cpu / there,
        product(16, 'cpu') < product(16, 'gpu') and 2 * 16**3 < launch * cpu,
        product(256, 'gpu')
        < product(256, 'cpu')
        < product(256, 'gpu_with_copies'),
        took(0, 64, 'cuda') < 2 * took(0, 1, 'cuda'),
        took(0, 256, 'cuda') < 1.5 * took(0, 256, 'cuda', 'step_bf16')
        and took(0, 1024, 'cuda') < 2 * took(0, 256, 'cuda'),
        16 * 1_000 < 256 / took(1, 256, 'cuda', 'infer'),
    ]
    assert answers == [True] * 10
