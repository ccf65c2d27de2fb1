"""Hidden checks of chapter 2."""

import mxnet as mx
from compare import assert_same


def hidden_layer_sizes(rng, answer, solution):
    for num in (1, 2, 4):
        shapes = [
            shape
            for _ in range(num)
            for shape in (tuple(rng.randint(1, 9, 2)), (rng.randint(1, 9),))
        ]
        assert_same(answer, solution, [mx.np.zeros(shape) for shape in shapes])


def hidden_loss_by_hand(rng, answer, solution):
    for n, scale in ((1, 1), (5, 200), (8, 1e4)):
        y_hat = mx.np.array(scale * rng.randn(n, 10))
        y = mx.np.array(rng.randint(0, 10, n))
        assert_same(answer, solution, y_hat, y)
        assert_same(answer, solution, y_hat - 1e3 * scale, y)


def hidden_side_after(rng, answer, solution):
    for _ in range(4):
        layers = [
            ('convolution', int(rng.randint(1, 6))) if coin else ('pooling', 2)
            for coin in rng.randint(0, 2, 3)
        ]
        assert_same(answer, solution, int(rng.randint(40, 99)), layers)
