"""Mutants that are as right as the original, and why."""

import collections

# Of the exercises' solutions.
SOLUTIONS = collections.defaultdict(
    dict,
    {
        '01_devices 1': dict.fromkeys(
            (
                'np.ones(shape, ctx=mx.cpu(i)) * 0.01 -> '
                'np.ones(shape, ctx=mx.cpu(i)) / 0.01',
                'np.ones(shape, ctx=mx.cpu(i)) * 0.01 -> '
                'np.ones(shape, ctx=mx.cpu(i))',
                *('0.01 -> -0.99', '0.01 -> 1.01', '0.01 -> 0.02'),
            ),
            'only the time is asked for, whatever the numbers are',
        ),
        '03_replicas 1': {
            'for array in data: -> for array in list(data)[:1]:': (
                'allreduce refuses arrays of more than one dtype'
            )
        },
        '03_replicas 3': dict.fromkeys(
            ('0 -> -1', '0 -> 1', '1 -> 2', '1 -> 0'),
            'any two different numbers show a change',
        ),
        '05_training 3': {
            'param.asnumpy() - right -> right - param.asnumpy()': (
                'only the absolute value is used'
            )
        },
        '07_gluon 2': {
            ' for param in net.collect_params().values() if param.grad_req != '
            "'null' ->  for param in net.collect_params().values()": (
                'LeNet has no running statistics'
            ),
            **dict.fromkeys(
                ('0 -> 1', '0 -> -1'),
                'after allreduce_grads, all devices hold the sum',
            ),
            **dict.fromkeys(
                (
                    '1e-12 -> 2e-12',
                    '1e-12 -> 1.000000000001',
                    '1e-12 -> -0.999999999999',
                ),
                'it is there for gradients of zero; norms of sums exceed 1',
            ),
        },
        '08_collectives 1': {
            '(i - 1 - step) % k -> i - 1 - step': (
                'an index below 0 counts from the end of k slices'
            )
        },
        '08_collectives 2': {
            'first // gap -> first / gap': 'first is a multiple of gap'
        },
        '12_sync_batch_norm 1': {
            'm - mean -> mean - m': 'only the square is used'
        },
        '13_heterogeneous 3': dict.fromkeys(
            (
                *('len(speeds) - 1 -> len(speeds) + 1', '1 -> 0', '1 -> 2'),
                'len(speeds) - 1 -> len(speeds)',
            ),
            'one more device costs one more exchange in any case',
        ),
        '14_transformer 3': dict.fromkeys(
            ('0 -> 1', '0 -> -1', '-lengths[i] -> lengths[i]'),
            'the device with fewest words is next, so none gets more than '
            'the mean and a sentence, in any order',
        ),
        '16_sharding 1': {'1 -> 0': 'rounding up gives at least 1'},
        '17_sequences_experts 2': dict.fromkeys(
            ('0 -> 1', '0 -> -1'),
            'in every step some device has something to compute, or its '
            'first position would come after the last of the one before, '
            'all around the ring',
        ),
        '18_mesh 2': {'0 -> -1': 'any replica, and any rank of a stage'},
        '20_hangs 1': dict.fromkeys(
            ('0 -> -1', '1 -> 2'),
            'a worker without records stays below all others, or is alone',
        ),
        '20_hangs 2': {'0 -> -1': 'the first of one worker is the last'},
        **dict.fromkeys(
            ('23_scaling 1', '24_planner 1'),
            dict.fromkeys(
                ('9 -> 8', '9 -> 10'), 'other digits that floats do not hold'
            ),
        ),
        '23_scaling 3': dict.fromkeys(
            ('86400 -> 86401', '86400 -> 86399'),
            'ten times as near as the check asks for',
        ),
        '24_planner 3': {
            '2.5 * 2 * sequences * heads / tp -> '
            '2.5 * 2 * sequences * heads // tp': 'tp divides the heads'
        },
        '26_bugs 1': {
            'found - factor * right -> factor * right - found': (
                'only the absolute value is used'
            )
        },
        '26_bugs 2': {
            "result.astype('float64') - exact -> "
            "exact - result.astype('float64')": (
                'only the absolute value is used'
            )
        },
        '27_gpu_or_cpu 3': {
            '0 -> -1': 'only the larger of it and the seconds counts'
        },
    },
)

# Of the functions of modules.
ANY_NUMBER = 'any number will do: it is what was chosen'
FUNCTIONS = {
    'replicas.allreduce': {
        'total += array.copyto(total.ctx) -> '
        'total += array.as_in_ctx(total.ctx)': (
            'of two arrays on one device, none is written to'
        ),
        'total.copyto(array) -> total.as_in_ctx(array)': (
            'an array is no device, so it is copied to'
        ),
        **dict.fromkeys(
            (
                'for array in data[1:]: -> for array in data:',
                'for array in data[1:]: -> for array in data[0:]:',
            ),
            'the second loop may copy the sum onto itself',
        ),
    },
    'devices.median_seconds': dict.fromkeys(
        (
            'def median_seconds(work, num_runs=5): -> '
            f'def median_seconds(work, num_runs={n}):'
            for n in (4, 6, 10)
        ),
        ANY_NUMBER,
    ),
    'devices.record_copies': {
        'itemsize = onp.dtype(array.dtype).itemsize -> '
        'itemsize = array.dtype.itemsize': "MXNet's dtypes are NumPy's"
    },
    'network.init_params': {
        'return layer((20, 1, 3, 3), 1 * 3 * 3, 20) + layer((50, 20, 5, 5), '
        '20 * 5 * 5, 50) + layer((800, 128), 800, 128) + layer((128, 10), '
        '128, 10) -> return layer((20, 1, 3, 3), 3 * 3, 20) + layer((50, 20, '
        '5, 5), 20 * 5 * 5, 50) + layer((800, 128), 800, 128) + layer((128, '
        '10), 128, 10)': 'one channel',
        **dict.fromkeys(
            (
                "return [np.array(W, dtype='float32', ctx=mx.cpu()), "
                "np.zeros(num_outputs, dtype='float32', ctx=mx.cpu())] -> "
                + rest
                for rest in (
                    'return [np.array(W, ctx=mx.cpu()), '
                    "np.zeros(num_outputs, dtype='float32', ctx=mx.cpu())]",
                    "return [np.array(W, dtype='float32', ctx=mx.cpu()), "
                    'np.zeros(num_outputs, ctx=mx.cpu())]',
                )
            ),
            "float32 is MXNet's default",
        ),
    },
    'network.rounding_ratio': dict.fromkeys(
        (
            'spreads = [abs(other - right).max(initial=0) for other in '
            'others] -> spreads = [abs(other - right).max(initial=-1) for '
            'other in others]',
            'spreads = [abs(other - right).max(initial=0) for other in '
            'others] -> spreads = [abs(right - other).max(initial=0) for '
            'other in others]',
            'ratios.append(abs(array - right).max(initial=0) / spread if '
            'onp.isfinite(spread) else onp.nan) -> ratios.append(abs(right - '
            'array).max(initial=0) / spread if onp.isfinite(spread) else '
            'onp.nan)',
        ),
        'a spread is an absolute value, and the floor is at least as large',
    ),
    'causes.seconds_to_load': {
        'return (seconds / len(batches), max(batches, key=lambda b: '
        'len(b[0]))) -> return (seconds / len(batches), max(batches, '
        'key=lambda b: len(b[0]) + 1))': 'the same minibatch is the largest'
    },
    'causes.contention': {
        'shards = [X.copyto(device) for device in devices] -> shards = '
        '[X.as_in_ctx(device) for device in devices]': 'none is written to',
        **dict.fromkeys(
            (
                'for X_shard, params in zip(shards[:k], replicas[:k]): -> '
                'for X_shard, params in zip(shards, replicas[:k]):',
                'for X_shard, params in zip(shards[:k], replicas[:k]): -> '
                'for X_shard, params in zip(shards[:k], replicas):',
            ),
            'zip ends with the shorter one',
        ),
        'return median_seconds(lambda: compute(len(devices))) / alone -> '
        'return median_seconds(lambda: compute(len(devices) + 1)) / alone': (
            'there are no more devices'
        ),
    },
    'causes.record_waits': dict.fromkeys(
        (
            'return (seconds, sum((w[0] for w in inside)), max(inside, '
            "default=(0, ''))[1]) -> return (seconds, sum((w[0] for w in "
            f"inside)), max(inside, default=({n}, ''))[1])"
            for n in (1, -1)
        ),
        'only the line is used',
    ),
    'training.backward': {
        'losses = [loss(net(X, params), y).sum() for X, y, params in '
        'zip(X_shards, y_shards, device_params)] -> losses = [loss(net(X, '
        'params), y) for X, y, params in zip(X_shards, y_shards, '
        'device_params)]': 'backward() of several losses adds them up'
    },
    'training.max_difference': {
        'return float(onp.max([abs(p.asnumpy() - q.asnumpy()).max() for p, q '
        'in zip(params, others)])) -> return float(onp.max([abs(q.asnumpy() '
        '- p.asnumpy()).max() for p, q in zip(params, others)]))': (
            'only the absolute value is used'
        )
    },
    'training.train': {
        'check_finite(replicas[0], lr) -> check_finite(replicas[-1], lr)': (
            'all replicas are equal'
        )
    },
}
