"""Answers to the exercises of 18_mesh, right and wrong."""

LINKS = 'sum(nodes[i - 1] != nodes[i] for i in range(len(nodes)))'
BREAK = '                break\n'

WRONG = [
    [
        ('reversed([*mesh])', 'mesh', 'rank 1 of'),
        ('reversed([*mesh])', 'sorted(mesh, reverse=True)', 'rank 1 of'),
        ('divmod(rank, mesh[axis])', 'rank, rank % mesh[axis]', 'rank'),
        ('rank, place[axis] =', 'place[axis], rank =', 'rank'),
        ('return place', 'return [*place.values()]', 'rank 0 of'),
        ('return place', 'return tuple(place.items())', 'rank 0 of'),
        ('mesh[axis])', 'len(mesh))', 'rank'),
        ('divmod(rank, mesh[axis])', 'divmod(rank, 2)', 'rank'),
        ('    place = {}\n', '    place, rank = {}, rank + 1\n', 'rank'),
    ],
    [
        ('math.sqrt(total)', 'math.sqrt(total * mesh["data"])', 'the norm'),
        (BREAK, '', 'the norm is'),  # E of both stages
        (  # of both stages, if they are split
            BREAK,
            '                if not split:\n                    break\n',
            'the norm is',
        ),
        ('ranks if split else ranks[:1]', 'ranks', 'the norm is'),
        ('ranks if split else ranks[:1]', 'ranks[:1]', 'the norm is'),
        ('ranks if split', 'ranks if not split', 'the norm is'),
        ('return math.sqrt(total)', 'return total', 'the norm is'),
        ('** 2).sum()', ').sum() ** 2', 'the norm is'),
        ('device_grads[rank][j] ** 2', 'device_grads[0][j] ** 2', ''),
        (
            'return math.sqrt(total)',
            'return math.sqrt(total / mesh["tensor"])',
            'the norm is',
        ),
        ('for ranks in replica:', 'for ranks in replica[:1]:', 'the norm is'),
        ('return math.sqrt(total)', 'return [math.sqrt(total)]', 'the norm'),
        (
            'def mesh_norm(device_grads, splits, mesh):\n'
            '    squares = {(j, (grad**2).sum()) for own in device_grads\n'
            '               for j, grad in enumerate(own) if grad is not None}\n'
            '    return math.sqrt(sum(square for _, square in squares))\n',
            'the norm is',
        ),
        ('owners = ranks if', 'owners = ranks[:2] if', 'the norm is'),
    ],
    [
        ('rank // node_size', 'rank % node_size', 'bytes, not'),
        (LINKS, 'len(nodes)', 'bytes, not'),
        (LINKS, 'len(set(nodes))', 'bytes, not'),
        ('in range(len(nodes))', 'in range(1, len(nodes))', 'bytes, not'),
        ('!= nodes[i]', '== nodes[i]', 'bytes, not'),
        ('links * 2 *', 'links *', 'bytes, not'),
        ('(len(order) - 1)', 'len(order)', 'bytes, not'),
        (' / len(order) * num_bytes', ' * num_bytes', 'bytes, not'),
        (  # slices of whole bytes
            ' / len(order) * num_bytes',
            ' * (num_bytes // len(order))',
            'bytes, not',
        ),
        (
            'links * 2 * (len(order) - 1)',
            '(links > 0) * 2 * (len(order) - 1)',
            'bytes, not',
        ),
        ('for rank in order', 'for rank in sorted(order)', 'bytes, not'),
        ('/ len(order) * num_bytes', '* num_bytes // len(order)', 'bytes'),
    ],
]

RIGHT = [
    [
        ('    return place', '    return dict(reversed([*place.items()]))'),
        (
            'def place_of(rank, mesh):\n'
            '    places = onp.unravel_index(rank, tuple(mesh.values()))\n'
            '    return {axis: int(n) for axis, n in zip(mesh, places)}\n',
        ),
        (
            'def place_of(rank, mesh):\n'
            '    ranks = arrange(mesh)\n'
            '    return dict(zip(mesh, onp.argwhere(ranks == rank)[0]))\n',
        ),
    ],
    [
        ('return math.sqrt(total)', 'return float(onp.sqrt(total))'),
        (
            'def mesh_norm(device_grads, splits, mesh):\n'
            '    total = 0\n'
            '    for j, split in enumerate(splits):\n'
            '        held = [own[j] for own in device_grads '
            'if own[j] is not None]\n'
            '        copies = len(held) / (mesh["tensor"] if split else 1)\n'
            '        total += sum((g ** 2).sum() for g in held) / copies\n'
            '    return total ** 0.5\n',
        ),
        (
            'arrange(mesh)[0]',
            'arrange(mesh)[-1, ::-1]',  # the last replica, from its end
        ),
        ('arrange(mesh)[0]', 'arrange(mesh).reshape(-1, mesh["tensor"])'),
        'def mesh_norm(device_grads, splits, mesh):\n'
        '    squares = {}\n'
        '    for rank, own in enumerate(device_grads):\n'
        '        for j, g in enumerate(own):\n'
        '            part = rank % mesh["tensor"] if splits[j] else 0\n'
        '            if g is not None:\n'
        '                squares[j, part] = onp.vdot(g, g)\n'
        '    return onp.sqrt(sum(squares.values()))\n',
        (
            'return math.sqrt(total)',
            'from fractions import Fraction\n'
            '    return Fraction(math.sqrt(total))',
        ),
    ],
    [
        (LINKS, 'sum(a != b for a, b in zip(nodes, nodes[1:] + nodes[:1]))'),
        ('(len(order) - 1) / len(order)', '(1 - 1 / len(order))'),
        (
            'def ring_between_nodes(order, node_size, num_bytes):\n'
            '    total = 0.0\n'
            '    for a, b in zip(order, order[1:] + order[:1]):\n'
            '        if a // node_size != b // node_size:\n'
            '            total += 2 * num_bytes * (1 - 1 / len(order))\n'
            '    return onp.float64(total)\n',
        ),
        (
            '2 * (len(order) - 1) / len(order) * num_bytes',
            '__import__("fractions").Fraction(\n'
            '        2 * (len(order) - 1) * num_bytes, len(order))',
        ),
    ],
]

# What other readers wrote.
WRONG[1] += [
    (
        """def mesh_norm(device_grads, splits, mesh):
    P, T = mesh['pipeline'], mesh['tensor']
    total = 0
    for j, split in enumerate(splits):
        for rank, grads in enumerate(device_grads[:P * T]):
            last = rank // T == P - 1 > 0
            if grads[j] is None or rank % T and not split or (
                    last and device_grads[0][j] is not None):
                continue
            total += (grads[j] ** 2).sum()
    return total ** 0.5
""",
        "'pipeline': 3.*the norm is",
    ),
]
