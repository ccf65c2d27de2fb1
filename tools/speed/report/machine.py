"""Where it was measured: the machine and the versions."""

import datetime
import importlib.metadata
import os
import pathlib
import platform

import psutil

BUSY = 0.05  # as a fraction of the processor time


def describe_machine():
    """Return a line on machine, system and date."""
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
        f'{gib:.0f} GiB; {platform.system()} '
        f'{platform.release().split("-")[0]}, '
        f'Python {platform.python_version()}.'
    )


def others_time():
    """Return the seconds, so far, in which cores worked for processes that
    are neither this one nor children of it that have ended."""
    cores, own = psutil.cpu_times(), psutil.Process().cpu_times()
    idle = cores.idle + getattr(cores, 'iowait', 0)
    ours = own.user + own.system + own.children_user + own.children_system
    # Linux counts a guest's time as the user's, too.
    guest = getattr(cores, 'guest', 0) + getattr(cores, 'guest_nice', 0)
    return sum(cores) - guest - idle - ours


def describe_load(others, elapsed):
    """Return a line on how busy others kept the cores meanwhile."""
    fraction = max(0, others) / elapsed / os.cpu_count()
    busy = ' **The machine was busy**, so speedups may be too small.'
    return (
        f'Other processes took {fraction:.0%} of the processor time.'
        + busy * (fraction > BUSY)
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
