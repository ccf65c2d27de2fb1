"""`mxnet.np`: NumPy's functions for arrays on devices.

An operator is a row of a table, or a short function: the work that NumPy does
on values, the shape and dtype of what comes out, and the gradients. Where the
dtypes are not NumPy's, they are MXNet's: a number takes the dtype of the array
beside it, lists become float32, and so on.
"""

import builtins
import numbers
from typing import Any, Callable, Iterator, List, Optional, Sequence

import numpy as onp

from . import array as _array
from . import context, engine, random  # noqa: F401  np.random
from .array import (
    BOOL,
    FLOAT32,
    INT64,
    check_devices,
    dtype_of,
    invoke,
    ndarray,
    new_shape,
    plain,
    size_of,
)
from .array import (
    empty as _no_memory,
)
from .autograd import read
from .base import MXNetError, missing

newaxis, pi, e, inf, nan = None, onp.pi, onp.e, onp.inf, onp.nan
bool_, float16, float32, float64 = (
    onp.bool_, onp.float16, onp.float32, onp.float64,
)  # fmt: skip
int8, int32, int64, uint8 = onp.int8, onp.int32, onp.int64, onp.uint8
dtype = onp.dtype


# Arrays from numbers


def array(
    object: Any, dtype: Any = None, order: str = 'C', ctx: Any = None
) -> ndarray:
    """Return an array; float32 if it is made of numbers or lists."""
    if isinstance(object, (ndarray, onp.ndarray, onp.generic)):
        kind = dtype_of(object.dtype if dtype is None else dtype)
    else:
        kind = dtype_of(dtype)
    if isinstance(object, ndarray):
        ctx = ctx or context.current_context()
        return object.copyto(ctx).astype(kind, copy=False)
    try:
        value = onp.array(plain(object), kind, order='C')
    except ValueError as error:
        raise TypeError(str(error)) from None
    return _ready(value, ctx)


def _ready(value: onp.ndarray, ctx: Any = None) -> ndarray:
    """Return an array whose value is there already."""
    ctx = ctx or context.current_context()
    if ctx.device_type != 'cpu':
        raise MXNetError(f'NumPy has no {ctx}; use mx.cpu(...)')
    operation = engine.done(ctx, value)
    return ndarray._new(operation, value.shape, value.dtype, ctx)


def _filled(make: Callable) -> Callable:
    """Return the function that makes arrays of one number on a device."""

    def function(
        shape: Any, dtype: Any = None, order: str = 'C', ctx: Any = None
    ) -> ndarray:
        shape, kind = _shape(shape), dtype_of(dtype)
        ctx = ctx or context.current_context()
        return invoke(f'_npi_{make.__name__}', lambda: make(shape, kind), (),
                      shape, kind, ctx)  # fmt: skip

    function.__doc__ = f'Return an array, as numpy.{make.__name__} does.'
    return function


def _shape(shape: Any) -> Any:
    if isinstance(shape, numbers.Integral):
        return (int(shape),)
    return tuple(int(n) for n in shape)


ones, zeros = _filled(onp.ones), _filled(onp.zeros)
empty = _filled(onp.zeros)  # of nothing in particular: zeros


def full(
    shape: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = 'C',
    ctx: Any = None,
    out: Any = None,
) -> ndarray:
    """Return an array of one number."""
    shape, kind = _shape(shape), dtype_of(dtype)
    return invoke('_npi_full', lambda: onp.full(shape, fill_value, kind), (),
                  shape, kind, ctx or context.current_context())  # fmt: skip


def _like(make: Callable) -> Callable:
    def function(
        a: ndarray, dtype: Any = None, order: str = 'C', ctx: Any = None
    ) -> ndarray:
        kind = a.dtype if dtype is None else dtype
        return make(a.shape, kind, ctx=ctx or a.ctx)

    return function


ones_like, zeros_like = _like(ones), _like(zeros)


def full_like(
    a: ndarray, fill_value: Any, dtype: Any = None, ctx: Any = None
) -> ndarray:
    """Return an array of one number, of the shape and dtype of `a`."""
    kind = a.dtype if dtype is None else dtype
    return full(a.shape, fill_value, kind, ctx=ctx or a.ctx)


def _made(name: str) -> Callable:
    make = getattr(onp, name)

    def function(
        *args: Any, dtype: Any = None, ctx: Any = None, **kwargs: Any
    ) -> ndarray:
        value = make(*args, **kwargs)
        return _ready(onp.asarray(value, dtype_of(dtype)), ctx)

    function.__doc__ = f'Return an array, as numpy.{name} does; float32.'
    return function


arange, eye, linspace = map(_made, ('arange', 'eye', 'linspace'))


# Operators of two arrays, or of an array and a number


def _fold(g: Any, like: Any) -> Any:
    """Sum a gradient over the axes along which `like` was repeated."""
    shape = onp.shape(like)
    if g.shape == shape:
        return g
    g = g.sum(tuple(range(g.ndim - len(shape))))
    axes = tuple(i for i, n in enumerate(shape) if n == 1 and g.shape[i] > 1)
    return g.sum(axes, keepdims=True) if axes else g


def _is_number(value: Any) -> bool:
    return isinstance(value, (numbers.Number, onp.bool_)) or (
        isinstance(value, onp.ndarray) and value.ndim == 0
    )


def _mixed(a: Any, b: Any) -> Any:
    """Return the dtype of a sum or product of arrays of two dtypes."""
    kinds = a.kind + b.kind
    if 'f' in kinds:
        if kinds == 'ff':
            return onp.promote_types(a, b)
        return a if a.kind == 'f' else b
    found = onp.promote_types(a, b)
    if a != b and found not in (a, b):
        raise MXNetError(f'{a} and {b} do not mix: use astype')
    return found


def _same(a: Any, b: Any) -> Any:
    if a != b:
        raise MXNetError(f'Type inconsistent: {a} and {b} do not mix here: '
                         'use astype')  # fmt: skip
    return a


def _float(a: Any, b: Any) -> Any:
    found = _mixed(a, b)
    return found if found.kind == 'f' else FLOAT32


def _bool(a: Any, b: Any) -> Any:
    _same(a, b)
    return BOOL


def _broadcast(name: str, shape: Any, other: Any) -> Any:
    if shape == other:
        return shape
    try:
        return onp.broadcast(_no_memory(shape), _no_memory(other)).shape
    except ValueError:
        raise MXNetError(
            f'{name}: operands could not be broadcast together with shapes '
            f'{list(shape)} {list(other)}'
        ) from None


def _binary(
    name: str,
    work: Callable,
    kind: Callable,
    first: Optional[Callable] = None,
    second: Optional[Callable] = None,
) -> Callable:
    """Return an operator of two.

    `kind(dtype, dtype)`: the result's dtype. `first`, `second`: of the
    output's gradient, the inputs and the output, the inputs' gradients before
    they are summed over repeated axes; None if there are none.
    """
    back_a = first and (lambda g, a, b, y: _fold(first(g, a, b, y), a))
    back_b = second and (lambda g, a, b, y: _fold(second(g, a, b, y), b))

    def function(a: Any, b: Any, out: Any = None) -> Any:
        if isinstance(a, ndarray) and isinstance(b, ndarray):
            check_devices(name, (a, b))  # before what else is wrong
            shape = _broadcast(name, a.shape, b.shape)
            return invoke(f'_npi_{name}', casting(kind(a.dtype, b.dtype)),
                          [a, b], shape, kind(a.dtype, b.dtype), None,
                          [back_a, back_b], out)  # fmt: skip
        if isinstance(a, ndarray) and _is_number(b):
            number, result = constant(a, b)
            inner = casting(result)
            backs = [first and (lambda g, x, y: first(g, x, number, y))]
            return invoke(f'_npi_{name}_scalar', lambda x: inner(x, number),
                          [a], a.shape, result, None, backs, out)  # fmt: skip
        if isinstance(b, ndarray) and _is_number(a):
            number, result = constant(b, a)
            inner = casting(result)
            backs = [second and (lambda g, x, y: second(g, number, x, y))]
            return invoke(f'_npi_r{name}_scalar', lambda x: inner(number, x),
                          [b], b.shape, result, None, backs, out)  # fmt: skip
        if _is_number(a) and _is_number(b):
            return work(a, b)
        bad = a if not isinstance(a, ndarray) else b
        raise TypeError(f'type {type(bad)} not supported')

    def constant(x: ndarray, number: Any) -> Any:
        """Return a number in the dtype of the array beside it, and that of
        the result."""
        beside = INT64 if x.dtype == BOOL else x.dtype
        value = onp.asarray(number)
        if kind is _float and beside.kind != 'f':
            beside = FLOAT32
        value = value.astype(beside)
        return value, kind(beside, beside)

    def casting(result: Any) -> Callable:
        """Return the work on values of the dtype in which it is done."""
        if result == BOOL:
            return work

        def cast(x: Any, y: Any) -> Any:
            if x.dtype != result:
                x = x.astype(result)
            if y.dtype != result:
                y = y.astype(result)
            return work(x, y)

        return cast

    function.__name__ = name
    function.__doc__ = f'Return numpy.{name} of arrays, or of a number.'
    return function


_BINARY = {
    'add': _binary('add', onp.add, _mixed,
                   lambda g, a, b, y: g, lambda g, a, b, y: g),
    'subtract': _binary('subtract', onp.subtract, _mixed,
                        lambda g, a, b, y: g, lambda g, a, b, y: -g),
    'multiply': _binary('multiply', onp.multiply, _mixed,
                        lambda g, a, b, y: g * b, lambda g, a, b, y: g * a),
    'divide': _binary('true_divide', onp.true_divide, _float,
                      lambda g, a, b, y: g / b,
                      lambda g, a, b, y: -g * y / b),
    'power': _binary('power', onp.power, _mixed,
                     lambda g, a, b, y: g * b * a ** (b - 1),
                     lambda g, a, b, y: g * y * onp.log(a)),
    'mod': _binary('mod', onp.mod, _mixed, lambda g, a, b, y: g,
                   lambda g, a, b, y: -g * onp.floor(a / b)),
    'maximum': _binary('maximum', onp.maximum, _same,
                       lambda g, a, b, y: g * (a >= b),
                       lambda g, a, b, y: g * (a < b)),
    'minimum': _binary('minimum', onp.minimum, _same,
                       lambda g, a, b, y: g * (a <= b),
                       lambda g, a, b, y: g * (a > b)),
    'equal': _binary('equal', onp.equal, _bool),
    'not_equal': _binary('not_equal', onp.not_equal, _bool),
    'less': _binary('less', onp.less, _bool),
    'less_equal': _binary('less_equal', onp.less_equal, _bool),
    'greater': _binary('greater', onp.greater, _bool),
    'greater_equal': _binary('greater_equal', onp.greater_equal, _bool),
    'logical_and': _binary('logical_and', onp.logical_and, _bool),
    'logical_or': _binary('logical_or', onp.logical_or, _bool),
    'bitwise_and': _binary('bitwise_and', onp.bitwise_and, _same),
    'bitwise_or': _binary('bitwise_or', onp.bitwise_or, _same),
}  # fmt: skip
globals().update(_BINARY)
# Under these names, older versions of NumPy ask for them: see `_ufunc`.
true_divide, remainder = _BINARY['divide'], _BINARY['mod']


# Operators of one array


def _unary(
    name: str,
    work: Callable,
    derivative: Optional[Callable] = None,
    result: Any = None,
) -> Callable:
    """Return an operator of one array. `derivative`: of the output's gradient,
    the input and the output."""

    def function(x: Any, out: Any = None) -> Any:
        if not isinstance(x, ndarray):
            if _is_number(x):
                return work(x)
            raise TypeError(f'type {type(x)} not supported')
        if x.dtype == BOOL and result is None:
            x = x.astype(INT64)
        return invoke(f'_npi_{name}', work, [x], x.shape, result or x.dtype,
                      None, [derivative], out)  # fmt: skip

    function.__name__ = name
    function.__doc__ = f'Return numpy.{name} of each element.'
    return function


def _nothing(g: Any, x: Any, y: Any) -> Any:
    return onp.zeros_like(g)


_UNARY = {
    name: _unary(name, getattr(onp, name), *rest)
    for name, *rest in (
        ('negative', lambda g, x, y: -g),
        ('exp', lambda g, x, y: g * y),
        ('log', lambda g, x, y: g / x),
        ('log2', lambda g, x, y: g / (x * onp.log(2))),
        ('sqrt', lambda g, x, y: g / (2 * y)),
        ('square', lambda g, x, y: 2 * g * x),
        ('tanh', lambda g, x, y: g * (1 - y * y)),
        ('sin', lambda g, x, y: g * onp.cos(x)),
        ('cos', lambda g, x, y: -g * onp.sin(x)),
        ('absolute', lambda g, x, y: g * onp.sign(x)),
        ('sign', _nothing),
        ('floor', _nothing),
        ('ceil', _nothing),
        ('trunc', _nothing),
        ('isnan', None, BOOL),
        ('isinf', None, BOOL),
        ('isfinite', None, BOOL),
        ('logical_not', None, BOOL),
    )
}
globals().update(_UNARY)
abs = _UNARY['absolute']


def around(x: Any, decimals: int = 0, out: Any = None) -> Any:
    """Return the elements, rounded."""
    if not isinstance(x, ndarray):
        return onp.around(x, decimals)
    return invoke('_npi_around', lambda v: onp.around(v, decimals), [x],
                  x.shape, x.dtype, None, [_nothing], out)  # fmt: skip


round = around


def clip(
    a: ndarray, a_min: Any = None, a_max: Any = None, out: Any = None
) -> ndarray:
    """Return the elements, none below `a_min` or above `a_max`."""
    low = -onp.inf if a_min is None else a_min
    high = onp.inf if a_max is None else a_max
    back = lambda g, x, y: g * ((x >= low) & (x <= high))
    return invoke('_npi_clip', lambda x: onp.clip(x, low, high), [a], a.shape,
                  a.dtype, None, [back], out)  # fmt: skip


# Sums and other reductions


def _axes(axis: Any, ndim: int) -> Any:
    """Return the axes as a tuple of numbers from 0 on."""
    if axis is None:
        return tuple(range(ndim))
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    for n in given:
        if not -ndim <= n < ndim:
            raise MXNetError(f'axis {n} is out of bounds: there are {ndim}')
    return tuple(n % ndim for n in given)


def _reduced(shape: Any, axes: Any, keepdims: bool) -> Any:
    if keepdims:
        return tuple(1 if i in axes else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in axes)


def _reduction(
    name: str, work: Callable, kind: Callable, back: Optional[Callable] = None
) -> Callable:
    """Return a reduction. `back`: of the output's gradient, the input and the
    output, both with the reduced axes of length 1, the input's gradient."""

    def function(
        a: ndarray,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
    ) -> ndarray:
        _check(a)
        axes = _axes(axis, a.ndim)
        shape = _reduced(a.shape, axes, keepdims)
        kept = _reduced(a.shape, axes, True)
        result = kind(a.dtype) if dtype is None else dtype_of(dtype)
        if name in ('max', 'min') and not a.size and size_of(shape):
            raise MXNetError(f'{name}: zero-size array to a reduction which '
                             'has no identity')  # fmt: skip

        def run(x: Any) -> Any:
            if x.dtype != result and result != BOOL:
                x = x.astype(result)
            return work(x, axis=axes, keepdims=keepdims)

        def go_back(g: Any, x: Any, y: Any) -> Any:
            assert back is not None
            return back(g.reshape(kept), x, y.reshape(kept))

        return invoke(f'_np_{name}', run, [a], shape, result, None,
                      [back and go_back], out)  # fmt: skip

    function.__name__ = name
    function.__doc__ = f'Return numpy.{name} over one axis, several, or all.'
    return function


def _check(a: Any) -> None:
    if not isinstance(a, ndarray):
        raise AssertionError(f'Argument a must have NDArray type, but got {a}')


def _sum_dtype(dtype: Any) -> Any:
    return INT64 if dtype == BOOL else dtype


def _mean_dtype(dtype: Any) -> Any:
    return dtype if dtype.kind == 'f' else FLOAT32


def _spread(g: Any, x: Any, y: Any) -> Any:
    return onp.broadcast_to(g, x.shape)


def _count(x: Any, y: Any) -> int:
    return x.size // builtins.max(1, y.size)


_REDUCTIONS = {
    name: _reduction(name, getattr(onp, name), *rest)
    for name, *rest in (
        ('sum', _sum_dtype, _spread),
        ('mean', _mean_dtype,
         lambda g, x, y: onp.broadcast_to(g / _count(x, y), x.shape)),
        ('prod', _sum_dtype, lambda g, x, y: g * y / x),
        ('max', lambda dtype: dtype, lambda g, x, y: g * (x == y)),
        ('min', lambda dtype: dtype, lambda g, x, y: g * (x == y)),
        ('any', lambda dtype: BOOL),
        ('all', lambda dtype: BOOL),
    )
}  # fmt: skip
globals().update(_REDUCTIONS)


def _varies(root: bool) -> Callable:
    def function(
        a: ndarray,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: int = 0,
        keepdims: bool = False,
    ) -> ndarray:
        mean = _REDUCTIONS['mean'](a, axis, dtype, keepdims=True)
        apart = _UNARY['square'](a - mean)
        total = _REDUCTIONS['sum'](apart, axis, keepdims=keepdims)
        found = total / (a.size // builtins.max(1, total.size) - ddof)
        return _UNARY['sqrt'](found) if root else found

    return function


var, std = _varies(False), _varies(True)


def _place(name: str) -> Callable:
    work = getattr(onp, name)

    def function(
        a: ndarray, axis: Any = None, out: Any = None, keepdims: bool = False
    ) -> ndarray:
        _check(a)
        axes = _axes(axis, a.ndim)
        shape = _reduced(a.shape, axes, keepdims)
        return invoke(f'_npi_{name}', lambda x: work(x, axis).reshape(shape),
                      [a], shape, INT64, None, (), out)  # fmt: skip

    function.__doc__ = f'Return numpy.{name}, int64.'
    return function


argmax, argmin = _place('argmax'), _place('argmin')


# Products


def _check_floats(name: str, arrays: Sequence[ndarray]) -> None:
    for x in arrays:
        if not isinstance(x, ndarray):
            raise AssertionError(
                f'Argument of {name} must have NDArray type, but got {x}'
            )
        if x.dtype != arrays[0].dtype:
            _same(arrays[0].dtype, x.dtype)
        if x.dtype.kind != 'f':
            raise MXNetError(f'{name}: This operation only support floating '
                             f'point types, not {x.dtype}')  # fmt: skip


def dot(a: ndarray, b: ndarray, out: Any = None) -> ndarray:
    """Return the product of vectors or matrices: over the last axis of `a`
    and the last but one of `b`."""
    _check_floats('dot', (a, b))
    if not a.ndim or not b.ndim:
        return _BINARY['multiply'](a, b, out)
    inner = b.shape[-2] if b.ndim > 1 else b.shape[0]
    if a.shape[-1] != inner or b.ndim > 2:
        raise MXNetError(f'dot: Shape inconsistent, {list(a.shape)} and '
                         f'{list(b.shape)}')  # fmt: skip
    shape = (*a.shape[:-1], *b.shape[1:])

    def back_a(g: Any, a: Any, b: Any, y: Any) -> Any:
        return onp.multiply.outer(g, b) if b.ndim == 1 else onp.dot(g, b.T)

    def back_b(g: Any, a: Any, b: Any, y: Any) -> Any:
        rows = a.reshape(-1, a.shape[-1]).T
        return onp.dot(rows, g.reshape(rows.shape[1], -1)).reshape(b.shape)

    return invoke('_np_dot', onp.dot, [a, b], shape, a.dtype, None,
                  [back_a, back_b], out)  # fmt: skip


def matmul(a: ndarray, b: ndarray, out: Any = None) -> ndarray:
    """Return the product of matrices, or of stacks of them."""
    _check_floats('matmul', (a, b))
    if a.ndim < 2 or b.ndim < 2 or (a.ndim == b.ndim == 2):
        return dot(a, b, out)
    if a.shape[-1] != b.shape[-2]:
        raise MXNetError(f'matmul: Shape inconsistent, {list(a.shape)} and '
                         f'{list(b.shape)}')  # fmt: skip
    stack = _broadcast('matmul', a.shape[:-2], b.shape[:-2])

    def back_a(g: Any, a: Any, b: Any, y: Any) -> Any:
        return _fold(onp.matmul(g, b.swapaxes(-1, -2)), a)

    def back_b(g: Any, a: Any, b: Any, y: Any) -> Any:
        return _fold(onp.matmul(a.swapaxes(-1, -2), g), b)

    return invoke('_npi_matmul', onp.matmul, [a, b],
                  (*stack, a.shape[-2], b.shape[-1]), a.dtype, None,
                  [back_a, back_b], out)  # fmt: skip


def einsum(subscripts: str, *operands: ndarray, **options: Any) -> ndarray:
    """Return a sum of products in Einstein's notation, without `...`."""
    terms, _, result = subscripts.replace(' ', '').partition('->')
    names = terms.split(',')
    if '->' not in subscripts:
        text = ''.join(names)
        result = ''.join(sorted(c for c in set(text) if text.count(c) == 1))
    _check_floats('einsum', operands)
    subscripts = f'{terms}->{result}'
    lengths = {
        c: n for x, name in zip(operands, names)
        for c, n in zip(name, x.shape)
    }  # fmt: skip

    def back(i: int) -> Callable:
        others = [k for k in range(len(names)) if k != i]
        given = [result, *(names[k] for k in others)]
        known = [c for c in names[i] if any_in(c, given)]

        def go_back(g: Any, *values: Any) -> Any:
            path = ','.join(given) + '->' + ''.join(known)
            found = onp.einsum(path, g, *(values[k] for k in others))
            shape = [lengths[c] if c in known else 1 for c in names[i]]
            return onp.broadcast_to(found.reshape(shape), values[i].shape)

        return go_back

    return invoke('_npi_einsum', lambda *v: onp.einsum(subscripts, *v),
                  operands, tuple(lengths[c] for c in result),
                  operands[0].dtype, None,
                  [back(i) for i in range(len(names))])  # fmt: skip


def any_in(letter: str, texts: Sequence[str]) -> bool:
    """Return whether one of the texts has the letter."""
    return builtins.any(letter in text for text in texts)


# Other shapes


def reshape(a: ndarray, newshape: Any, order: str = 'C') -> ndarray:
    """Return a copy of another shape."""
    one = isinstance(newshape, numbers.Integral)
    shape = new_shape(a.shape, [newshape] if one else newshape)
    return invoke('_npi_reshape', lambda x: x.reshape(shape), [a], shape,
                  a.dtype, None,
                  [lambda g, x, y: g.reshape(x.shape)])  # fmt: skip


def transpose(a: ndarray, axes: Any = None) -> ndarray:
    """Return a copy with the axes in another order."""
    order = range(a.ndim)[::-1] if axes is None else _axes(axes, a.ndim)
    back = onp.argsort(order)
    return invoke('_npi_transpose', lambda x: x.transpose(order), [a],
                  tuple(a.shape[i] for i in order), a.dtype, None,
                  [lambda g, x, y: g.transpose(back)])  # fmt: skip


def swapaxes(a: ndarray, axis1: int, axis2: int) -> ndarray:
    """Return a copy with two axes exchanged."""
    order = list(range(a.ndim))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return transpose(a, order)


def expand_dims(a: ndarray, axis: int) -> ndarray:
    """Return a copy with one more axis, of length 1."""
    shape = list(a.shape)
    shape.insert(axis % (a.ndim + 1), 1)
    return reshape(a, shape)


def squeeze(a: ndarray, axis: Any = None) -> ndarray:
    """Return a copy without the axes of length 1."""
    axes = _axes(axis, a.ndim)
    if axis is not None and builtins.any(a.shape[i] != 1 for i in axes):
        raise MXNetError(f'squeeze: the axis {axis} is longer than 1')
    return reshape(a, [n for i, n in enumerate(a.shape)
                       if n != 1 or i not in axes])  # fmt: skip


def ravel(a: ndarray) -> ndarray:
    """Return a copy with one axis."""
    return reshape(a, -1)


def broadcast_to(array: ndarray, shape: Any) -> ndarray:
    """Return a copy, repeated to a shape."""
    shape = _shape(shape)
    return invoke('_npi_broadcast_to', lambda x: onp.broadcast_to(x, shape),
                  [array], shape, array.dtype, None,
                  [lambda g, x, y: _fold(g, x)])  # fmt: skip


def concatenate(seq: Sequence[ndarray], axis: Any = 0, out: Any = None) -> Any:
    """Return the arrays, one after the other along an axis."""
    seq = list(seq)
    for x in seq[1:]:
        _same(seq[0].dtype, x.dtype)
    if axis is None:
        seq, axis = [ravel(x) for x in seq], 0
    axis = _axes(axis, seq[0].ndim)[0]
    shape = list(seq[0].shape)
    shape[axis] = builtins.sum(x.shape[axis] for x in seq)
    for x in seq:
        if x.ndim != len(shape) or builtins.any(
            n != shape[i] for i, n in enumerate(x.shape) if i != axis
        ):
            raise MXNetError(f'concatenate: {[x.shape for x in seq]} do not '
                             f'fit along axis {axis}')  # fmt: skip
    ends = onp.cumsum([x.shape[axis] for x in seq])

    def back(end: int, length: int) -> Callable:
        where = (slice(None),) * axis + (slice(end - length, end),)
        return lambda g, *values: g[where]

    return invoke('_npi_concatenate', lambda *v: onp.concatenate(v, axis), seq,
                  tuple(shape), seq[0].dtype, None,
                  [back(int(n), x.shape[axis]) for n, x in zip(ends, seq)],
                  out)  # fmt: skip


def stack(arrays: Sequence[ndarray], axis: int = 0, out: Any = None) -> Any:
    """Return the arrays along a new axis."""
    return concatenate([expand_dims(x, axis) for x in arrays],
                       axis % (arrays[0].ndim + 1), out)  # fmt: skip


def vstack(arrays: Sequence[ndarray]) -> ndarray:
    """Return the rows of all arrays."""
    return concatenate([x.reshape(1, -1) if x.ndim < 2 else x for x in arrays])


def hstack(arrays: Sequence[ndarray]) -> ndarray:
    """Return the columns of all arrays."""
    return concatenate(arrays, 0 if arrays[0].ndim == 1 else 1)


def array_split(ary: ndarray, where: Any, axis: int = 0) -> List[ndarray]:
    """Return parts along an axis: so many, or cut at these places."""
    length = ary.shape[axis]
    if isinstance(where, numbers.Integral):
        size, longer = divmod(length, int(where))
        ends = [i * size + builtins.min(i, longer) for i in range(1, where)]
    else:
        ends = [int(i) for i in where]
    before = (slice(None),) * (axis % ary.ndim)
    return [ary[(*before, slice(i, k))].copy()
            for i, k in zip([0, *ends], [*ends, length])]  # fmt: skip


def split(ary: ndarray, where: Any, axis: int = 0) -> List[ndarray]:
    """Return parts of equal length along an axis, or cut at these places."""
    if isinstance(where, numbers.Integral) and ary.shape[axis] % where:
        raise ValueError('array split does not result in an equal division')
    return array_split(ary, where, axis)


def repeat(a: ndarray, repeats: int, axis: Any = None) -> ndarray:
    """Return each element, or slice along an axis, so many times."""
    if axis is None:
        a, axis = ravel(a), 0
    places = onp.repeat(onp.arange(a.shape[axis]), repeats)
    return take(a, _ready(places, a.ctx), axis)


def _triangle(name: str) -> Callable:
    work = getattr(onp, name)

    def function(m: ndarray, k: int = 0) -> ndarray:
        return invoke(f'_npi_{name}', lambda x: work(x, k), [m], m.shape,
                      m.dtype, None, [lambda g, x, y: work(g, k)])  # fmt: skip

    function.__doc__ = f'Return numpy.{name}.'
    return function


triu, tril = _triangle('triu'), _triangle('tril')


def where(condition: ndarray, x: Any = None, y: Any = None) -> Any:
    """Return `x` where the condition holds, else `y`."""
    if x is None:
        return nonzero(condition)
    given = [v for v in (x, y) if isinstance(v, ndarray)]
    like = given[0] if given else full((), 0, ctx=condition.ctx)
    kind = like.dtype
    x, y = [v if isinstance(v, ndarray) else full((), v, kind, ctx=like.ctx)
            for v in (x, y)]  # fmt: skip
    _same(x.dtype, y.dtype)
    shape = _broadcast('where', condition.shape,
                       _broadcast('where', x.shape, y.shape))  # fmt: skip
    return invoke(
        '_npi_where', lambda c, a, b: onp.where(c.astype(bool), a, b),
        [condition, x, y], shape, x.dtype, None,
        [None, lambda g, c, a, b, y: _fold(g * c.astype(bool), a),
         lambda g, c, a, b, y: _fold(g * ~c.astype(bool), b)],
    )  # fmt: skip


def take(
    a: ndarray,
    indices: Any,
    axis: Any = None,
    mode: Any = 'raise',
    out: Any = None,
) -> ndarray:
    """Return elements, or slices along an axis, by their numbers."""
    if not isinstance(indices, ndarray):
        raise AssertionError(
            f'Argument indices must have NDArray type, but got {indices}'
        )
    if axis is None:
        return take(a.reshape(-1), indices, 0, mode, out)
    axis = _axes(axis, a.ndim)[0]

    def work(x: Any, i: Any) -> Any:
        try:
            return onp.take(x, i.astype('int64'), axis, mode=mode)
        except IndexError:
            text = 'take operator contains indices out of bound'
            raise MXNetError(text) from None

    def back(g: Any, x: Any, i: Any, y: Any) -> Any:
        whole = onp.zeros(x.shape, g.dtype)
        onp.add.at(whole, (slice(None),) * axis + (i.astype('int64'),), g)
        return whole

    return invoke('_npi_take', work, [a, indices],
                  a.shape[:axis] + indices.shape + a.shape[axis + 1 :],
                  a.dtype, None, [back, None], out)  # fmt: skip


def sort(a: ndarray, axis: int = -1) -> ndarray:
    """Return the elements in order."""
    return invoke('_npi_sort', lambda x: onp.sort(x, axis), [a], a.shape,
                  a.dtype)  # fmt: skip


def argsort(a: ndarray, axis: int = -1) -> ndarray:
    """Return where the elements in order come from, int64."""
    return invoke('_npi_argsort',
                  lambda x: onp.argsort(x, axis, kind='stable'), [a], a.shape,
                  INT64)  # fmt: skip


# What MXNet leaves to NumPy, too: these wait for their arrays.


def _waits(name: str) -> Callable:
    work = getattr(onp, name)

    def function(*args: Any, **kwargs: Any) -> Any:
        return _by_numpy(work, args, kwargs)

    function.__doc__ = f'Return numpy.{name}; waits for the arrays.'
    return function


def _by_numpy(work: Callable, args: Any, kwargs: Any) -> Any:
    """Return what NumPy's function returns for the values of arrays."""
    ctx = next((x.ctx for x in _arrays([*args, *kwargs.values()])), None)

    def back(value: Any) -> Any:
        if isinstance(value, (onp.ndarray, onp.generic)) and not isinstance(
            value, onp.bool_
        ):
            kind = value.dtype
            if kind.name not in _array.DTYPES:
                return value
            return _ready(onp.array(value, order='C'), ctx)
        if isinstance(value, (list, tuple)):
            return type(value)(map(back, value))
        return builtins.bool(value) if isinstance(value, onp.bool_) else value

    return back(work(*map(plain, args),
                     **{k: plain(v) for k, v in kwargs.items()}))  # fmt: skip


def _arrays(values: Any) -> Iterator[ndarray]:
    """Yield the arrays among values and lists of values."""
    for value in values:
        if isinstance(value, ndarray):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _arrays(value)


def shares_memory(a: ndarray, b: ndarray, max_work: Any = None) -> bool:
    """Return whether two arrays have an element in common."""
    if a._memory is not b._memory or not a.size or not b.size:
        return False
    one, other = [x._region or (0, onp.inf) for x in (a, b)]
    return one[0] < other[1] and other[0] < one[1]


nonzero, allclose, array_equal, shape, ndim, size = map(
    _waits, 'nonzero allclose array_equal shape ndim size'.split()
)


class linalg:
    """`np.linalg`: norms."""

    @staticmethod
    def norm(
        x: ndarray, ord: Any = None, axis: Any = None, keepdims: bool = False
    ) -> ndarray:
        """Return the square root of the sum of squares."""
        if ord not in (None, 2, 'fro') or (ord == 2 and x.ndim > 1):
            raise MXNetError(f'norm: ord {ord!r} is not in numpy_mxnet')
        squares = _REDUCTIONS['sum'](_UNARY['square'](x), axis,
                                     keepdims=keepdims)  # fmt: skip
        return _UNARY['sqrt'](squares)


# The operators and methods of arrays


def _in_place(name: str) -> Callable:
    """Return the method that writes an operator's result, of the array and
    another one or a number, into the array."""
    ufunc = getattr(onp, name)

    def method(self: ndarray, other: Any) -> ndarray:
        work, kind = ufunc, self.dtype
        given: List[ndarray] = []
        if _is_number(other):
            number = onp.asarray(other)
            if name != 'divide' or kind.kind == 'f':
                number = number.astype(kind)
            work = lambda old: ufunc(old, number)
        elif isinstance(other, ndarray):
            _same(kind, _mixed(kind, other.dtype))  # float32 *= bool is right
            if _broadcast(name, self.shape, other.shape) != self.shape:
                raise MXNetError(f'{name}: Shape inconsistent, {self.shape} '
                                 f'and {other.shape}')  # fmt: skip
            check_devices(name, [self, other])
            given = [other]
        else:
            raise TypeError(f'type {type(other)} not supported')
        self._refuse_recorded(*given)
        operations, cut = read(given)
        run = (lambda old, v: work(old, cut([v])[0])) if cut else work
        self._store(f'_npi_{name}', run, operations, with_old=True)
        return self

    return method


def _method(function: Callable, reverse: bool = False) -> Callable:
    if reverse:
        return lambda self, other: function(other, self)
    return lambda self, *args, **kwargs: function(self, *args, **kwargs)


for _name, _function in (
    ('add', 'add'), ('sub', 'subtract'), ('mul', 'multiply'),
    ('truediv', 'divide'), ('pow', 'power'), ('mod', 'mod'),
):  # fmt: skip
    setattr(ndarray, f'__{_name}__', _method(_BINARY[_function]))
    setattr(ndarray, f'__r{_name}__', _method(_BINARY[_function], True))
    setattr(ndarray, f'__i{_name}__', _in_place(_function))
for _name, _function in (
    ('eq', 'equal'), ('ne', 'not_equal'), ('lt', 'less'),
    ('le', 'less_equal'), ('gt', 'greater'), ('ge', 'greater_equal'),
    ('and', 'bitwise_and'), ('or', 'bitwise_or'),
):  # fmt: skip
    setattr(ndarray, f'__{_name}__', _method(_BINARY[_function]))
for _name in _REDUCTIONS:
    setattr(ndarray, _name, _method(_REDUCTIONS[_name]))
for _name in (
    'argmax argmin var std clip round swapaxes expand_dims squeeze repeat '
    'take argsort broadcast_to dot nonzero'
).split():
    setattr(ndarray, _name, _method(globals()[_name]))
for _name in 'abs exp log sqrt square sign floor tanh'.split():
    setattr(ndarray, _name, _method(globals()[_name]))


def _invert(self: ndarray) -> ndarray:
    if self.dtype.kind == 'f':
        raise MXNetError('This operation only support integer types, not '
                         f'{self.dtype}')  # fmt: skip
    return invoke('_npi_bitwise_not', onp.invert, [self], self.shape,
                  self.dtype)  # fmt: skip


def _reshape(self: ndarray, *shape: Any, order: str = 'C') -> ndarray:
    return reshape(self, shape[0] if len(shape) == 1 else shape)


def _transpose(self: ndarray, *axes: Any) -> ndarray:
    if not axes or axes[0] is None:
        return transpose(self)
    return transpose(self, axes[0] if isinstance(axes[0], tuple) else axes)


def _ufunc(
    self: ndarray, ufunc: Any, method: str, *inputs: Any, **kwargs: Any
) -> Any:
    """Let NumPy's own function, `onp.exp(x)`, be that of this module."""
    for value in inputs:
        if isinstance(value, onp.ndarray) and value.ndim:
            raise TypeError(f'type {type(value)} not supported')
    function = globals().get(ufunc.__name__)
    if method != '__call__' or function is None:
        raise TypeError(f'numpy.{ufunc.__name__} does not take MXNet arrays')
    return function(*inputs, **kwargs)


def _numpy_function(
    self: ndarray, function: Any, types: Any, args: Any, kwargs: Any
) -> Any:
    """Let NumPy's own function, `onp.sum(x)`, be that of this module."""
    own = globals().get(function.__name__)
    if own is None:
        return _by_numpy(function, args, kwargs)
    return own(*args, **kwargs)


_METHODS = {
    '__neg__': _method(_UNARY['negative']),
    '__abs__': _method(_UNARY['absolute']),
    '__matmul__': _method(matmul),
    '__round__': lambda self, n=0: around(self, n),
    'T': property(transpose),
    'flatten': lambda self, order='C': reshape(self, -1),
    '__invert__': _invert,
    'reshape': _reshape,
    'transpose': _transpose,
    '__array_ufunc__': _ufunc,
    '__array_function__': _numpy_function,
}
for _name in _METHODS:
    setattr(ndarray, _name, _METHODS[_name])

__getattr__ = missing('mxnet.np')
