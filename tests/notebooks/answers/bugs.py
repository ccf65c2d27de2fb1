# 1 wrong: the sums may be 0 -> is closest
def factor_of(found, right):
    factor = found.sum() / right.sum()
    rest = abs(found - factor * right).max()
    return factor if rest <= abs(found).max() / 1000 else None

# 1 wrong: divides by numbers that may be 0 -> is closest
def factor_of(found, right):
    factor = (found / right).mean()
    rest = abs(found - factor * right).max()
    return factor if rest <= abs(found).max() / 1000 else None

# 1 wrong: never says no -> is no multiple
def factor_of(found, right):
    factor = (found * right).sum() / (right * right).sum()
    rest = abs(found - factor * right).max()
    return factor

# 1 wrong: upside down -> times the right
def factor_of(found, right):
    factor = (found * right).sum() / (right * right).sum()
    rest = abs(found - factor * right).max()
    return 1 / factor if factor else 0.0

# 1 right: a product of vectors
def factor_of(found, right):
    factor = onp.vdot(right, found) / onp.vdot(right, right)
    rest = abs(found - factor * right).max()
    return factor if rest <= abs(found).max() / 1000 else None

# 1 right: a fraction
def factor_of(found, right):
    factor = (found * right).sum() / (right * right).sum()
    rest = abs(found - factor * right).max()
    from fractions import Fraction
    close = rest <= abs(found).max() / 1000
    return Fraction(float(factor)) if close else None

# 2 wrong: the same order each time -> orders:
def spread(reference, params, X, y, num_orders):
    exact = reference([p.astype('float64') for p in params],
                      X.astype('float64'), y)
    params, X = [p.astype('float32') for p in params], X.astype('float32')
    apart = []
    for i in range(num_orders):
        rows = onp.arange(len(X))
        result = reference(params, X[rows], y[rows])
        apart.append(abs(result.astype('float64') - exact).max())
    return float(max(apart))

# 2 wrong: one other order -> orders:
def spread(reference, params, X, y, num_orders):
    exact = reference([p.astype('float64') for p in params],
                      X.astype('float64'), y)
    params, X = [p.astype('float32') for p in params], X.astype('float32')
    apart = []
    for i in range(num_orders):
        rows = onp.random.RandomState(0).permutation(len(X))
        result = reference(params, X[rows], y[rows])
        apart.append(abs(result.astype('float64') - exact).max())
    return float(max(apart))

# 2 wrong: forgets the labels -> different orders
def spread(reference, params, X, y, num_orders):
    exact = reference([p.astype('float64') for p in params],
                      X.astype('float64'), y)
    params, X = [p.astype('float32') for p in params], X.astype('float32')
    apart = []
    for i in range(num_orders):
        rows = onp.random.RandomState(i).permutation(len(X))
        result = reference(params, X[rows], y)
        apart.append(abs(result.astype('float64') - exact).max())
    return float(max(apart))

# 2 wrong: the mean difference -> 1 orders
def spread(reference, params, X, y, num_orders):
    exact = reference([p.astype('float64') for p in params],
                      X.astype('float64'), y)
    params, X = [p.astype('float32') for p in params], X.astype('float32')
    apart = []
    for i in range(num_orders):
        rows = onp.random.RandomState(i).permutation(len(X))
        result = reference(params, X[rows], y[rows])
        apart.append(abs(result.astype('float64') - exact).mean())
    return float(max(apart))

# 2 wrong: the smallest difference -> orders:
def spread(reference, params, X, y, num_orders):
    exact = reference([p.astype('float64') for p in params],
                      X.astype('float64'), y)
    params, X = [p.astype('float32') for p in params], X.astype('float32')
    apart = []
    for i in range(num_orders):
        rows = onp.random.RandomState(i).permutation(len(X))
        result = reference(params, X[rows], y[rows])
        apart.append(abs(result.astype('float64') - exact).max())
    return float(min(apart))

# 2 right: the largest by NumPy
def spread(reference, params, X, y, num_orders):
    exact = reference([p.astype('float64') for p in params],
                      X.astype('float64'), y)
    params, X = [p.astype('float32') for p in params], X.astype('float32')
    apart = []
    for i in range(num_orders):
        rows = onp.random.RandomState(i).permutation(len(X))
        result = reference(params, X[rows], y[rows])
        apart.append(onp.max(onp.abs(result - exact)))
    return float(max(apart))

# 2 right: rows by take
def spread(reference, params, X, y, num_orders):
    exact = reference([p.astype('float64') for p in params],
                      X.astype('float64'), y)
    params, X = [p.astype('float32') for p in params], X.astype('float32')
    apart = []
    for i in range(num_orders):
        rows = onp.random.RandomState(i).permutation(len(X))
        result = reference(params, X[rows], y.take(rows))
        apart.append(abs(result.astype('float64') - exact).max())
    return float(max(apart))

# 3 wrong: forgets the result -> ,
def kind_after(kind, collectives):
    for collective in collectives:
        convert(kind, collective)
    return kind

# 3 wrong: never asks what it had -> no TypeError
def kind_after(kind, collectives):
    for collective in collectives:
        kind = CONVERSIONS[collective][1]
    return kind

# 3 wrong: goes on after the error -> no TypeError
def kind_after(kind, collectives):
    for collective in collectives:
        try:
            kind = convert(kind, collective)
        except TypeError:
            pass
    return kind

# 3 wrong: another type of error -> no TypeError
def kind_after(kind, collectives):
    for collective in collectives:
        try:
            kind = convert(kind, collective)
        except TypeError as error:
            raise ValueError(str(error))
    return kind

# 3 right: from the table
def kind_after(kind, collectives):
    for collective in collectives:
        before, after = CONVERSIONS[collective]
        if kind != before:
            raise TypeError(f"{collective} cannot take {kind}")
        kind = after
    return kind

# 3 right: with reduce
def kind_after(kind, collectives):
    import functools
    return functools.reduce(convert, collectives, kind)
