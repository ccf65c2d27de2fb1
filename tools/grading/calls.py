"""Calls of an answer from a process that has never run it.

That process, the judge, has the hidden check, our solution and what comes
back; the student's kernel has none of them. Arguments and results pass through
a socket as numbers, texts, lists and arrays in JSON: never as pickles, which
can run code. The kernel has this file alone, and nbgrader's hidden tests are
calls of `hidden_check`.
"""

import base64
import builtins
import json
import linecache
import numbers
import os
import socket
import sys
import traceback

import numpy

MAX_BYTES = 200_000_000  # of one message
HEAD = 8  # bytes: the length of a message
ADDRESS = 'D2LMULTI_JUDGE'  # the variable that names the judge's socket
ENDED = 'the kernel ended before the hidden check'


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
    if hasattr(value, '__array__'):  # of PyTorch
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


def hidden_check(exercise, answer):
    """Raise AssertionError if the judge does not accept an answer.

    `exercise`: its id. Raises RuntimeError where there is no judge, as outside
    of `nbgrader autograde`.
    """
    __tracebackhide__ = True
    if ADDRESS not in os.environ:
        raise RuntimeError('hidden checks run in `nbgrader autograde` only')
    module = str(getattr(answer, '__module__', ''))
    if module.partition('.')[0] == 'd2lmulti':
        raise AssertionError(f'that is the function of {module}: write yours')
    with socket.socket(socket.AF_UNIX) as channel:
        channel.connect(os.environ[ADDRESS])
        send(channel, exercise)
        verdict, message = answer_calls(channel, answer)
    if verdict != 'passed':
        raise AssertionError(message)


def answer_calls(channel, answer):
    """Call an answer for the judge; return (verdict, message) of the judge."""
    names = vars(sys.modules['__main__'])

    def named(module, name):
        known = names if module == '__main__' else vars(sys.modules[module])
        return known[name]

    while True:
        kind, *content = receive(channel)
        if kind == 'verdict':
            return content
        try:
            if kind == 'run':  # a check that watches the answer work
                name, source = content
                code = compile(source, '<hidden check>', 'exec')
                exec(code, {**names, name: answer})
                send(channel, ['value', None])
                continue
            arguments, watched = content
            arguments = unpack(arguments, named)
            later = held(arguments)
            value, copies = call(answer, arguments, watched)
            reply = [value, later(), copies, arguments]
            send(channel, ['value', pack(reply)])
        except Exception as error:  # also of what JSON cannot hold
            kinds = [one.__name__ for one in type(error).__mro__]
            send(channel, ['error', [kinds, text_of(error), explain(error)]])


def explain(error):
    """Return what a student reads of an error, and in which line it was."""
    text, kind = ' '.join(text_of(error).split()), type(error).__name__
    if kind in ('AssertionError', 'NotImplementedError') and text:
        return text
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        line = linecache.getline(frame.filename, frame.lineno).strip()
        if 'ipykernel' in frame.filename and line:
            return f'{kind}: {text} (in the line `{line}`)'
    return f'{kind}: {text}'


def call(function, arguments, watched):
    """Return what a function returns, and, if it is `watched`, the copies
    that it makes between devices."""
    if not watched:
        return function(*arguments), []
    from d2lmulti.profiler import record_copies

    found = []
    copies = record_copies(lambda: found.append(function(*arguments)))
    return found[0], copies


def held(value):
    """Return a function that gives a value as its caller sees it later: the
    arrays that it had, also if a list got others in their place, and behind
    them what was appended."""
    if type(value) not in (list, tuple):
        return lambda: value
    items = [held(item) for item in value]
    return lambda: type(value)(
        [*(item() for item in items), *value[len(items) :]]
    )


def text_of(error):
    """Return the text of an error, whatever its class does."""
    try:
        return str(error)
    except Exception:
        return ''


def ask(channel, *message):
    """Return what the answer's process replies; raise the error that it
    tells."""
    send(channel, message)
    kind, reply = receive(channel)
    if kind != 'error':
        return unpack(reply)
    kinds, text, said = reply
    raise as_error(kinds, str(text), str(said))


def asker(channel, name):
    """Return a function that calls the answer in the other process, with
    copies of its arguments."""

    def outcome(arguments, watched):
        try:
            packed = pack(list(arguments))
        except (TypeError, ValueError) as error:
            raise CallError(f'the hidden check of {name}: {error}') from error
        return ask(channel, 'call', packed, watched)

    def answer(*arguments):
        return outcome(arguments, False)[0]

    # See `outcome` in hidden/compare.py.
    answer.outcome = lambda *arguments: outcome(arguments, True)
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


def judge(channel, name, hidden, watched, names):
    """Return (verdict, message) of the answer at the other end.

    `hidden`, `watched`: sources of checks, which run here and there. `names`:
    of the book's cells, which no answer has seen.
    """
    names = dict(names)
    names[name] = asker(channel, name)
    try:
        for source in hidden:
            exec(compile(source, '<hidden check>', 'exec'), names)
        for source in watched:
            ask(channel, 'run', name, source)
    except Ended:
        return 'stopped', ENDED
    except CallError as error:
        return 'failed', str(error)
    except Exception as error:
        return 'wrong', getattr(error, 'said', '') or explain(error)
    return 'passed', ''
