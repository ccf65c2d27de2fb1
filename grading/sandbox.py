"""Run answers in a separate process, with limits, and away from everything.

Limits and namespaces protect from accidents: endless loops, full memory,
deleted files, a network. They do not stop an attack: for hostile work, grade
in a container or on a separate machine.
"""

import functools
import json
import os
import pathlib
import secrets
import selectors
import subprocess
import sys
import sysconfig
import tempfile
import time
import typing

import psutil

HERE = pathlib.Path(__file__).parent
# Of the runner: with separate builtins, and a name that no file has.
START = """\
import builtins, json, sys
job = json.load(sys.stdin)
names = {'__builtins__': dict(vars(builtins)), '__name__': 'runner'}
exec(compile(job.pop('runner'), '<guard>', 'exec'), names)
names['main'](job)
"""
MAX_PROCESSES = 64  # of one answer
MAX_LINE = 100_000  # bytes of a result
START_SECONDS = 120  # for the imports and the book's own cells
# In namespaces that have no network, and where other processes are not seen:
# hide folders, make every mount read-only but a small folder, and run there.
# A remount must keep the flags that the mount has.
ISOLATE = [
    'unshare',
    '--user',
    '--map-root-user',
    '--net',
    '--mount',
    '--pid',
    '--fork',
    '--kill-child',
    '--mount-proc',
    'sh',
    '-c',
    """set -e
work=$1
shift
while [ "$1" != -- ]; do
    mount -t tmpfs -o size=64k none "$1"
    shift
done
shift
[ ! -d /dev/shm ] || mount -t tmpfs -o size=64m none /dev/shm
while read -r _ at _ flags _; do
    at=$(printf '%b' "$at")
    keep=$(printf %s "$flags" | tr , '\n' |
        grep -xE 'nosuid|nodev|noexec|noatime|nodiratime|relatime' | tr '\n' ,)
    case $at in
    /dev/shm) ;;
    /proc/*) mount -o "remount,bind,ro,$keep" "$at" 2>/dev/null || : ;;
    *) mount -o "remount,bind,ro,$keep" "$at" || [ ! -w "$at" ] ;;
    esac
done < /proc/self/mounts
mount -t tmpfs -o size=200m none "$work"
cd "$work"
exec "$@"
""",
    'isolate',
]


@functools.lru_cache(maxsize=None)
def can_isolate():
    """Return whether this system lets us make such namespaces."""
    with tempfile.TemporaryDirectory() as work:
        try:
            return (
                subprocess.run(
                    [*ISOLATE, work, '--', 'true'],
                    stderr=subprocess.DEVNULL,
                    timeout=10,
                ).returncode
                == 0
            )
        except (OSError, subprocess.TimeoutExpired):
            return False


class Outcome(typing.NamedTuple):
    """A verdict (see `VERDICTS`), what the check says, and the seconds."""

    verdict: str
    message: str
    seconds: float


# Counted apart everywhere.
VERDICTS = (
    'passed',
    'wrong',  # the check says so
    'not answered',
    'stopped',  # at a limit
    'tampered',  # with what judges it
    'damaged',  # a file
)


def run_answers(before, answers, seconds, megabytes, hidden_folders=()):
    """Return {id: `Outcome`} for all answers, each in a separate process.

    `before`: sources that run first. `answers`: dictionaries with id,
    function, sources and checks. Each may take `seconds`, and its processes
    together `megabytes`.
    """
    results = {}
    for answer in answers:
        job = {
            **answer,
            'before': before,
            'seconds': seconds,
            'secret': secrets.token_hex(16),
            'runner': (HERE / 'runner.py').read_text(),
            'guard': (HERE / 'guard.py').read_text(),
            'isolated': can_isolate(),
            'hidden': [f'{folder}/' for folder in hidden_folders],
            'trusted': trusted_folders(),
        }
        start = time.monotonic()
        verdict, message = run_job(job, megabytes, hidden_folders)
        taken = round(time.monotonic() - start, 1)
        results[answer['id']] = Outcome(verdict, message, taken)
    return results


def trusted_folders():
    """Return the folders of Python, its packages and the book."""
    paths = sysconfig.get_paths()
    names = ('stdlib', 'platstdlib', 'purelib', 'platlib')
    found = [paths[name] for name in names] + [
        str(HERE.parent / name) for name in ('d2lmulti', 'd2lrun')
    ]
    return sorted(
        {f'{os.path.realpath(p)}/' for p in found}
        | {f'{path}/' for path in found}
    )


def run_job(job, megabytes, hidden_folders):
    """Return (verdict, message) of one answer."""
    with tempfile.TemporaryDirectory() as work:
        command = [sys.executable, '-c', START]
        if job['isolated']:
            folders = [str(f) for f in hidden_folders if f.is_dir()]
            command = [*ISOLATE, work, *folders, '--', *command]
        process = subprocess.Popen(
            command,
            cwd=work,
            env=environment(work),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            try:
                process.stdin.write(json.dumps(job).encode())
                process.stdin.close()
            except BrokenPipeError:
                pass  # it says below how it ended
            return read_result(process, job, megabytes)
        finally:
            end(process)


def environment(work):
    """Return the variables of a process that may know nothing of us."""
    kept = ('PATH', 'LANG', 'LC_ALL', 'LD_LIBRARY_PATH', 'D2LMULTI_DEVICES')
    return {
        **{name: os.environ[name] for name in kept if name in os.environ},
        'HOME': work,
        'TMPDIR': work,
        'MPLBACKEND': 'agg',
        'MPLCONFIGDIR': work,
    }


def read_result(process, job, megabytes):
    """Return (verdict, message) that a process wrote, or why there is none.

    It first writes a line when the book's own cells have run.
    """
    text, started = b'', False
    deadline = time.monotonic() + START_SECONDS
    waiting = selectors.DefaultSelector()
    waiting.register(process.stdout, selectors.EVENT_READ)
    while True:
        if time.monotonic() > deadline:
            limit = job['seconds'] if started else START_SECONDS
            return 'stopped', (
                f'it took longer than {limit} s: look for a loop that does '
                'not end'
            )
        problem = too_much(process.pid, megabytes)
        if problem:
            return 'stopped', problem
        if not waiting.select(0.1):
            continue
        piece = os.read(process.stdout.fileno(), 65536)
        if not piece:
            return 'stopped', 'it ended the process before its check'
        *lines, text = (text + piece).split(b'\n')
        if len(text) > MAX_LINE:
            return 'tampered', 'it wrote where only the grader writes'
        for verdict, message in parse(lines, job['secret']):
            if verdict:
                return verdict, message
            if message:
                raise RuntimeError(f"the book's own cells fail: {message}")
            started, deadline = True, time.monotonic() + job['seconds']


def parse(lines, secret):
    """Yield (verdict, message) of the lines that the runner wrote."""
    for line in lines:
        try:
            key, *result = json.loads(line)
        except (ValueError, TypeError, RecursionError):
            continue
        if key == secret:
            yield result


def too_much(pid, megabytes):
    """Return which limit a process and its children exceed, or ''."""
    try:
        parent = psutil.Process(pid)
        members = [parent, *parent.children(recursive=True)]
    except psutil.Error:
        return ''
    if len(members) > MAX_PROCESSES:
        return f'it started more than {MAX_PROCESSES} processes'
    if sum(memory_of(member) for member in members) <= megabytes:
        return ''
    # Pages that several share count once.
    if sum(memory_of(member, 'pss') for member in members) <= megabytes:
        return ''
    return (
        f'it took more than {megabytes} MB of memory: use less, or delete '
        'what is not needed'
    )


def memory_of(process, kind='rss'):
    """Return the megabytes of a process, as `psutil` names them."""
    try:
        if kind == 'rss':
            return process.memory_info().rss / 2**20
        return getattr(process.memory_full_info(), kind, 0) / 2**20
    except psutil.AccessDenied:  # not to all of it: what is known
        return process.memory_info().rss / 2**20
    except psutil.Error:
        return 0


def end(process):
    """End a process and all that it has started."""
    try:
        children = psutil.Process(process.pid).children(recursive=True)
    except psutil.Error:
        children = []
    for member in [process, *children]:
        try:
            member.kill()
        except (ProcessLookupError, psutil.Error):
            continue
    process.stdout.close()
    process.wait(10)
