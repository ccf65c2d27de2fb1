"""Train LeNet on all processes of a job: train.py CHECKPOINTS [EXAMPLES]."""

import sys

import d2lmulti

n = int(sys.argv[2]) if sys.argv[2:] else None  # None: all that are bundled
result = d2lmulti.train_on_cluster(
    num_devices=1,
    batch_size=256,
    lr=0.2,
    num_epochs=3,
    data=[part[:n] for part in d2lmulti.read_fashion_mnist()],
    checkpoints=sys.argv[1],  # from the last of which it goes on
)
print(f'{result.devices}: accuracy {result.accuracies[-1]:.2f}')
