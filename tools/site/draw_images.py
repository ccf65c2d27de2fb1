"""Draw the bundled part of Fashion-MNIST from the full set.

    python -m tools.site.draw_images /usr/share/datasets/fashion-mnist

From each class the same number of examples (one more from the first classes
where ten does not divide the number), without replacement, in the order of
the full set. Prints the SHA-256 of each uncompressed file.
"""

import gzip
import hashlib
import sys
from pathlib import Path

import numpy as np

TARGET = Path(__file__).parents[2] / 'd2lmulti/datasets/fashion_mnist'
PARTS = [('train', 10_240), ('t10k', 2_048)]


def main(source):
    """Draw the bundled part from the full set in the folder `source`."""
    rng = np.random.RandomState(0)
    for part, num_examples in PARTS:
        images = gzip.open(f'{source}/{part}-images-idx3-ubyte.gz').read()
        labels = gzip.open(f'{source}/{part}-labels-idx1-ubyte.gz').read()
        y = np.frombuffer(labels, np.uint8, offset=8)
        X = np.frombuffer(images, np.uint8, offset=16).reshape(len(y), -1)
        sizes = [len(s) for s in np.array_split(np.arange(num_examples), 10)]
        chosen = np.sort(
            np.concatenate(
                [
                    rng.choice(np.flatnonzero(y == label), size, replace=False)
                    for label, size in enumerate(sizes)
                ]
            )
        )
        count = num_examples.to_bytes(4, 'big')
        write(
            f'{part}-images-idx3-ubyte.gz',
            images[:4] + count + images[8:16] + X[chosen].tobytes(),
        )
        write(
            f'{part}-labels-idx1-ubyte.gz',
            labels[:4] + count + y[chosen].tobytes(),
        )


def write(name, content):
    """Write a gzipped file of the package."""
    # mtime=0: the same bytes whenever it is drawn
    (TARGET / name).write_bytes(gzip.compress(content, 9, mtime=0))
    print(name, hashlib.sha256(content).hexdigest())


if __name__ == '__main__':
    main(*sys.argv[1:])
