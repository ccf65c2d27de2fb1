"""What a student has in the first hour, given to what chapters 2 to 5 teach:
the message says what came, what is needed, and how to convert it. The line of
code that it ends with is run."""

import re
import sys

import mxnet as mx
import numpy as onp
import pytest
from mxnet import np, npx

import d2lmulti
from d2lmulti import check_values, checks


class Tensor:
    """What PyTorch's tensors have in common with arrays, and what not."""

    def __init__(self, array):
        self.array, self.shape = array, array.shape

    def __len__(self):
        return len(self.array)

    def detach(self):
        return self

    cpu = detach

    def numpy(self):
        return self.array


Tensor.__module__ = 'torch'


LENET = d2lmulti.init_params()


def good():
    """Return the names that calls, changes and lines use."""
    X = onp.random.RandomState(0).uniform(size=(4, 1, 28, 28))
    X, y = X.astype('float32'), onp.array([0, 9, 3, 3], 'int32')
    devices = [mx.cpu(0), mx.cpu(1)]
    params = [param.copy() for param in LENET]
    return {
        **{name: getattr(d2lmulti, name) for name in d2lmulti.__all__},
        **{'mx': mx, 'np': np, 'npx': npx, 'onp': onp, 'Tensor': Tensor},
        **{'X': np.array(X), 'y': np.array(y), 'devices': devices},
        'params': params,
        'device': devices[0],
        'device_params': [d2lmulti.get_params(params, d) for d in devices],
        'data': np.array(X),
        'y_hat': np.zeros((4, 10)),
        'images': X,
        'labels': y,
        **{'lr': 0.1, 'batch_size': 2, 'seed': 0, 'scale': None},
    }


CALLS = {
    'step': 'train_batch(X, y, device_params, devices, lr)',
    'lenet': 'lenet(X, params)',
    'loss': 'loss(y_hat, y)',
    'init': 'init_params(seed, scale)',
    'replica': 'get_params(params, device)',
    'split': 'split_and_load(data, devices)',
    'shards': 'split_batch(X, y, devices)',
    'accuracy': 'evaluate_accuracy(device_params, [(X, y)], devices)',
    'accuracy of': 'evaluate_accuracy(device_params, data_iter, devices)',
    'loader': 'Minibatches(X, y, batch_size, None, 10)',
    'train': 'train(1, batch_size, lr, 1, data=(X, y, images, labels))',
    'test': 'train(1, 2, 0.1, 1, data=(images, labels, X, y))',
    'train on': 'train(1, 2, 0.1, 1, data=data)',
    'train with': 'train(num_devices, 2, 0.1, 1, net=net, init=init)',
}
OF_NUMPY = ('loader', 'train', 'test')  # whose X and y are NumPy arrays

FLOATS = ', but lenet needs float32 (as params do): X.astype('
SIZES = ', but lenet needs (1, 28, 28) with these params'
ROWS = ', but loss needs a label for each row of the scores y_hat'
LABELS = 'labels must be integers from 0 to 9, but example '
KEEP = (
    ': correct them, or leave those rows out: '
    'keep = onp.isin(y, range(10)); X, y = X[keep], y[keep]'
)
FINITE = (
    'X has numbers that are not finite in float32, the first in example 2; '
    "repair or remove these examples: keep = onp.isfinite(X.astype('float32')"
    ').reshape(len(X), -1).all(axis=1); X, y = X[keep], y[keep]'
)
MXNET = ', but an MXNet array is needed: '
NUMPY = ', but a NumPy array is needed: '
DEVICES = ', but a list of devices is needed: '
PARAMS = ', but a list of MXNet arrays is needed'
FOUR = (
    ', but (X_train, y_train, X_test, y_test), as from read_fashion_mnist, '
    'is needed: '
)
REPLICAS = (
    'device_params holds arrays, but a replica, a list of arrays, is needed '
    'for each device: [get_params(device_params, device) for device in '
    'devices]'
)
DTYPES = (
    ', but float16, float32, float64, uint8, int8, int32, int64 or bool is '
    'needed: '
)
LENGTH = ': X and y must have the same length, as X[rows] and y[rows] have'

# The call; what is wrong in it; the check that sees it; the error and the
# whole message, which ends with the line that converts what came.
WITH_LINE = [
    # Pixels
    *(
        (
            call,
            f"X = X.astype('{dtype}')",
            'check_lenet',
            TypeError,
            f"{begin}X holds {dtype}{FLOATS}'float32') / 255",
        )
        for call, begin in (
            ('step', ''),
            ('lenet', ''),
            ('accuracy', ''),
            ('train', 'net(X_train[:1], params): '),
            ('test', 'net(X_test[:1], params): '),
        )
        for dtype in ('uint8', 'int32', 'int64')
    ),
    *(
        (
            call,
            "X = X.astype('float64')",
            'check_lenet',
            TypeError,
            f"X holds float64{FLOATS}'float32')",
        )
        for call in ('step', 'lenet', 'accuracy')
    ),
    (
        'lenet',
        "params = [param.astype('float64') for param in params]",
        'check_lenet',
        TypeError,
        'X holds float32, but lenet needs float64 (as params do): '
        "X.astype('float64')",
    ),
    *(
        (call, change, 'check_lenet', ValueError, begin + message)
        for call, begin in (
            ('step', ''),
            ('lenet', ''),
            ('accuracy', ''),
            ('train', 'net(X_train[:1], params): '),
            ('test', 'net(X_test[:1], params): '),
        )
        for change, message in (
            (
                'X = X.reshape(4, 28, 28, 1)',
                f'each X[i] has the shape (28, 28, 1){SIZES}: '
                'X.transpose(0, 3, 1, 2)',
            ),
            (
                'X = X[:, 0]',
                f'each X[i] has the shape (28, 28){SIZES}: '
                'X.reshape(-1, 1, 28, 28)',
            ),
            (
                'X = X.reshape(4, 784)',
                f'each X[i] has the shape (784,){SIZES}: '
                'X.reshape(-1, 1, 28, 28)',
            ),
            (
                'X = X.repeat(3, axis=1)',
                f'each X[i] has the shape (3, 28, 28){SIZES}: '
                'X.mean(axis=1, keepdims=True)',
            ),
            (
                'X = X.repeat(3, axis=1).transpose(0, 2, 3, 1)',
                f'each X[i] has the shape (28, 28, 3){SIZES}: '
                'X.transpose(0, 3, 1, 2)',
            ),
            (
                'X = X.repeat(2, axis=2)[:, :, :32].repeat(2, axis=3)'
                '[:, :, :, :32]',
                f'each X[i] has the shape (1, 32, 32){SIZES}: '
                'X[:, :, 2:30, 2:30]',
            ),
        )
    ),
    *(
        (
            'lenet',
            f'X = X[:, :, :{height}, :{width}]',
            'check_lenet',
            ValueError,
            f'each X[i] has the shape (1, {height}, {width}){SIZES}: '
            f'mx.np.pad(X, ((0, 0), (0, 0), {pads}))',
        )
        for height, width, pads in (
            (14, 14, '(7, 7), (7, 7)'),
            (1, 21, '(13, 14), (3, 4)'),
        )
    ),
    (
        'lenet',
        'X = X[0, 0]',
        'check_lenet',
        ValueError,
        f'each X[i] has the shape (28,){SIZES}: X.reshape(-1, 1, 28, 28)',
    ),
    (
        'lenet',
        'X = X.copyto(mx.cpu(1))',
        'check_lenet',
        ValueError,
        'X is on cpu(1), but params are on cpu(0): X.copyto(mx.cpu(0))',
    ),
    (
        'lenet',
        'params = params[:7]',
        'check_lenet',
        ValueError,
        'params have the shapes [(20, 1, 3, 3), (20,), (50, 20, 5, 5), (50,),'
        ' (800, 128), (128,), (128, 10)], but lenet needs eight arrays, W1, '
        'b1, ..., W4, b4: init_params()',
    ),
    ('train', 'X[2] = onp.nan', 'check_examples', ValueError, FINITE),
    ('loader', 'X[2, 0, 3] = onp.inf', 'check_examples', ValueError, FINITE),
    # Labels
    *(
        (call, change, 'check_loss', ValueError, message)
        for call in ('step', 'loss')
        for change, message in (
            (
                'y = npx.one_hot(y, 10)',
                f'each y[i] has the shape (10,){ROWS}: y.argmax(axis=-1)',
            ),
            (
                'y = y.reshape(-1, 1)',
                f'each y[i] has the shape (1,){ROWS}: y.squeeze(-1)',
            ),
        )
    ),
    *(
        (
            call,
            "y = (y > 0).astype('bool')",
            'check_loss',
            TypeError,
            'y holds bool, but loss needs the numbers of classes: '
            "y.astype('int32')",
        )
        for call in ('step', 'loss')
    ),
    (
        'loss',
        'y = y.copyto(mx.cpu(1))',
        'check_loss',
        ValueError,
        'y is on cpu(1), but the scores y_hat are on cpu(0): '
        'y.copyto(mx.cpu(0))',
    ),
    (
        'train',
        "y = onp.eye(10, dtype='float32')[y]",
        'check_loss',
        ValueError,
        f'each y[i] has the shape (10,){ROWS}: y.argmax(axis=-1)',
    ),
    (
        'train',
        'y = y.reshape(-1, 1)',
        'check_loss',
        ValueError,
        f'each y[i] has the shape (1,){ROWS}: y.squeeze(-1)',
    ),
    (
        'accuracy',
        'y = npx.one_hot(y, 10)',
        'as_labels',
        ValueError,
        'each y[i] has the shape (10,), but a label for each guess is '
        'needed: y.argmax(axis=1)',
    ),
    *(
        (call, change, 'check_labels', ValueError, message)
        for call in ('loader', 'test')
        for change, message in (
            (
                'y = onp.eye(10)[y]',
                'y has the shape (4, 10), but a label for each example is '
                'needed, (4,): y.argmax(axis=-1)',
            ),
            (
                'y = y[:, None]',
                'y has the shape (4, 1), but a label for each example is '
                'needed, (4,): y.squeeze(-1)',
            ),
        )
    ),
    *(
        (call, change, 'check_labels', ValueError, LABELS + message)
        for call in ('loader', 'train', 'test')
        for change, message in (
            ('y[2] = 10', '2 has 10' + KEEP),
            ('y[2] = -1', '2 has -1' + KEEP),
            ('y = y + [0, .5, 0, 0]', '1 has 9.5' + KEEP),
            ('y = y + 1', '1 has 10: y - 1'),
        )
    ),
    # In place of arrays
    *(
        (call, change, 'check_arrays', TypeError, message)
        for call in ('step', 'shards', 'accuracy')
        for change, message in (
            ('X = images', f'X is a NumPy array{MXNET}mx.np.array(X)'),
            (
                "X = images.astype('float64')",
                f"X is a NumPy array{MXNET}mx.np.array(X, dtype='float32')",
            ),
            ('y = labels', f'y is a NumPy array{MXNET}mx.np.array(y)'),
            ('X = images.tolist()', f'X is a list{MXNET}mx.np.array(X)'),
            ('y = labels.tolist()', f'y is a list{MXNET}mx.np.array(y)'),
            ('X = list(X)', f'X is a list{MXNET}mx.np.array(X)'),
            (
                'X = X.as_nd_ndarray()',
                f'X is a legacy array of mx.nd{MXNET}X.as_np_ndarray()',
            ),
            (
                'y = y.as_nd_ndarray()',
                f'y is a legacy array of mx.nd{MXNET}y.as_np_ndarray()',
            ),
            (
                'X = Tensor(images)',
                f'X is a Tensor of torch{MXNET}'
                'mx.np.array(X.detach().cpu().numpy())',
            ),
        )
    ),
    *(
        (
            call,
            'X = X, y',
            'check_arrays',
            TypeError,
            f'X is a tuple of images and labels{MXNET}X, y = X',
        )
        for call in ('step', 'shards', 'lenet')
    ),
    (
        'split',
        'data = images',
        'check_arrays',
        TypeError,
        f'data is a NumPy array{MXNET}mx.np.array(data)',
    ),
    (
        'split',
        'data = [1, 2, 3]',
        'check_arrays',
        TypeError,
        f'data is a list{MXNET}mx.np.array(data)',
    ),
    (
        'split',
        'data, devices = mx.np.array(3.0), devices[:1]',
        'check_rows',
        TypeError,
        'data is a single number, of shape (), but rows are needed: '
        'data.reshape(1)',
    ),
    (
        'loss',
        'y = labels',
        'check_arrays',
        TypeError,
        f'y is a NumPy array{MXNET}mx.np.array(y)',
    ),
    *(
        (call, change, 'check_numpy', TypeError, message)
        for call, part in (('loader', ''), ('train', '_train'))
        for change, message in (
            (
                'X = np.array(X)',
                f'X{part} is an MXNet array{NUMPY}X{part}.asnumpy()',
            ),
            (
                'y = y.tolist()',
                f'y{part} is a list{NUMPY}onp.array(y{part})',
            ),
            (
                'X = Tensor(X)',
                f'X{part} is a Tensor of torch{NUMPY}'
                f'X{part}.detach().cpu().numpy()',
            ),
        )
    ),
    (
        'test',
        'y = y.tolist()',
        'check_numpy',
        TypeError,
        f'y_test is a list{NUMPY}onp.array(y_test)',
    ),
    (
        'loader',
        'X = X, y',
        'check_numpy',
        TypeError,
        f'X is a tuple of images and labels{NUMPY}X, y = X',
    ),
    (
        'loader',
        "X = X.astype('uint16')",
        'check_examples',
        TypeError,
        f"X holds uint16{DTYPES}X.astype('int64')",
    ),
    (
        'loader',
        "y = onp.array(['cat', 'dog', 'cat', 'cat'])",
        'check_examples',
        TypeError,
        f'y holds <U3{DTYPES}onp.unique(y, return_inverse=True)[1]',
    ),
    # Parameters and devices
    *(
        (call, change, 'check_param_list', TypeError, message)
        for call in ('replica', 'lenet')
        for change, message in (
            (
                'params = [param.asnumpy() for param in params]',
                f'params[0] is a NumPy array{MXNET}'
                "[mx.np.array(param, dtype='float32') for param in params]",
            ),
            (
                'params = [param.as_nd_ndarray() for param in params]',
                f'params[0] is a legacy array of mx.nd{MXNET}'
                '[param.as_np_ndarray() for param in params]',
            ),
            (
                'params = [param.tolist() for param in params]',
                f'params[0] is a list{MXNET}'
                '[mx.np.array(param) for param in params]',
            ),
            (
                'params = device_params',
                f'params is a list of replicas{PARAMS}: params[0]',
            ),
            (
                'params = init_params',
                f'params is the function init_params{PARAMS}: params()',
            ),
            (
                'params = dict(enumerate(params))',
                f'params is a dict{PARAMS}: list(params.values())',
            ),
        )
    ),
    (
        'replica',
        'params = params[0]',
        'check_param_list',
        TypeError,
        f'params is an MXNet array{PARAMS}: [params]',
    ),
    (
        'replica',
        "params = [np.ones(3, dtype='int32')]",
        'check_get_params',
        TypeError,
        'params[0] holds int32, but parameters are floats: '
        "[param.astype('float32') for param in params]",
    ),
    *(
        (
            'replica',
            f'device = {value}',
            'check_get_params',
            TypeError,
            f'device is {came}, but a device is needed: {line}',
        )
        for value, came, line in (
            ("'cpu(0)'", "the string 'cpu(0)'", 'mx.cpu(0)'),
            ("'cpu:1'", "the string 'cpu:1'", 'mx.cpu(1)'),
            ('0', '0', 'try_devices(1)[0]'),
            ('None', 'None', 'try_devices(1)[0]'),
        )
    ),
    (
        'replica',
        'device = devices',
        'check_get_params',
        TypeError,
        'device is the list [cpu(0), cpu(1)], but a single device is needed: '
        '[get_params(params, device) for device in devices]',
    ),
    *(
        (call, f'devices = {value}', 'check_devices', TypeError, message)
        for call in ('step', 'split', 'shards', 'accuracy')
        for value, message in (
            (
                "['cpu(0)', 'cpu(1)']",
                f"devices is ['cpu(0)', 'cpu(1)']{DEVICES}"
                '[mx.cpu(0), mx.cpu(1)]',
            ),
            ('[0, 1]', f'devices is [0, 1]{DEVICES}try_devices(2)'),
            ('2', f'devices is 2{DEVICES}try_devices(2)'),
        )
    ),
    (
        'split',
        'devices = mx.cpu(0)',
        'check_devices',
        TypeError,
        f'devices is cpu(0){DEVICES}[mx.cpu(0)]',
    ),
    *(
        (call, change, 'check_replicas', TypeError, message)
        for call in ('step', 'accuracy')
        for change, message in (
            ('device_params = params', REPLICAS),
            (
                'device_params = [[param.asnumpy() for param in params] '
                'for device in devices]',
                'a parameter is a NumPy array, but an MXNet array is needed: '
                '[get_params([mx.np.array(param) for param in params], '
                'device) for params, device in zip(device_params, devices)]',
            ),
        )
    ),
    *(
        (
            'accuracy of',
            f'data_iter = {value}',
            'check_evaluation',
            TypeError,
            f'data_iter is {came}, but an iterable of minibatches (X, y) is '
            f'needed: {line}',
        )
        for value, came, line in (
            (
                '(X, y)',
                'a tuple of images and labels, a single minibatch',
                '[data_iter]',
            ),
            ('X', 'an MXNet array', '[(X, y)]'),
            ('None', 'None', '[(X, y)]'),
        )
    ),
    # Numbers and functions
    *(
        (
            call,
            "lr = '0.1'",
            'check_learning_rate',
            TypeError,
            "the learning rate lr must be a number, not '0.1'; "
            "use float('0.1')",
        )
        for call in ('step', 'train')
    ),
    *(
        (
            call,
            f'batch_size = {value}',
            'check_positive_int',
            TypeError,
            f'batch_size must be an integer, not {value}; use int({value})',
        )
        for call in ('loader', 'train')
        for value in ("'2'", '2.0')
    ),
    (
        'init',
        "seed = '0'",
        'check_init_params',
        TypeError,
        "seed must be an integer, not '0'; use int('0')",
    ),
    (
        'init',
        "scale = '0.1'",
        'check_init_params',
        TypeError,
        "scale must be a number, not '0.1'; use float('0.1')",
    ),
    (
        'train on',
        'data = (images, labels), (images, labels)',
        'check_data',
        ValueError,
        f'data is two pairs{FOUR}(*data[0], *data[1])',
    ),
]
WITH_CALL = [  # the line is the whole call
    (
        'lenet',
        'X, params = params, X',
        'check_lenet',
        TypeError,
        'X is a list of arrays and params a single one, but lenet takes the '
        'images first: lenet(params, X)',
    ),
    (
        'loss',
        'y, y_hat = y_hat, y',
        'check_loss',
        ValueError,
        'y has more axes than the scores y_hat, so they are swapped: '
        'loss(y, y_hat)',
    ),
    (
        'init',
        'seed = device',
        'check_init_params',
        TypeError,
        'seed is the device cpu(0), but init_params takes an integer; the '
        'device comes after it: get_params(init_params(), mx.cpu(0))',
    ),
]
WITHOUT_LINE = [  # or with one that cannot be run as it is
    (
        'replica',
        'params, device = device, params',
        'check_get_params',
        TypeError,
        'params is the device cpu(0), but get_params takes the parameters '
        'first: get_params(params, mx.cpu(0))',
    ),
    (
        'step',
        'X, y = y, X',
        'check_lenet',
        ValueError,
        f'each X[i] has the shape (){SIZES}; are X and y swapped?',
    ),
    (
        'lenet',
        'X = X[:0]',
        'check_lenet',
        ValueError,
        'X has no images, only the shape (0, 1, 28, 28): leave out an empty '
        'minibatch',
    ),
    (
        'lenet',
        'params = None',
        'check_param_list',
        TypeError,
        f'params is None{PARAMS}',
    ),
    *(
        (
            call,
            'X, y = X[:0], y[:0]',
            'check_num_rows',
            ValueError,
            '0 examples cannot be split over 2 devices: every device needs '
            'one; use fewer devices or a larger minibatch',
        )
        for call in ('step', 'shards', 'accuracy')
    ),
    *(
        (
            call,
            'y = y[:3]',
            'check_batch',
            ValueError,
            f'4 examples but 3 labels{LENGTH}',
        )
        for call in ('step', 'loss', 'shards', 'accuracy', 'loader', 'train')
    ),
    *(
        (
            call,
            f'{name} = None',
            'check_arrays',
            TypeError,
            f'{name} is None, but an MXNet array is needed',
        )
        for call in ('step', 'shards')
        for name in ('X', 'y')
    ),
    (
        'loader',
        'X, y = X[:0], y[:0]',
        'check_examples',
        ValueError,
        'X must have a row for each of at least one example, not the shape '
        '(0, 1, 28, 28)',
    ),
    (
        'accuracy of',
        'data_iter = []',
        'check_not_empty',
        ValueError,
        'no examples to evaluate: data_iter is empty',
    ),
    (
        'train on',
        'data = images, labels',
        'check_data',
        ValueError,
        f'data is 2 arrays{FOUR}read_fashion_mnist()',
    ),
    (
        'train on',
        'data = images',
        'check_data',
        TypeError,
        f'data is a NumPy array{FOUR}read_fashion_mnist()',
    ),
    (
        'train with',
        "num_devices, net, init = 1, 'lenet', init_params",
        'check_data',
        TypeError,
        "net is the string 'lenet', but a function is needed, such as "
        'net=d2lmulti.lenet',
    ),
    (
        'train with',
        'num_devices, net, init = 1, lenet, params',
        'check_data',
        TypeError,
        'init is a list, but a function is needed, such as '
        'init=d2lmulti.init_params',
    ),
    (
        'train with',
        "num_devices, net, init = '2', lenet, init_params",
        'check_num_devices',
        TypeError,
        "k, the number of devices, must be an integer, not '2'; use int('2')",
    ),
]
TABLE = WITH_LINE + WITH_CALL + WITHOUT_LINE


def name_row(row):
    return f'{row[0]}: {row[1]}'[:60]


def prepare(call, change):
    """Return the names that the call uses, with one thing wrong."""
    names = good()
    if call in OF_NUMPY:
        names.update(X=names['images'].copy(), y=names['labels'].copy())
    exec(change, names)
    return names


def run(call, names):
    result = eval(CALLS[call], names)
    npx.waitall()
    return result


@pytest.mark.parametrize('row', TABLE, ids=name_row)
def test_a_bad_call_says_what_came_what_is_needed_and_how_to_get_it(row):
    call, change, _, error, message = row
    names = prepare(call, change)
    with pytest.raises(error) as found:
        eval(CALLS[call], names)
    assert found.type is error and str(found.value) == message


@pytest.mark.parametrize('row', WITH_LINE, ids=name_row)
def test_the_line_at_the_end_of_the_message_converts_what_came(row):
    """Sometimes in two or three steps, each with its message."""
    call, change, *_ = row
    names = prepare(call, change)
    changed = change.split()[0].strip(',').partition('[')[0]
    for _ in range(3):
        try:
            run(call, names)
        except (TypeError, ValueError) as error:
            convert(str(error), changed, names)
        else:
            return
    run(call, names)


def convert(message, changed, names):
    """Run the line that a message ends with, for the name it is about."""
    line = re.split(': |; use ', message)[-1]
    for part in ('train', 'test'):
        names.update({f'X_{part}': names['X'], f'y_{part}': names['y']})
    try:
        code = compile(line, 'line', 'eval')
    except SyntaxError:  # an assignment
        exec(line, names)
    else:
        names[changed] = eval(code, names)


@pytest.mark.parametrize('row', WITH_CALL, ids=name_row)
def test_the_call_at_the_end_of_the_message_can_be_made(row):
    call, change, *_, message = row
    eval(message.rsplit(': ', 1)[1], prepare(call, change))
    npx.waitall()


WITHOUT_CHECK = {  # what stands in for a check that returns something
    'as_labels': lambda y, guesses: y.reshape(-1).astype('int64')
}


@pytest.mark.parametrize('check', sorted({row[2] for row in TABLE}))
def test_without_the_check_the_message_does_not_come(check, monkeypatch):
    function = getattr(checks, check, None) or getattr(check_values, check)
    stand_in = WITHOUT_CHECK.get(check, lambda *args, **kwargs: None)
    for name, module in list(sys.modules.items()):
        if name.split('.')[0] == 'd2lmulti':
            if getattr(module, check, None) is function:
                monkeypatch.setattr(module, check, stand_in)
    for call, change, seen_by, _, message in TABLE:
        if seen_by == check:
            names = prepare(call, change)
            try:
                run(call, names)
            except Exception as error:
                assert str(error) != message, (call, change)
