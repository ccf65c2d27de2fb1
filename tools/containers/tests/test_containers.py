"""What runs the book elsewhere: valid by the schemas, and its commands run."""

import json
import os
import pathlib
import re
import subprocess
import sys

import check_jsonschema
import jsonschema
import pytest
import yaml

ROOT = pathlib.Path(__file__).parents[3]
FOLDER = ROOT / 'tools/containers'
BIN = pathlib.Path(sys.executable).parent
SUM = r"""
import sys
from mpi4py import MPI
# One string, or the lines of two processes may mix.
sys.stdout.write(f'{sys.argv[1:]} {MPI.COMM_WORLD.allreduce(1)}\n')
"""


def job():
    """Return Kubernetes' job."""
    return yaml.safe_load((FOLDER / 'mpijob.yaml').read_text())['spec']


def container(kind):
    """Return the container of the job's pods of a kind."""
    pod = job()['mpiReplicaSpecs'][kind]['template']['spec']
    (only,) = pod['containers']
    return only


def test_the_job_has_a_pod_for_each_process():
    command = container('Launcher')['command']
    workers = job()['mpiReplicaSpecs']['Worker']['replicas']
    processes = int(command[command.index('-n') + 1])
    assert processes == workers * job()['slotsPerWorker']


def test_launcher_and_workers_agree():
    (variable,) = container('Launcher')['env']
    command = container('Worker')['command']
    port = command[command.index('-p') + 1]
    assert f'-p {port} ' in variable['value']
    assert container('Worker')['readinessProbe']['tcpSocket'] == {
        'port': int(port)
    }
    key = pathlib.Path(command[command.index('-h') + 1])
    assert str(key.parent) == job()['sshAuthMountPath']
    assert container('Launcher')['image'] == container('Worker')['image']


@pytest.mark.slow
def test_its_command_runs_a_job(tmp_path):
    (tmp_path / 'tools/containers').mkdir(parents=True)
    (tmp_path / 'tools/containers/train.py').write_text(SUM)
    result = subprocess.run(
        container('Launcher')['command'],
        cwd=tmp_path,
        text=True,
        timeout=100,
        capture_output=True,
        env={**os.environ, 'PATH': f'{BIN}:{os.environ["PATH"]}'},
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == ["['/checkpoints'] 2"] * 2


@pytest.mark.parametrize('name', ['ci', 'nightly'])
def test_the_workflows_are_valid(name):
    vendor = pathlib.Path(check_jsonschema.__file__).parent / 'builtin_schemas'
    path = vendor / 'vendor' / 'github-workflows.json'
    schema = json.loads(path.read_text(encoding='utf-8'))
    text = (ROOT / f'.github/workflows/{name}.yml').read_text()
    # YAML 1.1 takes GitHub's key `on` for True.
    workflow = {
        'on' if key is True else key: value
        for key, value in yaml.safe_load(text).items()
    }
    jsonschema.validate(workflow, schema)
    next(iter(workflow['jobs'].values()))['timeout'] = 'long'
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(workflow, schema)


def test_the_layer_of_the_environment_knows_every_package():
    """Or the environment would lack one, or take it for a namespace."""
    project = (ROOT / 'pyproject.toml').read_text()
    (include,) = re.findall(r'^include = \[(.*)\]', project, re.M)
    words = (FOLDER / 'Dockerfile').read_text().split()
    for package in re.findall(r'"(\w+)\*"', include):
        inside = f'{package}/__init__.py'
        assert {inside, f'tools/setup/{inside}'} & {*words}
    assert 'samestep/src/samestep/__init__.py' in words


def test_an_image_holds_no_settings_of_this_machine():
    lines = (ROOT / '.dockerignore').read_text().splitlines()
    ignored = {line.replace('**/', '').rstrip('/') for line in lines}
    assert '.git' in ignored  # .git/config may hold a password
    for line in (ROOT / '.gitignore').read_text().splitlines():
        assert line.rstrip('/') in ignored | {'.venv*'}, line


def test_the_dev_container_names_what_exists():
    text = (ROOT / '.devcontainer/devcontainer.json').read_text()
    settings = json.loads(re.sub(r'^//.*\n', '', text, flags=re.M))
    dockerfile = ROOT / '.devcontainer' / settings['build']['dockerfile']
    assert f'AS {settings["build"]["target"]}\n' in dockerfile.read_text()
    assert f' {settings["remoteUser"]} ' in dockerfile.read_text()
    assert settings['postCreateCommand'] == 'make env'
