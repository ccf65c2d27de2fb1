"""In which module of a PyTorch network an error begins.

Hooks keep some numbers of what each module is given and returns, and of the
gradients that come back. A call of the network may have some of the rows of
the minibatch: they are found by their contents, so that each number stands
beside that of the reference.
"""

import collections
import contextlib
import functools
import threading
from typing import Any, NamedTuple

import numpy as np

from .causes import distance
from .torch_precision import kind_of, short_kind

MOST = 512  # numbers of a row that are kept of each tensor
GIVEN, RETURNED, RETURNED_AGAIN = 'given', 'returned', 'returned again'
BACK, BACK_GIVEN = 'gradient', 'gradient of what is given'
STRANGERS = (
    'The place is not seen: the network is given rows that are not in the '
    'minibatch, such as parts of texts, changed images or examples within a '
    'row. Cut or change them before, in the minibatch that both functions get.'
)
DIFFERENTIATED = (
    'It begins in the loss or in the backward pass: of gradients that are '
    'differentiated, no more is seen.'
)


class Kept(NamedTuple):
    """Some numbers of the rows that one call of the network had."""

    call: int
    axis: Any  # of the tensor, along which its rows are
    numbers: np.ndarray
    rows: list


class Trace:
    """What the modules of one run computed, while it is watched.

    `kept` has lists of Kept by (what, module, (part of the minibatch, count)),
    in the order in which they were computed. `users`: which modules return,
    and which are given, the tensor that a gradient belongs to.
    """

    def __init__(self, model, batch, inputs=()):
        """`inputs`: what the reference gives the network, of a row each."""
        self.root = model
        self.own = {id(m) for m in model.modules()}
        self.kept: dict = {}
        self.users: dict = {}
        self.short: dict = {}  # in which precision, by where it is seen
        self.call, self.rows, self.part = -1, None, None
        self.counts: collections.Counter = collections.Counter()
        parts = tensors_in(batch)
        self.places = [places_of(part) for part in (*parts, *inputs)]
        sizes = [part.numel() for part in parts]
        # Whether the largest part tells its rows apart.
        self.tells = bool(sizes and self.places[sizes.index(max(sizes))])
        self.strangers = False  # rows that are none of the minibatch
        self.differentiated = False  # gradients, as in a penalty
        self.threads: set = set()  # that call the network

    @contextlib.contextmanager
    def watched(self):
        """Keep what modules compute meanwhile."""
        with contextlib.ExitStack() as stack:
            for name, module in self.root.named_modules():
                before = functools.partial(self.before, name)
                after = functools.partial(self.after, name)
                for handle in (
                    module.register_forward_pre_hook(before, with_kwargs=True),
                    module.register_forward_hook(after),
                ):
                    stack.callback(handle.remove)
            yield
        self.root = None  # which may be large

    def __deepcopy__(self, memo):
        """Return itself, for the hooks of a copy of the network."""
        return self

    def sees(self, module):
        """Return whether it keeps what a module computes: of copies that
        train, too, as of each device, and not of one that averages."""
        import torch

        if in_transform() or self.root is None:
            return False  # a copy may outlive the run
        if getattr(module, '_is_replica', False):
            return False  # of DataParallel, in a separate thread
        return id(module) in self.own or torch.is_grad_enabled()

    def before(self, name, module, arguments, named):
        """Keep what a module is given."""
        if not self.sees(module):
            return
        given = tensors_in([arguments, named])
        again = in_backward()
        if not again:
            self.threads.add(threading.get_ident())
        if not again and (not name or self.rows is None):
            self.call += 1
            self.rows, self.part = self.rows_of(given)
            self.strangers |= self.tells and bool(given) and not self.rows
            self.counts.clear()
        for tensor in given:
            if not again:
                self.keep(self.key(GIVEN, name), tensor, self.call, self.rows)
            self.watch(tensor, BACK_GIVEN, name)[1].append(name)

    def after(self, name, module, arguments, result):
        """Keep what a module returns, and watch for the gradients of it."""
        if not self.sees(module):
            return
        what = RETURNED_AGAIN if in_backward() else RETURNED
        for tensor in tensors_in(result):
            where = f'what {module_called(name)} returns'
            self.see(where, kind_of(tensor))
            self.keep(self.key(what, name), tensor, self.call, self.rows)
            self.watch(tensor, BACK, name)[0].append(name)

    def see(self, where, kind):
        """Keep in which precision something is, if that is a short one."""
        if kind:
            self.short.setdefault(where, kind)

    def see_gradients(self, gradients):
        """Keep in which precision those of parameters are: not of those that
        are what is left of sums that cancel, which have few bits, too."""
        sizes = {name: abs(g).max(initial=0) for name, g in gradients.items()}
        least = 1e-4 * max(sizes.values(), default=0)
        for name, own in gradients.items():
            if sizes[name] > least:
                self.see(f'the gradient of {name}', short_kind(own))

    def key(self, what, name):
        """Return how the next tensor of a module is called in `kept`."""
        self.counts[what, name] += 1
        return what, name, (self.part, self.counts[what, name])

    def keep(self, key, tensor, call, rows):
        """Keep some numbers of each row of a tensor."""
        found = numbers_of(tensor, len(rows)) if rows else None
        if found:
            axis, numbers = found
            kept = self.kept.setdefault(key, [])
            if kept and kept[-1].call == call:  # of several losses in turn
                kept[-1].numbers[:] += numbers
            else:
                kept.append(Kept(call, axis, numbers, rows))

    def watch(self, tensor, what, name):
        """Keep the gradient of a tensor, when it comes, as that of the module
        that was the first to return it or to be given it. Return the lists of
        the modules that return it, and that are given it."""
        trace, users = getattr(tensor, '_samestep', (None, None))
        if trace is self:
            return users
        users = [], []
        tensor._samestep = self, users
        if tensor.requires_grad and not tensor.is_leaf:
            key, call, rows = self.key(what, name), self.call, self.rows
            self.users[key] = users

            def keep(gradient):
                if gradient is None:  # as DDP passes where nothing comes
                    return
                self.differentiated |= gradient.requires_grad
                where = f'gradients at {module_called(name)}'
                self.see(where, kind_of(gradient))
                self.keep(key, gradient, call, rows)

            tensor.register_hook(keep)
        return users

    def rows_of(self, given):
        """Return which rows of the minibatch a call has, and of which part of
        it: those of a tensor that tells them apart; or (None, None)."""
        for tensor in given:
            for part, places in enumerate(self.places):
                rows = [places.get(row) for row in bytes_of_rows(tensor)]
                if rows and None not in rows:
                    return rows, part
        return None, None


def in_backward():
    """Return whether a backward pass is running: then a module is called to
    compute its activations again."""
    import torch

    return torch._C._current_graph_task_id() != -1


def in_transform():
    """Return whether torch.compile or torch.func, as with vmap and grad, see
    what runs: then tensors have no numbers to keep."""
    import torch

    return (
        torch.compiler.is_compiling()
        or torch._C._functorch.peek_interpreter_stack() is not None
    )


def tensors_in(tree):
    """Return the tensors in dicts, lists and tuples."""
    import torch

    if isinstance(tree, dict):
        tree = [*tree.values()]
    if isinstance(tree, (list, tuple)):
        return [tensor for part in tree for tensor in tensors_in(part)]
    return [tree] if torch.is_tensor(tree) else []


def bytes_of_rows(tensor):
    """Return the numbers of each row of a tensor as bytes."""
    import torch

    if not tensor.ndim or not tensor.numel() or hasattr(tensor, 'placements'):
        return []
    array = tensor.detach().cpu().contiguous().reshape(len(tensor), -1)
    return [row.tobytes() for row in array.view(torch.uint8).numpy()]


def places_of(tensor):
    """Return the number of each row by its bytes, if no two rows are alike."""
    rows = bytes_of_rows(tensor)
    places = {row: i for i, row in enumerate(rows)}
    return places if len(places) == len(rows) else {}


def numbers_of(tensor, rows):
    """Return the axis of a tensor along which it has the rows, or that of
    their tokens, and some numbers of each row; or None if it has neither."""
    if hasattr(tensor, 'placements'):  # a DTensor: only where all is here
        if not all(p.is_replicate() for p in tensor.placements):
            return None
        tensor = tensor.to_local()
    if not tensor.is_floating_point() or not tensor.numel():
        return None
    tensor = tensor.detach()
    axes = [i for i, size in enumerate(tensor.shape) if size == rows]
    if axes:
        tensor = tensor.movedim(axes[0], 0)
    elif not tensor.ndim or len(tensor) % rows:
        return None
    tensor = tensor.reshape(rows, -1)
    stride = -(-tensor.shape[1] // MOST) | 1  # not always the same channel
    numbers = tensor[:, ::stride].double().cpu().numpy()
    # A copy, since what comes next may write into the tensor in place.
    return axes[0] if axes else 'of tokens', numbers.copy()


def place_of_error(found, right, lows, measure, num_processes):
    """Return in words where a run first has numbers that are further from
    the right ones than rounding moves them; or ''.

    `found`, `right`, `lows`: Traces of the run, of the reference in float64,
    and of some in low precision. A gradient that comes from the loss may be
    any number of times the right one. Of several processes no such number is
    said: what they do with it later, such as taking the mean, is not seen.
    Of what has the right gradient and is not right itself, nothing is said:
    it may be a part of a sum, as of the experts of one device.
    """
    if len(found.threads) > 1:
        return ''  # whose calls are not told apart
    factors: dict = {}  # of the gradients, for each call
    wrong: dict = {}  # whether the numbers of a key are
    unseen = False
    for key, due in keys_of(right):
        what, name, _ = key
        exact = whole(right, due)
        if exact is None:
            continue
        others = [whole(low, due) for low in lows]
        others = [
            a for a in others if a is not None and a.shape == exact.shape
        ]
        if what in (BACK, BACK_GIVEN):
            others = [a / factor_of(a, exact) for a in others]
        finite = np.isfinite(exact)  # not what masks of attention add
        flat = [[a[finite]] for a in others]
        (bound,) = measure.bounds_of([exact[finite]], flat)
        kept = [
            own
            for own in found.kept.get(key, ())
            if own.axis == right.kept[due][0].axis
            and own.numbers.shape[1:] == exact.shape[1:]
            and max(own.rows) < len(exact)
        ]
        unseen |= not kept and what in (RETURNED, BACK)
        detached = what == BACK and is_detached(found, name)
        if detached and not any(wrong.values()):
            return f'No gradient returns to {module_called(name)}.'
        for own in kept:
            wanted, numbers = exact[own.rows], own.numbers
            if what in (BACK, BACK_GIVEN):
                if own.call not in factors:
                    sure = bound / max(abs(wanted).max(), 1e-300)
                    factors[own.call] = factor_of(numbers, wanted), sure
                numbers = numbers / factors[own.call][0]
            off = not distance(numbers, wanted) <= bound
            wrong[key] = off or wrong.get(key, False)
    for key in wrong:
        if wrong[key]:
            what, name, _ = key
            gradients = [
                own
                for own in wrong
                if own[0] == BACK and name in right.users[own][0]
            ]
            if what == RETURNED and not all(map(wrong.get, gradients)):
                return ''
            users = right.users.get(key)
            if users and right.differentiated:
                return DIFFERENTIATED
            return words_for(what, name, right, users, lost_in(right, wrong))
    if found.strangers:
        return STRANGERS
    if unseen or not factors:
        return ''
    return words_for_none(factors.values(), num_processes)


def is_detached(trace, name):
    """Return whether a module was called, and no gradient has come back."""
    seen = {what for what, own, _ in trace.kept if own == name}
    return RETURNED in seen and not seen & {BACK, RETURNED_AGAIN}


def lost_in(right, seen):
    """Return the modules of which no gradient is seen, and one is due."""
    modules: dict = {True: set(), False: set()}
    for key, (writers, _) in right.users.items():
        if key in right.kept:
            modules[key in seen].update(writers)
    return modules[False] - modules[True]


def keys_of(trace):
    """Return the keys of what a reference computed, each after that of the
    run which should be the same: of the forward pass, of what may be computed
    again, and of the backward pass."""
    back = [key for key in trace.kept if key[0] in (BACK, BACK_GIVEN)]
    forward = [key for key in trace.kept if key[0] in (GIVEN, RETURNED)]
    again = [
        ((RETURNED_AGAIN, *key[1:]), key)
        for key in forward
        if key[0] == RETURNED
    ]
    return [*zip(forward, forward), *again, *zip(back, back)]


def whole(trace, key):
    """Return the numbers that a reference kept, from the first row on, or
    None if it has left out a row."""
    kept = trace.kept.get(key, [])
    rows = {row for own in kept for row in own.rows}
    if not rows or len(rows) <= max(rows):
        return None
    joined = np.empty((len(rows), *kept[0].numbers.shape[1:]))
    for own in kept:
        joined[own.rows] = own.numbers
    return joined


def factor_of(numbers, right):
    """Return how many times the right numbers these are, as nearly as can
    be: 1 if some are not finite."""
    with np.errstate(invalid='ignore', over='ignore'):
        size = (right * right).sum()
        factor = (numbers * right).sum() / size if size else 1
    return factor if np.isfinite(factor) and factor else 1


def words_for(what, name, right, users, lost):
    """Return in words where an error begins that is first seen there. `lost`:
    modules of which no gradient is seen."""
    if what == GIVEN:
        if not name:
            return 'It begins before the network, which is given other inputs.'
        return (
            f'It begins in the forward pass of {caller(name, right)}, in what '
            f'it gives to {name}.'
        )
    if what == RETURNED:
        return f'It begins in the forward pass of {module_called(name)}.'
    if what == RETURNED_AGAIN:
        return (
            f'It begins where {module_called(name)} is computed again for the '
            'backward pass: it then returns something else.'
        )
    writers, readers = users
    inner = [
        own
        for own in readers
        if own and not any(other.startswith(f'{own}.') for other in readers)
    ]
    if inner:
        which = ' or '.join(dict.fromkeys(inner))
        if lost & {*inner}:
            which += ', or behind it, where no gradients are seen'
        return f'It begins in the backward pass of {which}.'
    above = caller(writers[-1] if writers else name, right)
    loss = ' or in the loss' if above == module_called('') else ''
    return (
        f'It begins in the backward pass of {above}{loss}, behind '
        f'{module_called(name)}.'
    )


def words_for_none(factors, num_processes):
    """Return in words where an error begins that no module shows."""
    other = sorted({f'{f:.4g}' for f, sure in factors if abs(f - 1) > sure})
    words = 'Each module returns what it should'
    later = (
        'where the gradients of parameters are computed, summed, exchanged or '
        'scaled.'
    )
    if num_processes > 1:
        return f'{words}: it begins in the loss, or {later}'
    if not other:
        return f'{words}, and passes back what it should: it begins {later}'
    return (
        f'{words}, and passes back {" or ".join(other[:4])} times what it '
        f'should: it begins in the loss, or {later}'
    )


def module_called(name):
    """Return what a module is called in a sentence."""
    return name or 'the network itself'


def caller(name, right):
    """Return what the module is called that calls another: the next above it
    that is called itself, as a list of modules is not."""
    called = {own for _, own, _ in right.kept}
    while name:
        name = name.rpartition('.')[0]
        if name in called:
            break
    return module_called(name)
