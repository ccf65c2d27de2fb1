"""What runs the book elsewhere: valid by the schemas, and its commands run."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys

import check_jsonschema
import jsonschema
import kubernetes_validate
import pytest
import yaml
from helpers import JOIN

from d2lrun.agent import free_port

ROOT = pathlib.Path(__file__).parents[2]
DEPLOY = ROOT / 'deploy'
MANIFESTS = ('kubernetes', 'kubernetes-one-job')
VERSION = '1.27'  # of Kubernetes; what the manifests use is older
JOBS = [('kubernetes', 0), ('kubernetes', 1), ('kubernetes-one-job', 0)]
each_job = pytest.mark.parametrize('name, i', JOBS)


def read(name):
    """Return the documents of a manifest."""
    return list(yaml.safe_load_all((DEPLOY / f'{name}.yaml').read_text()))


def jobs_of(name):
    """Return the jobs in a manifest."""
    return [document for document in read(name) if document['kind'] == 'Job']


def pod_of(job):
    """Return what is said of every pod of a job."""
    return job['spec']['template']['spec']


def variables_of(job):
    """Return the variables of its container that have values."""
    (container,) = pod_of(job)['containers']
    return {v['name']: v['value'] for v in container['env'] if 'value' in v}


def schema(name):
    """Return a schema that the package check-jsonschema holds."""
    folder = pathlib.Path(check_jsonschema.__file__).parent
    path = folder / 'builtin_schemas' / 'vendor' / f'{name}.json'
    if sys.version_info < (3, 9) and not path.exists():
        pytest.skip(f'its last version for Python 3.8 has no {name}')
    return json.loads(path.read_text(encoding='utf-8'))


@pytest.mark.parametrize('name', MANIFESTS)
def test_the_manifests_are_valid(name):
    for document in read(name):
        kubernetes_validate.validate(document, VERSION, strict=True)


@pytest.mark.parametrize(
    'field, value', [('completionsMode', 'Indexed'), ('completions', 'four')]
)
def test_a_mistake_in_them_is_seen(field, value):
    (job,) = jobs_of('kubernetes-one-job')
    job['spec'][field] = value
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(job, VERSION, strict=True)


def test_there_is_a_pod_for_each_role():
    servers, workers = jobs_of('kubernetes')
    (nodes,) = jobs_of('kubernetes-one-job')
    counts = variables_of(servers)
    assert servers['spec']['completions'] == 1 + int(counts['SERVERS'])
    assert workers['spec']['completions'] == int(counts['WORKERS'])
    assert nodes['spec']['completions'] == int(variables_of(nodes)['WORKERS'])
    for job in (servers, workers, nodes):
        assert job['spec']['parallelism'] == job['spec']['completions']
        scheduler, _, service = variables_of(job)['SCHEDULER'].partition('.')
        first = nodes if job is nodes else servers
        assert scheduler == first['metadata']['name'] + '-0'
        assert service == pod_of(first)['subdomain'] == 'd2lmulti'
    for name in ('WORKERS', 'SERVERS', 'SCHEDULER'):
        assert variables_of(servers)[name] == variables_of(workers)[name]


@each_job
def test_only_workers_reserve_gpus(name, i):
    pod = pod_of(jobs_of(name)[i])
    (container,) = pod['containers']
    works = 'deploy/train.py' in container['command']
    gpus = container['resources']['limits'].get('nvidia.com/gpu')
    assert gpus == (1 if works else None)
    assert container['image'].endswith(':gpu') == works
    assert ('nvidia.com/gpu.present' in pod['nodeSelector']) == works


@each_job
def test_pods_can_do_no_more_than_they_must(name, i):
    job = jobs_of(name)[i]
    pod = pod_of(job)
    (container,) = pod['containers']
    assert pod['automountServiceAccountToken'] is False
    assert pod['securityContext']['runAsNonRoot']
    assert container['securityContext'] == {
        'allowPrivilegeEscalation': False,
        'readOnlyRootFilesystem': True,
        'capabilities': {'drop': ['ALL']},
    }
    assert {'cpu', 'memory'} <= set(container['resources']['limits'])
    limit = job['spec']['activeDeadlineSeconds']
    assert limit > int(variables_of(job)['JOB_TIMEOUT'])


@pytest.mark.parametrize('name', MANIFESTS)
def test_nobody_else_reaches_the_servers(name):
    (policy,) = (d for d in read(name) if d['kind'] == 'NetworkPolicy')
    own = {'podSelector': policy['spec']['podSelector']}
    assert policy['spec']['policyTypes'] == ['Ingress', 'Egress']
    assert policy['spec']['ingress'] == [{'from': [own]}]
    assert policy['spec']['egress'][0] == {'to': [own]}
    for job in jobs_of(name):
        labels = job['spec']['template']['metadata']['labels']
        assert labels == own['podSelector']['matchLabels']


@pytest.mark.parametrize(
    'path, name',
    [
        ('deploy/compose.yaml', 'compose-spec'),
        ('.github/workflows/ci.yml', 'github-workflows'),
        ('.github/workflows/nightly.yml', 'github-workflows'),
    ],
)
def test_compose_and_the_workflow_are_valid(path, name):
    def read_yaml():
        # YAML 1.1 takes GitHub's key `on` for True.
        document = yaml.safe_load((ROOT / path).read_text())
        return {
            'on' if key is True else key: document[key] for key in document
        }

    jsonschema.validate(read_yaml(), schema(name))
    wrong = read_yaml()
    parts = wrong.get('services', wrong.get('jobs'))
    next(iter(parts.values()))['timeout'] = 'long'
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, schema(name))


def test_the_images_differ_in_the_build_alone():
    cpu, gpu = (
        re.sub(r'(#.*|ENV LANG.*(\n {4}.*)*)\n', '', path.read_text())
        for path in (DEPLOY / 'Dockerfile', DEPLOY / 'Dockerfile.gpu')
    )
    lines = set(cpu.splitlines()) ^ set(gpu.splitlines())
    assert lines and all('.venv' in line for line in lines)


def test_the_layer_of_the_environment_knows_every_package():
    """Or the environment would lack one, or take it for a namespace."""
    project = (ROOT / 'pyproject.toml').read_text()
    (include,) = re.findall(r'^include = \[(.*)\]', project, re.M)
    for name in ('Dockerfile', 'Dockerfile.gpu'):
        words = (DEPLOY / name).read_text().split()
        for package in re.findall(r'"(\w+)\*"', include):
            assert f'{package}/__init__.py' in words
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


def commands_of(name):
    """Return (command, variables) for each container of a job."""
    if name == 'compose':
        text = (DEPLOY / 'compose.yaml').read_text()
        services = yaml.safe_load(text)['services']
        return [
            (services[role]['command'], services[role]['environment'])
            for role in ('scheduler', 'server', 'worker')
            for _ in range(services[role].get('scale', 1))
        ]
    return [
        (
            [
                word.replace('$(JOB_COMPLETION_INDEX)', str(i))
                for word in pod_of(job)['containers'][0]['command']
            ],
            {**variables_of(job), 'JOB_COMPLETION_INDEX': str(i)},
        )
        for job in jobs_of(name)
        for i in range(job['spec']['completions'])
    ]


def start_containers(name, folder, program, **more):
    """Run the commands of a job here, with a name service of our own."""
    (folder / 'getent').write_text('#!/bin/sh\necho 127.0.0.1 STREAM $2\n')
    (folder / 'getent').chmod(0o755)
    (folder / 'train.py').write_text(program)
    path = [str(folder), os.path.dirname(sys.executable), os.environ['PATH']]
    port = str(free_port(0))
    return [
        subprocess.Popen(
            [
                word.replace('deploy/train.py', str(folder / 'train.py'))
                for word in command
            ],
            cwd=ROOT,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={
                **os.environ,
                **variables,
                'HOME': str(folder),
                'PATH': os.pathsep.join(path),
                'SCHEDULER_PORT': port,
                'DMLC_NODE_HOST': '127.0.0.1',
                'D2LMULTI_DEVICES': 'cpu',
                **more,
            },
        )
        for command, variables in commands_of(name)
    ]


def wait_for(containers, seconds=200):
    """Return (output, status) of each container; leave no process."""
    try:
        return [
            (container.communicate(timeout=seconds)[0], container.returncode)
            for container in containers
        ]
    finally:
        for container in containers:
            end(container)


def end(container):
    """End a container, as its runtime would: with all its processes."""
    found = subprocess.run(
        ['ps', '-o', 'pid=', '-s', str(container.pid)],
        text=True,
        stdout=subprocess.PIPE,
    )
    for process in found.stdout.split():
        os.kill(int(process), signal.SIGKILL)
    container.wait()


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    'name',
    [
        'compose',
        pytest.param('kubernetes-one-job', marks=pytest.mark.long),
    ],
)
def test_its_commands_run_a_job(name, tmp_path):
    program = JOIN + 'print(step(), *sys.argv[1:])\nnpx.waitall()'
    containers = start_containers(name, tmp_path, program)
    results = wait_for(containers)
    assert [status for _, status in results] == [0] * len(containers), results
    output = ''.join(text for text, _ in results)
    assert output.count('[2.0, 2.0, 2.0] /checkpoints\n') == 2, output


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_worker_ends_when_the_servers_are_gone(tmp_path):
    """As when Kubernetes ends the pods of the other job."""
    program = JOIN + 'step()\nprint("began", flush=True)\ntime.sleep(3600)'
    containers = start_containers(
        'kubernetes', tmp_path, program, WATCH_EVERY='1'
    )
    try:
        for worker in containers[2:]:
            assert 'began' in worker.stdout.readline()
        for other in containers[:2]:
            end(other)
    except BaseException:
        wait_for(containers, 0.1)
        raise
    results = wait_for(containers)[2:]
    assert all(status > 0 for _, status in results)
    assert all('the scheduler is gone' in text for text, _ in results)


@pytest.mark.slow
@pytest.mark.parametrize(
    'role, reason',
    [
        (['driver'], 'no such role'),
        (['worker'], 'which program'),
        (['worker', 'true'], 'no scheduler at 127.0.0.1'),
        (['server'], 'no address for'),
    ],
)
def test_what_is_wrong_is_said_in_time(role, reason):
    scheduler = 'localhost' if 'true' in role else 'nowhere.invalid'
    result = subprocess.run(
        ['sh', 'deploy/role.sh', *role],
        cwd=ROOT,
        text=True,
        timeout=120,
        stderr=subprocess.PIPE,
        env={
            'PATH': os.path.dirname(sys.executable) + ':' + os.environ['PATH'],
            'SCHEDULER': scheduler,
            'SCHEDULER_PORT': str(free_port(0)),
            'STARTUP_TIMEOUT': '1',
        },
    )
    assert result.returncode == 1
    assert reason in result.stderr
