"""Bugs from public trackers, made again in NumPy from what the threads say:
each is found, and what is said of it is right. No code is theirs.

Others of them are in test_questions.py.
"""

import numpy as np
import pytest
from test_questions import (
    UPDATES,
    adamw,
    case,
    clip,
    each,
    gradients,
    look,
    mean_gradients,
    on_devices,
    sgd,
    squares,
    taken,
    times,
)
from test_samestep import bfloat16, shards_of

from samestep import Taken, same_step

BUGS = {}


def bug(where, *said, update='sgd', k=4):
    """Register a step with a bug, and what must be said of it."""

    def register(step):
        BUGS[where] = step, said, update, k
        return step

    return register


def add_up(parts, n):
    kind = parts[0]['first']['bias'].dtype.type
    return each(lambda *g: sum(g) / kind(n), *parts)


# Wrong multiples: the gradients are right but for a factor.
for where, factor, parts, *said in (
    ('apache/singa#65', 1 / 4, (), 'all 6 arrays', 'divided by the 4 devices'),
    ('goodfire-ai/spd#546', 1 / 4, ('first',), 'all 2 first.*', 'divided by'),
    ('deepspeedai/DeepSpeed#5259', 4, ('last',), 'all 2 last.*', 'times the'),
    ('NVIDIA/Megatron-LM#906', 4, (), 'all 6 arrays', 'times the 4 devices'),
    ('jax-ml/jax#3970', 4, (), 'all 6 arrays', 'times the 4 devices'),
    ('pytorch/torchtitan#2972', 61, (), 'times the 61 rows'),
    ('deepspeedai/DeepSpeed#7839', 2.0**-16, (), 'to the power of -16'),
    ('karpathy/nanoGPT#168', 4, (), 'all 6 arrays', 'times the 4 devices'),
    ('verl-project/verl-SpeCo#29', 1 / 4, (), 'divided by the 4 devices'),
    ('meta-pytorch/torchtune#2172', 1 / 4, (), 'divided by the 4 devices'),
    # Of 4 micro-batches, the last step of an epoch has 3, or 1.
    ('jingyaogong/minimind#749', 3 / 4, (), 'all 6 arrays', 'times 0.75'),
    ('huggingface/transformers#39659', 1 / 4, (), 'all 6 arrays'),
):
    bug(where, *said)(taken(on_devices(4), sgd, times(factor, *parts)))


@bug('huggingface/transformers#24725', 'the mean of the means of 4 parts')
def mean_of_means(params, X, y):
    """Micro-batches of unequal length weigh the same."""
    parts = [mean_gradients(params, *part) for part in shards_of(X, y, 4)]
    grads = add_up(parts, 4)
    return Taken(grads, sgd(params, grads))


@bug('speechbrain/speechbrain#2010', '31 to 60 never', '0 to 30 never', k=2)
def never_synchronized(params, X, y):
    """`no_sync` is not left: each process keeps its own gradients."""
    found = [mean_gradients(params, *part) for part in shards_of(X, y, 2)]
    return [Taken(grads, sgd(params, grads)) for grads in found]


@bug('modelscope/FunASR#3472', 'replica 1', 'never', k=2)
def first_part_synchronized(params, X, y):
    """Of two parts, the first is exchanged instead of the last."""
    parts = [
        [gradients(params, *part) for part in shards_of(*shard, 2)]
        for shard in shards_of(X, y, 2)
    ]
    sent = [first for first, _ in parts]
    found = [add_up([*sent, last], len(X)) for _, last in parts]
    return [Taken(grads, sgd(params, grads)) for grads in found]


@bug('deepspeedai/DeepSpeed#1800', 'bits', 'precision?')
def accumulated_in_bfloat16(params, X, y):
    total = each(lambda p: 0 * p, params['net'])
    for part in shards_of(X, y, 4):
        own = gradients(params, *part)
        total = each(lambda a, b: bfloat16(a + b), total, own)
    grads = add_up([total], len(X))
    return Taken(grads, sgd(params, grads))


@bug('keras-team/keras#19990', 'update of', 'a decay', update='adamw')
def decay_in_every_part(params, X, y):
    grads = on_devices(4)(params, X, y)
    return Taken(grads, adamw(params, grads, decay=0.4))


@bug('keras-team/keras#19998', 'it counts 0 to 15', update='sgd, clipped')
def clipped_in_every_part(params, X, y):
    """Each part's gradients are clipped, and then added."""
    parts = [
        clip(each(lambda g: g / g.dtype.type(61), gradients(params, *p)), 0.1)
        for p in shards_of(X, y, 4)
    ]
    grads = add_up(parts, 1)
    return Taken(grads, sgd(params, grads, 0.1))


@bug(
    'NVIDIA/Megatron-LM#5916',
    'times the norm that is due',
    update='sgd, clipped',
)
def a_norm_without_experts(params, X, y):
    grads = on_devices(4)(params, X, y)
    rest = {name: part for name, part in grads.items() if name != 'last'}
    own = clip(grads, 0.1, np.sqrt(squares(rest)))
    return Taken(grads, sgd(params, own))


@bug(
    'mindspore-lab/hyper-parallel#413',
    'times the norm that is due',
    update='sgd, clipped',
)
def replicated_ones_counted_by_each(params, X, y):
    """In a norm, each rank's copy of what is replicated counts."""
    grads = on_devices(4)(params, X, y)
    norm = np.sqrt(squares(grads) + 3 * squares({'': grads['norm']}))
    return Taken(grads, sgd(params, clip(grads, 0.1, norm)))


@bug('areal-project/AReaL#335', 'update of', update='sgd, clipped')
def never_clipped(params, X, y):
    """What yields the gradients is used up before they are clipped."""
    grads = on_devices(4)(params, X, y)
    return Taken(grads, sgd(params, grads))


@bug('nntrainer/nntrainer#3565', 'update of', 'a decay', update='adamw')
def decay_in_the_gradients(params, X, y):
    """The decay is added to what Adam reads, not to what it moves."""
    grads = on_devices(4)(params, X, y)
    own = each(lambda g, p: g + p.dtype.type(0.1) * p, grads, params['net'])
    return Taken(grads, adamw(params, own, decay=0))


@bug(
    'NVIDIA/Megatron-LM#7452', 'gradient of norm.weight', 'shard 0 alone', k=2
)
def a_norm_that_no_rank_adds(params, X, y):
    """Its eleventh finding: each copy keeps its own part."""
    parts = [gradients(params, *part) for part in shards_of(X, y, 2)]
    found = []
    for own in parts:
        grads = add_up(parts, len(X))
        kind = grads['norm']['weight'].dtype.type
        grads['norm']['weight'] = own['norm']['weight'] / kind(len(X))
        found.append(Taken(grads, sgd(params, grads)))
    return found


@pytest.mark.parametrize('where', BUGS)
def test_a_public_bug_is_found(where):
    step, said, update, k = BUGS[where]
    for seed in 5100, 5101:
        found = look(step, update, seed, k=k)
        assert not found
        for words in said:
            assert words in str(found), found


@pytest.mark.parametrize('update', UPDATES)
def test_the_same_steps_without_bugs_are_right(update):
    for seed in 5100, 5101:
        assert look(taken(on_devices(4), UPDATES[update]), update, seed, k=4)


def test_an_optimizer_state_lost_at_a_restart_is_found():
    """Lightning-AI/pytorch-lightning#14485: in the second step."""

    def step(params, X, y):
        if params['step'] == 1:
            lost = ('first', 'second')
            zeros = {n: each(lambda a: 0 * a, params[n]) for n in lost}
            params = {**params, **zeros}
        grads = on_devices(2)(params, X, y)
        return Taken(grads, adamw(params, grads))

    found = look(step, 'adamw', 5100, steps=2)
    assert {d.step for d in found.failures()} == {1}
    assert {d.of for d in found.failures()} == {'update'}


def scheduled(params, grads, often=1):
    new = sgd(params, grads, lr=0.1 * 0.9 ** (often * params['step']))
    return {**new, 'step': params['step'] + 1}


def test_a_schedule_stepped_by_each_process_is_found():
    """huggingface/accelerate#2926: the rate falls four times as fast."""

    def step(params, X, y):
        grads = on_devices(4)(params, X, y)
        return Taken(grads, scheduled(params, grads, often=4))

    found = same_step(
        step,
        mean_gradients,
        *case(5100, 2),
        update=scheduled,
        num_devices=4,
    )
    assert {d.step for d in found.failures()} == {1}
    assert f'times {0.9**3:.3g}' in str(found)
