"""Files and folders that are whole, or stay what they were."""

import contextlib
import os
import pathlib
import tempfile


@contextlib.contextmanager
def atomically(target):
    """Yield a path beside `target` to write to: a file or folder that takes
    the place of `target` if the block ends without an exception."""
    target = pathlib.Path(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        new = pathlib.Path(folder, target.name)
        yield new
        if target.is_dir():
            os.replace(target, pathlib.Path(folder, 'old'))
        os.replace(new, target)
