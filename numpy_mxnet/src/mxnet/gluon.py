"""`mxnet.gluon`: not here, but for what chapters compare with their own."""

import types
from typing import Any, List

from . import np, npx
from .base import missing


class SoftmaxCrossEntropyLoss:
    """The cross-entropy of scores with labels, one number a row."""

    def __call__(self, pred: Any, label: Any) -> Any:
        """Return the losses."""
        return -npx.pick(npx.log_softmax(pred), label)


def split_and_load(
    data: Any,
    ctx_list: List[Any],
    batch_axis: int = 0,
    even_split: bool = True,
) -> List[Any]:
    """Return one part of `data` on each device; the first ones are longer
    if they cannot be equal. Raises ValueError if they must be."""
    if not isinstance(data, np.ndarray):
        data = np.array(data, ctx=ctx_list[0])
    length, k = data.shape[batch_axis], len(ctx_list)
    if even_split and length % k:
        raise ValueError(
            f'data with shape {data.shape} cannot be evenly split into {k} '
            f'slices along axis {batch_axis}'
        )
    parts = np.array_split(data, k, batch_axis)
    return [part.as_in_ctx(ctx) for part, ctx in zip(parts, ctx_list)]


loss: Any = types.ModuleType('mxnet.gluon.loss')
loss.SoftmaxCrossEntropyLoss = SoftmaxCrossEntropyLoss
utils: Any = types.ModuleType('mxnet.gluon.utils')
utils.split_and_load = split_and_load
for module in (loss, utils):
    module.__getattr__ = missing(module.__name__)

__getattr__ = missing('mxnet.gluon')
