"""Answers to the exercises of 09_timeline, right and wrong, in order."""

WRONG = [
    [
        ('o.device == name', 'True', 'waits for'),
        ('1 - busy_time', 'busy_time', 'waits for'),
        (  # the operators of devices that are not asked for do not count
            'o in operators)\n',
            'o in operators if o.device in names)\n',
            'waits for 60% of the time, not 0.0',
        ),
        (
            'for name in names}',
            'for name in {o.device for o in operators}}',
            'with the keys',
        ),
        # each lane up to its own end
        (
            """def idle_fractions(operators, names):
    fractions = {}
    for name in names:
        lane = [o for o in operators if o.device == name]
        end = max([o.end for o in lane], default=1)
        fractions[name] = 1 - busy_time(lane) / end
    return fractions
""",
            'waits for 20% of the time',
        ),
        # overlaps counted twice
        (
            """def idle_fractions(operators, names):
    end = max(o.end for o in operators)
    return {name: 1 - sum(o.end - o.start for o in operators
                          if o.device == name) / end for name in names}
""",
            'waits for 30% of the time',
        ),
        # whole milliseconds only
        (
            """def idle_fractions(operators, names):
    end = max(o.end for o in operators)
    busy = {name: {ms for o in operators if o.device == name
                   for ms in range(int(o.start), int(o.end))}
            for name in names}
    return {name: 1 - len(busy[name]) / end for name in names}
""",
            'waits for 30% of the time',
        ),
        # the mean for all
        (
            """from d2lmulti.communication.timeline import idle_fraction
def idle_fractions(operators, names):
    return dict.fromkeys(names, idle_fraction(operators, names))
""",
            'waits for 20% of the time',
        ),
        ('max(o.end for', 'sum(o.end - o.start for', 'waits for'),
        (
            """def idle_fractions(operators, names):
    end, fractions = max(o.end for o in operators), {}
    for name in names:
        lane = [o for o in operators if o.device == name]
        busy = reached = 0
        for o in sorted(lane, key=lambda o: o.start):
            busy += max(0, o.end - max(o.start, reached))
            reached = o.end
        fractions[name] = 1 - busy / end
    return fractions
""",
            'waits for',
        ),
        (
            """def idle_fractions(operators, names):
    end, fractions = max(o.end for o in operators), {}
    for name in names:
        lane = [o for o in operators if o.device == name]
        busy = reached = 0
        for o in lane:
            busy += max(0, o.end - max(o.start, reached))
            reached = max(reached, o.end)
        fractions[name] = 1 - busy / end
    return fractions
""",
            'waits for',
        ),
        (
            """def idle_fractions(operators, names):
    end, fractions = max(o.end for o in operators), {}
    for name in names:
        lane = [o for o in operators if o.device == name]
        busy = max((o.end for o in lane), default=0) - min(
            (o.start for o in lane), default=0)
        fractions[name] = 1 - busy / end
    return fractions
""",
            'waits for',
        ),
        (
            'max(o.end for o in operators)',
            'max(o.end for o in operators) - min(o.start for o in operators)',
            'waits for',
        ),
        ('/ end', '/ 10', 'waits for'),
        ('for name in names}', 'for name in names[:2]}', 'with the keys'),
        (
            'return {name: 1 - busy_time([o for o in operators\n'
            '                                 if o.device == name]) / end\n'
            '            for name in names}',
            'return [1 - busy_time([o for o in operators\n'
            '                                 if o.device == name]) / end\n'
            '            for name in names]',
            'return a dictionary',
        ),
        (
            """def idle_fractions(operators, names):
    return dict.fromkeys(names)
""",
            'not None',
        ),
        # names that only begin, or end, alike
        (
            'if o.device == name',
            'if o.device[:5] == name[:5]',
            r'cpu\(10\) waits for 80%',
        ),
        ('if o.device == name', 'if o.device[3:] == name[3:]', 'waits for'),
        (
            'if o.device == name',
            "if o.device.startswith(name.rstrip(')'))",
            r'cpu\(1\) waits for 90%',
        ),
        ('if o.device == name', 'if o.device[4] == name[4]', 'waits for 80%'),
        (
            'return {name: 1 - busy_time([o for o in operators\n'
            '                                 if o.device == name]) / end\n'
            '            for name in names}',
            'return {name: round(1 - busy_time(\n'
            '        [o for o in operators if o.device == name]) / end)\n'
            '            for name in names}',
            'waits for',
        ),
    ],
    [
        (
            '        batch = next(batches, None)\n        wait()',
            '        wait()\n        batch = next(batches, None)',
            'when is the next one loaded',
        ),
        ('        wait()', '        pass', 'is every step waited for'),
        (
            '        batch = next(batches, None)\n        wait()',
            '        batch = next(batches, None)\n'
            '        if batch is not None:\n            wait()',
            'is every step waited for',
        ),
        (
            'next(batches, None)\n        wait',
            'next(batches)\n        wait',
            'next was called after the last of 3',
        ),
        ('    batches = iter(batches)\n', '', 'any iterable must do'),
        (
            """def train_prefetched(batches, step, wait):
    batches = iter(batches)
    batch = next(batches)
    for following in batches:
        step(batch)
        wait()
        batch = following
    step(batch)
    wait()
""",
            'when is the next one loaded',
        ),
        # loads everything first
        (
            """def train_prefetched(batches, step, wait):
    for batch in list(batches):
        step(batch)
        wait()
""",
            'load 0, load 1',
        ),
        # waits one step too late
        (
            """def train_prefetched(batches, step, wait):
    steps = 0
    for batch in batches:
        step(batch)
        steps += 1
        if steps > 1:
            wait()
    if steps:
        wait()
""",
            'is every step waited for',
        ),
        # waits before the first step, too
        (
            """def train_prefetched(batches, step, wait):
    for batch in batches:
        wait()
        step(batch)
    wait()
""",
            'is every step waited for',
        ),
        (
            """def train_prefetched(batches, step, wait):
    for batch in batches:
        step(batch)
""",
            'is every step waited for',
        ),
        # forgets that there may be no minibatch
        (
            """def train_prefetched(batches, step, wait):
    batches = iter(batches)
    batch = next(batches)
    while batch is not None:
        step(batch)
        batch = next(batches, None)
        wait()
""",
            'next was called after the last of 0',
        ),
    ],
    [
        (
            'max(backward + last * communication, communication)',
            'backward + last * communication',
            'communication takes longer',
        ),
        ('last * communication', 'communication', 'all communication can be'),
        ('last * communication', '0', 'sent at the end'),
        (
            'last * communication',
            '(1 - last) * communication',
            'all communication can be hidden',
        ),
        # The exchange begins before there is a gradient.
        (
            'forward + max(backward + last * communication, communication)',
            'max(forward + backward + last * communication, communication)',
            'when can communication begin',
        ),
        (
            'forward + max(backward + last * communication, communication)',
            'forward + backward + communication',
            'all communication can be hidden',
        ),
        (
            'forward + max(backward + last * communication, communication)',
            'max(forward + backward, communication)',
            'sent at the end',
        ),
        (
            'forward + max(backward + last * communication, communication)',
            '10',
            'sent at the end',
        ),
        ('return forward', 'return 0', 'all communication can be hidden'),
        (
            'max(backward + last * communication, communication)',
            'min(backward + last * communication, communication)',
            'all communication can be hidden',
        ),
        (
            'return forward + max(backward + last * communication, '
            'communication)',
            'return round(forward + max(backward + last * communication,\n'
            '                               communication), 1)',
            'do not round',
        ),
    ],
    [
        (  # each bucket as soon as it is full
            """def launches(buckets, order):
    ready, launched = set(), []
    for gradient in order:
        ready.add(gradient)
        launched.append([b for b, bucket in enumerate(buckets)
                         if gradient in bucket and ready >= set(bucket)])
    return launched
""",
            'may it be sent before bucket 0',
        ),
        ('while num_sent', 'if num_sent', 'before bucket 0'),
        ('            num_sent += 1\n', '            break\n', 'wrong'),
        ('issuperset(buckets[num_sent])', 'issuperset([])', 'is wrong'),
        (
            'ready.issuperset(buckets[num_sent])',
            'gradient in buckets[num_sent]',
            'when it is full',
        ),
        ('launched[-1].append(num_sent)', 'launched[-1] = num_sent', 'lists'),
        (
            'launched[-1].append(num_sent)',
            'launched[-1].append(buckets[num_sent])',
            'is wrong',
        ),
        ('        ready.add(gradient)\n', '', 'is wrong'),
        (
            'launched[-1].append(num_sent)',
            'launched[-1].append(num_sent + 1)',
            'fills a bucket',
        ),
        ('return launched', 'return launched[::-1]', 'is wrong'),
        (  # the arguments are used up
            """def launches(buckets, order):
    launched = []
    for gradient in order:
        for bucket in buckets:
            if gradient in bucket:
                bucket.remove(gradient)
        launched.append([])
    return launched
""",
            'do not change',
        ),
        ('def launches(buckets, order):\n    return -1\n', 'a list of lists'),
        ('def launches(buckets, order):\n    return None\n', 'a list of'),
    ],
]

RIGHT = [
    [
        """from mxnet import np
def idle_fractions(operators, names):
    end = max(o.end for o in operators)
    return {name: np.array(1 - busy_time([o for o in operators if o.device == name]) / end) for name in names}
""",
        """import numpy
def idle_fractions(operators, names):
    end = max(o.end for o in operators)
    return {name: numpy.array(1 - busy_time([o for o in operators if o.device == name]) / end) for name in names}
""",
        """from fractions import Fraction
def idle_fractions(operators, names):
    end = max(o.end for o in operators)
    return {name: 1 - Fraction(busy_time([o for o in operators if o.device == name])) / Fraction(end) for name in names}
""",
        # by hand
        """def idle_fractions(operators, names):
    end = max(o.end for o in operators)
    fractions = {}
    for name in names:
        lane = sorted((o for o in operators if o.device == name),
                      key=lambda o: o.start)
        idle, reached = 0, 0
        for o in lane:
            idle += max(0, o.start - reached)
            reached = max(reached, o.end)
        fractions[name] = (idle + end - reached) / end
    return fractions
""",
        """from d2lmulti.communication.timeline import idle_fraction
def idle_fractions(operators, names):
    return {name: idle_fraction(operators, [name]) for name in names}
""",
        """import numpy
def idle_fractions(operators, names):
    end = max(o.end for o in operators)
    lanes = {name: [] for name in names}
    for o in operators:
        lanes.setdefault(o.device, []).append(o)
    return {name: numpy.float32(1 - busy_time(lanes[name]) / end)
            for name in names}
""",
        """import collections
def idle_fractions(operators, names):
    end = max(o.end for o in operators)
    busy = collections.OrderedDict((name, busy_time(
        [o for o in operators if o.device == name])) for name in names)
    return collections.OrderedDict(
        (name, 1.0 - ms / end) for name, ms in busy.items())
""",
    ],
    [
        """def train_prefetched(batches, step, wait):
    pending = False
    for batch in batches:
        if pending:
            wait()
        step(batch)
        pending = True
    if pending:
        wait()
""",
        """def train_prefetched(batches, step, wait):
    batches, nothing = iter(batches), object()
    batch = next(batches, nothing)
    while batch is not nothing:
        step(batch)
        batch = next(batches, nothing)
        wait()
""",
        """def train_prefetched(batches, step, wait):
    batches = iter(batches)
    try:
        batch = next(batches)
    except StopIteration:
        return
    while True:
        step(batch)
        try:
            batch = next(batches)
        except StopIteration:
            wait()
            return
        wait()
""",
        """def train_prefetched(batches, step, wait):
    waiting = []
    for batch in batches:
        while waiting:
            waiting.pop()()
        step(batch)
        waiting.append(wait)
    return [done() for done in waiting]
""",
    ],
    [
        """def overlapped_seconds(forward, backward, communication, last):
    computation = forward + backward
    return max(computation + last * communication, forward + communication)
""",
        """import numpy
def overlapped_seconds(forward, backward, communication, last):
    ready = forward + backward
    others_sent = forward + (1 - last) * communication
    return numpy.float64(max(ready, others_sent) + last * communication)
""",
        """import numpy
def overlapped_seconds(forward, backward, communication, last):
    after = numpy.maximum(
        numpy.float32(backward + last * communication), communication)
    return forward + after
""",
        """def overlapped_seconds(forward, backward, communication, last):
    rest = communication - backward - last * communication
    return forward + backward + last * communication + (rest > 0) * rest
""",
    ],
    [
        ('return launched', 'return tuple(map(tuple, launched))'),
        """def launches(buckets, order):
    when = [max([order.index(g) for g in bucket]) for bucket in buckets]
    when = [max(when[:b + 1]) for b in range(len(when))]
    return [[b for b, w in enumerate(when) if w == step]
            for step in range(len(order))]
""",
        """import numpy
def launches(buckets, order):
    missing, waiting = [set(b) for b in buckets], [*range(len(buckets))]
    launched = []
    for gradient in order:
        for left in missing:
            left.discard(gradient)
        free = []
        while waiting and not missing[waiting[0]]:
            free.append(numpy.int64(waiting.pop(0)))
        launched.append(free)
    return launched
""",
    ],
]
