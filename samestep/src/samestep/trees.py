"""Nested dicts, lists and tuples of arrays, as lists of arrays with names."""

from collections.abc import Mapping

import numpy as np

FEW = 6  # names, numbers or counts that are said one by one


def named_arrays(tree, name=''):
    """Return a dict of the arrays of a tree by their names, such as
    `layers.3.weight`; None has no array."""
    if isinstance(tree, (list, tuple)):
        tree = dict(enumerate(tree))
    if not isinstance(tree, dict):
        return {} if tree is None else {name: np.asarray(tree)}
    arrays = {}
    for key, part in tree.items():
        own = f'{name}.{key}' if name else f'{key}'
        arrays.update(named_arrays(part, own))
    return arrays


def map_arrays(function, tree):
    """Return the tree with a function of each of its arrays; a dict of any
    class becomes one, and None stays."""
    if isinstance(tree, Mapping):
        return {key: map_arrays(function, tree[key]) for key in tree}
    if isinstance(tree, (list, tuple)):
        parts = [map_arrays(function, part) for part in tree]
        if hasattr(tree, '_fields'):
            return type(tree)(*parts)
        return tuple(parts) if isinstance(tree, tuple) else parts
    return tree if tree is None else function(tree)


def rebuild(tree, arrays):
    """Return a tree of this form with the next of an iterator of arrays."""
    return map_arrays(lambda _: next(arrays), tree)


def replicas_in(result, names):
    """Return the replicas in what a step returns: lists of arrays in the order
    of `names`. Raises ValueError if one has other names."""
    replicas, trees = [result], (dict, list, tuple)
    alone = {*named_arrays(result)} == {*names}
    if isinstance(result, (list, tuple)) and result and not alone:
        if all(isinstance(part, trees) for part in result):
            replicas = [*result]
    return [
        in_order(part, names, f'replica {i} of the step')
        for i, part in enumerate(replicas)
    ]


def in_order(tree, names, whose):
    """Return the arrays of a tree in the order of `names`."""
    found = named_arrays(tree)
    if {*found} != {*names}:
        missing = [name for name in names if name not in found]
        others = [name for name in found if name not in names]
        raise ValueError(
            f'{whose} has arrays other than the reference: without '
            f'{missing}, with {others}: return the same arrays'
        )
    return [found[name] for name in names]


def labels_of(names):
    """Return how arrays are called in sentences: a number is `array 3`."""
    return [f'array {name}' if name.isdigit() else name for name in names]


def said_together(wrong, names):
    """Return in words which of the names are wrong."""
    some = [name for name in names if name in wrong]
    if len(some) == 1:
        return some[0]
    if len(some) == len(names):
        return f'all {len(names)} arrays'
    end = some[0].rpartition('.')[2]
    if [name for name in names if name.rpartition('.')[2] == end] == some:
        return f'all {len(some)} *.{end}'
    parts = some[0].split('.')
    for n in range(len(parts) - 1, 0, -1):
        stem = '.'.join(parts[:n])
        if [name for name in names if name.startswith(f'{stem}.')] == some:
            return f'all {len(some)} {stem}.*'
    at = names.index(some[0])
    at_an_end = not at or some[-1] == names[-1]
    if at_an_end and len(some) > 2 and names[at : at + len(some)] == some:
        first = some[0] if at else 'the first'
        last = some[-1] if some[-1] != names[-1] else 'the last'
        return f'all {len(some)} from {first} to {last}'
    return in_few(some)


def in_few(names):
    """Return some of the names, and how many more there are."""
    more = f' and {len(names) - FEW} more' if len(names) > FEW else ''
    return f'{", ".join(names[:FEW])}{more}'


def in_ranges(numbers):
    """Return rising whole numbers in words, such as `0 to 3 and 5`, or '' if
    that takes many."""
    if len(numbers) > 2 and len({*np.diff(numbers)}) == 1:
        step = numbers[1] - numbers[0]
        each = f' (one in {step})' if step > 1 else ''
        return f'{numbers[0]} to {numbers[-1]}{each}'
    runs = np.split(numbers, np.nonzero(np.diff(numbers) != 1)[0] + 1)
    if len(runs) > FEW:
        return ''
    said: list = []
    for run in runs:
        said += [f'{run[0]} to {run[-1]}'] if len(run) > 2 else map(str, run)
    return ' and '.join(filter(None, [', '.join(said[:-1]), said[-1]]))


def with_numbers(what, numbers):
    """Return what has these numbers, such as `replicas 0 and 1`."""
    said = sorted(numbers)
    many = 's' if len(said) > 1 else ''
    return f'{what}{many} {in_ranges(said) or in_few([*map(str, said)])}'


def called(function):
    """Return the name of a function, also of a partial one."""
    return getattr(function, '__name__', f'{function}')


class Batch:
    """A minibatch as a list of arrays with a row for each example; those of
    one row, such as a mask, are for all if the first has several.
    `packed`: it is one whole, whatever its shapes, and never cut."""

    def __init__(self, tree, arrays=None, packed=False):
        self.tree, self.packed, self.rows = tree, packed, 1
        found = named_arrays(tree)
        self.arrays = [*found.values()] if arrays is None else arrays
        if packed:
            return
        rows = [len(array) for array in self.arrays if array.ndim]
        lengths = {*rows}
        if rows and rows[0] > 1:  # else it may be packed, beside its lengths
            lengths -= {1}
        if len(lengths) != 1:
            shapes = {name: array.shape for name, array in found.items()}
            raise ValueError(
                'a minibatch needs arrays with a row for each example, all '
                f'of as many rows: these have the shapes {shapes}. If it has '
                'no such rows, as packed texts have none, give packed=True'
            )
        (self.rows,) = lengths

    def change(self, function):
        """Return it with a function of each array."""
        arrays = [function(array) for array in self.arrays]
        return Batch(self.tree, arrays, self.packed)

    def take(self, rows):
        """Return some of the examples."""
        if self.packed:
            return self
        shared = self.rows != 1
        return self.change(
            lambda a: a if not a.ndim or shared and len(a) == 1 else a[rows]
        )

    def cast(self, dtype):
        """Return it with floats of this dtype."""
        return self.change(
            lambda a: a.astype(dtype) if a.dtype.kind == 'f' else a
        )

    def shift_labels(self, shift):
        """Return it with each row's labels `shift` places before, or after:
        whole numbers in rows of several, of which some are negative, as is
        what a loss leaves out, such as -100. Other arrays may be read by what
        no such number must reach. Raises ValueError if there are none."""
        arrays = [*self.arrays]
        for i, a in enumerate(arrays):
            if a.dtype.kind == 'i' and a.ndim > 1 and (a < 0).any():
                arrays[i] = np.roll(a, -shift, axis=1)
                ends = slice(-shift, None) if shift > 0 else slice(-shift)
                arrays[i][:, ends] = a.min()
        if all(map(np.array_equal, arrays, self.arrays)):
            raise ValueError('these labels cannot be shifted')
        return Batch(self.tree, arrays)

    def parts(self):
        """Return the arguments after the parameters."""
        tree = rebuild(self.tree, iter(self.arrays))
        return [*tree] if isinstance(tree, (list, tuple)) else [tree]

    def counts(self):
        """Return the numbers of things by which a loss may be divided."""
        found = {f'{self.rows} rows': self.rows}
        for array in self.arrays:
            if array.dtype.kind not in 'iu' or array.ndim < 2:
                continue
            for what, part in (('', array), (' shifted by one', array[:, 1:])):
                for which, seen in (
                    ('numbers', np.ones_like(part, bool)),
                    ('numbers that are not negative', part >= 0),
                    ('numbers above 0', part > 0),
                ):
                    n = int(seen.sum())
                    if n and n not in found.values():
                        found[f'{n} {which}{what}'] = n
        return found
