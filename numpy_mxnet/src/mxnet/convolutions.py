"""Convolution and pooling by matrix products and slices.

A convolution is a product: each window of an image, a column of numbers, times
the filters. The values of the result lie in memory channel by channel, all
images of one channel together, so that its gradient is such a matrix at once.
"""

import functools
from typing import Any

import numpy as onp

COLUMNS_BYTES = 1 << 20  # of windows at a time: they stay in the cache


class Convolution:
    """The forward pass and the gradients of one call.

    `shape`: the result's. It goes through the images a few at a time.
    """

    def __init__(self, shape: Any, weight: Any, stride: Any, pad: Any) -> None:
        n, channels, *size = shape
        filters, _, *kernel = weight
        self.images, self.kernel = (n, channels, *size), kernel
        self.stride, self.pad = stride, pad
        height, width = [
            (length + 2 * p - k) // s + 1
            for length, p, k, s in zip(size, pad, kernel, stride)
        ]
        self.shape = n, filters, height, width
        self.num_rows = channels * kernel[0] * kernel[1]
        each = 4 * max(1, self.num_rows * height * width)
        self.step = max(1, COLUMNS_BYTES // each)

    def parts(self) -> Any:
        """Return slices of the images."""
        starts = range(0, self.images[0], self.step)
        return [slice(start, start + self.step) for start in starts]

    def padded(self, x: Any) -> Any:
        """Return the images with zeros around them."""
        if not any(self.pad):
            return x
        p, q = self.pad
        return onp.pad(x, [(0, 0), (0, 0), (p, p), (q, q)], 'constant')

    def windows(self, x: Any) -> Any:
        """Return a matrix with a column for each window of these images."""
        height, width = self.shape[2:]
        (s, t), (k, m) = self.stride, self.kernel
        a, b, c, d = x.strides
        views = onp.lib.stride_tricks.as_strided(
            x,
            (x.shape[1], k, m, len(x), height, width),
            (b, c, d, a, c * s, d * t),
        )
        return views.reshape(self.num_rows, -1)

    def forward(self, x: Any, W: Any, b: Any = None) -> Any:
        """Return the convolutions."""
        n, filters, height, width = self.shape
        x, W = self.padded(x), W.reshape(filters, -1)
        y = onp.empty((filters, n, height, width), x.dtype)
        for part in self.parts():
            product = onp.dot(W, self.windows(x[part]))
            if b is not None:
                product += b[:, None]
            y[:, part] = product.reshape(filters, -1, height, width)
        return y.transpose(1, 0, 2, 3)

    def rows(self, g: Any) -> Any:
        """Return a gradient as a matrix with a row for each filter."""
        return g.transpose(1, 0, 2, 3).reshape(self.shape[1], -1)

    def back_data(self, g: Any, x: Any, W: Any, *rest: Any) -> Any:
        """Return the gradient of the images."""
        n, channels, *size = self.images
        height, width = self.shape[2:]
        (s, t), (k, m), (p, q) = self.stride, self.kernel, self.pad
        W = W.reshape(len(W), -1).T
        whole = onp.zeros(
            (channels, n, size[0] + 2 * p, size[1] + 2 * q), g.dtype
        )
        for part in self.parts():
            d = onp.dot(W, self.rows(g[part]))
            d = d.reshape(channels, k, m, -1, height, width)
            these = whole[:, part]
            for i in range(k):
                for j in range(m):
                    rows = slice(i, i + s * (height - 1) + 1, s)
                    cols = slice(j, j + t * (width - 1) + 1, t)
                    these[:, :, rows, cols] += d[:, i, j]
        inside = whole[:, :, p : p + size[0], q : q + size[1]]
        return inside.transpose(1, 0, 2, 3)

    def back_weight(self, g: Any, x: Any, W: Any, *rest: Any) -> Any:
        """Return the gradient of the filters."""
        x = self.padded(x)
        total = onp.zeros((len(W), self.num_rows), W.dtype)
        for part in self.parts():
            total += onp.dot(self.rows(g[part]), self.windows(x[part]).T)
        return total.reshape(W.shape)

    def back_bias(self, g: Any, *rest: Any) -> Any:
        """Return the gradient of the bias."""
        return self.rows(g).sum(1)


class Pooling:
    """The forward pass and the gradient of one call.

    Sums and maxima go over the columns of a window first, then over its rows.
    """

    def __init__(
        self, shape: Any, kernel: Any, stride: Any, kind: str
    ) -> None:
        self.kind, self.size = kind, kernel[0] * kernel[1]
        self.apart = all(s >= k for s, k in zip(stride, kernel))
        height, width = [
            (length - k) // s + 1
            for length, k, s in zip(shape[2:], kernel, stride)
        ]
        self.shape = (*shape[:2], height, width)
        # For each place in a window: the elements there, of all windows.
        self.rows, self.columns = [
            [slice(i, i + s * (count - 1) + 1, s) for i in range(k)]
            for count, k, s in zip((height, width), kernel, stride)
        ]

    def forward(self, x: Any) -> Any:
        """Return the mean or the largest of each window."""
        join = onp.add if self.kind == 'avg' else onp.maximum
        y = functools.reduce(join, [x[..., column] for column in self.columns])
        y = functools.reduce(join, [y[:, :, row] for row in self.rows])
        return y / onp.asarray(self.size, y.dtype) if join is onp.add else y

    def back(self, g: Any, x: Any, y: Any) -> Any:
        """Return the gradient: spread over the window, or to its largest."""
        if self.kind == 'max':
            return self.back_to_largest(g, x, y)
        wide = onp.zeros_like(x, shape=(*g.shape[:3], x.shape[3]))
        whole = onp.zeros_like(x)
        g = g / onp.asarray(self.size, g.dtype)
        for column in self.columns:
            self.put(wide[..., column], g)
        for row in self.rows:
            self.put(whole[:, :, row], wide)
        return whole

    def put(self, place: Any, values: Any) -> None:
        """Write values; add them where windows overlap."""
        if self.apart:
            place[...] = values
        else:
            place += values

    def back_to_largest(self, g: Any, x: Any, y: Any) -> Any:
        """Return the gradient of a maximum: to the first of equal ones."""
        whole, free = onp.zeros_like(x), onp.ones(y.shape, bool)
        for row in self.rows:
            for column in self.columns:
                here = free & (x[:, :, row, column] == y)
                free &= ~here
                whole[:, :, row, column] += g * here
        return whole
