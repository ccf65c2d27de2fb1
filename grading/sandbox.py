"""Run answers in a separate process, with limits, and away from everything:
in bubblewrap, or in namespaces that show the same.

Limits and namespaces protect from accidents: endless loops, full memory,
deleted files, a network. They do not stop an attack: for hostile work, grade
in a container or on a separate machine.
"""

import array
import functools
import json
import os
import pathlib
import re
import secrets
import selectors
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
import typing
from importlib import metadata
from urllib.parse import unquote, urlsplit

import psutil

from chapters import ROOT

from .calls import ENDED, Ended, receive, send

HERE = pathlib.Path(__file__).parent
# Of the runner: with separate builtins, and a name that no file has.
START = """\
import builtins, json, os
size, text = int.from_bytes(os.read(0, 8), 'big'), b''
while len(text) < size:
    text += os.read(0, size - len(text))
shared = json.loads(text)
names = {'__builtins__': dict(vars(builtins)), '__name__': 'runner'}
exec(compile(shared.pop('runner'), '<guard>', 'exec'), names)
names['main'](shared)
"""
PRIVATE = ['/tmp', '/var/tmp', '/dev/shm']  # empty for each answer
MAX_PROCESSES = 64  # of one answer
MAX_LINE = 100_000  # bytes of a result
START_SECONDS = 600  # for the imports and the book's own cells, on any machine
# What an answer sees beside Python and the book: programs, libraries, and no
# list of users. What is not there is left out.
SYSTEM = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64']
SYSTEM += [
    f'/etc/{name}'
    for name in ('alternatives', 'fonts', 'hosts', 'ld.so.cache', 'localtime')
]
SYSTEM += ['/sys/devices/system/cpu']
# What bubblewrap does, where it is missing: in namespaces that have no
# network, and where other processes are not seen, build a root of what is to
# be seen, read-only, hide what lies in that, and run there.
# A remount must keep the flags that the mount has.
UNSHARE = [
    'unshare',
    '--user',
    '--map-root-user',
    '--net',
    '--mount',
    '--pid',
    '--fork',
    '--kill-child',
    '--mount-proc',
    '--ipc',
    'sh',
    '-c',
    """set -e
PATH=$PATH:/usr/sbin:/sbin
work=$1
shift
mkdir -p "$work"
mount -t tmpfs -o size=1m,mode=755 none "$work"
cd "$work"
mkdir -p proc dev/shm tmp var/tmp .old
mount -t tmpfs -o size=64m,mode=1777 none tmp
mount -t tmpfs -o size=64m,mode=1777 none var/tmp
while [ "$1" != -- ]; do
    mkdir -p ".$(dirname "$1")"
    if [ -L "$1" ]; then
        cp -P "$1" ".$1"
    else
        if [ -d "$1" ]; then mkdir -p ".$1"; else : > ".$1"; fi
        mount --rbind "$1" ".$1"
    fi
    shift
done
shift
while read -r _ at _ flags _; do
    at=$(printf '%b' "$at")
    case $at in "$work"/tmp | "$work"/var/tmp | "$work") continue ;; esac
    case $at in "$work"/*) ;; *) continue ;; esac
    keep=$(printf %s "$flags" | tr , '\n' |
        grep -xE 'nosuid|nodev|noexec|noatime|nodiratime|relatime' | tr '\n' ,)
    mount -o "remount,bind,ro,$keep" "$at"
done < /proc/self/mounts
while [ "$1" != -- ]; do
    if [ -d ".$1" ]; then
        mount -t tmpfs -o size=64k none ".$1"
    elif [ -e ".$1" ]; then
        mount --bind /dev/null ".$1"
    fi
    shift
done
shift
mount -t proc -o ro proc proc
for name in null zero full random urandom; do
    : > dev/$name
    mount --bind /dev/$name dev/$name
done
ln -s /proc/self/fd dev/fd
mount -t tmpfs -o size=64m,mode=1777 none dev/shm
mkdir -p ".$work"
mount -t tmpfs -o size=200m none ".$work"
pivot_root . .old
cd /
umount -l .old
mount -o remount,bind,ro /
cd "$work"
exec "$@"
""",
    'isolate',
]
BUBBLEWRAP = [
    *('bwrap', '--unshare-all', '--die-with-parent', '--as-pid-1'),
    # The runner mounts empty folders for each answer, which has none of this.
    *('--uid', '0', '--gid', '0', '--cap-add', 'ALL'),
    *('--proc', '/proc', '--dev', '/dev'),
]


# An answer that is right wherever the sandbox works.
TRIAL = {
    'id': 'trial',
    'function': 'trial',
    'sources': ['def trial():\n    return 1'],
    'checks': ['assert trial() == 1'],
    'seconds': START_SECONDS,
}
TRIES = 2
ADVICE = (
    'put what was handed in and --out into folders that hold nothing else, '
    'and the temporary folder (TMPDIR) on a disk with space; if that does '
    'not help, grade on another machine or in a container'
)

MORE_MEMORY = 'let answers take more memory, such as --memory 8192'
MUCH_MEMORY = (
    'it took more than {} MB of memory: use less, or delete what is not needed'
)


class SandboxError(Exception):
    """The sandbox has failed, which is no student's fault: no answer of it
    gets a verdict."""

    def __init__(self, what, advice=ADVICE):
        super().__init__(what, advice)
        self.what, self.advice = what, advice

    def __str__(self):
        return (
            f'the sandbox for answers has failed: {self.what}\n'
            f'What to do: {self.advice}.'
        )


def isolated(work, hidden=(), tool=None):
    """Return the command that runs another one where it sees what answers
    need alone, and may write in `work` and folders that are empty; [] where
    the system allows none.

    `hidden`: folders and files that lie in what is seen. `tool`: see
    `isolation`.
    """
    tool = isolation() if tool is None else tool
    if not tool:
        return []
    seen = [path for path in SYSTEM if os.path.lexists(path)]
    seen += needed_folders()
    found = {
        folder + real[len(os.path.realpath(folder)) :]
        for real in map(os.path.realpath, hidden)
        for folder in seen
        if lies_in(real, [os.path.realpath(folder)]) and may_reach(real)
    }
    hidden = [one for one in sorted(found) if not lies_in(one, found - {one})]
    if tool == 'namespaces':
        return [*UNSHARE, work, *seen, '--', *hidden, '--']
    command = list(BUBBLEWRAP)
    for path in PRIVATE:
        command += ['--tmpfs', path]
    for path in seen:
        if os.path.islink(path):
            command += ['--symlink', os.readlink(path), path]
        else:
            command += ['--ro-bind', path, path]
    for path in hidden:
        if os.path.isdir(path):
            command += ['--tmpfs', path]
        else:
            command += ['--ro-bind', '/dev/null', path]
    command += ['--tmpfs', work, '--remount-ro', '/', '--remount-ro', '/dev']
    command += ['--chdir', work]
    return [*command, '--']


def may_reach(path):
    """Return whether an answer could: what another user keeps from all others
    is kept from it, and cannot be hidden. False if there is no such path."""
    try:
        folders = [os.stat(one) for one in pathlib.Path(path).parents]
    except OSError:
        return False
    own, groups = os.geteuid(), {os.getegid(), *os.getgroups()}
    return os.path.exists(path) and all(
        found.st_uid == own
        or found.st_mode & 0o001
        or (found.st_gid in groups and found.st_mode & 0o010)
        for found in folders
    )


def lies_in(path, folders):
    """Return whether a path is one of some folders, or below one."""
    return any(path == one or path.startswith(f'{one}/') for one in folders)


@functools.lru_cache(maxsize=None)
def isolation():
    """Return what keeps answers away from all else on this system:
    'bubblewrap', 'namespaces', made by `unshare`, or ''."""
    return next(filter(works, ('bubblewrap', 'namespaces')), '')


def works(tool):
    """Return whether 'bubblewrap' or 'namespaces' is there and allowed."""
    if not tool:
        return False
    with tempfile.TemporaryDirectory() as work:
        command = isolated(os.path.realpath(work), tool=tool)
        command += ['mount', '-t', 'tmpfs', 'none', '/tmp']  # as the runner
        try:
            done = subprocess.run(
                command,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=60,
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
    return done.returncode == 0


def can_isolate():
    """Return whether this system lets us keep answers away from all else."""
    return bool(isolation())


class Outcome(typing.NamedTuple):
    """A verdict (see `VERDICTS`), what the check says, the seconds, and what
    a person should look at."""

    verdict: str
    message: str
    seconds: float
    flags: list


# Counted apart everywhere.
VERDICTS = (
    'passed',
    'wrong',  # the check says so
    'not answered',
    'stopped',  # at a limit
    'damaged',  # a file
)


def run_answers(
    before, answers, seconds, megabytes, hidden_folders=(), kept=None
):
    """Return {id: `Outcome`} for all answers, each in a separate process.

    `before`: sources that run first. `answers`: dictionaries with id,
    function, sources and checks, and perhaps `judged`, the checks that run
    where the answer does not. Each may take `seconds`, and its processes
    together `megabytes`. `hidden_folders`: folders and files that no answer
    may see, in any order, also inside each other. `kept`: a `Kept`, to start
    fewer processes. Raises SandboxError, and RuntimeError if `before` fails.
    """
    results, own = {}, kept or Kept()
    try:
        for answer in answers:
            job = {
                **answer,
                'seconds': seconds,
                'secret': secrets.token_hex(16),
            }
            start = time.monotonic()
            job['flags'] = []
            verdict, message = own.run(before, hidden_folders, job, megabytes)
            taken = round(time.monotonic() - start, 1)
            results[answer['id']] = Outcome(
                verdict, message, taken, job['flags']
            )
    finally:
        if kept is None:
            own.close()
    return results


class Kept:
    """The processes that have run a chapter's cells, for the next answers:
    as many as there are answers at once."""

    def __init__(self):
        self.idle, self.lock = [], threading.Lock()

    def run(self, before, hidden_folders, job, megabytes):
        """Return (verdict, message) of a job.

        What an earlier answer did to its process is no error of the sandbox:
        a new one tries again.
        """
        cells, tries = [before, hidden_folders], TRIES
        parent = self.take(cells)
        while True:
            try:
                return self.run_in(parent or Parent(*cells), job, megabytes)
            except (SandboxError, OSError) as error:
                tries -= parent is None
                parent = None
                if not tries and isinstance(error, OSError):
                    raise SandboxError(str(error)) from error
                if not tries:
                    raise

    def run_in(self, parent, job, megabytes):
        """Return (verdict, message) of a job in a process; keep that."""
        good = False
        try:
            parent.try_out(megabytes)
            result = parent.run(job, megabytes)
            good = parent.finish()
        finally:
            if good:
                with self.lock:
                    self.idle.append(parent)
            else:
                parent.close()
        return result

    def take(self, cells):
        """Return a process for some cells and hidden folders, or None; end
        one that is for others."""
        with self.lock:
            same = [one for one in self.idle if one.cells == cells]
            found = (same or self.idle or [None])[0]
            if found:
                self.idle.remove(found)
        if same:
            return found
        if found:
            found.close()
        return None

    def close(self):
        """End all processes."""
        while self.idle:
            self.idle.pop().close()


class Parent:
    """A process that runs the book's cells, and forks one for each answer."""

    def __init__(self, before, hidden_folders):
        self.cells, self.tried = [before, hidden_folders], False
        self.errors = tempfile.TemporaryFile()  # until the runner starts
        self.folder = tempfile.TemporaryDirectory()
        work = os.path.realpath(self.folder.name)
        command = isolated(work, hidden_folders)
        command += [sys.executable, '-c', START]
        self.channel, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                command,
                cwd=work,
                env=environment(work),
                stdin=theirs,
                stdout=subprocess.DEVNULL,
                stderr=self.errors,
                start_new_session=True,
            )
        self.send(
            {
                'before': before,
                'runner': (HERE / 'runner.py').read_text(),
                'guard': (HERE / 'flags.py').read_text(),
                'calls': (ROOT / 'grading' / 'calls.py').read_text(),
                'notebook': (ROOT / 'grading' / 'notebook.py').read_text(),
                'isolated': can_isolate(),
                'hidden': [
                    one if os.path.isfile(one) else f'{one}/'
                    for path in hidden_folders
                    for one in sorted({str(path), os.path.realpath(path)})
                ],
                'trusted': trusted_folders(),
                'work': work,
                'private': PRIVATE,
                'kept': needed_folders(),
                'early': can_fork(before),
            }
        )

    def send(self, what, *pipes):
        """Send a dictionary, and ends of pipes."""
        text = json.dumps(what).encode()
        head = len(text).to_bytes(8, 'big')
        rights = [
            (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', pipes))
        ]
        try:
            self.channel.sendmsg([head], rights if pipes else [])
            self.channel.sendall(text)
        except OSError:
            pass  # it has ended, which is said below

    def try_out(self, megabytes):
        """Raise SandboxError if a right answer does not pass, before the
        first one comes. Where each answer runs the book's own cells, that
        would take too long."""
        if self.tried or not can_fork(self.cells[0]):
            return
        job = {**TRIAL, 'secret': secrets.token_hex(16), 'flags': []}
        verdict, message = self.run(job, megabytes)
        if verdict != 'passed':
            raise SandboxError(
                f'an answer that does nothing is {verdict}: {message}',
                MORE_MEMORY if 'MB' in message else ADVICE,
            )
        if not self.finish():
            raise SandboxError(self.last_words())
        self.tried = True

    def run(self, job, megabytes):
        """Return (verdict, message) of one answer."""
        reading, writing = os.pipe()
        judge, theirs = socket.socketpair()
        # What runs answers never has the checks that are judged elsewhere.
        checks = job.get('judged')
        job = {key: value for key, value in job.items() if key != 'judged'}
        ends = [writing, theirs.fileno()] if checks else [writing]
        with judge, open(reading, 'rb', buffering=0) as pipe:
            try:
                self.send(job, *ends)
            finally:
                os.close(writing)
                theirs.close()
            if checks:
                send(judge, checks)
            try:
                return read_result(
                    pipe,
                    judge if checks else None,
                    self.members,
                    job,
                    megabytes,
                )
            except EOFError:
                raise SandboxError(self.last_words()) from None

    def last_words(self):
        """Return what the process says after it has ended, before an answer
        began."""
        try:
            self.channel.settimeout(1)
            said = self.channel.recv(MAX_LINE).lstrip(b'.!')
        except OSError:
            said = b''
        try:
            status = f'exit status {self.process.wait(1)}'
        except subprocess.TimeoutExpired:
            status = 'only the process of the answer has ended'
        self.errors.seek(0)
        text = (self.errors.read() + said).decode(errors='replace').strip()
        return f'{text[-2000:] or "it ended"} ({status})'

    def members(self):
        """Return the processes of an answer."""
        try:
            found = psutil.Process(self.process.pid)
            if can_isolate():  # its child is the parent of the others
                (found,) = found.children()
            return found.children(recursive=True)
        except (psutil.Error, ValueError):
            return []

    def finish(self):
        """End what an answer has started; return whether the next one may
        come."""
        try:
            if not can_isolate():
                end(self.members())
            self.channel.settimeout(10)
            self.channel.sendall(b'e')
            return self.channel.recv(1) == b'.'
        except OSError:
            return False

    def close(self):
        """End the process."""
        self.channel.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            members = self.members()
            self.process.kill()
            end(members)
            self.process.wait(10)
        self.errors.close()
        self.folder.cleanup()


def can_fork(before):
    """Return whether cells may run before the forks: threads of PyTorch and
    TensorFlow, and some of a Mac, do not survive one."""
    return sys.platform == 'linux' and not re.search(
        'torch|tensorflow', '\n'.join(before)
    )


def needed_folders():
    """Return the folders of Python and the book, which must be seen,
    wherever they are."""
    found = [sys.prefix, sys.base_prefix]
    link = sys.executable  # to another one, and so on
    while os.path.islink(link):
        link = os.path.join(os.path.dirname(link), os.readlink(link))
        found.append(os.path.dirname(os.path.dirname(link)))
    found += [os.path.realpath(path) for path in found]
    found += [path.rstrip('/') for path in trusted_folders()]
    found = {os.path.abspath(path) for path in found if os.path.exists(path)}
    return [
        one
        for one in sorted(found)
        if not lies_in(one, [*(found - {one}), *SYSTEM])
    ]


def trusted_folders():
    """Return the folders of Python, its packages and the book."""
    paths = sysconfig.get_paths()
    names = ('stdlib', 'platstdlib', 'purelib', 'platlib')
    found = [paths[name] for name in names] + [
        str(root / name)
        for root in {ROOT, installed_from()}
        for name in ('d2lbase', 'd2lmulti', 'samestep/src')
    ]
    return sorted(
        {f'{os.path.realpath(p)}/' for p in found}
        | {f'{path}/' for path in found}
    )


def installed_from():
    """Return the folder whose d2lmulti an answer imports: another clone's,
    if both have one environment."""
    try:
        text = metadata.distribution('d2lmulti').read_text('direct_url.json')
    except metadata.PackageNotFoundError:
        text = None
    address = urlsplit(json.loads(text or '{}').get('url', ''))
    is_folder = address.scheme == 'file' and address.path
    return pathlib.Path(unquote(address.path)) if is_folder else ROOT


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


def read_result(pipe, judge, members, job, megabytes):
    """Return (verdict, message) that an answer's process wrote, or why there
    is none; add its flags to those of the job. With a `judge`, a socket, what
    passes there still has to pass here.

    It first writes a line when the book's own cells have run: what happens
    before is no answer's fault. Raises EOFError if the process ends there,
    and SandboxError. `members()` returns its processes.
    """
    text, started, passed = b'', False, False
    deadline = time.monotonic() + START_SECONDS
    waiting = selectors.DefaultSelector()
    waiting.register(pipe, selectors.EVENT_READ)
    while True:
        if time.monotonic() > deadline:
            if not started:
                raise SandboxError(
                    "the imports and the book's own cells took longer than "
                    f'{START_SECONDS} s',
                    'take fewer --jobs, or grade on a faster machine',
                )
            return 'stopped', (
                f'it took longer than {job["seconds"]} s: look for a loop '
                'that does not end'
            )
        problem = too_much(members(), megabytes)
        if problem and started:
            return 'stopped', problem
        ready = [key.fileobj for key, _ in waiting.select(0.1)]
        if problem and pipe not in ready:  # else it may have begun meanwhile
            raise SandboxError(
                f"with the book's own cells, {problem.partition(':')[0]}",
                MORE_MEMORY,
            )
        if judge in ready:
            return judged(judge)
        if pipe not in ready:
            continue
        piece = os.read(pipe.fileno(), 65536)
        if not piece and not started:
            raise EOFError
        if not piece and not passed:
            return 'stopped', ENDED
        if not piece:  # the judge says what that means
            waiting.unregister(pipe)
        *lines, text = (text + piece).split(b'\n')
        if len(text) > MAX_LINE:
            job['flags'].append('writes where only the grader writes')
            return 'stopped', 'it wrote where only the grader writes'
        for verdict, message in parse(lines, job['secret'], megabytes):
            if verdict == 'passed' and judge:
                if not passed:
                    waiting.register(judge, selectors.EVENT_READ)
                passed = True
                continue
            if verdict in VERDICTS:
                return verdict, message
            if verdict == 'flag':
                job['flags'].append(message)
                continue
            if started:
                continue
            if verdict:
                raise SandboxError(message)
            if message:
                raise RuntimeError(f"the book's own cells fail: {message}")
            started, deadline = True, time.monotonic() + job['seconds']


def judged(judge):
    """Return (verdict, message) of the hidden checks."""
    judge.settimeout(START_SECONDS)
    try:
        verdict, message = receive(judge)
    except Ended:  # with the process of the answer
        return 'stopped', ENDED
    if verdict not in VERDICTS:
        raise SandboxError(message)
    return verdict, message


def parse(lines, secret, megabytes):
    """Yield (verdict, message) of the lines that the runner wrote; stop an
    answer that had more memory between two looks at it."""
    for line in lines:
        try:
            key, *result = json.loads(line)
        except (ValueError, TypeError, RecursionError):
            continue
        if key != secret:
            continue
        if result[0] != 'grew':
            yield result
        elif float(result[1]) > megabytes:
            yield 'stopped', MUCH_MEMORY.format(megabytes)


def too_much(members, megabytes):
    """Return which limit processes exceed together, or ''."""
    if len(members) > MAX_PROCESSES:
        return f'it started more than {MAX_PROCESSES} processes'
    if sum(memory_of(member) for member in members) <= megabytes:
        return ''
    # Pages that several share count once.
    if sum(memory_of(member, 'pss') for member in members) <= megabytes:
        return ''
    return MUCH_MEMORY.format(megabytes)


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


def end(members):
    """End processes."""
    for member in members:
        try:
            member.kill()
        except (ProcessLookupError, psutil.Error):
            continue
