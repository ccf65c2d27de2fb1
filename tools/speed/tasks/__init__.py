"""What is measured: one file per task, each with a function `measure`.

Tasks of peers are measured with each of them, `measure(trainer, trial,
share, wait)`: `share` is a slice, the rows of each minibatch that belong to
this process, and `wait()` waits for the other processes. The rest measure
this project alone, `measure(trial)`. All return what JSON can hold.
"""

import importlib

OF_PEERS = ('step', 'epoch')


def load(task):
    """Return the function `measure` of a task, such as 'step'."""
    return importlib.import_module(f'.{task}', __name__).measure
