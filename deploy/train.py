"""What every worker of the example jobs runs: python deploy/train.py FOLDER.

It trains LeNet on all workers, and resumes from the checkpoints in FOLDER.
EPOCHS (3) and EXAMPLES (all that are bundled) make it longer or shorter.
"""

import os
import sys

import d2lmulti

X, y, X_test, y_test = d2lmulti.read_fashion_mnist()
n = int(os.environ.get('EXAMPLES', len(X)))
result = d2lmulti.train_on_cluster(
    int(os.environ.get('D2LMULTI_NUM_DEVICES', 1)),
    batch_size=256,
    lr=0.2,
    num_epochs=int(os.environ.get('EPOCHS', 3)),
    data=(X[:n], y[:n], X_test[:n], y_test[:n]),
    checkpoints=sys.argv[1],
)
print(f'{result.devices}: accuracy {result.accuracies[-1]:.2f}')
