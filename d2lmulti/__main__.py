"""The command line: `train`, `causes` and `empty`, with help."""

from __future__ import annotations

import argparse
import errno
import os
import pathlib
import statistics
import sys
from typing import Any, Callable, Sequence

from .causes import find_causes
from .checks import check_training
from .communication.training_figure import (
    Step,
    can_record,
    compared,
    first_steps_apart,
    length,
    plot_training,
    record_step,
)
from .data import Minibatches
from .datasets.fashion_mnist import read_fashion_mnist
from .devices import try_devices
from .empty_file import write_empty_file
from .training import TrainResult, max_difference, train

RUN = 'python -m d2lmulti'
FORBIDDEN = errno.EACCES, errno.EPERM, errno.EROFS


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the command line and run the command; return the exit status.
    What a user can do something about is one line."""
    options = make_parser().parse_args(argv)
    try:
        options.run(options)
    except (ValueError, TypeError, OSError, FloatingPointError) as error:
        print(f'error: {what_to_do(error)}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print('interrupted', file=sys.stderr)
        return 130
    return 0


def what_to_do(error: Exception) -> str:
    """Return an error's message, and what to do about a permission."""
    if isinstance(error, OSError) and error.errno in FORBIDDEN:
        return (
            f'{error.filename}: {error.strerror}. Clone into a folder that '
            'you can write to, or name another place (--help says where)'
        )
    return str(error)


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands; without one it shows the help."""
    examples = show_examples(RUN, 'train', 'causes --devices 2')
    parser = argparse.ArgumentParser(
        prog=RUN,
        epilog=f'{examples}\n\n'
        'to examine the installation:\n  python -m d2ldoctor\n\n'
        'to run a script in several processes:\n'
        '  python -m d2lmulti.cluster.jobs -n 2 my_training.py',
        formatter_class=Formatter,
    )
    parser.set_defaults(run=lambda options: parser.print_help())
    group = parser.add_subparsers(title='commands', metavar='COMMAND')
    add_train(group)
    text = 'find out why more devices are not faster here'
    add = add_command(group, 'causes', run_causes, text, '--devices 4')
    text = 'number of devices to compare with one'
    add('--devices', type=int, default=2, metavar='K', help=text)
    text = 'write one_file.py with empty bodies, and tests that tell the next'
    empty = group.add_parser('empty', help=text, description=f'{text}.')
    empty.set_defaults(run=run_empty)
    empty.add_argument('folder', help='a new folder')
    text = 'functions that are given, such as lenet loss'
    empty.add_argument(
        '--given', nargs='+', default=[], metavar='NAME', help=text
    )
    return parser


def add_command(
    commands: Any, name: str, run: Callable, text: str, *examples: str
) -> Callable[..., Any]:
    """Add a command; return the function that adds an option to it."""
    parser = commands.add_parser(
        name,
        help=text,
        description=f'{text[0].upper()}{text[1:]}.',
        epilog=show_examples(f'{RUN} {name}', *examples),
        formatter_class=Formatter,
    )
    parser.set_defaults(run=run)
    text = 'examples in a minibatch, over all devices'
    parser.add_argument('--batch-size', type=int, default=256, help=text)
    return parser.add_argument


def add_train(commands: Any) -> None:
    """Add the command `train`."""
    text = 'train LeNet on one device, then on two'
    examples = '--devices 1 2 4 --batch-size 512', '--full --epochs 20'
    add = add_command(commands, 'train', run_train, text, *examples)
    text = 'numbers of devices, one run each'
    both = [1, 2]
    add('--devices', type=int, nargs='+', default=both, metavar='K', help=text)
    add('--lr', type=float, default=0.2, help='learning rate')
    add('--epochs', type=int, default=10, help='passes over the training set')
    text = 'random seed for the parameters and the order of examples'
    add('--seed', type=int, default=0, help=text)
    text = 'train on all 60,000 images'
    add('--full', action='store_true', default=argparse.SUPPRESS, help=text)
    add('--out', default='build/train.png', help='file for the figure')


def run_causes(options: argparse.Namespace) -> None:
    """Measure the causes of a missing speedup and print them."""
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


def run_empty(options: argparse.Namespace) -> None:
    """Write the empty file, and say how to go on."""
    names = write_empty_file(options.folder, options.given)
    print(
        f'{options.folder}/one_file.py has {len(names)} functions to write. '
        f'In {options.folder}, `{sys.executable} -m pytest` names the next '
        f'one; `{sys.executable} one_file.py` trains with them at the end.'
    )


def run_train(options: argparse.Namespace) -> None:
    """Train once for each number of devices, compare, and save a figure."""
    out = pathlib.Path(options.out)
    if out.suffix not in ('.png', '.svg', '.pdf'):
        raise ValueError(f'--out {out} must end in .png, .svg or .pdf')
    out.parent.mkdir(parents=True, exist_ok=True)
    data = read_fashion_mnist('full' in options)
    minibatches = Minibatches(*data[:2], options.batch_size)
    for k in options.devices:  # not after the first run has taken its time
        check_training(options.epochs, options.lr, minibatches, try_devices(k))
    load = os.getloadavg()[0] if hasattr(os, 'getloadavg') else 0
    steps = {
        k: record_step(k, options.batch_size, options.lr, data)
        for k in sorted({*options.devices})
        if can_record(k)
    }
    if steps:
        plot_training(steps).savefig(out, dpi=150)
    print_forecast(options, steps, len(minibatches), load, out)
    settings = options.batch_size, options.lr, options.epochs, options.seed
    results = {k: train(k, *settings, data) for k in options.devices}
    print_differences(results, steps)
    print_seconds(results)


def print_forecast(
    options: argparse.Namespace,
    steps: dict[int, Step],
    num_steps: int,
    load: float,
    out: pathlib.Path,
) -> None:
    """Print how long the training will take, and what may slow it down.

    `num_steps`: of an epoch. `load`: how many threads had work before we
    began, a mean over a minute.
    """
    if steps:
        longest = max(length(step.operators) for step in steps.values())
        known = [length(s.operators) for s in steps.values()]
        unknown = (len(options.devices) - len(known)) * longest
        ms = options.epochs * num_steps * (sum(known) + unknown)
        print(f'about {ms / 1000:.0f} s of training; one step, drawn: {out}')
    if load > 0.5:
        print(
            f'in the last minute, other programs had work for {load:.1f} '
            f'cores of {os.cpu_count()}: while they do, all is slower, and '
            'several devices gain less'
        )


def print_seconds(results: dict[int, TrainResult]) -> None:
    """Print how long an epoch took, and how much faster it was."""
    seconds = {k: statistics.median(r.seconds) for k, r in results.items()}
    print(*compared(seconds, '{:.2f} s an epoch'), sep='\n')


def print_differences(
    results: dict[int, TrainResult], steps: dict[int, Step]
) -> None:
    """Print how far replicas are apart, and runs from the first run."""
    if len(steps) > 1:
        apart = first_steps_apart(steps)
        print(
            f'first step: parameters on {" and ".join(map(str, steps))} '
            f'devices differ by {apart:.1e} at most'
        )
    first, *others = results.values()
    for other in others:
        replicas = other.device_params
        apart = max(max_difference(replicas[0], r) for r in replicas)
        from_first = max_difference(first.device_params[0], replicas[0])
        print(
            f'last step: replicas on {other.devices} differ by {apart:.1e}; '
            f'from those on {first.devices}, by {from_first:.1e}: float32 '
            'sums in another order, amplified step by step'
        )


class Formatter(
    argparse.ArgumentDefaultsHelpFormatter,
    argparse.RawDescriptionHelpFormatter,
):
    """Leaves examples as they are, and shows the defaults."""


def show_examples(command: str, *examples: str) -> str:
    """Return the end of a help text: commands to copy."""
    title = 'examples:' if len(examples) > 1 else 'example:'
    return '\n'.join([title, *(f'  {command} {text}' for text in examples)])


if __name__ == '__main__':
    sys.exit(main())
