"""Let the launcher see how a worker ends; Python loads this by itself.

A worker that uses MXNet's distributed key-value store and then raises an
error, or calls sys.exit(3), does not end: when the store is freed, it waits
for the others in a barrier, and its status is never seen. So it must end
before that. The worker also tells its rank, which of its child processes
were killed, and on request where each of its threads is.

The launcher puts this folder first on the PYTHONPATH of the workers.
"""

from __future__ import annotations

import _sitebuiltins
import atexit
import contextlib
import ctypes
import errno
import faulthandler
import fcntl
import functools
import importlib.machinery
import importlib.util
import json
import multiprocessing
import os
import signal
import sys
import threading
import types
import weakref
from typing import Any, Iterable, Sequence

HERE = os.path.dirname(os.path.abspath(__file__))
KVSTORE = 'mxnet.kvstore.kvstore'
SYSTEM_EXIT_CODE = vars(SystemExit)['code']  # its descriptor
# What workers exchange, by the names of a store's methods; some of it waits
# for all, in a store that is not asynchronous.
EXCHANGES = ('init', 'broadcast', 'push', 'pull', 'pushpull', '_barrier')
WAIT_FOR_ALL = ('init', 'broadcast', '_barrier')
PYTHON = os.path.dirname(os.__file__)  # holds the standard library
# As in agent.py, which sends it; a script seldom uses this one.
STACKS_SIGNAL = getattr(signal, 'SIGRTMAX', signal.SIGUSR2)


def load_hidden() -> None:
    """Load the sitecustomize that this one hides, if there is one."""
    path = [folder for folder in sys.path if os.path.abspath(folder) != HERE]
    spec = importlib.machinery.PathFinder.find_spec('sitecustomize', path)
    if spec and spec.loader:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def load_own(package: str, name: str) -> Any:
    """Return a module of ours; its package may not be installed here."""
    path = os.path.join(HERE, f'../../{package}/{name}.py')
    spec: Any = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def folders_of(*packages: str) -> list[str]:
    """Return the folders of packages, wherever they have been imported from
    or would be; not those that only have the name of one."""
    folders: list[str] = []
    for name in packages:
        module: Any = sys.modules.get(name)
        spec = importlib.machinery.PathFinder.find_spec(name)
        if getattr(module, '__file__', None):
            folders += getattr(module, '__path__', [])
        if spec and spec.origin:
            folders += spec.submodule_search_locations or []
    return folders


def starts_of(folders: Iterable[str]) -> list[str]:
    """Return how the paths of the files in some folders begin, with and
    without symbolic links."""
    return [
        os.path.join(form, '')
        for folder in folders
        for form in dict.fromkeys(
            (folder, os.path.abspath(folder), os.path.realpath(folder))
        )
    ]


def starts_of_packages() -> list[str]:
    """Return how the paths of the files begin that exchange, and record."""
    beside = os.path.join(HERE, '../../d2lmulti')
    own = [os.path.dirname(HERE), beside]
    return starts_of([*own, *folders_of('mxnet', 'd2lmulti')])


def starts_of_python() -> list[str]:
    """Return how the paths of Python's own files begin, which call threads,
    and what is decorated; not those of packages installed beside them."""
    with contextlib.suppress(OSError):
        own = [os.path.join(PYTHON, name) for name in os.listdir(PYTHON)]
        own = [path for path in own if not path.endswith('-packages')]
        folders = [*filter(os.path.isdir, own)]
        return [*starts_of(folders), *filter(os.path.isfile, own)]
    return []


class NoteWriter:
    """Files that tell the agent of this role what it cannot see itself."""

    def __init__(self) -> None:
        self.folder = os.environ.get('D2LMULTI_NOTES')
        self.owner = os.getpid()

    def write(self, name: str, text: str, mode: str = 'w') -> None:
        """Write a note, if there is an agent to read it. Where that fails,
        as on a full disk, the program goes on without."""
        if self.folder and os.path.isdir(self.folder):
            with contextlib.suppress(OSError):
                with open(os.path.join(self.folder, name), mode) as file:
                    file.write(text)

    def mark_exiting(self, exiting: bool) -> None:
        """Note whether this process may wait for the others at its end."""
        if os.getpid() == self.owner:  # not a forked child
            self.write('exiting', str(self.owner) if exiting else '')


class Exit(SystemExit):
    """What our `sys.exit` raises: it knows whether it ended the program."""

    outcome: Outcome
    frame: types.FrameType

    def get_code(self) -> Any:
        """Return the code, and note it if nobody has caught the exit: then
        the interpreter asks, and not from a frame of Python."""
        code = SYSTEM_EXIT_CODE.__get__(self)
        if sys._getframe().f_back is None:
            self.outcome.status = status_of(code)
            if self.outcome.status:
                self.outcome.kept = self  # and the stores in its frames
            else:
                del self.frame  # its stores are freed as after a return
        return code

    code = property(get_code, SYSTEM_EXIT_CODE.__set__)


def status_of(code: Any) -> int:
    """Return the exit status that `sys.exit(code)` asks for."""
    if code is None:
        return 0
    return code & 0xFF if isinstance(code, int) else 1


class Outcome:
    """The status that the program asked for, with which it really ends."""

    def __init__(self, notes: NoteWriter) -> None:
        self.notes, self.status = notes, 0
        self.stores: list[weakref.ref[Any]] = []  # distributed ones
        self.kept: Exit | None = None
        self.original_excepthook = sys.excepthook

    def install(self) -> None:
        """Put the methods below into the interpreter."""
        sys.exit, sys.excepthook = self.exit, self.excepthook
        quitter: Any = _sitebuiltins.Quitter  # of `exit` and `quit`
        quitter.__call__ = lambda _, code=None: self.exit(code)
        atexit.register(self.at_exit)  # the first one there runs last

    def exit(self, status: Any = None) -> Any:
        """Take the place of `sys.exit`."""
        if threading.current_thread() is not threading.main_thread():
            raise SystemExit(status)
        error = Exit(status)
        error.outcome, error.frame = self, sys._getframe(1)
        try:
            raise error
        finally:
            del error  # or the traceback would keep the stores in its frames

    def excepthook(self, *error: Any) -> None:
        """Note that the program ends with an error."""
        self.original_excepthook(*error)
        if sys._getframe().f_back is None:
            self.status = 1
            self.notes.mark_exiting(True)

    def at_exit(self) -> None:
        """End at once with a bad status, before a store is freed; otherwise
        free all, also those that something still refers to: with one of them
        MXNet would abort."""
        if 'mxnet' not in sys.modules or multiprocessing.parent_process():
            return
        if os.getpid() != self.notes.owner:
            return end_forked_child() if self.stores else None
        error = fatal_error()
        if self.status or error:
            flush_output()
            if error is KeyboardInterrupt:
                signal.signal(signal.SIGINT, signal.SIG_DFL)
                os.kill(os.getpid(), signal.SIGINT)
            os._exit(self.status or 1)
        for store in [reference() for reference in self.stores]:
            if store is not None:
                store.__del__()
        self.notes.mark_exiting(True)


def end_forked_child() -> None:
    """Let a child that may have inherited a store end with its status when
    Python has finished: MXNet would abort, for its threads are not here."""
    libc = ctypes.CDLL(None)
    if hasattr(libc, 'on_exit'):  # Linux
        libc.on_exit(libc._exit, None)


def flush_output() -> None:
    """Flush what the program prints to, which it may have replaced or closed:
    an error here would hide the status."""
    for name in ('stdout', 'stderr', '__stdout__', '__stderr__'):
        with contextlib.suppress(Exception):
            getattr(sys, name).flush()


def fatal_error() -> Any:
    """Return the type of the error that ended the program, whatever its
    `sys.excepthook` was; None if there was none."""
    traceback = getattr(sys, 'last_traceback', None)
    if traceback and traceback.tb_frame.f_back is None:
        return sys.last_type
    return None


class StoreFinder:
    """Finds the module of MXNet's stores, and adds to their methods."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None = None,
        target: types.ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the module's spec, and leave the import system again."""
        if name != KVSTORE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None:
            return spec
        load = spec.loader.exec_module

        def load_and_watch(module: types.ModuleType) -> None:
            load(module)
            note_folders(self.outcome.notes)  # the script's path is known
            watch_stores(module, self.outcome)

        spec.loader.exec_module = load_and_watch  # type: ignore
        return spec


def watch_stores(module: Any, outcome: Outcome) -> None:
    """Note the rank when MXNet makes a distributed store, and when it frees
    one, once, that this process may wait. A forked child frees no store that
    it inherited: it would wait for the other workers, without end."""
    make, free = module.KVStore.__init__, module.KVStore.__del__
    notes, is_finalizing = outcome.notes, sys.is_finalizing
    getpid = os.getpid

    def noted_make(store: Any, *args: Any) -> None:
        store.made_by = getpid()
        make(store, *args)
        if 'dist' in store.type:
            note_store(store, outcome)

    def noted_free(store: Any) -> None:
        if getattr(store, 'is_freed', False) or store.made_by != getpid():
            return
        store.is_freed = True
        if is_finalizing():  # `at_exit` has noted it, and files are gone
            return free(store)
        notes.mark_exiting(True)
        free(store)
        notes.mark_exiting(False)

    module.KVStore.__init__ = noted_make
    module.KVStore.__del__ = noted_free
    check_optimizers(module.KVStore)
    keep_others_out(module)


def note_store(store: Any, outcome: Outcome) -> None:
    """Note a distributed store and its rank; record what it exchanges."""
    if not outcome.stores:
        record_exchanges(type(store), outcome.notes, store.rank)
    outcome.stores.append(weakref.ref(store))
    outcome.notes.write('rank', f'{store.rank} {os.getpid()}')
    correct_rank(str(store.rank))


def record_exchanges(KVStore: Any, notes: NoteWriter, rank: int) -> None:
    """Record the last exchanges of this worker in a file that outlives it:
    which one waits for whom is in the message of a hang. Where that fails, as
    on a full disk, training goes on without."""
    folders = [os.environ.get('D2LRUN_RECORDS'), notes.folder]
    recorder, errors = None, []
    for folder in filter(None, folders):
        path = os.path.abspath(os.path.join(folder, f'records-{rank}'))
        try:
            recorder = make_recorder(path)
            break
        except OSError as error:
            errors.append(f'{error}')
    if errors:
        text = '; '.join(errors)
        print(f'd2lrun: no records of exchanges: {text}', file=sys.stderr)
    if not recorder:
        return
    notes.write('records', path)
    for name in EXCHANGES:
        method = getattr(KVStore, name, None)
        if method:
            setattr(KVStore, name, recorded(method, recorder))


def make_recorder(path: str) -> Any:
    """Return a recorder in a file that is this process's until it ends.

    Raises OSError if another process, of another job, records there, or if
    there is no room.
    """
    os.makedirs(os.path.dirname(path), exist_ok=True)
    claim = claim_file(path)
    library = '<frozen', *starts_of_packages(), *starts_of_python()
    try:
        recorder = load_own('d2lrun', 'records').Recorder(path, library)
    except OSError as error:
        os.close(claim)
        with contextlib.suppress(OSError):
            os.unlink(path)  # or it would look like one without exchanges
        raise OSError(error.errno, error.strerror, path) from None
    return recorder


def claim_file(path: str) -> int:
    """Return the descriptor of a file, as it is: until it is closed, no other
    process can claim it. What one has mapped may not be made shorter: that
    kills it."""
    file = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        reason = 'another job records there'
        raise OSError(errno.EWOULDBLOCK, reason, path) from None
    except OSError:  # this file system has no locks
        pass
    return file


def recorded(method: Any, recorder: Any) -> Any:
    """Return a method of a distributed store that is recorded, in the process
    that made the store."""
    name, owner, getpid = method.__name__.strip('_'), os.getpid(), os.getpid

    @functools.wraps(method)
    def call(store: Any, *args: Any, **kwargs: Any) -> Any:
        if 'dist' not in store.type or getpid() != owner:
            return method(store, *args, **kwargs)
        key, value = [*args, *kwargs.values(), '', None][:2]
        while isinstance(value, (list, tuple)) and value:
            value = value[0]  # it stands for all of them
        shape, dtype = getattr(value, 'shape', ''), getattr(value, 'dtype', '')
        dtype = getattr(dtype, '__name__', dtype)
        what = f'{name} {key}'.strip()
        group = group_of(method.__name__, store, what)
        record = recorder.begin(what, shape, dtype, group)
        result = method(store, *args, **kwargs)
        recorder.end(record)
        return result

    return call


def group_of(method: str, store: Any, what: str) -> str | None:
    """Return which exchanges come in one order on all workers: those of the
    main thread; in other threads each is for itself. None: it needs no other
    worker. (A pull waits for the others only after this worker's push.)"""
    is_sync = 'async' not in store.type and method in ('push', 'pushpull')
    if not is_sync and method not in WAIT_FOR_ALL:
        return None
    is_main = threading.current_thread() is threading.main_thread()
    return '' if is_main else what


def keep_others_out(module: Any) -> None:
    """Let only this user connect to the socket that MXNet makes for a store,
    if that is a file, whatever the umask is."""
    library: Any = getattr(module, '_LIB', None)
    make: Any = getattr(library, 'MXKVStoreCreate', None)

    def make_private(*args: Any) -> Any:
        before = os.umask(0o077)
        os.umask(before | 0o022)  # who may not write cannot connect
        try:
            return make(*args)
        finally:
            os.umask(before)

    if make and os.environ.get('DMLC_LOCAL', '0') not in ('', '0'):
        library.MXKVStoreCreate = make_private


def check_optimizers(KVStore: Any) -> None:
    """Let a worker say so if the servers would refuse its optimizer: they
    print a line, and then would only sum."""
    set_optimizer: Any = getattr(KVStore, 'set_optimizer', None)

    def checked_set(store: Any, optimizer: Any) -> None:
        if 'dist' in store.type:
            load_own('d2lrun', 'optimizers').check_optimizer(optimizer)
        set_optimizer(store, optimizer)

    if set_optimizer:
        KVStore.set_optimizer = checked_set


def correct_rank(rank: str) -> None:
    """Let RANK be what MXNet says, if that is not what was planned."""
    planned = os.environ.get('RANK')
    if planned is not None and planned != rank:
        os.environ['RANK'] = rank
        print(
            f'd2lrun: MXNet gave this worker the rank {rank}, not {planned} '
            'as planned, so RANK has changed',
            file=sys.stderr,
        )


def note_threads(notes: NoteWriter) -> None:
    """Note the numbers of Python's other threads: whether the training stands
    still must not depend on one that looks around."""
    start = threading.Thread.start

    def noted_start(thread: threading.Thread) -> None:
        start(thread)
        if os.getpid() == notes.owner:
            notes.write('threads', f'{thread.native_id}\n', mode='a')

    threading.Thread.start = noted_start  # type: ignore


def watch_children(notes: NoteWriter) -> None:
    """Note which child processes of this one were killed, when Python takes
    their status; `multiprocessing` and `subprocess` do so by themselves."""
    wait, was_killed, is_finalizing = (
        os.waitpid,
        os.WIFSIGNALED,
        sys.is_finalizing,
    )

    def waitpid(pid: int, options: int) -> tuple[int, int]:
        child, status = wait(pid, options)
        if child and was_killed(status) and not is_finalizing():
            line = f'{child} {os.WTERMSIG(status)}\n'
            notes.write('killed', line, mode='a')
        return child, status

    os.waitpid = waitpid


def offer_stacks(notes: NoteWriter) -> None:
    """Write where each thread is when a signal asks for it, even while the
    main thread waits in MXNet."""
    if not notes.folder:
        return
    path = os.path.join(notes.folder, f'stacks-{notes.owner}')
    with contextlib.suppress(OSError):
        file = open(f'{path}.new', 'w')  # faulthandler keeps it open
        faulthandler.register(STACKS_SIGNAL, file)
        os.rename(f'{path}.new', path)  # only now the signal may be sent


def note_folders(notes: NoteWriter) -> None:
    """Note how the paths of MXNet's files begin, and of all files whose lines
    are not the script's, as `faulthandler` writes them."""
    installed = [path for path in sys.path if path.endswith('-packages')]
    starts = {
        'mxnet': starts_of(folders_of('mxnet')),
        'library': [*starts_of_packages(), *starts_of([PYTHON, *installed])],
    }
    for name, texts in starts.items():
        starts[name] = [
            text.encode('ascii', 'backslashreplace').decode() for text in texts
        ]
    notes.write(f'folders-{os.getpid()}', json.dumps(starts))


load_hidden()
# A script may import MXNet first.
load_own('d2lbase', 'newer_python').install()
if os.environ.get('DMLC_ROLE') == 'server':
    load_own('d2lrun', 'optimizers').guard_pickle()
if os.environ.get('DMLC_ROLE') == 'worker':
    notes = NoteWriter()
    outcome = Outcome(notes)
    outcome.install()
    watch_children(notes)
    note_threads(notes)
    offer_stacks(notes)
    note_folders(notes)
    sys.meta_path.insert(0, StoreFinder(outcome))
