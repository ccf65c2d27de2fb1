"""Hidden checks of chapter 18."""

import mxnet as mx
import numpy as onp
from compare import assert_same, is_close


def hidden_groups(rng, answer, solution):
    for _ in range(6):
        lengths = rng.randint(1, 6, int(rng.randint(1, 5))).tolist()
        mesh = {f'axis {9 - i}': n for i, n in enumerate(lengths)}
        assert_same(answer, solution, mesh, f'axis {10 - len(mesh)}')
        assert_same(answer, solution, mesh, 'axis 9')


def watched_sum_over_mesh(rng, answer, solution):
    for shape in ((2, 2, 2), (3, 1, 1), (1, 3, 2)):
        mesh = dict(zip(('data', 'pipeline', 'tensor'), shape))
        axes = [axis for axis in ('data', 'tensor') if rng.randint(4)]
        kinds = [rng.randint(1, 3, 9).tolist() for _ in range(shape[1])]
        stages = [kinds[p] for _, p, _ in onp.ndindex(*shape)]
        values = rng.randn(len(stages), 9)
        found = []
        for function in (solution, answer):
            device_params = [
                [mx.np.zeros((2, 3)[:ndim], ctx=mx.cpu(rank)) for ndim in own]
                for rank, own in enumerate(stages)
            ]
            for params, row in zip(device_params, values):
                for param, value in zip(params, row):
                    param.attach_grad()
                    param.grad[:] = value
            function(device_params, mesh, axes)
            found.append([[p.grad for p in own] for own in device_params])
        assert is_close(found[1], found[0]), (
            f'hidden check: on {mesh}, sums over {axes} are not right'
        )


def hidden_ring_between_nodes(rng, answer, solution):
    for _ in range(8):
        k, node_size = int(rng.randint(1, 12)), int(rng.randint(1, 5))
        order = rng.permutation(20)[:k].tolist()
        num_bytes = int(rng.randint(1, 9000))
        assert_same(answer, solution, order, node_size, num_bytes)
