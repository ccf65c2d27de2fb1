"""Two runs of the same training are bit-identical."""

import pytest

import d2lmulti


@pytest.mark.parametrize('k', [1, 2, 3, 4])
def test_a_run_repeats_bit_for_bit(k):
    data = [part[:64] for part in d2lmulti.read_fashion_mnist()]
    first, second, other = (
        d2lmulti.train(k, 32, 0.1, num_epochs=1, seed=seed, data=data)
        for seed in (0, 0, 1)
    )

    def same(result):
        return all(
            (a.asnumpy() == b.asnumpy()).all()
            for a, b in zip(first.device_params[-1], result.device_params[-1])
        )

    assert same(second) and not same(other)
