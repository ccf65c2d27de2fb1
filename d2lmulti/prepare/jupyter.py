"""Whether this is Jupyter, and how a reader there sees two errors: a cell
above has not run; an operator was given arrays of two devices."""

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


def explain_errors() -> None:
    """In Jupyter, say below each NameError how to get the name, and end a
    DeviceError's traceback at the line that is wrong; elsewhere, do nothing.
    """
    from .strict_devices import DeviceError, without_mxnet  # needs MXNet

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
        if kind is DeviceError:
            trace = without_mxnet(trace)
        own_shell.showtraceback((kind, error, trace), tb_offset=tb_offset)
        if kind is NameError:  # not that of a function's local name
            print(ADVICE, file=sys.stderr)

    shell.set_custom_exc((NameError, DeviceError), explain)
