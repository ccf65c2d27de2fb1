"""What a GPU does for training, beside the CPU: one file for any machine.

    python gpu_or_cpu.py OUT.json

It needs a GPU and PyTorch with NumPy, and nothing of this project, so copy it
to a machine that has them. It takes two minutes on a fast machine and less
than eight on a slow one. Without a GPU it says so, and ends with status 1.

A time is [median, least, most] seconds of the rounds; the GPU has finished on
both sides of the clock. What cannot be measured is a line of text, the error,
and the rest goes on. results/GPU_OR_CPU.md says what each section is.
"""

import contextlib
import datetime
import json
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time

try:
    import torch
    from torch import nn
except ImportError as error:
    sys.exit(f'this needs PyTorch: {error}')

GPU, CPU = torch.device('cuda'), torch.device('cpu')
BEGAN = time.monotonic()
MEASURE_UNTIL = 360.0  # seconds; what is still to be measured is left out
BYTES = (4, 4096, 65_536, 2**20, 2**24, 2**28)
SIZES = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
PRECISIONS = {
    'fp32': (torch.float32, False),
    'tf32': (torch.float32, True),
    'bf16': (torch.bfloat16, False),
    'fp16': (torch.float16, False),
}


def main(out):
    """Measure section by section, and write what there is after each."""
    set_tf32(False)
    report = describe()
    for section in SECTIONS:
        report[section.__name__] = attempt(section)
        print(
            section.__name__, str(report[section.__name__])[:200], flush=True
        )
        report['took'] = rounded(time.monotonic() - BEGAN)[0]
        text = json.dumps(report, indent=1)
        triples = re.compile(r'\[\s+([^][{}"]*?)\s+\]')
        text = triples.sub(lambda m: f'[{" ".join(m[1].split())}]', text)
        pathlib.Path(out).write_text(text + '\n')
    print(f'it is in {out}')


def check_gpu():
    """Compute something on the GPU; raise whatever goes wrong."""
    net = nn.Conv2d(1, 2, 3).to(GPU)
    return float(net(torch.ones(1, 1, 8, 8, device=GPU)).sum())


def attempt(work):
    """Return `work()`, or its error in one line."""
    try:
        return work()
    except Exception as error:  # whatever it is, the rest goes on
        if torch.cuda.is_available():
            torch.cuda.empty_cache()  # it may have been the memory
        lines = [line.strip() for line in str(error).splitlines()]
        line = next(filter(None, lines), '')
        return f'{type(error).__name__}: {line:.200}'


def ask_gpu(what):
    """Return what nvidia-smi says."""
    command = ['nvidia-smi', f'--query-gpu={what}', '--format=csv,noheader']
    return subprocess.run(
        command,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
    ).stdout.splitlines()[0]


def describe():
    """Return the machine and the versions."""
    return {
        'date': str(datetime.date.today()),
        'versions': {
            'torch': torch.__version__,
            'cuda': torch.version.cuda or torch.version.hip,
            'python': platform.python_version(),
        },
        'gpu': attempt(torch.cuda.get_device_name),
        'gpus': torch.cuda.device_count(),
        'capability': attempt(torch.cuda.get_device_capability),
        'driver': attempt(
            lambda: ask_gpu('driver_version,memory.total,power.limit')
        ),
        'cpu': attempt(name_of_cpu),
        'cpu_threads': torch.get_num_threads(),
    }


def name_of_cpu():
    """Return the processor's name, or its kind where it has none."""
    text = pathlib.Path('/proc/cpuinfo').read_text()
    match = re.search(r'model name\s*: (.*)', text)
    return match[1] if match else platform.machine()


def seconds(work, device=None, rounds=9, limit=2.0):
    """Return median, least and most seconds of `work()`, on the GPU unless
    `device` is another, or its error; a short one is repeated in a round."""
    return attempt(lambda: time_rounds(work, device or GPU, rounds, limit))


def seconds_left():
    """Return for how long may be measured; raise TimeoutError if no more."""
    left = MEASURE_UNTIL - (time.monotonic() - BEGAN)
    if left <= 0:
        raise TimeoutError('no time left for it')
    return left


def time_rounds(work, device, rounds, limit):
    """Return median, least and most seconds of `work()`."""
    seconds_left()
    wait = torch.cuda.synchronize if device.type == 'cuda' else lambda: None

    def clock(repeats):
        wait()
        start = time.perf_counter()
        for _ in range(repeats):
            work()
        wait()
        return time.perf_counter() - start

    clock(1)
    once = clock(1)
    if once > limit:  # a slow machine: more rounds would take too long
        return rounded(once, once, once)
    repeats = max(1, min(200, int(0.02 / max(once, 1e-7))))
    rounds = max(3, min(rounds, int(limit / max(once * repeats, 1e-6))))
    times = [clock(repeats) / repeats for _ in range(rounds)]
    return rounded(statistics.median(times), min(times), max(times))


def rounded(*numbers):
    """Return the numbers with four digits."""
    return [float(f'{number:.4g}') for number in numbers]


@contextlib.contextmanager
def threads(count):
    """Let the CPU use so many threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    yield
    torch.set_num_threads(before)


@contextlib.contextmanager
def tensor_cores(allowed):
    """Let float32 be rounded to TF32, or not."""
    set_tf32(allowed)
    try:
        yield
    finally:
        set_tf32(False)


def set_tf32(allowed):
    """Let products and convolutions round float32 to TF32, or not."""
    torch.backends.cuda.matmul.allow_tf32 = allowed
    torch.backends.cudnn.allow_tf32 = allowed


def call_and_done():
    """Return when the call of a product returns, and when it is there."""
    a, rows = torch.randn(8192, 8192, device=GPU), []
    for _ in range(7):
        torch.cuda.synchronize()
        start = time.perf_counter()
        a @ a
        called = time.perf_counter() - start
        torch.cuda.synchronize()
        rows.append([called, time.perf_counter() - start])
    return rounded(*map(statistics.median, zip(*rows[1:])))


def copies():
    """Return the seconds of copies, by bytes, into memory that is there."""
    rows = {}
    for n in BYTES:
        host = torch.empty(n, dtype=torch.uint8)
        pinned = torch.empty(n, dtype=torch.uint8).pin_memory()
        there = torch.empty(n, dtype=torch.uint8, device=GPU)
        other = torch.empty_like(there)
        pairs = {
            'to_gpu': (there, host),
            'to_gpu_pinned': (there, pinned),
            'to_cpu': (host, there),
            'to_cpu_pinned': (pinned, there),
            'on_gpu': (other, there),
        }
        rows[n] = {
            name: seconds(
                lambda a=a, b=b, p=pinned: a.copy_(
                    b, non_blocking=a is p or b is p
                )
            )
            for name, (a, b) in pairs.items()
        }
    return rows


def thousand_small_copies():
    """Return the seconds of 1,000 copies, and of the same bytes in one."""
    small = [torch.ones(1000).pin_memory() for _ in range(1000)]
    large = torch.ones(1_000_000).pin_memory()
    return {
        'small': seconds(
            lambda: [x.to(GPU, non_blocking=True) for x in small]
        ),
        'large': seconds(lambda: large.to(GPU, non_blocking=True)),
    }


def products():
    """Return the seconds of products of n x n by n x n."""
    rows = {}
    for n in SIZES:
        a = torch.randn(n, n)
        b, row = a.to(GPU), {}
        if n <= 4096:
            row['cpu'] = seconds(lambda a=a: a @ a, CPU)
        if n <= 1024:
            with threads(1):
                row['cpu_one_thread'] = seconds(lambda a=a: a @ a, CPU)
        row['gpu'] = seconds(lambda b=b: b @ b)
        with tensor_cores(True):
            row['gpu_tf32'] = seconds(lambda b=b: b @ b)
        row['gpu_with_copies'] = seconds(
            lambda a=a: (a.to(GPU) @ a.to(GPU)).cpu()
        )
        c = b.bfloat16()
        row['gpu_bf16'] = seconds(lambda c=c: c @ c)
        rows[n] = row
    return rows


def precision():
    """Return largest error / largest entry of products of 2048 x 2048."""
    a, b = torch.randn(2, 2048, 2048, dtype=torch.float64)
    right, row = a @ b, {}

    def error(product):
        return float((product.double().cpu() - right).abs().max())

    for name, (dtype, tf32) in PRECISIONS.items():
        with tensor_cores(tf32):
            row[name] = error(a.to(GPU, dtype) @ b.to(GPU, dtype))
    row['cpu_fp32'] = error(a.float() @ b.float())
    return {
        k: rounded(v / float(right.abs().max()))[0] for k, v in row.items()
    }


def lenet():
    """Return the LeNet of chapter 2."""
    return nn.Sequential(
        nn.Conv2d(1, 20, 3),
        nn.ReLU(),
        nn.AvgPool2d(2),
        nn.Conv2d(20, 50, 5),
        nn.ReLU(),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(800, 128),
        nn.ReLU(),
        nn.Linear(128, 10),
    )


class Block(nn.Module):
    """A residual block: two convolutions beside what goes past them."""

    def __init__(self, channels_in, channels, stride):
        super().__init__()
        self.convolutions = nn.Sequential(
            *normalized(channels_in, channels, 3, stride),
            nn.ReLU(),
            *normalized(channels, channels, 3, 1),
        )
        self.past = nn.Sequential()
        if stride > 1:
            self.past.extend(normalized(channels_in, channels, 1, stride))

    def forward(self, X):
        """Return the output for a minibatch of images."""
        return torch.relu(self.convolutions(X) + self.past(X))


def normalized(channels_in, channels, size, stride):
    """Return a convolution and its batch normalization."""
    return (
        nn.Conv2d(channels_in, channels, size, stride, size // 2, bias=False),
        nn.BatchNorm2d(channels),
    )


def resnet18():
    """Return ResNet-18 for ten classes."""
    widths = (64, 64, 128, 256, 512)
    blocks = [
        Block(n_in if i == 0 else n, n, 2 if n > n_in and i == 0 else 1)
        for n_in, n in zip(widths, widths[1:])
        for i in range(2)
    ]
    return nn.Sequential(
        *normalized(3, 64, 7, 2),
        nn.ReLU(),
        nn.MaxPool2d(3, 2, 1),
        *blocks,
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(512, 10),
    )


class Transformer(nn.Module):
    """A decoder like GPT-2's."""

    def __init__(self, layers, width, heads, words=8000, length=256):
        super().__init__()
        self.word = nn.Embedding(words, width)
        self.place = nn.Embedding(length, width)
        layer = nn.TransformerEncoderLayer(
            width,
            heads,
            4 * width,
            dropout=0.0,
            activation='gelu',
            batch_first=True,
            norm_first=True,
        )
        self.layers = nn.TransformerEncoder(
            layer, layers, enable_nested_tensor=False
        )
        self.head = nn.Linear(width, words)

    def forward(self, tokens):
        """Return the scores of the next words, a row for each."""
        n, device = tokens.shape[1], tokens.device
        mask = nn.Transformer.generate_square_subsequent_mask(n, device=device)
        x = self.word(tokens) + self.place(torch.arange(n, device=device))
        return self.head(self.layers(x, mask, is_causal=True)).flatten(0, 1)


def images(*shape):
    """Return a function that makes a minibatch of n images."""
    return lambda n: (torch.randn(n, *shape), torch.randint(10, (n,)))


def sentences(length):
    """Return a function that makes a minibatch of n sequences."""
    return lambda n: (
        torch.randint(8000, (n, length)),
        torch.randint(8000, (n * length,)),
    )


# Name, network, minibatches, data, and the largest minibatch for the CPU.
NETWORKS = (
    ('lenet', lenet, (1, 16, 64, 256, 1024, 4096), images(1, 28, 28), 4096),
    ('resnet18, 64 × 64', resnet18, (1, 16, 64, 256), images(3, 64, 64), 64),
    (
        'transformer, 4 × 256, 128 words',
        lambda: Transformer(4, 256, 4),
        (1, 8, 32),
        sentences(128),
        32,
    ),
    (
        'transformer, 12 × 768, 256 words',
        lambda: Transformer(12, 768, 12),
        (1, 8, 32),
        sentences(256),
        8,
    ),
)


def networks():
    """Return the seconds of a training step and of a forward pass."""
    rows = {}
    for name, make, sizes, data, most in NETWORKS:
        params = sum(p.numel() for p in make().parameters())
        rows[name] = {'params': params}
        for n in sizes:
            X, y = data(n)
            rows[name][n] = {}
            if n <= most:
                rows[name][n]['cpu'] = on_cpu(make(), X, y)
            rows[name][n]['cuda'] = attempt(
                lambda make=make, X=X, y=y: on_gpu(make().to(GPU), X, y)
            )
    return rows


def step_of(net, foreach=None):
    """Return a function that takes a training step."""
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, foreach=foreach)

    def step(X, y):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(X), y).backward()
        optimizer.step()

    return step


def infer(net, X):
    """Run the forward pass alone."""
    with torch.no_grad():
        net(X)


def on_cpu(net, X, y):
    """Return the seconds with all threads, and with two."""
    step, row = step_of(net), {}
    row['step'] = seconds(lambda: step(X, y), CPU)
    row['infer'] = seconds(lambda: infer(net, X), CPU)
    if (
        not isinstance(row['step'], str)
        and row['step'][0] < 0.3
        and len(X) <= 256
    ):
        with threads(2):
            row['step_two_threads'] = seconds(lambda: step(X, y), CPU, 5)
    return row


def on_gpu(net, X, y):
    """Return the seconds with and without copies, and in less precision."""
    step, row = step_of(net), {}
    A, b = X.to(GPU), y.to(GPU)
    row['step'] = seconds(lambda: step(A, b))
    row['infer'] = seconds(lambda: infer(net, A))
    row['step_with_copies'] = seconds(lambda: step(X.to(GPU), y.to(GPU)))
    with tensor_cores(True):
        row['step_tf32'] = seconds(lambda: step(A, b))
    with torch.autocast(GPU.type, torch.bfloat16):
        row['step_bf16'] = seconds(lambda: step(A, b))
    return row


def streams():
    """Return the seconds of two chains of 20 layers, one after the other
    and in two streams of one GPU."""
    rows = {}
    for n in (128, 512, 4096):
        inputs = torch.randn(2, n, n, device=GPU)
        two = torch.cuda.Stream(), torch.cuda.Stream()

        def chain(x, W):
            for _ in range(20):
                x = torch.tanh(x @ W)

        def side_by_side(inputs=inputs, two=two, chain=chain):
            for x, stream in zip(inputs, two):
                with torch.cuda.stream(stream):
                    chain(x, inputs[0])

        rows[n] = {
            'after': seconds(
                lambda inputs=inputs, chain=chain: [
                    chain(x, inputs[0]) for x in inputs
                ]
            ),
            'side_by_side': seconds(side_by_side),
        }
    return rows


def repeatable():
    """Return how many of four repetitions of ten steps are bit-identical to
    the first, without and with deterministic algorithms."""
    rows = {}
    for deterministic in (False, True):
        torch.use_deterministic_algorithms(deterministic, warn_only=True)
        torch.backends.cudnn.benchmark = not deterministic
        first, *others = (ten_steps() for _ in range(5))
        rows[str(deterministic)] = {
            name: sum(
                all(map(torch.equal, other[name], first[name]))
                for other in others
            )
            for name in first
        }
    torch.use_deterministic_algorithms(False)
    return rows


def ten_steps():
    """Train LeNet and an embedding for ten steps from one seed, and return
    their parameters."""
    torch.manual_seed(0)
    net, embedding = lenet().to(GPU), nn.Embedding(50, 64).to(GPU)
    params = [*net.parameters(), *embedding.parameters()]
    optimizer = torch.optim.SGD(params, lr=0.1)
    draw = torch.Generator().manual_seed(1)
    for _ in range(10):
        X = torch.randn(256, 1, 28, 28, generator=draw).to(GPU)
        y = torch.randint(10, (256,), generator=draw).to(GPU)
        words = torch.randint(50, (4096,), generator=draw).to(GPU)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(X), y)
        (loss + embedding(words).square().mean()).backward()
        optimizer.step()
    return {
        name: [p.detach().cpu().clone() for p in module.parameters()]
        for name, module in (('lenet', net), ('embedding', embedding))
    }


def power():
    """Return the watts at rest and while multiplying."""
    time.sleep(2)
    idle = float(ask_gpu('power.draw').split()[0])
    a = torch.randn(8192, 8192, device=GPU, dtype=torch.bfloat16)
    watts, end = [], time.time() + 4
    while time.time() < end:
        for _ in range(50):
            a @ a
        watts.append(float(ask_gpu('power.draw').split()[0]))
    torch.cuda.synchronize()
    return {'idle': idle, 'busy': max(watts)}


def same_step():
    """Return how far gradients of LeNet are from those in float64, in units
    of what another order of the examples does in float32: on one device, in
    two shards, in two processes, and with the mean of the shards' means."""
    torch.manual_seed(0)
    net, draw = lenet(), torch.Generator().manual_seed(1)
    X = torch.randn(61, 1, 28, 28, generator=draw)
    y = torch.randint(10, (61,), generator=draw)
    exact = gradients(net.double(), X.double(), y)
    net = net.float().to(GPU)
    orders = [torch.randperm(61, generator=draw) for _ in range(8)]
    found = [distances(gradients(net, X[i], y[i]), exact) for i in orders]
    spreads = [max(column) for column in zip(*found)]
    cut = (X[:31], y[:31]), (X[31:], y[31:])

    def ways(tf32):
        """Yield each way to compute the gradients."""
        yield 'one', lambda: gradients(net, X, y)
        for name, weights in (
            ('two_shards', (31 / 61, 30 / 61)),
            ('mean_of_means', (0.5, 0.5)),
        ):
            yield (
                name,
                lambda weights=weights: [
                    weights[0] * g + weights[1] * h
                    for g, h in zip(*(gradients(net, *part) for part in cut))
                ],
            )
        for backend in ('gloo', 'nccl'):
            yield (
                f'two_processes_{backend}',
                lambda backend=backend: in_two_processes(
                    backend, net, cut, tf32
                ),
            )

    rows = {}
    for name, tf32 in (('float32', False), ('tf32', True)):
        rows[name] = {}
        for way, make in ways(tf32):
            with tensor_cores(tf32):
                found = attempt(make)
            if not isinstance(found, str):
                ratios = zip(distances(found, exact), spreads)
                found = rounded(max(d / spread for d, spread in ratios))[0]
            rows[name][way] = found
    return rows


def gradients(net, X, y):
    """Return the gradients of the mean loss, where the network is."""
    device = next(net.parameters()).device
    loss = nn.functional.cross_entropy(net(X.to(device)), y.to(device))
    grads = torch.autograd.grad(loss, [*net.parameters()])
    return [gradient.detach() for gradient in grads]


def distances(found, exact):
    """Return the largest difference in each array."""
    return [
        float((g.double().cpu() - e).abs().max()) for g, e in zip(found, exact)
    ]


def in_two_processes(backend, net, cut, tf32):
    """Return the sum of gradients that two processes have computed."""
    if backend == 'nccl' and torch.cuda.device_count() < 2:
        raise RuntimeError('NCCL needs a GPU for each process')
    limit = seconds_left()
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        torch.save((net.cpu(), cut, tf32), place / 'task.pt')
        net.to(GPU)
        workers = [
            subprocess.Popen(
                [sys.executable, __file__, folder, backend, str(rank)],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank in range(2)
        ]
        try:
            said = [worker.communicate(timeout=limit)[1] for worker in workers]
        finally:
            for worker in workers:
                worker.kill()
        for worker, text in zip(workers, said):
            if worker.returncode:
                raise RuntimeError([*text.strip().splitlines(), '?'][-1])
        first, second = [torch.load(place / f'{rank}.pt') for rank in range(2)]
    if not all(map(torch.equal, first, second)):
        raise RuntimeError('the two processes have different sums')
    return first


def work(folder, backend, rank):
    """Be one of two processes: sum the gradients of both, and save them."""
    import torch.distributed as dist

    place, gpus = pathlib.Path(folder), torch.cuda.device_count()
    device = torch.device('cuda', rank % gpus) if gpus else CPU
    if gpus:
        torch.cuda.set_device(device)
    net, cut, tf32 = torch.load(place / 'task.pt', weights_only=False)
    set_tf32(tf32)
    dist.init_process_group(
        backend,
        f'file://{folder}/store',
        timeout=datetime.timedelta(seconds=100),
        rank=rank,
        world_size=2,
    )
    X, y = cut[rank]
    grads = gradients(net.to(device), X, y)
    for gradient in grads:
        gradient *= len(X) / 61
        dist.all_reduce(gradient)
    torch.save([gradient.cpu() for gradient in grads], place / f'{rank}.pt')
    dist.destroy_process_group()


def samestep_cases():
    """Return what samestep says of steps of LeNet on the GPU, if it can be
    imported: it is installed, or its folder beside this file."""
    from samestep.torch import same_step as compare

    def mean(model, X, y):
        return nn.functional.cross_entropy(model(X), y)

    def shards(model, X, y):
        parts = zip(X.tensor_split(2), y.tensor_split(2))
        return sum(mean(model, *part) * len(part[1]) for part in parts) / len(
            y
        )

    def mean_of_means(model, X, y):
        parts = zip(X.tensor_split(2), y.tensor_split(2))
        return sum(mean(model, *part) for part in parts) / 2

    def step_with(loss, tf32=False, bfloat16=False):
        def step(model, X, y):
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            with tensor_cores(tf32):
                with torch.autocast(
                    GPU.type, torch.bfloat16, enabled=bfloat16
                ):
                    value = loss(model, X, y)
                value.backward()
            optimizer.step()

        return step

    torch.manual_seed(0)
    model = lenet().to(GPU)
    X, y = torch.randn(61, 1, 28, 28), torch.randint(10, (61,))
    cases = {
        'shards': {'step': step_with(shards)},
        'mean_of_means': {'step': step_with(mean_of_means)},
        'tf32': {'step': step_with(shards, tf32=True)},
        'bfloat16': {
            'step': step_with(shards, bfloat16=True),
            'low': step_with(mean, bfloat16=True),
        },
    }
    return {
        name: attempt(
            lambda case=case: str(
                compare(
                    reference=step_with(mean),
                    model=model,
                    batches=[(X, y)],
                    **case,
                )
            )[:300]
        )
        for name, case in cases.items()
    }


SECTIONS = (
    call_and_done,
    copies,
    thousand_small_copies,
    products,
    precision,
    same_step,
    samestep_cases,
    networks,
    streams,
    repeatable,
    power,
)

if __name__ == '__main__':
    if len(sys.argv) == 4:  # one of two processes, which this file starts
        work(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    elif len(sys.argv) != 2:
        sys.exit('usage: python gpu_or_cpu.py OUT.json')
    elif isinstance(why := attempt(check_gpu), str):
        sys.exit(f'no GPU that PyTorch can use, so nothing to measure: {why}')
    else:
        main(sys.argv[1])
