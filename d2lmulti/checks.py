"""The argument checks of part I, called at the head of a function.

They refuse what a student passes by mistake: arguments in another order, raw
data, a device twice, a replica too few. A message says what came and what is
needed, and after a colon what makes it. TypeError for a value of the wrong
type, ValueError for one that cannot work. What nobody passes by mistake
raises Python's or MXNet's own error. Arguments have no types here: anything
may come, and that is checked. Chapter 21 has a check here, too.
"""

import ctypes
import importlib.util
import itertools
from typing import Any, List, Optional

import mxnet as mx
import numpy as onp
from mxnet import base, np

from .check_values import (
    check_enough,
    check_integer,
    check_learning_rate,
    check_not_negative,
    check_positive_int,
    counted,
    given,
    has_twice,
    is_integer,
    is_list_of,
    is_number,
    numbered,
)
from .prepare.machine import is_stand_in
from .prepare.mxnet_settings import MAX_CPU_DEVICES

Device = type(mx.cpu())
CALLED = 'give its name alone, do not call it'
DTYPES = 'float16 float32 float64 uint8 int8 int32 int64 bool'.split()


# What came, in words, and what makes the right thing of it


def kind_of(value: Any) -> str:
    """Return 'a NumPy array', 'a list of devices', 'None', ...: what came."""
    if isinstance(value, Device):
        return f'the device {value}'
    if isinstance(value, (str, type(None))) or is_number(value):
        return f'{value!r:.40}'
    if isinstance(value, onp.ndarray):
        return 'a NumPy array'
    if isinstance(value, np.ndarray):
        return 'an MXNet array'
    name = type(value).__name__
    if isinstance(value, (list, tuple)) and len(value):
        inner = {Device: 'devices', np.ndarray: 'arrays', list: 'lists'}
        part = type(value[0])
        name += f' of {inner.get(part, part.__name__)}'
    return f'{"an" if name[0] in "AEIOaeio" else "a"} {name}'


def need(is_right: Any, needed: str, fix: str = '', **value: Any) -> None:
    """Raise TypeError unless the value `is_right`; `fix` makes it right."""
    if not is_right:
        ((name, came),) = value.items()
        raise TypeError(
            f'{name} is {kind_of(came)}, but {needed} is needed{then(fix)}'
        )


def then(fix: str) -> str:
    """Return ': fix', the end of a message, or '' if none is known."""
    return fix and f': {fix}'


def check_arrays(**arrays):
    """Raise TypeError unless each is an MXNet array."""
    for name, value in arrays.items():
        fix = ''
        if isinstance(value, np.ndarray):
            continue
        if isinstance(value, mx.nd.NDArray):  # of the older interface
            fix = f'{name}.as_np_ndarray()'
        elif isinstance(value, onp.ndarray) and value.dtype.name in DTYPES:
            dtype = ", dtype='float32'" if value.dtype == 'float64' else ''
            fix = f'mx.np.array({name}{dtype})'
        elif isinstance(value, onp.ndarray):
            fix = f"mx.np.array({name}.astype('int32'))"
        need(False, 'an MXNet array', fix, **{name: value})


def check_numpy(**arrays):
    """Raise TypeError unless each is a NumPy array of MXNet's dtypes."""
    for name, value in arrays.items():
        fix = f'onp.array({name})'
        if isinstance(value, mx.nd.NDArray):
            fix = f'{name}.asnumpy()'
        is_array = isinstance(value, onp.ndarray)
        need(is_array, 'a NumPy array', fix, **{name: value})
        if value.dtype.name not in DTYPES:
            raise TypeError(
                f'{name} holds {value.dtype}, which MXNet does not have: '
                f"{name}.astype('int32'), if these are whole numbers"
            )


def is_pair(value: Any) -> bool:
    """Return whether this is (X, y), so that y has fewer axes than X."""
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        return False
    axes = [len(getattr(part, 'shape', ())) for part in value]
    return axes[0] > axes[1] > 0


def shapes_of(arrays) -> List[tuple]:
    """Return the shape of each array."""
    return [array.shape for array in arrays]


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
    # more of them wait for each other's workspaces, some forever
    if not gpus and k > MAX_CPU_DEVICES:
        raise ValueError(
            f'{k} CPU devices asked for, but at most {MAX_CPU_DEVICES} work '
            f'side by side: ask for at most {MAX_CPU_DEVICES}'
        )


def check_slices(n: Any, k: Any) -> None:
    """Raise TypeError or ValueError unless n items can be cut for k."""
    check_integer(0, n=n)
    check_integer(1, k=k)


# Chapter 2: the network


def check_init_params(seed, scale):
    """Raise TypeError or ValueError unless parameters can be drawn."""
    fix = 'a device is for get_params(init_params(), device)'
    need(not isinstance(seed, Device), 'an integer', fix, seed=seed)
    check_integer(0, seed=seed)
    check_not_negative(**given(scale=scale))


def check_lenet(X, params):
    """Raise TypeError or ValueError unless LeNet can score the images."""
    fix = 'the images come first, lenet(X, params)'
    need(not is_list_of(np.ndarray, X), 'an MXNet array', fix, X=X)
    check_param_list(params)
    check_arrays(X=X)
    if len(params) != 8:
        raise ValueError(
            f'lenet has 8 parameters, not {len(params)}: for those of another '
            'net, pass that net, too'
        )
    shape, channels = X.shape, params[0].shape[1]
    if not shape[0] or shape[1:] != (channels, 28, 28):
        fix = ''
        if shape[1:] == (28, 28, channels):
            fix = 'X.transpose(0, 3, 1, 2)'  # the channels came last
        elif len(shape) != 4 and X.size % (channels * 28 * 28) == 0:
            fix = f'X.reshape(-1, {channels}, 28, 28)'
        raise ValueError(
            f'X has the shape {shape}, but lenet needs images, (n, '
            f'{channels}, 28, 28), at least one{then(fix)}'
        )
    came, needed = (onp.dtype(array.dtype).name for array in (X, params[0]))
    if came != needed:
        scaled = ' / 255' if 'int' in came else ''  # pixels
        raise TypeError(
            f"X holds {came}, but params {needed}: X.astype('{needed}')"
            f'{scaled}'
        )
    check_same_device(X=X, params=params[0])


def check_loss(y_hat, y):
    """Raise TypeError or ValueError unless each row of scores has a label.

    Which labels these are, only the devices know.
    """
    fix = 'does net return its scores?'
    need(y_hat is not None, 'an MXNet array', fix, y_hat=y_hat)
    check_arrays(y_hat=y_hat, y=y)
    if y.dtype == onp.bool_:  # which MXNet would take for other numbers
        raise TypeError(
            'y holds bool, but loss needs the numbers of classes: '
            "y.astype('int32')"
        )
    scores, labels = y_hat.shape, y.shape
    if labels != scores[:-1]:
        fix = labels_fix(labels, len(scores) - 1, scores[-1])
        raise ValueError(
            f'y_hat has the shape {scores} and y {labels}, but loss(y_hat, y) '
            'takes a row of scores for each example, before argmax, and then '
            f'a label for each row{then(fix)}'
        )
    check_same_device(y=y, y_hat=y_hat)


def labels_fix(shape: tuple, ndim: int, num_classes: int) -> str:
    """Return the line that makes labels of `ndim` axes of y, or ''."""
    if len(shape) != ndim + 1 or not ndim:
        return ''
    if shape[-1] == 1:
        return 'y.squeeze(-1)'
    return 'y.argmax(axis=-1)' if shape[-1] == num_classes else ''


def check_same_device(**arrays):
    """Raise ValueError unless the first array is where the second is."""
    (name, array), (other, there) = arrays.items()
    if array.ctx != there.ctx:
        raise ValueError(
            f'{name} is on {array.ctx}, but {other} on {there.ctx}: '
            f'{name}.copyto(mx.{there.ctx})'
        )


# Chapter 3: replicas


def check_devices(devices, least=1):
    """Raise TypeError or ValueError unless `devices` are distinct."""
    fix = 'such as try_devices(2)'
    if is_integer(devices) and devices > 0:
        fix = f'try_devices({devices})'
    elif isinstance(devices, Device):
        fix = '[devices]'
    is_right = is_list_of(Device, devices)
    need(is_right, 'a list of devices', fix, devices=devices)
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
    fix = ''
    if is_list_of((list, tuple), params):
        fix = 'of replicas, give one, params[0]'
    elif is_list_of(onp.ndarray, params):
        fix = "[mx.np.array(param, dtype='float32') for param in params]"
    is_right = is_list_of(np.ndarray, params)
    need(is_right, 'a list of MXNet arrays', fix, params=params)


def check_get_params(params, device):
    """Raise TypeError unless `params` can have a replica on `device`."""
    fix = 'such as mx.cpu(0), or one of the list try_devices(2)'
    if isinstance(params, Device):
        fix = 'the parameters come first, get_params(params, device)'
    elif is_list_of(Device, device):
        fix = '[get_params(params, device) for device in devices]'
    need(isinstance(device, Device), 'a device', fix, device=device)
    check_param_list(params)
    for param in params:
        is_float = 'float' in onp.dtype(param.dtype).name
        fix = "param.astype('float32')"
        need(is_float, 'one of floats', fix, param=param)


def check_replicas(device_params, devices):
    """Raise TypeError or ValueError unless there is a replica on each of
    `devices`."""
    fix = ''
    if is_list_of(Device, device_params):
        fix = 'replicas come before their devices'
    elif is_list_of(np.ndarray, device_params):
        fix = '[get_params(device_params, device) for device in devices]'
    is_right = is_list_of((list, tuple), device_params)
    needed = 'a list with a replica for each device'
    need(is_right, needed, fix, device_params=device_params)
    check_devices(devices)
    if len(device_params) != len(devices):
        raise ValueError(
            f'{counted(len(device_params), "replica")} for '
            f'{counted(len(devices), "device")}: make one on each device '
            'with get_params'
        )
    for params, device in zip(device_params, devices):
        check_arrays(**numbered('params', params))
        if len(params) != len(device_params[0]) or has_twice(params):
            raise ValueError(
                'a replica has more parameters than another, or one of them '
                'twice: make it with get_params'
            )
        check_home('a parameter', params, device)
        check_gradients(params)


def check_home(what, arrays, device):
    """Raise ValueError unless all arrays live on the device."""
    for array in arrays:
        if array.ctx != device:
            raise ValueError(
                f'{what} lives on {array.ctx}, but belongs on {device}: make '
                'it there, as get_params does, in the order of the devices'
            )


def check_gradients(params):
    """Raise TypeError or ValueError unless each parameter has memory for its
    gradient."""
    for param in params:
        check_arrays(param=param)
        if param.grad is None:
            raise ValueError(
                'a parameter has no gradient: make its replica with get_params'
            )


def check_allreduce_arrays(data):
    """Raise TypeError or ValueError unless `data` can be summed in place."""
    needed = 'a list of arrays, one for each device,'
    need(isinstance(data, (list, tuple)), needed, data=data)
    if not data:
        raise ValueError('no arrays to sum: give one for each device')
    fix = 'allreduce_gradients(replicas) sums the gradients of replicas'
    need(not is_list_of((list, tuple), data), needed, fix, data=data)
    if any(array is None for array in data):
        raise TypeError(
            'a gradient is None: allreduce_gradients takes the list of all '
            'replicas, each made with get_params, allreduce one of gradients'
        )
    check_arrays(**numbered('data', data))
    dtypes = [onp.dtype(array.dtype).name for array in data]
    for what, kinds in (('shape', shapes_of(data)), ('dtype', dtypes)):
        if len(set(kinds)) > 1:
            raise ValueError(
                f'arrays of more than one {what}, {kinds}: they must be '
                'alike on all devices'
            )
    if dtypes[0] == 'bool':
        raise TypeError(
            'a sum of bool arrays would be bool again, not a count: convert '
            "them with astype('int32')"
        )
    if any(overlap(*pair) for pair in itertools.combinations(data, 2)):
        raise ValueError(
            'two arrays are one, or overlap, so that numbers would be counted '
            'twice: give each device another array'
        )


def overlap(array, other) -> bool:
    """Return whether two arrays of one size have memory in common."""
    if array is other:
        return True
    # two devices, the usual case: no address is asked for
    if array.ctx != other.ctx or not array.size:
        return False
    if is_stand_in():  # MXNet's compares where they begin, only
        return np.shares_memory(array, other)
    starts = []
    for each in (array, other):
        # Its first write allots the memory, in another thread: who asks for
        # the address before that may make a second one, and lose the write.
        each.wait_to_read()
        start = ctypes.c_void_p()
        pointer = ctypes.byref(start)
        base.check_call(base._LIB.MXNDArrayGetData(each.handle, pointer))
        starts.append(start.value or 0)
    num_bytes = array.size * onp.dtype(array.dtype).itemsize
    return abs(starts[0] - starts[1]) < num_bytes


# Chapter 4: examples and minibatches


def check_split(data, devices):
    """Raise TypeError or ValueError unless each device can get a shard."""
    check_arrays(data=data)
    check_devices(devices)
    check_num_rows(len(data), len(devices))


def check_num_rows(num_rows: int, k: int, who: str = 'device') -> None:
    """Raise ValueError unless everyone can get a row."""
    check_enough(num_rows, 'example', k, who, ' or a larger minibatch')


def check_minibatch(X, y):
    """Raise TypeError or ValueError unless there is a label for each
    example. Looks at types and shapes only, and so does not wait."""
    check_arrays(X=X, y=y)
    check_batch(X, y)


def check_batch(X: Any, y: Any) -> None:
    """Raise ValueError unless there are as many labels as examples."""
    if not X.ndim or not y.ndim:
        raise ValueError(
            f'X has the shape {X.shape} and y {y.shape}, but a minibatch has '
            'a row for each example: of one example, X[None] and y.reshape(1)'
        )
    if len(X) != len(y):
        raise ValueError(
            f'{len(X)} examples but {len(y)} labels: X and y must have the '
            'same length, as X[rows] and y[rows] have'
        )
    # whole numbers, then images; other data may have more columns in y
    kinds = [onp.dtype(array.dtype).kind for array in (X, y)]
    if y.ndim > X.ndim and kinds in (['i', 'f'], ['u', 'f']):
        raise ValueError(
            f'labels of shape {y.shape} for examples of shape {X.shape}: '
            'are they swapped? The examples come first'
        )


def as_examples(X, y, batch_size, num_classes=None) -> List[onp.ndarray]:
    """Return X and y, as float32 where they are float64; raise TypeError or
    ValueError unless they are rows of finite numbers, y of labels."""
    check_numpy(X=X, y=y)
    check_batch(X, y)
    examples = []
    for name, data in (('X', X), ('y', y)):
        if data.size == 0:
            raise ValueError(
                f'{name} must have a row for each of at least one example, '
                f'not the shape {data.shape}'
            )
        if data.dtype == 'float64':
            with onp.errstate(over='ignore'):  # what becomes inf is refused
                data = data.astype('float32')
        bad = first_row(~onp.isfinite(data))
        if bad is not None:
            raise ValueError(
                f'{name} has a number that is not finite in float32, in '
                f'example {bad}: repair that example, or leave it out'
            )
        examples.append(data)
    if num_classes is not None:
        check_labels(y, num_classes)
    check_positive_int(batch_size=batch_size)
    return examples


def check_labels(y, num_classes):
    """Raise TypeError or ValueError unless each label names a class."""
    check_positive_int(num_classes=num_classes)
    if y.ndim != 1:
        fix = labels_fix(y.shape, 1, num_classes)
        raise ValueError(
            f'y has the shape {y.shape}, but a label for each example is '
            f'needed, {y.shape[:1]}{then(fix)}'
        )
    bad = first_row(~onp.isin(y, range(num_classes)))
    if bad is not None:
        raise ValueError(
            f'labels must be integers from 0 to {num_classes - 1}, but '
            f'example {bad} has {y[bad]}: correct it, or leave that example '
            'out; if labels begin at 1, y - 1'
        )


def first_row(is_bad) -> Optional[int]:
    """Return the first row in which an array is true anywhere, or None."""
    rows = onp.argwhere(is_bad)
    return int(rows[0][0]) if len(rows) else None


# Chapter 5: training


def check_sgd(params, batch_size):
    """Raise TypeError or ValueError unless parameters can be updated."""
    check_positive_int(batch_size=batch_size)  # is it the learning rate?
    check_gradients(params)


def check_train_batch(X, y, device_params, devices, lr):
    """Raise TypeError or ValueError unless a step can be taken."""
    check_replicas(device_params, devices)
    check_learning_rate(lr)
    check_minibatch(X, y)


def check_backward(X_shards, y_shards, device_params):
    """Raise TypeError or ValueError unless each shard has its replica."""
    fix = 'split_batch(X, y, devices) makes them'
    for data in (X_shards, y_shards):
        is_list = isinstance(data, (list, tuple))
        need(is_list, 'a list with a shard for each device', fix, data=data)
    is_list = is_list_of((list, tuple), device_params)
    need(is_list, 'a list of replicas', device_params=device_params)
    if not len(X_shards) == len(y_shards) <= len(device_params):
        raise ValueError(
            f'{len(X_shards)} and {len(y_shards)} shards for '
            f'{counted(len(device_params), "replica")}: {fix}, for the '
            'devices of the replicas'
        )


def check_data(data):
    """Raise TypeError unless `data` is None or four arrays."""
    if data is None:
        return
    names = 'X_train', 'y_train', 'X_test', 'y_test'
    is_four = isinstance(data, (list, tuple)) and len(data) == 4
    is_pairs = is_list_of((list, tuple), data) and len(data) == 2
    fix = 'of two pairs, (*data[0], *data[1])' if is_pairs else ''
    need(is_four, f'({", ".join(names)})', fix, data=data)
    check_numpy(**dict(zip(names, data)))


def check_minibatches(data_iter):
    """Raise TypeError unless a loop over this gives minibatches (X, y)."""
    is_right, fix = hasattr(data_iter, '__iter__'), ''
    if isinstance(data_iter, (str, mx.nd.NDArray, onp.ndarray, enumerate)):
        is_right = False
    elif is_pair(data_iter):
        is_right, fix = False, '[data_iter]'
    elif isinstance(data_iter, (list, tuple)):  # perhaps of two iterators
        is_right = is_list_of((list, tuple), data_iter) and all(
            len(minibatch) == 2 for minibatch in data_iter
        )
        fix = 'of iterators, give one'
        if is_list_of(Device, data_iter):
            fix = 'data_iter comes before devices'
        elif is_list_of((list, tuple, np.ndarray), data_iter):
            fix = ''  # perhaps replicas, or images without labels
    needed = 'an iterable of minibatches (X, y)'
    need(is_right, needed, fix, data_iter=data_iter)


def check_evaluation(device_params, data_iter, devices):
    """Raise TypeError or ValueError unless replicas can be evaluated."""
    check_minibatches(data_iter)
    check_replicas(device_params, devices)


def as_labels(y, guesses) -> Any:
    """Return the labels as whole numbers in one row, to compare them with
    the guesses; raise ValueError unless there is one for each guess."""
    if y.size != guesses.size:
        raise ValueError(
            f'y has the shape {y.shape}, but a label for each guess is '
            'needed: if it has a column for each class, y.argmax(axis=1)'
        )
    return y.reshape(-1).astype('int64')


def count_classes(net, params, X, y, X_test) -> Optional[int]:
    """Return how many classes a network has scores for, from one example.

    None if `y` are no labels: one number for a whole row of scores. Raises
    ValueError if `net(X, params)` cannot compute the scores of the first
    example of X or of X_test.
    """
    shapes = []
    for name, data in (('X_test', X_test), ('X_train', X)):
        dtype = 'float32' if data.dtype == 'float64' else data.dtype
        try:
            first = np.array(data[:1], dtype=dtype)
            scores = net(first, params)
            is_array = isinstance(scores, np.ndarray)
            need(is_array, 'an MXNet array', scores=scores)
            shapes.append(scores.asnumpy().shape)
        except Exception as error:  # of a check, of MXNet, or net's own
            raise ValueError(
                f'net({name}[:1], params) fails, with params = init(seed): '
                f'{type(error).__name__}: {str(error)[:300]}'
            ) from error
    *axes, last = shapes[-1]
    return last if len(axes) == y.ndim and last > 1 else None


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
            'training diverged: the parameters are no longer finite. Most '
            f'often lr={lr} is too large: take a smaller one. Or the loss '
            'has the wrong sign'
        )


# Chapter 6: causes


def check_causes(data_iter, devices, step, device_params, net):
    """Raise TypeError or ValueError unless `find_causes` can begin."""
    check_minibatches(data_iter)
    check_devices(devices, least=2)
    need(callable(step), 'a function step(X, y)', CALLED, step=step)
    if net is not None and device_params is None:
        raise ValueError('net needs its parameters: pass device_params, too')
    if device_params is not None:
        check_replicas(device_params, devices)


# Chapter 21: another framework


def check_installed(module):
    """Raise ImportError unless another framework's package is installed."""
    if importlib.util.find_spec(module) is None:
        raise ImportError(
            f'there is no {module} in this environment: open the chapter with '
            '`make lab BUILD=frameworks`, which sets up another one'
        )
