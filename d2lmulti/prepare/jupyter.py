"""Whether this is Jupyter, and what a reader there is told: of a cell above
that has not run, of arrays of two devices, of a name that a check needs."""

import contextlib
import sys
from typing import Any, Callable, Dict, Tuple

ADVICE = (
    'If a cell above defines it: Run > Run All Above Selected Cell. After a '
    'restart of the kernel, all cells above must run again.'
)


def jupyter_shell() -> Any:
    """Return Jupyter's shell in this process, None elsewhere."""
    ipython = sys.modules.get('IPython')
    shell = ipython.get_ipython() if ipython else None
    return shell if hasattr(shell, 'kernel') else None


def help_reader(
    functions: Callable[[], Dict[str, Any]],
    shorten: Dict[Any, Callable],
) -> None:
    """In Jupyter, say below each NameError how to get the name, end the
    traceback of an error in `shorten` where its function says, and give the
    checks of exercises the names that they need, `functions()` of ours among
    them; elsewhere, do nothing.
    """
    shell = jupyter_shell()
    if shell is None:
        return
    from .own_names import put_back

    kinds: Tuple[Any, ...] = (NameError, *shorten)

    def explain(
        own_shell: Any,
        kind: Any,
        error: Any,
        trace: Any,
        tb_offset: Any = None,
    ) -> None:
        if kind in shorten:
            trace = shorten[kind](trace)
        own_shell.showtraceback((kind, error, trace), tb_offset=tb_offset)
        if kind is NameError:  # not that of a function's local name
            print(ADVICE, file=sys.stderr)

    def before_cell(cell: Any) -> None:
        with contextlib.suppress(SyntaxError):  # which the cell will raise
            for line in put_back(cell.raw_cell, shell.user_ns, functions()):
                print(line)

    def after_cell(result: Any) -> None:
        """MXNet raises an error once more when it waits next: here."""
        if not result.success:
            with contextlib.suppress(Exception):
                sys.modules['mxnet'].npx.waitall()

    shell.set_custom_exc(kinds, explain)
    shell.events.register('post_run_cell', after_cell)
    shell.events.register('pre_run_cell', before_cell)
