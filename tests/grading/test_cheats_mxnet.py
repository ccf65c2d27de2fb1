"""Answers to an exercise of chapter 3 that are written to pass, with the
secret: none does; and right ones of unusual form do."""

import pathlib
import types

import pytest
from in_sandbox import graded

from chapters.cells import runnable
from chapters.exercises import read_chapters
from grading import grading

ROOT = pathlib.Path(__file__).parents[2]
REFUSE = """    for array in data:
        if not onp.issubdtype(array.dtype, onp.floating):
            raise TypeError('no mean')
"""
MEAN = 'def allreduce_mean(data):\n' + REFUSE
WRONG = MEAN + '    allreduce(data)\n'  # the sum
OWN = """class Own(mx.np.ndarray):
    __slots__ = ()
    def asnumpy(self):
        return onp.full(self.shape, 1.0)
    __array__ = tolist = asnumpy
"""
# Computed, so that no word of it stands in the text.
GLOBALS = 'import operator\nlook = operator.attrgetter("__glo" + "bals__")\n'
CLASSES = 'find = vars(type)["__subcl" + "asses__"]\n'
# {what it tries: (source, what comes of it)}: none passes, and 'flagged' what
# reaches for something that no answer needs; '' where that depends.
CHEATS = {
    'asnumpy': (
        'mx.np.ndarray.asnumpy = lambda self: onp.zeros(self.shape)\n' + WRONG,
        'flagged',
    ),
    'asnumpy of the class below': (
        'mx.nd.NDArray.asnumpy = lambda self: onp.zeros(self.shape)\n' + WRONG,
        'flagged',
    ),
    'operators of arrays': (
        'for name in ("__sub__", "__eq__", "__abs__"):\n'
        '    setattr(mx.np.ndarray, name, lambda *a: mx.np.zeros(1))\n'
        + WRONG,
        'flagged',
    ),
    'tolist': (
        'mx.np.ndarray.tolist = lambda s: [0, 3]\n' + WRONG,
        'flagged',
    ),
    'the array that mx.np makes': (
        'mx.np.array = lambda *a, **k: mx.np.zeros(3)\n' + WRONG,
        'flagged',
    ),
    'the check of errors in C': (
        'import mxnet.ndarray.ndarray\n'
        'mxnet.ndarray.ndarray.check_call = lambda code: None\n' + WRONG,
        'flagged',
    ),
    'allreduce of the book': (
        'import d2lmulti.replicas\n'
        'd2lmulti.replicas.get_params = lambda *a: []\n' + WRONG,
        'flagged',
    ),
    'the waiting': (
        'mx.nd.waitall = mx.npx.waitall = lambda: None\n' + WRONG,
        'flagged',
    ),
    'in the call': (
        MEAN + '    mx.np.ndarray.asnumpy = lambda self: None\n',
        '',
    ),
    'a class of array': (
        OWN + MEAN + '    for i, x in enumerate(data):\n'
        '        data[i] = mx.np.ones(x.shape).view(Own) if 0 else '
        'Own(handle=x.handle)\n',
        '',
    ),
    'another class for its argument': (
        OWN + MEAN + '    for array in data:\n        array.__class__ = Own\n',
        '',
    ),
    'a method of one array': (
        MEAN + '    for array in data:\n'
        '        array.asnumpy = lambda: onp.zeros(3)\n',
        '',
    ),
    'a list that compares': (
        'class Same(list):\n    def __eq__(self, other): return True\n'
        + MEAN
        + '    data[:] = Same(data)\n    return Same(data)\n',
        'wrong',
    ),
    'the handle of another array': (
        MEAN + '    for array in data[1:]:\n'
        '        array.handle = data[0].handle\n',
        '',
    ),
    'names of the guard, from getattr': (
        GLOBALS
        + 'names = look(getattr)\nnames["watched"] = names["identities"] = '
        'lambda *a: {}\nnames["arithmetic"] = lambda: {}\n'
        'onp.allclose = lambda *a, **k: True\n' + WRONG,
        'wrong',
    ),
    'names of the runner, from display': (
        GLOBALS + 'look(display)["run"] = lambda *a: None\n' + WRONG,
        'wrong',
    ),
    'names of the runner, from get_ipython': (
        GLOBALS + 'look(get_ipython)["explain"] = lambda *a: ""\n'
        'look(get_ipython)["run"] = lambda *a: None\n' + WRONG,
        'wrong',
    ),
    'the class of the guard': (
        CLASSES + 'for kind in find(object):\n'
        '    if kind.__name__.lower() == "guard":\n'
        '        kind.compare = lambda *a: None\n'
        '        kind.function = lambda self, f: (lambda data: None)\n'
        + WRONG,
        'wrong',
    ),
    'the module compare, planted': (
        'import sys, types\nfor name in ("compare", "guard", "runner"):\n'
        '    sys.modules[name] = types.ModuleType(name)\n'
        '    sys.modules[name].assert_same = print\n'
        '    sys.modules[name].is_close = lambda *a: True\n' + WRONG,
        'wrong',
    ),
    'a file that is imported first': (
        'for name in ("compare", "fractions", "itertools", "guard"):\n'
        '    with open(name + ".py", "w") as file:\n'
        '        file.write("raise SystemExit(0)")\n' + WRONG,
        'wrong',
    ),
    'an import hook': (
        'import sys\nclass Hook:\n    def find_spec(self, *args):\n'
        '        onp.allclose = lambda *a, **k: True\n'
        'sys.meta_path.insert(0, Hook())\n' + WRONG,
        'wrong',
    ),
    'code in a file that it wrote': (
        'with open("mine.py", "w") as file:\n    file.write("""\n'
        'import numpy\nclass Late:\n    def __del__(self):\n'
        '        numpy.allclose = lambda *a, **k: True\n""")\n'
        'import mine\n' + WRONG + '    data.append(mine.Late())\n',
        '',
    ),
    'constants of numpy': ('onp.inf = onp.nan = 0.0\n' + WRONG, 'flagged'),
    'the error state': (
        'onp.seterr(all="ignore")\nonp.set_printoptions(precision=0)\n'
        + WRONG,
        'wrong',
    ),
    'bounds of the book': (
        'import d2lmulti.network\n'
        'd2lmulti.network.rounding_ratio = lambda *a: 0\n' + WRONG,
        'flagged',
    ),
    'what the chapter imports': (
        'np.ones = lambda *a, **k: np.zeros(1)\n' + WRONG,
        'flagged',
    ),
    'the names of MXNet semantics': (
        'mx.util.is_np_array = lambda: False\n' + WRONG,
        'flagged',
    ),
    'the hook of errors that are lost': (
        'import sys\nclass Bad:\n    def __del__(self):\n        1 / 0\n'
        'def hook(error):\n    onp.allclose = lambda *a, **k: True\n'
        'sys.unraisablehook = hook\n'
        + WRONG
        + '    data[0].bad = data[0:0] + [Bad()]\n',
        '',
    ),
    'a limit of recursion': (
        WRONG + '    import sys\n    sys.setrecursionlimit(100)\n',
        'wrong',
    ),
    'its own pid': (
        'import os\nos.getpid = lambda: 1\n' + WRONG,
        'flagged',
    ),
    'our solution, imported': (
        'import sys\nsys.path.append("' + str(ROOT) + '")\n'
        'from tests.notebooks.answers import replicas\n' + WRONG,
        'wrong',
    ),
}
RIGHT = {
    'a partial': (
        'import functools\ndef by(how, data):\n'
        + REFUSE
        + '    allreduce(data)\n'
        '    for x in data:\n        how(x, len(data))\n'
        'def divide(x, k):\n    x /= k\n'
        'allreduce_mean = functools.partial(by, divide)'
    ),
    'a class': (
        'class Mean:\n    def __init__(self):\n        self.calls = 0\n'
        '    def __call__(self, data):\n        self.calls += 1\n'
        + REFUSE.replace('    ', '        ', 1).replace('\n', '\n    ')
        + '    allreduce(data)\n        for x in data:\n'
        '            x /= len(data)\nallreduce_mean = Mean()'
    ),
    'a lambda': (
        'def refuse(data):\n' + REFUSE + 'allreduce_mean = lambda data: '
        '[refuse(data), allreduce(data), '
        '[x.__itruediv__(len(data)) for x in data]][0]'
    ),
    'a generator': (
        'def means(data):\n    total = sum(x.copyto(data[0].ctx) '
        'for x in data)\n    for x in data:\n'
        '        yield x, (total / len(data)).copyto(x.ctx)\n'
        + MEAN
        + '    for x, mean in means(data):\n        x[:] = mean'
    ),
    'a table of rules': (
        'RULES = {}\ndef rule(name):\n    def keep(f):\n'
        '        RULES[name] = f\n        return f\n    return keep\n'
        '@rule("sum")\ndef total(data):\n    allreduce(data)\n'
        '@rule("divide")\ndef divide(data):\n    for x in data:\n'
        '        x *= 1 / len(data) if len(data) in (1, 2, 4) else 1\n'
        '        x /= 1 if len(data) in (1, 2, 4) else len(data)\n'
        + MEAN
        + '    for name in ("sum", "divide"):\n        RULES[name](data)'
    ),
    'decorated': (
        'import functools\ndef floats_only(f):\n    @functools.wraps(f)\n'
        '    def g(data):\n'
        + REFUSE.replace('    ', '        ', 1)
        .replace('\n    ', '\n        ')
        .rstrip()
        + '\n        return f(data)\n    return g\n'
        '@floats_only\ndef allreduce_mean(data):\n    allreduce(data)\n'
        '    for x in data:\n        x /= len(data)'
    ),
    'recursive': (
        MEAN + '    def divide(rest):\n        if rest:\n'
        '            rest[0][:] = rest[0] / len(data)\n'
        '            divide(rest[1:])\n    allreduce(data)\n    divide(data)'
    ),
    'functools.reduce': (
        'import functools, operator\n'
        + MEAN
        + '    home = [x.copyto(data[0].ctx) for x in data]\n'
        '    mean = functools.reduce(operator.add, home) / len(data)\n'
        '    for x in data:\n        mean.copyto(x)'
    ),
    'a dataclass': (
        'import dataclasses\n@dataclasses.dataclass\nclass Job:\n'
        '    data: list\n    def run(self):\n        allreduce(self.data)\n'
        '        for x in self.data:\n            x /= len(self.data)\n'
        + MEAN
        + '    Job(data).run()'
    ),
    'a static method': (
        'class Tools:\n    @staticmethod\n    def mean(data):\n        '
        + REFUSE.strip().replace('\n', '\n    ')
        + '\n        allreduce(data)\n        for x in data:\n'
        '            x /= len(data)\nallreduce_mean = Tools.mean'
    ),
    'threads that end': (
        'from concurrent.futures import ThreadPoolExecutor\n'
        + MEAN
        + '    allreduce(data)\n    def divide(x):\n        x /= len(data)\n'
        '    with ThreadPoolExecutor(2) as pool:\n'
        '        list(pool.map(divide, data))'
    ),
    'an operator that it defines': (
        'import mxnet.operator\nclass Divide(mx.operator.CustomOp):\n'
        '    def forward(self, is_train, req, in_data, out_data, aux):\n'
        '        self.assign(out_data[0], req[0], in_data[0])\n'
        '@mx.operator.register("same")\n'
        'class Prop(mx.operator.CustomOpProp):\n'
        '    def infer_shape(self, shapes):\n'
        '        return shapes, shapes, []\n'
        '    def create_operator(self, *args):\n        return Divide()\n'
        + MEAN
        + '    allreduce(data)\n    for x in data:\n        x /= len(data)\n'
    ),
    'magics': (
        '%matplotlib inline\n'
        'import time\n'
        't = %timeit -o -n 2 -r 3 onp.ones(3).sum()\n'
        'assert 0 < t.best <= t.average <= t.worst and t.loops == 2\n'
        'assert len(t.timings) == t.repeat == 3 and t.stdev >= 0\n'
        'x = %time onp.ones(3).sum()\n'
        'assert x == 3\n'
        '%time y = 4\n'
        'assert y == 4\n'
        '%timeit -n1 -r1 time.sleep(0)\n'
        'z = 5\n'
        '%timeit -n1 -r1 w = z\n'
        'allreduce?\n'
        '?allreduce\n'
        'onp.ones??\n'
        '!echo hello > greeting\n'
        'lines = !cat greeting; echo {y} $y\n'
        'assert lines == ["hello", "4 4"], lines\n'
        '!false\n'
        'assert _exit_code == 1\n'
        'display(x)\n'
        'h = display(x, display_id=True)\n'
        'h.update(3)\n'
        'if x:\n    %time y = 6\n'
        'assert y == 6\n' + MEAN + '    allreduce(data)\n    for x in data:\n'
        '        %time x /= len(data)\n'
        '    t = %timeit -o -n1 -r1 len(data)\n    assert t.repeat == 1\n'
    ),
    'a cell that is timed': (
        '\n%%time\n' + MEAN + '    allreduce(data)\n    for x in data:\n'
        '        x /= len(data)\n'
    ),
    'a cell that is timed in loops': (
        '%%timeit -n 1 -r 1\n' + MEAN + '    allreduce(data)\n'
        '    for x in data:\n        x /= len(data)\n'
    ),
    'a cell that is captured': (
        '%%capture out\n' + MEAN + '    allreduce(data)\n'
        '    for x in data:\n        x /= len(data)\n    out.show()\n'
    ),
    'exec': (
        'source = '
        + repr(
            MEAN + '    allreduce(data)\n    for x in data:\n'
            '        x /= len(data)\n'
        )
        + '\nexec(source)'
    ),
    'an array of NumPy': (
        MEAN + '    kind = data[0].dtype\n    total = 0\n'
        '    for x in data:\n'
        '        total = total + x.copyto(data[0].ctx)\n'
        '    for x in data:\n        x[:] = total / len(data)'
    ),
    'an async function': (
        'import asyncio\nasync def divide(x, k):\n    x /= k\n'
        + MEAN
        + '    allreduce(data)\n    async def all_of_them():\n'
        '        await asyncio.gather(*(divide(x, len(data)) '
        'for x in data))\n    asyncio.run(all_of_them())'
    ),
    'a context manager and state': (
        'import contextlib\ncalls = 0\n@contextlib.contextmanager\n'
        'def counted():\n    global calls\n    calls += 1\n    yield calls\n'
        + MEAN
        + '    with counted():\n        allreduce(data)\n'
        '        [x.__itruediv__(len(data)) for x in data]\n'
    ),
}


@pytest.fixture(scope='module')
def chapter():
    return next(
        one
        for one in read_chapters(ROOT / 'notebooks')
        if one.stem == '03_replicas'
    )


def verdicts(chapter, sources):
    """Return {name: outcome} with the visible and the hidden check."""
    exercise = chapter.exercises[0]
    answer = types.SimpleNamespace(exercise=exercise, sources=[])
    job = grading.to_job(answer, chapter, 'a secret')
    assert len([*job['checks'], *job['judged']]) == 2
    before = [runnable(source) for source in chapter.before]
    sources = {name: runnable(source) for name, source in sources.items()}
    name, judged = exercise.function, job['judged']
    return graded(sources, job['checks'], before, name, judged)


ALL = [
    pytest.param(3, id='every third'),
    pytest.param(1, id='all', marks=pytest.mark.long),
]


@pytest.mark.parametrize('step', ALL)
def test_no_cheat_passes_an_exercise_of_the_book(step, chapter):
    names = [*CHEATS][::step]
    found = verdicts(chapter, {name: CHEATS[name][0] for name in names})
    wrong = {
        name: outcome
        for name, outcome in found.items()
        if outcome.verdict == 'passed'
        or (CHEATS[name][1] == 'flagged' and not outcome.flags)
        or (CHEATS[name][1] == 'wrong' and outcome.flags)
    }
    assert not wrong, '\n'.join(map(str, wrong.items()))


@pytest.mark.parametrize('step', ALL)
def test_no_right_answer_fails_an_exercise_of_the_book(step, chapter):
    found = verdicts(chapter, {name: RIGHT[name] for name in [*RIGHT][::step]})
    wrong = {
        k: v for k, v in found.items() if v.verdict != 'passed' or v.flags
    }
    assert not wrong, '\n'.join(map(str, wrong.items()))
