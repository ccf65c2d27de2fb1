"""TensorFlow's MultiWorkerMirroredStrategy: a process and a thread for each
device."""

import json
import os
import pathlib
import socket
import time

from . import tf_mirrored
from .processes import TIME_LIMIT, start_processes


class Trainer(tf_mirrored.Trainer):
    """One of the workers."""

    start = staticmethod(start_processes)

    def make_strategy(self, num_devices, rendezvous):
        """Return the strategy, after all workers have told their ports."""
        store, rank, self.size = rendezvous
        hosts = exchange_ports(store.replace('file://', ''), rank, self.size)
        os.environ['TF_CONFIG'] = json.dumps(
            {
                'cluster': {'worker': hosts},
                'task': {'type': 'worker', 'index': rank},
            }
        )
        return self.tf.distribute.MultiWorkerMirroredStrategy()


def exchange_ports(store, rank, size):
    """Return the addresses of all workers; each writes its port to a file
    that begins with `store`."""
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        port = free.getsockname()[1]
    part = pathlib.Path(f'{store}-{rank}.part')
    part.write_text(f'127.0.0.1:{port}')
    part.rename(f'{store}-{rank}')
    files = [pathlib.Path(f'{store}-{i}') for i in range(size)]
    deadline = time.monotonic() + TIME_LIMIT
    while not all(file.exists() for file in files):
        if time.monotonic() > deadline:
            raise RuntimeError(f'no port of each worker in {TIME_LIMIT} s')
        time.sleep(0.05)
    return [file.read_text() for file in files]
