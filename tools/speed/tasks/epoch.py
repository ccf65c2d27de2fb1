"""An epoch, loading included."""

import time

from .data import read_images


def measure(trainer, trial, share, wait):
    """Return the seconds of an epoch over `num_images` images."""
    X, y = read_images(trial['num_images'], share)
    batch_size = trial['batch_size'] // share.step
    batches = trainer.batches(X, y, batch_size)
    batch = trainer.load(X[:batch_size], y[:batch_size])
    for _ in range(5):  # warm up
        trainer.step(*batch)
    trainer.drain()
    wait()
    start = time.perf_counter()
    trainer.epoch(batches)
    trainer.drain()
    return {'seconds': {'epoch': time.perf_counter() - start}}
