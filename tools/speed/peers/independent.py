"""The upper bound: independent processes, one per device, no allreduce."""

from . import ours
from .processes import start_processes


class Trainer(ours.Trainer):
    """This project on one device, in each of several processes."""

    start = staticmethod(start_processes)
