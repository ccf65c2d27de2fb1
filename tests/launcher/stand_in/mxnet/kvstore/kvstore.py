"""A key-value store that looks to the launcher as MXNet's does.

Servers and workers connect to the scheduler and keep the connection: at its
port, or if DMLC_LOCAL is 1, at a file; then each also has one. Ranks
go by address, the last one as a text first, and on one address by port.
What a worker pushes is added to what the others push as often by this name,
with this shape and dtype; in `pull` it waits for that sum, in `init` and at a
barrier for all others, and when its store is freed until all stores are. Who
waits for a process that is gone waits without end.
"""

import collections
import json
import os
import socket
import threading
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
        self.lines = connection.makefile('r')
        self.out, self.lock = connection.makefile('w'), threading.Lock()

    def send(self, message):
        try:
            with self.lock:
                self.out.write(f'{json.dumps(message)}\n')
                self.out.flush()
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
    sums = Sums(len(channels['worker']))
    threads = [
        threading.Thread(target=sums.serve, args=(worker,))
        for worker in channels['worker']
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
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


class Sums:
    """What the workers have pushed, by its name and how often before."""

    def __init__(self, num_workers):
        self.num_workers = num_workers
        self.pushed = collections.defaultdict(list)
        self.changed = threading.Condition()

    def serve(self, worker):
        """Take what a worker pushes, and send it the sums for which it
        asks, until all have arrived and all stores are freed."""
        name, own = '', []
        while name is not FREED:
            name, array = worker.receive() or (FREED, [])
            if array is not None:
                with self.changed:
                    self.pushed[name].append(array)
                    self.changed.notify_all()
                own.append(name)
            if array is None:
                worker.send(self.wait_for(name))
        for name in own:
            self.wait_for(name)
        worker.send(FREED)

    def wait_for(self, name):
        """Return a sum as soon as all workers have pushed."""
        with self.changed:
            arrays = self.pushed[name]
            self.changed.wait_for(lambda: len(arrays) == self.num_workers)
        return [*map(sum, zip(*arrays))]


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
        self.turns, self.pushed = collections.Counter(), {}

    def init(self, key, value):
        self.meet(f'init {key}', [])

    def push(self, key, value):
        what = f'{key} {value.shape} {value.dtype} {self.turns[key]}'
        self.turns[key] += 1
        self.pushed[key] = what
        self.channel.send([what, [*value]])

    def pull(self, key, out):
        if key in self.pushed:  # else it is what `init` has made
            self.channel.send([self.pushed[key], None])
            out[:] = self.channel.receive()

    def pushpull(self, key, value, out):
        self.push(key, value)
        self.pull(key, out)

    def broadcast(self, key, value, out):
        self.meet(f'broadcast {key}', value)

    def _barrier(self):
        self.meet('barrier', [])

    def meet(self, what, value):
        """Wait for what all workers have."""
        self.turns[what, None] += 1
        what = f'{what} {self.turns[what, None]}'
        self.channel.send([what, [*value]])
        self.channel.send([what, None])
        self.channel.receive()

    def __del__(self, getpid=os.getpid, sleep=time.sleep):
        """Wait for the others; modules may have been cleared already."""
        while getpid() != self.owner:  # a forked child: nobody answers it
            sleep(60)
        self.channel.out.write('null\n')
        self.channel.out.flush()
        while not self.channel.lines.readline():
            sleep(60)
