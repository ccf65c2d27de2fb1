"""Takes the place of NumPy, which is loaded for MXNet on newer Pythons.

It seems to have every name, so that none is set for the stand-in.
"""

int64 = int


def __getattr__(name):
    if name.startswith('_'):
        raise AttributeError(name)
