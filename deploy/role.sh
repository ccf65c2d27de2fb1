#!/bin/sh
# Run one role of a distributed job in a container, under compose.yaml,
# kubernetes.yaml or by hand:
#
#     sh deploy/role.sh scheduler|server
#     sh deploy/role.sh worker program ...
#     sh deploy/role.sh I    0 is the scheduler, 1 and up are the servers
#     sh deploy/role.sh node program ...
#
# A node is a worker under `launch --rendezvous`, which watches the job as a
# whole and restarts it: node $JOB_COMPLETION_INDEX; node 0 also runs the
# scheduler and the servers, and SCHEDULER is its name.
#
# WORKERS and SERVERS say how many there are, SCHEDULER is the scheduler's name
# or address, SCHEDULER_PORT its port. (ps-lite would take a variable PORT for
# the port of every role.)
#
# What waits for another container does so for at most STARTUP_TIMEOUT seconds,
# and the whole role takes at most JOB_TIMEOUT seconds. If the scheduler goes
# away before the worker's program has ended, the program is ended too: MXNet
# alone would wait forever.
set -eu
: "${SCHEDULER:?}" "${SCHEDULER_PORT:=9091}" "${WORKERS:=2}" "${SERVERS:=1}"
: "${STARTUP_TIMEOUT:=120}" "${JOB_TIMEOUT:=86400}" "${WATCH_EVERY:=5}"
role=${1:?scheduler, server, worker or node}
shift
fail() {
    echo "role.sh: $role: $*" >&2
    exit 1
}
case $role in  # numbered as `launch --print-env` does
    scheduler | 0) index=0 ;;
    server | [1-9]*) index=1 ;;
    worker) index=$((SERVERS + 1)) ;;
    node) index=${JOB_COMPLETION_INDEX:?} ;;
    *) fail 'there is no such role: scheduler, server, worker or node' ;;
esac
case $role in
    worker | node) [ $# != 0 ] || fail 'which program? Such as: python train.py' ;;
    *) set -- python -m d2lrun.serve ;;
esac
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
if [ "$role" = node ]; then
    exec python -m d2lrun --workers "$WORKERS" --servers "$SERVERS" \
        --rendezvous "tcp://$root:$SCHEDULER_PORT" --worker-offset "$index" \
        --devices "${D2LMULTI_NUM_DEVICES:-1}" --timeout "$JOB_TIMEOUT" \
        --startup-timeout "$STARTUP_TIMEOUT" --restarts "${RESTARTS:-0}" \
        -- "$@"
fi
variables=$(python -m d2lrun --workers "$WORKERS" \
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
