"""Tensors and arrays, for `samestep.torch`."""

import numpy as np

from .causes import MOST_NUMBERS


def bytes_of(tensor):
    """Return evenly spaced numbers of a tensor, as bytes."""
    numbers = to_numpy(tensor, copy=False).reshape(-1)
    return numbers[:: -(-numbers.size // MOST_NUMBERS) | 1].tobytes()


def grads_of(params):
    """Return the gradients of the parameters that have one."""
    return [param.grad for param in params if param.grad is not None]


def tensors_of(model):
    """Return parameters that train, and buffers with floats, by name."""
    return {**dict(model.named_parameters()), **buffers_of(model)}


def buffers_of(model):
    """Return the buffers with floats, such as running means."""
    return {
        name: buffer
        for name, buffer in model.named_buffers()
        if buffer.is_floating_point()
    }


def to_numpy(value, copy=True):
    """Return a tensor as an array: without `copy`, that of the tensor itself
    where it can be."""
    import torch

    if hasattr(value, 'full_tensor'):  # a DTensor: of the parts, all
        value = value.full_tensor()
    if hasattr(value, 'ds_id'):  # DeepSpeed's, of parts
        from deepspeed.utils import safe_get_full_fp32_param

        value = safe_get_full_fp32_param(value).to(value.dtype)
    if torch.is_tensor(value):
        value = value.detach().cpu()
        if value.is_sparse:  # the gradient of an embedding may be
            value = value.to_dense()
        if value.dtype == torch.bfloat16:  # which NumPy does not have
            value = value.float()
        return value.numpy().copy() if copy else value.numpy()
    return np.asarray(value)


def to_tensor(array, like):
    """Return an array as a tensor where `like` is, with floats as in it."""
    import torch

    tensor = torch.as_tensor(np.array(array)).to(like.device)
    return tensor.to(like.dtype) if tensor.is_floating_point() else tensor


def in_formats(tensor, formats):
    """Return a tensor in the memory format of those that has as many axes."""
    import torch

    axes = {4: torch.channels_last, 5: torch.channels_last_3d}
    if axes.get(tensor.ndim) in formats:
        tensor = tensor.contiguous(memory_format=axes[tensor.ndim])
    return tensor


def set_tensor(tensor, array):
    """Write an array into a tensor on one device: of a sparse one, into the
    rows that it has."""
    import torch

    new = torch.as_tensor(np.array(array)).to(tensor.dtype)
    with torch.no_grad():
        if tensor.is_sparse:
            new = new.sparse_mask(tensor.coalesce().cpu()).to(tensor.device)
        tensor.copy_(new)


def from_array(array, kind, param):
    """Return what an optimizer keeps: a tensor as `kind` was, or a number."""
    import torch

    if not torch.is_tensor(kind):
        return type(kind)(array)
    new = torch.as_tensor(np.array(array))
    alike = kind.shape == param.shape
    if not alike and not kind.ndim:  # a count of steps, which stays as it is
        return new.to(kind.dtype).to(kind.device)
    new = new.to(param.dtype)
    if alike and hasattr(param, 'full_tensor'):
        from torch.distributed.tensor import distribute_tensor

        return distribute_tensor(new, param.device_mesh, param.placements)
    return new.to(param.device)
