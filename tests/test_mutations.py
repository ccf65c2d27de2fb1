"""Each real bug, put in on purpose: the test of its property must fail."""
import inspect
import sys
import textwrap

import numpy as onp
import pytest

import d2lmulti
import test_bad_input as bad_input
import test_batch_norm as norm_tests
import test_checkpoint as checkpoint_tests
import test_collectives as collectives
import test_equivalence as equivalence
import test_launch as launch_tests
import test_properties as properties
import test_schedules as schedules_tests
import test_splits as splits_tests
import test_unequal as unequal_tests
from d2lmulti import (batch_norm, checkpoint, cluster, data, launch, schedules,
                      splits, unequal)


def put_in(monkeypatch, function, old, new):
    """Replace `old` by `new` in the source of `function`, everywhere."""
    mutant = mutated(function, old, new)
    for name, module in list(sys.modules.items()):
        if name.split('.')[0] == 'd2lmulti':
            if getattr(module, function.__name__, None) is function:
                monkeypatch.setattr(module, function.__name__, mutant)


def put_in_method(monkeypatch, cls, name, old, new):
    """Replace `old` by `new` in the source of a method."""
    monkeypatch.setattr(cls, name, mutated(getattr(cls, name), old, new))


def mutated(function, old, new):
    """Return the function with `old` replaced by `new` in its source."""
    source = textwrap.dedent(inspect.getsource(function))
    assert source.count(old) == 1, 'the mutation no longer fits the source'
    namespace = dict(vars(sys.modules[function.__module__]))
    exec(source.replace(old, new), namespace)
    return namespace[function.__name__]


def test_an_unchanged_function_stays_green(monkeypatch):
    put_in(monkeypatch, d2lmulti.train_batch, 'lr / len(X)', 'lr / len(X)')
    equivalence.assert_same_steps((96, 7), 2)


BROADCAST = ('    for array in data[1:]:\n'
             '        total.copyto(array)\n')
STEP_BUGS = {
    'rebinding': (d2lmulti.allreduce, BROADCAST,
                  '    for i in range(1, len(data)):\n'
                  '        data[i] = total.copyto(data[i].ctx)\n'),
    'mean': (d2lmulti.allreduce, BROADCAST,
             '    total /= len(data)\n' + BROADCAST),
    'constant batch size': (d2lmulti.train_batch, 'lr / len(X)', 'lr / 256'),
    'divided by devices too': (d2lmulti.train_batch, 'lr / len(X)',
                               'lr / len(X) / len(devices)'),
    'shard means': (d2lmulti.train_batch, 'y_shard).sum()',
                    'y_shard).mean()'),
    'one parameter forgotten': (
        d2lmulti.train_batch, 'range(len(device_params[0]))',
        'range(1, len(device_params[0]))'),
    'one replica updated': (
        d2lmulti.train_batch,
        'for params in device_params:  # the same update',
        'for params in device_params[:1]:  # the same update'),
    'remainder lost': (data.shard_sizes, 'num_rows - sum(sizes)]', '0]'),
}


@pytest.mark.parametrize('bug', STEP_BUGS)
def test_bug_in_the_step_is_caught(bug, monkeypatch):
    put_in(monkeypatch, *STEP_BUGS[bug])
    with pytest.raises(AssertionError):
        equivalence.assert_same_steps((95, 7), 2)


def test_lost_remainder_is_caught(monkeypatch):
    put_in(monkeypatch, data.shard_sizes, 'num_rows - sum(sizes)]', '0]')
    with pytest.raises(AssertionError):
        properties.assert_split_is_exact(10, 4)


def test_shards_that_are_views_are_caught(monkeypatch):
    put_in(monkeypatch, d2lmulti.split_and_load, '.copyto(', '.as_in_ctx(')
    with pytest.raises(AssertionError):
        properties.test_shards_do_not_share_memory_with_the_minibatch()


def test_a_replica_that_is_the_original_is_caught(monkeypatch):
    put_in(monkeypatch, d2lmulti.get_params, '.copyto(', '.as_in_ctx(')
    with pytest.raises(AssertionError):
        equivalence.test_a_replica_does_not_share_memory_with_the_original()


def test_accuracy_of_the_first_device_only_is_caught(monkeypatch):
    put_in(monkeypatch, d2lmulti.evaluate_accuracy, 'num_correct[i] +=',
           'num_correct[i] += (i == 0) *')
    with pytest.raises(AssertionError):
        equivalence.test_accuracy_counts_every_example_on_every_device(3)


def test_a_dropped_last_minibatch_is_caught(monkeypatch):
    put_in_method(monkeypatch, d2lmulti.Minibatches, 'rows', 'len(order)',
                  'len(order) - self.batch_size + 1')
    with pytest.raises(AssertionError):
        properties.assert_epochs_visit_each_once(10, 4)


def test_a_clock_that_stops_too_early_is_caught(monkeypatch):
    put_in(monkeypatch, d2lmulti.median_seconds,
           'work()\n        npx.waitall()', 'work()')
    with pytest.raises(AssertionError):
        properties.assert_drains_on_both_sides(monkeypatch)


def test_a_device_that_comes_twice_is_caught(monkeypatch):
    put_in(monkeypatch, d2lmulti.check_devices,
           'len(set(devices)) < len(devices)', 'False')
    with pytest.raises(pytest.fail.Exception):  # 'DID NOT RAISE'
        bad_input.test_the_same_device_twice()


RING_BUGS = {
    'reduce-scatter stops one step early': (
        'range(k - 1):  # reduce-scatter', 'range(k - 2):'),
    'all-gather stops one step early': (
        'range(k - 1):  # all-gather', 'range(k - 2):'),
    'one step too many': ('range(k - 1):  # reduce-scatter', 'range(k):'),
    'a slice added twice': ('+= sent[i]', '+= 2 * sent[i]'),
    'added instead of replaced': (
        'slices[i][j].copyto(slices[(i + 1) % k][j])',
        'slices[(i + 1) % k][j] += slices[i][j].copyto('
        'data[(i + 1) % k].ctx)'),
    'the wrong slice passed on': ('j = (i + 1 - step) % k',
                                  'j = (i - step) % k'),
}


@pytest.mark.parametrize('bug', RING_BUGS)
def test_bug_in_the_ring_is_caught(bug, monkeypatch):
    put_in(monkeypatch, d2lmulti.ring_allreduce, *RING_BUGS[bug])
    with pytest.raises(AssertionError):
        collectives.assert_sum('ring', 4, [97])
        collectives.assert_sends_its_closed_form('ring', 4)


SUM_BUGS = {
    'sharded forgets one device': (
        d2lmulti.sharded_allreduce, 'range(j + 1, j + k)',
        'range(j + 1, j + k - 1)'),
    'sharded sends to all but one': (
        d2lmulti.sharded_allreduce, 'for step in range(k):',
        'for step in range(k - 1):'),
    'tree without its last device': (
        d2lmulti.tree_allreduce,
        'for i in range(0, k - gap, 2 * gap):\n            total',
        'for i in range(0, k - gap - 1, 2 * gap):\n            total'),
    'the mean in place of the sum': (
        d2lmulti.tree_allreduce, 'while gap > 1:  # broadcast',
        'data[0][:] = data[0] / k\n    while gap > 1:'),
    'slices that overlap': (d2lmulti.collectives.cut, 'part.stop]',
                            'part.stop + 1]'),
    'slices that are copies': (d2lmulti.collectives.cut,
                               'array.reshape_view(-1)',
                               'array.reshape(-1).copy()'),
}


@pytest.mark.parametrize('bug', SUM_BUGS)
def test_bug_in_a_sum_is_caught(bug, monkeypatch):
    put_in(monkeypatch, *SUM_BUGS[bug])
    with pytest.raises(AssertionError):
        for name in ('sharded', 'tree'):
            collectives.assert_sum(name, 4, [97])
            collectives.assert_sends_its_closed_form(name, 4)


def test_a_slice_that_is_sent_twice_is_caught(monkeypatch):
    put_in(monkeypatch, d2lmulti.sharded_allreduce,
           '    for step in range(k):',
           '    totals[0].copyto(slices[1][0])\n    for step in range(k):')
    collectives.assert_sum('sharded', 4, [97])  # the sum does not show it
    with pytest.raises(AssertionError):
        collectives.assert_sends_its_closed_form('sharded', 4)


BUCKET_BUGS = {
    'wrong offset': ('start = end\n', 'start = end - 1\n'),
    'every array from the start': ('start = end\n', 'start = 0\n'),
    'sums not copied back': ('.copyto(flat[i])', '.copy()'),
}


@pytest.mark.parametrize('bug', BUCKET_BUGS)
def test_bug_in_the_bucket_is_caught(bug, monkeypatch):
    put_in(monkeypatch, d2lmulti.bucket_allreduce, *BUCKET_BUGS[bug])
    with pytest.raises((AssertionError, ValueError)):
        collectives.assert_buckets_hold_the_sums(3, 1 << 20,
                                                 d2lmulti.allreduce)


def test_an_algorithm_that_is_not_used_is_caught(monkeypatch):
    put_in(monkeypatch, d2lmulti.train, 'lr, allreduce, progress',
           'lr, lambda data: None, progress')
    with pytest.raises(AssertionError):
        collectives.test_train_uses_the_algorithm_that_it_is_given()


LAYER_BUGS = {
    'a micro-batch left out': (
        splits.pipeline_gradients, 'for i in range(num_micro):',
        'for i in range(num_micro - 1):'),
    'the gradient does not come back': (
        splits.backward, '.backward(gradient)', '.backward()'),
    'a gradient added to that of the last step': (
        splits.take_gradients, 'param.grad[:] = 0', 'pass'),
}


@pytest.mark.parametrize('bug', LAYER_BUGS)
def test_bug_in_the_split_by_layers_is_caught(bug, monkeypatch):
    put_in(monkeypatch, *LAYER_BUGS[bug])
    with pytest.raises(AssertionError):
        splits_tests.assert_layers_equal(12, 2, 4)


CHANNEL_BUGS = {
    'bias added k times': (
        splits.backward_from_scores, 'scores + device_parts[0][-1]',
        'scores + len(device_parts) * device_parts[0][-1]'),
    'scores of one device only': (
        splits.backward_from_scores, 'for part in partial_scores)',
        'for part in partial_scores[:1])'),
    'gradient of the own outputs only': (
        splits.gather_backward, 'for whole in wholes:',
        'for whole in wholes[:1]:'),
    'channels in the wrong order': (
        splits.gather, 'for part in parts],', 'for part in parts[::-1]],'),
}


@pytest.mark.parametrize('bug', CHANNEL_BUGS)
def test_bug_in_the_split_by_channels_is_caught(bug, monkeypatch):
    put_in(monkeypatch, *CHANNEL_BUGS[bug])
    with pytest.raises(AssertionError):
        splits_tests.assert_channels_equal(8, 2)


CHECKPOINT_BUGS = {
    'a torn file is read': (
        checkpoint.read, 'content[len(MAGIC):start] != digest',
        'False and digest', lambda folder: checkpoint_tests
        .test_a_damaged_file_is_passed_over(folder, lambda b: b + b'x')),
    'half a file stays': (
        checkpoint.write_whole, 'part.unlink(missing_ok=True)', 'pass',
        lambda folder: checkpoint_tests
        .test_a_full_disk_leaves_the_earlier_ones(folder)),
    'random state forgotten': (
        checkpoint.load_checkpoint, 'onp.random.set_state(random)', 'pass',
        lambda folder: checkpoint_tests
        .test_random_numbers_go_on_where_they_were(folder)),
    'the epoch begins anew': (
        cluster.train_rest, 'start = time.perf_counter()',
        'start = time.perf_counter()\n    at.step = 0',
        lambda folder: checkpoint_tests
        .assert_interruption_changes_nothing(folder, 4)),
    'the next epoch is taken for this one': (
        cluster.train_rest, 'minibatches.rows(at.epoch)',
        'minibatches.rows(at.epoch + (at.step > 0))',
        lambda folder: checkpoint_tests
        .assert_interruption_changes_nothing(folder, 4)),
}


@pytest.mark.parametrize('bug', CHECKPOINT_BUGS)
def test_bug_in_a_checkpoint_is_caught(bug, monkeypatch, tmp_path):
    function, old, new, test = CHECKPOINT_BUGS[bug]
    put_in(monkeypatch, function, old, new)
    monkeypatch.setattr(checkpoint_tests, 'load_checkpoint',
                        checkpoint.load_checkpoint)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        test(tmp_path)


JUDGE_BUGS = {
    'an early end is not seen': ('> limits.exit', '> 1e9', {
        'status': 0, 'ending': -1e6}, 'came to its end'),
    'a lost host is not seen': ('> CONTACT', '> 1e9', {'heard': -1e6},
                                'nothing was heard'),
    'a bad end is taken for a good one': (
        'role.failure or role.status]', 'role.failure]',
        {'status': -9, 'ending': 1}, 'killed by SIGKILL'),
}


@pytest.mark.parametrize('bug', JUDGE_BUGS)
def test_bug_in_the_judgement_is_caught(bug, monkeypatch):
    old, new, known, reason = JUDGE_BUGS[bug]
    put_in(monkeypatch, launch.judge, old, new)
    monkeypatch.setattr(launch_tests, 'judge', launch.judge)
    with pytest.raises((AssertionError, TypeError)):
        launch_tests.test_what_is_known_of_a_role_decides(known, reason)


RATE_BUGS = {
    'warm-up off by one': (
        schedules.warmup, '(step + 1) / num_warmup', 'step / num_warmup',
        schedules_tests.test_a_warm_up_rises_evenly_to_the_rate),
    'rate scaled twice': (
        schedules.linear_scaling, 'lr * batch_size', 'lr * (batch_size / '
        'base_batch_size) * batch_size',
        schedules_tests.test_the_rate_is_scaled_once),
    'decay that begins too late': (
        schedules.warmup_and_decay, 'step - num_warmup,', 'step,',
        schedules_tests.test_schedules_are_those_of_gluon),
}


@pytest.mark.parametrize('bug', RATE_BUGS)
def test_bug_in_a_rate_is_caught(bug, monkeypatch):
    function, old, new, test = RATE_BUGS[bug]
    mutant = mutated(function, old, new)
    monkeypatch.setattr(schedules_tests, function.__name__, mutant)
    with pytest.raises(AssertionError):
        test()


PARTS_BUGS = {
    'the last part only': ('total += param.grad', 'total[:] = param.grad'),
    'mean of the parts': ('lr / len(X)', 'lr / len(X) / num_parts'),
}


@pytest.mark.parametrize('bug', PARTS_BUGS)
def test_bug_in_a_step_in_parts_is_caught(bug, monkeypatch):
    mutant = mutated(schedules.train_in_parts, *PARTS_BUGS[bug])
    monkeypatch.setattr(schedules_tests, 'train_in_parts', mutant)
    with pytest.raises(AssertionError):
        schedules_tests.assert_same_step_in_parts(2, 3, 13,
                                                  d2lmulti.allreduce)


def test_lars_with_one_rate_for_all_is_caught(monkeypatch):
    mutant = mutated(schedules.lars, 'lr * local', 'lr')
    monkeypatch.setattr(schedules_tests, 'lars', mutant)
    with pytest.raises(AssertionError):
        schedules_tests.assert_lars_is_the_formula(onp.array)


NORM_BUGS = {
    'variance around the own mean': (
        batch_norm.batch_norm, 'zip(shards, means)]',
        'zip(shards, shard_means([channel_sums(x) for x in shards], counts, '
        'False))]'),
    'variance not reduced': (
        batch_norm.batch_norm, 'counts,\n' + 28 * ' ' + 'together)',
        'counts, False)'),
    'mean of the means': (
        batch_norm.shard_means,
        'allreduce(sums)\n        counts = [sum(counts)] * len(counts)',
        'sums[:] = [s / count for s, count in zip(sums, counts)]\n'
        '        allreduce(sums)\n        counts = [len(sums)] * len(sums)'),
    'backward pass without its reduction': (
        batch_norm.batch_norm_backward, 'saved.counts, saved.together',
        'saved.counts, False'),
    'scales counted by every device': (
        batch_norm.batch_norm_backward, 'pair.copy()', 'pair'),
}


@pytest.mark.parametrize('bug', NORM_BUGS)
def test_bug_in_batch_normalization_is_caught(bug, monkeypatch):
    function, old, new = NORM_BUGS[bug]
    mutant = mutated(function, old, new)
    monkeypatch.setattr(batch_norm, function.__name__, mutant)
    with pytest.raises(AssertionError):
        norm_tests.assert_same_steps(3, (31, 8))


UNEQUAL_BUGS = {
    'mean of the devices\' means': (
        unequal.compute_gradients, 'part]).sum()', 'part]).mean()'),
    'the last part only': (unequal.compute_gradients, 'if part.start > 0',
                           'if False'),
    'repeats added up': (
        unequal.compute_gradients, 'if part.start > 0', 'if turn'),
    'divided by the largest shard': (
        unequal.train_unequal, 'lr / len(X)', 'lr / max(map(len, X_shards))'),
}


@pytest.mark.parametrize('bug', UNEQUAL_BUGS)
def test_bug_in_an_unequal_step_is_caught(bug, monkeypatch):
    function, old, new = UNEQUAL_BUGS[bug]
    mutant = mutated(function, old, new)
    for module in (unequal, unequal_tests):
        monkeypatch.setattr(module, function.__name__, mutant)
    with pytest.raises(AssertionError):
        unequal_tests.assert_same_steps([2, 1], (31,), repeats=[1, 2],
                                        most=[None, 7])


SHARE_BUGS = {
    'shares by the number of devices': (
        'num_rows * speed / sum(speeds)', 'num_rows / len(shares)'),
    'rounded one by one': ('sizes[i] += 1\n    while', 'pass\n    while'),
    'the rest to the first': ('sizes[i] += 1\n    while',
                              'sizes[0] += 1\n    while'),
}


@pytest.mark.parametrize('bug', SHARE_BUGS)
def test_bug_in_the_shares_is_caught(bug, monkeypatch):
    mutant = mutated(data.shard_sizes, *SHARE_BUGS[bug])
    monkeypatch.setattr(unequal_tests, 'shard_sizes', mutant)
    with pytest.raises(AssertionError):
        unequal_tests.assert_proportional(100, [7, 7, 7, 1])


ADAPT_BUGS = {
    'the last step is believed': (
        'statistics.median(values)', 'values[-1]',
        unequal_tests.test_a_single_slow_step_moves_nothing),
    'never adapted': ('then < (1 - margin)', '0 > (1 - margin)',
                      lambda: unequal_tests
                      .test_shares_follow_a_change_within_ten_steps(2.0, 2)),
    'no margin': ('(1 - margin) * now', 'now',
                  lambda: unequal_tests
                  .test_noise_alone_moves_the_shares_rarely(4)),
}


@pytest.mark.parametrize('bug', ADAPT_BUGS)
def test_bug_in_adapting_is_caught(bug, monkeypatch):
    old, new, test = ADAPT_BUGS[bug]
    monkeypatch.setattr(unequal_tests, 'adapt_shares',
                        mutated(unequal.adapt_shares, old, new))
    with pytest.raises(AssertionError):
        test()
