"""Start the processes of a distributed job, and watch them."""

from .job import JobFailed, launch
from .watch import Limits

__all__ = ['JobFailed', 'Limits', 'launch']
