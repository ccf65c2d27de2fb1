"""The Kubernetes manifest: valid by the schema, and its command runs a job."""

import os
import pathlib
import subprocess
import sys

import kubernetes_validate
import pytest
import yaml
from helpers import JOIN

from d2lmulti.launcher.agent import free_port

MANIFEST = pathlib.Path(__file__).parents[2] / 'deploy/kubernetes.yaml'
VERSION = '1.27'  # of Kubernetes; what the manifest uses is older


def read():
    """Return the documents of the manifest."""
    return list(yaml.safe_load_all(MANIFEST.read_text()))


def command_of(job):
    """Return the shell script that every pod of the job runs."""
    return job['spec']['template']['spec']['containers'][0]['args'][0]


def test_the_manifest_is_valid():
    for document in read():
        kubernetes_validate.validate(document, VERSION, strict=True)


@pytest.mark.parametrize(
    'field, value', [('completionsMode', 'Indexed'), ('completions', 'four')]
)
def test_a_mistake_in_it_is_seen(field, value):
    job = read()[-1]
    job['spec'][field] = value
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(job, VERSION, strict=True)


def test_there_is_a_pod_for_each_role():
    job = read()[-1]
    words = command_of(job).split()
    workers, servers = (
        int(words[words.index(name) + 1])
        for name in ('--workers', '--servers')
    )
    assert job['spec']['completions'] == 1 + servers + workers
    assert job['spec']['parallelism'] == job['spec']['completions']


@pytest.mark.timeout(90)
def test_its_command_runs_a_job(tmp_path):
    """Here instead of in pods, with a name service of our own."""
    (tmp_path / 'getent').write_text('#!/bin/sh\necho 127.0.0.1 $2\n')
    (tmp_path / 'getent').chmod(0o755)
    (tmp_path / 'train.py').write_text(
        JOIN + 'print(step(), *sys.argv[1:])\nnpx.waitall()'
    )
    job = read()[-1]
    script = command_of(job).replace('9091', str(free_port(0)))
    path = os.pathsep.join(
        [str(tmp_path), os.path.dirname(sys.executable), os.environ['PATH']]
    )
    pods = [
        subprocess.Popen(
            ['bash', '-c', script],
            cwd=tmp_path,
            text=True,
            stdout=subprocess.PIPE,
            env={
                **os.environ,
                'PATH': path,
                'JOB_COMPLETION_INDEX': str(i),
                'POD_IP': '127.0.0.1',
            },
        )
        for i in range(job['spec']['completions'])
    ]
    try:
        outputs = [pod.communicate(timeout=60)[0] for pod in pods]
    finally:
        for pod in pods:
            pod.kill()
            pod.wait()
    assert outputs == ['', '', *['[2.0, 2.0, 2.0] /checkpoints\n'] * 2]
    assert [pod.returncode for pod in pods] == [0] * 4
