"""The process of one trial; prints its result as a line of JSON.

`python -m tools.speed.worker '{"peer": "ours", "devices": 2, …}'`
"""

import importlib.metadata
import json
import pathlib
import runpy
import sys

from . import tasks
from .peers import load_trainer
from .peers.processes import slowest

# Some peers use MXNet without d2lmulti. This alone changes no setting.
PREPARE = pathlib.Path(__file__).parents[2] / 'd2lmulti' / 'prepare'
runpy.run_path(str(PREPARE / 'newer_python.py'))['install']()


def run(trial):
    """Run the trial that a dictionary describes; return its result."""
    if trial['task'] not in tasks.OF_PEERS:
        import d2lmulti  # noqa: F401  it prepares the process before MXNet

        return tasks.load(trial['task'])(trial)
    trainer = load_trainer(trial['peer'])
    result = slowest(trainer.start(trial))
    version = importlib.metadata.version(trainer.package)
    return {**result, 'version': f'{trainer.package} {version}'}


if __name__ == '__main__':
    print(json.dumps(run(json.loads(sys.argv[1]))))
