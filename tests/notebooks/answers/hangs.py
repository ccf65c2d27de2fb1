# 1 wrong: counts what a ring buffer of records still has -> records from and to
def behind(records):
    begun = {worker: len(own)
             for worker, own in records.items()}
    return sorted(worker for worker, number in begun.items()
                  if number < max(begun.values()))

# 1 wrong: a worker that has begun nothing -> your answer raises IndexError
def behind(records):
    begun = {worker: own[-1].number + 1
             for worker, own in records.items()}
    return sorted(worker for worker, number in begun.items()
                  if number < max(begun.values()))

# 1 wrong: those that are ahead -> records from and to
def behind(records):
    begun = {worker: own[-1].number + 1 if own else 0
             for worker, own in records.items()}
    return sorted(worker for worker, number in begun.items()
                  if number > min(begun.values()))

# 1 wrong: not sorted -> records from and to
def behind(records):
    begun = {worker: own[-1].number + 1 if own else 0
             for worker, own in records.items()}
    return list(worker for worker, number in begun.items()
                  if number < max(begun.values()))

# 1 right: from all records
def behind(records):
    ends = {w: max((r.number for r in own), default=-1)
            for w, own in records.items()}
    return sorted(w for w in ends if ends[w] != max(ends.values()))

# 1 right: the largest number of each
def behind(records):
    begun = {worker: max([record.number + 1 for record in own] or [0])
             for worker, own in records.items()}
    return sorted(worker for worker, number in begun.items()
                  if number < max(begun.values()))

# 2 wrong: exchanges that not everybody has begun -> your answer raises KeyError
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

# 2 wrong: who was first -> begun at
def times_last(records):
    tables = {worker: {own.number: own.begun for own in owns}
              for worker, owns in records.items()}
    count = dict.fromkeys(records, 0)
    for number in set.intersection(*map(set, tables.values())):
        last = min(table[number] for table in tables.values())
        late = [worker for worker, table in tables.items()
                if table[number] == last]
        if len(late) == 1:
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

# 3 wrong: one exchange that agrees -> where others do
def kind_of(own, others):
    for kind, skip, skip_others in (
            ('left out', 0, 1), ('replaced', 1, 1), ('added', 1, 0)):
        if any(a == b for a, b in zip(own[skip:], others[skip_others:])):
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
