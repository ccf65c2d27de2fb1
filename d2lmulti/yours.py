"""Functions that a student has written, in the place of ours.

A check that has passed calls `keep`, which saves the function in a folder;
`choose` decides with whose function a chapter goes on, and `take` brings what
is saved into a later chapter. A notebook holds its functions itself: there is
no registry here. `toy_training` is what a check shows of a wrong answer.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.util
import inspect
import linecache
import pathlib
import sys
import textwrap
import traceback
import types
from typing import Any, Callable, Iterator

import mxnet as mx
from mxnet import np

from .prepare.machine import is_stand_in

if is_stand_in():  # which is strict by itself
    DeviceError: Any = mx.MXNetError
else:
    from .strict_devices import DeviceError

FOLDER = 'yours'  # beside the notebooks; git ignores it
TARGETS = (1.0, 2.0, 6.0)  # ragged on two devices; their mean is 3
LEARNING_RATE = 0.8  # with the sum in place of the mean, it diverges


def choose(yours: Callable | None, ours: Callable) -> Callable:
    """Return your function if it has passed its check, else ours; say so."""
    whose = 'our' if yours is None else 'your'
    print(f'From here on, this chapter runs with {whose} {ours.__name__}.')
    return ours if yours is None else yours


def keep(function: Callable, folder: str = FOLDER) -> Callable:
    """Save a function, with what it needs of its notebook, as a file of
    `folder` that can be imported alone; return the function.

    Where that cannot be, it says why, and none that was saved before stays.
    """
    name = getattr(function, '__name__', 'what is no function')
    path = pathlib.Path(folder) / f'{name}.py'
    try:
        source = '\n\n'.join(['import d2lmulti', *sources_of(function)])
        path.parent.mkdir(exist_ok=True)
        path.write_text(source, encoding='utf-8')
    except (OSError, TypeError) as error:
        with contextlib.suppress(OSError):
            path.unlink()
        print(f'Not saved for later chapters: {error}')
    return function


def sources_of(function: Any, seen: tuple = ()) -> list[str]:
    """Return the sources of what a function uses of its notebook, and last
    its own."""
    source = textwrap.dedent(inspect.getsource(function))
    known, found = function.__globals__, []
    names = global_names(ast.parse(source).body[0], function.__code__)
    for name in sorted(names & {*known} - {*seen, function.__name__}):
        value = known[name]
        home = getattr(value, '__module__', None) or ''
        if isinstance(value, types.ModuleType):
            found.append(f'import {value.__name__} as {name}')
        elif isinstance(value, types.FunctionType) and (
            home == '__main__' or home not in sys.modules  # or it was taken
        ):
            found += sources_of(value, (*seen, name, function.__name__))
        elif home != '__main__' and hasattr(sys.modules.get(home), name):
            found.append(f'from {home} import {name}')
        elif is_literal(value):
            found.append(f'{name} = {value!r}')
        else:
            raise TypeError(
                f'{function.__name__} uses {name}, which is above it and '
                f'no function: define {name} inside'
            )
    return [*found, source]


def is_literal(value: Any) -> bool:
    """Return whether Python's text of a value is that value."""
    try:
        return bool(ast.literal_eval(repr(value)) == value)
    except (SyntaxError, ValueError):
        return False


def global_names(definition: Any, code: types.CodeType) -> set[str]:
    """Return the names that a function does not define itself, in its
    defaults, too."""
    inside = {*code.co_names}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inside |= global_names(None, constant)
    if definition is None:
        return inside
    if not isinstance(definition, ast.FunctionDef):
        raise TypeError(f'{code.co_name} is no `def` in a cell')
    args = definition.args
    outside = [*args.defaults, *filter(None, args.kw_defaults)]
    used, default = (
        {n.id for node in nodes for n in ast.walk(node) if type(n) is ast.Name}
        for nodes in (definition.body, outside)
    )
    return inside & used | default


def take(*names: str, folder: str = FOLDER) -> list[str]:
    """Put saved functions in the place of ours: in the package, where they
    are defaults of arguments, and in this notebook. Return their names.

    `names`: which; by default all that are saved. It holds until the kernel
    ends.
    """
    package = importlib.import_module('d2lmulti')
    saved = {path.stem: path for path in pathlib.Path(folder).glob('*.py')}
    taken = {}
    for name in package.__all__:
        if name not in saved or (names and name not in names):
            continue
        spec = importlib.util.spec_from_file_location(name, saved[name])
        assert spec and spec.loader, saved[name]
        module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
            taken[name] = getattr(module, name)
        except Exception as error:  # edited since, or by hand
            print(f'{saved[name]} does not run, so ours is used: {error}')
    for name, function in taken.items():  # each calls the newest of others
        known = function.__globals__
        known.update({n: f for n, f in taken.items() if n in known})
        function.__defaults__ = function.__defaults__ and tuple(
            taken.get(getattr(value, '__name__', ''), value)
            for value in function.__defaults__
        )
        replace(getattr(package, name), function)
    print('yours, from chapters before:', ', '.join(taken) or 'none')
    return [*taken]


def replace(old: Callable, new: Callable) -> None:
    """Put one function in the place of another, wherever it is used."""
    for name, module in list(sys.modules.items()):
        if name != '__main__' and name.partition('.')[0] != 'd2lmulti':
            continue
        for key, value in list(vars(module).items()):
            if value is old:
                setattr(module, key, new)
            elif isinstance(value, types.FunctionType):
                inner: Any = inspect.unwrap(value)
                if not isinstance(inner, types.FunctionType):
                    continue  # Jupyter's `open` is Python's, wrapped
                inner.__defaults__ = inner.__defaults__ and tuple(
                    new if default is old else default
                    for default in inner.__defaults__
                )


def answer_of(function: Callable, *arguments: Any, **options: Any) -> Any:
    """Return what an answer returns. If it raises an error, raise an
    AssertionError that names the function, and the line of the answer."""
    try:
        return function(*arguments, **options)
    except (AssertionError, DeviceError, NotImplementedError):
        raise
    except Exception as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        at = -1 if 'Traceback' in ''.join(lines[:1]) else 0  # MXNet's has it
        said = ': '.join([type(error).__name__, *lines[at:][:1]])
        code = getattr(function, '__code__', None)  # a partial has none
        name = code.co_name if code else ''
        for frame in reversed(traceback.extract_tb(error.__traceback__)):
            line = linecache.getline(frame.filename, frame.lineno or 0)
            if code and frame.filename == code.co_filename and line.strip():
                said += f' (in the line `{line.strip()}`)'
                break
        raise AssertionError(
            f'your {name if name.isidentifier() else "answer"} raises {said}'
        ) from None


def toy_training(
    k: int = 2,
    num_steps: int = 8,
    split: Callable | None = None,
    allreduce: Callable | None = None,
    sgd: Callable | None = None,
    step: Callable | None = None,
) -> list[list[float]]:
    """Train one number on k devices, toward the mean of `TARGETS`.

    The loss of a target is half its squared distance. Returns the number on
    each device after each step. What is given takes the place of the right
    function; `step` is a `train_batch`.
    """
    devices = [mx.cpu(i) for i in range(k)]
    replicas = [[np.zeros(1, ctx=device)] for device in devices]
    history = []
    for (param,) in replicas:
        param.attach_grad()
    for _ in range(num_steps):
        X = np.array(TARGETS)
        if step:
            step(X, X, replicas, devices, LEARNING_RATE, toy_net, toy_loss)
        else:
            shards = (split or toy_split)(X, devices)
            for (param,), shard in zip(replicas, shards):
                total = float(shard.sum())
                param.grad[:] = len(shard) * float(param[0]) - total
            (allreduce or toy_allreduce)([p.grad for (p,) in replicas])
            for params in replicas:
                (sgd or toy_sgd)(params, LEARNING_RATE, len(X))
        history.append([float(param[0]) for (param,) in replicas])
    return history


def toy_net(X: Any, params: list) -> Any:
    """Return the number, for each example."""
    return params[0] + 0 * X


def toy_loss(y_hat: Any, y: Any) -> Any:
    """Return half the squared distance from each target."""
    return (y_hat - y) ** 2 / 2


def toy_split(X: Any, devices: list) -> list:
    """Return a shard of X for each device; the last gets what is left."""
    ends = [*range(len(devices)), len(X)]
    return [
        X[start:end].copyto(device)
        for start, end, device in zip(ends, ends[1:], devices)
    ]


def toy_allreduce(data: list) -> None:
    """Write the sum into each array."""
    total = sum(float(array[0]) for array in data)
    for array in data:
        array[:] = total


def toy_sgd(params: list, lr: float, batch_size: int) -> None:
    """Take a step of the mean loss."""
    for param in params:
        param -= lr / batch_size * param.grad


@contextlib.contextmanager
def shown_effect(**parts: Any) -> Iterator[None]:
    """If what is checked inside fails, show what the answer would do to a
    training, where it does anything.

    `parts`: the answer, as `toy_training` takes it.
    """
    try:
        yield
    except AssertionError:
        with contextlib.suppress(Exception):  # it cannot even train
            show_training(toy_training(**parts), toy_training(1))
        raise


def show_training(found: list[list[float]], right: list[list[float]]) -> None:
    """Print a training of one number on two devices beside the right one,
    if they differ."""
    if all(
        abs(number - wanted[0]) < 1e-3
        for numbers, wanted in zip(found, right)
        for number in numbers
    ):
        return
    print('Two devices train a number toward 1, 2 and 6: it should go to')
    print('their mean, 3. With your function, the devices hold:')
    print('step   device 0   device 1   one device, with ours')
    for step in (1, 2, 4, len(right)):
        numbers = [*found[step - 1], *right[step - 1]]
        print(f'{step:4}', *(f'{number:10.3f}' for number in numbers))
