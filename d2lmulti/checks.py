"""Every argument check of the book: called at the head of a function.

TypeError for a value of the wrong type, ValueError for one that cannot work;
the message names the argument, what came, and what is needed. No check waits
for a device, unless it tries an update rule that takes MXNet's arrays only.
"""

import importlib.util
import inspect
import math
import numbers
from typing import Any, Callable, Iterable, List, Optional, Sequence, Tuple

import mxnet as mx
import numpy as onp
from mxnet import np

MAX_CPU_DEVICES = 64  # as many as d2lrun/settings.py makes workspaces
DTYPES = 'float16 float32 float64 uint8 int8 int32 int64 bool'.split()


# Packages


def check_installed(module: str) -> None:
    """Raise ImportError unless another framework's package is installed."""
    if importlib.util.find_spec(module) is None:
        raise ImportError(
            f'there is no {module} in this environment: open the chapter '
            'with `make lab BUILD=frameworks`, which sets up another one'
        )


# Numbers


def is_integer(value: Any) -> bool:
    """Return whether `value` is an integer, of Python or NumPy."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Return whether `value` is a real number, of Python or NumPy."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def check_integer(least: int, **values: Any) -> None:
    """Raise TypeError or ValueError unless each is an integer >= `least`."""
    for name, value in values.items():
        if not is_integer(value):
            raise TypeError(f'{name} must be an integer, not {value!r}')
        if value < least:
            raise ValueError(f'{name} must be at least {least}, not {value}')


def check_positive_int(**values: Any) -> None:
    """Raise TypeError or ValueError unless each is an integer >= 1."""
    check_integer(1, **values)


def check_positive_number(**values: Any) -> None:
    """Raise TypeError or ValueError unless each is finite and above 0."""
    for name, value in values.items():
        if not is_number(value):
            raise TypeError(f'{name} must be a number, not {value!r}')
        if not 0 < value < math.inf:
            raise ValueError(
                f'{name} must be a finite number above 0, not {value}'
            )


def check_fraction(**values: Any) -> None:
    """Raise TypeError or ValueError unless each is at least 0, below 1."""
    for name, value in values.items():
        if not is_number(value):
            raise TypeError(f'{name} must be a number, not {value!r}')
        if not 0 <= value < 1:
            raise ValueError(
                f'{name} must be at least 0 and below 1, not {value}'
            )


def check_learning_rate(lr: Any) -> None:
    """Raise TypeError or ValueError unless `lr` is finite and above 0."""
    check_positive_number(**{'the learning rate lr': lr})


# Devices and replicas


def check_slices(n: Any, k: Any) -> None:
    """Raise TypeError or ValueError unless n items can be cut for k."""
    check_integer(0, n=n)
    check_integer(1, k=k)


def check_num_devices(k: Any, gpus: Sequence, faults: Iterable[str]) -> None:
    """Raise TypeError or ValueError unless there are `k` devices.

    `gpus`: those that work; with none of them, CPU devices are meant.
    `faults`: what is wrong with other GPUs.
    """
    check_positive_int(**{'k, the number of devices,': k})
    if gpus and k > len(gpus):
        works = 'GPU works' if len(gpus) == 1 else 'GPUs work'
        raise ValueError(
            f'{k} devices asked for, but {len(gpus)} {works}'
            f'{"".join(f" ({fault})" for fault in faults)}: ask for at most '
            f'{len(gpus)}, or set D2LMULTI_DEVICES=cpu to use CPUs'
        )
    if not gpus and k > MAX_CPU_DEVICES:
        raise ValueError(
            f'{k} CPU devices asked for, at most {MAX_CPU_DEVICES} work side '
            "by side: beyond that they wait for each other's workspaces"
        )


def check_devices(devices: Sequence, least: int = 1) -> None:
    """Raise TypeError or ValueError unless `devices` are distinct devices,
    at least `least` of them."""
    if not all(isinstance(device, type(mx.cpu())) for device in devices):
        raise TypeError(f'devices must be like mx.cpu(0), not {devices!r}')
    if len(devices) < least:
        number = 'one device' if least == 1 else f'{least} devices'
        raise ValueError(
            f'give at least {number}, for example '
            f'try_devices({least}), not {list(devices)}'
        )
    if len(set(devices)) < len(devices):
        raise ValueError(
            f'{devices} names a device twice: its replica would work on two '
            'shards, in turn; use distinct devices, as from try_devices'
        )


def check_replicas(device_params: Sequence, devices: Sequence) -> None:
    """Raise ValueError unless there is a replica on each of `devices`."""
    check_devices(devices)
    if len(device_params) != len(devices):
        raise ValueError(
            f'the number of replicas is {len(device_params)}, '
            f'of devices {len(devices)}: make one replica on '
            'each device with get_params'
        )
    for params, device in zip(device_params, devices):
        for param in params:
            if param.ctx != device:
                raise ValueError(
                    f'a parameter lives on {param.ctx}, but its replica '
                    f'belongs on {device}: make it with get_params'
                )
            if param.grad is None:
                raise ValueError(
                    'a parameter has no gradient attached: '
                    'make the replica with get_params'
                )


def check_finite(params: Iterable, lr: float) -> None:
    """Raise FloatingPointError if a parameter is not a finite number.

    Waits for the parameters.
    """
    if not all(onp.isfinite(param.asnumpy()).all() for param in params):
        raise FloatingPointError(
            'training diverged: the parameters are no '
            f'longer finite: lr={lr} is too large'
        )


# Arrays to sum


def check_allreduce_arrays(data: Any) -> None:
    """Raise TypeError or ValueError unless `data` can be summed in place."""
    if not isinstance(data, (list, tuple)):
        raise TypeError(
            'give a list of arrays, one for each device, not '
            f'{type(data).__name__}'
        )
    if not all(isinstance(array, np.ndarray) for array in data):
        raise TypeError(
            'allreduce takes MXNet arrays, not '
            f'{[type(array).__name__ for array in data]}'
        )
    if not data:
        raise ValueError('no arrays to sum: give one for each device')
    if len({id(array) for array in data}) < len(data):
        raise ValueError(
            'the same array appears twice in the list, so it '
            'would be counted twice: give one for each device'
        )
    for what, kinds in (
        ('shape', [array.shape for array in data]),
        ('dtype', [onp.dtype(a.dtype).name for a in data]),
    ):
        if len(set(kinds)) > 1:
            raise ValueError(
                f'arrays of more than one {what}, {kinds}: '
                'they must be alike on all devices'
            )


def check_buckets(device_arrays: Any, allreduce: Any) -> None:
    """Raise TypeError or ValueError unless `allreduce` can sum the lists."""
    if not callable(allreduce):
        raise TypeError(
            'allreduce must be a function that sums a list of '
            f'arrays, such as ring_allreduce, not {allreduce!r}'
        )
    if not all(
        isinstance(each, (list, tuple))
        for each in [device_arrays, *device_arrays]
    ):
        raise TypeError('give a list for each device, with its arrays')
    lengths = [len(arrays) for arrays in device_arrays]
    if len(set(lengths)) != 1:
        raise ValueError(
            f'lists of {lengths} arrays: give one list for each '
            'device, all equally long'
        )
    ids = [id(array) for arrays in device_arrays for array in arrays]
    if len(set(ids)) < len(ids):
        raise ValueError(
            'an array appears twice in the lists, so it would be counted twice'
        )
    for arrays in zip(*device_arrays):
        check_allreduce_arrays(arrays)


def check_parts(parts: Any, data: Any) -> None:
    """Raise TypeError or ValueError unless part j fits slice j of `data`."""
    check_allreduce_arrays(data)
    if not isinstance(parts, (list, tuple)) or not all(
        isinstance(part, np.ndarray) for part in parts
    ):
        raise TypeError(
            'give a list of parts, MXNet arrays, as reduce_scatter returns it'
        )
    size, longer = divmod(data[0].size, len(data))
    sizes = [size + (j < longer) for j in range(len(data))]
    found = [part.shape for part in parts]
    if found != [(size,) for size in sizes]:
        raise ValueError(
            f'parts of shapes {found} for arrays of {data[0].size} numbers: '
            f'give {len(data)} flat parts of sizes {sizes}'
        )
    dtypes = {onp.dtype(array.dtype).name for array in [*parts, data[0]]}
    if len(dtypes) > 1:
        raise ValueError(
            f'parts and arrays of more than one dtype, {sorted(dtypes)}'
        )


# Examples and minibatches


def check_num_rows(num_rows: int, num_devices: int) -> None:
    """Raise ValueError unless every device can get a row."""
    if num_rows < num_devices:
        rows = '1 example' if num_rows == 1 else f'{num_rows} examples'
        raise ValueError(
            f'{rows} cannot be split over {num_devices} devices: every '
            'device needs one; use fewer devices or a larger minibatch'
        )


def check_split(data: Any, devices: Sequence) -> None:
    """Raise TypeError or ValueError unless each device can get a shard."""
    if not isinstance(data, np.ndarray) or data.ndim == 0:
        raise TypeError(
            'give an MXNet array with rows, not '
            f'{data!r:.60}: convert it with mxnet.np.array'
        )
    check_devices(devices)
    check_num_rows(len(data), len(devices))


def check_batch(X: Any, y: Any) -> None:
    """Raise ValueError unless there are as many labels as examples."""
    if len(X) != len(y):
        raise ValueError(
            f'{len(X)} examples but {len(y)} labels: X and y '
            'must have the same length'
        )


def check_examples(X: Any, y: Any) -> None:
    """Raise TypeError or ValueError unless X and y are NumPy arrays of
    finite numbers with as many rows, at least one."""
    for name, data in (('X', X), ('y', y)):
        if not isinstance(data, onp.ndarray):
            raise TypeError(
                f'{name} must be a NumPy array, not {type(data).__name__}: '
                'convert a list with numpy.array, an MXNet array with '
                'asnumpy()'
            )
        if data.dtype.name not in DTYPES:
            raise TypeError(
                f'{name} must be an array of numbers that MXNet has, '
                f'{", ".join(DTYPES)}, not {data.dtype}: convert it with '
                'astype'
            )
        if data.size == 0 or data.ndim == 0:
            raise ValueError(
                f'{name} must have a row for each of at least one example, '
                f'not the shape {data.shape}'
            )
    check_batch(X, y)
    check_finite_examples('X', X)
    check_finite_examples('y', y)


def check_finite_examples(name: str, data: onp.ndarray) -> None:
    """Raise ValueError unless all numbers are finite in float32."""
    with onp.errstate(over='ignore'):  # float64 becomes float32
        finite = onp.isfinite(
            data.astype('float32') if data.dtype == 'float64' else data
        )
    if not finite.all():
        raise ValueError(
            f'{name} has numbers that are not finite in float32, the '
            f'first in example {first_index(~finite)}: '
            'repair or remove these examples'
        )


def check_labels(y: Any, num_classes: Any) -> None:
    """Raise TypeError or ValueError unless all labels are from 0 to
    `num_classes` - 1."""
    check_positive_int(num_classes=num_classes)
    valid = onp.isin(y, range(num_classes))
    if not valid.all():
        raise ValueError(
            f'labels must be integers from 0 to {num_classes - 1}, but '
            f'example {first_index(~valid)} has {y[~valid][0]}: '
            'renumber the classes'
        )


def check_minibatches(
    X: Any, y: Any, batch_size: Any, num_classes: Any = None
) -> List[onp.ndarray]:
    """Return X and y, as float32 where they are float64; raise TypeError or
    ValueError unless minibatches can be made."""
    check_examples(X, y)
    if num_classes is not None:
        check_labels(y, num_classes)
    check_positive_int(batch_size=batch_size)
    return [
        data.astype('float32') if data.dtype == 'float64' else data
        for data in (X, y)
    ]


def check_bytes(X: Any) -> Any:
    """Return X as float32; raise TypeError unless it holds bytes."""
    if getattr(X, 'dtype', None) not in (onp.uint8, 'uint8'):
        raise TypeError(
            f'X must be of dtype uint8, not {getattr(X, "dtype", type(X))}: '
            'on_bytes divides by 255, so give floats to the network itself'
        )
    return X.astype('float32')


def first_index(found: onp.ndarray) -> int:
    """Return the first row in which `found` is true anywhere."""
    return int(onp.argwhere(found)[0][0])


def check_train_batch(
    X: Any, y: Any, device_params: Sequence, devices: Sequence, lr: Any
) -> None:
    """Raise TypeError or ValueError unless a step can be taken."""
    check_replicas(device_params, devices)
    check_learning_rate(lr)
    check_batch(X, y)


def check_training(
    num_epochs: Any, lr: Any, data_iter: Any, devices: Sequence
) -> None:
    """Raise TypeError or ValueError unless `train` can begin.

    `data_iter`: `Minibatches`, each of which every device takes part in.
    """
    check_positive_int(num_epochs=num_epochs)
    check_learning_rate(lr)
    num_examples = len(data_iter.X)
    last = num_examples - (len(data_iter) - 1) * data_iter.batch_size
    if last < len(devices):
        raise ValueError(
            f'the last minibatch of {num_examples} examples has {last}, too '
            f'few for {len(devices)} devices: choose a batch_size other than '
            f'{data_iter.batch_size}, or fewer devices'
        )


def check_not_empty(count: int, what: str) -> None:
    """Raise ValueError if an iterator gave nothing."""
    if not count:
        raise ValueError(f'no {what}: data_iter is empty')


def check_causes(
    devices: Sequence, step: Any, device_params: Optional[Sequence]
) -> None:
    """Raise TypeError or ValueError unless `find_causes` can begin.

    `step` and `device_params` are None where the caller gave none.
    """
    check_devices(devices, least=2)
    if device_params is not None:
        check_replicas(device_params, devices)
    try:
        if step is not None:
            inspect.signature(step).bind(None, None)
    except (TypeError, ValueError):
        raise TypeError(
            'step must be a function of a minibatch, X and y, such as lambda '
            f'X, y: train_batch(X, y, replicas, devices, lr), not {step!r:.60}'
        ) from None


# Chapter 15: pipelines and tensor parallelism


def check_costs(costs: Sequence, k: Any) -> None:
    """Raise TypeError or ValueError unless `costs` can be cut for k stages."""
    check_positive_int(**{'k, the number of stages,': k})
    for cost in costs:
        if not is_number(cost):
            raise TypeError(f'costs must be numbers, not {cost!r}')
        if not 0 <= cost < math.inf:
            raise ValueError(f'costs must be finite, from 0, not {cost}')
    if k > len(costs):
        raise ValueError(
            f'{len(costs)} layers cannot be split into {k} stages: use at '
            'most one stage for each layer'
        )


def check_layers(
    params: Sequence, devices: Sequence, layers: Sequence, costs: Sequence
) -> None:
    """Raise ValueError unless the layers can be split over the devices."""
    check_devices(devices)
    if len(params) != 2 * len(layers):
        raise ValueError(
            f'{len(layers)} layers need {2 * len(layers)} '
            f'parameters, not {len(params)}'
        )
    if len(devices) > len(layers):
        raise ValueError(
            f'{len(layers)} layers cannot be split over '
            f'{len(devices)} devices: use at most one device '
            'for each layer'
        )
    if len(costs) != len(layers):
        raise ValueError(
            f'{len(layers)} layers need {len(layers)} costs, not {len(costs)}'
        )


def check_schedule(orders: Sequence, num_stages: int, m: int) -> None:
    """Raise ValueError unless each stage runs the forward and the backward
    pass of each of `m` micro-batches once, and none waits forever."""
    if len(orders) != num_stages:
        raise ValueError(
            f'a schedule for {num_stages} stages has {num_stages} lists of '
            f'instructions, not {len(orders)}'
        )
    needed = [
        (phase, i) for phase in ('forward', 'backward') for i in range(m)
    ]
    for s, order in enumerate(orders):
        for instruction in order:
            if instruction not in needed:
                raise ValueError(
                    f'stage {s} has the instruction {instruction!r}; there '
                    "are 'forward' and 'backward' of the micro-batches 0 to "
                    f'{m - 1}'
                )
        for instruction in needed:
            if order.count(instruction) != 1:
                raise ValueError(
                    f'stage {s} has {order.count(instruction)} instructions '
                    f'{instruction!r}: each must be there once'
                )
    check_progress(orders)


def check_progress(orders: Sequence) -> None:
    """Raise ValueError if a stage of a schedule would wait forever."""
    done: set = set()
    num_done = [0] * len(orders)
    while any(n < len(order) for n, order in zip(num_done, orders)):
        waiting = {
            s: order[n]
            for s, (n, order) in enumerate(zip(num_done, orders))
            if n < len(order)
        }
        ready = [
            (s, *instruction)
            for s, instruction in waiting.items()
            if is_ready(s, instruction, done, len(orders))
        ]
        if not ready:
            found = [f'stage {s} for {waiting[s]}' for s in waiting]
            raise ValueError(
                f'this schedule never ends: {", ".join(found)} would wait '
                'forever. A forward pass needs that of the stage before; a '
                'backward pass needs the forward pass of its stage and the '
                'backward pass of the next stage'
            )
        for s, *_ in ready:
            num_done[s] += 1
        done |= set(ready)


def is_ready(s: int, instruction: tuple, done: set, num_stages: int) -> bool:
    """Return whether what an instruction of stage `s` needs is done."""
    phase, i = instruction
    if phase == 'forward':
        return s == 0 or (s - 1, phase, i) in done
    last = s == num_stages - 1
    return (s, 'forward', i) in done and (last or (s + 1, phase, i) in done)


def check_micro_batches(num_examples: int, num_micro_batches: Any) -> None:
    """Raise TypeError or ValueError unless every part gets an example."""
    check_positive_int(num_micro_batches=num_micro_batches)
    if num_micro_batches > num_examples:
        raise ValueError(
            f'a minibatch of {num_examples} cannot be split into '
            f'{num_micro_batches} micro-batches: choose 1 to {num_examples}'
        )


def check_outputs(num_outputs: Iterable[int], devices: Sequence) -> None:
    """Raise ValueError unless each device gets an output of every layer."""
    check_devices(devices)
    for count in num_outputs:
        if count < len(devices):
            raise ValueError(
                f'a layer with {count} outputs cannot be split over '
                f'{len(devices)} devices: use fewer devices'
            )


# Chapter 9: time


def check_operators(operators: Sequence) -> None:
    """Raise ValueError if there are no operators."""
    if not operators:
        raise ValueError('no operators: give what profile(work) returns')


# Chapter 11: schedules


def check_linear_scaling(
    lr: Any, batch_size: Any, base_batch_size: Any
) -> None:
    """Raise TypeError or ValueError unless `lr` can be scaled."""
    check_learning_rate(lr)
    check_positive_int(batch_size=batch_size, base_batch_size=base_batch_size)


def check_warmup(lr: Any, step: Any, num_warmup: Any, start: Any) -> None:
    """Raise TypeError or ValueError unless a warm-up can be computed."""
    check_learning_rate(lr)
    check_positive_int(num_warmup=num_warmup)
    check_integer(0, step=step)
    if not is_number(start):
        raise TypeError(f'start must be a number, not {start!r}')
    if not 0 <= start <= lr:
        raise ValueError(f'start must be from 0 to {lr}, not {start}')


def check_decay(lr: Any, step: Any, num_steps: Any, power: Any) -> None:
    """Raise TypeError or ValueError unless a decay can be computed."""
    check_learning_rate(lr)
    check_positive_int(num_steps=num_steps)
    check_integer(0, step=step)
    check_positive_number(power=power)


def check_warmup_and_decay(step: Any, num_warmup: Any, num_steps: Any) -> None:
    """Raise TypeError or ValueError unless the warm-up leaves a step."""
    check_integer(0, step=step)
    check_positive_int(num_warmup=num_warmup, num_steps=num_steps)
    if num_warmup >= num_steps:
        raise ValueError(
            f'a warm-up of {num_warmup} steps leaves none of the '
            f'{num_steps} for the decay: make it shorter'
        )


def check_update(
    params: Sequence, grads: Sequence, state: Any, shapes: Sequence
) -> None:
    """Raise TypeError or ValueError unless there are parameters, a gradient
    for each, and a `state` that is empty or has these `shapes`."""
    if not isinstance(state, list):
        raise TypeError(
            f'state must be a list, [] before the first step, not {state!r}'
        )
    if [grad.shape for grad in grads] != [param.shape for param in params]:
        raise ValueError(
            'params and grads must have the same shapes, not '
            f'{[param.shape for param in params]} and '
            f'{[grad.shape for grad in grads]}'
        )
    if state and [array.shape for array in state] != list(shapes):
        raise ValueError(
            f'a state of shapes {[array.shape for array in state]} belongs '
            f'to other parameters or another update rule; {list(shapes)} '
            'are needed: keep one state for each list of parameters, [] '
            'before its first step'
        )


def check_gradient_descent(
    params: Sequence, grads: Sequence, state: Any, lr: Any
) -> None:
    """Raise TypeError or ValueError unless there is something to update."""
    check_learning_rate(lr)
    check_update(params, grads, state, [])


def check_sgd_momentum(
    params: Sequence, grads: Sequence, state: Any, lr: Any, momentum: Any
) -> None:
    """Raise TypeError or ValueError unless momentum can update anything."""
    check_learning_rate(lr)
    check_fraction(momentum=momentum)
    check_update(params, grads, state, [param.shape for param in params])


def check_adam(
    params: Sequence,
    grads: Sequence,
    state: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
) -> None:
    """Raise TypeError or ValueError unless Adam can update anything."""
    check_learning_rate(lr)
    check_fraction(beta1=beta1, beta2=beta2)
    check_positive_number(epsilon=epsilon)
    if not len(params):
        raise ValueError('params is empty: Adam needs a parameter to update')
    shapes = [param.shape for param in params]
    check_update(params, grads, state, [*shapes, *shapes, (1,)])


def check_lars(
    params: Sequence,
    grads: Sequence,
    state: Any,
    lr: Any,
    momentum: Any,
    trust_coefficient: Any,
) -> None:
    """Raise TypeError or ValueError unless LARS can update anything."""
    check_learning_rate(lr)
    check_fraction(momentum=momentum)
    check_positive_number(trust_coefficient=trust_coefficient)
    check_update(params, grads, state, [param.shape for param in params])


def check_rule(update: Any, states: Any, device_params: Sequence) -> None:
    """Raise TypeError or ValueError unless `update` keeps its contract.

    Before the first step, the rule is tried on other numbers.
    """
    if update is None and states is not None:
        raise ValueError(
            'states are for an update rule: pass update, too, such as '
            'update=sgd_momentum'
        )
    if update is None:
        return
    if not callable(update):
        raise TypeError(f'update must be a function, not {update!r:.60}')
    check_states(states, device_params)
    if not any(states):
        check_moves(update, device_params[0])


def check_moves(update: Callable, params: Sequence) -> None:
    """Raise ValueError unless a rule moves all parameters of some shapes."""
    moves = try_rule(update, params)
    still = [
        param.shape
        for param, move in zip(params, moves)
        if param.size and not move.any()
    ]
    if still:
        raise ValueError(
            f'{name_of(update)} does not move parameters of shape {still[0]}: '
            'a rule update(params, grads, state, lr) changes params in place, '
            'as in param -= lr * grad, and fills an empty state itself'
        )


def check_elementwise(update: Callable, params: Sequence) -> None:
    """Raise ValueError if a rule does not treat each number on its own and
    does not take `norms`, so that it cannot update parts of parameters."""
    if 'norms' in inspect.signature(update).parameters:
        return
    whole = try_rule(update, params)
    first = try_rule(update, params, parts=slice(0, 1))
    second = try_rule(update, params, parts=slice(1, 2))
    for move, *halves in zip(whole, first, second):
        if not onp.allclose(onp.concatenate(halves), move.ravel(), 1e-4):
            raise ValueError(
                f'{name_of(update)} does not treat each number on its own, so '
                'it cannot update parts of parameters: use '
                'train_batch_replicated, or give the rule the argument norms, '
                'as lars has'
            )


def try_rule(
    update: Callable, params: Sequence, parts: Optional[slice] = None
) -> List[onp.ndarray]:
    """Return how a rule moves parameters like these, or one of two parts."""
    before = []
    for param in params:  # small, for the memory
        shape = [min(length, 2) for length in param.shape]
        values = onp.linspace(1, 2, math.prod(shape), dtype='float32')
        before.append(values.reshape(shape))
    if parts is not None:
        before = [
            onp.concatenate(onp.array_split(param.ravel(), 2)[parts])
            for param in before
        ]
    try:  # which waits for no device
        after = [param.copy() for param in before]
        update(after, [0.1 * param**2 for param in after], [], 0.125)
    except Exception:  # a rule for MXNet's arrays only
        arrays = [
            np.array(old, ctx=param.ctx) for old, param in zip(before, params)
        ]
        update(arrays, [0.1 * param**2 for param in arrays], [], 0.125)
        after = [array.asnumpy() for array in arrays]
    return [new - old for new, old in zip(after, before)]


def name_of(update: Callable) -> str:
    """Return the name of a function, also of a partial one."""
    return getattr(getattr(update, 'func', update), '__name__', repr(update))


def check_accumulation(
    X: Any,
    y: Any,
    device_params: Sequence,
    devices: Sequence,
    lr: Any,
    num_parts: Any,
) -> None:
    """Raise TypeError or ValueError unless a step can be taken, with an
    example for each device in every part."""
    check_train_batch(X, y, device_params, devices, lr)
    check_positive_int(num_parts=num_parts)
    if len(X) < num_parts * len(devices):
        raise ValueError(
            f'{len(X)} examples are too few for num_parts={num_parts} and '
            f'len(devices)={len(devices)}: use fewer parts'
        )


# Chapter 12: batch normalization


def check_batch_norm(
    shards: Sequence, gammas: Sequence, betas: Sequence, sync: bool
) -> None:
    """Raise TypeError or ValueError unless all shards can be normalized."""
    check_bn_shards(shards, gammas, betas)
    check_bn_counts([x.size // x.shape[1] for x in shards], sync)


def check_bn_shards(shards: Sequence, *channel_lists: Sequence) -> None:
    """Raise TypeError or ValueError unless all fit the first shard."""
    if not shards or any(
        len(values) != len(shards) for values in channel_lists
    ):
        raise ValueError(
            'give a shard, a gamma and a beta for each device, not '
            f'{[len(values) for values in (shards, *channel_lists)]}'
        )
    for x in shards:
        if x.ndim < 2 or x.size == 0 or onp.dtype(x.dtype).kind != 'f':
            raise TypeError(
                'a shard is an array of floats with examples and '
                f'channels, not {x.dtype} of shape {x.shape}'
            )
    c = shards[0].shape[1]
    if any(
        value.shape != (c,) for values in channel_lists for value in values
    ):
        raise ValueError(f'gammas and betas need the shape ({c},)')


def check_bn_counts(counts: Sequence[int], sync: bool) -> None:
    """Raise ValueError unless each variance has two numbers or more."""
    if (sum(counts) if sync else min(counts)) < 2:
        fix = (
            ''
            if sync
            else (
                f' on every device (here {counts} numbers per channel), or '
                'synchronize the statistics'
            )
        )
        raise ValueError(
            'batch normalization of a single example would return only '
            f'zeros: give two or more{fix}'
        )


def check_gradients_bn(
    X_shards: Sequence,
    y_shards: Sequence,
    device_params: Sequence,
    device_averages: Sequence,
    num_layers: int,
    momentum: Any,
) -> None:
    """Raise TypeError or ValueError unless each shard has all that belongs
    to it, and the momentum is valid."""
    check_fraction(momentum=momentum)
    lengths = [
        len(part)
        for part in (X_shards, y_shards, device_params, device_averages)
    ]
    if len(set(lengths)) > 1:
        raise ValueError(
            'give images, labels, parameters and averages for '
            f'each device, not {lengths} of them'
        )
    for params, averages in zip(device_params, device_averages):
        devices = {array.ctx for array in (*params, *averages)}
        if len(averages) != 2 * num_layers or len(devices) > 1:
            raise ValueError(
                f'each device needs {2 * num_layers} running averages, on '
                f'the device of its parameters; one has {len(averages)}, on '
                f'{sorted(map(str, devices))}'
            )


# Chapter 13: heterogeneous devices


def check_shares(
    shares: Sequence, num_rows: int, num_devices: int, name: str = 'shares'
) -> None:
    """Raise TypeError or ValueError unless every device can get a row."""
    check_num_rows(num_rows, num_devices)
    if not all(map(is_number, shares)):
        raise TypeError(f'{name} must be numbers, not {shares}')
    if not 0 < len(shares) == num_devices or not all(
        0 < share < math.inf for share in shares
    ):
        raise ValueError(
            f'{name} must be a finite number above 0 for each device, '
            f'{max(1, num_devices)} here, not {shares}: leave out a device '
            'that should get nothing'
        )


def check_split_by_shares(
    X: Any, y: Any, devices: Sequence, shares: Sequence
) -> None:
    """Raise TypeError or ValueError unless the shares fit the rows."""
    check_batch(X, y)
    check_split(X, devices)
    check_split(y, devices)
    check_shares(shares, len(X), len(devices))


def check_limits(
    limits: Optional[Sequence],
    num_devices: int,
    name: str,
    default: Optional[int] = None,
) -> List[Optional[int]]:
    """Return a limit for each device; without `limits`, `default` for all.

    Raises TypeError or ValueError unless each is an integer >= 1; None is
    allowed where it is the default.
    """
    if limits is None:
        return [default] * num_devices
    if len(limits) != num_devices:
        raise ValueError(
            f'{name} must have {num_devices} entries, one for '
            f'each device, not {limits}'
        )
    check_positive_int(
        **{
            f'{name}[{i}]': limit
            for i, limit in enumerate(limits)
            if limit is not None or default is not None
        }
    )
    return list(limits)


def check_caps(
    caps: Optional[Sequence], batch_size: int, num_devices: int
) -> Tuple[float, ...]:
    """Return the caps, infinite where None; raise ValueError if they hold
    less than `batch_size`."""
    limits = check_limits(caps, num_devices, 'caps')
    filled = tuple(math.inf if cap is None else cap for cap in limits)
    if sum(filled) < batch_size:
        raise ValueError(
            f'{batch_size} examples do not fit into {sum(filled)}: take a '
            'smaller minibatch, or accumulate gradients'
        )
    return filled


def check_recent(recent: Sequence, num_devices: int) -> None:
    """Raise TypeError or ValueError unless each device has a positive cost
    in every step."""
    if not all(is_number(cost) for costs in recent for cost in costs):
        raise TypeError(f'recent must hold numbers, not {list(recent)}')
    if len(recent) == 0 or not all(
        len(costs) == num_devices
        and all(0 < cost < math.inf for cost in costs)
        for costs in recent
    ):
        raise ValueError(
            f'recent must hold, for one step or more, {num_devices} finite '
            f'seconds above 0, not {list(recent)}'
        )


def check_adapt(
    shares: Sequence, recent: Sequence, margin: Any, caps: Optional[Sequence]
) -> Tuple[float, ...]:
    """Return the caps, infinite where None; raise TypeError or ValueError
    unless the shares can be adapted."""
    check_fraction(margin=margin)
    check_positive_int(
        **{f'shares[{i}]': share for i, share in enumerate(shares)}
    )
    check_recent(recent, len(shares))
    return check_caps(caps, sum(shares), len(shares))


# Chapter 14: tokens


def check_mask_words(tokens: Any, vocab_size: Any, fraction: Any) -> None:
    """Raise TypeError or ValueError unless words can be hidden in `tokens`."""
    if not isinstance(tokens, onp.ndarray) or tokens.dtype.kind not in 'iu':
        raise TypeError(
            'tokens must be a NumPy array of integers, as from encode, not '
            f'{tokens!r:.60}'
        )
    if tokens.ndim != 2 or not (tokens != 0).any(axis=1).all():
        raise ValueError(
            'tokens must have the shape (n, length), and a word in every row'
        )
    check_integer(4, vocab_size=vocab_size)
    if tokens.size and not 0 <= tokens.min() <= tokens.max() < vocab_size:
        raise ValueError(
            f'tokens must be from 0 to {vocab_size - 1}, below vocab_size, '
            f'not {tokens.min()} to {tokens.max()}'
        )
    check_fraction(fraction=fraction)


def check_transformer(X: Any, params: Sequence, num_heads: Any) -> None:
    """Raise TypeError or ValueError unless `params` fit the tokens `X`."""
    check_positive_int(num_heads=num_heads)
    if len(params) < 5 or (len(params) - 5) % 12:
        raise ValueError(
            f'{len(params)} parameters, but there are 5 and 12 more for each '
            'layer: make them with init_transformer'
        )
    max_length, width = params[1].shape
    if X.ndim != 2 or X.shape[1] > max_length:
        raise ValueError(
            f'X must have the shape (n, length) with at most {max_length} '
            f'positions, not {X.shape}: cut the rows, or give '
            'init_transformer a larger max_length'
        )
    if width % num_heads:
        raise ValueError(
            f'{num_heads} heads cannot share a width of {width}: choose '
            'num_heads that divides it'
        )


# Chapter 16: sharded training


def check_states(states: Any, devices: Sequence) -> None:
    """Raise TypeError or ValueError unless each device has its own state."""
    if not isinstance(states, (list, tuple)) or not all(
        isinstance(state, list) for state in states
    ):
        raise TypeError(
            'states must be a list with a list for each device, such as '
            f'[[] for device in devices], not {states!r:.60}'
        )
    if len(states) != len(devices):
        raise ValueError(
            f'{len(states)} states for {len(devices)} devices: make one for '
            'each, [[] for device in devices]'
        )
    if len({id(state) for state in states}) < len(states):
        raise ValueError(
            'two devices share one state, as in [[]] * 2: make one for each, '
            '[[] for device in devices]'
        )


def check_replicated(
    X: Any,
    y: Any,
    device_params: Sequence,
    devices: Sequence,
    lr: Any,
    states: Any,
    update: Any,
    shards: bool = False,
) -> None:
    """Raise TypeError or ValueError unless a step can be taken.

    `shards`: the rule gets parts of parameters.
    """
    check_train_batch(X, y, device_params, devices, lr)
    check_states(states, devices)
    check_rule(update, states, device_params)
    if shards and not any(states):
        check_elementwise(update, device_params[0])


def check_layer_arrays(
    device_arrays: Sequence, devices: Sequence, layers: Sequence, name: str
) -> None:
    """Raise ValueError unless each device has two arrays for each layer."""
    check_devices(devices)
    if len(device_arrays) != len(devices):
        raise ValueError(
            f'{name} has {len(device_arrays)} lists for {len(devices)} '
            'devices: give one for each'
        )
    for arrays, device in zip(device_arrays, devices):
        if len(arrays) != 2 * len(layers):
            raise ValueError(
                f'{len(layers)} layers need {2 * len(layers)} arrays, a '
                f'weight and a bias each; {name} has {len(arrays)}'
            )
        for array in arrays:
            if array.ctx != device:
                raise ValueError(
                    f'an array of {name} lives on {array.ctx}, but belongs '
                    f'on {device}: list them in the order of the devices'
                )


def check_zero2(
    X: Any,
    y: Any,
    device_params: Sequence,
    devices: Sequence,
    lr: Any,
    states: Any,
    layers: Sequence,
    update: Any,
) -> None:
    """Raise TypeError or ValueError unless a step can be taken."""
    check_layer_arrays(device_params, devices, layers, 'device_params')
    check_learning_rate(lr)
    check_batch(X, y)
    check_states(states, devices)
    check_rule(update, states, device_params)
    if not any(states):
        check_elementwise(update, device_params[0])


def check_shards(device_shards: Sequence, shapes: Sequence) -> None:
    """Raise ValueError unless part j of each parameter is on device j."""
    k = len(device_shards)
    for j, shards in enumerate(device_shards):
        sizes = [math.prod(shape) for shape in shapes]
        needed = [size // k + (j < size % k) for size in sizes]
        if [shard.size for shard in shards] != needed:
            raise ValueError(
                f'the shards of device {j} have sizes '
                f'{[shard.size for shard in shards]}, but parameters of '
                f'shapes {list(shapes)} on {k} devices need {needed}: make '
                'them with make_shards'
            )


def check_zero3(
    X: Any,
    y: Any,
    device_shards: Sequence,
    devices: Sequence,
    lr: Any,
    states: Any,
    shapes: Sequence,
    layers: Sequence,
    update: Any,
) -> None:
    """Raise TypeError or ValueError unless a step can be taken."""
    check_layer_arrays(device_shards, devices, layers, 'device_shards')
    check_shards(device_shards, shapes)
    check_learning_rate(lr)
    check_batch(X, y)
    check_states(states, devices)
    check_rule(update, states, device_shards)
    if not any(states):
        check_elementwise(update, device_shards[0])


def check_recomputed(
    X: Any, y: Any, params: Sequence, num_segments: Any, layers: Sequence
) -> None:
    """Raise TypeError or ValueError unless the gradients can be computed
    in `num_segments` segments."""
    check_batch(X, y)
    check_replicas([params], [X.ctx])
    check_layer_arrays([params], [X.ctx], layers, 'params')
    check_positive_int(num_segments=num_segments)
    if num_segments > len(layers):
        raise ValueError(
            f'{len(layers)} layers cannot be split into {num_segments} '
            f'segments: choose 1 to {len(layers)}'
        )


# Scaling and cost

ALGORITHMS = (
    'star',
    'direct',
    'ring',
    'tree',
    'halving-doubling',
    'servers',
)


def check_not_negative(**values: Any) -> None:
    """Raise TypeError or ValueError unless each is finite and at least 0."""
    for name, value in values.items():
        if not is_number(value):
            raise TypeError(f'{name} must be a number, not {value!r}')
        if not 0 <= value < math.inf:
            raise ValueError(
                f'{name} must be finite and at least 0, not {value}'
            )


def check_exchange(
    algorithm: Any,
    k: Any,
    num_bytes: Any,
    alpha: Any,
    beta: Any,
    num_servers: Any = 1,
    group: Any = 1,
    simulated: bool = False,
) -> None:
    """Raise TypeError or ValueError unless an allreduce can be computed."""
    if algorithm not in ALGORITHMS:
        raise ValueError(
            f'algorithm must be one of {", ".join(ALGORITHMS)}, '
            f'not {algorithm!r}'
        )
    check_positive_int(k=k, num_servers=num_servers, group=group)
    check_not_negative(num_bytes=num_bytes, alpha=alpha, beta=beta)
    if k % group:
        raise ValueError(
            f'{k} devices cannot be divided into groups of {group}: '
            'group must divide k'
        )
    if simulated and algorithm == 'halving-doubling' and k & (k - 1):
        raise ValueError(
            f'the simulation of halving-doubling needs a power of two, not '
            f'{k} devices: take another k, or another algorithm'
        )


def check_machine(batch_size: Any, k: Any, machine: Any) -> None:
    """Raise TypeError or ValueError unless a step can be predicted."""
    check_positive_int(batch_size=batch_size, k=k)
    check_num_rows(batch_size, k)
    check_not_negative(
        fixed=machine.fixed,
        per_example=machine.per_example,
        load=machine.load,
    )
    for name in ('at_once', 'overlap'):
        value = getattr(machine, name)
        if not is_number(value):
            raise TypeError(f'{name} must be a number, not {value!r}')
    if not machine.at_once >= 1:
        raise ValueError(
            f'at_once must be at least 1 device, not {machine.at_once}'
        )
    if not 0 <= machine.overlap <= 1:
        raise ValueError(
            f'overlap is a fraction from 0 to 1, not {machine.overlap}'
        )


def check_failures(
    work: Any,
    mtbf: Any,
    interval: Any,
    checkpoint_seconds: Any,
    restart_seconds: Any,
) -> None:
    """Raise TypeError or ValueError unless a run with failures can end."""
    check_positive_number(work=work, mtbf=mtbf, interval=interval)
    check_not_negative(
        checkpoint_seconds=checkpoint_seconds,
        restart_seconds=restart_seconds,
    )
    attempt = interval + checkpoint_seconds + restart_seconds
    if attempt > 20 * mtbf:
        raise ValueError(
            f'an attempt of {attempt:g} s would hardly ever end with a '
            f'failure every {mtbf:g} s: save checkpoints more often'
        )


# Chapter 19: several machines


def check_worker_shares(
    num_rows: int, shares: Sequence, num_workers: int
) -> None:
    """Raise TypeError or ValueError unless every worker can get a row."""
    if num_rows < num_workers:
        raise ValueError(
            f'{num_rows} examples cannot be split over {num_workers} '
            'workers: every worker needs one; use fewer workers or a larger '
            'minibatch'
        )
    if not all(map(is_number, shares)):
        raise TypeError(f'shares must be numbers, not {shares}')
    if len(shares) != num_workers or not all(
        0 < share < math.inf for share in shares
    ):
        raise ValueError(
            f'shares must be a finite number above 0 for each of '
            f'{num_workers} workers, not {shares}: leave out a worker that '
            'should get nothing'
        )


def check_scalar(name: str, value: Any) -> float:
    """Return a number, or an array with a single one, as a float; raise
    TypeError for anything else."""
    if isinstance(value, (np.ndarray, onp.ndarray)) and value.size == 1:
        value = value.item()
    if not is_number(value):
        raise TypeError(f'{name} must be a number, not {value!r:.60}')
    return float(value)


def check_weight(value: Any, name: str = 'count(y)') -> float:
    """Return what a function has returned as a float; raise TypeError or
    ValueError unless it is a finite number of at least 0."""
    number = check_scalar(name, value)
    if not 0 <= number < math.inf:
        raise ValueError(
            f'{name} must be a finite number of at least 0, not {number}'
        )
    return number


def check_optimizer_state(state: Sequence) -> None:
    """Raise TypeError unless a checkpoint can hold and restore the state."""
    for entry in state:
        if not isinstance(entry, np.ndarray):
            raise TypeError(
                'the state of update must be a list of MXNet arrays, so that '
                'training resumes exactly; it has '
                f'{type(entry).__name__}, {entry!r:.60}: make it an array, '
                'and update it in place'
            )


def check_cluster(
    checkpoint_every: Any,
    num_devices: Any,
    speed: Any,
    num_parts: Any = 1,
    max_norm: Any = None,
    **functions: Any,
) -> None:
    """Raise TypeError or ValueError unless `train_on_cluster` can begin."""
    check_positive_int(checkpoint_every=checkpoint_every, num_parts=num_parts)
    if num_devices is not None:
        check_positive_int(num_devices=num_devices)
    for name, value in (('speed', speed), ('max_norm', max_norm)):
        if value is not None:
            check_positive_number(**{name: value})
    needed = ['init', 'evaluate', 'net', 'loss', 'count']
    optional = {'update': 'adam', 'schedule': 'lambda step: 0.1'}
    for name, value in functions.items():
        if name not in [*needed, *optional]:
            raise TypeError(
                f'train_on_cluster has no argument {name!r}: the options '
                'are net, loss, update, num_parts, max_norm, count'
            )
        if name in needed and not callable(value):
            raise TypeError(f'{name} must be a function, not {value!r:.60}')
        if name in optional and not (value is None or callable(value)):
            raise TypeError(
                f'{name} must be a function such as {optional[name]}, or '
                f'None, not {value!r:.60}'
            )
