"""Fashion-MNIST: the bundled part, or the full set, found or downloaded."""

from pathlib import Path
from typing import Optional, Tuple

import numpy as onp

from d2lrun import data_files

__all__ = ['read_fashion_mnist']

BUNDLED_FOLDER = Path(__file__).with_name('fashion_mnist')
Arrays = Tuple[onp.ndarray, onp.ndarray, onp.ndarray, onp.ndarray]


def read_fashion_mnist(
    full: bool = False, folder: Optional[data_files.StrPath] = None
) -> Arrays:
    """Return (X_train, y_train, X_test, y_test) as NumPy arrays.

    Images: float32 in [0, 1], (n, 1, 28, 28); labels: int32, (n,). The
    bundled part (10,240 and 2,048 examples), or with `full` or a `folder`
    the full set (60,000 and 10,000).

    Raises FileNotFoundError if a named folder lacks a file, ConnectionError
    if none can be downloaded, ValueError if one is not the expected file.
    """
    source, files = BUNDLED_FOLDER, data_files.BUNDLED
    if full or folder is not None:
        source, files = data_files.find_full_set(folder), data_files.FULL
    X_train, y_train, X_test, y_test = [
        data_files.read_idx(
            data_files.find_file(source, name) or source / name, sha256
        )
        for name, sha256 in files.items()
    ]
    X_train, X_test = [X.astype('float32') / 255 for X in (X_train, X_test)]
    return X_train, y_train.astype('int32'), X_test, y_test.astype('int32')
