# 1 wrong: forgets what the exchange does -> mean of the devices
def loss_factor(sizes, rank, loss, exchange):
    return sizes[rank] / sum(sizes) if loss == 'mean' else 1 / sum(sizes)

# 1 wrong: as if all shards were equal -> \[31, 30\], mean of the losses
def loss_factor(sizes, rank, loss, exchange):
    factor = 1 if loss == 'mean' else len(sizes) / sum(sizes)
    return factor if exchange == 'mean' else factor / len(sizes)

# 1 wrong: forgets what the loss does -> mean of the losses
def loss_factor(sizes, rank, loss, exchange):
    return len(sizes) ** (exchange == 'mean') / sum(sizes)

# 1 wrong: divides by the devices, and not by the examples -> shards of
def loss_factor(sizes, rank, loss, exchange):
    return 1 / len(sizes)

# 1 right: by cases
def loss_factor(sizes, rank, loss, exchange):
    share = sizes[rank] / sum(sizes)
    own = share if loss == 'mean' else share / sizes[rank]
    return own * len(sizes) if exchange == 'mean' else own

# 1 right: a fraction
from fractions import Fraction
def loss_factor(sizes, rank, loss, exchange):
    weights = {'sum': 1, 'mean': sizes[rank]}, {'sum': 1, 'mean': len(sizes)}
    return Fraction(weights[0][loss] * weights[1][exchange], sum(sizes))
