"""Fashion-MNIST: the bundled part, or the full set, found or downloaded.

A file counts when its uncompressed content has the expected SHA-256: a
mirror may send an error page, and a download may end early.
"""

import functools
import gzip
import hashlib
import os
import zlib
from pathlib import Path
from typing import Optional, Tuple, Union

import numpy as onp

from ..prepare.mxnet_settings import cache_folder
from .download import download

__all__ = ['read_fashion_mnist']

NAMES = [
    'train-images-idx3-ubyte',
    'train-labels-idx1-ubyte',
    't10k-images-idx3-ubyte',
    't10k-labels-idx1-ubyte',
]
BUNDLED_SHA256 = [  # of the uncompressed files
    '92a8eff2c9f239b12c1986ce2f44bda7fad465e4040889829d96893540616cb4',
    '7c82df8ea09b8219be7638d85b0393d8d5c92099f9ea438f1f0f495305b67fe9',
    '6f9feacda106df143d1921683754dee0e833f97591debbe057c3d98d9edfecbd',
    'e1b7c2e60ef380237dc378c81a4c1e67578af842d4806ec22c13049cde687802',
]
FULL_SHA256 = [
    'c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888',
    'bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9',
    '5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b',
    '0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34',
]
BUNDLED = dict(zip(NAMES, BUNDLED_SHA256))
FULL = dict(zip(NAMES, FULL_SHA256))
MIRRORS = [
    'https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/'
    'master/data/fashion/',
    'https://storage.googleapis.com/tensorflow/tf-keras-datasets/',
    'http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/',
    'https://apache-mxnet.s3-accelerate.dualstack.amazonaws.com/gluon/'
    'dataset/fashion-mnist/',
]
BUNDLED_FOLDER = Path(__file__).with_name('fashion_mnist')
Arrays = Tuple[onp.ndarray, onp.ndarray, onp.ndarray, onp.ndarray]
StrPath = Union[str, 'os.PathLike[str]']


def read_fashion_mnist(
    full: bool = False, folder: Optional[StrPath] = None
) -> Arrays:
    """Return (X_train, y_train, X_test, y_test) as NumPy arrays.

    Images: float32 in [0, 1], (n, 1, 28, 28); labels: int32, (n,). The
    bundled part (10,240 and 2,048 examples), or with `full` or a `folder`
    the full set (60,000 and 10,000).

    Raises FileNotFoundError if a named folder lacks a file, ConnectionError
    if none can be downloaded, ValueError if one is not the expected file.
    """
    if full not in (True, False):
        raise TypeError(
            f'full must be True or False, not {full!r:.60}: a folder is named '
            'with folder=...'
        )
    source, files = BUNDLED_FOLDER, BUNDLED
    if full or folder is not None:
        source, files = find_full_set(folder), FULL
    X_train, y_train, X_test, y_test = [
        read_idx(find_file(source, name) or source / name, sha256)
        for name, sha256 in files.items()
    ]
    X_train, X_test = [X.astype('float32') / 255 for X in (X_train, X_test)]
    return X_train, y_train.astype('int32'), X_test, y_test.astype('int32')


def read_idx(path: StrPath, sha256: str) -> onp.ndarray:
    """Return the bytes of the IDX file at `path`, gzipped or not, as uint8.

    Images: (n, 1, 28, 28); labels: (n,). Raises ValueError if the content
    cannot be unpacked or does not have the checksum `sha256`.
    """
    content = Path(path).read_bytes()
    fix = 'delete it and fetch it again, or use another folder'
    if content[:2] == b'\x1f\x8b':  # gzip
        try:
            content = gzip.decompress(content)
        except (EOFError, OSError, zlib.error) as error:
            raise ValueError(
                f'{path} is truncated or damaged ({error}): {fix}'
            ) from None
    checksum = hashlib.sha256(content).hexdigest()
    if checksum != sha256:
        raise ValueError(
            f'{path} is not the expected Fashion-MNIST file: its content has '
            f'SHA-256 {checksum[:16]}..., expected {sha256[:16]}...: {fix}'
        )
    images = 'images' in Path(path).name
    data = onp.frombuffer(content, 'uint8', offset=16 if images else 8)
    return data.reshape(-1, 1, 28, 28) if images else data


def find_file(folder: StrPath, name: str) -> Optional[Path]:
    """Return the path of `name` or `name`.gz in `folder`, or None."""
    paths = [Path(folder) / name, Path(folder) / (name + '.gz')]
    return next(filter(Path.is_file, paths), None)


def find_full_set(folder: Optional[StrPath] = None) -> Path:
    """Return the folder that holds the full set; download it if need be.

    Looks in `folder` or `D2LMULTI_DATA`, in Debian's folder, and in the
    cache. Raises FileNotFoundError if a folder was named and a file is
    missing there, ConnectionError if no mirror could be reached.
    """
    named = folder or os.environ.get('D2LMULTI_DATA')
    if named:
        for name in FULL:
            if not find_file(named, name):
                raise FileNotFoundError(
                    f'{Path(named) / name}.gz is missing: put the four files '
                    'of Fashion-MNIST there, or name another folder'
                )
        return Path(named)
    cache = cache_folder() / 'fashion-mnist'
    for place in (Path('/usr/share/datasets/fashion-mnist'), cache):
        if all(find_file(place, name) for name in FULL):
            return place
    download_missing(cache)
    return cache


def download_missing(cache: Path) -> None:
    """Fetch what the cache lacks of the full set, or raise ConnectionError."""
    for name, sha256 in FULL.items():
        if not find_file(cache, name):
            check = functools.partial(read_idx, sha256=sha256)
            try:
                download(name + '.gz', cache, MIRRORS, check)
            except ConnectionError as error:
                raise ConnectionError(
                    f'{error}. Train on the bundled part, install the Debian '
                    'package dataset-fashion-mnist, or set D2LMULTI_DATA to '
                    'a folder with the four files'
                ) from None
