# 1 wrong: step 0 has the rate 0 -> step 0 already adds its part
def warmup(step, lr, num_warmup, start=0.0):
    return start + (lr - start) * min(1, step / num_warmup)

# 1 wrong: never ends -> goes on to rise
def warmup(step, lr, num_warmup, start=0.0):
    return start + (lr - start) * (step + 1) / num_warmup

# 1 wrong: forgets start -> it begins at 0.1, not at 0
def warmup(step, lr, num_warmup, start=0.0):
    return lr * min(1, (step + 1) / num_warmup)

# 1 wrong: the whole rate at once -> the same amount is added
def warmup(step, lr, num_warmup, start=0.0):
    return lr

# 1 wrong: a rate that decays -> ends at
def warmup(step, lr, num_warmup, start=0.0):
    return lr * max(0, 1 - (step + 1) / num_warmup)

# 1 wrong: a function, not a rate -> return one number
def warmup(step, lr, num_warmup, start=0.0):
    return lambda step: lr * min(1, (step + 1) / num_warmup)

# 1 wrong: a rate after it, none in it -> return one number
def warmup(step, lr, num_warmup, start=0.0):
    if step < num_warmup:
        return start + (lr - start) * (step + 1) / num_warmup

# 1 right: one line
def warmup(step, lr, num_warmup, start=0.0):
    return start + (lr - start) * min(1, (step + 1) / num_warmup)

# 1 right: an if
def warmup(step, lr, num_warmup, start=0.0):
    if step >= num_warmup:
        return lr
    return start + (lr - start) * (step + 1) / num_warmup

# 1 right: two weights
def warmup(step, lr, num_warmup, start=0.0):
    done = min(num_warmup, step + 1)
    return (done * lr + (num_warmup - done) * start) / num_warmup

# 1 right: recursive
def warmup(step, lr, num_warmup, start=0.0):
    if step < 0:
        return start
    if step >= num_warmup - 1:
        return lr
    return warmup(step - 1, lr, num_warmup, start) + (
        lr - start) / num_warmup

# 1 right: NumPy's interpolation
def warmup(step, lr, num_warmup, start=0.0):
    return onp.interp(step + 1, [0, num_warmup], [start, lr])

# 1 right: NumPy's clip
def warmup(step, lr, num_warmup, start=0.0):
    return start + (lr - start) * onp.clip((step + 1) / num_warmup, 0, 1)

# 1 right: linspace
def warmup(step, lr, num_warmup, start=0.0):
    rates = onp.linspace(start, lr, num_warmup + 1)[1:]
    return rates[min(step, num_warmup - 1)]

# 1 right: a list of rates
def warmup(step, lr, num_warmup, start=0.0):
    rates = [start + (lr - start) * (i + 1) / num_warmup
             for i in range(num_warmup)]
    return rates[step] if step < len(rates) else lr

# 1 right: a loop that adds
def warmup(step, lr, num_warmup, start=0.0):
    rate, part = start, (lr - start) / num_warmup
    for _ in range(min(step + 1, num_warmup)):
        rate += part
    return rate

# 1 right: a conditional expression
def warmup(step, lr, num_warmup, start=0.0):
    left = num_warmup - step - 1
    return lr if left <= 0 else lr - (lr - start) * left / num_warmup

# 1 right: a fraction
def warmup(step, lr, num_warmup, start=0.0):
    from fractions import Fraction
    done = Fraction(min(step + 1, num_warmup), num_warmup)
    return start + (lr - start) * float(done)

# 1 right: max of the rest
def warmup(step, lr, num_warmup, start=0.0):
    return lr - (lr - start) * max(0, num_warmup - 1 - step) / num_warmup

# 2 wrong: upside down -> upside down
def layer_rates(param_norms, grad_norms, lr, trust_coefficient):
    return [lr * trust_coefficient * g / w if w and g else lr
            for w, g in zip(param_norms, grad_norms)]

# 2 wrong: without the coefficient -> not by lr times the trust coefficient
def layer_rates(param_norms, grad_norms, lr, trust_coefficient):
    return [lr * w / g if w and g else lr
            for w, g in zip(param_norms, grad_norms)]

# 2 wrong: one rate for all -> one rate for all layers
def layer_rates(param_norms, grad_norms, lr, trust_coefficient):
    return [lr for _ in param_norms]

# 2 wrong: divides by zero -> biases that begin at 0 would never move
def layer_rates(param_norms, grad_norms, lr, trust_coefficient):
    return [lr * trust_coefficient * w / g
            for w, g in zip(param_norms, grad_norms)]

# 2 wrong: the trust coefficient there, too -> not lr, where a norm is 0
def layer_rates(param_norms, grad_norms, lr, trust_coefficient):
    return [lr * trust_coefficient * (w / g if g and w else 1)
            for w, g in zip(param_norms, grad_norms)]

# 2 wrong: infinity in NumPy -> nan or infinity
def layer_rates(param_norms, grad_norms, lr, trust_coefficient):
    with onp.errstate(all="ignore"):
        return lr * trust_coefficient * (
            onp.array(param_norms, float) / onp.array(grad_norms, float)
            + 0 * (onp.array(param_norms) == 0)) + (
            lr * (onp.array(param_norms) == 0))

# 2 wrong: a small number against zero -> not lr, where a norm is 0|never move
def layer_rates(param_norms, grad_norms, lr, trust_coefficient):
    return [lr * trust_coefficient * w / (g + 1e-8)
            for w, g in zip(param_norms, grad_norms)]

# 2 wrong: a number, not a list -> return a list with
def layer_rates(param_norms, grad_norms, lr, trust_coefficient):
    for w, g in zip(param_norms, grad_norms):
        if w and g:
            return lr * trust_coefficient * w / g
    return lr

# 2 wrong: changes the norms -> were changed
def layer_rates(param_norms, grad_norms, lr, trust_coefficient):
    for i, g in enumerate(grad_norms):
        param_norms[i] = lr * (trust_coefficient * param_norms[i] / g
                               if param_norms[i] and g else 1)
    return param_norms

# 2 wrong: only the first -> return a list with 2
def layer_rates(param_norms, grad_norms, lr, trust_coefficient):
    return [lr * trust_coefficient * param_norms[0] / grad_norms[0]]

# 2 right: a list comprehension
def layer_rates(param_norms, grad_norms, lr, trust_coefficient):
    return [lr * trust_coefficient * w / g if w and g else lr
            for w, g in zip(param_norms, grad_norms)]

# 2 right: a loop that appends
def layer_rates(param_norms, grad_norms, lr, trust_coefficient):
    rates = []
    for w, g in zip(param_norms, grad_norms):
        ratio = 1
        if w > 0 and g > 0:
            ratio = trust_coefficient * w / g
        rates.append(lr * ratio)
    return rates

# 2 right: by index
def layer_rates(param_norms, grad_norms, lr, trust_coefficient):
    rates = [lr] * len(param_norms)
    for i in range(len(rates)):
        if param_norms[i] * grad_norms[i] != 0:
            rates[i] *= trust_coefficient * param_norms[i] / grad_norms[i]
    return rates

# 2 right: NumPy's where
def layer_rates(param_norms, grad_norms, lr, trust_coefficient):
    w, g = onp.array(param_norms, float), onp.array(grad_norms, float)
    ratio = trust_coefficient * w / onp.where(g, g, 1)
    return lr * onp.where((w > 0) & (g > 0), ratio, 1)

# 2 right: try
def layer_rates(param_norms, grad_norms, lr, trust_coefficient):
    def rate(w, g):
        try:
            return lr * trust_coefficient * w / g or lr
        except ZeroDivisionError:
            return lr

    return [rate(w, g) for w, g in zip(param_norms, grad_norms)]

# 2 right: map
def layer_rates(param_norms, grad_norms, lr, trust_coefficient):
    return list(map(
        lambda w, g: lr * (trust_coefficient * w / g if w and g else 1),
        param_norms, grad_norms))

# 2 right: a generator in a tuple
def layer_rates(param_norms, grad_norms, lr, trust_coefficient):
    return tuple(lr * trust_coefficient * w / g if min(w, g) > 0 else lr
                 for w, g in zip(param_norms, grad_norms))

# 2 right: recursive
def layer_rates(param_norms, grad_norms, lr, trust_coefficient):
    if not param_norms:
        return []
    w, g = param_norms[0], grad_norms[0]
    first = lr * trust_coefficient * w / g if w and g else lr
    return [first, *layer_rates(param_norms[1:], grad_norms[1:], lr,
                                trust_coefficient)]

# 2 right: the length of a step first
def layer_rates(param_norms, grad_norms, lr, trust_coefficient):
    lengths = [lr * trust_coefficient * w for w in param_norms]
    return [length / g if length and g else lr
            for length, g in zip(lengths, grad_norms)]

# 2 right: all, and a conditional
def layer_rates(param_norms, grad_norms, lr, trust_coefficient):
    return [lr * trust_coefficient * pair[0] / pair[1] if all(pair) else lr
            for pair in zip(param_norms, grad_norms)]

# 2 right: divide with where
def layer_rates(param_norms, grad_norms, lr, trust_coefficient):
    w, g = onp.asarray(param_norms, float), onp.asarray(grad_norms, float)
    rates = onp.ones_like(w)
    onp.divide(trust_coefficient * w, g, out=rates, where=(w * g) != 0)
    return [float(rate) for rate in lr * rates]

# 2 right: a while loop
def layer_rates(param_norms, grad_norms, lr, trust_coefficient):
    rates = []
    while len(rates) < len(param_norms):
        w, g = param_norms[len(rates)], grad_norms[len(rates)]
        rates += [lr if w == 0 or g == 0 else lr * trust_coefficient * w / g]
    return rates

# 3 wrong: forgets the devices -> should be
def seconds_to(steps, b, k, fixed, speed):
    return steps * (fixed + b / speed)

# 3 wrong: the fixed time once, not in each step -> every step
def seconds_to(steps, b, k, fixed, speed):
    return steps * b / (k * speed) + fixed

# 3 wrong: forgets the fixed time -> should be
def seconds_to(steps, b, k, fixed, speed):
    return steps * (b / (k * speed))

# 3 wrong: whole examples on each device -> should be 1.0
def seconds_to(steps, b, k, fixed, speed):
    return steps * (fixed + -(-b // k) / speed)

# 3 right: decimal numbers
def seconds_to(steps, b, k, fixed, speed):
    from decimal import Decimal
    return steps * (Decimal(fixed) + Decimal(b) / (k * speed))

# 3 right: one step after the other
def seconds_to(steps, b, k, fixed, speed):
    return sum(fixed + b / k / speed for _ in range(steps))
