"""Look at the installation, say what is wrong, and name what mends it.

    python -m d2lmulti doctor [--quick] [--json]

It works without MXNet, because it is wanted when MXNet cannot be imported:
what needs MXNet runs in a process of its own.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
from importlib import metadata

from . import cuda, runtime

GREEN, YELLOW, RED = 'green', 'yellow', 'red'
COLOURS = {GREEN: '\033[32m', YELLOW: '\033[33m', RED: '\033[31m'}
PYTHON = sys.executable
MXNET2_FORK = 'https://github.com/smolix/mxnet'


@dataclasses.dataclass(frozen=True)
class Check:
    """What was found; each line of `mend` is a command that mends it (the
    first that fits), or says what to do."""
    name: str
    status: str
    found: str
    mend: str = ''


def main(arguments=None):
    """Print the checks, then measure the speed; 0 if training can run."""
    parser = argparse.ArgumentParser(
        prog='python -m d2lmulti doctor',
        description='Look at the installation and name what mends it. If '
        'training can run, measure what keeps several devices from being '
        'faster, too (python -m d2lmulti causes).')
    parser.add_argument('--quick', action='store_true',
                        help='do not measure the speed')
    parser.add_argument('--json', action='store_true',
                        help='print the checks for a program')
    parser.add_argument('--devices', default='2', metavar='K',
                        help='number of devices to compare with one')
    parser.add_argument('--batch-size', default='256',
                        help='examples in a minibatch, over all devices')
    options = parser.parse_args(arguments)
    checks = examine()
    can_train = all(check.status != RED for check in checks)
    if options.json:
        print(json.dumps({'can_train': can_train, 'checks': [
            dataclasses.asdict(check) for check in checks]}, indent=1))
        return 0 if can_train else 1
    print_table(checks)
    if not can_train:
        print('Training cannot run yet: mend what is red, from the top, and '
              'run this again.')
        return 1
    if options.quick:
        return 0
    return subprocess.run([PYTHON, '-m', 'd2lmulti', 'causes', '--devices',
                           options.devices, '--batch-size',
                           options.batch_size]).returncode


def print_table(checks):
    """Print a line for each check, and below it what mends it."""
    colour = sys.stdout.isatty()
    for check in checks:
        status = f'{check.status:6}'
        if colour:
            status = f'{COLOURS[check.status]}{status}\033[0m'
        print(f'{status}  {check.name:18}  {check.found}')
        for line in check.mend.splitlines():
            print(f'{"":26}  -> {line}')
    sys.stdout.flush()


def examine():
    """Return all checks, in the order in which faults should be mended."""
    python = check_python()
    if python.status == RED:
        return [python]  # another environment is needed, whatever else
    builds = mxnet_builds()
    gpu_build = cuda.GPU_BUILD in builds
    driver = cuda.ask_driver() if gpu_build else None
    checks = [python, check_numpy(), check_builds(builds)]
    if gpu_build:
        checks += [*check_libraries(), check_driver(driver),
                   *check_gpus(driver)]
    seen = ask_mxnet()
    if all(check.status != RED for check in checks) or 'error' not in seen:
        checks.append(check_mxnet(seen, builds))
    checks += [check_devices(seen), check_d2l(),
               check_threads(), check_memory(), check_data_set(seen),
               check_cache(), check_kernel()]
    return [check for check in checks if check]


# What tells the versions: those that d2lmulti and d2l were installed with.

def pinned(package):
    """Return the package with the version that is wanted: 'd2l==1.0.3'."""
    for owner in ('d2lmulti', 'd2l'):
        try:
            requirements = metadata.requires(owner) or []
        except metadata.PackageNotFoundError:
            continue
        for requirement in requirements:
            found = re.match(rf'{re.escape(package)} ?\(?==([\w.]+)',
                             requirement)
            if found:
                return f'{package}=={found[1]}'
    return {'numpy': "'numpy<1.24'"}.get(package, package)


def pip(*commands):
    """Return a line that runs pip; .venv may have come without it."""
    python = shlex.quote(PYTHON)
    first = '' if cuda.version_of('pip') else f'{python} -m ensurepip; '
    return first + '; '.join(f'{python} -m pip {command}'
                             for command in commands)


def version_numbers(version):
    """Return (1, 24) for '1.24.4'."""
    return tuple(map(int, re.findall(r'\d+', version)[:2]))


# Checks that need no MXNet.

def check_python():
    """Python must be 3.8 to 3.11."""
    version = sys.version_info[:3]
    found = '.'.join(map(str, version))
    if (3, 8) <= version[:2] <= (3, 11):
        return Check('Python', GREEN, found)
    return Check(
        'Python', RED, f'{found}: MXNet 1.9.1 runs on 3.8 to 3.11',
        'make env PYTHON=python3.11   # after `uv python install 3.11`, if '
        'there is none\n'
        'conda env create -f environment.yml   # or environment-cpu.yml')


def check_numpy():
    """NumPy must be older than 1.24."""
    version = cuda.version_of('numpy')
    mend = pip(f'install {pinned("numpy")}')
    if version is None:
        return Check('NumPy', RED, 'is not installed', mend)
    if version_numbers(version) >= (1, 24):
        return Check('NumPy', RED, f'{version}: MXNet needs numpy.bool, which '
                     'NumPy 1.24 took away', mend)
    return Check('NumPy', GREEN, version)


def mxnet_builds():
    """Return the installed packages that bring MXNet, and their versions."""
    builds = {}
    for distribution in metadata.distributions():
        name = (distribution.metadata['Name'] or '').lower()
        if re.fullmatch(r'mxnet(-(cu\d+|mkl|native))*', name):
            builds[name] = distribution.version
    return builds


def check_builds(builds):
    """Exactly one package must bring MXNet."""
    if len(builds) == 1:
        (name, version), = builds.items()
        return Check('MXNet package', GREEN, f'{name} {version}')
    wanted = pinned(wanted_build())
    if not builds:
        return Check('MXNet package', RED, 'is not installed',
                     pip(f'install {wanted}'))
    return Check(
        'MXNet package', RED, f'{" and ".join(sorted(builds))}: both write '
        'mxnet/libmxnet.so, so one overwrites the other',
        pip(f'uninstall -y {" ".join(sorted(builds))}',
            f'install --no-deps {wanted}'))


def wanted_build():
    """Return the name of the GPU build if all is there that it needs."""
    libraries = (all(map(cuda.find_library, cuda.MXNET_LIBRARIES))
                 or cuda.own_libraries_fit())
    return cuda.GPU_BUILD if libraries and cuda.ask_driver() else 'mxnet'


def check_libraries():
    """Yield a check for each CUDA library, or one if they are the user's."""
    own = cuda.own_versions()
    if cuda.own_libraries_fit():
        yield Check('CUDA libraries', GREEN, 'your own: runtime '
                    f'{own[0] // 1000}.{own[0] % 1000 // 10}, cuDNN {own[1]}')
        return
    for name, package in cuda.MXNET_LIBRARIES.items():
        version = cuda.version_of(package)
        if cuda.find_library(name):
            yield Check(name, GREEN, f'{package} {version}')
        elif cuda.loads(name):
            yield Check(name, GREEN, 'your own')
        else:
            again = '--force-reinstall ' if version else ''
            yield Check(name, RED, 'is missing: MXNet\'s GPU build needs it',
                        pip(f'install --no-deps {again}{pinned(package)}'))


def check_driver(driver):
    """The driver's library must be there, even for CPU devices."""
    newer = 'sudo ubuntu-drivers install   # or otherwise driver 520 or newer'
    if driver is None:
        cpu = pip(f'uninstall -y {cuda.GPU_BUILD}',
                  f'install --no-deps {pinned("mxnet")}')
        return Check(
            'NVIDIA driver', RED, 'libcuda.so.1 is missing, without which '
            'MXNet\'s GPU build does not even start',
            f'{newer}\n{cpu}   # without an NVIDIA GPU: the CPU build')
    found = f'runs CUDA up to {driver.version // 1000}.' \
            f'{driver.version % 1000 // 10}'
    if driver.version < cuda.LEAST_DRIVER:
        return Check('NVIDIA driver', YELLOW, f'{found}, too old for CUDA 11: '
                     'CPU devices are used', newer)
    if driver.error not in (0, 100):
        return Check('NVIDIA driver', YELLOW, f'does not start (CUDA error '
                     f'{driver.error}): CPU devices are used',
                     'nvidia-smi   # tells why; often a restart helps')
    return Check('NVIDIA driver', GREEN, found)


def check_gpus(driver):
    """Yield a check for each GPU: does MXNet have machine code for it?"""
    if driver and not driver.gpus and driver.error in (0, 100):
        yield Check('GPUs', YELLOW, 'the driver sees none: CPU devices are '
                    'used', 'nvidia-smi   # should list them')
    for i, gpu in enumerate(driver.gpus if driver else ()):
        found = (f'{gpu.name}, capability {gpu.capability[0]}.'
                 f'{gpu.capability[1]}, {gpu.memory / 2 ** 30:.0f} GiB')
        if gpu.has_code:
            yield Check(f'gpu({i})', GREEN, found)
        else:
            yield Check(
                f'gpu({i})', YELLOW, f'{found}: MXNet 1.9.1 has machine code '
                'for 5.0 to 8.9 only, so CPU devices are used',
                f'a maintained fork of MXNet 2, {MXNET2_FORK}, has code for '
                'Ampere to Blackwell; this book was not tested with it')


def check_d2l():
    """The book's companion package."""
    version = cuda.version_of('d2l')
    if version is None:
        return Check('d2l', RED, 'is not installed',
                     pip(f'install --no-deps {pinned("d2l")}'))
    return Check('d2l', GREEN, version)


def check_threads():
    """Settings of the user that slow CPU devices down."""
    own = [f'{name}={os.environ[name]}'
           for name, value in runtime.SETTINGS.items()
           if os.environ.get(name, value) != value]
    if own:
        names = ' '.join(setting.split('=')[0] for setting in own)
        return Check('threads', YELLOW, f'{", ".join(own)}: several CPU '
                     'devices may not be faster', f'unset {names}')
    return Check('threads', GREEN, f'{os.cpu_count()} cores; one thread for '
                 'each operator')


def free_memory():
    """Return how many bytes of memory are free, or None if unknown."""
    try:
        import psutil
    except ImportError:
        return None
    return psutil.virtual_memory().available


def check_memory():
    """Training takes about 700 MB."""
    free = free_memory()
    if free is None:
        return Check('memory', RED, 'psutil is not installed',
                     pip('install psutil'))
    found = f'{free / 2 ** 30:.1f} GiB free'
    many = 'ps aux --sort=-rss | head   # close what needs much'
    if free < 0.5 * 2 ** 30:
        return Check('memory', RED, f'{found}: training needs about 0.7 GiB',
                     many)
    if free < 1.5 * 2 ** 30:
        return Check('memory', YELLOW, f'{found}: enough for small '
                     'minibatches', many)
    return Check('memory', GREEN, found)


def check_cache():
    """The cache is needed for the full data set only."""
    folder = runtime.cache_folder()
    there = next(path for path in (folder, *folder.parents) if path.exists())
    if os.access(there, os.W_OK | os.X_OK) and there.is_dir():
        return Check('cache', GREEN, str(folder))
    return Check(
        'cache', YELLOW, f'{there} cannot be written, so the full data set '
        'cannot be kept; the bundled part needs no cache',
        'export XDG_CACHE_HOME=$HOME/d2lmulti-cache   # any folder of yours')


def check_kernel():
    """Jupyter must run the notebooks with this Python."""
    mend = pip('install ipykernel jupyterlab nbval')
    try:
        from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel
    except ImportError:
        return Check('Jupyter kernel', YELLOW, 'Jupyter is not installed: '
                     'training runs, notebooks do not', mend)
    try:
        command = KernelSpecManager().get_kernel_spec('python3').argv[0]
    except NoSuchKernel:
        return Check('Jupyter kernel', YELLOW, 'there is none for Python',
                     mend)
    if os.path.basename(command) == command or os.path.samefile(
            command, PYTHON):
        return Check('Jupyter kernel', GREEN, 'python3 runs this Python')
    return Check(
        'Jupyter kernel', YELLOW, f'python3 runs {command}, not this Python',
        f'{PYTHON} -m ipykernel install --sys-prefix')


# Checks that need MXNet.

ASK = """
import json, warnings
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
try:
    d2lmulti.read_fashion_mnist()
except Exception as error:
    data = str(error)
print('found:', json.dumps({
    'version': mxnet.__version__, 'devices': devices, 'data': data,
    'said': [str(getattr(line, 'message', line)) for line in said]}))
"""


def ask_mxnet(seconds=300):
    """Return what a process that imports MXNet finds, or {'error': line}."""
    try:
        result = subprocess.run([PYTHON, '-c', ASK], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True,
                                timeout=seconds)
    except subprocess.TimeoutExpired:
        return {'error': f'nothing happens for {seconds} seconds'}
    found = re.search(r'^found: (.*)', result.stdout, flags=re.MULTILINE)
    if found:
        return json.loads(found[1])
    lines = result.stderr.strip().splitlines()
    return {'error': lines[-1].split('. To see what to do')[0] if lines else
            f'Python ended with status {result.returncode}'}


IMPORT_FAULTS = {  # what the error says, and what mends it
    'libgomp': 'sudo apt install libgomp1   # Fedora: sudo dnf install '
               'libgomp',
    'libquadmath': 'sudo apt install libquadmath0   # Fedora: sudo dnf '
                   'install libquadmath',
}


def check_mxnet(seen, builds):
    """MXNet must start; what is red already is the reason why it does not.
    """
    if 'error' not in seen:
        return Check('MXNet', GREEN, f'{seen["version"]} starts')
    again = ' '.join(pinned(name) for name in builds)
    mend = next((mend for text, mend in IMPORT_FAULTS.items()
                 if text in seen['error']),
                pip(f'install --force-reinstall --no-deps {again}'))
    return Check('MXNet', RED, f'does not start: {seen["error"]}', mend)


def check_devices(seen):
    """GPUs that work, or CPU devices, and why."""
    if 'error' in seen:
        return None
    said = '; '.join(line for line in seen['said']
                     if 'using CPU devices' in line)
    devices = ', '.join(seen['devices'])
    if 'cpu' not in devices:
        return Check('devices', GREEN, devices)
    if not said:
        return Check('devices', GREEN, 'CPU devices, up to 64')
    return Check('devices', YELLOW, said, 'export D2LMULTI_DEVICES=cpu   '
                 '# keeps this quiet; for GPUs, mend what is yellow above')


def check_data_set(seen):
    """The bundled part of Fashion-MNIST must be as it was."""
    if 'error' in seen:
        return None
    if seen['data']:
        folder = shlex.quote(str(pathlib.Path(__file__).parent))
        return Check('data set', RED, seen['data'], f'git -C {folder} '
                     'checkout -- fashion_mnist   # or get the project anew')
    return Check('data set', GREEN, 'the bundled part of Fashion-MNIST')
