# 1 wrong: forgets what was left -> all that there was to send
def compress(gradient, residual, threshold):
    total = gradient
    sent = threshold * onp.sign(total) * (abs(total) >= threshold)
    return sent, total - sent

# 1 wrong: throws away what is too small -> all that there was
def compress(gradient, residual, threshold):
    total = gradient + residual
    sent = threshold * onp.sign(total) * (abs(total) >= threshold)
    return sent, 0 * total

# 1 wrong: sends the numbers themselves -> or 0
def compress(gradient, residual, threshold):
    total = gradient + residual
    sent = total * (abs(total) >= threshold)
    return sent, total - sent

# 1 wrong: a number at the threshold is not sent -> MXNet sends
def compress(gradient, residual, threshold):
    total = gradient + residual
    sent = threshold * onp.sign(total) * (abs(total) > threshold)
    return sent, total - sent

# 1 wrong: overwrites the residual -> arguments changed
def compress(gradient, residual, threshold):
    residual += gradient
    total = residual
    sent = threshold * onp.sign(total) * (abs(total) >= threshold)
    return sent, total - sent

# 1 right: number by number
def compress(gradient, residual, threshold):
    sent, left = [], []
    for g, r in zip(gradient.ravel(), residual.ravel()):
        total = g + r
        value = int(total >= threshold) - int(total <= -threshold)
        sent.append(value * threshold)
        left.append(total - value * threshold)
    shape = gradient.shape
    return onp.reshape(sent, shape), onp.reshape(left, shape)

# 1 right: float32, with where
import numpy
def compress(gradient, residual, threshold):
    total = numpy.float32(gradient + residual)
    sent = numpy.where(total >= threshold, threshold, 0) - numpy.where(
        total <= -threshold, threshold, 0)
    return numpy.float32(sent), total - numpy.float32(sent)

# 2 wrong: the rank that saves nothing -> should be 1
def largest_rank(m, n, factor):
    return m * n // (m + n)

# 2 wrong: a fraction of a rank -> should be
def largest_rank(m, n, factor):
    return m * n / (factor * (m + n))

# 2 wrong: at least 1, where none saves enough -> should be 0
def largest_rank(m, n, factor):
    return max(1, m * n // (factor * (m + n)))

# 2 wrong: rounding: 2.9999 is not 3 -> largest_rank.15, 10, 2. should be 3
def largest_rank(m, n, factor):
    return int(1 / (factor * (1 / m + 1 / n)))

# 2 right: tries one rank after the other
def largest_rank(m, n, factor):
    rank = 0
    while factor * (rank + 1) * (m + n) <= m * n:
        rank += 1
    return rank

# 2 right: a fraction
def largest_rank(m, n, factor):
    from fractions import Fraction
    return Fraction(m * n // (factor * (m + n)))

# 3 wrong: the wrong direction -> velocity is wrong
def outer_step(start, arrived, velocity, outer_lr, momentum):
    moved = onp.mean(arrived, axis=0) - start
    velocity = momentum * velocity + moved
    return start - outer_lr * (moved + momentum * velocity), velocity

# 3 wrong: the sum of the workers, not their mean -> velocity is wrong
def outer_step(start, arrived, velocity, outer_lr, momentum):
    moved = start - onp.sum(arrived, axis=0)
    velocity = momentum * velocity + moved
    return start - outer_lr * (moved + momentum * velocity), velocity

# 3 wrong: heavy ball instead of Nesterov's momentum -> along the gradient
def outer_step(start, arrived, velocity, outer_lr, momentum):
    moved = start - onp.mean(arrived, axis=0)
    velocity = momentum * velocity + moved
    return start - outer_lr * velocity, velocity

# 3 wrong: a running mean for the velocity -> velocity is wrong
def outer_step(start, arrived, velocity, outer_lr, momentum):
    moved = start - onp.mean(arrived, axis=0)
    velocity = momentum * velocity + (1 - momentum) * moved
    return start - outer_lr * (moved + momentum * velocity), velocity

# 3 wrong: overwrites the velocity -> arguments were changed
def outer_step(start, arrived, velocity, outer_lr, momentum):
    moved = start - onp.mean(arrived, axis=0)
    velocity *= momentum
    velocity += moved
    return start - outer_lr * (moved + momentum * velocity), velocity

# 3 right: column by column
def outer_step(start, arrived, velocity, outer_lr, momentum):
    moved = start - onp.array([sum(column) / len(arrived)
                               for column in zip(*arrived)])
    velocity = momentum * velocity + moved
    return start - outer_lr * (moved + momentum * velocity), velocity

# 3 right: a list, and the mean of the moves
def outer_step(start, arrived, velocity, outer_lr, momentum):
    moved = sum(start - params for params in arrived) / len(arrived)
    new = moved + momentum * velocity
    return [start - outer_lr * moved - outer_lr * momentum * new, new]
