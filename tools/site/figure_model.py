"""What the interactive figures of chapters 8, 15, 16, 23 and 24, and of
rounding.md, compute, in Python.

A page computes the same in the reader's browser, with _static/figures/
model.js; the tests compare the two. `python -m tools.site.figure_model` writes
what they need of the chapters' own code, _static/figures/data.js.
"""

import contextlib
import json
import math
import pathlib
import statistics
from unittest import mock

import d2lmulti

# isort: split
import mxnet as mx
import numpy as onp
from mxnet import np

from d2lmulti.devices import split_slices
from d2lmulti.judgment import planner, scaling
from tools.notebooks import path_of
from tools.notebooks.cells import code_cells, read_chapter

ROOT = pathlib.Path(__file__).parents[2]
DATA = ROOT / 'tools/site' / '_static' / 'figures' / 'data.js'
SIZE = 840  # elements of an array; each of 2 to 8 devices divides it
ALGORITHMS = {
    'star': d2lmulti.allreduce,
    'direct': d2lmulti.direct_allreduce,
    'ring': d2lmulti.ring_allreduce,
    'tree': d2lmulti.tree_allreduce,
    'halving-doubling': d2lmulti.halving_doubling_allreduce,
}
# Name: parameters, layers, width, heads, tokens of a sequence, of the
# vocabulary, whether the embedding makes the scores, heads of the keys.
NETWORKS = {
    'Llama 3, 8 billion': (8.03e9, 32, 4096, 32, 8192, 128256, 0, 8),
    'GPT-2 XL, 1.5 billion': (1.558e9, 48, 1600, 25, 1024, 50257, 1, 25),
    'Llama 3, 70 billion': (70.6e9, 80, 8192, 64, 8192, 128256, 0, 8),
    'Llama 3, 405 billion': (405.9e9, 126, 16384, 128, 8192, 128256, 0, 8),
}
# Examples of a step on one machine, of each published run: see `published`.
SHARDS = {
    'ResNet-50, 256 GPUs': 256,
    'ResNet-101, 512 GPUs': 256,
    'VGG-16, 512 GPUs': 256,
    'AlexNet, 4 GPUs': 128,
    'AlexNet, 8 GPUs': 128,
}
# Of the normal distribution: how much slower a device is than the mean.
QUANTILES = [
    round(statistics.NormalDist().inv_cdf((i + 0.5) / 40), 3)
    for i in range(40)
]
KINDS = ('none', 'selective', 'full')  # of recomputation
# An H100 that reaches the fraction of its flops that chapter 24 has fitted.
H100 = planner.Cluster(80e9, 0.554 * 989e12, 450e9, 50e9, 8)


def messages(algorithm, k):
    """Return (round, sender, receiver, elements) of each message.

    In a round, a device sends once and receives once at most; it sends on
    only what it received in earlier rounds.
    """
    rounds, sent, received = [], [0] * k, [0] * k
    for i, j, places, terms in copies(ALGORITHMS[algorithm], k):
        needed = [
            now
            for now, _, to, others, part in rounds
            if to == i and others & places and part <= terms
        ]
        now = 1 + max(sent[i], received[j], *needed, 0)
        sent[i] = received[j] = now
        rounds.append((now, i, j, places, terms))
    return [(now, i, j, len(places)) for now, i, j, places, _ in rounds]


def copies(algorithm, k):
    """Return (sender, receiver, places, terms) of each copy, in order.

    Element e of device i's array is 2**i + e / 2**20, so that a sum tells
    which elements it is of (`places`), and of which devices (`terms`).
    """
    seen, copyto = [], np.ndarray.copyto
    places = np.arange(SIZE, dtype='float64') / 2**20
    data = [(places + 2**i).as_in_ctx(mx.cpu(i)) for i in range(k)]

    def recorded(array, target):
        result = copyto(array, target)
        sender, receiver = array.ctx, result.ctx
        if sender != receiver and array.size:
            whole, rest = divmod(array.asnumpy(), 1)
            terms = {i for i in range(k) if int(whole[0]) >> i & 1}
            places = onp.rint(rest * 2**20 / len(terms)).astype(int)
            seen.append(
                (sender.device_id, receiver.device_id, {*places}, terms)
            )
        return result

    with mock.patch.object(np.ndarray, 'copyto', recorded):
        algorithm(data)
    return seen


def time_steps(orders):
    """Return (step, stage, phase, micro-batch) of each instruction of a
    pipeline; a stage waits for what the next or the last one sends it."""
    p, orders = len(orders), [list(order) for order in orders]
    done, calls, step = {}, [], 0
    while any(orders):
        for s, order in enumerate(orders):
            if order and ready(s, *order[0], p, done, step):
                phase, i = order.pop(0)
                calls.append((step, s, phase, i))
        for now, s, phase, i in calls:
            done[s, phase, i] = now
        step += 1
    return calls


def ready(s, phase, i, p, done, step):
    """Return whether what an instruction needs was there before `step`."""
    if phase == 'forward':
        needs = [(s - 1, phase, i)] if s else []
    else:
        needs = [(s + 1, phase, i) if s < p - 1 else (s, 'forward', i)]
    return all(done.get(need, step) < step for need in needs)


def live(calls, p):
    """Return the largest number of micro-batches whose activations each
    stage holds at once."""
    held, largest = [0] * p, [0] * p
    for _, s, phase, _ in calls:
        held[s] += 1 if phase == 'forward' else -1
        largest[s] = max(largest[s], held[s])
    return largest


def memory(network, k, stage, batch, precision, recomputation):
    """Return the gigabytes of (parameters, gradients, optimizer state,
    activations) on each of k devices, with Adam.

    `stage`: of ZeRO, 0 to 3 (Rajbhandari et al. 2020). `batch`: sequences on
    a device. `precision`: 'mixed' or 'float32'. `recomputation`: 'none',
    'selective' or 'full' (Korthikanti et al. 2022: 34 bytes for each of the
    layer's inputs in 16 bits, and 5 for each score of its attention).
    """
    num_params, layers, width, heads, length, *_ = NETWORKS[network]
    each = {'mixed': (2, 2, 12), 'float32': (4, 4, 8)}[precision]
    held = planner.held_bytes(num_params, k, stage, each)
    kept = planner.kept_bytes(width, heads, length, size=each[0])
    activations = layers * batch * kept[KINDS.index(recomputation)]
    return [float(n) / 1e9 for n in (*held, activations)]


def plan_costs(network, batch, degrees):
    """Return seconds, gigabytes held, and gigabytes sent on the data,
    tensor, pipeline and context axis, of a plan of chapter 24.

    `degrees`: dp, tp, pp, cp, ZeRO's stage, micro-batches, recomputation.
    """
    dp, tp, pp, cp, *others = degrees
    plan = planner.Degrees(dp, tp, pp, cp, 1, *others)
    seconds, memory, sent, _ = planner.plan_costs(
        planner.gpt_network(*NETWORKS[network]), H100, plan, batch
    )
    axes = [sent[axis] / 1e9 for axis in ('dp', 'tp', 'pp', 'cp')]
    return [float(n) for n in (seconds, memory / 1e9, *axes)]


def plans(network, k, batch, gigabytes):
    """Return the fastest plan that fits for each pair of tensor and pipeline
    degrees, the fastest first: (seconds, gigabytes, `degrees`). Of those that
    are equally fast, up to rounding, it is the one that holds least."""
    best = {}
    for seconds, memory, plan, *_ in planner.find_plans(
        planner.gpt_network(*NETWORKS[network]),
        H100._replace(memory=1e9 * gigabytes),
        k,
        batch,
        most=None,
    ):
        degrees = (*plan[:4], *plan[5:8])
        row = (seconds, memory / 1e9, degrees)
        old = best.setdefault(degrees[1:3], row)
        if seconds < old[0] * (1 + 1e-9) and row[1] < old[1]:
            best[degrees[1:3]] = row
    return sorted(best.values(), key=lambda row: row[:2])


def step(batch, k, per_example, num_bytes, bits, algorithm, overlap, spread):
    """Return the seconds of a step of chapter 23's model, with a latency of
    50 microseconds: (computation of a device, its wait for the slowest one,
    exchange, the part of it that nothing hides, the whole step).

    `bits`: per second, of each device's link. `spread`: the standard
    deviation of the computation's time, a fraction of it.
    """
    machine = d2lmulti.Machine(
        0,
        per_example,
        5e-5,
        8 / bits,
        overlap=overlap,
        times=tuple(1 + spread * z for z in QUANTILES),
    )
    total = d2lmulti.step_seconds(batch, k, [num_bytes], machine, algorithm)
    exchange = d2lmulti.allreduce_seconds(
        algorithm, k, num_bytes, machine.alpha, machine.beta
    )
    compute = per_example * math.ceil(batch / k)
    slowest = compute * scaling.expected_slowest(machine.times, k)
    late, shown = max(slowest - compute, 0.0), max(total - slowest, 0.0)
    return compute, late, exchange, shown, total


def random_numbers(seed, n):
    """Return n numbers from 0 to 1: a generator that is short in JavaScript,
    too (Park and Miller 1988)."""
    numbers = []
    for _ in range(n):
        seed = seed * 48271 % 2147483647
        numbers.append(seed / 2147483647)
    return numbers


def rounding(bug, size, n, k, seed):
    """Return (error of the step, bound, errors of the other orders), all
    relative to the right gradient.

    The gradient of one weight is a sum over n examples, in float32, of which
    each of k devices sums its slice. `bug`: 'none', 'scale' (the sum is
    1 + size times too large) or 'missing' (the last example counts
    1 - size). The bound is that of `same_step`: four spreads.
    """
    numbers = onp.array(random_numbers(seed, 2 * n)).reshape(2, n)
    terms = (numbers[0] * (numbers[0] - 0.5 * numbers[1])).astype('float32')
    right = float(sum(map(float, terms)))
    errors = []
    for i in range(8):
        order = onp.argsort(random_numbers(seed + i + 1, n), kind='stable')
        errors.append(abs(float(add(terms[order])) - right) / right)
    spread = max(*errors, 2.0**-23)
    if bug == 'missing':
        terms[-1] = onp.float32(float(terms[-1]) * (1 - size))
    total = add([add(terms[part]) for part in split_slices(n, k)])
    if bug == 'scale':
        total = onp.float32(float(total) * (1 + size))
    return abs(float(total) - right) / right, 4 * spread, errors


def add(terms):
    """Return the float32 sum, one term after another."""
    total = onp.float32(0)
    for term in terms:
        total = total + term
    return total


def published():
    """Return the published runs of chapter 25: for each, the seconds of a
    step on one machine, machines, bytes, bits per second, algorithm,
    efficiency."""
    cells = code_cells(read_chapter(path_of('claims')))
    (source,) = (cell.source for cell in cells if cell.id == 'runs')
    names = {name: getattr(d2lmulti, name) for name in d2lmulti.__all__}
    with contextlib.redirect_stdout(None):
        exec(source, names)
    return names['RUNS']


def packed(found):
    """Return messages as five digits each, of base 36."""
    return ''.join(
        onp.base_repr(now, 36)
        + f'{sender}{receiver}'
        + onp.base_repr(elements, 36).rjust(2, '0')
        for now, sender, receiver, elements in found
    )


UNPACK = """for (const found of Object.values(MESSAGES)) for (const k in found)
  found[k] = found[k].match(/.{5}/g).map(m => [m[0], m[1], m[2], m.slice(3)]
    .map(digits => parseInt(digits, 36)));
"""


def write():
    """Write the messages of each algorithm on 2 to 8 devices, and facts."""
    data = {
        'SIZE': SIZE,
        'MESSAGES': {
            name: {k: packed(messages(name, k)) for k in range(2, 9)}
            for name in ALGORITHMS
        },
        'NETWORKS': NETWORKS,
        'RUNS': published(),
        'SHARDS': SHARDS,
        'QUANTILES': QUANTILES,
    }
    lines = [
        f'const {name} = {json.dumps(value, separators=(",", ":"))};\n'
        for name, value in data.items()
    ]
    head = '// Written by tools/site/figure_model.py\n'
    DATA.write_text(head + ''.join(lines) + UNPACK)


if __name__ == '__main__':
    write()
