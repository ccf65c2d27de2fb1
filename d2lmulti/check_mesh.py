"""Checks of chapter 18: several ways at once."""

import math

from mxnet import np

from .checks import (
    check_allreduce_arrays,
    check_axes,
    check_count,
    check_devices,
    check_divides,
    check_elementwise,
    check_enough,
    check_learning_rate,
    check_micro_batches,
    check_next_words,
    check_positive_int,
    check_positive_number,
    check_rule,
    check_transformer,
    given,
)


def check_mesh(params, devices, mesh, num_heads):
    """Raise TypeError or ValueError unless each device gets its part."""
    check_axes(mesh)
    check_devices(devices)
    size = math.prod(mesh.values())
    check_count(f'a mesh of {size} ranks', size, devices=devices)
    check_transformer(np.zeros((1, 1)), params, num_heads)
    check_enough(len(params) // 12, 'layer', mesh['pipeline'], 'stage')
    check_enough(num_heads, 'head', mesh['tensor'], 'tensor rank')


def check_mesh_step(X, y, device_params, mesh, num_micro_batches):
    """Raise TypeError or ValueError unless gradients can be computed."""
    check_axes(mesh)
    size = math.prod(mesh.values())
    needed = {"lists of parameters, shard_mesh's,": device_params}
    check_count(f'a mesh of {size} ranks', size, **needed)
    max_length = len(device_params[0][1])
    if X.ndim != 2 or max(X.shape[1], mesh['tensor']) > max_length:
        raise ValueError(
            f'X has the shape {X.shape}, and {mesh["tensor"]} tensor ranks '
            f'need a position each, but there are {max_length} positions: '
            'give init_transformer a larger max_length'
        )
    check_next_words(X, y, device_params[0])
    check_micro_batches(len(X) // mesh['data'], num_micro_batches)


def check_mesh_update(device_params, lr, states, update, max_norm):
    """Raise TypeError or ValueError unless parts can be updated."""
    held = [[p for p in own if p is not None] for own in device_params]
    check_learning_rate(lr)
    check_positive_number(**given(max_norm=max_norm))
    check_rule(update, states, held)
    if not any(states):
        check_elementwise(update, held[0])


def check_nodes(data, node_size):
    """Raise TypeError or ValueError unless nodes are whole."""
    check_allreduce_arrays(data)
    check_positive_int(node_size=node_size)
    check_divides('arrays', len(data), node_size=node_size)
