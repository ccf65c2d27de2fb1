"""What keeps an answer away from its check, and notices what it changes.

An answer runs in the process of its check, since many checks watch how it
works: which arrays it copies, where it waits, what it changes in place. So an
audit hook, which nothing can remove, ends the process as soon as the answer
reaches for frames, the collector of garbage or memory; and before and after
each call of the answer, what a check relies on must be the same objects.
While the check itself runs, none of the answer's code may: no finalizer, no
method of what it returned, nothing that it has put in the place of a library.

The runner executes this file with separate builtins, and registers no module:
an answer cannot import it.
"""

import ast
import concurrent.futures.thread
import copy  # noqa: F401, so that its tables are there
import ctypes
import functools
import inspect
import os
import re
import sys
import threading
import time
import types
import weakref

IDLE = concurrent.futures.thread._worker.__code__  # of a pool
EXECUTED: dict = {}  # code that an answer has executed, by its id
ANSWER = '<answer>'  # the file name in the code of an answer
OURS = '<cell>'  # in that of checks and the book's cells
# Through these, an answer could reach the check that calls it.
EVENTS = re.compile(
    r'sys\.(_getframe$|_current_frames|_current_exceptions|settrace'
    r'|setprofile|addaudithook|monitoring)|gc\.get_|ctypes\.|code\.__new__'
    r'|cpython\.run_|object\.__[gs]etattr__|compile$|exec$|marshal\.loads'
)
# What calls code of the answer with the check's frame, or from elsewhere.
ASYNC = re.compile(r'/asyncio/\w+\.py$')  # whose handlers see no frame
SIGNALS = ('signal', 'alarm', 'setitimer', 'raise_signal', 'pthread_kill')
FILES = re.compile(r'/proc/.*/(mem|maps|fd|cwd|root|environ)|/dev/k?mem')
READ = {'tb_frame', 'gi_frame', 'cr_frame', 'ag_frame'}
SET = {'__code__', '__defaults__', '__kwdefaults__'}
# Written anywhere in an answer, as a name, an attribute or a text.
WORDS = {
    *('tb_frame', 'gi_frame', 'cr_frame', 'ag_frame', 'f_back', 'f_locals'),
    *('f_globals', 'f_builtins', '__globals__', '__closure__', '__code__'),
    *('cell_contents', '__kwdefaults__', '__getattribute__', 'tb_next'),
    *('__subclasses__', '_getframe', '_current_frames', 'currentframe'),
    *('get_referrers', 'get_referents', 'get_objects', 'settrace'),
    *('setprofile', 'addaudithook', 'from_address', 'py_object', 'pythonapi'),
    *('memmove', 'string_at', 'raise_signal', 'setitimer', 'SIGALRM'),
    '_testcapi',
}
# Standard code that looks at frames for its caller: look further up.
ON_BEHALF = re.compile(
    r'(^|/)(inspect|traceback|ctypes/\w+|types|functools|contextlib|copy|bdb'
    r'|pdb|threading|weakref|operator|trace|importlib/\w+'
    r'|asyncio/\w+)\.py$|^<frozen '
)
# Packages that hand frames, or names in them, to their caller.
PRYING = re.compile(
    r'/(IPython|ipykernel|debugpy|fastcore|stack_data|executing|pure_eval'
    r'|pandas/core/computation|numexpr|sqlalchemy|lxml|playwright)/'
)
PACKAGES = 'd2lbase|d2lmulti|d2lrun|samestep'
# Code that looks at its caller, and gives nothing of it away.
HARMLESS = re.compile(
    r'(^|/)(collections/__init__|typing|enum|dataclasses|warnings|abc)\.py$'
    rf'|/(site-packages|dist-packages|{PACKAGES})/'
)
# What every check relies on; compared around each call of an answer.
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
    r'|fractions|decimal|unittest\.mock|signal|traceback|weakref|numpy(\.\w+)*|mxnet(\.\w+)*'
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
        'getattribute class instancecheck round del iter next len getitem '
        'call hash repr str format index reduce reduce_ex copy deepcopy '
        'array_wrap array_finalize array_prepare'
    ).split()
}
# What says how to copy an object, where nothing mocks it.
USUAL = (types.FunctionType, types.MethodDescriptorType, type)
PLAIN = (int, float, bool, str, bytes, complex, type(None))


def suspicious(sources):
    """Return what an answer's text reaches for that no answer needs, and in
    which line: ('', 0) if there is nothing."""
    for source in sources:
        for node in ast.walk(ast.parse(source)):
            for key in ('attr', 'id', 'value', 's', 'name', 'module'):
                word = getattr(node, key, None)
                if isinstance(word, str) and word.split('.')[-1] in WORDS:
                    return f'uses {word}', getattr(node, 'lineno', 0)
    return '', 0


def line_that_sets(sources, name):
    """Return the line of an answer in which `name` is set, or 0."""
    for source in sources:
        for node in ast.walk(ast.parse(source)):
            stored = isinstance(getattr(node, 'ctx', None), ast.Store)
            if (stored and getattr(node, 'attr', '') == name) or (
                isinstance(node, ast.Constant) and node.value == name
            ):
                return node.lineno
    return 0


def forbid(report, trusted, hidden):
    """Call report(what, line), which must not return, as soon as the answer
    does what no answer needs.

    `trusted`: folders of Python, its packages and the book: all other code
    is the answer's. `hidden`: folders that have solutions.
    """
    busy = threading.local()

    def hook(event, arguments):
        if event != 'open' and not EVENTS.match(event):
            return
        if event == 'exec':
            if answers_line(sys._getframe(1), trusted):
                EXECUTED.update(
                    {id(code): code for code in codes_in(*arguments)}
                )
            return
        if getattr(busy, 'now', False):
            return
        busy.now = True
        try:
            what = meaning(event, arguments, hidden, trusted)
            frame = sys._getframe(1) if what else None
            line = frame and answers_line(frame, trusted, event == 'open')
        finally:
            busy.now = False
        if line:
            report(what, line)

    sys.addaudithook(hook)
    for module in (sys.modules['signal'], sys.modules['_signal']):
        for name in SIGNALS:
            setattr(module, name, checked(module, name, report, trusted))


def checked(module, name, report, trusted):
    """Return a function of a module that answers may not call."""
    original = getattr(module, name)

    def call(*arguments):
        frame = sys._getframe(1)
        if frame.f_code.co_filename.endswith('/signal.py'):
            frame = frame.f_back
        line = answers_line(frame, trusted)
        if line and not ASYNC.search(frame.f_code.co_filename):
            report(f'uses {module.__name__}.{name}', line)
        return original(*arguments)

    return opaque(call)


def codes_in(code):
    """Yield a code object, and those of the functions in it."""
    yield code
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            yield from codes_in(one)


def meaning(event, arguments, hidden, trusted):
    """Return what an event does that an answer may not do, or None."""
    if event == 'open':
        path = arguments[0]
        if not isinstance(path, (str, bytes)):
            return None
        path = os.path.abspath(os.fsdecode(path))
        if FILES.match(path) or path.startswith(hidden):
            return f'opens {path}'
        return None
    if event == 'compile':
        name = arguments[1]
        name = os.fsdecode(name) if isinstance(name, (str, bytes)) else ''
        known = name == OURS or name.startswith(trusted)
        return f'compiles code as {name}' if known else None
    if event.startswith('object.'):
        name = str(arguments[1])
        forbidden = READ if event == 'object.__getattr__' else SET
        return f'uses {name}' if name in forbidden else None
    return f'uses {event}'


def answers_line(frame, trusted, far=False):
    """Return the line of the answer that called for this, or 0.

    `far`: however far up it is.
    """
    delegated = False
    while frame:
        name = frame.f_code.co_filename
        if name.startswith('<frozen importlib') and not far:
            return 0  # a module that is being imported
        if not (
            name.startswith(('<frozen', '<__array', OURS, '<guard>'))
            or name.startswith(trusted)
        ):
            return frame.f_lineno or 1
        if not far and not (ON_BEHALF.search(name) or PRYING.search(name)):
            # one function of a library, called by the answer
            if delegated or HARMLESS.search(name) or name in (OURS, '<guard>'):
                return 0
            delegated = True
        frame = frame.f_back
    return 0


def thread_counter():
    """Return a function that returns how many threads Python has, also of
    those that have been started and not begun: `_thread._count` misses them.
    """
    python = ctypes.PyDLL(None)
    kind = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
    next_one = kind(('PyThreadState_Next', python))
    head = kind(('PyInterpreterState_ThreadHead', python))
    main = ctypes.PYFUNCTYPE(ctypes.c_void_p)(
        ('PyInterpreterState_Main', python)
    )()

    def count():
        found, number = head(main), 0
        while found:
            found, number = next_one(found), number + 1
        return number

    return count


def guard(names, report, trusted):
    """Return what calls an answer for its check, and reports what the answer
    replaces.

    `names`: those of the check. `report(name)` must not return. There is no
    class for it: an answer finds all classes, and could change this one.
    """
    state = types.SimpleNamespace(depth=0)
    classes = {id(kind) for kind in subclasses(object)}
    known = ('<', *trusted)  # the files of all code but the answer's
    mxnet = sys.modules.get('mxnet')
    operators = mxnet and (mxnet.operator.CustomOp, mxnet.autograd.Function)
    waitall = mxnet and mxnet.nd.waitall
    count_threads = thread_counter()

    def everything():
        """Return what an answer's cells, and all its calls, must leave."""
        return {**watched(ALWAYS, True), **arithmetic()}

    def often():
        """Return what each call of an answer must leave."""
        return {**watched(OFTEN), **arithmetic(), **identities(names)}

    def compare(before, after):
        """Report what was replaced."""
        what = difference(before, after)
        if what:
            report(what)

    def call(work, *arguments, lazy=False):
        """Return work(), having compared what it must not change.

        `lazy`: it may be an iterator, which the caller guards.
        """
        sys.setprofile(None)
        state.depth += 1
        before = often()
        threads = count_threads() - idle_threads()
        try:
            value = work()
        finally:
            settle()
            compare(before, often())
            refuse_threads(threads)
            state.depth -= 1
            if not state.depth:
                sys.setprofile(notice)
        lazy = lazy and '__next__' in dir_of(type(value))
        for one in arguments if lazy else (value, *arguments):
            refuse(one)
        return value

    def notice(frame, event, argument):
        """Report code of the answer that runs while the check does."""
        if event == 'call':
            code = frame.f_code
            file = code.co_filename
            if (
                file == ANSWER
                or id(code) in EXECUTED
                or not file.startswith(known)
            ):
                report(f'code ({code.co_name}) that runs in the check')

    def function(answer):
        """Return the answer as the check may use it."""
        if not callable(answer):
            refuse(answer)
            return answer

        def guarded(*args, **kwargs):
            args = [closed(value) for value in args]
            kwargs = {key: closed(value) for key, value in kwargs.items()}
            value = call(
                lambda: answer(*args, **kwargs),
                *args,
                *kwargs.values(),
                lazy=True,
            )
            if '__next__' in dir_of(type(value)):  # a generator, map, zip
                return iterate(value)
            return value

        def describe():
            try:
                functools.update_wrapper(guarded, answer)
                del guarded.__wrapped__
            except Exception:  # an object may refuse everything
                pass
            name = getattr(answer, '__name__', None)
            guarded.__name__ = name if type(name) is str else 'answer'

        call(describe)  # attributes may be computed by the answer
        return guarded

    def iterate(iterator):
        """Return an iterator of the same values; it works while the check
        does, and closes a generator even if nobody asks for a value."""
        values = values_of(iterator)
        next(values)
        return values

    def values_of(iterator):
        """Yield None, then what an iterator yields."""
        done = object()
        try:
            yield
            while True:
                value = call(lambda: next(iterator, done))
                if value is done:
                    return
                yield value
        finally:
            if isinstance(iterator, types.GeneratorType):
                call(iterator.close)

    def refuse_threads(before):
        """Report a thread that goes on after the answer has returned.

        `before`: how many threads did something when it began. A thread that
        runs no Python has no frame, and is counted all the same.
        """
        end = time.monotonic() + 2
        while count_threads() - idle_threads() > before:
            if time.monotonic() > end:
                report('a thread that goes on after the call')
            time.sleep(0.01)

    def settle():
        """Wait for operators of the answer: the engine runs their code, in
        threads that no count shows."""
        for base in operators or ():
            if {id(kind) for kind in type.__subclasses__(base)} - classes:
                waitall()

    def idle_threads():
        """Return how many threads are workers of a pool."""
        # No local has the frames: they would keep what is in them.
        codes = [frame.f_code for frame in sys._current_frames().values()]
        return sum(code is IDLE for code in codes)

    def refuse(value, depth=0):
        """Raise TypeError if a value, or one in it, acts as it likes."""
        kind = type(value)
        if kind in PLAIN:
            return
        for base in kind.__mro__:
            own = own_methods(base)
            if own:
                raise TypeError(
                    f'the answer gives a {base.__name__}, whose {own} is its '
                    'own: return numbers, lists or arrays'
                )
        if any(map(is_finalizer, weakref.getweakrefs(value))):
            raise TypeError('the answer gives a value with a finalizer')
        if depth < 4 and issubclass(kind, (list, tuple, set, dict)):
            inside = list(value)
            if issubclass(kind, dict):
                inside += value.values()
            for one in inside[:1000]:
                refuse(one, depth + 1)
        if kind.__name__ == 'ndarray' and value.dtype == object:
            refuse(value.ravel().tolist(), depth + 1)
        below = getattr(
            value, 'base' if 'array' in kind.__name__ else 'obj', None
        )
        if depth < 9 and kind.__name__ in ('ndarray', 'memoryview'):
            refuse(below, depth + 1)  # what an array keeps alive

    def own_methods(base):
        """Return the name of a method with which a class acts as it likes."""
        names = COMPARING & vars(base).keys()
        if id(base) in classes or is_known(base, trusted):
            odd = str(vars(base).get('__module__')).startswith('unittest')
            return (
                sorted(names)[0]
                if names and (odd or 'Masked' in base.__name__)
                else ''
            )
        for name, what in vars(base).items():
            code = getattr(getattr(what, '__func__', what), '__code__', None)
            written = isinstance(what, property) or (
                isinstance(code, types.CodeType)
                and (code.co_filename == ANSWER or id(code) in EXECUTED)
            )
            if name in names or (
                written and name not in ('__init__', '__new__')
            ):
                return name
        return ''

    return types.SimpleNamespace(
        call=call,
        function=function,
        compare=compare,
        all=everything,
        before=everything(),
    )


def dir_of(kind):
    """Return the names that a class has, without asking its metaclass."""
    return set().union(*(vars(base) for base in type.mro(kind)))


def is_finalizer(reference):
    """Return whether a weak reference calls something that an answer chose,
    and not what Python's dictionaries of weak references need."""
    call = reference.__callback__
    code = getattr(call, '__code__', None)
    return call is not None and not (
        isinstance(call, types.FunctionType)
        and code.co_name == 'remove'
        and code.co_filename == weakref.__file__
    )


def closed(value):
    """Return a function or method of a check so that its names, and what it
    belongs to, cannot be reached through it."""
    if isinstance(value, types.FunctionType):
        ours = value.__code__.co_filename == OURS
    else:
        ours = isinstance(value, (types.MethodType, types.BuiltinMethodType))
        ours = ours and not isinstance(value.__self__, types.ModuleType)
    return opaque(value) if ours else value


def opaque(function):
    """Return a function that calls another one, which no attribute shows.

    A cache without room is written in C and keeps what it calls to itself.
    """
    found = functools.lru_cache(maxsize=0)(function)
    del found.__wrapped__
    try:
        found.__signature__ = inspect.signature(function)
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


def identities(names):
    """Return {('the check', name): the identity of its value}."""
    return {
        ('the check', name): id(value)
        for name, value in list(names.items())
        if name != '_'
    }


def watched(pattern, tables=False):
    """Return {(where, name): an identity} for functions and classes that a
    check relies on; with `tables`, what small ones of the book hold."""
    found = {}
    for name, module in list(sys.modules.items()):
        if tables:
            found['sys.modules', name] = id(module)
        if isinstance(module, types.ModuleType) and pattern.match(name):
            found['sys.modules', name] = id(module)
            for key, value in list(vars(module).items()):
                if callable(value):
                    found[name, key] = id(value)
                    if isinstance(value, type) and (
                        tables or is_watched(value)
                    ):
                        for method, what in list(vars(value).items()):
                            if hasattr(type(what), '__get__'):
                                found[f'{name}.{key}', method] = id(what)
                elif (
                    tables
                    and name.startswith('d2lmulti')
                    and (
                        type(value) in (list, tuple, dict, set)
                        and len(value) < 100
                        and not key.startswith('_')
                    )
                ):
                    found[name, key] = repr(value)[:2000]
    return found


def is_watched(kind):
    """Return whether the methods of a class are compared, too."""
    name, module = kind.__name__.lower(), str(kind.__module__)
    return 'array' in name or name == 'context' or 'd2lmulti' in module


def arithmetic():
    """Return what computes with arrays, which NumPy 1 lets programs set; what
    bounds on rounding are made of, which every NumPy does; and how arguments
    are copied."""
    found = {}
    for module, name in (
        ('copy', '_deepcopy_dispatch'),
        ('copy', '_copy_dispatch'),
        ('copyreg', 'dispatch_table'),
    ):
        table = getattr(sys.modules.get(module), name, {})
        odd = []  # what only programs that mock have there
        for key, one in list(table.items()):
            found[module, f'{name} {key.__name__}'] = id(one)
            if type(one) not in USUAL:
                odd.append(id(one))
        found[module, name] = odd
    numpy = sys.modules.get('numpy')
    if not hasattr(numpy, 'finfo'):
        return found
    for kind in ('float16', 'float32', 'float64'):
        limits = vars(numpy.finfo(kind))
        found['numpy.finfo', kind] = [id(one) for one in limits.values()]
    for name in ('pi', 'e', 'inf', 'nan'):
        found['numpy', name] = repr(getattr(numpy, name))
    try:
        from numpy.core.multiarray import set_numeric_ops
    except ImportError:
        return found
    for name, f in set_numeric_ops().items():
        found['numpy', name] = id(f)
    return found


def difference(before, after):
    """Return the name of something that was replaced, or ''."""
    for key, value in before.items():
        if after.get(key) != value:
            return '.'.join(key)
    return ''


def checked_getattr(report):
    """Return a getattr for answers that does not lead to a check."""

    def get(thing, name, *default):
        if name in WORDS:
            report(f'uses {name}', 0)
        return getattr(thing, name, *default)

    get.__name__ = 'getattr'
    return opaque(get)  # or an answer finds the guard's names in it
