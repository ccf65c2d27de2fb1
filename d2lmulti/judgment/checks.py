"""The argument checks of part VII."""

import numpy as onp

from ..check_values import (
    check_divides,
    check_not_negative,
    check_positive_int,
    check_positive_number,
)
from ..checks import check_num_rows

# Chapter 23: scaling and cost


def check_exchange(k, num_bytes, alpha, beta, num_servers):
    """Raise TypeError or ValueError unless an allreduce can be computed."""
    check_positive_int(k=k, num_servers=num_servers)
    check_not_negative(num_bytes=num_bytes, alpha=alpha, beta=beta)


def check_groups(k, group):
    """Raise TypeError or ValueError unless `k` devices fill groups."""
    check_positive_int(k=k, group=group)
    check_divides('group must divide the number of devices', k, group)


def check_shard(batch_size, k):
    """Raise TypeError or ValueError unless each of `k` devices can get an
    example."""
    check_positive_int(batch_size=batch_size, k=k)
    check_num_rows(batch_size, k)


def check_failures(work, mtbf, interval, checkpoint_seconds, restart_seconds):
    """Raise TypeError or ValueError unless a run with failures can end: a
    simulation would not."""
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


def check_algorithm(algorithm: str) -> None:
    """Raise ValueError unless it is the name of an allreduce."""
    names = 'star direct ring tree halving-doubling servers'.split()
    if algorithm not in names:
        raise ValueError(
            f'algorithm must be one of {", ".join(names)}, not {algorithm!r}'
        )


def check_simulated(algorithm: str, k: int) -> None:
    """Raise ValueError unless an allreduce of `k` devices can be simulated."""
    check_algorithm(algorithm)
    if algorithm == 'halving-doubling' and k & (k - 1):
        raise ValueError(
            'the simulation of halving-doubling needs a power of two, not '
            f'{k} devices: take another k, or another algorithm'
        )


# Chapter 24: the planner


def check_gpt(num_params, table_params, **counts):
    """Raise TypeError or ValueError unless a GPT has layers, beside its
    tables of words."""
    check_positive_int(**counts)
    if num_params <= table_params:
        raise ValueError(
            f'num_params must be above {table_params}, those of the embedding '
            f'and the scores, not {num_params}'
        )


def refused_degrees(network, tp, cp, ep) -> str:
    """Return why a network cannot be split so, or '' if it can be."""
    heads, length = network.heads, network.length
    kv_heads = network.kv_heads or heads
    if heads % tp:
        return f'tp must divide the number of heads, {heads}, not {tp}'
    if kv_heads % tp and tp % kv_heads:
        return f'tp must divide {kv_heads} key heads, or be a multiple'
    if length % cp:
        return f'cp must divide the words of a sequence, {length}, not {cp}'
    if cp > 1 and length // cp < network.min_words:
        left = f'but {cp} leaves {length // cp}'
        return f'cp must leave a device {network.min_words} words, {left}'
    if network.num_experts % ep:
        return f'ep must divide {network.num_experts} experts, not {ep}'
    return ''


def check_plan(plan, network, batch_size, most_chunks):
    """Raise TypeError or ValueError unless a plan can be computed;
    `most_chunks`: over which the network can be spread."""
    depth, (p, v) = len(network.layers), (plan.pp, plan.chunks)
    check_positive_int(batch_size=batch_size, pp=p, chunks=v)
    if p * v > most_chunks or p == 1 < v:
        raise ValueError(
            f'{depth} layers do not fill {v} chunks on each of pp = {p} '
            'devices: take fewer'
        )
    if v > 1 and onp.any(plan.micro_batches % p):
        raise ValueError(
            'with more than one chunk, micro_batches must be a multiple of '
            f'pp, {p}, not {plan.micro_batches}'
        )
    degrees = onp.broadcast_arrays(plan.tp, plan.cp, plan.ep)
    for tp, cp, ep in {*zip(*[onp.ravel(axis).tolist() for axis in degrees])}:
        refused = refused_degrees(network, tp, cp, ep)
        if refused:
            raise ValueError(refused)
    for part in onp.unique(plan.dp * plan.ep * plan.micro_batches).tolist():
        message = 'dp * ep * micro_batches must divide batch_size'
        check_divides(message, batch_size, part)
