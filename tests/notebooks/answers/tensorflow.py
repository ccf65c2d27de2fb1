"""Answers to the exercises of 22_tensorflow, right and wrong, in order."""

NUMBERS = 'def fit_numbers(num_images, per_device, k):\n'
CONFIG = 'def config_of(hosts, index):\n'
LOSS = 'def replica_loss(losses, sizes):\n'
DUMPS = (
    "json.dumps({'cluster': {'worker': hosts},\n"
    "                       'task': {'type': 'worker', 'index': index}})"
)

WRONG = [
    [
        ('per_device * k', 'per_device', 'fit divides'),
        ('per_device * k', 'per_device // k', 'fit divides|division'),
        ('-(-num_images // batch_size)', 'num_images // batch_size', 'not'),
        ('-(-num_images // batch_size)', 'num_images / batch_size', 'not'),
        (
            '-(-num_images // batch_size)',
            '-(-num_images // per_device)',
            'not',
        ),
        (
            '-(-num_images // batch_size)',
            'num_images // batch_size + 1',
            'not',
        ),
        (NUMBERS + '    return per_device * k\n', 'two numbers'),
        (NUMBERS + "    return '64', '8'\n", 'two numbers'),
        ('return batch_size,', 'return float(batch_size),', 'a whole number'),
        ('per_device * k', 'per_device * k / 1', 'a whole number'),
        (NUMBERS + '    return per_device * k, 8, 1\n', 'not'),
        (
            'def fit_numbers(num_images, per_device, k):\n'
            '    return (n for n in (per_device * k, 8))\n',
            'two numbers',
        ),
    ],
    [
        ("'worker': hosts", "'worker': [hosts[index]]", 'all workers'),
        ("'worker': hosts", "'worker': sorted(hosts)", 'the same order'),
        ("'worker': hosts", "'worker': hosts[::-1]", 'the same order'),
        ("'worker': hosts", "'workers': hosts", 'the cluster is'),
        ("'index': index", "'index': 0", 'for worker 1'),
        ("'index': index", "'index': index + 1", 'for worker 0'),
        ("'type': 'worker'", "'type': 'chief'", 'the task is'),
        (DUMPS, "{'cluster': {'worker': hosts}}", 'text is needed'),
        (DUMPS, "str({'cluster': {'worker': hosts}})", 'cannot read'),
        (DUMPS, "json.dumps({'cluster': {'worker': hosts}})", 'the task is'),
        (DUMPS, "''", 'cannot read'),
    ],
    [
        ('/ sum(sizes)', '/ len(sizes)', 'each must weigh'),
        ('/ sum(sizes)', '/ len(losses)', 'each must weigh'),
        ('/ sum(sizes)', '', 'each must weigh'),
        ('/ sum(sizes)', '/ (len(losses) * len(sizes))', 'each must weigh'),
        ('/ sum(sizes)', '* len(sizes) / sum(sizes)', 'each must weigh'),
        ('/ sum(sizes)', '/ sizes[0]', 'each must weigh'),
        ('tf.reduce_sum(losses)', 'losses', 'one number'),
        ('tf.reduce_sum(losses)', 'float(tf.reduce_sum(losses))', 'a tensor'),
        (LOSS + '    return tf.constant(1.0)\n', 'does not depend'),
        (LOSS + '    return losses[0]\n', 'each must weigh'),
    ],
]

RIGHT = [
    [
        (
            'return batch_size, -(-num_images // batch_size)',
            'return [batch_size, onp.ceil(num_images / batch_size)]',
        ),
        (
            'return batch_size, -(-num_images // batch_size)',
            'return onp.array([batch_size, -(-num_images // batch_size)])',
        ),
        'import math\n'
        + NUMBERS
        + '    steps = math.ceil(num_images / (per_device * k))\n'
        '    return per_device * k, float(steps)\n',
        NUMBERS + '    return k * per_device, len(range(0, num_images, '
        'k * per_device))\n',
    ],
    [
        ("'index': index", "'index': str(index)"),
        (
            'return json.dumps(',
            'return (lambda config: json.dumps(config, indent=4))(',
        ),
        ("'worker': hosts", "'worker': tuple(hosts)"),
        CONFIG + "    config = {'task': {'index': index, 'type': 'worker'}}\n"
        "    config['cluster'] = dict(worker=list(hosts))\n"
        '    return json.dumps(config)\n',
    ],
    [
        LOSS + '    return tf.nn.compute_average_loss(\n'
        '        losses, global_batch_size=sum(sizes))\n',
        LOSS
        + '    return tf.reduce_mean(losses) * len(losses) / sum(sizes)\n',
        LOSS + '    return tf.add_n(tf.unstack(losses)) / sum(sizes)\n',
        LOSS + '    return tf.reduce_sum(losses / float(sum(sizes)))\n',
    ],
]
