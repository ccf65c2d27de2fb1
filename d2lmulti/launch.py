"""Start a scheduler, servers and workers, here or on other hosts, and end
all of them as soon as one fails.

MXNet's distributed key-value store waits for ever for a process that is
gone. So whoever starts its processes must watch every one. Each role runs
under an agent (`agent.py`), which tells what happens to it and leaves no
process behind, even when this process is killed.
"""
import collections
import contextlib
import json
import os
import pathlib
import queue
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import psutil

from . import runtime
from .agent import CONTACT, GRACE

AGENT = pathlib.Path(__file__).with_name('agent.py')
HOOKS = pathlib.Path(__file__).with_name('hooks')
SSH = ('ssh -o BatchMode=yes -o ConnectTimeout=5 -o ControlPath=none '
       '-o ServerAliveInterval=2 -o ServerAliveCountMax=3')
# What the roles on other hosts see of this environment.
PASSED_ON = ('D2LMULTI_', 'DMLC_', 'MXNET_', 'OMP_', 'PS_', 'PYTHON')
DEFAULTS = {**runtime.SETTINGS,
            # Arrays of so many numbers are cut into a part for each server.
            'MXNET_KVSTORE_BIGARRAY_BOUND': '10000'}
TAIL = 15  # lines of a log that are shown when its role fails
# What MXNet 2 says once in each process; no variable turns it off.
NOTICE = re.compile(r'\[[\d:]+\] \S*storage\.cc:\d+: Using .* StorageManager ')
IDLE = 0.02  # seconds of processor time in a second that are no progress

Limits = collections.namedtuple('Limits', 'startup progress exit total')
LIMITS = Limits(startup=120, progress=300, exit=5, total=None)


class JobFailed(RuntimeError):
    """A role of the job ended badly or too early, or a limit passed."""


def launch(command, workers=2, servers=1, hosts=None, limits=LIMITS,
           log_dir=None, restarts=0, port=0, ssh=SSH, show=print):
    """Run `command` in every worker of a distributed job, to the end.

    `command`: a list of strings. `hosts`: a list of (name, slots), which are
    reached with `ssh` and have this package, Python and the current folder
    at the same places; by default, this machine. `limits`: seconds until all
    have joined, without progress, from the first end to the last, and for
    all (None: no limit). `show` gets each line of output. `restarts`: how
    often a failed job is started again; the command continues from a
    checkpoint, if it wrote one.

    Raises TypeError or ValueError for arguments that cannot work, JobFailed
    if the job failed. In every case, no process of it remains.
    """
    check(command, workers, servers, hosts, limits, restarts, port)
    make_roles(command, workers, servers, hosts)  # raises if it cannot
    limits = Limits(*(float('inf') if seconds is None else seconds
                      for seconds in limits))
    folder = pathlib.Path(log_dir or tempfile.mkdtemp(prefix='d2lmulti-'))
    folder.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + limits.total
    for attempt in range(restarts + 1):
        roles = make_roles(command, workers, servers, hosts)
        try:
            run(roles, limits, deadline, folder, port, ssh, show)
            if log_dir is None:  # nobody will look for these logs
                shutil.rmtree(folder, ignore_errors=True)
            return
        except JobFailed as error:
            if attempt == restarts or time.monotonic() > deadline:
                raise
            show(f'launch: {error}')
            show(f'launch: starting again ({attempt + 1} of {restarts})')


def check(command, workers, servers, hosts, limits, restarts, port):
    """Raise TypeError or ValueError for arguments that cannot work."""
    if isinstance(command, str) or not command:
        raise TypeError('command must be a list such as [\'python\', '
                        f'\'train.py\'], not {command!r}')
    for name, number, least in (('workers', workers, 1),
                                ('servers', servers, 1),
                                ('restarts', restarts, 0)):
        if not isinstance(number, int) or number < least:
            raise ValueError(f'{name} must be a whole number of at least '
                             f'{least}, not {number!r}')
    if not isinstance(port, int) or not 0 <= port < 65536:
        raise ValueError(f'port must be 0 (any) to 65535, not {port!r}')
    for name, seconds in limits._asdict().items():
        if seconds is not None and not seconds > 0:
            raise ValueError(f'the limit {name} must be above 0 seconds, '
                             f'not {seconds!r}')
    if hosts is not None and workers > sum(slots for _, slots in hosts):
        raise ValueError(
            f'{workers} workers, but the hosts have only '
            f'{sum(slots for _, slots in hosts)} slots: add hosts or slots')


def read_hosts(path):
    """Return (name, slots) for each line of a file: `name [slots]`.

    Raises OSError if it cannot be read, ValueError for a line that is
    something else, and if there is none.
    """
    hosts = []
    for number, line in enumerate(
            pathlib.Path(path).read_text().splitlines(), 1):
        name, *slots = line.partition('#')[0].split() or ['']
        if not name:
            continue
        if len(slots) > 1 or not ''.join(slots or '1').isdecimal() or \
                name.startswith('-'):
            raise ValueError(f'{path}, line {number}: {line!r} is no host; '
                             'write a name and its slots, such as "node1 2"')
        hosts.append((name, int(slots[0]) if slots else 1))
    if not hosts:
        raise ValueError(f'{path} names no host: write one a line, with its '
                         'slots, such as "node1 2"')
    return hosts


class Role:
    """One process of the job, and what is known about it."""
    def __init__(self, kind, number, host, command, environment):
        self.kind, self.host, self.command = kind, host, command
        self.name = kind if kind == 'scheduler' else f'{kind}-{number}'
        self.environment = environment
        self.agent = None        # the process that runs it
        self.listener = None     # the thread that hears it
        self.joined = False      # the scheduler
        self.stopped = None      # since when, by SIGSTOP
        self.busy = 0            # when it was last seen to compute
        self.ending = None       # when it ended or began to
        self.status = None       # how it ended: as subprocess.Popen tells
        self.failure = None      # why it could not be started or watched
        self.cpu = 0             # seconds used
        self.heard = None        # when its agent last said something
        self.tail = collections.deque(maxlen=TAIL)

    def __str__(self):
        return f'{self.name} on {self.host or "this machine"}'


def make_roles(command, workers, servers, hosts):
    """Return the roles: the scheduler, the servers, the workers."""
    hosts = hosts or [(None, workers)]
    names = [name for name, _ in hosts]
    slots = [name for name, count in hosts for _ in range(count)]
    address = {name: find_address(name) for name in names}
    if len(address) > 1:
        for name, found in address.items():
            check_reachable(name, found)
    serve = [sys.executable, '-c', 'import mxnet']
    python_path = os.pathsep.join(
        [str(HOOKS), *filter(None, [os.environ.get('PYTHONPATH')])])
    places = [('scheduler', 0, names[0])]
    places += [('server', i, names[i % len(names)]) for i in range(servers)]
    places += [('worker', i, slots[i]) for i in range(workers)]
    roles = []
    for index, (kind, number, host) in enumerate(places):
        environment = role_environment(index, workers, servers,
                                       address[names[0]])
        environment['DMLC_NODE_HOST'] = address[host]
        if kind == 'worker':
            environment['PYTHONPATH'] = python_path
        roles.append(Role(kind, number, host,
                          list(command) if kind == 'worker' else serve,
                          environment))
    return roles


def find_address(host):
    """Return the address of a host; ValueError if it has none."""
    try:
        return socket.gethostbyname(host) if host else '127.0.0.1'
    except OSError as error:
        raise ValueError(f'the host {host!r} has no address ({error}): write '
                         'a name that this machine knows, or the address '
                         'itself') from None


def check_reachable(host, address):
    """Raise ValueError for an address that only this machine can reach."""
    if address.startswith('127.'):
        raise ValueError(f'the host {host!r} is {address} here, where the '
                         'others cannot reach it: write its address in the '
                         'network')


def role_environment(index, workers, servers, root, port=0):
    """Return the variables of role `index`: 0 is the scheduler, then the
    servers, then the workers."""
    kind = ('scheduler' if index == 0 else
            'server' if index <= servers else 'worker')
    return {'DMLC_ROLE': kind, 'DMLC_PS_ROOT_URI': root,
            'DMLC_PS_ROOT_PORT': str(port),
            'DMLC_NUM_SERVER': str(servers), 'DMLC_NUM_WORKER': str(workers),
            **{name: os.environ.get(name, value)
               for name, value in DEFAULTS.items()}}


def run(roles, limits, deadline, folder, port, ssh, show):
    """Start the roles and watch them; return when all ended well.

    Raises JobFailed. In every case, no process of theirs remains.
    """
    events = queue.Queue(10_000)
    began = time.monotonic()
    with contextlib.ExitStack() as stack:
        logs = {role: stack.enter_context(open(
            folder / f'{role.name}.log', 'a', encoding='utf-8'))
            for role in roles}
        stack.callback(end_all, roles, events)
        stack.enter_context(pinging(roles))
        start_agent(roles[0], events, port, ssh)
        busy = looked = began  # when the job was last seen to do something
        while True:
            for role, event in take(events, seconds=0.2):
                if note(role, event, logs[role], show):
                    busy = time.monotonic()
                if event['event'] == 'started' and role is roles[0]:
                    for other in roles[1:]:
                        other.environment['DMLC_PS_ROOT_PORT'] = str(
                            event['port'])
                        start_agent(other, events, None, ssh)
            still = time.monotonic() - looked
            if still > 1:  # this process stood still: nothing was heard
                forgive(roles, still)
                busy, began = busy + still, began + still
            looked = time.monotonic()
            failure = judge(roles, began, busy, deadline, limits)
            if failure:
                raise JobFailed(explain(failure, folder))
            if all(role.status == 0 for role in roles) or \
                    no_store_was_made(roles, limits):
                return


@contextlib.contextmanager
def pinging(roles):
    """Tell all agents each second that this process is there.

    In a thread: whoever pages through the output stops the main one.
    """
    done = threading.Event()

    def ping():
        while not done.wait(1):
            for role in roles:
                tell(role, 'ping')

    thread = threading.Thread(target=ping, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join(1)


def forgive(roles, seconds):
    """Count seconds for which nobody listened as if all had spoken."""
    now = time.monotonic()
    for role in roles:
        role.heard = role.heard and min(now, role.heard + seconds)
        role.ending = role.ending and min(now, role.ending + seconds)


def no_store_was_made(roles, limits):
    """Return whether all workers ended well and the others wait for them."""
    ends = [role.ending for role in roles if role.kind == 'worker'
            and role.status == 0]
    return len(ends) == sum(role.kind == 'worker' for role in roles) and \
        time.monotonic() - max(ends) > limits.exit


def start_agent(role, events, port, ssh):
    """Start the role under an agent, whose events go into the queue."""
    agent = [sys.executable, str(AGENT)]
    environment = role.environment
    if role.host is not None:
        agent = [*shlex.split(ssh), role.host, shlex.join(agent)]
        environment = {**{name: value for name, value in os.environ.items()
                          if name.startswith(PASSED_ON)}, **environment}
    process = subprocess.Popen(
        agent, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors='replace',
        start_new_session=True)  # Ctrl-C is for this process alone
    with contextlib.suppress(OSError):  # `listen` will tell why
        process.stdin.write(json.dumps({
            'command': role.command, 'folder': os.getcwd(),
            'environment': environment, 'port': port}) + '\n')
        process.stdin.flush()
    role.agent = process  # not before, or a ping could be its first line

    def listen():
        for line in process.stdout:
            try:
                event = json.loads(line)
            except ValueError:  # what ssh says, or Python about the agent
                event = None
            if not isinstance(event, dict) or 'event' not in event:
                event = {'event': 'output', 'line': line.rstrip('\n')}
            if role.heard or event['event'] != 'output':
                role.heard = time.monotonic()
            events.put((role, event))
        events.put((role, {'event': 'gone'}))

    role.listener = threading.Thread(target=listen, daemon=True)
    role.listener.start()


def tell(role, message):
    """Send a message to the role's agent; if it is gone, `listen` tells."""
    if role.agent is None:
        return
    with contextlib.suppress(OSError, ValueError):
        role.agent.stdin.write(json.dumps(message) + '\n')
        role.agent.stdin.flush()


def take(events, seconds):
    """Yield the (role, event) that are there; wait `seconds` for one."""
    with contextlib.suppress(queue.Empty):
        yield events.get(timeout=seconds)
        for _ in range(1000):  # or a talkative role would never let us go
            yield events.get_nowait()


def note(role, event, log, show):
    """Write down what happened to a role; return whether it is progress."""
    now, kind = time.monotonic(), event['event']
    if kind == 'output':
        role.busy = now
        print(event['line'], file=log, flush=True)
        if not NOTICE.match(event['line']):
            role.tail.append(event['line'])
            show(f'[{role.name}] {event["line"]}')
        return True
    if kind == 'alive':
        busy = event['cpu'] - role.cpu > IDLE
        role.cpu = event['cpu']
        role.busy = now if busy else role.busy
        role.joined |= event['joined']
        role.stopped = (role.stopped or now) if event['stopped'] else None
        role.ending = (role.ending or now) if event['exiting'] else None
        return busy
    if kind == 'ended':
        role.status, role.ending = event['status'], role.ending or now
    elif kind == 'refused':
        role.failure, role.ending = event['reason'], now
    elif kind == 'gone' and role.status is None:
        role.failure = role.failure or (
            'its agent is gone: can its host be reached, and was no process '
            'killed there?')
        role.ending = role.ending or now
    return False


def judge(roles, began, busy, deadline, limits):
    """Return (roles, reason) of the first failure, or None if all is well."""
    now = time.monotonic()
    failed = [role for role in roles if role.failure or role.status]
    if failed:  # the others may only follow the first
        first = min(failed, key=lambda role: role.ending)
        return [first], first.failure or ending(first.status)
    for role in roles:
        if role.status is None and role.heard and \
                now - role.heard > CONTACT:
            return [role], (f'nothing was heard of it for {CONTACT} seconds: '
                            'is its host cut off, or short of memory?')
    going = [role for role in roles if role.status is None]
    if roles[0].status != 0:  # else all have passed the last barrier
        ended = [role for role in roles if role.ending]
        workers = [role for role in roles if role.kind == 'worker']
        if ended and any(role.status is None for role in workers) and \
                now - max(*(role.ending for role in ended),
                          *(role.busy for role in workers)) > limits.exit:
            first = min(ended, key=lambda role: role.ending)
            return [first], (
                f'it came to its end, but {names(going)} went on for more '
                f'than {limits.exit} seconds. Did it raise an error, or take '
                'fewer steps than the other workers? If it was only fast, '
                'allow more with --exit-timeout')
        absent = [role for role in roles if not role.heard]
        if absent and now - began > limits.startup:
            return absent[:1], (f'not started after {limits.startup} '
                                'seconds: does its host answer?')
        absent = [role for role in roles[1:] if not role.joined
                  and role.status is None
                  and now - max(role.busy, began) > limits.startup]
        if absent:
            return absent, (f'not joined {limits.startup} seconds after the '
                            'start: does every worker create the key-value '
                            'store, and can the hosts reach each other?')
    stopped = [role for role in roles if role.stopped]
    if now - min([busy, *(role.stopped for role in stopped)]) > \
            limits.progress:
        reason = 'stopped by a signal' if stopped else 'waiting for each other'
        return stopped or roles, (f'{reason}: no progress for '
                                  f'{limits.progress} seconds')
    if now > deadline:
        return going, (f'not finished after {limits.total} seconds: allow '
                       'more with --timeout')
    return None


def ending(status):
    """Return in words how a process ended."""
    if status > 0:
        return f'ended with status {status}'
    try:
        name = signal.Signals(-status).name
    except ValueError:  # one that has no name
        name = f'signal {-status}'
    return f'was killed by {name}' + (
        ' (by the system, if memory ran out)' if name == 'SIGKILL' else '')


def names(roles):
    """Return the roles and their hosts in words."""
    return ', '.join(map(str, roles))


def explain(failure, folder):
    """Return the message for a failure, with the last lines of the logs."""
    roles, reason = failure
    lines = [f'{names(roles)}: {reason}']
    for role in roles[:3]:
        lines.append(f'last lines of {folder / role.name}.log:')
        lines += [f'    {line}' for line in role.tail] or ['    (empty)']
    return '\n'.join(lines)


def end_all(roles, events):
    """End every role; return when all their agents have ended."""
    started = [role for role in roles if role.agent]
    for role in started:
        tell(role, 'stop')
        with contextlib.suppress(OSError):
            role.agent.stdin.close()
    # Whoever has been silent for long will not answer now.
    silent = [role for role in started if role.heard and
              time.monotonic() - role.heard > CONTACT / 2]
    drain(events, 3 * GRACE, lambda: all(
        role.agent.poll() is not None for role in started
        if role not in silent))  # or they could not say their last words
    for role in started:
        if role.agent.poll() is None:
            kill_agent(role)
        role.agent.wait()
    drain(events, 1, lambda: not any(
        role.listener.is_alive() for role in started))


def drain(events, seconds, done):
    """Throw events away until `done()`, but for no more than `seconds`."""
    give_up = time.monotonic() + seconds
    while not done() and time.monotonic() < give_up:
        for _ in take(events, seconds=0.1):
            pass


def kill_agent(role):
    """End an agent that does not answer. Below ours are its processes; that
    of a cut-off host ends them itself."""
    with contextlib.suppress(psutil.Error):
        for process in psutil.Process(role.agent.pid).children(
                recursive=True):
            process.kill()
    role.agent.kill()


def shell_lines(index, workers, servers, root, port):
    """Return shell commands that set the variables of a role; -1: of all.

    Raises ValueError if there is no such role, no port, or no address.
    """
    address = find_address(root)
    if root not in (address, 'localhost'):
        check_reachable(root, address)
    if not 0 < port < 65536:
        raise ValueError('give the scheduler a --port from 1 to 65535 that '
                         'is free on its host')
    total = 1 + servers + workers
    if not -1 <= index < total:
        raise ValueError(f'there is no role {index}: {total} roles are '
                         f'numbered 0 to {total - 1}')
    lines = []
    for i in range(total) if index == -1 else [index]:
        variables = role_environment(i, workers, servers, address, port)
        if index == -1:
            lines.append(f'# role {i}')
        lines += [f'export {name}={shlex.quote(value)}'
                  for name, value in variables.items()]
        if variables['DMLC_ROLE'] == 'worker':
            lines.append(f'export PYTHONPATH={shlex.quote(str(HOOKS))}'
                         '${PYTHONPATH:+:$PYTHONPATH}')
    return '\n'.join(lines)
