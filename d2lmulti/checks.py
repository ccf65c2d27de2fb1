"""Every argument check of the book: called at the head of a function.

TypeError for a value of the wrong type, ValueError for one that cannot work;
the message names the argument, what came, and what is needed. No check waits
for a device, unless it reads tokens, or tries an update rule that takes
MXNet's arrays only.
Arguments have no types here: anything may come, and that is checked.
"""

import importlib.util
import inspect
import math
from typing import Any, List, Tuple

import mxnet as mx
import numpy as onp
from mxnet import np

from d2lrun.basics import (
    as_limits,
    check_alike,
    check_at_least_one,
    check_axes,  # noqa: F401
    check_batch,
    check_count,
    check_divides,
    check_enough,
    check_fraction,
    check_integer,
    check_integers,  # noqa: F401
    check_learning_rate,
    check_next_words,
    check_no_bool,
    check_not_empty,  # noqa: F401
    check_not_negative,
    check_num_rows,
    check_number,
    check_partition,
    check_positive_int,
    check_positive_number,
    check_rate,
    check_share,  # noqa: F401
    check_simulated,  # noqa: F401
    check_slices,
    check_tokens,
    counted,
    given,
    has_twice,
    is_list_of,
    is_number,
    numbered,
)

from .check_data import (
    classes_line,
    device_line,
    devices_line,
    floats_line,
    images_line,
    is_pair,
    kind_of,
    labels_line,
    mxnet_line,
    numbers_line,
    numpy_line,
    then,
)
from .check_rules import (  # noqa: F401
    check_adam,
    check_elementwise,
    check_momentum,
    check_rule,
    check_states,
    check_update,
    check_weight_decay,
    count_classes,
    shapes_of,
)

DTYPES = 'float16 float32 float64 uint8 int8 int32 int64 bool'.split()
MAX_CPU_DEVICES = 64  # a workspace each, by d2lrun/settings.py


def dtypes_of(arrays) -> List[str]:
    """Return the name of each array's dtype."""
    return [onp.dtype(array.dtype).name for array in arrays]


# Chapter 1: devices


def check_num_devices(k, gpus, faults):
    """Raise TypeError or ValueError unless there are `k` devices.

    `gpus`: those that work; with none of them, CPU devices are meant.
    `faults`: what is wrong with other GPUs.
    """
    check_positive_int(**{'k, the number of devices,': k})
    if gpus and k > len(gpus):
        works = 'GPU works' if len(gpus) == 1 else 'GPUs work'
        raise ValueError(
            f'{k} devices asked for, but {len(gpus)} '
            f'{works}{"".join(f" ({fault})" for fault in faults)}: ask for at '
            f'most {len(gpus)}, or set D2LMULTI_DEVICES=cpu to use CPUs'
        )
    if not gpus and k > MAX_CPU_DEVICES:
        raise ValueError(
            f'{k} CPU devices asked for, at most {MAX_CPU_DEVICES} work side '
            "by side: beyond that they wait for each other's workspaces"
        )


# Chapter 2: the network


def check_arrays(**arrays):
    """Raise TypeError unless each is an MXNet array."""
    for name, value in arrays.items():
        if not isinstance(value, np.ndarray):
            raise TypeError(
                f'{name} is {kind_of(value)}, but an MXNet array is needed'
                f'{then(mxnet_line(name, value))}'
            )


def check_init_params(seed, scale):
    """Raise TypeError or ValueError unless parameters can be drawn."""
    if isinstance(seed, type(mx.cpu())):
        raise TypeError(
            f'seed is {kind_of(seed)}, but init_params takes an integer; the '
            f'device comes after it: get_params(init_params(), mx.{seed})'
        )
    check_integer(0, seed=seed)
    check_not_negative(**given(scale=scale))


def check_lenet(X, params):
    """Raise TypeError or ValueError unless LeNet can score the images.

    Which images these are, its parameters say: those of `init_params` fit
    (n, 1, 28, 28).
    """
    if isinstance(params, np.ndarray) and is_list_of(np.ndarray, X):
        raise TypeError(
            'X is a list of arrays and params a single one, but lenet takes '
            'the images first: lenet(params, X)'
        )
    check_param_list(params)
    check_arrays(X=X)
    weights = shapes_of(params[:6:2])  # asked for once: it is a call of MXNet
    if len(params) != 8 or [*map(len, weights)] != [4, 4, 2]:
        raise ValueError(
            f'params have the shapes {shapes_of(params)}, but lenet needs '
            'eight arrays, W1, b1, ..., W4, b4: init_params()'
        )
    shape, channels = X.shape, weights[0][1]
    maps, num_inputs = weights[1][0], weights[2][0]
    dtype, needed = X.dtype, params[0].dtype
    if dtype != needed and len(shape) > 1:
        name = onp.dtype(needed).name
        raise TypeError(
            f'X holds {onp.dtype(dtype)}, but lenet needs {name} (as params '
            f'do): {floats_line("X", dtype, name)}'
        )
    if (
        len(shape) != 4
        or shape[1] != channels
        or maps * lenet_side(shape[2]) * lenet_side(shape[3]) != num_inputs
    ):  # 4 s + 10 to 4 s + 13 pixels become s x s numbers; the text has 28
        side = 4 * math.isqrt(num_inputs // maps) + 12
        line = then(images_line(shape, channels, side))
        hint = '; are X and y swapped?' if len(shape) == 1 else line
        raise ValueError(
            f'each X[i] has the shape {shape[1:]}, but lenet needs '
            f'{(channels, side, side)} with these params{hint}'
        )
    if not shape[0]:
        raise ValueError(
            f'X has no images, only the shape {shape}: leave out an empty '
            'minibatch'
        )
    here, there = X.ctx, params[0].ctx
    if here != there:
        raise ValueError(
            f'X is on {here}, but params are on {there}: X.copyto(mx.{there})'
        )


def lenet_side(length) -> int:
    """Return how many pixels LeNet's convolutions and poolings leave."""
    return max(0, ((length - 2) // 2 - 4) // 2)


def check_loss(y_hat, y):
    """Raise TypeError or ValueError unless each row of scores has a label.

    Which labels these are, only the devices know.
    """
    check_arrays(y_hat=y_hat, y=y)
    if y.dtype == onp.bool_:
        raise TypeError(
            'y holds bool, but loss needs the numbers of classes: '
            "y.astype('int32')"
        )
    scores, labels = y_hat.shape, y.shape
    if labels != scores[:-1]:
        check_rows(y_hat=y_hat, y=y)
        if len(labels) > len(scores) and len(y) == len(y_hat):
            raise ValueError(
                'y has more axes than the scores y_hat, so they are swapped: '
                'loss(y, y_hat)'
            )
        check_batch(y_hat, y)
        line = labels_line(labels, len(scores) - 1, scores[-1])
        raise ValueError(
            f'each y[i] has the shape {labels[1:]}, but loss needs a label '
            f'for each row of the scores y_hat{then(line)}'
        )
    here, there = y.ctx, y_hat.ctx
    if here != there:
        raise ValueError(
            f'y is on {here}, but the scores y_hat are on {there}: '
            f'y.copyto(mx.{there})'
        )


# Chapter 3: replicas


def check_devices(devices, least=1):
    """Raise TypeError or ValueError unless `devices` are distinct."""
    if (
        isinstance(devices, (str, mx.nd.NDArray))
        or not hasattr(devices, '__len__')
        or not all(isinstance(device, type(mx.cpu())) for device in devices)
    ):
        raise TypeError(
            f'devices is {devices!r:.60}, but a list of devices is needed: '
            f'{devices_line(devices)}'
        )
    if len(devices) < least:
        raise ValueError(
            f'give at least {counted(least, "device")}, for example '
            f'try_devices({least}), not {list(devices)}'
        )
    if len(set(devices)) < len(devices):
        raise ValueError(
            f'{devices} names a device twice: its replica would work on two '
            'shards, in turn; use distinct devices, as from try_devices'
        )


def check_param_list(params):
    """Raise TypeError unless `params` is a list of MXNet arrays."""
    if not isinstance(params, (list, tuple)):
        line = ''
        if isinstance(params, mx.nd.NDArray):
            line = '[params]'
        elif isinstance(params, dict):
            line = 'list(params.values())'
        elif callable(params):
            line = 'params()'
        raise TypeError(
            f'params is {kind_of(params)}, but a list of MXNet arrays is '
            f'needed{then(line)}'
        )
    for i, param in enumerate(params):
        if isinstance(param, (list, tuple)) and all(
            isinstance(array, np.ndarray) for array in param
        ):
            raise TypeError(
                'params is a list of replicas, but a list of MXNet arrays is '
                'needed: params[0]'
            )
        if not isinstance(param, np.ndarray):
            raise TypeError(
                f'params[{i}] is {kind_of(param)}, but an MXNet array is '
                f'needed{then(param_line(param))}'
            )


def param_line(param) -> str:
    """Return the line that makes MXNet arrays of all parameters, or ''."""
    line = mxnet_line('param', param)
    if isinstance(param, onp.ndarray):
        line = "mx.np.array(param, dtype='float32')"
    return line and f'[{line} for param in params]'


def check_get_params(params, device):
    """Raise TypeError unless `params` can have a replica on `device`."""
    if isinstance(params, type(mx.cpu())):
        raise TypeError(
            f'params is {kind_of(params)}, but get_params takes the '
            f'parameters first: get_params(params, mx.{params})'
        )
    if is_list_of(type(mx.cpu()), device):
        raise TypeError(
            f'device is the list {device!r:.60}, but a single device is '
            'needed: [get_params(params, device) for device in devices]'
        )
    if not isinstance(device, type(mx.cpu())):
        raise TypeError(
            f'device is {kind_of(device)}, but a device is needed: '
            f'{device_line(device)}'
        )
    check_param_list(params)
    for i, param in enumerate(params):
        if onp.dtype(param.dtype).kind != 'f':
            raise TypeError(
                f'params[{i}] holds {onp.dtype(param.dtype)}, but parameters '
                "are floats: [param.astype('float32') for param in params]"
            )


def check_replicas(device_params, devices):
    """Raise TypeError or ValueError unless there is a replica on each of
    `devices`."""
    check_devices(devices)
    if isinstance(device_params, mx.nd.NDArray) or any(
        isinstance(params, (mx.nd.NDArray, onp.ndarray))
        for params in device_params
    ):
        raise TypeError(
            'device_params holds arrays, but a replica, a list of arrays, is '
            'needed for each device: [get_params(device_params, device) for '
            'device in devices]'
        )
    if len(device_params) != len(devices):
        raise ValueError(
            f'the number of replicas is {len(device_params)}, of devices '
            f'{len(devices)}: make one replica on each device with get_params'
        )
    for params, device in zip(device_params, devices):
        check_count('replicas', len(device_params[0]), parameters=params)
        if has_twice(params):
            raise ValueError(
                'an array is two parameters of a replica, so it would be '
                'summed and updated twice: give it once'
            )
        for param in params:
            if not isinstance(param, np.ndarray):
                raise TypeError(
                    f'a parameter is {kind_of(param)}, but an MXNet array is '
                    'needed: [get_params([mx.np.array(param) for param in '
                    'params], device) for params, device in '
                    'zip(device_params, devices)]'
                )
            if param.ctx != device:
                raise ValueError(
                    f'a parameter lives on {param.ctx}, but its replica '
                    f'belongs on {device}: make it with get_params'
                )
            if param.grad is None:
                raise ValueError('no gradient: make it with get_params')


def check_allreduce_arrays(data):
    """Raise TypeError or ValueError unless `data` can be summed in place."""
    if not isinstance(data, (list, tuple)):
        raise TypeError(
            f'give a list of arrays, one for each device, not {type(data)}'
        )
    if not all(isinstance(array, np.ndarray) for array in data):
        raise TypeError(
            'allreduce takes MXNet arrays, not '
            f'{[type(array).__name__ for array in data]}'
        )
    if not data:
        raise ValueError('no arrays to sum: give one for each device')
    if has_twice(data):
        raise ValueError(
            'the same array appears twice in the list, so it would be counted '
            'twice: give one for each device'
        )
    check_alike('shape', shapes_of(data))
    check_alike('dtype', dtypes_of(data))
    check_no_bool(dtypes_of(data)[0])


# Chapter 4: examples and minibatches


def check_split(data, devices):
    """Raise TypeError or ValueError unless each device can get a shard."""
    check_arrays(data=data)
    check_rows(data=data)
    check_devices(devices)
    check_num_rows(len(data), len(devices))


def check_rows(**arrays):
    """Raise TypeError for an array of a single number, without rows."""
    for name, array in arrays.items():
        if array.ndim == 0:
            raise TypeError(
                f'{name} is a single number, of shape (), but rows are '
                f'needed: {name}.reshape(1)'
            )


def check_minibatch(X, y):
    """Raise TypeError or ValueError unless there is a label for each
    example. Looks at types and lengths only, and so does not wait."""
    check_arrays(X=X, y=y)
    check_rows(X=X, y=y)
    check_batch(X, y)


def check_examples(X, y):
    """Raise TypeError or ValueError unless X, y are rows of finite numbers."""
    for name, data in (('X', X), ('y', y)):
        check_numpy(**{name: data})
        if data.dtype.name not in DTYPES:
            raise TypeError(
                f'{name} holds {data.dtype}, but {", ".join(DTYPES[:-1])} or '
                f'bool is needed: {numbers_line(name, data.dtype)}'
            )
        if data.size == 0 or data.ndim == 0:
            raise ValueError(
                f'{name} must have a row for each of at least one example, '
                f'not the shape {data.shape}'
            )
        with onp.errstate(over='ignore'):  # float64 becomes float32
            finite = onp.isfinite(without_float64(data))
        if not finite.all():
            raise ValueError(
                f'{name} has numbers that are not finite in float32, the '
                f'first in example {first_index(~finite)}; repair or remove '
                f'these examples: keep = onp.isfinite({name}.astype('
                f"'float32')).reshape(len({name}), -1).all(axis=1); "
                'X, y = X[keep], y[keep]'
            )
    check_batch(X, y)


def check_numpy(**arrays):
    """Raise TypeError unless each is a NumPy array."""
    for name, value in arrays.items():
        if not isinstance(value, onp.ndarray):
            raise TypeError(
                f'{name} is {kind_of(value)}, but a NumPy array is needed'
                f'{then(numpy_line(name, value))}'
            )


def check_labels(y, num_classes):
    """Raise TypeError or ValueError unless each label names a class."""
    check_positive_int(num_classes=num_classes)
    if y.ndim != 1:
        line = labels_line(y.shape, 1, num_classes)
        raise ValueError(
            f'y has the shape {y.shape}, but a label for each example is '
            f'needed, {y.shape[:1]}{then(line)}'
        )
    valid = onp.isin(y, range(num_classes))
    if not valid.all():
        raise ValueError(
            f'labels must be integers from 0 to {num_classes - 1}, but '
            f'example {first_index(~valid)} has {y[first_index(~valid)]}: '
            f'{classes_line(y, num_classes)}'
        )


def as_examples(X, y, batch_size, num_classes=None) -> List[onp.ndarray]:
    """Return X and y, as float32 where they are float64; raise TypeError or
    ValueError unless minibatches can be made."""
    check_examples(X, y)
    if num_classes is not None:
        check_labels(y, num_classes)
    check_positive_int(batch_size=batch_size)
    return [without_float64(X), without_float64(y)]


def without_float64(data) -> onp.ndarray:
    """Return the data, as float32 if they are float64."""
    return data.astype('float32') if data.dtype == 'float64' else data


def as_floats(X) -> Any:
    """Return X as float32; raise TypeError unless it holds bytes."""
    if getattr(X, 'dtype', None) not in (onp.uint8, 'uint8'):
        raise TypeError(
            f'X must be of dtype uint8, not {getattr(X, "dtype", type(X))}: '
            'on_bytes divides by 255, so give floats to the network itself'
        )
    return X.astype('float32')


def first_index(found) -> int:
    """Return the first row in which `found` is true anywhere."""
    return int(onp.argwhere(found)[0][0])


# Chapter 5: training


def check_train_batch(X, y, device_params, devices, lr):
    """Raise TypeError or ValueError unless a step can be taken."""
    check_replicas(device_params, devices)
    check_learning_rate(lr)
    check_minibatch(X, y)


def check_data(data, **functions):
    """Raise TypeError or ValueError unless `data` is None or X_train, y_train,
    X_test, y_test, and each of `functions` is one."""
    for name, value in functions.items():
        if not callable(value):
            raise TypeError(
                f'{name} is {kind_of(value)}, but a function is needed, such '
                f'as {name}=d2lmulti.{EXAMPLES[name]}'
            )
    if data is None:
        return
    needed = '(X_train, y_train, X_test, y_test), as from read_fashion_mnist,'
    if not isinstance(data, (list, tuple)):
        raise TypeError(
            f'data is {kind_of(data)}, but {needed} is needed: '
            'read_fashion_mnist()'
        )
    if len(data) == 2 and [*map(is_pair, data)] == [True, True]:
        raise ValueError(
            f'data is two pairs, but {needed} is needed: (*data[0], *data[1])'
        )
    if len(data) != 4:
        raise ValueError(
            f'data is {counted(len(data), "array")}, but {needed} is needed: '
            'read_fashion_mnist()'
        )
    names = 'X_train', 'y_train', 'X_test', 'y_test'
    check_numpy(**dict(zip(names, data)))


# What the message about an argument of `train` that is no function names.
EXAMPLES = {'net': 'lenet', 'loss': 'loss', 'init': 'init_params'}


def check_evaluation(device_params, data_iter, devices):
    """Raise TypeError or ValueError unless replicas can be evaluated."""
    check_replicas(device_params, devices)
    if is_pair(data_iter):
        raise TypeError(
            f'data_iter is {kind_of(data_iter)}, a single minibatch, but an '
            'iterable of minibatches (X, y) is needed: [data_iter]'
        )
    if isinstance(data_iter, (str, mx.nd.NDArray, onp.ndarray)) or not hasattr(
        data_iter, '__iter__'
    ):
        raise TypeError(
            f'data_iter is {kind_of(data_iter)}, but an iterable of '
            'minibatches (X, y) is needed: [(X, y)]'
        )


def as_labels(y, guesses) -> Any:
    """Return the labels as whole numbers in one row, to compare them with
    the guesses; raise ValueError unless there is one for each guess."""
    if y.size != guesses.size:
        one_hot = y.ndim == 2 and len(y) == guesses.size
        raise ValueError(
            f'each y[i] has the shape {y.shape[1:]}, but a label for each '
            f'guess is needed{then("y.argmax(axis=1)" if one_hot else "")}'
        )
    return y.reshape(-1).astype('int64')


def check_training(num_epochs, lr, data_iter, devices):
    """Raise TypeError or ValueError unless `train` can begin.

    `data_iter`: `Minibatches`, each of which every device takes part in.
    """
    check_positive_int(num_epochs=num_epochs)
    check_learning_rate(lr)
    num_examples = len(data_iter.X)
    last = num_examples - (len(data_iter) - 1) * data_iter.batch_size
    if last < len(devices):
        raise ValueError(
            f'the last minibatch of {num_examples} examples has {last}, too '
            f'few for {len(devices)} devices: choose a batch_size other than '
            f'{data_iter.batch_size}, or fewer devices'
        )


def check_finite(params, lr):
    """Wait; raise FloatingPointError if a parameter is not finite."""
    if not all(onp.isfinite(param.asnumpy()).all() for param in params):
        raise FloatingPointError(
            f'training diverged: the parameters are no longer finite: lr={lr} '
            'is too large'
        )


# Chapter 6: causes


def check_causes(devices, step, device_params, net):
    """Raise TypeError or ValueError unless `find_causes` can begin.

    All but `devices` are None where the caller gave none.
    """
    check_devices(devices, least=2)
    if net is not None and device_params is None:
        raise ValueError('net needs its parameters: pass device_params, too')
    if device_params is not None:
        check_replicas(device_params, devices)
    try:
        inspect.signature(step or check_batch).bind(None, None)
    except (TypeError, ValueError):
        raise TypeError(
            'step must be a function of a minibatch, X and y, such as lambda '
            f'X, y: train_batch(X, y, replicas, devices, lr), not {step!r:.60}'
        ) from None


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


def sizes_of_slices(n, k) -> List[int]:
    """Return the lengths of what `split_slices` cuts: NumPy cuts alike."""
    check_slices(n, k)
    return [len(part) for part in onp.array_split(onp.broadcast_to(0, n), k)]


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
    num_params = len(device_params[0])
    check_count(
        f'{num_params} parameters', len(states) and num_params, states=states
    )
    for state in states:  # of a parameter
        residuals = state.get('residuals', devices)
        check_count(f'{len(devices)} devices', len(devices), states=residuals)


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


# Chapter 11: schedules


def check_warmup(lr, step, num_warmup, start):
    """Raise TypeError or ValueError unless a warm-up can be computed."""
    check_rate(lr, step, num_warmup=num_warmup)
    check_number(lambda s: 0 <= s <= lr, f'from 0 to {lr}', start=start)


def check_warmup_and_decay(step, num_warmup, num_steps):
    """Raise TypeError or ValueError unless the warm-up leaves a step."""
    check_integer(0, step=step)
    check_positive_int(num_warmup=num_warmup, num_steps=num_steps)
    if num_warmup >= num_steps:
        raise ValueError(
            f'a warm-up of {num_warmup} steps leaves none of the {num_steps} '
            'for the decay: make it shorter'
        )


def check_accumulation(X, y, device_params, devices, lr, num_micro_batches):
    """Raise TypeError or ValueError unless each device gets an example."""
    check_train_batch(X, y, device_params, devices, lr)
    check_positive_int(num_micro_batches=num_micro_batches)
    if len(X) < num_micro_batches * len(devices):
        raise ValueError(
            f'{len(X)} examples are too few for {num_micro_batches=} and '
            f'{len(devices)=}: use fewer parts'
        )


# Chapter 12: batch normalization


def check_batch_norm(shards, gammas, betas, sync, epsilon):
    """Raise TypeError or ValueError unless all shards can be normalized."""
    check_positive_number(epsilon=epsilon)
    lengths = [len(shards), len(gammas), len(betas)]
    if not shards or len(set(lengths)) > 1:
        raise ValueError(
            f'give a shard, a gamma and a beta for each device, not {lengths}'
        )
    for x in shards:
        if x.ndim < 2 or x.size == 0 or onp.dtype(x.dtype).kind != 'f':
            raise TypeError(
                'a shard is an array of floats with examples and channels, '
                f'not {x.dtype} of shape {x.shape}'
            )
    c = shards[0].shape[1]
    if set(shapes_of([*gammas, *betas])) != {(c,)}:
        raise ValueError(f'gammas and betas need the shape ({c},)')
    counts = [x.size // x.shape[1] for x in shards]
    if (sum(counts) if sync else min(counts)) < 2:
        local = f' on every device (here {counts} numbers per channel), or '
        local += 'synchronize the statistics'
        raise ValueError(
            'batch normalization of a single example would return only zeros: '
            f'give two or more{"" if sync else local}'
        )


def check_gradients_bn(
    X_shards, y_shards, device_params, device_averages, num_layers, momentum
):
    """Raise TypeError or ValueError unless each shard has all it needs."""
    check_fraction(momentum=momentum)
    lists = X_shards, y_shards, device_params, device_averages
    if len(set(map(len, lists))) > 1:
        raise ValueError(
            'give images, labels, parameters and averages for each device, '
            f'not {[*map(len, lists)]} of them'
        )
    for params, averages in zip(device_params, device_averages):
        devices = {array.ctx for array in (*params, *averages)}
        if len(averages) != 2 * num_layers or len(devices) > 1:
            raise ValueError(
                f'each device needs {2 * num_layers} running averages, on the '
                f'device of its parameters; one has {len(averages)}, on '
                f'{sorted(map(str, devices))}'
            )


# Chapter 13: heterogeneous devices


def check_shares(shares, num_rows, k, name='shares', who='device'):
    """Raise TypeError or ValueError unless each of `k` can get a row."""
    check_num_rows(num_rows, k, who)
    if not all(map(is_number, shares)):
        raise TypeError(f'{name} must be numbers, not {shares}')
    if not 0 < len(shares) == k or not all(
        0 < share < math.inf for share in shares
    ):
        raise ValueError(
            f'{name} must be a finite number above 0 for each {who}, '
            f'{max(1, k)} here, not {shares}: leave out a {who} that should '
            'get nothing'
        )


def check_split_by_shares(X, y, devices, shares):
    """Raise TypeError or ValueError unless the shares fit the rows."""
    check_minibatch(X, y)
    check_split(X, devices)
    check_split(y, devices)
    check_shares(shares, len(X), len(devices))


def as_capacities(capacities, batch_size, num_devices) -> Tuple[float, ...]:
    """Return the capacities, infinite where None; raise TypeError or
    ValueError unless they are valid and hold `batch_size`."""
    limits = as_limits(capacities, num_devices, 'capacities')
    filled = tuple(math.inf if n is None else n for n in limits)
    if sum(filled) < batch_size:
        raise ValueError(
            f'{batch_size} examples do not fit into {sum(filled)}: take a '
            'smaller minibatch, or accumulate gradients'
        )
    return filled


def check_adapt(shares, recent, margin):
    """Raise TypeError or ValueError unless each step has a cost per device."""
    check_fraction(margin=margin)
    check_positive_int(**numbered('shares', shares))
    k = len(shares)
    if not len(recent) or any(len(costs) != k for costs in recent):
        raise ValueError(
            f'recent must hold, for one step or more, {k} seconds, not '
            f'{list(recent)}'
        )
    for i, costs in enumerate(recent):
        check_positive_number(**numbered(f'recent[{i}]', costs))


# Chapter 14: tokens


def check_mask_words(tokens, vocab_size, fraction):
    """Raise TypeError or ValueError unless words can be hidden in `tokens`."""
    if not isinstance(tokens, onp.ndarray) or tokens.dtype.kind not in 'iu':
        raise TypeError(
            'tokens must be a NumPy array of integers, as from encode, not '
            f'{tokens!r:.60}'
        )
    if tokens.ndim != 2 or not (tokens != 0).any(axis=1).all():
        raise ValueError(
            'tokens must have the shape (n, length), and a word in every row'
        )
    check_integer(4, vocab_size=vocab_size)
    check_tokens(vocab_size, 'vocab_size', tokens=tokens)
    check_fraction(fraction=fraction)


def check_transformer(X, params, num_heads):
    """Raise TypeError or ValueError unless `params` fit the tokens `X`."""
    check_positive_int(num_heads=num_heads)
    if len(params) < 5 or (len(params) - 5) % 12:
        raise ValueError(
            f'{len(params)} parameters, but there are 5 and 12 more for each '
            'layer: make them with init_transformer'
        )
    max_length, width = params[1].shape
    if X.ndim != 2 or X.shape[1] > max_length:
        raise ValueError(
            f'X must have the shape (n, length) with at most {max_length} '
            f'positions, not {X.shape}: cut the rows, or give '
            'init_transformer a larger max_length'
        )
    check_divides('numbers (the width)', width, num_heads=num_heads)


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
    check_count(f'{needed} layers', 2 * needed, parameters=params)
    check_enough(needed, 'layer', num_chunks * len(devices), part)
    check_count(f'{needed} layers', needed, costs=costs)


def check_micro_batches(num_examples, num_micro_batches):
    """Raise TypeError or ValueError unless every part gets an example."""
    check_positive_int(num_micro_batches=num_micro_batches)
    check_enough(num_examples, 'example', num_micro_batches, 'micro-batch')


def check_tensor_parts(X, y, device_parts, layers):
    """Raise ValueError unless all layers have parameters, images a label."""
    check_batch(X, y)
    needed = 2 * len(layers) + 2
    for parts in device_parts:
        check_count(f'{len(layers)} layers and the last', needed, arrays=parts)


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
    lists = {f'lists in {name}': device_arrays}
    check_count(f'{len(devices)} devices', len(devices), **lists)
    for arrays, device in zip(device_arrays, devices):
        two = {f'arrays in {name}, a weight and a bias each': arrays}
        check_count(f'{len(layers)} layers', 2 * len(layers), **two)
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
    whole = len(row) > row.max(initial=-1)
    if not whole or more > 1 or found != [times * own for own in held]:
        raise ValueError(
            f'arrays of shapes {found} do not fit the layout, which has '
            f'{held}: give find_places the function and devices of the split'
        )
    check_count('layouts of the same shapes', len(row), places=places_of(new))
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
    check_tokens(len(replicas[0][0]), 'the rows of params[0]', X=X, y=y)
    check_positive_int(num_choices=num_choices, **given(capacity=capacity))
    check_not_negative(alpha=alpha)
    check_enough(len(experts), 'expert', num_choices, 'choice')
    routed = {'rows of the router, one for each expert': replicas[0][1]}
    check_count(f'{len(experts)} experts', len(experts), **routed)


# Chapter 19: several machines


def check_worker_shares(num_rows, shares, num_workers):
    """Raise TypeError or ValueError unless every worker can get a row."""
    check_shares(shares, num_rows, num_workers, who='worker')


def as_scalar(name, value) -> float:
    """Return a number, or an array with a single one, as a float; raise
    TypeError for anything else."""
    if isinstance(value, (np.ndarray, onp.ndarray)) and value.size == 1:
        value = value.item()
    if not is_number(value):
        raise TypeError(f'{name} must be a number, not {value!r:.60}')
    return float(value)


def as_weight(value, name='count(y)') -> float:
    """Return what a function has returned as a float; raise TypeError or
    ValueError unless it is a finite number of at least 0."""
    number = as_scalar(name, value)
    check_not_negative(**{name: number})
    return number


def check_cluster(
    counts, speed, num_micro_batches=1, max_norm=None, **functions
):
    """Raise TypeError or ValueError unless `train_on_cluster` can begin."""
    check_positive_int(**counts, num_micro_batches=num_micro_batches)
    check_positive_number(**given(speed=speed, max_norm=max_norm))
    if speed is not None:
        check_positive_number(**{'speed, in float32,': onp.float32(speed)})
    needed = ['init', 'evaluate', 'net', 'loss', 'count']
    such = {'update': 'adam or None', 'schedule': 'lambda step: 0.1 or None'}
    for name, value in functions.items():
        if name not in [*needed, *such]:
            raise TypeError(
                f'train_on_cluster has no argument {name!r}: the options are '
                'net, loss, update, num_micro_batches, max_norm, count'
            )
        if not callable(value) and not (name in such and value is None):
            hint = f' such as {such[name]}' if name in such else ''
            raise TypeError(
                f'{name} must be a function{hint}, not {value!r:.60}'
            )


# Chapters 21 and 22: other frameworks


def check_installed(module):
    """Raise ImportError unless another framework's package is installed."""
    if importlib.util.find_spec(module) is None:
        raise ImportError(
            f'there is no {module} in this environment: open the chapter with '
            '`make lab BUILD=frameworks`, which sets up another one'
        )


# Chapter 23: scaling and cost

ALGORITHMS = ('star', 'direct', 'ring', 'tree', 'halving-doubling', 'servers')


def check_exchange(
    algorithm, k, num_bytes, alpha, beta, num_servers=1, group=1
):
    """Raise TypeError or ValueError unless an allreduce can be computed."""
    if algorithm not in ALGORITHMS:
        raise ValueError(
            f'algorithm must be one of {", ".join(ALGORITHMS)}, not '
            f'{algorithm!r}'
        )
    check_positive_int(k=k, num_servers=num_servers, group=group)
    check_not_negative(num_bytes=num_bytes, alpha=alpha, beta=beta)
    check_divides('devices', k, group=group)


def check_machine(batch_size, k, machine):
    """Raise TypeError or ValueError unless a step can be predicted."""
    check_positive_int(batch_size=batch_size, k=k)
    check_num_rows(batch_size, k)
    check_not_negative(
        fixed=machine.fixed,
        per_example=machine.per_example,
        per_sum=machine.per_sum,
        load=machine.load,
        **numbered('times', machine.times),
    )
    check_at_least_one(at_once=machine.at_once)
    check_number(lambda f: 0 <= f <= 1, 'from 0 to 1', overlap=machine.overlap)


def check_failures(work, mtbf, interval, checkpoint_seconds, restart_seconds):
    """Raise TypeError or ValueError unless a run with failures can end."""
    check_positive_number(work=work, mtbf=mtbf, interval=interval)
    check_not_negative(
        checkpoint_seconds=checkpoint_seconds, restart_seconds=restart_seconds
    )
    attempt = interval + checkpoint_seconds + restart_seconds
    if attempt > 20 * mtbf:
        raise ValueError(
            f'an attempt of {attempt:g} s would hardly ever end with a '
            f'failure every {mtbf:g} s: save checkpoints more often'
        )
