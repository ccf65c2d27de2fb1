"""Run a script in several processes that exchange by MPI, within a limit.

`python -m d2lmulti.cluster.jobs -n 3 --restarts 3 train.py checkpoints` is
`mpiexec -n 3 python train.py checkpoints`, and what that lacks: a time limit
that holds, the name and the status of the rank that failed, whole lines of up
to 4 KB behind each label, and nothing that is left behind.
"""

import argparse
import contextlib
import os
import pathlib
import re
import selectors
import shlex
import shutil
import signal
import subprocess
import sys
import time
from typing import IO, Dict, Mapping, Optional, Sequence, Tuple

from ..check_values import (
    check_integer,
    check_positive_int,
    check_positive_number,
)
from .rank import MARK, end_with_parent

__all__ = ['JobFailed', 'run_job']

RANK = pathlib.Path(__file__).with_name('rank.py')
SAID = re.compile(MARK + r'rank (\d+) \[(-?\d+)\] (.*)')
GRACE = 2  # seconds for ranks to say where they are, and for mpiexec to end
TIMED_OUT = 124  # the exit status, as of the command `timeout`


class JobFailed(RuntimeError):
    """A rank failed, or the time was up.

    `status`: of the rank that failed first, or 128 + the number of the signal
    that killed it, or 124.
    """

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def run_job(
    command: Sequence[str],
    processes: int = 2,
    limit: float = 300,
    restarts: int = 0,
    out: Optional[IO[str]] = None,
    err: Optional[IO[str]] = None,
    variables: Optional[Mapping[str, str]] = None,
    mpiexec: Sequence[str] = (),
) -> None:
    """Run a Python script in several processes; each is a rank of MPI.

    `command`: the script's path and its arguments. `limit`: seconds; then
    each rank prints where it is, and the job ends. `restarts`: how often a
    job that failed starts again. Lines go to `out` and `err`, by default
    Python's, behind the number of their rank. `variables`: for the
    environment. `mpiexec`: options of MPICH's, such as '-hosts', 'a,b'.
    Raises JobFailed, FileNotFoundError without the script or mpiexec, and
    TypeError or ValueError.
    """
    check_job(command, processes, limit, restarts)
    full = [find_mpiexec(), '-prepend-rank', '-n', str(processes), *mpiexec]
    full += [sys.executable, str(RANK), *map(str, command)]
    job = Job(full, processes, limit, out or sys.stdout, err or sys.stderr)
    for start in range(restarts + 1):
        try:
            return job.run(variables or {})
        except JobFailed as error:
            if start == restarts:
                raise
            print(
                f'{error}: start {start + 2} of {restarts + 1}', file=job.err
            )


def check_job(
    command: Sequence[str], processes: int, limit: float, restarts: int
) -> None:
    """Raise TypeError, ValueError or FileNotFoundError unless it can run."""
    check_positive_int(processes=processes)
    check_positive_number(limit=limit)
    check_integer(0, restarts=restarts)
    if isinstance(command, str) or not command:
        raise TypeError(
            "command must be a list, such as ['train.py', 'checkpoints'], "
            f'not {command!r:.60}'
        )
    if not os.path.isfile(command[0]):
        raise FileNotFoundError(f'there is no script {command[0]}')
    if ':' in command:
        raise ValueError("mpiexec takes ':' for its own: leave it out")


def find_mpiexec() -> str:
    """Return the path of the mpiexec beside this Python, or on the PATH.

    Raises FileNotFoundError, with the command that installs one.
    """
    beside = os.path.dirname(sys.executable)
    path = shutil.which('mpiexec', path=beside) or shutil.which('mpiexec')
    if not path:
        raise FileNotFoundError(
            'there is no mpiexec: install it with '
            f'{sys.executable} -m pip install mpich mpi4py'
        )
    return path


class Job:
    """What is known of a job while it runs."""

    def __init__(
        self,
        command: Sequence[str],
        processes: int,
        limit: float,
        out: IO[str],
        err: IO[str],
    ) -> None:
        self.command, self.processes, self.limit = command, processes, limit
        self.out, self.err = out, err

    def run(self, variables: Mapping[str, str]) -> None:
        """Run it once; raise JobFailed if it fails."""
        self.ended: Dict[int, Tuple[int, str]] = {}  # rank: status, in words
        self.places: Dict[int, str] = {}  # where ranks are at the end
        environment = {
            **os.environ,
            'JOB_LIMIT': str(self.limit),
            **variables,
        }
        environment.pop('PYTHONUNBUFFERED', None)  # it cuts lines
        process = subprocess.Popen(
            self.command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
            preexec_fn=end_with_parent,
        )
        self.deadline = time.monotonic() + self.limit + GRACE
        try:
            self.forward(process)
            status = process.wait(max(1, self.deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            status = TIMED_OUT
        finally:
            end(process)
        self.judge(status)

    def forward(self, process: subprocess.Popen) -> None:
        """Print what the ranks print until there is no more."""
        readers = [
            Lines(process.stdout, self.out),
            Lines(process.stderr, self.err),
        ]
        with selectors.DefaultSelector() as selector:
            for reader in readers:
                selector.register(reader.pipe, selectors.EVENT_READ)
            while not all(reader.closed for reader in readers):
                left = self.deadline - time.monotonic()
                if left <= 0:
                    raise subprocess.TimeoutExpired(self.command, self.limit)
                selector.select(min(left, 3600))
                for reader in readers:
                    if not reader.closed:
                        self.show(reader)
                    if reader.closed and reader.pipe in selector.get_map():
                        selector.unregister(reader.pipe)

    def show(self, reader: 'Lines') -> None:
        """Print the lines that a pipe has now."""
        text = reader.read()
        if MARK in text:
            text = ''.join(map(self.hear, re.findall('.*\n|.+', text)))
        reader.file.write(text)
        reader.file.flush()

    def hear(self, line: str) -> str:
        """Note what a rank says of itself; return the rest of the line."""
        said = SAID.search(line)
        if not said:
            return line
        rank, status, what = said.groups()
        if int(status) < 0:
            self.places[int(rank)] = what
        else:
            self.ended.setdefault(int(rank), (int(status), what))
            if int(status):  # time for lines that are on their way
                self.deadline = min(self.deadline, time.monotonic() + 0.5)
        rest = line[: said.start()]
        return '' if re.fullmatch(r'\[\d+\] ', rest) else f'{rest}\n'

    def judge(self, status: int) -> None:
        """Raise JobFailed unless all ranks have ended well."""
        for rank, (rank_status, how) in self.ended.items():
            if rank_status:
                raise JobFailed(f'rank {rank} {how}', rank_status)
        if status == TIMED_OUT:
            raise JobFailed(self.explain_limit(), status)
        if status:
            raise JobFailed(f'mpiexec ended with status {status}', status)
        missing = [i for i in range(self.processes) if i not in self.ended]
        if missing:
            raise JobFailed(f'rank {missing[0]} ended without a word', 1)

    def explain_limit(self) -> str:
        """Return where each rank was when the time was up."""
        silent = (
            'does not answer: it is stopped, in C code, or was never there'
        )
        ends = {i: how for i, (_, how) in self.ended.items()}
        whole = {**self.places, **ends}
        return f'no end after {self.limit:g} s: ' + '; '.join(
            f'rank {i} {whole.get(i, silent)}' for i in range(self.processes)
        )


class Lines:
    """Whole lines of a pipe."""

    def __init__(self, pipe, file: IO[str]) -> None:
        self.pipe, self.file, self.rest, self.closed = pipe, file, b'', False
        os.set_blocking(pipe.fileno(), False)

    def read(self) -> str:
        """Return the lines that are there; at its end, all that is left."""
        try:
            data = os.read(self.pipe.fileno(), 2**20)
        except BlockingIOError:
            return ''
        self.closed = not data
        whole, newline, self.rest = (self.rest + data).rpartition(b'\n')
        if self.closed:
            whole, newline, self.rest = whole + newline + self.rest, b'', b''
        return (whole + newline).decode(errors='replace')


def end(process: subprocess.Popen) -> None:
    """End mpiexec and, through it, all ranks."""
    for ask in (process.terminate, process.kill):
        if process.poll() is None:
            ask()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(GRACE)
    for pipe in (process.stdout, process.stderr):
        pipe.close()  # type: ignore


def main() -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(
        prog='python -m d2lmulti.cluster.jobs', description=run_job.__doc__
    )
    parser.add_argument('-n', type=int, default=2, help='processes')
    parser.add_argument('--limit', type=float, default=300, help='seconds')
    parser.add_argument('--restarts', type=int, default=0)
    parser.add_argument('--mpiexec', default='', help="such as '-hosts a,b'")
    parser.add_argument('command', nargs=argparse.REMAINDER)
    options = parser.parse_args()

    def leave(number, frame):
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, leave)  # so that the job ends, too
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors='replace')  # type: ignore
    job = options.command, options.n, options.limit, options.restarts
    try:
        check_job(*job)
        find_mpiexec()
    except (OSError, TypeError, ValueError) as error:
        parser.error(str(error))
    try:
        run_job(*job, mpiexec=shlex.split(options.mpiexec))
    except JobFailed as error:
        print(error, file=sys.stderr)
        return error.status
    return 0


if __name__ == '__main__':
    sys.exit(main())
