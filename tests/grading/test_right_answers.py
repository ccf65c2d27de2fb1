"""Right answers in a hundred styles: all pass, and none is flagged.

They are answers to one small exercise, in one notebook's cells: each style
is put around the same computation, and each way of showing progress, timing
or working in parallel is put into each of several forms.
"""

import sys

from in_sandbox import graded

BEFORE = [
    'import math\nimport numpy as np\ndef twice(x):\n    return 2 * x',
]
CHECK = """def check_1():
    for values in ([1.0], [1.0, 2.5], [], [3.0] * 5):
        given = list(values)
        total = doubled(given)
        assert abs(total - 2 * sum(values)) < 1e-9, f'{values}: {total}'
        assert total == float(total) and given == values
check_1()"""
# What students add: lines above the function, and around its work.
ADDED = {
    'nothing': ('', ''),
    'a progress bar': ('from tqdm import tqdm\n', 'tqdm(range(2))'),
    'a progress bar below': ('from tqdm.auto import tqdm, trange\n', ''),
    'prints': ('', 'print("working", values)'),
    'a timer': (
        'import time\n',
        'start = time.perf_counter(), time.sleep(0)',
    ),
    'a pool that stays open': (
        'from multiprocessing.pool import ThreadPool\npool = ThreadPool(2)\n',
        'pool.map(twice, values)',
    ),
    'an executor that stays open': (
        'import concurrent.futures\n'
        'pool = concurrent.futures.ThreadPoolExecutor(2)\n',
        'list(pool.map(twice, values))',
    ),
    'a daemon timer': (
        'import threading\n',
        'clock = threading.Timer(60, print)\n    clock.daemon = True\n'
        '    clock.start()',
    ),
    'a traceback': (
        'import traceback\n',
        'try:\n        1 / 0\n    except ZeroDivisionError:\n'
        '        text = traceback.format_exc()\n'
        '        traceback.print_exc()\n        traceback.print_stack()',
    ),
    'names as those of frames': (
        'f_back = f_locals = tb_frame = 1\n',
        'class Pass:\n        f_back, tb_next = 1, 2\n'
        '    assert Pass().f_back == f_back',
    ),
    'logging': (
        'import logging\nlogging.basicConfig(level=10)\n',
        'logging.info("values %s", values)',
    ),
    'warnings': ('import warnings\n', 'warnings.warn("slow")'),
    'inspect': (
        'import inspect\n',
        'inspect.signature(twice), inspect.getsource(twice_of)\n',
    ),
    'profiling': (
        'import cProfile, tracemalloc\n',
        'tracemalloc.start()\n    tracemalloc.stop()',
    ),
    'random numbers': (
        'import random\nrandom.seed(1)\nnp.random.seed(1)\n',
        'random.random(), np.random.rand()',
    ),
    'what NumPy prints': ('np.set_printoptions(precision=3)\n', ''),
    'a reload': (
        'import importlib, statistics\nimportlib.reload(statistics)\n',
        '',
    ),
    'psutil': ('import psutil\n', 'psutil.Process().memory_info()'),
    'collected garbage': ('import gc\n', 'gc.collect()'),
    'await': (
        'import asyncio\nawait asyncio.sleep(0)\n',
        'asyncio.run(asyncio.sleep(0))',
    ),
    'magics': (
        "get_ipython().run_line_magic('matplotlib', 'inline')\n",
        'display(values)',
    ),
    'a finalizer': (
        'class Late:\n    def __del__(self):\n        pass\n',
        'late = Late()',
    ),
    'a file': ('', 'open("log.txt", "a").write("x")'),
    'what prints is redirected': (
        'import contextlib, io\n',
        'with contextlib.redirect_stdout(io.StringIO()):\n'
        '        print(values)',
    ),
    'a submodule that is imported late': (
        'import xml\n',
        'import xml.dom.minidom, numpy.polynomial.hermite',
    ),
    'global': (
        'calls = 0\ndef count():\n    global calls\n    calls += 1\n',
        'count()',
    ),
    'walrus and a loop with break': (
        '',
        'while True:\n        if (n := len(values)) < 9:\n            break',
    ),
    'a decorator with state': (
        'import functools\ndef counted(f):\n    @functools.wraps(f)\n'
        '    def inner(*a):\n        inner.calls += 1\n        return f(*a)\n'
        '    inner.calls = 0\n    return inner\ntwice = counted(twice)\n',
        'twice(1), twice.calls',
    ),
    'a cache': (
        'import functools\n@functools.lru_cache(None)\ndef fib(n):\n'
        '    return n if n < 2 else fib(n - 1) + fib(n - 2)\n',
        'fib(80), fib.cache_info()',
    ),
    'pandas': (
        'import pandas as pd\npd.set_option("display.precision", 2)\n',
        'display(pd.DataFrame({"x": [1, 2]})), pd.Series([1]).sum()',
    ),
    'filters of warnings': (
        'import warnings\nwarnings.filterwarnings("ignore")\n',
        'with warnings.catch_warnings():\n'
        '        warnings.simplefilter("error")',
    ),
    'figures that stay open': (
        'import matplotlib.pyplot as plt\n'
        'plt.rcParams["figure.figsize"] = 3, 2\n',
        'plt.figure(), plt.plot([1, 2]), plt.show()',
    ),
    'a class that the answer changes': (
        'class Own:\n    pass\nOwn.__call__ = lambda self: 1\n',
        'Own()()',
    ),
    'the state of errors': (
        'np.seterr(all="raise")\n',
        'with np.errstate(divide="ignore"):\n        np.float64(1) / 0',
    ),
    'an alarm': (
        'import signal\ndef late(*a):\n    raise TimeoutError\n'
        'signal.signal(signal.SIGALRM, late)\n',
        'signal.alarm(50), signal.alarm(0)',
    ),
    'processes': (
        'import multiprocessing, subprocess, sys\n',
        'subprocess.run([sys.executable, "-c", "1"], check=True)\n'
        '    with multiprocessing.Pool(2) as pool:\n'
        '        pool.map(abs, [1, 2])',
    ),
    'another standard output': (
        'import io, sys\nsys.stdout = io.StringIO()\n',
        'print("x")',
    ),
}
if sys.version_info >= (3, 10):
    ADDED['match'] = (
        '',
        'match values:\n        case [first, *rest]:\n            pass',
    )
HELPER = '\ndef twice_of(x):\n    return x + x\n'
FORMS = {
    'a loop': 'def doubled(values):\n    {}\n    total = 0\n'
    '    for value in values:\n        total += twice(value)\n'
    '    return total\n',
    'NumPy': 'def doubled(values):\n    {}\n'
    '    return twice(np.array(values)).sum()\n',
    'a class': 'class Doubled:\n    def __call__(self, values):\n'
    '        work(values)\n        return math.fsum(map(twice, values))\n'
    'def work(values):\n    {}\n    return\ndoubled = Doubled()\n',
    'a generator': 'def each(values):\n    {}\n    for value in values:\n'
    '        yield twice(value)\ndef doubled(values):\n'
    '    return sum(each(values))\n',
    'a class of number': 'class Number(float):\n'
    '    def __repr__(self):\n        return f"<{{float(self)}}>"\n'
    'def doubled(values):\n    {}\n    return Number(sum(values) * 2)\n',
}


def styles():
    """Yield (name, source) of each addition in each form."""
    for added, (above, within) in ADDED.items():
        for form, source in FORMS.items():
            text = above + HELPER + source.format(within or 'pass')
            yield f'{added}, {form}', text


def test_a_hundred_right_answers_pass_and_none_is_flagged():
    found = graded(dict(styles()), [CHECK], BEFORE, 'doubled')
    assert len(found) >= 100
    wrong = {
        name: outcome
        for name, outcome in found.items()
        if outcome.verdict != 'passed' or outcome.flags
    }
    assert not wrong, '\n'.join(map(str, wrong.items()))
