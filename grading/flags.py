"""What in an answer a person should look at: flags, with their evidence.

A flag is no verdict, and takes no points. An answer runs in the process of
its check, since many checks watch how it works: which arrays it copies, where
it waits, what it changes in place. So an audit hook, which nothing can
remove, flags the line that reaches for frames, the collector of garbage or
memory, before it does; and after each call, what a check relies on must be
the same objects. The guide lists what passes all the same.

The runner executes this file with separate builtins, and registers no module:
an answer cannot import it.
"""

import ast
import copy
import functools
import inspect
import os
import re
import sys
import threading
import types

OURS = '<cell>'  # the file name in the code of checks and the book's cells
KNOWN = ('<frozen', '<__array', '<guard>', OURS)
# Through these, an answer could reach the check that calls it.
EVENTS = re.compile(
    r'sys\.(_getframe$|_current_frames|_current_exceptions|settrace'
    r'|setprofile|addaudithook|monitoring)|gc\.get_(objects|ref)|ctypes\.'
    r'|code\.__new__|cpython\.run_|object\.__[gs]etattr__|compile$|import$'
    r'|marshal\.loads|open$'
)
READ = {'tb_frame', 'gi_frame', 'cr_frame', 'ag_frame'}
READ |= {'__globals__', '__closure__'}
SET = {'__code__', '__defaults__', '__kwdefaults__'}
MODULES = {'_testcapi', '_xxsubinterpreters', '_interpreters', 'cffi'}
MODULES |= {'ctypes', '_ctypes'}
MEMORY = re.compile(r'/proc/.*/(mem|root|cwd)\b|/dev/k?mem')
# What hands a frame, or memory, to its caller: the caller counts.
HANDS_OVER = re.compile(r'(^|/)(inspect|ctypes/\w+)\.py$')
WALKS = ('walk_stack', 'walk_tb')
PACKAGES = 'd2lbase|d2lmulti|samestep'
# What every check relies on; compared after each call of an answer.
OFTEN = re.compile(
    r'(builtins|math|numpy|numpy\.(core|_core)\.(numeric|fromnumeric|umath'
    r'|multiarray)|numpy\.linalg|mxnet|mxnet\.(numpy|numpy_extension'
    r'|ndarray|autograd|numpy\.multiarray|_numpy_op_doc|ndarray\.ndarray)'
    r'|torch|torch\.autograd|tensorflow|d2lmulti(\.\w+)*)$'
)
# Compared after the answer's cells, and after the checks.
ALWAYS = re.compile(
    r'(builtins|math|cmath|time|json(\.\w+)?|random|re|copy|sys|os|types'
    r'|operator|functools|itertools|collections(\.\w+)?|contextlib|statistics'
    r'|fractions|decimal|unittest(\.mock)?|signal|traceback|weakref|textwrap'
    r'|numpy(\.\w+)*|mxnet(\.\w+)*'
    rf'|({PACKAGES})(\.\w+)*'
    r'|torch|torch\.(autograd|distributed'
    r'|functional|_tensor)|tensorflow)$'
)
# Methods with which an object compares, or acts, as it likes.
COMPARING = {
    f'__{name}__'
    for name in (
        'eq ne lt le gt ge bool float int index complex array array_function '
        'array_ufunc array_interface array_struct abs neg add radd sub rsub '
        'mul rmul truediv rtruediv floordiv mod pow contains getattr '
        'getattribute class instancecheck round iter next len getitem '
        'array_wrap array_finalize array_prepare'
    ).split()
}
# The plain value of an object whose class is below one of these.
PLAIN = {
    bool: lambda x: x,
    int: lambda x: int.__add__(x, 0),
    float: lambda x: float.__add__(x, 0.0),
    str: lambda x: str.__add__(x, ''),
    list: lambda x: list.__getitem__(x, slice(None)),
    tuple: lambda x: tuple.__getitem__(x, slice(None)),
    dict: lambda x: dict(dict.items(x)),
    set: lambda x: set(set.__iter__(x)),
}


def is_answers(file, trusted):
    """Return whether code in a file is the answer's: it is neither ours, nor
    of Python and its packages, which are in the folders `trusted`."""
    return not file.startswith((*KNOWN, *trusted))


def watch_events(flag, trusted, hidden):
    """Call flag(what, frame) as soon as the answer does what none needs.

    `hidden`: folders and files that no answer may read.
    """
    busy = threading.local()

    def hook(event, arguments):
        if not EVENTS.match(event) or getattr(busy, 'now', False):
            return
        busy.now = True
        try:
            what = meaning(event, arguments, trusted, hidden)
            frame = what and answers_frame(
                sys._getframe(1), trusted, event == 'open'
            )
            if frame:
                flag(what, frame)
        finally:
            busy.now = False

    sys.addaudithook(hook)


def meaning(event, arguments, trusted, hidden):
    """Return what an event does that no answer needs, or None."""
    if event == 'open':
        path = arguments[0]
        if not isinstance(path, (str, bytes)):
            return None
        path = os.path.abspath(os.fsdecode(path))
        odd = MEMORY.match(path) or path.startswith(hidden)
        return f'opens {path}' if odd else None
    if event == 'compile':
        name = arguments[1]
        name = os.fsdecode(name) if isinstance(name, (str, bytes)) else ''
        answers = not name or is_answers(name, trusted)
        return None if answers else f'compiles code as {name}'
    if event == 'import':
        name = arguments[0]
        return f'imports {name}' if name in MODULES else None
    if event.startswith('object.'):
        name = str(arguments[1])
        odd = READ if event == 'object.__getattr__' else SET
        return f'uses {name}' if name in odd else None
    return f'uses {event}'


def answers_frame(frame, trusted, far=False):
    """Return the frame of the answer that did this, or None: a library that
    does it for its own ends is no act of the answer.

    `far`: however far up it is.
    """
    while frame:
        code = frame.f_code
        if is_answers(code.co_filename, trusted):
            return frame
        if not (
            far or HANDS_OVER.search(code.co_filename) or code.co_name in WALKS
        ):
            return None
        frame = frame.f_back
    return None


def line_that_sets(sources, name):
    """Return (the index of a cell, its line) where `name` is set, or None."""
    for index, source in enumerate(sources):
        for node in ast.walk(ast.parse(source)):
            stored = isinstance(getattr(node, 'ctx', None), ast.Store)
            if (stored and getattr(node, 'attr', '') == name) or (
                isinstance(node, ast.Constant) and node.value == name
            ):
                return index, node.lineno
    return None


def written(sources):
    """Yield (what, where) of what no event tells: imports of what reaches
    memory, and objects that say that their own lies elsewhere."""
    names = '__array_interface__', '__array_struct__'
    for index, source in enumerate(sources):
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                for name in imported(node) & MODULES:
                    yield f'imports {name}', (index, node.lineno)
            stored = isinstance(getattr(node, 'ctx', None), ast.Store)
            given = stored and getattr(node, 'id', getattr(node, 'attr', ''))
            given = given or getattr(node, 'arg', getattr(node, 'name', ''))
            if given in names:
                yield f'gives {given}', (index, node.lineno)


def imported(node):
    """Return the packages that a statement imports."""
    names = [getattr(node, 'module', None) or '']
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    return {name.partition('.')[0] for name in names}


def guard(flag, trusted):
    """Return what calls an answer for its check, and flags what the answer
    replaces.

    There is no class for it: an answer finds all classes, and could change
    this one.
    """
    plain = plain_maker(trusted)
    at_first = watched(ALWAYS)

    def compare(before=at_first, pattern=ALWAYS):
        now = watched(pattern)
        for key, value in before.items():
            if key in now and same(value, now[key]):
                continue
            flag(f'replaces {".".join(key)}')
        classes = {where for where, _ in before}
        classes -= {'sys.modules', 'copy', 'numpy.finfo', *sys.modules}
        for key in now.keys() - before.keys():
            if key[0] in classes:
                flag(f'adds {".".join(key)}')

    def function(answer):
        """Return the answer as the check may use it."""
        if not callable(answer):
            return plain(answer)

        def guarded(*args, **kwargs):
            args = [closed(value) for value in args]
            kwargs = {key: closed(value) for key, value in kwargs.items()}
            before = watched(OFTEN)  # a check puts spies there
            try:
                value = answer(*args, **kwargs)
            finally:
                compare(before, OFTEN)
            for one in (*args, *kwargs.values()):
                plain(one)
            if '__next__' in dir_of(type(value)):  # a generator, map, zip
                return (plain(one) for one in value)
            return plain(value)

        try:
            functools.update_wrapper(guarded, answer)
            del guarded.__wrapped__
        except Exception:  # an object may refuse everything
            pass
        name = getattr(answer, '__name__', None)
        guarded.__name__ = name if type(name) is str else 'answer'
        return guarded

    return types.SimpleNamespace(function=function, compare=compare)


def plain_maker(trusted):
    """Return a function that makes what an answer gives plain.

    The classes that exist now are not the answer's.
    """
    classes = {id(kind) for kind in subclasses(object)}

    def plain(value, depth=0):
        """Return a value without the methods that the answer gave it: a list
        is changed in place. Raises TypeError if nothing is left then."""
        kind = type(value)
        base = next((one for one in PLAIN if issubclass(kind, one)), None)
        if base and kind is not base and own_method(kind):
            value, kind = PLAIN[base](value), base
        if depth < 4 and kind is list:
            for index, one in enumerate(value[:1000]):
                found = plain(one, depth + 1)
                if found is not one:
                    value[index] = found
        elif depth < 4 and kind is dict:
            for key, one in value.items():
                value[key] = plain(one, depth + 1)
        elif depth < 4 and kind is tuple:
            found = tuple(plain(one, depth + 1) for one in value)
            if any(one is not other for one, other in zip(found, value)):
                return found
        elif not base:
            return plain_object(value, kind, depth)
        return value

    def plain_object(value, kind, depth):
        """Return an array or another object as `plain` does."""
        numpy = sys.modules.get('numpy')
        array = getattr(numpy, 'ndarray', None)
        if array and issubclass(kind, array):
            if kind is not array:
                value = array.view(value, array)
            if value.dtype == object:
                plain(value.ravel().tolist(), depth + 1)
            return value
        name = own_method(kind)
        if name:
            raise TypeError(
                f'the answer gives a {kind.__name__}, whose {name} is its '
                'own: return numbers, lists or arrays'
            )
        return value

    def own_method(kind):
        """Return the name of a method with which a class of the answer acts
        as it likes, or ''."""
        for base in kind.__mro__:
            odd = str(vars(base).get('__module__')).startswith('unittest')
            known = id(base) in classes or is_known(base, trusted)
            if known and not odd:
                continue
            for name, what in vars(base).items():
                code = getattr(
                    getattr(what, '__func__', what), '__code__', None
                )
                written = isinstance(what, property) or (
                    isinstance(code, types.CodeType)
                    and is_answers(code.co_filename, trusted)
                )
                if name in COMPARING or (
                    written and name not in ('__init__', '__new__', '__del__')
                ):
                    return name
        return ''

    return plain


def dir_of(kind):
    """Return the names that a class has, without asking its metaclass."""
    return set().union(*(vars(base) for base in type.mro(kind)))


def closed(value):
    """Return a function or method of a check so that its names, and what it
    belongs to, cannot be reached through it."""
    if isinstance(value, types.FunctionType):
        ours = value.__code__.co_filename == OURS
    else:
        ours = isinstance(value, (types.MethodType, types.BuiltinMethodType))
        ours = ours and not isinstance(value.__self__, types.ModuleType)
    if not ours:
        return value
    # A cache without room is written in C and keeps what it calls to itself.
    found = functools.lru_cache(maxsize=0)(value)
    del found.__wrapped__
    try:
        found.__signature__ = inspect.signature(value)
    except (TypeError, ValueError):
        pass
    return found


def is_known(kind, trusted):
    """Return whether a class is one of Python's or of its packages'."""
    module = sys.modules.get(kind.__module__)
    file = getattr(module, '__file__', None) or ''
    found = vars(module).get(kind.__name__) if module else None
    return file.startswith(trusted) and found is kind


def subclasses(kind):
    """Return all classes that exist."""
    found, rest = {kind}, [kind]
    while rest:
        new = set(type.__subclasses__(rest.pop())) - found
        found |= new
        rest += new
    return found


def watched(pattern):
    """Return {(where, name): value} of what a check relies on: functions,
    classes, modules and constants, and how NumPy computes and Python copies.
    """
    found = {}
    for name, module in list(sys.modules.items()):
        if not isinstance(module, types.ModuleType) or (
            not pattern.match(name)
        ):
            if pattern is ALWAYS:
                found['sys.modules', name] = module
            continue
        found['sys.modules', name] = module
        for key, value in list(vars(module).items()):
            if name == 'sys' and key.endswith('hook'):
                continue
            if callable(value) or isinstance(value, (float, types.ModuleType)):
                found[name, key] = value
            elif name.startswith('d2lmulti') and isinstance(
                value, (list, tuple, dict, set)
            ):
                if pattern is ALWAYS and key[:1] != '_':
                    found[name, key] = repr(value)[:2000]
            if isinstance(value, type) and (
                pattern is ALWAYS or is_watched(value)
            ):
                for method, what in list(vars(value).items()):
                    if hasattr(type(what), '__get__'):
                        found[f'{name}.{key}', method] = what
    return {**found, **tables()}


def is_watched(kind):
    """Return whether the methods of a class are compared often, too."""
    name, module = kind.__name__.lower(), str(kind.__module__)
    return 'array' in name or name == 'context' or 'd2lmulti' in module


def tables():
    """Return what is in tables of Python and NumPy that programs can set."""
    found = {
        ('copy', f'_deepcopy_dispatch {kind.__name__}'): function
        for kind, function in copy._deepcopy_dispatch.items()
    }
    numpy = sys.modules.get('numpy')
    for kind in ('float32', 'float64') if hasattr(numpy, 'finfo') else ():
        found['numpy.finfo', kind] = float(numpy.finfo(kind).eps)
    try:
        from numpy.core.multiarray import set_numeric_ops
    except ImportError:
        return found
    for name, function in set_numeric_ops().items():
        found['numpy', name] = function
    return found


def same(one, other):
    """Return whether two values are one, or functions or classes of a module
    that was loaded again."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, (float, str)):
        return one == other or one != one
    if isinstance(one, types.FunctionType):
        return (
            one.__code__ == other.__code__
            and one.__globals__ is other.__globals__
            and repr(one.__defaults__) == repr(other.__defaults__)
        )
    if isinstance(one, (staticmethod, classmethod)):
        return same(one.__func__, other.__func__)
    if isinstance(one, property):
        return same(one.fget, other.fget)
    if isinstance(one, type):
        return (one.__module__, one.__qualname__) == (
            other.__module__,
            other.__qualname__,
        ) and all(
            same(value, vars(other).get(name))
            for name, value in vars(one).items()
            if isinstance(value, types.FunctionType)
        )
    return False
