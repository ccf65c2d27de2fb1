"""Choosing devices where there are GPUs, which are made up here."""

import pathlib
import sys
import warnings

import mxnet as mx
import pytest

import d2lmulti
from d2lmulti.prepare import gpus as module
from tools.notebooks import ROOT
from tools.speed import gpu_report

CPUS = [mx.cpu(0), mx.cpu(1)]


@pytest.fixture(autouse=True)
def forget():
    """Let each test try its GPUs, and hear about them, for the first time."""
    module.gpu_fault.cache_clear()
    module.warn_once.cache_clear()
    yield
    module.gpu_fault.cache_clear()


@pytest.fixture
def gpus(monkeypatch):
    """A function that makes up GPUs: what MXNet says when each is tried."""

    def make_up(*answers):
        monkeypatch.setattr(
            module.mx.runtime.Features, 'is_enabled', lambda self, name: True
        )
        monkeypatch.setattr(
            module.mx.context, 'num_gpus', lambda: len(answers)
        )
        tried = []

        def ones(shape, ctx):
            tried.append(ctx.device_id)
            answer = answers[ctx.device_id]
            if isinstance(answer, str):
                raise mx.MXNetError(answer)
            return mx.np.full(shape, answer, dtype='float32')

        monkeypatch.setattr(module.np, 'ones', ones)
        return tried

    return make_up


def fallback(match):
    """Expect CPU devices, and one warning that tells why."""
    with pytest.warns(UserWarning, match=match + '.*using CPU dev') as said:
        assert d2lmulti.try_devices(2) == CPUS
    assert len(said) == 1 and '\n' not in str(said[0].message)


def test_gpus_that_work_are_preferred_and_never_repeated(gpus):
    gpus(1, 1)
    assert d2lmulti.try_devices(2) == [mx.gpu(0), mx.gpu(1)]
    with pytest.raises(ValueError, match='2 GPU.* at most 2.*DEVICES=cpu'):
        d2lmulti.try_devices(3)


def test_one_gpu_where_two_are_asked_for(gpus):
    gpus(1)
    assert d2lmulti.try_devices(1) == [mx.gpu(0)]
    with pytest.raises(ValueError, match='1 GPU.* at most 1.*DEVICES=cpu'):
        d2lmulti.try_devices(2)  # not one against one


def test_a_gpu_without_machine_code_is_left_out(gpus):
    gpus('Check failed: no kernel image is available for execution', 1)
    assert d2lmulti.try_devices(1) == [mx.gpu(1)]
    with pytest.raises(ValueError, match=r'gpu\(0\): MXNet has no machine'):
        d2lmulti.try_devices(2)


@pytest.mark.parametrize(
    'answer, fault',
    [
        ('cuda: no kernel image is available', 'no machine code'),
        ('cudaMalloc failed: out of memory', 'memory is taken'),
        ('CUDA driver version is insufficient', 'driver is too old'),
        ('Traceback\nsomething else', 'something else'),
        (2, 'comes out wrong'),
    ],
)
def test_why_cpu_devices_are_used_is_said_in_a_line(answer, fault, gpus):
    gpus(answer, answer)
    fallback(fault)


def test_no_gpu_and_no_driver_that_runs(gpus):
    gpus()
    fallback('no NVIDIA GPU')


def test_a_driver_that_cannot_even_count(gpus, monkeypatch):
    def fail():
        raise mx.MXNetError('CUDA driver version is insufficient for CUDA')

    gpus()
    monkeypatch.setattr(module.mx.context, 'num_gpus', fail)
    fallback('driver is too old')


def test_a_gpu_is_tried_once_and_the_reason_said_once(gpus):
    tried = gpus('out of memory')
    fallback('memory is taken')
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        assert d2lmulti.try_devices(2) == CPUS
    assert tried == [0]


def test_the_cpu_build_has_nothing_to_say(monkeypatch):
    monkeypatch.setattr(
        module.mx.runtime.Features, 'is_enabled', lambda self, name: False
    )
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        assert d2lmulti.try_devices(2) == CPUS
    monkeypatch.setenv('D2LMULTI_DEVICES', 'gpu')
    with pytest.raises(ValueError, match='CPU build'):
        d2lmulti.try_devices(1)


def test_the_environment_decides_by_hand(gpus, monkeypatch):
    gpus(1, 1)
    monkeypatch.setenv('D2LMULTI_DEVICES', 'cpu')
    assert d2lmulti.try_devices(3) == [mx.cpu(i) for i in range(3)]
    monkeypatch.setenv('D2LMULTI_DEVICES', 'gpu')
    assert d2lmulti.try_devices(1) == [mx.gpu(0)]
    monkeypatch.setenv('D2LMULTI_DEVICES', 'tpu')
    with pytest.raises(ValueError, match="'tpu': cpu or gpu"):
        d2lmulti.try_devices(1)


def test_only_gpus_will_do_and_none_works(gpus, monkeypatch):
    gpus('out of memory')
    monkeypatch.setenv('D2LMULTI_DEVICES', 'gpu')
    with pytest.raises(ValueError, match=r'gpu\(0\): its memory is taken'):
        d2lmulti.try_devices(1)


def test_the_report_has_every_chapter_that_its_environment_can_run():
    command, _ = gpu_report.PARTS['chapters']
    names = {pathlib.Path(part) for part in command if '.ipynb' in part}
    every = {path.relative_to(ROOT) for path in ROOT.glob('notebooks/*.ipynb')}
    others = {path.stem.split('_')[1] for path in every - names}
    assert names < every
    assert others == {'pytorch'}


def test_the_report_is_written_although_a_part_fails(
    monkeypatch, tmp_path, capsys
):
    monkeypatch.setenv('PYTHONPATH', str(ROOT / 'tests/notebooks/two_gpus'))
    monkeypatch.setenv('D2LMULTI_DEVICES', 'gpu')
    monkeypatch.setattr(sys, 'argv', ['gpu_report'])
    monkeypatch.setattr(gpu_report, 'OUT', tmp_path / 'report.md')
    parts = {
        'prints': (['-c', 'print("seen", 6 * 7)'], 60),
        'missing': (['no-such-program'], 60),
        'waits': (['-c', 'import time; time.sleep(60)'], 0.1),
        'fails': (['-c', '1 / 0'], 60),
    }
    monkeypatch.setattr(gpu_report, 'PARTS', parts)
    assert gpu_report.main() == 1
    text = (tmp_path / 'report.md').read_text()
    for line in (
        '| prints | passed |',
        '| missing | could not be started |',
        '| waits | ended after 0.1 s |',
        '| fails | failed with status 1 |',
        'seen 42',
        'ZeroDivisionError',
    ):
        assert line in text
    assert capsys.readouterr().out.endswith('read it, and send it in\n')
