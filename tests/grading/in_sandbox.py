"""Many answers, each judged in the sandbox."""

from concurrent.futures import ThreadPoolExecutor

from grading import grading, sandbox
from grading.sandbox import run_answers


def graded(sources, checks, before, function, judged=()):
    """Return {name: outcome} of sources; `checks` and `judged` as in a job."""
    kept = sandbox.Kept()

    def run(item):
        job = {
            **{'id': item[0], 'function': function, 'sources': [item[1]]},
            **{'checks': checks, 'judged': judged},
        }
        more = grading.SECRET_FOLDERS, kept
        return run_answers(before, [job], 20, 3000, *more)

    found = {}
    with ThreadPoolExecutor(2) as pool:
        for one in pool.map(run, sources.items()):
            found.update(one)
    kept.close()
    return found
