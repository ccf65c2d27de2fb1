"""Hidden checks of chapter 22."""

from compare import assert_same


def hidden_loss_factor(rng, answer, solution):
    for k in (1, 2, 5):
        sizes = [int(n) for n in rng.randint(1, 60, k)]
        rank = int(rng.randint(k))
        for loss in ('sum', 'mean'):
            for exchange in ('sum', 'mean'):
                assert_same(answer, solution, sizes, rank, loss, exchange)
