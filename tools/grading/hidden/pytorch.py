"""Hidden checks of chapter 21."""

import torch
from compare import assert_same


def watched_are_separate(rng, answer, solution):
    def tensors():
        return [torch.tensor(rng.randn(*rng.randint(2, 5, 2))) for _ in '123']

    one, two, three = tensors(), tensors(), tensors()
    rows = torch.zeros(int(rng.randint(4, 9)), 3)
    for name, lists, separate in (
        ('three replicas', [one, two, three], True),
        ('two lists share one tensor', [one, [*two, one[1]]], False),
        ('overlapping rows', [[rows[:3]], [rows[2:]]], False),
        ('one is another shape of it', [[rows], [rows.reshape(-1)]], False),
        ('equal copies', [one, [param.clone() for param in one]], True),
    ):
        assert bool(answer(lists)) == separate, f'hidden check: {name}'


def hidden_times_seen(rng, answer, solution):
    for _ in range(8):
        k = int(rng.randint(1, 7))
        n = int(rng.randint(k, 40))
        for drop_last in (False, True):
            assert_same(answer, solution, n, k, drop_last)


def hidden_loss_factor(rng, answer, solution):
    for k in (1, 2, 5):
        lengths = [int(n) for n in rng.randint(1, 60, k)]
        found = [answer(list(lengths), rank) for rank in range(k)]
        wanted = k / sum(lengths)
        assert all(abs(factor - wanted) < 1e-5 * wanted for factor in found), (
            f'hidden check: shards of {lengths}: not {found}'
        )
