"""The argument checks of part I, called at the head of a function.

TypeError for a value of the wrong type, ValueError for one that cannot work;
the message names the argument, what came, and what is needed. No check waits
for a device, unless it reads tokens, or tries an update rule that takes
MXNet's arrays only. Each later part has its own `checks.py`.
Arguments have no types here: anything may come, and that is checked.
"""

import importlib.util
import inspect
import math
import traceback
from typing import Any, Collection, List, Optional, Sized

import mxnet as mx
import numpy as onp
from mxnet import np

from .check_data import (
    Device,
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
from .check_values import (
    check_count,
    check_enough,
    check_integer,
    check_learning_rate,
    check_not_negative,
    check_positive_int,
    counted,
    given,
    has_twice,
    is_list_of,
    numbered,
)
from .prepare.mxnet_settings import MAX_CPU_DEVICES

DTYPES = 'float16 float32 float64 uint8 int8 int32 int64 bool'.split()


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
            f'{k} CPU devices asked for, but at most {MAX_CPU_DEVICES} work '
            "side by side, as others wait for each other's workspaces: ask "
            f'for at most {MAX_CPU_DEVICES}'
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
    if isinstance(seed, Device):
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
        or not all(isinstance(device, Device) for device in devices)
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
    if isinstance(params, Device):
        raise TypeError(
            f'params is {kind_of(params)}, but get_params takes the '
            f'parameters first: get_params(params, mx.{params})'
        )
    if is_list_of(Device, device):
        raise TypeError(
            f'device is the list {device!r:.60}, but a single device is '
            'needed: [get_params(params, device) for device in devices]'
        )
    if not isinstance(device, Device):
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
            f'{counted(len(device_params), "replica")} for '
            f'{counted(len(devices), "device")}: make one on each device '
            'with get_params'
        )
    for params, device in zip(device_params, devices):
        message = 'all replicas must have as many parameters as the first'
        check_count(message, len(device_params[0]), params)
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
                raise ValueError(
                    'a parameter has no gradient: make its replica with '
                    'get_params'
                )


def check_allreduce_arrays(data):
    """Raise TypeError or ValueError unless `data` can be summed in place."""
    if not isinstance(data, (list, tuple)):
        raise TypeError(
            f'give a list of arrays, one for each device, not {kind_of(data)}'
        )
    check_arrays(**numbered('data', data))
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
            'training diverged: the parameters are no longer finite, as '
            f'lr={lr} is too large: take a smaller one'
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


def sizes_of_slices(n, k) -> List[int]:
    """Return the lengths of what `split_slices` cuts: NumPy cuts alike."""
    check_slices(n, k)
    return [len(part) for part in onp.array_split(onp.broadcast_to(0, n), k)]


# Chapters 21 and 22: other frameworks


def check_installed(module):
    """Raise ImportError unless another framework's package is installed."""
    if importlib.util.find_spec(module) is None:
        raise ImportError(
            f'there is no {module} in this environment: open the chapter with '
            '`make lab BUILD=frameworks`, which sets up another one'
        )


# Of several chapters


def shapes_of(arrays) -> List[tuple]:
    """Return the shape of each array."""
    return [array.shape for array in arrays]


def count_classes(net, params, X, y, X_test=None) -> Optional[int]:
    """Return how many classes a network has scores for, from one example.

    None if `y` are no labels: one number for a whole row of scores. Raises
    ValueError if `net(X, params)` cannot compute scores, and what checks of
    `net` raise. An example of `X_test` is tried, too.
    """
    if not all(
        isinstance(data, onp.ndarray)
        and data.size
        and data.dtype.kind in 'fiu'
        for data in (X, y, X if X_test is None else X_test)
    ):
        return None  # `Minibatches` says what is wrong
    shape = try_net(net, params, X, 'X_train')
    if X_test is not None:
        try_net(net, params, X_test, 'X_test')
    return shape[-1] if len(shape) == y.ndim + 1 and shape[-1] > 1 else None


def try_net(net, params, X, name) -> tuple:
    """Return the shape of the scores of the first example of X."""
    dtype = 'float32' if X.dtype == 'float64' else X.dtype
    try:
        return net(np.array(X[:1], dtype=dtype), params).asnumpy().shape
    except Exception as error:
        if is_from_check(error):
            raise type(error)(f'net({name}[:1], params): {error}') from None
        raise ValueError(
            f'net cannot compute the scores of an example of shape '
            f'{X.shape[1:]} with parameters of shapes '
            f'{[param.shape for param in params]}: give net= and init= that '
            f'fit each other and the data ({type(error).__name__})'
        ) from error


def is_from_check(error) -> bool:
    """Return whether a check of ours has raised it, so that its message says
    what to do."""
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    module = frame.f_globals.get('__name__', '')
    own = module.startswith('d2lmulti.')
    return own and module.rpartition('.')[2].startswith('check')


def check_alike(what: str, kinds: Collection[Any]) -> None:
    """Raise ValueError unless arrays are alike."""
    if len(set(kinds)) > 1:
        raise ValueError(
            f'arrays of more than one {what}, {kinds}: they must be alike on '
            'all devices'
        )


def check_no_bool(dtype: str) -> None:
    """Raise TypeError for arrays of bool."""
    if dtype == 'bool':
        raise TypeError(
            'a sum of bool arrays would be bool again, not a count: convert '
            "them with astype('int32')"
        )


def check_slices(n: Any, k: Any) -> None:
    """Raise TypeError or ValueError unless n items can be cut for k."""
    check_integer(0, n=n)
    check_integer(1, k=k)


def check_num_rows(
    num_rows: int, num_owners: int, who: str = 'device'
) -> None:
    """Raise ValueError unless everyone can get a row."""
    remedy = ' or a larger minibatch'
    check_enough(num_rows, 'example', num_owners, who, remedy)


def check_batch(X: Sized, y: Sized) -> None:
    """Raise ValueError unless there are as many labels as examples."""
    if len(X) != len(y):
        raise ValueError(
            f'{len(X)} examples but {len(y)} labels: X and y must have the '
            'same length, as X[rows] and y[rows] have'
        )
