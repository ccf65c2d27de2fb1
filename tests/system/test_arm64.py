"""MXNet's package for arm64 finds an OpenBLAS, or a message says which."""

import ctypes
import os
import pathlib

import pytest

from d2ldoctor import __main__ as doctor
from d2ldoctor import arm64, mxnet_checks
from d2lmulti.prepare import runtime

SCIPY = 'scipy.libs/libopenblasp-r0-dff490c2.3.18.so'
FORTRAN = 'scipy.libs/libgfortran-daac5196.so.5.0.0'


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """A folder with an MXNet for arm64, and a loader as Linux's: it opens
    MXNet only if its folder has all libraries that MXNet asks for."""

    def load(path):
        folder = pathlib.Path(path).parent
        for name in arm64.NEEDED:
            if not (folder / name).exists():
                raise OSError(f'{name}: cannot open shared object file')

    monkeypatch.setattr(ctypes, 'CDLL', load)
    for module in (arm64, runtime.arm64):  # the doctor's, and d2lmulti's
        monkeypatch.setattr(module, 'mxnet_folder', lambda: tmp_path / 'mxnet')
    add(tmp_path, 'mxnet/libmxnet.so')
    return tmp_path


def add(packages, *names):
    for name in names:
        path = packages / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)


def found_by_mxnet(packages):
    """Return what MXNet loads under the names that it asks for."""
    return {(packages / 'mxnet' / name).read_text() for name in arm64.NEEDED}


def test_mxnet_gets_the_openblas_that_scipy_brings(packages):
    add(packages, SCIPY, FORTRAN)
    assert arm64.lacks_blas(packages / 'mxnet')
    arm64.link_blas(packages / 'mxnet')
    assert not arm64.lacks_blas(packages / 'mxnet')
    assert found_by_mxnet(packages) == {SCIPY}
    for path in (packages / 'mxnet').iterdir():
        assert path.name in (*arm64.NEEDED, 'libmxnet.so') or (
            path.read_text() == FORTRAN
        )
        assert not path.is_symlink() or not os.readlink(path).startswith('/')


def test_the_packages_may_move_and_openblas_may_change(packages, tmp_path):
    add(packages, SCIPY, FORTRAN)
    arm64.link_blas(packages / 'mxnet')
    moved = packages.with_name('moved')
    packages.rename(moved)
    assert not arm64.lacks_blas(moved / 'mxnet')
    (moved / SCIPY).unlink()
    add(moved, 'scipy.libs/libopenblasp-r0-another.so')
    assert arm64.lacks_blas(moved / 'mxnet')
    arm64.link_blas(moved / 'mxnet')
    assert found_by_mxnet(moved) == {'scipy.libs/libopenblasp-r0-another.so'}


@pytest.mark.parametrize('there', [arm64.NEEDED, arm64.NEEDED[:1]])
def test_what_the_user_has_put_there_stays(there, packages):
    add(packages, SCIPY, *(f'mxnet/{name}' for name in there))
    arm64.link_blas(packages / 'mxnet')
    for name in there:
        path = packages / 'mxnet' / name
        assert not path.is_symlink() and path.read_text() == f'mxnet/{name}'
    assert not arm64.lacks_blas(packages / 'mxnet')


def test_an_mxnet_that_starts_is_left_alone(packages, monkeypatch):
    add(packages, SCIPY)
    monkeypatch.setattr(ctypes, 'CDLL', lambda path: None)
    arm64.link_blas(packages / 'mxnet')
    assert [path.name for path in (packages / 'mxnet').iterdir()] == [
        'libmxnet.so'
    ]


def test_another_fault_is_left_to_mxnet(packages, monkeypatch):
    def load(path):
        raise OSError('libgomp.so.1: cannot open shared object file')

    add(packages, SCIPY)
    monkeypatch.setattr(ctypes, 'CDLL', load)
    arm64.link_blas(packages / 'mxnet')
    assert len(list((packages / 'mxnet').iterdir())) == 1


@pytest.mark.parametrize(
    'machine, platform, folder',
    [
        ('aarch64', 'linux', True),
        ('x86_64', 'linux', False),
        ('arm64', 'darwin', False),
    ],
)
def test_only_linux_on_arm64_needs_it(machine, platform, folder, monkeypatch):
    monkeypatch.setattr(arm64.platform, 'machine', lambda: machine)
    monkeypatch.setattr(arm64.sys, 'platform', platform)
    assert (arm64.mxnet_folder() is not None) == folder
    arm64.link_blas(None)


def without_openblas(packages, monkeypatch):
    add(packages, 'scipy.libs/libscipy_openblas-68440149.so')  # as since 1.14
    return 'needs OpenBLAS, and there is none', 'pip install'


def without_rights(packages, monkeypatch):
    def refuse(target, link):
        raise PermissionError(13, 'Permission denied', str(link))

    add(packages, SCIPY)
    monkeypatch.setattr(os, 'symlink', refuse)
    return 'Permission denied', "-c 'import d2lmulti'"


@pytest.mark.parametrize('fault', [without_openblas, without_rights])
def test_the_import_and_the_doctor_say_what_is_missing(
    fault, packages, monkeypatch
):
    message, fix = fault(packages, monkeypatch)
    with pytest.raises(ImportError) as error:
        runtime.import_mxnet()
    assert message in str(error.value) and fix in str(error.value)
    check = mxnet_checks.diagnose_blas(packages / 'mxnet')
    assert check.status == doctor.RED
    assert message in check.found and fix in check.fix


def test_the_doctor_lets_mxnet_find_it_and_says_which(packages):
    add(packages, SCIPY)
    check = mxnet_checks.diagnose_blas(packages / 'mxnet')
    assert check.status == doctor.GREEN and check.found.endswith(SCIPY)
    names = [check.name for check in doctor.examine()]
    assert 'BLAS' in names
