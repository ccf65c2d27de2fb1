"""Run one answer and its checks; read a job from stdin, write what happened.

It runs alone, where nothing else of the grader can be seen. The answer, with
the book's cells, is in one namespace, `__main__`; the check and our solution
are in another one, where the book's cells have run, too. Of the answer only
its function is there, through a guard.
"""

import builtins
import functools
import importlib
import json
import linecache
import os
import re
import resource
import signal  # noqa: F401, which the guard changes
import sys
import traceback
import types

PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 4, 24, 38


def main(job):
    """Run the answer of a job, and write a line about it."""
    job_pid, exit_now = os.getpid(), os._exit
    # In C: an answer can change what is written in Python.
    quote = json.encoder.encode_basestring_ascii
    write, key = os.write, job.pop('secret')
    pipe = os.dup(1)  # answers print elsewhere
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    set_limits(job)

    def tell(*what):
        if os.getpid() != job_pid:  # a process that an answer forked
            exit_now(0)
        line = ', '.join([quote(str(one)) for one in (key, *what)])
        write(pipe, f'[{line}]\n'.encode())

    guard = types.ModuleType('guard')
    code = compile(job.pop('guard'), '<guard>', 'exec')
    vars(guard)['__builtins__'] = dict(vars(builtins))
    exec(code, vars(guard))
    module = sys.modules['__main__'] = types.ModuleType('__main__')
    try:
        theirs, ours = fresh(vars(module)), fresh({'__name__': '__main__'})
        for names in (theirs, ours):
            for source in job['before']:
                run(source, names)
        import_for(job['checks'])
    except BaseException as error:
        tell('', explain(error))
        exit_now(1)
    tell('', '')

    def tampered(what, line=0):
        line = line or guard.line_that_sets(
            job['sources'], what.split('.')[-1]
        )
        where = f' (line {line} of the answer)' if line else ''
        tell('tampered', f'the answer {what}{where}')
        exit_now(0)

    # Whatever an answer has left behind, threads or finalizers, ends here.
    tell(*grade(job, theirs, ours, guard, tampered))
    exit_now(0)


def import_for(checks):
    """Import what checks will: else an answer could, under its name."""
    for name in re.findall(
        r'^\s*(?:from|import) ([\w.]+)', '\n'.join(checks), re.MULTILINE
    ):
        try:
            importlib.import_module(name)
        except ImportError:
            continue


def fresh(names):
    """Return a namespace with separate builtins, and what a notebook has."""
    names['__builtins__'] = dict(vars(builtins))
    names['display'] = lambda *args, **kwargs: None
    names['get_ipython'] = Notebook
    return names


class Notebook:
    """What stands for IPython: its magics do nothing."""

    def run_line_magic(self, *args, **kwargs):
        """Do nothing."""

    run_cell_magic = system = getoutput = set_next_input = run_line_magic


def set_limits(job):
    """Limit the time of the processor; drop all capabilities."""
    limit = 2 * (job['seconds'] + 60)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not job['isolated']:
        return
    import ctypes

    call = ctypes.CDLL(None)
    for capability in range(64):
        call.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    call.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    call.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    call.capset(header, (ctypes.c_uint32 * 6)())


def grade(job, theirs, ours, guard, tampered):
    """Return (verdict, what the checks say) of an answer.

    `theirs`, `ours`: namespaces of the answer and of the check.
    """
    name, sources = job['function'], job['sources']

    def replaced(what):
        tampered(f'replaces {what}' if '.' in what else f'leaves {what}')

    try:
        what, line = guard.suspicious(sources)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return 'wrong', explain(error)
    if what:
        tampered(what, line)
    theirs['__builtins__']['getattr'] = guard.checked_getattr(tampered)
    try:
        guard.forbid(tampered, tuple(job['trusted']), tuple(job['hidden']))
        watch = guard.Guard(ours, replaced, tuple(job['trusted']))
        for source in sources:
            watch.call(lambda: run(source, theirs, guard.ANSWER))  # noqa: B023
        if name not in theirs:
            return 'wrong', f'{name} is not defined'
        watch.compare(watch.before, watch.all())
        ours[name] = watch.function(theirs[name])
        for check in job['checks']:
            run(check, ours)
        verdict = 'passed', ''
    except BaseException as error:
        try:  # what the error says may be the answer's code, too
            said = watch.call(functools.partial(explain, error))
            verdict = 'wrong', said
        except Exception:
            verdict = 'wrong', type(error).__name__
    watch.compare(watch.before, watch.all())
    return verdict


def run(source, names, file='<cell>'):
    """Execute a cell. `inspect` finds the lines of an answer's functions; it
    must not find a check."""
    lines = source.splitlines(True)
    if file != '<cell>':
        linecache.cache[file] = len(source), None, lines, file
    exec(compile(source, file, 'exec'), names)


def explain(error):
    """Return what an error says, on one line."""
    text = ' '.join(str(error).split())
    kind = type(error).__name__
    if kind in ('AssertionError', 'NotImplementedError') and text:
        return text[:500]
    if isinstance(error, SyntaxError) and error.filename == '<unknown>':
        return f'{kind}: {error.msg} (line {error.lineno} of the answer)'
    last = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == '<answer>'
    ]
    where = f' (line {last[-1]} of the answer)' if last else ''
    return f'{kind}: {text}'[:500] + where
