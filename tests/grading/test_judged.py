"""Hidden checks run where the answer does not, and no answer reaches them."""

import collections
import fractions

import mxnet as mx
import numpy as onp
import pytest

from grading import calls, sandbox
from grading.grading import HERE, HIDDEN_CHECK
from grading.sandbox import SandboxError, run_answers

Pair = collections.namedtuple('Pair', 'name value')
VISIBLE = 'assert double(3) == 6'
SOLUTION = 'def double(n):\n    right = 2 * n\n    return right'
RIGHT = 'def double(n):\n    return n + n'
WRONG = 'def double(n):\n    return 6'


def hidden(body):
    """Return a hidden check, of which `body` is the last part."""
    return HIDDEN_CHECK.format(
        compare=(HERE / 'hidden' / 'compare.py').read_text(),
        solution=SOLUTION,
        checks='from compare import assert_same, assert_unchanged\n'
        f'def hidden_double(rng, answer, solution):\n{body}\n',
        seed=1,
        kind='hidden',
        name='double',
    )


COMPARED = hidden(
    '    for n in rng.randint(50, 99, 4):\n'
    '        assert_same(answer, solution, int(n))'
)


@pytest.fixture(scope='module')
def graded():
    """Return the function that grades an answer; MXNet is imported once."""
    kept = sandbox.Kept()

    def run(source, check=COMPARED):
        job = {'id': 'x', 'function': 'double', 'sources': [source]}
        job.update(checks=[VISIBLE], judged=[check])
        before = ['import mxnet']
        return run_answers(before, [job], 60, 4000, kept=kept)['x']

    yield run
    kept.close()


def test_a_right_answer_passes_and_one_learned_by_heart_does_not(graded):
    assert graded(RIGHT)[:2] == ('passed', '')
    found = graded(WRONG)
    assert found.verdict == 'wrong'
    assert found.message.startswith('hidden check: double(')
    assert 'is not 6' in found.message


SEARCH = """import gc, os, sys
def texts():
    for one in gc.get_objects():
        if type(one) is dict:
            yield from (v for v in list(one.values()) if type(v) is str)
"""
# {what it tries: answer}. None needs our solution to be out of its process.
CHEATS = {
    'what compares': 'import sys, numpy\n'
    'numpy.allclose = lambda *a, **k: True\n'
    'for name in ("compare", "copy", "calls", "json"):\n'
    '    try:\n        vars(sys.modules[name])["is_close"] = max\n'
    '    except KeyError:\n        pass\n' + WRONG,
    'an object always equal': 'class Same(float):\n'
    '    def __eq__(self, other): return True\n'
    '    def __sub__(self, other): return 0.0\n'
    '    def __array__(self, *a, **k): return None\n'
    'def double(n):\n    return Same(6)',
    'a frame': 'import sys\ndef double(n):\n    frame = sys._getframe()\n'
    '    while frame:\n'
    '        for name in ("wanted", "right", "ours"):\n'
    '            if name in frame.f_locals:\n'
    '                return frame.f_locals[name]\n'
    '        frame = frame.f_back\n    return 6',
    'our solution in memory': SEARCH + 'def double(n):\n'
    '    word = "right = 2" + " * n"\n'
    '    return 2 * n if any(word in t for t in texts()) or n == 3 else 0',
    'our solution in a module': 'import sys\ndef double(n):\n'
    '    for module in [*sys.modules.values()]:\n'
    '        for one in list(getattr(module, "__dict__", {}).values()):\n'
    '            names = getattr(one, "__dict__", {})\n'
    '            if "hidden_double" in names:\n'
    '                return names["ours"]["double"](n)\n'
    '    return 6',
    'a verdict in every pipe': 'import os\ndef double(n):\n'
    '    text = b\'["passed", ""]\'\n'
    '    for fd in range(3, 60):\n        try:\n'
    '            os.write(fd, len(text).to_bytes(8, "big") + text)\n'
    '        except OSError:\n            pass\n    return 6',
    'a forged reply': 'import os, json\ndef double(n):\n'
    '    for kind in ("value", "error", 5, None):\n'
    '        text = json.dumps([kind, [["object"], [], []]]).encode()\n'
    '        for fd in range(3, 60):\n            try:\n'
    '                os.write(fd, len(text).to_bytes(8, "big") + text)\n'
    '            except OSError:\n                pass\n    return 6',
    'the end of the judge': 'import os, signal\ndef double(n):\n'
    '    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):\n'
    '        if n != 3 and pid not in (1, os.getpid()):\n'
    '            try:\n                os.kill(pid, signal.SIGKILL)\n'
    '            except OSError:\n                pass\n    return 6',
    'memory of the judge': 'import os\nfound = []\n'
    'for pid in filter(str.isdigit, os.listdir("/proc")):\n'
    '    if int(pid) != os.getpid():\n        try:\n'
    '            found.append(open(f"/proc/{pid}/mem", "r+b"))\n'
    '        except OSError:\n            pass\n'
    'def double(n):\n    return 2 * n if found or n == 3 else 6',
    'a file that is imported first': 'for name in ("fractions", "compare"):\n'
    '    open(f"{name}.py", "w").write("raise SystemExit")\n' + WRONG,
    'what it sees first': 'def double(n, seen=[]):\n    seen.append(n)\n'
    '    return 6 if n == 3 else sum(seen)',
    'leaving': 'import os\ndef double(n):\n    if n > 3:\n'
    '        os._exit(0)\n    return 6',
}


@pytest.mark.parametrize('name', CHEATS)
def test_no_cheat_passes_what_is_judged_elsewhere(name, graded):
    if 'judge' in name and not sandbox.can_isolate():
        pytest.skip('without namespaces, one process reaches another one')
    found = graded(CHEATS[name])
    assert found.verdict in ('wrong', 'stopped'), found


def test_each_call_gets_fresh_arguments_and_gives_back_what_it_changed(
    graded,
):
    body = (
        '    given = [[1.0], [2.0]]\n'
        '    assert answer(given) == 3 and given == [[1.0], [2.0]]\n'
        '    assert_unchanged(answer, given)'
    )
    source = (
        'def double(n):\n    if n == 3:\n        return 6\n'
        '    n.append(n.pop(0) + n.pop())\n    return sum(n[0])'
    )
    found = graded(source, hidden(body))
    assert found[:2] == (
        'wrong',
        'hidden check: double changes its arguments',
    )


ASKS_FOR_AN_ERROR = hidden(
    '    try:\n        answer("7")\n    except ValueError as error:\n'
    '        assert "seven" in str(error), "hidden check: the text"\n'
    '    else:\n        raise AssertionError("hidden check: no ValueError")'
)
OWN_ERROR = """class Odd(ValueError):
    def __init__(self, one, two):
        super().__init__(one + two)
def double(n):
    if n == '7':
        raise Odd('sev', 'en')
    return 6
"""


def test_an_error_arrives_as_one_and_names_the_line(graded):
    assert graded(OWN_ERROR, ASKS_FOR_AN_ERROR)[:2] == ('passed', '')
    found = graded('def double(n):\n    assert n == 3\n    return 6')
    assert found[:2] == ('wrong', 'AssertionError:  (line 2 of the answer)')


@pytest.mark.parametrize(
    'last, message',
    [
        ('raise EOFError("no input")', 'EOFError: no input (line 4 of'),
        ('return 10**5000', 'ValueError: '),
    ],
    ids=['the end of an input', 'a number without end'],
)
def test_what_cannot_be_sent_or_looks_like_the_end_says_why(
    last, message, graded
):
    found = graded(
        f'def double(n):\n    if n == 3:\n        return 6\n    {last}'
    )
    assert found.verdict == 'wrong' and found.message.startswith(message)


def test_a_check_that_gives_a_function_is_our_error(graded):
    """It has to be a watched one."""
    with pytest.raises(SandboxError, match='double: .*: return numbers'):
        graded(RIGHT, hidden('    answer(lambda: 1)'))


VALUES = [
    None,
    True,
    3,
    10**30,
    2.5,
    float('inf'),
    'a\ud800"',
    [1, [2.0, 'x'], []],
    (1, (2,)),
    {1, 2},
    {'a': [1], (1, 2): {'b': None}},
    onp.float32(1.5),
    onp.int64(7),
    onp.bool_(True),
    onp.arange(6, dtype='float16').reshape(2, 3),
    onp.zeros((0, 3), 'int8'),
    mx.np.ones((2, 3), dtype='float64', ctx=mx.cpu(3)),
    [mx.cpu(2), mx.cpu(0)],
]


@pytest.mark.parametrize('value', VALUES, ids=repr)
def test_what_is_sent_arrives(value):
    found = calls.unpack(calls.pack(value))
    assert type(found) is type(value)
    if isinstance(value, (mx.np.ndarray, onp.ndarray)):
        assert found.shape == value.shape and found.dtype == value.dtype
        assert (found == value).all()
        assert getattr(found, 'ctx', 0) == getattr(value, 'ctx', 0)
    else:
        assert found == value


def test_a_parameter_arrives_with_a_gradient_and_a_named_tuple_as_one():
    param = mx.np.ones(2)
    assert calls.unpack(calls.pack(param)).grad is None
    param.attach_grad()
    assert calls.unpack(calls.pack(param)).grad.shape == (2,)
    packed, pair = calls.pack(Pair('a', 1)), Pair('a', 1)
    assert calls.unpack(packed) == ('a', 1)
    assert type(calls.unpack(packed)) is tuple  # what an answer gives
    assert calls.unpack(packed, lambda module, name: Pair) == pair


@pytest.mark.parametrize(
    'value, plain',
    [
        (range(3), [0, 1, 2]),
        ((2 * i for i in range(2)), [0, 2]),
        (collections.deque([1]), [1]),
        (fractions.Fraction(1, 4), 0.25),
        (onp.array([fractions.Fraction(1, 4)]), [0.25]),
    ],
    ids=['range', 'generator', 'deque', 'fraction', 'array of fractions'],
)
def test_what_is_as_good_arrives_as_a_list_or_number(value, plain):
    found = calls.unpack(calls.pack(value))
    assert getattr(found, 'tolist', lambda: found)() == plain


@pytest.mark.parametrize(
    'packed',
    [
        ['array', 'O', [1], 'AAAAAAAAAAA='],
        ['array', '<U1', [1], 'AAAA'],
        ['array', '<f8', [10**9], 'AAAAAAAAAAA='],
        ['array', '<f8', [-1], 'AAAA'],
        ['eval', ['1']],
        ['exec'],
        [],
        ['dict', [[['list', []], 1]]],
        ['named', 'os', 'system', 5],
    ],
    ids=repr,
)
def test_nothing_but_values_is_unpacked(packed):
    with pytest.raises((ValueError, TypeError, IndexError)):
        calls.unpack(packed)
