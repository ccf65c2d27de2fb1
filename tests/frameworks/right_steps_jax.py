"""Right steps in JAX: none may be called wrong.

A variant is a model, a loss, an optimizer, what clips, a precision, what the
step returns and a way to compute the gradients, each compared with the plain
step on the whole minibatch. No bound was chosen by their seeds, which begin at
21000. `test_right_steps_elsewhere.py` runs this file in an environment with
JAX; with a number, it tries so many seeds of each.
"""

import functools
import os
import sys

os.environ['XLA_FLAGS'] = '--xla_force_host_platform_device_count=4'

import jax
import jax.numpy as jnp
import numpy as onp
import right_steps
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from right_steps import CLASSES, IMAGES, TEXTS, VECTORS, WIDTH, WORDS

from samestep.jax import Taken, same_step

FIRST_SEED = 21000
NUM_VARIANTS = 40


# Models: what they read, the shapes of their parameters, and their scores.
def dense(p, x):
    return x @ p['W'] + p['b']


def normalize(p, x, axis=-1):
    mean, var = x.mean(axis, keepdims=True), x.var(axis, keepdims=True)
    return (x - mean) / jnp.sqrt(var + 1e-5) * p['g'] + p['c']


def attend(p, x):
    q, k, v = jnp.split(x @ p['qkv'], 3, -1)
    heads = [a.reshape(*a.shape[:-1], 2, WIDTH // 2) for a in (q, k, v)]
    mixed = jax.nn.dot_product_attention(*heads, is_causal=True)
    x = x + mixed.reshape(x.shape) @ p['out']
    return x + jax.nn.gelu(normalize(p, x) @ p['up']) @ p['up'].T


def recur(p, x):
    def cell(h, x):
        h = jnp.tanh(x @ p['in'] + h @ p['rec'] + p['c'])
        return h, h

    states = lax.scan(cell, jnp.zeros_like(x[:, 0]), x.swapaxes(0, 1))[1]
    return states.swapaxes(0, 1)


def hidden(p, x):
    return dense(p, jnp.tanh(normalize(p, x @ p['V'])))


def convolution(norm):
    def scores(p, x):
        how = {
            'padding': 'SAME',
            'dimension_numbers': ('NHWC', 'HWIO', 'NHWC'),
        }
        x = lax.conv_general_dilated(x, p['K'], (1, 1), **how)
        return dense(p, jnp.tanh(norm(p, x)).mean((1, 2)))

    return scores


def recurrent(p, x):
    return dense(p, recur(p, p['E'][x]))


def tied(p, x):
    return attend(p, p['E'][x]) @ p['E'].T


NORM = {'g': (WIDTH,), 'c': (WIDTH,)}
HIDDEN = {'V': (10, WIDTH), 'W': (WIDTH, CLASSES), 'b': (CLASSES,), **NORM}
IMAGE = {'K': (3, 3, 3, WIDTH), **HIDDEN}
del IMAGE['V']
TIED = {'E': (WORDS, WIDTH)}
TEXT = {**TIED, 'W': (WIDTH, WORDS), 'b': (WORDS,)}
ATTENTION = {
    'qkv': (WIDTH, 24),
    'out': (WIDTH,) * 2,
    'up': (WIDTH, 16),
    **NORM,
}
RECURRENT = {'in': (WIDTH,) * 2, 'rec': (WIDTH,) * 2, 'c': (WIDTH,)}
across_rows = functools.partial(normalize, axis=(0, 1, 2))
MODELS = {
    'layer norm': (VECTORS, HIDDEN, hidden),
    'convolution': (IMAGES, IMAGE, convolution(normalize)),
    'batch norm': (IMAGES, IMAGE, convolution(across_rows)),
    'tied attention': (TEXTS, {**TIED, **ATTENTION}, tied),
    'recurrent': (TEXTS, {**TEXT, **RECURRENT}, recurrent),
}


# Losses of each label.
def cross_entropy(scores, y):
    logs = jax.nn.log_softmax(scores)
    return -jnp.take_along_axis(logs, y[..., None], -1)[..., 0]


def squares(scores, y):
    hot = jax.nn.one_hot(y, scores.shape[-1], dtype=scores.dtype)
    return ((scores - hot) ** 2).mean(-1)


LOSSES = {
    'cross-entropy': cross_entropy,
    'squares': squares,
}


# Optimizers: of a parameter, its gradient, two moments, the step's number and
# by what the usual learning rate is multiplied.
def sgd(p, g, m, v, t, times):
    return p - 0.1 * times * g, m, v


def momentum(p, g, m, v, t, times):
    m = 0.9 * m + g
    return p - 0.1 * times * m, m, v


def adamw(p, g, m, v, t, times):
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
    unit = m / (1 - 0.9**t) / (jnp.sqrt(v / (1 - 0.999**t)) + 1e-8)
    return p - 0.01 * times * (unit + 0.1 * p), m, v


OPTIMIZERS = {
    'sgd': sgd,
    'momentum': momentum,
    'adamw': adamw,
}
tree_map = jax.tree.map


def clip_by_norm(grads):
    squared = sum((g**2).sum() for g in jax.tree.leaves(grads))
    scale = jnp.minimum(1, 0.1 / jnp.sqrt(squared))
    return tree_map(lambda g: g * scale.astype(g.dtype), grads)


CLIPS = {
    'unclipped': lambda grads: grads,
    'clipped by norm': clip_by_norm,
    'clipped by value': lambda grads: tree_map(
        lambda g: jnp.clip(g, -0.01, 0.01), grads
    ),
}


# Ways to compute the gradients of `loss`, a sum over rows, which may be
# padded with rows of weight 0.
def add(one, other):
    return tree_map(jnp.add, one, other)


def padded(rows, k):
    missing = -len(rows[0]) % k
    return [onp.concatenate([own, 0 * own[:missing]]) for own in rows]


@functools.lru_cache(None)  # else it is compiled for each call
def compiled(loss):
    return jax.jit(jax.grad(loss))


def eager(loss, params, *rows):
    return jax.grad(loss)(params, *rows)


def whole(loss, params, *rows):
    return compiled(loss)(params, *rows)


def in_parts(places, loss, params, *rows):
    parts = zip(*(onp.split(own, places) for own in rows))
    return functools.reduce(add, [whole(loss, params, *own) for own in parts])


def scanned(k, loss, params, *rows):
    def step(total, own):
        return add(total, jax.grad(loss)(params, *own)), None

    parts = [a.reshape(k, -1, *a.shape[1:]) for a in padded(rows, k)]
    zeros = tree_map(jnp.zeros_like, params)
    return jax.jit(lambda: lax.scan(step, zeros, parts)[0])()


def row_by_row_at_once(loss, params, *rows):
    grad = jax.vmap(jax.grad(loss), in_axes=(None, 0, 0, 0))
    each = jax.jit(grad)(params, *(own[:, None] for own in rows))
    return tree_map(lambda g: g.sum(0), each)


def computed_again(loss, params, *rows):
    return whole(jax.checkpoint(loss), params, *rows)


def shuffled(loss, params, *rows):
    order = onp.random.RandomState(1).permutation(len(rows[0]))
    return whole(loss, params, *(own[order] for own in rows))


def mapped(k, loss, params, *rows):
    def step(*own):
        return lax.psum(jax.grad(loss)(params, *own), 'd')

    parts = [a.reshape(k, -1, *a.shape[1:]) for a in padded(rows, k)]
    total = jax.pmap(step, 'd', devices=jax.devices()[:k])(*parts)
    return tree_map(lambda g: g[0], total)


def on_mesh(exchange, k, loss, params, *rows):
    """Let each device exchange the gradients of its own rows."""
    split, whole = PartitionSpec('d'), PartitionSpec()
    step = jax.shard_map(
        lambda params, *own: tree_map(
            functools.partial(exchange, k), jax.grad(loss)(params, *own)
        ),
        mesh=Mesh(jax.devices()[:k], 'd'),
        in_specs=(whole, split, split, split),
        out_specs=whole,
        check_vma=False,
    )
    return jax.jit(step)(params, *padded(rows, k))


def psum(k, g):
    return lax.psum(g, 'd')


def pmean(k, g):
    return k * lax.pmean(g, 'd')


def ring(k, g):
    total, there = g, [(i, (i + 1) % k) for i in range(k)]
    for _ in range(k - 1):
        g = lax.ppermute(g, 'd', there)
        total = total + g
    return total


def scatter(k, g):
    """Sum a part of the numbers on each device, then gather the parts."""
    flat = jnp.pad(g.ravel(), (0, -g.size % k))
    own = lax.psum_scatter(flat, 'd', tiled=True)
    return lax.all_gather(own, 'd', tiled=True)[: g.size].reshape(g.shape)


def compiled_for(k, shard_params, loss, params, *rows):
    """Say where arrays are, and let the compiler exchange what it must."""
    mesh = Mesh(jax.devices()[:k], 'd')

    def put(array, axis):
        spec = [None] * array.ndim
        if axis is not None and array.shape[axis] % k == 0:
            spec[axis] = 'd'
        where = NamedSharding(mesh, PartitionSpec(*spec))
        return jax.device_put(array, where)

    params = tree_map(lambda p: put(p, -1 if shard_params else None), params)
    found = whole(loss, params, *(put(own, 0) for own in padded(rows, k)))
    return jax.device_get(found)


def all_but_the_last(loss, params, *rows):
    """Lose the gradients of the last of four devices: a wrong step."""
    return whole(loss, params, *(own[: -(len(own) // 4)] for own in rows))


WAYS = {
    'whole': whole,
    'eager': eager,
    'in 2 parts': functools.partial(in_parts, [6]),
    'in ragged parts': functools.partial(in_parts, [1, 4, 8]),
    'scan of 4': functools.partial(scanned, 4),
    'scan of 13': functools.partial(scanned, 13),
    'vmap': row_by_row_at_once,
    'remat': computed_again,
    'shuffled': shuffled,
    'pmap on 2': functools.partial(mapped, 2),
    'pmap on 4': functools.partial(mapped, 4),
    'psum on 3': functools.partial(on_mesh, psum, 3),
    'pmean on 4': functools.partial(on_mesh, pmean, 4),
    'ring of 4': functools.partial(on_mesh, ring, 4),
    'psum_scatter on 3': functools.partial(on_mesh, scatter, 3),
    'compiled for 4': functools.partial(compiled_for, 4, False),
    'sharded parameters': functools.partial(compiled_for, 2, True),
}
PRECISIONS = 'float32', 'float64', 'bfloat16 inside', 'bfloat16'


class Variant(right_steps.Variant):
    """A right step of a state: parameters, two moments and a number."""

    def __init__(self, **parts):
        super().__init__(**parts)
        self.low = 'bfloat16' in self.precision
        self.losses = [
            functools.partial(self.sum_of_losses, low) for low in (False, True)
        ]
        self.update = jax.jit(self.updated)

    @property
    def times(self):
        """By what the learning rate is multiplied, so that each array moves
        further than bfloat16 rounds it."""
        if self.precision != 'bfloat16':
            return 1
        by_size = self.optimizer.startswith(('sgd', 'momentum'))
        return 100 if by_size and self.clip != 'unclipped' else 10

    def is_right(self):
        once = 'whole', 'eager', 'remat', 'shuffled'
        if self.model == 'batch norm' and self.way not in once:
            return False  # the norm sees all rows, and those of padding
        if self.model == 'batch norm' and self.precision.startswith(
            'bfloat16'
        ):
            return False  # README says why such a step is not judged well
        on_mesh = 'pmap', 'psum', 'pmean', 'ring', 'compiled', 'sharded'
        if 'attention' in self.model and self.way.startswith(on_mesh):
            # JAX 0.10.2 takes the softmax in float32, whatever it is given.
            return self.precision != 'float64' and right_steps.can_be_asked(
                self
            )
        return right_steps.can_be_asked(self)

    def start(self, rng):
        _, sizes, _ = MODELS[self.model]
        kind = jnp.bfloat16 if self.precision == 'bfloat16' else 'float64'
        params = {
            name: rng.normal(name == 'g', 0.4, size).astype(kind)
            for name, size in sizes.items()
        }
        zeros = tree_map(onp.zeros_like, params)
        return {'params': params, 'm': zeros, 'v': zeros, 't': onp.int32(0)}

    def sum_of_losses(self, low, params, X, y, weights):
        if low:
            params, X = tree_map(in_half, params), in_half(X)
        scores = MODELS[self.model][2](params, X)
        scores = scores.astype(weights.dtype)
        return (weights * LOSSES[self.loss](scores, y)).sum()

    def gradients(self, state, X, y, way=whole, low=False):
        floats = jnp.result_type(float)
        weights = right_steps.weights_of(y, self.reduction).astype(floats)
        rows = map(onp.asarray, (X, y, weights))
        return way(self.losses[low], state['params'], *rows)

    def updated(self, state, grads):
        t, grads = state['t'] + 1, CLIPS[self.clip](grads)
        optimizer = OPTIMIZERS[self.optimizer]
        new = {
            name: optimizer(
                p,
                grads[name],
                state['m'][name],
                state['v'][name],
                t,
                self.times,
            )
            for name, p in state['params'].items()
        }
        parts = [{k: own[i] for k, own in new.items()} for i in range(3)]
        return {'params': parts[0], 'm': parts[1], 'v': parts[2], 't': t}

    def taken(self, state, X, y, way=whole, low=True):
        grads = self.gradients(state, X, y, way, low and self.low)
        return Taken(grads, self.update(state, grads))

    def result(self, *given, **how):
        return self.taken(*given, **how).params

    def compare(self, seed, way=None):
        jax.clear_caches()  # else all that is compiled fills the process
        rng = onp.random.default_rng(seed)
        shape = MODELS[self.model][0]
        seen, by_update, batches = right_steps.asked(self, shape, rng)
        plain = functools.partial(self.result, low=False)
        low = self.taken if by_update else self.result
        return same_step(
            functools.partial(
                self.taken if seen else self.result, way=way or WAYS[self.way]
            ),
            self.gradients if by_update else plain,
            self.start(rng),
            batches,
            low=low if self.low else None,
            update=self.update if by_update else None,
            dtype='float64' if self.precision == 'float64' else 'float32',
        )


def in_half(array):
    floats = jnp.issubdtype(array.dtype, jnp.floating)
    return array.astype(jnp.bfloat16) if floats else array


VARIANTS = right_steps.variants(
    Variant,
    NUM_VARIANTS,
    model=MODELS,
    loss=LOSSES,
    reduction=right_steps.REDUCTIONS,
    optimizer=OPTIMIZERS,
    clip=CLIPS,
    way=WAYS,
    precision=PRECISIONS,
    asked=right_steps.ASKED,
)

if __name__ == '__main__':
    wrong = VARIANTS[0].compare(FIRST_SEED, way=all_but_the_last)
    assert not wrong, 'a lost device is not seen'
    sys.exit(right_steps.main(VARIANTS, FIRST_SEED, *sys.argv[1:]))
