"""The command `d2lrun`: run a job, `d2lrun doctor`, or `d2lrun waits`.

Each is imported when it is asked for: the doctor must not even need psutil,
and a job does not wait for the doctor.
"""

from __future__ import annotations

import sys
from typing import Sequence

DOCTOR = f'{sys.executable} -m d2ldoctor'


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    if arguments[:1] == ['waits']:
        from . import waits

        return waits.main(arguments[1:])
    try:
        from . import options
    except ImportError as error:  # psutil is missing
        print(f'error: {error}: run {DOCTOR}', file=sys.stderr)
        return 1
    return options.main(arguments)


if __name__ == '__main__':
    sys.exit(main())
