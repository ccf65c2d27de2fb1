"""What a reader in Jupyter is told when a cell above has not run."""

import sys
from typing import Any

ADVICE = (
    'If a cell above defines it: Run > Run All Above Selected Cell. After a '
    'restart of the kernel, all cells above must run again.'
)


def explain_missing_names() -> None:
    """In Jupyter, say below each NameError how to get the name; elsewhere,
    do nothing."""
    ipython = sys.modules.get('IPython')
    shell: Any = ipython.get_ipython() if ipython else None
    if not hasattr(shell, 'kernel'):
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
