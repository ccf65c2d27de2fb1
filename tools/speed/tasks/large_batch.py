"""The long version of chapter 11's experiments, for one seed.

It runs the chapter's own cells, those tagged "benchmark".
"""

import numpy

from .tagged_cells import run_tagged

SETTINGS = ((8, 1), (128, 1), (128, 4), (128, 16), (128, 32))
SIZES = (4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)
RATES = (0.07, 0.1, 0.15, 0.2, 0.3, 0.45, 0.7, 1, 1.5, 2, 3, 4.5, 7)
UPDATE_SIZE = 2048


def measure(trial):
    """Return accuracies, steps to the target, and the noise scale."""
    chapter, seed = run_chapter(), trial['seed']
    with numpy.errstate(all='ignore'):  # some rates are too large
        return {
            'accuracies': accuracies(chapter, seed),
            'steps': {
                size: steps_by_rate(chapter, size, seed) for size in SIZES
            },
            'updates': {
                name: steps_by_rate(chapter, UPDATE_SIZE, seed, update)
                for name, update in chapter['updates'].items()
            },
            'noise scale': noise_scale(chapter, seed),
        }


def run_chapter():
    """Return the names that the chapter's tagged cells leave behind."""
    from d2lmulti import data
    from d2lmulti.learning import large_batch

    names = {**vars(data), **vars(large_batch), 'onp': numpy}
    return run_tagged('large_batch', names)


def accuracies(chapter, seed):
    """Return the final accuracies by examples, rate and schedule."""
    return [
        [size, factor, name, chapter['final_accuracy'](size, schedule, seed)]
        for size, factor in SETTINGS
        for name, schedule in chapter['schedules'](0.1 * factor, size).items()
    ]


def rates_for(size, update=None):
    """Return the learning rates to try: no best one is at their ends."""
    low, high = (0.07, 1) if size < 64 else (0.3, 7 if update else 3)
    return [lr for lr in RATES if low <= lr <= high]


def steps_by_rate(chapter, size, seed, update=None):
    """Return [rate, steps to the target] of each rate; infinity for more
    than 1.5 times the steps of the best rate so far."""
    found, limit = [], 2000
    for lr in rates_for(size, update):
        steps = chapter['steps_to_target'](
            size, lr, seed, update or chapter['gradient_descent'], limit
        )
        found.append([lr, steps])
        if steps <= limit:
            limit = min(limit, int(1.5 * steps))
    return found


def noise_scale(chapter, seed):
    """Return the gradient noise scale of the first parameters."""
    variance, square = chapter['gradient_noise'](
        64, chapter['first_params'](seed), 1000
    )
    return float(64 * variance / square)
