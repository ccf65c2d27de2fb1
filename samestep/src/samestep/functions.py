"""What a user gives, as functions of lists of arrays."""

import itertools
from typing import Any, NamedTuple

import numpy as np

from .causes import cast
from .trees import in_order, named_arrays, rebuild, replicas_in


class Taken(NamedTuple):
    """A step that was taken: its gradients, before they were clipped, and
    the arrays after it."""

    gradients: Any
    params: Any


class Functions:
    """The step, the reference and the update, each of lists of arrays."""

    def __init__(self, step, reference, low, update, params):
        self._step, self._reference, self._low = step, reference, low
        self._update, self._params = update, params
        self.has_low, self.has_update = low is not None, update is not None
        named = named_arrays(params)
        for name, array in named.items():
            if array.dtype.kind == 'c':
                raise TypeError(
                    f'{name or "the array"} is {array.dtype}: give its real '
                    'and its imaginary part as two arrays of real numbers (in '
                    'PyTorch, a parameter and torch.view_as_complex of it)'
                )
        self.names, self.start = [*named], [*named.values()]
        self._form = None  # of the reference's results
        self.result_names: list = []

    def reference(self, arrays, batch):
        """Return what the reference makes of a minibatch."""
        return self._one(self._reference, arrays, batch)

    def moves(self, before, after, batch):
        """Return whether a parameter is another afterwards, and not only
        what an optimizer keeps: the gradients do not depend on that."""
        if {*self.result_names} <= {*self.names}:
            places = [*map(self.names.index, self.result_names)]
            old, new = ([own[i] for i in places] for own in (before, after))
        else:  # names do not tell
            exact = batch.cast('float64')
            old, new = (
                self.reference(cast(own, 'float64'), exact)
                for own in (before, after)
            )
        return not all(map(np.array_equal, old, new))

    def low(self, arrays, batch):
        """Return what it makes in the precision of the step."""
        return self._one(self._low or self._reference, arrays, batch)

    def low_step(self, arrays, batch):
        """Return (gradients, new arrays) of the step in low precision, or
        None if it does not say both."""
        result = self._low and self._low(*self._arguments(arrays, batch))
        return self._taken(result) if isinstance(result, Taken) else None

    def step(self, arrays, batch):
        """Return for each replica (gradients, new arrays); a step that says
        one of the two alone has None for the gradients."""
        result = self._step(*self._arguments(arrays, batch))
        parts = [result] if isinstance(result, Taken) else result
        if isinstance(parts, (list, tuple)) and any(
            isinstance(part, Taken) for part in parts
        ):
            return [self._taken(part) for part in parts]
        names = self.names if self.has_update else self.result_names
        return [(None, own) for own in replicas_in(result, names)]

    def update(self, arrays, gradients):
        """Return what the update makes of these gradients."""
        result = self._update(
            rebuild(self._params, iter(arrays)),
            rebuild(self._form, iter(gradients)),
        )
        return in_order(result, self.names, 'what update gives')

    def _arguments(self, arrays, batch):
        return rebuild(self._params, iter(arrays)), *batch.parts()

    def _taken(self, result):
        grads, names = result.gradients, self.result_names
        return (
            in_order(grads, names, 'the gradients of the step'),
            in_order(result.params, self.names, 'replica 0 of the step'),
        )

    def _one(self, function, arrays, batch):
        result = function(*self._arguments(arrays, batch))
        if isinstance(result, Taken):
            result = result.gradients
        if self._form is None:
            own = [*named_arrays(result)]
            if not own:
                raise ValueError(
                    'the reference gives no arrays: has it a return?'
                )
            same = {*own} == {*self.names}
            self.result_names = self.names if same else own
            blank = rebuild(result, itertools.repeat(0))  # without arrays
            self._form = self._params if same else blank
        return in_order(result, self.result_names, 'a later result')
