"""Arrays: their numbers in a list, a shape and a dtype."""

import collections
import math


class Array(collections.UserList):  # a list would be several arrays
    def __init__(self, numbers, shape=None, dtype='float32'):
        super().__init__(numbers)
        self.shape, self.dtype = shape or (len(self),), dtype

    def tolist(self):
        return list(self)


def array(numbers, dtype='float32'):
    return Array(numbers, dtype=dtype)


def zeros(shape, dtype='float32'):
    return full(shape, 0.0, dtype)


def ones(shape, dtype='float32'):
    return full(shape, 1.0, dtype)


def full(shape, number, dtype):
    shape = shape if isinstance(shape, tuple) else (shape,)
    return Array([number] * math.prod(shape), shape, dtype)
