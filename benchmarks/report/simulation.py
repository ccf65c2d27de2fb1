"""A simulation of the time of a step with up to 64 workers, by the α–β
model of chapter 23: α seconds per message, β per MB, of the bottleneck."""

import statistics

import numpy

from d2lmulti.judgment.scaling import allreduce_seconds, fit_relative
from d2lmulti.plots import LINE_STYLES

from ..peers import DDP, HOROVOD, OURS, PUSH_AND_PULL
from ..tasks.data import first_params
from .steps import rates

LENET = sum(param.nbytes for param in first_params()) / 1e6  # MB
BATCH = 256  # images of each worker in the simulation


def fit(times, *how):
    """Return (alpha, beta), as chapter 23 fits them.

    `times`: {MB: [seconds of each round]}. `how`: the algorithm, the number
    of processes and that of servers, as for `allreduce_seconds`.
    """
    rows = [
        (seconds(how, size, 1, 0), seconds(how, size, 0, 1)) for size in times
    ]
    return fit_relative(rows, [statistics.median(t) for t in times.values()])


def seconds(how, size, alpha, beta):
    """Return the seconds of an allreduce of `size` MB."""
    algorithm, m, *servers = how
    return allreduce_seconds(algorithm, m, size, alpha, beta, *servers)


def simulation_section(results, times, path):
    """Fit the times of steps and allreduces, draw them to 64 workers, and
    return a section about it."""
    if not set(PUSH_AND_PULL.values()) <= set(times):
        return 'No simulation of a step: the servers were left out.'
    compute = BATCH / statistics.median(rates(results, OURS, 1, BATCH))
    server = fit(times[PUSH_AND_PULL[1]], 'servers', 2, 1)
    ring_name = next((n for n in (DDP, HOROVOD) if n in times), None)
    ring = fit(times[ring_name], 'ring', 2) if ring_name else None
    draw(curves(server, ring), compute, path)
    fitted = ['servers ' + in_words(*server)]
    if ring_name:
        fitted.append(f'a ring ({ring_name}) {in_words(*ring)}')
    measured = statistics.median(times[PUSH_AND_PULL[2]][40.0])
    return explain(
        compute,
        '; '.join(fitted),
        seconds(('servers', 2, 2), 40, *server),
        measured,
        path,
    )


def curves(server, ring):
    """Return {name: function of the number of workers and the MB}."""
    found = {
        '1 server': lambda m, size: seconds(('servers', m, 1), size, *server),
        '4 servers': lambda m, size: seconds(('servers', m, 4), size, *server),
        'as many servers as workers': lambda m, size: seconds(
            ('servers', m, m), size, *server
        ),
    }
    if ring:
        found['a ring'] = lambda m, size: seconds(('ring', m), size, *ring)
    return found


def in_words(alpha, beta):
    """Return what was fitted as a latency and a rate."""
    return (
        f'{2000 * alpha:.2f} ms per message and its answer, and '
        f'{1 / beta if beta else float("inf"):,.0f} MB/s'
    )


def explain(compute, fitted, predicted, measured, path):
    """Return the section: the model, what it predicts, and the figure."""
    return (
        '## A simulation: the time of a step with up to 64 workers\n\n'
        'Nothing here was run with more than two workers. The model: every '
        f'worker computes on its own {BATCH} images, in '
        f'{1000 * compute:.0f} ms, as one process does here. Then comes the '
        'allreduce: a latency, and the bytes of the bottleneck process at a '
        'fixed rate, none of it overlapped with the computation. Fitted to '
        f'the times above: {fitted}. For two servers, which the fit has not '
        f'seen, and 40 MB it predicts {1000 * predicted:.0f} ms; we '
        f'measured {1000 * measured:.0f} ms, because two servers share the '
        'cores of this machine with their workers. On separate machines '
        'they would not.\n\n'
        '![Simulated seconds of a step against the number of workers, for '
        f'servers and a ring]({path.name})'
    )


def draw(lines, compute, path):
    """Save the curves: LeNet, and a network of 100 MB."""
    import matplotlib

    matplotlib.use('agg')
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4))
    draw_curves(axes[0], lines, compute, LENET, f'LeNet, {LENET:.1f} MB')
    draw_curves(axes[1], lines, compute, 100, 'the same computation, 100 MB')
    axes[1].set(yscale='log')
    figure.suptitle('Simulation, fitted to two workers on one machine')
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    figure.legend(
        *axes[0].get_legend_handles_labels(), ncol=5, loc='lower center'
    )
    figure.savefig(path, dpi=120, metadata={'Software': None})
    plt.close(figure)


def draw_curves(axis, lines, compute, size, title):
    """Draw the milliseconds of a step against the number of workers."""
    workers, labeled = numpy.arange(1, 65), [1, 2, 4, 8, 16, 32, 64]
    for (name, allreduce), style in zip(lines.items(), LINE_STYLES):
        steps = [compute + (m > 1) * allreduce(m, size) for m in workers]
        axis.plot(
            workers,
            1000 * numpy.array(steps),
            label=name,
            **{**style, 'marker': ''},
        )
    axis.axhline(
        1000 * compute,
        color='#555555',
        linestyle=':',
        label='computation alone',
    )
    axis.set(title=title, xlabel='workers', ylabel='ms per step', xscale='log')
    axis.set_xticks(labeled, labeled)
    axis.minorticks_off()
