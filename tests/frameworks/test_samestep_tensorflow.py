"""`samestep.tensorflow` reads what Keras makes of a step: names, buffers,
replicas; and says what a function must do.
"""

import numpy as onp
import pytest
import tensorflow as tf

from samestep import NothingMoves
from samestep.tensorflow import same_step

LOSS = tf.keras.losses.SparseCategoricalCrossentropy(True, reduction='sum')


def network():
    return tf.keras.Sequential(
        [
            tf.keras.Input((20,)),
            tf.keras.layers.Dense(16, name='first'),
            tf.keras.layers.BatchNormalization(name='norm'),
            tf.keras.layers.Dense(5, name='last'),
        ]
    )


def batches(seed):
    rng = onp.random.default_rng(seed)
    return [(rng.normal(size=(61, 20)), rng.integers(0, 5, 61))]


def step(scale=1, momentum=0.99, rate=0.01):
    """Return a step that trains with Adam and returns gradients."""

    def train(build, X, y):
        model = build()
        model.get_layer('norm').momentum = momentum
        with tf.GradientTape() as tape:
            loss = LOSS(y, model(X, training=True)) * scale / len(X)
        gradients = tape.gradient(loss, model.trainable_variables)
        apply(model, gradients, rate)
        return gradients

    return train


def apply(model, gradients, rate=0.01):
    optimizer = tf.keras.optimizers.Adam(rate)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))


def update(build, gradients):
    apply(build(), gradients)


def compare(taken):
    return same_step(taken, step(), network, batches(7000), update=update)


def test_a_right_step_has_right_gradients_buffers_and_weights():
    found = compare(step())
    assert found
    assert {d.name for d in found.differences} >= {
        'first.kernel',
        'norm.moving_mean',
    }


@pytest.mark.parametrize(
    'bug, of, names',
    [
        ({'scale': 2}, 'gradient', {'first.kernel', 'last.bias'}),
        ({'momentum': 0.9}, '', {'norm.moving_variance'}),
        ({'rate': 0.02}, 'update', {'last.kernel'}),
    ],
)
def test_what_is_wrong_has_its_name(bug, of, names):
    failures = compare(step(**bug)).failures()
    assert names <= {d.name for d in failures}
    assert {d.of for d in failures} == {of}
    if 'momentum' in bug:
        assert not {'first.kernel', 'last.bias'} & {d.name for d in failures}


def test_a_replica_that_goes_astray_is_named():
    strategy = tf.distribute.MirroredStrategy(['CPU:0', 'CPU:1'])

    def descend(model, X, y):
        with tf.GradientTape() as tape:
            loss = LOSS(y, model(X)) / len(X)
        for weight, gradient in zip(
            model.trainable_variables,
            tape.gradient(loss, model.trainable_variables),
        ):
            for own in getattr(weight, 'values', [weight]):
                own.assign_sub(gradient)

    def plain(build, X, y):
        descend(build(), X, y)

    def astray(build, X, y):
        with strategy.scope():
            model = build()
        descend(model, X, y)
        bias = model.get_layer('last').bias.values[1]
        bias.assign_add(tf.ones_like(bias))

    found = same_step(astray, plain, network, batches(7001))
    assert {(d.replica, d.name) for d in found.failures()} == {
        (1, 'last.bias')
    }


@pytest.mark.parametrize(
    'function, words',
    [
        (lambda build, X, y: None, r'has called build\(\) 0 times'),
        (lambda build, X, y: build() and [build()], r'build\(\) 2 times'),
        (lambda build, X, y: build().weights[:3], 'returns 3 gradients of 6'),
    ],
)
def test_a_function_that_does_not_do_its_part_is_told(function, words):
    with pytest.raises(ValueError, match=words):
        same_step(function, step(), network, batches(7002), update=update)


def test_a_network_without_weights_is_refused():
    with pytest.raises(ValueError, match='begin it with tf.keras.Input'):
        same_step(
            step(),
            step(),
            lambda: tf.keras.Sequential([tf.keras.layers.Dense(5)]),
            batches(7003),
        )


@pytest.mark.parametrize('asked', ['both', 'new weights'])
def test_running_means_alone_are_no_move(asked):
    both = asked == 'both'

    def still(build, X, y):
        gradients = step(rate=0)(build, X, y)
        return gradients if both else None

    def stay(build, gradients):
        apply(build(), gradients, rate=0)

    with pytest.raises(NothingMoves):
        same_step(
            still,
            still,
            network,
            batches(7004),
            update=stay if both else None,
        )


def test_floats_are_what_they_were_afterwards():
    assert compare(step())
    assert tf.keras.backend.floatx() == 'float32'
    assert tf.keras.mixed_precision.global_policy().name == 'float32'
