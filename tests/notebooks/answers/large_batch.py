# 1 wrong: forgets the devices -> should be
def seconds_to(steps, b, k, fixed, speed):
    return steps * (fixed + b / speed)

# 1 wrong: the fixed time once, not in each step -> every step
def seconds_to(steps, b, k, fixed, speed):
    return steps * b / (k * speed) + fixed

# 1 wrong: forgets the fixed time -> should be
def seconds_to(steps, b, k, fixed, speed):
    return steps * (b / (k * speed))

# 1 wrong: whole examples on each device -> should be 1.0
def seconds_to(steps, b, k, fixed, speed):
    return steps * (fixed + -(-b // k) / speed)

# 1 right: decimal numbers
def seconds_to(steps, b, k, fixed, speed):
    from decimal import Decimal
    return steps * (Decimal(fixed) + Decimal(b) / (k * speed))

# 1 right: one step after the other
def seconds_to(steps, b, k, fixed, speed):
    return sum(fixed + b / k / speed for _ in range(steps))

# 2 wrong: k once too often -> k = 2 it
def factor_too_large(k):
    return k ** 2

# 2 wrong: as if both were the same -> k = 2 it
def factor_too_large(k):
    return 1

# 2 wrong: the square root of the rule for Adam -> k = 2 it
def factor_too_large(k):
    return k ** 0.5

# 2 right: a number of NumPy
def factor_too_large(k):
    return onp.float32(k)

# 2 right: the two steps, divided
def factor_too_large(k):
    return (0.1 * k / 32) / (0.1 * k / (k * 32))

# 3 wrong: goes up again after the last step -> \(80, 0.4, 50\)
def cosine_decay(step, lr, num_steps):
    return lr * (1 + onp.cos(onp.pi * step / num_steps)) / 2

# 3 wrong: begins at twice the rate -> \(0, 0.4, 50\)
def cosine_decay(step, lr, num_steps):
    return lr * (1 + onp.cos(onp.pi * min(1, step / num_steps)))

# 3 wrong: counts steps from 1 -> should be 0.4
def cosine_decay(step, lr, num_steps):
    return lr * (1 + onp.cos(onp.pi * min(1, (step + 1) / num_steps))) / 2

# 3 wrong: a straight line -> should be 0.36
def cosine_decay(step, lr, num_steps):
    return lr * (1 + 1 - 2 * min(1, step / num_steps)) / 2

# 3 right: the square of a cosine
def cosine_decay(step, lr, num_steps):
    import math
    return lr * math.cos(math.pi / 2 * min(1, step / num_steps)) ** 2

# 3 right: 0 by hand after the end
def cosine_decay(step, lr, num_steps):
    if step >= num_steps:
        return 0
    return lr / 2 + lr / 2 * onp.cos(onp.pi * step / num_steps)
