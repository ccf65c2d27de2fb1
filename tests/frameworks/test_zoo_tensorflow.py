"""A zoo of right steps in TensorFlow: none may be called wrong.

A variant is a network of Keras, a loss, an optimizer, what clips, a precision,
what the step returns and a way to compute the gradients, each compared with
the plain step on the whole minibatch. No bound was chosen by their seeds,
which begin at 22000.

`PYTHONPATH=tests python tests/frameworks/test_zoo_tensorflow.py 5` tries five
seeds of each.
"""

import contextlib
import functools
import os
import sys

os.environ['TF_CPP_MIN_LOG_LEVEL'] = '2'

import numpy as onp
import pytest
import tensorflow as tf
import zoo
from zoo import CLASSES, IMAGES, TEXTS, TOKENS, VECTORS, WIDTH, WORDS

from samestep.tensorflow import same_step

FIRST_SEED = 22000
NUM_VARIANTS = 40
QUICK = 2
NUM_DEVICES = 4
keras, layers = tf.keras, tf.keras.layers
tf.get_logger().setLevel('ERROR')  # no notes on speed

with contextlib.suppress(RuntimeError):  # another test has begun TensorFlow
    tf.config.set_logical_device_configuration(
        *tf.config.list_physical_devices('CPU'),
        [tf.config.LogicalDeviceConfiguration()] * NUM_DEVICES,
    )


make = functools.partial


# Networks.
class Chain(keras.Model):
    """Layers one after the other: `Sequential` takes long to build."""

    def __init__(self, shape, *parts):
        super().__init__()
        self.parts = [part() for part in parts]
        kind = 'int32' if shape == TEXTS else keras.backend.floatx()
        self(tf.zeros((1, *shape), kind))

    def call(self, x, training=None):  # which Keras hands on
        for part in self.parts:
            x = part(x)
        return x


def network(shape, *parts):
    return make(Chain, shape, *parts)


class Frozen(layers.BatchNormalization):
    """Normalizes with the means and variances that it began with."""

    def __init__(self):
        super().__init__(
            moving_mean_initializer=keras.initializers.RandomUniform(),
            moving_variance_initializer=keras.initializers.RandomUniform(1, 2),
        )

    def call(self, x, training=None):
        return super().call(x, training=False)


def with_norm(norm):
    last = make(layers.Dense, CLASSES)
    tanh = make(layers.Activation, 'tanh')
    return network(VECTORS, make(layers.Dense, WIDTH), norm, tanh, last)


def convolution(norm):
    return network(
        IMAGES,
        make(layers.Conv2D, WIDTH, 3, padding='same'),
        norm,
        make(layers.Activation, 'tanh'),
        make(layers.Conv2D, WIDTH, 3),
        layers.GlobalAveragePooling2D,
        make(layers.Dense, CLASSES),
    )


def language(*body):
    words = make(layers.Embedding, WORDS, WIDTH)
    return network(TEXTS, words, *body, make(layers.Dense, WORDS))


class Attention(layers.Layer):
    """A block of a transformer."""

    def __init__(self):
        super().__init__()
        self.norm = layers.LayerNormalization()
        self.mix = layers.MultiHeadAttention(2, WIDTH // 2)
        self.up = layers.Dense(16, 'gelu')
        self.down = layers.Dense(WIDTH)

    def call(self, x):
        x = x + self.mix(x, x, use_causal_mask=True)
        return x + self.down(self.up(self.norm(x)))


class Tied(keras.Model):
    """Scores by the embedding itself."""

    def __init__(self, body):
        super().__init__()
        self.words, self.body = layers.Embedding(WORDS, WIDTH), body()
        self(tf.zeros((1, TOKENS), 'int32'))

    def call(self, X):
        scores = self.body(self.words(X))
        words = tf.cast(self.words.embeddings, scores.dtype)
        return tf.matmul(scores, words, transpose_b=True)


tanh = make(layers.Activation, 'tanh')
gru = make(layers.GRU, WIDTH, return_sequences=True)
nothing = make(layers.Activation, 'linear')
MODELS = {
    'linear': (VECTORS, network(VECTORS, make(layers.Dense, CLASSES))),
    'mlp': (VECTORS, with_norm(nothing)),
    'layer norm': (VECTORS, with_norm(layers.LayerNormalization)),
    'convolution': (IMAGES, convolution(nothing)),
    'group norm': (IMAGES, convolution(make(layers.GroupNormalization, 2))),
    'batch norm, frozen': (IMAGES, convolution(Frozen)),
    'batch norm': (IMAGES, convolution(layers.BatchNormalization)),
    'embedding': (TEXTS, language(tanh)),
    'tied embedding': (TEXTS, make(Tied, tanh)),
    'attention': (TEXTS, language(Attention)),
    'tied attention': (TEXTS, make(Tied, Attention)),
    'gru': (TEXTS, language(gru)),
}


# Losses of each label.
def one_hot(scores, y):
    return tf.one_hot(y, scores.shape[-1], dtype=scores.dtype)


LOSSES = {
    'cross-entropy': lambda scores, y: (
        tf.nn.sparse_softmax_cross_entropy_with_logits(y, scores)
    ),
    'label smoothing': lambda scores, y: (
        tf.nn.softmax_cross_entropy_with_logits(
            0.9 * one_hot(scores, y) + 0.02, scores
        )
    ),
    'squares': lambda scores, y: tf.reduce_mean(
        (scores - one_hot(scores, y)) ** 2, -1
    ),
    'binary': lambda scores, y: tf.reduce_sum(
        tf.nn.sigmoid_cross_entropy_with_logits(one_hot(scores, y), scores), -1
    ),
}
O = keras.optimizers  # noqa: E741
OPTIMIZERS = {
    'sgd': make(O.SGD, 0.1),
    'sgd, decay': make(O.SGD, 0.1, weight_decay=0.1),
    'momentum': make(O.SGD, 0.1, momentum=0.9),
    'nesterov': make(O.SGD, 0.1, momentum=0.9, nesterov=True),
    'adam': make(O.Adam, 0.01),
    'amsgrad': make(O.Adam, 0.01, amsgrad=True),
    'adamw': make(O.AdamW, 0.01, weight_decay=0.1),
    'rmsprop': make(O.RMSprop, 0.01),
    'rmsprop, centered': make(O.RMSprop, 0.01, centered=True),
    'adagrad': make(O.Adagrad, 0.1),
    'adadelta': make(O.Adadelta, 0.5),
    'adamax': make(O.Adamax, 0.01),
    'nadam': make(O.Nadam, 0.01),
    'ftrl': make(O.Ftrl, 0.1),
    'lion': make(O.Lion, 0.01),
}
CLIPS = {
    'unclipped': {},
    'clipped by norm': {'global_clipnorm': 0.1},
    'each clipped by norm': {'clipnorm': 0.05},
    'clipped by value': {'clipvalue': 0.01},
}


# Ways to train: with `loss`, a function of a model and rows, that is a sum.
def gradients(loss, model, *rows):
    with tf.GradientTape() as tape:
        total = loss(model, *rows)
    return tape.gradient(total, model.trainable_variables)


def apply(optimizer, model, grads, sum_rows=True):
    """Sum the rows of words that repeat where Keras would clip each of them:
    it is a wrong step otherwise, see the tests below."""
    clips = optimizer.clipnorm, optimizer.global_clipnorm, optimizer.clipvalue
    if sum_rows and any(clips):
        grads = dense(grads)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))


def on_one(how, build, optimizer, loss, *rows, sum_rows=True):
    """Train on one device; return the gradients."""
    model, optimizer = build(), optimizer()
    grads = how(loss, model, *rows)
    apply(optimizer, model, grads, sum_rows)
    return dense(grads)


def dense(grads):
    return [tf.convert_to_tensor(g) for g in grads]


def added(every):
    return [tf.add_n(own) for own in zip(*map(dense, every))]


def in_parts(sizes, loss, model, *rows):
    parts = zip(*(tf.split(own, sizes) for own in rows))
    return added([gradients(loss, model, *own) for own in parts])


def accumulate(k, loss, model, *rows):
    """Add to variables, in a compiled function."""
    totals = [tf.Variable(tf.zeros_like(v)) for v in model.trainable_variables]

    @tf.function(reduce_retracing=True)
    def add(*own):
        for total, grad in zip(totals, gradients(loss, model, *own)):
            total.assign_add(grad)

    for i in range(k):
        add(*(own[i::k] for own in rows))
    return [total.value() for total in totals]


def compiled(loss, model, *rows, **how):
    return tf.function(gradients, **how)(loss, model, *rows)


def computed_again(loss, model, *rows):
    again = tf.recompute_grad(lambda X, training: model(X, training=training))
    return gradients(lambda _, *own: loss(again, *own), model, *rows)


def shuffled(loss, model, *rows):
    order = onp.random.RandomState(1).permutation(len(rows[0]))
    return gradients(loss, model, *(tf.gather(own, order) for own in rows))


def all_but_the_last(loss, model, *rows):
    """Lose the gradients of the last of four devices: a wrong step."""
    return gradients(loss, model, *(a[: -(len(a) // 4)] for a in rows))


def mirrored(k, how, build, optimizer, loss, *rows):
    """Train on k devices, or on as many as TensorFlow has begun with."""
    devices = tf.config.list_logical_devices('CPU')[:k]
    names = [device.name for device in devices]
    strategy = tf.distribute.MirroredStrategy(names, how)
    with strategy.scope():
        model, optimizer = build(), optimizer()
        optimizer.build(model.trainable_variables)

    @tf.function
    def replica_step():
        i = tf.distribute.get_replica_context().replica_id_in_sync_group
        grads = gradients(loss, model, *(a[i :: len(devices)] for a in rows))
        apply(optimizer, model, grads)
        return dense(grads)

    return [
        strategy.reduce('SUM', g, None) for g in strategy.run(replica_step)
    ]


WAYS = {
    'eager': make(on_one, gradients),
    'tf.function': make(on_one, compiled),
    'XLA': make(on_one, make(compiled, jit_compile=True)),
    'in 2 parts': make(on_one, make(in_parts, [6, -1])),
    'in ragged parts': make(on_one, make(in_parts, [1, 3, -1, 2])),
    'accumulated over 3': make(on_one, make(accumulate, 3)),
    'recompute_grad': make(on_one, computed_again),
    'shuffled': make(on_one, shuffled),
    'mirrored on 2': make(mirrored, 2, tf.distribute.ReductionToOneDevice()),
    'mirrored on 3': make(mirrored, 3, tf.distribute.ReductionToOneDevice()),
    'mirrored on 4': make(mirrored, 4, tf.distribute.ReductionToOneDevice()),
}
PRECISIONS = 'float32', 'float64', 'mixed_bfloat16'


@contextlib.contextmanager
def policy(name):
    before = keras.mixed_precision.global_policy()
    keras.mixed_precision.set_global_policy(name)
    try:
        yield
    finally:
        keras.mixed_precision.set_global_policy(before)


class Variant(zoo.Variant):
    """A right step, and the plain one."""

    def is_right(self):
        once = 'eager', 'tf.function', 'XLA', 'shuffled'
        if self.model == 'batch norm' and self.way not in once:
            return False  # the norm sees all rows
        if self.optimizer == 'nadam' and self.way.startswith('mirrored'):
            return False  # see the test below
        return zoo.can_be_asked(self)

    def sum_of_losses(self, model, X, y, weights):
        scores = model(X, training=True)
        scores = tf.cast(scores, weights.dtype)
        return tf.reduce_sum(weights * LOSSES[self.loss](scores, y))

    def optimizer_with_clip(self):
        return OPTIMIZERS[self.optimizer](**CLIPS[self.clip])

    def train(self, build, X, y, way=WAYS['eager'], low=True, says=True):
        floats = keras.backend.floatx()
        weights = tf.constant(zoo.weights_of(y, self.reduction), floats)
        own = self.optimizer_with_clip, self.sum_of_losses, X, y, weights
        if not (low and self.precision == 'mixed_bfloat16'):
            grads = way(build, *own)
        else:
            with policy('mixed_bfloat16'):
                grads = way(build, *own)
        return grads if says else None

    def update(self, build, grads):
        apply(self.optimizer_with_clip(), build(), grads)

    def compare(self, seed, way=None):
        shape, build = MODELS[self.model]
        rng = onp.random.default_rng(seed)
        seen, by_update, batches = zoo.asked(self, shape, rng)

        keras.utils.set_random_seed(seed)
        built = {}

        def same():  # once for each precision: to build takes long
            if tf.distribute.has_strategy():
                return build()
            precision = keras.mixed_precision.global_policy().name
            if precision not in built:
                built[precision] = build()
            return built[precision]

        # A bias before batch normalization has a gradient of 0, and XLA rounds
        # it by up to five times as much as any order of the eager step does.
        by_xla = self.way == 'XLA' and self.model == 'batch norm'
        half = self.precision == 'mixed_bfloat16'
        way = way or WAYS[self.way]
        eager = WAYS['eager']
        low = make(self.train, way=way if by_xla else eager, says=by_update)
        return same_step(
            make(self.train, way=way, says=seen),
            make(self.train, low=False, says=by_update),
            same,
            batches,
            low=low if half or by_xla else None,
            update=self.update if by_update else None,
            dtype='float64' if self.precision == 'float64' else 'float32',
        )


VARIANTS = zoo.variants(
    Variant,
    NUM_VARIANTS,
    model=MODELS,
    loss=LOSSES,
    reduction=zoo.REDUCTIONS,
    optimizer=OPTIMIZERS,
    clip=CLIPS,
    way=WAYS,
    precision=PRECISIONS,
    asked=zoo.ASKED,
)
# The first ones are quick, and do without TensorFlow's kernels for bfloat16,
# which ended the process once.
VARIANTS.sort(key=lambda v: (v.asked != 'both', 'bfloat16' in v.precision))


def changed(**parts):
    """Return a small variant with other parts."""
    given = {'model': 'linear', 'loss': 'cross-entropy', 'reduction': 'mean'}
    given.update(optimizer='sgd', clip='unclipped', way='tf.function')
    return Variant(
        **{**given, 'precision': 'float32', 'asked': 'both', **parts}
    )


@pytest.mark.parametrize(
    ('seed', 'variant'), zoo.cases(VARIANTS, FIRST_SEED, QUICK)
)
def test_a_right_step_is_called_right(seed, variant):
    found = variant.compare(seed)
    assert found, found


def test_a_lost_device_is_found():
    assert changed().compare(FIRST_SEED)
    wrong = make(on_one, all_but_the_last)
    assert not changed().compare(FIRST_SEED, way=wrong)


def clipped(values, global_clipnorm=None, clipnorm=None, clipvalue=None):
    """Clip the only gradient, as Keras says that it does."""
    if clipvalue:
        return onp.clip(values, -clipvalue, clipvalue)
    most = global_clipnorm or clipnorm
    return values * min(1, most / onp.sqrt((values**2).sum()))


@pytest.mark.parametrize('clip', [*CLIPS][1:])
def test_keras_clips_what_each_place_of_a_word_adds(clip):
    """Keras 2.15 sums the rows of a word afterwards: by other numbers than
    those of the gradient, and by others than where parts were summed."""
    words = onp.array([0, 0, 2])
    rows = onp.array([[0.3, -0.4], [0.3, 0.1], [0.0, 0.5]])
    gradient = onp.zeros((3, 2))
    onp.add.at(gradient, words, rows)
    by_row = onp.zeros((3, 2))
    onp.add.at(by_row, words, clipped(rows, **CLIPS[clip]))

    def moved(given):
        weight = tf.Variable(onp.zeros((3, 2)))
        optimizer = O.SGD(1.0, **CLIPS[clip])
        optimizer.apply_gradients([(given, weight)])
        return -weight.numpy()

    sparse = tf.IndexedSlices(*map(tf.constant, (rows, words, (3, 2))))
    whole = clipped(gradient, **CLIPS[clip])
    onp.testing.assert_allclose(moved(tf.constant(gradient)), whole, 1e-6)
    onp.testing.assert_allclose(moved(sparse), by_row, 1e-6)
    assert abs(by_row - whole).max() > 0.05 * abs(whole).max()


@pytest.mark.parametrize('clip', [*CLIPS][1:])
def test_a_clipped_gradient_of_repeated_words_is_found(clip):
    """Its words are not summed yet where Keras clips it."""
    variant = changed(model='embedding', clip=clip)
    right = variant.compare(FIRST_SEED)
    assert right, right
    wrong = make(on_one, gradients, sum_rows=False)
    failures = variant.compare(FIRST_SEED, way=wrong).failures()
    assert {d.of for d in failures} == {'update'}
    assert any('embedding' in d.name for d in failures)


@pytest.mark.long
def test_a_product_that_each_tracing_advances_is_found():
    """Nadam's in Keras 2.15, which this zoo has met: in a `tf.function`, it
    counts by a number of Python how often the product was computed."""
    variant = changed(model='mlp', optimizer='nadam', way='mirrored on 2')
    failures = variant.compare(FIRST_SEED).failures()
    assert {d.of for d in failures} == {'update'}


if __name__ == '__main__':
    sys.exit(zoo.main(VARIANTS, FIRST_SEED, *sys.argv[1:]))
