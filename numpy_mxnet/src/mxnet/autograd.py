"""Record operators, and go back through them: reverse-mode differentiation.

While `record()` is on, each array that depends on a variable gets a *node*: it
knows the nodes of the operator's inputs, and for each of them a function from
the output's gradient to the input's. Nodes are numbered in the order of the
calls, so every node is younger than those it was made from: `backward` takes
the youngest first, and a gradient is complete when its node's turn comes.
"""

from __future__ import annotations

import heapq
import itertools
import threading
from typing import Any, Callable, Sequence

import numpy as onp

from . import base, engine
from .base import MXNetError, NotInStandIn, missing

NOT_RECORDED = (
    'Cannot differentiate node because it is not in a computational graph. '
    'Compute it inside of autograd.record(), from arrays with attach_grad(). '
    'After backward() the graph is gone, unless retain_graph=True.'
)
IN_PLACE = (
    'Inplace operations (+=, -=, x[:]=, etc) are not supported when recording '
    'with autograd.'
)


class Local(threading.local):
    """Whether this thread records, and whether it trains."""

    recording = False
    training = False


local = Local()
numbers = itertools.count()


class Node:
    """What `backward` knows of an array.

    `inputs`: a node for each input of its operator, None where no gradient is
    needed. `backs`: for each input a function of the output's gradient, the
    inputs' values and the output's value. `saved`: these arrays; they are read
    when `backward` is called, as MXNet does.
    """

    __slots__ = 'number', 'name', 'ctx', 'dtype', 'inputs', 'backs', 'saved'

    def __init__(
        self,
        name: str,
        array: Any,
        inputs: Sequence[Node | None],
        backs: Sequence[Callable | None],
        saved: Sequence[Any],
    ) -> None:
        self.number = next(numbers)
        self.name, self.ctx, self.dtype = name, array.ctx, array.dtype
        self.inputs: Any = inputs
        self.backs, self.saved = backs, saved

    def __lt__(self, other: Node) -> bool:
        return self.number > other.number  # the youngest first, in a heap

    def go_back(self, gradient: Any, retain: bool) -> list[Any]:
        """Queue the gradients of the inputs: a list of (node, operation)."""
        if self.inputs is None:
            raise MXNetError(NOT_RECORDED)
        found = []
        operations, cut = read(self.saved)
        for node, back in zip(self.inputs, self.backs):
            if node is not None and back is not None:
                work = as_dtype(back, node.dtype, cut)
                name = f'_backward{self.name}'
                given = [gradient, *operations]
                found.append((node, engine.push(name, node.ctx, work, given)))
        if not retain:
            self.inputs, self.backs, self.saved = None, (), ()
        return found


class Variable(Node):
    """An array with `attach_grad()`: here a gradient is stored."""

    __slots__ = 'grad', 'grad_req'

    def __init__(self, array: Any, grad: Any, grad_req: str) -> None:
        super().__init__('variable', array, (), (), ())
        self.grad, self.grad_req = grad, grad_req

    def go_back(self, gradient: Any, retain: bool) -> list[Any]:
        """Store a gradient; there is nothing behind a variable."""
        if self.grad_req == 'add':
            self.grad._store('_grad_add', onp.add, [gradient], with_old=True)
        else:
            self.grad._store('_copyto', None, [gradient])
        return []


def read(arrays: Sequence[Any]) -> Any:
    """Return the operations whose values these arrays have now, and a function
    that cuts the arrays out of these values: an array may be a view."""
    regions = [array._region for array in arrays]
    operations = [array._memory.operation for array in arrays]
    if not any(regions):
        return operations, None

    def cut(values: Sequence[Any]) -> list[Any]:
        return [
            v if r is None else v.reshape(-1)[r[0] : r[1]].reshape(r[2])
            for v, r in zip(values, regions)
        ]

    return operations, cut


def as_dtype(back: Callable, dtype: Any, cut: Callable | None) -> Callable:
    """Return `back` for values that are to be cut, its result of a dtype."""

    def work(gradient: Any, *values: Any) -> Any:
        values = cut(values) if cut else values
        return onp.asarray(back(gradient, *values), dtype)

    return work


def backward(
    heads: Any,
    head_grads: Any = None,
    retain_graph: bool = False,
    train_mode: bool = True,
) -> None:
    """Queue the gradients of `heads` for all variables that they depend on.

    `heads`: an array or several. `head_grads`: their own gradients, by default
    ones. A gradient is stored as the variable's `grad_req` says: 'write' in
    place of the old one, 'add' to it. Raises MXNetError unless each head was
    recorded.
    """
    base._LIB.MXAutogradBackwardEx(
        go_back_from, *as_lists(heads, head_grads), retain_graph, {}
    )


def grad(
    heads: Any,
    variables: Any,
    head_grads: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    train_mode: bool = True,
) -> Any:
    """Return the gradients of `heads` for `variables`, stored nowhere."""
    if create_graph:
        raise NotInStandIn('create_graph=True: numpy_mxnet has no gradients '
                           'of gradients, MXNet has')  # fmt: skip
    several = isinstance(variables, (list, tuple))
    arrays = list(variables) if several else [variables]
    if any(array._node is None for array in arrays):
        raise MXNetError(NOT_RECORDED)
    found: dict[Node, Any] = {array._node: None for array in arrays}
    base._LIB.MXAutogradBackwardEx(
        go_back_from, *as_lists(heads, head_grads), bool(retain_graph), found
    )
    grads = [
        a._new(found[a._node], a.shape, a.dtype, a.ctx)
        if found[a._node]
        else a._zeros()
        for a in arrays
    ]
    return grads if several else grads[0]


def as_lists(heads: Any, head_grads: Any) -> Any:
    """Return lists of heads and of their gradients; ones for None."""
    heads = list(heads) if isinstance(heads, (list, tuple)) else [heads]
    if head_grads is None:
        head_grads = [None] * len(heads)
    elif not isinstance(head_grads, (list, tuple)):
        head_grads = [head_grads]
    if any(head._node is None for head in heads):
        raise MXNetError(NOT_RECORDED)
    return heads, list(head_grads)


def go_back_from(
    heads: list[Any], head_grads: list[Any], retain: bool, asked: dict
) -> None:
    """Go back from the heads through the graph, youngest nodes first.

    `asked`: nodes whose gradients are wanted, here, in place of stored.
    """
    gradients: dict[Node, Any] = {}
    turns: list[Node] = []

    def add(node: Node, gradient: Any) -> None:
        if node in gradients:  # an array that was used twice
            both = [gradients[node], gradient]
            gradient = engine.push('_grad_add', node.ctx, onp.add, both)
        else:
            heapq.heappush(turns, node)
        gradients[node] = gradient

    for head, given in zip(heads, head_grads):
        given = head._ones() if given is None else given
        if given.ctx != head.ctx:
            raise base.device_error('backward', head, given)
        operations, cut = read([given])
        if cut is not None:  # a view: its elements, in a row
            operations = [given.copy()._memory.operation]
        add(head._node, operations[0])
    while turns:
        node = heapq.heappop(turns)
        gradient = gradients.pop(node)
        if node in asked:
            asked[node] = gradient
        if not asked or not isinstance(node, Variable):
            for other, part in node.go_back(gradient, retain):
                add(other, part)


def mark_variables(
    variables: Any, gradients: Any, grad_reqs: Any = 'write'
) -> None:
    """Let `backward` store what it finds for these arrays in `gradients`."""
    if not isinstance(variables, (list, tuple)):
        variables, gradients = [variables], [gradients]
    if isinstance(grad_reqs, str):
        grad_reqs = [grad_reqs] * len(variables)
    for array, gradient, request in zip(variables, gradients, grad_reqs):
        if gradient.ctx != array.ctx:
            raise base.device_error('mark_variables', array, gradient)
        array._mark(gradient, request)


class Scope:
    """Switches recording and training, until the block ends."""

    def __init__(self, recording: Any, training: Any) -> None:
        self.wanted = recording, training
        self.before: list[Any] = []

    def __enter__(self) -> Scope:
        self.before.append((local.recording, local.training))
        recording, training = self.wanted
        if recording is not None:
            local.recording = recording
        if training is not None:
            local.training = training
        return self

    def __exit__(self, *error: Any) -> None:
        local.recording, local.training = self.before.pop()


def record(train_mode: bool = True) -> Scope:
    """Record what is computed in the block."""
    return Scope(True, train_mode)


def pause(train_mode: bool = False) -> Scope:
    """Record nothing in the block, within a block that does."""
    return Scope(False, train_mode)


def train_mode() -> Scope:
    """Let dropout drop in the block, without recording."""
    return Scope(None, True)


def is_recording() -> bool:
    """Return whether this thread records."""
    return local.recording


def is_training() -> bool:
    """Return whether this thread trains: then dropout drops."""
    return local.training


__getattr__ = missing('mxnet.autograd')
