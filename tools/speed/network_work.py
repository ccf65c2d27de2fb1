"""Count the work of the networks of chapter 27, for its model of a step.

    .venv-frameworks/bin/python -m tools.speed.network_work

writes results/network_work.json. It needs no GPU: PyTorch's dispatcher shows
each operator, with the arrays that it reads and writes.
"""

import json
import pathlib

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

from .gpu_or_cpu import NETWORKS, infer, step_of

OUT = pathlib.Path(__file__).parent / 'results/network_work.json'
# They reserve memory, or say otherwise what is there.
FREE = 'aten::empty', 'aten::detach', 'aten::_unsafe_view'


class Counter(TorchDispatchMode):
    """Counts operators, and the bytes that they read and write."""

    def __init__(self):
        super().__init__()
        self.operators = self.bytes = 0

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        """Run an operator, and count it unless it returns a view."""
        result = operator(*args, **(kwargs or {}))
        schema = operator._schema
        is_view = any(
            value.alias_info is not None and not value.alias_info.is_write
            for value in schema.returns
        )
        if not is_view and schema.name not in FREE:
            self.operators += 1
            self.bytes += sum(
                part.numel() * part.element_size()
                for part in tree_leaves((args, kwargs, result))
                if torch.is_tensor(part)
            )
        return result


def count(work, X, y):
    """Return the operators, the floating-point operations and the bytes."""
    with FlopCounterMode(display=False) as flops, Counter() as counter:
        work(X, y)
    return counter.operators, flops.get_total_flops(), counter.bytes


def work_of(make, data):
    """Return what a training step and a forward pass cost; what depends on
    the minibatch is linear in it, so two sizes are enough."""
    net = make()
    counts = {'copied_per_example': sum(part.nbytes for part in data(1))}
    step = step_of(net, foreach=True)  # as on a GPU
    tasks = {'step': step, 'infer': lambda X, y: infer(net, X)}
    for task, work in tasks.items():
        (operators, two, moved), (_, three, more) = (
            count(work, *data(n)) for n in (2, 3)
        )
        counts[task] = {
            'operators': operators,
            'operations_per_example': three - two,
            'bytes': moved - 2 * (more - moved),
            'bytes_per_example': more - moved,
        }
    return counts


if __name__ == '__main__':
    rows = {name: work_of(make, data) for name, make, _, data, _ in NETWORKS}
    OUT.write_text(json.dumps(rows, indent=1) + '\n')
