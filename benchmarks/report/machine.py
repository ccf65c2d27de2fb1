"""Where it was measured: the machine and the versions."""

import datetime
import importlib.metadata
import os
import pathlib
import platform

import psutil


def describe_machine():
    """Return a line on machine, system, date and load."""
    lines = pathlib.Path('/proc/cpuinfo').read_text().splitlines()
    cpu = next(
        (
            line.split(':')[1].strip()
            for line in lines
            if line.startswith('model name')
        ),
        platform.machine(),
    )
    gib = psutil.virtual_memory().total / 2**30
    return (
        f'{datetime.date.today()}: {cpu}, {os.cpu_count()} cores, '
        f'{gib:.0f} GiB; {platform.system()} {platform.release()}, '
        f'Python {platform.python_version()}, load '
        f'{os.getloadavg()[0]:.1f} at the start.'
    )


def find_versions(results):
    """Return a line on the packages that took part."""
    versions = {
        f'{name} {importlib.metadata.version(name)}'
        for name in ('d2l', 'mxnet', 'numpy')
    }
    versions.update(
        result['version']
        for rounds in results.values()
        for result in rounds
        if 'version' in result
    )
    return f'Versions: {", ".join(sorted(versions))}.'
