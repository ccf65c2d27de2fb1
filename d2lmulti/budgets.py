"""What an answer costs, beside what ours does.

Some exercises have a budget, as puzzles do. Their check, once passed, prints
'messages: yours 12, ours 12': fewer is better, and no score fails a check.
`python -m tools.notebooks.scores notebooks` collects what the checks have
printed.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import tracemalloc
from typing import Any, Callable
from unittest import mock

import mxnet as mx
import numpy as onp
from mxnet import base, np, npx

from .causes import WAITS
from .profiler import record_copies


def ones(k: int) -> list[Any]:
    """Return an array of 40 numbers on each of k devices."""
    return [np.ones(40, ctx=mx.cpu(i)) for i in range(k)]


def vectors(count: int) -> list[Any]:
    """Return arrays of 10,000 numbers."""
    return [onp.full(10_000, 0.3 * (1 + i)) for i in range(count)]


# (chapter, exercise): arguments of the answer, and what our solution costs.
# Bytes and messages are copies between devices; 'memory' is the peak of what
# NumPy allocates, in arrays of the arguments' size.
BUDGETS: dict[tuple[str, int], tuple[Callable[[], Any], dict[str, int]]] = {
    ('compression', 3): (
        lambda: [onp.ones(10_000), vectors(4), onp.ones(10_000), 0.7, 0.9],
        {'memory': 6, 'lines': 3},
    ),
}


def show(chapter: str, exercise: int, answer: Callable) -> None:
    """Print what a right answer costs, beside what our solution does.

    An answer that has passed its check stays right if it cannot be measured.
    """
    arguments, ours = BUDGETS[chapter, exercise]
    try:
        yours = measure(answer, *arguments())
    except Exception as error:
        print(f'no score: {type(error).__name__}: {error}')
        return
    for name, number in ours.items():
        if yours[name] is not None:
            print(f'{name}: yours {yours[name]:,}, ours {number:,}')


def measure(answer: Callable, *arguments: Any) -> dict[str, int | None]:
    """Return what a call costs, by name; None where it cannot be told."""
    given = [array for array in arguments if isinstance(array, onp.ndarray)]
    size = max((array.nbytes for array in given), default=0)
    waiting = {
        name: mock.Mock(wraps=getattr(base._LIB, name))
        for name in WAITS
        if hasattr(base._LIB, name)
    }
    npx.waitall()
    tracemalloc.start()
    try:
        with mock.patch.multiple(base._LIB, **waiting):
            sent = record_copies(lambda: answer(*arguments))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return {
        'bytes sent': sum(num_bytes for _, _, num_bytes in sent),
        'messages': len(sent),
        'waits': sum(call.call_count for call in waiting.values()),
        'memory': round(peak / size) if size else None,
        'lines': count_lines(answer),
    }


def count_lines(answer: Callable) -> int | None:
    """Return the lines below a function's docstring that are neither blank
    nor comments; None if its source is not known."""
    try:
        source = textwrap.dedent(inspect.getsource(answer))
        body = ast.parse(source).body[0].body  # type: ignore[attr-defined]
    except (OSError, TypeError, SyntaxError, AttributeError):
        return None
    docstring = isinstance(body[0], ast.Expr) and isinstance(
        body[0].value, ast.Constant
    )
    first = body[1 if docstring and body[1:] else 0].lineno
    return sum(
        bool(line.strip()) and not line.strip().startswith('#')
        for line in source.splitlines()[first - 1 :]
    )
