"""Run answers and their checks; read a job from stdin, write what happened.

It runs alone, where nothing else of the grader can be seen.
"""

import json
import linecache
import os
import resource
import sys
import time
import traceback
import types


def main():
    """Run each answer of the job, and write a line for it."""
    job, job_pid = json.load(sys.stdin), os.getpid()
    results = os.fdopen(os.dup(1), 'w')  # answers print elsewhere
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    limit = 2 * job['seconds'] * (1 + len(job['answers']))
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    module = types.ModuleType('__main__')
    sys.modules['__main__'] = module
    names = vars(module)

    def tell(*what):
        if os.getpid() != job_pid:  # a process that an answer forked
            os._exit(0)
        results.write(json.dumps([job['secret'], *what]) + '\n')
        results.flush()

    try:
        for source in job['before']:
            run(source, names)
    except BaseException as error:
        tell('', explain(error), 0)
        os._exit(1)
    tell('', '', 0)
    ours = dict(names)
    for answer in job['answers']:
        start = time.monotonic()
        message = grade(answer, names, ours)
        tell(answer['id'], message, round(time.monotonic() - start, 1))
    os._exit(0)  # whatever threads an answer has left behind


def grade(answer, names, ours):
    """Return '' if the checks accept an answer, else what they say."""
    names.update(ours)  # whatever an earlier answer has overwritten
    names.pop(answer['function'], None)
    try:
        for source in answer['sources']:
            run(source, names)
        if answer['function'] not in names:
            return f'{answer["function"]} is not defined'
        # A check uses the book's names, whatever an answer has overwritten.
        names.update(
            {name: ours[name] for name in answer['used'] if name in ours}
        )
        for check in answer['checks']:
            run(check, names)
    except BaseException as error:
        return explain(error)
    return ''


def run(source, names):
    """Execute a cell, so that a traceback shows its lines."""
    linecache.cache['<cell>'] = (
        len(source),
        None,
        source.splitlines(True),
        '<cell>',
    )
    exec(compile(source, '<cell>', 'exec'), names)


def explain(error):
    """Return what an error says, on one line."""
    text = ' '.join(str(error).split())
    kind = type(error).__name__
    if kind in ('AssertionError', 'NotImplementedError') and text:
        return text[:500]
    last = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == '<cell>'
    ]
    where = f' (line {last[-1]} of the cell)' if last else ''
    return f'{kind}: {text}'[:500] + where


if __name__ == '__main__':
    main()
