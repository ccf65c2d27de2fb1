"""Hidden checks of chapter 1."""


def watched_split_slices(rng, answer, solution):
    for _ in range(6):
        n, k = int(rng.randint(0, 300)), int(rng.randint(1, 12))
        found = [list(range(n))[part] for part in answer(n, k)]
        wanted = [list(range(n))[part] for part in solution(n, k)]
        assert found == wanted, f'hidden check: {n} items, {k} devices'
