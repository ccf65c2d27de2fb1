# 1 wrong: the last record of each -> last|numbers|the first difference is|no difference
def first_difference(records):
    found = {worker: own[-1] if own else None
             for worker, own in records.items()}
    if len({call_of(record) for record in found.values()}) > 1:
        return found
    return None

# 1 wrong: by place in the ring, not by number -> A ring begins where others
def first_difference(records):
    from itertools import zip_longest
    for row in zip_longest(*records.values()):
        if len({call_of(record) for record in row}) > 1:
            return dict(zip(records, row))
    return None

# 1 wrong: zip, which ends with the shortest -> It waits for b
def first_difference(records):
    for row in zip(*records.values()):
        if len({call_of(record) for record in row}) > 1:
            return dict(zip(records, row))
    return None

# 1 wrong: compares lines and times, too -> compare what `call_of` returns
def first_difference(records):
    tables = {worker: {record.number: record for record in own}
              for worker, own in records.items()}
    first = max(min(table, default=0) for table in tables.values())
    last = max(max(table, default=-1) for table in tables.values())
    for number in range(first, last + 1):
        found = {worker: table.get(number)
                 for worker, table in tables.items()}
        if len({*found.values()}) > 1:
            return found
    return None

# 1 wrong: compares names alone -> Names alone do not say
def first_difference(records):
    tables = {worker: {record.number: record for record in own}
              for worker, own in records.items()}
    first = max(min(table, default=0) for table in tables.values())
    last = max(max(table, default=-1) for table in tables.values())
    for number in range(first, last + 1):
        found = {worker: table.get(number)
                 for worker, table in tables.items()}
        if len({record and record.name for record in found.values()}) > 1:
            return found
    return None

# 1 wrong: what a ring has overwritten is a difference -> complete
def first_difference(records):
    tables = {worker: {record.number: record for record in own}
              for worker, own in records.items()}
    last = max(max(table, default=-1) for table in tables.values())
    for number in range(last + 1):
        found = {worker: table.get(number)
                 for worker, table in tables.items()}
        if len({call_of(record) for record in found.values()}) > 1:
            return found
    return None

# 1 wrong: the last difference -> All later differences are consequences
def first_difference(records):
    tables = {worker: {record.number: record for record in own}
              for worker, own in records.items()}
    first = max(min(table, default=0) for table in tables.values())
    last = max(max(table, default=-1) for table in tables.values())
    result = None
    for number in range(first, last + 1):
        found = {worker: table.get(number)
                 for worker, table in tables.items()}
        if len({call_of(record) for record in found.values()}) > 1:
            result = found
    return result

# 1 wrong: those alone that differ from the first -> return a dict with a record
def first_difference(records):
    tables = {worker: {record.number: record for record in own}
              for worker, own in records.items()}
    first = max(min(table, default=0) for table in tables.values())
    last = max(max(table, default=-1) for table in tables.values())
    for number in range(first, last + 1):
        found = {worker: table.get(number)
                 for worker, table in tables.items()}
        usual = call_of([*found.values()][0])
        others = {worker: record for worker, record in found.items()
                  if call_of(record) != usual}
        if others:
            return others
    return None

# 1 wrong: what they call, not the record -> return|of b|numbers
def first_difference(records):
    tables = {worker: {record.number: record for record in own}
              for worker, own in records.items()}
    first = max(min(table, default=0) for table in tables.values())
    last = max(max(table, default=-1) for table in tables.values())
    for number in range(first, last + 1):
        found = {worker: call_of(table.get(number))
                 for worker, table in tables.items()}
        if len({*found.values()}) > 1:
            return found
    return None

# 1 wrong: a worker that has begun nothing -> your first_difference raises ValueError
def first_difference(records):
    tables = {worker: {record.number: record for record in own}
              for worker, own in records.items()}
    first = max(min(table) for table in tables.values())
    last = max(max(table) for table in tables.values())
    for number in range(first, last + 1):
        found = {worker: table.get(number)
                 for worker, table in tables.items()}
        if len({call_of(record) for record in found.values()}) > 1:
            return found
    return None

# 1 wrong: one too few -> finds none
def first_difference(records):
    tables = {worker: {record.number: record for record in own}
              for worker, own in records.items()}
    first = max(min(table, default=0) for table in tables.values())
    last = max(max(table, default=-1) for table in tables.values())
    for number in range(first, last):
        found = {worker: table.get(number)
                 for worker, table in tables.items()}
        if len({call_of(record) for record in found.values()}) > 1:
            return found
    return None

# 1 wrong: an empty dict where there is none -> so return None
def first_difference(records):
    tables = {worker: {record.number: record for record in own}
              for worker, own in records.items()}
    first = max(min(table, default=0) for table in tables.values())
    last = max(max(table, default=-1) for table in tables.values())
    for number in range(first, last + 1):
        found = {worker: table.get(number)
                 for worker, table in tables.items()}
        if len({call_of(record) for record in found.values()}) > 1:
            return found
    return {}

# 1 wrong: eats the records -> leave `records`|the first difference|your first_difference raises
def first_difference(records):
    number = 0
    while any(records.values()):
        found = {worker: own.pop(0) if own else None
                 for worker, own in records.items()}
        if len({call_of(record) for record in found.values()}) > 1:
            return found
    return None

# 1 right: next, of a generator
def first_difference(records):
    tables = {w: {r.number: r for r in own} for w, own in records.items()}
    first = max([own[0].number for own in records.values() if own],
                default=0)
    if not all(records.values()):
        first = 0
    last = max([own[-1].number for own in records.values() if own],
               default=-1)
    rows = ({w: t.get(n) for w, t in tables.items()}
            for n in range(first, last + 1))
    return next((row for row in rows
                 if len(set(map(call_of, row.values()))) > 1), None)

# 1 right: the union of numbers, from the latest ring's first
def first_difference(records):
    tables = {w: {r.number: r for r in own} for w, own in records.items()}
    numbers = sorted(set().union(*tables.values()))
    starts = [min(table) for table in tables.values() if table]
    for n in numbers:
        if len(starts) == len(tables) and n < max(starts):
            continue
        row = {w: table.get(n) for w, table in tables.items()}
        one, *others = row.values()
        if any(call_of(other) != call_of(one) for other in others):
            return row

# 1 right: a while loop
def first_difference(records):
    def find(own, number):
        for record in own:
            if record.number == number:
                return record
        return None
    number = max(own[0].number if own else 0 for own in records.values())
    while True:
        found = {w: find(own, number) for w, own in records.items()}
        if not any(found.values()):
            return None
        calls = [call_of(record) for record in found.values()]
        if calls.count(calls[0]) < len(calls):
            return found
        number += 1

# 1 right: zip_longest, after the older ones are cut off
def first_difference(records):
    from itertools import zip_longest
    start = max([own[0].number if own else 0 for own in records.values()])
    cut = [[r for r in own if r.number >= start] for own in records.values()]
    for row in zip_longest(*cut):
        if len({call_of(record) for record in row}) != 1:
            return dict(zip(records, row))
    return None

# 1 right: by number, then by worker
def first_difference(records):
    by_number = {}
    for worker, own in records.items():
        for record in own:
            by_number.setdefault(record.number, {})[worker] = record
    start = max((own[0].number if own else 0) for own in records.values())
    for number in sorted(by_number):
        row = by_number[number]
        calls = {call_of(record) for record in row.values()}
        if number >= start and (len(row) < len(records) or len(calls) > 1):
            return {worker: row.get(worker) for worker in records}
    return None

# 1 right: compares with the first worker
def first_difference(records):
    tables = {w: {r.number: r for r in own} for w, own in records.items()}
    one = next(iter(tables.values()))
    begin = max(min(t) if t else 0 for t in tables.values())
    end = max(max(t) if t else -1 for t in tables.values())
    for n in range(begin, end + 1):
        for table in tables.values():
            if call_of(table.get(n)) != call_of(one.get(n)):
                return {w: t.get(n) for w, t in tables.items()}
    return None

# 1 right: by recursion
def first_difference(records):
    tables = {w: {r.number: r for r in own} for w, own in records.items()}

    def look(number):
        row = {w: table.get(number) for w, table in tables.items()}
        if not any(row.values()):
            return None
        if len({call_of(record) for record in row.values()}) > 1:
            return row
        return look(number + 1)
    return look(max(min(t, default=0) for t in tables.values()))

# 1 right: min over all differences
def first_difference(records):
    tables = {w: {r.number: r for r in own} for w, own in records.items()}
    first = max(min(t, default=0) for t in tables.values())
    numbers = {n for t in tables.values() for n in t if n >= first}
    differ = [n for n in numbers
              if len({call_of(t.get(n)) for t in tables.values()}) > 1]
    if not differ:
        return None
    return {w: t.get(min(differ)) for w, t in tables.items()}

# 1 right: its own call
def first_difference(records):
    def call(record):
        return None if record is None else (
            record.name, record.shape, record.dtype)
    tables = {w: {r.number: r for r in own} for w, own in records.items()}
    first = max(min(t, default=0) for t in tables.values())
    last = max(max(t, default=-1) for t in tables.values())
    for n in range(first, last + 1):
        if len({call(t.get(n)) for t in tables.values()}) > 1:
            return {w: t.get(n) for w, t in tables.items()}

# 1 right: itertools.count
def first_difference(records):
    import itertools
    tables = {w: {r.number: r for r in own} for w, own in records.items()}
    for n in itertools.count(max(min(t, default=0) for t in tables.values())):
        row = {w: t.get(n) for w, t in tables.items()}
        if set(row.values()) == {None}:
            return None
        if len({call_of(r) for r in row.values()}) > 1:
            return row

# 1 right: a Counter of calls
def first_difference(records):
    first = max(own[0].number if own else 0 for own in records.values())
    last = max(own[-1].number if own else -1 for own in records.values())
    for n in range(first, last + 1):
        row = {w: next((r for r in own if r.number == n), None)
               for w, own in records.items()}
        if max(collections.Counter(
                map(call_of, row.values())).values()) < len(row):
            return row
    return None

# 1 right: from the end to the beginning
def first_difference(records):
    tables = {w: {r.number: r for r in own} for w, own in records.items()}
    result = None
    first = max(min(t, default=0) for t in tables.values())
    for n in range(max(max(t, default=-1) for t in tables.values()),
                   first - 1, -1):
        row = {w: t.get(n) for w, t in tables.items()}
        if len({call_of(r) for r in row.values()}) > 1:
            result = row
    return result

# 2 wrong: exchanges that not everybody has begun -> your times_last raises KeyError
def times_last(records):
    tables = {worker: {own.number: own.begun for own in owns}
              for worker, owns in records.items()}
    count = dict.fromkeys(records, 0)
    for number in set.union(*map(set, tables.values())):
        last = max(table[number] for table in tables.values())
        late = [worker for worker, table in tables.items()
                if table[number] == last]
        if len(late) == 1:
            count[late[0]] += 1
    return count

# 2 wrong: the first of those that were equally late -> begun at
def times_last(records):
    tables = {worker: {own.number: own.begun for own in owns}
              for worker, owns in records.items()}
    count = dict.fromkeys(records, 0)
    for number in set.intersection(*map(set, tables.values())):
        last = max(table[number] for table in tables.values())
        late = [worker for worker, table in tables.items()
                if table[number] == last]
        if late:
            count[late[0]] += 1
    return count

# 2 wrong: leaves out who was never last -> begun at
def times_last(records):
    tables = {worker: {own.number: own.begun for own in owns}
              for worker, owns in records.items()}
    count = collections.Counter()
    for number in set.intersection(*map(set, tables.values())):
        last = max(table[number] for table in tables.values())
        late = [worker for worker, table in tables.items()
                if table[number] == last]
        if len(late) == 1:
            count[late[0]] += 1
    return count

# 2 right: compares each with all others
def times_last(records):
    times = [{r.number: r.begun for r in own} for own in records.values()]
    common = [n for n in times[0] if all(n in own for own in times)]
    return {w: sum(all(mine[n] > own[n] for own in times if own is not mine) for n in common)
            for w, mine in zip(records, times)}

# 2 right: another kind of dictionary
def times_last(records):
    tables = {worker: {own.number: own.begun for own in owns}
              for worker, owns in records.items()}
    count = dict.fromkeys(records, 0)
    for number in set.intersection(*map(set, tables.values())):
        last = max(table[number] for table in tables.values())
        late = [worker for worker, table in tables.items()
                if table[number] == last]
        if len(late) == 1:
            count[late[0]] += 1
    return collections.OrderedDict(count)

# 3 wrong: records of unequal length -> where others do
def kind_of(own, others):
    if all(a == b for a, b in zip(own, others[1:])):
        return 'left out'
    if own[1:] == others[1:len(own)]:
        return 'replaced'
    if own[1:] == others[:len(own) - 1]:
        return 'added'

# 3 wrong: all of both, to the end -> where others do
def kind_of(own, others):
    for kind, skip, skip_others in (
            ('left out', 0, 1), ('replaced', 1, 1), ('added', 1, 0)):
        if own[skip:] == others[skip_others:]:
            return kind
    return None

# 3 wrong: names that are joined -> 'replaced', not 'left out'
def kind_of(own, others):
    for kind, skip, skip_others in (
            ('left out', 0, 1), ('replaced', 1, 1), ('added', 1, 0)):
        a, b = ''.join(own[skip:]), ''.join(others[skip_others:])
        if a.startswith(b) or b.startswith(a):
            return kind

# 3 right: as many as both have
def kind_of(own, others):
    def agree(a, b):
        n = min(len(a), len(b))
        return a[:n] == b[:n]
    if agree(own, others[1:]):
        return 'left out'
    if agree(own[1:], others[1:]):
        return 'replaced'
    return 'added' if agree(own[1:], others) else None

# 3 right: counts what differs
def kind_of(own, others):
    for kind, skip, skip_others in (
            ('left out', 0, 1), ('replaced', 1, 1), ('added', 1, 0)):
        if not [1 for a, b in zip(own[skip:], others[skip_others:]) if a != b]:
            return kind
    return None
