"""The page on repeating a run: its script prints what the page says."""

import pathlib
import re

import pytest

import d2lmulti

ROOT = pathlib.Path(__file__).parents[2]
PAGE = (ROOT / 'book/determinism.md').read_text()
(SCRIPT,) = re.findall(r'```python\n# differs.py\n(.*?)```', PAGE, re.DOTALL)
(PRINTED,) = re.findall(r'It prints:\n\n```\n(.*?)```', PAGE, re.DOTALL)


def printed_by(script, capsys):
    exec(compile(script, 'differs.py', 'exec'), {'__name__': 'differs'})
    return capsys.readouterr().out


def test_each_cause_alone_does_what_the_page_says(capsys):
    assert printed_by(SCRIPT, capsys) == PRINTED


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
