"""Run a script as one rank of a job: `mpiexec -n 2 python rank.py train.py`.

A parent waits for the process that runs the script, and says how it ended.
So a rank that was killed is named, and one that left without a word, by
`os._exit` for example, is not taken for a success. Runs as a file: a script
that needs MPI alone does not have to wait for an import of MXNet.
"""

import contextlib
import ctypes
import faulthandler
import os
import runpy
import signal
import sys
import threading
import time
import traceback

MARK = '\x1e'  # begins what `say` says; terminals show nothing for it
ENDED = b'ended'
# The script may close or redirect its own.
STDERR = os.dup(2) if __name__ == '__main__' else 2


def end_with_parent() -> None:
    """Let this process be killed when the one that started it ends."""
    if sys.platform == 'linux':
        death = 1  # PR_SET_PDEATHSIG
        ctypes.CDLL(None).prctl(death, signal.SIGKILL)


def say(status: int, what: str) -> None:
    """Tell `jobs.py` of this rank. `status`: its exit status, or -1."""
    rank = os.environ.get('PMI_RANK', '?')
    os.write(STDERR, f'{MARK}rank {rank} [{status}] {what}\n'.encode())


def run_script() -> None:
    """Run the script in `sys.argv`; after an error of it, end at once: to
    end MPI would wait for the other ranks."""
    from mpi4py import MPI

    remove_shared_memory(MPI.COMM_WORLD)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # mpiexec's never ends
    # A line is written at once: else mpiexec's labels fall inside of lines.
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(  # type: ignore
            line_buffering=True, write_through=False
        )
    del sys.argv[0]
    script = sys.argv[0]
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    if 'JOB_LIMIT' in os.environ:
        clock = threading.Thread(target=say_where, args=[script])
        clock.daemon = True
        clock.start()
    try:
        runpy.run_path(script, run_name='__main__')
    except BaseException as error:
        status = status_of(error)
        if status:
            try:
                print_error(error, script)
            finally:
                os._exit(status)
    say(-1, 'has left its script')


def status_of(error: BaseException) -> int:
    """Return the exit status of a script that ends with an error."""
    if not isinstance(error, SystemExit):
        return 1
    if isinstance(error.code, int):
        return error.code & 0xFF
    return int(error.code is not None)


def print_error(error: BaseException, script: str) -> None:
    """Print an error as Python does, from the script on; flush all."""
    where = error.__traceback__
    while where and where.tb_frame.f_code.co_filename != script:
        where = where.tb_next
    if not isinstance(error, SystemExit):
        traceback.print_exception(type(error), error, where)
    elif not isinstance(error.code, int):
        print(error.code, file=sys.stderr)
    sys.stderr.flush()
    sys.stdout.flush()


def say_where(script: str) -> None:
    """Say in which line the script is when the time of the job is up."""
    time.sleep(float(os.environ['JOB_LIMIT']))
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    if frame is None:  # Python is ending
        return
    lines = [
        (frame.f_code.co_filename, line)
        for frame, line in traceback.walk_stack(frame)
    ]
    places = [f'{os.path.basename(path)}:{line}' for path, line in lines]
    in_script = [p for p, (path, _) in zip(places, lines) if path == script]
    place = in_script[0] if in_script else places[0]
    say(-1, f'is at {place}' + f', in {places[0]}' * (place != places[0]))


def remove_shared_memory(comm) -> None:
    """Remove the names of MPICH's files in /dev/shm: a job that is killed
    would leave them behind. All ranks of this machine have them open."""
    if not os.path.isdir('/dev/shm'):
        return
    comm.Barrier()
    with open('/proc/self/maps') as file:
        paths = {line.split()[-1] for line in file if 'mpich_shm' in line}
    for path in paths:
        try:
            os.unlink(path)
        except FileNotFoundError:  # another rank was first
            pass


def describe_end(status: int, ended: bool) -> str:
    """Return how a process ended, in words."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        known = number in set(signal.Signals)
        name = signal.Signals(number).name if known else f'signal {number}'
        memory = ' (by the OOM killer, if memory ran out)'
        return f'was killed by {name}{memory if name == "SIGKILL" else ""}'
    if os.WEXITSTATUS(status):
        return f'ended with status {os.WEXITSTATUS(status)}'
    return 'ended' if ended else 'left without ending MPI, as by os._exit'


def main() -> None:
    """Run the script in a child; say how it ended, and end likewise."""
    end_with_parent()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        end_with_parent()  # mpiexec's SIGTERM does not end one that is stopped
        os.close(reader)
        # To stderr, it would write in pieces, and get a label for each.
        faulthandler.enable(writer, all_threads=False)
        run_script()
        os.write(writer, ENDED)
        return
    _, status = os.waitpid(child, 0)
    if os.getpgrp() == os.getpid():  # what the script started ends with it
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.killpg(0, signal.SIGTERM)
    os.set_blocking(reader, False)  # one of these may still have the pipe
    crash = b''
    with contextlib.suppress(BlockingIOError):
        crash = os.read(reader, 2**16)
    ended = crash.startswith(ENDED)
    os.write(STDERR, crash.replace(ENDED, b''))
    code = os.WEXITSTATUS(status) or int(not ended)
    if os.WIFSIGNALED(status):
        code = 128 + os.WTERMSIG(status)  # as a shell says it
    say(code, describe_end(status, ended))
    if code and 'HYDI_CONTROL_FD' in os.environ:
        # `jobs.py` ends the job when it hears that. MPICH's mpiexec alone
        # overlooks a bad status now and then, but not this request; it would
        # drop what was said just before.
        time.sleep(5)
        request = f'cmd=abort exitcode={code}\n'.encode()
        os.write(int(os.environ['PMI_FD']), request)
    os._exit(code)


if __name__ == '__main__':
    main()
