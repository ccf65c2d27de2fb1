"""Calls of an answer from a process that has never run it.

That process, the judge, has the hidden check, our solution and what comes
back; the answer's process has none of them. Arguments and results pass
through a socket as numbers, texts, lists and arrays in JSON: never as
pickles, which can run code. The runner executes this file, as it does
`flags.py`.
"""

import base64
import builtins
import json
import numbers
import sys

import numpy

MAX_BYTES = 200_000_000  # of one message
HEAD = 8  # bytes: the length of a message
ENDED = 'it ended the process before its check'


class Ended(EOFError):
    """The process at the other end has ended: no error of an answer's."""


class CallError(Exception):
    """What a hidden check gives cannot be sent: an error of ours."""


def send(channel, value):
    """Send what JSON can hold."""
    text = json.dumps(value).encode()
    channel.sendall(len(text).to_bytes(HEAD, 'big') + text)


def receive(channel):
    """Return what was sent; raise Ended at its end."""
    size = int.from_bytes(read(channel, HEAD), 'big')
    if size > MAX_BYTES:
        raise ValueError(f'the answer gives more than {MAX_BYTES} bytes')
    return json.loads(read(channel, size))


def read(channel, size):
    """Return a number of bytes."""
    pieces = bytearray()
    while len(pieces) < size:
        piece = channel.recv(min(size - len(pieces), 1 << 20))
        if not piece:
            raise Ended(ENDED)
        pieces += piece
    return bytes(pieces)


def pack(value):
    """Return a value as JSON can hold it. Raises TypeError if it is not made
    of numbers, texts, arrays, devices, lists, sets and dictionaries."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (numpy.ndarray, numpy.generic)):
        kind = 'array' if isinstance(value, numpy.ndarray) else 'scalar'
        return [kind, *pack_array(numpy.asarray(value))]
    mx = sys.modules.get('mxnet')
    if mx and isinstance(value, mx.nd.NDArray):
        place = value.ctx.device_type, value.ctx.device_id
        trained = value.grad is not None
        return ['mxnet', *pack_array(value.asnumpy()), trained, *place]
    if mx and isinstance(value, mx.Context):
        return ['device', value.device_type, value.device_id]
    if hasattr(value, '__array__'):  # of PyTorch or TensorFlow
        return ['array', *pack_array(numpy.asarray(value))]
    if isinstance(value, numbers.Number):  # a float, Fraction or Decimal
        return float(value)
    return pack_items(value)


def pack_items(value):
    """Return what has items as JSON can hold it."""
    if isinstance(value, dict):
        items = [[pack(key), pack(one)] for key, one in value.items()]
        return ['dict', items]
    if not hasattr(type(value), '__iter__'):
        raise TypeError(
            f'the answer gives a {type(value).__name__}: return numbers, '
            'lists or arrays'
        )
    items = [pack(one) for one in value]
    if isinstance(value, tuple) and hasattr(value, '_fields'):
        return ['named', type(value).__module__, type(value).__name__, items]
    for kind in (tuple, set, frozenset):
        if isinstance(value, kind):
            return [kind.__name__, items]
    return ['list', items]  # also of a range, a generator or a deque


def pack_array(array):
    """Return the type, shape and bytes of an array."""
    if array.dtype == object:  # of a Fraction or Decimal
        array = array.astype(float)
    if array.dtype.kind not in 'biufc':
        raise TypeError(f'an array of {array.dtype} holds no numbers')
    data = base64.b64encode(numpy.ascontiguousarray(array).tobytes())
    return array.dtype.str, list(array.shape), data.decode()


def unpack(value, named=None):
    """Return the value that `pack` was given, or one as good.

    `named(module, name)`: the class of a named tuple; the judge takes none
    from an answer, and makes it a tuple.
    """
    if not isinstance(value, list):
        return value
    kind, *rest = value
    if kind == 'dict':
        return {unpack(key, named): unpack(one, named) for key, one in rest[0]}
    if kind in ('list', 'tuple', 'set', 'frozenset'):
        items = [unpack(one, named) for one in rest[0]]
        return items if kind == 'list' else getattr(builtins, kind)(items)
    if kind == 'named':
        items = [unpack(one, named) for one in rest[2]]
        return named(*rest[:2])(*items) if named else tuple(items)
    if kind == 'device':
        return sys.modules['mxnet'].Context(*rest)
    array = unpack_array(*rest[:3])
    if kind == 'mxnet':
        mx = sys.modules['mxnet']
        device = mx.Context(*rest[4:])
        found = mx.np.array(array, dtype=array.dtype, ctx=device)
        if rest[3]:
            found.attach_grad()
        return found
    return array[()] if kind == 'scalar' else array


def unpack_array(dtype, shape, data):
    """Return an array; raise ValueError for one that holds no numbers."""
    dtype = numpy.dtype(str(dtype))
    if dtype.kind not in 'biufc':
        raise ValueError(f'an array of {dtype} holds no numbers')
    flat = numpy.frombuffer(base64.b64decode(data), dtype)
    return flat.reshape([int(n) for n in shape]).copy()


def answer_calls(channel, answer, names, explain):
    """Call an answer for the judge, until it has asked enough.

    `names`: of the answer, in which its named tuples are. `explain`: returns
    what an error says.
    """

    def named(module, name):
        known = names if module == '__main__' else vars(sys.modules[module])
        return known[name]

    send(channel, 'ready')
    while True:
        try:
            arguments, watched = receive(channel)
        except (Ended, OSError):
            return
        try:
            arguments = unpack(arguments, named)
            value, copies = call(answer, arguments, watched)
            send(channel, ['value', pack([value, arguments, copies])])
        except BaseException as error:  # also of what JSON cannot hold
            kinds = [kind.__name__ for kind in type(error).__mro__]
            said = [kinds, text_of(error), explain(error)]
            send(channel, ['error', said])


def call(function, arguments, watched):
    """Return what a function returns, and, if it is `watched`, the copies
    that it makes between devices."""
    if not watched:
        return function(*arguments), []
    from d2lmulti.devices import record_copies

    found = []
    copies = record_copies(lambda: found.append(function(*arguments)))
    return found[0], copies


def text_of(error):
    """Return the text of an error, whatever its class does."""
    try:
        return str(error)
    except Exception:
        return ''


def asker(channel, name):
    """Return a function that calls the answer in the other process, with
    copies of its arguments."""

    def ask(arguments, watched=False):
        try:
            packed = pack(list(arguments))
        except (TypeError, ValueError) as error:
            raise CallError(f'the hidden check of {name}: {error}') from error
        send(channel, [packed, watched])
        kind, reply = receive(channel)
        if kind != 'error':
            return unpack(reply)
        kinds, text, said = reply
        raise as_error(kinds, str(text), str(said))

    def answer(*arguments):
        return ask(arguments)[0]

    # See `outcome` in hidden/compare.py.
    answer.outcome = lambda *arguments: ask(arguments, True)
    answer.__name__ = name
    return answer


def as_error(kinds, text, said):
    """Return an error of the first of the classes that Python has; `said` is
    what the student reads."""
    found = (vars(builtins).get(str(kind)) for kind in kinds)
    kind = next((one for one in found if is_error(one)), RuntimeError)
    try:
        error = kind(text)
    except TypeError:  # it needs more arguments
        error = RuntimeError(text)
    error.said = said
    return error


def is_error(kind):
    """Return whether this is a class of errors that a check may expect."""
    return isinstance(kind, type) and issubclass(kind, Exception)


def judge(channel, name, checks, names, run, explain):
    """Return (verdict, what the checks say) of the answer at the other end.

    `names`: of the book's cells, which no answer has seen. `run`: executes a
    source.
    """
    try:
        if receive(channel) != 'ready':
            raise ValueError('the answer writes where only the grader writes')
        names[name] = asker(channel, name)
        for check in checks:
            run(check, names)
    except Ended:
        return 'stopped', ENDED
    except CallError as error:
        return 'failed', explain(error)
    except BaseException as error:
        return 'wrong', getattr(error, 'said', '') or explain(error)
    return 'passed', ''
