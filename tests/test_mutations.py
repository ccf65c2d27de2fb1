"""Each real bug, put in on purpose: the test of its property must fail."""
import inspect
import sys

import pytest

import d2lmulti
import test_bad_input as bad_input
import test_equivalence as equivalence
import test_properties as properties


def put_in(monkeypatch, function, old, new):
    """Replace `old` by `new` in the source of `function`, everywhere."""
    source = inspect.getsource(function)
    assert source.count(old) == 1, 'the mutation no longer fits the source'
    namespace = dict(vars(sys.modules[function.__module__]))
    exec(source.replace(old, new), namespace)
    for name, module in list(sys.modules.items()):
        if name.split('.')[0] == 'd2lmulti':
            if getattr(module, function.__name__, None) is function:
                monkeypatch.setattr(module, function.__name__,
                                    namespace[function.__name__])


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
    'remainder lost': (d2lmulti.split_and_load, '(i < longer)', '0'),
}


@pytest.mark.parametrize('bug', STEP_BUGS)
def test_bug_in_the_step_is_caught(bug, monkeypatch):
    put_in(monkeypatch, *STEP_BUGS[bug])
    with pytest.raises(AssertionError):
        equivalence.assert_same_steps((95, 7), 2)


def test_lost_remainder_is_caught(monkeypatch):
    put_in(monkeypatch, d2lmulti.split_and_load, '(i < longer)', '0')
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
    source = inspect.getsource(d2lmulti.Minibatches.__iter__)
    old = 'range(0, len(order), self.batch_size)'
    assert old in source
    namespace = dict(vars(sys.modules['d2lmulti.data']))
    exec(inspect.cleandoc('\n' + source).replace(
        old, 'range(0, len(order) - self.batch_size + 1, self.batch_size)'),
        namespace)
    monkeypatch.setattr(d2lmulti.Minibatches, '__iter__',
                        namespace['__iter__'])
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
