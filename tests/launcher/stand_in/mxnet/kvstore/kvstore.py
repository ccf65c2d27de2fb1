"""A key-value store that looks to the launcher as MXNet's does.

Servers and workers connect to the scheduler and keep the connection: at its
port, or if DMLC_LOCAL is 1, at a file; then each also has one. Ranks
go by address, the last one as a text first, and on one address by port. A
worker waits in `pull` until every other has pushed, and when its store is
freed until all stores are. Who waits for a process that is gone waits
without end.
"""

import json
import os
import socket
import time

ADDRESS = (
    os.environ.get('DMLC_PS_ROOT_URI'),
    int(os.environ.get('DMLC_PS_ROOT_PORT', 0)),
)
LOCAL = os.environ.get('DMLC_LOCAL') == '1'
FREED = None  # what a worker sends last


class Channel:
    """Sends and receives JSON lines; the other side may be gone."""

    def __init__(self, connection):
        self.lines = connection.makefile('rw')

    def send(self, message):
        try:
            self.lines.write(f'{json.dumps(message)}\n')
            self.lines.flush()
        except OSError:
            pass

    def receive(self):
        try:
            line = self.lines.readline()
        except OSError:
            line = ''
        while not line:
            time.sleep(60)
        return json.loads(line)


def schedule():
    """Add what the workers push, until all have freed their stores."""
    channels = {
        kind: [None] * int(os.environ[f'DMLC_NUM_{kind.upper()}'])
        for kind in ('worker', 'server')
    }
    listener = (
        listen(ADDRESS[1])
        if LOCAL
        else socket.create_server(ADDRESS, backlog=99)
    )
    while None in channels['worker'] + channels['server']:
        channel = Channel(listener.accept()[0])
        kind, channel.address, channel.port = channel.receive()
        channels[kind][channels[kind].index(None)] = channel
    channels['worker'].sort(key=lambda channel: channel.port)
    channels['worker'].sort(key=lambda channel: channel.address, reverse=True)
    for rank, worker in enumerate(channels['worker']):
        worker.send(rank)
    total = []
    while total is not FREED:
        total = add([worker.receive() for worker in channels['worker']])
        for worker in channels['worker']:
            worker.send(total)
    for server in channels['server']:
        server.send(FREED)


def listen(port):
    """Return a socket that takes the place of a file, as with MXNet."""
    path = f'/tmp/{port}'
    if os.path.exists(path):
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(99)
    return listener


def dial():
    """Return a connection to the scheduler."""
    if not LOCAL:
        return socket.create_connection(ADDRESS)
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(f'/tmp/{ADDRESS[1]}')
    return connection


def add(pushed):
    """Return the sum of arrays, or FREED if all are that."""
    while FREED in pushed and set(map(type, pushed)) != {type(FREED)}:
        time.sleep(60)  # who has freed its store will never push
    return FREED if FREED in pushed else [*map(sum, zip(*pushed))]


def connect():
    """Return a channel to the scheduler, as soon as it listens."""
    own = listen(os.environ['PORT']) if LOCAL else None
    while True:
        try:
            channel = Channel(dial())
        except OSError:
            time.sleep(0.05)
        else:
            channel.own = own
            kind, address, port = map(
                os.environ.get, ('DMLC_ROLE', 'DMLC_NODE_HOST', 'PORT')
            )
            channel.send([kind, address or '', int(port or 0)])
            return channel


class KVStore:
    type = 'dist_sync'

    def __init__(self):
        self.owner, self.channel = os.getpid(), connect()
        self.rank = self.channel.receive()

    def init(self, key, value):
        pass

    def push(self, key, value):
        self.channel.send(value)

    def pull(self, key, out):
        out[:] = self.channel.receive()

    def __del__(self, getpid=os.getpid, sleep=time.sleep):
        """Wait for the others; modules may have been cleared already."""
        while getpid() != self.owner:  # a forked child: nobody answers it
            sleep(60)
        lines = self.channel.lines
        lines.write('null\n')
        lines.flush()
        while not lines.readline():
            sleep(60)
