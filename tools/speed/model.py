"""How far chapter 23's model of a step is off, and why.

    python -m tools.speed.model           signed errors of all stored runs
    python -m tools.speed.model measure   the causes, on a quiet machine

The first reads every version of the chapter in git's history; it wrote the
table of results/MODEL.md. The second takes a minute and tells apart what
the model could miss: the parts of a sum by the number of devices, the time
per image by the size of a shard, and how many devices work at once, with
and without the sums.
"""

import json
import re
import subprocess
import sys

CASE = re.compile(  # batch, devices, predicted and measured ms
    r'^ *(\d+) +(\d) +([\d.]+) +([\d.]+) +(?:\d\.\d\d|[+-]\d+%)$', re.MULTILINE
)
SUMS = re.compile(
    r'sums on (\d) devices: simulated ([\d.]+) ms, measured ([\d.]+)'
)
RATIOS = re.compile(  # in later versions
    r'sums on (\d) devices, measured / simulated: .*, measured ([\d.]+)'
)
LENET = [180, 20, 25_000, 50, 102_400, 128, 1_280, 10]  # numbers in an array


def git(*arguments):
    """Return what git prints."""
    return subprocess.run(
        ['git', *arguments], check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def stored_runs():
    """Yield (commit, text) of each stored execution of the chapter."""
    seen = set()
    for commit in git('rev-list', '--reverse', 'HEAD').split():
        for line in git('ls-tree', commit, 'notebooks/').splitlines():
            _, _, blob, path = line.split(maxsplit=3)
            if blob in seen or not re.search('_scal|/16_', path):
                continue
            seen.add(blob)
            text = ''.join(
                ''.join(output.get('text', ''))
                for cell in json.loads(git('cat-file', 'blob', blob))['cells']
                for output in cell.get('outputs', ())
            )
            if CASE.search(text) and text not in seen:
                seen.add(text)
                yield commit[:7], text


def show_errors():
    """Print the signed errors, a row for each case, a column for each run."""
    runs = {}
    for commit, text in stored_runs():
        found = [(f'{k} x {size}', *ms) for size, k, *ms in CASE.findall(text)]
        found += [(f'sums on {k}', *ms) for k, *ms in SUMS.findall(text)]
        found += [(f'sums on {k}', 1, r) for k, r in RATIOS.findall(text)]
        errors = {
            name: 100 * (float(predicted) / float(measured) - 1)
            for name, predicted, measured in found
        }
        if errors not in runs.values():
            runs[commit] = errors
    print('| devices x images |', ' | '.join(runs), '|')
    print('|---|' + '---|' * len(runs))
    for name in sorted({name for run in runs.values() for name in run}):
        cells = [
            f'{run[name]:+.0f}' if name in run else '' for run in runs.values()
        ]
        print(f'| {name} |', ' | '.join(cells), '|')


def measure():
    """Print the parts of a sum, the shards, and the devices at once."""
    # MXNet comes second: d2lmulti prepares the process for it.
    from d2lmulti import (  # noqa: I001
        allreduce,
        get_params,
        init_params,
        train_batch,
    )
    import mxnet as mx
    from mxnet import np

    def arrays(k, sizes):
        return [[np.ones(n, ctx=mx.cpu(i)) for i in range(k)] for n in sizes]

    def gather(rows):
        for first, *others in rows:
            for other in others:
                other.copyto(first.ctx)

    def add(rows):
        for first, *others in rows:
            for _ in others:
                first += first

    def spread(rows):
        for first, *others in rows:
            for other in others:
                first.copyto(other)

    def star(rows):
        for data in rows:
            allreduce(data)

    for name, sizes in (
        ('LeNet', LENET),
        ('8 x 100 numbers', [100] * 8),
        ('8 x 300,000 numbers', [300_000] * 8),
    ):
        works = {}
        for part in (gather, add, spread, star):
            for k in (2, 3, 4, 5):
                rows = arrays(k, sizes)
                works[part.__name__, k] = lambda part=part, rows=rows: part(
                    rows
                )
        report(name, works)

    def step(size, k, **options):
        cpus = [mx.cpu(i) for i in range(k)]
        replicas = [get_params(init_params(), cpu) for cpu in cpus]
        X, y = np.ones((size, 1, 28, 28)), np.zeros(size)
        return lambda: train_batch(X, y, replicas, cpus, 1e-6, **options)

    sizes = (16, 32, 64, 96, 128, 192, 256, 512)
    report('shard', {('alone', n): step(n, 1) for n in sizes})
    for shard in (32, 128):
        steps = {('step', k): step(shard * k, k) for k in (1, 2, 3, 4)}
        for k in (1, 2, 3, 4):
            steps['no sums', k] = step(
                shard * k, k, allreduce=lambda data: None
            )
        report(f'shards of {shard}', steps)


def report(title, works, num_rounds=25):
    """Measure the works in turn; print the lower quartiles of each."""
    from mxnet import npx

    from d2lmulti.devices import median_seconds

    rounds = [
        [median_seconds(work, 1) for work in works.values()]
        for _ in range(num_rounds)
    ]
    npx.waitall()
    print(title)
    for (name, count), times in zip(works, zip(*rounds)):
        times = sorted(1000 * seconds for seconds in times)
        low, middle = times[num_rounds // 4], times[num_rounds // 2]
        print(f'  {name:>8} {count:4}: {low:8.2f} ms, median {middle:8.2f}')


if __name__ == '__main__':
    measure() if sys.argv[1:] == ['measure'] else show_errors()
