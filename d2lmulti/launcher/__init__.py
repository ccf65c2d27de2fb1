"""Start the processes of a distributed job, and watch them."""

from .job import launch
from .rendezvous import Node
from .report import JobFailed
from .watch import Limits

__all__ = ['JobFailed', 'Limits', 'Node', 'launch']
