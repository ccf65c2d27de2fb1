# 1 wrong: each lane ends with its own last operator -> waits for 20% of the time
def idle_fractions(operators, names):
    fractions = {}
    for name in names:
        lane = [o for o in operators if o.device == name]
        end = max([o.end for o in lane], default=1)
        fractions[name] = 1 - busy_time(lane) / end
    return fractions

# 1 wrong: overlapping operators count twice -> waits for 30% of the time
def idle_fractions(operators, names):
    end = max(o.end for o in operators)
    return {name: 1 - sum(o.end - o.start for o in operators
                          if o.device == name) / end for name in names}

# 1 wrong: the end of the lanes that were asked for -> waits for 60% of the time, not 0.0
def idle_fractions(operators, names):
    end = max(o.end for o in operators if o.device in names)
    return {name: 1 - busy_time([o for o in operators
                                 if o.device == name]) / end
            for name in names}

# 1 wrong: cpu(1) takes what cpu(10) does -> cpu\(1\) waits for 90%
def idle_fractions(operators, names):
    end = max(o.end for o in operators)
    return {name: 1 - busy_time([o for o in operators
                                 if o.device.startswith(name.rstrip(')'))]) / end
            for name in names}

# 1 right: adds up the gaps
def idle_fractions(operators, names):
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

# 1 right: the operators sorted into lanes first, float32
import numpy
def idle_fractions(operators, names):
    end = max(o.end for o in operators)
    lanes = {name: [] for name in names}
    for o in operators:
        lanes.setdefault(o.device, []).append(o)
    return {name: numpy.float32(1 - busy_time(lanes[name]) / end)
            for name in names}

# 2 wrong: loads only when the step is done -> when is the next one loaded
def train_prefetched(batches, step, wait):
    batches = iter(batches)
    batch = next(batches, None)
    while batch is not None:
        step(batch)
        wait()
        batch = next(batches, None)

# 2 wrong: loads everything first -> load 0, load 1
def train_prefetched(batches, step, wait):
    for batch in list(batches):
        step(batch)
        wait()

# 2 wrong: never waits -> is every step waited for
def train_prefetched(batches, step, wait):
    for batch in batches:
        step(batch)

# 2 wrong: an epoch without minibatches -> next was called after the last of 0
def train_prefetched(batches, step, wait):
    batches = iter(batches)
    batch = next(batches)
    while batch is not None:
        step(batch)
        batch = next(batches, None)
        wait()

# 2 right: a loop that waits one step later
def train_prefetched(batches, step, wait):
    pending = False
    for batch in batches:
        if pending:
            wait()
        step(batch)
        pending = True
    if pending:
        wait()

# 2 right: StopIteration by hand
def train_prefetched(batches, step, wait):
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

# 3 wrong: the communication that began first may end last -> communication takes longer
def overlapped_seconds(forward, backward, communication, last):
    return forward + backward + last * communication

# 3 wrong: communication during the forward pass -> when can communication begin
def overlapped_seconds(forward, backward, communication, last):
    return max(forward + backward + last * communication, communication)

# 3 wrong: nothing overlaps -> all communication can be hidden
def overlapped_seconds(forward, backward, communication, last):
    return forward + backward + communication

# 3 wrong: all of it overlaps -> sent at the end
def overlapped_seconds(forward, backward, communication, last):
    return max(forward + backward, communication)

# 3 right: what ends last
def overlapped_seconds(forward, backward, communication, last):
    computation = forward + backward
    return max(computation + last * communication, forward + communication)

# 3 right: what is left after the backward pass
def overlapped_seconds(forward, backward, communication, last):
    rest = communication - backward - last * communication
    return forward + backward + last * communication + (rest > 0) * rest

# 4 wrong: a full bucket overtakes the one before it -> may it be sent before bucket 0
def launches(buckets, order):
    ready, launched = set(), []
    for gradient in order:
        ready.add(gradient)
        launched.append([b for b, bucket in enumerate(buckets)
                         if gradient in bucket and ready >= set(bucket)])
    return launched

# 4 wrong: one bucket at a time -> before bucket 0
def launches(buckets, order):
    ready, num_sent, launched = set(), 0, []
    for gradient in order:
        ready.add(gradient)
        launched.append([])
        if num_sent < len(buckets) and ready.issuperset(buckets[num_sent]):
            launched[-1].append(num_sent)
            num_sent += 1
    return launched

# 4 wrong: sends a bucket when its first gradient is there -> when it is full
def launches(buckets, order):
    ready, num_sent, launched = set(), 0, []
    for gradient in order:
        ready.add(gradient)
        launched.append([])
        while num_sent < len(buckets) and gradient in buckets[num_sent]:
            launched[-1].append(num_sent)
            num_sent += 1
    return launched

# 4 wrong: what is in the bucket, not which one -> is wrong
def launches(buckets, order):
    ready, num_sent, launched = set(), 0, []
    for gradient in order:
        ready.add(gradient)
        launched.append([])
        while num_sent < len(buckets) and ready.issuperset(buckets[num_sent]):
            launched[-1].append(buckets[num_sent])
            num_sent += 1
    return launched

# 4 wrong: takes the caller's buckets apart -> do not change
def launches(buckets, order):
    launched = []
    for gradient in order:
        for bucket in buckets:
            if gradient in bucket:
                bucket.remove(gradient)
        launched.append([])
    return launched

# 4 right: when each is full
def launches(buckets, order):
    when = [max([order.index(g) for g in bucket]) for bucket in buckets]
    when = [max(when[:b + 1]) for b in range(len(when))]
    return [[b for b, w in enumerate(when) if w == step]
            for step in range(len(order))]

# 4 right: crosses off what is there, numbers of NumPy
import numpy
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
