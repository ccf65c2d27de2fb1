"""Write what the benchmark of several processes measured, and draw a model
of the time of a step on more of them."""
import statistics

import numpy
from scipy.optimize import nnls

from report import (DDP, HOROVOD, LIMIT, OURS, SERVERS, TUNED, method,
                    milliseconds, rates, ratio, same_work, show, steps_table,
                    table)
from turn import first_params

COPY = 'a copy in memory'
PUSH_AND_PULL = {1: 'push and pull, 1 server', 2: 'push and pull, 2 servers'}
LENET = sum(param.nbytes for param in first_params()) / 1e6  # MB
BATCH = 256    # images of each worker in the model


def write(results, notes, num_rounds, out):
    """Write all tables to `out` and the figure of the model beside it.

    `results`: {(name, devices, task): [result of each round]}.
    """
    parts = ['# Several processes on one machine', *notes,
             method(num_rounds, 'make bench-cluster'), steps_table(results),
             ratios_table(results), exchange_table(results),
             checkpoint_line(results), same_work(results)]
    parts.append(model(results, out.with_name('cluster.png')))
    out.write_text('\n\n'.join(parts) + '\n')


def ratios_table(results):
    """Return how much faster two processes are than one."""
    pairs = [('two independent processes', LIMIT, OURS),
             ('two devices in one process', OURS, OURS),
             ('two workers and a server', SERVERS, OURS),
             ('Horovod, two processes', HOROVOD, TUNED),
             ('PyTorch DDP, two processes', DDP, DDP)]
    sizes = (256, 512, 1024)
    rows = [[label, f'{under}, one process'] + [
        ratio(rates(results, over, 2, size), rates(results, under, 1, size))
        for size in sizes] for label, over, under in pairs]
    return ('### Two against one, within the same minibatch\n\n'
            + table(['', 'compared with', *(f'{s:,}' for s in sizes)], rows))


def exchanges(results):
    """Return {name: {MB: [seconds in each round]}}."""
    return {name: {float(size): [round_['seconds'][size] for round_ in rounds]
                   for size in rounds[0]['seconds']}
            for (name, _, task), rounds in results.items()
            if task == 'exchange'}


def exchange_table(results):
    """Return milliseconds to add one array over two processes."""
    found = exchanges(results)
    sizes = sorted(next(iter(found.values())))
    rows = [[name, *(milliseconds(times[size]) for size in sizes)]
            for name, times in found.items()]
    return ('## Adding one array over two processes, in milliseconds\n\n'
            'Over the loopback interface, whose "cable" is the processor. '
            f'{DDP} adds with gloo, {HOROVOD} too.\n\n'
            + table(['', *(f'{size:g} MB' for size in sizes)], rows))


def checkpoint_line(results):
    """Return how long training waits for a checkpoint."""
    values = [1000 * round_['checkpoint']
              for round_ in results[OURS, 1, 'checkpoint']]
    return ('## A checkpoint\n\nTraining waits '
            f'{show(values, "{:.1f}")} ms for a checkpoint of LeNet, written '
            'and synchronized to disk.')


def fit(times, work):
    """Return (alpha, beta): seconds = alpha + work(MB) / beta.

    The relative errors are the smallest, so that small arrays count, too.
    """
    sizes = sorted(times)
    seconds = numpy.array([statistics.median(times[s]) for s in sizes])
    columns = numpy.array([[1, work(size)] for size in sizes])
    (alpha, slope), _ = nnls(columns / seconds[:, None],
                             numpy.ones(len(sizes)))
    return alpha, 1 / slope


def server_work(m, n):
    """Return the MB that the busiest process sends and receives, by MB."""
    return lambda size: 2 * size * max(1, m / n)


def ring_work(m):
    """Return the same for a ring of m processes."""
    return lambda size: 2 * size * (m - 1) / m


def model(results, path):
    """Fit the times of steps and exchanges, draw them to 64 workers, and
    return a section about it."""
    found = exchanges(results)
    if not set(PUSH_AND_PULL.values()) <= set(found):
        return 'No model of the time of a step: the servers were left out.'
    server = fit(found[PUSH_AND_PULL[1]], server_work(2, 1))
    compute = BATCH / statistics.median(rates(results, OURS, 1, BATCH))
    lines = {'1 server': lambda m, size: seconds(
                 server, server_work(m, 1), size),
             '4 servers': lambda m, size: seconds(
                 server, server_work(m, 4), size),
             'as many servers as workers': lambda m, size: seconds(
                 server, server_work(m, m), size)}
    text = [f'servers {1000 * server[0]:.2f} ms and {server[1]:,.0f} MB/s']
    ring_name = next((n for n in (DDP, HOROVOD) if n in found), None)
    if ring_name:
        ring = fit(found[ring_name], ring_work(2))
        lines['a ring'] = lambda m, size: (
            (m - 1) * ring[0] + ring_work(m)(size) / ring[1])
        text.append(f'a ring ({ring_name}) {1000 * ring[0]:.2f} ms a round '
                    f'and {ring[1]:,.0f} MB/s')
    draw(lines, compute, path)
    two = seconds(server, server_work(2, 2), 40)
    measured = statistics.median(found[PUSH_AND_PULL[2]][40.0])
    return (
        '## A simulation: the time of a step with up to 64 workers\n\n'
        'Nothing here was run with more than two workers. The model: every '
        f'worker computes on {BATCH} images of its own, in '
        f'{1000 * compute:.0f} ms, as one process does here; then comes the '
        'exchange, a latency and the bytes of the busiest process at a fixed '
        'rate, none of it hidden behind the computation. Fitted to the '
        f'exchanges above: {"; ".join(text)}. For two servers, which the fit '
        f'has not seen, and 40 MB it says {1000 * two:.0f} ms; measured were '
        f'{1000 * measured:.0f} ms, since two servers share the two cores of '
        'this machine with their workers. On machines of their own they '
        'would not.\n\n'
        '![Simulated seconds of a step against the number of workers, for '
        f'servers and a ring]({path.name})')


def seconds(fitted, work, size):
    """Return the seconds of an exchange of `size` MB by the model."""
    alpha, beta = fitted
    return alpha + work(size) / beta


def draw(lines, compute, path):
    """Save the model's curves: LeNet, and a network of 100 MB."""
    import matplotlib
    matplotlib.use('agg')
    import matplotlib.pyplot as plt
    workers, workers_named = numpy.arange(1, 65), [1, 2, 4, 8, 16, 32, 64]
    figure, axes = plt.subplots(1, 2, figsize=(10, 4))
    for axis, size, title in (
            (axes[0], LENET, f'LeNet, {LENET:.1f} MB'),
            (axes[1], 100, 'the same computation, 100 MB')):
        for (name, exchange), color in zip(
                lines.items(), ('#0072b2', '#009e73', '#cc79a7', '#d55e00')):
            axis.plot(workers, [1000 * (compute + (m > 1) * exchange(m, size))
                                for m in workers], label=name, color=color)
        axis.axhline(1000 * compute, color='#555555', linestyle=':',
                     label='computation alone')
        axis.set(title=title, xlabel='workers', ylabel='ms a step',
                 xscale='log')
        axis.set_xticks(workers_named, workers_named)
        axis.minorticks_off()
    axes[1].set(yscale='log')
    figure.suptitle('Simulation, fitted to two workers on one machine')
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    figure.legend(*axes[0].get_legend_handles_labels(), ncol=5,
                  loc='lower center')
    figure.savefig(path, dpi=120, metadata={'Software': None})
    plt.close(figure)
