"""At a hang, the launcher names the rank that is out of step, and the line."""

import fcntl
import json
import os
import re
import subprocess
import sys

import pytest
from helpers import JOB_LIMITS, JOIN, wait_until

import d2lrun
from d2lrun import JobFailed, agent, report, waits
from d2lrun.records import Recorder
from d2lrun.roles import Role

pytestmark = pytest.mark.timeout(120)

LIMITS = JOB_LIMITS._replace(progress=4)
exit_hook = os.path.join(d2lrun.__path__[0], 'exit_hook/sitecustomize.py')
START = JOIN.replace('\ndef step', "\nstore.init('v', np.zeros(3))\ndef step")
LINES = START.count('\n')  # of the script before its own


def hang(job, script, **options):
    """Return what the message says of records, from a job that hangs."""
    with pytest.raises(JobFailed) as error:
        job(START + script, limits=LIMITS, **options)
    lines = str(error.value).splitlines()
    (first,) = [i for i, line in enumerate(lines) if 'out of step' in line]
    return lines[first : first + 4]


SKIPS = """
for i in range(6):
    step()
    npx.waitall()
    if i != 2 or store.rank != 1:
        store.push('v', np.ones(3))
        store.pull('v', out=np.zeros(3))
        npx.waitall()
"""
FEWER = """
for i in range(6 - (store.rank == 2)):
    step()
    npx.waitall()
"""
DATA = """
import queue
batches = queue.Queue()
for i in range(6):
    if i < 4 or store.rank != 0:
        batches.put(i)
    batches.get()
    step()
    npx.waitall()
"""
ORDER = """
for name in ('vw' if store.rank == 1 else 'wv'):
    store.push(name, np.ones(3))
    store.pull(name, out=np.zeros(3))
    npx.waitall()
"""


def assert_skips(lines):
    # Two of `init`, two pushes in each of two steps, one in the third.
    assert lines[0] == 'out of step: worker-1, rank 1'
    assert lines[2].startswith(
        'worker-1, rank 1: exchange 7, push w (3,) float32, called at '
    )
    for line in lines[1], lines[3]:
        assert f'push v (3,) float32, called at script.py:{LINES + 6};' in line


def assert_fewer(lines):
    assert lines[0] == 'out of step: worker-2, rank 2'
    assert lines[3].startswith(
        'worker-2, rank 2: nothing more, after exchange 4, pull w'
    )
    assert lines[3].endswith('now: ended')


def assert_data(lines):
    assert lines[0] == 'out of step: worker-0, rank 0'
    assert lines[1].startswith(
        'worker-0, rank 0: nothing more, after exchange 3, pull w'
    )
    assert lines[1].endswith(f'now: script.py:{LINES + 7}')


def assert_order(lines):
    assert lines[0] == 'out of step: worker-1, rank 1'
    assert lines[2].startswith(
        'worker-1, rank 1: exchange 2, push v (3,) float32, '
        f'called at script.py:{LINES + 3}; now: script.py:{LINES + 5}'
    )


def real(*case):
    """A case with MXNet itself; the chapter has another."""
    return pytest.param(*case, True, marks=pytest.mark.long)


@pytest.mark.parametrize(
    'script, is_right, mxnet',
    [
        (FEWER, assert_fewer, False),
        (DATA, assert_data, False),
        real(SKIPS, assert_skips),
        real(FEWER, assert_fewer),
        real(DATA, assert_data),
        real(ORDER, assert_order),
    ],
)
def test_the_rank_out_of_step_is_named_with_its_line(
    job, script, is_right, mxnet
):
    is_right(hang(job, script, workers=3, mxnet=mxnet))


def test_a_worker_that_dies_is_named_with_its_last_exchange(job):
    script = """
for i in range(6):
    if i == 3 and store.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    step()
"""
    with pytest.raises(JobFailed) as error:
        job(START + script, workers=3)
    lines = str(error.value).splitlines()
    assert lines[0].startswith('worker-1 (rank 1) on this machine: was killed')
    assert lines[1].startswith('its last: exchange 2, pull w')
    line = START.splitlines().index('    total = np.zeros(3)') + 2
    assert lines[1].endswith(
        f'called at script.py:{line}, from script.py:{LINES + 5}'
    )


HELPER = """
def add(key):
    store.push(key, np.ones(3))
    total = np.zeros(3)
    store.pull(key, out=total)
    npx.waitall()
for i in range(6):
    add('w')
    if i != 2 or store.rank != 1:
        add('v')
"""


@pytest.mark.long
def test_who_calls_a_helper_function_is_named_with_its_line(job):
    lines = hang(job, HELPER, workers=3, mxnet=True)
    assert lines[0].endswith('worker-1, rank 1')
    assert [line.partition('called at ')[2] for line in lines[1:]] == [
        f'script.py:{LINES + 3}, from script.py:{LINES + called}; '
        f'now: script.py:{LINES + 6}, from script.py:{LINES + called}'
        for called in (10, 8, 10)
    ]


def test_records_are_kept_where_the_user_wants_them(job, tmp_path):
    kept = tmp_path / 'a' / 'b'
    job(START + 'step()', workers=2, env=[f'D2LRUN_RECORDS={kept}'])
    for rank in range(2):
        lines = (kept / f'records-{rank}').read_bytes()
        records = report.parse_records(lines)
        assert [record.name for record in records] == [
            *('init w', 'init v', 'push w', 'pull w'),
        ]
        assert all(record.begun <= record.ended for record in records)


def test_a_job_that_waits_in_each_step_is_no_hang(job):
    """It hardly uses a processor, but its exchanges go on."""
    script = """
for _ in range(14):
    time.sleep(0.5 * (store.rank == 1))
    step()
print('the end')
"""
    lines = job(START + script, limits=LIMITS)
    assert sum('the end' in line for line in lines) == 2


def assert_an_exchange_is_seen(folder):
    notes = agent.NoteReader(folder)
    assert not notes.has_exchanged()
    (folder / 'records').write_text(f'{folder / "ring"}')
    recorder = Recorder(folder / 'ring', ())
    notes.has_exchanged()  # the file is new
    for _ in range(2):
        assert not notes.has_exchanged()
        record = recorder.begin('w', (), '')
        assert notes.has_exchanged()
        assert not notes.has_exchanged()
        recorder.end(record)
        assert notes.has_exchanged()


def test_an_agent_sees_each_exchange(tmp_path):
    assert_an_exchange_is_seen(tmp_path)


@pytest.mark.parametrize('answer', [True, False])
def test_a_reader_that_always_says_the_same_is_noticed(
    monkeypatch, tmp_path, answer
):
    monkeypatch.setattr(agent.NoteReader, 'has_exchanged', lambda self: answer)
    with pytest.raises(AssertionError):
        assert_an_exchange_is_seen(tmp_path)


def test_a_worker_in_an_endless_loop_is_told_with_its_line(job):
    script = """
step()
if store.rank == 1:
    while True:
        pass
step()
"""
    told = []
    with pytest.raises(JobFailed) as error:
        job(
            START + script,
            on_line=told.append,
            limits=LIMITS._replace(progress=3, total=12),
        )
    assert 'worker-1 (rank 1)' in str(error.value).partition(': ')[0]
    (line,) = [line for line in told if 'kept the other workers' in line]
    assert line.startswith('launch: worker-1 (rank 1) on this machine has')
    assert re.search(rf'at script\.py:({LINES + 4}|{LINES + 5})\. ', line)


@pytest.mark.parametrize('slow', [0, 1])
def test_a_slow_worker_is_the_one_that_waits_least(job, tmp_path, slow):
    """It sleeps 0.5 s before each of three exchanges."""
    script = f"""
import time
for _ in range(3):
    time.sleep(0.5 * (store.rank == {slow}))
    step()
    npx.waitall()
"""
    job(START + script, workers=2, env=[f'D2LRUN_RECORDS={tmp_path}'])
    output = subprocess.check_output(
        [sys.executable, '-m', 'd2lrun', 'waits', tmp_path], text=True
    )
    assert [line[:6] for line in output.splitlines()[:2]] == [
        f'rank {1 - slow}',
        f'rank {slow}',
    ]


def test_records_of_one_worker_tell_nothing_of_waiting(tmp_path, capsys):
    assert waits.main([str(tmp_path)]) == 1
    assert 'records of 0 workers' in capsys.readouterr().err


@pytest.mark.parametrize(
    'content, message',
    [
        (b'["x", 1, 2, 3, 4, 5, 6]\n', 'are of another program or version'),
        (None, 'Is a directory'),
    ],
)
def test_records_that_cannot_be_read_are_a_line(
    tmp_path, capsys, content, message
):
    for path in tmp_path / 'records-0', tmp_path / 'records-1':
        path.mkdir() if content is None else path.write_bytes(content)
    assert waits.main([str(tmp_path)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith('error: ') and message in line


def test_without_a_place_for_records_the_job_goes_on(job, tmp_path):
    (tmp_path / 'file').write_text('')
    lines = job(
        START + 'print(step())',
        env=[f'D2LRUN_RECORDS={tmp_path / "file"}'],
    )
    assert sum('no records of exchanges' in line for line in lines) == 2
    assert sum('[2.0, 2.0, 2.0]' in line for line in lines) == 2


STEPS = (
    START
    + """
for step_number in range(9):
    total = step()
print('the end', total)
"""
)
FULL = """import errno, os
def posix_fallocate(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
os.posix_fallocate = posix_fallocate
"""


def command_of(script, folder):
    """Return a command that runs a script as a job of two workers."""
    return [
        *(sys.executable, '-m', 'd2lrun', '--workers', '2'),
        *(['--env', f'D2LRUN_RECORDS={folder}'] if folder else []),
        *(sys.executable, script),
    ]


@pytest.fixture
def variables(stand_in_path):
    """Return variables with which roles import the stand-in."""
    path = [os.path.dirname(d2lrun.__path__[0]), stand_in_path]
    return {**os.environ, 'PYTHONPATH': os.pathsep.join(path)}


def assert_trains_without_records(command, variables, num_lines):
    """On a full disk, with a line that says so."""
    ended = subprocess.run(
        command, env=variables, text=True, capture_output=True, timeout=100
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count('the end [2.0, 2.0, 2.0]') == 2
    told = [
        line
        for line in ended.stderr.splitlines()
        if 'no records of exchanges' in line
    ]
    assert [line.count('No space left on device') for line in told] == [
        num_lines
    ] * 2


@pytest.mark.parametrize('where', ['kept', ''])
def test_a_disk_without_room_takes_the_records_only(
    tmp_path, variables, where
):
    (tmp_path / 'script.py').write_text(STEPS)
    (tmp_path / 'sitecustomize.py').write_text(FULL)
    variables['PYTHONPATH'] += f'{os.pathsep}{tmp_path}'
    command = command_of(tmp_path / 'script.py', where and tmp_path / where)
    assert_trains_without_records(command, variables, 2 if where else 1)
    assert not where or not any((tmp_path / where).iterdir())


# Root may mount, and without root's rights a user may in a namespace.
IN_FULL_TMPFS = """
mount -t tmpfs -o size=128k tmpfs "$1" || exit 77
head -c 81920 /dev/zero > "$1/fill"  # less room is left than a ring needs
cd "$1" && shift && exec "$@"
"""


@pytest.mark.skipif(sys.platform != 'linux', reason='needs tmpfs')
@pytest.mark.parametrize('where', ['kept', ''])
def test_a_full_disk_takes_the_records_only(tmp_path, variables, where):
    full = tmp_path / 'full'
    full.mkdir()
    mounted = ['unshare', '--user', '--map-root-user', '--mount', 'sh', '-c']
    mounted += [IN_FULL_TMPFS, 'sh', str(full)]
    if subprocess.run([*mounted, 'true']).returncode:
        pytest.skip('no rights to mount: the test above stands in')
    (tmp_path / 'script.py').write_text(STEPS)
    command = command_of(tmp_path / 'script.py', where and full / where)
    if not where:
        variables['TMPDIR'] = str(full)
    assert_trains_without_records([*mounted, *command], variables, 1)


def test_a_folder_of_records_that_a_job_uses_is_refused(tmp_path, variables):
    """The second may not shorten the files that the first has mapped."""
    kept, go = tmp_path / 'kept', tmp_path / 'go'
    (tmp_path / 'second.py').write_text(STEPS)
    (tmp_path / 'first.py').write_text(
        f"""{START}
total = step()
while store.rank == 0 and not os.path.exists({str(go)!r}):
    time.sleep(0.1)
for step_number in range(9):
    total = step()
print('the end', total)
"""
    )
    first = subprocess.Popen(
        command_of(tmp_path / 'first.py', kept),
        env=variables,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        wait_until(lambda: len([*kept.glob('records-*')]) == 2, 60)
        wait_until(
            lambda: all(
                len(report.parse_records(path.read_bytes())) > 3
                for path in kept.iterdir()
            ),
            60,
        )
        second = subprocess.run(
            command_of(tmp_path / 'second.py', kept),
            env=variables,
            text=True,
            capture_output=True,
            timeout=60,
        )
    finally:
        go.write_text('')
        output, errors = first.communicate(timeout=60)
    assert first.returncode == 0, errors
    assert second.returncode == 1, second.stderr
    assert 'kept has the records of another job' in second.stderr
    assert 'give each job its own D2LRUN_RECORDS' in second.stderr
    assert 'no records' not in errors
    for path in kept.iterdir():  # all are the first job's
        # two of `init`, ten of `push`, and the last `pull`
        assert len(report.parse_records(path.read_bytes())) == 2 + 10 + 1


def test_logs_and_records_may_share_a_folder(job, tmp_path):
    job(START + 'step()', env=[f'D2LRUN_RECORDS={tmp_path / "logs"}'])
    assert len([*(tmp_path / 'logs').glob('records-*')]) == 2


def test_a_file_of_another_host_is_not_written(job, tmp_path):
    """Whose job took the same folder there, so that only files are locked."""
    with open(tmp_path / 'records-1', 'wb') as taken:
        fcntl.flock(taken, fcntl.LOCK_EX)
        lines = job(START + 'step()', env=[f'D2LRUN_RECORDS={tmp_path}'])
    assert (tmp_path / 'records-1').read_bytes() == b''
    assert (tmp_path / 'records-0').read_bytes()
    assert sum('another job records there' in line for line in lines) == 1


def test_a_file_of_an_earlier_job_is_written_again(job, tmp_path):
    for count in (5, 1):
        script = f'for _ in range({count}): step()'
        job(START + script, workers=2, env=[f'D2LRUN_RECORDS={tmp_path}'])
    for path in tmp_path.glob('records-*'):
        assert len(report.parse_records(path.read_bytes())) == 2 + 2


@pytest.mark.parametrize(
    'stack, place',
    [
        (
            'Thread 0x1 (most recent call first):\n'
            '  File "/usr/lib/python3.11/queue.py", line 171 in get\n'
            '  File "/home/a/train.py", line 14 in load\n'
            '  File "/home/a/train.py", line 20 in <module>\n',
            'train.py:14, from train.py:20',
        ),
        (
            'Current thread 0x1 (most recent call first):\n'
            '  File "/a/.venv/lib/python3.8/site-packages/mxnet/x.py", line 1'
            ' in wait\n  File "/a/d2lmulti/training.py", line 3 in step\n'
            '  File "/b/my.py", line 5 in <module>\n',
            'my.py:5',
        ),
        *(
            (
                'Current thread 0x1 (most recent call first):\n'
                '  File "/a/d2lmulti/cluster/cluster.py", line 3 in step\n'
                f'  File "{path}", line 5 in <module>\n',
                f'{path.rpartition("/")[2]}:5',
            )
            for path in (  # whose folders only look like a package's
                '/a/my.py',
                '/a/d2lmulti.py',
                '/a/d2lmulti-work/my.py',
                '/home/d2lmulti/my.py',
                '/home/d2lrun/mxnet/my.py',
                '/home/lib/python3/site-packages/my.py',
            )
        ),
        (
            'Current thread 0x1 (most recent call first):\n'
            + ''.join(f'  File "/b/{i}.py", line {i} in f\n' for i in range(5))
            + '  File "<frozen runpy>", line 88 in _run_code\n',
            '0.py:0, from 1.py:1, from 2.py:2',
        ),
        ('', 'unknown'),
    ],
)
def test_where_a_worker_is(stack, place):
    role = Role('worker', 0, None, [], {})
    role.stacks = [stack]
    role.library = [
        *('/usr/lib/python3.11/', '/a/d2lmulti/'),
        '/a/.venv/lib/python3.8/site-packages/',
    ]
    assert report.place_of(role) == place


@pytest.mark.parametrize('name', ['zo\xeb', '\u68af', '\U0001f600', 'a b'])
def test_folders_are_noted_as_stacks_name_them(tmp_path, name):
    """Which is in ASCII."""
    folder = tmp_path / name / 'mxnet'
    (folder / 'kvstore').mkdir(parents=True)
    (folder / '__init__.py').write_text('from .kvstore import kvstore')
    (folder / 'kvstore' / '__init__.py').write_text('')
    (folder / 'kvstore' / 'kvstore.py').write_text(
        'import faulthandler\n'
        'class KVStore:\n'
        '    __del__ = None\n'
        "faulthandler.dump_traceback(open('stack', 'w'), False)\n"
    )
    path = [os.path.dirname(exit_hook), str(folder.parent)]
    subprocess.run(
        [sys.executable, '-c', 'import mxnet'],
        check=True,
        cwd=tmp_path,
        env={
            **os.environ,
            'PYTHONPATH': os.pathsep.join(path),
            'DMLC_ROLE': 'worker',
            'D2LMULTI_NOTES': str(tmp_path),
        },
    )
    role = Role('worker', 0, None, [], {})
    (noted,) = tmp_path.glob('folders-*')
    vars(role).update(json.loads(noted.read_text()))
    role.stacks = [(tmp_path / 'stack').read_text()]
    assert report.waits_in_mxnet(role)
    assert report.place_of(role) == 'unknown'


def test_where_a_worker_that_ended_is():
    role = Role('worker', 0, None, [], {})
    role.status, role.ending_since = -9, 1.0
    assert 'SIGKILL' in report.place_of(role)
    role.status = 0
    assert report.place_of(role) == 'ended'


def test_invalid_records_of_a_stranger_do_no_harm():
    roles = [Role('worker', i, None, [], {}) for i in range(3)]
    for role, text in zip(roles, ('[1, 2]\n', 'null', '["a"]' * 3)):
        role.records = text
    assert report.compare_exchanges(roles)[0].startswith('all have called')
