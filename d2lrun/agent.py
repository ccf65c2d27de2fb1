"""Run one role of a job on this host, and end when the launcher does.

The launcher starts this file as a script, here or over ssh, so it imports
nothing else of ours. JSON lines arrive on standard
input: first the role, then a ping each second, and maybe 'stacks' or 'stop'.
What the role does leaves on standard output, as JSON lines too. When the
launcher says 'stop', is silent for `HEARTBEAT_TIMEOUT` seconds, or is gone,
no process of the role remains.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from typing import IO, Any, Callable

import psutil

HEARTBEAT_TIMEOUT = 6  # seconds without a word from the other side: lost
GRACE = 2  # seconds from SIGTERM to SIGKILL
TICK = 0.2  # seconds between two looks at the role
END_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
# At this one, a Python of the role writes its stacks (exit_hook).
STACKS_SIGNAL = getattr(signal, 'SIGRTMAX', signal.SIGUSR2)
MAX_LINE = 1 << 16  # bytes; a longer line is split into several
# Below those that a system gives to a program that asks for any port: one of
# them could be taken before the role has it.
PORTS = range(10_000, 32_768)
# Options of Linux's prctl.
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


def main() -> None:
    """Run the role that the first line describes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the launcher decides
    fork_supervised_child()
    for number in END_SIGNALS:
        signal.signal(number, exit_on_signal)
    role = json.loads(sys.stdin.readline())
    with tempfile.TemporaryDirectory() as folder:
        notes = Notes(pathlib.Path(folder))
        try:
            environment = make_environment(role, folder)
            process = start_role(role, environment)
        except OSError as error:
            send_event(event='refused', reason=f'{error}')
            return
        supervise(process, notes, int(environment['DMLC_PS_ROOT_PORT']))


# Processes that outlive their parents


def fork_supervised_child() -> None:
    """Return in a child; this process ends what a killed child leaves."""
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
    kill_descendants()
    os._exit(min(status, 1))


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


def kill_descendants() -> None:
    """End every process below this one."""
    for _ in range(3):  # one may have started another meanwhile
        processes = psutil.Process().children(recursive=True)
        for process in processes:
            with contextlib.suppress(psutil.Error):
                process.terminate()
        _, alive = psutil.wait_procs(processes, timeout=GRACE)
        for process in alive:
            with contextlib.suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(alive, timeout=GRACE)


def exit_on_signal(number: int, _: object) -> None:
    """Exit because of a signal; a second one changes nothing."""
    for other in END_SIGNALS:
        signal.signal(other, signal.SIG_IGN)
    sys.exit(128 + number)


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
    if role['port'] is not None:
        environment['DMLC_PS_ROOT_PORT'] = str(free_port(role['port']))
    return environment


def free_port(port: int) -> int:
    """Return `port` if it is free here, for 0 any free port.

    Raises OSError if it is taken.
    """
    chance = random.SystemRandom()  # a notebook may have seeded the other
    for candidate in [port] if port else chance.sample(PORTS, 100):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(('', candidate))
            return candidate
    raise OSError(
        f'port {port} is taken on this host: choose another, or none, with '
        '--port'
    )


def start_role(
    role: dict[str, Any], environment: dict[str, str]
) -> subprocess.Popen[bytes]:
    """Start the role's command in a separate session.

    Raises OSError if its folder or the command does not exist.
    """
    try:
        return subprocess.Popen(
            role['command'],
            cwd=role['folder'],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=before_exec,
        )
    except OSError as error:
        raise OSError(
            f'{" ".join(role["command"])!r} cannot be started in '
            f'{role["folder"]}: {error}'
        ) from None


def before_exec() -> None:
    """Let Ctrl-C through again, and end the role when the agent ends."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.platform == 'linux':
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


# Watching it


def supervise(
    process: subprocess.Popen[bytes], notes: Notes, port: int
) -> None:
    """Report what the role does, until it ends or the launcher wants its
    end."""
    send_event(event='started', port=port)
    heartbeat = Heartbeat()
    start_thread(heartbeat.listen, notes)
    start_thread(watchdog, heartbeat)
    output = start_thread(forward_output, process.stdout, notes)
    try:
        report_until_end(process, heartbeat, notes, port)
    finally:
        status = process.returncode  # None if it had to be ended
        notes.send_new()
        kill_descendants()
    while output.is_alive() and not heartbeat.is_lost():
        output.join(TICK)
    send_event(event='ended', status=status)


def start_thread(work: Callable[..., None], *args: Any) -> threading.Thread:
    """Start a thread that does not keep this process alive."""
    thread = threading.Thread(target=work, args=args, daemon=True)
    thread.start()
    return thread


class Heartbeat:
    """When the launcher was last heard of, and whether it wants an end."""

    def __init__(self) -> None:
        self.last_heard, self.stop = time.monotonic(), False

    def listen(self, notes: Notes) -> None:
        """Take in what the launcher says, until it stops or is gone."""
        for line in sys.stdin:
            self.last_heard = time.monotonic()
            if line.strip() == '"stacks"':
                send_event(event='stacks', stacks=dump_stacks(notes))
            if line.strip() == '"stop"':
                break
        self.stop = True  # also if the pipe has closed

    def is_lost(self) -> bool:
        """Return whether the role should end."""
        return (
            self.stop or time.monotonic() - self.last_heard > HEARTBEAT_TIMEOUT
        )


def watchdog(heartbeat: Heartbeat) -> None:
    """End everything without a heartbeat, also if `send_event` is blocked."""
    while not heartbeat.is_lost():
        time.sleep(TICK)
    time.sleep(3 * GRACE)  # `supervise` has ended all, unless it is blocked
    kill_descendants()
    os._exit(1)


class Notes:
    """What the role's processes write into a folder (exit_hook), and their
    children that were found killed."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder, self.lock = folder, threading.Lock()
        self.rank: str = ''
        self.killed: dict[int, int] = {}  # process and signal
        self.sent: set[int] = set()

    def read(self, name: str) -> str:
        """Return a note, '' if there is none."""
        with contextlib.suppress(OSError):
            return (self.folder / name).read_text()
        return ''

    def send_new(self) -> None:
        """Send what has been written since the last call."""
        with self.lock:
            if not self.rank:
                self.rank = self.read('rank')
                if self.rank:
                    send_event(event='rank', rank=int(self.rank))
            for line in self.read('killed').splitlines():
                process, number = map(int, line.split())
                self.killed[process] = number
            for process in self.killed.keys() - self.sent:
                self.sent.add(process)
                number = self.killed[process]
                send_event(event='killed', process=process, signal=number)

    def add_killed(self, process: psutil.Process) -> None:
        """Note a child of the role's that was killed, and whose parent has
        not taken its status (Linux)."""
        if process.ppid() == os.getpid():
            return  # the role itself, or an orphan
        stat = pathlib.Path(f'/proc/{process.pid}/stat').read_text()
        number = int(stat.rpartition(')')[2].split()[49]) & 0x7F
        if number:
            self.killed[process.pid] = number


def report_until_end(
    process: subprocess.Popen[bytes],
    heartbeat: Heartbeat,
    notes: Notes,
    port: int,
) -> None:
    """Send a sign of life each second, until the role should end or has."""
    reported, joined = 0.0, False
    while process.poll() is None and not heartbeat.is_lost():
        if time.monotonic() - reported > 1:
            reported = time.monotonic()
            activity = measure_activity(port, notes, joined)
            joined = activity['joined']
            notes.send_new()
            send_event(event='alive', **activity)
            reap_orphans(process.pid)
        time.sleep(TICK)


def measure_activity(port: int, notes: Notes, joined: bool) -> dict[str, Any]:
    """Return what the processes of the role do: the processor time that they
    used, whether one has `joined` (connected to the `port`), is stopped, or
    is exiting: a note holds the number of one that has begun to.
    """
    cpu, stopped, exiting = 0.0, False, False
    leaving = notes.read('exiting')
    for process in psutil.Process().children(recursive=True):
        # An error means that it has just ended.
        with contextlib.suppress(psutil.Error, OSError, RuntimeError):
            status, times = process.status(), process.cpu_times()
            cpu += times.user + times.system
            stopped |= status == psutil.STATUS_STOPPED
            if status == psutil.STATUS_ZOMBIE:
                notes.add_killed(process)
                continue
            exiting |= str(process.pid) == leaving
            joined = joined or is_connected(process, port)
    return {
        'cpu': cpu,
        'joined': joined,
        'stopped': stopped,
        'exiting': exiting,
    }


def is_connected(process: psutil.Process, port: int) -> bool:
    """Return whether the process has a connection from or to the port."""
    # Before psutil 6, as on Colab, it has another name.
    old = not hasattr(process, 'net_connections')
    connections = process.connections if old else process.net_connections
    return any(
        connection.status == psutil.CONN_ESTABLISHED
        and port in (connection.raddr.port, connection.laddr.port)
        for connection in connections('tcp')
    )


def dump_stacks(notes: Notes) -> list[str]:
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
    return [path.read_text()[size:] for path, size in before.items()]


def forward_output(pipe: IO[bytes], notes: Notes) -> None:
    """Send every line of the output; a progress bar's are many."""
    for line in iter(lambda: pipe.readline(MAX_LINE), b''):
        notes.send_new()  # so that lines after the rank's note bear it
        text = line.decode(errors='replace').rstrip('\n')
        for part in text.split('\r'):
            if part:
                send_event(event='output', line=part)


OUTPUT_LOCK = threading.Lock()


def send_event(**event: Any) -> None:
    """Tell the launcher; if it is gone, `Heartbeat` will notice."""
    with contextlib.suppress(OSError), OUTPUT_LOCK:
        print(json.dumps(event), flush=True)


if __name__ == '__main__':
    main()
    os._exit(0)  # a thread may still read what the launcher says
