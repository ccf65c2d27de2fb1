"""What a call of a PyTorch step does with gradients, clipping, its optimizers
and kernels, as it is seen from outside; for `samestep.torch`."""

import collections
import contextlib
import sys
import types
from typing import Any

import numpy as np

from .torch_options import options_of
from .torch_tensors import (
    bytes_of,
    from_array,
    grads_of,
    set_tensor,
    to_numpy,
)

MADE_OUTSIDE = (
    'the optimizer has the parameters of the module that same_step got, and '
    'functions get copies: give it as `optimizer`, and let both functions be '
    'of (model, optimizer, X, y)'
)
CLIPS_AGAIN = (
    'The step clips gradients more than once, and those before the first '
    'clipping were compared: sum all of them, then clip.'
)
CLIPS_EARLY = (
    'The step changes gradients after it has clipped them, and those before '
    'the clipping were compared: sum or exchange them, then clip.'
)
TAKE_STEP = '_take_model_step'  # of DeepSpeed
UNLIMITED = {'max_norm': np.inf, 'clip_value': np.inf}  # without clipping


class Gradients:
    """As they are when something first clips or uses them."""

    def __init__(self, model, given):
        self.model = model
        self.given = given  # those to put in their place, or None
        self.seen: dict = {}
        self.masters: list = []  # copies that an optimizer has, with names

    def names(self):
        """Return the names of the parameters by what they are."""
        return {id(p): name for name, p in self.params()}

    def params(self):
        """Return the parameters, and copies of them that an optimizer has."""
        return [*self.model.named_parameters(), *self.masters]

    def see(self, tensors):
        """See gradients for the first time, or put others in their place."""
        own = {id(t) for t in tensors}
        for name, param in self.params():
            if name in self.seen or id(param.grad) not in own:
                continue
            if self.given is None:
                self.seen[name] = to_numpy(param.grad)
            else:
                self.seen[name] = self.given[name]
                set_tensor(param.grad, self.given[name])


class Clipping:
    """Which gradients are clipped, to which limits; `norms`: a list that gets
    the norms, as parts of their limits."""

    def __init__(self, gradients, norms):
        self.gradients, self.norms = gradients, norms
        self.limits: dict = {}  # by parameter
        self.times: collections.Counter = collections.Counter()
        self.left: dict = {}  # some numbers of what it has left
        self.changed = False  # what it has left, before the optimizer's step

    @contextlib.contextmanager
    def watched(self):
        """See the calls of PyTorch's functions that clip, or take norms."""
        import torch
        from torch.nn.utils import clip_grad

        # Since PyTorch 2.6 one function clips, and may be given the norm.
        clips = '_clip_grads_with_norm_'
        if not hasattr(clip_grad, clips):
            clips = 'clip_grad_norm_'
        with contextlib.ExitStack() as stack:
            for name, grads_in, what in (
                ('_get_total_norm', list, ''),
                ('get_total_norm', list, ''),
                (clips, grads_of, 'max_norm'),
                ('clip_grad_value_', grads_of, 'clip_value'),
            ):
                places = clip_grad, torch.nn.utils
                for holder, key in holders_of(name, places):
                    new = self.watching(getattr(holder, key), grads_in, what)
                    stack.enter_context(replaced(holder, key, new))
            yield

    def watching(self, function, grads_in, what):
        """Return a function that clips as this one does, and is seen; `what`:
        its argument that is a limit, if it has one."""
        import torch

        def watch(*given, **others):
            named = {'parameters', 'tensors'} & {*others}
            tensors, *more = [*map(others.pop, named), *given]
            tensors = [tensors] if torch.is_tensor(tensors) else [*tensors]
            self.gradients.see(grads_in(tensors))
            if not what:
                return function(tensors, *more, **others)
            limit = float(others[what] if what in others else more[0])
            result = function(tensors, *more, **others)
            names = self.gradients.names()
            own = {names[id(p)]: p for p in tensors if id(p) in names}
            for name, param in own.items():
                self.limits.setdefault(name, {})[what] = limit
                if param.grad is not None:
                    self.left[name] = bytes_of(param.grad)
            if what == 'max_norm':
                self.times.update([*own])
                if 0 < limit < np.inf:
                    norm = result
                    if norm is None:
                        norm = others.get('total_norm', [*more, None][1])
                    self.norms.append(float(to_numpy(norm)) / limit)
            return result

        return watch

    def words(self):
        """Return in words what is wrong in how gradients are clipped."""
        if max(self.times.values(), default=0) > 1:
            return CLIPS_AGAIN
        return CLIPS_EARLY if self.changed else ''

    def compare(self):
        """Note whether gradients are others than clipping has left."""
        self.changed |= any(
            [  # all of them: the parts of a DTensor come from all processes
                bytes_of(param.grad) != self.left[name]
                for name, param in self.gradients.model.named_parameters()
                if name in self.left and param.grad is not None
            ]
        )


class Optimizers:
    """The steps of optimizers: what they get, and keep.

    `arrays`: what they kept before, by name; `kinds`: of what tensors that
    was.
    """

    def __init__(self, gradients, clipping, arrays, kinds):
        self.gradients, self.clipping = gradients, clipping
        self.arrays, self.kinds = arrays, kinds
        self.steps: collections.Counter = collections.Counter()
        self.options: dict = {}  # with the limits of clipping, by parameter
        self.state: dict = {}  # what they keep afterwards
        self.times = 0  # that a closure was called
        self.unused: dict = {}  # gradients that they do not get
        self.depth = 0  # of optimizers whose step calls another's
        self.given: Any = None  # one that began with the state of the arrays
        self.other: Any = None  # one that is none of torch.optim
        self.originals: set = set()  # parameters that are none of this call
        self.hides: Any = None  # an engine, what its optimizer keeps

    @contextlib.contextmanager
    def watched(self):
        """See the steps of all optimizers."""
        from torch.optim import optimizer

        with contextlib.ExitStack() as stack:
            for handle in (
                optimizer.register_optimizer_step_pre_hook(self.before_step),
                optimizer.register_optimizer_step_post_hook(self.after_step),
            ):
                stack.callback(handle.remove)
            if self.other is not None:
                own = self.watching(self.other)
                stack.enter_context(replaced(self.other, 'step', own))
            deepspeed = sys.modules.get('deepspeed')
            engine = getattr(deepspeed, 'DeepSpeedEngine', None)
            if hasattr(engine, TAKE_STEP):
                own = self.in_engine(getattr(engine, TAKE_STEP))
                stack.enter_context(replaced(engine, TAKE_STEP, own))
            yield

    def take(self, optimizer, in_float64):
        """Take an optimizer that is given: one of another class is watched,
        too, and copies of parameters that it has begin as these."""
        from torch.optim import Optimizer

        if not isinstance(optimizer, Optimizer):
            self.other = optimizer
        own = dict(self.gradients.model.named_parameters())
        for name, master in copies_in(optimizer, own):
            if in_float64:
                master.data = master.data.double()
            master.data.copy_(own[name].data)
            self.gradients.masters.append((name, master))
        self.given = optimizer
        self.restore(optimizer)

    def restore(self, optimizer):
        """Give an optimizer the state of the arrays."""
        names = self.gradients.names()
        for param in params_in(optimizer):
            name = names.get(id(param))
            kinds = self.kinds.get((type(optimizer), name), {})
            kept = {
                key: self.arrays[f'{name}.{key}']
                for key in kinds
                if f'{name}.{key}' in self.arrays
            }
            # Zeros stand for no state yet: some begin with other numbers, as
            # ASGD does with a rate.
            for key in kept if any(a.any() for a in kept.values()) else ():
                new = from_array(kept[key], kinds[key], param)
                optimizer.state[param][key] = new

    def watching(self, optimizer):
        """Return the step of an optimizer of another class, seen."""
        function = optimizer.step

        def step(*given, **named):
            changed = self.before_step(optimizer, (optimizer, *given), named)
            if changed:
                given, named = changed[0][1:], changed[1]
            result = function(*given, **named)
            self.after_step(optimizer)
            return result

        return step

    def in_engine(self, function):
        """Return DeepSpeed's step at the end of a minibatch, seen: what its
        optimizer gets are parts of gradients that it has clipped."""

        def step(engine, *given, **named):
            from deepspeed.utils import safe_get_full_grad

            scale = engine._get_optimizer_loss_scale() or 1
            params = dict(self.gradients.model.named_parameters())
            seen = self.gradients.seen
            for name, param in params.items():
                grad = safe_get_full_grad(param)
                if grad is not None:
                    seen[name] = to_numpy(grad) / scale
            limit = engine.gradient_clipping()
            if limit > 0:
                for name in seen:
                    self.clipping.limits[name] = {'max_norm': float(limit)}
                norm = np.linalg.norm([*map(np.linalg.norm, seen.values())])
                self.clipping.norms.append(norm / limit)
            if self.hides is None:
                self.steps.clear()  # of what begins with a step by 0
            inner = engine.basic_optimizer
            own = {*map(id, params.values())}
            self.hides = not own & {*map(id, params_in(inner))}
            first, *others = inner.param_groups
            alike = {  # in all groups: whose they are is no longer seen
                key: first.get(key)
                for key in inner.defaults
                if all(group.get(key) == first.get(key) for group in others)
            }
            whole = types.SimpleNamespace(
                defaults=inner.defaults,
                param_groups=[{**alike, 'params': [*params.values()]}],
            )
            self.before_step(whole, (whole,), {})
            function(engine, *given, **named)
            self.after_step(whole)

        return step

    def before_step(self, optimizer, given, named):
        """See what an optimizer gets; give it the state of the arrays. Return
        what it is called with: a closure, as Lightning has, computes the
        gradients in the step."""
        self.depth += 1
        params = params_in(optimizer)
        if self.originals & {id(p) for p in params}:
            raise ValueError(MADE_OUTSIDE)
        own = dict(self.gradients.model.named_parameters())
        if not self.gradients.masters:
            self.gradients.masters.extend(copies_in(optimizer, own))
        if optimizer is self.other and not params:
            params = [p for p in own.values() if p.requires_grad]
        names = self.gradients.names()
        trained = [names[id(p)] for p in params if id(p) in names]
        if not trained:
            return None
        if self.depth == 1:
            self.steps.update(trained)
        for name, own in options_of(optimizer, names).items():
            limits = self.clipping.limits.get(name, {})
            self.options[name] = {**UNLIMITED, **limits, **own}
        closure = named.get('closure') or [*given[1:], None][0]

        def watched():
            self.times += 1
            if self.times > 1:
                raise ValueError(
                    f'{type(optimizer).__name__} computes gradients several '
                    'times in a step: take another optimizer in both '
                    'functions, such as SGD, and judge the gradients'
                )
            loss = closure()
            self.gradients.see(grads_of(params))
            return loss

        if closure is None:
            self.clipping.compare()
            self.gradients.see(grads_of(params))
            self.unused.update(
                (name, to_numpy(param.grad))
                for name, param in self.gradients.model.named_parameters()
                if param.grad is not None and name not in self.gradients.seen
            )
        if optimizer is not self.given:  # which may have lost it since
            self.restore(optimizer)
        return closure and ((optimizer, watched), {})

    def after_step(self, optimizer, *_):
        """Read the state of an optimizer."""
        self.depth -= 1
        names = self.gradients.names()
        for param, name, key, value in kept_in(optimizer, names):
            self.state[f'{name}.{key}'] = to_numpy(value, copy=False)
            if not hasattr(value, 'full_tensor'):
                kinds = self.kinds.setdefault((type(optimizer), name), {})
                like = getattr(value, 'shape', ()) == param.shape
                kinds.setdefault(key, value.to('meta') if like else value)
        if hasattr(optimizer, 'consolidate_state_dict'):
            from torch import distributed

            group = optimizer.process_group  # each process keeps a part
            parts: list = [None] * distributed.get_world_size(group)
            distributed.all_gather_object(parts, self.state, group=group)
            self.state = {n: a for part in parts for n, a in part.items()}


class Kernels:
    """What decides which kernels run: autocast, and channels put last."""

    def __init__(self):
        self.autocast: tuple = ()  # the device and the dtype, if there is one
        self.turns_off = False  # autocast, somewhere
        self.formats: set = set()  # with channels last

    @contextlib.contextmanager
    def watched(self):
        """See autocast, and tensors that get another memory format."""
        import torch

        last = {torch.channels_last, torch.channels_last_3d}

        def entering(autocast, enter=torch.autocast.__enter__):
            if autocast._enabled:
                self.autocast = autocast.device, autocast.fast_dtype
            else:
                self.turns_off = True
            return enter(autocast)

        def formatting(function):
            def watch(*given, **named):
                self.formats |= {named.get('memory_format')} & last
                return function(*given, **named)

            return watch

        with contextlib.ExitStack() as stack:
            stack.enter_context(
                replaced(torch.autocast, '__enter__', entering)
            )
            for name in 'to', 'contiguous':
                new = formatting(getattr(torch.Tensor, name))
                stack.enter_context(replaced(torch.Tensor, name, new))
            yield


def params_in(optimizer):
    """Return the parameters of an optimizer, as far as it says them."""
    groups = getattr(optimizer, 'param_groups', ())
    return [p for group in groups for p in group['params']]


def copies_in(optimizer, own):
    """Return the copies of parameters that an optimizer has in their place,
    such as those in float32, with their names: it has as many, of the same
    shapes, in the same order."""
    params = params_in(optimizer)
    trained = {n: p for n, p in own.items() if p.requires_grad}
    if {id(p) for p in params} & {id(p) for p in own.values()}:
        return []
    alike = [p.shape for p in params] == [p.shape for p in trained.values()]
    return [*zip(trained, params)] if alike else []


def kept_in(optimizer, names):
    """Yield (parameter, its name, key, value) of what an optimizer keeps, if
    it is an array or a number. `names`: of parameters, by their ids."""
    for param, state in getattr(optimizer, 'state', {}).items():
        for key, value in state.items() if id(param) in names else ():
            if value is not None and not isinstance(value, (list, dict)):
                yield param, names[id(param)], key, value


@contextlib.contextmanager
def replaced(holder, name, new):
    """Let `holder` have another attribute until the block ends. Tensor
    inherits some of these, so afterwards its own are deleted."""
    inherited = isinstance(holder, type) and name not in vars(holder)
    old = getattr(holder, name)
    setattr(holder, name, new)
    try:
        yield
    finally:
        if inherited:
            delattr(holder, name)
        else:
            setattr(holder, name, old)


def holders_of(name, places):
    """Return the objects, and the names of their attributes, that hold a
    function of some modules: these, or the function's decorator, which also
    has it for those who imported it by name."""
    found = {}
    for place in places:
        function = getattr(place, name, None)
        inner = getattr(function, '__wrapped__', None)
        cells = [
            (cell, 'cell_contents')
            for cell in getattr(function, '__closure__', None) or ()
            if inner and cell.cell_contents is inner
        ]
        for holder, key in cells or ([(place, name)] if function else []):
            found[id(holder)] = holder, key
    return [*found.values()]
