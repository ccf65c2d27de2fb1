"""Markdown tables, and numbers with their spread."""

import statistics


def table(head, rows):
    """Return a Markdown table."""
    lines = [head, ['---'] * len(head)] + rows
    return '\n'.join(
        '| ' + ' | '.join(map(str, line)) + ' |' for line in lines
    )


def spread(values, form='{:,.0f}'):
    """Return the median of `values` and their range, or a dash."""
    if not values:
        return '–'
    low, middle, high = (
        form.format(value)
        for value in (min(values), statistics.median(values), max(values))
    )
    return f'{middle} ({low}–{high})'


def ratio(over, under):
    """Return the ratios of two lists, round by round, as text."""
    return spread([a / b for a, b in zip(over, under)], '{:.2f}')


def milliseconds(values):
    """Return the median of seconds and their range, in milliseconds."""
    return spread([1000 * value for value in values], '{:.2f}')


def column(rounds, name):
    """Return the number `name` of each round."""
    return [round_[name] for round_ in rounds]


def count_rounds(num_rounds):
    """Return '1 round', '2 rounds' and so on."""
    return f'{num_rounds} round' + 's' * (num_rounds != 1)


def method(num_rounds, command):
    """Return a paragraph on how it was measured."""
    return (
        f'Written by `{command}`. The peers take turns, '
        f'{count_rounds(num_rounds)}, each trial in a fresh process: '
        'warm-up, then steps with the engine '
        'drained on both sides. A number is the median of the rounds, with '
        'the smallest and the largest in brackets. Ratios are taken within '
        'each round. All peers start from the same parameters, on the same '
        'minibatches, with one thread per device; only the D2L recipe and '
        'what has "default settings" run without d2lmulti\'s settings.'
    )
