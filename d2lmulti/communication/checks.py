"""The argument checks of part II."""

from ..check_rules import check_rule, check_states
from ..check_values import (
    check_each,
    check_positive_int,
    has_twice,
    is_list_of,
)
from ..checks import (
    check_allreduce_arrays,
    check_arrays,
    check_num_rows,
    check_train_batch,
    is_pair,
    need,
    shapes_of,
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
    for params, state in zip(zip(*device_params), states):
        check_residuals(params, state)


def check_residuals(arrays, state):
    """Raise TypeError or ValueError unless the residuals of `state` are for
    such arrays."""
    is_right = isinstance(state, dict)
    need(is_right, 'a dict, {} before the first exchange,', state=state)
    needed = [(array.shape, array.ctx) for array in arrays]
    check_places('residuals', state.get('residuals', arrays), needed)


def check_places(name, found, needed):
    """Raise ValueError unless a state's arrays have these shapes, devices."""
    came = [(array.shape, array.ctx) for array in found]
    if came != needed:
        raise ValueError(
            f'state has {name} of the shapes and devices {came}, but for '
            f'these arrays and this rank {needed} are needed: keep one state '
            'for each list of arrays, {} before its first exchange'
        )


def check_power_sgd(arrays, state, rank):
    """Raise TypeError or ValueError unless `state` is that of an exchange of
    such arrays, with this rank."""
    check_positive_int(rank=rank)
    check_residuals(arrays, state)
    if arrays[0].ndim < 2 or 'Qs' not in state:
        return
    rows, num_columns = len(arrays[0]), arrays[0][0].size
    shape = num_columns, min(rank, rows, num_columns)
    check_places('Qs', state['Qs'], [(shape, a.ctx) for a in arrays])


def check_averaging(minibatches, device_params, devices, lr, update, states):
    """Raise TypeError or ValueError unless a round can begin."""
    is_list = isinstance(minibatches, (list, tuple))  # is read twice
    is_right = is_list and not is_pair(minibatches)
    fix = '[minibatches]' if is_list else 'list(minibatches)'
    needed = 'a list of (X, y), one for each local step,'
    need(is_right, needed, fix, minibatches=minibatches)
    check_positive_int(**{'len(minibatches)': len(minibatches)})
    for X, y in minibatches:
        check_train_batch(X, y, device_params, devices, lr)
        check_num_rows(len(X), len(devices))  # before any replica has moved
    check_rule(update, states, device_params)


def check_outer(outer_states, device_params, devices):
    """Raise ValueError unless the outer states are alike on all devices, and
    of these parameters."""
    check_states(outer_states, devices, 'outer_states')
    fix = (
        'start with [[] for device in devices], and pass the same lists in '
        'each round'
    )
    if len({*map(len, outer_states)}) > 1:
        raise ValueError(f'outer_states must be alike on all devices: {fix}')
    for params, state in zip(device_params, outer_states):
        if state and shapes_of(state) != shapes_of(params):
            raise ValueError(
                f'outer_states have the shapes {shapes_of(state)}, but the '
                f'parameters {shapes_of(params)}: {fix}'
            )
