"""A kernel that sees Python, the book's packages and its own folder alone.

It runs in bubblewrap: no network, no home, no other process, and nothing of
what others handed in, of the solutions or of the gradebook. It talks to
nbgrader through sockets in a folder, since it has no network to do so. That
protects from accidents; against an attack, use a container or a separate
machine beside it.
"""

import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile

from jupyter_client.manager import AsyncKernelManager
from traitlets import Bool, Integer

# What a kernel sees beside Python and the book: programs and libraries, and
# no list of users. What is not there is left out.
SYSTEM = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64']
SYSTEM += [
    f'/etc/{name}'
    for name in ('alternatives', 'fonts', 'hosts', 'ld.so.cache', 'localtime')
]
SYSTEM += ['/sys/devices/system/cpu']
KEPT = ('PATH', 'LANG', 'LC_ALL', 'LD_LIBRARY_PATH', 'D2LMULTI_DEVICES')
ADVICE = (
    'install bubblewrap (Debian, Ubuntu: apt-get install bubblewrap); where '
    'namespaces are not allowed, as in most containers, grade in a container '
    'that has nothing but the course and write '
    '`c.IsolatedKernelManager.isolated = False` into nbgrader_config.py'
)


class IsolatedKernelManager(AsyncKernelManager):
    """Starts a kernel in bubblewrap; `folder` is what both can write to."""

    isolated = Bool(True, help='Run kernels in bubblewrap').tag(config=True)
    megabytes = Integer(
        8192, help='Memory that a process of a kernel may take'
    ).tag(config=True)

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.variables = {}  # of its environment, beside those in `KEPT`
        # Names of sockets are short.
        self.folder = tempfile.mkdtemp(prefix='kernel-', dir='/tmp')
        self.transport = 'ipc'
        self.connection_file = os.path.join(self.folder, 'kernel.json')
        self.ip = os.path.join(self.folder, 'channel')

    def format_kernel_cmd(self, *args, **kwargs):
        """Return the command of a kernel, in bubblewrap."""
        # A signal would end bubblewrap.
        self.kernel_spec.interrupt_mode = 'message'
        command = super().format_kernel_cmd(*args, **kwargs)
        # It may know nothing of us; the process it sees is bubblewrap.
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        variables = {
            **kept,
            **self.kernel_spec.env,
            **self.variables,
            'HOME': self.folder,
            'PYTHONPATH': self.folder,
            'JPY_PARENT_PID': '1' if self.isolated else str(os.getpid()),
        }
        prefix = ['env', '-i', *(f'{k}={v}' for k, v in variables.items())]
        prefix += ['prlimit', f'--data={self.megabytes * 2**20}']
        if self.isolated:
            check_bubblewrap()
            work = self._launch_args.get('cwd') or self.folder
            prefix += bubblewrap([self.folder, os.path.abspath(work)])
        return [*prefix, *command]

    async def _async_cleanup_resources(self, restart=False):
        await super()._async_cleanup_resources(restart)
        if not restart:
            shutil.rmtree(self.folder, ignore_errors=True)

    cleanup_resources = _async_cleanup_resources


def check_bubblewrap():
    """Raise RuntimeError if bubblewrap does not work here."""
    try:
        subprocess.run(
            ['bwrap', '--unshare-all', '--ro-bind', '/', '/', 'true'],
            check=True,
            capture_output=True,
            timeout=60,
        )
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, 'stderr', b'') or b''
        reason = said.decode(errors='replace').strip() or error
        raise RuntimeError(f'no isolated kernel: {reason}; {ADVICE}') from None


def bubblewrap(writable):
    """Return the beginning of a command that sees what it needs, read-only,
    and may write to folders."""
    command = ['bwrap', '--unshare-all', '--die-with-parent', '--new-session']
    command += ['--proc', '/proc', '--dev', '/dev']
    for folder in ('/tmp', '/var/tmp', '/dev/shm'):
        command += ['--size', str(2**30), '--tmpfs', folder]
    for path in [*SYSTEM, *needed_folders()]:
        command += ['--ro-bind-try', path, path]
    for folder in writable:
        command += ['--bind', folder, folder]
    return [*command, '--chdir', writable[-1], '--']


def needed_folders():
    """Return the folders of Python and the book, wherever they are."""
    found = {sys.prefix, sys.base_prefix}
    link = sys.executable  # to another one, and so on
    while os.path.islink(link):
        link = os.path.join(os.path.dirname(link), os.readlink(link))
        found.add(os.path.dirname(os.path.dirname(link)))
    for name in ('d2lmulti', 'samestep'):
        text = importlib.metadata.distribution(name).read_text('top_level.txt')
        for package in text.split():
            spec = importlib.util.find_spec(package)
            found |= {*spec.submodule_search_locations}
    found |= {os.path.realpath(path) for path in found}
    return sorted(path for path in found if os.path.exists(path))
