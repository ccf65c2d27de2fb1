"""Right steps in Gluon: none may be called wrong.

A variant is a network, a loss, an optimizer, what clips, a precision, what the
step returns and a way to compute the gradients, on up to four contexts, each
compared with the plain step on the whole minibatch. No bound was chosen by
their seeds, which begin at 23000.

`PYTHONPATH=tests python tests/system/test_right_steps_mxnet.py 5` tries five
seeds of each.
"""

import functools
import sys

import d2lmulti  # noqa: F401, isort: skip
import mxnet as mx
import numpy as onp
import pytest
import right_steps
from mxnet import autograd, gluon, init, np
from mxnet.gluon import nn, rnn
from right_steps import CLASSES, IMAGES, TEXTS, VECTORS, WIDTH, WORDS

from samestep.mxnet import same_step

FIRST_SEED = 23000
NUM_VARIANTS = 60
QUICK = 4
make = functools.partial


# Networks.
class Attention(nn.HybridBlock):
    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.qkv = nn.Dense(3 * WIDTH, in_units=WIDTH, flatten=False)
            self.norm = nn.LayerNorm(in_channels=WIDTH)
            self.out = nn.Dense(WIDTH, in_units=WIDTH, flatten=False)

    def hybrid_forward(self, F, x):
        q, k, v = F.np.split(self.qkv(self.norm(x)), 3, -1)
        scores = F.npx.batch_dot(q, k, transpose_b=True) / WIDTH**0.5
        mixed = F.npx.batch_dot(F.npx.softmax(scores), v)
        return x + self.out(mixed)


class Channels(nn.HybridBlock):
    """Moves the channels to where Gluon has them."""

    def hybrid_forward(self, F, x):
        return F.np.transpose(x, (0, 3, 1, 2))


def network(*parts):
    def build():
        net = nn.HybridSequential(prefix='net_')
        with net.name_scope():
            net.add(*(part() for part in parts))
        return net

    return build


def tied(body):
    def build():
        net = nn.HybridSequential(prefix='net_')
        with net.name_scope():
            words = nn.Embedding(WORDS, WIDTH)
            last = nn.Dense(
                *(WORDS, None, True, False),
                params=words.params,
                in_units=WIDTH,
            )
            net.add(words, body(), last)
        return net

    return build


tanh = make(nn.Activation, 'tanh')
classes = make(nn.Dense, CLASSES)
MODELS = {
    'layer norm': (
        VECTORS,
        network(make(nn.Dense, WIDTH), nn.LayerNorm, tanh, classes),
    ),
    'batch norm': (
        IMAGES,
        network(
            *(Channels, make(nn.Conv2D, WIDTH, 3, padding=1), nn.BatchNorm),
            *(tanh, make(nn.Conv2D, WIDTH, 3), nn.GlobalAvgPool2D, classes),
        ),
    ),
    'tied attention': (TEXTS, tied(Attention)),
    'lstm': (
        TEXTS,
        network(
            make(nn.Embedding, WORDS, WIDTH),
            make(rnn.LSTM, WIDTH, layout='NTC'),
            make(nn.Dense, WORDS, flatten=False),
        ),
    ),
}


# Losses of each label.
def one_hot(scores, y):
    return mx.npx.one_hot(y, scores.shape[-1], dtype=scores.dtype)


LOSSES = {
    'cross-entropy': gluon.loss.SoftmaxCrossEntropyLoss(),
    'squares': lambda scores, y: gluon.loss.L2Loss()(
        scores, one_hot(scores, y)
    ),
}
# In MXNet 1.9.1, others, such as RMSProp, keep float32 and cannot update what
# is in float64, as the reference is; Adamax divides by 0 if a gradient is 0.
OPTIMIZERS = {
    'sgd': ('sgd', {'learning_rate': 0.1}),
    'momentum': ('sgd', {'learning_rate': 0.1, 'momentum': 0.9}),
    'adam, decay': ('adam', {'learning_rate': 0.01, 'wd': 0.1}),
    'nadam': ('nadam', {'learning_rate': 0.01}),
    'lamb': ('lamb', {'learning_rate': 0.01}),
}
CLIPS = 'unclipped', 'clipped by norm', 'clipped by value'
PRECISIONS = 'float32', 'float64'


# Ways to compute the gradients of `loss`, a function of a network and rows
# that is a sum: on contexts, hybridized or not, in so many parts each, and
# summed by which kvstore.
class Way:
    def __init__(self, k=1, hybridize=None, parts=1, kvstore='device'):
        self.devices = [mx.cpu(i) for i in range(k)]
        self.hybridize, self.parts, self.kvstore = hybridize, parts, kvstore

    def __call__(self, build, finish, loss, *rows):
        net = build(self.devices)
        if self.hybridize is not None:
            net.hybridize(**self.hybridize)
        if self.parts > 1:
            net.collect_params().setattr('grad_req', 'add')
            net.collect_params().zero_grad()
        for i in range(self.parts):
            self.backward(net, loss, [own[i :: self.parts] for own in rows])
        return finish(net, kvstore=self.kvstore)

    def backward(self, net, loss, rows):
        shards = zip(
            *(
                gluon.utils.split_and_load(a, self.devices, even_split=False)
                for a in rows
            )
        )
        with autograd.record():
            losses = [loss(net, *own) for own in shards]
        autograd.backward(losses)


class AllButTheLast(Way):
    """Loses the gradients of the last device: a wrong step."""

    def backward(self, net, loss, rows):
        super().backward(net, loss, rows)
        for param in trained(net):
            param.list_grad()[-1][:] = 0


def trained(net):
    params = net.collect_params().values()
    return [param for param in params if param.grad_req != 'null']


WAYS = {
    'whole': Way(),
    'hybridized': Way(hybridize={}),
    'static': Way(hybridize={'static_alloc': True, 'static_shape': True}),
    'added over 2': Way(parts=2),
    'added over 4, hybridized': Way(parts=4, hybridize={}),
    'on 2': Way(2),
    'on 2, local': Way(2, kvstore='local'),
    'on 3, hybridized': Way(3, hybridize={}),
    'on 4': Way(4),
    'on 4, static': Way(4, hybridize={'static_alloc': True}),
    'on 2, added over 2': Way(2, parts=2),
    'on 3, added over 3, local': Way(3, parts=3, kvstore='local'),
}


class Variant(right_steps.Variant):
    """A right step, and the plain one."""

    def is_right(self):
        once = 'whole', 'hybridized', 'static'
        if self.model == 'batch norm' and self.way not in once:
            return False  # the norm sees all rows
        way = WAYS[self.way]
        if self.model == 'lstm' and way.hybridize is not None:
            return False  # MXNet 1.9.1 raises
        if self.optimizer == 'nadam' and len(way.devices) > 1:
            return False  # see the test below
        return right_steps.can_be_asked(self)

    def finish(self, net, kvstore='device'):
        """Take the optimizer's step; return the gradients before clipping."""
        name, options = OPTIMIZERS[self.optimizer]
        if self.clip == 'clipped by value':
            options = {**options, 'clip_gradient': 0.01}
        trainer = gluon.Trainer(
            *(net.collect_params(), name, options, kvstore),
            update_on_kvstore=False,
        )
        trainer.allreduce_grads()
        grads = [param.list_grad() for param in trained(net)]
        before = [[grad.copy() for grad in own] for own in grads]
        if self.clip == 'clipped by norm':
            for own in zip(*grads):  # of one device
                norm = sum((grad**2).sum() for grad in own) ** 0.5
                for grad in own:
                    grad *= np.minimum(0.1 / norm, 1)
        trainer.update(1)
        return before

    def sum_of_losses(self, net, X, y, weights):
        scores = net(X)
        scores = scores.reshape(-1, scores.shape[-1])
        losses = LOSSES[self.loss](scores, y.reshape(-1))
        return (losses * weights.reshape(-1).astype(scores.dtype)).sum()

    def train(self, build, X, y, way=WAYS['whole'], says=True):
        weights = np.array(
            right_steps.weights_of(y, self.reduction), dtype='float64'
        )
        grads = way(build, self.finish, self.sum_of_losses, X, y, weights)
        return grads if says else None

    def update(self, build, grads):
        net = build()
        with autograd.record():
            params = [param.data() for param in trained(net)]
            total = sum((p * g).sum() for p, g in zip(params, grads))
        total.backward()
        self.finish(net)

    def compare(self, seed, way=None):
        shape, build = MODELS[self.model]
        rng = onp.random.default_rng(seed)
        seen, by_update, batches = right_steps.asked(self, shape, rng)

        def initialized():
            net = build()
            mx.random.seed(seed)
            net.initialize(init.Normal(0.4))
            net(np.array(batches[0][0][:1].astype('float32')))
            return net

        return same_step(
            make(self.train, way=way or WAYS[self.way], says=seen),
            make(self.train, says=by_update),
            *(initialized, batches),
            update=self.update if by_update else None,
            dtype=self.precision,
        )


VARIANTS = right_steps.variants(
    *(Variant, NUM_VARIANTS),
    model=MODELS,
    loss=LOSSES,
    reduction=right_steps.REDUCTIONS,
    optimizer=OPTIMIZERS,
    clip=CLIPS,
    way=WAYS,
    precision=PRECISIONS,
    asked=right_steps.ASKED,
)
VARIANTS.sort(key=lambda variant: variant.asked != 'both')  # quicker


@pytest.mark.parametrize(
    ('seed', 'variant'), right_steps.cases(VARIANTS, FIRST_SEED, QUICK)
)
def test_a_right_step_is_called_right(seed, variant):
    comparison = variant.compare(seed)
    assert comparison, comparison


def test_a_lost_device_is_found():
    assert not VARIANTS[0].compare(FIRST_SEED, way=AllButTheLast(4))


def test_a_schedule_that_each_replica_advances_is_found():
    """Nadam's in MXNet 1.9.1, which these rows have met: replicas differ."""
    parts = {**vars(VARIANTS[0]), 'optimizer': 'nadam', 'clip': 'unclipped'}
    parts.update(way='on 2', precision='float32', asked='both')
    parts.update(model='layer norm')
    del parts['name']
    comparison = Variant(**parts).compare(FIRST_SEED)
    assert {d.replica for d in comparison.failures()} == {1}


if __name__ == '__main__':
    sys.exit(right_steps.main(VARIANTS, FIRST_SEED, *sys.argv[1:]))
