"""Run the tests of modules against each mutant of their functions.

    python tests/mutants.py replicas training.sgd

names the mutants that no test fails for. Each must be as right as the
function is: `equivalent.py` says why. Without names, the modules are those
of part I. All mutants, and what killed each, are in build/mutants.txt.

No library does this here: mutmut forks the process that has loaded the tests,
in which MXNet's threads then are missing; cosmic-ray starts a process for each
mutant, which takes longer than most tests; neither changes a notebook's cells.
"""

import argparse
import ast
import collections
import contextlib
import inspect
import itertools
import multiprocessing
import os
import pathlib
import resource
import signal
import sys
import textwrap
import threading
import time

import mutator
import pytest
from equivalent import FUNCTIONS

ROOT = pathlib.Path(__file__).parent.parent
PART_I = 'devices network replicas data training causes'.split()
# The tests of a module are in a file with its name, or in these.
TESTS = {
    'devices': ['devices', 'gpus'],
    **{name: [name, 'raw_data'] for name in ('network', 'training')},
    'checks': ['messages', *PART_I, 'raw_data'],
    **dict.fromkeys(
        (
            *('samestep.causes', 'samestep.examples', 'samestep.joint'),
            *('samestep.trees', 'samestep.functions', 'samestep.measure'),
            *('samestep.questions', 'samestep.updates'),
        ),
        ['samestep', 'thirty', 'questions', 'public_bugs', 'fifty'],
    ),
}
# It compares lines of the source, which a mutant is not compiled from.
LEFT_OUT = (
    'tests/taught/test_messages.py::test_each_raise_of_the_checks_has_a_line'
)
SECONDS = 20  # of the tests of a mutant, the module's own and fastest first
MEMORY = 12 * 2**30  # bytes: a loop that never ends may store more and more


def test_files(module):
    """Return the files with a module's tests."""
    name = module.split('.')[-1]
    files = [
        str(path)
        for each in TESTS.get(module, [name])
        for folder in ('tests', 'samestep/tests')
        for path in sorted(ROOT.glob(f'{folder}/**/test_{each}.py'))
    ]
    if not files:
        raise ValueError(f'no file test_{name}.py')
    return files


class Mutants:
    """A pytest plugin: instead of running the tests once, it runs those that
    reach a function, for each of its mutants until one fails."""

    def __init__(self, names, numbers, report):
        self.names, self.numbers, self.report = names, numbers, report

    def pytest_configure(self):
        import hypothesis

        hypothesis.settings.register_profile(
            'mutants',
            deadline=None,
            database=None,
            derandomize=True,
            phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
        )
        hypothesis.settings.load_profile('mutants')

    def pytest_runtestloop(self, session):
        """Report what kills each mutant."""
        reached, seconds = collections.defaultdict(list), {}
        first = session.items[0].path  # the module's own tests

        def order(item):
            return item.path != first, seconds[item]

        functions = {function for _, function, _ in listed(self.names)}
        for item in session.items:
            start = time.process_time()
            with mutator.calls_recorded(functions) as called:
                failed = run_test(item)
            if failed:
                self.report(('red', item.nodeid))
                return True
            seconds[item] = time.process_time() - start
            for name in called:
                reached[name].append(item)
        for number, function, tree in listed(self.names):
            if number not in self.numbers:
                continue
            tests = []
            for item in sorted(reached[function.__qualname__], key=order):
                if sum(map(seconds.get, tests)) < SECONDS:
                    tests.append(item)
            limit = 60 + 10 * sum(map(seconds.get, tests))
            self.report(('begin', number, 2 * limit))
            killer = None
            with mutator.in_place(function, tree):
                for item in tests:
                    if run_test(item, limit):
                        killer = item
                        break
            if killer:  # it may kill the next one, too: try it first
                seconds[killer] *= 0.3
            self.report(('end', number, killer and killer.nodeid, len(tests)))
        return True


def run_test(item, seconds=600):
    """Run a test; return whether it failed."""
    from _pytest.runner import runtestprotocol

    try:
        with mutator.time_limit(seconds):
            reports = runtestprotocol(item, log=False)
    except (TimeoutError, KeyboardInterrupt, SystemExit):
        item.session._setupstate.teardown_exact(None)
        return True
    return any(report.failed for report in reports)


def listed(names):
    """Yield (number, function, tree) of the mutants of functions:
    (module, function) each, or (module, None) for all of a module."""
    number = 0
    for module, wanted in names:
        functions = mutator.functions_of(mutator.load(module))
        for name, (function, tree) in functions.items():
            if wanted in (None, name, name.split('.')[0]):
                for _, mutant in mutator.mutants(tree):
                    yield number, function, mutant
                    number += 1


def work(names, numbers, connection):
    """Run some of the mutants of functions in this process."""
    os.setsid()
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    os.environ['OMP_NUM_THREADS'] = '1'
    with open(ROOT / 'build/mutants.log', 'a') as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    pytest.main(
        [
            *('-q', '-m', 'not long and not slow', f'--deselect={LEFT_OUT}'),
            *test_files(names[0][0]),
        ],
        [Mutants(names, numbers, connection.send)],
    )
    connection.close()


def run(names, numbers, found):
    """Run mutants in a process, and in another one when it hangs; add
    {number: (verdict, number of tests)} to `found`."""
    context = multiprocessing.get_context('spawn')
    numbers = set(numbers)
    while numbers:
        ours, theirs = context.Pipe()
        process = context.Process(target=work, args=(names, numbers, theirs))
        process.start()
        theirs.close()
        current, limit, left = None, 1200, len(numbers)
        try:
            while ours.poll(limit):
                kind, *what = ours.recv()
                if kind == 'begin':
                    current, limit = what
                elif kind == 'end':
                    current, limit = None, 1200
                    found[what[0]] = what[1] or 'survived', what[2]
                    numbers.discard(what[0])
                elif kind == 'red':
                    found['red'] = what[0]
                    return
        except EOFError:
            pass
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.join()
        if current is not None:
            found[current] = 'a hang or a crash', 0
            numbers.discard(current)
        elif left == len(numbers):
            return


def by_module(arguments):
    """Return {module: its (module, function) of the command line}."""
    named = collections.defaultdict(list)
    for argument in arguments or PART_I:
        module, _, function = argument.partition('.')
        if module in ('d2lmulti', 'd2lbase', 'd2ldoctor', 'samestep'):
            last, _, function = function.partition('.')
            module = f'{module}.{last}'
        named[module].append((module, function or None))
    return named


def survivors(module, names, workers, log):
    """Run the mutants of a module's functions; print and return how many
    survive that are not as right as the function."""
    every, found, start = list(listed(names)), {}, time.monotonic()
    threads = [
        threading.Thread(
            target=run, args=(names, range(i, len(every), workers), found)
        )
        for i in range(workers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(found) < len(every) or 'red' in found:
        red = found.get('red', 'what build/mutants.log ends with')
        raise SystemExit(f'{module}, without a mutant: {red} fails')
    alive = []
    for number, function, tree in every:
        name = f'{module}.{function.__qualname__}'
        change = changed_line(function, tree)
        verdict, num_tests = found[number]
        if verdict == 'survived' and change in FUNCTIONS.get(name, ()):
            verdict = 'as right'
        elif verdict == 'survived':
            alive.append(f'{name}: {change}')
        print(name, change, verdict, num_tests, sep='\t', file=log)
    log.flush()
    print(
        *alive,
        f'{module}: {len(alive)} of {len(every)} mutants survived '
        f'({time.monotonic() - start:.0f} s)',
        sep='\n',
        flush=True,
    )
    return len(alive)


def changed_line(function, tree):
    """Return the first line that differs, as `before -> after`."""
    source = textwrap.dedent(inspect.getsource(function))
    before = ast.parse(source).body[0]
    before.decorator_list = tree.decorator_list
    pair = [ast.unparse(each).splitlines() for each in (before, tree)]
    return next(
        f'{old.strip()} -> {new.strip()}'
        for old, new in itertools.zip_longest(*pair, fillvalue='')
        if old != new
    )


def main():
    """Print the survivors; return how many there are."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('names', nargs='*', metavar='module[.function]')
    parser.add_argument('--workers', type=int, default=os.cpu_count())
    args = parser.parse_args()
    (ROOT / 'build').mkdir(exist_ok=True)
    with open(ROOT / 'build/mutants.txt', 'w') as log:
        return sum(
            survivors(module, names, args.workers, log)
            for module, names in by_module(args.names).items()
        )


if __name__ == '__main__':
    sys.exit(main() > 0)
