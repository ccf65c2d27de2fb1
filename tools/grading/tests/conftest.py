"""What the tests of grading share."""

import fcntl

import course
import pytest


@pytest.fixture(scope='session')
def released(tmp_path_factory, worker_id):
    """The folder of a course with its assignment, to be copied: made once for
    all processes of the tests, since nbgrader needs seconds."""
    pytest.importorskip('nbgrader', reason='make grading')
    base = tmp_path_factory.getbasetemp()
    base = base if worker_id == 'master' else base.parent
    with open(base / 'released.lock', 'w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (base / 'released').exists():
            course.make_released(base / 'unfinished')
            (base / 'unfinished').rename(base / 'released')
    return base / 'released'
