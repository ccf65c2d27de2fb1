"""The sum of one array over all processes of a peer."""

import statistics
import time


def measure(trainer, trial, share, wait):
    """Return the median seconds of an allreduce, by size in MB."""
    result = {'seconds': {}}
    for size in trial['megabytes']:
        allreduce = trainer.make_allreduce(int(size * 250_000))
        times = []
        for _ in range(2 + max(3, min(30, int(40 / size)))):
            wait()
            start = time.perf_counter()
            allreduce()
            trainer.drain()
            times.append(time.perf_counter() - start)
        result['seconds'][size] = statistics.median(times[2:])
    return result
