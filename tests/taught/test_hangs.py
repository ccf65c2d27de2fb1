"""The flight recorder, and who is out of step by its records."""

import functools
import itertools
import os
import pathlib
import queue
import random
import signal
import subprocess
import sys
import threading

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
    first_difference,
    parse_records,
    waiting_times,
)

ROOT = pathlib.Path(__file__).parents[2]


def records_of(names, first=0, begun=0.0):
    """Return records of exchanges with these names, a second apart."""
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


@pytest.mark.parametrize('is_mac', [False, True])
def test_a_ring_has_its_room_on_the_disk_from_the_start(
    tmp_path, monkeypatch, is_mac
):
    """Or writing a record on a full disk would kill the worker."""
    if is_mac:
        monkeypatch.delattr(os, 'posix_fallocate', raising=False)
    written = tmp_path / 'written'
    written.write_bytes(bytes(SIZE * SLOTS))
    with open(written) as file:
        os.fsync(file)
    assert_ring_keeps_the_last(tmp_path / 'ring', 0)
    found = (tmp_path / 'ring').stat()
    assert found.st_size == SIZE * SLOTS
    assert found.st_blocks >= written.stat().st_blocks


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
        'import os, signal, sys\n'
        f'sys.path.insert(0, {str(ROOT / "d2lrun")!r})\n'
        'from records import Recorder\n'
        f'recorder = Recorder({str(tmp_path / "ring")!r}, ())\n'
        'recorder.end(recorder.begin("first", (2,), "float32"))\n'
        'recorder.begin("second", (3,), "float32")\n'
        'os.kill(os.getpid(), signal.SIGKILL)\n'
    )
    ended = subprocess.run([sys.executable, '-c', script], timeout=60)
    assert ended.returncode == -signal.SIGKILL
    first, second = read(tmp_path / 'ring')
    assert (first.name, first.line) == ('first', '<string>:5')
    assert (second.name, second.ended) == ('second', None)


@pytest.mark.parametrize('name', ['x' * 900, '梯度' * 99, '"\\\n' * 99, ''])
def test_a_long_or_strange_name_fits_into_its_slot(
    tmp_path, monkeypatch, name
):
    recorder = Recorder(tmp_path / 'ring', ())
    monkeypatch.setattr(hangs, 'find_caller', lambda library: name)
    recorder.begin(name, tuple(range(900)), 'float32' * 99)
    recorder.begin('after', (), 'float32')
    assert os.path.getsize(tmp_path / 'ring') == SIZE * SLOTS
    long, after = read(tmp_path / 'ring')
    assert name.startswith(long.name) and after.name == 'after'


def test_what_is_no_record_is_left_out(tmp_path):
    recorder = Recorder(tmp_path / 'ring', ())
    for name in 'abc':
        recorder.begin(name, (), 'float32')
    data = bytearray((tmp_path / 'ring').read_bytes())
    data[SIZE : SIZE + 30] = b'\xff[1, 2' * 5  # one that is being written
    assert [record.name for record in parse_records(bytes(data))] == ['a', 'c']
    for junk in (b'', b'\n\n', b'null\n', b'[1]\n', b'{"a": 1}\n', b'7'):
        assert parse_records(junk) == []


def test_the_launcher_has_the_same_recorder():
    copies = ['d2lmulti/cluster/hangs.py', 'd2lrun/records.py']
    first, second = [(ROOT / path).read_text() for path in copies]
    assert first == second, 'run make export'


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
        Recorder(f'{rank}', (__file__,)) for rank in range(k)
    ]
    names['read_ranks'] = lambda k: {
        f'rank {rank}': read(pathlib.Path(f'{rank}')) for rank in range(k)
    }
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

CASES = {  # records, where each is, who is out of step, and in which exchange
    'skips one': (
        named(a='glgl', b='glgg', c='glgl'),
        {},
        (3, ['b']),
    ),
    'one minibatch less': (
        named(a='ggg', b='gg', c='ggg'),
        {'b': 'ended'},
        (2, ['b']),
    ),
    'two that are late': (
        named(a='ggg', b='gg', c='g'),
        {'b': 'load.py:3', 'c': 'load.py:3'},
        (1, ['c']),
    ),
    'most are late': (
        named(a='ggg', b='gg', c='gg'),
        {'b': 'load.py:3', 'c': 'load.py:3'},
        (2, ['b', 'c']),
    ),
    'one exchange too many': (
        named(a='ggl', b='gg', c='gg'),
        {'a': 'a.py:3', 'b': 'ended', 'c': 'ended'},
        (2, ['a']),
    ),
    'one of two has ended': (
        named(a='gg', b='g'),
        {'b': 'ended'},
        (1, ['b']),
    ),
    'two that differ': (named(a='ab', b='ba'), {}, (0, ['a', 'b'])),
    'three that differ': (
        named(a='a', b='b', c='c'),
        {},
        (0, ['a', 'b', 'c']),
    ),
    'one differs, one is late': (
        named(a='gg', b='gl', c='gg', d='g'),
        {'d': 'load.py:3'},
        (1, ['b']),
    ),
    'none at all': (named(a='g', b='', c='g'), {}, (0, ['b'])),
    'rings that begin later': (
        {
            'a': records_of('gggl', 60),
            'b': records_of('ggggl', 59),
            'c': records_of('ggggg', 59),
        },
        {},
        (63, ['c']),
    ),
    'far behind, not in the ring': (
        {'a': records_of('gg', 90), 'b': records_of('ggg', 3)},
        {'b': 'load.py:3'},
        (90, ['b']),
    ),
}


def assert_right(case):
    records, places, (number, culprits) = CASES[case]
    found_number, found = first_difference(records)
    assert found_number == number
    assert find_culprits(found, places) == culprits
    lines = explain(records, places)
    assert lines[0] == (
        f'out of step in exchange {number}: {", ".join(culprits)}'
    )
    assert [line.partition(':')[0] for line in lines[1:]] == [*records]
    for line, place in zip(lines[1:], map(places.get, records)):
        assert line.endswith(f'now: {place or "unknown"}')


@pytest.mark.parametrize('case', CASES)
def test_the_one_out_of_step_is_named(case):
    assert_right(case)


@pytest.mark.parametrize('field', ['name', 'shape', 'dtype'])
def test_what_must_be_alike(field):
    records = named(a='ggg', b='ggg', c='ggg')
    records['c'][1] = records['c'][1]._replace(**{field: 'other'})
    number, found = first_difference(records)
    assert (number, find_culprits(found, {})) == (1, ['c'])


@pytest.mark.parametrize('field', ['line', 'begun', 'ended'])
def test_what_may_differ(field):
    records = named(a='ggg', b='ggg')
    records['b'][1] = records['b'][1]._replace(**{field: 99})
    assert first_difference(records) is None
    assert explain(records, {})[0] == 'all have called the same exchanges'


def test_no_records_are_no_difference():
    assert first_difference({'a': [], 'b': []}) is None
    assert explain({'a': [], 'b': []}, {})[1:] == [
        'a: 0 exchanges, is at None',
        'b: 0 exchanges, is at None',
    ]


def assert_planted_mistakes_are_found(seed):
    """Any job: as many workers, exchanges and mistakes as a seed says."""
    rng = random.Random(seed)
    k, number = rng.randrange(3, 9), rng.randrange(1, 150)
    names = [rng.choice('abc') for _ in range(number + 1 + rng.randrange(9))]
    wrong = rng.randrange(k)
    others = [*names, 'end']
    kind = rng.choice(['skip', 'other', 'swap', 'stop'])
    own = names[:number]
    if kind == 'other':
        own += ['other']
    elif kind == 'skip':
        own += [*names[number + 1 :], 'end']
    elif kind == 'swap':
        own += ['end', *names[number:]]
    kept = max(len(others), len(own)) - SLOTS
    records = {
        rank: records_of(others if rank != wrong else own) for rank in range(k)
    }
    records = {
        r: own[max(0, len(own) - SLOTS) :] for r, own in records.items()
    }
    expected = next(
        i
        for i, (a, b) in enumerate(itertools.zip_longest(others, own))
        if a != b
    )
    found_number, found = first_difference(records)
    assert found_number == max(expected, kept)
    assert find_culprits(found, {wrong: 'ended'}) == [wrong]


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
    assert waiting_times(records, 'l') == {'a': late, 'b': 0, 'c': late}
    records['b'].pop()
    records['c'].pop(0)
    assert waiting_times(records) == {'a': late, 'b': 0, 'c': late}


@pytest.mark.parametrize('late', [0, 0.5, 1])
def test_waiting_times(late):
    assert_waits(late)
