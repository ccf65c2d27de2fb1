"""Bad input is refused at the call, with a message that names the mend."""
import mxnet as mx
import numpy as onp
import pytest
from mxnet import np

import d2lmulti

CPUS = [mx.cpu(0), mx.cpu(1)]


def replicas_on(devices):
    return [d2lmulti.get_params(d2lmulti.init_params(), c) for c in devices]


def step(n=4, num_labels=None, replicas=None, devices=CPUS, lr=0.1):
    X = np.zeros((n, 1, 28, 28))
    y = np.zeros(n if num_labels is None else num_labels, dtype='int32')
    d2lmulti.train_batch(X, y, replicas_on(devices) if replicas is None
                         else replicas, devices, lr)


@pytest.mark.parametrize('k', [0, -1, 65, 10 ** 6])
def test_number_of_devices_out_of_range(k):
    with pytest.raises(ValueError, match='device'):
        d2lmulti.try_devices(k)


@pytest.mark.parametrize('k', ['2', 2.0, None, True])
def test_number_of_devices_of_another_type(k):
    with pytest.raises(TypeError, match='must be an int'):
        d2lmulti.try_devices(k)


@pytest.mark.parametrize('k', [1, 2, 7, 64])
def test_devices_are_distinct(k):
    assert len(set(d2lmulti.try_devices(k))) == k


def test_no_devices():
    with pytest.raises(ValueError, match='try_devices'):
        d2lmulti.split_and_load(np.zeros(4), [])
    with pytest.raises(ValueError, match='try_devices'):
        step(devices=[])


def test_the_same_device_twice():
    twice = [mx.cpu(0), mx.cpu(0)]
    with pytest.raises(ValueError, match='twice'):
        d2lmulti.split_and_load(np.zeros(4), twice)
    with pytest.raises(ValueError, match='twice'):
        step(devices=twice)


def test_devices_that_are_no_devices():
    with pytest.raises(TypeError, match='mx.cpu'):
        d2lmulti.split_and_load(np.zeros(4), [0, 1])


@pytest.mark.parametrize('arrays, message', [
    ([], 'no arrays'),
    ([np.zeros(2), np.zeros(3)], 'shape'),
    ([np.zeros((1, 2)), np.zeros(2)], 'shape'),
    ([np.zeros(2), np.zeros(2, dtype='float64')], 'dtype'),
    ([np.zeros(2)] * 2, 'twice')])
def test_allreduce_of_arrays_that_do_not_fit(arrays, message):
    before = [array.asnumpy() for array in arrays]
    with pytest.raises(ValueError, match=message):
        d2lmulti.allreduce(arrays)
    for array, value in zip(arrays, before):
        assert (array.asnumpy() == value).all()


def test_allreduce_of_something_else():
    with pytest.raises(TypeError, match='arrays'):
        d2lmulti.allreduce([onp.zeros(2), onp.zeros(2)])


@pytest.mark.parametrize('data', [onp.zeros(4), [1, 2], np.zeros(())])
def test_splitting_something_else(data):
    with pytest.raises(TypeError, match='mxnet.np.array'):
        d2lmulti.split_and_load(data, CPUS)


@pytest.mark.parametrize('n', [0, 1])
def test_fewer_examples_than_devices(n):
    with pytest.raises(ValueError, match='every device needs one'):
        d2lmulti.split_and_load(np.zeros((n, 3)), CPUS)
    with pytest.raises(ValueError, match='every device needs one'):
        step(n=n)


def test_images_and_labels_of_different_lengths():
    with pytest.raises(ValueError, match='same length'):
        step(n=4, num_labels=5)


def test_replicas_on_other_devices():
    with pytest.raises(ValueError, match='get_params'):
        step(replicas=replicas_on([mx.cpu(0), mx.cpu(2)]))
    with pytest.raises(ValueError, match='1 replicas for 2 devices'):
        step(replicas=replicas_on(CPUS[:1]))
    with pytest.raises(ValueError, match='gradient'):
        step(devices=CPUS[:1], replicas=[d2lmulti.init_params()])


@pytest.mark.parametrize('lr', [0, -0.1, float('nan'), float('inf')])
def test_useless_learning_rate(lr):
    with pytest.raises(ValueError, match='learning rate'):
        step(lr=lr)


@pytest.mark.parametrize('lr', ['0.1', None, True])
def test_learning_rate_that_is_no_number(lr):
    with pytest.raises(TypeError, match='learning rate'):
        step(lr=lr)


def examples(n=20):
    return onp.zeros((n, 1, 28, 28), 'float32'), onp.zeros(n, 'int32')


@pytest.mark.parametrize('label', [-1, 10, 255])
def test_labels_outside_0_to_9(label):
    X, y = examples()
    y[7] = label
    with pytest.raises(ValueError, match=f'example 7 has {label}'):
        d2lmulti.Minibatches(X, y, 4)


@pytest.mark.parametrize('pixel', [float('nan'), float('inf')])
def test_pixels_that_are_not_numbers(pixel):
    X, y = examples()
    X[7, 0, 3, 3] = pixel
    with pytest.raises(ValueError, match='example 7'):
        d2lmulti.Minibatches(X, y, 4)


@pytest.mark.parametrize('X_shape, y_shape', [
    ((4, 28, 28), (4,)), ((4, 1, 28, 27), (4,)), ((0, 1, 28, 28), (0,)),
    ((4, 1, 28, 28), (3,)), ((4, 1, 28, 28), (4, 1))])
def test_arrays_of_the_wrong_shape(X_shape, y_shape):
    with pytest.raises(ValueError, match='shape'):
        d2lmulti.Minibatches(onp.zeros(X_shape), onp.zeros(y_shape), 2)


@pytest.mark.parametrize('batch_size', [0, -1, 2.5, '2'])
def test_useless_batch_size(batch_size):
    with pytest.raises(ValueError, match='batch_size'):
        d2lmulti.Minibatches(*examples(), batch_size)


@pytest.mark.parametrize('change, error', [
    (dict(num_devices=0), ValueError), (dict(num_devices=1000), ValueError),
    (dict(num_epochs=0), ValueError), (dict(lr=-1), ValueError),
    (dict(batch_size=19), ValueError),  # the last minibatch: 1 for 2 devices
    (dict(batch_size=0), ValueError)])
def test_training_refuses_before_it_begins(change, error):
    arguments = dict(num_devices=2, batch_size=10, lr=0.1, num_epochs=1,
                     data=examples() * 2)
    with pytest.raises(error):
        d2lmulti.train(**{**arguments, **change})


def test_training_that_diverges_says_so():
    X, y = examples()
    X += onp.random.RandomState(0).uniform(size=X.shape)
    y[:] = onp.arange(20) % 10
    with pytest.raises(FloatingPointError, match='lr=1e\\+30 is too large'):
        d2lmulti.train(1, 10, 1e30, num_epochs=2, data=(X, y, X, y))


def test_accuracy_of_nothing():
    with pytest.raises(ValueError, match='empty'):
        d2lmulti.evaluate_accuracy(replicas_on(CPUS), [], CPUS)
