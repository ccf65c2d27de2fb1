"""How right steps are drawn from lists of models, losses, optimizers and
ways to compute gradients, and tried, in any framework."""

import collections
import itertools
import random
import sys

import numpy as onp

from samestep import NothingMoves

ROWS, TOKENS, WORDS, CLASSES, WIDTH = 13, 4, 11, 5, 8
VECTORS, IMAGES, TEXTS = (10,), (6, 6, 3), (TOKENS,)
# How the losses of labels become that of a minibatch.
REDUCTIONS = 'mean', 'summed', 'mean of some labels'
# What the step returns, and of how many minibatches.
ASKED = 'both', 'both of 3', 'new arrays', 'results', 'results of 3'


class Variant:
    """A right step, and the plain one."""

    def __init__(self, **parts):
        self.__dict__.update(parts)
        self.name = ', '.join(parts.values())

    def is_right(self):
        """Whether it makes the plain step at all."""
        return True

    def compare(self, seed):
        """Return the Comparison of both."""
        raise NotImplementedError


def drawn(parts, rng):
    """Yield from a list again and again, in another order each time."""
    while True:
        yield from rng.sample([*parts], len(parts))


def variants(kind, number, **parts):
    """Return different variants, of which each part comes about as often: at
    least so many, and until all parts are there."""
    rng, found = random.Random(0), {}
    endless = {name: drawn(own, rng) for name, own in parts.items()}
    missing = {(name, part) for name, own in parts.items() for part in own}
    while len(found) < number or missing:
        chosen = {name: next(own) for name, own in endless.items()}
        variant = kind(**chosen)
        if variant.is_right():
            found.setdefault(variant.name, variant)
            missing -= {*chosen.items()}
    return [*found.values()]


def cases(found, first, quick=0):
    """Return (seed, variant) of each, for pytest; all but some are long."""
    import pytest

    return [
        pytest.param(
            first + i,
            variant,
            marks=[pytest.mark.long] if i >= quick else [],
            id=variant.name,
        )
        for i, variant in enumerate(found)
    ]


def minibatch(rng, shape, rows=ROWS):
    """Return inputs of this shape, and labels."""
    if shape == TEXTS:
        X = rng.integers(0, WORDS, (rows, *shape))
        return X, rng.integers(0, WORDS, X.shape)
    return rng.normal(size=(rows, *shape)), rng.integers(0, CLASSES, rows)


def asked(variant, shape, rng):
    """Return whether the step returns gradients, whether the reference
    does, and minibatches."""
    sizes = (ROWS, 9, 16) if variant.asked.endswith('3') else (ROWS,)
    return (
        variant.asked.startswith('both'),
        not variant.asked.startswith('results'),
        [minibatch(rng, shape, rows) for rows in sizes],
    )


def can_be_asked(variant):
    """Whether what the step returns shows if the gradients were right:
    rounding moves the results of most optimizers far, and new arrays alone
    are refused where clipping or Adam hides a factor."""
    if variant.asked.startswith('both'):
        return True
    by_size = variant.optimizer.startswith(('sgd', 'momentum', 'nesterov'))
    clips = variant.asked == 'new arrays' and variant.clip != 'unclipped'
    return by_size and not clips


def weights_of(labels, reduction):
    """Return by what the loss of each label is multiplied: arrays of NumPy,
    whatever the framework."""
    labels = onp.asarray(labels)
    seen = onp.ones(labels.shape)
    if reduction == 'mean of some labels':
        seen = (labels % 3 != 0).astype('float64')
    with onp.errstate(invalid='ignore'):  # a mean of none is not a number
        return seen / (10 if reduction == 'summed' else seen.sum())


def main(found, first, seeds=5):
    """Print alarms, and how many there are by precision and optimizer;
    return whether there are any."""
    tried: collections.Counter = collections.Counter()
    alarms: collections.Counter = collections.Counter()
    for (i, variant), j in itertools.product(
        enumerate(found), range(int(seeds))
    ):
        seed = first + 100 * i + j
        try:
            is_right = variant.compare(seed)
        except NothingMoves:
            tried['not judged: nothing moves'] += 1
            continue
        for name in variant.precision, variant.optimizer, 'all':
            tried[name] += 1
            alarms[name] += not is_right
        if not is_right:
            print(f'{variant.name}, seed {seed}\n{is_right}')
            sys.stdout.flush()
    for name, number in tried.items():
        print(f'{name}: {alarms[name]} alarms in {number} right steps')
    return alarms['all'] > 0
