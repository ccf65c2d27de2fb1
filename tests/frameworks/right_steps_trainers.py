"""Right steps by Trainer, Accelerate and Lightning.

Needs the packages of `tools/speed/peers/transformers.txt`, and is run by
test_right_steps_elsewhere.py. `python tests/frameworks/right_steps_trainers.py
Trainer 5` tries
five seeds of each of Trainer's steps and prints alarms, and how many there
are. Under `torchrun --nproc-per-node 2` the same steps are those of two
processes.
"""

import functools
import logging
import os
import sys
import time
import warnings

import accelerate
import lightning
import numpy as onp
import right_steps
import torch
import transformers as hf
from accelerate.state import AcceleratorState
from torch import optim as O
from torch.nn import functional as F
from torch.utils.data import DataLoader
from torch_optimizers import CLIPS, alike, in_groups, other

from samestep.torch import same_step

WORDS, TOKENS, CLASSES = 19, 7, 5
NUM_PROCESSES = int(os.environ.get('WORLD_SIZE', 1))
RANK = int(os.environ.get('RANK', 0))
NUM_VARIANTS = 24  # of each library, or some more
FIRST_SEED = 20000
OUT_OF_USE = -100  # a label that does not count

SIZES = {'hidden_size': 16, 'num_attention_heads': 2, 'num_hidden_layers': 2}
OFF = {'hidden_dropout_prob': 0, 'attention_probs_dropout_prob': 0}
ENCODER = {**SIZES, **OFF, 'intermediate_size': 24}
TEXT = {'vocab_size': WORDS, 'pad_token_id': 0}


def gpt2(**how):
    sizes = {'n_embd': 16, 'n_head': 2, 'n_layer': 2, 'n_positions': TOKENS}
    off = {'resid_pdrop': 0, 'embd_pdrop': 0, 'attn_pdrop': 0}
    config = hf.GPT2Config(vocab_size=WORDS, **sizes, **off, **how)
    return hf.GPT2LMHeadModel(config)


def llama(**how):
    sizes = {**SIZES, 'intermediate_size': 24, 'num_key_value_heads': 1}
    return hf.LlamaForCausalLM(hf.LlamaConfig(**sizes, **TEXT, **how))


def bert(kind, **how):
    sizes = {'max_position_embeddings': TOKENS, 'num_labels': CLASSES}
    return kind(hf.BertConfig(**ENCODER, **TEXT, **sizes, **how))


def vit(**how):
    sizes = {'image_size': 8, 'patch_size': 4, 'num_labels': CLASSES}
    return hf.ViTForImageClassification(
        hf.ViTConfig(**ENCODER, **sizes, **how)
    )


MODELS = {
    'gpt-2': gpt2,
    'llama': llama,
    'bert': functools.partial(bert, hf.BertForMaskedLM),
    'bert, classes': functools.partial(bert, hf.BertForSequenceClassification),
    'vit': vit,
}
LOSSES = {'its own loss': None, 'a function': 0.0, 'smooth labels': 0.1}

AdamW = functools.partial(O.AdamW, weight_decay=0)
adafactor = functools.partial(
    hf.Adafactor, lr=0.01, scale_parameter=False, relative_step=False
)
# Those of the reference and of the step, and what Trainer calls them.
OPTIMIZERS = {
    'sgd': (*alike(O.SGD, lr=0.1), 'sgd', {}),
    'momentum': (
        *alike(O.SGD, lr=0.1, momentum=0.9),
        *('sgd', {'optim_args': 'momentum=0.9'}),
    ),
    'adamw': (*alike(AdamW, lr=0.01), 'adamw_torch', {}),
    'adamw, fused': (*other(AdamW, 'fused', lr=0.01), 'adamw_torch_fused', {}),
    'adamw in groups': (
        *(in_groups(O.AdamW, lr=0.01),) * 2,
        *('adamw_torch', {'weight_decay': 0.1}),
    ),
    'adagrad': (*alike(O.Adagrad, lr=0.01), 'adagrad', {}),
    'rmsprop': (*alike(O.RMSprop, lr=0.01), 'rmsprop', {}),
    'adafactor': (adafactor, adafactor, 'adafactor', {}),
}


def rows_of(batch):
    """Return the examples of a minibatch, each a dict."""
    return [dict(zip(batch, row)) for row in zip(*batch.values())]


def parts_of(batch, k):
    """Return k micro-batches of the examples of this process."""
    rows = rows_of(batch)[RANK::NUM_PROCESSES]
    places = onp.array_split(onp.arange(len(rows)), k)
    return DataLoader(rows, batch_sampler=places)


class Variant(right_steps.Variant):
    """A right step of a library, and the plain one."""

    @property
    def num_parts(self):
        return int(self.parts[0])

    @property
    def num_rows(self):
        """With two processes, Trainer would have some of 13 rows twice."""
        return 12 if NUM_PROCESSES > 1 and self.library == 'Trainer' else 13

    def is_right(self):
        """Whether it makes the plain step at all."""
        if self.library == 'Lightning' and self.precision == 'bf16':
            if 'fused' in self.optimizer and self.clip != 'unclipped':
                return False  # which it refuses
        # BERT's own losses are means of a part: see wrong_variant.
        return 'bert' not in self.model or self.loss != 'its own loss'

    def case(self, seed):
        torch.manual_seed(seed)
        rng, n = onp.random.default_rng(seed), self.num_rows
        model = MODELS[self.model](attn_implementation=self.attention)
        labels = rng.integers(0, CLASSES, n)
        if self.model == 'vit':
            images = rng.normal(size=(n, 3, 8, 8))
            return model, [{'pixel_values': images, 'labels': labels}]
        ids = rng.integers(1, WORDS, (n, TOKENS))
        lengths = rng.integers(3, TOKENS + 1, (n, 1))
        mask = 1 * (onp.arange(TOKENS) < lengths)
        if self.model != 'bert, classes':
            counts = mask * (rng.random(ids.shape) < 0.5)
            counts[:, 0], counts[:, 2] = 0, 1
            labels = onp.where(counts, ids, OUT_OF_USE)
        return model, [
            {'input_ids': ids * mask, 'attention_mask': mask, 'labels': labels}
        ]

    def by_scores(self, outputs, labels, num_items_in_batch):
        """Return the loss of some examples, as Trainer calls it."""
        scores = outputs.logits
        if self.model in ('gpt-2', 'llama'):
            scores, labels = scores[:, :-1], labels[:, 1:]
        summed = F.cross_entropy(
            scores.flatten(0, -2),
            labels.flatten(),
            reduction='sum',
            label_smoothing=LOSSES[self.loss],
        )
        return summed / num_items_in_batch

    def loss_of(self, model, batch, n):
        """Return the part of the loss that these examples have."""
        if LOSSES[self.loss] is None:
            return model(**batch, num_items_in_batch=n).loss
        inputs = {k: v for k, v in batch.items() if k != 'labels'}
        return self.by_scores(model(**inputs), batch['labels'], n)

    def plain(self, model, batch):
        n = (batch['labels'] != OUT_OF_USE).sum()
        self.loss_of(model, batch, n).backward()
        CLIPS[self.clip]([*model.parameters()])
        OPTIMIZERS[self.optimizer][0](model.parameters()).step()

    def step(self, model, batch):
        if self.memory == 'checkpoints' and self.library != 'Trainer':
            model.gradient_checkpointing_enable()
        LIBRARIES[self.library](self, model, batch)

    def compare(self, seed):
        return same_step(self.step, self.plain, *self.case(seed))


def by_trainer(variant, model, batch):
    *_, name, options = OPTIMIZERS[variant.optimizer]
    smooth, k = variant.loss == 'smooth labels', variant.num_parts
    args = hf.TrainingArguments(
        output_dir='out',
        use_cpu=True,
        save_strategy='no',
        report_to='none',
        disable_tqdm=True,
        max_steps=1,
        optim=name,
        learning_rate=0.1 if 'sgd' in name else 0.01,
        per_device_train_batch_size=-(-variant.num_rows // NUM_PROCESSES // k),
        gradient_accumulation_steps=k,
        gradient_checkpointing=variant.memory == 'checkpoints',
        max_grad_norm=0.1 if variant.clip == 'clipped by norm' else 0,
        bf16=variant.precision == 'bf16',
        label_smoothing_factor=LOSSES[variant.loss] if smooth else 0,
        **options,
    )
    by_scores = variant.by_scores if variant.loss == 'a function' else None
    trainer = hf.Trainer(
        model,
        args,
        train_dataset=rows_of(batch),
        compute_loss_func=by_scores,
    )
    trainer.remove_callback(hf.PrinterCallback)
    trainer.train()


def by_accelerate(variant, model, batch):
    AcceleratorState._reset_state(True)  # of the variant before
    k = variant.num_parts
    accelerator = accelerate.Accelerator(
        cpu=True,
        gradient_accumulation_steps=k,
        mixed_precision='bf16' if variant.precision == 'bf16' else 'no',
    )
    optimizer = OPTIMIZERS[variant.optimizer][1](model.parameters())
    model, optimizer = accelerator.prepare(model, optimizer)
    loader = parts_of(batch, k)
    if NUM_PROCESSES == 1:  # else it would split them again
        loader = accelerator.prepare(loader)
    n = (batch['labels'] != OUT_OF_USE).sum() / NUM_PROCESSES / k
    for part in loader:
        with accelerator.accumulate(model):
            accelerator.backward(variant.loss_of(model, part, n))
            if accelerator.sync_gradients:
                if variant.clip == 'clipped by norm':
                    accelerator.clip_grad_norm_(model.parameters(), 0.1)
                if variant.clip == 'clipped by value':
                    accelerator.clip_grad_value_(model.parameters(), 0.01)
            optimizer.step()
            optimizer.zero_grad()


class Lit(lightning.LightningModule):
    def __init__(self, net, variant, n):
        super().__init__()
        self.net, self.variant, self.n = net, variant, n

    def training_step(self, batch):
        return self.variant.loss_of(self.net, batch, self.n)

    def configure_optimizers(self):
        return OPTIMIZERS[self.variant.optimizer][1](self.net.parameters())


def by_lightning(variant, model, batch):
    k = variant.num_parts
    off = 'logger', 'enable_checkpointing', 'enable_progress_bar'
    off += 'use_distributed_sampler', 'enable_model_summary'
    limit, by = {
        'unclipped': (None, None),
        'clipped by norm': (0.1, 'norm'),
        'clipped by value': (0.01, 'value'),
    }[variant.clip]
    trainer = lightning.Trainer(
        accelerator='cpu',
        devices=NUM_PROCESSES,
        strategy='ddp' if NUM_PROCESSES > 1 else 'auto',
        max_epochs=1,
        accumulate_grad_batches=k,
        gradient_clip_val=limit,
        gradient_clip_algorithm=by,
        precision='bf16-mixed' if variant.precision == 'bf16' else '32-true',
        **dict.fromkeys(off, False),
    )
    n = (batch['labels'] != OUT_OF_USE).sum() / NUM_PROCESSES / k
    trainer.fit(Lit(model, variant, n), parts_of(batch, k))


LIBRARIES = {
    'Trainer': by_trainer,
    'Accelerate': by_accelerate,
    'Lightning': by_lightning,
}
PARTS = {
    'model': MODELS,
    'loss': LOSSES,
    'optimizer': OPTIMIZERS,
    'parts': ['1 part', '2 parts', '3 parts', '4 parts'],
    'precision': ['float32', 'bf16'],
    'memory': ['stored', 'checkpoints'],
    'attention': ['sdpa', 'eager'],
}


def variants_of(library):
    clips = ['unclipped', 'clipped by norm']
    if library != 'Trainer':  # which has no other
        clips.append('clipped by value')
    parts = {**PARTS, 'clip': clips}
    return right_steps.variants(
        Variant, NUM_VARIANTS, library=[library], **parts
    )


def wrong_variant(library):
    """Return a step whose loss is a mean of each part: BERT's own loss takes
    `num_items_in_batch`, and does not divide by it. Trainer believes that it
    does, and adds up the means: transformers#47688."""
    parts = {name: [*own][0] for name, own in PARTS.items()}
    parts.update(model='bert', parts='3 parts', clip='unclipped')
    return Variant(library=library, **parts)


def main(library, seeds=5):
    warnings.simplefilter('ignore')
    logging.disable(logging.WARNING)
    has_alarms = right_steps.main(variants_of(library), FIRST_SEED, seeds)
    is_found = not wrong_variant(library).compare(FIRST_SEED - 1)
    print('a wrong step is found:', is_found)
    print(f'{time.process_time():.0f} s of processor time')
    sys.exit(has_alarms or not is_found)


if __name__ == '__main__':
    main(*sys.argv[1:])
