"""The command line: `train`, `doctor`, `causes` and `launch`.

What needs MXNet is imported by the commands that need it.
"""
import argparse
import functools
import pathlib
import signal
import sys

from . import doctor

if sys.argv[1:2] == ['doctor']:  # which must not even need psutil
    sys.exit(doctor.main(sys.argv[2:]))

from . import launch
from .agent import ENDING, leave


def main(argv=None):
    """Parse the command line and train; return the exit status."""
    parser = argparse.ArgumentParser(prog='python -m d2lmulti')
    commands = parser.add_subparsers(dest='command', required=True)
    commands.add_parser('doctor', help='look at the installation; name what '
                        'mends it')  # done before MXNet is imported
    add_train(commands)
    add_causes(commands)
    add_launch(commands)
    try:
        options = parser.parse_args(argv)
        options.run(options)
    except (ValueError, TypeError, OSError, FloatingPointError,
            launch.JobFailed) as error:
        print(f'error: {error}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print('interrupted', file=sys.stderr)
        return 130
    return 0


def add_train(commands):
    """Add the command `train`."""
    options = commands.add_parser(
        'train', help='train LeNet on one device, then on two',
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    options.add_argument('--devices', type=int, nargs='+', default=[1, 2],
                         metavar='K', help='numbers of devices, one run each')
    options.add_argument('--batch-size', type=int, default=256,
                         help='examples in a minibatch, over all devices')
    options.add_argument('--lr', type=float, default=0.2,
                         help='learning rate')
    options.add_argument('--epochs', type=int, default=10,
                         help='passes over the training set')
    options.add_argument('--seed', type=int, default=0,
                         help='of the parameters and of the order of examples')
    options.add_argument('--full', action='store_true',
                         help='train on all 60,000 images')
    options.add_argument('--out', default='build/train.png',
                         help='file for the figure')
    options.set_defaults(run=run_train)


def add_causes(commands):
    """Add the command `causes`."""
    options = commands.add_parser(
        'causes', help='find out why more devices are not faster here',
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    options.add_argument('--devices', type=int, default=2, metavar='K',
                         help='number of devices to compare with one')
    options.add_argument('--batch-size', type=int, default=256,
                         help='examples in a minibatch, over all devices')
    options.set_defaults(run=run_causes)


def add_launch(commands):
    """Add the command `launch`."""
    options = commands.add_parser(
        'launch', help='run a script in several processes or on many hosts',
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    options.add_argument('--workers', type=int, default=2, metavar='M',
                         help='processes that compute')
    options.add_argument('--servers', type=int, default=1, metavar='N',
                         help='processes that add')
    options.add_argument('--hosts', metavar='FILE',
                         help='a line for each host: name and slots; without '
                         'it, everything runs on this machine')
    options.add_argument('--ssh', default=launch.SSH, metavar='COMMAND',
                         help='how to reach the hosts')
    options.add_argument('--timeout', type=float, metavar='S',
                         help='seconds for the whole job')
    for name, seconds, what in (
            ('startup', launch.LIMITS.startup, 'until all have joined'),
            ('progress', launch.LIMITS.progress, 'without progress'),
            ('exit', launch.LIMITS.exit, 'from the first end to the last')):
        options.add_argument(f'--{name}-timeout', type=float, metavar='S',
                             default=seconds, help=f'seconds {what}')
    options.add_argument('--restarts', type=int, default=0, metavar='N',
                         help='how often a failed job is started again')
    options.add_argument('--log-dir', metavar='D',
                         help='folder for a log of each role')
    options.add_argument('--port', type=int, default=0,
                         help='of the scheduler; 0 takes a free one')
    options.add_argument('--root', default='127.0.0.1',
                         help='address of the scheduler, for --print-env')
    options.add_argument('--print-env', type=int, nargs='?', const=-1,
                         metavar='I', help='start nothing; print the '
                         'variables of role I, or of all: 0 is the '
                         'scheduler, then the servers, then the workers')
    options.add_argument('program', nargs='*', metavar='-- program',
                         help='what every worker runs')
    options.set_defaults(run=run_launch)


def run_launch(options):
    """Run a distributed job to its end, or print its variables."""
    if options.print_env is not None:
        print(launch.shell_lines(options.print_env, options.workers,
                                 options.servers, options.root,
                                 options.port))
        return
    for number in ENDING:
        if signal.getsignal(number) != signal.SIG_IGN:  # as under nohup
            signal.signal(number, leave)
    sys.stdout.reconfigure(errors='replace')
    launch.launch(
        options.program, options.workers, options.servers,
        options.hosts and launch.read_hosts(options.hosts),
        launch.Limits(options.startup_timeout, options.progress_timeout,
                      options.exit_timeout, options.timeout),
        options.log_dir, options.restarts, options.port, options.ssh,
        show=functools.partial(print, flush=True))


def run_causes(options):
    """Measure the four causes of a missing speedup and print them."""
    from .data import Minibatches, read_fashion_mnist
    from .devices import try_devices
    from .train import check_epochs, find_causes
    devices = try_devices(options.devices)
    X, y, _, _ = read_fashion_mnist()
    data_iter = Minibatches(X, y, options.batch_size, seed=0)
    check_epochs(1, data_iter, devices)
    print(f'{devices}, minibatches of {options.batch_size}')
    findings = find_causes(data_iter, devices)
    print(*findings, sep='\n')
    if not any(finding.found for finding in findings):
        print('Nothing found: several devices should be faster here. If '
              'your own program is not, call d2lmulti.find_causes in it.')


def run_train(options):
    """Train once for each number of devices, compare, and save a figure."""
    from .data import Minibatches, read_fashion_mnist
    from .devices import try_devices
    from .train import check_epochs, plot_results, train
    out = pathlib.Path(options.out)
    if out.suffix not in ('.png', '.svg', '.pdf'):
        raise ValueError(f'--out {out} must end in .png, .svg or .pdf')
    out.parent.mkdir(parents=True, exist_ok=True)
    data = read_fashion_mnist(options.full)
    minibatches = Minibatches(*data[:2], options.batch_size)
    for k in options.devices:  # not after the first run has taken its time
        check_epochs(options.epochs, minibatches, try_devices(k))
    results = [train(k, options.batch_size, options.lr, options.epochs,
                     options.seed, data) for k in options.devices]
    first = results[0]
    for other in results[1:]:
        apart = largest_difference(first, other)
        print(f'parameters on {other.devices} ended within {apart:.1e} of '
              f'those on {first.devices}: float32 sums in another order, '
              'amplified step by step')
    plot_results(results).savefig(out, dpi=150)
    print(f'learning curves and times: {out}')


def largest_difference(result, other):
    """Return the largest difference between the parameters of two runs."""
    return max(abs(p.asnumpy() - q.asnumpy()).max() for p, q in
               zip(result.device_params[0], other.device_params[0]))


if __name__ == '__main__':
    sys.exit(main())
