"""`samestep.torch` where a job is no script of one file: optimizers that are
given, of other classes, or with a state; minibatches that are no plain rows.
The seeds begin at 15000.
"""

import collections

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


@pytest.mark.parametrize('kind', [Lion, Masters])
def test_another_class_is_judged_where_a_function_makes_it(kind):
    def makes(kind, parts=1, last=1, **options):
        def train(model, X, y):
            backward(model, X, y, parts, last)
            kind(model.parameters(), lr=0.01, **options).step()

        return train

    right = makes(Lion) if kind is Lion else makes(ADAMW)
    for seed in range(15010, 15014):
        found = same_step(makes(kind, 3), right, *case(seed))
        assert found, found
    for wrong in makes(kind, 3, 1.1), makes(kind, 3, 0):
        assert not same_step(wrong, right, *case())
    if kind is Lion:
        assert 'No optimizer is seen in the reference' in str(found)


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
    assert found and 'No optimizer is seen in the step' in str(found)
    assert not same_step(by_hand(0.11), plain, *case())
    model, batches = case()
    with pytest.raises(ValueError, match='a second minibatch'):
        same_step(by_hand(0.1), plain, model, batches * 2)


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
