"""The argument checks of part IV."""

import itertools
import math
from typing import Any, Dict, Set, Tuple

import numpy as onp
from mxnet import np

from ..check_rules import check_elementwise, check_rule
from ..check_values import (
    check_each,
    check_enough,
    check_learning_rate,
    check_positive_int,
    counted,
    is_list_of,
)
from ..checks import (
    check_arrays,
    check_devices,
    check_home,
    check_minibatch,
    check_replicas,
    need,
    shapes_of,
)
from ..devices import split_slices
from ..learning.checks import check_decoder, check_tokens

# Chapter 15: pipelines and tensor parallelism


def check_micro_batches(num_examples, num_micro_batches):
    """Raise TypeError or ValueError unless every part gets an example."""
    check_positive_int(num_micro_batches=num_micro_batches)
    check_enough(num_examples, 'example', num_micro_batches, 'micro-batch')


def check_schedule(orders, num_stages, m, num_devices=None):
    """Raise ValueError unless each stage runs the forward and the backward
    pass of each of `m` micro-batches once, and none waits forever.

    With `num_devices`, list d has the stages d, d + num_devices, ..., and
    may run the backward passes in two halves, 'inputs' and 'weights'.
    """
    num_lists = num_devices or num_stages
    check_each(num_lists, 'device', instructions=orders)
    # an instruction of one stage on a device does not name it
    orders = [
        [(*each, d)[:3] for each in order] for d, order in enumerate(orders)
    ]
    for d, order in enumerate(orders):
        halves = num_devices and any('weights' in each for each in order)
        phases = ('inputs', 'weights') if halves else ('backward',)
        stages = range(d, num_stages, num_lists)
        needed = [*itertools.product(('forward', *phases), range(m), stages)]
        for each in [*order, *needed]:
            if order.count(each) != (each in needed):
                raise ValueError(
                    f'device {d} has {each} '
                    f'{counted(order.count(each), "time")}, but needs '
                    f'forward, {" and ".join(phases)} of {m} micro-batches '
                    'once for each of its stages, and nothing else'
                )
    check_progress(orders, num_stages)


def check_progress(orders, num_stages):
    """Raise ValueError if a stage of a schedule would wait forever."""
    queues = [list(order) for order in orders]
    done: Set[Tuple[str, int, int]] = set()
    while any(queues):
        waiting = [queue for queue in queues if queue]
        ready = [q for q in waiting if needed_by(q[0], num_stages) <= done]
        if not ready:
            stuck = ', '.join(
                f'stage {q[0][2]} before {q[0]}' for q in waiting
            )
            raise ValueError(
                f'this schedule never ends, as stages wait: {stuck}. A '
                'forward pass needs that of the stage before; a backward pass '
                'its forward pass and the backward pass of the next stage'
            )
        for queue in ready:
            phase, i, s = queue.pop(0)
            # others wait for the gradients of inputs only
            done.add(('backward' if phase == 'inputs' else phase, i, s))


def needed_by(instruction, num_stages):
    """Return what must be done before an instruction."""
    phase, i, s = instruction
    if phase == 'forward':
        return {(phase, i, s - 1)} if s else set()
    if phase == 'weights':
        return {('backward', i, s)}
    after = {('backward', i, s + 1)} if s < num_stages - 1 else set()
    return {('forward', i, s), *after}


def check_heads(params, devices, size):
    """Raise TypeError or ValueError unless `params` have heads of `size`, and
    each device can get one of the keys."""
    check_devices(devices)
    check_decoder(np.zeros((1, 1)), params, size)
    num_keys = params[3].shape[1] // size
    check_enough(num_keys, 'key head', len(devices), 'device')


# Chapter 16: sharded training


def check_predicted(y: Any) -> None:
    """Raise ValueError unless there is a word to predict."""
    if not (y != 0).any():
        raise ValueError(
            'y has no words to predict, only 0, the padding: leave out such '
            'a minibatch'
        )


def check_step(y, device_arrays, lr, states, update, shards=True):
    """Raise TypeError or ValueError unless `update` can take a step; with
    `shards`, of parts of parameters."""
    check_predicted(y)
    check_learning_rate(lr)
    check_rule(update, states, device_arrays)
    if shards and not any(states):
        check_elementwise(update, device_arrays[0])


def check_layer_arrays(device_arrays, devices, layers):
    """Raise TypeError or ValueError unless `layers` gives each device's arrays
    to layers, each once."""
    check_devices(devices)
    check_each(len(devices), 'device', parameters=device_arrays)
    for arrays, device in zip(device_arrays, devices):
        check_home('a parameter', arrays, device)
        used = sum(len(own) for _, own in layers(arrays))
        if used != len(arrays):
            raise ValueError(
                f'the layers need {counted(used, "parameter")}, not '
                f'{len(arrays)}: give the function `layers` of this network'
            )


def check_recomputed(X, y, params, layers):
    """Raise TypeError or ValueError unless a replica on the device of X can
    get gradients."""
    check_minibatch(X, y)
    check_replicas([params], [X.ctx])
    check_layer_arrays([params], [X.ctx], layers)


def check_shards(device_shards):
    """Return the shapes of whole parameters. Raise ValueError unless each
    device has its rows of each."""
    shapes = []
    for parts in zip(*device_shards):
        rows = split_slices(sum(map(len, parts)), len(parts))
        row = parts[0].shape[1:]
        needed = [(own.stop - own.start, *row) for own in rows]
        if shapes_of(parts) != needed:
            raise ValueError(
                f'the devices have shards of shapes {shapes_of(parts)}, but '
                f'need {needed}: make them with scatter_params'
            )
        shapes.append((rows[-1].stop, *row))
    return shapes


def check_layout(device_arrays, layout, new, devices):
    """Return how often the arrays of each device have the shapes of its part
    of `layout`, one after the other. Raise ValueError unless they do, but for
    one more array that is the same everywhere, and every place is there, as
    in the `new` layout, of these `devices`."""
    held = [shapes_of(places) for places in layout]
    times, more = divmod(len(device_arrays[0]), len(layout[0]))
    if len(layout[0]) == 1 and times > 2:  # is the last one Adam's count?
        lasts = [arrays[-1] for arrays in device_arrays]
        more = all(
            array.shape == (1,) and array.item() == lasts[0].item()
            for array in lasts
        )
        times -= more
    shapes = [shapes_of(a)[: len(a) - more] for a in device_arrays]
    if more > 1 or shapes != [times * each for each in held]:
        raise ValueError(
            f'arrays of shapes {shapes} do not fit the layout, which has '
            f'{held}: give find_places the function and devices of the split'
        )
    rows = [
        onp.unique(onp.hstack([p.ravel() for places in each for p in places]))
        for each in (layout, new)
    ]
    for row in rows:
        if not onp.array_equal(row, onp.arange(len(rows[0]))):
            raise ValueError(
                'the layout has no place for some numbers: make both with '
                'find_places, for all devices and the same shapes'
            )
    check_each(len(new), 'device of the new layout', devices=devices)
    return times


# Chapter 17: long sequences and experts


def check_next_words(X: Any, y: Any, num_rows: int) -> None:
    """Raise ValueError unless tokens, those to predict too, have one of the
    embedding's rows."""
    if y.shape != X.shape:
        raise ValueError(
            f'y must have the shape of X, {X.shape}, not {y.shape}'
        )
    check_predicted(y)
    rows = f'params[0] has {counted(num_rows, "row")}'
    check_tokens(num_rows, rows, X=X, y=y)


def check_sequence(X, y, device_params, devices, size, split, documents):
    """Raise TypeError or ValueError unless gradients can be computed, and
    `split` divides all positions among the devices."""
    check_arrays(X=X, y=y)
    is_right = documents is None or isinstance(documents, onp.ndarray)
    need(is_right, 'a NumPy array', documents=documents)
    if documents is not None and documents.shape != X.shape:
        raise ValueError(
            'documents must have an integer for each word, in the shape of '
            f'X, {X.shape}, not {documents.shape}'
        )
    check_replicas(device_params, devices)
    check_decoder(X, device_params[0], size)
    check_next_words(X, y, len(device_params[0][0]))
    places = split(X.shape[1], len(devices))
    is_right = is_list_of(onp.ndarray, places)
    needed = 'a list of positions for each device, NumPy,'
    need(is_right, needed, **{'what split returns': places})
    check_each(len(devices), 'device', **{'what split returns': places})
    joined = onp.hstack(places)
    is_rising = all((onp.diff(place) > 0).all() for place in places)
    if not is_rising or sorted(joined) != [*range(X.shape[1])]:
        raise ValueError(
            f'split must give each position from 0 to {X.shape[1] - 1} to '
            f'one device, in ascending order, not {places!r:.99}'
        )


def check_experts(X, y, replicas, experts, devices, num_choices, biases, size):
    """Raise TypeError or ValueError unless gradients can be computed."""
    check_arrays(X=X, y=y)
    check_replicas(replicas, devices)
    check_positive_int(num_choices=num_choices)
    params = replicas[0][: len(replicas[0]) - len(experts)]
    routers = replicas[0][len(params) :]
    biases = experts if biases is None else biases
    check_each(len(params) // 9, 'block', experts=experts, biases=biases)
    check_decoder(X, params, size)
    check_next_words(X, y, len(params[0]))
    for own, router, bias in zip(experts, routers, biases):
        lists = {'each row of a router': router[0], 'each of biases': bias}
        check_each(len(own), 'expert', **lists)
        if num_choices > len(own):
            raise ValueError(
                'num_choices must be at most the number of experts, '
                f'{len(own)}, not {num_choices}'
            )


# Chapter 18: several ways at once


def check_axes(mesh: Dict[str, int], **each_rank) -> None:
    """Raise TypeError or ValueError unless it is the mesh of chapter 18, and
    each rank has an entry."""
    if [*mesh] != ['data', 'pipeline', 'tensor']:
        raise ValueError(
            "mesh must be {'data': D, 'pipeline': P, 'tensor': T}, in this "
            f'order, because ranks count so, not {mesh}'
        )
    check_positive_int(**mesh)
    check_each(math.prod(mesh.values()), 'rank of the mesh', **each_rank)


def check_mesh(params, devices, mesh, size):
    """Raise TypeError or ValueError unless each device gets its part."""
    check_axes(mesh, devices=devices)
    check_devices(devices)
    check_decoder(np.zeros((1, 1)), params, size)
    check_enough(len(params) // 9, 'block', mesh['pipeline'], 'stage')


def check_mesh_step(X, y, device_params, mesh, size, num_micro_batches):
    """Raise TypeError or ValueError unless gradients can be computed."""
    check_axes(mesh, device_params=device_params)
    check_decoder(X, [], size)
    num_rows = sum(len(own[0]) for own in device_params[: mesh['tensor']])
    check_next_words(X, y, num_rows)  # E is split
    check_micro_batches(len(X) // mesh['data'], num_micro_batches)
