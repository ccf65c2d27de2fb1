"""Takes the place of MXNet where a test is about the launcher alone.

Importing it takes milliseconds instead of two seconds. It knows just what
the tests' scripts use; how its stores behave is told in `kvstore.kvstore`.
"""

from . import kvstore as kv  # noqa: F401
from . import np, npx  # noqa: F401
