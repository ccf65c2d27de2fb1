"""How often a wrong move counts each example of the minibatch."""

import numpy as np

MOST_EXAMPLES = 256  # the reference is called once for each
MOST_RUNS = 8  # more of them say nothing


def example_counts(alone, move, right, bounds, k):
    """Return in words how often a wrong move counts each example, or ''.

    `alone`: for each example its own move; all moves are vectors of the same
    numbers. The move of the right step must be the mean of them. `bounds`:
    for each number, the largest error that rounding explains.
    """
    n = len(alone)
    columns = np.stack(alone, axis=1) / n / bounds[:, None]
    if len(move) < 2 * n or abs(columns.sum(1) - right / bounds).max() > 1:
        return ''
    inverse = np.linalg.pinv(columns)
    counts = inverse @ (move / bounds)
    if abs(columns @ counts - move / bounds).max() > 1:
        return ''
    unsure = np.sqrt((inverse**2).sum(1))  # from one bound in each number
    if unsure.max() > 0.2:
        return ''
    for step, words in ((1, ''), (k, f'one in {k} of ')):
        groups = [counts[i::step] for i in range(step)]
        runs = [
            run
            for i, group in enumerate(groups)
            for run in runs_of(group, 0.002 + unsure[i::step], i, step)
        ]
        if len(runs) <= max(MOST_RUNS, k):
            said = [f'{words}{place(*run)} {often(c)}' for *run, c in runs]
            return f'Of the {n} rows it counts {", ".join(said)}.'
    return (
        f'Of the {n} rows it counts each by its own weight, from '
        f'{counts.min():.3g} to {counts.max():.3g}.'
    )


def runs_of(counts, unsure, start, step):
    """Return (first, last, count) of each run of equal counts, whose
    examples are start, start + step, …"""
    runs, first = [], 0
    for i in range(1, len(counts) + 1):
        known = np.median(counts[first:i])
        if i == len(counts) or abs(counts[i] - known) > unsure[i]:
            at = start + step * first, start + step * (i - 1)
            runs.append((*at, round(float(known), 3) + 0.0))
            first = i
    return runs


def place(first, last):
    """Return which examples these are."""
    return f'{first} to {last}' if last > first else f'{first}'


def often(count):
    """Return how many times that is, in words."""
    return {0: 'never', 1: 'once', 2: 'twice'}.get(count, f'{count:.3g} times')
