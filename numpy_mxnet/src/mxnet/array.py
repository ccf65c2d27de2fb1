"""Arrays: a shape, a dtype, a device, and a future of their present value.

`Memory` is what an array and its views share: the operation whose value it
holds now. Reading an array means to read the operation of this moment; writing
gives its memory a new operation. An operation that read before keeps the old
one, so a read and a later write are never in each other's way. A view is a
*region* of a memory: a range of its elements in a row, and a shape.
"""

from __future__ import annotations

import numbers
import warnings
from typing import Any, Callable, Sequence

import numpy as onp

from . import autograd, base, context, engine
from .base import MXNetError

DTYPES = 'float16 float32 float64 uint8 int8 int32 int64 bool'.split()
FLOAT32, INT64 = onp.dtype('float32'), onp.dtype('int64')
BOOL = onp.dtype('bool')


def dtype_of(dtype: Any) -> onp.dtype:
    """Return one of MXNet's dtypes; None is float32. Raises TypeError."""
    found = FLOAT32 if dtype is None else onp.dtype(dtype)
    if found.name not in DTYPES:
        raise TypeError(f'MXNet has no dtype {found}: {", ".join(DTYPES)}')
    return found


def size_of(shape: Sequence[int]) -> int:
    """Return the product of the lengths, an exact integer."""
    size = 1
    for length in shape:
        size *= length
    return size


class Memory:
    """What views share: the operation whose value is theirs now."""

    __slots__ = ('operation',)

    def __init__(self, operation: Any) -> None:
        self.operation = operation


class NDArray:
    """The base of all arrays; the older ones, of mx.nd, are not here."""

    __slots__ = ()


class ndarray(NDArray):
    """An array on a device. Most of its methods are functions of `np`."""

    __slots__ = (
        '_memory', '_region', 'shape', 'dtype', 'ctx', '_node', '_grad',
        '__weakref__',
    )  # fmt: skip
    __array_priority__ = 1000.0
    __hash__ = None  # type: ignore[assignment]  # `==` is for elements
    # `np` sets all of its operators and methods; these are used before.
    __add__: Any
    __radd__: Any
    __mul__: Any
    __rmul__: Any
    __sub__: Any
    __pow__: Any
    __neg__: Any
    reshape: Any
    mean: Any
    T: Any

    def __init__(
        self, memory: Memory, region: Any, shape: Any, dtype: Any, ctx: Any
    ) -> None:
        self._memory, self._region = memory, region
        self.shape, self.dtype, self.ctx = shape, dtype, ctx
        self._node: Any = None
        self._grad: Any = None

    # How arrays are made, read and written

    @staticmethod
    def _new(operation: Any, shape: Any, dtype: Any, ctx: Any) -> ndarray:
        """Return an array with the value of an operation."""
        return ndarray(Memory(operation), None, shape, dtype, ctx)

    def _view(self, start: int, stop: int, shape: Any) -> ndarray:
        """Return a view of elements `start` to `stop` of this array."""
        first = self._region[0] if self._region else 0
        region = first + start, first + stop, shape
        return ndarray(self._memory, region, shape, self.dtype, self.ctx)

    def _value(self, wait: Any = None) -> onp.ndarray:
        """Wait for the value, and return it; it must not be changed."""
        (operation,), cut = autograd.read([self])
        value = (wait or base._LIB.MXNDArraySyncCopyToCPU)(operation)
        return cut([value])[0] if cut else value

    def _store(
        self,
        name: str,
        work: Callable | None,
        inputs: Sequence[Any],
        with_old: bool = False,
    ) -> None:
        """Write `work(*values)` into this array; `work` None: the value.

        `inputs`: operations. With `with_old`, the first value is the array's.
        The result is cast to the array's dtype, and broadcast to its shape.
        """
        region, shape, dtype = self._region, self.shape, self.dtype
        memory = self._memory
        if work is None and region is None:
            memory.operation = inputs[0]  # as it is: a value never changes
            return

        def whole(*values: Any) -> Any:
            new = work(*values) if work else values[0]
            if onp.shape(new) != shape:
                new = onp.broadcast_to(new, shape)
            return onp.asarray(new, dtype)

        def part(old: Any, *values: Any) -> Any:
            start, stop, _ = region
            new = onp.array(old, order='C')
            mine = new.reshape(-1)[start:stop].reshape(shape)
            mine[...] = whole(mine, *values) if with_old else whole(*values)
            return new

        old = [memory.operation] if with_old or region else []
        memory.operation = base._LIB.MXImperativeInvokeEx(
            engine.push, name, self.ctx, part if region else whole,
            [*old, *inputs],
        )  # fmt: skip

    def _refuse_recorded(self, *inputs: Any) -> None:
        """Raise MXNetError if a write would make the graph wrong."""
        if autograd.local.recording and any(
            array._node is not None for array in (self, *inputs)
        ):
            raise MXNetError(autograd.IN_PLACE)

    def _ones(self) -> ndarray:
        shape, dtype = self.shape, self.dtype
        return invoke('_npi_ones', lambda: onp.ones(shape, dtype), (), shape,
                      dtype, self.ctx)  # fmt: skip

    def _zeros(self) -> ndarray:
        shape, dtype = self.shape, self.dtype
        return invoke('_npi_zeros', lambda: onp.zeros(shape, dtype), (), shape,
                      dtype, self.ctx)  # fmt: skip

    # Waiting

    def wait_to_read(self) -> None:
        """Return when the value is there; raise what went wrong."""
        base._LIB.MXNDArrayWaitToRead(self._memory.operation)

    def asnumpy(self) -> onp.ndarray:
        """Wait for the value; return it as an array of NumPy, a copy."""
        return onp.array(self._value(), order='C')

    def item(self, *index: int) -> Any:
        """Wait for a number, and return it as one of Python."""
        value = self._value()
        if not index and self.size != 1:
            raise ValueError(
                'can only convert an array of size 1 to a Python scalar'
            )
        return value.item(*index)

    def tolist(self) -> Any:
        """Wait for the value; return it as nested lists."""
        return self._value().tolist()

    def __bool__(self) -> bool:
        if self.size > 1:
            raise ValueError(
                'The truth value of an ndarray with multiple elements is '
                'ambiguous.'
            )
        return bool(self.size and self.item())

    def __float__(self) -> float:
        return float(self._number())

    def __int__(self) -> int:
        return int(self._number())

    def _number(self) -> Any:
        if self.size != 1:
            raise TypeError(
                'only size-1 arrays can be converted to Python scalars'
            )
        return self.item()

    def __str__(self) -> str:
        return str(self._value())

    def __repr__(self) -> str:
        text = onp.array2string(self._value(), separator=', ', prefix='array(')
        if self.size == 0 and self.ndim != 1:
            text += f', shape={self.shape}'
        kind = '' if self.dtype in (FLOAT32, BOOL) else f', dtype={self.dtype}'
        return f'array({text}{kind})'

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else str(self)

    # Shape and device

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return size_of(self.shape)

    @property
    def context(self) -> Any:
        """The device."""
        return self.ctx

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError('len() of unsized object')
        return self.shape[0]

    def __iter__(self) -> Any:
        if not self.shape:
            raise TypeError('iteration over a 0-d array')
        return (self[i] for i in range(len(self)))

    def copyto(self, other: Any) -> Any:
        """Copy to a device: return a new array. Or into an array: return it.

        An array must have the same shape; it keeps its dtype.
        """
        if isinstance(other, context.Context):
            return invoke('_copyto', copy, [self], self.shape, self.dtype,
                          other, [lambda g, x, y: g])  # fmt: skip
        if not isinstance(other, ndarray):
            raise TypeError(f'copyto does not support type {type(other)}')
        if other is self:
            warnings.warn('You are attempting to copy an array to itself',
                          RuntimeWarning, stacklevel=2)  # fmt: skip
            return False
        if other.shape != self.shape:
            raise MXNetError(f'copyto: the shapes are {self.shape} and '
                             f'{other.shape}')  # fmt: skip
        other._refuse_recorded(self)
        operations, cut = autograd.read([self])
        work = (lambda value: copy(cut([value])[0])) if cut else copy
        other._store('_copyto', work, operations)
        return other

    def as_in_ctx(self, ctx: Any) -> ndarray:
        """Return this array if it is on that device, else a copy there."""
        return self if self.ctx == ctx else self.copyto(ctx)

    as_in_context = as_in_ctx

    def copy(self, order: str = 'C') -> ndarray:
        """Return a copy on the same device."""
        return invoke('_copy', copy, [self], self.shape, self.dtype, self.ctx,
                      [lambda g, x, y: g])  # fmt: skip

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> ndarray:
        return self.copy()

    def __reduce__(self) -> Any:
        return unpickle, (self.asnumpy(),)

    def detach(self) -> ndarray:
        """Return this array without its graph: the same memory."""
        region, shape = self._region, self.shape
        return ndarray(self._memory, region, shape, self.dtype, self.ctx)

    def as_nd_ndarray(self) -> ndarray:
        """Return this array: there are no older ones."""
        return self

    as_np_ndarray = as_nd_ndarray

    def astype(self, dtype: Any, order: str = 'K', copy: bool = True) -> Any:
        """Return a copy with another dtype."""
        to = dtype_of(dtype)
        if to == self.dtype and not copy:
            return self
        return invoke('_npi_cast', lambda x: x.astype(to), [self], self.shape,
                      to, self.ctx, [lambda g, x, y: g])  # fmt: skip

    def reshape_view(self, *shape: Any) -> ndarray:
        """Return a view of another shape."""
        shape = new_shape(self.shape, shape)
        view = self._view(0, self.size, shape)
        return recorded_view(self, view, None)

    # Gradients

    @property
    def grad(self) -> Any:
        """Where `backward` stores the gradient, None without attach_grad."""
        return self._grad

    def attach_grad(
        self, grad_req: str = 'write', stype: str | None = None
    ) -> None:
        """Let `backward` store this array's gradient, at first zeros.

        `grad_req`: 'write' in place of the old gradient, 'add' to it, 'null'
        not at all.
        """
        self._mark(self._zeros(), grad_req)

    def _mark(self, grad: Any, grad_req: str) -> None:
        if grad_req not in ('write', 'add', 'null'):
            raise ValueError(f"grad_req is {grad_req!r}: 'write', 'add', "
                             "'null'")  # fmt: skip
        self._grad = grad
        self._node = (
            None if grad_req == 'null'
            else autograd.Variable(self, grad, grad_req)
        )  # fmt: skip

    def zero_grad(self) -> None:
        """Fill the gradient with zeros."""
        if self._grad is not None:
            self._grad[()] = 0

    def backward(
        self,
        out_grad: Any = None,
        retain_graph: bool = False,
        train_mode: bool = True,
    ) -> None:
        """Store the gradients of this array: see `autograd.backward`."""
        given = None if out_grad is None else [out_grad]
        autograd.backward([self], given, retain_graph, train_mode)

    # Elements

    def __getitem__(self, key: Any) -> ndarray:
        return get(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        put(self, key, value)


def copy(value: onp.ndarray) -> onp.ndarray:
    """Return a copy, its elements in a row."""
    return onp.array(value, order='C')


def unpickle(value: onp.ndarray) -> ndarray:
    """Return an array on the current device."""
    ctx = context.current_context()
    return ndarray._new(engine.done(ctx, value), value.shape, value.dtype, ctx)


def check_devices(name: str, arrays: Sequence[ndarray]) -> None:
    """Raise MXNetError unless all arrays are on one device, as on GPUs."""
    for array in arrays[1:]:
        if array.ctx != arrays[0].ctx:
            raise base.device_error(name, arrays[0], array)


def invoke(
    name: str,
    work: Callable,
    inputs: Sequence[ndarray],
    shape: Any,
    dtype: Any,
    ctx: Any = None,
    backs: Sequence[Callable | None] = (),
    out: ndarray | None = None,
) -> Any:
    """Queue an operator, `work(*values of inputs)`; return its array.

    `shape`, `dtype`: the result's, known before it is computed. `ctx`: its
    device, by default that of the inputs, which must be on one. `backs`: for
    each input, see `autograd.Node`. `out`: an array to write into.
    """
    if ctx is None:
        ctx = inputs[0].ctx
        check_devices(name, inputs if out is None else [*inputs, out])
    elif ctx.device_type != 'cpu':
        raise MXNetError(f'{name}: NumPy has no {ctx}; use mx.cpu(...)')
    operations, cut = autograd.read(inputs)

    def typed(*values: Any) -> onp.ndarray:
        return onp.asarray(work(*(cut(values) if cut else values)), dtype)

    if out is not None:
        if out.shape != shape:
            raise MXNetError(f'{name}: the result has the shape {shape}, but '
                             f'out {out.shape}')  # fmt: skip
        out._refuse_recorded(*inputs)
        out._store(name, typed, operations)
        return out
    array = ndarray._new(
        base._LIB.MXImperativeInvokeEx(
            engine.push, name, ctx, typed, operations
        ),
        shape, dtype, ctx,
    )  # fmt: skip
    if autograd.local.recording and backs:
        note(name, array, inputs, backs)
    return array


def note(
    name: str, array: ndarray, inputs: Sequence[ndarray], backs: Sequence
) -> None:
    """Give an array a node, if a gradient is needed for one of the inputs."""
    nodes = [given._node for given in inputs]
    if any(node is not None for node in nodes):
        saved = [given.detach() for given in (*inputs, array)]
        array._node = autograd.Node(name, array, nodes, backs, saved)


def recorded_view(array: ndarray, view: ndarray, key: Any) -> ndarray:
    """Give a view a node: the gradient goes to its elements, by the key, or,
    without a key, to all."""
    if autograd.local.recording and array._node is not None:
        note('_view', view, [array], [scatter(array.shape, key)])
    return view


def scatter(shape: Any, key: Any) -> Callable:
    """Return the function from a gradient of x[key] to that of x; each
    element of x is in it once."""

    def back(g: Any, x: Any, y: Any) -> Any:
        if key is None:
            return g.reshape(shape)
        whole = onp.zeros(shape, g.dtype)
        whole[key] = g
        return whole

    return back


def new_shape(shape: Any, wanted: Any) -> Any:
    """Return the shape that `reshape(*wanted)` gives; MXNetError if none."""
    if len(wanted) == 1 and isinstance(wanted[0], (list, tuple)):
        wanted = wanted[0]
    wanted = tuple(int(length) for length in wanted)
    size, known = size_of(shape), size_of([n for n in wanted if n != -1])
    free = wanted.count(-1)
    valid = min(wanted, default=0) >= -1
    if valid and free == 1 and known > 0 and size % known == 0:
        return tuple(size // known if n == -1 else n for n in wanted)
    if free or not valid or known != size:
        raise MXNetError(f'Cannot reshape array of size {size} into shape '
                         f'{list(wanted)}')  # fmt: skip
    return wanted


# Indices


def is_basic(key: Any) -> bool:
    """Return whether a key has only numbers, slices, None and `...`."""
    return all(
        k is None or k is Ellipsis or isinstance(k, slice) or is_index(k)
        for k in (key if isinstance(key, tuple) else (key,))
    )


def is_index(key: Any) -> bool:
    """Return whether this is one number, not an array and not a bool."""
    return isinstance(key, numbers.Integral) and not isinstance(key, bool)


def probe(shape: Any, key: Any) -> Any:
    """Return (shape, start) of x[key] in the elements of x, start None if
    they are not in a row. Raises IndexError."""
    step, strides = 1, []  # type: ignore[var-annotated]
    for length in reversed(shape):
        strides.insert(0, step)
        step *= max(length, 1)
    # One byte stands for all: nothing is read.
    whole = onp.lib.stride_tricks.as_strided(
        onp.empty(1, 'uint8'), shape, strides
    )
    view = whole[as_view(key)]
    if not view.flags.c_contiguous:
        return view.shape, None
    address = view.__array_interface__['data'][0]
    return view.shape, address - whole.__array_interface__['data'][0]


def as_view(key: Any) -> Any:
    """Return a key with `...`, so that NumPy gives an array, not a number."""
    key = key if isinstance(key, tuple) else (key,)
    return key if any(k is Ellipsis for k in key) else (*key, ...)


def plain_key(array: ndarray, key: Any) -> Any:
    """Return a key for NumPy, and the arrays that it has to wait for.

    The function that makes the key takes their values. Numbers are copied to
    the array's device; bools must be there.
    """
    keys = list(key) if isinstance(key, tuple) else [key]
    places = [i for i, k in enumerate(keys) if isinstance(k, ndarray)]
    arrays = [keys[i] for i in places]
    check_devices('a[b]', [array, *(k for k in arrays if k.dtype == BOOL)])
    arrays = [k.as_in_ctx(array.ctx) for k in arrays]
    keys = [onp.asarray(k) if isinstance(k, list) else k for k in keys]

    def fill(values: Sequence[Any]) -> Any:
        filled = list(keys)
        for i, value in zip(places, values):
            whole = value.dtype.kind in 'iub'
            filled[i] = value if whole else value.astype('int64')
        return tuple(filled)

    return fill, arrays


def get(array: ndarray, key: Any) -> ndarray:
    """Return array[key]: a view if its elements are in a row, else a copy."""
    if is_basic(key):
        shape, start = probe(array.shape, key)
        if start is not None and size_of(shape):
            if shape == array.shape and not autograd.local.recording:
                return array
            view = array._view(start, start + size_of(shape), shape)
            return recorded_view(array, view, key)
        to_place = scatter(array.shape, key)
        return invoke('_npi_slice', lambda x: x[key], [array], shape,
                      array.dtype, None, [to_place])  # fmt: skip
    fill, arrays = plain_key(array, key)
    if any(k.dtype == BOOL for k in arrays):  # how many, only it can say
        values = [k._value() for k in arrays]
        filled, arrays = fill(values), []
        fill = lambda values: filled
        shape = empty(array.shape)[filled].shape
    else:
        zeros = [onp.zeros(k.shape, 'int64') for k in arrays]
        shape = empty(array.shape)[fill(zeros)].shape

    def back(g: Any, x: Any, *rest: Any) -> Any:
        whole = onp.zeros(x.shape, g.dtype)
        onp.add.at(whole, fill(rest[:-1]), g)  # an element may be twice
        return whole

    nothing = [None] * len(arrays)
    return invoke('_npi_advanced_indexing', lambda x, *k: x[fill(k)],
                  [array, *arrays], shape, array.dtype, None,
                  [back, *nothing])  # fmt: skip


def empty(shape: Any) -> onp.ndarray:
    """Return an array of a shape that takes no memory."""
    return onp.broadcast_to(onp.uint8(0), shape)


def put(array: ndarray, key: Any, value: Any) -> None:
    """Write `value` into array[key]; it is cast to the array's dtype.

    As `copyto`, this also copies from another device.
    """
    given: list[ndarray] = [value] if isinstance(value, ndarray) else []
    if not given:
        fixed = onp.array(plain(value), array.dtype)
    if is_basic(key):
        shape, start = probe(array.shape, key)
        if start is not None:
            if not size_of(shape):
                return
            view = array._view(start, start + size_of(shape), shape)
            if shape == array.shape and array._region is None:
                view = array
            array._refuse_recorded(*given)
            other = given[0].shape if given else fixed.shape
            fits = len(other) <= len(shape) and all(
                a in (1, b) for a, b in zip(other[::-1], shape[::-1])
            )
            if not fits:
                raise (MXNetError if given else ValueError)(
                    f'shape {other} is not broadcastable to {shape}'
                )
            operations, cut = autograd.read(given)
            view._store('_npi_assign', lambda *v: (cut(v) if cut else v)[0]
                        if v else fixed, operations)  # fmt: skip
            return
    fill, arrays = plain_key(array, key)
    array._refuse_recorded(*given)
    operations, cut = autograd.read([*given, *arrays])

    def work(old: Any, *values: Any) -> Any:
        values = tuple(cut(values)) if cut else values
        new = onp.array(old, order='C')
        chosen = fill(values[1:] if given else values)
        new[chosen] = values[0] if given else fixed
        return new

    array._store('_npi_assign', work, operations, with_old=True)


def plain(value: Any) -> Any:
    """Return lists with numbers of NumPy in place of arrays."""
    if isinstance(value, ndarray):
        return value.asnumpy()
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value
