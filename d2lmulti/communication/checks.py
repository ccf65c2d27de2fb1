"""The argument checks of part II."""

from mxnet import np

from ..check_data import is_pair, kind_of
from ..check_rules import check_rule, check_states
from ..check_values import (
    check_count,
    check_fraction,
    check_positive_int,
    check_positive_number,
    counted,
    has_twice,
    is_list_of,
)
from ..checks import (
    check_allreduce_arrays,
    check_num_rows,
    check_train_batch,
    dtypes_of,
    shapes_of,
    sizes_of_slices,
)

# Chapter 8: collectives


def check_buckets(device_arrays, allreduce):
    """Raise TypeError or ValueError unless `allreduce` can sum the lists."""
    if not callable(allreduce):
        raise TypeError(
            'allreduce must be a function that sums a list of arrays, such as '
            f'ring_allreduce, not {allreduce!r:.60}'
        )
    if not is_list_of((list, tuple), device_arrays):
        raise TypeError(
            'device_arrays must be a list with a list of arrays for each '
            f'device, not {device_arrays!r:.60}'
        )
    lengths = [len(arrays) for arrays in device_arrays]
    if len(set(lengths)) != 1:
        raise ValueError(
            'device_arrays must have lists of the same length, one for each '
            f'device, not of the lengths {lengths}'
        )
    if has_twice([array for arrays in device_arrays for array in arrays]):
        raise ValueError(
            'an array appears twice in the lists, so it would be counted '
            'twice: give it once'
        )
    for arrays in zip(*device_arrays):
        check_allreduce_arrays(arrays)


def check_parts(parts, data):
    """Raise TypeError or ValueError unless part j fits slice j of `data`."""
    check_allreduce_arrays(data)
    if not is_list_of(np.ndarray, parts):
        raise TypeError(
            'parts must be a list of MXNet arrays, as reduce_scatter returns '
            f'it, not {parts!r:.60}'
        )
    sizes = sizes_of_slices(data[0].size, len(data))
    if shapes_of(parts) != [(size,) for size in sizes]:
        raise ValueError(
            f'parts must be flat and have the sizes {sizes}, as '
            f'reduce_scatter cuts {counted(len(data), "array")} of '
            f'{counted(data[0].size, "number")}, not the shapes '
            f'{shapes_of(parts)}'
        )
    dtypes, (needed,) = dtypes_of(parts), {*dtypes_of(data)}
    if {*dtypes} != {needed}:
        raise ValueError(f'parts must hold {needed}, as data do, not {dtypes}')
    for i, (part, array) in enumerate(zip(parts, data)):
        if part.ctx != array.ctx:
            raise ValueError(
                f'parts[{i}] is on {part.ctx}, but data[{i}] is on '
                f'{array.ctx}: list parts in the order of data'
            )


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
            'compress must be a function, such as power_sgd, not '
            f'{compress!r:.60}'
        )
    if not is_list_of(dict, states) or isinstance(states, tuple):
        raise TypeError(
            'states must be a list, [] before the first step, and the same '
            f'list in the next, not {states!r:.60}'
        )
    if states:
        message = 'states must have a dict for each parameter'
        check_count(message, len(device_params[0]), states)
    for params, state in zip(zip(*device_params), states):
        check_exchange(params, state)


def check_exchange(arrays, state):
    """Raise TypeError or ValueError unless the residuals of `state` are for
    such arrays."""
    if not isinstance(state, dict):
        raise TypeError(
            'state must be a dict, {} before the first exchange, not '
            f'{state!r:.60}'
        )
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
    check_exchange(arrays, state)
    if arrays[0].ndim < 2 or 'Qs' not in state:
        return
    rows, num_columns = len(arrays[0]), arrays[0][0].size
    shape = num_columns, min(rank, rows, num_columns)
    check_places('Qs', state['Qs'], [(shape, a.ctx) for a in arrays])


def check_averaging(
    minibatches, device_params, devices, lr, update, states, **outer
):
    """Raise TypeError or ValueError unless a round can begin.

    `outer`: what the outer step of `train_round_diloco` needs.
    """
    if not is_list_of((list, tuple), minibatches) or not minibatches:
        came, line = f'{minibatches!r:.60}', ''
        if is_pair(minibatches):
            came, line = kind_of(minibatches), ': [minibatches]'
        raise TypeError(
            'minibatches must be a list of (X, y), one for each local step, '
            f'not {came}{line}'
        )
    for X, y in minibatches:
        check_train_batch(X, y, device_params, devices, lr)
        check_num_rows(len(X), len(devices))  # before any replica has moved
    check_rule(update, states, device_params)
    if outer:
        check_states(outer['outer_states'], devices, 'outer_states')
        lengths = [*map(len, outer['outer_states'])]
        if len({*lengths}) > 1:
            raise ValueError(
                'outer_states must be alike on all devices, not of the '
                f'lengths {lengths}: start with [[] for device in devices], '
                'and pass the same lists in each round'
            )
        for params, state in zip(device_params, outer['outer_states']):
            if state and shapes_of(state) != shapes_of(params):
                raise ValueError(
                    f'outer_states have the shapes {shapes_of(state)}, but '
                    f'those of the parameters are needed, {shapes_of(params)}:'
                    ' start with [[] for device in devices]'
                )
        check_positive_number(outer_lr=outer['outer_lr'])
        check_fraction(momentum=outer['momentum'])
