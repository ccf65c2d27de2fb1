"""Options of the step's optimizer, and limits of its clipping, that the
reference's does not have."""

import numpy as np

from .trees import said_together

CLIPPING = 'max_norm', 'clip_value'  # which is judged
NEEDS = {  # what is an option of another
    'nesterov': 'momentum',
    'dampening': 'momentum',
    'decoupled_weight_decay': 'weight_decay',
}
# How it computes.
OTHERS = 'foreach', 'fused', 'capturable', 'differentiable'


def options_of(optimizer, names):
    """Return for each parameter's name the options of its group, without
    what a scheduler keeps there."""
    return {
        names[id(param)]: {
            key: comparable(value)
            for key, value in group.items()
            if key in getattr(optimizer, 'defaults', ()) and key not in OTHERS
        }
        for group in getattr(optimizer, 'param_groups', ())
        for param in group['params']
        if id(param) in names and param.requires_grad
    }


def comparable(value):
    """Return an option as a number, or a tuple of them, if it can be one."""
    if isinstance(value, (list, tuple)):
        return tuple(map(comparable, value))
    return float(value) if hasattr(value, 'item') else value


def changes_between(step, reference):
    """Return which options differ: the names of parameters by (option, its
    value in the step, its value in the reference)."""
    changes: dict = {}
    for name in reference:
        for key, due in reference[name].items():
            own = step.get(name, {}).get(key, due)
            if differ(own, due):
                changes.setdefault((key, own, due), []).append(name)
    return changes


def differ(own, due):
    """Return whether these are different options: a rate may be rounded to
    float32."""
    try:
        return not np.allclose(own, due, rtol=1e-6, atol=0)
    except (TypeError, ValueError):  # they are no numbers
        return own != due


def is_hidden(key, names, options):
    """Return whether an option that differs may not show in a step, and does
    in others: neither a limit, nor what an option that is 0 turns off."""
    needs = NEEDS.get(key)
    is_used = not needs or any(options[name].get(needs) for name in names)
    return key not in CLIPPING and is_used


def in_short(*options):
    """Return options as texts, floats with six digits if that tells them
    apart."""
    short = [f'{o:.6g}' if isinstance(o, float) else f'{o}' for o in options]
    return short if len({*short}) > 1 else [*map(str, options)]


def words_for(changes, axes):
    """Return in words which options the step has, where the reference has
    others, or ''. `axes`: how many each parameter has, by its name."""
    said = []
    for (key, own, due), names in changes.items():
        where = (
            f' for {by_axes(names, axes)}' if len(names) < len(axes) else ''
        )
        step, reference = in_short(own, due)
        said.append(f'{key}={step} where the reference has {reference}{where}')
    return f'The step has {", and ".join(said)}.' if said else ''


def by_axes(names, axes):
    """Return in words which of the parameters these are."""
    for words, several in ('one axis', False), ('several axes', True):
        alike = [name for name in axes if (axes[name] > 1) == several]
        if names == alike and len(alike) > 1:
            return f'all arrays with {words}'
    return said_together({*names}, [*axes])
