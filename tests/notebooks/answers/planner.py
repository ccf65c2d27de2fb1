# 1 wrong: nothing for the pass that works -> nothing for the pass that works
def peak_bytes(order, chunks):
    live = peak = onp.zeros(3)
    for phase, _, s in order:
        kept = onp.array(chunks[s].kept_bytes)
        live = live + kept if phase == 'forward' else live - kept
        peak = onp.maximum(peak, live)
    return peak

# 1 wrong: never gives anything back -> is still there
def peak_bytes(order, chunks):
    live = peak = onp.zeros(3)
    for phase, _, s in order:
        if phase == 'forward':
            live = live + onp.array(chunks[s].kept_bytes)
        else:
            peak = onp.maximum(peak, live + chunks[s].working_bytes)
    return peak

# 1 wrong: gives back before it has worked -> before the pass has worked
def peak_bytes(order, chunks):
    live = peak = onp.zeros(3)
    for phase, _, s in order:
        kept = onp.array(chunks[s].kept_bytes)
        if phase == 'forward':
            live = live + kept
        else:
            live = live - kept
            peak = onp.maximum(peak, live + chunks[s].working_bytes)
    return peak

# 1 wrong: one array with two names -> both names are one array
def peak_bytes(order, chunks):
    live = peak = onp.zeros(3)
    for phase, _, s in order:
        if phase == 'forward':
            live += chunks[s].kept_bytes
        else:
            if (live + chunks[s].working_bytes > peak).any():
                peak = live
            live -= chunks[s].kept_bytes
    return peak

# 1 wrong: what is alive at the end -> alive at the end
def peak_bytes(order, chunks):
    live = onp.zeros(3)
    for phase, _, s in order:
        sign = 1 if phase == 'forward' else -1
        live = live + sign * onp.array(chunks[s].kept_bytes)
    return live

# 1 wrong: the largest pass of each, one at a time -> two micro-batches are alive
def peak_bytes(order, chunks):
    return onp.max([onp.array(chunks[s].kept_bytes) + chunks[s].working_bytes
                    for _, _, s in order], axis=0)

# 1 wrong: working bytes for all that are alive -> working_bytes. counts once
def peak_bytes(order, chunks):
    live = peak = onp.zeros(3)
    for phase, _, s in order:
        own = onp.array(chunks[s].kept_bytes) + chunks[s].working_bytes
        live = live + own if phase == 'forward' else live - own
        peak = onp.maximum(peak, live)
    return peak

# 1 wrong: the first chunk, whatever the instruction -> which chunk does each
def peak_bytes(order, chunks):
    live = peak = onp.zeros(3)
    for phase, _, _ in order:
        kept = onp.array(chunks[0].kept_bytes)
        if phase == 'forward':
            live = live + kept
        else:
            peak = onp.maximum(peak, live + chunks[0].working_bytes)
            live = live - kept
    return peak

# 1 wrong: one number for all kinds -> return three numbers
def peak_bytes(order, chunks):
    live = peak = 0
    for phase, _, s in order:
        if phase == 'forward':
            live += chunks[s].kept_bytes[0]
        else:
            peak = max(peak, live + chunks[s].working_bytes[0])
            live -= chunks[s].kept_bytes[0]
    return peak

# 1 wrong: the maximum over the kinds -> each has a separate one
def peak_bytes(order, chunks):
    live = peak = onp.zeros(3)
    for phase, _, s in order:
        kept = onp.array(chunks[s].kept_bytes)
        if phase == 'forward':
            live = live + kept
        else:
            peak = onp.maximum(peak, (live + chunks[s].working_bytes).max())
            live = live - kept
    return peak

# 1 wrong: all micro-batches, as without a schedule -> never alive at once|is still there
def peak_bytes(order, chunks):
    kept = sum(onp.array(chunks[s].kept_bytes)
               for phase, _, s in order if phase == 'forward')
    return kept + onp.max([chunks[s].working_bytes for *_, s in order],
                          axis=0)

# 1 wrong: takes the instructions away -> leave `order` as it is
def peak_bytes(order, chunks):
    live = peak = onp.zeros(3)
    while order:
        phase, _, s = order.pop(0)
        kept = onp.array(chunks[s].kept_bytes)
        if phase == 'forward':
            live = live + kept
        else:
            peak = onp.maximum(peak, live + chunks[s].working_bytes)
            live = live - kept
    return peak

# 1 right: in place, with two arrays
def peak_bytes(order, chunks):
    live, peak = onp.zeros(3), onp.zeros(3)
    for phase, _, s in order:
        if phase == 'forward':
            live += chunks[s].kept_bytes
        else:
            onp.maximum(peak, live + chunks[s].working_bytes, out=peak)
            live -= chunks[s].kept_bytes
    return peak

# 1 right: kind by kind, in plain Python
def peak_bytes(order, chunks):
    peaks = []
    for kind in range(3):
        live = peak = 0
        for phase, _, s in order:
            if phase == 'forward':
                live += chunks[s].kept_bytes[kind]
            else:
                peak = max(peak, live + chunks[s].working_bytes[kind])
                live -= chunks[s].kept_bytes[kind]
        peaks.append(peak)
    return onp.array(peaks)

# 1 right: a running sum
def peak_bytes(order, chunks):
    sign = onp.array([[1 if phase == 'forward' else -1] for phase, *_ in order])
    kept = onp.array([chunks[s].kept_bytes for *_, s in order])
    working = onp.array([chunks[s].working_bytes for *_, s in order])
    before = (sign * kept).cumsum(axis=0) - sign * kept
    return (before + working)[sign[:, 0] < 0].max(axis=0)

# 1 right: a dictionary of what is alive
def peak_bytes(order, chunks):
    alive, peak = {}, onp.zeros(3)
    for phase, i, s in order:
        if phase == 'forward':
            alive[i, s] = chunks[s].kept_bytes
        else:
            total = onp.sum([*alive.values(), chunks[s].working_bytes], axis=0)
            peak = onp.maximum(peak, total)
            del alive[i, s]
    return peak

# 1 right: all moments, then the largest
def peak_bytes(order, chunks):
    live, moments = onp.zeros(3), []
    for phase, _, s in order:
        kept, working = map(onp.array, (chunks[s].kept_bytes,
                                        chunks[s].working_bytes))
        if phase == 'forward':
            live = live + kept
            moments.append(live)
        else:
            moments.append(live + working)
            live = live - kept
    return onp.max(moments, axis=0)

# 1 right: a generator of moments, returned as a list
def peak_bytes(order, chunks):
    def moments():
        live = [0, 0, 0]
        for phase, _, s in order:
            chunk = chunks[s]
            if phase == 'backward':
                yield [a + b for a, b in zip(live, chunk.working_bytes)]
                live = [a - b for a, b in zip(live, chunk.kept_bytes)]
            else:
                live = [a + b for a, b in zip(live, chunk.kept_bytes)]
    return [max(each) for each in zip(*moments())]

# 1 right: with Counter
def peak_bytes(order, chunks):
    from collections import Counter
    alive, peak = Counter(), onp.zeros(3)
    for phase, _, s in order:
        if phase == 'forward':
            alive[s] += 1
            continue
        live = sum(n * onp.array(chunks[t].kept_bytes)
                   for t, n in alive.items())
        peak = onp.maximum(peak, live + chunks[s].working_bytes)
        alive[s] -= 1
    return peak

# 1 right: by recursion
def peak_bytes(order, chunks):
    def walk(i, live):
        if i == len(order):
            return onp.zeros(3)
        phase, _, s = order[i]
        kept = onp.array(chunks[s].kept_bytes)
        if phase == 'forward':
            return walk(i + 1, live + kept)
        return onp.maximum(live + chunks[s].working_bytes,
                           walk(i + 1, live - kept))
    return walk(0, onp.zeros(3))

# 1 right: with a sign
def peak_bytes(order, chunks):
    live = onp.zeros(3)
    peak = onp.zeros(3)
    for phase, _, s in order:
        is_backward = phase == 'backward'
        peak = onp.maximum(
            peak, live + is_backward * onp.array(chunks[s].working_bytes))
        live = live + (1 - 2 * is_backward) * onp.array(chunks[s].kept_bytes)
    return peak

# 1 right: itertools.accumulate
def peak_bytes(order, chunks):
    steps = [onp.array(chunks[s].kept_bytes)
             * (1 if phase == 'forward' else -1) for phase, _, s in order]
    lives = [onp.zeros(3), *itertools.accumulate(steps)]
    return onp.max([live + chunks[s].working_bytes for live, (phase, _, s)
                    in zip(lives, order) if phase == 'backward'], axis=0)

# 1 right: whole numbers, and a tuple
def peak_bytes(order, chunks):
    live = [0] * 3
    peak = [0] * 3
    for phase, _, s in order:
        for kind in (0, 1, 2):
            if phase == 'forward':
                live[kind] += chunks[s].kept_bytes[kind]
            else:
                there = live[kind] + chunks[s].working_bytes[kind]
                peak[kind] = there if there > peak[kind] else peak[kind]
                live[kind] -= chunks[s].kept_bytes[kind]
    return tuple(peak)

# 1 right: adds up what comes before, anew each time
def peak_bytes(order, chunks):
    best = onp.zeros(3)
    for i, (phase, _, s) in enumerate(order):
        if phase == 'backward':
            live = sum((1 if p == 'forward' else -1)
                       * onp.array(chunks[t].kept_bytes)
                       for p, _, t in order[:i])
            best = onp.maximum(best, live + onp.array(chunks[s].working_bytes))
    return best

# 2 wrong: forgets the chunks -> of the step is bubble
def enough_micro_batches(p, v, bubble):
    waits = p - 1
    m = max(1, math.ceil(round(waits * (1 - bubble) / bubble, 9)))
    return -(-m // p) * p if v > 1 else m

# 2 wrong: the bubble beside the work, not in it -> of the step is bubble
def enough_micro_batches(p, v, bubble):
    waits = (p - 1) / v
    m = max(1, math.ceil(round(waits / bubble, 9)))
    return -(-m // p) * p if v > 1 else m

# 2 wrong: any number, which interleaving does not take -> multiple of p
def enough_micro_batches(p, v, bubble):
    waits = (p - 1) / v
    return max(1, math.ceil(round(waits * (1 - bubble) / bubble, 9)))

# 2 wrong: a multiple of p, also without interleaving -> of the step is bubble
def enough_micro_batches(p, v, bubble):
    waits = (p - 1) / v
    m = max(1, math.ceil(round(waits * (1 - bubble) / bubble, 9)))
    return -(-m // p) * p

# 2 wrong: rounding: one round too many -> with 13 micro-batches
def enough_micro_batches(p, v, bubble):
    step = p if v > 1 else 1
    m = math.ceil((p - 1) * (1 - bubble) / bubble / v)
    return max(1, step * math.ceil(m / step))

# 2 right: one after the other
def enough_micro_batches(p, v, bubble):
    m = p if v > 1 else 1
    while (p - 1) / v > bubble * (m + (p - 1) / v):
        m += p if v > 1 else 1
    return m

# 2 right: the fraction taken apart
def enough_micro_batches(p, v, bubble):
    waits = (p - 1) / v
    m = max(1, math.ceil(round(waits / bubble - waits, 9)))
    return -(-m // p) * p if v > 1 else m

# 3 wrong: looks at the borders of nodes, not at groups -> is not right
def split_groups(k, group, node):
    return sum(1 for b in range(node, k, node) if b % group)

# 3 wrong: as if every node's border but the last of a period split one -> is not right
def split_groups(k, group, node):
    both = group * node // math.gcd(group, node)
    crossed = both // node - 1 if both > group else 0
    return crossed * k / both

# 3 wrong: a group that ends at the border -> is not right
def split_groups(k, group, node):
    return sum(first // node != (first + group) // node
               for first in range(0, k, group))

# 3 right: divides, then rounds
def split_groups(k, group, node):
    return sum(int(first / node) != (first + group - 1) // node
               for first in range(0, k, group))

# 3 right: a list of first devices
def split_groups(k, group, node):
    return sum(first // node != (first + group - 1) // node
               for first in [group * i for i in range(k // group)])
