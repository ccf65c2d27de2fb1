"""The long version of chapter 10's experiments, for one seed.

It runs the chapter's own cells, those tagged "benchmark".
"""

from .tagged_cells import run_tagged

MARKS = (10, 20, 40, 80, 160, 240)  # steps


def measure(trial):
    """Return [bytes, accuracy, loss] at each mark, for each method."""
    chapter, seed = run_chapter(), trial['seed']
    steps = {
        name: (step, 0)
        for name, step in {**chapter['METHODS'], **chapter['WITHOUT']}.items()
    }
    return {
        name: chapter['run'](
            step, seed, each, [mark for mark in MARKS if mark >= each]
        )
        for name, (step, each) in {**steps, **chapter['ROUNDS']}.items()
    }


def run_chapter():
    """Return the names that the chapter's tagged cells leave behind."""
    from d2lmulti.communication import compression

    return run_tagged('compression', {**vars(compression)})
