"""What `python -m d2ldoctor` and `python -m d2lmulti` have in common."""

from __future__ import annotations

import argparse
import sys
from typing import Any, Callable


class Formatter(
    argparse.ArgumentDefaultsHelpFormatter,
    argparse.RawDescriptionHelpFormatter,
):
    """Leaves examples as they are, and shows the defaults that say something.

    None and False do not: they mean that an option was not given.
    """

    def _get_help_string(self, action: argparse.Action) -> str | None:
        if action.default is None or action.default is False:
            return action.help
        return super()._get_help_string(action)


def show_examples(command: str, *examples: str) -> str:
    """Return the end of a help text: commands to copy."""
    title = 'examples:' if len(examples) > 1 else 'example:'
    return '\n'.join([title, *(f'  {command} {text}' for text in examples)])


def report_errors(
    run: Callable[[Any], object], options: Any, *errors: type[Exception]
) -> int:
    """Call `run(options)`; return the exit status. What a user can do
    something about is one line."""
    expected: tuple[type[Exception], ...] = ValueError, TypeError, OSError
    try:
        run(options)
    except (*expected, *errors) as error:
        print(f'error: {error}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print('interrupted', file=sys.stderr)
        return 130
    return 0
