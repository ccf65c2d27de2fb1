"""MXNet finds what newer NumPys and Pythons lack, and nobody else does."""

import ast
import pathlib
import sys
import types
import warnings

import mxnet as mx
import numpy as onp
import pytest
from helpers import run
from mxnet import gluon, np

from d2lmulti.prepare import newer_python

pytestmark = pytest.mark.skipif(
    not mx.__version__.startswith('1.9'),
    reason='MXNet 2 looks up other names, and runs on older Pythons only',
)
MXNET = pathlib.Path(mx.__file__).parent

# Each name, and a file of MXNet that looks it up in NumPy.
WHERE = {
    'Inf': 'gluon/contrib/estimator/event_handler.py',
    'NAN': 'numpy/utils.py',
    'NINF': 'numpy/utils.py',
    'NZERO': 'numpy/utils.py',
    'NaN': 'numpy/utils.py',
    'PINF': 'numpy/utils.py',
    'PZERO': 'numpy/utils.py',
    'alltrue': 'numpy/fallback.py',
    'bool': 'numpy/utils.py',
    'compat': 'ndarray/numpy/_op.py',
    'in1d': 'numpy/fallback.py',
    'int': 'test_utils.py',
    'mirr': 'numpy/fallback.py',
    'msort': 'numpy/fallback.py',
    'npv': 'numpy/fallback.py',
    'pmt': 'numpy/fallback.py',
    'ppmt': 'numpy/fallback.py',
    'product': 'numpy_dispatch_protocol.py',
    'pv': 'numpy/fallback.py',
    'rate': 'numpy/fallback.py',
    'round_': 'numpy_dispatch_protocol.py',
    'sometrue': 'numpy_dispatch_protocol.py',
    'trapz': 'numpy/fallback.py',
}
FILES = [
    path
    for path in MXNET.rglob('*.py')
    if path.relative_to(MXNET).parts[0] != 'tools'  # never imported
]


def looked_up(path):
    """Return the names that a file of MXNet looks up in NumPy, and those
    that it has in lists, some of which it passes to `getattr`."""
    tree = ast.parse(path.read_text())
    modules = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name == 'numpy'
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(
            node.value, ast.Name
        ):
            if node.value.id in modules:
                yield node.attr
        if path.name == 'numpy_dispatch_protocol.py' and isinstance(
            node, ast.List
        ):
            yield from (item.value.split('.')[0] for item in node.elts)


@pytest.mark.parametrize('name', WHERE)
def test_a_name_is_one_that_mxnet_looks_up(name):
    assert name in looked_up(MXNET / WHERE[name])


def test_these_are_all_names():
    nothing = types.ModuleType('numpy')
    assert newer_python.missing_names(nothing).keys() == WHERE.keys()


def test_mxnet_looks_up_nothing_else_that_is_missing():
    names = {name for path in FILES for name in looked_up(path)}
    assert len(names) > 200
    with warnings.catch_warnings():  # of deprecated ones
        warnings.simplefilter('ignore')
        missing = {name for name in names if not hasattr(onp, name)}
    assert missing == newer_python.missing_names(onp).keys()


# A process with a NumPy that has none of the names, whatever its version.
LACKING = f"""
import sys, numpy
def lacks(name):
    raise AttributeError(f'numpy has no {{name}}')
for name in {sorted(set(WHERE) - {'bool'})}:  # NumPy 2 uses its new bool
    vars(numpy).pop(name, None)
numpy.__getattr__ = lacks
before = dict(vars(numpy))
from d2ldoctor import newer_python
"""
IMPORT = """
newer_python.install()
try:
    import mxnet
except (AttributeError, RuntimeError) as error:
    print(error)
else:
    from d2lmulti.prepare import runtime
    print({name for name in {*before, *vars(numpy)}
           if vars(numpy).get(name) is not before.get(name)
           and not hasattr(vars(numpy)[name], '__path__')})
    print(sorted(set(newer_python.missing_names(numpy))
                 - set(vars(mxnet.numpy.utils.onp))))
"""


@pytest.mark.slow
def test_only_mxnet_has_the_names_after_its_import():
    assert run(LACKING + IMPORT).stdout == 'set()\n[]\n'


@pytest.mark.slow
def test_an_import_changes_nothing_and_warns_of_nothing():
    result = run(
        """
import sys, numpy
before = dict(vars(numpy))
import d2lmulti
print({name for name in {*before, *vars(numpy)}
       if vars(numpy).get(name) is not before.get(name)
       and not isinstance(vars(numpy)[name], type(sys))})
print(sys.version_info > (3, 12) and 'distutils' in sys.modules)
print([finder for finder in sys.meta_path if 'newer' in str(finder)])
""",
        PYTHONWARNINGS='error,ignore::DeprecationWarning',
    )
    assert result.stdout == 'set()\nFalse\n[]\n', result.stderr
    assert result.stderr == ''


def test_what_is_there_is_never_replaced():
    names = dict.fromkeys(WHERE, 'there')
    numpy = types.SimpleNamespace(**names)
    assert newer_python.missing_names(numpy) == {}
    assert vars(numpy) == names


class Newer:
    """NumPy's functions under the names that NumPy 2 has for them."""

    __version__ = '3.0'
    all, any, prod, round = onp.all, onp.any, onp.prod, onp.round
    isin, sort = onp.isin, onp.sort
    trapezoid = getattr(onp, 'trapezoid', None) or onp.trapz


A = onp.array([[3.0, 0.0], [1.26, 2.0]])


@pytest.mark.parametrize(
    'name, arguments, result',
    [
        ('alltrue', [A], False),
        ('sometrue', [A], True),
        ('product', [A, 0], [3.78, 0]),
        ('round_', [A, 1], [[3, 0], [1.3, 2]]),
        ('trapz', [A], [1.5, 1.63]),
        ('in1d', [A, [0, 2]], [False, True, False, True]),
        ('msort', [A], [[1.26, 0], [3, 2]]),
    ],
)
def test_a_renamed_function_does_the_same(name, arguments, result):
    function = newer_python.missing_names(Newer)[name]
    assert onp.allclose(function(*arguments), result)


@pytest.mark.parametrize('name', ['mirr', 'npv', 'pmt', 'ppmt', 'pv', 'rate'])
def test_a_function_that_is_gone_says_so(name):
    function = newer_python.missing_names(Newer)[name]
    with pytest.raises(RuntimeError, match=f'{name}.* numpy-financial'):
        function(0.1, [1, 2])


def test_distutils_is_there_while_mxnet_is_imported(monkeypatch):
    monkeypatch.setattr(sys, 'version_info', (3, 12))
    for name in ('distutils', 'distutils.version'):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with newer_python.distutils():
        from distutils.version import LooseVersion, StrictVersion

        assert LooseVersion('1.17') <= LooseVersion('1.26.4')
        assert StrictVersion('2.10.0rc1') >= StrictVersion('2.9')
    assert 'distutils' not in sys.modules
    assert 'distutils.version' not in sys.modules


def test_a_distutils_that_is_there_stays(monkeypatch):
    monkeypatch.setattr(sys, 'version_info', (3, 12))
    there = types.ModuleType('distutils')
    monkeypatch.setitem(sys.modules, 'distutils', there)
    with newer_python.distutils():
        assert sys.modules['distutils'] is there
    assert sys.modules['distutils'] is there


def test_operators_take_numbers_of_numpy_as_parameters():
    two = onp.int64(2)
    X = np.arange(12).reshape((onp.int64(3), 4))
    assert X[two, two] == 10
    assert [part.shape for part in np.split(X, [two])] == [(2, 4), (1, 4)]
    parts = gluon.utils.split_data(X, 2, even_split=False)
    assert [len(part) for part in parts] == [2, 1]
    layer = gluon.nn.Conv2D(1, kernel_size=(two, two))
    layer.initialize()
    layer.hybridize()  # writes them into a graph
    assert layer(X.reshape(1, 1, 3, 4)).shape == (1, 1, 2, 3)


# MXNet imports another part of itself where SciPy is, as on Colab. Here is a
# package of that name, with what this part uses.


@pytest.fixture
def beside_scipy(tmp_path):
    """Return a function that runs code where there is a `scipy`."""
    (tmp_path / 'scipy').mkdir()
    (tmp_path / 'scipy/__init__.py').touch()
    (tmp_path / 'scipy/stats.py').write_text(
        'class norm: cdf = staticmethod(lambda x: 0.5)'
    )

    def run_there(code):
        path = f'import sys\nsys.path.insert(0, {str(tmp_path)!r})\n'
        ended = run(path + code)
        assert ended.returncode == 0, ended.stderr

    return run_there


@pytest.mark.long
def test_mxnet_imports_the_statistics_of_scipy_only_when_it_uses_them(
    beside_scipy,
):
    beside_scipy(
        """
import d2lmulti
from mxnet.contrib import quantization
assert 'scipy.stats' not in sys.modules
import scipy
assert 'stats' not in vars(scipy)
assert quantization.stats.norm.cdf(0) == 0.5
import scipy.stats
assert scipy.stats.norm.cdf(0) == 0.5
assert sys.modules['scipy.stats'].norm is quantization.stats.norm
"""
    )


@pytest.mark.long
def test_statistics_that_are_there_stay(beside_scipy):
    beside_scipy(
        """
import scipy.stats
import d2lmulti
from mxnet.contrib import quantization
assert quantization.stats is scipy.stats
"""
    )
