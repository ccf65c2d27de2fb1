"""Write what the benchmark measured as tables and as a figure."""
import statistics

OURS = 'this project'
RECIPE = 'D2L recipe'
GLUON = 'Gluon Trainer as it comes'
TUNED = 'Gluon Trainer, our settings'
DDP = 'PyTorch DDP'
LIMIT = 'two independent processes'
SERVERS = 'this project, workers and a server'
HOROVOD = 'Gluon over Horovod'


def write(results, notes, num_rounds, out):
    """Write all tables to `out` and, after a full run, a figure beside it.

    `results`: {(name, devices, task): [result of each round]}.
    """
    full = any(task == 'epoch' for _, _, task in results)
    command = 'make bench' if full else 'make bench-quick'
    parts = ['# How fast, beside its peers', *notes,
             method(num_rounds, command), steps_table(results),
             ratios_table(results)]
    if full:
        draw(results, out.with_name('results.png'))
        parts += [epochs_table(results), FIGURE]
    parts.append(allreduce_table(results))
    if full:
        parts.append(splits_table(results))
    parts.append(same_work(results))
    out.write_text('\n\n'.join(parts) + '\n')


def method(num_rounds, command):
    """Return how it was measured, in a paragraph."""
    return (
        f'Written by `{command}`. The contestants take turns, {num_rounds} '
        'rounds, each turn in a fresh process: warm-up, then steps with the '
        'engine drained on both sides. A number is the median of the rounds, '
        'the smallest and the largest in brackets. Ratios are taken within '
        'each round. All start from the same parameters, on the same '
        'minibatches, with one thread a device, but for the D2L recipe and '
        'what runs "as it comes": they are without d2lmulti\'s settings.')


def rates(results, name, devices, batch_size):
    """Return images per second in each round."""
    return [batch_size / result['seconds'][str(batch_size)]
            for result in results.get((name, devices, 'steps'), [])]


def seconds(results, name, devices):
    """Return the seconds of an epoch in each round."""
    return [result['seconds']['epoch']
            for result in results.get((name, devices, 'epoch'), [])]


def batch_sizes(results):
    """Return the batch sizes that were measured."""
    first = next((rounds[0] for (_, _, task), rounds in results.items()
                  if task == 'steps'), {'seconds': []})
    return [int(size) for size in first['seconds']]


def show(values, form='{:,.0f}'):
    """Return the median of `values` and their spread, or a dash."""
    if not values:
        return '–'
    low, middle, high = (form.format(value) for value in (
        min(values), statistics.median(values), max(values)))
    return f'{middle} ({low}–{high})'


def ratio(over, under):
    """Return the ratios of two lists, round by round, as text."""
    return show([a / b for a, b in zip(over, under)], '{:.2f}')


def table(head, rows):
    """Return a Markdown table."""
    lines = [head, ['---'] * len(head)] + rows
    return '\n'.join('| ' + ' | '.join(map(str, line)) + ' |'
                     for line in lines)


def contestants(results, task):
    """Return (name, devices) of all that took part in the task."""
    order = [OURS, LIMIT, SERVERS, TUNED, HOROVOD, GLUON, RECIPE, DDP]
    found = [(name, devices) for name, devices, other in results
             if other == task]
    return sorted(found, key=lambda key: (order.index(key[0]), key[1]))


def steps_table(results):
    """Return images per second of a training step."""
    sizes = batch_sizes(results)
    rows = [[name, devices] + [show(rates(results, name, devices, size))
                               for size in sizes]
            for name, devices in contestants(results, 'steps')]
    return ('## A training step: images per second\n\n'
            'By the size of the minibatch, over all devices together.\n\n'
            + table(['contestant', 'devices', *(f'{s:,}' for s in sizes)],
                    rows))


def ratios_table(results):
    """Return the ratios that the table of rates is read for."""
    sizes = batch_sizes(results)

    def compare(label, over, under):
        return [label] + [
            ratio(rates(results, *over, size), rates(results, *under, size))
            for size in sizes]

    def weak(label, over, k):
        return [label] + [
            ratio(rates(results, *over, size),
                  rates(results, OURS, 1, size // k))
            if size // k in sizes else '–' for size in sizes]

    rows = [
        compare('strong scaling, 2 devices : 1', (OURS, 2), (OURS, 1)),
        compare('… what two processes reach', (LIMIT, 2), (OURS, 1)),
        compare('… 2 devices : two processes', (OURS, 2), (LIMIT, 2)),
        compare('strong scaling, 4 devices : 1', (OURS, 4), (OURS, 1)),
        weak('weak scaling, 2 devices : 1', (OURS, 2), 2),
        weak('… what two processes reach', (LIMIT, 2), 2),
        weak('weak scaling, 4 devices : 1', (OURS, 4), 4),
        compare('1 device : Gluon, our settings', (OURS, 1), (TUNED, 1)),
        compare('2 devices : Gluon, our settings', (OURS, 2), (TUNED, 2)),
        compare('2 devices : Gluon as it comes', (OURS, 2), (GLUON, 2)),
        compare('2 devices : D2L recipe', (OURS, 2), (RECIPE, 2)),
        compare('2 devices : PyTorch DDP', (OURS, 2), (DDP, 2))]
    rows = [row for row in rows if set(row[1:]) != {'–'}]
    return ('### Ratios of these rates\n\n'
            'Strong scaling keeps the minibatch, weak scaling keeps the '
            'shard of each device: at 512 over 2 devices it compares with '
            '256 on one.\n\n'
            + table(['', *(f'{s:,}' for s in sizes)], rows))


def epochs_table(results):
    """Return seconds of an epoch, memory, and time to the first step."""
    rows = []
    for name, devices in contestants(results, 'epoch'):
        epochs = results[name, devices, 'epoch']
        steps = results.get((name, devices, 'steps'), [])
        ours = seconds(results, OURS, devices)
        rows.append([
            name, devices, show(seconds(results, name, devices), '{:.1f}'),
            ratio(seconds(results, name, devices), ours),
            show([result['memory'] / 1e6 for result in epochs]),
            show([result['first_step'] for result in steps], '{:.1f}')])
    return ('## An epoch over 60,000 images\n\n'
            'Minibatches of 256, loading included. The time of this project '
            'on as many devices is 1. Peak memory in MB, all processes '
            'together. Last, the seconds from the start of the process to '
            'the end of the first step.\n\n'
            + table(['contestant', 'devices', 'seconds', 'this project = 1',
                     'memory', 'to the first step'], rows))


def allreduce_table(results):
    """Return the times of the algorithms, beside those of their copies."""
    rows, shares = [], []
    for devices, size, times in allreduce_times(results):
        if size == 'LeNet':
            continue
        total = {name: [time[name] for time in times]
                 for name in ('star', 'sharded', 'ring', 'tree')}
        copies = [2 * (devices - 1) * time['copy'] for time in times]
        together = [2 * (devices - 1) / devices * time['side by side']
                    for time in times]
        adds = [(devices - 1) * time['addition'] for time in times]
        fastest = min(total, key=lambda name: statistics.median(total[name]))
        rows.append([size, devices, *map(milliseconds, total.values()),
                     fastest])
        shares.append([size, devices, milliseconds(copies),
                       milliseconds(adds), milliseconds(together),
                       ratio(copies, total['star']),
                       ratio(together, total['sharded']),
                       ratio(together, total['ring'])])
    return ('## Adding over devices, alone\n\n'
            'Milliseconds for one array on each device.\n\n'
            + table(['MB', 'devices', 'star', 'sharded', 'ring', 'tree',
                     'fastest'], rows)
            + '\n\nWhat bounds them: the copies of the star, one after the '
            'other; the additions that each algorithm needs, one after the '
            'other; the copies of the ring, made by all devices side by '
            'side. Last, the rate of these copies that an algorithm reaches '
            'with its additions.\n\n'
            + table(['MB', 'devices', "star's copies", 'additions',
                     "ring's copies", 'star', 'sharded', 'ring'], shares)
            + '\n\n' + buckets_table(results))


def allreduce_times(results):
    """Yield (devices, size, [times of each round])."""
    for (_, devices, task), rounds in results.items():
        for size in rounds[0] if task == 'allreduce' else []:
            yield devices, size, [result[size] for result in rounds]


def buckets_table(results):
    """Return the times for LeNet's eight gradients."""
    rows = [[devices, *(milliseconds([time[name] for time in times])
                        for name in times[0])]
            for devices, size, times in allreduce_times(results)
            if size == 'LeNet']
    return ("LeNet's eight gradients, one by one and in one bucket, in "
            'milliseconds:\n\n'
            + table(['devices', 'star', 'star, bucket', 'ring',
                     'ring, bucket'], rows))


def splits_table(results):
    """Return the times of split networks and of overlapped exchanges."""
    def rows_of(task, pairs):
        rounds = results.get((OURS, 2, task), [])
        for slow, fast in pairs:
            over, under = ([round_[name] for round_ in rounds]
                           for name in (slow, fast))
            yield [slow, milliseconds(over), fast, milliseconds(under),
                   ratio(over, under)]

    rows = [*rows_of('splits', [
        ('tower on one device', 'by layers, 1 micro-batch'),
        ('by layers, 1 micro-batch', 'by layers, 4 micro-batches'),
        ('wide LeNet on one device', 'wide LeNet by channels')])]
    for name in ('LeNet, 512 images', '27 MB, 64 images'):
        rows += rows_of('overlap', [
            (f'{name}, exchange afterwards', f'{name}, overlapped'),
            (f'{name}, nothing exchanged', f'{name}, overlapped')])
    return ('## Split networks, and overlap, on two devices\n\n'
            'Milliseconds for the gradients of a minibatch, or for a training '
            'step.\n\n'
            + table(['A', 'ms', 'B', 'ms', 'A : B'], rows))


def milliseconds(values):
    """Return the median of seconds and their spread, in milliseconds."""
    return show([1000 * value for value in values], '{:.2f}')


def same_work(results):
    """Return a sentence on the losses: the same work gives the same."""
    losses = {(name, devices): round_['loss']
              for (name, devices, task), rounds in results.items()
              for round_ in rounds if task == 'steps' and name != LIMIT}
    low = min(losses.values(), default=0)
    high = max(losses.values(), default=0)
    if not high - low <= 1e-3:
        return f'**Not the same work**, since the losses differ: {losses}'
    return (f'After the same steps, the losses of all contestants agree: '
            f'{low:.4f} to {high:.4f}.')


FIGURE = ('![Bars: images per second of a training step, and seconds of an '
          'epoch, for each contestant](results.png)')


def draw(results, path):
    """Save bars: rates at batch 512, and seconds of an epoch."""
    import matplotlib
    matplotlib.use('agg')
    import matplotlib.pyplot as plt
    colors = {1: '#0072b2', 2: '#d55e00', 4: '#cc79a7'}
    keys = [key for key in contestants(results, 'epoch')[::-1]
            if results.get((*key, 'steps'))]
    places = range(len(keys))
    labels = [f'{name}, {devices}' for name, devices in keys]
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), sharey=True)
    for axis, values, title in (
            (axes[0], [rates(results, *key, 512) for key in keys],
             'images per second, minibatch of 512 (more is better)'),
            (axes[1], [seconds(results, *key) for key in keys],
             'seconds per epoch of 60,000 images (less is better)')):
        middle = [statistics.median(part) for part in values]
        spread = [[m - min(part) for m, part in zip(middle, values)],
                  [max(part) - m for m, part in zip(middle, values)]]
        axis.barh(places, middle, xerr=spread, capsize=2, height=0.7,
                  color=[colors[devices] for _, devices in keys])
        axis.set_title(title, fontsize=10)
    axes[0].set_yticks(places, labels)
    figure.tight_layout()
    figure.savefig(path, dpi=120, metadata={'Software': None})
    plt.close(figure)
