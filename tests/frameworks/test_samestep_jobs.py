"""`samestep.torch` where a job is no script of one file: optimizers that are
given, of other classes, or with a state; minibatches that are no plain rows.
The seeds begin at 15000.
"""

import collections
import sys
import types

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from samestep.torch import judge, record, same_step

ADAMW = torch.optim.AdamW


def case(seed=15000):
    torch.manual_seed(seed)
    layers = nn.Linear(20, 32), nn.Tanh(), nn.Linear(32, 5)
    batch = torch.randn(31, 20), torch.randint(0, 5, (31,))
    return nn.Sequential(*layers), [batch]


def backward(model, X, y, parts=1, last=1):
    """`last`: how often the last part counts."""
    for i, rows in enumerate(torch.arange(len(X)).tensor_split(parts)):
        loss = cross_entropy(model(X[rows]), y[rows], reduction='sum')
        times = last if i == parts - 1 else 1
        (times * loss / len(X)).backward()


def given(parts=1, last=1, before=lambda optimizer: None):
    def train(model, optimizer, X, y):
        backward(model, X, y, parts, last)
        before(optimizer)
        optimizer.step()

    return train


def after_some_steps(model, batches, kind=ADAMW, **options):
    optimizer = kind(model.parameters(), lr=0.01, **options)
    for _ in range(5):
        optimizer.zero_grad()
        backward(model, *batches[0])
        optimizer.step()
    optimizer.zero_grad()
    return optimizer


def test_a_step_goes_on_from_the_state_of_an_optimizer():
    def loses(optimizer):
        for state in optimizer.state.values():
            state['exp_avg'].zero_()

    model, batches = case()
    optimizer = after_some_steps(model, batches)
    before = [p.clone() for p in model.parameters()]
    assert same_step(given(3), given(), model, batches, optimizer=optimizer)
    found = same_step(
        given(3, before=loses), given(), model, batches, optimizer=optimizer
    )
    assert {d.of for d in found.failures()} == {'update'}
    assert all(map(torch.equal, before, model.parameters()))
    steps = {int(s['step']) for s in optimizer.state.values()}
    assert steps == {5}


def test_an_optimizer_that_a_function_makes_begins_with_that_state():
    def makes(parts, betas=(0.9, 0.999)):
        def train(model, _, X, y):
            backward(model, X, y, parts)
            ADAMW(model.parameters(), lr=0.01, betas=betas).step()

        return train

    model, batches = case()
    how = {'optimizer': after_some_steps(model, batches)}
    assert same_step(makes(3), given(), model, batches * 2, **how)
    found = str(
        same_step(makes(3, (0.9, 0.9)), given(), model, batches, **how)
    )
    assert 'betas=(0.9, 0.9) where' in found


def test_an_optimizer_made_outside_is_asked_for():
    model, batches = case()
    optimizer = ADAMW(model.parameters())

    def train(model, X, y):
        backward(model, X, y)
        optimizer.step()

    with pytest.raises(ValueError, match='give it as `optimizer`'):
        same_step(train, train, model, batches)


class Lion:
    """Of no class of torch.optim, without groups; it keeps moments."""

    def __init__(self, params, lr=0.01, kept=0.9):
        self.params, self.lr, self.kept = [*params], lr, kept
        self.moments = [torch.zeros_like(p) for p in self.params]

    @torch.no_grad()
    def step(self):
        for p, m in zip(self.params, self.moments):
            m.data = self.kept * m.to(p.dtype) + p.grad
            p -= self.lr * torch.tanh(m * 100)


class Masters:
    """As apex and DeepSpeed have it: copies that an optimizer moves."""

    def __init__(self, params, lr=0.01):
        self.params = [*params]
        self.copies = [p.detach().clone() for p in self.params]
        self.inner = ADAMW(self.copies, lr=lr)

    def step(self):
        for p, copy in zip(self.params, self.copies):
            copy.grad = p.grad.to(copy.dtype)
        self.inner.step()
        with torch.no_grad():
            for p, copy in zip(self.params, self.copies):
                p.copy_(copy)


def makes(kind, parts=1, last=1, **options):
    def train(model, X, y):
        backward(model, X, y, parts, last)
        kind(model.parameters(), lr=0.01, **options).step()

    return train


def test_another_class_is_judged_where_a_function_makes_it():
    for seed in range(15010, 15014):
        found = same_step(makes(Masters, 3), makes(ADAMW), *case(seed))
        assert found, found
    for last in 1.1, 0:
        assert not same_step(makes(Masters, 3, last), makes(ADAMW), *case())
    with pytest.raises(ValueError, match='no optimizer is seen in train'):
        same_step(makes(ADAMW), makes(Lion), *case())


class Flat:
    """As engines have it: an optimizer knows one array alone, of all
    parameters, and the engine clips."""

    kind = torch.optim.SGD

    def __init__(self, params, limit=0, **options):
        self.params, self.limit = [*params], limit
        flat = [p.detach().ravel() for p in self.params]
        self.whole = nn.Parameter(torch.cat(flat))
        self.inner = self.kind([self.whole], **options)

    @torch.no_grad()
    def step(self):
        grad = torch.cat([p.grad.ravel() for p in self.params])
        if self.limit:
            grad *= min(1, self.limit / grad.norm())
        self.whole.grad = grad
        self.inner.step()
        sizes = [p.numel() for p in self.params]
        for p, part in zip(self.params, self.whole.split(sizes)):
            p.copy_(part.view_as(p))
            p.grad = None


class FlatAdamW(Flat):
    kind = ADAMW


def test_an_engine_is_judged_by_a_move_that_hides_no_gradients():
    right = makes(torch.optim.SGD)
    found = same_step(makes(Flat, 3), right, *case())
    assert found and 'No gradients of the step are seen' in str(found)
    assert not same_step(makes(Flat, 3, 1.1), right, *case())
    kind = {'eps': 1e-15}  # of AdamW, which hides a factor but for that
    for last in 1, 3:
        with pytest.raises(ValueError, match='the gradients were 1.1 times'):
            same_step(
                makes(FlatAdamW, 1, last, **kind),
                makes(ADAMW, **kind),
                *case(),
            )


class Engine:
    """What of DeepSpeed's is called."""

    def __init__(self, params, limit=0, **options):
        self.basic_optimizer = self
        self.flat = FlatAdamW(params, limit, **options)
        inner = self.flat.inner
        self.param_groups, self.defaults = inner.param_groups, inner.defaults

    def gradient_clipping(self):
        return self.flat.limit

    def _get_optimizer_loss_scale(self):
        return 2

    def step(self):
        for p in self.flat.params:  # which no longer have their gradients
            p.kept, p.grad = p.grad * 2, None
        self._take_model_step()

    def _take_model_step(self):
        for p in self.flat.params:
            p.grad = p.kept / 2
        self.flat.step()


@pytest.fixture
def deepspeed(monkeypatch):
    names = {'DeepSpeedEngine': Engine, 'safe_get_full_grad': lambda p: p.kept}
    module = types.SimpleNamespace(**names)
    for name in 'deepspeed', 'deepspeed.utils':
        monkeypatch.setitem(sys.modules, name, module)


@pytest.mark.usefixtures('deepspeed')
def test_deepspeed_is_asked_for_gradients_before_it_clips_them():
    def clipped(model, X, y):
        backward(model, X, y)
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        ADAMW(model.parameters(), lr=0.01).step()

    found = same_step(makes(Engine, 3, limit=0.1), clipped, *case())
    assert str(found) == 'equal up to rounding'
    found = str(same_step(makes(Engine, 1, 3, limit=0.1), clipped, *case()))
    assert 'gradient of all 4 arrays' in found and 'times 3' in found
    found = str(same_step(makes(Engine, limit=0.2), clipped, *case()))
    assert 'max_norm=0.2 where the reference has 0.1' in found
    other = makes(Engine, limit=0.1, betas=(0.9, 0.9))
    assert 'betas=(0.9, 0.9) where' in str(same_step(other, clipped, *case()))
    model, batches = case()
    with pytest.raises(ValueError, match='a second minibatch'):
        same_step(makes(Engine, limit=0.1), clipped, model, batches * 2)


def test_another_class_that_is_given_is_watched():
    model, batches = case()
    how = {'optimizer': Lion(model.parameters())}
    found = same_step(given(3), given(), model, batches, **how)
    assert found and 'not seen' not in str(found)
    found = str(same_step(given(3, 0), given(), model, batches, **how))
    assert 'gradient of all 4 arrays' in found and 'never' in found


def test_a_rule_by_hand_is_judged_by_what_it_does():
    def by_hand(rate):
        def train(model, X, y):
            backward(model, X, y, 3)
            with torch.no_grad():
                for param in model.parameters():
                    param -= rate * param.grad

        return train

    def plain(model, X, y):
        backward(model, X, y)
        torch.optim.SGD(model.parameters(), 0.1).step()

    found = same_step(by_hand(0.1), plain, *case())
    assert found and 'No gradients of the step are seen' in str(found)
    assert not same_step(by_hand(0.11), plain, *case())


def test_a_closure_that_is_called_again_is_refused():
    def train(model, X, y):
        optimizer = torch.optim.LBFGS(model.parameters())

        def closure():
            optimizer.zero_grad()
            loss = cross_entropy(model(X), y)
            loss.backward()
            return loss

        optimizer.step(closure)

    with pytest.raises(ValueError, match='LBFGS computes gradients several'):
        same_step(train, train, *case())


# Minibatches


class Texts(nn.Module):
    """Attention within texts that stand one after the other."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(11, 8)
        self.q, self.k = nn.Linear(8, 8), nn.Linear(8, 8)
        self.head = nn.Linear(8, 11)

    def forward(self, ids, mask):
        x = self.words(ids)
        scores = self.q(x) @ self.k(x).mT + mask.to(x.dtype)
        return self.head(x + scores.softmax(-1) @ x)


def of_texts(lengths):
    """Return the mask of texts of these lengths."""
    texts = torch.repeat_interleave(torch.arange(len(lengths)), lengths)
    return torch.where(texts[:, None] == texts, 0.0, -1e9)


def test_packed_texts_are_judged_whole():
    def packed(model, ids, ends):
        scores = model(ids, of_texts(ends.diff()))[0]
        cross_entropy(scores[:-1], ids[0, 1:]).backward()
        torch.optim.SGD(model.parameters(), 0.1).step()

    def one_by_one(model, ids, ends, leaks=0):
        scores = []
        for start, end in zip(ends, ends[1:]):
            start = max(0, start - leaks)
            own = ids[:, start:end]
            scores.append(model(own, torch.zeros(()))[0, -(end - start) :])
        scores = torch.cat(scores)[: ids.shape[1] - 1]
        cross_entropy(scores, ids[0, 1:]).backward()
        torch.optim.SGD(model.parameters(), 0.1).step()

    def leaking(model, ids, ends):
        packed(model, ids, torch.stack([ends[0], ends[-1]]))

    ends = torch.tensor([0, 5, 7, 16])
    for seed in range(15020, 15024):
        torch.manual_seed(seed)
        batches = [(torch.randint(0, 11, (1, 16)), ends)]
        model = Texts()
        found = same_step(one_by_one, packed, model, batches, packed=True)
        assert found, found
        found = same_step(leaking, packed, model, batches, packed=True)
        assert not found
    with pytest.raises(ValueError, match='give packed=True'):
        same_step(one_by_one, packed, model, batches)


def test_a_dictionary_of_another_class_with_nothing_in_it_is_one():
    def step(parts):
        def train(model, batch):
            assert batch['empty'] is None
            backward(model, batch['X'], batch['y'], parts)
            torch.optim.SGD(model.parameters(), 0.1).step()

        return train

    model, ((X, y),) = case()
    batch = collections.UserDict(X=X, y=y, empty=None)
    assert same_step(step(2), step(1), model, [batch])
    batch['names'] = ['a'] * 31
    with pytest.raises(TypeError, match='part 0.names.0 .* no numbers'):
        same_step(step(2), step(1), model, [batch])


@pytest.mark.parametrize('scale', [1, 1.01])
def test_a_mask_of_one_row_is_for_all_and_images_stand_beside(scale):
    def step(parts, scale=1):
        def train(model, batch):
            ids, images = batch['ids'], batch['images'].flatten(1)
            for rows in torch.arange(len(ids)).tensor_split(parts):
                mask = batch['mask'][0, 0]
                scores = model(ids[rows], mask).flatten(0, 1)
                loss = cross_entropy(
                    scores, batch['labels'][rows].flatten(), reduction='sum'
                )
                extra = model.q(images[rows]).square().sum() * scale
                ((loss + extra) / len(ids)).backward()
            torch.optim.SGD(model.parameters(), 0.1).step()

        return train

    torch.manual_seed(15030)
    batch = {
        'ids': torch.randint(0, 11, (7, 6)),
        'images': torch.randn(7, 2, 2, 2),
        'mask': torch.full((1, 1, 6, 6), -torch.inf).triu(1),
        'labels': torch.randint(0, 11, (7, 6)),
    }
    found = same_step(step(3, scale), step(1), Texts(), [batch])
    assert bool(found) == (scale == 1), found


@pytest.mark.parametrize('kind', [torch.optim.SparseAdam, torch.optim.SGD])
def test_sparse_gradients_of_an_embedding_are_judged(kind):
    def step(parts, times=1, rate=0.1):
        def train(model, ids, y):
            for own in zip(ids.tensor_split(parts), y.tensor_split(parts)):
                scores = model[1](model[0](own[0]))
                loss = cross_entropy(scores, own[1], reduction='sum')
                (loss / len(y)).backward()
            words = model[0].weight
            words.grad = words.grad.coalesce()
            words.grad.values()[-1] *= times
            kind(model[0].parameters(), lr=rate).step()
            torch.optim.SGD(model[1].parameters(), lr=0.1).step()

        return train

    torch.manual_seed(15050)
    model = nn.Sequential(nn.Embedding(30, 8, sparse=True), nn.Linear(8, 5))
    batches = [(torch.randint(0, 30, (13,)), torch.randint(0, 5, (13,)))] * 2
    found = same_step(step(3), step(1), model, batches)
    assert found, found
    said = str(same_step(step(3, times=2), step(1), model, batches))
    assert 'gradient of 0.weight' in said
    assert 'twice' in said or 'Wrong are 8 of' in said
    said = str(same_step(step(3, rate=0.11), step(1), model, batches))
    assert 'The step has lr=0.11' in said


def test_kernels_without_float64_are_named():
    def grouped(model, X, y):
        loss = cross_entropy(model(X), y)
        if X.dtype == torch.float64:
            raise RuntimeError('Expected mat_a to be Float32, got Double')
        loss.backward()
        torch.optim.SGD(model.parameters(), 0.1).step()

    with pytest.raises(TypeError, match='experts_implementation="eager"'):
        same_step(grouped, grouped, *case())


# A reference in a file


class Renamed(nn.Module):
    """The same network in another version, or of another framework."""

    def __init__(self):
        super().__init__()
        self.kernel = nn.Parameter(torch.zeros(20, 32))
        self.start = nn.Parameter(torch.zeros(32))
        self.head = nn.Linear(32, 5)

    def forward(self, X):
        return self.head(torch.tanh(X @ self.kernel + self.start))


NAMES = {
    '0.weight': ('kernel', (1, 0)),
    '0.bias': 'start',
    '2.weight': 'head.weight',
    '2.bias': 'head.bias',
}


def test_a_step_of_another_module_is_judged_by_a_file(tmp_path):
    def trains(parts=1, last=1, rate=0.01):
        def train(model, X, y):
            backward(model, X, y, parts, last)
            ADAMW(model.parameters(), lr=rate).step()

        return train

    path = tmp_path / 'due.npz'
    for seed in range(15040, 15044):
        model, (batch,) = case(seed)
        record(path, trains(), model, batch)
        found = judge(path, trains(3), Renamed(), NAMES)
        assert found, found
        found = judge(path, trains(3, 1.01), Renamed(), NAMES)
        assert {d.of for d in found.failures()} == {'gradient'}
        found = judge(path, trains(3, rate=0.011), Renamed(), NAMES)
        assert 'of' not in {d.of for d in found.failures()} and not found
    with pytest.raises(ValueError, match='give `names`'):
        judge(path, trains(3), Renamed())
