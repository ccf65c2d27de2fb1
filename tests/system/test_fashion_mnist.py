"""Fashion-MNIST: the bundled part, where the full set comes from, faults."""

import functools
import gzip
import hashlib
import http.server
import threading

import numpy as onp
import pytest

from d2lmulti.datasets import fashion_mnist
from d2lmulti.datasets.download import download
from d2lmulti.datasets.fashion_mnist import FULL, read_fashion_mnist, read_idx

NAMES = list(FULL)


@pytest.fixture
def full_set(tmp_path, monkeypatch):
    """A small stand-in for the full set, with its own checksums."""
    contents = {}
    for name in NAMES:
        part = bytes(range(6))
        if 'images' in name:
            contents[name] = bytes(16) + part[:6] * 784
        else:
            contents[name] = bytes(8) + part
        monkeypatch.setitem(
            FULL, name, hashlib.sha256(contents[name]).hexdigest()
        )
    folder = tmp_path / 'set'
    folder.mkdir()
    for name, content in contents.items():
        (folder / f'{name}.gz').write_bytes(gzip.compress(content))
    return folder


def test_the_bundled_part_is_balanced_and_scaled():
    X_train, y_train, X_test, y_test = read_fashion_mnist()
    assert X_train.shape == (10_240, 1, 28, 28) and X_train.dtype == 'float32'
    assert X_test.shape == (2_048, 1, 28, 28) and y_test.dtype == 'int32'
    assert X_train.min() == 0 and X_train.max() == 1
    assert set(onp.bincount(y_train)) == {1024}
    assert set(onp.bincount(y_test)) == {204, 205}


def test_a_folder_in_the_place_of_full_is_refused(tmp_path):
    with pytest.raises(TypeError, match='a folder is named with folder='):
        read_fashion_mnist(str(tmp_path))


@pytest.mark.parametrize('named_by', ['argument', 'variable'])
def test_a_named_folder_is_used(full_set, named_by, monkeypatch):
    if named_by == 'variable':
        monkeypatch.setenv('D2LMULTI_DATA', str(full_set))
        X, y, _, _ = read_fashion_mnist(full=True)
    else:
        X, y, _, _ = read_fashion_mnist(folder=full_set)
    assert X.shape == (6, 1, 28, 28) and y.tolist() == [0, 1, 2, 3, 4, 5]


def test_files_may_be_unpacked(full_set):
    for path in list(full_set.iterdir()):
        path.with_suffix('').write_bytes(gzip.decompress(path.read_bytes()))
        path.unlink()
    assert len(read_fashion_mnist(folder=full_set)[0]) == 6


def test_a_missing_file_is_named(full_set):
    (full_set / f'{NAMES[2]}.gz').unlink()
    with pytest.raises(FileNotFoundError, match=NAMES[2]):
        read_fashion_mnist(folder=full_set)


@pytest.mark.parametrize('name', NAMES)
@pytest.mark.parametrize(
    'fault', ['empty', 'truncated', 'foreign', 'flipped', 'html']
)
def test_a_broken_file_is_named_with_the_fix(full_set, name, fault):
    path = full_set / f'{name}.gz'
    content = path.read_bytes()
    middle = len(content) // 2
    path.write_bytes(
        {
            'empty': b'',
            'truncated': content[:middle],
            'foreign': gzip.compress(b'some other data'),
            'flipped': content[:middle]
            + bytes([content[middle] ^ 255])
            + content[middle + 1 :],
            'html': b'<html>not found</html>',
        }[fault]
    )
    with pytest.raises(ValueError) as caught:
        read_fashion_mnist(folder=full_set)
    assert str(path) in str(caught.value)
    assert 'delete it and fetch it again' in str(caught.value)


class Mirror(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        kind, name = self.path.strip('/').split('/')
        if kind == 'missing':
            return self.send_error(404)
        if kind == 'silent':
            return self.server.ended.wait(20)
        content = (self.server.folder / name).read_bytes()
        self.send_response(200)
        self.send_header('Content-Length', len(content))
        self.end_headers()
        if kind == 'good':
            self.wfile.write(content)
        elif kind == 'cut':
            self.wfile.write(content[:20])
        elif kind == 'foreign':
            self.wfile.write(b'x' * len(content))
        else:  # a byte now and then
            for _ in range(200):
                self.wfile.write(b'x')
                self.wfile.flush()
                if self.server.ended.wait(0.1):
                    break

    def log_message(self, *args):
        pass


@pytest.fixture
def server(full_set):
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Mirror)
    server.folder, server.daemon_threads = full_set, True
    server.ended = threading.Event()
    threading.Thread(
        target=server.serve_forever, args=(0.02,), daemon=True
    ).start()
    yield f'http://127.0.0.1:{server.server_port}/'
    server.ended.set()
    server.shutdown()
    server.server_close()


def fetch(name, folder, mirrors):
    """Download a file of the full set, with a second for each mirror."""
    check = functools.partial(read_idx, sha256=FULL[name])
    download(f'{name}.gz', folder, mirrors, check, seconds=1)


def test_a_download_tries_mirror_after_mirror(server, tmp_path):
    name, cache = NAMES[1], tmp_path / 'cache'
    mirrors = [
        server + kind + '/'
        for kind in ('missing', 'cut', 'foreign', 'silent', 'slow', 'good')
    ]
    mirrors.insert(0, 'http://127.0.0.1:9/')
    fetch(name, cache, mirrors)
    assert [path.name for path in cache.iterdir()] == [f'{name}.gz']
    assert len(read_idx(cache / f'{name}.gz', FULL[name])) == 6


def test_a_failed_download_leaves_nothing_and_names_every_mirror(
    server, tmp_path
):
    name, cache = NAMES[1], tmp_path / 'cache'
    mirrors = [server + kind + '/' for kind in ('cut', 'foreign')]
    with pytest.raises(ConnectionError) as caught:
        fetch(name, cache, mirrors)
    assert list(cache.iterdir()) == []
    for part in mirrors:
        assert part in str(caught.value)


@pytest.mark.parametrize(
    'kind, why', [('silent', 'timed out'), ('slow', 'not finished within 1 s')]
)
def test_a_server_that_keeps_us_waiting_is_given_up(
    kind, why, server, tmp_path
):
    name = NAMES[1]
    with pytest.raises(ConnectionError, match=f'{kind}/: .*{why}'):
        fetch(name, tmp_path / 'cache', [f'{server}{kind}/'])


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'home'))
    monkeypatch.delenv('D2LMULTI_DATA', raising=False)
    is_file = fashion_mnist.Path.is_file
    monkeypatch.setattr(
        fashion_mnist.Path,
        'is_file',
        lambda path: (
            is_file(path) and not str(path).startswith('/usr/share/datasets')
        ),
    )


def test_without_a_network_the_message_says_what_helps(
    empty_cache, monkeypatch
):
    monkeypatch.setattr(fashion_mnist, 'MIRRORS', ['http://127.0.0.1:9/'])
    with pytest.raises(ConnectionError) as caught:
        read_fashion_mnist(full=True)
    for part in ('127.0.0.1:9', 'D2LMULTI_DATA', 'dataset-fashion-mnist'):
        assert part in str(caught.value)


def test_the_cache_is_filled_once_and_used_again(
    empty_cache, server, monkeypatch
):
    monkeypatch.setattr(fashion_mnist, 'MIRRORS', [server + 'good/'])
    assert len(read_fashion_mnist(full=True)[0]) == 6
    monkeypatch.setattr(fashion_mnist, 'MIRRORS', [])
    assert len(read_fashion_mnist(full=True)[0]) == 6
