"""Tensors and arrays, for `samestep.torch`."""

from collections.abc import Mapping

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
    """Return a tensor, or the tensors in dicts and lists, as arrays: without
    `copy`, those of the tensors themselves where they can be."""
    import torch

    if value is None:
        return None
    if isinstance(value, Mapping):
        return {key: to_numpy(part, copy) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_numpy(part, copy) for part in value]
    if hasattr(value, 'full_tensor'):  # a DTensor: of the parts, all
        value = value.full_tensor()
    if torch.is_tensor(value):
        value = value.detach().cpu()
        if value.is_sparse:  # the gradient of an embedding may be
            value = value.to_dense()
        if value.dtype == torch.bfloat16:  # which NumPy does not have
            value = value.float()
        return value.numpy().copy() if copy else value.numpy()
    return np.asarray(value)


def to_tensor(part, like):
    """Return arrays, or those in dicts and lists, as tensors where `like`
    is, with floats as in it."""
    import torch

    if isinstance(part, dict):
        return {key: to_tensor(value, like) for key, value in part.items()}
    if isinstance(part, (list, tuple)):
        return [to_tensor(value, like) for value in part]
    if part is None:
        return None
    tensor = torch.as_tensor(np.array(part)).to(like.device)
    return tensor.to(like.dtype) if tensor.is_floating_point() else tensor


def in_formats(part, formats):
    """Return tensors, or those in lists and dicts, in the memory formats that
    have as many axes as they have."""
    import torch

    if isinstance(part, dict):
        return {key: in_formats(own, formats) for key, own in part.items()}
    if isinstance(part, (list, tuple)):
        return [in_formats(own, formats) for own in part]
    if part is None:
        return None
    axes = {4: torch.channels_last, 5: torch.channels_last_3d}
    if axes.get(part.ndim) in formats:
        part = part.contiguous(memory_format=axes[part.ndim])
    return part


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
