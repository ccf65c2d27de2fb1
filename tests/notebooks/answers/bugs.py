"""Answers to the exercises of 26_bugs, right and wrong, in order."""

FACTOR = 'factor = (found * right).sum() / (right * right).sum()'
REST = 'rest = abs(found - factor * right).max()'
LIMIT = 'return factor if rest <= abs(found).max() / 1000 else None'
SHUFFLE = 'rows = onp.random.RandomState(i).permutation(len(X))'

WRONG = [
    [
        (FACTOR, 'factor = found.sum() / right.sum()', 'is closest'),
        (FACTOR, 'factor = (found / right).mean()', 'is closest'),
        (FACTOR, 'factor = abs(found).max() / abs(right).max()', 'times'),
        (LIMIT, 'return factor', 'is no multiple'),
        (LIMIT, 'return factor if rest == 0 else None', ''),
        (LIMIT, LIMIT.replace('1000', '1e5'), 'a ten-thousandth'),
        (LIMIT, LIMIT.replace('1000', '10'), 'is no multiple'),
        (LIMIT, LIMIT.replace('1000', '999'), 'of its largest'),
        (LIMIT, LIMIT.replace('abs(found)', 'abs(right)'), 'of its largest'),
        (REST, 'rest = abs((found - factor * right).mean())', 'no multiple'),
        (LIMIT, LIMIT.replace('else None', 'else 0.0'), 'is no multiple'),
        (LIMIT, LIMIT.replace('<=', '<'), '0 times the right'),
        (LIMIT, 'return 1 / factor if factor else 0.0', 'times the right'),
        ('abs(found - factor', '(found - factor', 'no multiple'),
        (REST, REST.replace('max', 'mean'), 'no multiple'),
    ],
    [
        ("X.astype('float64'), y)", 'X, y[::-1])', 'different orders'),
        ("params, X = [p.astype('float32') for p in params], ", '', ''),
        (
            "[p.astype('float64') for p in params]",
            "[params[0].astype('float64')]",
            'dtypes: ',
        ),
        (SHUFFLE, 'rows = onp.arange(len(X))', 'orders:'),
        (SHUFFLE, SHUFFLE.replace('(i)', '(0)'), 'orders:'),
        (SHUFFLE, SHUFFLE.replace('(i)', '(i + 1)'), 'orders:'),
        (
            'reference(params, X[rows], y[rows])',
            'reference(params, X[rows], y)',
            'different orders',
        ),
        ('float(max(apart))', 'float(min(apart))', 'orders:'),
        ('float(max(apart))', 'float(sum(apart))', 'orders:'),
        ('float(max(apart))', 'float(apart[-1])', 'orders:'),
        ('abs(result', '(result', 'orders:'),
        ('range(num_orders)', 'range(num_orders + 1)', 'orders:'),
        ('float(max(apart))', 'str(max(apart))', 'orders:'),
        (
            '- exact).max()',
            '- exact).mean()',
            '1 orders',
        ),
        ('- exact).max()', '- exact)[0]', 'orders'),
        ("[p.astype('float64') for p in params]", 'params', 'raises|orders'),
    ],
    [
        ('kind = convert(kind, collective)', 'convert(kind, collective)', ','),
        (
            'kind = convert(kind, collective)',
            'kind = CONVERSIONS[collective][1]',
            'no TypeError',
        ),
        (
            'for collective in collectives:',
            'for collective in collectives[:1]:',
            ',',
        ),
        ('return kind', 'return REPLICATED', 'not'),
        (
            'kind = convert(kind, collective)',
            'kind = (CONVERSIONS[collective][1] if kind == LOCAL\n'
            '                else convert(kind, collective))',
            'no TypeError',
        ),
        (
            'kind = convert(kind, collective)',
            'kind = (SHARDED if collective == "reduce-scatter"\n'
            '                else convert(kind, collective))',
            'no TypeError',
        ),
        (
            'kind = convert(kind, collective)',
            'kind = (REPLICATED if collective == "all-gather"\n'
            '                else convert(kind, collective))',
            'no TypeError',
        ),
        (
            'kind = convert(kind, collective)',
            'try:\n            kind = convert(kind, collective)\n'
            '        except TypeError as error:\n'
            '            raise ValueError(str(error))',
            'no TypeError',
        ),
        ('return kind', 'return [kind]', 'not'),
        (
            'kind = convert(kind, collective)',
            'try:\n            kind = convert(kind, collective)\n'
            '        except TypeError:\n            pass',
            'no TypeError',
        ),
        (
            'kind = convert(kind, collective)',
            'if CONVERSIONS[collective][0] != kind:\n'
            '            raise TypeError("wrong")\n'
            '        kind = CONVERSIONS[collective][1]',
            'name',
        ),
        (
            '        kind = convert(kind, collective)',
            '        try:\n'
            '            kind = convert(kind, collective)\n'
            '        except TypeError as error:\n'
            '            return error',
            'no TypeError',
        ),
    ],
]

RIGHT = [
    [
        (FACTOR, 'factor = onp.vdot(right, found) / onp.vdot(right, right)'),
        (
            FACTOR,
            'factor = onp.linalg.lstsq(right.reshape(-1, 1), '
            'found.reshape(-1), rcond=None)[0].item()',
        ),
        (REST, 'rest = onp.max(onp.abs(found - right * factor))'),
        (LIMIT, 'return None if 1000 * rest > abs(found).max() else factor'),
        (
            'return factor if rest <= abs(found).max() / 1000 else None',
            'from fractions import Fraction\n'
            '    close = rest <= abs(found).max() / 1000\n'
            '    return Fraction(float(factor)) if close else None',
        ),
    ],
    [
        (
            "abs(result.astype('float64') - exact).max()",
            'onp.max(onp.abs(result - exact))',
        ),
        ('float(max(apart))', 'max(apart)'),
        ('y[rows])', 'y.take(rows))'),
    ],
    [
        (
            'kind = convert(kind, collective)',
            'before, after = CONVERSIONS[collective]\n'
            '        if kind != before:\n'
            '            raise TypeError(f"{collective} cannot take {kind}")\n'
            '        kind = after',
        ),
        (
            'kind = convert(kind, collective)',
            'kind = (lambda a: convert(a, collective))(kind)',
        ),
        (
            'for collective in collectives:',
            'for collective in iter(collectives):',
        ),
    ],
]
