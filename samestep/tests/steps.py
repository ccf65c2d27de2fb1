"""Steps of a network with a norm, whose parameters and whose optimizer's
moments have names, for the tests; read in float32, TF32 or bfloat16."""

import numpy as np
from plain import bfloat16, shards_of

from samestep import Taken, same_step

EXACT = np.asarray  # rounds as the dtype does


def tf32(array):
    """Return what a tensor core reads of float32: ten bits. Float64 stays."""
    if array.dtype != np.float32:
        return array
    bits = np.ascontiguousarray(array).view('uint32') + np.uint32(0x1000)
    return (bits & np.uint32(0xFFFFE000)).view('float32')


def autocast(array):
    return bfloat16(array) if array.dtype == np.float32 else array


def gradients(params, X, y, read=EXACT):
    """Return the gradients of the summed loss of a network with a norm;
    `read` rounds what products read."""

    def product(a, b):
        return read(a) @ read(b)

    p = params['net']
    h = np.tanh(product(X, p['first']['weight']) + p['first']['bias'])
    off = h - h.mean(axis=1, keepdims=True)
    std = np.sqrt((off * off).mean(axis=1, keepdims=True) + h.dtype.type(1e-5))
    unit = off / std
    out = unit * p['norm']['weight'] + p['norm']['bias']
    scores = product(out, p['last']['weight']) + p['last']['bias']
    e = np.exp(scores - scores.max(axis=1, initial=-9, keepdims=True))
    e /= e.sum(axis=1, keepdims=True)
    e[np.arange(len(y)), y] -= 1
    back = product(e, p['last']['weight'].T)
    scaled = back * p['norm']['weight']
    below = (
        (
            scaled
            - scaled.mean(axis=1, keepdims=True)
            - unit * (scaled * unit).mean(axis=1, keepdims=True)
        )
        / std
        * (1 - h * h)
    )
    return {
        'first': {'weight': product(X.T, below), 'bias': below.sum(axis=0)},
        'norm': {
            'weight': (back * unit).sum(axis=0),
            'bias': back.sum(axis=0),
        },
        'last': {'weight': product(out.T, e), 'bias': e.sum(axis=0)},
    }


def each(function, *trees):
    """Apply a function to the arrays of dicts of one form."""
    if isinstance(trees[0], dict):
        return {
            key: each(function, *(tree[key] for tree in trees))
            for key in trees[0]
        }
    return function(*trees)


def mean_gradients(params, X, y, read=EXACT):
    n = params['net']['first']['bias'].dtype.type(max(1, len(X)))
    return each(lambda g: g / n, gradients(params, X, y, read))


def on_devices(k, read=EXACT):
    """Return the mean gradients, summed over the shards of k devices."""

    def found(params, X, y):
        kind = params['net']['first']['bias'].dtype.type
        parts = [gradients(params, *s, read) for s in shards_of(X, y, k)]
        return each(lambda *g: sum(g) / kind(len(X)), *parts)

    return found


def squares(grads):
    return sum(
        float((g.astype('float64') ** 2).sum())
        for part in grads.values()
        for g in part.values()
    )


def clip(grads, most, norm=None):
    norm = np.sqrt(squares(grads)) if norm is None else norm
    scale = most / max(norm, most)
    return each(lambda g: g * g.dtype.type(scale), grads)


def sgd(params, grads, clipped=None, lr=0.1):
    grads = clip(grads, clipped) if clipped else grads
    net = each(lambda p, g: p - p.dtype.type(lr) * g, params['net'], grads)
    return {**params, 'net': net}


def adamw(params, grads, clipped=None, lr=1e-2, decay=0.1):
    grads = clip(grads, clipped) if clipped else grads
    t = params['step'] + 1
    first = each(lambda m, g: m + (g - m) / 10, params['first'], grads)
    second = each(lambda v, g: v + (g * g - v) / 1000, params['second'], grads)

    def move(p, m, v):
        kind = p.dtype.type
        m = m / kind(1 - 0.9 ** float(t))
        v = v / kind(1 - 0.999 ** float(t))
        kept = p * kind(1 - lr * decay)
        return kept - kind(lr) * m / (np.sqrt(v) + kind(1e-8))

    net = each(move, params['net'], first, second)
    return {'net': net, 'first': first, 'second': second, 'step': t}


def case(seed, steps=1):
    rng = np.random.RandomState(seed)
    net = {
        'first': {
            'weight': rng.normal(0, 0.3, (20, 30)),
            'bias': rng.normal(0, 0.3, 30),
        },
        'norm': {
            'weight': rng.normal(1, 0.3, 30),
            'bias': rng.normal(0, 0.3, 30),
        },
        'last': {
            'weight': rng.normal(0, 0.3, (30, 5)),
            'bias': rng.normal(0, 0.3, 5),
        },
    }
    params = {
        'net': net,
        'first': each(np.zeros_like, net),
        'second': each(np.zeros_like, net),
        'step': np.float64(0),
    }
    return params, [
        (rng.normal(size=(61, 20)), rng.randint(0, 5, 61))
        for _ in range(steps)
    ]


def taken(found, update, change=lambda grads: grads):
    """Return a step that finds gradients and makes the update of them."""

    def step(params, X, y):
        grads = change(found(params, X, y))
        return Taken(grads, update(params, grads))

    return step


def clipped(update):
    return lambda params, grads: update(params, grads, 0.1)


READS = {'float32': EXACT, 'tf32': tf32, 'bfloat16': autocast}
UPDATES = {
    'sgd': sgd,
    'adamw': adamw,
    'sgd, clipped': clipped(sgd),
    'adamw, clipped': clipped(adamw),
}


def look(step, update='sgd', seed=5000, steps=1, k=2):
    return same_step(
        step,
        mean_gradients,
        *case(seed, steps),
        update=UPDATES[update],
        num_devices=k,
    )


def times(factor, *parts):
    """Return what scales the gradients of some parts of the network."""

    def change(grads):
        return {
            name: each(lambda g: g * g.dtype.type(factor), part)
            if name in parts or not parts
            else part
            for name, part in grads.items()
        }

    return change
