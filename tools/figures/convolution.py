"""Draw a convolution of a 5 x 5 image with a 3 x 3 kernel.

The image has a bright right half, and the kernel finds that edge. One place
of the kernel is marked in the image, and its sum in the result.
"""

import numpy as np

from .style import (
    DEVICES,
    FILLS,
    HOST,
    SQUARE,
    WHITE,
    WIDTH,
    arrow,
    box,
    canvas,
    label,
    save,
)

IMAGE = np.array([[0, 0, 1, 1, 1]] * 4 + [[0, 0, 0, 0, 1]])
KERNEL = np.array([[-1, 0, 1]] * 3)
ROW, COLUMN = 2, 1  # where the kernel is drawn
HEIGHT, TOP, NAME_Y = 208, 160, 186
IMAGE_X, KERNEL_X, RESULT_X = 96, 268, 430  # the middles

DESCRIPTION = (
    'Left, an image of 5 by 5 numbers, 0 in its left part and 1 in its right '
    'part. Middle, a kernel of 3 by 3 weights: a column of -1, one of 0, one '
    'of 1. Right, the result of 3 by 3 numbers. A window of 3 by 3 numbers of '
    'the image is marked, and the number that it becomes: the sum of nine '
    'products.'
)


def convolve(image, kernel):
    """Return the sum of the products at each place of the kernel."""
    side = len(kernel)
    places = range(len(image) - side + 1)
    return np.array(
        [
            [
                (image[i : i + side, j : j + side] * kernel).sum()
                for j in places
            ]
            for i in places
        ]
    )


def grid(ax, x, numbers, marked):
    """Draw numbers in squares, the marked ones in color."""
    rows, columns = numbers.shape
    for i in range(rows):
        for j in range(columns):
            at = x + (j - (columns - 1) / 2) * SQUARE, TOP - i * SQUARE
            colors = (DEVICES[0], FILLS[0]) if marked(i, j) else (HOST, WHITE)
            text = str(numbers[i, j]).replace('-', '\N{MINUS SIGN}')
            box(ax, *at, SQUARE - 2, SQUARE - 2, text, *colors)


def draw():
    """Return the figure."""
    fig, ax = canvas(HEIGHT)
    side = len(KERNEL)
    result = convolve(IMAGE, KERNEL)
    label(ax, IMAGE_X, NAME_Y, 'image, 5 × 5')
    label(ax, KERNEL_X, NAME_Y, 'kernel, 3 × 3')
    label(ax, RESULT_X, NAME_Y, 'result, 3 × 3')
    grid(
        ax,
        IMAGE_X,
        IMAGE,
        lambda i, j: 0 <= i - ROW < side and 0 <= j - COLUMN < side,
    )
    grid(ax, KERNEL_X, KERNEL, lambda i, j: True)
    grid(ax, RESULT_X, result, lambda i, j: (i, j) == (ROW, COLUMN))
    middle = TOP - SQUARE
    arrow(
        ax,
        (KERNEL_X + 2 * SQUARE, middle),
        (RESULT_X - 2 * SQUARE, middle),
    )
    window = IMAGE[ROW : ROW + side, COLUMN : COLUMN + side]
    products = [
        f'{pixel} · {weight}' if weight >= 0 else f'{pixel} · ({weight})'
        for pixel, weight in zip(window.ravel(), KERNEL.ravel())
    ]
    line = f'{" + ".join(products)} = {result[ROW, COLUMN]}'
    label(ax, WIDTH / 2, 14, line.replace('-', '\N{MINUS SIGN}'))
    return fig


if __name__ == '__main__':
    save(
        draw(),
        'convolution',
        'A convolution of a 5 by 5 image with a 3 by 3 kernel',
        DESCRIPTION,
    )
