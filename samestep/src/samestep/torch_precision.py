"""In which precision a PyTorch run computes, as far as its numbers tell."""

import collections

import numpy as np

from .measure import NeedsLow
from .trees import in_few

ENOUGH = 16  # different numbers
BITS = {8: 'bfloat16', 11: 'float16'}  # of a number's fraction
MOST = 512  # numbers of a tensor that are looked at
NEEDS_LOW = (
    'The step has numbers of {kind} where the reference has none: {where}. '
    'How that rounds is not seen, so nothing is judged. Give as `low` the '
    'reference with the same casts: under torch.autocast if the step is, with '
    'cast parameters if it has a MixedPrecisionPolicy. If the step should not '
    'round so, this is the bug.'
)


def short_kind(numbers):
    """Return what an array has been rounded to, 'bfloat16' or 'float16', or
    '': some sums are rounded later, in float32, and are as exact as that."""
    numbers = np.unique(abs(np.ravel(numbers)[:MOST].astype('float64')))
    numbers = numbers[np.isfinite(numbers) & (numbers > 0)]
    fractions = np.frexp(numbers)[0]
    for bits, kind in BITS.items() if len(numbers) >= ENOUGH else ():
        scaled = fractions * 2**bits
        if (scaled == scaled.round()).all():
            return kind
    return ''


def kind_of(tensor):
    """Return in which short precision a tensor's numbers are, or ''."""
    if not tensor.is_floating_point() or hasattr(tensor, 'placements'):
        return ''
    if tensor.element_size() < 4:
        return f'{tensor.dtype}'.replace('torch.', '')
    few = tensor.detach().reshape(-1)[:MOST]
    return short_kind(few.cpu().numpy())


def check_low(step, reference):
    """Raise NeedsLow if low precision is needed to judge the step. Both: what
    is short, by where it is seen."""
    new = {
        where: kind for where, kind in step.items() if where not in reference
    }
    if new:
        # In a few places float16 may be seen, where bfloat16 was added up.
        kind, _ = collections.Counter(new.values()).most_common(1)[0]
        raise NeedsLow(NEEDS_LOW.format(kind=kind, where=in_few([*new])))
