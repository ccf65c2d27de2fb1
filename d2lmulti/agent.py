"""Run one role of a job on this host, and end when the launcher does.

`launch.py` starts this file as a script, here or over ssh; it must not import
the package, which would start MXNet. JSON lines arrive on standard input:
first the role, then a ping each second, and maybe 'stop'. What the role does
leaves on standard output, as JSON lines too. When the launcher says 'stop',
is silent for `CONTACT` seconds, or is gone, no process of the role remains.
"""
import contextlib
import ctypes
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import psutil

CONTACT = 6  # seconds without a word from the other side: it is lost
GRACE = 2    # seconds from SIGTERM to SIGKILL
TICK = 0.2   # seconds between two looks at the role
ENDING = (signal.SIGTERM, signal.SIGHUP)
LONGEST = 1 << 16  # bytes of a line; a longer one is cut into several


def main():
    """Run the role that the first line describes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the launcher decides
    go_on_in_child()
    for number in ENDING:
        signal.signal(number, leave)
    role = json.loads(sys.stdin.readline())
    with tempfile.TemporaryDirectory() as folder:
        mark = pathlib.Path(folder, 'exiting')
        environment = {**os.environ, **role['environment'],
                       'D2LMULTI_EXITING': str(mark)}
        try:
            if role['port'] is not None:
                environment['DMLC_PS_ROOT_PORT'] = str(
                    free_port(role['port']))
            process = start(role, environment)
        except OSError as error:
            say(event='refused', reason=f'{error}')
            return
        port = int(environment['DMLC_PS_ROOT_PORT'])
        say(event='started', port=port)
        contact = Contact()
        threading.Thread(target=contact.listen, daemon=True).start()
        threading.Thread(target=guard, args=[contact], daemon=True).start()
        output = threading.Thread(target=forward, args=[process.stdout],
                                  daemon=True)
        output.start()
        try:
            watch(process, contact, mark, port)
        finally:
            status = process.returncode  # None if it had to be ended
            end_all()
        while output.is_alive() and not contact.lost():
            output.join(TICK)
        say(event='ended', status=status)


def go_on_in_child():
    """Return in a child; this process ends what a killed child leaves."""
    adopt_orphans()
    child = os.fork()
    if child == 0:
        adopt_orphans()
        return
    for number in (0, 1, 2):  # or the launcher would not see the child's end
        os.close(number)
    for number in ENDING:
        signal.signal(number, lambda number, _: os.kill(child, number))
    _, status = os.waitpid(child, 0)
    end_all()
    os._exit(min(status, 1))


def adopt_orphans():
    """Become the parent of descendants whose parent ends (Linux)."""
    if sys.platform == 'linux':
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def leave(number, _):
    """End because of a signal; a second one changes nothing."""
    for other in ENDING:
        signal.signal(other, signal.SIG_IGN)
    sys.exit(128 + number)


def free_port(port):
    """Return `port` if it is free here, for 0 any free port.

    Raises OSError if it is taken.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(('', port))
        except OSError:
            raise OSError(f'port {port} is taken on this host: choose '
                          'another, or none, with --port') from None
        return probe.getsockname()[1]


def start(role, environment):
    """Start the role's command in a session of its own.

    Raises OSError if its folder or the command does not exist.
    """
    def prepare():
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if sys.platform == 'linux':
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG

    try:
        return subprocess.Popen(
            role['command'], cwd=role['folder'], env=environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True,
            preexec_fn=prepare)
    except OSError as error:
        raise OSError(f'{" ".join(role["command"])!r} cannot be started in '
                      f'{role["folder"]}: {error}') from None


class Contact:
    """When the launcher was last heard of, and whether it wants an end."""
    def __init__(self):
        self.heard, self.stop = time.monotonic(), False

    def listen(self):
        for line in sys.stdin:
            self.heard = time.monotonic()
            if line.strip() == '"stop"':
                break
        self.stop = True  # also if the pipe has closed

    def lost(self):
        return self.stop or time.monotonic() - self.heard > CONTACT


def guard(contact):
    """End everything when contact is lost, also if `say` is blocked."""
    while not contact.lost():
        time.sleep(TICK)
    time.sleep(3 * GRACE)  # `watch` has noticed, unless it is blocked
    end_all()
    os._exit(1)


def watch(process, contact, mark, port):
    """Tell about the role until it ends or the launcher wants its end."""
    told, joined = 0, False
    while process.poll() is None and not contact.lost():
        if time.monotonic() - told > 1:
            told = time.monotonic()
            known = describe(port, mark, joined)
            joined = known['joined']
            say(event='alive', **known)
            bury_orphans(process.pid)
        time.sleep(TICK)


def describe(port, mark, joined):
    """Return what the processes of the role do, and whether it has `joined`.

    The `mark` holds the number of a process that has begun to exit.
    """
    cpu, stopped, exiting = 0, False, False
    leaving = mark.read_text() if mark.exists() else ''
    for process in psutil.Process().children(recursive=True):
        try:
            status, times = process.status(), process.cpu_times()
            cpu += times.user + times.system
            stopped |= status == psutil.STATUS_STOPPED
            exiting |= (str(process.pid) == leaving
                        and status != psutil.STATUS_ZOMBIE)
            joined = joined or any(
                c.status == psutil.CONN_ESTABLISHED
                and port in (c.raddr.port, c.laddr.port)
                for c in process.net_connections('tcp'))
        except (psutil.Error, OSError, RuntimeError):  # it has just ended
            continue
    return {'cpu': cpu, 'joined': joined, 'stopped': stopped,
            'exiting': exiting}


def bury_orphans(role):
    """Take the status of adopted processes that have ended."""
    for process in psutil.Process().children():
        if process.pid != role:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(process.pid, os.WNOHANG)


def forward(pipe):
    """Send every line of the output; a progress bar's are many."""
    for line in iter(lambda: pipe.readline(LONGEST), b''):
        text = line.decode(errors='replace').rstrip('\n')
        for part in text.split('\r'):
            if part:
                say(event='output', line=part)


def end_all():
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


SAYING = threading.Lock()


def say(**event):
    """Tell the launcher; if it is gone, `Contact` will notice."""
    with contextlib.suppress(OSError), SAYING:
        print(json.dumps(event), flush=True)


if __name__ == '__main__':
    main()
    os._exit(0)  # a thread may still read what the launcher says
