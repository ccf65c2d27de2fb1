"""A file from one of several mirrors, whole or not at all."""

import os
import pathlib
import tempfile
import time
import urllib.request
from http.client import HTTPException
from typing import Any, Callable, Sequence, Union


def download(
    name: str,
    folder: Union[str, 'os.PathLike[str]'],
    mirrors: Sequence[str],
    check: Callable[[pathlib.Path], Any],
    seconds: float = 120,
) -> None:
    """Fetch the file `name` into `folder` from the first mirror whose file
    passes `check`, which raises ValueError.

    Each mirror gets at most `seconds`. Raises ConnectionError, naming every
    mirror's failure, if none delivers.
    """
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    failures = []
    for mirror in mirrors:
        with tempfile.TemporaryDirectory(dir=folder) as unchecked:
            path = pathlib.Path(unchecked) / name
            try:
                fetch(mirror + name, path, seconds)
                check(path)
            except (OSError, ValueError, HTTPException) as error:
                failures.append(f'{mirror}: {error}')
                continue
            os.replace(path, pathlib.Path(folder) / name)
            return
    raise ConnectionError(
        f'{name} could not be downloaded ({"; ".join(failures)})'
    )


# Not pooch: its downloader waits for 1 KiB at a time, with a limit on each
# read of the socket but none on all, so that a server that sends a byte now
# and then holds it for as long as it likes (10 s where 1 s was allowed). A
# total deadline would take a thread and a progress bar that ends it: more
# code than this. And its checksum would be that of the gzipped file.
def fetch(url: str, path: pathlib.Path, seconds: float) -> None:
    """Download `url` to `path` with a progress bar, in at most `seconds`.

    Raises OSError if it fails or takes longer.
    """
    from tqdm import tqdm  # a job needs none

    deadline = time.monotonic() + seconds
    with urllib.request.urlopen(url, timeout=min(10, seconds)) as response:
        size = int(response.headers.get('Content-Length') or 0) or None
        bar = tqdm(total=size, desc=path.name, unit='B', unit_scale=True)
        with bar, open(path, 'wb') as file:
            for chunk in iter(lambda: response.read1(1 << 16), b''):
                if time.monotonic() > deadline:
                    raise TimeoutError(f'not finished within {seconds} s')
                file.write(chunk)
                bar.update(len(chunk))
