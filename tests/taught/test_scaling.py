"""The model of a step, the simulation, failures: limits and formulas."""

import heapq
import itertools
import math

import mxnet as mx
import numpy as onp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mxnet import np

from d2lmulti import (
    Machine,
    allreduce,
    allreduce_seconds,
    direct_allreduce,
    ring_allreduce,
    step_seconds,
    tree_allreduce,
)
from d2lmulti.judgment import scaling
from d2lmulti.judgment.scaling import (
    checkpoint_interval,
    expected_slowest,
    hierarchical_seconds,
    run_seconds,
    simulate_allreduce,
    simulate_failures,
)
from d2lmulti.profiler import record_copies

ALGORITHMS = 'star direct ring tree halving-doubling servers'.split()
LINK = {'num_bytes': 1e8, 'alpha': 5e-5, 'beta': 1.6e-10}
positive = st.floats(1e-3, 1e3)
quick = settings(max_examples=60, derandomize=True)


# What an exchange costs


@pytest.mark.parametrize('k', range(1, 9))
@pytest.mark.parametrize(
    'name, algorithm, phases',
    [  # device 0 of a star or tree first receives everything, then sends
        ('star', allreduce, 2),
        ('tree', tree_allreduce, 2),
        ('direct', direct_allreduce, 1),
        ('ring', ring_allreduce, 1),
    ],
)
def test_the_formula_has_the_bytes_that_the_algorithm_moves(
    name, algorithm, phases, k
):
    data = [np.ones(840, ctx=mx.cpu(i)) for i in range(k)]
    moved = {}
    for sender, receiver, size in record_copies(lambda: algorithm(data)):
        for key in ((0, sender), (1, receiver)):
            moved[key] = moved.get(key, 0) + size
    counted = phases * max(moved.values(), default=0)
    assert counted == pytest.approx(allreduce_seconds(name, k, 3_360, 0, 1))


@pytest.mark.parametrize('name', ['star', 'direct', 'ring', 'tree'])
def test_one_device_exchanges_nothing(name):
    assert allreduce_seconds(name, 1, 1e9, 1, 1) == 0


@pytest.mark.parametrize('k', [2, 4, 8, 64, 1_024])
def test_halving_doubling_has_the_bytes_of_the_ring_and_logarithmic_rounds(k):
    ring = allreduce_seconds('ring', k, 1e8, 0, 1)
    assert allreduce_seconds('halving-doubling', k, 1e8, 0, 1) == ring
    messages = allreduce_seconds('halving-doubling', k, 1e8, 1, 0)
    assert messages == 2 * math.log2(k)


def test_beyond_a_power_of_two_halving_doubling_folds_the_others_in():
    four, five = (
        allreduce_seconds('halving-doubling', k, 100, 1, 1) for k in (4, 5)
    )
    assert five == four + 2 * (1 + 100)


@given(k=st.integers(51, 300), n=st.floats(0, 1e9), s=st.integers(1, 50))
@quick
def test_more_servers_up_to_one_per_worker_never_take_longer(k, n, s):
    few, many = (
        allreduce_seconds('servers', k, n, 1e-5, 1e-9, servers)
        for servers in (s, s + 1)
    )
    assert many <= few


@given(k=st.integers(2, 300), n=st.floats(1, 1e9))
@quick
def test_no_algorithm_moves_less_than_the_lower_bound(k, n):
    least = 2 * (k - 1) / k * n
    for name in ALGORITHMS:
        assert allreduce_seconds(name, k, n, 0, 1) >= least * (1 - 1e-9)


@pytest.mark.parametrize('k, servers', [(1, 64), (4, 5), (3, 3), (8, 2)])
def test_a_worker_sends_its_whole_array_to_servers(k, servers):
    seconds = allreduce_seconds('servers', k, 100, 0, 1, servers)
    assert seconds == pytest.approx(200 * max(1, k / servers))
    messages = allreduce_seconds('servers', k, 0, 1, 0, servers)
    assert messages == 2 * max(k, servers)


def test_a_hierarchy_of_one_group_or_of_groups_of_one_is_flat():
    inside, across = (1e-6, 1e-11), (5e-5, 1e-9)
    flat = allreduce_seconds('ring', 8, 1e8, *inside)
    assert hierarchical_seconds(8, 8, 1e8, inside, across) == flat
    flat = allreduce_seconds('ring', 8, 1e8, *across)
    assert hierarchical_seconds(8, 1, 1e8, inside, across) == flat


def test_a_hierarchy_beats_a_flat_ring_over_the_slow_links():
    inside, across = (5e-6, 1 / 50e9), (5e-5, 1 / 6.25e9)
    flat = allreduce_seconds('ring', 1_024, 1e8, *across)
    assert hierarchical_seconds(1_024, 8, 1e8, inside, across) < flat / 1.5


# The slowest of k


@given(
    times=st.lists(positive, min_size=1, max_size=30), k=st.integers(1, 200)
)
@quick
def test_the_slowest_lies_between_the_mean_and_the_maximum(times, k):
    slowest = expected_slowest(times, k)
    assert onp.mean(times) * (1 - 1e-9) <= slowest <= max(times) * (1 + 1e-9)
    assert slowest <= expected_slowest(times, k + 1) * (1 + 1e-9)


@pytest.mark.parametrize('k', [1, 2, 3, 5])
def test_the_slowest_is_the_mean_over_all_draws(k):
    times = [3.0, 1.0, 2.0, 7.0]
    draws = itertools.product(times, repeat=k)
    right = onp.mean([max(draw) for draw in draws])
    assert expected_slowest(times, k) == pytest.approx(right)


def test_exponential_times_wait_the_harmonic_number():
    middle = (onp.arange(100_000) + 0.5) / 100_000
    for k in (1, 2, 16, 64):
        harmonic = sum(1 / i for i in range(1, k + 1))
        slowest = expected_slowest(-onp.log(1 - middle), k)
        assert slowest == pytest.approx(harmonic, rel=1e-3)


# A step


def cluster(**changes):
    return Machine(0.01, 0.001, 5e-5, 1e-9)._replace(**changes)


def test_without_an_exchange_a_step_is_the_largest_shard():
    machine = cluster(alpha=0, beta=0)
    assert step_seconds(100, 4, [400], machine) == pytest.approx(0.035)
    assert step_seconds(101, 4, [400], machine) == pytest.approx(0.036)


def test_devices_that_share_one_core_take_turns():
    machine = cluster(alpha=0, beta=0, at_once=1)
    one = step_seconds(120, 1, [], machine)
    assert one == pytest.approx(0.13)
    for k in (2, 3, 4):
        seconds = step_seconds(120, k, [], machine)
        assert seconds == pytest.approx(0.12 + 0.01 * k)


def test_three_devices_on_two_cores_are_as_fast_as_two():
    machine = cluster(fixed=0, alpha=0, beta=0, at_once=2)
    times = [step_seconds(120, k, [], machine) for k in (1, 2, 3, 4)]
    assert times == pytest.approx([0.12, 0.06, 0.06, 0.06])


def test_an_exchange_is_hidden_up_to_the_overlap():
    machine = cluster(fixed=0.1, per_example=0, alpha=0, beta=1e-9)
    plain = step_seconds(2, 2, [3e7], machine, 'ring')
    assert plain == pytest.approx(0.13)
    half = step_seconds(2, 2, [3e7], machine._replace(overlap=0.2), 'ring')
    assert half == pytest.approx(0.11)
    whole = step_seconds(2, 2, [3e7], machine._replace(overlap=1), 'ring')
    assert whole == pytest.approx(0.1)


def test_a_slow_loader_decides():
    machine = cluster(load=0.01)
    assert step_seconds(64, 8, [400], machine) == pytest.approx(0.64)


def test_stragglers_lengthen_only_the_computation():
    machine = cluster(alpha=0, beta=1e-9)
    steady = step_seconds(8, 4, [1e6], machine)
    uneven = step_seconds(8, 4, [1e6], machine._replace(times=(0.5, 1.5)))
    exchange = allreduce_seconds('star', 4, 1e6, 0, 1e-9)
    compute = steady - exchange
    slowest = expected_slowest((0.5, 1.5), 4)
    assert uneven == pytest.approx(compute * slowest + exchange)


def test_many_small_arrays_cost_more_messages_than_one():
    machine = cluster()
    one = step_seconds(8, 4, [8_000], machine, 'ring')
    eight = step_seconds(8, 4, [1_000] * 8, machine, 'ring')
    assert eight - one == pytest.approx(7 * 6 * machine.alpha)


@pytest.mark.parametrize(
    'call, words',
    [
        (lambda: allreduce_seconds('ring', 1e9, 8, 0, 1), 'k must be an int'),
        (lambda: allreduce_seconds('rong', 2, 8, 0, 1), "not 'rong'"),
        (lambda: simulate_allreduce('rong', [0, 0], 8, 0, 1), "not 'rong'"),
        (lambda: allreduce_seconds('ring', 2, 8, -1, 1), 'alpha must be'),
        (lambda: allreduce_seconds('ring', 2, 8, 0, math.nan), 'beta must be'),
        (
            lambda: allreduce_seconds('servers', 2, 8, 0, 1, 0),
            'num_servers mu',
        ),
        (
            lambda: simulate_allreduce('servers', [0], 8, 0, 1, 0),
            'servers mus',
        ),
        (lambda: step_seconds(1, 2, [], Machine(1, 1, 0, 0)), '1 example can'),
        (
            lambda: step_seconds(1, 0, [], Machine(1, 1, 0, 0)),
            'k must be at l',
        ),
        (lambda: expected_slowest([], 2), r'len.times. must be at least 1'),
        (lambda: run_seconds(1, 1, 100, 1, 1), 'would hardly ever end'),
        (lambda: simulate_failures(1, 1, 100, 1, 1), 'would hardly ever end'),
        (lambda: run_seconds(9, 9, 1, -1, 1), 'checkpoint_seconds must be'),
        (
            lambda: simulate_failures(9, 9, 1, 1, math.nan),
            'restart_seconds mu',
        ),
        (
            lambda: hierarchical_seconds(9, 2, 1, (0, 1), (0, 1)),
            'group must divide the number of devices, 9',
        ),
    ],
)
def test_what_cannot_be_predicted_is_refused(call, words):
    with pytest.raises((TypeError, ValueError), match=words):
        call()


# The simulation


@pytest.mark.parametrize('k', [1, 2, 3, 4, 7, 8, 16, 100, 1_024])
@pytest.mark.parametrize('name', ALGORITHMS)
def test_the_simulation_ends_when_the_formula_says(name, k):
    if name == 'halving-doubling' and not math.log2(k).is_integer():
        pytest.raises(ValueError, simulate_allreduce, name, [0] * k, **LINK)
        return
    for servers in (1, 8, 200):
        last = simulate_allreduce(
            name, onp.zeros(k), **LINK, num_servers=servers
        ).max()
        formula = allreduce_seconds(name, k, **LINK, num_servers=servers)
        assert last == pytest.approx(formula, abs=1e-12)


def by_events(rounds, ready, seconds):
    """Simulate messages one by one: `rounds` lists, for each device, from
    whom it receives (or None); it goes on when it has sent and received."""
    k = len(ready)
    clock = {(device, 0): ready[device] for device in range(k)}
    for step, (sources, duration) in enumerate(zip(rounds, seconds)):
        events = []
        for device, source in enumerate(sources):
            start = clock[device, step]
            if source is not None:
                start = max(start, clock[source, step])
            heapq.heappush(
                events, (start + duration * (source is not None), device)
            )
        while events:
            now, device = heapq.heappop(events)
            clock[device, step + 1] = now
    return [clock[device, len(rounds)] for device in range(k)]


@pytest.mark.parametrize('name', ['ring', 'direct'])
@given(ready=st.lists(st.floats(0, 10), min_size=2, max_size=12))
@quick
def test_rounds_are_what_their_messages_give_one_by_one(name, ready):
    k = len(ready)
    seconds = LINK['alpha'] + LINK['beta'] * LINK['num_bytes'] / k
    gaps = [1] * (k - 1) if name == 'ring' else range(1, k)
    rounds = [[(i - gap) % k for i in range(k)] for gap in gaps] * 2
    right = by_events(rounds, ready, [seconds] * len(rounds))
    assert simulate_allreduce(name, ready, **LINK) == pytest.approx(right)


@given(ready=st.lists(st.floats(0, 10), min_size=2, max_size=13))
@quick
def test_the_tree_sums_and_returns_along_its_edges(ready):
    k = len(ready)
    seconds = LINK['alpha'] + LINK['beta'] * LINK['num_bytes']

    def summed(device, gap):  # when `device` has the sum of its 2 gap devices
        if gap < 1:
            return ready[device]
        own = summed(device, gap // 2)
        if device + gap >= k:
            return own
        return max(own, summed(device + gap, gap // 2)) + seconds

    top = 2 ** (math.ceil(math.log2(k)) - 1)
    right, gap = {0: summed(0, top)}, top
    while gap >= 1:
        for device in [d for d in right if d + gap < k]:
            right[device] += seconds
            right[device + gap] = right[device]
        gap //= 2
    ends = simulate_allreduce('tree', ready, **LINK)
    assert ends == pytest.approx([right[i] for i in range(k)])


def test_a_late_worker_still_sends_a_message_to_each_server():
    ready = [0.0] * 63 + [5.0]
    ends = simulate_allreduce('servers', ready, 64, 1, 1, num_servers=32)
    assert ends.min() == pytest.approx(64 * 3 + 32 * 3)  # a full queue
    ready[-1] = 500.0
    ends = simulate_allreduce('servers', ready, 64, 1, 1, num_servers=32)
    assert ends.min() == pytest.approx(500 + 32 * 3 + 32 * 3)


@pytest.mark.parametrize('bits', [1, 2, 3, 4])
def test_halving_doubling_is_what_its_messages_give_one_by_one(bits):
    k = 2**bits
    ready = onp.random.RandomState(bits).uniform(size=k)
    gaps = [2**i for i in range(bits)] + [2**i for i in range(bits)][::-1]
    rounds = [[i ^ gap for i in range(k)] for gap in gaps]
    seconds = [
        LINK['alpha'] + LINK['beta'] * LINK['num_bytes'] / (2 * gap)
        for gap in gaps
    ]
    right = by_events(rounds, list(ready), seconds)
    ends = simulate_allreduce('halving-doubling', ready, **LINK)
    assert ends == pytest.approx(right)


def queue_by_events(arrivals, seconds):
    """Serve the arrivals one by one from a heap."""
    waiting, free, ends = list(arrivals), 0.0, []
    heapq.heapify(waiting)
    while waiting:
        free = max(free, heapq.heappop(waiting)) + seconds
        ends.append(free)
    return ends


@given(st.lists(st.floats(0, 10), min_size=1, max_size=30))
@quick
def test_a_link_serves_one_after_the_other(arrivals):
    ends = scaling.serve(onp.sort(arrivals), 0.7)
    assert ends == pytest.approx(queue_by_events(arrivals, 0.7))


@given(st.lists(st.floats(0, 10), min_size=2, max_size=12))
@quick
def test_the_star_is_a_queue_at_device_0(ready):
    seconds = LINK['alpha'] + LINK['beta'] * LINK['num_bytes']
    summed = max(queue_by_events(ready[1:], seconds)[-1], ready[0])
    ends = simulate_allreduce('star', ready, **LINK)
    right = [summed + i * seconds for i in range(len(ready))]
    assert ends == pytest.approx(right)


@pytest.mark.parametrize('busy', [0.3, 0.6, 0.9])
def test_random_arrivals_wait_as_the_queueing_formula_says(busy):
    rng = onp.random.RandomState(7)
    arrivals = onp.cumsum(rng.exponential(1 / busy, 400_000))
    waits = scaling.serve(arrivals, 1) - arrivals - 1
    assert waits.mean() == pytest.approx(busy / (2 - 2 * busy), rel=0.1)


@pytest.mark.parametrize('name', ALGORITHMS)
def test_nobody_has_the_sum_before_the_last_is_ready(name):
    ready = onp.zeros(16)
    ready[5] = 3.0
    ends = simulate_allreduce(name, ready, **LINK)
    assert len(ends) == 16 and ends.min() > 3.0
    early = simulate_allreduce(name, onp.zeros(16), **LINK)
    assert (ends >= early).all()
    assert ready.tolist() == [0] * 5 + [3.0] + [0] * 10  # not changed


def test_sixteen_thousand_devices_can_be_simulated():
    ready = onp.random.RandomState(0).lognormal(size=16_384)
    for name in ('tree', 'halving-doubling', 'star'):
        assert len(simulate_allreduce(name, ready, **LINK)) == 16_384


# Failures


@pytest.mark.parametrize(
    'work, interval, restart',
    [(40_000, 50, 60), (40_000, 300, 60), (40_000, 2_000, 60)]
    + [(5_000, 3_700, 60)]
    + [(1_000, 4_000, 60)]  # the whole run is shorter than an interval
    + [(40_000, 300, 1_000)],  # a restart fails, too, as often as not
)
def test_simulated_failures_take_the_time_of_the_formula(
    work, interval, restart
):
    numbers = (work, 1_000, interval, 20, restart)
    runs = [simulate_failures(*numbers, seed=seed) for seed in range(60)]
    error = onp.std(runs) / math.sqrt(len(runs))
    assert abs(onp.mean(runs) - run_seconds(*numbers)) < 4 * error


def test_without_failures_only_the_checkpoints_cost():
    for run in (run_seconds, simulate_failures):
        seconds = run(1_000, 1e12, 100, 5, 60)
        assert seconds == pytest.approx(1_050, rel=1e-6)


def test_youngs_interval_is_nearly_the_best():
    mtbf, saving = 10_000, 20
    best = min(
        run_seconds(1e5, mtbf, interval, saving, 100)
        for interval in onp.geomspace(10, 10_000, 400)
    )
    young = checkpoint_interval(mtbf, saving)
    assert run_seconds(1e5, mtbf, young, saving, 100) < 1.002 * best


def test_four_times_the_devices_need_checkpoints_twice_as_often():
    one, four = (checkpoint_interval(1e6 / k, 30) for k in (1, 4))
    assert one == pytest.approx(2 * four)
