"""A reference in one process, and a step in another: of two versions of a
library, or of two frameworks. What is due is kept in a file of NumPy.
"""

import functools
from typing import Any, Callable, Optional

import numpy as np

from .causes import Move, cast, meaning_of
from .comparison import Comparison
from .explain import Search
from .functions import Functions, Taken
from .measure import Measure, check_reference
from .questions import HIDES_MORE, MORE, differences_of, due_gradients
from .trees import Batch, in_few, named_arrays
from .updates import pushed, right_update, update_bounds

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
    grads, bounds = due_gradients(given, how, arrays, rows)
    kept = {
        'batch': dict(zip(named_arrays(rows.parts()), rows.arrays)),
        'start': dict(zip(given.names, given.start)),
        'gradient': dict(zip(given.result_names, grads)),
        'bound': dict(zip(given.result_names, bounds)),
    }
    if update is not None:
        new = check_reference(right_update(given, arrays, grads), 0)
        own = update_bounds(given, how, arrays, grads, new)
        far = pushed(given, arrays, grads, bounds, new)
        limits = [bound + f for bound, f in zip(own, far)]
        kept['new'] = dict(zip(given.names, new))
        kept['new bound'] = dict(zip(given.names, limits))
        more = right_update(given, arrays, [MORE * g for g in grads])
        kept['more'] = dict(zip(given.names, more))
    flat = {f'{k}/{n}': a for k, own in kept.items() for n, a in own.items()}
    with open(path, 'wb') as file:
        np.savez(file, **flat)


class Recorded:
    """What a file has, by the names and in the axes of a step. `names`: what
    the step calls an array, by its name in the file; or (name, axes), if it
    has them in this order."""

    def __init__(self, path, names=None):
        names = {
            name: (own, None) if isinstance(own, str) else own
            for name, own in (names or {}).items()
        }
        kept: dict = {}
        with np.load(path) as file:
            for key in file.files:
                kind, _, name = key.partition('/')
                kept.setdefault(kind, {})[name] = file[key]
        self.batch = tuple(tree_of(kept.pop('batch')))
        known = {**kept['start'], **kept['gradient']}
        unknown = [name for name in names if name not in known]
        if unknown:
            raise ValueError(
                f'the file has no {in_few(unknown)}: it has {in_few([*known])}'
            )
        self.kept = {
            kind: dict(renamed(name, a, names) for name, a in arrays.items())
            for kind, arrays in kept.items()
        }
        self.start = self.kept['start']

    def check(self, kind, found):
        """Raise ValueError unless arrays of this kind have the shapes of the
        file, and all are there that have a gradient."""
        for name, array in self.kept[kind].items():
            if name not in found and name in self.kept['gradient']:
                raise ValueError(
                    f'the step has no {name}: give `names`, a dict of what it '
                    'is called by its name in the file; the step has '
                    f'{in_few([*found])}'
                )
            if name in found and found[name].shape != array.shape:
                raise ValueError(
                    f'{name} has the shape {found[name].shape} in the step, '
                    f'and {array.shape} by the file: give `names` with axes'
                )

    def judge(self, taken):
        """Return the Comparison of what a step returns."""
        if isinstance(taken, Taken):
            found = self.compare('gradient', 'bound', taken.gradients)
            if not found or 'new' not in self.kept:
                return found
            return self.compare('new', 'new bound', taken.params)
        if 'new' not in self.kept:
            raise ValueError(
                'the file has gradients alone, since `record` had no `update`:'
                ' return Taken(gradients, params), or give it one'
            )
        more, names = self.kept['more'], named_arrays(taken)
        more = {name: more[name] for name in more if name in names}
        found = self.compare('new', 'new bound', taken)
        if found and self.compare('new', 'new bound', more):
            raise ValueError(HIDES_MORE)
        return found

    def compare(self, kind, bound, tree):
        """Return the Comparison of the step's arrays of one kind."""
        found, due = named_arrays(tree), self.kept[kind]
        self.check(kind, found)
        seen = [name for name in due if name in found]
        own, right, bounds = (
            [arrays[name] for name in seen]
            for arrays in (found, due, self.kept[bound])
        )
        of = kind if kind == 'gradient' else ''
        new = self.kept.get('new', {})  # which a gradient is not
        begin = [
            self.start[name]
            if not of or name in new and np.array_equal(due[name], new[name])
            else np.zeros(due[name].shape)
            for name in seen
        ]
        differences = differences_of(0, [own], seen, right, bounds, of)
        batch = Batch(self.batch, packed=True)
        search = Search(
            [
                Move(a - s, b - s, most, s)
                for a, b, most, s in zip(own, right, bounds, begin)
            ],
            functools.partial(meaning_of, 1, batch),
        )
        search.close()
        unseen = [name for name in due if name not in found]
        notes = [UNSEEN.format(in_few(unseen))] if unseen else []
        return Comparison(differences, 1, notes).change(
            lambda d: d._replace(cause=search.found.get(d.array, ''))
        )


def judge(path: Any, step: Callable, names: Optional[dict] = None):
    """Return the Comparison of a step with what a file has, of `record`.

    `step`: a function of (params, X, y) that returns Taken(gradients, params),
    or new parameters alone; params is a dict. `names`: what the step calls an
    array, by its name in the file, or (name, axes), such as ('dense.kernel',
    (1, 0)) for a transposed one; the others have the names of the file.

    Raises ValueError if an array of the file is none of the step, or has
    another shape, if the file has gradients alone and the step returns
    none, or if right arrays alone hide gradients.
    """
    file = Recorded(path, names)
    return file.judge(step(file.start, *file.batch))


def renamed(name, array, names):
    """Return what the step calls an array, and the array in its axes: what an
    optimizer keeps is called after its parameter."""
    for known in sorted(names, key=len, reverse=True):
        if f'{name}.'.startswith(f'{known}.'):
            own, axes = names[known]
            if axes and len(axes) == array.ndim:
                array = np.transpose(array, axes)
            return f'{own}{name[len(known) :]}', array
    return name, array


def tree_of(arrays):
    """Return arrays with names such as `0.labels` in dicts, or in lists where
    names count from 0."""
    if [*arrays] == ['']:
        return arrays['']
    parts: dict = {}
    for name, array in arrays.items():
        first, _, rest = name.partition('.')
        parts.setdefault(first, {})[rest] = array
    parts = {name: tree_of(own) for name, own in parts.items()}
    is_list = [*parts] == [f'{i}' for i in range(len(parts))]
    return [*parts.values()] if is_list else parts
