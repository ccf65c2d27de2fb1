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
from .measure import Measure, NeedsLow, NothingMoves
from .torch_modules import Trace, place_of_error, tensors_in
from .torch_options import (
    CLIPPING,
    changes_between,
    hidden,
    words_for,
)
from .torch_precision import short_kind
from .torch_precision import words_for as words_for_low
from .torch_tensors import (
    buffers_of,
    in_formats,
    tensors_of,
    to_numpy,
    to_tensor,
)
from .torch_watch import Clipping, Gradients, Kernels, Optimizers, kept_by
from .trees import called, in_few, map_arrays, named_arrays

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
HAND_MADE = (
    'No optimizer is seen in {}, so only new parameters were compared: what '
    'clipping or the optimizer hides of the gradients is not seen. Give the '
    'optimizer as `optimizer`, if there is one.'
)
UNSEEN = (
    'Trained, but not judged, since their gradients are 0 here: {}. What is '
    'wrong with them is not seen: begin where they are not, such as some '
    'steps later.'
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
    itself begins with this state. A step whose optimizer is not
    seen is judged by what it makes of the parameters.

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
    due = batches if low else [*batches[:1], *batches]  # the step's runs
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
    own = f'{found!r}' if isinstance(found, Exception) else vars(found)
    distributed.all_gather_object(ranks, own)
    errors = {i: a for i, a in enumerate(ranks) if isinstance(a, str)}
    if isinstance(found, Exception):
        return found
    for i, error in errors.items():
        raise RuntimeError(f'rank {i} cannot judge its step: {error}')
    notes: dict = {}
    for i, other in enumerate(ranks):
        for note in other['notes']:
            notes.setdefault(note, []).append(i)
    return Comparison(
        sum((other['differences'] for other in ranks), []),
        max(other['growth'] for other in ranks),
        [
            note if len(some) == len(ranks) else f'Rank {some[0]}: {note}'
            for note, some in notes.items()
        ],
        found.still,
        next(filter(None, (other['options'] for other in ranks)), ''),
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
    first = adapter.state_of(reference, arguments)
    if adapter.by_hand:
        raise ValueError(HAND_MADE.format('the reference'))
    adapter.last = Last({}, arguments, None, {}, {})
    files.record(
        path,
        adapter.taken(reference),
        {**adapter.arrays_of(model), **first},
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
    start = file.start()
    shapes = {n: a.shape for n, a in arrays.items()}
    for name in {*start} & {*arrays}:
        if start[name].shape != shapes[name]:
            raise ValueError(
                f'{name} has the shape {shapes[name]}, and '
                f'{start[name].shape} in the file: give `names` with axes'
            )
    file.check_names(arrays)
    taken = adapter.taken(step)
    found = file.judge(taken({**arrays, **start}, *file.batch()))
    return found.change(adapter.placed)


def compared(adapter, step, reference, batches, low, how):
    """Return the Comparison of the functions of the adapter's module."""
    first = adapter.state_of(reference, batches[0]) if batches else {}
    noticed = batches and low is None
    if noticed:
        reference, low = adapter.as_the_step(
            step, reference, first, batches[0]
        )
    adapter.start = {**adapter.arrays_of(adapter.model), **first}
    comparison = compare(
        adapter.taken(step, traced=True),
        adapter.taken(reference),
        adapter.start,
        batches,
        low=low and adapter.taken(low),
        update=None if adapter.by_hand else adapter.update(reference),
        **how,
    )
    comparison = adapter.without_unseen(comparison, batches)
    if not comparison and noticed and low and adapter.turns_off:
        comparison.notes.append(
            'The step uses autocast, which the reference turns off: give as '
            '`low` the reference with autocast.'
        )
    if not comparison and adapter.clips_again:
        comparison.notes.append(
            'The step clips gradients more than once, and those before the '
            'first clipping were compared: sum all of them, then clip.'
        )
    elif not comparison and adapter.clips_early:
        comparison.notes.append(
            'The step changes gradients after it has clipped them, and those '
            'before the clipping were compared: sum or exchange them, then '
            'clip.'
        )
    if comparison and adapter.norms and max(adapter.norms) <= 1:
        comparison.notes.append(
            'Clipping is not judged: no norm is above its limit. Take a '
            f'lower limit in both functions.{adapter.other_limits()}'
        )
    if comparison and adapter.draws:
        comparison.notes.append(
            'The reference draws random numbers, such as those of dropout. '
            'In another order examples get others, and what that changes '
            'hides errors: turn it off in both functions.'
        )
    comparison = comparison.change(adapter.placed)
    if batches:
        adapter.note_options(reference)
    if not comparison and low is None:
        adapter.check_precision(reference, how)
    if batches:
        comparison = adapter.with_options(comparison, reference)
    comparison = adapter.with_still(comparison)
    if 'gradient' in {d.of for d in comparison.failures()}:
        comparison.notes.extend(adapter.places(reference, low, how))
    return comparison


def num_processes():
    """Return how many processes train together."""
    from torch import distributed

    together = distributed.is_available() and distributed.is_initialized()
    return distributed.get_world_size() if together else 1


def rank():
    """Return the rank of this process."""
    from torch import distributed

    return distributed.get_rank() if num_processes() > 1 else 0


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
    arrays = tuple(map(to_numpy, batch))
    for name, array in named_arrays(arrays).items():
        if array.dtype.kind not in 'biuf':
            raise TypeError(
                f'part {name} of a minibatch has {array.dtype}, no numbers: '
                'leave it out, and let both functions know it'
            )
    return arrays


class Last(NamedTuple):
    """The last run of the step: what it was given, and what was seen."""

    arrays: dict
    batch: tuple
    trace: Any  # its Trace
    options: dict  # of its optimizer
    gradients: dict


class Adapter:
    """Runs functions of a module as functions of arrays."""

    def __init__(self, model, optimizer=None):
        self.model, self.optimizer = model, optimizer
        self.by_hand = False  # the reference has no optimizer that is seen
        self.unseen = False  # that of the step
        self.kinds = {}  # of the numbers that an optimizer keeps
        self.norms = []  # that were to be clipped, as parts of their limits
        self.clips_again = False  # the step
        self.clips_early = False  # the step
        self.autocast: tuple = ()  # that of the reference
        self.formats: set = set()  # memory formats of the reference
        self.turns_off = False  # the reference
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
        old, new = (dict(m.named_parameters()) for m in (self.model, model))
        if {*old} == {*new}:
            return
        tied = dict(self.model.named_parameters(remove_duplicate=False))
        owners = {id(param): name for name, param in old.items()}
        said = [
            f'{name} is no longer tied to {owners[id(tied[name])]}'
            if name in tied
            else f'{name} is new'
            for name in new
            if name not in old
        ]
        aliases = dict(model.named_parameters(remove_duplicate=False))
        own = {id(param): name for name, param in new.items()}
        said += [
            f'{name} is tied to {own[id(aliases[name])]}'
            if name in aliases
            else f'{name} is gone'
            for name in old
            if name not in new
        ]
        raise ValueError(
            f'{called(function)} changes the parameters of its module, so '
            f'they cannot be compared: {in_few(said)}. If that is right, do '
            'it in the module that same_step gets'
        )

    def state_of(self, reference, batch):
        """Return what an optimizer keeps, before it has taken a step."""
        arrays, before = self.arrays_of(self.model), random_state()
        run = self.run(reference, arrays, batch)
        self.draws = random_state() != before
        self.by_hand = not run.optimizers.steps
        kernels, self.options = run.kernels, run.optimizers.options
        self.autocast, self.turns_off = kernels.autocast, kernels.turns_off
        self.formats = kernels.formats
        if not any(
            (to_numpy(param, copy=False) != arrays[name]).any()
            for name, param in run.model.named_parameters()
        ):
            raise NothingMoves(
                f'{called(reference)} moves no parameter, so its update '
                'cannot be judged: take a larger learning rate. If a warmup '
                'begins at 0, begin the schedule some steps later, in both '
                'functions'
            )
        known = kept_by(self.optimizer, self.model)
        return {
            name: known.get(name, np.zeros_like(a))
            for name, a in run.optimizers.state.items()
        }

    def as_the_step(self, step, reference, state, batch):
        """Return the reference in the memory formats of the step; and under
        its autocast, if the step alone has one, or None."""
        import torch

        arrays = {**self.arrays_of(self.model), **state}
        self.num_runs += 1
        run = self.run(step, arrays, batch)
        kernels, how = run.kernels, run.kernels.autocast
        formats = kernels.formats - self.formats
        self.turns_off &= not kernels.turns_off  # as for the loss, in both

        # Other kernels add in another order, and round more or less.
        @functools.wraps(reference)
        def formatted(model, *given):
            for param in model.parameters():
                param.data = in_formats(param.data, formats)
            reference(model, *in_formats(given, formats))

        plain = formatted if formats else reference

        def low(*given):
            with torch.autocast(*how):
                plain(*given)

        return plain, low if how and not self.autocast else None

    def taken(self, function, traced=False):
        """Return a function of (arrays, X, y) that returns Taken."""

        def step(arrays, *batch):
            self.num_runs += traced
            run = self.run(function, arrays, batch, traced=traced)
            optimizers = run.optimizers
            if traced:
                times = run.clipping.times.values()
                self.clips_again |= max(times, default=0) > 1
                self.clips_early |= run.clipping.changed
            new = self.arrays_of(run.model)
            if traced and not optimizers.steps:
                self.unseen = True
            if self.by_hand or not optimizers.steps:
                if traced:
                    start = arrays if self.last else self.start
                    self.last = Last(start, batch, run.trace, {}, {})
                return {**arrays, **new}
            seen = {**optimizers.unused, **run.gradients.seen}
            gradients = {
                name: seen.get(name, np.zeros_like(new[name]))
                for name, _ in run.model.named_parameters()
            }
            gradients.update(
                (name, new[name]) for name in buffers_of(run.model)
            )
            others = [n for n in optimizers.state if n not in arrays]
            if others:
                raise ValueError(
                    f'the optimizer of {called(function)} keeps '
                    f"{in_few(others)}, which the reference's does not: take "
                    'the same optimizer of the same parameters in both'
                )
            if traced:
                start = arrays if self.last else self.start  # held anyway
                options = optimizers.options
                self.last = Last(start, batch, run.trace, options, gradients)
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
            new = self.arrays_of(run.model)
            new.update((n, gradients[n]) for n in buffers_of(run.model))
            return {**arrays, **new, **run.optimizers.state}

        return update

    def without_unseen(self, comparison, batches):
        """Return the comparison without what an optimizer that is not seen
        keeps, with a note."""
        if self.by_hand or self.unseen:
            who = 'the reference' if self.by_hand else 'the step'
            comparison.notes.append(HAND_MADE.format(who))
        if not self.unseen:
            return comparison
        if len(batches) > 1:
            raise ValueError(
                'what the optimizer of the step keeps is not seen, so it '
                'cannot go on to a second minibatch: give one'
            )
        known = tensors_of(self.model)
        return dataclasses.replace(
            comparison,
            differences=[d for d in comparison.differences if d.name in known],
        )

    def placed(self, difference):
        """Return a difference with the rank of this process, and, if it is
        of a buffer, not as one of a gradient."""
        name, of = difference.name, difference.of
        of = '' if name in buffers_of(self.model) else of
        return difference._replace(replica=rank(), of=of)

    def axes(self):
        """Return how many axes each parameter has that is trained."""
        return {
            name: param.ndim
            for name, param in self.model.named_parameters()
            if name in self.options
        }

    def other_limits(self):
        """Return in words which limits of clipping the step has, if they are
        others: it may clip in a way that is not seen."""
        changes = changes_between(self.last.options, self.options)
        limits = {own: changes[own] for own in changes if own[0] in CLIPPING}
        return f' {words_for(limits, self.axes())}.' if limits else ''

    def note_options(self, reference):
        """Keep the options of the reference's optimizer in the last step."""
        run = self.run(reference, self.last.arrays, self.last.batch)
        self.options = run.optimizers.options

    def with_options(self, comparison, reference):
        """Return the comparison with the options of the step's optimizer that
        the reference's has not: they are a cause of a wrong update, and make
        steps differ that are equal by chance."""
        changes = changes_between(self.last.options, self.options)
        if comparison:
            changes = hidden(changes, self.options)
        said = f'{words_for(changes, self.axes())}.' if changes else ''
        if comparison:
            return dataclasses.replace(comparison, options=said)
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
        frozen = [name for name in still if name not in self.options]
        trained = [name for name in still if name in self.options]
        if comparison and frozen:
            names = in_few(frozen)
            comparison.notes.append(f'Frozen in both, and still: {names}.')
        if comparison and trained:
            comparison.notes.append(UNSEEN.format(in_few(trained)))
        return dataclasses.replace(comparison, still=others)

    def check_precision(self, reference, how):
        """Raise NeedsLow if the step rounds more than its reference does."""
        if not self.last:
            return
        arrays, batch = self.last.arrays, self.last.batch
        step = {
            **self.last.trace.short,
            **short_gradients(self.last.gradients),
        }
        if not step:
            return
        dtype = how.get('dtype', 'float32')
        own = dict(zip(arrays, cast([*arrays.values()], dtype)))
        rows = as_floats(batch, dtype)
        run = self.run(reference, own, rows, traced=True)
        seen = {**run.trace.short, **short_gradients(run.gradients.seen)}
        words = words_for_low(step, seen)
        if words:
            raise NeedsLow(words)

    def places(self, reference, low, how):
        """Return in a list where the last step went wrong, if it is seen."""
        arrays, batch, seen, *_ = self.last
        self.last = None  # whose arrays may be large
        measure = measure_of(how)

        def trace(function, dtype, values):
            own = dict(zip(arrays, cast(values, dtype)))
            rows = as_floats(batch, dtype)
            return self.run(function, own, rows, traced=True).trace

        def near(seed):
            return measure.nearby(values, seed)

        values = [*arrays.values()]
        right = trace(reference, 'float64', values)
        lows = [trace(low or reference, measure.dtype, values)]
        for seed in range(NUM_NEAR):
            lows.append(trace(low or reference, measure.dtype, near(seed)))
        words = place_of_error(seen, right, lows, measure, num_processes())
        return [words] if words else []

    def run(self, function, arrays, batch, gradients=None, traced=False):
        """Let the function train a copy of the module; return the Run."""
        import torch

        model, optimizer = copy.deepcopy((self.model, self.optimizer))
        known = tensors_of(model)
        floats = [a.dtype for n, a in arrays.items() if n in known]
        in_float64 = bool(floats) and floats[0] == np.float64
        if in_float64:
            model = model.double()
        with torch.no_grad():
            for name, tensor in tensors_of(model).items():
                tensor.copy_(torch.as_tensor(np.array(arrays[name])))
        like = next(p for p in model.parameters() if p.is_floating_point())
        rows = [to_tensor(part, like) for part in batch]
        run = Run(model, arrays, gradients, self.kinds, self.norms)
        run.optimizers.originals.update(map(id, self.model.parameters()))
        if optimizer is not None:
            run.optimizers.take(optimizer, in_float64)
        if self.inputs is None:
            model.register_forward_pre_hook(self.see_inputs, with_kwargs=True)
        if traced:
            run.trace = Trace(model, rows, self.inputs_of(rows, like))
        with run.watched():
            try:
                own = [] if optimizer is None else [optimizer]
                function(model, *own, *rows)
            except (RuntimeError, ValueError, TypeError) as error:
                words = why_not_float64(error) if in_float64 else ''
                if not words:
                    raise
                words = FAILS.format(called(function), error, words)
                raise TypeError(words) from error
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

    @contextlib.contextmanager
    def watched(self):
        """See all that happens in the block."""
        with contextlib.ExitStack() as stack:
            for part in (
                self.optimizers,
                self.clipping,
                self.kernels,
                self.trace,
            ):
                if part:
                    stack.enter_context(part.watched())
            yield


def why_not_float64(error):
    """Return in words what to change so that a function can compute in
    float64, or '' if that is not what the error is of."""
    said = f'{error}'.lower()
    for word, advice in NO_FLOAT64.items():
        if word in said:
            return advice
    is_cast = isinstance(error, RuntimeError) and 'double' in said
    return CAST if is_cast else ''


def has_moved(model, arrays):
    """Return whether a parameter has other numbers than its array."""
    return any(
        not np.array_equal(to_numpy(param, copy=False), arrays[name])
        for name, param in model.named_parameters()
        if name in arrays
    )


def as_floats(batch, dtype):
    """Return a minibatch with floats of this dtype."""
    return map_arrays(lambda a: cast([a], dtype)[0], batch)


def measure_of(how):
    """Return the Measure of these arguments, without orders."""
    return Measure(how.get('dtype', 'float32'), how.get('factor', 4), 0)


def short_gradients(gradients):
    """Return which gradients have been rounded to 16 bits, in words.

    Not of those that are what is left of sums that cancel: few bits, too.
    """
    sizes = {name: abs(g).max(initial=0) for name, g in gradients.items()}
    least = 1e-4 * max(sizes.values(), default=0)
    kinds = {
        f'the gradient of {n}': short_kind(g)
        for n, g in gradients.items()
        if sizes[n] > least
    }
    return {where: kind for where, kind in kinds.items() if kind}


def random_state():
    """Return how far PyTorch's random numbers are drawn."""
    import torch

    states = [torch.get_rng_state()]
    if torch.cuda.is_available():
        states += torch.cuda.get_rng_state_all()
    return [state.tolist() for state in states]
