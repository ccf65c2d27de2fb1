"""Where a GPU is faster than the CPU beside it, for chapter 27.

    python benchmarks/gpu_or_cpu.py OUT.json

needs PyTorch and torchvision for the GPU, and no other file of the project;
it takes two minutes. Each time is [median, least, most] seconds of the
rounds; the GPU has finished on both sides of the clock.
results/GPU_OR_CPU.md says what each section is.
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
import time

import torch
from torch import nn

GPU, CPU = torch.device('cuda'), torch.device('cpu')
BYTES = (4, 4096, 65_536, 2**20, 2**24, 2**28)
SIZES = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
PRECISIONS = {
    'fp32': (torch.float32, False),
    'tf32': (torch.float32, True),
    'bf16': (torch.bfloat16, False),
    'fp16': (torch.float16, False),
}


def main():
    """Measure section by section, and write the file."""
    if not torch.cuda.is_available():
        sys.exit('no GPU that PyTorch can use')
    found = describe()
    for section in SECTIONS:
        found[section.__name__] = section()
        print(section.__name__, str(found[section.__name__])[:200])
    text = json.dumps(found, indent=1)
    triples = re.compile(r'\[\s+([^][{}]*?)\s+\]')
    text = triples.sub(lambda m: f'[{" ".join(m[1].split())}]', text)
    pathlib.Path(sys.argv[1]).write_text(text + '\n')


def ask_gpu(what):
    """Return what nvidia-smi says."""
    command = ['nvidia-smi', f'--query-gpu={what}', '--format=csv,noheader']
    return subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True
    ).stdout.strip()


def describe():
    """Return the machine and the versions."""
    cpu = re.search(
        r'model name\s*: (.*)', pathlib.Path('/proc/cpuinfo').read_text()
    )
    return {
        'date': str(datetime.date.today()),
        'versions': {
            'torch': torch.__version__,
            'cuda': torch.version.cuda,
            'python': platform.python_version(),
        },
        'gpu': torch.cuda.get_device_name(),
        'driver': ask_gpu('driver_version,memory.total,power.limit'),
        'cpu': cpu[1],
        'cpu_threads': torch.get_num_threads(),
    }


def seconds(work, device=GPU, rounds=9, limit=2.0):
    """Return median, least and most seconds of `work()`; a short one is
    repeated within a round."""
    wait = torch.cuda.synchronize if device == GPU else lambda: None

    def clock(repeats):
        wait()
        start = time.perf_counter()
        for _ in range(repeats):
            work()
        wait()
        return time.perf_counter() - start

    clock(1)
    once = clock(1)
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
    for backend in (torch.backends.cuda.matmul, torch.backends.cudnn):
        backend.allow_tf32 = allowed
    yield
    for backend in (torch.backends.cuda.matmul, torch.backends.cudnn):
        backend.allow_tf32 = False


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
        *(nn.Conv2d(1, 20, 3), nn.ReLU(), nn.AvgPool2d(2)),
        *(nn.Conv2d(20, 50, 5), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten()),
        *(nn.Linear(800, 128), nn.ReLU(), nn.Linear(128, 10)),
    )


def resnet18():
    """Return ResNet-18 for ten classes."""
    import torchvision

    return torchvision.models.resnet18(num_classes=10)


class Transformer(nn.Module):
    """A decoder like GPT-2's."""

    def __init__(self, layers, width, heads, words=8000, length=256):
        super().__init__()
        self.word = nn.Embedding(words, width)
        self.place = nn.Embedding(length, width)
        layer = nn.TransformerEncoderLayer(
            *(width, heads, 4 * width),
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
            rows[name][n]['cuda'] = on_gpu(make().to(GPU), X, y)
    return rows


def step_of(net):
    """Return a function that takes a training step."""
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)

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
    if row['step'][0] < 0.3 and len(X) <= 256:
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
    with torch.autocast('cuda', torch.bfloat16):
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


SECTIONS = (
    *(call_and_done, copies, thousand_small_copies, products, precision),
    *(networks, streams, repeatable, power),
)

if __name__ == '__main__':
    main()
