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
import tempfile
import time

import psutil

RUNNER = pathlib.Path(__file__).with_name('runner.py')
MAX_LINE = 100_000  # bytes of a result
START_SECONDS = 120  # for the imports and the book's own cells
# In namespaces that have no network, and where other processes are not seen:
# hide folders, make everything read-only but a small folder, and run there.
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
mount -t tmpfs -o size=200m none "$work"
mount -o remount,bind,ro /
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


def run_answers(before, answers, seconds, megabytes, hidden_folders=()):
    """Return {id: (message, seconds)} for all answers; '' for a right one.

    `before`: sources that run first. `answers`: dictionaries with id,
    function, sources, checks, and the names that the checks use. Each may
    take `seconds`; all processes together `megabytes`. An answer that ends
    or stops the process fails; those after it run in a new one.
    """
    results, rest = {}, list(answers)
    while rest:
        job = {
            'before': before,
            'answers': rest,
            'seconds': seconds,
            'secret': secrets.token_hex(8),
        }
        found, problem = run_job(job, megabytes, hidden_folders)
        results.update(found)
        rest = [answer for answer in rest if answer['id'] not in results]
        if rest:  # the first of them is what stopped it
            results[rest.pop(0)['id']] = (problem, seconds)
    return results


def run_job(job, megabytes, hidden_folders):
    """Return ({id: (message, seconds)}, why no more came)."""
    with tempfile.TemporaryDirectory() as work:
        command = [sys.executable, '-c', RUNNER.read_text()]
        if can_isolate():
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
            return read_results(process, job, megabytes)
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


def read_results(process, job, megabytes):
    """Return ({id: (message, seconds)}, why no more came) of a process."""
    found, text, started = {}, b'', False
    deadline = time.monotonic() + START_SECONDS
    waiting = selectors.DefaultSelector()
    waiting.register(process.stdout, selectors.EVENT_READ)
    while len(found) < len(job['answers']):
        if time.monotonic() > deadline:
            limit = job['seconds'] if started else START_SECONDS
            return found, f'it took longer than {limit} s'
        if memory_of(process.pid) > megabytes:
            return found, f'it took more than {megabytes} MB of memory'
        if not waiting.select(0.1):
            continue
        piece = os.read(process.stdout.fileno(), 65536)
        if not piece:
            return found, 'it ended the process before its check'
        *lines, text = (text + piece).split(b'\n')
        if len(text) > MAX_LINE:
            return found, 'it wrote where only the grader writes'
        for name, message, seconds in parse(lines, job['secret']):
            if name:
                found[name] = message, seconds
            elif message:
                raise RuntimeError(f"the book's own cells fail: {message}")
            started, deadline = True, time.monotonic() + job['seconds']
    return found, ''


def parse(lines, secret):
    """Yield (id, message, seconds) of the lines that the runner wrote."""
    for line in lines:
        try:
            key, *result = json.loads(line)
        except (ValueError, TypeError, RecursionError):
            continue
        if key == secret:
            yield result


def memory_of(pid):
    """Return the megabytes of a process and its children."""
    total = 0
    try:
        parent = psutil.Process(pid)
        for process in [parent, *parent.children(recursive=True)]:
            try:
                total += process.memory_info().rss
            except psutil.Error:
                continue
    except psutil.Error:
        return 0
    return total / 2**20


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
