"""The command line: `train`, `doctor`, `causes` and `launch`, with help.

What needs MXNet is imported by the commands that need it.
"""

from __future__ import annotations

import argparse
import functools
import pathlib
import signal
import sys
from typing import Any, Callable, Sequence

if sys.argv[1:2] == ['doctor']:  # which must not even need psutil
    from .system import doctor

    sys.exit(doctor.main(sys.argv[2:]))

from .launcher import JobFailed, Limits, Node, launch
from .launcher.agent import END_SIGNALS, exit_on_signal
from .launcher.connection import SSH
from .launcher.roles import read_hosts, shell_lines
from .launcher.watch import LIMITS

RUN = 'python -m d2lmulti'


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the command line and run the command; return the exit status."""
    try:
        options = make_parser().parse_args(argv)
        options.run(options)
    except (
        ValueError,
        TypeError,
        OSError,
        FloatingPointError,
        JobFailed,
    ) as error:
        print(f'error: {error}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print('interrupted', file=sys.stderr)
        return 130
    return 0


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands; without one it shows the help."""
    parser = argparse.ArgumentParser(
        prog=RUN,
        epilog=show_examples(
            'train',
            'doctor',
            'launch --workers 2 -- python my_training.py',
        ),
        formatter_class=Formatter,
    )
    parser.set_defaults(run=lambda options: parser.print_help())
    commands = parser.add_subparsers(title='commands', metavar='COMMAND')
    commands.add_parser(
        'doctor',
        help='examine the installation; print the commands that fix it',
    )  # done before: see above
    add_train(commands)
    add_causes(commands)
    add_launch(commands)
    return parser


def show_examples(*examples: str) -> str:
    """Return the end of a help text: commands to copy."""
    title = 'examples:' if len(examples) > 1 else 'example:'
    return '\n'.join([title, *(f'  {RUN} {text}' for text in examples)])


class Formatter(
    argparse.ArgumentDefaultsHelpFormatter,
    argparse.RawDescriptionHelpFormatter,
):
    """Leaves examples as they are, and shows the defaults that say something.

    None and False do not: they mean that an option was not given.
    """

    def _get_help_string(self, action: argparse.Action) -> str | None:
        if action.default is None or action.default is False:
            return action.help
        return super()._get_help_string(action)


def add_command(
    commands: Any,
    name: str,
    run: Callable[..., None],
    text: str,
    *examples: str,
) -> Callable[..., Any]:
    """Add a command; return the function that adds an option to it."""
    parser = commands.add_parser(
        name,
        help=text,
        description=f'{text[0].upper()}{text[1:]}.',
        epilog=show_examples(*(f'{name} {text}' for text in examples)),
        formatter_class=Formatter,
    )
    parser.set_defaults(run=run)
    return parser.add_argument


def add_train(commands: Any) -> None:
    """Add the command `train`."""
    text = 'train LeNet on one device, then on two'
    examples = '--devices 1 2 4 --batch-size 512', '--full --epochs 20'
    add = add_command(commands, 'train', run_train, text, *examples)
    text = 'numbers of devices, one run each'
    both = [1, 2]
    add('--devices', type=int, nargs='+', default=both, metavar='K', help=text)
    add_batch_size(add)
    add('--lr', type=float, default=0.2, help='learning rate')
    add('--epochs', type=int, default=10, help='passes over the training set')
    text = 'random seed for the parameters and the order of examples'
    add('--seed', type=int, default=0, help=text)
    add('--full', action='store_true', help='train on all 60,000 images')
    add('--out', default='build/train.png', help='file for the figure')


def add_causes(commands: Any) -> None:
    """Add the command `causes`."""
    text = 'find out why more devices are not faster here'
    add = add_command(commands, 'causes', run_causes, text, '--devices 4')
    text = 'number of devices to compare with one'
    add('--devices', type=int, default=2, metavar='K', help=text)
    add_batch_size(add)


def add_batch_size(add: Callable[..., Any]) -> None:
    """Add the option that `train` and `causes` share."""
    text = 'examples in a minibatch, over all devices'
    add('--batch-size', type=int, default=256, help=text)


def add_launch(commands: Any) -> None:
    """Add the command `launch`."""
    text = 'run a script in several processes or on many hosts'
    examples = (
        '--workers 2 -- python my_training.py',
        '--workers 4 --hosts hosts.txt --restarts 3 -- python my_training.py',
    )
    add = add_command(commands, 'launch', run_launch, text, *examples)
    add_roles(add)
    add_node(add)
    add_limits(add)
    text = 'how many times to restart a failed job'
    add('--restarts', type=int, default=0, metavar='N', help=text)
    add('--log-dir', metavar='D', help='folder for a log of each role')
    text = 'port of the scheduler; 0 picks a free one'
    add('--port', type=int, default=0, help=text)
    text = 'address of the scheduler, for --print-env'
    add('--root', default='127.0.0.1', help=text)
    text = (
        'start nothing; print the variables of role I, or of all: 0 is the '
        'scheduler, then the servers, then the workers'
    )
    add('--print-env', type=int, nargs='?', const=-1, metavar='I', help=text)
    text = 'what every worker runs; a bare `python` is this Python'
    add('program', nargs='*', metavar='-- program', help=text)


def add_roles(add: Callable[..., Any]) -> None:
    """Add the options of `launch` that say what runs where."""
    text = 'processes that compute gradients'
    add('--workers', type=int, default=2, metavar='M', help=text)
    text = 'processes that sum the gradients'
    add('--servers', type=int, default=1, metavar='N', help=text)
    text = (
        'a line for each host: name, slots, and perhaps the devices of each '
        'worker there; without it, everything runs on this machine'
    )
    add('--hosts', metavar='FILE', help=text)
    add('--ssh', default=SSH, metavar='COMMAND', help='how to reach the hosts')
    text = 'devices of each worker that is started here, such as 1,2,1'
    add('--devices', type=parse_numbers, metavar='K,...', help=text)


def add_node(add: Callable[..., Any]) -> None:
    """Add the options of `launch` for nodes that are started by hand."""
    text = (
        'start only this node of the job; all nodes name the same place: '
        'tcp://host:port of the first one, or file:///path in a shared folder'
    )
    add('--rendezvous', metavar='URL', help=text)
    text = 'number of the first worker here; 0 makes this the first node'
    add('--first-worker', type=int, default=0, metavar='I', help=text)
    text = 'how many of the workers run here; --devices implies it'
    add('--node-workers', type=int, metavar='K', help=text)


def parse_numbers(text: str) -> list[int]:
    """Return the numbers in a text such as 1,2,1."""
    try:
        return [int(number) for number in text.split(',')]
    except ValueError:
        raise argparse.ArgumentTypeError(
            f'write a number for each worker, such as 1,2,1, not {text!r}'
        ) from None


def add_limits(add: Callable[..., Any]) -> None:
    """Add the options of `launch` that limit its time."""
    for option, default, text in (
        ('--timeout', LIMITS.total, 'for the whole job'),
        ('--startup-timeout', LIMITS.startup, 'until all have joined'),
        (
            '--progress-timeout',
            LIMITS.progress,
            'without output or processor time of any role (a busy loop uses '
            'processor time: only --timeout ends it)',
        ),
        (
            '--exit-timeout',
            LIMITS.exit,
            'between the first and the last process to exit',
        ),
    ):
        text = f'seconds {text}'
        add(option, type=float, default=default, metavar='S', help=text)


def run_launch(options: argparse.Namespace) -> None:
    """Run a distributed job to its end, or print its variables."""
    if options.print_env is not None:
        roles = options.print_env, options.workers, options.servers
        print(shell_lines(*roles, options.root, options.port))
        return
    for number in END_SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:  # as under nohup
            signal.signal(number, exit_on_signal)
    sys.stdout.reconfigure(errors='replace')  # type: ignore[union-attr]
    launch(
        options.program,
        options.workers,
        options.servers,
        options.hosts and read_hosts(options.hosts),
        make_limits(options),
        options.log_dir,
        options.restarts,
        options.port,
        options.ssh,
        functools.partial(print, flush=True),
        options.devices,
        make_node(options),
    )


def make_node(options: argparse.Namespace) -> Node | None:
    """Return the node that the options describe, None if there is none."""
    if options.rendezvous is None:
        if options.first_worker or options.node_workers:
            raise ValueError(
                '--first-worker and --node-workers are for nodes that are '
                'started by hand: give --rendezvous too'
            )
        return None
    workers = options.node_workers
    if workers is None:
        workers = len(options.devices or [1])
    return Node(options.rendezvous, options.first_worker, workers)


def make_limits(options: argparse.Namespace) -> Limits:
    """Return the limits that the options give."""
    return Limits(
        options.startup_timeout,
        options.progress_timeout,
        options.exit_timeout,
        options.timeout,
    )


def run_causes(options: argparse.Namespace) -> None:
    """Measure the causes of a missing speedup and print them."""
    from .causes import find_causes
    from .checks import check_training
    from .data import Minibatches
    from .devices import try_devices
    from .system.fashion_mnist import read_fashion_mnist

    devices = try_devices(options.devices)
    X, y, _, _ = read_fashion_mnist()
    data_iter = Minibatches(X, y, options.batch_size, seed=0)
    check_training(1, 1, data_iter, devices)
    print(f'{devices}, minibatches of {options.batch_size}')
    findings = find_causes(data_iter, devices)
    print(*findings, sep='\n')
    if not any(finding.found for finding in findings):
        print(
            'Nothing found: several devices should be faster here. If '
            'your own program is not, call d2lmulti.find_causes in it.'
        )


def run_train(options: argparse.Namespace) -> None:
    """Train once for each number of devices, compare, and save a figure."""
    from .checks import check_training
    from .data import Minibatches
    from .devices import try_devices
    from .plots import plot_results
    from .system.fashion_mnist import read_fashion_mnist
    from .training import train

    out = pathlib.Path(options.out)
    if out.suffix not in ('.png', '.svg', '.pdf'):
        raise ValueError(f'--out {out} must end in .png, .svg or .pdf')
    out.parent.mkdir(parents=True, exist_ok=True)
    data = read_fashion_mnist(options.full)
    minibatches = Minibatches(*data[:2], options.batch_size)
    for k in options.devices:  # not after the first run has taken its time
        check_training(options.epochs, options.lr, minibatches, try_devices(k))
    settings = options.batch_size, options.lr, options.epochs, options.seed
    results = [train(k, *settings, data) for k in options.devices]
    print_differences(results)
    plot_results(results).savefig(out, dpi=150)
    print(f'learning curves and times: {out}')


def print_differences(results: Sequence[Any]) -> None:
    """Print how far the parameters of each run are from the first's."""
    from .training import max_difference

    first = results[0]
    for other in results[1:]:
        apart = max_difference(first.device_params[0], other.device_params[0])
        print(
            f'parameters on {other.devices} ended within {apart:.1e} of '
            f'those on {first.devices}: float32 sums in another order, '
            'amplified step by step'
        )


if __name__ == '__main__':
    sys.exit(main())
