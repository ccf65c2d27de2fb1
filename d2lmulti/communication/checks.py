"""The argument checks of part II."""

from ..check_rules import check_rule, check_states
from ..check_values import check_each, has_twice, is_list_of
from ..checks import (
    check_allreduce_arrays,
    check_arrays,
    check_num_rows,
    check_train_batch,
    is_pair,
    need,
)

# Chapter 8: collectives


def check_buckets(device_arrays):
    """Raise TypeError or ValueError unless the lists can be summed."""
    is_right = is_list_of((list, tuple), device_arrays) and device_arrays
    needed = 'a list with a list of arrays for each device'
    need(is_right, needed, device_arrays=device_arrays)
    # else `zip` would leave out the last arrays of the longer list
    num_arrays = len(device_arrays[0])
    for arrays in device_arrays:
        check_each(num_arrays, 'array', each_list=arrays)
    if has_twice([array for arrays in device_arrays for array in arrays]):
        raise ValueError(
            'an array appears twice in the lists, so it would be counted '
            'twice: give it once'
        )
    for arrays in zip(*device_arrays):
        check_allreduce_arrays(arrays)


def check_parts(parts, slices):
    """Raise TypeError or ValueError unless part j fits slice j of each array.
    MXNet would copy a part of another size in silence."""
    check_each(len(slices), 'array', parts=parts)
    for j, part in enumerate(parts):
        check_arrays(part=part)
        needed = slices[0][j]
        if (part.shape, part.dtype) != (needed.shape, needed.dtype):
            raise ValueError(
                f'part {j} has the shape {part.shape} and {part.dtype}, but '
                f'{needed.shape} and {needed.dtype} are needed: list the '
                'parts as reduce_scatter returns them'
            )


# Chapter 9: time


def check_operators(operators):
    """Raise ValueError if there are no operators."""
    if not operators:
        raise ValueError('no operators: give what profile(work) returns')


# Chapter 10: compressed gradients, and rounds of local steps


def check_compressed(X, y, device_params, devices, lr, states):
    """Raise TypeError or ValueError unless a step can be taken."""
    check_train_batch(X, y, device_params, devices, lr)
    if states:
        check_each(len(device_params[0]), 'parameter', states=states)
    for state in states:
        residuals = state.get('residuals', devices)
        check_each(len(devices), 'device', residuals=residuals)


def check_averaging(minibatches, device_params, devices, lr, update, states):
    """Raise TypeError or ValueError unless a round can begin."""
    is_right = minibatches and not is_pair(minibatches)
    needed = 'a list of (X, y), one for each local step,'
    need(is_right, needed, '[minibatches]', minibatches=minibatches)
    for X, y in minibatches:
        check_train_batch(X, y, device_params, devices, lr)
        check_num_rows(len(X), len(devices))  # before any replica has moved
    check_rule(update, states, device_params)


def check_outer(outer_states, devices):
    """Raise ValueError unless the outer states are alike on all devices."""
    check_states(outer_states, devices, 'outer_states')
    if len({*map(len, outer_states)}) > 1:
        raise ValueError(
            'outer_states must be alike on all devices: start with [[] for '
            'device in devices], and pass the same lists in each round'
        )
