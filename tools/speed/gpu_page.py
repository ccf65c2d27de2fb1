"""Show what gpu_or_cpu.py wrote on a machine, beside the H100's numbers.

    python -m tools.speed.gpu_page OUT.json     prints a page, in Markdown
    python -m tools.speed.gpu_page OUT.json OTHER.json    beside another one

It needs nothing but Python. A time is the median, with the least and the most.
"""

import json
import pathlib
import sys

H100 = pathlib.Path(__file__).parent / 'results/h100.json'
MACHINE = 'date', 'gpu', 'gpus', 'capability', 'driver', 'cpu', 'cpu_threads'
UNITS = ((1, 's'), (1e-3, 'ms'), (1e-6, 'µs'), (1e-9, 'ns'))


def main():
    """Print the page of the files that are named."""
    names = sys.argv[1:]
    if len(names) not in (1, 2):
        sys.exit('usage: python -m tools.speed.gpu_page OUT.json [OTHER.json]')
    try:
        found, other = [
            json.loads(pathlib.Path(name).read_text())
            for name in (*names, H100)[:2]
        ]
    except (OSError, ValueError) as error:
        sys.exit(f'not a file that gpu_or_cpu.py wrote: {error}')
    print(page(found, other), end='')


def page(measured, other):
    """Return the page on one machine beside another, in Markdown."""
    lines = [
        f'# {measured.get("gpu", "?")}, beside {other.get("gpu", "?")}',
        '',
    ]
    lines += ['| | this machine | the other |', '|---|---|---|']
    for name in MACHINE:
        lines.append(row(name, measured.get(name), other.get(name)))
    versions = [
        ', '.join(f'{k} {v}' for k, v in data.get('versions', {}).items())
        for data in (measured, other)
    ]
    lines.append(row('versions', *versions))
    for section in dict.fromkeys([*measured, *other]):
        if section in (*MACHINE, 'versions', 'took'):
            continue
        left, right = [
            dict(leaves(data.get(section))) for data in (measured, other)
        ]
        lines += ['', f'## {section}', '']
        lines += [
            '| | this machine | the other | times |',
            '|---|---|---|---|',
        ]
        for path in dict.fromkeys([*left, *right]):
            a, b = left.get(path), right.get(path)
            times = f'{a[0] / b[0]:.2g}' if is_time(a) and is_time(b) else ''
            lines.append(f'{row(path, a, b)} {times} |')
    return '\n'.join(lines) + '\n'


def row(name, *values):
    """Return a row of a table."""
    return f'| {" | ".join([name, *map(show, values)])} |'


def leaves(data, path=''):
    """Yield each value with its keys, as one string."""
    if not isinstance(data, dict):
        yield path, data
        return
    for key, part in data.items():
        yield from leaves(part, f'{path}, {key}' if path else str(key))


def is_time(value):
    """Return whether it is [median, least, most]."""
    return isinstance(value, list) and len(value) == 3


def show(value):
    """Return a value as the cell of a table."""
    if is_time(value):
        unit, name = next(
            (pair for pair in UNITS if value[0] >= pair[0]), UNITS[-1]
        )
        middle, least, most = [f'{part / unit:.4g}' for part in value]
        return f'{middle} {name} ({least} to {most})'
    if value is None:
        return '–'
    return str(value).replace('|', '\\|').replace('\n', ' ')


if __name__ == '__main__':
    main()
