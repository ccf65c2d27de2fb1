"""Let a process believe that this machine has two GPUs.

With this folder on PYTHONPATH Python loads the file by itself, also in the
processes that a notebook starts. `mx.gpu(0)` and `mx.gpu(1)` are then CPU
devices of their own that look like GPUs, in profiles too, and an operator
whose arrays live on different devices raises. Between CPU devices that
stays allowed, as it is on a machine with GPUs. CUDA_VISIBLE_DEVICES says in
which order MXNet sees the two, as with NVIDIA's driver.
"""

import ctypes
import importlib.machinery
import os
import re
import sys

NUM_GPUS = 2
FIRST = len(os.sched_getaffinity(0))  # where the GPUs begin in a profile
VISIBLE = os.environ.get('CUDA_VISIBLE_DEVICES', '0,1')
ORDER = [int(number) for number in VISIBLE.split(',')]
CPU, STRING, ARRAY = 1, 11, 14  # MXNet's numbers for types


def is_gpu(i):
    """Return whether the CPU device of number `i` plays a GPU."""
    return FIRST <= i < FIRST + NUM_GPUS


def real_name(text):
    """Return what MXNet calls the device that Python knows as `text`."""
    match = re.fullmatch(rb'(cpu|gpu)\((\d+)\)', text)
    if not match:
        return text
    i = int(match[2])
    if match[1] == b'gpu':
        return b'cpu(%d)' % (FIRST + ORDER[i])
    return b'cpu(%d)' % (i + NUM_GPUS * (i >= FIRST))


def play(mx):
    """Give MXNet two GPUs, and CPU devices with other numbers."""
    context, real_cpu = mx.context, mx.cpu
    enabled = mx.runtime.Features.is_enabled
    real_type = context.Context.device_type.fget

    def gpu(i=0):
        if not 0 <= i < NUM_GPUS:
            raise mx.MXNetError(f'there is no gpu({i})')
        return real_cpu(FIRST + ORDER[i])

    def device_type(device):
        played = real_type(device) == 'cpu' and is_gpu(device.device_id)
        return 'gpu' if played else real_type(device)

    def name(device):
        i = device.device_id
        if is_gpu(i):
            return f'{device.device_type}({ORDER.index(i - FIRST)})'
        i -= NUM_GPUS * (i > FIRST)
        return f'{device.device_type}({i})'

    mx.cpu = context.cpu = lambda i=0: real_cpu(i + NUM_GPUS * (i >= FIRST))
    mx.gpu = context.gpu = gpu
    context.num_gpus = lambda: NUM_GPUS
    mx.runtime.Features.is_enabled = lambda features, name: (
        name == 'CUDA' or enabled(features, name)
    )
    context.Context.device_type = property(device_type)
    context.Context.__str__ = context.Context.__repr__ = name


def check_calls(mx, lib):
    """Check the devices in all calls that hand several arrays to MXNet."""
    copy = ctypes.c_void_p()
    lib.NNGetOpHandle(b'_copyto', ctypes.byref(copy))

    def check(handles):
        places, kind, i = set(), ctypes.c_int(), ctypes.c_int()
        for handle in filter(None, handles):
            lib.MXNDArrayGetContext(
                ctypes.c_void_p(handle), ctypes.byref(kind), ctypes.byref(i)
            )
            # Key-value stores have pinned memory; they would copy it to GPUs.
            places |= {i.value} if kind.value == CPU else set()
        if len(places) > 1 and any(map(is_gpu, places)):
            devices = [mx.Context('cpu', i) for i in sorted(places)]
            raise mx.MXNetError(f'an operator with arrays on {devices}')

    def operator(handle, num_inputs, inputs, num_outputs, outputs, *options):
        if getattr(handle, 'value', None) != copy.value:
            check(
                [
                    *inputs[: num_inputs.value],
                    *outputs._obj[: num_outputs._obj.value],
                ]
            )
        if len(options) > 1:  # a hybridized network has none
            options[2][:] = [real_name(text) for text in options[2]]

    def function(handle, values, kinds, count, *rest):
        for i in range(count.value):
            if kinds[i] == STRING:
                values[i].v_str = real_name(values[i].v_str)
        check(
            [
                values[i].v_handle
                for i in range(count.value)
                if kinds[i] == ARRAY
            ]
        )

    def backward(count, heads, gradients, *rest):
        for i in range(count if gradients else 0):
            check([heads[i], gradients[i]])

    def mark(count, arrays, requests, gradients):
        for i in range(count):
            check([arrays[i], gradients[i]])

    for call, checked in (
        ('MXImperativeInvokeEx', operator),
        ('MXInvokeCachedOpEx', operator),
        ('MXNetFuncCall', function),
        ('MXAutogradBackwardEx', backward),
        ('MXAutogradMarkVariables', mark),
    ):
        setattr(lib, call, after(checked, getattr(lib, call)))


def after(checked, call):
    """Return a function that makes `call` once `checked` has not raised."""

    def both(*args):
        checked(*args)
        return call(*args)

    return both


class Finder:
    """Finds MXNet, once, and changes it when it has been loaded."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != 'mxnet':
            return None
        sys.meta_path.remove(Finder)
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        load = spec.loader.exec_module

        def load_and_change(mx):
            load(mx)
            play(mx)
            check_calls(mx, mx.base._LIB)

        spec.loader.exec_module = load_and_change
        return spec


sys.meta_path.insert(0, Finder)
