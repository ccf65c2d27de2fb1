"""Whether this is Jupyter, and what a reader there is told when a cell above
has not run."""

import sys
from typing import Any

ADVICE = (
    'If a cell above defines it: Run > Run All Above Selected Cell. After a '
    'restart of the kernel, all cells above must run again.'
)


def jupyter_shell() -> Any:
    """Return Jupyter's shell in this process, None elsewhere."""
    ipython = sys.modules.get('IPython')
    shell = ipython.get_ipython() if ipython else None
    return shell if hasattr(shell, 'kernel') else None


def explain_missing_names() -> None:
    """In Jupyter, say below each NameError how to get the name; elsewhere,
    do nothing."""
    shell = jupyter_shell()
    if shell is None:
        return

    def explain(
        own_shell: Any,
        kind: Any,
        error: Any,
        trace: Any,
        tb_offset: Any = None,
    ) -> None:
        own_shell.showtraceback((kind, error, trace), tb_offset=tb_offset)
        if kind is NameError:  # not that of a function's local name
            print(ADVICE, file=sys.stderr)

    shell.set_custom_exc((NameError,), explain)
