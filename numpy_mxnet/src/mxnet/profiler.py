"""`mx.profiler`: when each device ran which operator, as a file for Chrome."""

import json
import pathlib
from typing import Any, Dict

from . import engine
from .base import missing

COPIES = {'_copyto': 'CopyCPU2CPU'}  # as MXNet's profiler calls them
settings: Dict[str, Any] = {'filename': 'profile.json'}


def set_config(**options: Any) -> None:
    """Set the file's name, `filename`."""
    settings.update(options)


def set_state(state: str = 'stop') -> None:
    """Begin to note operators ('run'), or stop."""
    with engine.state.lock:
        if state == 'run':
            engine.state.trace = []
        else:
            settings['trace'], engine.state.trace = engine.state.trace, None


def dump(finished: bool = True) -> None:
    """Write the file: the beginning and the end of each operator, in µs."""
    events = []
    for name, device, *times in settings.get('trace') or ():
        name = COPIES.get(name, name)
        for kind, seconds in zip('BE', times):
            events.append({
                'name': name, 'ph': kind, 'ts': seconds * 1e6,
                'pid': device.device_id, 'tid': device.device_id,
            })  # fmt: skip
    text = json.dumps({'traceEvents': events})
    pathlib.Path(settings['filename']).write_text(text)


__getattr__ = missing('mxnet.profiler')
