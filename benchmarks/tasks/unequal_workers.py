"""Workers of unequal speed: even and proportional parts, and the limit.

As a script: a worker of the job, of which the one of rank 1 shares its core
with a busy loop.
"""

import contextlib
import json
import os
import statistics
import subprocess
import sys
import time

SIZES = (256, 1024)
STEPS, ROUNDS = 12, 3
BUSY = 'import time\nend = time.time() + 300\nwhile time.time() < end: pass'


def measure(trial):
    """Return {size: {name: seconds of a step}} with a slowed worker."""
    from d2lrun import Limits, launch

    lines = []
    launch(
        [sys.executable, __file__],
        on_line=lines.append,
        limits=Limits(60, 60, 5, 300),
    )
    (line,) = (line for line in lines if line.endswith('}'))
    return json.loads(line[line.index('{') :])


def main():
    """Measure in this worker; rank 0 prints the result."""
    import d2lmulti
    from d2lmulti.cluster import cluster

    devices, params = d2lmulti.try_devices(1), d2lmulti.init_params()
    X, y, _, _ = d2lmulti.read_fashion_mnist()
    with cluster.connect_kvstore() as store, slowed(store.rank):
        worker = Worker(store, params, devices)
        found = {
            size: worker.measure(d2lmulti.Minibatches(X, y, size, seed=0))
            for size in SIZES
        }
        if store.rank == 0:
            print(json.dumps(found), flush=True)


@contextlib.contextmanager
def slowed(rank):
    """Keep this worker on one core; that of rank 1 shares it."""
    cores = sorted(os.sched_getaffinity(0))
    core = cores[rank % len(cores)]
    for thread in os.listdir('/proc/self/task'):
        os.sched_setaffinity(int(thread), {core})
    busy = rank == 1 and subprocess.Popen([sys.executable, '-c', BUSY])
    yield
    if busy:
        busy.kill()


class Worker:
    """Takes steps in one worker."""

    def __init__(self, store, params, devices):
        import d2lmulti
        from d2lmulti.cluster import cluster

        self.book, self.cluster = d2lmulti, cluster
        self.store, self.devices = store, devices
        self.replicas = [d2lmulti.get_params(params, d) for d in devices]
        self.allreduce = cluster.cluster_allreduce(params, store)
        self.rates = cluster.KVStoreAllreduce(
            store, [self.book.init_params()[1][:1]]
        )

    def measure(self, batches):
        """Return the median seconds of a step of each kind, taken in turn."""
        size, rows = batches.batch_size, batches.rows(0)[0]
        even, shares = [size // 2, size - size // 2], None
        seconds = {'even': [], 'proportional': [], 'limit': []}
        for _ in range(1 + ROUNDS):
            seconds['even'].append(self.steps(batches, rows, even, 0.99)[0])
            found, shares = self.steps(batches, rows, shares or even, 0.03)
            seconds['proportional'].append(found)
            seconds['limit'].append(size / self.rate(batches, rows, shares))
        return {
            **{k: statistics.median(v[1:]) for k, v in seconds.items()},
            'share': shares[1] / size,
        }

    def steps(self, batches, rows, shares, margin):
        """Return the mean seconds of the last half of some steps, and the
        shares after them."""
        recent = []
        for step in range(STEPS):
            if step == STEPS // 2:
                start = time.perf_counter()
            costs = self.cluster.cluster_step(
                rows,
                batches,
                self.replicas,
                self.devices,
                1e-3,
                self.store,
                self.allreduce,
                shares,
            )
            recent = [*recent[-6:], costs.tolist()]
            shares = self.book.adapt_shares(shares, recent, margin)
        seconds = time.perf_counter() - start
        return seconds / (STEPS - STEPS // 2), shares

    def rate(self, batches, rows, shares):
        """Return the sum of the workers' examples per second without any
        exchange, while all compute."""
        from mxnet import np, npx

        own = self.cluster.worker_rows(rows, self.store, shares)
        self.store._barrier()
        start = time.perf_counter()
        for _ in range(STEPS // 2):
            X, y = batches.load(own)
            self.cluster.sum_gradients(
                X,
                y,
                self.replicas,
                self.devices,
                self.book.lenet,
                self.book.loss,
                1,
            )
            npx.waitall()
        seconds = time.perf_counter() - start
        rate = np.array([len(own) * (STEPS // 2) / seconds])
        self.rates([rate])
        return rate.item()


if __name__ == '__main__':
    main()
