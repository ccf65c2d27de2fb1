"""The doctor's checks of MXNet and, for its GPU build, of CUDA."""

import importlib.util
import json
import os
import pathlib
import platform
import re
import shlex
import subprocess
from importlib import metadata
from typing import Any, Dict, Iterator, Optional

from . import cuda, nvidia
from .machine_checks import GREEN, PYTHON, RED, YELLOW, Check, pinned, pip
from .mxnet_settings import SETTINGS

WORKSPACES = 'MXNET_CPU_TEMP_COPY'
STAND_IN = 'numpy-mxnet'
MXNET2_FORK = 'https://github.com/smolix/mxnet'


# The package


def find_builds() -> Dict[str, str]:
    """Return the installed packages that bring MXNet, and their versions."""
    builds = {}
    for distribution in metadata.distributions():
        name = (distribution.metadata['Name'] or '').lower()
        if re.fullmatch(r'mxnet(-(cu\d+|mkl|native))*|numpy-mxnet', name):
            builds[name] = distribution.version
    return builds


def diagnose_builds(builds: Dict[str, str]) -> Check:
    """Exactly one package must bring MXNet."""
    if len(builds) == 1:
        ((name, version),) = builds.items()
        what = f'{name} {version}'
        if name == STAND_IN:
            what += ', the stand-in for MXNet on NumPy'
        return Check('MXNet package', GREEN, what)
    wanted = pinned(wanted_build())
    if not builds:
        return Check(
            'MXNet package',
            RED,
            'is not installed',
            pip(f'install --no-deps {wanted}'),
        )
    return Check(
        'MXNet package',
        RED,
        f'{" and ".join(sorted(builds))}: both write '
        'the folder mxnet, so one overwrites the other',
        pip(
            f'uninstall -y {" ".join(sorted(builds))}',
            f'install --no-deps {wanted}',
        ),
    )


def wanted_build() -> str:
    """Return the package for this machine: the stand-in where MXNet has
    none, the GPU build if all is there that it needs."""
    if platform.machine() not in ('x86_64', 'AMD64') or os.name == 'nt':
        return './numpy_mxnet'
    libraries = (
        all(map(cuda.find_library, cuda.MXNET_LIBRARIES))
        or cuda.user_libraries_fit()
    )
    return cuda.GPU_BUILD if libraries and nvidia.ask_driver() else 'mxnet'


# What the GPU build needs


def diagnose_libraries() -> Iterator[Check]:
    """Yield a check for each CUDA library, or one if they are the user's."""
    versions = cuda.user_versions()
    if versions and cuda.user_libraries_fit():
        runtime, cudnn = versions
        yield Check(
            'CUDA libraries',
            GREEN,
            f'your own: runtime {cuda_version(runtime)}, cuDNN {cudnn}',
        )
        return
    for name, package in cuda.MXNET_LIBRARIES.items():
        version = cuda.version_of(package)
        if cuda.find_library(name):
            yield Check(name, GREEN, f'{package} {version}')
        elif cuda.loads(name):
            yield Check(name, GREEN, 'your own')
        else:
            again = '--force-reinstall ' if version else ''
            yield Check(
                name,
                RED,
                "is missing: MXNet's GPU build needs it",
                pip(f'install --no-deps {again}{pinned(package)}'),
            )


def cuda_version(number: int) -> str:
    """Return '11.8' for 11080."""
    return f'{number // 1000}.{number % 1000 // 10}'


def diagnose_driver(driver: Optional[nvidia.Driver]) -> Check:
    """The driver's library must be there, even for CPU devices."""
    newer = 'sudo ubuntu-drivers install   # or otherwise driver 520 or newer'
    if driver is None:
        use_cpu = pip(
            f'uninstall -y {cuda.GPU_BUILD}',
            f'install --no-deps {pinned("mxnet")}',
        )
        found = (
            "libcuda.so.1 is missing, without which MXNet's GPU build does "
            'not even start'
        )
        fix = f'{newer}\n{use_cpu}   # without an NVIDIA GPU: the CPU build'
        return Check('NVIDIA driver', RED, found, fix)
    found = f'runs CUDA up to {cuda_version(driver.version)}'
    if driver.version < cuda.MIN_DRIVER:
        found += ', too old for CUDA 11: CPU devices are used'
        return Check('NVIDIA driver', YELLOW, found, newer)
    if driver.error not in (0, 100):
        found = f'does not start (CUDA error {driver.error}): '
        found += 'CPU devices are used'
        fix = 'nvidia-smi   # tells why; often a restart helps'
        return Check('NVIDIA driver', YELLOW, found, fix)
    return Check('NVIDIA driver', GREEN, found)


def diagnose_gpus(driver: Optional[nvidia.Driver]) -> Iterator[Check]:
    """Yield a check for each GPU: does MXNet have machine code for it?"""
    if driver and not driver.gpus and driver.error in (0, 100):
        yield Check(
            'GPUs',
            YELLOW,
            'the driver sees none: CPU devices are used',
            'nvidia-smi   # should list them',
        )
    for i, gpu in enumerate(driver.gpus if driver else ()):
        found = (
            f'{gpu.name}, capability {gpu.capability[0]}.'
            f'{gpu.capability[1]}, {gpu.memory / 2**30:.0f} GiB'
        )
        if gpu.has_code:
            yield Check(f'gpu({i})', GREEN, found)
        else:
            yield Check(
                f'gpu({i})',
                YELLOW,
                f'{found}: MXNet 1.9.1 has machine code '
                'for 5.0 to 8.9 only, so CPU devices are used',
                f'a maintained fork of MXNet 2, {MXNET2_FORK}, has code for '
                'Ampere to Blackwell; this book was not tested with it',
            )


# What MXNet itself says

ASK = """
import ctypes, json, threading, warnings
def runs_behind(count):  # whether cpu(1) works while cpu(0) is held
    import mxnet as mx
    from mxnet import base, np
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
    end, done = threading.Event(), threading.Event()
    hold, tell = call(lambda *_: end.wait() and None), call(
        lambda *_: done.set())
    def push(work, device, *arrays):  # it waits for the arrays
        base.check_call(base._LIB.MXEnginePushSyncND(
            work, None, None, (ctypes.c_int * 2)(1, device),
            (ctypes.c_void_p * 1)(*[array.handle for array in arrays]),
            len(arrays), None, 0, None, 0, b'doctor'))
    first, second = [np.ones((4, 4), ctx=mx.cpu(i)) for i in range(2)]
    mx.npx.waitall()
    try:
        push(hold, 0)
        sums = [first.sum(axis=0) for _ in range(count)]  # a workspace each
        push(tell, 1, second.sum(axis=0))
        return done.wait(10)
    finally:
        end.set()
        mx.npx.waitall()
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter('always')
    import d2lmulti, mxnet
    devices, data = [], ''
    for k in range(1, 9):
        try:
            devices = list(map(str, d2lmulti.try_devices(k)))
        except ValueError as error:
            said.append(error)
            break
        if 'cpu' in devices[0]:
            break
in_parallel = ('gpu' in devices[0] or hasattr(mxnet, 'STAND_IN')
               or runs_behind(63))
try:
    d2lmulti.read_fashion_mnist()
except Exception as error:
    data = str(error)
print('found:', json.dumps({
    'version': mxnet.__version__, 'devices': devices, 'data': data,
    'in_parallel': in_parallel,
    'said': [str(getattr(line, 'message', line)) for line in said]}))
"""
ASK_TIMEOUT = 300  # seconds
IMPORT_FAULTS = {  # what the error says, and what fixes it
    'libgomp': 'sudo apt install libgomp1   # Fedora: sudo dnf install '
    'libgomp',
    'libquadmath': 'sudo apt install libquadmath0   # Fedora: sudo dnf '
    'install libquadmath',
}


def ask_mxnet() -> Dict[str, Any]:
    """Return what a process that imports MXNet finds, or {'error': line}."""
    try:
        result = subprocess.run(
            [PYTHON, '-c', ASK],
            capture_output=True,
            text=True,
            timeout=ASK_TIMEOUT,
        )
    except subprocess.TimeoutExpired:
        return {'error': f'no response within {ASK_TIMEOUT} seconds'}
    match = re.search(r'^found: (.*)', result.stdout, flags=re.MULTILINE)
    if match:
        return json.loads(match[1])
    lines = result.stderr.strip().splitlines() or [
        f'Python ended with status {result.returncode}'
    ]
    return {'error': lines[-1].split('. To see what to do')[0]}


def diagnose_mxnet(answer: Dict[str, Any], builds: Dict[str, str]) -> Check:
    """MXNet must start."""
    if 'error' not in answer:
        return Check('MXNet', GREEN, f'{answer["version"]} starts')
    again = ' '.join(pinned(name) for name in builds)
    fix = next(
        (
            fix
            for text, fix in IMPORT_FAULTS.items()
            if text in answer['error']
        ),
        pip(f'install --force-reinstall --no-deps {again}'),
    )
    return Check('MXNet', RED, f'does not start: {answer["error"]}', fix)


def diagnose_devices(answer: Dict[str, Any]) -> Check:
    """Which devices are used: GPUs that work, or CPU devices, and why."""
    why = '; '.join(
        line for line in answer['said'] if 'using CPU devices' in line
    )
    devices = ', '.join(answer['devices'])
    if 'cpu' not in devices:
        return Check('devices', GREEN, devices)
    if not (why and answer['in_parallel']):
        return diagnose_workspaces(answer['in_parallel'])
    return Check(
        'devices',
        YELLOW,
        why,
        'export D2LMULTI_DEVICES=cpu   '
        '# keeps this quiet; for GPUs, fix what is yellow above',
    )


def diagnose_workspaces(in_parallel: bool) -> Check:
    """One CPU device must work while 63 operators wait on another."""
    if in_parallel:
        return Check(
            'devices',
            GREEN,
            'CPU devices, up to 64; one works while another has 63 operators '
            'in its queue (chapter 6)',
        )
    workspaces = os.getenv(WORKSPACES, SETTINGS[WORKSPACES])
    return Check(
        'devices',
        RED,
        f'one CPU device waits for another that has 63 operators in its '
        f'queue; {WORKSPACES} is {workspaces} (chapter 6)',
        f'unset {WORKSPACES}',
    )


def diagnose_data_set(answer: Dict[str, Any]) -> Check:
    """The bundled part of Fashion-MNIST must be as it was."""
    if not answer['data']:
        return Check('data set', GREEN, 'the bundled part of Fashion-MNIST')
    spec = importlib.util.find_spec('d2lmulti')  # which imports nothing
    (folder,) = spec and spec.submodule_search_locations or ['d2lmulti']
    data = shlex.quote(str(pathlib.Path(folder) / 'datasets'))
    return Check(
        'data set',
        RED,
        answer['data'],
        f'git -C {data} checkout '
        '-- fashion_mnist   # or download the project again',
    )
