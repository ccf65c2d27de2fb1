"""`same_step` for JAX: parameters are any tree of arrays, and the reference
alone is computed with 64-bit floats.
"""

import contextlib
from typing import Any, Callable, Optional, Sequence

import numpy as np

from . import Taken
from . import same_step as compare
from .comparison import Comparison

__all__ = ['Taken', 'same_step']


def same_step(
    step: Callable,
    reference: Callable,
    params: Any,
    batches: Sequence,
    low: Optional[Callable] = None,
    update: Any = None,
    **how: Any,
) -> Comparison:
    """Return a Comparison of two functions of (params, X, y).

    `params` is a tree of arrays, as JAX knows trees: those of Flax, and the
    states of Optax, too. Each function gets such a tree, and X and y as
    arrays of JAX. With `update`, a function of (params, gradients) that
    returns new parameters, `reference` returns gradients, as `jax.grad(loss)`
    does, and `step` returns Taken(gradients, params). Without it, both return
    new parameters. The other arguments are those of `samestep.same_step`,
    whose Comparison it returns, and so are the errors.
    """
    import jax

    tree = jax.tree_util
    forms = {}  # of the parameters and of the reference's result

    def learn(what, part):
        leaves, form = tree.tree_flatten(part)
        kinds = [np.asarray(leaf).dtype for leaf in leaves]
        if what not in forms or np.dtype('float64') not in kinds:
            forms[what] = form, kinds

    def named(part):
        return {
            tree.keystr(path, simple=True, separator='.'): to_numpy(leaf)
            for path, leaf in tree.tree_flatten_with_path(part)[0]
        }

    def built(what, arrays):
        form, kinds = forms[what]
        leaves = [*map(to_jax, arrays.values(), kinds)]
        return tree.tree_unflatten(form, leaves)

    def of_arrays(function):
        def run(arrays, *batch):
            with floats_as_in(arrays):
                rows = tree.tree_map(jax.numpy.asarray, batch)
                result = function(built('params', arrays), *rows)
                if isinstance(result, Taken):
                    return Taken(*map(named, result))
                if function is reference:
                    learn('result', result)
                return named(result)

        return run

    def updated(arrays, gradients):
        with floats_as_in(arrays):
            given = built('result', gradients)
            return named(update(built('params', arrays), given))

    learn('params', params)
    return compare(
        of_arrays(step),
        of_arrays(reference),
        named(params),
        batches,
        low=low and of_arrays(low),
        update=update and updated,
        **how,
    )


def floats_as_in(arrays):
    """Return a context that lets JAX have float64 if the arrays are that."""
    import jax

    if not any(array.dtype == np.float64 for array in arrays.values()):
        return contextlib.nullcontext()
    if hasattr(jax, 'enable_x64'):
        return jax.enable_x64(True)
    return jax.experimental.enable_x64()  # before JAX 0.8


def to_numpy(leaf):
    """Return an array that NumPy knows: bfloat16 becomes float32."""
    array = np.asarray(leaf)
    return array.astype('float32') if array.dtype.kind == 'V' else array


def to_jax(array, kind):
    """Return an array of JAX; what was in 16 bits is given as such."""
    import jax

    if array.dtype == np.float32 and kind.itemsize == 2:
        array = array.astype(kind)
    return jax.numpy.asarray(array)
