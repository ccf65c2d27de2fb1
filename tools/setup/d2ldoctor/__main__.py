"""Look at the installation, say what is wrong, and print what fixes it.

    python -m d2ldoctor [--quick] [--json]

It works without MXNet, because it is needed when MXNet cannot be imported:
what needs MXNet runs in a separate process.
"""

import argparse
import dataclasses
import json
import subprocess
import sys
from typing import Iterator, List, Optional, Sequence

from . import cuda, machine_checks, mxnet_checks, nvidia
from .machine_checks import GREEN, PYTHON, RED, YELLOW, Check

COLORS = {GREEN: '\033[32m', YELLOW: '\033[33m', RED: '\033[31m'}


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Print the checks, then measure the speed; 0 if training can run."""
    options = parse(arguments)
    checks = examine()
    can_train = all(check.status != RED for check in checks)
    if options.json:
        rows = [dataclasses.asdict(check) for check in checks]
        print(json.dumps({'can_train': can_train, 'checks': rows}, indent=1))
    else:
        print_table(checks)
    if options.json or options.quick or not can_train:
        return 0 if can_train else 1
    command = [PYTHON, '-m', 'd2lmulti', 'causes']
    command += ['--devices', options.devices]
    command += ['--batch-size', options.batch_size]
    return subprocess.run(command).returncode


def parse(arguments: Optional[Sequence[str]]) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(
        prog='python -m d2ldoctor',
        description='Look at the installation and print what fixes it. If '
        'training can run, also measure what keeps several devices from '
        'being faster (python -m d2lmulti causes).',
        epilog='examples:\n  python -m d2ldoctor --quick\n'
        '  python -m d2ldoctor --devices 4',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        '--quick', action='store_true', help='do not measure the speed'
    )
    parser.add_argument(
        '--json', action='store_true', help='print the checks as JSON'
    )
    parser.add_argument(
        '--devices',
        default='2',
        metavar='K',
        help='number of devices to compare with one (default: %(default)s)',
    )
    parser.add_argument(
        '--batch-size',
        default='256',
        help='examples in a minibatch, over all devices (default: '
        '%(default)s)',
    )
    return parser.parse_args(arguments)


def print_table(checks: Sequence[Check]) -> None:
    """Print a line for each check, and below it what fixes it."""
    colored = sys.stdout.isatty()
    for check in checks:
        status = f'{check.status:6}'
        if colored:
            status = f'{COLORS[check.status]}{status}\033[0m'
        print(f'{status}  {check.name:18}  {check.found}')
        for line in check.fix.splitlines():
            print(f'{"":26}  -> {line}')
    if any(check.status == RED for check in checks):
        print(
            'Training cannot run yet: fix what is red, from the top, and '
            'run this again.'
        )
    sys.stdout.flush()


def examine() -> List[Check]:
    """Return all checks, in the order in which faults should be fixed."""
    python = machine_checks.diagnose_python()
    if python.status == RED:
        return [python]  # another environment is needed, whatever else
    packages = [
        python,
        *machine_checks.diagnose_path(),
        *machine_checks.diagnose_files(),
        machine_checks.diagnose_numpy(),
        *machine_checks.diagnose_packages(),
    ]
    return [
        *packages,
        *examine_mxnet(all(check.status != RED for check in packages)),
        machine_checks.diagnose_threads(),
        *machine_checks.diagnose_memory(),
        machine_checks.diagnose_cache(),
        machine_checks.diagnose_kernel(),
    ]


def examine_mxnet(packages_fit: bool) -> Iterator[Check]:
    """Yield the checks of MXNet and what its builds need.

    `packages_fit`: otherwise MXNet need not be blamed for not starting.
    """
    builds = mxnet_checks.find_builds()
    checks = [mxnet_checks.diagnose_builds(builds)]
    if cuda.GPU_BUILD in builds:
        driver = nvidia.ask_driver()
        checks += mxnet_checks.diagnose_libraries()
        checks += [mxnet_checks.diagnose_driver(driver)]
        checks += mxnet_checks.diagnose_gpus(driver)
    yield from checks
    answer = mxnet_checks.ask_mxnet()
    if 'error' not in answer:
        yield mxnet_checks.diagnose_mxnet(answer, builds)
        yield mxnet_checks.diagnose_devices(answer)
        yield mxnet_checks.diagnose_data_set(answer)
    elif packages_fit and all(check.status != RED for check in checks):
        yield mxnet_checks.diagnose_mxnet(answer, builds)


if __name__ == '__main__':
    sys.exit(main())
