"""What `samestep.torch` says of a step that runs in two processes."""

import pytest
from samestep_page import FINE, TORCHRUN, changed, run_script

pytestmark = pytest.mark.ci

DDP = """
import numpy as np
import torch
import torch.distributed as dist
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import clip_grad_norm_

from samestep.torch import same_step

torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Linear(20, 32), torch.nn.Tanh(), torch.nn.Linear(32, 5)
)
rng = np.random.default_rng(0)
batches = [
    (rng.normal(size=(n, 20)), rng.integers(0, 5, n)) for n in (61, 64, 7)
]
dist.init_process_group('gloo')
rank, size = dist.get_rank(), dist.get_world_size()


def update(model):
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    clip_grad_norm_(model.parameters(), 0.1)
    optimizer.step()


def train(model, X, y):
    cross_entropy(model(X), y).backward()
    update(model)


def ddp_step(model, X, y):
    ddp = DistributedDataParallel(model)
    X_shard, y_shard = X.tensor_split(size)[rank], y.tensor_split(size)[rank]
    loss = cross_entropy(ddp(X_shard), y_shard, reduction='sum')
    (loss * size / len(X)).backward()
    update(ddp)


comparison = same_step(ddp_step, train, model, batches)
print(f'rank {rank}: {comparison}')
dist.destroy_process_group()
"""
BUGS = {
    'a mean of means': (
        [(", reduction='sum')", ')'), ('(loss * size / len(X))', 'loss')],
        'as the mean of the means of 2 parts is.',
    ),
    'nothing is exchanged': (
        [('ddp(X_shard)', 'model(X_shard)'), ('update(ddp)', 'update(model)')],
        ' never, ',
    ),
}


def run_ddp(folder, *changes):
    (folder / 'ddp.py').write_text(changed(DDP, changes))
    return run_script(folder, 'ddp.py', TORCHRUN)


def test_the_step_is_right(tmp_path):
    found = run_ddp(tmp_path)
    assert found.count(FINE) == 2 and 'off by' not in found


@pytest.mark.parametrize('bug', BUGS)
def test_a_bug_is_found(bug, tmp_path):
    changes, cause = BUGS[bug]
    found = run_ddp(tmp_path, *changes)
    assert FINE not in found and cause in found


def test_no_factor_of_one_rank_before_the_mean_is_blamed(tmp_path):
    """DDP takes the mean of what the ranks pass back, here twice as much."""
    bug = '    ddp.module[2].bias.grad *= 3\n    update(ddp)'
    found = run_ddp(tmp_path, ('    update(ddp)', bug))
    assert 'passes back' not in found
    place = 'begins in the loss, or where the gradients of parameters are'
    assert found.count(place) == 2
    said = 'replicas 0 and 1, gradient of 2.bias: off by'
    assert found.count(said) == found.count('the right one times 3.') == 2


def test_all_ranks_say_what_each_has_found(tmp_path):
    bug = '    ddp.module[2].bias.grad *= 1 + rank\n    update(ddp)'
    changes = [('    update(ddp)', bug), ('batches)', 'batches[:1])')]
    found = run_ddp(tmp_path, *changes)
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
    found = run_ddp(tmp_path, ('    update(ddp)\n', drift))
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
    found = run_ddp(tmp_path, *changes)
    assert 'rank 1 cannot judge its step: ' in found
    assert found.count('has taken 0 steps') == 2
