"""The images and the first parameters of all peers, as NumPy arrays."""

import gzip
import pathlib

import numpy

IMAGES = pathlib.Path(__file__).parents[3] / 'd2lmulti/datasets/fashion_mnist'


def read_images(count, share=slice(None)):
    """Return (X, y): a share of `count` examples; the bundled ones repeat."""
    with gzip.open(IMAGES / 'train-images-idx3-ubyte.gz') as file:
        X = numpy.frombuffer(file.read(), 'uint8', offset=16)
    with gzip.open(IMAGES / 'train-labels-idx1-ubyte.gz') as file:
        y = numpy.frombuffer(file.read(), 'uint8', offset=8)
    rows = numpy.arange(count)[share] % len(y)
    X = X.reshape(-1, 1, 28, 28)[rows].astype('float32')
    X /= 255
    return X, y[rows].astype('int32')


def first_params():
    """Return the parameters of LeNet with which every peer starts."""
    random = numpy.random.RandomState(0)
    params = []
    for num_inputs, shape in [
        (9, (20, 1, 3, 3)),
        (500, (50, 20, 5, 5)),
        (800, (800, 128)),
        (128, (128, 10)),
    ]:
        weights = random.normal(0, (2 / num_inputs) ** 0.5, shape)
        num_outputs = shape[0] if len(shape) == 4 else shape[1]
        params += [
            weights.astype('float32'),
            numpy.zeros(num_outputs, 'float32'),
        ]
    return params
