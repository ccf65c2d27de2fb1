"""Measure what README and the page on running say of speed, and write it.

    python -m tools.speed.readme         on a quiet machine; four minutes for
                                         each kind of processor
    python -m tools.speed.readme again   from the stored numbers

Trains on one device and on two, as `make train` does, and draws
img/training.png; then Gluon and the D2L recipe take epochs over the same
images, in turn. A processor with AVX-512 trains again without it, as most
laptops have none. All is stored in results/readme.json; the tests hold the
texts and the figure against it.
"""

import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).parents[2]
STORED = ROOT / 'tools/speed' / 'results' / 'readme.json'
FIGURE = ROOT / 'img' / 'training.png'
BATCH_SIZE = 256
LR = 0.2
NUM_EPOCHS = 10
NUM_ROUNDS = 3
OURS = 'this project'
NAMES = {  # on the page: the peer
    "Gluon's `Trainer`, with our settings": 'Gluon Trainer, our settings',
    "Gluon's `Trainer`, by default": 'Gluon Trainer, default settings',
    "D2L's multi-GPU recipe": 'D2L recipe',
    "PyTorch's DistributedDataParallel": 'PyTorch DDP',
    "JAX's `shard_map`": 'JAX, shard_map',
}
AVX2_ALONE = {'DNNL_MAX_CPU_ISA': 'AVX2', 'OPENBLAS_CORETYPE': 'Haswell'}


def measure_all():
    """Return {kind of processor: the numbers of a run}."""
    kinds = {'AVX-512': {}} if has_avx512() else {}
    return {
        kind: json.loads(
            subprocess.run(
                [sys.executable, '-m', __spec__.name, 'one'],
                env={**os.environ, **variables},
                check=True,
                stdout=subprocess.PIPE,
            ).stdout.splitlines()[-1]
        )
        for kind, variables in (*kinds.items(), ('AVX2', AVX2_ALONE))
    }


def has_avx512():
    """Return whether this processor has AVX-512."""
    return 'avx512f' in pathlib.Path('/proc/cpuinfo').read_text()


def measure():
    """Return all numbers of a run."""
    from d2lmulti import read_fashion_mnist, train
    from d2lmulti.communication.training_figure import (
        first_steps_apart,
        record_step,
    )
    from d2lmulti.training import max_difference

    from .report.machine import (
        describe_load,
        describe_machine,
        others_time,
    )

    start, others = time.monotonic(), others_time()
    data = read_fashion_mnist()
    steps = {k: record_step(k, BATCH_SIZE, LR, data) for k in (1, 2)}
    runs = [train(k, BATCH_SIZE, LR, NUM_EPOCHS, 0, data) for k in (1, 2)]
    capped = has_avx512() and 'DNNL_MAX_CPU_ISA' in os.environ
    peers = {} if capped else measure_peers(len(data[0]))
    load = describe_load(others_time() - others, time.monotonic() - start)
    return {
        'machine': f'{describe_machine()} {load}',
        'images': len(data[0]),
        'accuracies': [run.accuracies[-1] for run in runs],
        'replicas apart': max_difference(*runs[1].device_params),
        'first step apart': first_steps_apart(steps),
        'steps': {k: step.operators for k, step in steps.items()},
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


def epochs(runs):
    """Return the sentence on speed; `runs`: of `measure_all`."""
    rates = [
        f'{one / two:.2f} times as fast with {kind}'
        f'{" alone" * (len(runs) > 1 and kind == "AVX2")}'
        for kind, run in runs.items()
        for one, two in [medians(run)]
    ]
    return (
        'Whole epochs are, on two devices, '
        f'{" and ".join(rates)} ([all numbers]'
        '(tools/site/running.md#how-fast)).'
    )


def speeds(runs):
    """Return the paragraph and the table on speed."""
    lines = [
        'Images per second of an epoch over the bundled images, loading '
        f'included, in minibatches of {BATCH_SIZE}, on one device and on '
        f'two. Our row is the median of {NUM_EPOCHS} epochs, each other row '
        f'that of {NUM_ROUNDS} processes.'
    ]
    capped = ' (capped: the same processor without AVX-512)'
    for kind, run in runs.items():
        lines += [
            f'\n**{kind}**{capped * (len(runs) > 1 and kind == "AVX2")}. '
            f'Measured {run["machine"]}\n',
            '| | one device | two devices | ratio |',
            '|---|---|---|---|',
        ]
        for name in run['seconds']:
            one, two = medians(run, name)
            rates = [f'{run["images"] / s:,.0f}' for s in (one, two)]
            lines.append(f'| {name} | {" | ".join(rates)} | {one / two:.2f} |')
    return '\n'.join(lines)


def texts(runs):
    """Return {path: {name of the mark: what stands there}}."""
    return {
        'README.md': {'epochs': epochs(runs)},
        'tools/site/running.md': {'speeds': speeds(runs)},
    }


def fill_in(text, parts):
    """Return a text with each part between its marks."""
    for name, part in parts.items():
        mark = f'<!-- {__spec__.name}: {name} -->'
        text, count = re.subn(
            f'{mark}\n(.*?\n)??<!-- end -->',
            lambda _, mark=mark, part=part: f'{mark}\n{part}\n<!-- end -->',
            text,
            flags=re.DOTALL,
        )
        if count != 1:
            raise ValueError(f'the page needs {mark} once, not {count} times')
    return text


def steps_of(runs):
    """Return {number of devices: step} of the first run."""
    from d2lmulti.communication.training_figure import Step
    from d2lmulti.profiler import Operator

    run = next(iter(runs.values()))
    return {
        int(k): Step([Operator(*operator) for operator in operators], [])
        for k, operators in run['steps'].items()
    }


def draw(runs):
    """Draw the figure as `make train` does; its description has the numbers
    above its lanes."""
    import matplotlib

    matplotlib.use('agg')
    from d2lmulti.communication.training_figure import plot_training, titles

    steps = steps_of(runs)
    plot_training(steps).savefig(
        FIGURE,
        dpi=150,
        metadata={'Software': None, 'Description': '; '.join(titles(steps))},
    )


def main(words):
    """Measure if need be, and write the figure and the pages."""
    if words == ['one']:
        print(json.dumps(measure()))
        return
    if words != ['again']:
        STORED.write_text(json.dumps(measure_all()) + '\n')
    runs = json.loads(STORED.read_text())
    draw(runs)
    for name, parts in texts(runs).items():
        path = ROOT / name
        path.write_text(fill_in(path.read_text(), parts))
    print(epochs(runs), speeds(runs), sep='\n\n')


if __name__ == '__main__':
    main(sys.argv[1:])
