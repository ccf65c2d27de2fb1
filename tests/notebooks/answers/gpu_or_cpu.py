"""Answers to the exercises of 27_gpu_or_cpu, right and wrong."""

BEFORE = 'launches * launch + num_bytes / bandwidth'
AFTER = 'before / (1 / cpu_rate - 1 / gpu_rate)'
NEVER = "    if gpu_rate <= cpu_rate:\n        return float('inf')\n"
BEHIND = 'slow / fast <= price_ratio'
GOOD = 'max(seconds, fills) <= limit and work <= day'

WRONG = [
    [
        (AFTER, 'before * cpu_rate', 'launches \\+ copies'),
        (AFTER, 'before * gpu_rate', 'launches \\+ copies'),
        (AFTER, 'before * (gpu_rate - cpu_rate)', 'launches \\+ copies'),
        (AFTER, 'before', 'launches \\+ copies'),
        (BEFORE, 'launches * launch', 'launches \\+ copies'),
        (BEFORE, 'num_bytes / bandwidth', 'launches \\+ copies'),
        (BEFORE, 'launch + num_bytes / bandwidth', 'launches \\+ copies'),
        (
            BEFORE,
            'launches * (launch + num_bytes / bandwidth)',
            'launches \\+ copies',
        ),
        (NEVER, '    if gpu_rate == cpu_rate: return 1\n', 'catches up'),
        (NEVER, '    if gpu_rate == cpu_rate: return 0\n', 'catches up'),
        ("float('inf')", "'inf'", 'return a number'),
        (AFTER, f'[{AFTER}]', 'return a number'),
    ],
    [
        (BEHIND, 'slow / fast <= 1', 'times as much'),
        (BEHIND, 'slow <= fast', 'times as much'),
        (BEHIND, 'fast / slow <= price_ratio', 'times as much'),
        (BEHIND, 'slow / fast >= price_ratio', 'times as much'),
        (BEHIND, 'slow / fast <= 1 / price_ratio', 'times as much'),
        ('            found = None\n', '            pass\n', 'times as much'),
        ('elif found is None:', 'else:', 'times as much'),
        ('    found = None\n    for', '    found = sizes[-1]\n    for', ''),
        ('found = size\n', 'found = slow / fast\n', 'a size or None'),
        ('return found', 'return sizes.index(found)', ''),
        ('return found', 'return found or float("inf")', 'a size or None'),
    ],
    [
        (GOOD, 'max(seconds, fills) <= limit', 'more than a day'),
        (GOOD, 'work <= day', 'too late|in time'),
        (GOOD, 'seconds <= limit and work <= day', 'to fill a minibatch'),
        (GOOD, 'fills <= limit and work <= day', 'too late|in time'),
        (  # as if the first image were there already
            'day * size / images_per_day if size > 1 else 0',
            'day * (size - 1) / images_per_day',
            'to fill a minibatch of 2 takes 34.56 s',
        ),
        (' if size > 1 else 0', '', ''),
        ('images_per_day / size * seconds', 'images_per_day * seconds', 'can'),
        ('images_per_day / size * seconds', 'seconds', ''),
        ('24 * 3_600', '24 * 60', ''),
        ('min(good)', 'max(good)', 'costs less'),
        (
            '(price, name))',
            '(work, name))',
            'the CPU costs less',
        ),
        (' if good else None', " if good else 'CPU'", 'no machine'),
        (
            'min(good)[1] if good else None',
            'min(good) if good else None',
            'a name or None',
        ),
    ],
]

RIGHT = [
    [
        (
            AFTER,
            'before * cpu_rate * gpu_rate / (gpu_rate - cpu_rate)',
        ),
        (
            AFTER,
            'before * cpu_rate / (1 - cpu_rate / gpu_rate)',
        ),
        ("float('inf')", '1e999'),
        (
            'def least_operations(launches, launch, num_bytes, bandwidth, '
            'gpu_rate,\n                     cpu_rate):\n'
            '    import numpy as onp\n'
            '    gain = 1 / cpu_rate - 1 / gpu_rate\n'
            '    if gain <= 0:\n'
            '        return onp.inf\n'
            '    return onp.float64(launches * launch + num_bytes / '
            'bandwidth) / gain\n'
        ),
    ],
    [
        (BEHIND, 'not slow > price_ratio * fast'),
        (BEHIND, 'fast * price_ratio >= slow'),
        (
            'def least_minibatch(sizes, cpu, gpu, price_ratio):\n'
            '    found = None\n'
            '    for size, slow, fast in [*zip(sizes, cpu, gpu)][::-1]:\n'
            '        if slow / fast <= price_ratio:\n'
            '            break\n'
            '        found = size\n'
            '    return found\n'
        ),
        (
            'def least_minibatch(sizes, cpu, gpu, price_ratio):\n'
            '    pays = [a > price_ratio * b for a, b in zip(cpu, gpu)]\n'
            '    for i, size in enumerate(sizes):\n'
            '        if all(pays[i:]):\n'
            '            return size\n'
        ),
    ],
    [
        (GOOD, 'seconds <= limit and fills <= limit and work <= day'),
        ('day * size / images_per_day', 'size / (images_per_day / day)'),
        (
            'def choose(images_per_day, limit, machines):\n'
            '    def good(times):\n'
            '        gap = 86_400 / images_per_day\n'
            '        return any(\n'
            '            s <= min(limit, gap * n)\n'
            '            and (n == 1 or n * gap <= limit)\n'
            '            for n, s in times.items())\n'
            '    names = [n for n in machines if good(machines[n][1])]\n'
            '    return min(names, key=lambda n: machines[n][0], default=None)'
            '\n'
        ),
    ],
]
