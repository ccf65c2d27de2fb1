"""Whether a checkpoint is of the same training: settings, as JSON holds them,
and checksums of what is too large for it."""

import pathlib
import zlib
from typing import Any, Dict, List

import numpy as onp

# Settings that decide only how a step is split, so how sums are rounded.
ROUNDING = ('workers', 'devices', 'speeds')
# What functions did with some numbers: not to the last digit on another
# processor.
TRIED = ('tried loss', 'tried update')
DEFAULTS = {'num_micro_batches': 1}  # of what may be left out; else None
WHOLE = 2**24  # float32, in which workers exchange numbers, holds such whole


def check_settings(
    path: pathlib.Path, saved: Dict[str, Any], wanted: Dict[str, Any]
) -> None:
    """Raise ValueError if training cannot go on exactly with `wanted`: if a
    setting is new, gone or another. Those of `ROUNDING` may be left out."""
    for name in {**saved, **wanted}:
        if name in ROUNDING and name not in wanted:
            continue
        old, new = (
            table.get(name, DEFAULTS.get(name)) for table in (saved, wanted)
        )
        if not agree(name, old, new):
            other = (
                ', or elastic=True to go on with sums that are rounded '
                'differently'
            )
            raise ValueError(
                f'{path} was written with {name} = {old}, this '
                f'run has {new}: use the same to resume exactly, or '
                'another folder to start over'
                f'{other if name in ROUNDING else ""}'
            )


def agree(name: str, saved: Any, wanted: Any) -> bool:
    """Return whether a setting is the same as the saved one."""
    if name in TRIED and onp.shape(saved) == onp.shape(wanted):
        return onp.allclose(saved, wanted, rtol=1e-4, equal_nan=True)
    if name == 'schedule' and saved and wanted:  # one may be longer
        return all(old == new for old, new in zip(saved, wanted))
    return saved == wanted


def data_sums(X: onp.ndarray, y: onp.ndarray) -> list:
    """Return dtypes, shapes and checksums; of a sample, if there is much."""
    sample = X[:: 1 + X.nbytes // 2**26]
    return [
        *(f'{data.dtype} {data.shape}' for data in (X, y)),
        *(zlib.crc32(data.tobytes()) for data in (sample, y)),
    ]


def epoch_sums(rates: List[float], num_steps: int) -> List[int]:
    """Return a checksum of each epoch's learning rates, to six digits."""
    texts = [f'{rate:.5e}' for rate in rates]
    return [
        zlib.crc32(' '.join(texts[start : start + num_steps]).encode())
        for start in range(0, len(texts), num_steps)
    ]


def checksum(value: Any) -> int:
    """Return a checksum of a value's text, whole in float32."""
    return zlib.crc32(str(value).encode()) % WHOLE
