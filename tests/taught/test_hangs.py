"""The flight recorder, and who is out of step by its records."""

import functools
import os
import pathlib
import queue
import random
import signal
import subprocess
import sys
import threading
import time

import nbformat
import numpy as onp
import pytest

from d2lmulti.cluster import hangs
from d2lmulti.cluster.hangs import (
    SIZE,
    SLOTS,
    Record,
    Recorder,
    explain,
    find_caller,
    find_culprits,
    find_place,
    first_difference,
    parse_records,
    waiting_times,
)

ROOT = pathlib.Path(__file__).parents[2]
ROOM = SIZE * SLOTS  # bytes of a ring's file


def records_of(names, first=0, begun=0.0):
    """Return records of exchanges with these names, a second apart; `first`
    exchanges came before."""
    return [
        Record(first + i, name, '(3,)', 'float32', f'a.py:{i}', begun + i, 0)
        for i, name in enumerate(names)
    ]


def named(**names):
    """Return {worker: records} for {worker: names of its exchanges}."""
    return {worker: records_of(own) for worker, own in names.items()}


def read(path):
    return parse_records(path.read_bytes())


# The recorder


def assert_ring_keeps_the_last(path, count):
    recorder = Recorder(path, ())
    for number in range(count):
        recorder.end(recorder.begin(f'key {number}', (number, 2), 'float32'))
    recorder.begin('open', (), 'int8')
    records = read(path)
    numbers = [*range(max(0, count + 1 - SLOTS), count + 1)]
    assert [record.number for record in records] == numbers
    assert [record.name for record in records[:-1]] == [
        f'key {number}' for number in numbers[:-1]
    ]
    assert all(
        0 < record.begun <= record.ended
        and record.shape == f'({record.number}, 2)'
        and record.line.startswith('test_hangs.py:')
        for record in records[:-1]
    )
    assert records[-1].ended is None


@pytest.mark.parametrize('count', [0, 1, SLOTS - 1, SLOTS, 3 * SLOTS + 5])
def test_a_ring_keeps_the_last_exchanges(tmp_path, count):
    assert_ring_keeps_the_last(tmp_path / 'ring', count)


def test_a_ring_has_its_room_on_the_disk_from_the_start(tmp_path):
    """Or writing a record on a full disk would kill the worker."""
    written = tmp_path / 'written'
    written.write_bytes(bytes(ROOM))
    with open(written) as file:
        os.fsync(file)
    assert_ring_keeps_the_last(tmp_path / 'ring', 0)
    ring = (tmp_path / 'ring').stat()
    assert ring.st_size == ROOM
    assert ring.st_blocks >= written.stat().st_blocks


FILES = {  # what each does; those in /lib/ are the library's
    '/lib/ring.py': 'def begin(): return find_caller()',
    '/a/sums.py': '\ndef add():\n\n    return begin()',
    '/a/train.py': '\n\ndef step(): return add()',
    '/a/main.py': 'def main(): return step()',
    '/a/all.py': 'def all(): return main()',
    '/lib/hooks.py': 'def hook(): return add()',
    '/a/other.py': 'def other(): return hook()',
}


def assert_callers_are_named():
    """Those of the script, up to three, from the inside to a library."""
    names = {'find_caller': lambda: find_caller(('/lib/',))}
    for path, source in FILES.items():
        exec(compile(source, path, 'exec'), names)
    assert names['all']() == 'sums.py:4, from train.py:3, from main.py:1'
    assert names['other']() == 'sums.py:4'


def test_callers_are_named():
    assert_callers_are_named()


def test_a_ring_outlives_a_worker_that_is_killed(tmp_path):
    script = (
        'import os, signal\n'
        'from d2lmulti.cluster.hangs import Recorder\n'
        f'recorder = Recorder({str(tmp_path / "ring")!r}, ())\n'
        'recorder.end(recorder.begin("first", (2,), "float32"))\n'
        'recorder.begin("second", (3,), "float32")\n'
        'os.kill(os.getpid(), signal.SIGKILL)\n'
    )
    ended = subprocess.run(
        [sys.executable, '-c', script], timeout=60, cwd=ROOT
    )
    assert ended.returncode == -signal.SIGKILL
    first, second = read(tmp_path / 'ring')
    assert (first.name, first.line) == ('first', '<string>:4')
    assert (second.name, second.ended) == ('second', None)


@pytest.mark.parametrize(
    'name',
    [
        'x' * 900,
        '梯度' * 99,
        '\U0001f600' * 999,
        '"\\\n' * 99,
        '\udc80' * 9,
        '',
    ],
)
def test_a_long_or_strange_name_fits_into_its_slot(
    tmp_path, monkeypatch, name
):
    recorder = Recorder(tmp_path / 'ring', ())
    monkeypatch.setattr(hangs, 'find_caller', lambda library: name)
    recorder.begin(name, tuple(range(900)), 'float32' * 99)
    recorder.begin('after', (), 'float32')
    assert os.path.getsize(tmp_path / 'ring') == ROOM
    long, after = read(tmp_path / 'ring')
    assert long.name == name[-150:]
    assert after.name == 'after'


def test_control_characters_in_all_fields_do_no_harm(tmp_path):
    recorder = Recorder(tmp_path / 'ring', ())
    recorder.begin('\0' * 999, '\0' * 999, '\0' * 999)
    recorder.begin('after', (), 'float32')
    assert read(tmp_path / 'ring')[-1].name == 'after'


def test_what_is_no_record_is_left_out(tmp_path):
    recorder = Recorder(tmp_path / 'ring', ())
    for name in 'abc':
        recorder.begin(name, (), 'float32')
    data = bytearray((tmp_path / 'ring').read_bytes())
    data[SIZE : SIZE + 30] = b'\xff[1, 2' * 5  # one that is being written
    assert [record.name for record in parse_records(bytes(data))] == ['a', 'c']
    for junk in (b'', b'\n\n', b'null\n', b'[1]\n', b'{"a": 1}\n', b'7'):
        assert parse_records(junk) == []


# The chapter's own workers, which are threads


@pytest.fixture
def run_workers(tmp_path, monkeypatch):
    """Return the chapter's function."""
    monkeypatch.chdir(tmp_path)
    chapter = nbformat.read(ROOT / 'notebooks/20_hangs.ipynb', 4)
    sources = {cell.id: cell.source for cell in chapter.cells}
    names = {**vars(hangs), 'Path': pathlib.Path, 'onp': onp}
    names.update(queue=queue, threading=threading, functools=functools)
    names['new_recorders'] = lambda k: [
        Recorder(f'records-{rank}', (__file__,)) for rank in range(k)
    ]
    for name in ('group', 'work', 'run'):
        exec(sources[name], names)
    return names['run_workers']


@pytest.mark.parametrize(
    'end, place',
    [
        ('pass', 'ended'),
        ('raise SystemExit(0)', 'ended'),
        ('raise SystemExit', 'ended'),
        ('exit()', 'ended'),
        ('raise SystemExit(3)', 'died at end.py:2, SystemExit'),
        ("raise SystemExit('no data')", 'died at end.py:2, SystemExit'),
        ('raise ValueError', 'died at end.py:2, ValueError'),
    ],
)
def test_how_a_worker_of_the_chapter_ends_is_noted(run_workers, end, place):
    pathlib.Path('end.py').write_text(
        f"""import sys; exit = sys.exit; allreduce('w', onp.ones(3))
if rank == 1: {end}
"""
    )
    records, places = run_workers('end.py')
    assert places == {'rank 0': 'ended', 'rank 1': place, 'rank 2': 'ended'}
    assert {rank: len(own) for rank, own in records.items()} == dict.fromkeys(
        places, 1
    )


# Who is out of step?

CASES = {  # records, where each is, and who is out of step
    'skips one': (named(a='glgl', b='glgg', c='glgl'), {}, ['b']),
    'one minibatch less': (
        named(a='ggg', b='gg', c='ggg'),
        {'b': 'ended'},
        ['b'],
    ),
    'two that are late': (
        named(a='ggg', b='gg', c='g'),
        {'b': 'load.py:3', 'c': 'load.py:3'},
        ['c'],
    ),
    'most are late, or one is ahead': (
        named(a='ggg', b='gg', c='gg'),
        {'b': 'load.py:3', 'c': 'load.py:3'},
        [],
    ),
    'one exchange too many': (
        named(a='ggl', b='gg', c='gg'),
        {'a': 'a.py:3', 'b': 'ended', 'c': 'ended'},
        ['a'],
    ),
    'one of two is late': (named(a='gg', b='g'), {'b': 'load.py:3'}, ['b']),
    'one of two has ended': (named(a='gg', b='g'), {'b': 'ended'}, []),
    'two that differ': (named(a='ab', b='ba'), {}, []),
    'one against one': (named(a='a', b='b'), {}, []),
    'three that differ': (named(a='a', b='b', c='c'), {}, []),
    'two against two': (named(a='ga', b='gb', c='ga', d='gb'), {}, []),
    'one differs, one is late': (
        named(a='gg', b='gl', c='gg', d='g'),
        {'d': 'load.py:3'},
        ['b'],
    ),
    'another shape': (
        {
            'a': records_of('g'),
            'b': [records_of('g')[0]._replace(shape='(4,)')],
            'c': records_of('g'),
        },
        {},
        ['b'],
    ),
    'none at all': (named(a='g', b='', c='g'), {}, ['b']),
    'another order': (named(a='abg', b='bag', c='abg'), {}, ['b']),
    'rings that begin later': (
        {
            'a': records_of('gggl', 60),
            'b': records_of('gggg', 60),
            'c': records_of('gggl', 60),
        },
        {},
        ['b'],
    ),
    'far behind, not in the ring': (
        {'a': records_of('gg', 90), 'b': records_of('ggg', 3)},
        {'b': 'load.py:3'},
        ['b'],
    ),
}


def assert_right(case):
    records, places, culprits = CASES[case]
    head, *lines = explain(records, places)
    named_ones = ', '.join(culprits) or 'the records cannot tell who'
    assert head == f'out of step: {named_ones}'
    assert [line.partition(':')[0] for line in lines] == [*records]
    for line, worker in zip(lines, records):
        assert line.endswith(f'now: {places.get(worker, "unknown")}')


@pytest.mark.parametrize('case', CASES)
def test_the_one_out_of_step_is_named(case):
    assert_right(case)


def last_exchanges(records):
    """Take the place of `first_difference`: look at the last of each."""
    return {worker: (own or [None])[-1] for worker, own in records.items()}


@pytest.mark.parametrize(
    'name, wrong',
    [
        ('first_difference', last_exchanges),
        ('find_culprits', lambda records, places: [*records]),
        ('call_of', lambda record: record and record[1]),
    ],
)
def test_a_judgment_that_is_wrong_is_noticed(monkeypatch, name, wrong):
    monkeypatch.setattr(hangs, name, wrong)
    failed = 0
    for case in CASES:
        try:
            assert_right(case)
        except AssertionError:
            failed += 1
    assert failed


@pytest.mark.parametrize('field', ['name', 'shape', 'dtype'])
def test_what_must_be_alike(field):
    records = named(a='ggg', b='ggg', c='ggg')
    records['c'][1] = records['c'][1]._replace(**{field: 'other'})
    different = first_difference(records)
    assert find_culprits(different, {}) == ['c']
    assert {record.number for record in different.values()} == {1}


@pytest.mark.parametrize('field', ['line', 'begun', 'ended'])
def test_what_may_differ(field):
    records = named(a='ggg', b='ggg')
    records['b'][1] = records['b'][1]._replace(**{field: 99})
    assert first_difference(records) is None
    assert explain(records, {})[0] == 'all have called the same exchanges'


def test_no_records_are_no_difference():
    assert first_difference({'a': [], 'b': []}) is None
    assert explain({'a': [], 'b': []}, {})[1:] == [
        'a: nothing more; now: unknown',
        'b: nothing more; now: unknown',
    ]


def assert_planted_mistakes_are_found(seed):
    """Any job: as many workers, exchanges and mistakes as a seed says."""
    rng = random.Random(seed)
    k, number = rng.randrange(3, 9), rng.randrange(1, 150)
    names = rng.choices('abc', k=number + 2)
    wrong, kind = rng.randrange(k), rng.choice(['skip', 'other', 'stop'])
    records = {}
    for rank in range(k):
        own = names[:number]  # then all but one call the last but one
        if rank != wrong:
            own = [*own, names[-2]]
        elif kind != 'stop':
            own = [*own, 'next' if kind == 'skip' else 'other']
        first = max(0, len(own) - SLOTS)
        records[rank] = records_of(own[first:], first)
    different = first_difference(records)
    assert find_culprits(different, {wrong: 'load.py:3'}) == [wrong]
    assert {record.number for record in different.values() if record} == {
        number
    }


@pytest.mark.parametrize('seed', range(40))
def test_planted_mistakes_are_found(seed):
    assert_planted_mistakes_are_found(seed)


# Who slows the job down?


def assert_waits(late):
    begins = {'a': [0, 2, 4, 6], 'b': [0, 2 + late, 4, 6], 'c': [1, 2, 4, 6]}
    records = {
        worker: [
            own._replace(begun=float(moment))
            for own, moment in zip(records_of('glgg'), moments)
        ]
        for worker, moments in begins.items()
    }
    assert waiting_times(records) == {'a': 1 + late, 'b': 1, 'c': late}
    records['b'].pop()
    records['c'].pop(0)
    assert waiting_times(records) == {'a': late, 'b': 0, 'c': late}


@pytest.mark.parametrize('late', [0, 0.5, 1])
def test_waiting_times(late):
    assert_waits(late)


# Where is a process, by the word that it left?

WORD = """Timeout (0:00:05)!
Thread 0x00007f1 (most recent call first):
  File "/a/loader.py", line 3 in fill
  File "{lib}threading.py", line 9 in run

Thread 0x00007f2 (most recent call first):
  File "{lib}queue.py", line 170 in get
  File "/a/my train.py", line 14 in step
  File "/a/main.py", line 2 in <module>
  File "<frozen runpy>", line 88 in _run_code
"""
WORD = WORD.replace('{lib}', hangs.library_folders()[0])
NO_WORD = 'no word: is it stopped, or gone?'


@pytest.mark.parametrize(
    'word, seconds_ago, ended, place',
    [
        (WORD, 99, True, 'my train.py:14'),
        (WORD, 99, False, 'my train.py:14'),
        (WORD + 'ended', 99, True, 'ended'),
        ('ended', 1, True, 'ended'),
        ('', 99, True, NO_WORD),
        ('', 99, False, NO_WORD),
        ('', 1, False, 'a.py:0'),  # it waits, and its time is not over
        ('', None, True, NO_WORD),
        (WORD.rpartition('  File "/a/my')[0], 99, True, NO_WORD),
    ],
)
def test_where_a_process_is_by_its_word(word, seconds_ago, ended, place):
    own = []
    if seconds_ago is not None:
        begun = time.time() - seconds_ago
        own = [records_of('g')[0]._replace(begun=begun, ended=ended or None)]
    assert find_place(word, own, limit=5) == place
