"""Count how often `all_close` would call a right gradient wrong.

    python -m tools.speed.false_alarms [MINUTES]

LeNet's gradients of random minibatches, for parameters of many seeds: with
the examples in one more order, how many spreads are they from the first?
Writes results/FALSE_ALARMS.md.
"""

import pathlib
import sys
import time

import numpy as onp

from d2lmulti import (
    SPREADS,
    in_several_orders,
    init_params,
    lenet,
    loss,
    rounding_ratio,
)

# isort: split
from mxnet import autograd, np  # which d2lmulti has prepared

RESULTS = pathlib.Path(__file__).with_name('results') / 'FALSE_ALARMS.md'
HEAD = f"""# How often is a right result further away than `all_close` allows?

`python -m tools.speed.false_alarms` computes LeNet's gradients of random
minibatches of 13, 32 and 61 images, for parameters of many seeds. Each is
compared with the same gradient in other orders of the examples, as chapters
compare, in spreads. {SPREADS} are allowed. None above in *n* means, with 95 %
confidence, fewer than 3/*n*.

| spread from | gradients | median | 99 % | largest | above {SPREADS} |
|---|---|---|---|---|---|
"""


def gradients(batches, params, dtype='float32'):
    """Return the gradients of the summed loss of one minibatch."""
    ((X, y),) = batches
    params = [param.astype(dtype) for param in params]
    for param in params:
        param.attach_grad()
    with autograd.record():
        total = loss(lenet(X.astype(dtype), params), y).sum()
    total.backward()
    return [param.grad.asnumpy() for param in params]


def ratios_of(seed):
    """Return the distances of a gradient in a new order: from four orders,
    and from one order with float64 as the only other result."""
    rng = onp.random.RandomState(seed)
    n = int(rng.choice([13, 32, 61]))
    X = np.array(rng.uniform(size=(n, 1, 28, 28)), dtype='float32')
    y = np.array(rng.randint(0, 10, n), dtype='int32')
    params = init_params(seed)
    batches = [(X, y)]
    several = in_several_orders(lambda each: gradients(each, params), batches)
    exact = gradients(batches, params, 'float64')
    order = rng.permutation(n)
    grads = gradients([(X[order], y[order])], params)
    return [rounding_ratio(grads, r) for r in (several, [several[0], exact])]


def main(minutes=5):
    """Measure for so many minutes, and write the table."""
    deadline, found = time.monotonic() + 60 * float(minutes), []
    while time.monotonic() < deadline:
        found.append(ratios_of(len(found)))
    rows = []
    for name, ratios in zip(('four orders', 'float64 alone'), zip(*found)):
        middle, high = onp.quantile(ratios, [0.5, 0.99])
        above = sum(ratio > SPREADS for ratio in ratios)
        rows.append(
            f'| {name} | {len(ratios):,} | {middle:.2f} | {high:.2f} '
            f'| {max(ratios):.2f} | {above} |\n'
        )
    RESULTS.write_text(HEAD + ''.join(rows))
    print(HEAD + ''.join(rows))


if __name__ == '__main__':
    main(*sys.argv[1:])
