"""The recipes for PyTorch of the page *Verify your own
training step* are right, and see the bugs that people have had."""

import sys

import pytest
from verify_page import FINE, TORCHRUN, run_recipe

pytestmark = pytest.mark.ci

RECIPES = {
    'accumulate.py': ((sys.executable,), 1),
    'autocast.py': ((sys.executable,), 1),
    'scaler.py': ((sys.executable,), 1),
    'ddp.py': (TORCHRUN, 2),
    'no_sync.py': (TORCHRUN, 2),
    'fsdp.py': (TORCHRUN, 2),
    'tensor_parallel.py': (TORCHRUN, 2),
}
BUGS = {
    'each part is a mean': (
        'accumulate.py',
        [(", reduction='sum')", ')'), ('(loss / len(X))', 'loss')],
        'as the sum of the means of 4 parts is.',
    ),
    'clipped before it is unscaled': (
        'scaler.py',
        [('    scaler.unscale_(optimizer)\n', '')],
        'to the power of 16: a scale of the loss?',
    ),
    'DDP takes a mean of means': (
        'ddp.py',
        [(", reduction='sum')", ')'), ('(loss * size / len(X))', 'loss')],
        'as the mean of the means of 2 parts is.',
    ),
    'nothing is exchanged': (
        'no_sync.py',
        [
            (
                'contextlib.nullcontext() if last else ddp.no_sync()',
                'ddp.no_sync()',
            )
        ],
        ' never, ',
    ),
    'the mean of sums': (
        'fsdp.py',
        [('loss * size / len(X)', 'loss / len(X)')],
        'the right one, divided by the 2 devices',
    ),
    'other labels on the other rank of a group': (
        'tensor_parallel.py',
        [
            (
                'mesh, plan), X, y)',
                'mesh, plan), X, (y + dist.get_rank()) % 5)',
            )
        ],
        'off by',
    ),
}


@pytest.mark.parametrize('name', RECIPES)
def test_a_recipe_is_right(name, tmp_path):
    python, processes = RECIPES[name]
    found = run_recipe(tmp_path, name, (), python)
    assert found.count(FINE) == processes and 'off by' not in found


@pytest.mark.parametrize('bug', BUGS)
def test_a_bug_in_a_recipe_is_found(bug, tmp_path):
    name, changes, cause = BUGS[bug]
    found = run_recipe(tmp_path, name, changes, RECIPES[name][0])
    assert FINE not in found and cause in found


def test_the_module_in_which_an_error_begins_is_named(tmp_path):
    found = run_recipe(tmp_path, 'place.py')
    assert found.endswith('\nIt begins in the forward pass of 1.\n')


def test_buffers_are_compared(tmp_path):
    """Batch normalization whose running means have another momentum."""
    end = '(61, 64, 7)\n]\n'
    more = (
        'def faster(model, X, y):\n'
        '    model[2].momentum = 0.2\n'
        '    train(model, X, y)\n'
        'for step in train, faster:\n'
        '    print(same_step(step, train, model, batches))\n'
    )
    norm = 'torch.nn.Tanh(), torch.nn.BatchNorm1d(32),'
    found = run_recipe(
        *(tmp_path, 'torch_steps.py'),
        [('torch.nn.Tanh(),', norm), (end, end + more)],
    )
    assert found.startswith(f'{FINE}\nstep 0, ')
    assert 'gradient' not in found
    assert '2.running_mean' in found and '2.running_var' in found
    assert 'weight' not in found and 'bias' not in found


def test_no_factor_of_one_rank_before_the_mean_is_blamed(tmp_path):
    """DDP takes the mean of what the ranks pass back, here twice as much."""
    bug = '    ddp.module[2].bias.grad *= 3\n    update(ddp)'
    found = run_recipe(
        tmp_path, 'ddp.py', [('    update(ddp)', bug)], TORCHRUN
    )
    assert 'passes back' not in found
    place = 'begins in the loss, or where the gradients of parameters are'
    assert found.count(place) == 2
    assert found.count('the right one times 3.') == 4  # both, on each rank


def test_all_ranks_say_what_each_has_found(tmp_path):
    bug = '    ddp.module[2].bias.grad *= 1 + rank\n    update(ddp)'
    changes = [('    update(ddp)', bug), ('batches)', 'batches[:1])')]
    found = run_recipe(tmp_path, 'ddp.py', changes, TORCHRUN)
    assert FINE not in found
    said = 'replica 1, gradient of 2.bias: off by'
    assert found.count(said) == found.count('right one, times 2.') == 2
    assert 'a sum where a mean is due' not in found  # on one rank alone


def test_a_rank_with_a_difference_takes_the_steps_for_which_others_wait(
    tmp_path,
):
    """Rank 1 differs in the first of three, and rank 0 in none: DDP sends its
    parameters to all before each step."""
    drift = '    update(ddp)\n    model[2].bias.data[0] += 0.1 * rank\n'
    found = run_recipe(
        tmp_path, 'ddp.py', [('    update(ddp)\n', drift)], TORCHRUN
    )
    assert found.count('step 0, replica 1') == 2


def test_a_rank_that_fails_takes_the_steps_for_which_others_wait(tmp_path):
    """Rank 1 forgets the update, of which rank 0 knows nothing."""
    call = 'comparison = same_step(ddp_step, train, model, batches[:1])\n'
    guarded = f'try:\n    {call}except Exception as error:\n'
    changes = [
        ('    update(ddp)', '    if rank == 0:\n        update(ddp)'),
        (
            'comparison = same_step(ddp_step, train, model, batches)\n',
            f'{guarded}    comparison = error\n',
        ),
    ]
    found = run_recipe(tmp_path, 'ddp.py', changes, TORCHRUN)
    assert 'rank 1 cannot judge its step: ' in found
    assert found.count('has taken 0 steps') == 2
