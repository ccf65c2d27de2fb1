"""The argument checks of part VII."""

import math

import numpy as onp

from ..check_values import (
    check_at_least_one,
    check_divides,
    check_filled,
    check_integers,
    check_not_negative,
    check_number,
    check_positive_int,
    check_positive_number,
    numbered,
)
from ..checks import check_num_rows

# Chapter 23: scaling and cost


ALGORITHMS = ('star', 'direct', 'ring', 'tree', 'halving-doubling', 'servers')


def check_exchange(
    algorithm, k, num_bytes, alpha, beta, num_servers=1, group=1
):
    """Raise TypeError or ValueError unless an allreduce can be computed."""
    if algorithm not in ALGORITHMS:
        raise ValueError(
            f'algorithm must be one of {", ".join(ALGORITHMS)}, not '
            f'{algorithm!r}'
        )
    check_positive_int(k=k, num_servers=num_servers, group=group)
    check_not_negative(num_bytes=num_bytes, alpha=alpha, beta=beta)
    check_divides('group must divide the number of devices', k, group)


def check_machine(batch_size, k, machine):
    """Raise TypeError or ValueError unless a step can be predicted."""
    check_positive_int(batch_size=batch_size, k=k)
    check_num_rows(batch_size, k)
    check_not_negative(
        fixed=machine.fixed,
        per_example=machine.per_example,
        load=machine.load,
        **numbered('times', machine.times),
    )
    check_at_least_one(at_once=machine.at_once)
    check_number(lambda f: 0 <= f <= 1, 'from 0 to 1', overlap=machine.overlap)


def check_failures(work, mtbf, interval, checkpoint_seconds, restart_seconds):
    """Raise TypeError or ValueError unless a run with failures can end."""
    check_positive_number(work=work, mtbf=mtbf, interval=interval)
    check_not_negative(
        checkpoint_seconds=checkpoint_seconds, restart_seconds=restart_seconds
    )
    attempt = interval + checkpoint_seconds + restart_seconds
    if attempt > 20 * mtbf:
        raise ValueError(
            f'an attempt of {attempt:g} s would hardly ever end with a '
            f'failure every {mtbf:g} s: save checkpoints more often'
        )


def check_simulated(algorithm: str, k: int) -> None:
    """Raise ValueError unless an allreduce of `k` devices can be simulated."""
    if algorithm == 'halving-doubling' and k & (k - 1):
        raise ValueError(
            'the simulation of halving-doubling needs a power of two, not '
            f'{k} devices: take another k, or another algorithm'
        )


# Chapter 24: the planner


def check_gpt(
    num_params,
    num_layers,
    width,
    vocab_size,
    num_tables,
    min_words,
    dtype,
    dtypes,
):
    """Raise TypeError or ValueError unless a GPT has layers, beside its
    tables of words."""
    check_positive_int(num_layers=num_layers, width=width)
    check_positive_int(vocab_size=vocab_size, min_words=min_words)
    check_positive_number(num_params=num_params)
    if dtype not in dtypes:
        raise ValueError(
            f'dtype must be one of {", ".join(dtypes)}, not {dtype!r}'
        )
    words = num_tables * vocab_size * width
    if num_params <= words:
        raise ValueError(
            f'num_params must be above {words}, those of the embedding and '
            f'the scores, not {num_params}'
        )


def check_gpt_layer(num_params, width, heads, length, kv_heads):
    """Raise TypeError or ValueError unless a layer can be counted."""
    check_positive_int(width=width, length=length)
    check_positive_int(heads=heads, kv_heads=kv_heads)
    check_positive_number(num_params=num_params)
    if kv_heads > heads:
        raise ValueError(
            f'kv_heads must be at most heads, {heads}, not {kv_heads}'
        )


def check_experts_of(num_experts, choices):
    """Raise TypeError or ValueError unless each word finds its experts."""
    check_positive_int(num_experts=num_experts, choices=choices)
    if choices > num_experts:
        raise ValueError(
            f'choices must be at most num_experts, {num_experts}, not '
            f'{choices}'
        )


def check_planned_cluster(cluster):
    """Raise TypeError or ValueError unless a cluster can be computed with."""
    check_positive_int(node=cluster.node)
    for name in ('memory', 'flops', 'inside', 'across'):
        check_number(
            lambda x: x > 0, 'above 0', **{name: getattr(cluster, name)}
        )


def check_search(
    network, cluster, num_devices, batch_size, recompute, chunks, most
):
    """Raise TypeError or ValueError unless plans can be searched for."""
    check_positive_int(num_devices=num_devices, batch_size=batch_size)
    check_filled(**{'network.layers': network.layers})
    check_planned_cluster(cluster)
    check_filled(recompute=recompute, chunks=chunks)
    if not {*recompute} <= {0, 1, 2}:
        raise ValueError(
            'recompute must have only 0 (nothing), 1 (selectively) or 2 '
            f'(all), not {recompute}'
        )
    check_positive_int(**numbered('chunks', chunks))
    if most is not None:
        check_positive_int(most=most)


def refused_degrees(network, tp, cp, ep):
    """Return why a network cannot be split so, or '' if it can be."""
    heads, length, num_experts = (
        network.heads,
        network.length,
        network.num_experts,
    )
    kv_heads = network.kv_heads or heads
    if heads % tp:
        return (
            f'tp must divide the number of heads, {heads}, but {tp} does not'
        )
    if kv_heads % tp and tp % kv_heads:
        return (
            'tp must divide the number of key heads or be a multiple of it, '
            f'{kv_heads}, not {tp}'
        )
    if length % cp:
        return (
            f'cp must divide the words of a sequence, {length}, but {cp} '
            'does not'
        )
    if cp > 1 and length // cp < network.min_words:
        return (
            f'cp must leave at least {network.min_words} words of a sequence '
            f'on each device, but {cp} leaves {length // cp}'
        )
    if num_experts % ep:
        return (
            f'ep must divide the number of experts, {num_experts}, but {ep} '
            'does not'
        )
    return ''


def check_plan(plan, network, batch_size):
    """Raise TypeError or ValueError unless a plan can be computed."""
    depth = len(network.layers)
    check_positive_int(batch_size=batch_size, pp=plan.pp, chunks=plan.chunks)
    at_least_1 = dict.fromkeys(
        ('dp', 'tp', 'cp', 'ep', 'micro_batches'), math.inf
    )
    for least, limits in ((1, at_least_1), (0, {'zero': 3, 'recompute': 2})):
        for name, limit in limits.items():
            values = onp.ravel(getattr(plan, name))
            check_integers(least, limit, **{name: values})
    if plan.pp > depth:
        raise ValueError(
            f'pp must be at most the number of layers, {depth}, not {plan.pp}'
        )
    check_chunks(plan, depth)
    degrees = onp.broadcast_arrays(plan.tp, plan.cp, plan.ep)
    for tp, cp, ep in {*zip(*[onp.ravel(axis).tolist() for axis in degrees])}:
        refused = refused_degrees(network, tp, cp, ep)
        if refused:
            raise ValueError(refused)
    parts = plan.dp * plan.ep * plan.micro_batches
    for part in onp.unique(parts).tolist():
        message = 'dp * ep * micro_batches must divide batch_size'
        check_divides(message, batch_size, part)


def check_chunks(plan, depth):
    """Raise ValueError unless the chunks of a plan can take turns."""
    if plan.chunks == 1:
        return
    if not 1 < plan.pp <= (depth + 2) // plan.chunks:
        raise ValueError(
            f'{depth} layers do not fill {plan.chunks} chunks on each of '
            f'{plan.pp} devices: take fewer chunks'
        )
    left = onp.ravel(plan.micro_batches % plan.pp)
    if left.any():
        raise ValueError(
            'with more than one chunk, micro_batches must be a multiple of '
            f'pp, {plan.pp}, not {plan.micro_batches}'
        )
