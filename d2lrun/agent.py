"""Run one role of a job on this host, and end when the launcher does.

The launcher starts this file as a script, here or over ssh, so it imports
nothing else of ours. JSON lines arrive on standard input: first the role, then
a ping each second, and maybe 'stacks' or 'stop'. What the role does leaves on
standard output, as JSON lines too. When the launcher says 'stop', is gone, or
is silent for `LAUNCHER_TIMEOUT` seconds without being stopped itself, no
process of the role remains.

`commands` starts it with arguments, PARENT COMMAND ..., and then it runs that
command alone: nothing that the command started outlives it, or the parent.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import functools
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from typing import IO, Any, Callable

import psutil

HEARTBEAT_TIMEOUT = 6  # seconds without a word from an agent: lost
# Longer, for a launcher that somebody stops for a while (Ctrl-Z) goes on. If
# it is killed, its connection closes, and nobody waits for this.
LAUNCHER_TIMEOUT = 60
GRACE = 2  # seconds from SIGTERM to SIGKILL
TICK = 0.2  # seconds between two looks at the role
END_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
# At this one, a Python of the role writes its stacks (exit_hook).
STACKS_SIGNAL = getattr(signal, 'SIGRTMAX', signal.SIGUSR2)
MAX_LINE = 1 << 16  # bytes; a longer line is split into several
MAX_STACK, MAX_STACKS = 1 << 16, 16  # characters of a process; processes
IDLE = 0.02  # seconds of processor time in a second that are no progress
# Below those that a system gives to a program that asks for any port: one of
# them could be taken before the role has it.
PORTS = range(10_000, 32_768)
# Where MXNet's sockets are if DMLC_LOCAL is set, each named by its port.
SOCKETS = pathlib.Path('/tmp')
FOLDER = 'd2lrun-'  # begins the name of an agent's folder, before its number
# An option of Linux's prctl.
PR_SET_CHILD_SUBREAPER = 36
F_SETSIG = 10  # which signal says that a pipe has changed (Linux)


def main() -> None:
    """Run the command in the arguments, or the role that the first line
    describes."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # or no status is seen
    if sys.argv[1:]:
        run_command(psutil.Process(int(sys.argv[1])), sys.argv[2:])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the launcher decides
    folder = make_folder()
    fork_supervised_child(folder)
    for number in END_SIGNALS:
        signal.signal(number, exit_on_signal)
    line = sys.stdin.readline()
    if not line:
        return  # the launcher is gone already
    role = json.loads(line)
    notes = NoteReader(pathlib.Path(folder or os.devnull))
    try:
        environment = make_environment(role, folder)
        process = start_role(role, environment)
    except OSError as error:
        send_event(event='refused', reason=f'{error}')
        return
    heartbeat = Heartbeat(role.get('launcher'))
    port = int(environment['DMLC_PS_ROOT_PORT'])
    supervise(process, notes, heartbeat, port)


def make_folder() -> str:
    """Return a new folder for notes that only this user can open; '' where
    none can be made: then ranks and stacks are not known, but it trains.

    It stays locked until this process and the child that it forks have ended.
    """
    for find_place in (tempfile.gettempdir, lambda: '/dev/shm'):
        with contextlib.suppress(OSError):
            place = find_place()
            remove_dead_folders(place)
            prefix = f'{FOLDER}{os.getpid()}-'
            folder = tempfile.mkdtemp(prefix=prefix, dir=place)
            os.chmod(folder, 0o700)  # whatever the umask is
            with contextlib.suppress(OSError):  # file systems without locks
                fcntl.flock(os.open(folder, os.O_RDONLY), fcntl.LOCK_EX)
            return folder
    return ''


def remove_dead_folders(place: str) -> None:
    """Remove what agents of this user have left that were killed with their
    children. A process may be alive although it is unknown here, as in
    another container: then it holds the lock."""
    for entry in os.scandir(place):
        number = re.match(rf'{FOLDER}(\d+)-', entry.name)
        if not number:
            continue
        with contextlib.suppress(OSError):  # it is gone, locked, or a link
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY
            lock = os.open(entry.path, flags)
            try:
                is_ours = os.fstat(lock).st_uid == os.getuid()
                if is_ours and not is_running(int(number[1])):
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    remove_sockets(entry.path)
                    shutil.rmtree(entry.path, ignore_errors=True)
            finally:
                os.close(lock)


def is_running(pid: int) -> bool:
    """Return whether a process runs; one whose status nobody has taken, as in
    a container without an init, does not."""
    with contextlib.suppress(psutil.Error):
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    return False


# Processes that outlive their parents


def fork_supervised_child(folder: str) -> None:
    """Return in a child; this process ends what a killed child leaves, and
    removes the folder."""
    adopt_orphans()
    child = os.fork()
    if child == 0:
        adopt_orphans()
        return
    for descriptor in (0, 1, 2):  # or the launcher would miss the child's end
        os.close(descriptor)
    for number in END_SIGNALS:
        signal.signal(number, lambda number, _: os.kill(child, number))
    _, status = os.waitpid(child, 0)
    end_descendants()
    remove_sockets(folder)
    shutil.rmtree(folder, ignore_errors=True)
    end_as(status)


def end_as(status: int) -> None:
    """End with the same exit status as a child, or killed by its signal."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))


def adopt_orphans() -> None:
    """Become the parent of descendants whose parent ends (Linux)."""
    if sys.platform == 'linux':
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def reap_orphans(role: int) -> None:
    """Take the status of adopted processes that have ended."""
    for process in psutil.Process().children():
        if process.pid != role:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(process.pid, os.WNOHANG)


def end_descendants(grace: float = GRACE) -> None:
    """End every process below this one; kill it if it goes on so long."""
    for _ in range(3):  # one may have started another meanwhile
        processes = psutil.Process().children(recursive=True)
        for process in processes if grace else ():
            with contextlib.suppress(psutil.Error):
                process.terminate()
        _, alive = psutil.wait_procs(processes, timeout=grace)
        for process in alive:
            with contextlib.suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(alive, timeout=GRACE)


def exit_on_signal(number: int, _: object) -> None:
    """Exit because of a signal; a second one changes nothing."""
    for other in END_SIGNALS:
        signal.signal(other, signal.SIG_IGN)
    sys.exit(128 + number)


def run_command(parent: psutil.Process, command: list[str]) -> None:
    """Run a command, and end as it did; kill all that it started when it has
    ended, at a signal, or when the parent is gone."""
    try:
        fork_supervised_child('')
        for number in END_SIGNALS:
            signal.signal(number, exit_on_signal)
        child = os.posix_spawnp(command[0], command, os.environ)
        ended = 0
        while ended != child and parent.is_running():
            ended, status = os.waitpid(-1, os.WNOHANG)
            time.sleep(0 if ended else 0.01)
    except OSError as error:
        print(f'{command[0]}: {error}', file=sys.stderr, flush=True)
        os._exit(127)
    finally:
        end_descendants(grace=0)
    end_as(status if ended == child else signal.SIGKILL)


# Starting the role


def make_environment(role: dict[str, Any], notes: str) -> dict[str, str]:
    """Return the role's environment, with a port if it is to choose one.

    `notes`: the folder in which the role's processes may leave notes.

    Raises OSError if the port is taken.
    """
    environment = {
        **os.environ,
        **role['variables'],
        'D2LMULTI_NOTES': notes,
    }
    find_port = free_port
    if is_local(environment):
        find_port = functools.partial(reserve_socket, notes)
    if role['port'] is not None:
        environment['DMLC_PS_ROOT_PORT'] = str(find_port(role['port']))
    elif role.get('ports'):  # so that MXNet's ranks are in the planned order
        environment['PORT'] = str(find_port(0, range(*role['ports'])))
    elif is_local(environment):  # or MXNet would take one, and its file
        environment['PORT'] = str(find_port(0))
    environment.pop('D2LRUN_SECRET', None)  # not for the script
    gpus = own_gpus_first(
        role.get('first_gpu', 0), environment.get('CUDA_VISIBLE_DEVICES')
    )
    if gpus:
        environment['CUDA_VISIBLE_DEVICES'] = gpus
    return environment


def own_gpus_first(first: int, visible: str | None) -> str | None:
    """Return the CUDA_VISIBLE_DEVICES of a worker whose own GPUs begin at
    number `first`: all that are `visible`, its own ones first, so that it
    knows them as gpu(0) and up. None: nothing is to be changed."""
    if visible is None:  # what NVIDIA's driver knows
        folders = pathlib.Path('/proc/driver/nvidia/gpus').glob('*')
        gpus = [str(i) for i, _ in enumerate(folders)]
    else:
        gpus = [name for name in visible.split(',') if name]
    start = first % len(gpus) if gpus else 0
    return ','.join([*gpus[start:], *gpus[:start]]) if start else None


def free_port(port: int, choices: range = PORTS) -> int:
    """Return `port` if it is free here, for 0 any free one of `choices`.

    Raises OSError if it is taken.
    """
    for candidate in [port] if port else some_of(choices):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(('', candidate))
            return candidate
    raise OSError(
        f'port {port} is taken on this host: choose another, or none, with '
        '--port'
    )


def some_of(ports: range) -> list[int]:
    """Return some of the ports, in any order."""
    chance = random.SystemRandom()  # a notebook may have seeded the other
    return chance.sample(ports, min(100, len(ports)))


def is_local(environment: dict[str, str]) -> bool:
    """Return whether MXNet connects through files instead of ports."""
    return environment.get('DMLC_LOCAL', '0') not in ('', '0')


def reserve_socket(notes: str, port: int, choices: range = PORTS) -> int:
    """Make an empty file named by `port`, or for 0 by one of `choices`, which
    MXNet replaces by its socket; return the port.

    Raises OSError if there is such a file.
    """
    for candidate in [port] if port else some_of(choices):
        path = SOCKETS / str(candidate)
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
            if notes:  # an empty file, as the disk may be full
                open(os.path.join(notes, f'socket-{candidate}'), 'w').close()
            return candidate
    raise OSError(
        f'port {port} is taken on this host, as {SOCKETS / str(port)} exists: '
        'choose another, or none, with --port; if no job has it, remove it'
    )


def remove_sockets(notes: str) -> None:
    """Remove the files that `reserve_socket` has made for the role."""
    for note in pathlib.Path(notes or os.devnull).glob('socket-*'):
        with contextlib.suppress(OSError):
            (SOCKETS / note.name.partition('-')[2]).unlink()


def start_role(
    role: dict[str, Any], environment: dict[str, str]
) -> subprocess.Popen[bytes]:
    """Start the role's command in a separate session.

    Raises OSError if its folder or the command does not exist.
    """
    lifeline, _ = os.pipe()  # the other end closes when this process ends
    try:
        return subprocess.Popen(
            role['command'],
            cwd=role['folder'],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=functools.partial(before_exec, lifeline),
            pass_fds=[lifeline],
        )
    except OSError as error:
        raise OSError(
            f'{" ".join(role["command"])!r} cannot be started in '
            f'{role["folder"]}: {error}'
        ) from None
    finally:
        os.close(lifeline)


def before_exec(lifeline: int) -> None:
    """Let Ctrl-C through again, and end the role when the agent ends."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.platform == 'linux':
        kill_group_with(lifeline)


def kill_group_with(lifeline: int) -> None:
    """Let Linux kill the process group of the role, so its children too, when
    the other end of this pipe is closed; it does so even if every process
    that could is killed at once. (PR_SET_PDEATHSIG would end the role alone,
    and with it what the children hang on.)"""
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp())
    fcntl.fcntl(lifeline, F_SETSIG, signal.SIGKILL)
    flags = fcntl.fcntl(lifeline, fcntl.F_GETFL)
    fcntl.fcntl(lifeline, fcntl.F_SETFL, flags | os.O_ASYNC)


# Watching it


def supervise(
    process: subprocess.Popen[bytes],
    notes: NoteReader,
    heartbeat: Heartbeat,
    port: int,
) -> None:
    """Report what the role does, until it ends or the launcher wants its
    end."""
    send_event(event='started', port=port)
    motion = Motion(notes)
    start_thread(heartbeat.listen, motion)
    start_thread(watchdog, heartbeat)
    outputs = [
        start_thread(forward_output, pipe, notes, stream)
        for stream, pipe in (
            ('stdout', process.stdout),
            ('stderr', process.stderr),
        )
    ]
    try:
        report_until_end(process, heartbeat, motion, port)
    finally:
        status = process.returncode  # None if it had to be ended
        notes.send_new()
        notes.send_records()
        end_descendants()
    while any(o.is_alive() for o in outputs) and not heartbeat.is_lost():
        outputs[0].join(TICK)
        outputs[1].join(TICK)
    send_event(event='ended', status=status)


def start_thread(work: Callable[..., None], *args: Any) -> threading.Thread:
    """Start a thread that does not keep this process alive; raise OSError if
    this user may have no more."""
    thread = threading.Thread(target=work, args=args, daemon=True)
    try:
        thread.start()
    except RuntimeError as error:
        raise OSError(
            f'{error}: allow this user more with `ulimit -u`'
        ) from None
    return thread


class Heartbeat:
    """When the launcher was last heard of, and whether it wants an end.

    `launcher`: its process, if it is on this host.
    """

    def __init__(self, launcher: int | None = None) -> None:
        self.launcher, self.stop = launcher, False
        self.last_heard = self.last_look = time.monotonic()

    def listen(self, motion: Motion) -> None:
        """Take in what the launcher says, until it stops or is gone."""
        for line in sys.stdin:
            self.last_heard = time.monotonic()
            if line.strip() == '"stacks"':
                motion.notes.send_records()
                motion.notes.send_folders()
                send_event(event='stacks', stacks=motion.dump_stacks())
            if line.strip() == '"stop"':
                break
        self.stop = True  # also if the pipe has closed

    def is_lost(self) -> bool:
        """Return whether the role should end: not because this process has
        been stopped for a while, or the launcher is."""
        now = time.monotonic()
        self.last_look, before = now, self.last_look
        if now - before > 1:  # it is asked more often than that
            self.last_heard = now
        silent = now - self.last_heard > LAUNCHER_TIMEOUT
        return self.stop or (silent and not is_stopped(self.launcher))


def is_stopped(pid: int | None) -> bool:
    """Return whether a process is stopped by a signal, such as Ctrl-Z's."""
    with contextlib.suppress(psutil.Error):
        return bool(pid) and psutil.Process(pid).status() in (
            psutil.STATUS_STOPPED,
            psutil.STATUS_TRACING_STOP,
        )
    return False


def watchdog(heartbeat: Heartbeat) -> None:
    """End everything without a heartbeat, also if `send_event` is blocked."""
    while not heartbeat.is_lost():
        time.sleep(TICK)
    time.sleep(3 * GRACE)  # `supervise` has ended all, unless it is blocked
    end_descendants()
    os._exit(1)


class NoteReader:
    """What the role's processes write into a folder (exit_hook), and their
    children that were found killed."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder, self.lock = folder, threading.Lock()
        self.rank: str = ''
        self.process = 0  # that has the rank, and waits in exchanges
        self.killed: set[int] = set()  # processes of which is told
        self.ring = b''  # its last exchanges, at the last look

    def is_of(self, process: int) -> bool:
        """Return whether these are the notes of a process: the one with the
        rank, or before there is one, a Python that can tell its stacks."""
        if self.process:
            return process == self.process
        return (self.folder / f'stacks-{process}').exists()

    def read(self, name: str) -> str:
        """Return a note, '' if there is none."""
        with contextlib.suppress(OSError):
            return (self.folder / name).read_text()
        return ''

    def send_new(self) -> None:
        """Send what has been written since the last call."""
        with self.lock:
            if not self.rank:
                self.rank, _, owner = self.read('rank').partition(' ')
                if self.rank:
                    self.process = int(owner)
                    send_event(event='rank', rank=int(self.rank))
            for line in self.read('killed').splitlines():
                self.send_killed(*map(int, line.split()))

    def send_killed(self, process: int, number: int) -> None:
        """Send, once, that a signal has killed a process."""
        if process not in self.killed:
            self.killed.add(process)
            send_event(event='killed', process=process, signal=number)

    def send_records(self) -> None:
        """Send the last exchanges of the process with the rank: lines that
        are padded, in a ring whose end may be empty."""
        data = self.read_ring()
        if data:
            lines = re.sub(rb' +\n', b'\n', data.replace(b'\0', b''))
            text = lines.decode(errors='replace')
            send_event(event='records', records=text)

    def send_folders(self) -> None:
        """Send how the paths of files begin whose lines are not the script's,
        and of MXNet's: what each Python of the role has noted, together."""
        starts: dict[str, dict[str, None]] = {'library': {}, 'mxnet': {}}
        for process in psutil.Process().children(recursive=True):
            with contextlib.suppress(ValueError):  # there is no such note
                noted = json.loads(self.read(f'folders-{process.pid}'))
                for name, found in starts.items():
                    found.update(dict.fromkeys(noted[name]))
        send_event(
            event='folders',
            **{name: [*found] for name, found in starts.items()},
        )

    def read_ring(self) -> bytes:
        """Return the file of the last exchanges, empty if there is none."""
        path = self.read('records')
        with contextlib.suppress(OSError):
            return pathlib.Path(path).read_bytes() if path else b''
        return b''

    def has_exchanged(self) -> bool:
        """Return whether an exchange has begun or ended since the last
        call."""
        before, self.ring = self.ring, self.read_ring()
        return self.ring != before

    def look_at_zombie(self, process: psutil.Process) -> None:
        """Send that a child of the role's was killed, if its parent has not
        taken its status (Linux)."""
        if process.ppid() == os.getpid():
            return  # the role itself, or an orphan
        stat = pathlib.Path(f'/proc/{process.pid}/stat').read_text()
        number = int(stat.rpartition(')')[2].split()[49]) & 0x7F
        if number:
            with self.lock:
                self.send_killed(process.pid, number)


class Motion:
    """Whether the process that makes the key-value store stands still.

    It does while its main thread waits in one call of the system and MXNet's
    threads compute nothing. Python's other threads do not count: one that
    looks around would hide that the training hangs. (Without Linux's /proc,
    the processor time of all threads decides.)
    """

    def __init__(self, notes: NoteReader) -> None:
        self.notes, self.lock = notes, threading.Lock()
        self.process = 0  # 0: none that could tell yet
        self.switches, self.cpu = '', 0.0  # at the last look
        self.since = time.monotonic()  # when it last moved

    def look(self, process: int, cpu: float) -> None:
        """Look at a process that has used so much processor time."""
        with self.lock:
            cpu -= self.python_threads_cpu(process)
            switches = context_switches(process)
            if (
                process != self.process
                or switches != self.switches
                or cpu - self.cpu > IDLE
            ):
                self.since = time.monotonic()
            self.process, self.switches, self.cpu = process, switches, cpu

    def seconds(self) -> float:
        """Return for how long it has stood still; -1 if there is none."""
        return time.monotonic() - self.since if self.process else -1.0

    def python_threads_cpu(self, process: int) -> float:
        """Return the processor time of Python's threads, without the main
        one."""
        ticks = 0
        for thread in self.notes.read('threads').split():
            with contextlib.suppress(OSError, ValueError, IndexError):
                path = pathlib.Path(f'/proc/{process}/task/{thread}/stat')
                fields = path.read_text().rpartition(')')[2].split()
                ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf('SC_CLK_TCK')

    def dump_stacks(self) -> list[str]:
        """Return where the threads of each Python of the role are. Being
        asked wakes the main thread, but that is no motion."""
        with self.lock:
            before = context_switches(self.process)
            stacks = dump_stacks(self.notes)
            if before == self.switches:
                self.switches = context_switches(self.process)
        return stacks


def context_switches(process: int) -> str:
    """Return how often the main thread of a process has been on and off the
    processor; '' where the system does not tell."""
    with contextlib.suppress(OSError):
        path = pathlib.Path(f'/proc/{process}/task/{process}/status')
        return path.read_text().rpartition('\nvoluntary')[2]
    return ''


def report_until_end(
    process: subprocess.Popen[bytes],
    heartbeat: Heartbeat,
    motion: Motion,
    port: int,
) -> None:
    """Send a sign of life each second, until the role should end or has."""
    reported, joined = 0.0, False
    while process.poll() is None and not heartbeat.is_lost():
        if time.monotonic() - reported > 1:
            reported = time.monotonic()
            activity = measure_activity(port, motion, joined)
            joined = activity['joined']
            motion.notes.send_new()
            exchanged = motion.notes.has_exchanged()
            send_event(event='alive', exchanged=exchanged, **activity)
            reap_orphans(process.pid)
        time.sleep(TICK)


def measure_activity(
    port: int, motion: Motion, joined: bool
) -> dict[str, Any]:
    """Return what the processes of the role do: the processor time that they
    used, for how many seconds the one with the store has stood `still`, and
    whether one has `joined` (connected to the `port`), is stopped, or is
    exiting: a note holds the number of one that has begun to."""
    cpu, stopped, exiting, seen = 0.0, False, False, 0
    notes, leaving = motion.notes, motion.notes.read('exiting')
    for process in psutil.Process().children(recursive=True):
        # An error means that it has just ended.
        with contextlib.suppress(psutil.Error, OSError, RuntimeError):
            status, times = process.status(), process.cpu_times()
            cpu += times.user + times.system
            stopped |= status == psutil.STATUS_STOPPED
            if status == psutil.STATUS_ZOMBIE:
                notes.look_at_zombie(process)
                continue
            exiting |= str(process.pid) == leaving
            joined = joined or is_connected(process, port)
            if not seen and notes.is_of(process.pid):
                seen = process.pid
                motion.look(seen, times.user + times.system)
    return {
        'cpu': cpu,
        'joined': joined,
        'stopped': stopped,
        'exiting': exiting,
        'still': motion.seconds(),
    }


def is_connected(process: psutil.Process, port: int) -> bool:
    """Return whether the process has a connection from or to the port, or
    a socket of MXNet's, which it makes just before it connects."""
    # Before psutil 6, as on Colab, it has another name.
    old = not hasattr(process, 'net_connections')
    connections = process.connections if old else process.net_connections
    return any(
        connection.status == psutil.CONN_ESTABLISHED
        and port in (connection.raddr.port, connection.laddr.port)
        for connection in connections('tcp')
    ) or any(
        re.fullmatch(rf'{SOCKETS}/\d+', str(connection.laddr))
        for connection in connections('unix')
    )


def dump_stacks(notes: NoteReader) -> list[str]:
    """Return where the threads of each Python of the role are."""
    before: dict[pathlib.Path, int] = {}
    for process in psutil.Process().children(recursive=True):
        path = notes.folder / f'stacks-{process.pid}'
        with contextlib.suppress(OSError, psutil.Error):
            before[path] = path.stat().st_size
            process.send_signal(STACKS_SIGNAL)
    give_up = time.monotonic() + 1  # one that is stopped does not answer
    while time.monotonic() < give_up and any(
        path.stat().st_size == size for path, size in before.items()
    ):
        time.sleep(0.05)
    time.sleep(0.05)  # they may still write
    return [
        path.read_text(errors='replace')[size:][:MAX_STACK]
        for path, size in before.items()
    ][:MAX_STACKS]


def forward_output(pipe: IO[bytes], notes: NoteReader, stream: str) -> None:
    """Send every line of an output; a progress bar's are many."""
    with pipe:
        for line in iter(lambda: pipe.readline(MAX_LINE), b''):
            notes.send_new()  # so that lines after the rank's note bear it
            text = line.decode(errors='replace').rstrip('\n')
            for part in text.split('\r'):
                if part:
                    send_event(event='output', line=part, stream=stream)


OUTPUT_LOCK = threading.Lock()


def send_event(**event: Any) -> None:
    """Tell the launcher; if it is gone, `Heartbeat` will notice."""
    with contextlib.suppress(OSError), OUTPUT_LOCK:
        print(json.dumps(event), flush=True)


if __name__ == '__main__':
    try:
        main()
    except OSError as error:  # no process, thread or file more
        send_event(event='refused', reason=f'its agent failed: {error}')
    os._exit(0)  # a thread may still read what the launcher says
