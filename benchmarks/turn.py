"""One turn of one contestant, in a fresh process; prints one line of JSON.

    python turn.py '{"contestant": "Ours", "devices": 2, "task": "steps", …}'

A contestant with a process for each device starts them itself, or lets the
launcher or Horovod do it: they work at the same time, each on its share of
every minibatch, and the slowest counts.
"""
import gzip
import importlib.metadata
import json
import multiprocessing
import pathlib
import queue
import statistics
import subprocess
import sys
import tempfile
import time

import numpy

import contestants

IMAGES = pathlib.Path(__file__).parent.parent / 'd2lmulti' / 'fashion_mnist'
TIME_LIMIT = 300  # seconds for which a process waits for the others


def read_images(count, share=slice(None)):
    """Return (X, y): a share of `count` examples, the bundled ones again and
    again."""
    with gzip.open(IMAGES / 'train-images-idx3-ubyte.gz') as file:
        X = numpy.frombuffer(file.read(), 'uint8', offset=16)
    with gzip.open(IMAGES / 'train-labels-idx1-ubyte.gz') as file:
        y = numpy.frombuffer(file.read(), 'uint8', offset=8)
    rows = numpy.arange(count)[share] % len(y)
    X = X.reshape(-1, 1, 28, 28)[rows].astype('float32')
    X /= 255
    return X, y[rows].astype('int32')


def first_params():
    """Return the parameters with which every contestant starts."""
    random = numpy.random.RandomState(0)
    params = []
    for num_inputs, shape in [(9, (20, 1, 3, 3)), (500, (50, 20, 5, 5)),
                              (800, (800, 128)), (128, (128, 10))]:
        weights = random.normal(0, (2 / num_inputs) ** 0.5, shape)
        num_outputs = shape[0] if len(shape) == 4 else shape[1]
        params += [weights.astype('float32'),
                   numpy.zeros(num_outputs, 'float32')]
    return params


def measure_steps(trainer, turn, share, wait):
    """Return the seconds of a step at each batch size, and the loss after
    the steps of the first one: the same work leads to the same loss."""
    result = {'seconds': {}}
    for batch_size in turn['batch_sizes']:
        batch = trainer.load(*read_images(batch_size, share))
        for _ in range(2):
            trainer.step(*batch)
            trainer.drain()
            result.setdefault('first_step', time.time())
        num_steps = max(2, 8192 // batch_size)
        wait()
        start = time.perf_counter()
        for _ in range(num_steps):
            trainer.step(*batch)
        trainer.drain()
        seconds = (time.perf_counter() - start) / num_steps
        result['seconds'][batch_size] = seconds
        if 'loss' not in result:
            result['loss'] = trainer.loss(*trainer.load(*read_images(256)))
    return result


def measure_epoch(trainer, turn, share, wait):
    """Return the seconds of one epoch, minibatches made on the way."""
    X, y = read_images(turn['num_images'], share)
    batch_size = turn['batch_sizes'][0] // share.step
    batches = trainer.batches(X, y, batch_size)
    batch = trainer.load(X[:batch_size], y[:batch_size])
    for _ in range(5):
        trainer.step(*batch)
    trainer.drain()
    wait()
    start = time.perf_counter()
    trainer.epoch(batches)
    trainer.drain()
    return {'seconds': {'epoch': time.perf_counter() - start}}


def measure_exchange(trainer, turn, share, wait):
    """Return the seconds to add one array over all processes, by its MB."""
    result = {'seconds': {}}
    for size in turn['megabytes']:
        exchange = trainer.exchange(int(size * 250_000))
        times = []
        for _ in range(2 + max(3, min(30, int(40 / size)))):
            wait()
            start = time.perf_counter()
            exchange()
            trainer.drain()
            times.append(time.perf_counter() - start)
        result['seconds'][size] = statistics.median(times[2:])
    return result


def measure_checkpoint(turn):
    """Return the seconds that training waits for a checkpoint of LeNet."""
    import d2lmulti
    from d2lmulti.checkpoint import Checkpoint, save_checkpoint
    at = Checkpoint(d2lmulti.init_params())
    with tempfile.TemporaryDirectory(dir=turn['folder']) as folder:
        return take_in_turn({'checkpoint': lambda: save_checkpoint(
            folder, at)}, num_rounds=20)


def measure_allreduce(turn):
    """Return seconds, for each size in MB and in turn, of each algorithm, of
    one copy, of copies by all devices at once, and of one addition."""
    import d2lmulti
    from mxnet import np
    devices = d2lmulti.try_devices(turn['devices'])
    result = {}
    for size in turn['megabytes']:
        length = int(size * 250_000)
        data = [np.ones(length, ctx=c) for c in devices]
        others = [np.zeros(length, ctx=c) for c in devices]

        def copy_side_by_side():
            for i, array in enumerate(data):
                array.copyto(others[(i + 1) % len(others)])

        result[size] = take_in_turn({
            'star': lambda: d2lmulti.allreduce(data),
            'sharded': lambda: d2lmulti.sharded_allreduce(data),
            'ring': lambda: d2lmulti.ring_allreduce(data),
            'tree': lambda: d2lmulti.tree_allreduce(data),
            'copy': lambda: data[1].copyto(data[0]),
            'side by side': copy_side_by_side,
            'addition': lambda: others[0].__iadd__(data[0])})
    result['LeNet'] = measure_buckets(devices)
    return result


def measure_buckets(devices):
    """Return seconds to add LeNet's eight gradients, one by one and in a
    bucket, with the star and with the ring."""
    import d2lmulti
    lists = [d2lmulti.get_params(d2lmulti.init_params(), device)
             for device in devices]

    def one_by_one(algorithm):
        return lambda: [algorithm(arrays) for arrays in zip(*lists)]

    def in_a_bucket(algorithm):
        return lambda: d2lmulti.bucket_allreduce(lists, algorithm)

    star, ring = d2lmulti.allreduce, d2lmulti.ring_allreduce
    return take_in_turn({
        'star': one_by_one(star), 'star, bucket': in_a_bucket(star),
        'ring': one_by_one(ring), 'ring, bucket': in_a_bucket(ring)})


def measure_splits(turn):
    """Return seconds of gradients with the network split over devices."""
    import d2lmulti
    from d2lmulti import splits
    from mxnet import np
    devices = d2lmulti.try_devices(turn['devices'])
    layers, params = splits.tower()
    X, y = np.ones((64, 32, 28, 28)), np.zeros(64, dtype='int32')
    tower = [splits.split_layers(params, devices[:k], layers)
             for k in (1, 2)]
    shapes = [(64, 1, 3, 3), 64, (128, 64, 5, 5), 128, (2048, 1024), 1024,
              (1024, 10), 10]
    params = [np.random.normal(0, 0.05, shape) for shape in shapes]
    images, labels = np.ones((128, 1, 28, 28)), np.zeros(128, dtype='int32')
    whole = splits.split_layers(params, devices[:1])
    parts = splits.split_channels(params, devices)
    return take_in_turn({
        'tower on one device': lambda: splits.pipeline_gradients(
            X, y, tower[0]),
        'by layers, 1 micro-batch': lambda: splits.pipeline_gradients(
            X, y, tower[1], 1),
        'by layers, 4 micro-batches': lambda: splits.pipeline_gradients(
            X, y, tower[1], 4),
        'wide LeNet on one device': lambda: splits.pipeline_gradients(
            images, labels, whole),
        'wide LeNet by channels': lambda: splits.channel_gradients(
            images, labels, parts, splits.LENET[:-1])})


def measure_overlap(turn):
    """Return seconds of a training step, its exchange after the backward
    pass and overlapped with it: LeNet, and with a dense layer of 27 MB."""
    import d2lmulti
    from mxnet import np, npx
    devices = d2lmulti.try_devices(turn['devices'])
    first = d2lmulti.init_params()
    wide = first[:4] + [np.random.normal(0, 0.02, shape)
                        for shape in ((800, 8192), 8192, (8192, 10), 10)]
    works = {}
    for name, params, size in (('LeNet, 512 images', first, 512),
                               ('27 MB, 64 images', wide, 64)):
        replicas = [d2lmulti.get_params(params, c) for c in devices]
        X, y = np.ones((size, 1, 28, 28)), np.zeros(size, dtype='int32')

        def after_backward(data):
            if data[0].shape == (20, 1, 3, 3):  # the first to be asked for
                npx.waitall()
            d2lmulti.allreduce(data)

        for kind, algorithm in (('nothing exchanged', lambda data: None),
                                ('exchange afterwards', after_backward),
                                ('overlapped', d2lmulti.allreduce)):
            works[f'{name}, {kind}'] = (
                lambda X=X, y=y, replicas=replicas, algorithm=algorithm:
                d2lmulti.train_batch(X, y, replicas, devices, 1e-4,
                                     algorithm))
    return take_in_turn(works, num_rounds=24)  # the differences are small


def measure_unequal(turn):
    """Return seconds of a step, split evenly and in proportion to speeds."""
    import d2lmulti
    repeats = turn['repeats']
    devices = d2lmulti.try_devices(turn['devices'])
    result = {}
    for size in (512, 2048):
        replicas, batch = first_replicas(devices), images(size)
        shares = d2lmulti.balanced_shares([1 / r for r in repeats], size)
        result[size] = take_in_turn({
            name: lambda parts=parts: d2lmulti.train_unequal(
                *batch, replicas, devices, 1e-4, parts, repeats)
            for name, parts in (('even', [1] * len(devices)),
                                ('proportional', shares))})
    return result


def measure_adapting(turn):
    """Return the second device's share after each of 60 steps; from step
    30 on it does its work twice."""
    import collections
    import d2lmulti
    devices = d2lmulti.try_devices(turn['devices'])
    replicas, batch = first_replicas(devices), images(512)
    shares, recent, found = [256, 256], collections.deque(maxlen=7), []
    for now in range(60):
        seconds = d2lmulti.train_unequal(
            *batch, replicas, devices, 1e-4, shares, [1, 1 + (now >= 30)])
        recent.append([s / n for s, n in zip(seconds, shares)])
        shares = d2lmulti.adapt_shares(shares, recent)
        found.append(shares[1])
    return {'shares': found}


def measure_norm(turn):
    """Return seconds of a step of 512 images without batch normalization,
    with that of each shard, and with that of all together."""
    import d2lmulti
    from d2lmulti.batch_norm import init_norm_params, norm_train_batch
    devices = d2lmulti.try_devices(turn['devices'])
    params, averages = init_norm_params()
    replicas = [d2lmulti.get_params(params, device) for device in devices]
    averages = [[a.copyto(device) for a in averages] for device in devices]
    plain, batch = first_replicas(devices), images(512)
    return take_in_turn({
        'without': lambda: d2lmulti.train_batch(
            *batch, plain, devices, 1e-4),
        'each shard': lambda: norm_train_batch(
            *batch, replicas, averages, devices, 1e-4, together=False),
        'together': lambda: norm_train_batch(
            *batch, replicas, averages, devices, 1e-4)})


def first_replicas(devices):
    """Return LeNet's first parameters on each device."""
    import d2lmulti
    params = d2lmulti.init_params()
    return [d2lmulti.get_params(params, device) for device in devices]


def images(size):
    """Return a minibatch (X, y) of that size."""
    from mxnet import np
    return np.ones((size, 1, 28, 28)), np.zeros(size, dtype='int32')


def take_in_turn(works, num_rounds=6):
    """Return the median seconds of each of `works`, {name: function}."""
    from mxnet import npx
    seconds = {name: [] for name in works}
    for _ in range(2 + num_rounds):
        for name, work in works.items():
            npx.waitall()
            start = time.perf_counter()
            work()
            npx.waitall()
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(values[2:])
            for name, values in seconds.items()}


def run_process(turn, rank=0, size=1, store=None, wait=lambda: None):
    """Take the part of one of `size` processes in the turn."""
    make = getattr(contestants, turn['contestant'])
    trainer = make(turn['devices'] // size, first_params(),
                   (store, rank, size))
    measure = {'steps': measure_steps, 'epoch': measure_epoch,
               'exchange': measure_exchange}[turn['task']]
    rank = getattr(trainer, 'rank', rank)  # known only now, or before
    wait = getattr(trainer, 'wait', wait)
    return measure(trainer, turn, slice(rank, None, size), wait)


def run_job(turn):
    """Let the launcher run the workers of a job; return what they print."""
    from d2lmulti.launch import Limits, launch
    lines = []
    launch(command_of_part(turn), turn['devices'], turn['servers'],
           show=lines.append, limits=Limits(60, 60, 5, TIME_LIMIT))
    return parts_of(lines)


def run_horovod(turn):
    """Let Horovod run the processes of a job; return what they print."""
    size = str(turn['devices'])
    done = subprocess.run(
        [sys.executable, '-m', 'horovod.runner.launch', '--gloo',
         '--network-interfaces', 'lo', '-np', size, '-H',
         f'localhost:{size}', *command_of_part(turn)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        timeout=TIME_LIMIT)
    if done.returncode:
        raise RuntimeError(done.stdout[-1000:])
    return parts_of(done.stdout.splitlines())


def command_of_part(turn):
    """Return the command of one process of a job."""
    return [sys.executable, __file__, json.dumps(dict(turn, part=True))]


def parts_of(lines):
    """Return the results among lines that begin with a process's name."""
    return [json.loads(line[line.index('{'):]) for line in lines
            if line.endswith('}')]


def run_child(turn, rank, size, store, barrier, results):
    """Run in a child: put the result, or what went wrong, into `results`."""
    try:
        results.put(run_process(turn, rank, size, store,
                                lambda: barrier.wait(TIME_LIMIT)))
    except Exception as error:
        results.put(f'{type(error).__name__}: {error}')


def run_processes(turn, size):
    """Run `size` processes at once; return the slowest one's times."""
    spawn = multiprocessing.get_context('spawn')
    barrier, results = spawn.Barrier(size), spawn.Queue()
    with tempfile.TemporaryDirectory() as folder:
        store = f'file://{folder}/store'
        if size == 1:
            return run_process(turn, store=store)
        processes = [spawn.Process(
            target=run_child, daemon=True,
            args=(turn, rank, size, store, barrier, results))
            for rank in range(size)]
        for process in processes:
            process.start()
        parts = []
        for _ in processes:
            parts.append(wait_for_result(results, processes))
            if isinstance(parts[-1], str):
                raise RuntimeError(parts[-1])
        for process in processes:
            process.join(TIME_LIMIT)
    return slowest(parts)


def slowest(parts):
    """Return the result of the first process with the longest times."""
    result = parts[0]
    for part in parts[1:]:
        for key, seconds in part['seconds'].items():
            result['seconds'][key] = max(result['seconds'][key], seconds)
        if 'first_step' in part:
            result['first_step'] = max(result['first_step'],
                                       part['first_step'])
    return result


def wait_for_result(results, processes):
    """Return the next result; raise RuntimeError if none will come."""
    deadline = time.monotonic() + TIME_LIMIT
    while time.monotonic() < deadline:
        try:
            return results.get(timeout=1)
        except queue.Empty:
            for process in processes:
                if process.exitcode:
                    raise RuntimeError('a process ended with status '
                                       f'{process.exitcode}') from None
    raise RuntimeError(f'no result after {TIME_LIMIT} s')


def main(turn):
    """Run the turn that `turn` describes; return what was measured."""
    alone = {'allreduce': measure_allreduce, 'splits': measure_splits,
             'overlap': measure_overlap, 'checkpoint': measure_checkpoint,
             'unequal': measure_unequal, 'adapt': measure_adapting,
             'norm': measure_norm}
    jobs = {'OverServers': run_job, 'Horovod': run_horovod}
    if turn['task'] in alone:
        return alone[turn['task']](turn)
    if 'part' in turn:
        return run_process(turn, size=turn['devices'])
    if turn['contestant'] in jobs:
        result = slowest(jobs[turn['contestant']](turn))
    else:
        result = run_processes(turn,
                               turn['devices'] if turn['processes'] else 1)
    package = 'torch' if turn['contestant'] == 'TorchDDP' else 'mxnet'
    result['version'] = f'{package} {importlib.metadata.version(package)}'
    return result


if __name__ == '__main__':
    print(json.dumps(main(json.loads(sys.argv[1]))))
