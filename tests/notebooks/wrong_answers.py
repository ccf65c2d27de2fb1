"""Plausible mistakes: for each exercise of a chapter, in order, what to
replace in our solution, by what, and what the check says then."""

WRONG = {
    '01_devices': [
        [
            (
                'median_seconds(lambda: [twenty_layers(*arg) for arg in args])',
                'int(median_seconds(lambda: args))',
                'return seconds, a float',
            ),
            (
                'lambda: [twenty_layers(*arg) for arg in args]',
                'lambda: None',
                'too fast for twenty layers',
            ),
        ],
        [
            ('.copyto(device)', '', 'a copy lives on'),
            ('.reshape(x.shape)', '', r'shape \(6,\) came back'),
            ('start += x.size', 'start += 1', 'the values changed'),
        ],
        [
            (
                'many = sum(latency + size / rate for size in sizes)',
                'many = latency + sum(sizes) / rate',
                'how often is the latency',
            ),
            (
                '(latency + sum(sizes) / rate)',
                '(latency + max(sizes) / rate)',
                'how many bytes pass',
            ),
        ],
    ],
    '02_lenet': [
        [
            ('4 * (W.size + b.size)', 'W.size + b.size', '4 bytes'),
            (
                'zip(params[::2], params[1::2])',
                'zip(params, params)',
                'there are four layers',
            ),
        ],
        [
            (
                'y_hat = y_hat - y_hat.max(axis=1, keepdims=True)',
                'pass',
                'not finite',
            ),
            ('.sum(axis=1)', '.sum()', 'differs from log_softmax'),
        ],
        [
            ('n - size + 1', 'n - size', '28 pixels'),
            ('n // size', 'n / size', 'half a pixel is none'),
        ],
    ],
    '03_parallelism': [
        [
            ('> share', '>= share', 'micro-batches, not'),
            ('(m + p - 1) > share', '(m + p) > share', 'micro-batches, not'),
        ],
        [
            ('return n + n % 2', 'return n', 'images, not'),
            (
                '-(-num_params // activations)',
                'num_params // activations',
                'images, not',
            ),
        ],
        [
            (
                'np.dot(h, W) for h, W in zip(units, weights)) + b',
                'np.dot(h, W) + b for h, W in zip(units, weights))',
                '2 parts: too large',
            ),
            (' + b\n', '\n', 'too large by'),
        ],
        [
            (
                '    for micro_batch in micro_batches:\n        for s in reversed',
                '    npx.waitall()\n    for micro_batch in micro_batches:\n'
                '        for s in reversed',
                'do not wait',
            ),
            (
                'split_slices(len(X), num_micro_batches)',
                'split_slices(len(X), 1)',
                'activations and gradients',
            ),
        ],
    ],
    '04_synchronization': [
        [
            ('array /= len(data)', 'pass', 'not the mean'),
            (
                '    for array in data:\n        if not onp.issubdtype('
                'array.dtype, onp.floating):\n            raise TypeError('
                "f'{onp.dtype(array.dtype)} cannot hold a mean: '\n"
                "                            'convert the arrays with astype')\n",
                '',
                'refuse integers with a TypeError',
            ),
            ('allreduce(data)\n', 'data[0] = sum(data)\n', 'not the mean'),
        ],
        [
            ('2 * (k - 1) * n', '(k - 1) * n', '100 out and 100 in'),
            ('2 * (k - 1) * n', '2 * k * n', 'one device sends nothing'),
        ],
        [
            (
                'a[:] = kept\n    return changed',
                'return changed',
                'the values have changed',
            ),
            ('kept + 1', 'kept', 'an array and itself: True'),
            (
                '(b.asnumpy() != before).any()',
                'a.ctx == b.ctx',
                'an array and its copy: False',
            ),
        ],
    ],
    '05_data': [
        [
            ('max(size', 'min(size', 'the last is done after'),
            (
                'max(size / speed for size, speed in zip(sizes, speeds))',
                'sum(sizes) / sum(speeds)',
                'the last is done after',
            ),
            (
                'max(size / speed for size, speed in zip(sizes, speeds))',
                'sizes[speeds.index(min(speeds))] / min(speeds)',
                'the last is done after',
            ),
        ],
        [
            ('i * n // k', 'i * (n // k)', 'does not cover'),
            ('i * n // k', 'min(n, i * -(-n // k))', 'not balanced'),
            ('i * n // k', 'i * n / k', 'cannot cut'),
            ('range(k + 1)', 'range(1, k + 1)', 'the first is 0'),
        ],
        [
            (
                'sum(correct) / sum(sizes)',
                'sum(c / s for c, s in zip(correct, sizes)) / len(sizes)',
                'does every example count',
            ),
            (
                'sum(correct) / sum(sizes)',
                'sum(correct) / len(sizes)',
                'does every example count',
            ),
        ],
    ],
    '06_training': [
        [
            ('total += param.grad', 'total[:] = param.grad', 'overwrites'),
            (
                'lr / len(X) * total',
                'lr / len(X) / num_parts * total',
                'away from the step',
            ),
            (
                'ends = [i * len(X) // num_parts for i in range(num_parts + 1)]',
                'ends = [0, len(X)]',
                'has seen parts of',
            ),
        ],
        [
            ('num_examples / longest', 'num_devices', 'times too long'),
            (
                '-(-num_examples // num_devices)',
                'num_examples // num_devices',
                'times too long',
            ),
        ],
        [
            (
                'for params in device_params\n',
                'for params in device_params[:2]\n',
                'look at every replica',
            ),
            (
                'float(abs(param.asnumpy() - right).max())',
                'float((param.asnumpy() - right).max())',
                'of both signs',
            ),
        ],
    ],
    '06b_why_not_faster': [
        [
            ('compute / k)', 'compute) / k', 'what is divided by k'),
            (
                'return (load + compute) / (load + compute / k)',
                'return k',
                'what is divided by k',
            ),
            ('(load + compute) / (load', 'compute / (load', 'not'),
        ],
        [
            ('n = 1\n', 'n = 2\n', 'put your number into'),
            (
                'n * per_image / k) <',
                'n * per_image / k / k) <',
                'put your number into',
            ),
            ('< wanted', '<= wanted', 'put your number into'),
        ],
        [
            ('.index(True) + 1', '.index(True)', 'in order'),
            ('> 0.2 * step, together', '> 0.2, together', 'a fifth'),
            ('holds.index(True) + 1', 'sum(holds)', 'in order'),
        ],
    ],
    '07_concise': [
        [
            (
                'round(n * sum(rates[:i]) / sum(rates))',
                'n * sum(rates[:i]) / sum(rates)',
                'cannot be divided',
            ),
            (
                'round(n * sum(rates[:i]) / sum(rates))',
                'i * n // len(rates)',
                'images, not',
            ),
        ],
        [
            ('max_norm * len(X) /', 'max_norm /', 'clipped to|large max_norm'),
            (
                '        for device in devices:\n',
                '        for device in devices[:1]:\n',
                'replicas differ',
            ),
            ('min(1, ', 'max(0, ', 'large max_norm|short enough'),
        ],
        [
            ('return len(lengths)', 'return sum(lengths)', 'sum of the means'),
            ('len(set(lengths)) > 1', 'False', 'no multiple of it'),
        ],
    ],
    '08_allreduce': [
        [
            (
                '(i - 1 - step) % k].copyto',
                '(i - step) % k].copyto',
                'the slices hold',
            ),
            ('range(k - 1)', 'range(k)', 'the slices hold'),
            ('[slices[i][i] for i', '[slices[0][i] for i', 'must live on'),
            ('return [slices[i][i]', 'return [data[i]', 'the array has 10'),
            (
                'split_views(array, k)',
                '[array[j * (10 // k):(j + 1) * (10 // k)] for j in range(k)]',
                'a rest left out',
            ),
        ],
        [
            ('min(betas)', 'max(betas)', 'waits for that cable'),
            ('2 * (k - 1)', '(k - 1)', 'count the steps'),
        ],
        [
            ('(i + 1 - step) % k', '(i - step) % k', 'but has only'),
            ('(i + 1 - step) % k', '(i + 1 + step) % k', 'but has only'),
        ],
        [
            ('ring_allreduce)', 'allreduce)', 'around the ring'),
            (
                'sgd(params, lr, len(X))',
                'sgd(params, lr, 256)',
                'from that of train_batch',
            ),
        ],
    ],
    '09_overlap': [
        [
            ('o.device == device', 'True', 'waits for'),
            ('1 - busy_time', 'busy_time', 'waits for'),
        ],
        [
            (
                '        batch = next(batches, None)\n        wait()',
                '        wait()\n        batch = next(batches, None)',
                'the order was',
            ),
            ('        wait()', '        pass', 'the order was'),
        ],
        [
            (
                'max(computation + last * exchange, exchange)',
                'computation + last * exchange',
                'at least',
            ),
            ('last * exchange', 'exchange', 'at least'),
        ],
    ],
    '10_large_minibatches': [
        [
            ('b / (k * speed)', 'b / speed', 'should be'),
            ('fixed + b', 'b', 'should be'),
        ],
        [
            ('return k  ', 'return k ** 2  ', 'this code by b'),
            ('return k  ', 'return 1  ', 'this code by b'),
        ],
        [
            ('min(1, step / num_steps)', 'step / num_steps', 'step 80 of 50'),
            (' / 2', '', 'step 0 of 50'),
        ],
    ],
    '11_batch_norm': [
        [
            ('c * (v + (m - mean) ** 2)', 'c * v', 'the variance of all'),
            (
                'sum(c * m for c, m in zip(counts, means)) / n',
                'sum(means) / len(means)',
                'weight each mean',
            ),
        ],
        [
            (' - mean * mean', '', 'subtract the square'),
            (
                '(x * x).sum() / onp.float32(len(x))',
                '(x * x).sum() / onp.float32(len(x) - 1)',
                'the number of all',
            ),
        ],
        [
            ('L * 3 * 2', 'L * 2 * 2', 'two allreduces forward'),
            ('2 * (k - 1)', '2 * k', 'two allreduces forward'),
        ],
    ],
    '12_heterogeneous_devices': [
        [
            (' / min(speeds)', ' / max(speeds)', 'who decides'),
            ('sum(speeds) / len(speeds)', 'max(speeds)', 'who decides'),
        ],
        [
            (
                'sum(g * n for g, n in zip(gradients, sizes)) / sum(sizes)',
                'sum(gradients) / len(gradients)',
                'must count the same',
            ),
            ('/ sum(sizes)', '/ 256', 'must count the same'),
        ],
        [
            ('exchange * (len(speeds) - 1)', 'exchange', 'exchange included'),
            ('b / sum(speeds)', 'b / max(speeds)', 'compare the times'),
            (
                'b / sum(speeds)',
                'b / len(speeds) / min(speeds)',
                'in proportion',
            ),
            (
                'seconds([*speeds, new]) < seconds(speeds)',
                'seconds(speeds) > (speeds.append(new) or seconds(speeds))',
                'has been changed',
            ),
        ],
    ],
    '13_many_machines': [
        [
            ('return B, m * B / n', 'return d * B, m * B / n', 'not'),
            ('m * B / n', 'm * B', 'servers'),
        ],
        [
            ('total / own', 'own / total', 'times, not'),
            ('total / own', '2', 'times, not'),
        ],
        [
            ('2 * max(B, m * B / n)', '2 * m * B / n', 'server_seconds'),
            ('2 * (m - 1) / m * B', '2 * (m - 1) * B', 'ring_seconds'),
        ],
    ],
}
