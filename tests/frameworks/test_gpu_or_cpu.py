"""The file that measures a GPU, without one: the CPU stands in for it."""

import json
import pathlib
import subprocess
import sys

import pytest
import torch

from tools.speed import gpu_or_cpu, gpu_page

pytestmark = pytest.mark.ci

RESULTS = pathlib.Path(__file__).parents[2] / 'tools/speed/results'
H100 = json.loads((RESULTS / 'h100.json').read_text())
WITHOUT_GPU = pytest.mark.skipif(
    torch.cuda.is_available(), reason='this machine has a GPU'
)


@pytest.fixture
def stand_in(monkeypatch):
    """Return the module; it takes the CPU for the GPU, and few sizes."""
    (name, make, _, data, _), *_ = gpu_or_cpu.NETWORKS
    for key, value in {
        'GPU': gpu_or_cpu.CPU,
        'BYTES': (4,),
        'SIZES': (16,),
        'NETWORKS': [(name, make, (1,), data, 1)],
        'MEASURE_UNTIL': 3600.0,  # of a machine that is busy with tests
    }.items():
        monkeypatch.setattr(gpu_or_cpu, key, value)
    monkeypatch.setattr(gpu_or_cpu, 'BEGAN', gpu_or_cpu.time.monotonic())
    return gpu_or_cpu


@WITHOUT_GPU
def test_without_a_gpu_it_ends_with_a_sentence(tmp_path):
    result = subprocess.run(
        [sys.executable, gpu_or_cpu.__file__, str(tmp_path / 'out.json')],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=300,
    )
    assert result.returncode == 1
    assert result.stderr.startswith('no GPU that PyTorch can use')
    assert result.stderr.count('\n') == 1
    assert result.stdout == ''
    assert not [*tmp_path.iterdir()]


@WITHOUT_GPU
def test_what_fails_is_a_line_and_the_rest_goes_on(
    stand_in, tmp_path, monkeypatch
):
    names = 'call_and_done', 'copies', 'products', 'networks', 'power'
    own = [getattr(stand_in, name) for name in names]
    monkeypatch.setattr(stand_in, 'SECTIONS', own)
    stand_in.main(tmp_path / 'out.json')
    found = json.loads((tmp_path / 'out.json').read_text())
    assert [name for name in found if name in names] == [*names]
    failed = {name for name in names if isinstance(found[name], str)}
    assert failed == {'call_and_done', 'copies', 'power'}
    assert all('\n' not in found[name] for name in failed)
    least = found['networks']['lenet']['1']['cuda']['step_bf16'][1]
    assert least > 0
    page = gpu_page.page(found, H100)
    assert all(found[name] in page for name in failed)


def test_a_machine_without_memory_is_told_of_in_one_line(stand_in):
    def work():
        raise torch.cuda.OutOfMemoryError('\n  no memory\nand so on')

    assert stand_in.seconds(work) == 'OutOfMemoryError: no memory'


def test_when_the_time_is_up_nothing_more_is_measured(stand_in, monkeypatch):
    monkeypatch.setattr(stand_in, 'MEASURE_UNTIL', 0)
    calls = []
    assert 'no time' in stand_in.seconds(lambda: calls.append(1))
    assert not calls


def test_slow_work_is_measured_once(stand_in):
    calls = []

    def work():
        calls.append(1)
        stand_in.time.sleep(0.01)

    middle, least, most = stand_in.seconds(work, limit=0.001)
    assert (len(calls), middle == least == most) == (2, True)


@pytest.mark.parametrize('row', gpu_or_cpu.NETWORKS, ids=lambda row: row[0])
def test_the_networks_have_as_many_parameters_as_those_measured(row):
    name, make, sizes, *_ = row
    with torch.device('meta'):
        params = sum(p.numel() for p in make().parameters())
    assert params == H100['networks'][name]['params']
    assert [*map(str, sizes)] == [*H100['networks'][name]][1:]


def test_resnet_halves_the_images_four_times_before_the_mean():
    net = gpu_or_cpu.resnet18()
    *before, _, _, _ = net
    X = torch.zeros(2, 3, 64, 64)
    for layer in before:
        X = layer(X)
    assert X.shape == (2, 512, 2, 2)


@WITHOUT_GPU
def test_two_shards_and_two_processes_are_rounding_and_a_mean_is_not(
    stand_in,
):
    rows = stand_in.same_step()
    for name in ('float32', 'tf32'):  # a CPU has no TF32
        row = rows[name]
        for way in ('one', 'two_shards', 'two_processes_gloo'):
            assert row[way] < 4, row
        assert row['mean_of_means'] > 100
        assert 'a GPU for each process' in row['two_processes_nccl']


def test_a_process_that_fails_is_a_line(stand_in):
    net = stand_in.lenet()
    said = stand_in.attempt(
        lambda: stand_in.in_two_processes('none', net, [], False)
    )
    assert said.startswith('RuntimeError: ') and '\n' not in said


def test_samestep_finds_the_mean_of_means_and_nothing_else(stand_in):
    found = stand_in.samestep_cases()
    assert found['shards'] == 'equal up to rounding'
    assert found['bfloat16'] == 'equal up to rounding'
    for times in (61 / 62, 61 / 60):  # how much each example counts
        assert f'{times:.3g} times' in found['mean_of_means']


def test_the_counts_of_lenet_follow_from_its_layers():
    work = json.loads((RESULTS / 'network_work.json').read_text())['lenet']
    first, second = 26**2 * 20 * 9, 9**2 * 50 * 500
    last = 800 * 128 + 128 * 10
    per_image = 2 * (first + second + last)
    assert work['infer']['operations_per_example'] == per_image
    # For the gradients twice as much, but of the images none is needed.
    assert work['step']['operations_per_example'] == 3 * per_image - 2 * first
    arrays = 28**2, 2 * 20 * 26**2, 2 * 20 * 13**2, 2 * 50 * 9**2
    assert work['infer']['bytes_per_example'] > 4 * sum(arrays)
