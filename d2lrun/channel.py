"""A worker's connection between two nodes of a job: see `rendezvous`."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from typing import Any, Iterator

from .events import MAX_EVENT, read_lines

MAX_HELLO = 4096  # bytes of the first message


class Channel:
    """A connection between the launchers of two nodes, for one worker.

    On the first node it takes the place of the agent's process: what is
    written into it reaches the agent, and its lines are the agent's.
    """

    GONE = '"gone"\n'  # what the other node sends when the agent has ended
    pid = None

    def __init__(self, connection: socket.socket) -> None:
        self.connection, self.lock = connection, threading.Lock()
        self.lines = connection.makefile('r', errors='replace')
        self.stdin = self.stdout = self
        self.host, self.address, self.devices = '', '', None  # of that node
        self.is_running = self.is_lost = False

    def write(self, text: str) -> None:
        """Send a text; OSError if the other side is gone."""
        with self.lock:
            self.connection.sendall(text.encode())

    def flush(self) -> None:
        """Do nothing: all has been sent."""

    close = flush  # the agent ends, the connection stays

    def receive(self) -> Any:
        """Return the next message; None: there is none, or no such."""
        try:
            return json.loads(self.lines.readline(MAX_EVENT))
        except (OSError, ValueError, RecursionError):
            return None

    def receive_soon(self, seconds: float) -> Any:
        """Return the first message, if it comes in time, is short, and
        nothing follows it; None otherwise. Strangers get no more time if
        they are slow."""
        deadline, data = time.monotonic() + seconds, b''
        with contextlib.suppress(OSError, ValueError, RecursionError):
            while not data.endswith(b'\n') and len(data) < MAX_HELLO:
                left = deadline - time.monotonic()
                self.connection.settimeout(max(left, 0.001))
                part = self.connection.recv(MAX_HELLO)
                if not part:
                    return None
                data += part
            return json.loads(data)
        return None

    def __iter__(self) -> Iterator[str]:
        """Yield the lines of the agent that runs."""
        with contextlib.suppress(OSError, ValueError):
            for line in read_lines(self.lines):
                if line == self.GONE:
                    break
                yield line
            else:
                self.is_lost = True
        self.is_running = False

    def poll(self) -> int | None:
        """Return 0 unless an agent runs, as if it were its process."""
        return None if self.is_running else 0

    wait = poll

    def kill(self) -> None:
        """End the connection, and so the agent."""
        self.is_running, self.is_lost = False, True
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def free(self) -> None:
        """End a connection that nobody reads, and close its descriptor now:
        the garbage collector may take its time."""
        self.kill()
        with contextlib.suppress(OSError):
            self.lines.close()
            self.connection.close()
