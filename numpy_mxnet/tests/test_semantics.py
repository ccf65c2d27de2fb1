"""What holds for arrays, devices and gradients, in MXNet and in the stand-in.

Each test runs on the engine that is installed:

    .venv/bin/python -m pytest numpy_mxnet/tests
    PYTHONPATH=numpy_mxnet/src .venv/bin/python -m pytest numpy_mxnet/tests

The first runs them on MXNet, the second on the stand-in. Expected numbers are
written out: neither engine is asked what the other should say.
"""

import contextlib
import sys
import time

import mxnet as mx
import numpy as onp
import pytest
from mxnet import autograd, np, npx

STAND_IN = hasattr(mx, 'STAND_IN')
CPU = [mx.cpu(i) for i in range(4)]
STRICT = STAND_IN or 'd2lmulti' in sys.modules


def values(array):
    return array.asnumpy().tolist()


def recorded(array):
    array.attach_grad()
    with autograd.record():
        return array * 2


def variable(numbers, grad_req='write', **kwargs):
    array = np.array(numbers, **kwargs)
    array.attach_grad(grad_req)
    return array


# The order of reads and writes


def test_a_read_before_a_write_has_the_old_value():
    x = np.ones(3)
    y = x * 2
    x[:] = 5
    assert values(y) == [2, 2, 2] and values(x) == [5, 5, 5]


def test_a_copy_on_another_device_keeps_what_was_there_when_it_was_asked_for():
    A = np.ones((300, 300))
    for _ in range(5):
        A = np.dot(A, A) / 300
    there = A[0].copyto(CPU[1])
    A[:] = 7
    assert values(there)[:2] == [1, 1]


def test_writes_from_another_device_come_in_the_order_of_the_calls():
    x, sources = np.zeros(1), [np.full(1, i, ctx=CPU[i]) for i in range(4)]
    for source in sources:
        source.copyto(x)
    assert values(x) == [3]


def test_what_is_read_on_both_sides_of_a_write_differs():
    x = np.zeros(2, ctx=CPU[2])
    before = x.copyto(CPU[0])
    x += 1
    after = x.copyto(CPU[0])
    assert (values(before), values(after)) == ([0, 0], [1, 1])


# Views


@pytest.mark.parametrize(
    ('key', 'is_view'),
    [
        (1, True),
        (slice(0, 1), True),
        (slice(None), True),
        (..., True),
        (None, True),
        ((0, slice(1, None)), True),
        ((1, 2), True),
        ((slice(0, 1), slice(0, 2)), True),
        ((slice(None), 1), False),
        ((slice(None), slice(0, 2)), False),
        (slice(None, None, -1), False),
        ([0], False),
    ],
)
def test_what_lies_in_a_row_is_a_view_that_writes_through(key, is_view):
    x = np.arange(6).reshape(2, 3)
    expected = onp.arange(6.0).reshape(2, 3)
    if is_view:
        expected[key] += 10
    view = x[key]
    view += 10
    assert values(x) == expected.tolist()


def test_a_view_sees_what_is_written_into_the_array():
    x = np.zeros((2, 2))
    row, first = x[1], x[1][0:1]
    x[:] = 4
    first -= 1
    assert values(row) == [3, 4] and values(x) == [[4, 4], [3, 4]]


def test_reshape_copies_and_reshape_view_does_not():
    x = np.zeros((2, 2))
    x.reshape(4)[:] = 1
    assert values(x) == [[0, 0], [0, 0]]
    x.reshape_view(4)[1:3] = 1
    assert values(x) == [[0, 1], [1, 0]]


@pytest.mark.parametrize(
    'make',
    [
        lambda x: x.reshape(-1), lambda x: x.T, lambda x: x.copy(),
        lambda x: x.astype('float32'), lambda x: x.squeeze(),
        lambda x: x.copyto(CPU[0]), lambda x: x.copyto(CPU[1]),
    ],
)  # fmt: skip
def test_other_methods_copy(make):
    x = np.zeros((2, 3))
    make(x)[:] = 1
    assert x.asnumpy().sum() == 0


def test_numpy_gets_and_gives_copies():
    given = onp.zeros(2)
    x = np.array(given)
    given[:] = 1
    x.asnumpy()[:] = 2
    assert values(x) == [0, 0]


# In place


def test_a_sum_in_place_is_seen_by_all_who_hold_the_array():
    data = [np.full(2, i + 1, ctx=CPU[i]) for i in range(3)]
    held = list(data)
    total = data[0]
    for array in data[1:]:
        total += array.copyto(total.ctx)
    for array in data[1:]:
        total.copyto(array)
    assert [values(array) for array in held] == [[6, 6]] * 3


def test_copyto_an_array_returns_it_and_keeps_its_dtype():
    target = np.zeros(2, dtype='int32')
    assert np.array([1.7, -1.7]).copyto(target) is target
    assert values(target) == [1, -1] and target.dtype == onp.int32


def test_copyto_wants_the_same_shape():
    with pytest.raises(mx.MXNetError):
        np.ones(3).copyto(np.zeros((1, 3)))
    with pytest.raises(TypeError):
        np.ones(3).copyto('cpu')


def test_as_in_ctx_copies_only_to_another_device():
    x = np.ones(2)
    assert x.as_in_ctx(CPU[0]) is x
    there = x.as_in_ctx(CPU[3])
    there += 1
    assert there.ctx == CPU[3] and values(x) == [1, 1]


def test_an_assignment_copies_from_another_device():
    x, there = np.zeros((2, 2)), np.ones(2, ctx=CPU[1])
    x[:] = there
    x[0, :1] = 2 * there[:1]
    assert values(x) == [[2, 1], [1, 1]]


def test_all_arithmetic_in_place():
    x = np.ones((2, 2))
    x /= 2
    x *= 3
    x -= 1
    x **= 2
    x += np.ones(2)  # repeated
    x %= 1
    x *= x < 1
    assert values(x) == [[0.25, 0.25]] * 2


@pytest.mark.parametrize(
    'other', [np.ones(2, dtype='float64'), np.ones((3, 2))]
)
def test_in_place_wants_the_same_dtype_and_a_shape_that_fits(other):
    x = np.ones(2)
    with pytest.raises(mx.MXNetError):
        x += other
    assert values(x) == [1, 1]


def test_assignments():
    x = np.arange(6).reshape(2, 3)
    x[:, 1] = 7
    x[[0, 1], 0] = 9
    x[0] = [1, 2, 3]
    x[1, 1:] = np.array([5, 6], dtype='float64')
    x[np.array([1], dtype='int32'), np.array([0], dtype='int32')] = -1
    assert values(x) == [[1, 2, 3], [-1, 5, 6]]
    with pytest.raises((ValueError, mx.MXNetError)):
        x[0] = np.ones(2)


# Waiting


def test_waits_return_when_the_values_are_there():
    x = np.ones((200, 200))
    for _ in range(20):
        x = np.dot(x, x) / 200
    x.wait_to_read()
    npx.waitall()
    assert x[0, 0].item() == 1


def test_a_clock_that_stops_stops_no_device(monkeypatch):
    monkeypatch.setattr(time, 'perf_counter', lambda: next(iter([])))
    assert values(np.ones(2, ctx=CPU[2]) + 1) == [2, 2]


@pytest.mark.parametrize('read', [
    lambda x: x.asnumpy(), lambda x: x.wait_to_read(), lambda x: repr(x),
    lambda x: x[0].item(), lambda x: (x.copyto(CPU[1]) + 1).asnumpy(),
    lambda x: npx.waitall(),
])  # fmt: skip
def test_an_error_comes_where_the_value_is_read(read):
    bad = np.take(np.ones(2), np.array([5, 5]), mode='raise')  # raises nothing
    other = np.ones(2) + 1
    with pytest.raises(mx.MXNetError):
        read(bad)
    assert values(other) == [2, 2]
    npx.waitall()  # what was seen once is not raised again
    bad[:] = 1
    assert values(bad) == [1, 1]


def test_an_index_out_of_bounds():
    with pytest.raises(IndexError):
        np.ones(2)[5]
    with pytest.raises(IndexError):
        np.ones(2)[np.array([5], dtype='int32')].asnumpy()


# Gradients


def test_gradients_of_each_requirement():
    for grad_req, expected in (('write', 2), ('add', 4)):
        x = variable([1.0], grad_req)
        with autograd.record():
            y = x * x
        y.backward(retain_graph=True)
        y.backward()
        assert values(x.grad) == [expected]
    x = variable([1.0], 'null')
    with autograd.record():
        y = x * x
    with pytest.raises(mx.MXNetError):
        y.backward()


def test_the_array_of_the_gradient_stays_the_same():
    x = variable([1.0, 2.0])
    held = x.grad
    with autograd.record():
        y = (x * x).sum()
    y.backward()
    assert values(held) == [2, 4]
    held[:] = 0
    assert values(x.grad) == [0, 0]


def test_what_backward_does_not_reach_keeps_its_gradient():
    x, unused = variable([1.0]), variable([1.0])
    unused.grad[:] = 7
    with autograd.record():
        y = x * 2
    y.backward()
    assert (values(x.grad), values(unused.grad)) == ([2], [7])


def test_several_heads():
    x = variable([1.0, 2.0])
    with autograd.record():
        h = x * 2
        a, b = h * 3, h * h
    autograd.backward([a, b], [np.array([1.0, 10.0]), None])
    assert values(x.grad) == [6 + 8, 60 + 16]


def test_a_graph_is_gone_after_backward():
    x = variable([1.0])
    with autograd.record():
        h = x * 2
        a, b = h * 3, h * 5
    a.backward()
    for head in (a, b):
        with pytest.raises(mx.MXNetError):
            head.backward()


def test_only_what_is_recorded_has_a_gradient():
    x = variable([1.0])
    y = x * 2
    view = x[:]
    with pytest.raises(mx.MXNetError):
        y.backward()
    with autograd.record():
        assert autograd.is_recording()
        y = x * 2
        with autograd.pause():
            assert not autograd.is_recording()
            z = y * 3
        w = y + z
    w.backward()
    assert values(x.grad) == [2] and view.shape == (1,)


def test_attach_grad_cuts_the_graph():
    x = variable([1.0])
    with autograd.record():
        y = x * 2
        y.attach_grad()
        z = y * 3 + (x * 5).detach()
    z.backward()
    assert (values(x.grad), values(y.grad)) == ([0], [3])


@pytest.mark.parametrize('write', [
    lambda x, y: x.__iadd__(1), lambda x, y: x.__setitem__(slice(None), 1),
    lambda x, y: y.__iadd__(1), lambda x, y: np.zeros(1).__iadd__(y),
    lambda x, y: y.copyto(x),
])  # fmt: skip
def test_nothing_in_a_graph_is_written_in_place_while_it_is_recorded(write):
    x = variable([1.0])
    with autograd.record():
        y = x * 2
        with pytest.raises(mx.MXNetError):
            write(x, y)


def test_backward_reads_what_its_inputs_hold_when_it_is_called():
    x = variable([1.0])
    with autograd.record():
        y = x * x
    x[:] = 5
    y.backward()
    assert values(x.grad) == [10]


@pytest.mark.parametrize('move', ['copyto', 'as_in_ctx'])
def test_a_gradient_comes_back_from_another_device(move):
    x = variable([1.0, 2.0])
    with autograd.record():
        there = getattr(x, move)(CPU[1])
        y = (there * there).sum()
    y.backward()
    assert (values(x.grad), x.grad.ctx, y.ctx) == ([2, 4], CPU[0], CPU[1])


def test_marked_gradients_are_written_into_parts_of_an_array():
    x, whole = np.array([1.0, 2.0]), np.zeros(4)
    autograd.mark_variables([x], [whole[1:3]])
    with autograd.record():
        y = x * 3
    y.backward()
    assert values(whole) == [0, 3, 3, 0]


FUNCTIONS = {
    'arithmetic': lambda x: (x * 3 - 2 / x + 1) ** 2 - (5 - x) / 4 + 2**x,
    'unary': lambda x: np.exp(x) + np.log(x) * np.sqrt(x) + np.tanh(x),
    'more': lambda x: np.square(x) + abs(x) + np.sin(x) * np.cos(x) - (-x),
    'extremes': lambda x: np.maximum(x, 1) * np.minimum(x, x.mean()),
    'reductions': lambda x: x.sum(axis=1) * x.max(axis=1) + x.mean(0)[0],
    'dot': lambda x: np.dot(x, x.T) + np.dot(x[0], x[1]) + np.dot(x, x[0])[0],
    'matmul': lambda x: np.matmul(x.reshape(2, 1, 3), x.reshape(2, 3, 1)),
    'shapes': lambda x: x.T.reshape(6) * x.swapaxes(0, 1).reshape(-1)[::-1],
    'joined': lambda x: np.concatenate([x, x * x]) * np.concatenate([x, x]),
    'stacked': lambda x: np.stack([x, 2 * x], axis=1) ** 2,
    'split': lambda x: np.split(x, 3, axis=1)[1] * x[:, 2:],
    'indices': lambda x: x[np.array([0, 1, 1], dtype='int32')] ** 2,
    'slices': lambda x: x[0, 1:] * x[1, :2] + x[1, 2] + x[None, 0, ::2][0],
    'repeated': lambda x: x[:1] * np.broadcast_to(x[:, :1], (2, 3)) + x,
    'where': lambda x: np.where(x > 1, x * x, -x),
    'pick': lambda x: npx.pick(npx.log_softmax(x), np.array([2, 0])),
    'softmax': lambda x: npx.softmax(x, axis=0) ** 2,
    'relu': lambda x: npx.relu(x - 1) + npx.activation(x - 2, 'sigmoid'),
    'layer_norm': lambda x: npx.layer_norm(x, x[0], x[1]) ** 2,
    'one column': lambda x: npx.fully_connected(x, x * 2, x[:, 0],
                                                num_hidden=2),
    'embedding': lambda x: npx.embedding(
        np.array([1, 0, 1]), x, input_dim=2, output_dim=3) ** 2,
    'clip': lambda x: np.clip(x, 0.6, 1.5) * x,
    'norm': lambda x: np.linalg.norm(x),
    'einsum': lambda x: np.einsum('ij,kj->ik', x, x * x),
}  # fmt: skip


@pytest.mark.parametrize('name', FUNCTIONS)
def test_gradients_are_those_of_finite_differences(name):
    function = FUNCTIONS[name]
    start = onp.array([[0.7, 1.3, 2.1], [1.7, 0.5, 1.1]])

    def total(numbers):
        return function(np.array(numbers, dtype='float64'))

    x = np.array(start, dtype='float64')
    x.attach_grad()
    with autograd.record():
        y = function(x)
    y.backward()
    found, eps = x.grad.asnumpy(), 1e-6
    for place in onp.ndindex(2, 3):
        step = onp.zeros((2, 3))
        step[place] = eps
        above, below = [total(start + s).asnumpy() for s in (step, -step)]
        slope = (above - below).sum() / (2 * eps)
        assert abs(found[place] - slope) < 1e-6, (place, found[place], slope)


@pytest.mark.parametrize('kind', ['avg', 'sum', 'max'])
@pytest.mark.parametrize(('stride', 'pad'), [((1, 1), (0, 0)),
                                             ((2, 1), (1, 2))])  # fmt: skip
def test_convolution_and_pooling(kind, stride, pad):
    rng = onp.random.RandomState(0)
    X, W, b = [
        np.array(rng.normal(size=shape), dtype='float64')
        for shape in ((2, 3, 7, 6), (4, 3, 3, 2), (4,))
    ]
    for array in (X, W, b):
        array.attach_grad()

    def network():
        h = npx.convolution(X, W, b, kernel=(3, 2), num_filter=4,
                            stride=stride, pad=pad)  # fmt: skip
        return (
            npx.pooling(h, pool_type=kind, kernel=(2, 3), stride=(2, 2)) ** 2
        )

    with autograd.record():
        y = network()
    y.backward()
    padded = onp.pad(X.asnumpy(), [(0, 0), (0, 0), *[(p, p) for p in pad]])
    window = padded[1, :, stride[0]: stride[0] + 3, :2]  # fmt: skip
    h = npx.convolution(X, W, b, kernel=(3, 2), num_filter=4, stride=stride,
                        pad=pad)  # fmt: skip
    direct = (window * W.asnumpy()[3]).sum() + b.asnumpy()[3]
    assert abs(h[1, 3, 1, 0].item() - direct) < 1e-12
    part = h.asnumpy()[0, 2, 2:4, 0:3]
    pooled = {'avg': onp.mean, 'sum': onp.sum, 'max': onp.max}[kind](part)
    assert abs(y[0, 2, 1, 0].item() - pooled**2) < 1e-12
    for array in (X, W, b):
        for _ in range(5):
            place = tuple(rng.randint(n) for n in array.shape)
            old = array[place].item()
            sums = []
            for eps in (1e-6, -1e-6):
                array[place] = old + eps
                sums.append(network().sum().item())
            array[place] = old
            slope = (sums[0] - sums[1]) / 2e-6
            assert abs(array.grad[place].item() - slope) < 1e-5


@pytest.mark.parametrize('shape', [(4,), (3, 2, 2), (2, 4)])
def test_a_value_of_another_shape_is_refused_at_the_call(shape):
    a = np.zeros((2, 2))
    with pytest.raises(mx.base.MXNetError, match='broadcast'):
        a[:] = np.ones(shape)
    with pytest.raises(ValueError):
        a[:] = onp.ones(shape)
    assert a.sum() == 0


# Dtypes


def test_what_arrays_are_made_of():
    made = [
        (np.array([1, 2]), 'float32'), (np.array(3), 'float32'),
        (np.array([True]), 'float32'), (np.arange(3), 'float32'),
        (np.ones(2), 'float32'), (np.array(onp.arange(3.0)), 'float64'),
        (np.array(onp.arange(3), dtype='int64'), 'int64'),
        (np.array(onp.zeros(2, 'int32')), 'int32'),
        (np.full(2, 3, dtype='int8'), 'int8'),
        (np.zeros_like(np.ones(2, dtype='uint8')), 'uint8'),
        (np.ones(2).astype(int), 'int64'), (np.ones(2) > 0, 'bool'),
        (np.ones(2).argmax(), 'int64'), (np.argsort(np.ones(2)), 'int64'),
        (npx.one_hot(np.zeros(2, dtype='int32'), 3), 'float32'),
        (np.ones(2, dtype='int32').mean(), 'float32'),
        (np.ones(2, dtype='int32').sum(), 'int32'),
        ((np.ones(2) > 0).sum(), 'int64'), ((np.ones(2) > 0) + 1, 'int64'),
        (np.random.uniform(size=2), 'float32'),
        (np.random.randint(0, 5, (2,)), 'int64'),
    ]  # fmt: skip
    for i, (array, dtype) in enumerate(made):
        assert onp.dtype(array.dtype).name == dtype, i
    with pytest.raises((TypeError, KeyError)):
        np.array([1], dtype='uint16')


SUMS = {
    ('float32', 'float16'): 'float32', ('float32', 'float64'): 'float64',
    ('float16', 'float64'): 'float64', ('int32', 'float32'): 'float32',
    ('int64', 'float16'): 'float16', ('int32', 'int64'): 'int64',
    ('uint8', 'int32'): 'int32', ('bool', 'int32'): 'int32',
    ('bool', 'float32'): 'float32',
}  # fmt: skip


@pytest.mark.parametrize('pair', SUMS)
def test_the_dtype_of_a_sum(pair):
    a, b = [np.array([1, 0, 1], dtype=dtype) for dtype in pair]
    for total in (a + b, b + a):
        assert onp.dtype(total.dtype).name == SUMS[pair]
        assert values(total) == [2, 0, 2]


def test_a_number_takes_the_dtype_of_the_array_beside_it():
    whole, byte = (
        np.array([1, 2], dtype='int32'),
        np.array([1, 2], dtype='uint8'),
    )
    assert values(whole + 1.7) == [2, 3] and values(whole * 2.5) == [2, 4]
    assert values(byte - 2) == [255, 0]
    assert values(whole / 2) == [0.5, 1] == values(1 / np.array([2, 1]))
    half = np.array([1, 2], dtype='float16')
    for result, dtype in ((whole * 2.5, 'int32'), (half / 3, 'float16'),
                          (whole / 2, 'float32'), (whole % 2, 'int32'),
                          (onp.float64(2) * np.ones(1),
                           'float32')):  # fmt: skip
        assert onp.dtype(result.dtype).name == dtype


@pytest.mark.parametrize('work', [
    lambda a, b: np.dot(a, b), lambda a, b: np.maximum(a, b),
    lambda a, b: np.concatenate([a, b]), lambda a, b: a == b,
    lambda a, b: np.where(a > 0, a, b),
])  # fmt: skip
def test_what_does_not_mix(work):
    with pytest.raises(mx.MXNetError):
        work(np.ones((2, 2)), np.ones((2, 2), dtype='float64'))


def test_labels_are_int32():
    labels = np.array([2, 0], dtype='int32')
    scores = variable([[0.1, 0.2, 0.7], [0.6, 0.3, 0.1]])
    with autograd.record():
        picked = npx.pick(scores, labels).sum()
    picked.backward()
    assert values(scores.grad) == [[0, 0, 1], [1, 0, 0]]
    guesses = scores.argmax(axis=1).astype(labels.dtype)
    assert int((guesses == labels).sum()) == 2


def test_texts():
    assert repr(np.array([1, 2.5])) == 'array([1. , 2.5])'
    assert repr(np.ones(2, dtype='int64')) == 'array([1, 1], dtype=int64)'
    assert str(np.ones((1, 2), ctx=CPU[1])) == '[[1. 1.]]'
    assert f'{np.array(1.5):.2f} {np.array(1.5)}' == '1.50 1.5'
    assert (str(CPU[1]), CPU[1].device_id) == ('cpu(1)', 1)


def test_numbers():
    one = np.array([1.5])
    assert (float(one), int(one), bool(one), one.item()) == (1.5, 1, True, 1.5)
    for convert in (float, int, bool):
        with pytest.raises((TypeError, ValueError)):
            convert(np.ones(2))


# Devices, random numbers, files


def test_devices():
    assert mx.cpu(1) == CPU[1] != CPU[0]
    assert len({mx.cpu(0), mx.cpu(), CPU[1]}) == 2
    with mx.cpu(2):
        assert np.ones(2).ctx == CPU[2]
    assert np.ones(2).ctx == CPU[0] == mx.context.current_context()
    assert np.zeros_like(np.ones(2, ctx=CPU[3])).ctx == CPU[3]
    with pytest.raises(mx.MXNetError):
        np.ones(2, ctx=mx.gpu(0)).asnumpy()


@pytest.mark.skipif(not STRICT, reason='needs d2lmulti to make MXNet strict')
@pytest.mark.parametrize('work', [
    lambda a, b: a + b, lambda a, b: np.dot(a, b), lambda a, b: a == b,
    lambda a, b: np.add(a, a, out=b), lambda a, b: a.__iadd__(b),
    lambda a, b: a[b > 0], lambda a, b: a.__setitem__(b > 0, 3),
    lambda a, b: np.concatenate([a, b]), lambda a, b: np.stack([a, b]),
    lambda a, b: np.where(a, a, b), lambda a, b: np.einsum('i,i->', a, b),
    lambda a, b: npx.pick(a.reshape(1, 2), b[:1]),
    lambda a, b: autograd.mark_variables([a], [b]),
    lambda a, b: recorded(a).backward(b),
    lambda a, b: autograd.backward([recorded(a)], [b]),
    lambda a, b: autograd.grad(recorded(a), [a], [b]),
])  # fmt: skip
def test_arrays_of_two_devices_do_not_mix(work):
    a, b = np.ones(2, ctx=CPU[0]), np.ones(2, ctx=CPU[1])
    with pytest.raises(mx.MXNetError, match=r'cpu\(1\)'):
        work(a, b)
    npx.waitall()


def test_numbers_of_another_device_can_be_indices():
    x, places = np.arange(3), np.array([2, 0], dtype='int32', ctx=CPU[1])
    assert values(x[places]) == [2, 0] and x[places].ctx == CPU[0]
    x[places] = np.array([7, 8], ctx=CPU[2])
    assert values(x) == [8, 1, 7]


def test_random_numbers_follow_from_the_seed():
    draws = []
    for _ in range(2):
        mx.random.seed(3)
        draws.append([
            values(np.random.normal(0, 1, (3,), ctx=CPU[1])),
            values(np.random.uniform(2, 3, size=(2,))),
            values(np.random.randint(0, 9, (4,))),
        ])  # fmt: skip
    assert draws[0] == draws[1]
    many = np.random.normal(5, 2, (10_000,))
    assert (
        abs(many.mean().item() - 5) < 0.1 and abs(many.std().item() - 2) < 0.1
    )


def test_files_are_those_of_mxnet(tmp_path):
    path = str(tmp_path / 'arrays')
    npx.save(path, {'W': np.array([[1.0, -2]]), 'n': np.array(
        [3], dtype='int32')})  # fmt: skip
    with open(path, 'rb') as file:
        assert file.read() == bytes.fromhex(
            '1201000000000000' '0000000000000000' '0200000000000000'
            'cafa93f9' '00000000' '02000000' '0100000000000000'
            '0200000000000000' '01000000' '00000000' '00000000'
            '0000803f' '000000c0'
            'cafa93f9' '00000000' '01000000' '0100000000000000'
            '01000000' '00000000' '04000000' '03000000'
            '0200000000000000' '0100000000000000' '57'
            '0100000000000000' '6e'
        )  # fmt: skip
    found = npx.load(path)
    assert values(found['W']) == [[1, -2]] and values(found['n']) == [3]
    npx.save(path, [np.ones(2)])
    assert values(npx.load(path)[0]) == [1, 1]


@pytest.mark.parametrize('name', [
    'gluon.nn.Dense', 'np.tensordot', 'npx.roi_pooling', 'kv.create',
    'nd.ones', 'optimizer.LAMB', 'gluon.Trainer',
])  # fmt: skip
def test_what_only_mxnet_has_is_named(name):
    refused = contextlib.nullcontext()
    if STAND_IN:
        refused = pytest.raises(mx.base.NotInStandIn, match=r'mxnet\.\w+')
    with refused:
        value = mx
        for part in name.split('.'):
            value = getattr(value, part)
