# 1 wrong: ranks in a row, whatever the axis -> differ on the axis 'tensor'
def groups(mesh, axis):
    return arrange(mesh).reshape(-1, mesh[axis]).tolist()

# 1 wrong: those with the same place on the axis -> in one group, and differ
def groups(mesh, axis):
    ranks = onp.moveaxis(arrange(mesh), list(mesh).index(axis), 0)
    return ranks.reshape(mesh[axis], -1).tolist()

# 1 wrong: the axis is first, and rows are taken -> in one group, and differ
def groups(mesh, axis):
    ranks = onp.moveaxis(arrange(mesh), list(mesh).index(axis), 0)
    return ranks.reshape(-1, mesh[axis]).tolist()

# 1 wrong: the first axis innermost -> differ on the axis
def groups(mesh, axis):
    size = math.prod(mesh.values())
    step = math.prod(list(mesh.values())[:list(mesh).index(axis)])
    found = {}
    for rank in range(size):
        place = rank // step % mesh[axis]
        found.setdefault(rank - place * step, []).append(rank)
    return list(found.values())

# 1 wrong: the group of rank 0 alone -> is in no group
def groups(mesh, axis):
    ranks = onp.moveaxis(arrange(mesh), list(mesh).index(axis), -1)
    return ranks.reshape(-1, mesh[axis]).tolist()[:1]

# 1 wrong: a group of each rank -> in more than one group
def groups(mesh, axis):
    ranks = onp.moveaxis(arrange(mesh), list(mesh).index(axis), -1)
    rows = ranks.reshape(-1, mesh[axis]).tolist()
    return [row for rank in range(ranks.size) for row in rows if rank in row]

# 1 wrong: pairs of neighbors -> in more than one group
def groups(mesh, axis):
    ranks = onp.moveaxis(arrange(mesh), list(mesh).index(axis), -1)
    rows = ranks.reshape(-1, mesh[axis]).tolist()
    return [[a, b] for row in rows for a, b in zip(row, row[1:] + row[:1])]

# 1 wrong: all ranks in one -> in one group, and differ
def groups(mesh, axis):
    return [list(range(math.prod(mesh.values())))]

# 1 wrong: an array -> return a list of lists
def groups(mesh, axis):
    ranks = onp.moveaxis(arrange(mesh), list(mesh).index(axis), -1)
    return ranks.reshape(-1, mesh[axis])

# 1 wrong: backward -> not in ascending order
def groups(mesh, axis):
    ranks = onp.moveaxis(arrange(mesh), list(mesh).index(axis), -1)
    return ranks.reshape(-1, mesh[axis])[:, ::-1].tolist()

# 1 wrong: from 1 -> ranks are 0 to 7
def groups(mesh, axis):
    ranks = onp.moveaxis(arrange(mesh), list(mesh).index(axis), -1)
    return (ranks.reshape(-1, mesh[axis]) + 1).tolist()

# 1 wrong: halves of groups -> groups have
def groups(mesh, axis):
    ranks = onp.moveaxis(arrange(mesh), list(mesh).index(axis), -1)
    rows = ranks.reshape(-1, mesh[axis]).tolist()
    return sorted([row[:1] for row in rows] + [row[1:] for row in rows
                                               if row[1:]])

# 1 wrong: takes the axis out of the mesh -> leave `mesh` as it is|your groups raises
def groups(mesh, axis):
    ranks = onp.moveaxis(arrange(mesh), list(mesh).index(axis), -1)
    return ranks.reshape(-1, mesh.pop(axis)).tolist()

# 1 wrong: a step of 1 for the last axis, of 2 for others -> in one group, and differ|ranks are|your groups raises|no group
def groups(mesh, axis):
    size, k = math.prod(mesh.values()), mesh[axis]
    step = 1 if axis == list(mesh)[-1] else 2
    return [[first + i * step for i in range(k)]
            for first in range(size // k)]

# 1 right: by strides
def groups(mesh, axis):
    lengths = list(mesh.values())
    step = math.prod(lengths[list(mesh).index(axis) + 1:])
    k = mesh[axis]
    return [[first + i * step for i in range(k)]
            for first in range(math.prod(lengths))
            if first // step % k == 0]

# 1 right: a dictionary of the other places
def groups(mesh, axis):
    names, found = list(mesh), {}
    for rank, place in enumerate(onp.ndindex(*mesh.values())):
        others = tuple(p for name, p in zip(names, place) if name != axis)
        found.setdefault(others, []).append(rank)
    return list(found.values())

# 1 right: swapaxes, and sorted
def groups(mesh, axis):
    ranks = arrange(mesh).swapaxes(list(mesh).index(axis), -1)
    return sorted(row.tolist() for row in ranks.reshape(-1, mesh[axis]))

# 1 right: slices of the array
def groups(mesh, axis):
    ranks, i = arrange(mesh), list(mesh).index(axis)
    shape = [n for name, n in mesh.items() if name != axis]
    return [ranks[place[:i] + (slice(None),) + place[i:]].tolist()
            for place in onp.ndindex(*shape)]

# 1 right: transpose
def groups(mesh, axis):
    i = list(mesh).index(axis)
    order = [j for j in range(len(mesh)) if j != i] + [i]
    rows = arrange(mesh).transpose(order).reshape(-1, mesh[axis])
    return [list(map(int, row)) for row in rows]

# 1 right: three dimensions, before, axis and after
def groups(mesh, axis):
    i, lengths = list(mesh).index(axis), list(mesh.values())
    after = math.prod(lengths[i + 1:])
    cube = arrange(mesh).reshape(-1, lengths[i], after)
    return [cube[a, :, b].tolist() for a in range(len(cube))
            for b in range(after)]

# 1 right: itertools.product
def groups(mesh, axis):
    from itertools import product
    found = []
    ranges = [[0] if name == axis else range(n) for name, n in mesh.items()]
    for start in product(*ranges):
        group = []
        for i in range(mesh[axis]):
            rank = 0
            for (name, n), p in zip(mesh.items(), start):
                rank = rank * n + (i if name == axis else p)
            group.append(rank)
        found.append(group)
    return found

# 1 right: apply_along_axis
def groups(mesh, axis):
    found = []
    onp.apply_along_axis(lambda row: found.append(row.tolist()) or 0,
                         list(mesh).index(axis), arrange(mesh))
    return found

# 1 right: the array as it is, with integers of NumPy
def groups(mesh, axis):
    ranks = onp.rollaxis(arrange(mesh), list(mesh).index(axis), len(mesh))
    return [list(row) for row in ranks.reshape(-1, mesh[axis])]

# 1 right: by the first rank of the group
def groups(mesh, axis):
    names = list(mesh)
    step = 1
    for name in names[names.index(axis) + 1:]:
        step *= mesh[name]
    found = {}
    for rank in range(math.prod(mesh.values())):
        found.setdefault(rank - rank // step % mesh[axis] * step,
                         []).append(rank)
    return [found[first] for first in sorted(found)]

# 1 right: by recursion over the axes
def groups(mesh, axis):
    def walk(ranks, names):
        if names[0] == axis:
            return ranks.reshape(len(ranks), -1).T.tolist()
        return [row for part in ranks for row in walk(part, names[1:])]
    return walk(arrange(mesh), list(mesh))

# 1 right: a generator
def groups(mesh, axis):
    def rows():
        ranks = onp.moveaxis(arrange(mesh), [*mesh].index(axis), -1)
        for place in onp.ndindex(*ranks.shape[:-1]):
            yield [int(rank) for rank in ranks[place]]
    return [*rows()]

# 2 wrong: what is split, too -> Their sum is the gradient of neither
def sum_over_mesh(device_params, mesh, axes):
    for axis in axes:
        for group in groups(mesh, axis):
            for params in zip(*[device_params[rank] for rank in group]):
                direct_allreduce([param.grad for param in params])

# 2 wrong: what is split on no axis -> it saw other examples
def sum_over_mesh(device_params, mesh, axes):
    for axis in axes:
        for group in groups(mesh, axis):
            for params in zip(*[device_params[rank] for rank in group]):
                if params[0].ndim == 1:
                    direct_allreduce([param.grad for param in params])

# 2 wrong: the axes the other way around -> Their sum is|saw other
def sum_over_mesh(device_params, mesh, axes):
    for axis in axes:
        for group in groups(mesh, axis):
            for params in zip(*[device_params[rank] for rank in group]):
                if axis == 'tensor' or params[0].ndim == 1:
                    direct_allreduce([param.grad for param in params])

# 2 wrong: the parameters -> the parameters were summed
def sum_over_mesh(device_params, mesh, axes):
    for axis in axes:
        for group in groups(mesh, axis):
            for params in zip(*[device_params[rank] for rank in group]):
                if axis == 'data' or params[0].ndim == 1:
                    for param in params:
                        param[:] = 1
                    direct_allreduce(list(params))

# 2 wrong: all axes, always -> of another stage|is not in a group|raises
def sum_over_mesh(device_params, mesh, axes):
    for axis in mesh:
        for group in groups(mesh, axis):
            for params in zip(*[device_params[rank] for rank in group]):
                if axis == 'data' or params[0].ndim == 1:
                    direct_allreduce([param.grad for param in params])

# 2 wrong: both axes, always -> is not in a group with it
def sum_over_mesh(device_params, mesh, axes):
    for axis in ('data', 'tensor'):
        for group in groups(mesh, axis):
            for params in zip(*[device_params[rank] for rank in group]):
                if axis == 'data' or params[0].ndim == 1:
                    direct_allreduce([param.grad for param in params])

# 2 wrong: the mean -> a mean
def sum_over_mesh(device_params, mesh, axes):
    for axis in axes:
        for group in groups(mesh, axis):
            for params in zip(*[device_params[rank] for rank in group]):
                if axis == 'data' or params[0].ndim == 1:
                    direct_allreduce([param.grad for param in params])
                    for param in params:
                        param.grad[:] /= len(group)

# 2 wrong: the first group of each axis -> is left out
def sum_over_mesh(device_params, mesh, axes):
    for axis in axes:
        group = groups(mesh, axis)[0]
        for params in zip(*[device_params[rank] for rank in group]):
            if axis == 'data' or params[0].ndim == 1:
                direct_allreduce([param.grad for param in params])

# 2 wrong: without the tensor axis -> it saw other positions
def sum_over_mesh(device_params, mesh, axes):
    for axis in {*axes} - {'tensor'}:
        for group in groups(mesh, axis):
            for params in zip(*[device_params[rank] for rank in group]):
                direct_allreduce([param.grad for param in params])

# 2 wrong: copies of the gradients -> is left out
def sum_over_mesh(device_params, mesh, axes):
    for axis in axes:
        for group in groups(mesh, axis):
            for params in zip(*[device_params[rank] for rank in group]):
                if axis == 'data' or params[0].ndim == 1:
                    direct_allreduce([param.grad.copy() for param in params])

# 2 wrong: each group twice -> counted more than once
def sum_over_mesh(device_params, mesh, axes):
    for axis in axes:
        for group in groups(mesh, axis) * 2:
            for params in zip(*[device_params[rank] for rank in group]):
                if axis == 'data' or params[0].ndim == 1:
                    direct_allreduce([param.grad for param in params])

# 2 wrong: all ranks at once -> raises|another shard|of another stage
def sum_over_mesh(device_params, mesh, axes):
    for params in zip(*device_params):
        direct_allreduce([param.grad for param in params])

# 2 right: by index
def sum_over_mesh(device_params, mesh, axes):
    for axis in axes:
        for group in groups(mesh, axis):
            for j, first in enumerate(device_params[group[0]]):
                if axis == 'tensor' and first.ndim > 1:
                    continue
                direct_allreduce([device_params[rank][j].grad
                                  for rank in group])

# 2 right: chapter 3's star
def sum_over_mesh(device_params, mesh, axes):
    from d2lmulti.replicas import allreduce
    for axis in axes:
        for group in groups(mesh, axis):
            for params in zip(*[device_params[rank] for rank in group]):
                if axis != 'tensor' or len(params[0].shape) == 1:
                    allreduce([param.grad for param in params])

# 2 right: the last axis first
def sum_over_mesh(device_params, mesh, axes):
    for axis in reversed([*axes]):
        for group in groups(mesh, axis):
            for params in zip(*[device_params[rank] for rank in group]):
                if axis == 'data' or params[0].ndim == 1:
                    direct_allreduce([param.grad for param in params])

# 2 right: the gradients that each rank sums, first
def sum_over_mesh(device_params, mesh, axes):
    def grads(rank, axis):
        return [param.grad for param in device_params[rank]
                if axis == 'data' or param.ndim == 1]
    for axis in axes:
        for group in groups(mesh, axis):
            for each in zip(*[grads(rank, axis) for rank in group]):
                direct_allreduce(list(each))

# 2 right: through NumPy
def sum_over_mesh(device_params, mesh, axes):
    for axis in axes:
        for group in groups(mesh, axis):
            for params in zip(*[device_params[rank] for rank in group]):
                if axis == 'tensor' and params[0].ndim == 2:
                    continue
                total = sum(param.grad.asnumpy() for param in params)
                for param in params:
                    param.grad[:] = np.array(total, dtype=param.dtype,
                                             ctx=param.ctx)

# 2 right: by recursion over the axes
def sum_over_mesh(device_params, mesh, axes):
    if not axes:
        return
    axis, *rest = axes
    for group in groups(mesh, axis):
        for params in zip(*(device_params[rank] for rank in group)):
            if params[0].ndim == 1 or axis == 'data':
                direct_allreduce([param.grad for param in params])
    sum_over_mesh(device_params, mesh, rest)

# 2 right: all who are to be summed, at once
def sum_over_mesh(device_params, mesh, axes):
    teams = {}
    for params, (d, p, t) in zip(device_params,
                                 onp.ndindex(*mesh.values())):
        for j, param in enumerate(params):
            kept = (p, j, None if 'data' in axes else d,
                    None if 'tensor' in axes and param.ndim == 1 else t)
            teams.setdefault(kept, []).append(param.grad)
    for grads in teams.values():
        direct_allreduce(grads)

# 2 right: a while loop, and it returns the gradients
def sum_over_mesh(device_params, mesh, axes):
    todo = [(axis, group) for axis in axes for group in groups(mesh, axis)]
    while todo:
        axis, group = todo.pop()
        for params in zip(*[device_params[rank] for rank in group]):
            if not (axis == 'tensor' and params[0].ndim > 1):
                direct_allreduce([param.grad for param in params])
    return [[param.grad for param in params] for params in device_params]

# 2 right: a star, written out
def sum_over_mesh(device_params, mesh, axes):
    for axis in axes:
        for group in groups(mesh, axis):
            for params in zip(*[device_params[rank] for rank in group]):
                if len(params) < 2 or (
                        axis == 'tensor' and params[0].ndim != 1):
                    continue
                total = params[0].grad
                for param in params[1:]:
                    total += param.grad.copyto(total.ctx)
                for param in params[1:]:
                    total.copyto(param.grad)

# 3 wrong: every link is between nodes -> bytes, not
def ring_between_nodes(order, node_size, num_bytes):
    nodes = [rank // node_size for rank in order]
    links = len(nodes)
    return links * 2 * (len(order) - 1) / len(order) * num_bytes

# 3 wrong: forgets that a ring closes -> bytes, not
def ring_between_nodes(order, node_size, num_bytes):
    nodes = [rank // node_size for rank in order]
    links = sum(nodes[i - 1] != nodes[i] for i in range(1, len(nodes)))
    return links * 2 * (len(order) - 1) / len(order) * num_bytes

# 3 wrong: only one round of the two -> bytes, not
def ring_between_nodes(order, node_size, num_bytes):
    nodes = [rank // node_size for rank in order]
    links = sum(nodes[i - 1] != nodes[i] for i in range(len(nodes)))
    return links * (len(order) - 1) / len(order) * num_bytes

# 3 wrong: the place in the node instead of the node -> bytes, not
def ring_between_nodes(order, node_size, num_bytes):
    nodes = [rank % node_size for rank in order]
    links = sum(nodes[i - 1] != nodes[i] for i in range(len(nodes)))
    return links * 2 * (len(order) - 1) / len(order) * num_bytes

# 3 right: pairs of neighbors
def ring_between_nodes(order, node_size, num_bytes):
    nodes = [rank // node_size for rank in order]
    links = sum(a != b for a, b in zip(nodes, nodes[1:] + nodes[:1]))
    return links * 2 * (len(order) - 1) / len(order) * num_bytes

# 3 right: link by link
def ring_between_nodes(order, node_size, num_bytes):
    total = 0.0
    for a, b in zip(order, order[1:] + order[:1]):
        if a // node_size != b // node_size:
            total += 2 * num_bytes * (1 - 1 / len(order))
    return onp.float64(total)
