"""T5 in transformers 5.24.0: Trainer adds up the means of micro-batches."""

import torch
from transformers import (
    T5Config,
    T5ForConditionalGeneration,
    Trainer,
    TrainingArguments,
)

from samestep.torch import same_step

torch.manual_seed(0)
sizes = {'vocab_size': 50, 'd_model': 32, 'd_kv': 16, 'd_ff': 32}
layers = {'num_layers': 2, 'num_heads': 2, 'dropout_rate': 0}
config = T5Config(**sizes, **layers, decoder_start_token_id=0)
model = T5ForConditionalGeneration(config)
ids = torch.randint(50, (16, 12))


def on_one_device(model, ids):
    """Take a step with the whole minibatch."""
    model(input_ids=ids, labels=ids).loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    torch.optim.AdamW(model.parameters(), lr=5e-5, weight_decay=0).step()


def accumulate(model, ids):
    """Let Trainer take it in four parts."""
    options = {'use_cpu': True, 'save_strategy': 'no', 'report_to': 'none'}
    args = TrainingArguments(
        'out',
        per_device_train_batch_size=4,
        max_steps=1,
        gradient_accumulation_steps=4,
        **options,
    )
    rows = [{'input_ids': row, 'labels': row} for row in ids]
    Trainer(model, args, train_dataset=rows).train()


print(same_step(accumulate, on_one_device, model, [(ids,)]))
