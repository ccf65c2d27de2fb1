"""Who slows a job down: `d2lrun waits FOLDER`, from the workers' records that
`D2LRUN_RECORDS=FOLDER` keeps."""

from __future__ import annotations

import pathlib
import sys
from typing import Sequence

from d2lbase.console import report_errors

from .records import parse_records, waiting_times

USAGE = 'd2lrun waits FOLDER, the one that D2LRUN_RECORDS named in the job'


def main(arguments: Sequence[str]) -> int:
    """Print how long each worker waited for the last one; return the exit
    status, 1 without records of two workers."""
    if len(arguments) != 1:
        print(f'usage: {USAGE}', file=sys.stderr)
        return 2
    return report_errors(print_waits, arguments[0])


def print_waits(folder: str) -> None:
    """Print how long each worker of the records in a folder waited; raise
    OSError or ValueError if they cannot be read."""
    paths = pathlib.Path(folder).glob('records-*')
    records = {path.name: parse_records(path.read_bytes()) for path in paths}
    if len(records) < 2:
        raise ValueError(
            f'{folder} has the records of {len(records)} workers, and two or '
            f'more are needed: {USAGE}'
        )
    try:
        waits = waiting_times(records, 'push')
    except (AttributeError, TypeError):
        raise ValueError(
            f'{folder} has files named records-… that are of another program '
            f'or version: {USAGE}'
        ) from None
    for name in sorted(waits, key=lambda name: -waits[name]):
        rank = name.replace('records-', 'rank ')
        print(f'{rank} waited {waits[name]:.3f} s for the last one')
    print('If one worker was always the last, it waited least.')
