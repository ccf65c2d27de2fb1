"""A reference in one process, and a step in another: of two versions of a
library, or of two frameworks. What is due is kept in a file of NumPy.
"""

from typing import Any, Callable, Optional

import numpy as np

from .causes import Move, cast
from .comparison import Comparison, Difference
from .explain import Search
from .functions import Functions, Taken
from .measure import Measure, check_reference
from .parts import low_gradients
from .questions import worst
from .trees import Batch, in_few, named_arrays
from .updates import pushed, right_update, update_spreads

UNSEEN = 'Not judged, since the step has no such arrays: {}.'


def record(
    path: Any,
    reference: Callable,
    params: Any,
    batch: Any,
    update: Optional[Callable] = None,
    low: Optional[Callable] = None,
    dtype: str = 'float32',
    factor: float = 4,
    num_orders: int = 8,
    packed: bool = False,
) -> None:
    """Write what a step should make of one minibatch to a file (.npz).

    `reference` returns gradients, as for `same_step` with `update`; without
    `update`, gradients alone are judged. The file has the parameters and the
    minibatch, too. The arguments are those of `same_step`.
    """
    given = Functions(None, reference, low, update, params)
    rows, how = Batch(batch, packed=packed), Measure(dtype, factor, num_orders)
    arrays = cast(given.start, dtype)
    exact = cast(arrays, 'float64'), rows.cast('float64')
    grads = check_reference(cast(given.reference(*exact), 'float64'), 0)
    lows = low_gradients(given, how, arrays, rows, grads, 0)
    bounds = [factor * spread for spread in how.spreads_of(grads, lows)]
    kept = {
        'batch': dict(zip(named_arrays(rows.parts()), rows.arrays)),
        'start': dict(zip(given.names, given.start)),
        'gradient': dict(zip(given.result_names, grads)),
        'bound': dict(zip(given.result_names, bounds)),
    }
    if update is not None:
        new = check_reference(right_update(given, arrays, grads), 0)
        spreads = update_spreads(given, how, arrays, grads, new, None)
        far = pushed(given, arrays, grads, bounds, new)
        limits = [factor * own + f for own, f in zip(spreads, far)]
        kept['new'] = dict(zip(given.names, new))
        kept['new bound'] = dict(zip(given.names, limits))
    flat = {f'{k}/{n}': a for k, own in kept.items() for n, a in own.items()}
    with open(path, 'wb') as file:
        np.savez(file, **flat)


class Recorded:
    """What a file has. `names`: what the step calls an array, by its name in
    the file; or (name, axes), if it has them in this order."""

    def __init__(self, path, names=None):
        self.kept: dict = {}
        with np.load(path) as file:
            for key in file.files:
                kind, _, name = key.partition('/')
                self.kept.setdefault(kind, {})[name] = file[key]
        self.names = {
            name: (own, None) if isinstance(own, str) else own
            for name, own in (names or {}).items()
        }
        known = {**self.kept['start'], **self.kept['gradient']}
        unknown = [name for name in self.names if name not in known]
        if unknown:
            raise ValueError(
                f'the file has no {in_few(unknown)}: it has {in_few([*known])}'
            )

    def called(self, name):
        """Return what the step calls an array, and the order of its axes: what
        an optimizer keeps is called after its parameter."""
        longest = sorted(self.names, key=len, reverse=True)
        for known in longest:
            own, axes = self.names[known]
            if name == known:
                return own, axes
            if name.startswith(f'{known}.'):
                return f'{own}{name[len(known) :]}', axes
        return name, None

    def start(self):
        """Return the arrays before the step, as the step calls them."""
        found = {}
        for name, array in self.kept['start'].items():
            own, axes = self.called(name)
            found[own] = turned(array, axes)
        return found

    def batch(self):
        """Return the minibatch as arguments, of dicts and lists."""
        tree: dict = {}
        for name, array in self.kept['batch'].items():
            *above, last = name.split('.')
            place = tree
            for key in above:
                place = place.setdefault(key, {})
            place[last] = array
        return tuple(listed(tree))

    def judge(self, taken):
        """Return the Comparison of what a step returns."""
        notes: list = []
        kinds = [('new', 'new bound', '', taken)]
        if isinstance(taken, Taken):
            kinds[0] = 'new', 'new bound', '', taken.params
            kinds.insert(0, ('gradient', 'bound', 'gradient', taken.gradients))
        elif 'new' not in self.kept:
            raise ValueError(
                'the file has gradients alone, since `record` had no `update`:'
                ' return Taken(gradients, params), or give it one'
            )
        for kind, bound, of, tree in kinds:
            if kind not in self.kept:
                continue
            found = named_arrays(tree)
            differences, unseen = self.differences(kind, bound, of, found)
            comparison = Comparison(differences, 1, notes)
            if unseen:
                notes.append(UNSEEN.format(in_few(unseen)))
            if not comparison:
                break
        return comparison

    def check_names(self, found):
        """Raise ValueError unless all arrays with gradients are there."""
        for name in self.kept['gradient']:
            own, _ = self.called(name)
            if own not in found:
                raise ValueError(
                    f'the step has no {own}: give `names`, a dict of what it '
                    'is called by its name in the file; the step has '
                    f'{in_few([*found])}'
                )

    def differences(self, kind, bound, of, found):
        """Return the Difference of each array that the step has, and the
        names of those that it has not."""
        differences: list = []
        unseen: list = []
        batch = Batch(self.batch(), packed=True)
        if of:
            self.check_names(found)
        for name, right in self.kept[kind].items():
            own, axes = self.called(name)
            if own not in found:
                unseen.append(name)
                continue
            start = self.kept['start'].get(name)
            if of or start is None:
                start = np.zeros(right.shape)
            limits = np.broadcast_to(self.kept[bound][name], right.shape)
            right, start, limits = (
                turned(a, axes) for a in (right, start, limits)
            )
            if found[own].shape != right.shape:
                raise ValueError(
                    f'{own} has the shape {found[own].shape} in the step, and '
                    f'{right.shape} by the file: give `names` with axes'
                )
            error, most = worst(found[own], right, limits)
            cause = ''
            if not error <= most:
                move = Move(found[own] - start, right - start, limits, start)
                search = Search([move], 1, batch)
                search.close()
                cause = search.found[0]
            at = len(differences)
            differences.append(
                Difference(0, 0, at, error, most, cause, own, of)
            )
        return differences, unseen


def judge(path: Any, step: Callable, names: Optional[dict] = None):
    """Return the Comparison of a step with what a file has, of `record`.

    `step`: a function of (params, X, y) that returns Taken(gradients, params),
    or new parameters alone; params is a dict. `names`: what the step calls an
    array, by its name in the file, or (name, axes), such as ('dense.kernel',
    (1, 0)) for a transposed one; the others have the names of the file.

    Raises ValueError if an array of the file is none of the step, or has
    another shape, or if the file has gradients alone and the step returns
    none.
    """
    file = Recorded(path, names)
    return file.judge(step(file.start(), *file.batch()))


def turned(array, axes):
    """Return an array with its axes in this order, if it has as many."""
    alike = axes and len(axes) == array.ndim
    return np.transpose(array, axes) if alike else array


def listed(tree):
    """Return dicts whose keys count from 0 as lists."""
    if not isinstance(tree, dict):
        return tree
    parts = {key: listed(part) for key, part in tree.items()}
    if [*parts] == [f'{i}' for i in range(len(parts))]:
        return [*parts.values()]
    return parts
