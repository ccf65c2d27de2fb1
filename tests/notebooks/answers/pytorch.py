# 1 wrong: a part of an array counts as all of it -> parts of an array of NumPy|without numbers
def are_separate(device_params):
    starts = [p.untyped_storage().data_ptr()
              for ps in device_params for p in ps]
    return len(set(starts)) == len(starts)

# 1 wrong: looks where tensors begin, not where they end -> overlapping parts
def are_separate(device_params):
    starts = [p.data_ptr()
              for ps in device_params for p in ps]
    return len(set(starts)) == len(starts)

# 1 wrong: a view is another object -> detached|transposed
def are_separate(device_params):
    ids = [id(p) for ps in device_params for p in ps]
    return len(set(ids)) == len(ids)

# 1 wrong: equal numbers are taken for one memory -> copies
def are_separate(device_params):
    first, *rest = device_params
    return not any(torch.equal(p, q) for ps in rest
                   for p, q in zip(first, ps))

# 1 right: the bytes of the tensors themselves
def are_separate(device_params):
    spans = sorted((p.data_ptr(), p.data_ptr() + p.nbytes)
                   for ps in device_params for p in ps if p.numel())
    return all(end <= start for (_, end), (start, _)
               in zip(spans, spans[1:]))

# 1 right: each pair
def are_separate(device_params):
    flat = [p for ps in device_params for p in ps if p.numel()]
    for i, p in enumerate(flat):
        for q in flat[:i]:
            a, b = p.untyped_storage(), q.untyped_storage()
            if max(a.data_ptr(), b.data_ptr()) < min(
                    a.data_ptr() + a.nbytes(), b.data_ptr() + b.nbytes()):
                return False
    return True

# 2 wrong: asks the sampler -> without the sampler
def times_seen(n, k, drop_last):
    rows = sum(sampler_rows(n, k, drop_last=drop_last), [])
    return [rows.count(row) for row in range(n)]

# 2 wrong: asks the sampler by hand -> without the sampler
def times_seen(n, k, drop_last=False):
    rows = [row for rank in range(k) for row in DistributedSampler(
        range(n), k, rank, shuffle=False, drop_last=drop_last)]
    return [rows.count(row) for row in range(n)]

# 2 wrong: ignores drop_last -> not
def times_seen(n, k, drop_last=False):
    total = -(-n // k) * k
    return [len(range(row, total, n)) for row in range(n)]

# 2 wrong: one more round where nothing is left -> 5 examples, 5 processes
def times_seen(n, k, drop_last=False):
    total = n // k * k if drop_last else (n // k + 1) * k
    return [len(range(row, total, n)) for row in range(n)]

# 2 wrong: each example once -> missing or repeated
def times_seen(n, k, drop_last=False):
    return [1] * n

# 2 wrong: repeats the last example -> missing or repeated
def times_seen(n, k, drop_last=False):
    extra = -n % k
    return [1] * (n - 1) + [1 + extra]

# 2 right: an array of NumPy
def times_seen(n, k, drop_last=False):
    total = n // k * k if drop_last else -(-n // k) * k
    return onp.bincount(onp.arange(total) % n, minlength=n)

# 2 right: written out
def times_seen(n, k, drop_last=False):
    if drop_last:
        kept = n - n % k
        return [1] * kept + [0] * (n - kept)
    extra = -n % k
    return [2] * extra + [1] * (n - extra)

# 3 wrong: forgets that DDP takes the mean -> DDP finds
def loss_factor(lengths, rank):
    return 1 / sum(lengths)

# 3 wrong: the mean of each shard -> \[31, 30\]
def loss_factor(lengths, rank):
    return 1 / lengths[rank]

# 3 wrong: forgets the examples -> DDP finds
def loss_factor(lengths, rank):
    return 1 / len(lengths)

# 3 wrong: weighs the sum by the shard once more -> DDP
def loss_factor(lengths, rank):
    return lengths[rank] / sum(lengths)

# 3 right: by the mean length
def loss_factor(lengths, rank):
    return 1 / onp.mean(lengths)

# 3 right: a fraction
from fractions import Fraction
def loss_factor(lengths, rank):
    return Fraction(len(lengths), sum(lengths))
