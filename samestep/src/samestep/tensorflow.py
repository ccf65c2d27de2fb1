"""`same_step` for TensorFlow: functions that train a Keras network, alone or
under a strategy.
"""

import contextlib
from typing import Any, Callable, Optional, Sequence

import numpy as np

from .comparison import Comparison
from .networks import compare_networks, the_one


def same_step(
    step: Callable,
    reference: Callable,
    build: Callable,
    batches: Sequence,
    low: Optional[Callable] = None,
    update: Optional[Callable] = None,
    **how: Any,
) -> Comparison:
    """Return a Comparison of two functions of (build, X, y).

    `build` makes your Keras network, with its weights. What the functions get
    in its place does so, too, and gives the network the weights of this call:
    they call it once, in the scope of a strategy if there is one, make their
    optimizer, and train the network on one minibatch of tensors. So nothing
    that an optimizer keeps goes from one minibatch to the next.

    With `update`, a function of (build, gradients) that takes the optimizer's
    step with them, `reference` returns the gradients, in the order of
    `trainable_variables`, and `step` does, too, if it has them. The other
    arguments are those of `samestep.same_step`, whose Comparison it returns,
    and so are the errors.
    """
    kind = Keras(build)
    return compare_networks(kind, step, reference, batches, low, update, how)


class Keras:
    """Calls functions of a network that they build."""

    def __init__(self, build):
        self.build, model = build, build()
        if not model.built:
            raise ValueError(
                'build() gives a network without weights: begin it with '
                'tf.keras.Input(shape), or call it once'
            )
        self.names = [name_of(weight, model) for weight in model.weights]
        if len({*self.names}) < len(self.names):
            self.names = [f'{i}.{name}' for i, name in enumerate(self.names)]
        trained = {id(weight) for weight in model.trainable_variables}
        self.trained = [
            name
            for weight, name in zip(model.weights, self.names)
            if id(weight) in trained
        ]
        self.arrays = dict(zip(self.names, model.get_weights()))

    def call(self, function, arrays, batch):
        """Return the weights of each replica after the function has trained
        a network of these arrays; and the gradients, or None."""
        import tensorflow as tf

        built = []

        def build():
            built.append(self.build())
            built[-1].set_weights([*arrays.values()])
            return built[-1]

        with floats_as_in(arrays):
            batch = tf.nest.map_structure(tf.constant, batch)
            result = function(build, *batch)
        replicas = [
            dict(zip(self.names, own))
            for own in replicas_of(the_one(built, function).weights)
        ]
        return replicas, None if result is None else replicas_of(result)


def name_of(weight, model):
    """Return the name of a weight with dots, such as `dense.kernel`."""
    name = getattr(weight, 'path', weight.name)  # path: Keras 3
    if name.startswith(f'{model.name}/'):
        name = name[len(model.name) + 1 :]
    return name.split(':')[0].replace('/', '.')


def replicas_of(variables):
    """Return the arrays of each replica."""
    import tensorflow as tf

    parts = []
    for variable in variables:
        value = getattr(variable, 'value', variable)  # Keras 3 wraps it
        value = variable if callable(value) else value
        several = isinstance(value, tf.distribute.DistributedValues)
        parts.append(value.values if several else [value])
    return [
        [np.array(tf.convert_to_tensor(value)) for value in own]
        for own in zip(*parts)
    ]


@contextlib.contextmanager
def floats_as_in(arrays):
    """Let networks be built in float64 if the arrays are that."""
    import tensorflow as tf

    if not any(array.dtype == np.float64 for array in arrays.values()):
        yield
        return
    policy = tf.keras.mixed_precision.global_policy()
    floats = tf.keras.backend.floatx()
    tf.keras.backend.set_floatx('float64')
    tf.keras.mixed_precision.set_global_policy('float64')
    try:
        yield
    finally:
        tf.keras.backend.set_floatx(floats)
        tf.keras.mixed_precision.set_global_policy(policy)
