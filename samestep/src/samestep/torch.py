"""`same_step` for PyTorch: it asks of the gradients and of the update.

It copies the module for each call, reads the gradients where the step first
clips them or gives them to an optimizer, and the parameters, buffers and the
optimizer's state after it.
"""

import contextlib
import copy
import dataclasses
import functools
from collections.abc import Mapping
from typing import Any, Callable, NamedTuple, Optional, Sequence

import numpy as np

from . import Taken, files
from . import same_step as compare
from .causes import cast
from .comparison import Comparison
from .measure import Measure, NothingMoves
from .torch_modules import Trace, place_of_error, tensors_in
from .torch_options import (
    CLIPPING,
    changes_between,
    is_hidden,
    words_for,
)
from .torch_precision import check_low
from .torch_tensors import (
    buffers_of,
    in_formats,
    set_tensor,
    tensors_of,
    to_numpy,
    to_tensor,
)
from .torch_watch import (
    Clipping,
    Gradients,
    Kernels,
    Optimizers,
    copies_in,
    kept_in,
)
from .trees import called, in_few, map_arrays, named_arrays, with_numbers

FAILS = '{} fails in float64, which gives the right numbers: {}. {}'
CAST = (
    'If a cast to float32, such as `.float()` after autocast, meets a '
    'parameter in float64 there, in the module or in the optimizer, cast to '
    'the dtype of an input or of a parameter: `.to(x.dtype)`, '
    '`.to(layer.weight.dtype)`.'
)
NO_FLOAT64 = {  # kernels, by a word of the error
    'flash': 'FlashAttention has no float64: give the reference plain '
    'attention, in transformers with attn_implementation="eager" or "sdpa".',
    'mat_a': 'Products of groups, as of experts, have no float64: give the '
    'reference plain ones, in transformers with experts_implementation='
    '"eager".',
}
FROZEN = 'Frozen in both, and still: {}.'
UNSEEN = (
    'Trained, but not judged, since their gradients are 0 here: {}. Begin '
    'where they are not 0, such as some steps later.'
)
TURNED_OFF = (
    'The step uses autocast, which the reference turns off: give as `low` the '
    'reference with autocast.'
)
NO_NORM = (
    'Clipping is not judged: no norm is above its limit. Take a lower limit '
    'in both functions.'
)
BY_HAND = (
    'The reference clips, and the step is not seen to: what clips by hand '
    'looks like a factor of the gradients. Clip with torch.nn.utils.'
)
DRAWS = (
    'The reference draws random numbers, such as those of dropout. In another '
    'order examples get others, and what that changes hides errors: turn it '
    'off in both functions.'
)
NUM_NEAR = 2  # starts, each number off by up to a rounding


def same_step(
    step: Callable,
    reference: Callable,
    model: Any,
    batches: Sequence,
    low: Optional[Callable] = None,
    optimizer: Any = None,
    **how: Any,
) -> Comparison:
    """Return a Comparison of two functions of (model, X, y) that train it.

    Each gets a copy of `model` and one minibatch of tensors, makes its
    optimizer, and takes one step with it. `reference` does so on one device,
    in the dtype of the module that it gets. `step` may wrap or shard the
    module: DistributedDataParallel, fully_shard, DTensors, autocast. If there
    is no `low`, the reference takes the memory formats of the step, such as
    channels last; and if the step alone uses autocast, the reference under it
    is `low`. The other arguments are those of `samestep.same_step`, whose
    Comparison it returns.

    `optimizer`: one of the parameters of `model`, of any class that has
    `step`, perhaps with the state of a checkpoint. Each function gets a copy
    of it after that of the module, (model, optimizer, X, y); one that it makes
    itself begins with this state. A step whose optimizer is not seen is
    judged by what it makes of the parameters; of DeepSpeed's engines, the
    gradients are seen, too.

    A norm is seen before it clips if torch.nn.utils.clip_grad_norm_ takes it.
    Call it in every process of a distributed step: each judges its own
    replica, and all return one Comparison, of all ranks.

    `num_devices` is the number of processes, if nothing else is given.

    Raises TypeError if the reference cannot compute in float64, ValueError if
    a function has moved no parameter, or taken several steps, NothingMoves if
    the reference moves none, NeedsLow if the step is further off than rounds
    its dtype and computes in a shorter one than the reference, and what
    `samestep.same_step` raises.
    """
    how.setdefault('num_devices', num_processes())
    batches = [arguments_of(batch) for batch in batches]
    adapter = Adapter(model, optimizer)
    due = [*batches[:1], *batches]  # the step's runs
    try:
        comparison = compared(adapter, step, reference, batches, low, how)
    except Exception as error:
        adapter.keep_up(step, due)
        of_all_ranks(error)
        raise
    adapter.keep_up(step, due)
    return of_all_ranks(comparison)


def of_all_ranks(found):
    """Return one Comparison of what all processes found, each its own. Raises
    RuntimeError if another has raised an error; `found` may be this one's."""
    from torch import distributed

    if num_processes() == 1:
        return found
    ranks: list = [None] * num_processes()
    own = f'{found!r}' if isinstance(found, Exception) else found
    distributed.all_gather_object(ranks, own)
    if isinstance(found, Exception):
        return found
    notes: dict = {}
    for i, other in enumerate(ranks):
        if isinstance(other, str):
            raise RuntimeError(f'rank {i} cannot judge its step: {other}')
        for note in other.notes:
            notes.setdefault(note, []).append(i)
    return Comparison(
        sum((other.differences for other in ranks), []),
        max(other.growth for other in ranks),
        [
            note
            if len(some) == len(ranks)
            else f'{with_numbers("Rank", some)}: {note}'
            for note, some in notes.items()
        ],
        found.still,
        next((other.options for other in ranks if other.options), ''),
    ).without_guesses()


def record(
    path: Any,
    reference: Callable,
    model: Any,
    batch: Any,
    low: Optional[Callable] = None,
    optimizer: Any = None,
    **how: Any,
) -> None:
    """Write what a step of `model` should make of one minibatch to a file.

    `reference`, `low` and `optimizer` are as for `same_step`; the other
    arguments are those of `samestep.record`.
    """
    adapter, arguments = Adapter(model, optimizer), arguments_of(batch)
    adapter.begin(reference, arguments)
    adapter.last = Last({}, arguments, None, {}, '')
    files.record(
        path,
        adapter.taken(reference),
        adapter.start,
        arguments,
        adapter.update(reference),
        low and adapter.taken(low),
        **how,
    )


def judge(
    path: Any,
    step: Callable,
    model: Any,
    names: Optional[dict] = None,
    optimizer: Any = None,
) -> Comparison:
    """Return the Comparison of a step with what a file has, of `record`.

    `model` gets the parameters of the file, and `step` its minibatch. `names`
    are those of `samestep.judge`: what the module calls an array.
    """
    file, adapter = files.Recorded(path, names), Adapter(model, optimizer)
    arrays = adapter.arrays_of(model)
    file.check('gradient', arrays)
    taken = adapter.taken(step)({**arrays, **file.start}, *file.batch)
    return file.judge(taken).change(adapter.placed)


def compared(adapter, step, reference, batches, low, how):
    """Return the Comparison of the functions of the adapter's module."""
    if not batches:
        raise ValueError('batches is empty: give at least one (X, y)')
    adapter.begin(reference, batches[0])
    reference, low = adapter.as_the_step(step, reference, low, batches)
    comparison = compare(
        adapter.taken(step, traced=True),
        adapter.taken(reference),
        adapter.start,
        batches,
        low=low and adapter.taken(low),
        update=adapter.update(reference),
        **how,
    )
    if not comparison and low and adapter.turns_off:
        comparison.notes.append(TURNED_OFF)
    if not comparison and adapter.last.clipped:
        comparison.notes.append(adapter.last.clipped)
    sizes = {size_of(batch) for batch in batches}
    whole = [norm for size in sizes for norm in adapter.norms.get(size, ())]
    if not comparison and not adapter.clips and max(whole, default=0) > 1:
        comparison.notes.append(BY_HAND)
    if comparison and whole and max(whole) <= 1:
        limits = adapter.other_options(lambda key, _: key in CLIPPING)
        comparison.notes.append(f'{NO_NORM} {limits}'.rstrip())
    if comparison and adapter.draws:
        comparison.notes.append(DRAWS)
    comparison = comparison.change(adapter.placed)
    short = adapter.last.trace.short
    if not comparison and low is None and short:
        due = adapter.traced(reference, how.get('dtype', 'float32'))
        check_low(short, due.short)
    comparison = adapter.with_still(adapter.with_options(comparison))
    if 'gradient' in {d.of for d in comparison.failures()}:
        comparison.notes.extend(adapter.places(reference, low, how))
    return comparison


def num_processes():
    """Return how many processes train together."""
    from torch import distributed

    together = distributed.is_available() and distributed.is_initialized()
    return distributed.get_world_size() if together else 1


def arguments_of(batch):
    """Return a minibatch as the arguments after the module, as arrays: a dict
    is one. Raises TypeError if it is neither a dict nor a list of them."""
    if isinstance(batch, Mapping):
        batch = (batch,)
    if not isinstance(batch, (list, tuple)):
        raise TypeError(
            f'a minibatch is a {type(batch).__name__}: give a list of '
            'minibatches, each a tuple or a dict, such as [(X, y)] or [(ids,)]'
        )
    arrays = map_arrays(to_numpy, tuple(batch))
    for name, array in named_arrays(arrays).items():
        if array.dtype.kind not in 'biuf':
            raise TypeError(
                f'part {name} of a minibatch has {array.dtype}, no numbers: '
                'leave it out, and let both functions know it'
            )
    return arrays


def size_of(batch):
    """Return how many numbers a minibatch of arrays has."""
    return sum(array.size for array in named_arrays(batch).values())


class Last(NamedTuple):
    """The last run of the step: what it was given, and what was seen."""

    arrays: dict
    batch: tuple
    trace: Any  # its Trace
    options: dict  # of its optimizer
    clipped: str  # what is wrong in how it clips


class Adapter:
    """Runs functions of a module as functions of arrays."""

    def __init__(self, model, optimizer=None):
        self.model, self.optimizer = model, optimizer
        self.unseen = False  # what the optimizer of the step keeps
        self.kinds = {}  # of the numbers that an optimizer keeps
        # That were to be clipped, as parts of their limits, by the size of
        # the minibatch: a part of one has larger norms.
        self.norms: dict = {}
        self.clips = False  # the step, as far as seen
        self.kernels: Any = None  # of the reference
        self.turns_off = False  # autocast, the reference alone
        self.draws = False  # random numbers, the reference
        self.start: dict = {}  # what the first step is given
        self.num_runs = 0  # of the step
        self.last: Any = None  # of the step, as Last
        self.options: dict = {}  # of the reference's optimizer
        self.inputs: Any = None  # that the reference gives the network first

    def see_inputs(self, _, given, named):
        """Keep what the network is given in the first call of all."""
        if self.inputs is None:
            self.inputs = [t.detach() for t in tensors_in([given, named])]

    def arrays_of(self, model):
        """Return parameters that train, and floating-point buffers."""
        return {
            n: to_numpy(t, copy=False) for n, t in tensors_of(model).items()
        }

    def check_parameters(self, function, model):
        """Raise ValueError if the function has given its module parameters of
        other names, as where it unties a head from an embedding."""
        old, new = owners_in(self.model), owners_in(model)
        if {*old.values()} == {*new.values()}:
            return
        said = []
        for name in {**old, **new}:
            was, now = old.get(name), new.get(name)
            if was is None or now is None:
                said.append(f'{name} is {"gone" if was else "new"}')
            elif now == name != was:
                said.append(f'{name} is no longer tied to {was}')
            elif now != was:
                said.append(f'{name} is tied to {now}')
        raise ValueError(
            f'{called(function)} changes the parameters of its module, so '
            f'they cannot be compared: {in_few(said)}. If that is right, do '
            'it in the module that same_step gets'
        )

    def begin(self, reference, batch):
        """Find from what a step begins: also what an optimizer keeps before
        it has taken one."""
        arrays, before = self.arrays_of(self.model), random_state()
        run = self.run(reference, arrays, batch)
        self.draws = random_state() != before
        if not run.optimizers.steps:
            raise ValueError(
                f'no optimizer is seen in {called(reference)}: take one of '
                'torch.optim there, or give one as `optimizer`'
            )
        self.kernels, self.options = run.kernels, run.optimizers.options
        if not has_moved(run.model, arrays):
            raise NothingMoves(
                f'{called(reference)} moves no parameter, so its update '
                'cannot be judged: take a larger learning rate. If a warmup '
                'begins at 0, begin the schedule some steps later, in both '
                'functions'
            )
        own = dict(self.model.named_parameters())
        copies = copies_in(self.optimizer, own)
        names = {id(param): name for name, param in [*own.items(), *copies]}
        known = {
            f'{name}.{key}': to_numpy(value)
            for _, name, key, value in kept_in(self.optimizer, names)
        }
        for name, a in run.optimizers.state.items():
            arrays[name] = known.get(name, np.zeros_like(a))
        self.start = arrays

    def as_the_step(self, step, reference, low, batches):
        """Return the reference in the memory formats of the step; and `low`,
        or it under the step's autocast, if that alone has one, or None. What
        the step is not seen to keep is none of the arrays."""
        import torch

        self.num_runs += 1
        run = self.run(step, self.start, batches[0])
        self.unseen = run.optimizers.hides or not run.optimizers.steps
        if self.unseen:
            if len(batches) > 1:
                raise ValueError(
                    'what the optimizer of the step keeps is not seen, so it '
                    'cannot go on to a second minibatch: give one'
                )
            own = tensors_of(self.model)
            self.start = {name: self.start[name] for name in own}
        if low:
            return reference, low
        due, how = self.kernels, run.kernels.autocast
        formats = run.kernels.formats - due.formats
        # In both it may be for the loss.
        self.turns_off = due.turns_off and not run.kernels.turns_off

        # Other kernels add in another order, and round more or less.
        @functools.wraps(reference)
        def formatted(model, *given):
            for param in model.parameters():
                param.data = in_formats(param.data, formats)
            put = functools.partial(in_formats, formats=formats)
            reference(model, *map_arrays(put, given))

        plain = formatted if formats else reference

        def autocast(*given):
            with torch.autocast(*how):
                plain(*given)

        return plain, autocast if how and not due.autocast else None

    def taken(self, function, traced=False):
        """Return a function of (arrays, X, y) that returns Taken."""

        def step(arrays, *batch):
            self.num_runs += traced
            run = self.run(function, arrays, batch, traced=traced)
            optimizers = run.optimizers
            if traced:
                start = arrays if self.last else self.start  # held anyway
                own = run.trace, optimizers.options, run.clipping.words()
                self.last = Last(start, batch, *own)
                self.clips |= bool(run.clipping.limits)
            new = self.arrays_of(run.model)
            if not optimizers.steps:
                return new
            seen = {**optimizers.unused, **run.gradients.seen}
            seen.update((name, new[name]) for name in buffers_of(run.model))
            gradients = {
                name: seen.get(name, np.zeros_like(a))
                for name, a in new.items()
            }
            if self.unseen or optimizers.hides:
                return Taken(gradients, new)
            others = [n for n in optimizers.state if n not in arrays]
            if others:
                raise ValueError(
                    f'the optimizer of {called(function)} keeps '
                    f"{in_few(others)}, which the reference's does not: take "
                    'the same optimizer of the same parameters in both'
                )
            return Taken(gradients, {**arrays, **new, **optimizers.state})

        return step

    def keep_up(self, step, due):
        """Run the step as often as is due, where this process has found a
        difference or failed: other processes, which may have not, run it, and
        wait for this one in their collectives."""
        arrays = self.start or self.arrays_of(self.model)
        for batch in due[self.num_runs :] if num_processes() > 1 else ():
            with contextlib.suppress(Exception):
                self.run(step, arrays, batch)

    def update(self, reference):
        """Return a function of (arrays, gradients): the reference with the
        minibatch that the step had last, which finds these gradients in place
        of those it computed."""

        def update(arrays, gradients):
            run = self.run(reference, arrays, self.last.batch, gradients)
            self.options = run.optimizers.options
            new = self.arrays_of(run.model)
            new.update((n, gradients[n]) for n in buffers_of(run.model))
            new = {**arrays, **new, **run.optimizers.state}
            return {name: new[name] for name in arrays}

        return update

    def placed(self, difference):
        """Return a difference with the rank of this process, and, if it is
        of a buffer, not as one of a gradient."""
        from torch import distributed

        rank = distributed.get_rank() if num_processes() > 1 else 0
        is_buffer = difference.name in buffers_of(self.model)
        of = '' if is_buffer else difference.of
        return difference._replace(replica=rank, of=of)

    def other_options(self, which=lambda key, names: True):
        """Return in words, or '', the options of the step's optimizer that
        the reference's has not, and limits of clipping: those of which
        `which`, a function of an option and parameters, is true."""
        axes = {
            name: param.ndim
            for name, param in self.model.named_parameters()
            if name in self.options
        }
        changes = changes_between(self.last.options, self.options)
        some = {c: own for c, own in changes.items() if which(c[0], own)}
        return words_for(some, axes)

    def with_options(self, comparison):
        """Return the comparison with other options: they are a cause of a
        wrong update, and make steps differ that are equal by chance."""
        if comparison:
            hidden = functools.partial(is_hidden, options=self.options)
            said = self.other_options(hidden)
            return dataclasses.replace(comparison, options=said)
        said = self.other_options()
        return comparison.change(
            lambda d: (
                d._replace(cause=said)
                if said and d.of == 'update' and not d.error <= d.bound
                else d
            )
        )

    def with_still(self, comparison):
        """Return the comparison with what was not judged: what is frozen, and
        what is trained and has no gradient here."""
        params = dict(self.model.named_parameters())
        still = [name for name in comparison.still if name in params]
        of_them = tuple(f'{name}.' for name in still)
        others = [
            name
            for name in comparison.still
            if name not in params and not name.startswith(of_them)
        ]
        for words, names in (
            (FROZEN, [name for name in still if name not in self.options]),
            (UNSEEN, [name for name in still if name in self.options]),
        ):
            if comparison and names:
                comparison.notes.append(words.format(in_few(names)))
        return dataclasses.replace(comparison, still=others)

    def places(self, reference, low, how):
        """Return in a list where the last step went wrong, if it is seen."""
        dtype, factor = how.get('dtype', 'float32'), how.get('factor', 4)
        measure, low = Measure(dtype, factor, 0), low or reference
        right = self.traced(reference, 'float64')
        lows = [self.traced(low, dtype)]
        for seed in range(NUM_NEAR):
            near = functools.partial(measure.nearby, seed=seed)
            lows.append(self.traced(low, dtype, near))
        words = place_of_error(
            self.last.trace, right, lows, measure, num_processes()
        )
        return [words] if words else []

    def traced(self, function, dtype, change=lambda arrays: arrays):
        """Return the Trace of the function, of what the last step was given
        in floats of `dtype`, after a change."""
        arrays, batch, *_ = self.last
        own = dict(zip(arrays, cast(change([*arrays.values()]), dtype)))
        rows = map_arrays(lambda part: cast([part], dtype)[0], batch)
        return self.run(function, own, rows, traced=True).trace

    def run(self, function, arrays, batch, gradients=None, traced=False):
        """Let the function train a copy of the module; return the Run."""
        model, optimizer = copy.deepcopy((self.model, self.optimizer))
        first = next(iter(tensors_of(model)))
        in_float64 = arrays[first].dtype == np.float64
        if in_float64:
            model = model.double()
        for name, tensor in tensors_of(model).items():
            set_tensor(tensor, arrays[name])
        like = next(p for p in model.parameters() if p.is_floating_point())
        rows = map_arrays(lambda part: to_tensor(part, like), batch)
        norms: list = []
        if gradients is None:  # those given may be of a part
            norms = self.norms.setdefault(size_of(batch), norms)
        run = Run(model, arrays, gradients, self.kinds, norms)
        run.optimizers.originals.update(map(id, self.model.parameters()))
        if optimizer is not None:
            run.optimizers.take(optimizer, in_float64)
        if self.inputs is None:
            model.register_forward_pre_hook(self.see_inputs, with_kwargs=True)
        if traced:
            run.trace = Trace(model, rows, self.inputs_of(rows, like))
        parts = run.optimizers, run.clipping, run.kernels, run.trace
        with contextlib.ExitStack() as stack:
            for part in filter(None, parts):
                stack.enter_context(part.watched())
            try:
                own = [] if optimizer is None else [optimizer]
                function(model, *own, *rows)
            except (RuntimeError, ValueError, TypeError) as error:
                words = why_not_float64(error) if in_float64 else ''
                if not words:
                    raise
                words = FAILS.format(called(function), error, words)
                raise TypeError(words) from error
        if run.trace:
            run.trace.see_gradients(run.gradients.seen)
        self.check_parameters(function, model)
        steps = max(run.optimizers.steps.values(), default=0)
        if steps > 1 or not (steps or has_moved(model, arrays)):
            raise ValueError(
                f'{called(function)} has taken {steps} steps with an '
                'optimizer, and must take one. Make the optimizer of the '
                'module that the function gets, or give it as `optimizer` '
                'and take the copy that the function gets then; call its '
                'step() once'
            )
        return run

    def inputs_of(self, rows, like):
        """Return the network's first inputs, of those with all rows of the
        minibatch, with the floats of this run."""
        lengths = {len(part) for part in tensors_in(rows) if part.ndim}
        return [
            to_tensor(to_numpy(part), like)
            for part in self.inputs or ()
            if part.ndim and {len(part)} == lengths
        ]


class Run:
    """One call: what was seen of it."""

    def __init__(self, model, arrays, given, kinds, norms):
        self.model = model
        self.gradients = Gradients(model, given)
        self.clipping = Clipping(self.gradients, norms)
        self.optimizers = Optimizers(
            self.gradients, self.clipping, arrays, kinds
        )
        self.kernels = Kernels()
        self.trace: Any = None  # of its modules


def why_not_float64(error):
    """Return in words what to change so that a function can compute in
    float64, or '' if that is not what the error is of."""
    said = f'{error}'.lower()
    for word, advice in NO_FLOAT64.items():
        if word in said:
            return advice
    is_cast = isinstance(error, RuntimeError) and 'double' in said
    return CAST if is_cast else ''


def owners_in(model):
    """Return for each name of a parameter the first that the parameter has:
    of those that are tied, another."""
    first: dict = {}
    named = model.named_parameters(remove_duplicate=False)
    return {name: first.setdefault(id(p), name) for name, p in named}


def has_moved(model, arrays):
    """Return whether a parameter has other numbers than its array."""
    return any(
        not np.array_equal(to_numpy(param, copy=False), arrays[name])
        for name, param in model.named_parameters()
        if name in arrays
    )


def random_state():
    """Return how far PyTorch's random numbers are drawn."""
    import torch

    states = [torch.get_rng_state()]
    if torch.cuda.is_available():
        states += torch.cuda.get_rng_state_all()
    return [state.tolist() for state in states]
