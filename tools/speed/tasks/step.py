"""A training step, at several batch sizes."""

import time

from .data import read_images


def measure(trainer, trial, share, wait):
    """Return the seconds of a step at each of `batch_sizes`, and the loss
    after the steps of the first one: the same work gives the same loss."""
    result = {'seconds': {}}
    for batch_size in trial['batch_sizes']:
        batch = trainer.load(*read_images(batch_size, share))
        for _ in range(2):  # warm up
            trainer.step(*batch)
            trainer.drain()
            result.setdefault('first_step', time.time())
        wait()
        result['seconds'][batch_size] = seconds_per_step(
            trainer, batch, max(2, 8192 // batch_size)
        )
        if 'loss' not in result:
            result['loss'] = trainer.loss(*trainer.load(*read_images(256)))
    return result


def seconds_per_step(trainer, batch, num_steps):
    """Return the mean seconds of `num_steps` steps on one minibatch."""
    start = time.perf_counter()
    for _ in range(num_steps):
        trainer.step(*batch)
    trainer.drain()
    return (time.perf_counter() - start) / num_steps
