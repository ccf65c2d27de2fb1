"""What `samestep.torch` says of options that differ, of what is not judged,
and of a precision that it is not told of. The seeds begin at 14000.
"""

import copy

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from samestep import NeedsLow
from samestep.torch import same_step


def case(seed=14000, model=None):
    torch.manual_seed(seed)
    layers = nn.Linear(20, 32), nn.Tanh(), nn.Linear(32, 5)
    batch = torch.randn(31, 20), torch.randint(0, 5, (31,))
    return model or nn.Sequential(*layers), [batch]


def step(change=lambda model: None, kind=torch.optim.SGD, **options):
    options = {'lr': 0.1, **options}

    def train(model, X, y):
        cross_entropy(model(X), y).backward()
        change(model)
        kind(model.parameters(), **options).step()

    return train


@pytest.mark.parametrize(
    ('own', 'due'),
    [
        ({'momentum': 0.5}, {'momentum': 0.9}),  # not seen in the first step
        ({'lr': 0.1000002}, {'lr': 0.1}),
    ],
)
def test_options_that_differ_are_said_if_the_move_hides_them(own, due):
    found = same_step(step(**own), step(**due), *case())
    ((name, value),) = own.items()
    assert not found and not found.failures()
    said = f'The step has {name}={value} where the reference has {due[name]}.'
    assert said in str(found)


def test_clipping_that_is_left_out_is_said_if_no_norm_is_above_its_limit():
    def clips(model):
        nn.utils.clip_grad_norm_(model.parameters(), 1e6)

    found = same_step(step(), step(clips), *case())
    said = 'The step has max_norm=inf where the reference has 1e+06.'
    assert found and said in str(found)


def test_options_that_change_nothing_are_no_difference():
    right = step(kind=torch.optim.AdamW, lr=0.01, weight_decay=0)
    tensors = step(kind=torch.optim.Adam, lr=torch.tensor(0.01))
    assert same_step(tensors, right, *case())


class Adapted(nn.Module):
    def __init__(self):
        super().__init__()
        self.base = nn.Linear(20, 5).requires_grad_(False)
        self.A = nn.Linear(20, 3, bias=False)
        self.B = nn.Linear(3, 5, bias=False)
        nn.init.zeros_(self.B.weight)

    def forward(self, X):
        return self.base(X) + self.B(self.A(X))


def test_what_is_trained_and_not_judged_is_not_called_frozen():
    def triple(model):
        model.A.weight.grad *= 3  # of 0

    said = str(same_step(step(triple), step(), *case(model=Adapted())))
    assert 'Frozen in both, and still: base.weight, base.bias.' in said
    assert 'their gradients are 0 here: A.weight.' in said


def compressed(model):
    """As a communication hook of DDP does."""
    for param in model.parameters():
        param.grad = param.grad.half().float()


def of_a_copy(model, X, y):
    """As DeepSpeed does: a copy in bfloat16 has the gradients."""
    low = copy.deepcopy(model).bfloat16()
    for rows in torch.arange(len(X)).tensor_split(3):
        scores = low(X[rows].bfloat16())
        loss = cross_entropy(scores.float(), y[rows], reduction='sum')
        (loss / len(X)).backward()
    for param, own in zip(model.parameters(), low.parameters()):
        param.grad = own.grad.float()
    torch.optim.SGD(model.parameters(), 0.1).step()


class Casts(nn.Linear):
    half = False

    def forward(self, X):
        if not self.half:
            return super().forward(X)
        product = X.bfloat16() @ self.weight.bfloat16().T
        return product.to(X.dtype) + self.bias


def within_layers(model, X, y):
    """As TransformerEngine does, with gradients summed in float32."""
    for layer in model[0], model[2]:
        layer.half = True
    for rows in torch.arange(len(X)).tensor_split(3):
        loss = cross_entropy(model(X[rows]), y[rows], reduction='sum')
        (loss / len(X)).backward()
    torch.optim.SGD(model.parameters(), 0.1).step()


def of_casts():
    return nn.Sequential(Casts(20, 32), nn.Tanh(), Casts(32, 5))


@pytest.mark.parametrize(
    ('own', 'kind'),
    [
        (step(compressed), 'float16'),
        (of_a_copy, 'bfloat16'),
        (within_layers, 'bfloat16'),
    ],
)
def test_a_precision_of_the_step_alone_is_asked_for(own, kind):
    model, batches = case()
    if own is within_layers:
        model = of_casts()
    with pytest.raises(NeedsLow, match=f'numbers of {kind} .*as `low`'):
        same_step(own, step(), model, batches)
    assert same_step(own, step(), model, batches, low=own)


def test_a_wrong_step_in_float32_is_judged_without_low():
    def double(model):
        model[0].bias.grad *= 2

    assert ', twice' in str(same_step(step(double), step(), *case()))


def test_rounding_within_an_example_is_no_bug():
    """Of two rows there are two orders: they say little of a deep network."""
    for seed in range(14010, 14016):
        torch.manual_seed(seed)
        layers = [nn.Linear(16, 16) for _ in range(30)]
        for layer in layers:
            nn.init.kaiming_normal_(layer.weight)
        pairs = [own for layer in layers for own in (layer, nn.ReLU())]

        def in_parts(model, X, y):
            for i in range(len(X)):
                loss = cross_entropy(model(X[i : i + 1]), y[i : i + 1])
                (loss / len(X)).backward()
            torch.optim.SGD(model.parameters(), 0.1).step()

        batch = torch.randn(2, 16), torch.randint(0, 16, (2,))
        model = nn.Sequential(*pairs, nn.Linear(16, 16))
        found = same_step(in_parts, step(), model, [batch])
        assert found, found
