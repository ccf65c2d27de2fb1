#!/bin/sh
# Make .venv as the lock says, and do nothing if it is so already. `make env`
# and every target that needs .venv call this.
#
#     BUILD=gpu                    with MXNet's GPU build, in .venv-gpu
#     BUILD=frameworks             with PyTorch and TensorFlow beside MXNet
#     PYTHON=/path/to/python3.12   chooses the interpreter; otherwise it is the
#                                  newest that the build has been tried on
#     PIP_INDEX_URL=https://...    chooses a mirror of PyPI
#
# What goes wrong ends in one line on stderr; what the tools say is in the log.
set -u
unset CDPATH
cd "$(dirname "$0")/../.." || exit
build=${BUILD:-cpu} size='700 MB' oldest=8 newest=11
venv=.venv-$build lock=tools/setup/$build.txt
case $build in
    cpu) venv=.venv newest=14 ;;
    gpu) size='4.5 GB' ;;
    frameworks) size='2.8 GB' oldest=10 ;;
    *) echo "there is no build $build: cpu, gpu or frameworks" >&2
        exit 1 ;;
esac
# There MXNet takes BLAS from SciPy: see d2lmulti/prepare/arm64.py.
[ "$(uname -m)" != aarch64 ] || [ $newest -lt 12 ] || newest=12
log=.venv-setup.log again='make env'
[ "$build" = cpu ] || again="make env BUILD=$build"
PYTHON=${PYTHON:-}
if [ "$PYTHON" ]; then
    set -- "$PYTHON"
else
    set --
    minor=$newest
    while [ $minor -ge $oldest ]; do
        set -- "$@" python3.$minor
        minor=$((minor - 1))
    done
    set -- "$@" python3 python
fi
# What is meant for other environments would mislead pip and uv in this one.
unset PYTHONHOME PYTHONPATH PYTHONINSPECT PYTHONWARNINGS VIRTUAL_ENV
unset PIP_USER PIP_TARGET PIP_PREFIX PIP_ROOT PIP_PYTHON PIP_DRY_RUN
unset PIP_REQUIREMENT PIP_REQUIRE_HASHES PIP_CONSTRAINT PIP_NO_BINARY
unset UV_PYTHON UV_SYSTEM_PYTHON UV_WORKING_DIR UV_NO_BINARY UV_NO_BUILD
unset UV_REQUIRE_HASHES UV_CONSTRAINT UV_OVERRIDE UV_EXCLUDE_NEWER
[ -d "${TMPDIR:-/}" ] || unset TMPDIR
# Without a network, fail in seconds; by default uv tries for minutes.
export UV_HTTP_TIMEOUT="${UV_HTTP_TIMEOUT:-10}"
export UV_HTTP_RETRIES="${UV_HTTP_RETRIES:-1}"

say() { echo "$*" >&3; }
fail() { echo "$*" >&4; exit 1; }
# In the background, where a signal can end it at once.
run() {
    "$@" &
    child=$!
    wait $child
    set -- $?
    child=''
    return "$1"
}
stop() {
    trap '' HUP INT TERM
    [ -z "$child" ] || kill "$child"
    wait
    fail "interrupted: run \`$again\` again"
}
# fail_if PATTERN MESSAGE: fail if the log has the pattern.
fail_if() {
    pattern=$1
    shift
    ! grep -Eiq "$pattern" $log || fail "$@"
}

# Print the version and the path of interpreter $1; fail if it does not run,
# as pyenv's shims do for versions that are not chosen. Inside an environment
# it is the path of the Python beneath: that environment may be the old .venv.
probe() {
    "$1" -c 'if 1:
        import os, sys
        path = sys.executable
        if sys.prefix != getattr(sys, "base_prefix", sys.prefix):
            path = os.path.realpath(path)
        print("%d.%d.%d " % sys.version_info[:3] + path)' 2>/dev/null
}

# Set `python` and `version` to the first of the interpreters named that the
# build runs on, and `found` to what the first unfit one said.
find_python() {
    for name; do
        answer=$(probe "$name") || continue
        found=${found:-$answer}
        version=${answer%% *} minor=${answer#*.}
        minor=${minor%%.*}
        [ "${answer%%.*}" = 3 ] && [ "$minor" -ge $oldest ] &&
            [ "$minor" -le $newest ] || continue
        python=${answer#* }
        return 0
    done
    return 1
}

# Set `uv` to the user's own (since 0.4 it has all that is needed here) or to
# the one in .uv.
find_uv() {
    for uv in uv .uv/bin/uv; do
        case $("$uv" --version 2>/dev/null) in
            'uv 0.'[0-3].*) ;;
            uv*) return 0 ;;
        esac
    done
    uv=''
    return 1
}

# Debian's Python cannot until its package python3-venv is installed.
can_make_venv() {
    "$1" -c 'import venv; from ensurepip import bootstrap' 2>/dev/null
}

# Make .uv under another name first: an interrupted download leaves no .uv.
install_uv() {
    for name; do
        can_make_venv "$name" || continue
        say 'Installing uv into .uv'
        rm -rf .uv .uv.part
        run "$name" -m venv .uv.part &&
            pip_install .uv.part tools/setup/uv.txt &&
            mv .uv.part .uv && find_uv && return
        rm -rf .uv.part
        return 1
    done
    return 1
}

# The locks are complete; without --no-deps, pip before 23.1 stumbles over
# extras that they do not repeat.
pip_install() {
    run "$1/bin/python" -m pip install --require-hashes --no-deps -r "$2" \
        --disable-pip-version-check --retries 1 --timeout 10
}

pip_setting() {
    "$python" -m pip config get "global.$1" 2>/dev/null
}

# PyPI's PyTorch brings 3 GB of CUDA libraries. The CPU wheel stands on other
# indexes: the user's, or else PyTorch's own.
torch=$(sed -n 's/^torch==\([0-9.]*\).*/torch==\1+cpu/p' tools/setup/frameworks.txt)
torch_index=https://download.pytorch.org/whl/cpu

# The lock without PyTorch and the libraries that only CUDA needs.
without_cuda() {
    awk '/^[a-z]/ {drop = /^(torch|triton|nvidia-|cuda-)/} !drop' "$lock"
}

uv_torch() {
    set -- pip install --python $venv/bin/python --no-deps "$torch"
    for folder in ${PIP_FIND_LINKS:-$(pip_setting find-links)}; do
        set -- "$@" --find-links "$folder"
    done
    for index in ${PIP_EXTRA_INDEX_URL:-$(pip_setting extra-index-url)}; do
        set -- "$@" --index "$index"
    done
    run "$uv" "$@" || run "$uv" "$@" --index "$torch_index"
}

pip_torch() {
    set -- -m pip install --no-deps --disable-pip-version-check --retries 1 \
        --timeout 10 "$torch"
    run $venv/bin/python "$@" ||
        run $venv/bin/python "$@" --extra-index-url "$torch_index"
}

# First from uv's cache alone: that is fast and needs no network.
uv_sync() {
    set -- pip sync --python $venv/bin/python --require-hashes "$1"
    run "$uv" --offline "$@" >/dev/null 2>&1 || run "$uv" "$@"
}

# The stamp goes first: without it, what an interrupt leaves is not taken for
# a complete environment.
remove_venv() {
    rm -rf "$venv/stamp" "$venv" || fail "cannot remove $venv, some of" \
        "which may belong to another user: remove it and run \`$again\` again"
}

with_uv() {
    [ "$uv" ] || return
    remove_venv
    run "$uv" venv --python "$python" "$venv" || {
        export UV_NO_CACHE=1  # it may be the cache that it cannot write
        run "$uv" venv --python "$python" "$venv" || return
    }
    if [ "$build" = frameworks ] && without_cuda >"$venv/lock.txt" &&
        uv_sync "$venv/lock.txt" && uv_torch
    then :
    else
        uv_sync "$lock" || return
    fi
    run "$uv" --offline pip install --python $venv/bin/python \
        --no-deps --no-build-isolation -e ./samestep -e .
}

with_pip() {
    can_make_venv "$python" || fail "$python cannot make virtual" \
        'environments: install its venv package (Debian, Ubuntu: `sudo apt' \
        "install python${version%.*}-venv\`) and run \`$again\` again"
    say 'Installing with pip, which takes a few minutes'
    remove_venv
    run "$python" -m venv "$venv" || return
    if [ "$build" = frameworks ] && without_cuda >"$venv/lock.txt" &&
        pip_install "$venv" "$venv/lock.txt" && pip_torch
    then :
    else
        pip_install "$venv" "$lock" || return
    fi
    run $venv/bin/python -m pip install --no-index --no-deps \
        --no-build-isolation -e ./samestep -e .
}

# On a full disk the log may be empty.
fail_if_full() {
    free=$(df -Pk . | awk 'NR == 2 {print $4}')
    [ "${free:-20000}" -lt 20000 ] ||
        grep -iq 'no space left' $log 2>/dev/null ||
        return 0
    fail "the disk is full: make room for about $size here, and for as much" \
        "in ~/.cache, and run \`$again\` again"
}

fail_if_offline() {
    fail_if 'retrying \(|connect|dns error|timed out|error sending' \
        'could not download the packages: connect to the network, or set' \
        "PIP_INDEX_URL to a mirror that you can reach, and run \`$again\`" \
        "again; details in $log"
}

# The stamp is written last, so only a complete .venv has it; its content
# tells whether the lock has changed or the folder has moved since. Packages are
# missing if someone began to delete it; their `.dist-info` also changes if
# someone installs another version, which may be wanted.
state=$(pwd -P; cat "$lock" pyproject.toml samestep/pyproject.toml \
    tools/setup/install.sh tools/setup/jupyter_server_config.py | cksum)
is_set_up() {
    [ -x $venv/bin/python ] && [ "$(cat $venv/stamp 2>&1)" = "$state" ] &&
        xargs ls -d <$venv/packages >/dev/null 2>&1 &&
        old=$(probe $venv/bin/python) &&
        new=$(probe "${PYTHON:-$venv/bin/python}") &&
        [ "${old%% *}" = "${new%% *}" ]
}

# Lock the log, which is open as 9; fail if another process has it. The kernel
# unlocks it when all that have inherited it have ended, killed or not: there
# is no stale lock, and what a killed set-up left running is waited for. macOS
# has no `flock`; where nothing can lock, there is no lock.
try_lock() {
    flock -n 9 2>/dev/null
    case $? in
        0) return 0 ;;
        1) return 1 ;;
    esac
    for name; do
        "$name" -c 'if 1:
            import fcntl, sys
            try:
                fcntl.flock(9, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                sys.exit(75)' 2>/dev/null
        case $? in
            0) return 0 ;;
            75) return 1 ;;
        esac
    done
}

! is_set_up || exit 0
exec 3>&1 4>&2
case $(pwd -P) in
    *[:\$]*) fail 'the path of this folder has a $ or a colon, which' \
        "Python's tools do not take: rename the folder and run \`$again\` again"
esac
child=''
trap stop HUP INT TERM
reason=$( (: >>$log) 2>&1) || {
    fail_if_full
    fail "cannot write to $log (${reason##*: }): remove it if it is another" \
        "user's, or else clone into a folder that you can write to, and run" \
        "\`$again\` there"
}
exec 9>>$log
tries=0
until try_lock "$@"; do
    other=$(head -n 1 $log)
    [ $tries -gt 0 ] ||
        say "another \`make env\` is ${other:-running}: waiting"
    [ $tries -lt 900 ] || fail "another \`make env\` is still" \
        "${other:-running}, after half an hour: end it and run \`$again\` again"
    tries=$((tries + 1))
    sleep 2
done
! is_set_up || { say "Done: $venv is set up"; exit; }
exec >>$log 2>&1
echo "setting up $venv (process $$)" >$log
say "Setting up $venv (once, about $size; log in $log)"
python='' found=''
find_python "$@"
find_uv || install_uv "$@" || { [ -z "$python" ] || fail_if_offline; }

# uv also knows interpreters that are not on PATH, and can fetch one.
if [ "$uv" ] && [ -z "$python" ] && { [ -z "$PYTHON" ] || [ -z "$found" ]; }
then
    wanted=${PYTHON:->=3.$oldest,<3.$((newest + 1))}
    find_python "$("$uv" python find --system "$wanted")" || {
        say "Fetching Python ${PYTHON:-3.11}"
        run "$uv" python install "${PYTHON:-3.11}" &&
            find_python "$("$uv" python find --system "$wanted")"
    }
fi
if [ -z "$python" ]; then
    if [ "$found" ]; then
        found="found ${found%% *} (${found#* })"
    else
        found="found ${PYTHON:+no working interpreter at }${PYTHON:-none}"
    fi
    fail "d2lmulti needs Python 3.$oldest to 3.$newest, $found: install one" \
        "(for example \`uv python install 3.11\`) and run" \
        "\`$again PYTHON=python3.11\`"
fi
machine=$("$python" -c '
import platform
print(platform.system(), platform.machine())')
case $machine in
    'Linux x86_64' | 'Linux aarch64' | 'Darwin x86_64') ;;
    *) fail "MXNet 1.9.1 has no package for $machine: use Linux on" \
        'x86_64 or aarch64 (WSL on Windows, Docker on a Mac)' ;;
esac
[ "$build" != frameworks ] || [ "$machine" = 'Linux x86_64' ] ||
    fail "the build frameworks is for Linux on x86_64, this is $machine"

# uv does not read pip's settings: hand it the mirror that pip uses.
if [ -z "${UV_DEFAULT_INDEX:-}${UV_INDEX_URL:-}" ]; then
    index=${PIP_INDEX_URL:-$(pip_setting index-url)}
    [ -z "$index" ] || export UV_INDEX_URL="$index"
fi
with_uv || with_pip || {
    fail_if_full
    fail_if_offline
    fail "could not set up $venv: see the end of $log"
}

# The GPU build does not start without a driver, and the doctor says so.
[ "$build" = gpu ] || run $venv/bin/python -c 'import d2lmulti' || {
    fail_if 'libgomp' 'MXNet needs the library libgomp.so.1: install it' \
        '(Debian, Ubuntu: `sudo apt install libgomp1`; Fedora: `sudo dnf' \
        "install libgomp\`) and run \`$again\` again"
    fail_if 'libquadmath' 'MXNet needs the library libquadmath.so.0: install' \
        'it (Debian, Ubuntu: `sudo apt install libquadmath0`; Fedora: `sudo' \
        "dnf install libquadmath\`) and run \`$again\` again"
    fail "MXNet does not start: see the end of $log"
}

# A kernel has threads before it imports MXNet, each with its own heap, and
# `d2lmulti/prepare/machine.py` comes too late to give all the same one.
# It looks for a home, which the user of a container may not have.
HOME=${HOME:-$PWD} && export HOME
run $venv/bin/python -m ipykernel install --sys-prefix \
    --env MALLOC_ARENA_MAX 1 ||
    fail "could not install Jupyter's kernel: see the end of $log"

# The notebooks name no kernel: let JupyterLab start the only one there is
# without asking, show the list of the chapters (notebooks/README.md) as a
# page, and ask nothing about news either. The server's settings let a
# notebook that nobody has touched stay unchanged.
settings=$venv/share/jupyter/lab/settings
{
    mkdir -p "$settings" $venv/etc/jupyter &&
        cat >"$settings/overrides.json" &&
        cp tools/setup/jupyter_server_config.py $venv/etc/jupyter &&
        ls -d $venv/lib/python*/site-packages/*[!o]/ >$venv/packages &&
        printf '%s\n' "$state" >"$venv/stamp"
} <<'END' || fail "could not write to $venv: see $log"
{
  "@jupyterlab/notebook-extension:tracker": {"autoStartDefaultKernel": true},
  "@jupyterlab/docmanager-extension:plugin": {
    "defaultViewers": {"markdown": "Markdown Preview"}
  },
  "@jupyterlab/apputils-extension:notification": {
    "checkForUpdates": false,
    "fetchNews": "false"
  }
}
END
say "Done: $venv has $($venv/bin/python --version 2>&1)"
[ "$build" != gpu ] || $venv/bin/python -m d2ldoctor --quick >&3 || true
