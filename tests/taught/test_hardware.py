"""The table of accelerators: units, and a source for each."""

import pytest

from d2lmulti.hardware import ACCELERATORS, PRICES

LIMITS = {  # of anything built for training since 2020, in SI units
    'memory': (10e9, 1e12),
    'bandwidth': (0.5e12, 20e12),
    'bf16': (100e12, 5e15),
    'fp8': (400e12, 10e15),
    'link': (100e9, 2e12),
    'domain': (2, 10_000),
    'watts': (100, 2_000),
}


@pytest.mark.parametrize('name', ACCELERATORS)
def test_figures_are_in_bytes_and_operations_per_second(name):
    figures = ACCELERATORS[name]
    for field, (low, high) in LIMITS.items():
        value = getattr(figures, field)
        assert value is None or low <= value <= high, field


@pytest.mark.parametrize('name', ACCELERATORS)
def test_peaks_are_dense(name):
    """A peak with sparsity in one column alone would be another ratio."""
    bf16, fp8 = ACCELERATORS[name].bf16, ACCELERATORS[name].fp8
    if bf16 and fp8:
        assert round(fp8 / bf16, 2) in (1, 2)


def test_everything_has_a_source_and_a_price_a_date():
    for figures in ACCELERATORS.values():
        assert figures.sources
        assert all(each.startswith('http') for each in figures.sources)
    for name, price in PRICES.items():
        assert name in ACCELERATORS
        assert 0 < price.low <= price.high
        assert price.source.startswith('http') and price.date[-4:].isdigit()
