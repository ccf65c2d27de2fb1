"""Hidden checks of chapter 18."""

import numpy as onp
from compare import assert_same


def hidden_place_of(rng, answer, solution):
    for _ in range(6):
        lengths = rng.randint(1, 6, int(rng.randint(1, 5))).tolist()
        mesh = {f'axis {9 - i}': n for i, n in enumerate(lengths)}
        rank = int(rng.randint(onp.prod(lengths)))
        found, right = answer(rank, dict(mesh)), solution(rank, dict(mesh))
        assert {**found} == right, f'hidden check: {rank} of {mesh}: {found}'


def hidden_mesh_norm(rng, answer, solution):
    for _ in range(6):
        D, P, T = (int(n) for n in rng.randint(1, 4, 3))
        splits = [bool(n) for n in rng.randint(2, size=5)]
        homes = [{*rng.randint(P, size=2).tolist()} for _ in splits]
        wholes = [rng.normal(size=(int(rng.randint(T, 9)), 3)) for _ in splits]
        wholes[1] = onp.ones((6, 3))
        device_grads = [
            [
                None
                if p not in home
                else onp.array_split(whole, T)[t]
                if split
                else whole
                for whole, split, home in zip(wholes, splits, homes)
            ]
            for d, p, t in onp.ndindex(D, P, T)
        ]
        mesh = {'data': D, 'pipeline': P, 'tensor': T}
        assert_same(answer, solution, device_grads, splits, mesh)


def hidden_ring_between_nodes(rng, answer, solution):
    for _ in range(8):
        k, node_size = int(rng.randint(1, 12)), int(rng.randint(1, 5))
        order = rng.permutation(20)[:k].tolist()
        num_bytes = int(rng.randint(1, 9000))
        assert_same(answer, solution, order, node_size, num_bytes)
