#!/bin/sh
# Run one role of a distributed job in a container, under compose.yaml,
# kubernetes.yaml or by hand:
#
#     sh deploy/role.sh scheduler|server|worker [program ...]
#
# WORKERS and SERVERS say how many there are, SCHEDULER is the scheduler's name
# or address, SCHEDULER_PORT its port. (ps-lite would take a variable PORT for
# the port of every role.) Only workers need a program.
#
# What waits for another container does so for at most STARTUP_TIMEOUT seconds,
# and the whole role takes at most JOB_TIMEOUT seconds. If the scheduler goes
# away before the worker's program has ended, the program is ended too: MXNet
# alone would wait forever.
set -eu
: "${SCHEDULER:?}" "${SCHEDULER_PORT:=9091}" "${WORKERS:=2}" "${SERVERS:=1}"
: "${STARTUP_TIMEOUT:=120}" "${JOB_TIMEOUT:=86400}" "${WATCH_EVERY:=5}"
role=${1:?scheduler, server or worker}
shift
case $role in  # numbered as `launch --print-env` does
    scheduler) index=0 ;;
    server) index=1 ;;
    worker) index=$((SERVERS + 1)) ;;
    *) echo "there is no role $role: scheduler, server or worker" >&2; exit 2 ;;
esac
if [ "$role" != worker ]; then
    set -- python -c 'import mxnet'  # the import serves, and ends the process
elif [ $# = 0 ]; then
    echo 'role.sh worker needs a program, such as python train.py' >&2
    exit 2
fi
fail() {
    echo "role.sh: $role: $*" >&2
    exit 1
}
# Containers start in any order, and a name appears with its container.
deadline=$(($(date +%s) + STARTUP_TIMEOUT))
wait_until() {
    until "$@"; do
        [ "$(date +%s)" -lt "$deadline" ] || return
        sleep 1
    done
}
find_root() {
    root=$(getent ahostsv4 "$SCHEDULER" | cut -d ' ' -f 1 | head -n 1)
    [ "$root" ]
}
# What the scheduler is told: the address by which it is reached from here.
own_address='
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
    probe.connect((sys.argv[1], int(sys.argv[2])))
    print(probe.getsockname()[0])'
is_listening() {
    python -c 'import socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), 5).close()
except OSError:
    sys.exit(1)' "$root" "$SCHEDULER_PORT"
}

wait_until find_root ||
    fail "no address for $SCHEDULER after $STARTUP_TIMEOUT seconds"
variables=$(python -m d2lmulti launch --workers "$WORKERS" \
    --servers "$SERVERS" --root "$root" --port "$SCHEDULER_PORT" \
    --print-env "$index")
eval "$variables"
: "${DMLC_NODE_HOST:=$(python -c "$own_address" "$root" "$SCHEDULER_PORT")}"
export DMLC_NODE_HOST
set -- timeout -k 5 "$JOB_TIMEOUT" "$@"
[ "$role" = worker ] || exec "$@"

wait_until is_listening || fail "no scheduler at $root, port" \
    "$SCHEDULER_PORT, after $STARTUP_TIMEOUT seconds"
"$@" &
program=$!

# The scheduler exits when the last worker has left the job, so if it is missed
# twice while the program runs, the job has failed.
watch() {
    misses=0
    while [ "$misses" -lt 2 ]; do
        sleep "$WATCH_EVERY" >/dev/null 2>&1
        if is_listening; then misses=0; else misses=$((misses + 1)); fi
    done
    kill "$program" && fail 'the scheduler is gone, so the job has failed'
}
watch &
watcher=$!
trap 'kill "$program" 2>/dev/null' TERM INT
status=0
while kill -0 "$program" 2>/dev/null; do  # a signal interrupts `wait`
    status=0
    wait "$program" || status=$?
done
kill "$watcher" 2>/dev/null || true
exit "$status"
