"""What came in place of an array or a device, in words, and the line of code
that converts it: the parts of messages. Waits for no device."""

import numbers
import re
from typing import Any

import mxnet as mx
import numpy as onp
from mxnet import np

from .check_values import is_integer

Device = type(mx.cpu())


def kind_of(value: Any) -> str:
    """Return 'a NumPy array', 'the string 'cpu'', 'None', ...: what came."""
    if isinstance(value, Device):
        return f'the device {value}'
    if isinstance(value, str):
        return f'the string {value!r:.40}'
    if is_pair(value):
        return f'a {type(value).__name__} of images and labels'
    if isinstance(value, onp.ndarray):
        return 'a NumPy array'
    if isinstance(value, np.ndarray):
        return 'an MXNet array'
    if isinstance(value, mx.nd.NDArray):
        return 'a legacy array of mx.nd'
    if value is None or isinstance(value, (numbers.Real, onp.bool_)):
        return f'{value}'
    if callable(value) and hasattr(value, '__name__'):
        return f'the function {value.__name__}'
    name = type(value).__name__
    package = type(value).__module__.split('.')[0]
    source = '' if package == 'builtins' else f' of {package}'
    return f'{"an" if name[0] in "AEIOaeio" else "a"} {name}{source}'


def is_pair(value: Any) -> bool:
    """Return whether this is (X, y), so that y has fewer axes than X."""
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        return False
    shapes = [getattr(part, 'shape', None) for part in value]
    lengths = [len(shape) for shape in shapes if shape is not None]
    return len(lengths) == 2 and lengths[0] > lengths[1]


def numpy_line(name: str, value: Any) -> str:
    """Return the line that makes a NumPy array of it, or ''."""
    if is_pair(value):
        return f'X, y = {name}'
    if isinstance(value, (list, tuple)):
        return f'onp.array({name})'
    for method, line in (
        ('asnumpy', '{}.asnumpy()'),  # MXNet
        ('detach', '{}.detach().cpu().numpy()'),  # PyTorch
        ('numpy', '{}.numpy()'),  # TensorFlow
        ('to_numpy', '{}.to_numpy()'),  # pandas
        ('__array__', 'onp.asarray({})'),
    ):
        if hasattr(value, method):
            return line.format(name)
    return ''


def mxnet_line(name: str, value: Any) -> str:
    """Return the line that makes an MXNet array of it, or ''."""
    if isinstance(value, mx.nd.NDArray):
        return f'{name}.as_np_ndarray()'
    if isinstance(value, onp.ndarray):
        dtype = ", dtype='float32'" if value.dtype == 'float64' else ''
        return f'mx.np.array({name}{dtype})'
    line = numpy_line(name, value)
    if is_pair(value) or not line:
        return line
    return f'mx.np.array({line.replace(f"onp.array({name})", name)})'


def then(line: str) -> str:
    """Return ': line', the end of a message, or '' if there is no line."""
    return line and f': {line}'


def device_line(value: Any) -> str:
    """Return the line that makes a device of 'cpu', 'gpu(1)', 'cuda:0', 0."""
    found = re.fullmatch(r'(cpu|gpu|cuda)\W?(\d*)\W?', str(value))
    if found:
        kind = found[1].replace('cuda', 'gpu')
        return f'mx.{kind}({found[2] or 0})'
    if is_integer(value) and value >= 0:
        return f'try_devices({value + 1})[{value}]'
    return 'try_devices(1)[0]'


def devices_line(value: Any) -> str:
    """Return the line that makes a list of devices of what came."""
    if is_integer(value) and value > 0:
        return f'try_devices({value})'
    if not isinstance(value, (list, tuple)):
        return f'[{device_line(value)}]'
    if all(map(is_integer, value)):
        return f'try_devices({len(value)})'
    return f'[{", ".join(map(device_line, value))}]'


def floats_line(name: str, dtype: Any, needed: str) -> str:
    """Return the line that makes floats of pixels, or of other floats."""
    if onp.dtype(dtype).kind in 'iu':
        return f"{name}.astype('{needed}') / 255"
    return f"{name}.astype('{needed}')"


def images_line(shape: tuple, channels: int, side: int) -> str:
    """Return the line that makes (n, channels, side, side) of images X of
    this shape, or takes the first step to it; '' if none is known."""
    if len(shape) != 4:
        whole = onp.prod(shape) % (channels * side * side) == 0
        return f'X.reshape(-1, {channels}, {side}, {side})' if whole else ''
    if shape[3] in (1, 3, 4, channels) and shape[1] == shape[2]:
        return 'X.transpose(0, 3, 1, 2)'  # the channels came last
    if shape[1] != channels:
        return 'X.mean(axis=1, keepdims=True)' if channels == 1 else ''
    crops = [max(0, length - side) // 2 for length in shape[2:]]
    if any(crops) or max(shape[2:]) > side:
        return f'X[:, :, {", ".join(f"{c}:{c + side}" for c in crops)}]'
    more = [side - length for length in shape[2:]]
    pads = [(length // 2, length - length // 2) for length in more]
    return f'mx.np.pad(X, ((0, 0), (0, 0), {pads[0]}, {pads[1]}))'


def labels_line(shape: tuple, ndim: int, num_classes: int) -> str:
    """Return the line that makes labels of `ndim` axes of y, or ''."""
    if len(shape) == ndim + 1 and shape[-1] == 1:
        return 'y.squeeze(-1)'
    if len(shape) == ndim + 1 and shape[-1] == num_classes:
        return 'y.argmax(axis=-1)'
    return ''


def classes_line(y: Any, num_classes: int) -> str:
    """Return what repairs labels which are no classes; it ends in a line."""
    if y.min() == 1 and y.max() == num_classes and not (y % 1).any():
        return 'y - 1'
    return (
        'correct them, or leave those rows out: '
        f'keep = onp.isin(y, range({num_classes})); X, y = X[keep], y[keep]'
    )


def numbers_line(name: str, dtype: Any) -> str:
    """Return the line that makes an array of a dtype MXNet has, or ''."""
    if dtype.kind in 'US':  # names
        return f'onp.unique({name}, return_inverse=True)[1]'
    if dtype.kind == 'c':
        return f'{name}.real'
    return f"{name}.astype('{'int64' if dtype.kind in 'iu' else 'float32'}')"
