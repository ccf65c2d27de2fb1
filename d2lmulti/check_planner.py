"""Checks of the planner of chapter 23."""

import math

import numpy as onp

from .checks import (
    check_at_least_one,
    check_divides,
    check_integers,
    check_not_empty,
    check_not_negative,
    check_number,
    check_positive_int,
    check_positive_number,
)


def check_gpt(num_params, num_layers, width, heads, length, kv_heads):
    """Raise TypeError or ValueError unless a GPT can be counted."""
    check_positive_int(num_layers=num_layers, width=width, length=length)
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
            f'choices must be at most {num_experts} experts, not {choices}'
        )


def check_planned_cluster(cluster):
    """Raise TypeError or ValueError unless a cluster can be computed with."""
    check_positive_int(node=cluster.node)
    for name in ('memory', 'flops', 'inside', 'across'):
        check_number(
            lambda x: x > 0, 'above 0', **{name: getattr(cluster, name)}
        )
    check_not_negative(fixed=cluster.fixed)
    check_at_least_one(at_once=cluster.at_once)


def check_search(
    network, cluster, num_devices, batch_size, recompute, chunks, most
):
    """Raise TypeError or ValueError unless plans can be searched for."""
    check_positive_int(num_devices=num_devices, batch_size=batch_size)
    check_not_empty(len(network.layers), 'network.layers')
    check_planned_cluster(cluster)
    for name, values in (('recompute', recompute), ('chunks', chunks)):
        check_not_empty(len(values), name)
    if not {*recompute} <= {0, 1, 2}:
        raise ValueError(
            'recompute must have numbers of 0 (nothing), 1 (selectively), '
            f'2 (all), not {recompute}'
        )
    for chunk in chunks:
        check_positive_int(chunks=chunk)
    if most is not None:
        check_positive_int(most=most)


def check_plan(plan, network, batch_size):
    """Raise TypeError or ValueError unless a plan can be computed."""
    check_positive_int(batch_size=batch_size, pp=plan.pp)
    most = {'dp': batch_size, 'micro_batches': batch_size, 'chunks': math.inf}
    most.update(zip(('tp', 'cp'), network.limits))
    for least, limits in ((1, most), (0, {'zero': 3, 'recompute': 2})):
        for name, limit in limits.items():
            values = onp.ravel(getattr(plan, name))
            check_integers(least, limit, **{name: values})
    if plan.pp > len(network.layers):
        raise ValueError(
            f'{len(network.layers)} layers cannot be split into {plan.pp} '
            'stages: pp must be at most the number of layers'
        )
    left = (onp.array(plan.chunks) > 1) * (plan.micro_batches % plan.pp)
    if left.any():
        raise ValueError(
            f'chunks need micro_batches to be a multiple of pp, {plan.pp}'
        )
    for ep in onp.ravel(plan.ep).tolist():
        check_divides('experts', network.limits[2], ep=ep)
