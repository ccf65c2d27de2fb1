"""The wheels work without this repository."""

import pathlib
import subprocess
import sys
import tarfile
import zipfile

import pytest

ROOT = pathlib.Path(__file__).parents[3]
PACKAGES = {  # of which folder of which distribution, and where that lies
    'd2ldoctor/': ('tools/setup/', 'd2lmulti', ''),
    'd2lmulti/': ('', 'd2lmulti', ''),
    'samestep/': ('src/', 'samestep', 'samestep/'),
}
TRAIN = """
import d2lmulti
assert d2lmulti.__file__.startswith({folder!r}), d2lmulti.__file__
X, y, X_test, y_test = d2lmulti.read_fashion_mnist()
result = d2lmulti.train_on_cluster(1, 64, 0.2, num_epochs=1,
                                   data=(X[:128], y[:128], X_test, y_test))
print(len(result.accuracies), 'epoch')
"""
# The command, which reads all of the wheel's images and trains on some.
TRAIN_ON_FEW = """
import runpy, sys
from d2lmulti.datasets import fashion_mnist
read = fashion_mnist.read_fashion_mnist
fashion_mnist.read_fashion_mnist = lambda *options: [
    part[:1024] for part in read(*options)]
runpy.run_module('d2lmulti', run_name='__main__', alter_sys=True)
"""


def git_files(pattern):
    """Return the files that git knows, relative to the repository."""
    return subprocess.run(
        ['git', 'ls-files', pattern],
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        check=True,
    ).stdout.split()


@pytest.fixture(scope='module')
def dist(tmp_path_factory):
    """A folder with the wheels and the source archives, of git's files."""
    folder = tmp_path_factory.mktemp('dist')
    for name in git_files('.'):
        if (
            name.startswith((*PACKAGES, 'tools/setup/d2ldoctor/'))
            or '/' not in name
        ):
            path = folder / 'source' / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes((ROOT / name).read_bytes())
    command = [sys.executable, '-m', 'build', '--no-isolation', '-o']
    for source in (folder / 'source', folder / 'source/samestep'):
        result = subprocess.run(
            [*command, folder / 'dist', source],
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert result.returncode == 0, result.stdout
    return folder / 'dist'


@pytest.fixture(scope='module')
def installed(dist, tmp_path_factory):
    """The wheels, unpacked as pip would."""
    folder = tmp_path_factory.mktemp('installed')
    wheels = sorted(dist.glob('*.whl'))
    assert [wheel.name.split('-')[0] for wheel in wheels] == [
        'd2lmulti',
        'samestep',
    ]
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
    return folder


def run(installed, folder, *arguments, seconds=200):
    """Run this Python elsewhere, with the wheel before the repository."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        text=True,
        timeout=seconds,
        env={'PYTHONPATH': str(installed), 'HOME': str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


@pytest.mark.parametrize('package', PACKAGES)
def test_wheel_and_source_hold_every_file_of_a_package(
    dist, installed, package
):
    inside, name, above = PACKAGES[package]
    above += inside
    wanted = {path[len(above) :] for path in git_files(f'{above}{package}')}
    unpacked = {
        str(path.relative_to(installed))
        for path in (installed / package).rglob('*')
        if path.is_file()
    }
    assert wanted and unpacked == wanted
    (source,) = dist.glob(f'{name}-*.tar.gz')
    with tarfile.open(source) as archive:
        names = {name.partition('/')[2] for name in archive.getnames()}
    assert {f'{inside}{path}' for path in wanted} <= names
    assert {'LICENSE', 'README.md', 'pyproject.toml'} <= names


def test_its_metadata_name_the_builds_of_mxnet(installed):
    (path,) = installed.glob('d2lmulti-*.dist-info/METADATA')
    metadata = path.read_text()
    assert 'Requires-Dist: samestep; extra == "bugs"\n' in metadata
    assert 'Requires-Dist: mxnet==1.9.1;' in metadata
    assert 'Requires-Python: <3.15,>=3.8' in metadata
    assert len([*installed.glob('*.dist-info/**/LICENSE')]) == 2


def test_samestep_needs_numpy_alone_on_any_python(installed):
    (path,) = installed.glob('samestep-*.dist-info/METADATA')
    lines = path.read_text().splitlines()
    needed = [line for line in lines if line.startswith('Requires-Dist')]
    assert [line for line in needed if 'extra ==' not in line] == [
        'Requires-Dist: numpy>=1.17'
    ]
    assert 'Requires-Python: >=3.8' in lines


@pytest.mark.long
@pytest.mark.timeout(240)
def test_the_wheel_trains_in_a_job_of_several_processes(installed, tmp_path):
    (tmp_path / 'train.py').write_text(TRAIN.format(folder=str(installed)))
    command = '-m d2lmulti.cluster.jobs -n 2 train.py'.split()
    result = run(installed, tmp_path, *command)
    assert result.returncode == 0, result.stdout
    assert result.stdout.count('1 epoch') == 2


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_the_wheel_has_the_doctor_and_trains_compares_and_draws(
    installed, tmp_path
):
    result = run(installed, tmp_path, '-m', 'd2ldoctor', '--quick')
    assert result.returncode == 0, result.stdout
    command = 'train --epochs 1 --batch-size 512 --out new/curves.png'.split()
    result = run(installed, tmp_path, '-c', TRAIN_ON_FEW, *command)
    assert result.returncode == 0, result.stdout
    assert result.stdout.count('test acc 0.') == 2
    assert 'sec/epoch on [cpu(0), cpu(1)]' in result.stdout
    assert 'last step: replicas on ' in result.stdout
    figure = tmp_path / 'new' / 'curves.png'
    assert figure.read_bytes().startswith(b'\x89PNG')
