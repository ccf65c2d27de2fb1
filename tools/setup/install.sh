#!/bin/sh
# Make .venv as the lock says, with uv, and do nothing if it is so already:
# `make env`. With the word `dev`, add what tests, lint and the site need.
#     BUILD=gpu or frameworks      with MXNet's GPU build, or with PyTorch
#     PYTHON=/path/to/python3.12   else the first that uv finds or fetches
#     PIP_INDEX_URL=https://...    a mirror of PyPI
# What goes wrong ends in one line on stderr; what the tools say is in the log.
set -u
unset CDPATH
cd "$(dirname "$0")/../.." || exit
build=${BUILD:-cpu} size='0.6 GB' oldest=8 newest=11 stand_in=
venv=.venv-$build lock=tools/setup/locks/$build.txt
dev=tools/setup/locks/dev.txt wanted=${1:-}
case $build in
    cpu) venv=.venv newest=14 ;;
    gpu) size='4 GB' ;;
    frameworks) size='1.3 GB' oldest=10 ;;
    *) echo "there is no build $build: cpu, gpu or frameworks" >&2
        exit 1 ;;
esac
log=.venv-setup.log again="make ${wanted:-env}"
[ "$build" = cpu ] || again="$again BUILD=$build"
PYTHON=${PYTHON:-}
# What is meant for other environments would mislead pip and uv in this one.
unset PYTHONHOME PYTHONPATH VIRTUAL_ENV CONDA_PREFIX PIP_USER PIP_TARGET
unset PIP_PREFIX PIP_REQUIRE_HASHES PIP_REQUIRE_VIRTUALENV PIP_CONSTRAINT
unset UV_PYTHON UV_SYSTEM_PYTHON UV_CONSTRAINT UV_OVERRIDE UV_EXCLUDE_NEWER
unset UV_REQUIRE_HASHES UV_PROJECT_ENVIRONMENT
# Without a network, fail in seconds; by default uv tries for minutes.
export UV_HTTP_TIMEOUT="${UV_HTTP_TIMEOUT:-10}"
export UV_HTTP_RETRIES="${UV_HTTP_RETRIES:-1}"
# The folder's name, which is written into the environment, may have an é.
case ${LC_ALL:-${LC_CTYPE:-${LANG:-C}}} in
    C | POSIX) export LC_ALL=C.UTF-8 ;;
esac
[ -d "${TMPDIR:-/}" ] || unset TMPDIR
# It looks for a home, which the user of a container may not have.
[ -w "${HOME:-}" ] || export HOME="$PWD"

say() { echo "$*" >&3; }
fail() { echo "$*" >&4; exit 1; }
fail_if() { # PATTERN WHAT TO DO, if the log has the pattern
    pattern=$1 && shift
    ! grep -Eiq "$pattern" $log ||
        fail "$*, and run \`$again\` again; details in $log"
}

# Say what the log says of a tool that failed.
explain() {
    free=$(df -Pk . | awk 'NR == 2 {print $4}')
    [ "${free:-20000}" -ge 20000 ] || echo 'no space left' >>$log
    fail_if 'no space left' "the disk is full: make room for about $size here," \
        'and for as much in ~/.cache'
    fail_if 'failed to map segment|uv: permission denied' 'no program may run' \
        'in this folder (`noexec`): move it to another disk'
    fail_if 'expired|not ?yet ?valid|not ?valid ?yet' 'the certificate of the' \
        "package index is not valid at this computer's time, $(date +%F): set" \
        'the clock'
    fail_if 'certificate|UnknownIssuer' 'the certificate of the package' \
        'index is not known: name the file of your own authority in' \
        'SSL_CERT_FILE'
    proxy=${https_proxy:-${HTTPS_PROXY:-${all_proxy:-${ALL_PROXY:-}}}}
    fail_if 'retrying \(|connect|dns error|timed out|error sending' 'could' \
        'not download the packages: connect to the network, or' \
        "${proxy:+correct the proxy in https_proxy, or }set PIP_INDEX_URL" \
        'to a mirror that you can reach'
    fail_if 'no solution found|no matching distribution' 'the package index' \
        'lacks a package: set PIP_INDEX_URL to a full mirror of PyPI'
    fail_if 'no interpreter found|no download found|failed to inspect' 'no' \
        "Python ${PYTHON:-3.$oldest to 3.$newest} was found: install one, or" \
        'set PYTHON to its path'
    fail "$1: see the end of $log"
}

# Set `uv` to the user's, from 0.4 on, or to the one that pip puts into .uv.
find_uv() {
    for uv in uv .uv/bin/uv; do
        case $("$uv" --version 2>/dev/null) in
            'uv 0.'[0-3].*) ;;
            uv*) return ;;
        esac
    done
    python=python3
    [ ! -x "$PYTHON" ] || python=$PYTHON
    "$python" -c 'import venv; from ensurepip import bootstrap' ||
        fail 'uv is needed, or a python3' \
        'that can fetch it: install uv, or the package python3-venv (Debian,' \
        "Ubuntu), and run \`$again\` again"
    say 'Installing uv into .uv'
    # Under another name first: an interrupted download leaves no .uv.
    rm -rf .uv .uv.part
    "$python" -m venv .uv.part &&
        .uv.part/bin/python -m pip install --require-hashes --no-deps \
            --disable-pip-version-check --retries 1 --timeout 10 \
            -r tools/setup/locks/uv.txt &&
        mv .uv.part .uv || explain 'could not install uv'
}

# First from uv's cache alone: that is fast and needs no network.
from_lock() {
    set -- pip "$@" --python $venv/bin/python --require-hashes
    "$uv" --offline "$@" >/dev/null 2>&1 || "$uv" "$@"
}

# All but the 3 GB of PyPI's PyTorch, then the CPU's from another index.
sync_frameworks() {
    awk '/^[a-z]/ {drop = /^(torch|triton|nvidia-|cuda-)/} !drop' "$lock" \
        >$venv/lock.txt && from_lock sync $venv/lock.txt || return
    torch=$(sed -n 's/^torch==\([0-9.]*\).*/torch==\1+cpu/p' "$lock")
    set -- pip install --python $venv/bin/python --no-deps "$torch"
    "$uv" "$@" || "$uv" "$@" --index https://download.pytorch.org/whl/cpu
}

make_venv() {
    "$uv" venv --relocatable --python "${PYTHON:->=3.$oldest,<3.$((newest + 1))}" "$venv" ||
        return
    "$venv/bin/python" -I -c "import sys
sys.exit(not (3, $oldest) <= sys.version_info[:2] <= (3, $newest))" ||
        fail "d2lmulti needs Python 3.$oldest to 3.$newest, and PYTHON is" \
            "$("$venv/bin/python" --version): install one (\`uv python" \
            "install 3.11\`) and run \`$again PYTHON=3.11\`"
    machine=$("$venv/bin/python" -I -c 'import platform as p
print(p.system(), p.machine())')
    [ "$build" = cpu ] || [ "$machine" = 'Linux x86_64' ] ||
        fail "the build $build is for Linux on x86_64, this is $machine"
    # Where MXNet has no package, numpy_mxnet stands in for it.
    case $machine in
        'Linux x86_64' | 'Darwin x86_64') ;;
        *) stand_in='-e ./numpy_mxnet' ;;
    esac
    case $build in
        frameworks) sync_frameworks || from_lock sync "$lock" ;;
        *) from_lock sync "$lock" ;;
    esac &&
        "$uv" --offline pip install --python $venv/bin/python --no-deps \
            --no-build-isolation --config-settings editable_mode=compat \
            --no-cache $stand_in -e ./samestep -e . &&
        $venv/bin/python -I - <<'END'
# A .pth may be relative: nothing names the folder, which may be moved.
import json, os, pathlib, sys, sysconfig
site = pathlib.Path(sysconfig.get_path('purelib')).resolve()
(site / 'd2ldoctor.pth').write_text(os.path.relpath('tools/setup', site))
for path in site.glob('__editable__*.pth'):
    path.write_text(os.path.relpath(path.read_text().strip(), site))
# Its threads get their heaps before `d2lmulti/prepare/machine.py` runs.
path = pathlib.Path(sys.prefix, 'share/jupyter/kernels/python3/kernel.json')
spec = {**json.loads(path.read_text()), 'env': {'MALLOC_ARENA_MAX': '1'}}
spec['argv'].insert(1, '-Xfrozen_modules=off')  # or debugpy warns
path.unlink()  # uv's cache has the same file
path.write_text(json.dumps(spec))
END
}

# Written last; it tells whether the lock has changed since.
state=$(cat "$lock" $dev pyproject.toml samestep/pyproject.toml \
    numpy_mxnet/pyproject.toml tools/setup/install.sh \
    tools/setup/jupyter_server_config.py | cksum)
is_set_up() {
    {
        [ "$(cat $venv/stamp)" = "$state" ] && asked=$(cat $venv/asked) &&
            [ "${PYTHON:-$asked}" = "$asked" ] && $venv/bin/python -c ''
    } 2>/dev/null
}

is_done() { is_set_up && { [ "$wanted" != dev ] || [ -e $venv/dev ]; }; }

! is_done || exit 0
exec 3>&1 4>&2
case $(pwd -P) in
    *[:\$]*) fail 'the path of this folder has a $ or a colon, which' \
        "Python's tools do not take: rename the folder and run \`$again\` again"
esac
(: >>$log) 2>/dev/null || fail "cannot write to $log: remove it if it is" \
    "another user's, or else clone into a folder that you can write to, and" \
    "run \`$again\` there"
# Unlocked when all that inherited it have ended. macOS has no `flock`.
exec 9>>$log
if command -v flock >/dev/null && ! flock -n 9; then
    say 'another `make env` is running: waiting'
    flock -w 1800 9 || fail "another \`make env\` is still running, after" \
        "half an hour: end it and run \`$again\` again"
    ! is_done || { say "Done: $venv is set up"; exit; }
fi
exec >>$log 2>&1
: >$log
trap 'fail "interrupted: run \`$again\` again"' HUP INT TERM
is_set_up || say "Setting up $venv (once, about $size; log in $log)"
find_uv
# uv does not read pip's settings: hand it the mirror that pip uses.
if [ -z "${UV_DEFAULT_INDEX:-}${UV_INDEX_URL:-}" ]; then
    index=${PIP_INDEX_URL:-$(.uv/bin/python -m pip config get \
        global.index-url 2>/dev/null ||
        python3 -m pip config get global.index-url 2>/dev/null)}
    [ -z "$index" ] || export UV_INDEX_URL="$index"
fi
[ -z "${PIP_FIND_LINKS:-}" ] || export UV_FIND_LINKS="$PIP_FIND_LINKS"
if is_set_up; then
    say "Adding to $venv what tests, lint and the site need (once, about 0.5 GB)"
    from_lock install --no-deps -r $dev && : >$venv/dev ||
        explain "could not add to $venv"
    exit
fi
# The stamp goes first: what an interrupt leaves is not complete.
rm -rf "$venv/stamp" "$venv" || fail "cannot remove $venv, some of which may" \
    "belong to another user: remove it and run \`$again\` again"
make_venv || explain "could not set up $venv"

# The GPU build does not start without a driver, and the doctor says so.
[ "$build" = gpu ] || $venv/bin/python -I -c 'import d2lmulti' || {
    for name in libgomp.1 libquadmath.0; do
        fail_if "${name%.*}" "MXNet needs the library ${name%.*}.so.${name#*.}:" \
            "install it (Debian, Ubuntu: \`sudo apt install ${name%.*}${name#*.}\`)"
    done
    explain 'MXNet does not start'
}

# JupyterLab starts the only kernel without asking, shows the list of the
# chapters as a page, asks nothing about news, and changes no notebook that
# nobody has touched.
settings=$venv/share/jupyter/lab/settings
{
    mkdir -p "$settings" $venv/etc/jupyter &&
        cat >"$settings/overrides.json" &&
        cp tools/setup/jupyter_server_config.py $venv/etc/jupyter &&
        printf '%s\n' "$PYTHON" >$venv/asked &&
        printf '%s\n' "$state" >$venv/stamp
} <<'END' || fail "could not write to $venv: see $log"
{
  "@jupyterlab/notebook-extension:tracker": {"autoStartDefaultKernel": true},
  "@jupyterlab/docmanager-extension:plugin":
    {"defaultViewers": {"markdown": "Markdown Preview"}},
  "@jupyterlab/apputils-extension:notification":
    {"checkForUpdates": false, "fetchNews": "false"}
}
END
say "Done: $venv has $($venv/bin/python --version 2>&1)"
[ -z "$stand_in" ] ||
    say "MXNet has no package for $machine: numpy_mxnet stands in for it"
[ "$build" != gpu ] || $venv/bin/python -m d2ldoctor --quick >&3 || true
