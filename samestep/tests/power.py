"""Count false alarms, and find the smallest bugs that are seen, by precision
and optimizer: from the folder above, `python tests/power.py`. It writes
POWER.md there; `python tests/power.py 50` tries 50 right steps in each row of
its first table, and half as many in the second, whose answers take longer.

It needs NumPy alone: products read their numbers rounded to TF32 or bfloat16,
as tensor cores and autocast do.
"""

import pathlib
import sys

import numpy as np
import steps
from plain import shards_of

from samestep import same_step

PAGE = pathlib.Path(__file__).parents[1] / 'POWER.md'
FIRST_SEED = 20_000  # no test has these
SIZES = 30, 61, 250, 1000, 4000
SCALES = [10.0**-n for n in range(1, 7)]
TRIES = 5  # seeds in which a bug must be seen
HEAD = """# What `same_step` sees, and how often it is wrong

Written by `python tests/power.py`. A network of two layers with `tanh` and a
layer norm trains on 2 to 4 devices, by minibatches of 61 examples. Seeds are
those of no test. **Alarms**: right steps that are called wrong; none in *n*
means, with 95 % confidence, fewer than 3/*n* of all. **Nearest**: the largest
error of the update of a right step, as a part of its bound. **Scale**: the
smallest ε of 10⁻¹, 10⁻², … for which gradients times 1 + ε are seen, in each
of {tries} seeds. **One of**: the largest minibatch ({sizes}), of
which one example less is seen, in each of {tries} seeds.

TF32 and bfloat16 are rounded in NumPy; `low` is the reference so rounded. The
first table is of steps that return `Taken(gradients, params)`, the second of
steps that return new arrays alone, where those that clip are refused. There,
Adam can turn a gradient near 0 into a whole step to the other side, which is
then the bound.
"""
TABLE = """
| precision | optimizer | right steps | alarms | nearest | scale | one of |
|---|---|---|---|---|---|---|
"""


def answer(seed, read, update, both, change=lambda grads: grads, lost=0, n=61):
    """Return what is said of a step on 2 to 4 devices, whose gradients are
    changed and which has lost some of the n examples."""
    k = 2 + seed % 3
    params, _ = steps.case(seed)
    rng = np.random.RandomState(seed)
    batch = rng.normal(size=(n, 20)), rng.randint(0, 5, n)

    def found(params, X, y):
        kind = params['net']['first']['bias'].dtype.type
        rows = len(X) - lost
        parts = [
            steps.gradients(params, *shard, read)
            for shard in shards_of(X[:rows], y[:rows], k)
        ]
        return steps.each(lambda *g: sum(g) / kind(len(X)), *parts)

    taken = steps.taken(found, update, change)
    return same_step(
        taken if both else lambda *given: taken(*given).params,
        steps.mean_gradients,
        params,
        [batch],
        low=None
        if read is steps.EXACT
        else lambda *given: steps.mean_gradients(*given, read),
        update=update,
    )


def seen(*given, **bug):
    """Return whether a bug is seen with each seed."""
    seeds = range(FIRST_SEED, FIRST_SEED + TRIES)
    return all(not answer(seed, *given, **bug) for seed in seeds)


def row(precision, optimizer, both, many):
    """Return a row of the table."""
    given = steps.READS[precision], steps.UPDATES[optimizer], both
    right = [
        answer(seed, *given) for seed in range(FIRST_SEED, FIRST_SEED + many)
    ]
    nearest = max(d.error / d.bound for c in right for d in c.differences)
    alarms = sum(not comparison for comparison in right)
    scale = next(
        (
            f'10{str(-n).translate(str.maketrans("-123456", "⁻¹²³⁴⁵⁶"))}'
            for n in range(len(SCALES), 0, -1)
            if seen(*given, change=steps.times(1 + SCALES[n - 1]))
        ),
        'none',
    )
    size = 'none'
    for n in SIZES:
        if not seen(*given, lost=1, n=n):
            break
        size = f'{n:,}'
    return (
        f'| {precision} | {optimizer} | {many:,} | {alarms} | {nearest:.2f} '
        f'| {scale} | {size} |\n'
    )


def main(many=1000):
    """Write the page."""
    sizes = ', '.join(f'{n:,}' for n in SIZES)
    page = HEAD.format(tries=TRIES, sizes=sizes)
    for both in True, False:
        page += TABLE
        for precision in steps.READS:
            for optimizer in steps.UPDATES:
                if both or 'clipped' not in optimizer:
                    steps_taken = int(many) if both else int(many) // 2
                    page += row(precision, optimizer, both, steps_taken)
                    print(page.splitlines()[-1], flush=True)
    PAGE.write_text(page, 'utf-8')


if __name__ == '__main__':
    main(*sys.argv[1:])
