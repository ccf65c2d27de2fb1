"""The argument checks of part IV; those of schedules are beside."""

import math
from typing import Any, Dict, List

import numpy as onp
from mxnet import np

from ..check_rules import check_elementwise, check_rule, check_states
from ..check_values import (
    check_count,
    check_divides,
    check_enough,
    check_learning_rate,
    check_not_negative,
    check_positive_int,
    check_positive_number,
    counted,
    given,
    is_integer,
    is_list_of,
    numbered,
)
from ..checks import (
    check_allreduce_arrays,
    check_batch,
    check_devices,
    check_replicas,
    shapes_of,
    sizes_of_slices,
)
from ..learning.checks import check_tokens, check_transformer

# Chapter 15: pipelines and tensor parallelism


def check_costs(costs, k):
    """Raise TypeError or ValueError unless `costs` can be cut for k stages."""
    check_positive_int(**{'k, the number of stages,': k})
    check_not_negative(**numbered('costs', costs))
    check_enough(len(costs), 'layer', k, 'stage')


def check_layers(params, devices, layers, costs, num_chunks):
    """Raise TypeError or ValueError unless each stage gets a layer."""
    check_devices(devices)
    check_positive_int(num_chunks=num_chunks)
    needed, part = len(layers), 'device' if num_chunks == 1 else 'stage'
    message = 'params must have a weight and a bias for each layer'
    check_count(message, 2 * needed, params)
    check_enough(needed, 'layer', num_chunks * len(devices), part)
    check_count('costs must have a number for each layer', needed, costs)


def check_micro_batches(num_examples, num_micro_batches):
    """Raise TypeError or ValueError unless every part gets an example."""
    check_positive_int(num_micro_batches=num_micro_batches)
    check_enough(num_examples, 'example', num_micro_batches, 'micro-batch')


def check_tensor_parts(X, y, device_parts, layers):
    """Raise ValueError unless all layers have parameters, images a label."""
    check_batch(X, y)
    message = (
        'each device must have a weight and a bias for each of `layers`, and '
        'for the last layer'
    )
    for parts in device_parts:
        check_count(message, 2 * len(layers) + 2, parts)


def check_outputs(num_outputs, devices):
    """Raise ValueError unless each device gets an output of every layer."""
    check_devices(devices)
    for count in num_outputs:
        check_enough(count, 'output', len(devices), 'device')


# Chapter 16: sharded training


def check_replicated(
    X, y, device_params, devices, lr, states, update, shards=False
):
    """Raise TypeError or ValueError unless a step can be taken.

    `shards`: the rule gets parts of parameters.
    """
    check_replicas(device_params, devices)
    check_step(X, y, device_params, devices, lr, states, update, shards)


def check_step(X, y, arrays, devices, lr, states, update, shards=True):
    """Raise TypeError or ValueError unless `update` can take a step."""
    check_learning_rate(lr)
    check_batch(X, y)
    check_states(states, devices)
    check_rule(update, states, arrays)
    if shards and not any(states):
        check_elementwise(update, arrays[0])


def check_layer_arrays(device_arrays, devices, layers, name):
    """Raise ValueError unless each device has two arrays for each layer."""
    check_devices(devices)
    message = f'{name} must have a list for each device'
    check_count(message, len(devices), device_arrays)
    for arrays, device in zip(device_arrays, devices):
        message = f'{name} must have a weight and a bias for each layer'
        check_count(message, 2 * len(layers), arrays)
        for array in arrays:
            if array.ctx != device:
                raise ValueError(
                    f'an array of {name} lives on {array.ctx}, but belongs on '
                    f'{device}: list them in the order of the devices'
                )


def check_zero2(X, y, device_params, devices, lr, states, layers, update):
    """Raise TypeError or ValueError unless a step can be taken."""
    check_layer_arrays(device_params, devices, layers, 'device_params')
    check_step(X, y, device_params, devices, lr, states, update)


def check_shards(device_shards, shapes):
    """Raise ValueError unless part j of each parameter is on device j."""
    k = len(device_shards)
    sizes = [sizes_of_slices(math.prod(shape), k) for shape in shapes]
    for j, (shards, *needed) in enumerate(zip(device_shards, *sizes)):
        if [shard.size for shard in shards] != needed:
            raise ValueError(
                f'the shards of device {j} have sizes '
                f'{[shard.size for shard in shards]}, but parameters of '
                f'shapes {list(shapes)} on {k} devices need {needed}: make '
                'them with scatter_params'
            )


def check_zero3(
    X, y, device_shards, devices, lr, states, shapes, layers, update
):
    """Raise TypeError or ValueError unless a step can be taken."""
    check_layer_arrays(device_shards, devices, layers, 'device_shards')
    check_shards(device_shards, shapes)
    check_step(X, y, device_shards, devices, lr, states, update)


def places_of(layout) -> onp.ndarray:
    """Return the places that a layout has, sorted, each once."""
    return onp.unique(
        onp.concatenate([p.ravel() for own in layout for p in own])
    )


def check_layout(device_arrays, layout, new):
    """Return how often the arrays of each device have the shapes of its part
    of `layout`, one after the other. Raise ValueError unless they do, but for
    one more array that is the same everywhere, and every place is there, as
    in the `new` layout."""
    held = [[place.shape for place in own] for own in layout]
    times, more = divmod(len(device_arrays[0]), len(layout[0]))
    if len(layout[0]) == 1 and times > 2:  # is the last one Adam's count?
        lasts = [arrays[-1] for arrays in device_arrays]
        more = all(
            array.shape == (1,) and array.item() == lasts[0].item()
            for array in lasts
        )
        times -= more
    found = [shapes_of(a)[: len(a) - more] for a in device_arrays]
    row = places_of(layout)
    lacking = onp.setdiff1d(onp.arange(row.max(initial=-1)), row)
    if lacking.size:
        raise ValueError(
            f'the layout has no place {lacking[0]}, though it goes up to '
            f'{row.max()}: make it with find_places, for all devices'
        )
    if more > 1 or found != [times * own for own in held]:
        raise ValueError(
            f'arrays of shapes {found} do not fit the layout, which has '
            f'{held}: give find_places the function and devices of the split'
        )
    message = 'the new layout must have the places of the old one'
    check_count(message, len(row), places_of(new))
    return times


def check_recomputed(X, y, params, num_segments, layers):
    """Raise TypeError or ValueError unless every segment gets a layer."""
    check_batch(X, y)
    check_replicas([params], [X.ctx])
    check_layer_arrays([params], [X.ctx], layers, 'params')
    check_positive_int(num_segments=num_segments)
    check_enough(len(layers), 'layer', num_segments, 'segment')


# Chapter 17: long sequences and experts


def check_sequence(X, y, device_params, devices, num_heads, split):
    """Raise TypeError or ValueError unless gradients can be computed."""
    check_replicas(device_params, devices)
    check_transformer(X, device_params[0], num_heads)
    check_next_words(X, y, device_params[0])
    places = split(X.shape[1], len(devices))
    if not is_list_of(onp.ndarray, places):
        raise TypeError(f'split must return NumPy arrays, not {places!r:.60}')
    positions = [own.tolist() for own in places]
    check_partition('split', positions, X.shape[1], len(devices))


def check_experts(
    X, y, replicas, experts, devices, num_choices, capacity, alpha
):
    """Raise TypeError or ValueError unless gradients can be computed."""
    check_replicas(replicas, devices)
    check_batch(X, y)
    check_words(replicas[0], X=X, y=y)
    check_positive_int(num_choices=num_choices, **given(capacity=capacity))
    check_not_negative(alpha=alpha)
    if num_choices > len(experts):
        raise ValueError(
            'num_choices must be at most the number of experts, '
            f'{len(experts)}, not {num_choices}'
        )
    message = 'the router, params[1], must have a row for each expert'
    check_count(message, len(experts), replicas[0][1])


# Chapter 18: several ways at once


def check_mesh(params, devices, mesh, num_heads):
    """Raise TypeError or ValueError unless each device gets its part."""
    check_axes(mesh)
    check_devices(devices)
    size = math.prod(mesh.values())
    message = 'devices must have a device for each rank of the mesh'
    check_count(message, size, devices)
    check_transformer(np.zeros((1, 1)), params, num_heads)
    check_enough(len(params) // 12, 'layer', mesh['pipeline'], 'stage')
    check_enough(num_heads, 'head', mesh['tensor'], 'tensor rank')


def check_mesh_step(X, y, device_params, mesh, num_micro_batches):
    """Raise TypeError or ValueError unless gradients can be computed."""
    check_axes(mesh)
    size = math.prod(mesh.values())
    message = 'device_params must have a list for each rank, from shard_mesh'
    check_count(message, size, device_params)
    max_length = len(device_params[0][1])
    if X.ndim != 2 or X.shape[1] > max_length:
        raise ValueError(
            'X must have the shape (n, length) with at most '
            f'{counted(max_length, "position")}, not {X.shape}: cut the rows, '
            'or give init_transformer a larger max_length'
        )
    check_enough(max_length, 'position', mesh['tensor'], 'tensor rank')
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
    message = 'node_size must divide the number of arrays'
    check_divides(message, len(data), node_size)


def check_next_words(X: Any, y: Any, params: Any) -> None:
    """Raise ValueError unless tokens, those to predict too, have a row."""
    if y.shape != X.shape:
        raise ValueError(
            f'y must have the shape of X, {X.shape}, not {y.shape}'
        )
    if not (y != 0).any():
        raise ValueError(
            'y has no words to predict, only 0, the padding: leave out such '
            'a minibatch'
        )
    check_words(params, X=X, y=y)


def check_words(params: Any, **tokens: Any) -> None:
    """Raise ValueError unless the embedding has a row for each token."""
    num_words = len(params[0])
    rows = f'params[0] has {counted(num_words, "row")}'
    check_tokens(num_words, rows, **tokens)


def check_partition(
    source: str, parts: List[List[int]], n: int, k: int
) -> None:
    """Raise TypeError or ValueError unless `source` gives each position
    below `n` to one of `k` devices, in ascending order."""
    if not is_list_of(list, parts) or not all(
        is_integer(i) for part in parts for i in part
    ):
        raise TypeError(f'{source} must return integers, not {parts!r:.60}')
    message = f'{source} must return an array for each device'
    check_count(message, k, parts)
    if any(part != sorted({*part}) for part in parts):
        raise ValueError(
            f'{source} must return the positions of each device in ascending '
            f'order, each once, not {parts!r:.60}'
        )
    if sorted(i for part in parts for i in part) != [*range(n)]:
        raise ValueError(
            f'{source} must give each position from 0 to {n - 1} to one '
            f'device, not {parts!r:.60}'
        )


def check_axes(mesh: Dict[str, int]) -> None:
    """Raise TypeError or ValueError unless it is the mesh of chapter 18."""
    if [*mesh] != ['data', 'pipeline', 'tensor']:
        raise ValueError(
            "mesh must be {'data': D, 'pipeline': P, 'tensor': T}, in this "
            f'order, because ranks count so, not {mesh}'
        )
    check_positive_int(**{f'mesh[{axis!r}]': mesh[axis] for axis in mesh})
