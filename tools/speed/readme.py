"""Measure what README shows, in one run, and write it there.

    python -m tools.speed.readme         four minutes, on a quiet machine
    python -m tools.speed.readme again   from the stored numbers

Draws img/training.png from the run, and writes README between its marks.
This project trains on one device and on two, as `make train` does; then
Gluon and the D2L recipe, and the frameworks whose environments `make bench`
has made, take epochs over the same images, in turn. All is stored in
results/readme.json; the tests hold README and the figure against it.
"""

import json
import pathlib
import re
import statistics
import sys
import time
import types

ROOT = pathlib.Path(__file__).parents[2]
STORED = ROOT / 'tools/speed' / 'results' / 'readme.json'
FIGURE = ROOT / 'img' / 'training.png'
BATCH_SIZE = 256
NUM_EPOCHS = 10
NUM_ROUNDS = 3
OURS = 'this project'
NAMES = {  # in README: the peer
    "Gluon's `Trainer`, with our settings": 'Gluon Trainer, our settings',
    "Gluon's `Trainer`, by default": 'Gluon Trainer, default settings',
    "D2L's multi-GPU recipe": 'D2L recipe',
    "PyTorch's DistributedDataParallel": 'PyTorch DDP',
    "TensorFlow's MirroredStrategy": 'TensorFlow, MirroredStrategy',
    "JAX's `shard_map`": 'JAX, shard_map',
}


def measure():
    """Return all numbers of a run."""
    from d2lmulti import read_fashion_mnist, train

    from .report.machine import (
        describe_load,
        describe_machine,
        others_time,
    )

    start, others = time.monotonic(), others_time()
    data = read_fashion_mnist()
    runs = [train(k, BATCH_SIZE, 0.2, NUM_EPOCHS, 0, data) for k in (1, 2)]
    peers = measure_peers(len(data[0]))
    load = describe_load(others_time() - others, time.monotonic() - start)
    return {
        'machine': f'{describe_machine()} {load}',
        'images': len(data[0]),
        'batch_size': BATCH_SIZE,
        'accuracies': [run.accuracies for run in runs],
        'seconds': {OURS: [run.seconds for run in runs], **peers},
    }


def measure_peers(num_images):
    """Return {name: [seconds per epoch on k devices for k in 1, 2]}."""
    from .peers import ENVIRONMENTS
    from .trials import Trial, run_rounds

    settings = {'batch_size': BATCH_SIZE, 'num_images': num_images}
    peers = [
        (name, peer)
        for name, peer in NAMES.items()
        if peer not in ENVIRONMENTS
        or (ENVIRONMENTS[peer].folder / 'complete').exists()
    ]
    trials = [
        Trial(peer, k, 'epoch', settings) for _, peer in peers for k in (1, 2)
    ]
    results = run_rounds(trials, NUM_ROUNDS, [])
    return {
        name: [
            [
                result['seconds']['epoch']
                for result in results[peer, k, 'epoch']
            ]
            for k in (1, 2)
        ]
        for name, peer in peers
        if all((peer, k, 'epoch') in results for k in (1, 2))
    }


def medians(run, name=OURS):
    """Return the seconds of an epoch on one device and on two."""
    return [statistics.median(seconds) for seconds in run['seconds'][name]]


def caption(run):
    """Return the line below the figure."""
    one, two = medians(run)
    first, second = (accuracies[-1] for accuracies in run['accuracies'])
    return (
        f'On a two-core machine without a GPU, in minibatches of '
        f'{run["batch_size"]}: after {len(run["accuracies"][0])} epochs, one '
        f'device has a test accuracy of {first:.2f} and two have '
        f'{second:.2f}; an epoch takes {one:.2f} s on one and {two:.2f} s on '
        f'two: {one / two:.2f} times as fast. The curves differ at first '
        'because two devices add the same gradients in another order, and '
        'differences in rounding grow (chapter 5).'
    )


def speeds(run):
    """Return the paragraph and the table of README's section on speed."""
    rows = [
        '| | one device | two devices | two : one |',
        '|---|---|---|---|',
    ]
    for name in run['seconds']:
        one, two = medians(run, name)
        rates = [f'{run["images"] / seconds:,.0f}' for seconds in (one, two)]
        rows.append(f'| {name} | {" | ".join(rates)} | {one / two:.2f} |')
    return (
        f'Images per second of an epoch over the {run["images"]:,} bundled '
        f'images, loading included, in minibatches of {run["batch_size"]}: '
        'the run that drew the figure above. Our row is the median of '
        f'{len(run["accuracies"][0])} epochs, each other row that of '
        f'{NUM_ROUNDS} processes. Measured {run["machine"]}\n\n'
        + '\n'.join(rows)
    )


def fill_in(text, run):
    """Return README with what the run says between its marks."""
    for name, part in (
        ('caption', f'*{caption(run)}*'),
        ('speeds', speeds(run)),
    ):
        mark = f'<!-- tools.speed.readme: {name} -->'
        text, count = re.subn(
            f'{mark}\n.*?\n<!-- end -->',
            lambda _, mark=mark, part=part: f'{mark}\n{part}\n<!-- end -->',
            text,
            flags=re.DOTALL,
        )
        if count != 1:
            raise ValueError(f'README needs {mark} once, it is there {count}x')
    return text


def results_of(run):
    """Return what `train` gave on one device and on two, for the plot."""
    return [
        types.SimpleNamespace(devices=k * [None], accuracies=a, seconds=s)
        for k, a, s in zip((1, 2), run['accuracies'], run['seconds'][OURS])
    ]


def draw(run):
    """Draw the figure; its description has the numbers of the bars."""
    import matplotlib

    matplotlib.use('agg')
    from d2lmulti.plots import plot_results

    numbers = json.dumps({'seconds': medians(run)})
    plot_results(results_of(run)).savefig(
        FIGURE, dpi=150, metadata={'Software': None, 'Description': numbers}
    )


def main(again):
    """Measure if need be, and write the three files."""
    if not again:
        STORED.write_text(json.dumps(measure(), indent=1) + '\n')
    run = json.loads(STORED.read_text())
    draw(run)
    readme = ROOT / 'README.md'
    readme.write_text(fill_in(readme.read_text(), run))
    print(caption(run), speeds(run), sep='\n\n')


if __name__ == '__main__':
    main(sys.argv[1:] == ['again'])
