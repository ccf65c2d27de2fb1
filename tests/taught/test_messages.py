"""What each check says: the line of code that a user writes, then the error,
whole, as Python prints it. Each `raise` of the checks has a line here or in
`test_raw_data.py`, which is about the arrays that come first.
"""

import ast
import functools
import pathlib
import re
import tempfile
import traceback
import warnings

import mxnet as mx
import numpy as onp
import pytest
import test_raw_data
from mxnet import np, npx

import d2lmulti
from d2lmulti import check_data, check_rules, check_values, checks
from d2lmulti.cluster import (
    checkpoint,
    checkpoint_files,
    cluster,
    resume,
    same_training,
)
from d2lmulti.cluster import checks as cluster_checks
from d2lmulti.communication import checks as communication_checks
from d2lmulti.communication import compression
from d2lmulti.judgment import checks as judgment_checks
from d2lmulti.judgment import planner, scaling
from d2lmulti.learning import checks as learning_checks
from d2lmulti.learning import heterogeneous, large_batch, sync_batch_norm
from d2lmulti.model_parallelism import check_schedules, model_parallel
from d2lmulti.model_parallelism import checks as model_parallelism_checks

# FOLDER: a temporary one. A long message goes on in the lines below it.
TABLE = """
# I. Two devices
try_devices(0)
    ValueError: k, the number of devices, must be at least 1, not 0
try_devices(2.5)
    TypeError: k, the number of devices, must be an integer, not 2.5
try_devices('2')
    TypeError: k, the number of devices, must be an integer, not '2'; use
        int('2')
try_devices(None)
    TypeError: k, the number of devices, must be an integer, not None
try_devices(True)
    TypeError: k, the number of devices, must be an integer, not True
try_devices(-1)
    ValueError: k, the number of devices, must be at least 1, not -1
try_devices(65)
    ValueError: 65 CPU devices asked for, but at most 64 work side by side, as
    others wait for each other's workspaces: ask for at most 64
check_num_devices(2, [0], ['gpu(1): no driver'])
    ValueError: 2 devices asked for, but 1 GPU works (gpu(1): no driver): ask
    for at most 1, or set D2LMULTI_DEVICES=cpu to use CPUs
check_num_devices(3, [0, 1], [])
    ValueError: 3 devices asked for, but 2 GPUs work: ask for at most 2, or
    set D2LMULTI_DEVICES=cpu to use CPUs
split_slices(-1, 2)
    ValueError: n must be at least 0, not -1
split_slices(4, 0)
    ValueError: k must be at least 1, not 0
init_params(scale=-1)
    ValueError: scale must be a finite number of at least 0, not -1
init_params(seed=-1)
    ValueError: seed must be at least 0, not -1
get_params(params, onp.int64(1))
    TypeError: device is 1, but a device is needed: try_devices(2)[1]
get_params(params, object())
    TypeError: device is an object, but a device is needed: try_devices(1)[0]
split_and_load(X, [])
    ValueError: give at least 1 device, for example try_devices(1), not []
split_and_load(X, devices[:1] * 2)
    ValueError: [cpu(0), cpu(0)] names a device twice: its replica would work
    on two shards, in turn; use distinct devices, as from try_devices
split_and_load(X, [onp.int64(0)])
    TypeError: devices is [0], but a list of devices is needed: try_devices(1)
find_causes([], devices[:1])
    ValueError: give at least 2 devices, for example try_devices(2), not
    [cpu(0)]
find_causes([], devices)
    ValueError: no minibatches to load: data_iter is empty
find_causes([], devices, step=3)
    TypeError: step must be a function of a minibatch, X and y, such as lambda
    X, y: train_batch(X, y, replicas, devices, lr), not 3
find_causes([], devices, net=lenet)
    ValueError: net needs its parameters: pass device_params, too
train_batch(X, y, device_params[:1], devices, lr)
    ValueError: 1 replica for 2 devices: make one on each device with
    get_params
train_batch(X, y, device_params, devices[:1], lr)
    ValueError: 2 replicas for 1 device: make one on each device with
    get_params
train_batch(X, y, device_params[::-1], devices, lr)
    ValueError: a parameter lives on cpu(1), but its replica belongs on
    cpu(0): make it with get_params
train_batch(X, y, [params], devices[:1], lr)
    ValueError: a parameter has no gradient: make its replica with get_params
train_batch(X, y, [device_params[0], device_params[1][:7]], devices, lr)
    ValueError: all replicas must have as many parameters as the first: give
    8, not 7
train_batch(X, y, [device_params[0][:1] * 2], devices[:1], lr)
    ValueError: an array is two parameters of a replica, so it would be summed
    and updated twice: give it once
train_batch(X, y, device_params, devices, 0)
    ValueError: the learning rate lr must be a finite number above 0, not 0
train_batch(X, y, device_params, devices, onp.nan)
    ValueError: the learning rate lr must be a finite number above 0, not nan
train_batch(X, y, device_params, devices, onp.inf)
    ValueError: the learning rate lr must be a finite number above 0, not inf
train_batch(X, y, device_params, devices, None)
    TypeError: the learning rate lr must be a number, not None
train_batch(X, y, device_params, devices, True)
    TypeError: the learning rate lr must be a number, not True
train_batch(X[:1], y[:1], device_params, devices, lr)
    ValueError: 1 example cannot be split over 2 devices: every device needs
    one; use fewer devices or a larger minibatch
train_batch(X, y, [], [], lr)
    ValueError: give at least 1 device, for example try_devices(1), not []
train_batch(X, y, device_params, devices[:1] * 2, lr)
    ValueError: [cpu(0), cpu(0)] names a device twice: its replica would work
    on two shards, in turn; use distinct devices, as from try_devices
allreduce(arrays[0])
    TypeError: give a list of arrays, one for each device, not an MXNet array
allreduce([array.asnumpy() for array in arrays])
    TypeError: data[0] is a NumPy array, but an MXNet array is needed:
    mx.np.array(data[0])
allreduce([])
    ValueError: no arrays to sum: give one for each device
allreduce(arrays[:1] * 2)
    ValueError: the same array appears twice in the list, so it would be
    counted twice: give one for each device
allreduce([arrays[0], np.ones(2, ctx=devices[1])])
    ValueError: arrays of more than one shape, [(3,), (2,)]: they must be
    alike on all devices
allreduce([arrays[0], arrays[1].astype('float64')])
    ValueError: arrays of more than one dtype, ['float32', 'float64']: they
    must be alike on all devices
allreduce([array > 0 for array in arrays])
    TypeError: a sum of bool arrays would be bool again, not a count: convert
    them with astype('int32')
Minibatches(images, labels, 0)
    ValueError: batch_size must be at least 1, not 0
Minibatches(images, labels, 2, None, 0)
    ValueError: num_classes must be at least 1, not 0
train(2, 3, 0.1, 1, data=data)
    ValueError: the last minibatch of 4 examples has 1, too few for 2 devices:
    choose a batch_size other than 3, or fewer devices
train(1, 2, 0.1, 0, data=data)
    ValueError: num_epochs must be at least 1, not 0
train(1, 2, 1e30, 1, data=data)
    FloatingPointError: training diverged: the parameters are no longer
    finite, as lr=1e+30 is too large: take a smaller one
train(1, 2, 0.1, 1, data=data, net=fails, init=init_linear)
    ValueError: net cannot compute the scores of an example of shape (1, 28,
    28) with parameters of shapes [(784, 10)]: give net= and init= that fit
    each other and the data (ZeroDivisionError)
check_installed('torch2')
    ImportError: there is no torch2 in this environment: open the chapter with
    `make lab BUILD=frameworks`, which sets up another one
# II. Communication
ring_allreduce([array.tolist() for array in arrays])
    TypeError: data[0] is a list, but an MXNet array is needed:
    mx.np.array(data[0])
reduce_scatter([])
    ValueError: no arrays to sum: give one for each device
all_gather(None, arrays)
    TypeError: parts must be a list of MXNet arrays, as reduce_scatter returns
    it, not None
all_gather([np.ones(2), np.ones(2, ctx=devices[1])], arrays)
    ValueError: parts must be flat and have the sizes [2, 1], as
    reduce_scatter cuts 2 arrays of 3 numbers, not the shapes [(2,), (2,)]
all_gather([np.ones(3)], arrays[:1] + [np.ones(3, ctx=devices[1])])
    ValueError: parts must be flat and have the sizes [2, 1], as
    reduce_scatter cuts 2 arrays of 3 numbers, not the shapes [(3,)]
all_gather([part.astype('float64') for part in parts], arrays)
    ValueError: parts must hold float32, as data do, not ['float64',
    'float64']
all_gather([parts[0].copyto(devices[1]), parts[1]], arrays)
    ValueError: parts[0] is on cpu(1), but data[0] is on cpu(0): list parts in
    the order of data
bucket_allreduce([arrays[:1], arrays[1:]], 1024)
    TypeError: allreduce must be a function that sums a list of arrays, such
    as ring_allreduce, not 1024
bucket_allreduce(2)
    TypeError: device_arrays must be a list with a list of arrays for each
    device, not 2
bucket_allreduce([])
    ValueError: device_arrays must have lists of the same length, one for each
    device, not of the lengths []
bucket_allreduce([arrays[:1], []])
    ValueError: device_arrays must have lists of the same length, one for each
    device, not of the lengths [1, 0]
bucket_allreduce([arrays[:1] * 2, arrays[1:] * 2])
    ValueError: an array appears twice in the lists, so it would be counted
    twice: give it once
idle_fraction([])
    ValueError: no operators: give what profile(work) returns
exchange_compressed(arrays, {}, lambda data, state: top_k(data, state, 0))
    ValueError: fraction must be above 0 and at most 1, not 0
exchange_compressed(arrays, {}, lambda data, state: top_k(data, state, 2))
    ValueError: fraction must be above 0 and at most 1, not 2
exchange_compressed(arrays, {}, lambda *args: two_bit(*args, threshold=0))
    ValueError: threshold must be a finite number above 0, not 0
exchange_compressed(arrays, {}, lambda *args: power_sgd(*args, rank=1.5))
    TypeError: rank must be an integer, not 1.5
exchange_compressed(arrays, {}, lambda *args: power_sgd(*args, rank=0))
    ValueError: rank must be at least 1, not 0
train_batch_compressed(X, y, device_params, devices, lr, [], None)
    TypeError: compress must be a function, such as power_sgd, not None
train_batch_compressed(X, y, device_params, devices, lr, (), one_bit)
    TypeError: states must be a list, [] before the first step, and the same
    list in the next, not ()
train_batch_compressed(X, y, device_params, devices, lr, None, one_bit)
    TypeError: states must be a list, [] before the first step, and the same
    list in the next, not None
train_batch_compressed(X, y, device_params, devices, lr, [{}], one_bit)
    ValueError: states must have a dict for each parameter: give 8, not 1
train_batch_compressed(X, y, *tiny, lr, [{'residuals': [1]}], one_bit)
    ValueError: each state must have a residual for each device: give 2, not 1
average_params(device_params, [1])
    ValueError: weights must have a number for each replica: give 2, not 1
train_round([], device_params, devices, lr)
    TypeError: minibatches must be a list of (X, y), one for each local step,
    not []
train_round((X, y), device_params, devices, lr)
    TypeError: minibatches must be a list of (X, y), one for each local step,
    not a tuple of images and labels: [minibatches]
train_round([(X, y)], device_params, devices, lr, states=[[], []])
    ValueError: states are for an update rule: pass update, too, such as
    update=sgd_momentum
train_round([(X, y)], device_params, devices, lr, 3, [])
    TypeError: update must be a function, not 3
train_round([(X, y), (X[:1], y[:1])], device_params, devices, lr)
    ValueError: 1 example cannot be split over 2 devices: every device needs
    one; use fewer devices or a larger minibatch
train_round_diloco([(X, y)], *tiny, lr, adam, states, [[]])
    ValueError: outer_states must have a list for each device, as [[] for
    device in devices] has: give 2, not 1
train_round_diloco([(X, y)], *tiny, lr, adam, states, [[]] * 2)
    ValueError: two devices share one state, as in [[]] * 2: make one for
    each, [[] for device in devices]
train_round_diloco([(X, y)], *tiny, lr, adam, states, None)
    TypeError: outer_states must be a list with a list for each device, such
    as [[] for device in devices], not None
train_round_diloco([(X, y)], *tiny, lr, adam, states, [[], arrays])
    ValueError: outer_states must be alike on all devices, not of the lengths
    [0, 2]: start with [[] for device in devices], and pass the same lists in
    each round
train_round_diloco([(X, y)], *tiny, lr, adam, states, states, outer_lr=0)
    ValueError: outer_lr must be a finite number above 0, not 0
train_round_diloco([(X, y)], *tiny, lr, adam, states, states, momentum=1)
    ValueError: momentum must be at least 0 and below 1, not 1
# III. Learning on many devices
linear_scaling(0.1, 0, 256)
    ValueError: batch_size must be at least 1, not 0
linear_scaling(0.1, 256, '256')
    TypeError: base_batch_size must be an integer, not '256'; use int('256')
warmup(-1, 0.1, 10)
    ValueError: step must be at least 0, not -1
warmup(0, 0.1, 10, start=0.2)
    ValueError: start must be from 0 to 0.1, not 0.2
polynomial_decay(0, 0.1, 10, power=0)
    ValueError: power must be a finite number above 0, not 0
warmup_and_decay(0, 0.1, 1, 1)
    ValueError: a warm-up of 1 step leaves none of 1 for the decay: make it
    shorter
warmup_and_decay(0, 0.1, 10, 10)
    ValueError: a warm-up of 10 steps leaves none of 10 for the decay: make it
    shorter
train_batch_accumulated(X, y, device_params, devices, lr, 3)
    ValueError: 4 examples cannot be split over 3 micro-batches and 2 devices:
    every device needs one of each micro-batch; use fewer micro-batches
train_batch_accumulated(X, y, device_params, devices, lr, 0)
    ValueError: num_micro_batches must be at least 1, not 0
train_batch_accumulated(X, y, device_params, devices, lr, 1.0)
    TypeError: num_micro_batches must be an integer, not 1.0; use int(1.0)
update_replicas(device_params, 4, lr, states=states)
    ValueError: states are for an update rule: pass update, too, such as
    update=sgd_momentum
update_replicas(device_params, 4, lr, 'adam', states)
    TypeError: update must be a function, not 'adam'
update_replicas(device_params, 4, lr, adam)
    TypeError: states must be a list with a list for each device, such as [[]
    for device in devices], not None
update_replicas(device_params, 4, lr, adam, [[]])
    ValueError: states must have a list for each device, as [[] for device in
    devices] has: give 2, not 1
update_replicas(device_params, 4, lr, adam, [[]] * 2)
    ValueError: two devices share one state, as in [[]] * 2: make one for
    each, [[] for device in devices]
update_replicas(device_params, 4, lr, rebinds, states)
    ValueError: rebinds does not move parameters of shape (20, 1, 3, 3): a
    rule update(params, grads, state, lr) changes params in place, as in param
    -= lr * grad, and fills an empty state itself
gradient_descent([w], [w], None, lr)
    TypeError: state must be a list, [] before the first step, not None
gradient_descent([w], [], [], lr)
    ValueError: params and grads must have the same shapes, not [(3,)] and []
sgd_momentum([w], [w], [w[:2]], lr)
    ValueError: a state of shapes [(2,)] belongs to other parameters or
    another update rule; [(3,)] are needed: keep one state for each list of
    parameters, [] before its first step
sgd_momentum([w], [w], [], lr, momentum=1)
    ValueError: momentum must be at least 0 and below 1, not 1
lars([w], [w], [], lr, norms=[[1], []])
    ValueError: norms must have a number for each parameter: give 1, not 0
lars([w], [w], [], lr, trust_coefficient=0)
    ValueError: trust_coefficient must be a finite number above 0, not 0
adam([], [], [], lr)
    ValueError: params is empty: Adam needs a parameter to update
adam([w], [w], [], lr, beta2=1)
    ValueError: beta2 must be at least 0 and below 1, not 1
adam([w], [w], [], lr, epsilon=0)
    ValueError: epsilon must be a finite number above 0, not 0
decay_weights([w], [w], [], lr, update=0.9)
    TypeError: update must be a function, not 0.9
decay_weights([w], [w], [], lr, weight_decay=-1)
    ValueError: weight_decay must be a finite number of at least 0, not -1
decay_weights([w], [w], [], lr, weight_decay=10)
    ValueError: lr * weight_decay must be at least 0 and below 1, not 1.0
update_replicas(device_params, 0, lr)
    ValueError: batch_size must be a finite number above 0, not 0
batch_norm(arrays, arrays, arrays[:1])
    ValueError: shards, gammas and betas must each have an array for each
    device, but have 2, 2 and 1
batch_norm([], [], [])
    ValueError: shards, gammas and betas must each have an array for each
    device, but have 0, 0 and 0
batch_norm(arrays, arrays[:1], arrays)
    ValueError: shards, gammas and betas must each have an array for each
    device, but have 2, 1 and 2
batch_norm(arrays[:1], arrays, arrays)
    ValueError: shards, gammas and betas must each have an array for each
    device, but have 1, 2 and 2
batch_norm(arrays, arrays, arrays)
    TypeError: each shard must be an array of floats, of shape (examples,
    channels, ...), but shards[0] holds float32 and has the shape (3,)
batch_norm([np.ones((2, 3), dtype='int32')], arrays[:1], arrays[:1])
    TypeError: each shard must be an array of floats, of shape (examples,
    channels, ...), but shards[0] holds int32 and has the shape (2, 3)
batch_norm([np.ones((2, 4))], arrays[:1], arrays[:1])
    ValueError: gammas and betas must have the shape (4,), a number for each
    channel, not the shapes [(3,), (3,)]
batch_norm([np.ones((1, 3))], arrays[:1], arrays[:1])
    ValueError: batch normalization of a single example would return only
    zeros: give two or more
batch_norm([np.ones((1, 3))], arrays[:1], arrays[:1], sync=False)
    ValueError: batch normalization of a single example would return only
    zeros: give two or more on every device (here [1] numbers per channel), or
    synchronize the statistics
batch_norm([np.ones((2, 3))], arrays[:1], arrays[:1], epsilon=0)
    ValueError: epsilon must be a finite number above 0, not 0
train_batch_bn(X, y, bn_params, averages[:1], devices, lr)
    ValueError: X_shards, y_shards, device_params and device_averages must
    each have an entry for each device, but have 2, 2, 2 and 1
train_batch_bn(X, y, bn_params, averages[::-1], devices, lr)
    ValueError: the averages and parameters of a device are on cpu(0) and
    cpu(1): list both in the order of the devices
train_batch_bn(X, y, bn_params, averages[:1] * 2, devices, lr)
    ValueError: the averages and parameters of a device are on cpu(0) and
    cpu(1): list both in the order of the devices
train_batch_bn(X, y, bn_params, [own[1:] for own in averages], devices, lr)
    ValueError: each device needs two running averages for each layer: give 6,
    not 5
gradients_bn([X], [y], bn_params[:1], averages[:1], momentum=1)
    ValueError: momentum must be at least 0 and below 1, not 1
gradients_bn([X], [y], bn_params[:1], averages[:1], momentum=-1)
    ValueError: momentum must be at least 0 and below 1, not -1
gradients_bn([X], [y], bn_params[:1], averages[:1], momentum=onp.nan)
    ValueError: momentum must be at least 0 and below 1, not nan
gradients_bn([X], [y], bn_params[:1], averages[:1], momentum=None)
    TypeError: momentum must be a number, not None
gradients_bn([X], [y], bn_params, averages)
    ValueError: X_shards, y_shards, device_params and device_averages must
    each have an entry for each device, but have 1, 1, 2 and 2
split_by_shares(X, y, devices, [1, '2'])
    TypeError: shares must be numbers, not [1, '2']
split_by_shares(X, y, devices, [1, 0])
    ValueError: shares must be finite numbers above 0, one for each device, 2
    in all, not [1, 0]: leave out a device that should get nothing
split_by_shares(X, y, devices, [1, onp.nan])
    ValueError: shares must be finite numbers above 0, one for each device, 2
    in all, not [1, nan]: leave out a device that should get nothing
split_by_shares(X, y, devices, [1, onp.inf])
    ValueError: shares must be finite numbers above 0, one for each device, 2
    in all, not [1, inf]: leave out a device that should get nothing
split_by_shares(X, y, devices, [1])
    ValueError: shares must be finite numbers above 0, one for each device, 2
    in all, not [1]: leave out a device that should get nothing
split_by_shares(X, labels, devices, [1, 1])
    TypeError: y is a NumPy array, but an MXNet array is needed:
    mx.np.array(y)
split_by_shares(X, y[:3], devices, [1, 1])
    ValueError: 4 examples but 3 labels: X and y must have the same length, as
    X[rows] and y[rows] have
split_by_shares(X, y, devices[:1] * 2, [1, 1])
    ValueError: [cpu(0), cpu(0)] names a device twice: its replica would work
    on two shards, in turn; use distinct devices, as from try_devices
shard_sizes(1, [1, 1])
    ValueError: 1 example cannot be split over 2 devices: every device needs
    one; use fewer devices or a larger minibatch
split_by_shares(X, y, devices, [1, 2, 3])
    ValueError: shares must be finite numbers above 0, one for each device, 2
    in all, not [1, 2, 3]: leave out a device that should get nothing
split_by_shares(X[:1], y[:1], devices, [1, 2])
    ValueError: 1 example cannot be split over 2 devices: every device needs
    one; use fewer devices or a larger minibatch
train_batch_weighted(X, y, *tiny, lr, [1, 1], slowdowns=[1])
    ValueError: slowdowns must have an entry for each device: give 2, not 1
train_batch_weighted(X, y, *tiny, lr, [1, 1], slowdowns=[1, 0])
    ValueError: slowdowns[1] must be at least 1, not 0
train_batch_weighted(X, y, *tiny, lr, [1, 1], max_examples=[1])
    ValueError: max_examples must have an entry for each device: give 2, not 1
train_batch_weighted(X, y, *tiny, lr, [1, 1], slowdowns=[1, None])
    TypeError: slowdowns[1] must be an integer, not None
train_batch_weighted(X, y, *tiny, lr, [1, 1], max_examples=[0, None])
    ValueError: max_examples[0] must be at least 1, not 0
balanced_shares([1, -1], 8)
    ValueError: speeds must be finite numbers above 0, one for each device, 2
    in all, not [1, -1]: leave out a device that should get nothing
balanced_shares([1, 0], 8)
    ValueError: speeds must be finite numbers above 0, one for each device, 2
    in all, not [1, 0]: leave out a device that should get nothing
balanced_shares([1, onp.inf], 8)
    ValueError: speeds must be finite numbers above 0, one for each device, 2
    in all, not [1, inf]: leave out a device that should get nothing
balanced_shares([1, onp.nan], 8)
    ValueError: speeds must be finite numbers above 0, one for each device, 2
    in all, not [1, nan]: leave out a device that should get nothing
balanced_shares([1, '1'], 8)
    TypeError: speeds must be numbers, not [1, '1']
balanced_shares([], 8)
    ValueError: speeds must be finite numbers above 0, one for each device, 1
    in all, not []: leave out a device that should get nothing
balanced_shares([1], 2.5)
    TypeError: batch_size must be an integer, not 2.5
balanced_shares([1, 1], 8, [3])
    ValueError: capacities must have an entry for each device: give 2, not 1
balanced_shares([1, 1], 8, [0, None])
    ValueError: capacities[0] must be at least 1, not 0
balanced_shares([1, 1], 8, [20, 2.5])
    TypeError: capacities[1] must be an integer, not 2.5
balanced_shares([1, 1], 1)
    ValueError: 1 example cannot be split over 2 devices: every device needs
    one; use fewer devices or a larger minibatch
balanced_shares([1, 1], 8, [2, 3])
    ValueError: 8 examples cannot fit where the capacities are 5 in all: take
    a smaller minibatch, or accumulate gradients
adapt_shares([4, 4], [])
    ValueError: recent must have a list for one step or more, with the seconds
    of 2 devices in each, not []
adapt_shares([4, 4], [[1]])
    ValueError: recent must have a list for one step or more, with the seconds
    of 2 devices in each, not [[1]]
adapt_shares([4, 4], [[1, 0]])
    ValueError: recent[0][1] must be a finite number above 0, not 0
adapt_shares([4, 4], [[1, -1]])
    ValueError: recent[0][1] must be a finite number above 0, not -1
adapt_shares([4, 4], [[1, onp.inf]])
    ValueError: recent[0][1] must be a finite number above 0, not inf
adapt_shares([4, 4], [[1, '1']])
    TypeError: recent[0][1] must be a number, not '1'; use float('1')
adapt_shares([4, 4.0], [[1, 1]])
    TypeError: shares[1] must be an integer, not 4.0; use int(4.0)
adapt_shares([4, 4], [[1, 1]], capacities=[3, 4])
    ValueError: 8 examples cannot fit where the capacities are 7 in all: take
    a smaller minibatch, or accumulate gradients
adapt_shares([4, 4], [[1, 1]], margin=-1)
    ValueError: margin must be at least 0 and below 1, not -1
adapt_shares([4, 4], [[1, 1]], margin='0.1')
    TypeError: margin must be a number, not '0.1'; use float('0.1')
adapt_shares([4, 0], [[1, 1]])
    ValueError: shares[1] must be at least 1, not 0
adapt_shares([4, 4], [[1, 1]], margin=1)
    ValueError: margin must be at least 0 and below 1, not 1
mask_words([[3, 4]], 0, 10)
    TypeError: tokens must be a NumPy array of integers, as from encode, not
    [[3, 4]]
mask_words(onp.array([3, 4]), 0, 10)
    ValueError: tokens must have the shape (n, length), and a word, a number
    above 0, in every row, not [3, 4]
mask_words(onp.array([[3, 4], [0, 0]]), 0, 10)
    ValueError: tokens must have the shape (n, length), and a word, a number
    above 0, in every row, not [[3, 4], [0, 0]]
mask_words(onp.array([[3, 12]]), 0, 10)
    ValueError: tokens must be from 0 to 9, as vocab_size is 10, not 12
mask_words(onp.array([[3, 4]]), 0, 3)
    ValueError: vocab_size must be at least 4, not 3
mask_words(onp.array([[3, 4]]), 0, 10, fraction=1)
    ValueError: fraction must be at least 0 and below 1, not 1
transformer_scores(words, transformer[:1])
    ValueError: 1 parameter, but a transformer has 5 and 12 more for each
    layer: make them with init_transformer
transformer_scores(words[0], transformer)
    ValueError: X must have the shape (n, length) with at most 5 positions,
    not (5,): cut the rows, or give init_transformer a larger max_length
transformer_scores(np.ones((2, 6)), transformer)
    ValueError: X must have the shape (n, length) with at most 5 positions,
    not (2, 6): cut the rows, or give init_transformer a larger max_length
transformer_scores(words, transformer, num_heads=3)
    ValueError: num_heads must divide the width, 8, but 3 does not
transformer_scores(words, transformer, num_heads=0)
    ValueError: num_heads must be at least 1, not 0
# IV. Networks that do not fit
split_by_cost([1, 1], 3)
    ValueError: 2 layers cannot be split over 3 stages: every stage needs one;
    use fewer stages
split_by_cost([1, 1], 0)
    ValueError: k, the number of stages, must be at least 1, not 0
split_by_cost([1, -1], 2)
    ValueError: costs[1] must be a finite number of at least 0, not -1
split_by_cost([1, onp.nan], 2)
    ValueError: costs[1] must be a finite number of at least 0, not nan
split_by_cost([1, 'a'], 2)
    TypeError: costs[1] must be a number, not 'a'
split_by_cost([1, 1], 1.0)
    TypeError: k, the number of stages, must be an integer, not 1.0; use
        int(1.0)
split_layers(params[:7], devices)
    ValueError: params must have a weight and a bias for each layer: give 8,
    not 7
split_layers(params, devices, costs=[1, 2, 3])
    ValueError: costs must have a number for each layer: give 4, not 3
split_layers(params[:2], devices, layers[:1])
    ValueError: 1 layer cannot be split over 2 devices: every device needs
    one; use fewer devices
split_layers(params, devices, num_chunks=3)
    ValueError: 4 layers cannot be split over 6 stages: every stage needs one;
    use fewer stages
split_layers(params, devices, num_chunks=0)
    ValueError: num_chunks must be at least 1, not 0
split_layers(params, devices, num_chunks=1.5)
    TypeError: num_chunks must be an integer, not 1.5
split_layers(params, devices[:1] * 2)
    ValueError: [cpu(0), cpu(0)] names a device twice: its replica would work
    on two shards, in turn; use distinct devices, as from try_devices
split_layers(params, [mx.cpu(i) for i in range(5)])
    ValueError: 4 layers cannot be split over 5 devices: every device needs
    one; use fewer devices
pipeline_gradients(X, y[:3], stages)
    ValueError: 4 examples but 3 labels: X and y must have the same length, as
    X[rows] and y[rows] have
pipeline_gradients(X, y, stages, 5)
    ValueError: 4 examples cannot be split over 5 micro-batches: every
    micro-batch needs one; use fewer micro-batches
pipeline_gradients(X[:1], y[:1], stages, 2)
    ValueError: 1 example cannot be split over 2 micro-batches: every
    micro-batch needs one; use fewer micro-batches
pipeline_gradients(X, y, stages, 2.0)
    TypeError: num_micro_batches must be an integer, not 2.0; use int(2.0)
pipeline_gradients(X, y, stages, 0)
    ValueError: num_micro_batches must be at least 1, not 0
pipeline_gradients(X, y, stages, '2')
    TypeError: num_micro_batches must be an integer, not '2'; use int('2')
pipeline_gradients(X, y, stages, True)
    TypeError: num_micro_batches must be an integer, not True
pipeline_gradients(X, y, stages, 2, lambda p, m: gpipe_schedule(1, m))
    ValueError: a schedule must have a list of instructions for each stage:
    give 2, not 1
pipeline_gradients(X, y, stages, 2, lambda p, m: gpipe_schedule(p, 1))
    ValueError: the list of stage 0 has ('forward', 1) 0 times: it must have
    'forward' and 'backward' of micro-batches 0 to 1 once for each stage, and
    nothing else
pipeline_gradients(X, y, stages, 1, lambda p, m: gpipe_schedule(p, 2))
    ValueError: the list of stage 0 has ('forward', 1) 1 time: it must have
    'forward' and 'backward' of micro-batch 0 once for each stage, and nothing
    else
pipeline_gradients(X, y, stages, 2, lambda p, m: [Fs + Bs + Bs, Fs + Bs])
    ValueError: the list of stage 0 has ('backward', 0) 2 times: it must have
    'forward' and 'backward' of micro-batches 0 to 1 once for each stage, and
    nothing else
pipeline_gradients(X, y, stages, 2, lambda p, m: [Bs + Fs, Fs + Bs])
    ValueError: this schedule never ends, as stages wait forever: stage 0
    before ('backward', 0), stage 1 before ('forward', 0). A forward pass
    needs that of the stage before; a backward pass needs the forward pass of
    its stage and the backward pass of the next stage
pipeline_gradients(X, y, chunks, 2, lambda p, m: [Fs + Bs, Fs + Bs])
    ValueError: the list of stages 0 and 2 has ('forward', 0, 2) 0 times: it
    must have 'forward' and 'backward' of micro-batches 0 to 1 once for each
    stage, and nothing else
check_schedule([Fs + Is + Ws, Fs + Bs + Ws], 2, 2, 2)
    ValueError: the list of stage 1 has ('backward', 0) 1 time: it must have
    'forward', 'inputs' and 'weights' of micro-batches 0 to 1 once for each
    stage, and nothing else
interleaved_schedule(3, 4, 2)
    ValueError: the number of stages, 3, must be a multiple of the number of
    devices, 2, to be interleaved
interleaved_schedule(1, 2, 2)
    ValueError: the number of stages, 1, must be a multiple of the number of
    devices, 2, to be interleaved
interleaved_schedule(4, 3, 2)
    ValueError: the number of micro-batches, 3, must be a multiple of the
    number of devices, 2, to be interleaved
interleaved_schedule(4, 0, 2)
    ValueError: the number of micro-batches must be at least 1, not 0
interleaved_schedule(4, 4, 0)
    ValueError: num_devices must be at least 1, not 0
interleaved_schedule(4, 4, 2.0)
    TypeError: num_devices must be an integer, not 2.0; use int(2.0)
zero_bubble_schedule(2, 2, ahead=0)
    ValueError: ahead must be at least 1, not 0
zero_bubble_schedule(2, 2, ahead=1.5)
    TypeError: ahead must be an integer, not 1.5
shard_params([np.ones((1, 2)), np.ones(1), *params[6:]], devices)
    ValueError: 1 output cannot be split over 2 devices: every device needs
    one; use fewer devices
tensor_parallel_gradients(X, y, [params], layers[:2])
    ValueError: each device must have a weight and a bias for each of
    `layers`, and for the last layer: give 6, not 8
train_batch_replicated(X, y, *tiny, lr, [[]])
    ValueError: states must have a list for each device, as [[] for device in
    devices] has: give 2, not 1
train_batch_replicated(X, y, *tiny, lr, states, 'adam')
    TypeError: update must be a function, not 'adam'
train_batch_zero1(X, y, *tiny, lr, states, normalized)
    ValueError: normalized does not treat each number on its own, so it cannot
    update parts of parameters: use train_batch_replicated, or give the rule
    the argument norms, as lars has
train_batch_zero2(X, y, device_params[:1], devices, lr, states)
    ValueError: device_params must have a list for each device: give 2, not 1
train_batch_zero2(X, y, device_params, devices, lr, states, layers=layers[:2])
    ValueError: device_params must have a weight and a bias for each layer:
    give 4, not 8
train_batch_zero2(X, y, device_params[::-1], devices, lr, states)
    ValueError: an array of device_params lives on cpu(1), but belongs on
    cpu(0): list them in the order of the devices
gather_params([[shard[:2] for shard in own] for own in shards], [(3, 2)])
    ValueError: the shards of device 0 have sizes [2], but parameters of
    shapes [(3, 2)] on 2 devices need [3]: make them with scatter_params
train_batch_zero3(X, y, shards, devices, lr, states, [(3, 2)])
    ValueError: device_shards must have a weight and a bias for each layer:
    give 8, not 1
reshard([[w]], [[onp.array([0, 0, 2])]], [[w]], devices[:1])
    ValueError: the layout has no place 1, though it goes up to 2: make it
    with find_places, for all devices
reshard([[w]], [[onp.arange(2)]], [[onp.arange(3)]], devices[:1])
    ValueError: arrays of shapes [[(3,)]] do not fit the layout, which has
    [[(2,)]]: give find_places the function and devices of the split
reshard([[w]], [[onp.arange(3)]], [[onp.arange(2)]], devices[:1])
    ValueError: the new layout must have the places of the old one: give 3,
    not 2
clip_gradients([[w]], [[onp.arange(3)]], 0)
    ValueError: max_norm must be a finite number above 0, not 0
backward_recomputed(X, y, device_params[0], 5)
    ValueError: 4 layers cannot be split over 5 segments: every segment needs
    one; use fewer segments
backward_recomputed(X, y, device_params[0][:2], 1)
    ValueError: params must have a weight and a bias for each layer: give 8,
    not 2
backward_recomputed(X, y, device_params[0], 1.0)
    TypeError: num_segments must be an integer, not 1.0; use int(1.0)
backward_recomputed(X, y, device_params[0], 0)
    ValueError: num_segments must be at least 1, not 0
backward_recomputed(X, y, device_params[0], True)
    TypeError: num_segments must be an integer, not True
sequence_gradients(words, words[:, :2], replicas, devices)
    ValueError: y must have the shape of X, (2, 5), not (2, 2)
sequence_gradients(words, 0 * words, replicas, devices)
    ValueError: y has no words to predict, only 0, the padding: leave out such
    a minibatch
sequence_gradients(words + 9, words, replicas, devices)
    ValueError: X must be from 0 to 9, as params[0] has 10 rows, not 10
sequence_gradients(words, words, replicas, devices, 3)
    ValueError: num_heads must divide the width, 8, but 3 does not
sequence_gradients(words, words, replicas, devices, 0)
    ValueError: num_heads must be at least 1, not 0
sequence_gradients(words, words, replicas, devices, 2.0)
    TypeError: num_heads must be an integer, not 2.0; use int(2.0)
sequence_gradients(words, words, replicas[:1], devices)
    ValueError: 1 replica for 2 devices: make one on each device with
    get_params
sequence_gradients(words, words, replicas, devices[:1] * 2)
    ValueError: [cpu(0), cpu(0)] names a device twice: its replica would work
    on two shards, in turn; use distinct devices, as from try_devices
sequence_gradients(np.ones((2, 6)), np.ones((2, 6)), replicas, devices)
    ValueError: X must have the shape (n, length) with at most 5 positions,
    not (2, 6): cut the rows, or give init_transformer a larger max_length
sequence_gradients(*text, replicas, devices, split=at(None))
    TypeError: split must return NumPy arrays, not [None]
sequence_gradients(*text, replicas, devices, split=at([0, 1.0]))
    TypeError: split must return integers, not [[0.0, 1.0]]
sequence_gradients(*text, replicas, devices, split=at([0, 1]))
    ValueError: split must return an array for each device: give 2, not 1
sequence_gradients(*text, replicas, devices, split=at([2, 1], [0]))
    ValueError: split must return the positions of each device in ascending
    order, each once, not [[2, 1], [0]]
sequence_gradients(*text, replicas, devices, split=at([[0, 1]], [2]))
    TypeError: split must return integers, not [[[0, 1]], [2]]
sequence_gradients(*text, replicas, devices, split=at([0, 1], [2, 3], [4]))
    ValueError: split must return an array for each device: give 2, not 3
sequence_gradients(*text, replicas, devices, split=at([0, 1, 1], [2, 3, 4]))
    ValueError: split must return the positions of each device in ascending
    order, each once, not [[0, 1, 1], [2, 3, 4]]
sequence_gradients(*text, replicas, devices, split=at([0, 1, 2], [2, 3, 4]))
    ValueError: split must give each position from 0 to 4 to one device, not
    [[0, 1, 2], [2, 3, 4]]
sequence_gradients(*text, replicas, devices, split=at([0, 1, 2], [4]))
    ValueError: split must give each position from 0 to 4 to one device, not
    [[0, 1, 2], [4]]
sequence_gradients(*text, replicas, devices, split=at([0, 1], [2, 3, 4, 5]))
    ValueError: split must give each position from 0 to 4 to one device, not
    [[0, 1], [2, 3, 4, 5]]
sequence_gradients(*text, replicas, devices, split=at([-1, 0, 1], [2, 3]))
    ValueError: split must give each position from 0 to 4 to one device, not
    [[-1, 0, 1], [2, 3]]
sequence_gradients(*text, replicas, devices, split=at([0], [1]))
    ValueError: split must give each position from 0 to 4 to one device, not
    [[0], [1]]
expert_gradients(words[0], words[0], routers, experts, devices, 3)
    ValueError: num_choices must be at most the number of experts, 2, not 3
expert_gradients(words[0], words[0], routers, experts, devices, 0)
    ValueError: num_choices must be at least 1, not 0
expert_gradients(words[0], words[0], routers, experts, devices, 1.5)
    TypeError: num_choices must be an integer, not 1.5
expert_gradients(words[0], words[0, :2], routers, experts, devices)
    ValueError: 5 examples but 2 labels: X and y must have the same length, as
    X[rows] and y[rows] have
expert_gradients(words[0], words[0], routers, experts, devices[:1])
    ValueError: 2 replicas for 1 device: make one on each device with
    get_params
expert_gradients(*row, routers, experts, devices, capacity=0)
    ValueError: capacity must be at least 1, not 0
expert_gradients(*row, routers, experts, devices, capacity=-1)
    ValueError: capacity must be at least 1, not -1
expert_gradients(*row, routers, experts, devices, capacity=2.5)
    TypeError: capacity must be an integer, not 2.5
expert_gradients(*row, routers, experts, devices, alpha=-1)
    ValueError: alpha must be a finite number of at least 0, not -1
expert_gradients(*row, routers, experts, devices, alpha=onp.nan)
    ValueError: alpha must be a finite number of at least 0, not nan
expert_gradients(*row, routers, experts, devices, alpha=onp.inf)
    ValueError: alpha must be a finite number of at least 0, not inf
expert_gradients(*row, routers, experts, devices, alpha='0.1')
    TypeError: alpha must be a number, not '0.1'; use float('0.1')
expert_gradients(words[0], words[0], routers, experts[:1], devices)
    ValueError: the router, params[1], must have a row for each expert: give
    1, not 2
expert_gradients(words[0], words[0] + 9, routers, experts, devices)
    ValueError: y must be from 0 to 9, as params[0] has 10 rows, not 10
shard_mesh(transformer, devices, {'tensor': 2, 'data': 1})
    ValueError: mesh must be {'data': D, 'pipeline': P, 'tensor': T}, in this
    order, because ranks count so, not {'tensor': 2, 'data': 1}
shard_mesh(transformer, devices, mesh_of(1, 1, 0))
    ValueError: mesh['tensor'] must be at least 1, not 0
shard_mesh(transformer, devices, mesh_of(1, 1.5, 0))
    TypeError: mesh['pipeline'] must be an integer, not 1.5
shard_mesh(transformer, devices, {'data': 2})
    ValueError: mesh must be {'data': D, 'pipeline': P, 'tensor': T}, in this
    order, because ranks count so, not {'data': 2}
shard_mesh(transformer, devices, mesh_of(1, 1, 1))
    ValueError: devices must have a device for each rank of the mesh: give 1,
    not 2
shard_mesh(transformer, devices, mesh_of(1, 2, 1))
    ValueError: 1 layer cannot be split over 2 stages: every stage needs one;
    use fewer stages
shard_mesh(transformer, devices, mesh_of(1, 1, 2), num_heads=1)
    ValueError: 1 head cannot be split over 2 tensor ranks: every tensor rank
    needs one; use fewer tensor ranks
mesh_gradients(words, words, mesh_params, mesh_of(2, 2, 1))
    ValueError: device_params must have a list for each rank, from shard_mesh:
    give 4, not 2
mesh_gradients(words[0], words[0], mesh_params, mesh_of(1, 1, 2))
    ValueError: X must have the shape (n, length) with at most 5 positions,
    not (5,): cut the rows, or give init_transformer a larger max_length
mesh_gradients(np.ones((2, 6)), np.ones((2, 6)), mesh_params, mesh)
    ValueError: X must have the shape (n, length) with at most 5 positions,
    not (2, 6): cut the rows, or give init_transformer a larger max_length
mesh_gradients(words[:, :1], words[:, :1], short_params, mesh)
    ValueError: 1 position cannot be split over 2 tensor ranks: every tensor
    rank needs one; use fewer tensor ranks
mesh_gradients(words, words, short_params, mesh)
    ValueError: X must have the shape (n, length) with at most 1 position, not
    (2, 5): cut the rows, or give init_transformer a larger max_length
mesh_gradients(words, words[:1], mesh_params, mesh)
    ValueError: y must have the shape of X, (2, 5), not (1, 5)
mesh_gradients(words, 0 * words, mesh_params, mesh)
    ValueError: y has no words to predict, only 0, the padding: leave out such
    a minibatch
mesh_gradients(words, words, mesh_params, mesh, num_micro_batches=3)
    ValueError: 2 examples cannot be split over 3 micro-batches: every
    micro-batch needs one; use fewer micro-batches
mesh_gradients(words, words, mesh_params, mesh, num_micro_batches=0)
    ValueError: num_micro_batches must be at least 1, not 0
mesh_gradients(words, words + 9, mesh_params, mesh)
    ValueError: y must be from 0 to 9, as params[0] has 10 rows, not 10
mesh_gradients(words - 9, words, mesh_params, mesh)
    ValueError: X must be from 0 to 9, as params[0] has 10 rows, not -8
mesh_gradients(words, words, mesh_params, {'data': 2})
    ValueError: mesh must be {'data': D, 'pipeline': P, 'tensor': T}, in this
    order, because ranks count so, not {'data': 2}
mesh_gradients(*text, mesh_params, mesh, schedule=lambda p, m: [Bs + Fs])
    ValueError: this schedule never ends, as stages wait forever: stage 0
    before ('backward', 0). A forward pass needs that of the stage before; a
    backward pass needs the forward pass of its stage and the backward pass of
    the next stage
train_batch_mesh(*text, mesh_params, mesh, lr, [[]])
    ValueError: states must have a list for each device, as [[] for device in
    devices] has: give 2, not 1
train_batch_mesh(*text, mesh_params, mesh, lr, [[]] * 2)
    ValueError: two devices share one state, as in [[]] * 2: make one for
    each, [[] for device in devices]
train_batch_mesh(*text, mesh_params, mesh, lr, states, update=3)
    TypeError: update must be a function, not 3
train_batch_mesh(*text, mesh_params, mesh, lr, states, max_norm=0)
    ValueError: max_norm must be a finite number above 0, not 0
train_batch_mesh(*text, mesh_params, mesh, 0, states)
    ValueError: the learning rate lr must be a finite number above 0, not 0
train_batch_mesh(*text, mesh_params, mesh, lr, states, update=normalized)
    ValueError: normalized does not treat each number on its own, so it cannot
    update parts of parameters: use train_batch_replicated, or give the rule
    the argument norms, as lars has
hierarchical_allreduce(arrays, 3)
    ValueError: node_size must divide the number of arrays, 2, but 3 does not
hierarchical_allreduce(arrays, 0)
    ValueError: node_size must be at least 1, not 0
hierarchical_allreduce(arrays, 1.0)
    TypeError: node_size must be an integer, not 1.0; use int(1.0)
hierarchical_allreduce([], 1)
    ValueError: no arrays to sum: give one for each device
# V. Many cluster_of_2
train_on_cluster(1, 2, lr, checkpoint_every=0)
    ValueError: checkpoint_every must be at least 1, not 0
train_on_cluster(1, 2, lr, keep_every=2.5)
    TypeError: keep_every must be an integer, not 2.5
train_on_cluster(1, 2, lr, num_micro_batches=0)
    ValueError: num_micro_batches must be at least 1, not 0
train_on_cluster(1, 2, lr, max_norm=0)
    ValueError: max_norm must be a finite number above 0, not 0
train_on_cluster(1, 2, lr, speed='fast')
    TypeError: speed must be a number, not 'fast'
train_on_cluster(1, 2, lr, speed=1e-50)
    ValueError: speed, in float32, must be a finite number above 0, not 0.0
train_on_cluster(1, 2, lr, update=3)
    TypeError: update must be a function, such as adam, or None, not 3
train_on_cluster(1, 2, lr, allreduce=3)
    TypeError: allreduce must be a function, such as
    functools.partial(allreduce_processes, comm=comm), or None, not 3
train_on_cluster(1, 2, lr, schedule=0.1)
    TypeError: schedule must be a function, such as lambda step: 0.1, or None,
    not 0.1
train_on_cluster(1, 2, lr, net=None)
    TypeError: net must be a function, not None
train_on_cluster(1, 2, lr, momentum=0.9)
    TypeError: train_on_cluster has no argument 'momentum': the options are
    net, loss, update, num_micro_batches, max_norm, count
train_on_cluster(0, 2, 0.1, data=data)
    ValueError: num_devices must be at least 1, not 0
train_on_cluster('2', 2, 0.1, data=data)
    TypeError: num_devices must be an integer, not '2'; use int('2')
train_on_cluster(1, 2, lr, data=data, init=lambda seed: [])
    TypeError: init must return a list of MXNet arrays of float32, not []
train_on_cluster(1, 2, lr, data=data, schedule=lambda step: None)
    TypeError: schedule(0) must be a number, not None
train_on_cluster(1, 2, lr, data=data, schedule=lambda step: -1)
    ValueError: schedule(0) must be a finite number of at least 0, not -1.0
train_on_cluster(1, 2, lr, **small, count=lambda y: None)
    TypeError: count(y) must be a number, not None
train_on_cluster(1, 2, lr, **small, count=lambda y: -1)
    ValueError: count(y) must be a finite number of at least 0, not -1.0
train_on_cluster(1, 2, lr, **small, count=lambda y: onp.nan)
    ValueError: count(y) must be a finite number of at least 0, not nan
train_on_cluster(1, 2, lr, **small, update=rebinds)
    ValueError: rebinds does not move parameters of shape (784, 10): a rule
    update(params, grads, state, lr) changes params in place, as in param -=
    lr * grad, and fills an empty state itself
train_on_cluster(1, 2, lr, **small, update=counts_steps, checkpoints=folder)
    TypeError: the state of update must be a list of MXNet arrays, so that
    training resumes exactly, but has 1, of type int: make it an array, and
    update it in place
train_on_cluster(1, 2, lr, **small, loss=log_of_0)
    FloatingPointError: training diverged in step 0 of epoch 0, counted from
    0: params[0] of cpu(0), of shape (784, 10), is not finite. The norm of all
    parameters was 88.5 when this run began and 88.5 before this step. Likely,
    the gradients are not finite: the loss of this minibatch divides by 0 or
    takes the logarithm of 0. Nothing of this step was saved; earlier
    checkpoints stay
exchange(arrays[0], None)
    TypeError: exchange needs a NumPy array of numbers, not one of MXNet: use
    array.asnumpy()
exchange([1.0], None)
    TypeError: exchange needs a NumPy array of numbers, not list
exchange(onp.ones((4, 4))[:, 1], None)
    TypeError: exchange writes into the array, which must be contiguous and
    writable: use array.copy()
worker_rows(images, TwoWorkers(), [1, 0])
    ValueError: shares must be finite numbers above 0, one for each worker, 2
    in all, not [1, 0]: leave out a worker that should get nothing
worker_rows(images, TwoWorkers(), [1, onp.nan])
    ValueError: shares must be finite numbers above 0, one for each worker, 2
    in all, not [1, nan]: leave out a worker that should get nothing
worker_rows(images, TwoWorkers(), [1, onp.inf])
    ValueError: shares must be finite numbers above 0, one for each worker, 2
    in all, not [1, inf]: leave out a worker that should get nothing
worker_rows(images, TwoWorkers(), [1, '2'])
    TypeError: shares must be numbers, not [1, '2']
worker_rows(images, TwoWorkers(), [1, 2, 3])
    ValueError: shares must be finite numbers above 0, one for each worker, 2
    in all, not [1, 2, 3]: leave out a worker that should get nothing
worker_rows(images[:1], TwoWorkers())
    ValueError: 1 example cannot be split over 2 workers: every worker needs
    one; use fewer workers or a larger minibatch
check_same_start(TwoWorkers(0), state, plan)
    ValueError: the workers have different networks: init must return arrays
    of the same shapes in all; here they are [[2]]
check_same_start(TwoWorkers(1), state, plan)
    ValueError: the workers were started with different arguments: only
    num_devices and speed may differ; here they are {"num_epochs": 1,
    "shapes": [[2]]}
check_same_start(TwoWorkers(2), state, plan)
    ValueError: the workers found different checkpoints in FOLDER: give a
    folder that all hosts share
check_same_start(TwoWorkers(4), state, plan)
    ValueError: the workers compute different things: net, loss, count and
    update must be the same in all
load_checkpoint(damaged.parent)
    ValueError: no checkpoint in FOLDER is whole: remove its files to start
    over, or give another folder
load_checkpoint(written, {'lr': 0.2})
    ValueError: FOLDER/checkpoint-000000-00000000.npz was written with lr =
    0.1, this run has 0.2: use the same to resume exactly, or another folder
    to start over
load_checkpoint(written, {'lr': 0.1, 'workers': 2})
    ValueError: FOLDER/checkpoint-000000-00000000.npz was written with workers
    = 1, this run has 2: use the same to resume exactly, or another folder to
    start over, or elastic=True to go on with sums that are rounded
    differently
save_checkpoint(folder, Checkpoint([w / 0]))
    FloatingPointError: after step 0 of epoch 0, params[0], of shape (3,), has
    numbers that are not finite: nothing was saved, and earlier checkpoints
    stay; a learning rate that is too large is a likely cause
save_checkpoint(file, Checkpoint([w]))
    FileExistsError: [Errno 17] FOLDER/file/checkpoint-000000-00000000.npz
    could not be written (File exists); make room, or give another folder
read_whole(folder)
    ValueError: FOLDER is not a file
read_whole(absent)
    ValueError: FOLDER/absent is gone
read_whole(loop)
    OSError: [Errno 40] FOLDER/loop cannot be read (Too many levels of symbolic
    links), and may be whole: get permission to read it or repair the disk; to
    resume from an earlier one, move it away
check_start(not_finite, plan)
    FloatingPointError: params[0], of shape (1,), is not finite before the
    first step: init has returned it
read_whole(file)
    ValueError: FOLDER/file is not a checkpoint
read_whole(damaged)
    ValueError: FOLDER/checkpoint-000000-00000000.npz is damaged, or not a
    checkpoint
claim_checkpoints(file)
    FileExistsError: [Errno 17] no checkpoint can be written in FOLDER/file
    (File exists): change its permissions, or give another folder
[claim_checkpoints(folder) for _ in 'ab']
    BlockingIOError: [Errno 11] no checkpoint can be written in FOLDER
    (Resource temporarily unavailable): another job writes there: wait until
    it ends, or give another folder
# VII. Judgment
allreduce_seconds('rings', 4, 1, 0, 1)
    ValueError: algorithm must be one of star, direct, ring, tree,
    halving-doubling, servers, not 'rings'
allreduce_seconds('ring', 0, 1, 0, 1)
    ValueError: k must be at least 1, not 0
allreduce_seconds('ring', 2.5, 1, 0, 1)
    TypeError: k must be an integer, not 2.5
allreduce_seconds('ring', 4, -1, 0, 1)
    ValueError: num_bytes must be a finite number of at least 0, not -1
allreduce_seconds('ring', 4, '1', 0, 1)
    TypeError: num_bytes must be a number, not '1'; use float('1')
allreduce_seconds('ring', 4, 1, -1, 1)
    ValueError: alpha must be a finite number of at least 0, not -1
allreduce_seconds('servers', 4, 1, 0, 1, 0)
    ValueError: num_servers must be at least 1, not 0
hierarchical_seconds(9, 2, 1, (0, 1), (0, 1))
    ValueError: group must divide the number of devices, 9, but 2 does not
expected_slowest([], 2)
    ValueError: times is empty: give at least one entry
expected_slowest([1], 0)
    ValueError: k must be at least 1, not 0
simulate_allreduce('halving-doubling', [0, 0, 0], 1, 0, 1)
    ValueError: the simulation of halving-doubling needs a power of two, not 3
    devices: take another k, or another algorithm
simulate_allreduce('ring', [], 1, 0, 1)
    ValueError: k must be at least 1, not 0
step_seconds(1, 2, [], Machine(1, 1, 0, 0))
    ValueError: 1 example cannot be split over 2 devices: every device needs
    one; use fewer devices or a larger minibatch
step_seconds(4, 2, [], Machine(-1, 1, 0, 0))
    ValueError: fixed must be a finite number of at least 0, not -1
step_seconds(4, 2, [], Machine(1, 1, 0, 0, at_once=0))
    ValueError: at_once must be at least 1, not 0
step_seconds(4, 2, [], Machine(1, 1, 0, 0, at_once='2'))
    TypeError: at_once must be a number, not '2'; use float('2')
step_seconds(4, 2, [], Machine(1, 1, 0, 0, overlap=2))
    ValueError: overlap must be from 0 to 1, not 2
step_seconds(4, 2, [], Machine(1, 1, 0, 0, times=(1, -1)))
    ValueError: times[1] must be a finite number of at least 0, not -1
checkpoint_interval(0, 1)
    ValueError: mtbf must be a finite number above 0, not 0
checkpoint_interval('1', 1)
    TypeError: mtbf must be a number, not '1'; use float('1')
run_seconds(1, 1, 100, 1, 1)
    ValueError: an attempt of 102 s would hardly ever end with a failure every
    1 s: save checkpoints more often
simulate_failures(1, 1, 100, 1, 1)
    ValueError: an attempt of 102 s would hardly ever end with a failure every
    1 s: save checkpoints more often
run_seconds(1, 1, -1, 1, 1)
    ValueError: interval must be a finite number above 0, not -1
run_seconds(1, 1, 1, 1, -1)
    ValueError: restart_seconds must be a finite number of at least 0, not -1
gpt_network(1e3, 2, 8, 2, 4, 200)
    ValueError: num_params must be above 1600, those of the embedding and the
    scores, not 1000.0
gpt_network(1e4, 0, 8, 2, 4, 10)
    ValueError: num_layers must be at least 1, not 0
gpt_network(1e4, 2, 8, 2, 4, 10, kv_heads=3)
    ValueError: kv_heads must be at most heads, 2, not 3
gpt_network(1e4, 2, 8, 2, 4, 10, dtype='float16')
    ValueError: dtype must be one of bf16, fp8, not 'float16'
gpt_network(1e4, 2, 8, 2, 4, 10, num_experts=2, choices=3)
    ValueError: choices must be at most num_experts, 2, not 3
gpt_network(onp.inf, 2, 8, 2, 4, 10)
    ValueError: num_params must be a finite number above 0, not inf
gpt_layer(0, 8, 2, 4)
    ValueError: num_params must be a finite number above 0, not 0
find_plans(Network(()), cluster_of_2, 4, 4)
    ValueError: network.layers is empty: give at least one entry
find_plans(gpt, cluster_of_2._replace(inside=0), 4, 4)
    ValueError: inside must be above 0, not 0
find_plans(gpt, cluster_of_2._replace(node=0), 4, 4)
    ValueError: node must be at least 1, not 0
find_plans(gpt, cluster_of_2, 4, 4, recompute=())
    ValueError: recompute is empty: give at least one entry
find_plans(gpt, cluster_of_2, 0, 4)
    ValueError: num_devices must be at least 1, not 0
find_plans(gpt, cluster_of_2, 4, 4, chunks=())
    ValueError: chunks is empty: give at least one entry
find_plans(gpt, cluster_of_2, 4, 4, recompute=(3,))
    ValueError: recompute must have only 0 (nothing), 1 (selectively) or 2
    (all), not (3,)
find_plans(gpt, cluster_of_2, 4, 4, chunks=(1, 0))
    ValueError: chunks[1] must be at least 1, not 0
find_plans(gpt, cluster_of_2, 4, 4, most=0)
    ValueError: most must be at least 1, not 0
plan_costs(gpt, cluster_of_2, Degrees(dp=5), 4)
    ValueError: dp * ep * micro_batches must divide batch_size, 4, but 5 does
    not
plan_costs(gpt, cluster_of_2, Degrees(2, micro_batches=3), 4)
    ValueError: dp * ep * micro_batches must divide batch_size, 4, but 6 does
    not
plan_costs(gpt, cluster_of_2, Degrees(pp=2, chunks=3, micro_batches=2), 4)
    ValueError: 2 layers do not fill 3 chunks on each of 2 devices: take fewer
    chunks
plan_costs(gpt, cluster_of_2, Degrees(dp=0.5), 4)
    TypeError: dp must hold integers, not float64
plan_costs(gpt, cluster_of_2, Degrees(zero=4), 4)
    ValueError: zero must be from 0 to 3, not 4
plan_costs(gpt, cluster_of_2, Degrees(chunks=0), 4)
    ValueError: chunks must be at least 1, not 0
plan_costs(gpt, cluster_of_2, Degrees(tp=3), 4)
    ValueError: tp must divide the number of heads, 2, but 3 does not
plan_costs(few_keys, cluster_of_2, Degrees(tp=6), 4)
    ValueError: tp must divide the number of key heads or be a multiple of it,
    4, not 6
plan_costs(gpt, cluster_of_2, Degrees(cp=3), 4)
    ValueError: cp must divide the words of a sequence, 4, but 3 does not
plan_costs(gpt, cluster_of_2, Degrees(cp=2), 4)
    ValueError: cp must leave at least 8192 words of a sequence on each
    device, but 2 leaves 2
plan_costs(gpt, cluster_of_2, Degrees(ep=0), 4)
    ValueError: ep must be at least 1, not 0
plan_costs(gpt, cluster_of_2, Degrees(ep=3), 4)
    ValueError: ep must divide the number of experts, 4, but 3 does not
plan_costs(dense, cluster_of_2, Degrees(ep=onp.array([1, 2])), 4)
    ValueError: ep must divide the number of experts, 1, but 2 does not
plan_costs(gpt, cluster_of_2, Degrees(pp=3), 4)
    ValueError: pp must be at most the number of layers, 2, not 3
plan_costs(gpt, cluster_of_2, Degrees(pp=2, micro_batches=3, chunks=2), 4)
    ValueError: with more than one chunk, micro_batches must be a multiple of
    pp, 2, not 3
"""

# NumPy's integers and numbers are as good as Python's: I and F make them.
VALID = """
try_devices(two)
split_slices(I(4), onp.int32(2))
init_params(I(3), F(0.1))
Minibatches(images, labels, two, onp.int32(1), I(10))
train_batch(X, y, device_params, devices, F(0.1))
train(one, two, F(0.1), one, onp.int32(0), data=data)
exchange_compressed(arrays, {}, lambda *args: top_k(*args, F(0.5)))
exchange_compressed(arrays, {}, lambda *args: two_bit(*args, F(0.5)))
exchange_compressed(matrices, {}, lambda *args: power_sgd(*args, one))
average_params(device_params, [F(1), two])
warmup(two, F(0.1), I(10), F(0.01))
warmup_and_decay(two, F(0.1), I(3), I(10), F(2))
linear_scaling(F(0.1), I(256), I(128))
train_batch_accumulated(X, y, device_params, devices, F(0.1), two)
sgd_momentum([w], [w], [], F(0.1), F(0.9))
adam([w], [w], [], F(0.1), F(0.9), F(0.999), F(1e-8))
lars([w], [w], [], F(0.1), F(0.9), F(0.02), [[F(1)], [F(1)]])
decay_weights([w], [w], [], F(0.1), weight_decay=F(0.1))
batch_norm(matrices, arrays, arrays, epsilon=F(1e-5))
split_by_shares(X, y, devices, [one, F(2)])
train_batch_weighted(X, y, device_params, devices, F(0.1), [one, F(2)])
train_batch_weighted(X, y, device_params, devices, lr, [1, 1], [one, one])
balanced_shares([F(1), two], I(8), [I(8), None])
adapt_shares([I(4), I(4)], [[F(1), F(2)]] * 5, F(0.1))
mask_words(onp.array([[3, 4]]), I(0), I(10), F(0.2))
transformer_scores(words, transformer, I(4))
split_by_cost([F(1), two], two)
split_layers(params, devices, num_chunks=two)
pipeline_gradients(X, y, stages, two)
interleaved_schedule(I(4), I(4), two)
zero_bubble_schedule(two, I(4), two)
train_batch_zero1(X, y, device_params, devices, F(0.1), states)
clip_gradients([[np.ones(3)]], [[onp.arange(3)]], F(0.5))
backward_recomputed(X, y, device_params[0], two)
sequence_gradients(words, words, replicas, devices, I(4))
expert_gradients(words[0], words[0], routers, experts, devices, two, two)
expert_gradients(words[0], words[0], routers, experts, devices, 1, 1, F(0.1))
shard_mesh(transformer, devices, mesh_of(one, one, two), I(4))
train_batch_mesh(*text, mesh_params, mesh, F(0.1), states, I(4), two)
train_batch_mesh(*text, mesh_params, mesh, lr, states, max_norm=F(1))
hierarchical_allreduce(arrays, two)
train_on_cluster(one, two, F(0.1), one, one, speed=F(2), **small)
train_on_cluster(1, 2, lr, 1, num_micro_batches=two, max_norm=F(1), **small)
train_on_cluster(1, 2, lr, 1, **small, checkpoints=folder, keep_every=two)
train_on_cluster(1, 2, lr, 1, **small, schedule=lambda step: F(0.1))
train_on_cluster(1, 2, lr, 1, **small, count=lambda y: two)
train_on_cluster(1, 2, lr, 1, **small, evaluate=lambda *args: F(0.5))
save_checkpoint(folder, Checkpoint([w], I(0), one), two)
allreduce_seconds('servers', I(4), I(8), F(0), F(1), two)
hierarchical_seconds(I(8), two, one, (F(0), F(1)), (F(0), F(1)))
expected_slowest([F(1), two], two)
step_seconds(I(4), two, [I(8)], Machine(F(1), F(1), F(0), F(0), at_once=two))
simulate_allreduce('ring', onp.zeros(3), one, F(0), F(1))
checkpoint_interval(F(10), F(1))
run_seconds(F(10), F(9), one, F(1), one)
simulate_failures(F(10), F(9), one, F(1), one, I(0))
gpt_network(I(10000), two, I(8), two, I(4), I(10), kv_heads=one)
gpt_network(F(1e4), 2, 8, 2, 4, 10, num_experts=two, choices=one)
find_plans(gpt, cluster_of_2, I(4), I(4), chunks=[one], most=two)
find_plans(gpt, cluster_of_2._replace(node=two, flops=F(1e9)), 4, 4)
plan_costs(gpt, cluster_of_2, Degrees(two, one, two), I(4))
"""


class TwoWorkers:
    """Two workers; the other one gives another number in one of the columns
    that are compared."""

    rank, size = 0, 2

    def __init__(self, column=0):
        self.column = column

    def gather(self, values):
        table = onp.array([values, values], float)
        table[1, self.column] += 1
        return table


def rebinds(params, grads, state, lr):
    params = [param - lr * grad for param, grad in zip(params, grads)]


def counts_steps(params, grads, state, lr):
    state[:] = [1]
    for param, grad in zip(params, grads):
        param -= lr * grad


def normalized(params, grads, state, lr):
    for param, grad in zip(params, grads):
        param -= lr * grad / large_batch.norm([grad])


def mesh_of(data, pipeline, tensor):
    return {'data': data, 'pipeline': pipeline, 'tensor': tensor}


def at(*parts):
    """Return a way to split that gives these positions to the devices."""
    return lambda length, k: [part and onp.array(part) for part in parts]


def init_linear(seed=0):
    return [np.ones((784, 10))]


def linear(X, params):
    return np.dot(X.reshape(-1, 784), params[0])


def fails(X, params):
    raise ZeroDivisionError


def log_of_0(y_hat, y):
    return np.log(0 * y_hat).sum(axis=1)


CHAPTERS = [
    check_schedules,
    checkpoint_files,
    checks,
    resume,
    d2lmulti.data,
    d2lmulti.devices,
    compression,
    large_batch,
    sync_batch_norm,
    heterogeneous,
    model_parallel,
    cluster,
    planner,
    scaling,
]
DEVICES = [mx.cpu(0), mx.cpu(1)]
IMAGES, LABELS = onp.ones((4, 1, 28, 28), 'float32'), onp.arange(4)
DATA = (IMAGES, LABELS, IMAGES, LABELS)
MATRIX = np.ones((3, 2))
EXPERT = [np.ones((8, 4)), np.ones(8), np.ones((4, 8)), np.ones(4)]
ROUTER = [np.ones((10, 4)), np.ones((2, 4)), np.ones(2), np.ones(10)]
SETTINGS = {'shapes': [[2]], 'tried loss': [1.0], 'tried update': [0.0]}


def on_each(arrays):
    return [d2lmulti.get_params(arrays, device) for device in DEVICES]


def make_transformer(max_length=5):
    return d2lmulti.init_transformer(0, 10, max_length, 8)


def make_mesh(max_length=5):
    return d2lmulti.shard_mesh(
        make_transformer(max_length), DEVICES, mesh_of(1, 1, 2)
    )


def make_stages(num_chunks=1):
    params = d2lmulti.init_params()
    return d2lmulti.split_layers(params, DEVICES, num_chunks=num_chunks)


# The names that lines use: those that are the same for all of them, ...
NAMES = {
    **{n: value for module in CHAPTERS for n, value in vars(module).items()},
    **{name: getattr(d2lmulti, name) for name in d2lmulti.__all__},
    **{'layers': model_parallel.LENET, 'lr': 0.1},
    **{'images': IMAGES, 'labels': LABELS, 'devices': DEVICES},
    **{'data': DATA, 'I': onp.int64},
    **{'F': onp.float32, 'one': onp.int64(1), 'two': onp.int64(2)},
    'small': {'init': init_linear, 'net': linear, 'data': DATA},
    **{
        f'{phase[0].upper()}s': [(phase, 0), (phase, 1)]
        for phase in ('forward', 'backward', 'inputs', 'weights')
    },
    'cluster_of_2': d2lmulti.Cluster(1e9, 1e9, 1e9, 1e9, 2),
    'gpt': d2lmulti.gpt_network(1e4, 2, 8, 2, 4, 10, num_experts=4),
    'dense': d2lmulti.gpt_network(1e4, 2, 8, 2, 4, 10),
    'few_keys': d2lmulti.gpt_network(1e5, 2, 12, 12, 4, 10, kv_heads=4),
    'mesh': mesh_of(1, 1, 2),
    **globals(),
}

# ... those that are made for a line, ...
MADE = {
    'X': lambda: np.array(IMAGES),
    'y': lambda: np.array(LABELS, dtype='int32'),
    'params': d2lmulti.init_params,
    'device_params': lambda: on_each(d2lmulti.init_params()),
    'tiny': lambda: (on_each([MATRIX]), DEVICES),
    'states': lambda: [[], []],
    'arrays': lambda: [np.ones(3, ctx=device) for device in DEVICES],
    'parts': lambda: [np.ones(2), np.ones(1, ctx=DEVICES[1])],
    'matrices': lambda: [MATRIX.copyto(device).T for device in DEVICES],
    'w': lambda: onp.ones(3),
    'bn_params': lambda: on_each(sync_batch_norm.init_params_bn()[0]),
    'averages': lambda: on_each(sync_batch_norm.init_params_bn()[1]),
    'stages': make_stages,
    'chunks': lambda: make_stages(2),
    'shards': lambda: d2lmulti.scatter_params([MATRIX], DEVICES),
    'words': lambda: np.ones((2, 5), dtype='int32'),
    'text': lambda: [np.ones((2, 5), dtype='int32') for _ in 'Xy'],
    'row': lambda: [np.ones(5, dtype='int32') for _ in 'Xy'],
    'transformer': make_transformer,
    'replicas': lambda: on_each(make_transformer()),
    'routers': lambda: on_each(ROUTER),
    'experts': lambda: [EXPERT, [array.copy() for array in EXPERT]],
    'mesh_params': make_mesh,
    'short_params': lambda: make_mesh(1),
    'state': lambda: d2lmulti.Checkpoint([], settings=SETTINGS),
    'not_finite': lambda: d2lmulti.Checkpoint([np.array([onp.nan])]),
}


# ... and those in the temporary folder.
def make_file(folder):
    (folder / 'file').write_text('text')
    return folder / 'file'


def make_loop(folder):
    path = folder / 'loop'
    path.symlink_to(path)
    return path


def make_damaged(folder):
    path = d2lmulti.save_checkpoint(folder, d2lmulti.Checkpoint([]))
    path.write_bytes(path.read_bytes()[:-1] + b'!')
    return path


def make_written(folder):
    settings = {'lr': 0.1, 'workers': 1}
    d2lmulti.save_checkpoint(
        folder, d2lmulti.Checkpoint([onp.ones(3)], settings=settings)
    )
    return folder


IN_FOLDER = {
    'folder': lambda folder: folder,
    'absent': lambda folder: folder / 'absent',
    'file': make_file,
    'damaged': make_damaged,
    'loop': make_loop,
    'written': make_written,
    'plan': lambda folder: resume.Plan(
        1, 0.1, None, False, False, folder, 1, None, {}
    ),
}


def run(line):
    """Run a line of the tables; return the folder's name."""
    words = re.findall(r'\w+', line)
    names = {**NAMES, **{w: MADE[w]() for w in words if w in MADE}}
    with tempfile.TemporaryDirectory() as folder:
        for word in words:
            if word in IN_FOLDER:
                names[word] = IN_FOLDER[word](pathlib.Path(folder))
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            try:
                eval(line, names)
                npx.waitall()
            except Exception as error:
                error.folder = folder
                raise


def read(table):
    """Return (line, its error or None) for each line of a table."""
    lines = re.sub(r'\n    +', '\n    ', table.strip()).split('\n')
    rows = []
    for line in lines:
        if line.startswith('    '):
            rows[-1].append(line.strip())
        elif line and not line.startswith('#'):
            rows.append([line])
    return [(line, ' '.join(error)) for line, *error in rows]


@functools.lru_cache(maxsize=None)
def outcome(line):
    """Return the error of a line, as Python prints it, and where it and those
    that led to it were raised: (file, line) each."""
    try:
        run(line)
    except Exception as error:
        text = f'{type(error).__name__}: {error}'
        return text.replace(error.folder, 'FOLDER'), places_of(error)
    return 'no error', set()


def places_of(error):
    found = set()
    while error is not None:
        *_, (frame, line) = traceback.walk_tb(error.__traceback__)
        found.add((frame.f_code.co_filename, line))
        error = error.__context__
    return found


@pytest.mark.parametrize('line, error', read(TABLE))
def test_the_whole_message(line, error):
    assert outcome(line)[0] == error


@pytest.mark.parametrize('line', [line for line, _ in read(VALID)])
def test_numbers_of_numpy_are_numbers(line):
    run(line)


MODULES = [
    check_data,
    check_rules,
    check_values,
    checks,
    check_schedules,
    checkpoint,
    checkpoint_files,
    resume,
    same_training,
    communication_checks,
    learning_checks,
    model_parallelism_checks,
    cluster_checks,
    judgment_checks,
]


def raises_of(module):
    """Return (file, lines) for each `raise` in a module."""
    text = pathlib.Path(module.__file__).read_text()
    return [
        (module.__file__, range(node.lineno, node.end_lineno + 1))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Raise)
    ]


def reached_by_raw_data():
    for call, change, *_ in test_raw_data.TABLE:
        names = test_raw_data.prepare(call, change)
        try:
            test_raw_data.run(call, names)
        except Exception as error:
            yield from places_of(error)


def test_each_raise_of_the_checks_has_a_line():
    reached = {place for line, _ in read(TABLE) for place in outcome(line)[1]}
    reached.update(reached_by_raw_data())
    missing = [
        f'{path}:{lines[0]}'
        for module in MODULES
        for path, lines in raises_of(module)
        if not any((path, line) in reached for line in lines)
    ]
    assert not missing
