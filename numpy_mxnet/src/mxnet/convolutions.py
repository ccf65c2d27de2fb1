"""Convolution and pooling by matrix products and slices.

A convolution is a product: each window of an image, a column of numbers, times
the filters. Images lie in memory with their numbers side by side, one number
of all images after the other: what is copied, added or compared is long runs,
and a gradient is such a matrix at once.
"""

import functools
import sys
from typing import Any

import numpy as onp

WINDOWS_BYTES = 8 << 20  # copied at a time
product: Any = onp.dot
if sys.platform == 'emscripten':
    # A browser's NumPy has no BLAS: its `dot` is slower than this, and adds
    # one number after the other, so that roundings add up, too.
    product = functools.partial(onp.einsum, 'ij,jk->ik')


class Convolution:
    """The forward pass and the gradients of one call.

    `shape`: of the images. It goes through the result a few rows at a time.
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
        line = 4 * max(1, self.num_rows * width * n)  # bytes
        step = max(1, WINDOWS_BYTES // line)
        self.parts = [
            slice(start, min(start + step, height))
            for start in range(0, height, step)
        ]

    def padded(self, x: Any) -> Any:
        """Return the images, one number of all after the other, with zeros
        around them: (channels, height, width, images)."""
        n, channels, height, width = x.shape
        p, q = self.pad
        y = onp.zeros((channels, height + 2 * p, width + 2 * q, n), x.dtype)
        y[:, p : p + height, q : q + width] = x.transpose(1, 2, 3, 0)
        return y

    def windows(self, x: Any, part: slice) -> Any:
        """Return a matrix with a column for each window of these rows."""
        (s, t), (k, m) = self.stride, self.kernel
        x = x[:, part.start * s :]
        a, b, c, d = x.strides
        views = onp.lib.stride_tricks.as_strided(
            x,
            (len(x), k, m, part.stop - part.start, *self.shape[3:], len(x.T)),
            (a, b, c, b * s, c * t, d),
        )
        return views.reshape(self.num_rows, -1)

    def rows(self, g: Any, part: slice) -> Any:
        """Return a gradient as a matrix with a row for each filter."""
        g = g[:, :, part].transpose(1, 2, 3, 0)
        return g.reshape(self.shape[1], -1)

    def forward(self, x: Any, W: Any, b: Any = None) -> Any:
        """Return the convolutions."""
        n, filters, height, width = self.shape
        x, W = self.padded(x), W.reshape(filters, -1)
        y = onp.empty((filters, height, width, n), x.dtype)
        for part in self.parts:
            images = product(W, self.windows(x, part))
            if b is not None:
                images += b[:, None]
            y[:, part] = images.reshape(filters, -1, width, n)
        return y.transpose(3, 0, 1, 2)

    def back_data(self, g: Any, x: Any, W: Any, *rest: Any) -> Any:
        """Return the gradient of the images."""
        n, channels, *size = self.images
        width = self.shape[3]
        (s, t), (k, m), (p, q) = self.stride, self.kernel, self.pad
        W = W.reshape(len(W), -1).T
        whole = onp.zeros(
            (channels, size[0] + 2 * p, size[1] + 2 * q, n), g.dtype
        )
        for part in self.parts:
            d = product(W, self.rows(g, part))
            d = d.reshape(channels, k, m, -1, width, n)
            these = whole[:, part.start * s :]
            for i in range(k):
                for j in range(m):
                    rows = slice(i, i + s * (d.shape[3] - 1) + 1, s)
                    cols = slice(j, j + t * (width - 1) + 1, t)
                    these[:, rows, cols] += d[:, i, j]
        inside = whole[:, p : p + size[0], q : q + size[1]]
        return inside.transpose(3, 0, 1, 2)

    def back_weight(self, g: Any, x: Any, W: Any, *rest: Any) -> Any:
        """Return the gradient of the filters."""
        x = self.padded(x)
        total = onp.zeros((len(W), self.num_rows), W.dtype)
        for part in self.parts:
            total += product(self.rows(g, part), self.windows(x, part).T)
        return total.reshape(W.shape)

    def back_bias(self, g: Any, *rest: Any) -> Any:
        """Return the gradient of the bias."""
        return self.rows(g, slice(None)).sum(1)


class Pooling:
    """The forward pass and the gradient of one call.

    Sums and maxima go over the columns of a window first, then over its rows.
    """

    def __init__(
        self, shape: Any, kernel: Any, stride: Any, kind: str
    ) -> None:
        self.kind = kind
        self.size = kernel[0] * kernel[1] if kind == 'avg' else 1
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
        """Return the mean, the sum or the largest of each window."""
        join = onp.maximum if self.kind == 'max' else onp.add
        y = functools.reduce(join, [x[..., column] for column in self.columns])
        y = functools.reduce(join, [y[:, :, row] for row in self.rows])
        return y / onp.asarray(self.size, y.dtype) if self.size > 1 else y

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
