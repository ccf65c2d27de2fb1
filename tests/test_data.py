"""The data set: what is bundled, where the full set comes from, faults."""
import gzip
import hashlib
import http.server
import sys
import threading
import time

import numpy as onp
import pytest

import d2lmulti

data = sys.modules['d2lmulti.data']
NAMES = list(data.FULL)


@pytest.fixture
def full_set(tmp_path, monkeypatch):
    """A small stand-in for the full set, with checksums of its own."""
    contents = {}
    for name in NAMES:
        part = bytes(range(6))
        if 'images' in name:
            contents[name] = bytes(16) + part[:6] * 784
        else:
            contents[name] = bytes(8) + part
        monkeypatch.setitem(data.FULL, name,
                            hashlib.sha256(contents[name]).hexdigest())
    folder = tmp_path / 'set'
    folder.mkdir()
    for name, content in contents.items():
        (folder / f'{name}.gz').write_bytes(gzip.compress(content))
    return folder


def test_the_bundled_part_is_balanced_and_scaled():
    X_train, y_train, X_test, y_test = d2lmulti.read_fashion_mnist()
    assert X_train.shape == (10_240, 1, 28, 28) and X_train.dtype == 'float32'
    assert X_test.shape == (2_048, 1, 28, 28) and y_test.dtype == 'int32'
    assert X_train.min() == 0 and X_train.max() == 1
    assert set(onp.bincount(y_train)) == {1024}
    assert set(onp.bincount(y_test)) == {204, 205}


def test_minibatches_have_the_promised_form():
    train_iter, test_iter = d2lmulti.load_fashion_mnist(100)
    sizes = [len(X) for X, _ in test_iter]
    assert sizes == [100] * 20 + [48] and len(train_iter) == 103
    X, y = next(iter(train_iter))
    assert X.shape == (100, 1, 28, 28) and X.dtype == onp.float32
    assert y.shape == (100,) and 0 <= y.min() and y.max() <= 9


@pytest.mark.parametrize('named_by', ['argument', 'variable'])
def test_a_named_folder_is_used(full_set, named_by, monkeypatch):
    if named_by == 'variable':
        monkeypatch.setenv('D2LMULTI_DATA', str(full_set))
        X, y, _, _ = d2lmulti.read_fashion_mnist(full=True)
    else:
        X, y, _, _ = d2lmulti.read_fashion_mnist(folder=full_set)
    assert X.shape == (6, 1, 28, 28) and y.tolist() == [0, 1, 2, 3, 4, 5]


def test_files_may_be_unpacked(full_set):
    for path in list(full_set.iterdir()):
        path.with_suffix('').write_bytes(gzip.decompress(path.read_bytes()))
        path.unlink()
    assert len(d2lmulti.read_fashion_mnist(folder=full_set)[0]) == 6


def test_a_missing_file_is_named(full_set):
    (full_set / f'{NAMES[2]}.gz').unlink()
    with pytest.raises(FileNotFoundError, match=NAMES[2]):
        d2lmulti.read_fashion_mnist(folder=full_set)


@pytest.mark.parametrize('name', NAMES)
@pytest.mark.parametrize('fault', ['empty', 'truncated', 'foreign', 'flipped',
                                   'html'])
def test_a_broken_file_is_named_with_the_mend(full_set, name, fault):
    path = full_set / f'{name}.gz'
    content = path.read_bytes()
    middle = len(content) // 2
    path.write_bytes({
        'empty': b'', 'truncated': content[:middle],
        'foreign': gzip.compress(b'some other data'),
        'flipped': content[:middle] + bytes([content[middle] ^ 255])
        + content[middle + 1:],
        'html': b'<html>not found</html>'}[fault])
    with pytest.raises(ValueError) as caught:
        d2lmulti.read_fashion_mnist(folder=full_set)
    assert str(path) in str(caught.value)
    assert 'delete it and fetch it again' in str(caught.value)


class Mirror(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        kind, name = self.path.strip('/').split('/')
        if kind == 'missing':
            return self.send_error(404)
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
        else:  # a byte now and then, never an end
            for i in range(50):
                self.wfile.write(b'x')
                self.wfile.flush()
                time.sleep(0.1)

    def log_message(self, *args):
        pass


@pytest.fixture
def server(full_set):
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Mirror)
    server.folder, server.daemon_threads = full_set, True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f'http://127.0.0.1:{server.server_port}/'
    server.shutdown()


def test_a_download_tries_mirror_after_mirror(server, tmp_path):
    name, cache = NAMES[1], tmp_path / 'cache'
    mirrors = [server + kind + '/' for kind in
               ('missing', 'cut', 'foreign', 'slow', 'good')]
    mirrors.insert(0, 'http://127.0.0.1:9/')
    data.download(f'{name}.gz', data.FULL[name], cache, mirrors, seconds=1)
    assert [path.name for path in cache.iterdir()] == [f'{name}.gz']
    assert len(data.read_idx(cache / f'{name}.gz', data.FULL[name])) == 6


def test_a_failed_download_leaves_nothing_and_names_every_mirror(
        server, tmp_path):
    name, cache = NAMES[1], tmp_path / 'cache'
    mirrors = [server + kind + '/' for kind in ('cut', 'foreign')]
    with pytest.raises(ConnectionError) as caught:
        data.download(f'{name}.gz', data.FULL[name], cache, mirrors, 1)
    assert list(cache.iterdir()) == []
    for part in mirrors + ['D2LMULTI_DATA', 'dataset-fashion-mnist']:
        assert part in str(caught.value)


def test_the_cache_is_filled_once_and_used_again(server, tmp_path,
                                                 monkeypatch):
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'home'))
    monkeypatch.delenv('D2LMULTI_DATA', raising=False)
    is_file = data.Path.is_file
    monkeypatch.setattr(data.Path, 'is_file', lambda path: is_file(path)
                        and not str(path).startswith('/usr/share/datasets'))
    monkeypatch.setattr(data, 'MIRRORS', [server + 'good/'])
    assert len(d2lmulti.read_fashion_mnist(full=True)[0]) == 6
    monkeypatch.setattr(data, 'MIRRORS', [])
    assert len(d2lmulti.read_fashion_mnist(full=True)[0]) == 6
