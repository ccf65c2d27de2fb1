"""The argument checks of part VII."""

import math

import numpy as onp

from ..check_values import (
    check_divides,
    check_integer,
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
    check_name('algorithm', algorithm, names)


def check_name(what, name, known) -> None:
    """Raise ValueError unless a name is known."""
    if name not in known:
        raise ValueError(
            f'{what} must be one of {", ".join(known)}, not {name!r}'
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


def check_gpt(num_params, table_params, dtype, dtypes, **counts):
    """Raise TypeError or ValueError unless a GPT has layers, beside its
    tables of words, and a dtype that is known."""
    check_positive_int(**counts)
    check_name('dtype', dtype, dtypes)
    if not num_params > table_params:  # also if it is nan
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


LIMITS = {  # of what may be arrays in a plan
    **dict.fromkeys(('dp', 'tp', 'cp', 'ep', 'micro_batches'), (1, math.inf)),
    'zero': (0, 3),
    'recompute': (0, 2),
}


def check_plan(plan, network, batch_size, most_chunks):
    """Raise TypeError or ValueError unless a plan can be computed;
    `most_chunks`: over which the network can be spread."""
    depth, (p, v) = len(network.layers), (plan.pp, plan.chunks)
    check_positive_int(batch_size=batch_size, pp=p, chunks=v)
    for name, (least, most) in LIMITS.items():
        for value in onp.unique(getattr(plan, name)).tolist():
            check_integer(least, **{name: value})
            if value > most:
                raise ValueError(f'{name} must be at most {most}, not {value}')
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
