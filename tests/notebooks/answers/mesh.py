# 1 wrong: the first axis changes fastest -> rank 1 of
def place_of(rank, mesh):
    place = {}
    for axis in mesh:
        rank, place[axis] = divmod(rank, mesh[axis])
    return place

# 1 wrong: the axes by the alphabet -> rank 1 of
def place_of(rank, mesh):
    place = {}
    for axis in sorted(mesh, reverse=True):
        rank, place[axis] = divmod(rank, mesh[axis])
    return place

# 1 wrong: quotient and remainder exchanged -> rank
def place_of(rank, mesh):
    place = {}
    for axis in reversed([*mesh]):
        place[axis], rank = divmod(rank, mesh[axis])
    return place

# 1 right: with unravel_index
def place_of(rank, mesh):
    places = onp.unravel_index(rank, tuple(mesh.values()))
    return {axis: int(n) for axis, n in zip(mesh, places)}

# 1 right: looks the rank up
def place_of(rank, mesh):
    ranks = arrange(mesh)
    return dict(zip(mesh, onp.argwhere(ranks == rank)[0]))

# 2 wrong: replicas of a stage count once each -> the norm is
def mesh_norm(device_grads, splits, mesh):
    replica, total = arrange(mesh)[0], 0
    for j, split in enumerate(splits):
        for ranks in replica:
            if device_grads[ranks[0]][j] is not None:
                owners = ranks if split else ranks[:1]
                total += sum((device_grads[rank][j] ** 2).sum()
                             for rank in owners)
    return math.sqrt(total)

# 2 wrong: copies in a tensor group count once each -> the norm is
def mesh_norm(device_grads, splits, mesh):
    replica, total = arrange(mesh)[0], 0
    for j, split in enumerate(splits):
        for ranks in replica:
            if device_grads[ranks[0]][j] is not None:
                total += sum((device_grads[rank][j] ** 2).sum()
                             for rank in ranks)
                break
    return math.sqrt(total)

# 2 wrong: one part stands for all -> the norm is
def mesh_norm(device_grads, splits, mesh):
    replica, total = arrange(mesh)[0], 0
    for j, split in enumerate(splits):
        for ranks in replica:
            if device_grads[ranks[0]][j] is not None:
                total += (device_grads[ranks[0]][j] ** 2).sum()
                break
    return math.sqrt(total)

# 2 wrong: the square of the norm -> the norm is
def mesh_norm(device_grads, splits, mesh):
    replica, total = arrange(mesh)[0], 0
    for j, split in enumerate(splits):
        for ranks in replica:
            if device_grads[ranks[0]][j] is not None:
                owners = ranks if split else ranks[:1]
                total += sum((device_grads[rank][j] ** 2).sum()
                             for rank in owners)
                break
    return total

# 2 wrong: equal numbers are taken for copies -> the norm is
def mesh_norm(device_grads, splits, mesh):
    squares = {(j, (grad**2).sum()) for own in device_grads
               for j, grad in enumerate(own) if grad is not None}
    return math.sqrt(sum(square for _, square in squares))

# 2 right: divides by the number of copies
def mesh_norm(device_grads, splits, mesh):
    total = 0
    for j, split in enumerate(splits):
        held = [own[j] for own in device_grads if own[j] is not None]
        copies = len(held) / (mesh["tensor"] if split else 1)
        total += sum((g ** 2).sum() for g in held) / copies
    return total ** 0.5

# 2 right: one entry for each part
def mesh_norm(device_grads, splits, mesh):
    squares = {}
    for rank, own in enumerate(device_grads):
        for j, g in enumerate(own):
            part = rank % mesh["tensor"] if splits[j] else 0
            if g is not None:
                squares[j, part] = onp.vdot(g, g)
    return onp.sqrt(sum(squares.values()))

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
