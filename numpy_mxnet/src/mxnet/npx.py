"""`mxnet.npx`: what networks need beyond NumPy's functions, and waiting."""

import numbers
from typing import Any, List, Optional

import numpy as onp

from . import autograd, base, convolutions, engine, files, np, random
from .array import dtype_of, invoke, ndarray
from .base import MXNetError, missing

save, load = files.save, files.load
__all__ = 'cpu current_context gpu num_gpus'.split()  # as they are


def set_np(
    shape: bool = True, array: bool = True, dtype: bool = False
) -> None:
    """Do nothing: arrays have NumPy's semantics always."""


def waitall() -> None:
    """Return when no device has work; raise the first error that nobody has
    seen yet."""
    base._LIB.MXNDArrayWaitAll(engine.waitall)


# Activations


def relu(data: ndarray) -> ndarray:
    """Return each element, or zero if it is negative."""
    return invoke('Activation', lambda x: onp.maximum(x, 0), [data],
                  data.shape, data.dtype, None,
                  [lambda g, x, y: g * (y > 0)])  # fmt: skip


def sigmoid(data: ndarray) -> ndarray:
    """Return 1 / (1 + exp(-x))."""
    return invoke('Activation', lambda x: 1 / (1 + onp.exp(-x)), [data],
                  data.shape, data.dtype, None,
                  [lambda g, x, y: g * y * (1 - y)])  # fmt: skip


_ACTIVATIONS = {
    'relu': relu,
    'sigmoid': sigmoid,
    'tanh': np.tanh,
}


def activation(data: ndarray, act_type: str = 'relu') -> ndarray:
    """Return relu, sigmoid or tanh of each element."""
    if act_type not in _ACTIVATIONS:
        raise MXNetError(f'activation: act_type {act_type!r} is none of '
                         f'{", ".join(_ACTIVATIONS)}')  # fmt: skip
    return _ACTIVATIONS[act_type](data)


# Scores


def log_softmax(data: ndarray, axis: int = -1) -> ndarray:
    """Return the logarithms of `softmax`, also for large scores."""

    def work(x: Any) -> Any:
        z = x - x.max(axis, keepdims=True)
        z -= onp.log(onp.exp(z).sum(axis, keepdims=True))
        return z

    def back(g: Any, x: Any, y: Any) -> Any:
        return g - onp.exp(y) * g.sum(axis, keepdims=True)

    return invoke('log_softmax', work, [data], data.shape, data.dtype, None,
                  [back])  # fmt: skip


def softmax(data: ndarray, axis: int = -1) -> ndarray:
    """Return probabilities that sum to one along an axis."""

    def work(x: Any) -> Any:
        z = onp.exp(x - x.max(axis, keepdims=True))
        z /= z.sum(axis, keepdims=True)
        return z

    def back(g: Any, x: Any, y: Any) -> Any:
        return y * (g - (g * y).sum(axis, keepdims=True))

    return invoke('softmax', work, [data], data.shape, data.dtype, None,
                  [back])  # fmt: skip


def pick(
    data: ndarray,
    index: ndarray,
    axis: int = -1,
    mode: str = 'clip',
    keepdims: bool = False,
) -> ndarray:
    """Return an element of each row, by its number; numbers beyond the row
    are those of its ends."""
    axis %= data.ndim
    length = data.shape[axis]
    shape = data.shape[:axis] + data.shape[axis + 1 :]
    if index.size != np.size_of(shape):
        raise MXNetError(f'pick: a number for each row is needed, '
                         f'{shape}, not {index.shape}')  # fmt: skip
    kept = data.shape[:axis] + (1,) + data.shape[axis + 1 :]

    def places(i: Any) -> Any:
        i = i.astype('int64').reshape(kept)
        return i % length if mode == 'wrap' else onp.clip(i, 0, length - 1)

    def work(x: Any, i: Any) -> Any:
        return onp.take_along_axis(x, places(i), axis)

    def back(g: Any, x: Any, i: Any, y: Any) -> Any:
        whole = onp.zeros(x.shape, g.dtype)
        onp.put_along_axis(whole, places(i), g.reshape(kept), axis)
        return whole

    result = kept if keepdims else shape
    return invoke('pick', lambda x, i: work(x, i).reshape(result),
                  [data, index], result, data.dtype, None,
                  [back, None])  # fmt: skip


def one_hot(
    data: ndarray,
    depth: int,
    on_value: float = 1.0,
    off_value: float = 0.0,
    dtype: Any = None,
) -> ndarray:
    """Return a row for each number, with `on_value` in its place."""
    kind, numbers = dtype_of(dtype), onp.arange(depth)

    def work(x: Any) -> Any:
        found = x.astype('int64')[..., None] == numbers
        return onp.where(found, on_value, off_value)

    return invoke('one_hot', work, [data], (*data.shape, depth), kind)


def embedding(
    data: ndarray,
    weight: ndarray,
    input_dim: Any = None,
    output_dim: Any = None,
    dtype: Any = None,
    sparse_grad: bool = False,
) -> ndarray:
    """Return a row of `weight` for each number; numbers beyond it are those
    of its ends."""

    def rows(i: Any, W: Any) -> Any:
        return onp.clip(i.astype('int64'), 0, len(W) - 1)

    def back(g: Any, i: Any, W: Any, y: Any) -> Any:
        whole = onp.zeros(W.shape, g.dtype)
        onp.add.at(whole, rows(i, W), g)
        return whole

    return invoke('Embedding', lambda i, W: W[rows(i, W)], [data, weight],
                  data.shape + weight.shape[1:], weight.dtype, None,
                  [None, back])  # fmt: skip


def topk(
    data: ndarray,
    axis: int = -1,
    k: int = 1,
    ret_typ: str = 'indices',
    is_ascend: bool = False,
    dtype: Any = None,
) -> ndarray:
    """Return the places of the k largest along an axis, or the values."""
    if ret_typ not in ('indices', 'value'):
        raise MXNetError(f'topk: ret_typ {ret_typ!r} is not in numpy_mxnet, '
                         "only 'indices' and 'value'")  # fmt: skip
    shape = list(data.shape)
    shape[axis] = k

    def work(x: Any) -> Any:
        order = onp.argsort(x if is_ascend else -x, axis, kind='stable')
        places = onp.take(order, range(k), axis)
        if ret_typ == 'value':
            return onp.take_along_axis(x, places, axis)
        return places

    kind = data.dtype if ret_typ == 'value' else dtype_of(dtype)
    return invoke('topk', work, [data], tuple(shape), kind)


# Layers


def fully_connected(
    x: ndarray,
    weight: ndarray,
    bias: Optional[ndarray] = None,
    num_hidden: Any = None,
    no_bias: bool = False,
    flatten: bool = True,
) -> ndarray:
    """Return the product with the transposed weight, plus the bias."""
    rows = x.reshape(x.shape[0], -1) if flatten else x
    product = np.dot(rows, weight.T)
    return product if no_bias or bias is None else product + bias


def batch_dot(
    a: ndarray,
    b: ndarray,
    transpose_a: bool = False,
    transpose_b: bool = False,
) -> ndarray:
    """Return the products of stacks of matrices."""
    a = np.swapaxes(a, -1, -2) if transpose_a else a
    b = np.swapaxes(b, -1, -2) if transpose_b else b
    return np.matmul(a, b)


def layer_norm(
    data: ndarray,
    gamma: ndarray,
    beta: ndarray,
    axis: int = -1,
    eps: float = 1e-5,
) -> ndarray:
    """Return each row with mean 0 and variance 1, times gamma, plus beta."""
    return _normalized(data, gamma, beta, [axis % data.ndim], axis, eps)


def _normalized(
    data: ndarray,
    gamma: ndarray,
    beta: ndarray,
    axes: Any,
    channel: int,
    eps: float,
) -> ndarray:
    """Normalize over axes; gamma and beta are along another, or the only."""
    axes = tuple(axes)
    shape = [1] * data.ndim
    shape[channel] = data.shape[channel]
    others = tuple(i for i in range(data.ndim) if i != channel % data.ndim)

    def parts(x: Any) -> Any:
        mean = x.mean(axes, keepdims=True)
        std = onp.sqrt(onp.square(x - mean).mean(axes, keepdims=True) + eps)
        return (x - mean) / std, std

    def work(x: Any, gamma: Any, beta: Any) -> Any:
        return parts(x)[0] * gamma.reshape(shape) + beta.reshape(shape)

    def back(g: Any, x: Any, gamma: Any, beta: Any, y: Any) -> Any:
        normal, std = parts(x)
        g = g * gamma.reshape(shape)
        inner = (g * normal).mean(axes, keepdims=True)
        return (g - g.mean(axes, keepdims=True) - normal * inner) / std

    return invoke(
        'LayerNorm', work, [data, gamma, beta], data.shape, data.dtype, None,
        [back,
         lambda g, x, c, b, y: (g * parts(x)[0]).sum(others).reshape(c.shape),
         lambda g, x, c, b, y: g.sum(others).reshape(b.shape)],
    )  # fmt: skip


def batch_norm(
    x: ndarray,
    gamma: ndarray,
    beta: ndarray,
    running_mean: ndarray,
    running_var: ndarray,
    eps: float = 1e-3,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    axis: int = 1,
    **options: Any,
) -> ndarray:
    """Return each channel with mean 0 and variance 1, times gamma, plus beta;
    where nothing is trained, by the running mean and variance."""
    gamma = np.ones_like(gamma) if fix_gamma else gamma
    axes = [i for i in range(x.ndim) if i != axis % x.ndim]
    if autograd.is_training() and not use_global_stats:
        mean = x.detach().mean(axes)
        var = np.square(x.detach()).mean(axes) - np.square(mean)
        for kept, new in ((running_mean, mean), (running_var, var)):
            kept[:] = momentum * kept + (1 - momentum) * new
        return _normalized(x, gamma, beta, axes, axis, eps)
    shape = [1] * x.ndim
    shape[axis] = -1
    scale = gamma / np.sqrt(running_var + eps)
    shift = beta - running_mean * scale
    return x * scale.reshape(*shape) + shift.reshape(*shape)


def dropout(data: ndarray, p: float = 0.5, **options: Any) -> ndarray:
    """Return zeros in place of a fraction of the elements and the others
    enlarged, in training; else the array."""
    if not autograd.is_training() or not p:
        return data
    kept = random.uniform(size=data.shape, ctx=data.ctx) >= p
    return data * kept.astype(data.dtype) / (1 - p)


def _pair(value: Any, default: int) -> Any:
    if value is None or value == ():
        return default, default
    if isinstance(value, numbers.Integral):
        return int(value), int(value)
    return tuple(int(n) for n in value)


def _check_images(name: str, data: ndarray, kernel: Any) -> None:
    if data.ndim != 4 or kernel is not None and len(_pair(kernel, 1)) != 2:
        raise MXNetError(
            f'{name}: numpy_mxnet has only that of images, (n, channels, '
            f'height, width), not {data.shape}'
        )


def convolution(
    data: ndarray,
    weight: ndarray,
    bias: Optional[ndarray] = None,
    kernel: Any = None,
    stride: Any = None,
    dilate: Any = None,
    pad: Any = None,
    num_filter: int = 1,
    num_group: int = 1,
    no_bias: bool = False,
    **options: Any,
) -> ndarray:
    """Return the convolutions of images, (n, channels, height, width)."""
    _check_images('convolution', data, kernel)
    if _pair(dilate, 1) != (1, 1) or num_group != 1:
        raise MXNetError('convolution: dilate and num_group are not in '
                         'numpy_mxnet')  # fmt: skip
    kernel, stride = _pair(kernel, 1), _pair(stride, 1)
    pad = _pair(pad, 0)
    wanted = num_filter, data.shape[1], *kernel
    if weight.shape != wanted:
        raise MXNetError(f'convolution: Shape inconsistent, the weight is '
                         f'{weight.shape}, not {wanted}')  # fmt: skip
    inputs = [data, weight] + ([] if no_bias or bias is None else [bias])
    np._check_floats('convolution', inputs)
    conv = convolutions.Convolution(data.shape, weight.shape, stride, pad)
    backs: List[Any] = [conv.back_data, conv.back_weight, conv.back_bias]
    return invoke('Convolution', conv.forward, inputs, conv.shape, data.dtype,
                  None, backs[: len(inputs)])  # fmt: skip


def batch_flatten(data: ndarray) -> ndarray:
    """Return the array with a row for each example."""
    return data.reshape(len(data), -1)


def pooling(
    data: ndarray,
    kernel: Any = None,
    stride: Any = None,
    pad: Any = None,
    pool_type: str = 'max',
    global_pool: bool = False,
    **options: Any,
) -> ndarray:
    """Return the mean ('avg'), sum or largest ('max') of windows of images."""
    _check_images('pooling', data, kernel)
    if pool_type not in ('avg', 'sum', 'max') or _pair(pad, 0) != (0, 0):
        raise MXNetError(f'pooling: pool_type {pool_type!r} with pad {pad} is '
                         "not in numpy_mxnet, only 'avg', 'sum' and 'max' "
                         'without')  # fmt: skip
    kernel = data.shape[2:] if global_pool else _pair(kernel, 1)
    stride = kernel if global_pool else _pair(stride, 1)
    pool = convolutions.Pooling(data.shape, kernel, stride, pool_type)
    return invoke('Pooling', pool.forward, [data], pool.shape, data.dtype,
                  None, [pool.back])  # fmt: skip


__getattr__ = missing('mxnet.npx')
