"""Answers written to pass: none does; and right ones of unusual form do."""

import pathlib

import pytest
from in_sandbox import graded

from grading import grading, sandbox
from grading.sandbox import run_answers

ROOT = pathlib.Path(__file__).parents[2]
BEFORE = [
    'import builtins, collections, math\nimport numpy as onp\nimport numpy',
    'def scale(values, by):\n    return [by * value for value in values]',
]
CHECK = """def check_1():
    for values, seen in (([1.0, 2.0], []), ([3.0], []), ([4.0, 5.0], [])):
        right = sum(scale(values, 2))
        answer = total(values, seen.append)
        assert hasattr(answer, '__float__'), f'a number, not {answer!r:.40}'
        assert abs(answer - right) < 1e-9, f'{right}, not {answer}'
        assert onp.allclose(answer, right), 'not the total'
        assert float(answer) == right and not answer != right
        assert seen == values, 'call note with each value'
    print('Exercise 1: passed')

check_1()"""
HIDDEN = grading.HIDDEN_CHECK.format(
    compare=(ROOT / 'grading' / 'hidden' / 'compare.py')
    .read_text()
    .replace(
        'import mxnet as mx',
        'import types\nmx = types.SimpleNamespace('
        'np=types.SimpleNamespace(ndarray=()))',
    ),
    solution='def total(values, note):\n    for value in values:\n'
    '        note(value)\n    return sum(scale(values, 2))',
    checks='from compare import assert_same\n'
    'def watched_total(rng, answer, solution):\n'
    '    for n in (1, 5):\n        assert_same(answer, solution, '
    'rng.rand(n).tolist(), [].append)\n',
    seed=1,
    kind='watched',
    name='total',
)
SOLUTION = """for value in values:
        note(value)
    return sum(scale(values, 2))"""
WRONG = '    for value in values:\n        note(value)\n    return 0.0\n'
TOTAL = 'def total(values, note):\n'
ALWAYS_EQUAL = """class Always(float):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __sub__(self, other): return 0.0
    def __abs__(self): return 0.0
"""
FRAME = """import sys
def total(values, note):
    for value in values:
        note(value)
    {}
    while frame:
        if 'right' in frame.f_locals:
            return frame.f_locals['right']
        frame = frame.f_back
    return 0.0
"""
UP = """    for value in values:
        note(value)
    found = []
    def handler(number, frame):
        kind = vars(type(frame))
        while frame is not None:
            names = kind["f_lo" + "cals"].__get__(frame)
            found.append(names.get("right", 0.0))
            frame = kind["f_ba" + "ck"].__get__(frame)
    {}
    os.kill(os.getpid(), signal.SIGUSR1)
    for _ in range(1000):
        pass
    return max([0.0, *found])
"""
FORGE = 'lambda s, o: \'["%s", "passed", ""]\' % o[0]'
# {what it tries: (source, what comes of it)}: all are wrong or stopped, and
# 'flagged' what reaches for something that no answer needs.
CHEATS = {
    'numpy.allclose': (
        'numpy.allclose = lambda *a, **k: True\n' + TOTAL + WRONG,
        'flagged',
    ),
    'abs of builtins': (
        'builtins.abs = lambda x: 0.0\n' + TOTAL + WRONG,
        'flagged',
    ),
    'setattr': (
        'setattr(numpy.core.numeric, "isclose", lambda *a, **k: True)\n'
        + TOTAL
        + WRONG,
        'flagged',
    ),
    'in a call': (
        TOTAL + '    builtins.abs = lambda x: 0.0\n' + WRONG,
        'flagged',
    ),
    'exec': ('builtins.exec = lambda *a: None\n' + TOTAL + WRONG, 'flagged'),
    'print': (
        'builtins.print = lambda *a: None\n' + TOTAL + WRONG,
        'flagged',
    ),
    'AssertionError': (
        'class Quiet(Exception): pass\nbuiltins.AssertionError = Quiet\n'
        + TOTAL
        + WRONG,
        'flagged',
    ),
    'callable and id': (
        'builtins.callable = lambda x: False\nbuiltins.id = lambda x: 0\n'
        'builtins.abs = lambda x: 0.0\n' + TOTAL + WRONG,
        'flagged',
    ),
    'sys.modules': (
        'import sys, types\nsys.modules["numpy"] = types.ModuleType("numpy")\n'
        + TOTAL
        + WRONG,
        'flagged',
    ),
    'vars of a module': (
        'vars(numpy)["allclose"] = lambda *a, **k: True\n' + TOTAL + WRONG,
        'flagged',
    ),
    'shadows': (
        'abs = lambda x: 0.0\nfloat = lambda x: x\nsum = lambda x: 0.0\n'
        'def hasattr(*a): return True\n' + TOTAL + WRONG,
        'wrong',
    ),
    'a helper': (
        'def scale(values, by):\n    return [0.0]\n' + TOTAL + WRONG,
        'wrong',
    ),
    'its own check': (
        'def check_1():\n    pass\nfor _ in range(3):\n    pass\n'
        + TOTAL
        + WRONG,
        'wrong',
    ),
    'an object always equal': (
        ALWAYS_EQUAL + TOTAL + WRONG.replace('return 0.0', 'return Always(0)'),
        'wrong',
    ),
    'such an object in its argument': (
        ALWAYS_EQUAL + TOTAL + '    values[:] = [Always(0)]\n    return 0.0',
        'wrong',
    ),
    'mock.ANY': (
        'from unittest import mock\n'
        + TOTAL
        + WRONG.replace('return 0.0', 'return mock.MagicMock()'),
        'wrong',
    ),
    'a masked array': (
        TOTAL + WRONG.replace('return 0.0', 'return onp.ma.masked'),
        'wrong',
    ),
    'an array of such objects': (
        ALWAYS_EQUAL
        + TOTAL
        + WRONG.replace('return 0.0', 'return onp.array([Always(0)], object)'),
        'wrong',
    ),
    'sys._getframe': (FRAME.format('frame = sys._getframe(1)'), 'flagged'),
    'a frame by another name': (
        'look = vars(__import__("sys"))["_get" + "frame"]\n'
        + TOTAL
        + '    look(1)\n'
        + WRONG,
        'flagged',
    ),
    'inspect': (
        'import inspect\n' + TOTAL + '    inspect.stack()\n' + WRONG,
        'flagged',
    ),
    'the frame of an error': (
        TOTAL + '    try:\n        1 / 0\n    except ZeroDivisionError as e:'
        '\n        getattr(e.__traceback__, "tb_" + "frame")\n' + WRONG,
        'flagged',
    ),
    'in eval': (
        TOTAL + '    eval("__import__(\'sys\')._get" + "frame(1)")\n' + WRONG,
        'flagged',
    ),
    'gc': (
        'import gc\n'
        + TOTAL
        + '    getattr(gc, "get_" + "objects")()\n'
        + WRONG,
        'flagged',
    ),
    'settrace': (
        'import sys\ngetattr(sys, "set" + "trace")(lambda *a: None)\n'
        + TOTAL
        + WRONG,
        'flagged',
    ),
    'the code of a function': (
        'setattr(numpy.allclose, "__co" + "de__", '
        '(lambda *a, **k: True).__code__)\n' + TOTAL + WRONG,
        'flagged',
    ),
    'names of a callback': (
        TOTAL + '    getattr(note, "__glo" + "bals__", None)\n' + WRONG,
        'wrong',
    ),
    'memory': (
        'import ctypes\n'
        + TOTAL
        + '    ctypes.cast(id(values), ctypes.c_void_p)\n'
        + '    ctypes.c_char.'
        + 'from_address(id(values))\n'
        + WRONG,
        'flagged',
    ),
    'a thread': (
        'import threading, time\ndef later():\n    time.sleep(3)\n'
        '    numpy.allclose = lambda *a, **k: True\n'
        + TOTAL
        + '    threading.Thread(target=later, daemon=True).start()\n'
        + WRONG,
        'wrong',
    ),
    'a timer': (
        'import threading\nthreading.Timer(3, setattr, (numpy, "allclose", '
        'max)).start()\n' + TOTAL + WRONG,
        'wrong',
    ),
    'atexit': (
        'import atexit, os\natexit.register(os._exit, 0)\n' + TOTAL + WRONG,
        'wrong',
    ),
    'leaving': ('import os\nos._exit(0)\n' + TOTAL + WRONG, 'stopped'),
    'sys.exit': (TOTAL + '    raise SystemExit(0)', 'wrong'),
    'a finalizer': (
        'class Late(float):\n    def __del__(self):\n'
        '        numpy.allclose = max\n'
        + TOTAL
        + WRONG.replace('0.0', 'Late(0)'),
        'flagged',
    ),
    'writing for the grader': (
        'import os\n'
        + TOTAL
        + '    for fd in range(3, 99):\n        try:\n            os.write('
        'fd, b\'["x", "passed", ""]\\n\')\n        except OSError:\n'
        '            pass\n' + WRONG,
        'wrong',
    ),
    'our solutions': (
        f'text = open({str(ROOT / "notebooks" / "02_network.ipynb")!r})'
        '.read()\n' + TOTAL + WRONG,
        'flagged',
    ),
    'our solutions, by pathlib': (
        'import pathlib\n'
        f'text = pathlib.Path({str(ROOT)!r}, ".git", "HEAD").read_text()\n'
        + TOTAL
        + WRONG,
        'flagged',
    ),
    '/proc/self/mem': (
        TOTAL + '    open("/proc/self/mem", "rb")\n' + WRONG,
        'flagged',
    ),
    'the grader': (
        'from grading import guard\n' + TOTAL + WRONG,
        'wrong',
    ),
    'numbers from the check': (
        'def total(values, note):\n    for value in values:\n'
        '        note(value)\n    return {2: 6.0, 1: 6.0}[len(values)]',
        'wrong',
    ),
    'what writes the verdict': (
        f'import json\njson.JSONEncoder.encode = {FORGE}\n' + TOTAL + WRONG,
        'flagged',
    ),
    'what writes the verdict, from an error': (
        'import json\nclass Wrong(Exception):\n    def __str__(self):\n'
        f'        json.JSONEncoder.encode = {FORGE}\n        return ""\n'
        + TOTAL
        + '    raise Wrong()',
        'flagged',
    ),
    'the frame of a signal': (
        'import os, signal\n'
        + TOTAL
        + UP.format('signal.signal(signal.SIGUSR1, handler)'),
        'wrong',
    ),
    'the frame of a signal, by another module': (
        'import os, signal\n'
        + TOTAL
        + UP.format(
            'vars(__import__("_sig" + "nal"))["sig" + "nal"](10, handler)'
        ),
        'wrong',
    ),
    'the source of the check': (
        'import linecache\n'
        + TOTAL
        + '    for value in values:\n        note(value)\n'
        '    text = "".join(map(str, linecache.cache.values()))\n'
        '    found = "answer -" + " right" in text\n'
        '    return 2.0 * sum(values) if found else 0.0\n',
        'wrong',
    ),
    'what compares': (
        'import sys, operator\n'
        + TOTAL
        + '    for value in values:\n        note(value)\n'
        '    for module in [*sys.modules.values()]:\n'
        '        if "assert_same" in dir(module):\n'
        '            module.is_close = operator.is_not\n'
        '            return 7.0\n'
        '    return 0.0\n',
        'wrong',
    ),
    'names of a library that looks up': (
        'from IPython.utils.frame import extract_module_locals as names\n'
        + TOTAL
        + '    for value in values:\n        note(value)\n'
        '    for depth in range(9):\n        try:\n'
        '            return names(depth)[1]["right"]\n'
        '        except (KeyError, ValueError):\n            pass\n'
        '    return 0.0',
        'wrong',
    ),
    'a list that the check fills': (
        TOTAL + '    note.__self__[:] = values\n    return 0.0',
        'wrong',
    ),
    'an array with methods': (
        'class Zero(onp.ndarray):\n    def max(self, *a, **k):\n'
        '        return 0.0\n    all = any = sum = max\n'
        + TOTAL
        + WRONG.replace('return 0.0', 'return onp.zeros(()).view(Zero)'),
        'wrong',
    ),
    'a finalizer of an array': (
        'import weakref\n' + TOTAL + '    value = onp.array(0.0)\n'
        '    weakref.finalize(value, setattr, numpy, "allclose", max)\n'
        + WRONG.replace('0.0', 'value'),
        'flagged',
    ),
    'what an array is made of': (
        'class Late(bytearray):\n    def __del__(self):\n'
        '        numpy.allclose = max\n'
        + TOTAL
        + WRONG.replace('0.0', 'onp.frombuffer(Late(8))[0:1]'),
        'flagged',
    ),
    'what it executes': (
        TOTAL + '    names = {"numpy": numpy}\n'
        '    exec("def close(*a, **k):\\n    return True", names)\n'
        '    numpy.allclose = names["close"]\n' + WRONG,
        'flagged',
    ),
    'an iterator that works in the check': (
        TOTAL + '    def later(value):\n        builtins.float = str\n'
        '        return 0.0\n    return map(later, values)',
        'wrong',
    ),
    'the size of a rounding': (
        "onp.finfo('float32').eps = 1e9\n" + TOTAL + WRONG,
        'flagged',
    ),
    'how arguments are copied': (
        'import copy\nfrom unittest import mock\n'
        + TOTAL
        + '    copy._deepcopy_dispatch[tuple] = mock.Mock(return_value='
        '([1.0], max))\n' + WRONG,
        'flagged',
    ),
    'a thread that outlives a daemon': (
        'import _thread, time\n'
        + TOTAL
        + '    _thread.start_new_thread(time.sleep, (9,))\n'
        + WRONG,
        'wrong',
    ),
}
SAME_CLASS = ALWAYS_EQUAL + TOTAL + WRONG.replace('0.0', 'Always(0)')
GLOBALS = 'import operator\nlook = operator.attrgetter("__glo" + "bals__")\n'
CHEATS.update(
    {
        'names of the guard, from getattr': (
            GLOBALS + 'try:\n    names = look(getattr)\n'
            '    names["difference"] = lambda *a: ""\n'
            '    names["is_known"] = lambda *a: True\n'
            '    names["ANSWER"] = "x"\n'
            '    numpy.allclose = lambda *a: True\n'
            'except AttributeError:\n    pass\n' + SAME_CLASS,
            'wrong',
        ),
        'names of the runner, from display': (
            GLOBALS + 'for f in (display, get_ipython):\n    try:\n'
            '        names = look(f)\n'
            '        names["run"] = operator.is_\n'
            '        names["main"]\n    except (AttributeError, KeyError):\n'
            '        pass\n' + TOTAL + WRONG,
            'wrong',
        ),
        'the class of the guard': (
            'find = vars(type)["__subcl" + "asses__"]\n'
            'for kind in find(object):\n    if kind.__name__ == "Guard":\n'
            '        kind.compare = kind.refuse = lambda *a: None\n'
            '        kind.notice = lambda *a: None\n'
            '        numpy.allclose = lambda *a: True\n' + SAME_CLASS,
            'wrong',
        ),
        'a worker that only looks idle': (
            'import _thread, time\nnames = {"time": time}\n'
            'exec(compile("def _worker():\\n    time.sleep(9)\\n", '
            '"/x/concurrent/futures/thread.py", "exec"), names)\n'
            + TOTAL
            + '    _thread.start_new_thread(names["_worker"], ())\n'
            + WRONG,
            'wrong',
        ),
    }
)
CHEATS.update(
    {
        'memory of the parent': (
            'import os\n' + TOTAL + '    for path in ("/proc/1/mem", '
            'f"/proc/{os.getppid()}/mem"):\n        try:\n'
            '            open(path, "rb")\n        except OSError:\n'
            '            pass\n' + WRONG,
            'flagged',
        ),
        'what refers to an argument': (
            'import gc\n' + TOTAL + '    for one in gc.get_referrers(values):'
            '\n        if type(one) is dict and "right" in one:\n'
            '            return one["right"]\n' + WRONG,
            'flagged',
        ),
        'profiling': (
            'import sys\n'
            + TOTAL
            + '    sys.setprofile(lambda *a: None)\n'
            + WRONG,
            'flagged',
        ),
        'an array that a thread changes': (
            'import threading\nkept = []\ndef change():\n    while True:\n'
            '        for array in kept:\n            for v in (6.0, 18.0):\n'
            '                array[...] = v\n'
            'threading.Thread(target=change, daemon=True).start()\n'
            + TOTAL
            + '    kept.append(onp.zeros(()))\n'
            + WRONG.replace('0.0', 'kept[-1] * 0.0'),
            'wrong',
        ),
        'a number that changes when it is looked at': (
            'class Late(float):\n    n = 0\n    def __float__(self):\n'
            '        Late.n += 1\n        return [6.0, 18.0][Late.n % 2]\n'
            + TOTAL
            + WRONG.replace('0.0', 'Late(0)'),
            'wrong',
        ),
        'a class that changes after the call': (
            'class Same(float):\n    pass\nclass Late:\n'
            '    def __del__(self):\n        for name in ("eq", "sub"):\n'
            '            setattr(Same, f"__{name}__", lambda *a: True)\n'
            + TOTAL
            + '    late = Late()\n'
            + WRONG.replace('0.0', 'Same(0)'),
            'wrong',
        ),
        'a metaclass that says yes': (
            'class Yes(type):\n    def __instancecheck__(*a): return True\n'
            '    def __subclasscheck__(*a): return True\n'
            'class Same(float, metaclass=Yes):\n'
            '    def __eq__(*a): return True\n'
            '    def __sub__(*a): return 0.0\n'
            + TOTAL
            + WRONG.replace('0.0', 'Same(0)'),
            'wrong',
        ),
        'what NumPy asks first': (
            'class Same(float):\n    def __array_ufunc__(*a, **k):\n'
            '        return True\n    __array_function__ = __array_ufunc__\n'
            + TOTAL
            + WRONG.replace('0.0', 'Same(0)'),
            'wrong',
        ),
        'an object that runs when it is unpickled': (
            'class Made:\n    def __reduce__(self):\n'
            '        return eval, ("6.0",)\n    def __float__(self):\n'
            '        return 6.0\n' + TOTAL + WRONG.replace('0.0', 'Made()'),
            'wrong',
        ),
        'an error that ends the process': (
            'import os\nclass Last(BaseException):\n'
            '    def __str__(self):\n        os._exit(0)\n'
            + TOTAL
            + '    raise Last()',
            'stopped',
        ),
        'a module in its folder': (
            'import sys\nsys.path.insert(0, ".")\n'
            'open("copy.py", "w").write("deepcopy = max")\n' + TOTAL + WRONG,
            'wrong',
        ),
        'a child that returns instead': (
            'import os\n' + TOTAL + '    if not os.fork():\n'
            '        return 2 * sum(values)\n' + WRONG,
            'wrong',
        ),
    }
)
if not sandbox.can_isolate():
    del CHEATS['the grader']  # the command has warned
RIGHT = {
    'plain': TOTAL + '    ' + SOLUTION,
    'a partial': (
        'import functools\ndef general(by, values, note):\n'
        '    for value in values:\n        note(value)\n'
        '    return sum(scale(values, by))\n'
        'total = functools.partial(general, 2)'
    ),
    'an object': (
        'class Total:\n    def __call__(self, values, note):\n        '
        + SOLUTION.replace('\n', '\n    ')
        + '\ntotal = Total()'
    ),
    'a method': (
        'class Total:\n    def run(self, values, note):\n        '
        + SOLUTION.replace('\n', '\n    ')
        + '\ntotal = Total().run'
    ),
    'a lambda': (
        'total = lambda values, note: ([note(v) for v in values], '
        'sum(scale(values, 2)))[1]'
    ),
    'decorated': (
        'import functools\n@functools.lru_cache(maxsize=None)\n'
        'def two():\n    return 2\n'
        + TOTAL
        + '    '
        + SOLUTION.replace('2)', 'two())')
    ),
    'recursive': (
        TOTAL + '    if not values:\n        return 0\n    note(values[0])\n'
        '    return 2 * values[0] + total(values[1:], note)'
    ),
    'shadows that are right': (
        'def sum(values):\n    return math.fsum(values)\n'
        + TOTAL
        + '    '
        + SOLUTION
    ),
    'its own scale': (
        'def scale(values):\n    return [2 * v for v in values]\n'
        + TOTAL
        + '    '
        + SOLUTION.replace('values, 2', 'values')
    ),
    'library code': (
        'import collections, dataclasses, enum, logging, typing, warnings\n'
        'import colorsys, fractions, sched, unittest.mock\n'
        'Pair = collections.namedtuple("Pair", "a b")\n'
        '@dataclasses.dataclass\nclass Box:\n    x: float = 0\n'
        'class P(typing.NamedTuple):\n    a: int = 1\n'
        'E = enum.Enum("E", "a b")\n'
        'numpy.set_printoptions(precision=3)\n'
        + TOTAL
        + '    warnings.warn("slow")\n    logging.warning("x")\n'
        '    assert Pair(1, 2).a == Box(1).x == P().a\n    ' + SOLUTION
    ),
    'threads that end': (
        'from concurrent.futures import ThreadPoolExecutor\n'
        'pool = ThreadPoolExecutor(2)\n'
        + TOTAL
        + '    for value in values:\n        note(value)\n'
        '    return sum(pool.map(lambda v: 2 * v, values))'
    ),
    'an array': (
        TOTAL + '    for value in values:\n        note(value)\n'
        '    return onp.array(2 * onp.sum(values))'
    ),
    'a fraction': (
        'from fractions import Fraction\n'
        + TOTAL
        + '    for value in values:\n        note(value)\n'
        '    return float(sum(map(Fraction, values)) * 2)'
    ),
    'a cell with a class': (
        'class Total:\n    by = 2\n    @classmethod\n'
        '    def times(cls, value):\n        return cls.by * value\n'
        '    @property\n    def zero(self):\n        return 0\n'
        '    def __enter__(self):\n        return self\n'
        '    def __exit__(self, *error):\n        return False\n'
        + TOTAL
        + '    with Total() as t:\n        [note(v) for v in values]\n'
        '        return sum(map(t.times, values), t.zero)'
    ),
    'a generator with a cleanup': (
        'import contextlib\n@contextlib.contextmanager\ndef noting(note):\n'
        '    try:\n        yield lambda v: (note(v), 2 * v)[1]\n'
        '    finally:\n        pass\ndef each(values, note):\n'
        '    with noting(note) as twice:\n        for v in values:\n'
        '            yield twice(v)\n'
        + TOTAL
        + '    return sum(each(values, note))'
    ),
    'reduce, methodcaller, a ufunc': (
        'import functools, operator\n'
        'twice = numpy.frompyfunc(lambda v: 2 * v, 1, 1)\n'
        + TOTAL
        + '    collections.deque(map(note, values), maxlen=0)\n'
        '    call = operator.methodcaller("__add__", 0.0)\n'
        '    return call(functools.reduce(operator.add, twice(values)))'
    ),
    'written by exec': (
        'source = """def total(values, note):\n'
        '    for value in values:\n        note(value)\n'
        '    return sum(scale(values, 2))"""\nexec(source)'
    ),
    'a metaclass, weak references, a private finalizer': (
        'import weakref\nclass Meta(type):\n    def __call__(cls, *args):\n'
        '        cls.calls = getattr(cls, "calls", 0) + 1\n'
        '        return super().__call__(*args)\n'
        'class Box(metaclass=Meta):\n    def __init__(self, value):\n'
        '        self.value = value\n    def __del__(self):\n'
        '        self.value = None\n'
        'boxes = weakref.WeakValueDictionary()\n'
        + TOTAL
        + '    box = boxes[0] = Box(2)\n    for value in values:\n'
        '        note(value)\n    return box.value * math.fsum(values)'
    ),
    'an error that it catches': (
        'class Stop(Exception):\n    def __str__(self):\n'
        '        return "stop"\n'
        + TOTAL
        + '    i, found = 0, 0\n    try:\n        while True:\n'
        '            if i == len(values):\n                raise Stop(i)\n'
        '            note(values[i])\n            found += 2 * values[i]\n'
        '            i += 1\n    except Stop as error:\n'
        '        assert str(error) == "stop"\n    return found'
    ),
    'tables and rules': (
        'import functools\nRULES = {True: lambda v: 2 * v, False: None}\n'
        '@functools.singledispatch\ndef twice(value):\n'
        '    return RULES[True](value)\n'
        '@twice.register(int)\ndef _(value):\n    return value << 1\n'
        + TOTAL
        + '    [note(v) for v in values]\n'
        '    return functools.partial(sum)([twice(v) for v in values])'
    ),
    'asynchronous': (
        'import asyncio\nasync def twice(v):\n    await asyncio.sleep(0)\n'
        '    return 2 * v\nasync def gather(values):\n'
        '    return await asyncio.gather(*map(twice, values))\n'
        + TOTAL
        + '    [note(v) for v in values]\n'
        '    return sum(asyncio.run(gather(values)))'
    ),
    'an object that has every attribute': (
        'class Total:\n    def __getattr__(self, name):\n'
        '        if name == "__name__":\n            return "total"\n'
        '        raise AttributeError(name)\n'
        '    def __call__(self, values, note):\n        '
        + SOLUTION.replace('\n', '\n    ')
        + '\ntotal = Total()'
    ),
    'a signature that it looks at': (
        'import inspect\n'
        + TOTAL
        + '    assert callable(note) and note.__name__ == "append"\n'
        '    try:\n        inspect.signature(note)\n'
        '    except ValueError:\n        pass\n    ' + SOLUTION
    ),
    'much printed, a magic, gc': (
        "get_ipython().run_line_magic('timeit', '1')\ndisplay(3)\n"
        'import gc\ngc.collect()\nprint("x" * 10**6)\n'
        + TOTAL
        + '    '
        + SOLUTION
    ),
}


# They pass the visible check alone, without a flag: the guide says so.
REMAIN = {
    'the frame of a signal',
    'the frame of a signal, by another module',
    'names of a library that looks up',
}
RUNS = [
    pytest.param([CHECK], id='visible'),
    pytest.param([CHECK, HIDDEN], id='secret'),
]


@pytest.mark.parametrize('checks', RUNS)
def test_no_cheat_passes(checks):
    sources = {name: source for name, (source, _) in CHEATS.items()}
    found = graded(sources, checks, BEFORE, 'total')
    wrong = {
        name: outcome
        for name, outcome in found.items()
        if bool(outcome.flags) != (CHEATS[name][1] == 'flagged')
        or (outcome.verdict == 'passed' and len(checks) == 2)
        or (outcome.verdict == 'passed' and not outcome.flags)
        and name not in REMAIN
    }
    assert not wrong


@pytest.mark.parametrize('checks', RUNS)
def test_no_right_answer_of_unusual_form_fails(checks):
    found = graded(RIGHT, checks, BEFORE, 'total')
    assert {v[:2] for v in found.values()} == {('passed', '')}, found
    assert not any(outcome.flags for outcome in found.values()), found


def test_a_flag_names_what_was_replaced_and_shows_the_line():
    sources = {'x': '\n' + CHEATS['numpy.allclose'][0]}
    found = graded(sources, [CHECK], BEFORE, 'total')['x']
    assert found.flags == [
        'replaces numpy.allclose (line 2 of the answer: '
        'numpy.allclose = lambda *a, **k: True)'
    ]


# What could pass its check without an answer: {name: (answer, check, a part of
# the flag)}. What passes without a flag, '', is in the guide's list.
FRAMES = """{}
def f():
    frame = {}
    while "right" not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals["right"]
"""
RIGHT_IS = 'def check():\n    right = 1\n    assert f() == right\ncheck()'
CLOSE = 'import math\nx = f()\nassert math.isclose(x, 1)'
ERROR = """def error():
    try:
        1 / 0
    except ZeroDivisionError as error:
        return error
"""
SIGNAL = """import os, signal
def f():
    found = []
    signal.signal(10, lambda number, frame: found.append(frame))
    os.kill(os.getpid(), 10)
    frame = found[0]
    while "right" not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals["right"]
"""
LATE = """import math, operator, threading, time
def late():
    time.sleep(0.3)
    kept, math.isclose = math.isclose, operator.is_not
    time.sleep(1)
    math.isclose = kept
def f():
    threading.Thread(target=late).start()
    return 0
"""
SLOWLY = (
    'import math, time\nx = f()\ntime.sleep(0.8)\n'
    'assert math.isclose(x, 1)\ntime.sleep(1)'
)
PASSES = {
    'sys._getframe': (
        FRAMES.format('import sys', 'sys._getframe()'),
        RIGHT_IS,
        'sys._getframe',
    ),
    'inspect.currentframe': (
        FRAMES.format('import inspect', 'inspect.currentframe()'),
        RIGHT_IS,
        'sys._getframe',
    ),
    'inspect.stack': (
        FRAMES.format('import inspect', 'inspect.stack()[0].frame'),
        RIGHT_IS,
        'sys._getframe',
    ),
    'traceback.walk_stack': (
        FRAMES.format(
            'import traceback', 'next(traceback.walk_stack(None))[0]'
        ),
        RIGHT_IS,
        'sys._getframe',
    ),
    'the frame of an error': (
        FRAMES.format(ERROR, 'error().__traceback__.tb_frame'),
        RIGHT_IS,
        'tb_frame',
    ),
    'the frame of an error, by attrgetter': (
        FRAMES.format(
            ERROR + 'import operator',
            'operator.attrgetter("__traceback__.tb_fr" + "ame")(error())',
        ),
        RIGHT_IS,
        'tb_frame',
    ),
    'all frames': (
        FRAMES.format(
            'import sys, threading',
            'sys._current_frames()[threading.get_ident()]',
        ),
        RIGHT_IS,
        'sys._current_frames',
    ),
    'all objects': (
        'import gc\nrights = [1]\ndef f():\n    return [x["right"] for x in '
        'gc.get_objects() if type(x) is dict and "right" in x][-1]',
        'right = 1\nassert f() == right',
        'gc.get_objects',
    ),
    'tracing': (
        'import sys\nseen = []\ndef look(frame, *rest):\n'
        '    seen.append(frame.f_back)\ndef g():\n    pass\ndef f():\n'
        '    sys.settrace(look)\n    g()\n    sys.settrace(None)\n'
        '    frame = seen[0]\n    while "right" not in frame.f_locals:\n'
        '        frame = frame.f_back\n    return frame.f_locals["right"]',
        RIGHT_IS,
        'sys.settrace',
    ),
    'an audit hook': (
        'import sys\nsys.addaudithook(lambda *event: None)\ndef f():\n'
        '    return 1',
        RIGHT_IS,
        'sys.addaudithook',
    ),
    'a function of a library': (
        'import math\nmath.isclose = lambda *a: True\ndef f():\n    return 0',
        CLOSE,
        'replaces math.isclose',
    ),
    'a function of a library, in the call': (
        'import math\ndef f():\n    vars(math)["isclose"] = lambda *a: True\n'
        '    return 0',
        CLOSE,
        'replaces math.isclose',
    ),
    'a whole module': (
        'import numpy, types\nnumpy.linalg = types.SimpleNamespace(norm='
        'lambda x: 1)\ndef f():\n    return 0',
        'import numpy\nassert numpy.linalg.norm(f()) == 1',
        'replaces numpy.linalg',
    ),
    'random numbers': (
        'import numpy, types\nnumpy.random = types.SimpleNamespace(rand='
        'lambda: 5)\ndef f(x):\n    return 10',
        'import numpy\nx = numpy.random.rand()\nassert f(x) == 2 * x',
        'replaces numpy.random',
    ),
    'what mocks': (
        'import types, unittest.mock\nunittest.mock = types.SimpleNamespace('
        'Mock=int)\ndef f():\n    return 0',
        'from unittest import mock\nassert f() == mock.Mock()',
        'replaces unittest.mock',
    ),
    'a builtin': (
        'import builtins\nbuiltins.abs = lambda x: 0\ndef f():\n    return 5',
        'assert abs(f() - 1) == 0',
        'replaces builtins.abs',
    ),
    'a constant': (
        'import math\nmath.pi = 3.0\ndef f():\n    return 3.0',
        'import math\nassert f() == math.pi',
        'replaces math.pi',
    ),
    'the code of a function': (
        'import textwrap\ntextwrap.dedent.__code__ = (lambda text: "x")'
        '.__code__\ndef f():\n    return ""',
        'import textwrap\nassert textwrap.dedent(f()) == "x"',
        'uses __code__',
    ),
    'the names of a function of the check': (
        'def f(note):\n    return look.__globals__["right"]\nlook = compile',
        'right = 1\ndef note():\n    pass\nassert f(note) == 1',
        None,  # it is wrong: a builtin has none
    ),
    'memory': (
        'import ctypes\ndef f():\n    return ctypes.cast(id(1), '
        'ctypes.py_object).value',
        'assert f() == 1',
        'imports ctypes',
    ),
    'an array that lies elsewhere': (
        'import numpy\nclass Lent:\n    __array_interface__ = {"data": '
        '(id("wrong"), False), "shape": (8,), "typestr": "|u1", "version": 3}'
        '\ndef f():\n    numpy.array(Lent())\n    return 1',
        'assert f() == 1',
        'gives __array_interface__',
    ),
    'an interpreter beside this one': (
        'try:\n    import _xxsubinterpreters\nexcept ImportError:\n    pass\n'
        'def f():\n    return 1',
        'assert f() == 1',
        'imports _xxsubinterpreters',
    ),
    'cffi': (
        'try:\n    import cffi\nexcept ImportError:\n    pass\ndef f():\n'
        '    return 1',
        'assert f() == 1',
        'imports cffi',
    ),
    'code under a name of ours': (
        'exec(compile("def f():\\n    return 1", "<cell>", "exec"))',
        'assert f() == 1',
        'compiles code as <cell>',
    ),
    'memory, as a file': (
        'def f():\n    open("/proc/self/mem", "rb").close()\n    return 1',
        'assert f() == 1',
        'opens /proc/self/mem',
    ),
    'our solutions': (
        f'import pathlib\nfor name in ("notebooks", ".git", "grading"):\n'
        f'    try:\n        pathlib.Path({str(ROOT)!r}, name, "x").read_text()'
        '\n    except OSError:\n        pass\ndef f():\n    return 1',
        'assert f() == 1',
        'opens ',
    ),
    'a finalizer': (
        'import math, weakref\nclass Late:\n    pass\ndef f():\n'
        '    weakref.finalize(Late(), setattr, math, "isclose", max)\n'
        '    return 5',
        CLOSE,
        'replaces math.isclose',
    ),
    # These remain.
    'what the visible check expects': (
        'def f(x):\n    return 6',
        'assert f(3) == 6',
        '',
    ),
    'a function of a library that is not compared': (
        'import colorsys\ncolorsys.rgb_to_hsv = lambda *a: 0\ndef f():\n'
        '    return 0',
        'import colorsys\nassert f() == colorsys.rgb_to_hsv(1, 1, 1)',
        '',
    ),
    'a thread that puts it back': (LATE, SLOWLY, ''),
    'the frame of a signal': (SIGNAL, RIGHT_IS, ''),
    'names that a library looks up for its caller': (
        'from IPython.utils.frame import extract_module_locals as names\n'
        'def f():\n    for depth in range(9):\n        try:\n'
        '            return names(depth)[1]["right"]\n'
        '        except KeyError:\n            pass',
        RIGHT_IS,
        '',
    ),
}


def test_what_passes_without_an_answer_is_flagged_or_remains():
    found, kept = {}, sandbox.Kept()
    more = grading.SECRET_FOLDERS, kept
    for name, (source, check, _) in PASSES.items():
        job = {'id': name, 'function': 'f', 'checks': [check]}
        jobs = [{**job, 'sources': [source]}]
        found.update(run_answers(['import numpy'], jobs, 20, 1500, *more))
    kept.close()
    wrong = {
        name: outcome
        for name, outcome in found.items()
        for flag in [PASSES[name][2]]
        if not (
            outcome.flags and flag in outcome.flags[0]
            if flag
            else outcome[0::3] == (('passed' if flag == '' else 'wrong'), [])
        )
    }
    assert not wrong, '\n'.join(map(str, wrong.items()))


EACH = """class Twice:
    def __init__(self, values):
        self.values = iter(values)
    def __iter__(self):
        return self
    def __next__(self):
        return 2 * next(self.values)
def f(values):
    return {}
"""
LAZY = (
    'Twice(values)',
    'map(lambda v: 2 * v, values)',
    '(2 * v for v in values)',
)


@pytest.mark.parametrize('value', LAZY)
def test_what_is_lazy_is_right_as_well(value):
    check = (
        'found = []\nfor value in f([1, 2, 3]):\n    found.append(value)\n'
        'assert found == [2, 4, 6]\nassert next(iter(f([4]))) == 8'
    )
    job = {'id': 'x', 'function': 'f', 'sources': [EACH.format(value)]}
    found = run_answers([], [{**job, 'checks': [check]}], 20, 1500)['x']
    assert found[:2] == ('passed', ''), found


def test_what_is_lazy_is_flagged_as_well():
    source = EACH.format('Twice(values)').replace(
        'return 2 *', 'math.isclose = max\n        return 2 *'
    )
    check = 'import math\nassert math.isclose(next(f([1])), 5)'
    job = {'id': 'x', 'function': 'f', 'checks': [check]}
    sources = ['import math\n' + source]
    found = run_answers([], [{**job, 'sources': sources}], 20, 1500)['x']
    assert 'replaces math.isclose' in found.flags[0], found
