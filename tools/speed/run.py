"""Measure this project beside its peers, in turn; see results/.

    make bench                  50 minutes; writes RESULTS.md
    make bench SUITE=large_batch   large minibatches, 5 minutes; LARGE_BATCH.md
    make bench SUITE=compression   sending less, 15 minutes; COMPRESSION.md
    make bench SUITE=quick      two minutes; writes build/bench-quick.md

Run it on a quiet machine: a busy core takes the second device away.
"""

import argparse
import time

from .report.machine import (
    describe_load,
    describe_machine,
    find_versions,
    others_time,
)
from .suites import BUILD, SUITES
from .trials import run_rounds


def main():
    """Parse the command line, measure, and write the tables."""
    options = parse_options()
    suite = SUITES[options.suite]
    num_rounds = options.rounds or suite.num_rounds
    BUILD.mkdir(exist_ok=True)
    notes = [describe_machine()]
    start, others = time.monotonic(), others_time()
    results = run_rounds(suite.list_trials(notes), num_rounds, notes)
    elapsed = time.monotonic() - start
    if suite.is_timed:
        notes.append(describe_load(others_time() - others, elapsed))
    notes.append(find_versions(results))
    suite.write(results, notes, num_rounds, suite.out)
    print(suite.out.read_text())


def parse_options():
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument(
        'suite',
        nargs='?',
        choices=SUITES,
        default='full',
        help='full if not given',
    )
    parser.add_argument(
        '--rounds', type=int, help='those of the suite if not given: 1 to 5'
    )
    return parser.parse_args()


if __name__ == '__main__':
    main()
