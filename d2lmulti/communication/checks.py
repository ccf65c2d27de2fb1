"""The argument checks of part II."""

from mxnet import np

from ..check_values import (
    check_count,
    check_fraction,
    check_positive_number,
    has_twice,
    is_list_of,
)
from ..checks import (
    check_alike,
    check_allreduce_arrays,
    check_train_batch,
    dtypes_of,
    shapes_of,
    sizes_of_slices,
)
from ..learning.checks import check_rule, check_states

# Chapter 8: collectives


def check_buckets(device_arrays, allreduce):
    """Raise TypeError or ValueError unless `allreduce` can sum the lists."""
    if not callable(allreduce):
        raise TypeError(
            'allreduce must be a function that sums a list of arrays, such as '
            f'ring_allreduce, not {allreduce!r}'
        )
    if not is_list_of((list, tuple), device_arrays):
        raise TypeError('give a list for each device, with its arrays')
    lengths = [len(arrays) for arrays in device_arrays]
    if len(set(lengths)) != 1:
        raise ValueError(
            f'lists of {lengths} arrays: give one list for each device, all '
            'equally long'
        )
    if has_twice([array for arrays in device_arrays for array in arrays]):
        raise ValueError(
            'an array appears twice in the lists, so it would be counted twice'
        )
    for arrays in zip(*device_arrays):
        check_allreduce_arrays(arrays)


def check_parts(parts, data):
    """Raise TypeError or ValueError unless part j fits slice j of `data`."""
    check_allreduce_arrays(data)
    if not is_list_of(np.ndarray, parts):
        raise TypeError(
            'give a list of parts, MXNet arrays, as reduce_scatter returns it'
        )
    sizes = sizes_of_slices(data[0].size, len(data))
    if shapes_of(parts) != [(size,) for size in sizes]:
        raise ValueError(
            f'parts of shapes {shapes_of(parts)}: arrays of {data[0].size} '
            f'numbers have {len(data)} flat parts of sizes {sizes}'
        )
    check_alike('dtype (parts, then sums)', dtypes_of([*parts, data[0]]))
    for part, array in zip(parts, data):
        check_alike('device (a part, then its array)', [part.ctx, array.ctx])


# Chapter 9: time


def check_operators(operators):
    """Raise ValueError if there are no operators."""
    if not operators:
        raise ValueError('no operators: give what profile(work) returns')


# Chapter 10: compressed gradients, and rounds of local steps


def check_compressed(X, y, device_params, devices, lr, states, compress):
    """Raise TypeError or ValueError unless a step can be taken."""
    check_train_batch(X, y, device_params, devices, lr)
    if not callable(compress):
        raise TypeError(
            f'compress must be a function, such as power_sgd, not {compress!r}'
        )
    if not is_list_of(dict, states) or isinstance(states, tuple):
        raise TypeError(
            'states must be a list, [] before the first step, and the same '
            f'list in the next, not {states!r:.60}'
        )
    if states:
        message = 'states must have a dict for each parameter'
        check_count(message, len(device_params[0]), states)
    for state in states:
        message = "a state's residuals must be one for each device"
        residuals = state.get('residuals', devices)
        check_count(message, len(devices), residuals)


def check_averaging(
    minibatches, device_params, devices, lr, update, states, **outer
):
    """Raise TypeError or ValueError unless a round can begin.

    `outer`: what the outer step of `train_round_diloco` needs.
    """
    if not is_list_of((list, tuple), minibatches) or not minibatches:
        raise TypeError(
            'minibatches must be a list of (X, y), one for each local step, '
            f'not {minibatches!r:.60}'
        )
    for X, y in minibatches:
        check_train_batch(X, y, device_params, devices, lr)
    check_rule(update, states, device_params)
    if outer:
        check_states(outer['outer_states'], devices)
        check_alike('outer state', [*map(len, outer['outer_states'])])
        check_positive_number(outer_lr=outer['outer_lr'])
        check_fraction(momentum=outer['momentum'])
