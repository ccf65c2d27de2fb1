"""Optimizers of PyTorch and what clips before them, for the zoos."""

import functools

from torch import nn

CLIPS = {
    'unclipped': lambda params: None,
    'clipped by norm': lambda params: nn.utils.clip_grad_norm_(params, 0.1),
    'clipped by value': lambda params: nn.utils.clip_grad_value_(params, 0.01),
    'clipped by a largest number': lambda params: nn.utils.clip_grad_norm_(
        params, 0.01, norm_type=float('inf')
    ),
}


def in_groups(kind, **options):
    """Return an optimizer with decay for matrices alone."""

    def build(params):
        params = [*params]
        groups = [[p for p in params if p.ndim > 1]]
        groups.append([p for p in params if p.ndim <= 1])
        return kind(
            [
                {'params': own, 'weight_decay': decay}
                for own, decay in zip(groups, (0.1, 0))
            ],
            **options,
        )

    return build


def alike(kind, **options):
    """Return an optimizer twice: as the reference and as the step has it."""
    build = functools.partial(kind, **options)
    return build, build


def other(kind, how, **options):
    """Return one that the step computes in another way."""
    return (
        functools.partial(kind, **options, foreach=False),
        functools.partial(kind, **options, **{how: True}),
    )
