"""What holds for all tests."""

import atexit
import functools
import os
import re

import d2lmulti  # noqa: F401  before any test imports MXNet

# isort: split
import hypothesis
import pytest
from helpers import HAS_FRAMEWORKS
from xdist.scheduler import LoadFileScheduling

from tools.notebooks import name_of, stems
from tools.notebooks.cells import small_source

# A test that takes longer on a busy machine is not wrong.
hypothesis.settings.register_profile('any machine', deadline=None)
hypothesis.settings.load_profile('any machine')

collect_ignore = [] if HAS_FRAMEWORKS else ['frameworks']

# Files that take longest: first, or the other processes would wait for them
# at the end. Chapters come next, then the other tests.
SLOW = [
    'test_cluster',
    'test_jobs',
    'test_programs',
    'test_yours',
    'test_determinism',
    'test_right_steps',
]


class ByFile(LoadFileScheduling):
    """Files stay together, but the exercises of a chapter are a file each."""

    def _split_scope(self, nodeid):
        file = nodeid.split('::')[0]
        return nodeid.split('[')[-1] if 'test_exercises' in file else file


def pytest_xdist_make_scheduler(config, log):
    return ByFile(config, log)


def pytest_configure(config):
    """Keep pytest-xdist from changing the order below; add a mark for each
    chapter, with which pytest runs notebooks, too."""
    config.option.loadscopereorder = False
    wanted = config.option.markexpr
    for number, stem in stems().items():
        mark = (
            f'{name_of(stem)}: tests, notebook, exercises of chapter {number}'
        )
        config.addinivalue_line('markers', mark)
        if re.search(rf'\b{name_of(stem)}\b', wanted):
            config.option.nbval = config.option.nbval_current_env = True
            config.option.nbval_cell_timeout = 400
            if 'long' not in wanted:  # it replaces pyproject.toml's -m
                config.option.markexpr = f'({wanted}) and not long'


def place(item):
    """Return how early an item begins: smaller is earlier."""
    if item.path.stem in SLOW:
        return SLOW.index(item.path.stem)
    return len(SLOW) + (item.path.suffix != '.ipynb')


@functools.lru_cache(maxsize=None)
def chapter_names():
    """Return {stem of a notebook: name of its chapter}."""
    return {stem: name_of(stem) for stem in stems().values()}


def chapter_of(path, case):
    """Return the name of the chapter that a test or cell is about, or None.

    `case`: what stands in brackets after the test's name, if anything does.
    """
    names = chapter_names()
    tested = path.stem[len('test_') :]
    if path.parent.name == 'taught' and tested in names.values():
        return tested
    return names.get(path.stem) or names.get(case)


@pytest.hookimpl(tryfirst=True)  # before pytest selects by marks
def pytest_collection_modifyitems(items):
    """Begin with the slowest files; mark each chapter's; make cells small if
    asked to."""
    items.sort(key=place)
    for item in items:
        case = item.nodeid.split('[')[-1].rstrip(']')
        if chapter := chapter_of(item.path, case):
            item.add_marker(chapter)
    if os.environ.get('D2LMULTI_SMALL') == '1':
        for item in items:
            if hasattr(item, 'cell'):  # of a notebook
                item.cell.source = small_source(item.cell)


@pytest.hookimpl(optionalhook=True)
def pytest_handlecrashitem(crashitem):
    """Name a test that a process did not survive as the last line of all."""
    atexit.register(print, f'a process of the tests ended in {crashitem}')
