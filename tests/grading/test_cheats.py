"""Answers written to pass: none does; and right ones of unusual form do."""

import pathlib

import pytest
from in_sandbox import graded

from grading import grading, sandbox
from grading.sandbox import run_answers

pytestmark = pytest.mark.ci

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
    'def hidden_total(rng, answer, solution):\n'
    '    for n in (1, 5):\n        assert_same(answer, solution, '
    'rng.rand(n).tolist(), [].append)\n',
    seed=1,
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
# {what it tries: (source, verdict)}; 'wrong' where it changes nothing.
CHEATS = {
    'numpy.allclose': (
        'numpy.allclose = lambda *a, **k: True\n' + TOTAL + WRONG,
        'tampered',
    ),
    'abs of builtins': (
        'builtins.abs = lambda x: 0.0\n' + TOTAL + WRONG,
        'tampered',
    ),
    'setattr': (
        'setattr(numpy.core.numeric, "isclose", lambda *a, **k: True)\n'
        + TOTAL
        + WRONG,
        'tampered',
    ),
    'in a call': (
        TOTAL + '    builtins.abs = lambda x: 0.0\n' + WRONG,
        'tampered',
    ),
    'exec': ('builtins.exec = lambda *a: None\n' + TOTAL + WRONG, 'tampered'),
    'print': (
        'builtins.print = lambda *a: None\n' + TOTAL + WRONG,
        'tampered',
    ),
    'AssertionError': (
        'class Quiet(Exception): pass\nbuiltins.AssertionError = Quiet\n'
        + TOTAL
        + WRONG,
        'tampered',
    ),
    'callable and id': (
        'builtins.callable = lambda x: False\nbuiltins.id = lambda x: 0\n'
        'builtins.abs = lambda x: 0.0\n' + TOTAL + WRONG,
        'tampered',
    ),
    'sys.modules': (
        'import sys, types\nsys.modules["numpy"] = types.ModuleType("numpy")\n'
        + TOTAL
        + WRONG,
        'tampered',
    ),
    'vars of a module': (
        'vars(numpy)["allclose"] = lambda *a, **k: True\n' + TOTAL + WRONG,
        'tampered',
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
    'sys._getframe': (FRAME.format('frame = sys._getframe(1)'), 'tampered'),
    'a frame by another name': (
        'look = vars(__import__("sys"))["_get" + "frame"]\n'
        + TOTAL
        + '    look(1)\n'
        + WRONG,
        'tampered',
    ),
    'inspect': (
        'import inspect\n' + TOTAL + '    inspect.stack()\n' + WRONG,
        'tampered',
    ),
    'the frame of an error': (
        TOTAL + '    try:\n        1 / 0\n    except ZeroDivisionError as e:'
        '\n        getattr(e.__traceback__, "tb_" + "frame")\n' + WRONG,
        'tampered',
    ),
    'in eval': (
        TOTAL + '    eval("__import__(\'sys\')._get" + "frame(1)")\n' + WRONG,
        'tampered',
    ),
    'gc': (
        'import gc\n'
        + TOTAL
        + '    getattr(gc, "get_" + "objects")()\n'
        + WRONG,
        'tampered',
    ),
    'settrace': (
        'import sys\ngetattr(sys, "set" + "trace")(lambda *a: None)\n'
        + TOTAL
        + WRONG,
        'tampered',
    ),
    'the code of a function': (
        'setattr(numpy.allclose, "__co" + "de__", '
        '(lambda *a, **k: True).__code__)\n' + TOTAL + WRONG,
        'tampered',
    ),
    'names of a callback': (
        TOTAL + '    getattr(note, "__glo" + "bals__", None)\n' + WRONG,
        'tampered',
    ),
    'memory': (
        'import ctypes\n'
        + TOTAL
        + '    ctypes.cast(id(values), ctypes.c_void_p)\n'
        + '    ctypes.c_char.'
        + 'from_address(id(values))\n'
        + WRONG,
        'tampered',
    ),
    'a thread': (
        'import threading, time\ndef later():\n    time.sleep(3)\n'
        '    numpy.allclose = lambda *a, **k: True\n'
        + TOTAL
        + '    threading.Thread(target=later, daemon=True).start()\n'
        + WRONG,
        'tampered',
    ),
    'a timer': (
        'import threading\nthreading.Timer(3, setattr, (numpy, "allclose", '
        'max)).start()\n' + TOTAL + WRONG,
        'tampered',
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
        'tampered',
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
        'tampered',
    ),
    'our solutions, by pathlib': (
        'import pathlib\n'
        f'text = pathlib.Path({str(ROOT)!r}, ".git", "HEAD").read_text()\n'
        + TOTAL
        + WRONG,
        'tampered',
    ),
    '/proc/self/mem': (
        TOTAL + '    open("/proc/self/mem", "rb")\n' + WRONG,
        'tampered',
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
        'tampered',
    ),
    'what writes the verdict, from an error': (
        'import json\nclass Wrong(Exception):\n    def __str__(self):\n'
        f'        json.JSONEncoder.encode = {FORGE}\n        return ""\n'
        + TOTAL
        + '    raise Wrong()',
        'tampered',
    ),
    'the frame of a signal': (
        'import os, signal\n'
        + TOTAL
        + UP.format('signal.signal(signal.SIGUSR1, handler)'),
        'tampered',
    ),
    'the frame of a signal, by another module': (
        'import os, signal\n'
        + TOTAL
        + UP.format(
            'vars(__import__("_sig" + "nal"))["sig" + "nal"](10, handler)'
        ),
        'tampered',
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
        'tampered',
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
        'tampered',
    ),
    'what an array is made of': (
        'class Late(bytearray):\n    def __del__(self):\n'
        '        numpy.allclose = max\n'
        + TOTAL
        + WRONG.replace('0.0', 'onp.frombuffer(Late(8))[0:1]'),
        'tampered',
    ),
    'what it executes': (
        TOTAL + '    names = {"numpy": numpy}\n'
        '    exec("def close(*a, **k):\\n    return True", names)\n'
        '    numpy.allclose = names["close"]\n' + WRONG,
        'tampered',
    ),
    'an iterator that works in the check': (
        TOTAL + '    def later(value):\n        builtins.float = str\n'
        '        return 0.0\n    return map(later, values)',
        'wrong',
    ),
    'the size of a rounding': (
        "onp.finfo('float32').eps = 1e9\n" + TOTAL + WRONG,
        'tampered',
    ),
    'how arguments are copied': (
        'import copy\nfrom unittest import mock\n'
        + TOTAL
        + '    copy._deepcopy_dispatch[tuple] = mock.Mock(return_value='
        '([1.0], max))\n' + WRONG,
        'tampered',
    ),
    'a thread that outlives a daemon': (
        'import _thread, time\n'
        + TOTAL
        + '    _thread.start_new_thread(time.sleep, (9,))\n'
        + WRONG,
        'tampered',
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
            'tampered',
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
        if outcome.verdict != CHEATS[name][1]
    }
    assert not wrong


@pytest.mark.parametrize('checks', RUNS)
def test_no_right_answer_of_unusual_form_fails(checks):
    found = graded(RIGHT, checks, BEFORE, 'total')
    assert not {k: v for k, v in found.items() if v.verdict != 'passed'}


def test_the_verdict_names_what_was_replaced_and_the_line():
    sources = {'x': '\n' + CHEATS['numpy.allclose'][0]}
    found = graded(sources, [CHECK], BEFORE, 'total')['x']
    assert (
        found.message == 'the answer replaces numpy.allclose (line 2 of '
        'the answer)'
    )


# {what is left out: ({file: {ours: the bug}}, before, answer, check)}: with
# the bug, the cheat passes.
SAME = {'    for key, value in before.items():': '    if 0:'}
ASLEEP = {'sys.setprofile(notice)': 'sys.setprofile(None)'}
EQUAL = 'class Same:\n    def __eq__(self, other):\n        return True\n'
LATER = (
    '    time.sleep(0.3)\n    kept, math.isclose = math.isclose, '
    'operator.is_not\n    time.sleep(1)\n    math.isclose = kept\n'
)
ISCLOSE = (
    'import math, time\nx = f()\ntime.sleep(0.8)\n'
    'assert math.isclose(x, 1)\ntime.sleep(1)'
)
BUGS = {
    'code in a file that it wrote': (
        {'tampering.py': {'not file.startswith(known)': 'False'}},
        '',
        'with open("mine.py", "w") as file:\n    file.write('
        '"def late(text):\\n    return \'x\'")\nimport mine\ndef f():\n'
        '    import textwrap\n    textwrap.dedent = mine.late\n'
        '    return ""',
        'import textwrap\ny = f()\nassert textwrap.dedent(y) == "x"',
    ),
    'a worker that only looks idle': (
        {'tampering.py': {'code is IDLE': 'code.co_name == "_worker"'}},
        '',
        'import _thread, math, operator, time\ndef _worker():\n'
        + LATER
        + 'def f():\n    _thread.start_new_thread(_worker, ())\n'
        '    return 0',
        ISCLOSE,
    ),
    'an operator, in a thread of the engine': (
        {
            'tampering.py': {
                '            settle()\n': '',
                '            refuse_threads(threads)\n': '',
            }
        },
        'import mxnet as mx',
        'import math, operator, time\nclass Late(mx.operator.CustomOp):\n'
        '    def forward(self, *args, **kwargs):\n'
        + LATER.replace('    ', '        ')
        + '@mx.operator.register("late")\n'
        'class Prop(mx.operator.CustomOpProp):\n'
        '    def infer_shape(self, shapes):\n'
        '        return shapes, shapes, []\n'
        '    def create_operator(self, *args):\n        return Late()\n'
        'def f():\n    mx.nd.Custom(mx.nd.ones(1), op_type="late")\n'
        '    return 0',
        ISCLOSE,
    ),
    'separate names': (
        {
            'runner.py': {
                "ours = fresh({'__name__': '__main__'}, notebook)": (
                    'ours = theirs'
                )
            },
            'tampering.py': {**SAME, **ASLEEP},
        },
        'def close(a, b):\n    return a == b',
        'def close(a, b):\n    return True\ndef f():\n    return 0',
        'assert close(f(), 1)',
    ),
    'frames': (
        {
            'runner.py': {'        guard.forbid(': '        print('},
        },
        '',
        'import sys\nlook = vars(sys)["_get" + "frame"]\ndef f():\n'
        '    frame = look()\n    while "right" not in vars(type(frame))'
        '["f_lo" + "cals"].__get__(frame):\n'
        '        frame = vars(type(frame))["f_ba" + "ck"].__get__(frame)\n'
        '    return vars(type(frame))["f_lo" + "cals"].__get__(frame)'
        '["right"]',
        'def check():\n    right = 1\n    assert f() == right\ncheck()',
    ),
    'what was replaced': (
        {'tampering.py': {**SAME, **ASLEEP}},
        '',
        'import math\ndef f():\n    math.isclose = lambda *a: True',
        'import math\nx = f()\nassert math.isclose(x, 1)',
    ),
    'objects that compare': (
        {
            'tampering.py': {
                '            if own:': '            if 0:',
                **ASLEEP,
            }
        },
        '',
        EQUAL + 'def f():\n    return Same()',
        'assert f() == 1',
    ),
    'code that runs in the check': (
        {'tampering.py': ASLEEP},
        '',
        'import textwrap\ndef f():\n    textwrap.dedent = lambda text: "x"\n'
        '    return ""',
        'import textwrap\ny = f()\nassert textwrap.dedent(y) == "x"',
    ),
    'signals': (
        {
            'tampering.py': {
                'setattr(module, name, checked(': 'getattr(module, name, ('
            }
        },
        '',
        'import os, signal\ndef f():\n    values, note = [], max\n'
        + UP.format('signal.signal(signal.SIGUSR1, handler)'),
        'def check():\n    right = 1\n    assert f() == right\ncheck()',
    ),
    'callbacks': (
        {
            'tampering.py': {
                'return opaque(value) if ours else value': 'return value'
            }
        },
        '',
        'def f(note):\n    return note.__self__[0]',
        'seen = [1]\nassert f(seen.append) == 1',
    ),
    'the text of the check': (
        {'runner.py': {"if file != '<cell>':": 'if True:'}},
        '',
        'import linecache\ndef f():\n    text = linecache.cache["<cell>"][2]\n'
        '    return int(text[0].split()[-1])',
        'assert f() == 3',
    ),
    'what an array keeps alive': (
        {'tampering.py': {'refuse(below, ': '(below, ', **SAME, **ASLEEP}},
        '',
        'import math, numpy\nclass Late(bytearray):\n'
        '    def __del__(self):\n        math.isclose = lambda *a: True\n'
        'def f():\n    return numpy.frombuffer(Late(8))',
        'import math\nx = float(f()[0])\nassert math.isclose(x, 1)',
    ),
    'finalizers': (
        {
            'tampering.py': {
                'if any(map(is_finalizer': 'if 0 and any(map(is_finalizer',
                **SAME,
            }
        },
        '',
        'import math, numpy, operator, weakref\ndef f():\n'
        '    x = numpy.zeros(1)\n'
        '    weakref.finalize(x, setattr, math, "isclose", operator.is_not)\n'
        '    return x',
        'import math\nx = float(f()[0])\nassert math.isclose(x, 1)',
    ),
}


@pytest.mark.parametrize('name', BUGS)
def test_without_each_of_the_guards_a_cheat_passes(
    name, tmp_path, monkeypatch
):
    changes, before, source, check = BUGS[name]
    job = {'id': 'x', 'function': 'f', 'sources': [source], 'checks': [check]}
    found = run_answers([before], [job], 20, 1500)['x']
    assert found.verdict in ('tampered', 'wrong'), found
    for file in ('runner.py', 'tampering.py'):
        text = (sandbox.HERE / file).read_text()
        for ours, bug in changes.get(file, {}).items():
            assert ours in text
            text = text.replace(ours, bug)
        (tmp_path / file).write_text(text)
    monkeypatch.setattr(sandbox, 'HERE', tmp_path)
    assert run_answers([before], [job], 20, 1500)['x'].verdict == 'passed'


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


def test_what_is_lazy_may_change_nothing():
    source = EACH.format('Twice(values)').replace(
        'return 2 *', 'math.isclose = max\n        return 2 *'
    )
    check = 'import math\nassert math.isclose(next(f([1])), 5)'
    job = {'id': 'x', 'function': 'f', 'checks': [check]}
    sources = ['import math\n' + source]
    found = run_answers([], [{**job, 'sources': sources}], 20, 1500)['x']
    assert found.verdict == 'tampered', found
