"""What `spmd_types` says of chapter 26's rooms, written in PyTorch."""

import pytest
import spmd_types as spmd
import torch
import torch.distributed as dist
from conftest import run_cells
from spmd_types import P, R, V, checker
from torch.distributed.device_mesh import init_device_mesh


@pytest.fixture(scope='module')
def mesh():
    """Yield two ranks of which only this one exists: types need no more."""
    dist.init_process_group(backend='fake', rank=0, world_size=2)
    yield init_device_mesh('cpu', (2,), mesh_dim_names=('dp',))
    dist.destroy_process_group()


class Rooms:
    """The rooms: each a function of (fixed), on the ranks of a group."""

    def __init__(self, group):
        self.group = group

    def typed(self, kind):
        return self.check(torch.randn(5), kind)

    def check(self, tensor, kind):
        return spmd.assert_type(tensor, {self.group: kind})

    def term(self, tensor):
        """Say that the ranks' own tensors are terms of a sum."""
        return spmd.reinterpret(tensor, self.group, src=V, dst=P)

    def allreduce(self, tensor):
        return spmd.all_reduce(tensor, self.group, src=P, dst=R)

    def gather(self, tensor):
        return spmd.all_gather(tensor, self.group, src=V, dst=R)

    def once(self, tensor):
        """Return a term of what all ranks have: on one of them."""
        return spmd.convert(tensor, self.group, src=R, dst=P)

    def rebound(self, fixed):
        grad = self.term(self.typed(V))
        grad = self.allreduce(grad) if fixed else grad
        self.check(self.typed(R) - grad, R)

    def unmarked(self, fixed):
        split, more = [
            (own * own).sum() for own in (self.typed(V), self.typed(V))
        ]
        if not fixed:
            more = (dist.get_rank() == 0) * more  # the first one's alone
        return self.allreduce(self.term(split + more))

    def own_count(self, fixed):
        total = self.allreduce(self.term(self.typed(V)))
        count = self.typed(V)
        if fixed:
            count = self.allreduce(self.term(count))
        self.check(total / count, R)

    def row_bias(self, fixed):
        term, bias = self.term(self.typed(V)), self.typed(R)
        if fixed:
            return self.allreduce(term) + bias
        return self.allreduce(term + bias)

    def whole_logits(self, fixed):
        logits = self.typed(V)
        if not fixed:
            logits = self.gather(logits)
        self.allreduce(self.term(logits.exp().sum()))

    def first_synced(self, fixed):
        first, second = (self.term(self.typed(V)) for _ in range(2))
        if fixed:
            held = self.allreduce(first + second)
        else:
            held = self.allreduce(first) + second
        self.check(self.typed(R) - held, R)

    def own_start(self, fixed):
        param = self.typed(V)  # of the rank's own random numbers
        if fixed:
            param = self.allreduce(self.once(self.typed(R)))
        self.check(param - self.allreduce(self.term(self.typed(V))), R)


def is_refused(room, mesh, fixed):
    """Return whether `spmd_types` finds an error in a room."""
    with spmd.set_current_mesh(mesh), checker.typecheck():
        try:
            getattr(Rooms(mesh.get_group('dp')), room)(fixed)
        except spmd.SpmdTypeError:
            return True
    return False


SAID = run_cells('26_bugs', 'spmd-types').SPMD_TYPES


@pytest.mark.parametrize('room', SAID)
def test_the_chapter_says_what_spmd_types_says(room, mesh):
    assert is_refused(room, mesh, fixed=False) == (SAID[room] == 'yes')
    assert not is_refused(room, mesh, fixed=True)
