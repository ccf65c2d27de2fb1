"""How long training waits for a checkpoint."""

import tempfile

from .on_devices import seconds_in_turn


def measure(trial):
    """Return the seconds to write a checkpoint of LeNet in `folder`."""
    import d2lmulti
    from d2lmulti.checkpoint import Checkpoint, save_checkpoint

    state = Checkpoint(d2lmulti.init_params())
    with tempfile.TemporaryDirectory(dir=trial['folder']) as folder:
        return seconds_in_turn(
            {'checkpoint': lambda: save_checkpoint(folder, state)},
            num_rounds=20,
        )
