"""A wrong step of a large model is answered in the memory of 40 copies of it.

In float32, 40 copies of GPT-2's 124 million parameters are 20 GB. `LAYERS` is
a third of its twelve, so that a machine with 16 GB can run this.
"""

import multiprocessing
import resource

import numpy as onp
import pytest
import torch
from torch import nn

from samestep.torch import same_step

WIDTH, LAYERS, WORDS, LENGTH = 768, 4, 50257, 32
COPIES = 40


class Transformer(nn.Module):
    """One of GPT-2's width, whose last layer is its embedding."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.places = nn.Embedding(1024, WIDTH)
        layer = nn.TransformerEncoderLayer(
            WIDTH,
            12,
            4 * WIDTH,
            0,
            'gelu',
            batch_first=True,
            norm_first=True,
        )
        self.layers = nn.TransformerEncoder(
            layer, LAYERS, nn.LayerNorm(WIDTH), enable_nested_tensor=False
        )
        for param in self.parameters():
            if param.ndim > 1:
                nn.init.normal_(param, std=0.02)

    def forward(self, X):
        mask = nn.Transformer.generate_square_subsequent_mask(X.shape[1])
        hidden = self.words(X) + self.places(torch.arange(X.shape[1]))
        hidden = self.layers(hidden, mask.to(hidden), is_causal=True)
        return hidden @ self.words.weight.T


def train(model, X, y, decay=0.1):
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=decay)
    scores = model(X).reshape(-1, WORDS)
    nn.functional.cross_entropy(scores, y.reshape(-1)).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1)
    optimizer.step()


def a_row_left_out(model, X, y):
    train(model, X[:-1], y[:-1])


def no_decay(model, X, y):
    train(model, X, y, decay=0)


def judge(step, connection):
    torch.manual_seed(0)
    model = Transformer()
    ids = onp.random.default_rng(0).integers(0, WORDS, (4, LENGTH + 1))
    found = same_step(step, train, model, [(ids[:, :-1], ids[:, 1:])])
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    size = sum(4 * param.numel() for param in model.parameters())
    connection.send((str(found), peak, size))


@pytest.mark.long
@pytest.mark.parametrize(
    ('step', 'said'),
    [
        (
            a_row_left_out,
            'Of the 4 rows it counts 0 to 2 1.33 times, 3 never.',
        ),
        (no_decay, 'The step has weight_decay=0 where the reference has 0.1'),
        (train, 'equal up to rounding'),
    ],
)
def test_a_large_model_fits(step, said):
    context = multiprocessing.get_context('spawn')
    ours, theirs = context.Pipe()
    process = context.Process(target=judge, args=(step, theirs), daemon=True)
    process.start()
    theirs.close()
    found, peak, size = ours.recv()
    process.join()
    assert said in found
    assert peak < COPIES * size, peak / size
