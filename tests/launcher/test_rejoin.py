"""A worker that ends badly starts again alone, and the others go on."""

import time

import pytest
from helpers import JOB_LIMITS, JOIN

from d2lrun import JobFailed
from d2lrun import job as module

pytestmark = pytest.mark.timeout(90)

MEET = """
import os, pathlib, signal, sys, time
rank, life = os.environ['RANK'], int(os.environ.get('D2LRUN_REJOINS', 0))
print('life', life, 'pid', os.getpid(), flush=True)
if rank == '1' and life < DEATHS:
    END
pathlib.Path(f'there-{rank}').touch()
while len([*pathlib.Path().glob('there-*')]) < 3:
    time.sleep(0.02)
print('met in life', life, flush=True)
"""
KILLED = 'os.kill(os.getpid(), signal.SIGKILL)'


def script(deaths, end=KILLED):
    return MEET.replace('DEATHS', str(deaths)).replace('END', end)


def assert_rejoins(job, deaths, end=KILLED, **options):
    lines = job(script(deaths, end), workers=3, rejoins=deaths, **options)
    for worker, life in ((0, 0), (1, deaths), (2, 0)):
        assert f'[worker-{worker}] met in life {life}' in lines
        begins = [ln for ln in lines if ln.startswith(f'[worker-{worker}] li')]
        assert len(begins) == 1 + life
    again = [line for line in lines if 'starting it again' in line]
    assert len(again) == deaths
    assert all('worker-1 on this machine' in line for line in again)


@pytest.mark.parametrize('end', [KILLED, 'sys.exit(3)', '1 / 0'])
@pytest.mark.parametrize('deaths', [1, 3])
def test_a_worker_starts_again_and_the_others_go_on(job, deaths, end):
    assert_rejoins(job, deaths, end)


def test_a_worker_that_dies_too_often_ends_the_job(job):
    with pytest.raises(JobFailed, match='worker-1 .* was killed by SIGKILL'):
        job(script(9), workers=3, rejoins=2)


def test_without_rejoins_the_first_death_ends_the_job(job):
    with pytest.raises(JobFailed, match='worker-1 .* was killed by SIGKILL'):
        job(script(1), workers=3)


def test_a_worker_with_a_store_does_not_start_again(job):
    lines = []
    with pytest.raises(JobFailed, match='worker-1 .* was killed by SIGKILL'):
        job(
            JOIN + 'step()\nif store.rank == 1:\n    '
            'os.kill(os.getpid(), signal.SIGKILL)\nstep()',
            workers=2,
            rejoins=5,
            on_line=lines.append,
            limits=JOB_LIMITS._replace(total=30),  # if it starts again
        )
    assert not any('starting it again' in line for line in lines)


def test_after_a_rejoin_the_restarts_are_left(job, tmp_path):
    """The first attempt loses its only rejoin; the second has it anew."""
    lines = job(
        'import os, pathlib\n'
        'count = len([*pathlib.Path().glob("death-*")])\n'
        'if os.environ["RANK"] == "0" and count < 3:\n'
        '    pathlib.Path(f"death-{count}").touch()\n'
        '    os._exit(7)\n',
        workers=2,
        rejoins=1,
        restarts=1,
    )
    assert sum('starting it again' in line for line in lines) == 2
    assert sum('restarting (1 of 1)' in line for line in lines) == 1


def test_a_job_with_a_rejoin_keeps_its_limits(job):
    start = time.monotonic()
    with pytest.raises(JobFailed, match='not finished after 4 seconds'):
        job(
            script(1).replace('< 3', '< 4'),
            workers=3,
            rejoins=1,
            limits=JOB_LIMITS._replace(total=4),
        )
    assert time.monotonic() - start < 60


@pytest.mark.parametrize('rejoins', [-1, 1.5, None, '1'])
def test_an_invalid_number_of_rejoins_is_refused(job, rejoins):
    with pytest.raises((TypeError, ValueError), match='rejoins'):
        job('', rejoins=rejoins)


def test_a_worker_with_a_store_that_starts_again_is_noticed(job, monkeypatch):
    monkeypatch.setattr(module, 'can_rejoin', lambda *arguments: True)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        test_a_worker_with_a_store_does_not_start_again(job)
