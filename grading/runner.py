"""Run the book's cells, and fork a process for each answer and its checks.

It runs alone, where nothing else of the grader can be seen, and reads jobs
from a socket. Each comes with a pipe, into which the fork writes what
happened. The answer, with the book's cells, is in one namespace, `__main__`;
the check and our solution are in another one, where the book's cells have run,
too. Of the answer only its function is there, through a guard, which tells
what a person should look at. The hidden checks that need not watch an answer
are in a third process, the judge, which is forked before it: see `calls.py`.
"""

import array
import ast
import asyncio
import builtins
import ctypes
import gc
import importlib
import inspect
import json
import linecache
import os
import re
import resource
import select
import signal
import socket
import struct
import sys
import tempfile
import traceback
import types

PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 4, 24, 38
PR_SET_CHILD_SUBREAPER, CLONE_NEWIPC = 36, 0x08000000
MS_NOSUID_NODEV, MS_BIND_REC, MS_MOVE, MNT_DETACH = 6, 0x5000, 0x2000, 2
MAX_FLAGS = 20  # of one answer


def main(shared):
    """Serve jobs, until there are no more.

    `shared`: what they have in common. With `early`, the book's cells run
    once, before the forks.
    """
    channel = socket.socket(fileno=os.dup(0))
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    try:
        serve(shared, channel)
    except BaseException as error:  # ours: no answer runs in this process
        channel.sendall(b'!' + explain(error).encode(errors='replace'))
    finally:
        os._exit(1)


def serve(shared, channel):
    """Fork a process for each job that comes."""
    protect()
    sys.modules['__main__'] = types.ModuleType('__main__')
    early = shared['early'] and prepare(shared)
    saved = files_in(shared['work'])
    gc.freeze()  # or the collector copies what the forks share
    state = limits()
    while True:
        job, pipe, *others = receive(channel)
        if job is None:
            end_all()
            os._exit(0)
        job.update(shared)
        places = cover(shared, saved) if shared['isolated'] else []
        calls = None
        if others:
            calls = start_judge(job, *others, (channel, pipe), early)
        answer = os.fork()
        if not answer:
            channel.close()
            run_job(job, pipe, early, calls)
        os.close(pipe)
        if calls:
            calls.close()
        while not select.select([channel], [], [], 0.02)[0]:
            if answer and os.waitpid(answer, os.WNOHANG)[0]:
                answer = 0
                end_all()
        channel.recv(1)
        end_all()
        reap()
        for place in reversed(places):
            checked(LIBC.umount2(place.encode(), MNT_DETACH))
        if limits() != state:  # by an answer, to hurt the next one
            os._exit(1)
        channel.sendall(b'.')


LIBC = ctypes.CDLL(None, use_errno=True)


def checked(result, *names):
    """Raise OSError if a call of C has failed."""
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), *names)


def protect():
    """Keep what an answer does away from this process, which serves others."""
    if sys.platform == 'linux':
        LIBC.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
        LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # none reaches process 1


def limits():
    """Return what one process may change of another one of its user."""
    names = [name for name in dir(resource) if name.startswith('RLIMIT_')]
    found = [resource.getrlimit(getattr(resource, name)) for name in names]
    if sys.platform == 'linux':
        found += [os.sched_getaffinity(0), os.sched_getscheduler(0)]
    return [*found, os.getpriority(os.PRIO_PROCESS, 0)]


def receive(channel):
    """Return the next job, its pipe and perhaps the judge's socket; (None,
    None) if there is none."""
    size = socket.CMSG_LEN(2 * array.array('i').itemsize)
    head, sent, *_ = channel.recvmsg(8, size)
    if len(head) < 8:
        return None, None
    with channel.makefile('rb', buffering=0) as file:
        text, length = b'', struct.unpack('>Q', head)[0]
        while len(text) < length:
            text += file.read(length - len(text))
    pipes = array.array('i', sent[0][2])
    for pipe in pipes:
        os.set_inheritable(pipe, False)
    return (json.loads(text), *pipes)


def end_all():
    """End all processes but this one, where no others are seen."""
    if os.getpid() == 1:
        try:
            os.kill(-1, signal.SIGKILL)
        except ProcessLookupError:
            pass


def reap():
    """Wait until there is no process of an answer."""
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        pass


def files_in(work):
    """Return [(path, content)] of what the book's cells have written, with
    None for a folder."""
    found = []
    for folder, below, names in os.walk(work):
        found += [(os.path.join(folder, name), None) for name in below]
        for name in names:
            path = os.path.join(folder, name)
            with open(path, 'rb') as file:
                found.append((path, file.read()))
    return found


def cover(shared, saved):
    """Mount empty folders where an answer may write; return them.

    What is needed to run is seen below them, and `saved` in `work`.
    """
    work, stage = shared['work'], os.path.join(shared['work'], '.stage')
    os.makedirs(stage, exist_ok=True)
    places = [p for p in shared['private'] if os.path.isdir(p)]
    places.sort(key=lambda place: work.startswith(f'{place}/'))  # it is last
    for place in places:
        mount('none', stage, 'tmpfs', MS_NOSUID_NODEV, 'size=64m,mode=1777')
        for folder in shared['kept']:
            if folder.startswith(f'{place}/'):
                below = stage + folder[len(place) :]
                os.makedirs(below, exist_ok=True)
                mount(folder, below, '', MS_BIND_REC, '')
        if work.startswith(f'{place}/'):
            os.makedirs(stage + work[len(place) :], exist_ok=True)
        mount(stage, place, '', MS_MOVE, '')
    mount('none', work, 'tmpfs', MS_NOSUID_NODEV, 'size=200m')
    for path, content in saved:
        if content is None:
            os.mkdir(path)
        else:
            with open(path, 'wb') as file:
                file.write(content)
    return [*places, work]


def mount(*arguments):
    """Mount (source, target, type, flags, options)."""
    checked(
        LIBC.mount(
            *(a if isinstance(a, int) else a.encode() for a in arguments)
        ),
        f'mount {arguments[0]} at {arguments[1]}',
    )


def prepare(shared):
    """Return (names of the answer, of the check, what failed) after the
    book's cells."""
    notebook = shared['notebook']
    theirs = fresh(vars(sys.modules['__main__']), notebook)
    ours = fresh({'__name__': '__main__'}, notebook)
    try:
        for one in (theirs, ours):
            for source in shared['before']:
                run(source, one)
    except BaseException as error:
        return theirs, ours, explain(error)
    return theirs, ours, ''


def start_judge(job, number, of_others, early):
    """Fork the process of the hidden checks; return the socket through which
    the answer's will be called.

    `number`: of the socket from which the judge reads the checks, and to
    which it writes the verdict. No process of an answer has it. `of_others`:
    a socket and a pipe that the judge does not need.
    """
    ours, theirs = socket.socketpair()
    if os.fork():
        os.close(number)
        ours.close()
        return theirs
    channel, pipe = of_others
    channel.close()
    os.close(pipe)
    theirs.close()
    with socket.socket(fileno=number) as grader:
        calls = execute(job['calls'])
        try:
            os.chdir(tempfile.mkdtemp(dir=enter(job)))
            set_limits(job)
            _, names, problem = early or prepare(job)
            os.chdir('/')  # where no answer puts a file to be imported
            checks = calls.receive(grader)
            if problem:
                raise RuntimeError(problem)
            verdict = calls.judge(
                ours, job['function'], checks, names, run, explain
            )
        except BaseException as error:  # ours
            verdict = 'failed', explain(error)
        calls.send(grader, verdict)
    os._exit(0)


def execute(source):
    """Return a module that no answer can import."""
    module = types.ModuleType('guard')
    vars(module)['__builtins__'] = dict(vars(builtins))
    exec(compile(source, '<guard>', 'exec'), vars(module))
    return module


def run_job(job, pipe, early, calls):
    """Run the answer of a job, and write a line about it.

    `early`: what `prepare` returned, if it ran before the fork. `calls`: the
    socket of the judge, or None.
    """
    getpid, exit_now = os.getpid, os._exit
    job_pid = getpid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # In C: an answer can change what is written in Python.
    quote = json.encoder.encode_basestring_ascii
    write, key = os.write, job.pop('secret')

    def tell(*what):
        if getpid() != job_pid:  # a process that an answer forked
            exit_now(0)
        line = ', '.join([quote(str(one)) for one in (key, *what)])
        write(pipe, f'[{line}]\n'.encode())

    try:
        os.chdir(enter(job))
        set_limits(job)
        guard, caller = execute(job.pop('guard')), execute(job.pop('calls'))
        theirs, ours, problem = early or prepare(job)
        import_for(job['checks'])
    except BaseException as error:  # ours: the answer has not begun
        tell('failed', explain(error))
        exit_now(1)
    tell('', problem)
    if problem:
        exit_now(1)

    flag = flagger(job['sources'], tell)
    before = most_memory()
    verdict = grade(job, theirs, ours, guard, flag)
    tell('grew', most_memory() - before)
    tell(*verdict)
    if calls and verdict[0] == 'passed':
        sources = job['sources']
        caller.answer_calls(
            calls,
            theirs[job['function']],
            theirs,
            lambda error: explain(error, sources),
        )
    # Whatever an answer has left behind, threads or finalizers, ends here.
    exit_now(0)


def flagger(sources, tell):
    """Return a function that tells once what a person should look at, and
    where it stands in the answer."""
    told = set()

    def flag(what, where=None):
        if what in told or len(told) >= MAX_FLAGS:
            return
        told.add(what)
        if isinstance(where, types.FrameType):
            index = number_of(where.f_code.co_filename)
            where = None if index is None else (index, where.f_lineno)
        text = ''
        if where:
            index, line = where
            lines = sources[index].split('\n')
            text = f' ({place(index, line, len(sources))}'
            if line <= len(lines):
                text += f': {lines[line - 1].strip()[:120]}'
            text += ')'
        tell('flag', f'{what}{text}')

    return flag


def number_of(file):
    """Return the index of the answer's cell that a code's file names."""
    found = re.fullmatch(r'<answer (\d+)>', file)
    return int(found[1]) if found else None


def place(index, line, number):
    """Return where a line of an answer with a number of cells stands."""
    return f'line {line} of ' + (
        f"the answer's cell {index + 1}" if number > 1 else 'the answer'
    )


def enter(job):
    """Return the folder of an answer, where its files are."""
    folder = job['work']
    if not job['isolated']:  # else it is new for each
        folder = tempfile.mkdtemp(dir=folder)
    for name in ('HOME', 'TMPDIR', 'MPLCONFIGDIR'):
        os.environ[name] = folder
    tempfile.tempdir = None
    return folder


def import_for(checks):
    """Import what checks will: else an answer could, under its name."""
    for package, names in re.findall(
        r'^\s*(?:from|import) ([\w.]+)(?: import ([\w, ]+))?',
        '\n'.join(checks),
        re.MULTILINE,
    ):
        below = re.findall(r'\w+', names)
        for name in [package, *(f'{package}.{one}' for one in below)]:
            try:
                importlib.import_module(name)
            except ImportError:
                continue


def fresh(names, notebook):
    """Return a namespace with separate builtins, and what a notebook has."""
    names['__builtins__'] = dict(vars(builtins))
    separate = {'__builtins__': dict(vars(builtins)), '__name__': 'notebook'}
    exec(compile(notebook, '<guard>', 'exec'), separate)
    names.update(separate['names_for'](names))
    return names


def most_memory():
    """Return the megabytes that this process has had at once."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def set_limits(job):
    """Limit the time of the processor; drop all capabilities."""
    limit = 2 * (job['seconds'] + 60)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not job['isolated']:
        return
    LIBC.unshare(CLONE_NEWIPC)
    for capability in range(64):
        LIBC.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    LIBC.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    LIBC.capset(header, (ctypes.c_uint32 * 6)())


def grade(job, theirs, ours, guard, flag):
    """Return (verdict, what the checks say) of an answer.

    `theirs`, `ours`: namespaces of the answer and of the check.
    """
    name, sources = job['function'], job['sources']
    trusted = tuple(job['trusted'])

    def replaced(what):
        flag(what, guard.line_that_sets(sources, what.split('.')[-1]))

    try:
        for what, where in guard.written(sources):
            flag(what, where)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return 'wrong', explain(error, sources)
    watch = guard.guard(replaced, trusted)
    guard.watch_events(flag, trusted, tuple(job['hidden']))
    try:
        for index, source in enumerate(sources):
            run(source, theirs, f'<answer {index}>')
        watch.compare()
        if name not in theirs:
            return 'wrong', f'{name} is not defined'
        ours[name] = watch.function(theirs[name])
        for check in job['checks']:
            run(check, ours)
        verdict = 'passed', ''
    except BaseException as error:
        try:  # what the error says may be the answer's code, too
            verdict = 'wrong', explain(error, sources)
        except Exception:
            verdict = 'wrong', type(error).__name__
    watch.compare()
    return verdict


def run(source, names, file='<cell>'):
    """Execute a cell. `inspect` finds the lines of an answer's functions; it
    must not find a check."""
    lines = source.splitlines(True)
    if file != '<cell>':
        linecache.cache[file] = len(source), None, lines, file
    code = compile(source, file, 'exec', ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    value = eval(code, names)
    if code.co_flags & inspect.CO_COROUTINE:  # as IPython does
        asyncio.run(value)


def explain(error, sources=()):
    """Return what an error says, on one line."""
    text = ' '.join(str(error).split())
    kind = type(error).__name__
    if kind in ('AssertionError', 'NotImplementedError') and text:
        return text[:500]
    if isinstance(error, SyntaxError) and error.filename == '<unknown>':
        return f'{kind}: {error.msg} (line {error.lineno} of the answer)'
    last = [
        place(number_of(frame.filename), frame.lineno, len(sources))
        for frame in traceback.extract_tb(error.__traceback__)
        if number_of(frame.filename) is not None
    ]
    where = f' ({last[-1]})' if last else ''
    return f'{kind}: {text}'[:500] + where
