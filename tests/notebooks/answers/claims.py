# 1 wrong: the price of a second -> divide the dollars
def implied_price(dollars, flop, flops):
    return dollars / (flop / flops)

# 1 wrong: multiplies by the seconds -> divide the dollars
def implied_price(dollars, flop, flops):
    return dollars * flop / flops

# 1 wrong: rounds to ten cents -> divide the dollars
def implied_price(dollars, flop, flops):
    return round(dollars / (flop / flops / 3_600), 1)

# 1 right: one division
def implied_price(dollars, flop, flops):
    return dollars * 3_600 * flops / flop

# 1 right: hours first
def implied_price(dollars, flop, flops):
    seconds = flop / flops
    hours = seconds / 60 / 60
    return dollars / hours

# 2 wrong: steps per second, whatever their size -> compare the examples per second
def speedups(devices, examples, seconds):
    rates = [1 / s for n, s in zip(examples, seconds)]
    return [(rate / rates[0], rate / rates[0] * devices[0] / k)
            for rate, k in zip(rates, devices)]

# 2 wrong: not beside the first row -> compare the examples per second
def speedups(devices, examples, seconds):
    rates = [n / s for n, s in zip(examples, seconds)]
    return [(rate, rate / k)
            for rate, k in zip(rates, devices)]

# 2 wrong: as if the first row had one device -> how many times as many devices
def speedups(devices, examples, seconds):
    rates = [n / s for n, s in zip(examples, seconds)]
    return [(rate / rates[0], rate / rates[0] / k)
            for rate, k in zip(rates, devices)]

# 2 wrong: beside the slowest row -> speedup
def speedups(devices, examples, seconds):
    rates = [n / s for n, s in zip(examples, seconds)]
    return [(rate / min(rates), rate / min(rates) * devices[0] / k)
            for rate, k in zip(rates, devices)]

# 2 right: arrays of NumPy
def speedups(devices, examples, seconds):
    import numpy as onp
    rate = onp.array(examples) / onp.array(seconds)
    faster = rate / rate[0]
    more = onp.array(devices) / devices[0]
    return onp.stack([faster, faster / more], axis=1)

# 2 right: row by row, a tuple
def speedups(devices, examples, seconds):
    found = []
    for k, n, s in zip(devices, examples, seconds):
        faster = n * seconds[0] / (s * examples[0])
        found.append((faster, faster / k * devices[0]))
    return tuple(found)

# 3 wrong: less than nothing hidden -> right
def hidden_fraction(compute, exchange, efficiency):
    visible = compute / efficiency - compute
    return 1 - visible / exchange

# 3 wrong: what was visible -> right
def hidden_fraction(compute, exchange, efficiency):
    visible = compute / efficiency - compute
    return visible / exchange

# 3 wrong: multiplies by the efficiency -> right
def hidden_fraction(compute, exchange, efficiency):
    visible = compute * efficiency - compute
    return max(0, 1 - visible / exchange)

# 3 right: what was saved
def hidden_fraction(compute, exchange, efficiency):
    step = compute / efficiency
    saved = compute + exchange - step
    return max(0.0, saved) / exchange

# 3 right: what was visible, at most all
def hidden_fraction(compute, exchange, efficiency):
    visible = compute / efficiency - compute
    return 1 - min(visible, exchange) / exchange
