"""`samestep.torch` says in which module an error begins, in the forward pass
or in the backward pass; and where no module shows it. Tiny transformers,
whose seeds begin at 8000.
"""

import copy
import functools
import threading

import numpy as onp
import pytest
import torch
from torch.nn.functional import cross_entropy
from torch.utils.checkpoint import checkpoint

from samestep.torch import same_step

ROWS, TOKENS, WORDS, WIDTH = 7, 6, 11, 16


def scores_of(q, k, width=WIDTH):
    hidden = torch.ones(TOKENS, TOKENS, dtype=torch.bool).triu(1)
    return (q @ k.mT / width**0.5).masked_fill(hidden, -1e9)


def attend(q, k, v):
    return scores_of(q, k).softmax(-1) @ v


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.out = (
            torch.nn.Linear(WIDTH, WIDTH) for _ in range(4)
        )
        self.attend = attend

    def forward(self, x):
        return self.out(self.attend(self.q(x), self.k(x), self.v(x)))


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.attention = Attention()
        self.mlp = torch.nn.Sequential(
            torch.nn.Linear(WIDTH, WIDTH),
            torch.nn.Tanh(),
            torch.nn.Linear(WIDTH, WIDTH),
        )
        self.mask = None

    def forward(self, x):
        x = x + self.attention(self.norm(x))
        return x + self.mlp(x)


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(WORDS, WIDTH)
        self.places = torch.nn.Embedding(TOKENS, WIDTH)
        self.blocks = torch.nn.ModuleList(Block() for _ in range(2))
        self.head = torch.nn.Linear(WIDTH, WORDS, bias=False)
        self.head.weight = self.words.weight  # tied
        self.run, self.start = (lambda block, x: block(x)), 0

    def forward(self, X):
        at = (torch.arange(TOKENS) + self.start) % TOKENS
        x = self.words(X) + self.places(at)
        for block in self.blocks:
            x = self.run(block, x)
        return self.head(x)


def case(seed):
    torch.manual_seed(seed)
    rng = onp.random.default_rng(seed)
    return Network(), [
        (
            rng.integers(0, WORDS, (ROWS, TOKENS)),
            rng.integers(0, WORDS, (ROWS, TOKENS)),
        )
    ]


def step(parts=1, before=None, after=None, scale=1, half=False):
    """Return a function that accumulates gradients of a network which
    `before` changes; `after` changes the gradients."""

    def train(model, X, y):
        if before:
            before(model)
        for X_part, y_part in zip(
            X.tensor_split(parts), y.tensor_split(parts)
        ):
            with torch.autocast('cpu', torch.bfloat16, enabled=half):
                scores = model(X_part).flatten(0, 1)
            scores = scores.float() if half else scores
            loss = cross_entropy(scores, y_part.flatten(), reduction='sum')
            (scale * loss / y.numel()).backward()
        if after:
            after(model)
        torch.optim.AdamW(model.parameters(), lr=0.01).step()

    return train


def said(seed=8000, low=None, parts=2, **options):
    found = same_step(step(parts, **options), step(), *case(seed), low=low)
    assert not found
    return str(found)


class Rolled(torch.autograd.Function):
    """Keys whose gradients come from the neighbor's turn of a ring."""

    @staticmethod
    def forward(ctx, k):
        return k.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient.roll(1, 1)


def stale_keys(model):
    """diffusers#14265: ring attention's backward pass has stale keys."""
    model.blocks[0].attention.attend = lambda q, k, v: attend(
        q, Rolled.apply(k), v
    )


def over_a_shard(model):
    """Each device attends to its own part of the sequence alone."""

    def local(q, k, v):
        scores = scores_of(q, k)
        scores[:, TOKENS // 2 :, : TOKENS // 2] = -1e9
        return scores.softmax(-1) @ v

    model.blocks[1].attention.attend = local


def restarted_positions(model):
    model.start = TOKENS // 2


def another_epsilon(model):
    model.blocks[1].norm.eps = 1e-2


class Lost(torch.autograd.Function):
    """A sum of gradients over tensor parallel shards that is left out."""

    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, gradient):
        x, weight = ctx.saved_tensors
        half = gradient.clone()
        half[..., WIDTH // 2 :] = 0
        rows = gradient.flatten(0, 1)
        return half @ weight, rows.T @ x.flatten(0, 1), rows.sum(0)


def a_shard_lost(model):
    layer = model.blocks[0].mlp[2]
    layer.forward = lambda x: Lost.apply(x, layer.weight, layer.bias)


def other_masks(model):
    """OLMo-core#828: recomputation draws other masks of dropout."""

    def drop(x):
        calls.append(x)
        mask = torch.ones(WIDTH)
        mask[: WIDTH // 4] = len(calls) % 2
        return mask * torch.nn.functional.linear(x, layer.weight, layer.bias)

    layer, calls = model.blocks[1].mlp[0], []
    layer.forward = drop
    model.run = functools.partial(checkpoint, use_reentrant=True)


def half_a_norm(model):
    for param in model.blocks[0].norm.parameters():
        param.grad /= 2


def one_use_lost(model):
    """piper#13: of a tied weight, one stage's gradients are left out."""
    model.words.weight.grad *= 0.5


PLACES = {
    stale_keys: 'the backward pass of blocks.0.attention, behind '
    'blocks.0.attention.k.',
    over_a_shard: 'the forward pass of blocks.1.attention, in what it gives '
    'to blocks.1.attention.out.',
    restarted_positions: 'the forward pass of the network itself, in what it '
    'gives to blocks.0.',
    another_epsilon: 'the forward pass of blocks.1.norm.',
    a_shard_lost: 'the backward pass of blocks.0.mlp.2.',
}
LATER = 'computed, summed, exchanged or scaled.'


@pytest.mark.parametrize('bug', PLACES)
def test_a_bug_in_a_module_is_placed(bug):
    assert f'\nIt begins in {PLACES[bug]}' in said(before=bug)


@pytest.mark.parametrize('devices', [1, 2])
@pytest.mark.parametrize('bug', [another_epsilon, restarted_positions])
def test_a_bug_in_a_copy_of_the_network_is_placed(bug, devices):
    """One for each device; a copy that averages is none of them."""

    def on_copies(model, X, y):
        for own in zip(X.tensor_split(devices), y.tensor_split(devices)):
            replica, mean = copy.deepcopy(model), copy.deepcopy(model)
            bug(replica)
            scores = replica(own[0]).flatten(0, 1)
            loss = cross_entropy(scores, own[1].flatten(), reduction='sum')
            (loss / y.numel()).backward()
            with torch.no_grad():
                mean.head.weight.mul_(0.5)
                mean(own[0])
            for param, own in zip(model.parameters(), replica.parameters()):
                param.grad = own.grad + (
                    0 if param.grad is None else param.grad
                )
        torch.optim.AdamW(model.parameters(), lr=0.01).step()

    found = same_step(on_copies, step(), *case(8000))
    assert f'\nIt begins in {PLACES[bug]}' in str(found)


@pytest.mark.parametrize('seed', [8000, 8001])
def test_a_constant_in_a_bias_is_no_word_of_precision(seed):
    """In a few arrays, what comes of it is small and of both signs."""

    def before(model):
        model.blocks[1].mlp[0].bias.data += 0.01

    def after(model):
        model.blocks[1].mlp[0].bias.grad += 0.01

    found = said(seed, before=before)
    assert 'begins in the forward pass of blocks.1.mlp.0.' in found
    assert 'precision' not in found
    found = said(seed, after=after)
    assert 'right one with 0.01 added to each number.' in found


@pytest.mark.parametrize('bug', [half_a_norm, one_use_lost])
def test_a_bug_after_the_backward_pass_is_placed_there(bug):
    assert LATER in said(after=bug)


def test_a_bug_of_the_loss_is_placed_there():
    found = said(scale=3)
    assert 'passes back 3 times what it should' in found
    shifted = same_step(
        lambda model, X, y: step()(model, X, y.roll(1, 1)), step(), *case(8000)
    )
    assert 'or in the loss, behind head.' in str(shifted)


def test_a_module_whose_gradients_are_not_seen_is_not_blamed_alone():
    """Only its weights are read, as where a device has some of them."""

    def by_hand(model, X, y, before=0):
        x = model.words(X) + model.places.weight
        for block in model.blocks:
            x = block(x)
        scores = model.head.forward(x).flatten(0, 1)
        cross_entropy(scores, y.roll(before, 1).flatten()).backward()
        torch.optim.AdamW(model.parameters(), lr=0.01).step()

    assert same_step(by_hand, step(), *case(8000))
    wrong = functools.partial(by_hand, before=1)
    found = str(same_step(wrong, step(), *case(8000)))
    assert 'of head, or behind it, where no gradients are seen.' in found


def test_where_gradients_are_differentiated_no_module_is_blamed():
    """A penalty of the gradient, without its graph."""

    def train(model, X, graph=True):
        X = X.clone().requires_grad_()
        (slope,) = torch.autograd.grad(
            model(X).sum(), X, create_graph=graph, retain_graph=True
        )
        loss = model(X).sum() + (slope.norm(dim=1) - 1).square().sum()
        (loss / len(X)).backward()
        torch.optim.SGD(model.parameters(), lr=0.1).step()

    torch.manual_seed(8000)
    model = torch.nn.Sequential(
        torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)
    )
    wrong = functools.partial(train, graph=False)
    found = str(same_step(wrong, train, model, [(torch.randn(9, 3),)]))
    assert 'It begins in the loss or in the backward pass: ' in found


def test_gradients_of_several_losses_in_turn_are_added_up():
    """As those of tasks are, which are projected afterwards."""

    def train(model, X, y, parts=1, after=None):
        weights = [*model.parameters()]
        total = [torch.zeros_like(w) for w in weights]
        for some in torch.arange(len(X)).tensor_split(parts):
            scores = model(X[some]).flatten(0, 1)
            losses = cross_entropy(scores, y[some].flatten(), reduction='none')
            for share in 1, 0.2:
                loss = share * losses.pow(2 - share).sum() / y.numel()
                own = torch.autograd.grad(loss, weights, retain_graph=True)
                total = [a + b for a, b in zip(total, own)]
        for weight, own in zip(weights, total):
            weight.grad = own
        if after:
            after(model)
        torch.optim.SGD(weights, lr=0.1).step()

    right = functools.partial(train, parts=2)
    assert same_step(right, train, *case(8000))
    wrong = functools.partial(train, parts=2, after=half_a_norm)
    assert LATER in str(same_step(wrong, train, *case(8000)))


def test_other_masks_in_recomputation_are_placed():
    assert 'where blocks.1.mlp.0 is computed again' in said(before=other_masks)


@pytest.mark.parametrize('half', [False, True])
def test_right_modules_are_not_blamed(half):
    """What is wrong is a gradient, after all modules."""
    low = step(half=True) if half else None
    for seed in range(8001, 8005):
        assert LATER in said(seed, low, 3, after=half_a_norm, half=half)


@pytest.mark.filterwarnings('error')
@pytest.mark.parametrize('number', [onp.inf, onp.nan])
def test_numbers_that_are_not_finite_are_placed_quietly(number):
    def in_a_module(model):
        norm = model.blocks[1].norm
        norm.forward = lambda x: torch.where(x > 1, number, x)

    def in_backward(model):
        model.blocks[0].mlp[2].register_full_backward_hook(
            lambda module, given, of_result: (given[0] * number,)
        )

    def in_a_gradient(model):
        model.head.weight.grad[0] = number

    place = 'the forward pass of blocks.1.norm.'
    assert place in said(before=in_a_module)
    place = 'the backward pass of blocks.0.mlp.2.'
    assert place in said(before=in_backward)
    assert LATER in said(after=in_a_gradient)


@pytest.mark.parametrize('factor', [1, 2])
def test_a_step_of_torch_func_is_judged_and_has_no_place(factor):
    """What it transforms has no numbers to look at."""

    def of_functions(model, X, y):
        def loss(params, X, y):
            scores = torch.func.functional_call(model, params, X[None])
            scores = scores.flatten(0, 1)
            return factor * cross_entropy(scores, y, reduction='sum')

        params = dict(model.named_parameters())
        of_each = torch.func.vmap(torch.func.grad(loss), (None, 0, 0))
        for name, grad in of_each(params, X, y).items():
            params[name].grad = grad.sum(0) / y.numel()
        torch.optim.AdamW(params.values(), lr=0.01).step()

    found = same_step(of_functions, step(), *case(8000))
    assert bool(found) == (factor == 1)
    assert 'begins' not in str(found)


def test_a_compiled_step_is_compiled_whole():
    """What looks at modules is no part of it."""
    graphs = []

    def seen(graph, _):
        graphs.append(graph)
        return graph.forward

    def compiled(model, X, y):
        torch._dynamo.reset()
        scores = torch.compile(model, backend=seen)(X)
        cross_entropy(scores.flatten(0, 1), y.flatten()).backward()
        torch.optim.AdamW(model.parameters(), lr=0.01).step()

    assert same_step(compiled, step(), *case(8000))
    assert len(graphs) == 2  # of the step, which is run twice


def test_examples_that_are_alike_have_no_place():
    model, ((X, y),) = case(8000)
    X[1] = X[0]
    found = same_step(step(2, another_epsilon), step(), model, [(X, y)])
    assert not found and 'begins' not in str(found)


@pytest.mark.parametrize('reentrant', [False, True])
def test_right_recomputation_is_right(reentrant):
    def recompute(model):
        model.run = functools.partial(checkpoint, use_reentrant=reentrant)

    assert same_step(step(2, recompute), step(), *case(8000))
    assert LATER in said(before=recompute, after=half_a_norm)


def test_a_tensor_that_is_written_in_place_is_kept_as_it_was():
    def train(model, X):
        model(X).square().mean().backward()
        torch.optim.SGD(model.parameters(), 0.1).step()

    def another_norm(model, X):
        model[1].eps = 0.1
        train(model, X)

    torch.manual_seed(8010)
    model = torch.nn.Sequential(
        torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(True)
    )
    found = same_step(another_norm, train, model, [(torch.randn(7, 4),)])
    assert 'It begins in the forward pass of 1.' in str(found)


@pytest.mark.filterwarnings('error::RuntimeWarning')
def test_infinities_of_a_mask_are_no_difference():
    layer = torch.nn.TransformerEncoderLayer(8, 2, 8, 0.0, batch_first=True)
    torch.manual_seed(8011)
    model = torch.nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)

    def train(model, X, hidden, scale=1):
        scores = model(X, src_key_padding_mask=hidden)
        (scale * scores[:, 0].square().sum()).backward()
        torch.optim.SGD(model.parameters(), 0.1).step()

    X, hidden = torch.randn(7, 5, 8), torch.zeros(7, 5, dtype=torch.bool)
    hidden[::2, 3:] = True
    assert same_step(train, train, model, [(X, hidden)])
    triple = functools.partial(train, scale=3)
    found = str(same_step(triple, train, model, [(X, hidden)]))
    assert 'passes back 3 times what it should' in found


def pairs(seed, rows):
    torch.manual_seed(seed)
    rng = onp.random.default_rng(seed)
    network = torch.nn.Sequential(
        torch.nn.Linear(10, WIDTH), torch.nn.Tanh(), torch.nn.Linear(WIDTH, 8)
    )
    return network, [tuple(rng.normal(size=(2, rows, 10)))]


def contrast(model, X, Y, others=slice(None)):
    """Return the loss of pairs, each of which has all other rows, or those of
    its shard alone, as negatives."""
    one, two = (
        torch.nn.functional.normalize(model(part[others]), dim=1)
        for part in (X, Y)
    )
    scores = 10 * one @ two.T
    places = torch.arange(len(scores))
    return (
        cross_entropy(scores, places) + cross_entropy(scores.T, places)
    ) / 2


@pytest.mark.parametrize(
    ('rows', 'weighted'), [(16, ''), (17, ', weighted by their rows')]
)
def test_negatives_of_the_own_shard_alone_are_placed_in_the_loss(
    rows, weighted
):
    """The network is called for both of a pair, which are not taken for one
    another; and that examples depend on others is no cause of another kind."""

    def whole(model, X, Y):
        contrast(model, X, Y).backward()
        torch.optim.AdamW(model.parameters(), lr=0.01).step()

    def local(model, X, Y):
        for own in torch.arange(len(X)).tensor_split(2):
            loss = contrast(model, X, Y, own)
            (loss * len(own) / len(X)).backward()
        torch.optim.AdamW(model.parameters(), lr=0.01).step()

    for seed in range(8300, 8303):
        found = same_step(local, whole, *pairs(seed, rows), num_devices=2)
        assert {d.cause for d in found.failures()} == {
            f"The move is the mean of the shards' own{weighted}."
        }
        (place,) = found.notes
        assert 'of the network itself or in the loss' in place


def test_a_result_that_no_gradient_reaches_is_no_error():
    """DDP passes None back for what a module returns beside its loss."""

    class Sink(torch.autograd.Function):
        @staticmethod
        def forward(ctx, loss, scores):
            return loss.clone(), scores.clone()

        @staticmethod
        def backward(ctx, gradient, _):
            return gradient, None

    class Both(torch.nn.Linear):
        def forward(self, X):
            scores = super().forward(X)
            return scores.square().mean(), 2 * scores

    def train(factor, model, X):
        loss, _ = Sink.apply(*model(X))
        (factor * loss).backward()
        torch.optim.SGD(model.parameters(), 0.1).step()

    for factor in 1, 2:
        steps = (functools.partial(train, i) for i in (factor, 1))
        found = same_step(*steps, Both(4, 3), [(torch.randn(7, 4),)])
        assert bool(found) == (factor == 1)


def rows_of(change, times=1):
    def train(model, X):
        (times * model(change(X)).square().mean()).backward()
        torch.optim.SGD(model.parameters(), 0.1).step()

    return train


def test_rows_that_are_not_in_the_minibatch_are_no_place_but_said():
    """Of a changed example, no module can be blamed."""

    def first_negated(X):
        return torch.cat([-X[:1], X[1:]])

    steps = rows_of(first_negated), rows_of(abs)
    batches = [(torch.randn(7, 5),)]
    (place,) = same_step(*steps, torch.nn.Linear(5, 3), batches).notes
    assert 'rows that are not in the minibatch' in place


def test_rows_that_the_reference_cuts_are_found():
    """As of a text, whose last token is a label alone."""

    def cut(X):
        return X[:, :-1]

    def with_more(model, X):
        model.bias.data += 1
        rows_of(cut)(model, X)

    for step, said in (
        (rows_of(cut, 2), 'passes back 2 times what it should'),
        (with_more, 'It begins in the forward pass of the network itself.'),
    ):
        model = torch.nn.Linear(4, 3)
        batches = [(torch.randn(7, 5),)]
        (place,) = same_step(step, rows_of(cut), model, batches).notes
        assert said in place


@pytest.mark.parametrize('bug', ['', 'after', 'within'])
def test_parts_of_a_sum_are_not_blamed(bug):
    """As of experts, of which each device has some."""

    class Experts(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = torch.nn.Linear(6, 4)
            self.experts = torch.nn.Parameter(torch.randn(4, 6, 5))

        def forward(self, X, own=(0, 1, 2, 3)):
            shares = self.gate(X).softmax(-1)
            if bug == 'within' and 0 not in own:
                shares = 2 * shares
            return sum(shares[:, [i]] * (X @ self.experts[i]) for i in own)

    def train(devices, model, X, y):
        scores = sum(model(X, own) for own in devices)
        cross_entropy(scores, y).backward()
        if bug == 'after' and len(devices) > 1:
            model.gate.bias.grad /= 2
        torch.optim.SGD(model.parameters(), 0.1).step()

    torch.manual_seed(8500)
    batches = [(torch.randn(13, 6), torch.randint(5, (13,)))]
    steps = (
        functools.partial(train, devices)
        for devices in ([(0, 1), (2, 3)], [(0, 1, 2, 3)])
    )
    found = same_step(*steps, Experts(), batches)
    assert bool(found) == (not bug)
    assert bug != 'after' or not found.notes


def test_a_block_that_is_detached_is_named():
    def before(model):
        model.blocks[1].register_forward_hook(lambda *own: own[2].detach())

    assert said(before=before).endswith('No gradient returns to blocks.1.')


def test_another_activation_is_no_word_of_precision():
    """Half of the arrays may look so by chance."""

    def train(model, X, y, how='none'):
        model[1].approximate = how
        torch.nn.functional.smooth_l1_loss(model(X), y).backward()
        torch.optim.SGD(model.parameters(), lr=0.1).step()

    for seed in range(8000, 8004):
        torch.manual_seed(seed)
        model = torch.nn.Sequential(
            torch.nn.Linear(12, 16, bias=False),
            torch.nn.GELU(),
            torch.nn.Linear(16, 3, bias=False),
        )
        batches = [(torch.randn(19, 12), torch.randn(19, 3))]
        by_tanh = functools.partial(train, how='tanh')
        found = str(same_step(by_tanh, train, model, batches))
        assert 'forward pass of 1.' in found and 'precision' not in found


def test_calls_of_several_threads_have_no_place():
    """They may be at once, and then what they compute is mixed."""

    def in_threads(model, X, y):
        def train(*part):
            scores = model(part[0]).flatten(0, 1)
            loss = cross_entropy(scores, part[1].flatten(), reduction='sum')
            (loss / y.numel()).backward()

        for part in zip(X.tensor_split(2), y.tensor_split(2)):
            thread = threading.Thread(target=train, args=part)
            thread.start()
            train(*part)
            thread.join()
        torch.optim.AdamW(model.parameters(), lr=0.01).step()

    found = same_step(in_threads, step(), *case(8000))
    assert not found
    assert ' begins ' not in str(found)
