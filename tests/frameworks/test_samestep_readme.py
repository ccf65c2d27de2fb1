"""The steps in PyTorch of `samestep`'s README are right, and bugs in them are
found."""

import re

import pytest
from verify_page import ROOT, TORCHRUN, run_script

README = (ROOT / 'samestep/README.md').read_text('utf-8')
SECTION = README.split('\n## Steps that need more')[1]
SOURCE = '\n'.join(
    re.findall(r'```python\n(.*?)```', SECTION.split('\n## ')[0], re.S)
)
BUGS = {
    'a micro-batch that counts more': (
        'model(part), labels) / len(X)',
        'model(part), labels) * part.mean().exp() / len(X)',
        'Of the 4 rows',
    ),
    'another rate in bfloat16': (
        'update(model)\n\ndef on_one',
        'update(model, 0.02)\n\ndef on_one',
        'lr=0.02 where the reference has 0.01',
    ),
    'a slower warmup': (
        'update(model, 0.01 * min(1, (int(n) + 1) / 3))\n\ndef warm_up',
        'update(model, 0.01 * min(1, (int(n) + 1) / 4))\n\ndef warm_up',
        'lr=0.0025 where the reference has 0.00333333',
    ),
}


def test_they_are_right(capsys):
    exec(SOURCE, {})
    assert capsys.readouterr().out == 'equal up to rounding\n' * 3


@pytest.mark.parametrize('bug', BUGS)
def test_a_bug_is_found(bug, capsys):
    right, wrong, said = BUGS[bug]
    assert SOURCE.count(right) == 1
    exec(SOURCE.replace(right, wrong), {})
    found = capsys.readouterr().out
    assert found.count('equal up to rounding') == 2 and said in found


@pytest.mark.parametrize(
    ('loss', 'said'),
    [
        ('', 'equal up to rounding'),
        (
            'cross_entropy(model(X_shard), y_shard).backward()',
            'as the mean of the means of 2 parts is',
        ),
    ],
)
def test_two_processes_say_what_the_text_says(loss, said, tmp_path):
    (source,) = re.findall(r'```python\n# ddp.py\n(.*?)```', README, re.S)
    if loss:
        own = r'loss = cross_entropy\(.*?\n.*\.backward\(\)'
        source, times = re.subn(own, loss, source)
        assert times == 1
    assert f'`{loss or said}`' in README and f'`{said}`' in README
    (tmp_path / 'ddp.py').write_text(source)
    printed = run_script(tmp_path, 'ddp.py', TORCHRUN, int(bool(loss)))
    assert printed.count(said) == 1 + bool(loss), printed
