"""Options of the step's optimizer, and limits of its clipping, that the
reference's does not have."""

from .trees import by_axes, said_together

# How it computes.
OTHERS = 'foreach', 'fused', 'capturable', 'differentiable'


def options_of(optimizer, names):
    """Return for each parameter's name the options of its group, without
    what a scheduler keeps there."""
    return {
        names[id(param)]: {
            key: float(value) if hasattr(value, 'item') else value
            for key, value in group.items()
            if key in optimizer.defaults and key not in OTHERS
        }
        for group in optimizer.param_groups
        for param in group['params']
        if id(param) in names and param.requires_grad
    }


def changes_between(step, reference):
    """Return which options differ: the names of parameters by (option, its
    value in the step, its value in the reference)."""
    changes: dict = {}
    for name in reference:
        for key, due in reference[name].items():
            own = step.get(name, {}).get(key, due)
            if own != due:
                changes.setdefault((key, own, due), []).append(name)
    return changes


def with_changes(changes):
    """Return for each name the options that it has in the step."""
    found: dict = {}
    for (key, own, _), names in changes.items():
        for name in names:
            found.setdefault(name, {})[key] = own
    return found


def in_short(*options):
    """Return options as texts, floats with six digits if that tells them
    apart."""
    short = [f'{o:.6g}' if isinstance(o, float) else f'{o}' for o in options]
    return short if len({*short}) > 1 else [*map(str, options)]


def words_for(changes, axes):
    """Return in words which options the step has, where the reference has
    others. `axes`: how many each parameter has, by its name."""
    said = []
    for (key, own, due), names in changes.items():
        where = ''
        if len(names) < len(axes):
            which = by_axes(names, [*axes], axes)
            where = f' for {which or said_together({*names}, [*axes])}'
        step, reference = in_short(own, due)
        said.append(f'{key}={step} where the reference has {reference}{where}')
    them = 'it' if len(said) == 1 else 'them'
    return (
        f'The step has {", and ".join(said)}: with {them}, the reference '
        'makes the same update.'
    )
