"""The scripts in PyTorch of `samestep`'s page are right, and bugs in them are
found, as in steps of which the page tells in words."""

import re

import pytest
from samestep_page import (
    FINE,
    PAGE,
    TORCHRUN,
    run_recipe,
    shown_by,
)

# Batch normalization per micro-batch, autocast, and a warmup in several steps.
SOURCE = """
import torch
from torch.nn.functional import cross_entropy

from samestep.torch import same_step

torch.manual_seed(0)  # with some, the order decides a running mean
first, last = torch.nn.Linear(20, 32), torch.nn.Linear(32, 5)
norm = torch.nn.BatchNorm1d(32)
X, y = torch.randn(32, 20), torch.randint(5, (32,))

def update(model, rate=0.01):
    torch.optim.AdamW(model.parameters(), lr=rate).step()

def accumulate(model, X, y):
    for part, labels in zip(X, y):
        (cross_entropy(model(part), labels) / len(X)).backward()
    update(model)

def plain(model, X, y):
    scores = torch.cat([model(part) for part in X])
    cross_entropy(scores, y.flatten()).backward()
    update(model)

model = torch.nn.Sequential(first, norm, torch.nn.Tanh(), last)
print(same_step(accumulate, plain, model, [(X.view(4, 8, 20), y.view(4, 8))]))

def in_bfloat16(model, X, y):
    for part, labels in zip(X.split(10), y.split(10)):
        with torch.autocast('cpu', torch.bfloat16):
            loss = cross_entropy(model(part), labels, reduction='sum')
        (loss / len(X)).backward()
    update(model)

def on_one_device(model, X, y):
    cross_entropy(model(X), y).backward()
    update(model)

model = torch.nn.Sequential(first, torch.nn.Tanh(), last)
print(same_step(in_bfloat16, on_one_device, model, [(X, y)]))

def warm_up_in_parts(model, X, y, n):
    for part, labels in zip(X.split(10), y.split(10)):
        loss = cross_entropy(model(part), labels, reduction='sum')
        (loss / len(X)).backward()
    update(model, 0.01 * min(1, (int(n) + 1) / 3))

def warm_up(model, X, y, n):
    cross_entropy(model(X), y).backward()
    update(model, 0.01 * min(1, (int(n) + 1) / 3))

batches = [(torch.randn(32, 20), torch.randint(5, (32,)), n) for n in range(4)]
print(same_step(warm_up_in_parts, warm_up, model, batches))
"""
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


OWN_MEAN = [
    ("ids[:, 1:].flatten(), reduction='sum')", 'ids[:, 1:].flatten())'),
    (
        """(total(model, ids) / ids[:, 1:].numel()).backward()
    update(model)

def low""",
        """total(model, ids).backward()
    update(model)

def low""",
    ),
    (
        '(total(cast_model, ids) / ids[:, 1:].numel())',
        'total(cast_model, ids)',
    ),
    ('(loss * size / ids[:, 1:].numel())', 'loss'),
]


@pytest.mark.ci
@pytest.mark.parametrize(('changes', 'status'), [((), 0), (OWN_MEAN, 1)])
def test_fsdp_says_what_stands_below_it(changes, status, tmp_path):
    found = run_recipe(tmp_path, 'fsdp2.py', changes, TORCHRUN, status)
    shown = PAGE.split('fsdp2.py\n```', 1)[1]
    shown = re.findall(r'```\n(.*?)```', shown, re.S)[status]
    assert shown_by(found).startswith(shown_by(shown))


@pytest.mark.ci
def test_fsdp_without_low_asks_for_it(tmp_path):
    change = [(', low=low)', ')'), ('found = same', 'try:\n    found = same')]
    said = 'except Exception as error:\n    found = repr(error)\nif rank == 0:'
    change.append(('if rank == 0:', said))
    found = run_recipe(tmp_path, 'fsdp2.py', change, TORCHRUN)
    assert found.startswith('NeedsLow') and 'what words returns' in found


def test_a_step_is_judged_before_and_after_a_change(tmp_path):
    assert (
        run_recipe(tmp_path, 'refactored.py', [('[1:]', "[1:] or ['record']")])
        == ''
    )
    assert run_recipe(tmp_path, 'refactored.py') == f'{FINE}\n'
    rate = [('lr=0.01', 'lr=0.02')]
    assert 'off by' in run_recipe(tmp_path, 'refactored.py', rate)
