"""CPU devices refuse what GPUs cannot do; `d2lmulti.strict_devices`.

Each case is code that runs with `a`, `M`, `labels` on cpu(0) and `b`, `N`,
`others`, the same numbers, on cpu(1).
"""

import linecache
import threading
import traceback

import mxnet as mx
import pytest
from helpers import needs_mxnet, run
from mxnet import autograd, gluon, nd, np, npx

from d2lmulti import device_error
from d2lmulti.device_error import DeviceError
from d2lmulti.prepare.machine import is_stand_in

FORGOTTEN = [  # copies
    'a + b',
    'b - a',
    'a * b',
    'a / b',
    'a ** b',
    'M @ N',
    'a > b',
    'a[:2] + b[:2]',
    'a[0] * b',
    'M.T + N',
    'a.copy()[:] * b.reshape(-1)',
    'c = a.copy(); c += b',
    'c = a.copy(); c -= 0.1 * b',
    'c = a.copy(); c[:2] += b[:2]',
    'a[b > 1]',
    'c = a.copy(); c[b > 1] = 0',
    'np.maximum(a, b)',
    'np.dot(M, b)',
    'np.einsum("i,i->", a, b)',
    'np.where(b > 1, a, a)',
    'np.concatenate([a, b])',
    'np.stack([a, b])',
    'sum([a, b])',
    'np.add(a, a, out=b)',
    'np.exp(a, out=b)',
    'np.take(a, np.array([0], ctx=b.ctx))',
    'npx.pick(npx.log_softmax(M), others)',
    'npx.fully_connected(M, N, a, num_hidden=3)',
    'npx.batch_norm(M, a, a, a.copy(), b.copy())',
    'npx.embedding(labels, N, input_dim=3, output_dim=3)',
    '(M.argmax(axis=1) == others).sum()',
    '((M - N) ** 2).mean()',
    'with autograd.record(): (a * b).sum().backward()',
    'with autograd.record(): c = a * 2\nc.backward(b)',
    'with autograd.record(): c = a * 2\nautograd.backward([c], [b])',
    'with autograd.record(): c = a * 2\nautograd.grad(c, [a], [b])',
    'autograd.mark_variables([a], [b])',
]


ALLOWED = [  # as on GPUs
    'a.copyto(b)',
    'a + b.copyto(a.ctx)',
    'a + b.as_in_ctx(a.ctx)',
    'a[:] = b',
    'a[:2] = b[1:]',
    'M[0, 1:] = b[:2]',
    'M[others]',
    'M[others] = b',
    'a + np.array(b, ctx=a.ctx)',
    'np.shares_memory(a, b)',
    'with autograd.record(): c = (a.copyto(b.ctx) * b).sum()\nc.backward()',
]

if not is_stand_in():  # which has none of these
    FORGOTTEN += [
        'npx.relu(a, out=b)',
        'gluon.loss.SoftmaxCrossEntropyLoss()(M, others)',
        'gluon.loss.L2Loss()(M, N)',
        'nd.ones(3) + nd.ones(3, ctx=b.ctx)',
        'nd.concat(nd.ones(3), nd.ones(3, ctx=b.ctx), dim=0)',
        'nd.sparse.dot(nd.ones((3, 3)).tostype("csr"), N.as_nd_ndarray())',
        'nd.sgd_update(a.as_nd_ndarray(), b.as_nd_ndarray(), lr=1)',
        'mx.optimizer.get_updater(mx.optimizer.create("adam"))(0, b, a)',
        'layer = gluon.nn.Lambda(lambda X: np.dot(X, N)); layer(M)',
        'layer.register_forward_hook(lambda _, X, Y: Y + b); layer(M)',
        'layer.register_forward_pre_hook(lambda _, X: X[0] + b); layer(M)',
    ]
    ALLOWED += [
        'np.random.normal(size=3, ctx=mx.cpu(1), out=b)',
        'a + np.ones(3, ctx=mx.cpu_pinned(0))',
        'mx.metric.Accuracy().update(labels.as_nd_ndarray(), '
        'N.as_nd_ndarray())',
        'store.push(0, [a, b]); store.pull(0, [a, b])',
        'gluon.utils.clip_global_norm([nd.ones(2), nd.ones(2, b.ctx)], 1)',
        'net(gluon.utils.split_and_load(M[:2], [a.ctx, b.ctx])[1])',
    ]


@pytest.fixture
def names():
    """The names that the code of a case has."""
    given = {**globals()}
    for device, letters in ((mx.cpu(0), 'aM'), (mx.cpu(1), 'bN')):
        given[letters[0]] = np.array([1.0, 2, 3], ctx=device)
        given[letters[1]] = np.ones((3, 3), ctx=device)
    given['labels'] = np.array([0, 1, 2], dtype='int32')
    given['others'] = given['labels'].copyto(mx.cpu(1))
    given['a'].attach_grad()
    if is_stand_in():
        return given
    given['layer'] = gluon.nn.Lambda(lambda X: X)
    given['net'] = gluon.nn.Dense(2)
    given['net'].initialize(ctx=[mx.cpu(0), mx.cpu(1)])
    given['store'] = mx.kv.create('local')
    given['store'].init(0, given['a'])
    return given


@pytest.mark.parametrize('code', FORGOTTEN)
def test_a_forgotten_copy_is_refused_with_the_line_that_copies(code, names):
    with pytest.raises(DeviceError, match=r'copyto\(.+') as refused:
        run_line(code, names)
    assert code.split('\n')[-1][:70] in str(refused.value)


def run_line(code, names):
    """Run code whose lines a message can quote."""
    lines = code.splitlines(keepends=True)
    linecache.cache[code] = len(code), None, lines, code
    exec(compile(code, code, 'exec'), names)
    npx.waitall()


@pytest.mark.parametrize('code', ALLOWED)
def test_what_copies_on_purpose_is_allowed(code, names):
    run_line(code, names)


@needs_mxnet
@pytest.mark.parametrize('hybrid', [False, True])
def test_a_layer_on_one_device_does_not_take_the_data_of_another(hybrid):
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(2))
    net.initialize(ctx=mx.cpu(0))
    if hybrid:
        net.hybridize()
    net(np.ones((1, 3)))
    with pytest.raises(RuntimeError, match='context'):  # MXNet's own
        net(np.ones((1, 3), ctx=mx.cpu(1)))


@needs_mxnet
def test_a_layer_of_ones_own_is_refused_at_its_line(names):
    class Scaled(gluon.nn.Block):
        """A layer whose factor stays on one device."""

        def forward(self, X):
            return X * np.ones(3, ctx=mx.cpu(1))

    line = r'"return X \* np.ones\(3, ctx=mx.cpu\(1\)\)"'
    with pytest.raises(DeviceError, match=line):
        Scaled()(names['a'])


@needs_mxnet
def test_a_gradient_of_ones_own_on_another_device_is_refused(names, capfd):
    class Doubled(autograd.Function):
        """An operator whose gradient is on another device than its result."""

        def forward(self, X):
            return 2 * X

        def backward(self, grad):
            return grad + nd.ones(3, ctx=mx.cpu(1))

    with autograd.record():
        result = Doubled()(names['a'])
    with pytest.raises(mx.MXNetError):
        result.backward()
        npx.waitall()
    assert 'return grad + nd.ones' in capfd.readouterr().out


def test_all_threads_are_strict(names):
    refused = []

    def work():
        with pytest.raises(DeviceError):
            names['a'] + names['b']
        refused.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert refused == [True]


@pytest.mark.parametrize(
    'code, fix',
    [
        ('c = [a, b]\nc[0] += c[1]', 'c[1].copyto(mx.cpu(0))'),
        ('b.attach_grad()\na -= 0.1 * b.grad', 'b.grad.copyto(mx.cpu(0))'),
        ('np.dot(N, a)', 'a.copyto(mx.cpu(1))'),
        ('a + b[:1]', 'array.copyto(mx.cpu(0))'),
        ('np.exp(a, out=b)', 'result.copyto(b) instead of out='),
    ],
)
def test_the_copy_is_written_as_the_line_writes_the_array(code, fix, names):
    with pytest.raises(DeviceError) as refused:
        run_line(code, names)
    assert str(refused.value).endswith(f'copy: {fix}')


def test_the_frames_in_jupyter_end_with_the_line_that_is_wrong(names):
    with pytest.raises(DeviceError) as refused:
        run_line('a + b', names)
    shown = device_error.without_mxnet(refused.value.__traceback__)
    assert traceback.extract_tb(shown)[-1].line == 'a + b'


@needs_mxnet
def test_one_variable_switches_it_off():
    code = (
        'import d2lmulti, mxnet as mx; '
        'print(mx.np.ones(2) + mx.np.ones(2, ctx=mx.cpu(1)))'
    )
    assert run(code, D2LMULTI_STRICT='0').stdout == '[2. 2.]\n'


@needs_mxnet
def test_it_can_be_turned_off_and_on(names):
    from d2lmulti import strict_devices

    turn_off = strict_devices.turn_on()
    try:
        with pytest.raises(DeviceError):
            names['a'] + names['b']
    finally:
        turn_off()
    with pytest.raises(DeviceError):  # as before
        names['a'] + names['b']
