"""What k devices in one process reach beside k processes of one device.

    make bench SUITE=cores      writes results/cores.json and CORES.md
    python tools/speed/cores.py --help

On a machine with many cores it needs MXNet, d2lmulti and what that imports,
and no other file of the project: `PYTHONPATH=. python tools/speed/cores.py`.
Devices and processes take turns, in several rounds. Each process trains LeNet
on its own images; those that run at once start together and count the steps of
the same seconds. The processes exchange nothing: they are what the machine
can give.
"""

import argparse
import json
import os
import pathlib
import platform
import resource
import statistics
import subprocess
import sys
import time

RESULTS = pathlib.Path(__file__).parent / 'results'
WORKSPACES = 'MXNET_CPU_TEMP_COPY'
ALONE = 'devices without allreduce'


def main():
    """Measure each number of devices in turn, and write what was seen."""
    options = parse()
    if options.worker:
        return work(options)
    results = {'machine': describe(), 'images': options.images, 'runs': []}
    options.out.mkdir(parents=True, exist_ok=True)
    for number in range(options.rounds):
        for k in options.devices:
            for kind, count in kinds(k, options.workspaces):
                sizes = [1] * k if kind == 'processes' else [k]
                run = {'round': number, 'k': k, 'kind': kind}
                run.update(workspaces=count)
                run.update(measure(sizes, kind, count, options))
                results['runs'].append(run)
                print(json.dumps(run), file=sys.stderr)
        (options.out / 'cores.json').write_text(json.dumps(results, indent=1))
        (options.out / 'CORES.md').write_text(page(results))
    print(page(results))
    return 0


def parse():
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    powers = [2**i for i in range(10) if 2**i <= (os.cpu_count() or 1)]
    parser.add_argument('--devices', type=int, nargs='+', default=powers)
    parser.add_argument(
        '--workspaces',
        type=lambda text: int(text) if text.isdecimal() else None,
        nargs='+',
        default=[None],
        help=f'values of {WORKSPACES}; "ours" is what d2lmulti sets',
    )
    parser.add_argument('--images', type=int, default=256, help='per device')
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--seconds', type=float, default=4)
    parser.add_argument('--out', type=pathlib.Path, default=RESULTS)
    parser.add_argument('--worker', type=int, help=argparse.SUPPRESS)
    parser.add_argument('--alone', action='store_true', help=argparse.SUPPRESS)
    return parser.parse_args()


def kinds(k, workspaces):
    """Yield what is compared: (kind, workspaces or None for ours)."""
    yield 'processes', None
    for count in workspaces:
        yield 'devices', count
    if k > 1:
        yield ALONE, None


def measure(sizes, kind, workspaces, options):
    """Return what processes with these numbers of devices do at once: images
    per second of all, the largest memory of all, and the part of the time in
    which Python queues."""
    env = dict(os.environ)
    if workspaces:
        env[WORKSPACES] = str(workspaces)
    command = [sys.executable, __file__, '--images', str(options.images)]
    command += ['--seconds', str(options.seconds)]
    command += ['--alone'] * (kind == ALONE) + ['--worker']
    workers = [
        subprocess.Popen(
            [*command, str(size)],
            env=env,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for size in sizes
    ]
    try:
        for worker in workers:
            if worker.stdout.readline() != 'ready\n':
                raise RuntimeError('a process ended before it was ready')
        for worker in workers:
            worker.stdin.write('go\n')
            worker.stdin.flush()
        seen = [json.loads(worker.stdout.readline()) for worker in workers]
    finally:
        for worker in workers:
            worker.stdin.close()
            worker.wait(60)
    return {
        'images per second': sum(one['rate'] for one in seen),
        'MB': sum(one['MB'] for one in seen),
        'queueing': statistics.median(one['queueing'] for one in seen),
    }


def work(options):
    """Train on k devices for some seconds; print what was reached."""
    k, images = options.worker, options.images
    import d2lmulti

    # isort: split
    from mxnet import np, npx

    devices = d2lmulti.try_devices(k)
    params = d2lmulti.init_params()
    replicas = [d2lmulti.get_params(params, device) for device in devices]
    X = np.random.normal(size=(images * k, 1, 28, 28))
    y = np.random.randint(0, 10, size=(images * k,))
    exchange = {'allreduce': lambda data: None} if options.alone else {}

    def steps(count):
        start = time.perf_counter()
        for _ in range(count):
            d2lmulti.train_batch(X, y, replicas, devices, 0.01, **exchange)
        queued = time.perf_counter() - start
        npx.waitall()
        return queued, time.perf_counter() - start

    steps(3)
    print('ready', flush=True)
    sys.stdin.readline()
    queued = taken = count = 0
    while taken < options.seconds:
        times = steps(4)
        queued, taken = queued + times[0], taken + times[1]
        count += 4
    print(
        json.dumps(
            {
                'rate': count * images * k / taken,
                'queueing': queued / taken,
                'MB': resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
                / (2**20 if sys.platform == 'darwin' else 2**10),
            }
        ),
        flush=True,
    )
    sys.stdin.readline()  # keep computing time apart from other processes' end
    return 0


def describe():
    """Return what the machine is, in a line."""
    model = platform.processor() or platform.machine()
    cpuinfo = pathlib.Path('/proc/cpuinfo')
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith('model name'):
                model = line.split(':')[1].strip()
                break
    return (
        f'{time.strftime("%Y-%m-%d")}: {model}, {os.cpu_count()} cores, '
        f'Python {platform.python_version()}'
    )


def page(results):
    """Return the table: medians of the rounds, and their range."""
    lines = [
        '# Devices beside processes, on all cores',
        '',
        f'Measured {results["machine"]}. LeNet, {results["images"]} images '
        'per device and step; images per second, medians of the rounds with '
        'smallest and largest; memory of all processes together; the part of '
        "the time in which Python's thread queues. The processes exchange "
        'nothing. For k = 1 both are the same program: what they differ by is '
        'what the machine varies by.',
        '',
        f'| k | as | {WORKSPACES} | images per second | of k processes | MB '
        '| queueing |',
        '|---|---|---|---|---|---|---|',
    ]
    groups = {}
    for run in results['runs']:
        key = run['k'], run['kind'], run['workspaces']
        groups.setdefault(key, []).append(run)
    median = {key: middle(runs) for key, runs in groups.items()}
    for (k, kind, count), runs in groups.items():
        rates = sorted(run['images per second'] for run in runs)
        rate = median[k, kind, count]
        lines.append(
            f'| {k} | {kind} | {count or "ours"} | {rate:,.0f} '
            f'({rates[0]:,.0f} to {rates[-1]:,.0f}) '
            f'| {rate / median[k, "processes", None]:.2f} '
            f'| {middle(runs, "MB"):,.0f} '
            f'| {middle(runs, "queueing"):.2f} |'
        )
    return '\n'.join(lines) + '\n'


def middle(runs, name='images per second'):
    """Return the median of a number of some runs."""
    return statistics.median(run[name] for run in runs)


if __name__ == '__main__':
    sys.exit(main())
