"""Answers to the exercises of 20_hangs, right and wrong."""

BEGUN = 'own[-1].number + 1 if own else 0'
COMMON = 'set.intersection(*map(set, tables.values()))'
FOLLOWS = 'zip(own[skip:], others[skip_others:])'

WRONG = [
    [
        (BEGUN, 'len(own)', 'records from and to'),
        (BEGUN, 'own[-1].number + 1', 'your answer raises IndexError'),
        (BEGUN, 'own[-1].number if own else 0', 'records from and to'),
        (BEGUN, 'own[0].number + 1 if own else 0', 'records from and to'),
        ('number < max(', 'number > min(', 'records from and to'),
        ('number < max(', 'number <= max(', 'records from and to'),
        ('return sorted(', 'return list(', 'records from and to'),
        ('return sorted(', 'return tuple(', 'records from and to'),
        (  # who is furthest behind comes first
            'return sorted(',
            'return (lambda names: sorted(names, key=begun.get))(',
            'records from and to',
        ),
    ],
    [
        ('set.intersection', 'set.union', 'your answer raises KeyError'),
        (  # of the first two workers
            COMMON,
            'set.intersection(*map(set, [*tables.values()][:2]))',
            'your answer raises KeyError',
        ),
        (  # by two workers, not by all
            'def times_last(records):\n'
            '    count, begun = dict.fromkeys(records, 0), {}\n'
            '    for worker, owns in records.items():\n'
            '        for own in owns:\n'
            '            begun.setdefault(own.number, []).append(\n'
            '                (own.begun, worker))\n'
            '    for late in map(sorted, begun.values()):\n'
            '        if len(late) > 1 and late[-1][0] > late[-2][0]:\n'
            '            count[late[-1][1]] += 1\n'
            '    return count\n',
            'begun at',
        ),
        ('if len(late) == 1:', 'if late:', 'begun at'),
        ('last = max(', 'last = min(', 'begun at'),
        ('count[late[0]] += 1', 'count[late[0]] += last', 'begun at'),
        ('dict.fromkeys(records, 0)', 'collections.Counter()', 'begun at'),
        ('return count', 'return [*count.values()]', 'begun at'),
        (
            '{own.number: own.begun for own in owns}',
            'dict(enumerate(own.begun for own in owns))',
            'begun at',
        ),
        (
            'if table[number] == last',
            'if table[number] > last - 1e-3',
            'begun at',
        ),
        (
            'own.number: own.begun',
            'own.number: round(own.begun, 3)',
            'begun at',
        ),
    ],
    [
        ("('left out', 0, 1)", "('left out', 1, 0)", 'where others do'),
        (FOLLOWS, FOLLOWS.replace(':]', ':][:2]'), 'where others do'),
        (FOLLOWS, FOLLOWS.replace('own[skip:]', 'own[skip:-1]'), 'others do'),
        (  # agrees only if the others' list is the longer one
            'def kind_of(own, others):\n'
            '    if all(a == b for a, b in zip(own, others[1:])):\n'
            "        return 'left out'\n"
            '    if own[1:] == others[1:len(own)]:\n'
            "        return 'replaced'\n"
            '    if own[1:] == others[:len(own) - 1]:\n'
            "        return 'added'\n",
            'where others do',
        ),
        ("('replaced', 1, 1)", "('replaced', 0, 0)", 'where others do'),
        (
            "'replaced', 1, 1), ('added', 1, 0)",
            "'added', 1, 0), ('replaced', 1, 1)",
            'where others do',
        ),
        (
            "('left out', 0, 1), ('replaced', 1, 1)",
            "('replaced', 1, 1), ('left out', 0, 1)",
            'where others do',
        ),
        ('if all(a == b', 'if any(a == b', 'where others do'),
        (
            'all(a == b for a, b in zip(own[skip:], others[skip_others:]))',
            'own[skip:] == others[skip_others:]',
            'where others do',
        ),
        (
            'all(a == b for a, b in zip(own[skip:], others[skip_others:]))',
            'own[skip:][:1] == others[skip_others:][:1]',
            'where others do',
        ),
        ('return None', "return 'replaced'", 'where others do'),
        (
            'if all(a == b',
            'if own[skip:] and all(a == b',
            'replaced',
        ),
        (
            'def kind_of(own, others):\n'
            '    for kind, skip, skip_others in (\n'
            "            ('left out', 0, 1), ('replaced', 1, 1), "
            "('added', 1, 0)):\n"
            "        a, b = ''.join(own[skip:]), ''.join(others[skip_others:])\n"
            '        if a.startswith(b) or b.startswith(a):\n'
            '            return kind\n',
            "'replaced', not 'left out'",
        ),
        (
            FOLLOWS,
            'zip(own[skip:][:3], others[skip_others:][:3])',
            'None, not',
        ),
    ],
]

RIGHT = [
    [
        (
            'def behind(records):\n'
            '    ends = {w: max((r.number for r in own), default=-1)\n'
            '            for w, own in records.items()}\n'
            '    return sorted(w for w in ends '
            'if ends[w] != max(ends.values()))\n',
        ),
        (BEGUN, 'max([record.number + 1 for record in own] or [0])'),
        (
            'def behind(records):\n'
            '    ends = [(own[-1][0] if own else -1, w) '
            'for w, own in records.items()]\n'
            '    found = []\n'
            '    for end, worker in sorted(ends):\n'
            '        if end < max(ends)[0]:\n'
            '            found.append(worker)\n'
            '    found.sort()\n'
            '    return found\n',
        ),
    ],
    [
        (
            'def times_last(records):\n'
            '    times = [{r.number: r.begun for r in own} '
            'for own in records.values()]\n'
            '    common = [n for n in times[0] '
            'if all(n in own for own in times)]\n'
            '    return {w: sum(all(mine[n] > own[n] for own in times '
            'if own is not mine) for n in common)\n'
            '            for w, mine in zip(records, times)}\n',
        ),
        ('return count', 'return collections.OrderedDict(count)'),
        ('if len(late) == 1:', 'if not late[1:]:'),
    ],
    [
        (
            'def kind_of(own, others):\n'
            '    def agree(a, b):\n'
            '        n = min(len(a), len(b))\n'
            '        return a[:n] == b[:n]\n'
            '    if agree(own, others[1:]):\n'
            "        return 'left out'\n"
            '    if agree(own[1:], others[1:]):\n'
            "        return 'replaced'\n"
            "    return 'added' if agree(own[1:], others) else None\n",
        ),
        (
            'all(a == b for a, b in zip(own[skip:], others[skip_others:]))',
            'not [1 for a, b in zip(own[skip:], others[skip_others:]) '
            'if a != b]',
        ),
        ('    return None\n', ''),
    ],
]
