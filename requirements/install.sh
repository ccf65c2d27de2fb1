#!/bin/sh
# Make .venv from the lock, with uv if it can be had, otherwise venv and pip.
# PYTHON=/path/to/python chooses the interpreter. What the tools say goes to
# .venv-setup.log; a failure ends in one line that says what to do.
set -u
cd "$(dirname "$0")/.." || exit 1
log=.venv-setup.log
: > "$log"
export UV_HTTP_TIMEOUT="${UV_HTTP_TIMEOUT:-30}" UV_HTTP_RETRIES="${UV_HTTP_RETRIES:-1}"
pip="-m pip install --disable-pip-version-check --retries 1 --timeout 30"

stop() { echo "make env: $1" >&2; exit 1; }
fits() { "$1" -c 'import sys; sys.exit(not (3, 8) <= sys.version_info < (3, 12))' >>"$log" 2>&1; }
runs() { "$1" -c 'import venv' >>"$log" 2>&1; }
no_download="could not download the packages: connect to the network, or set PIP_INDEX_URL and UV_DEFAULT_INDEX to a mirror that you reach, then run make env again (details: $log)"

python='' any=''
for candidate in ${PYTHON:-python3.11 python3.10 python3.9 python3.8 python3 python}; do
    if runs "$candidate"; then
        any="${any:-$candidate}"
        if fits "$candidate"; then python="$candidate"; break; fi
    fi
done
if [ -n "${PYTHON:-}" ] && [ -z "$python" ]; then
    stop "PYTHON=$PYTHON is not a Python 3.8 to 3.11 that runs: name another one"
fi

uv=$(command -v uv || true)
if [ -z "$uv" ] && [ -x .uv/bin/uv ]; then uv=.uv/bin/uv; fi
if [ -z "$uv" ] && [ -n "$any" ]; then
    # Into a folder of the project, so that nothing else on the machine changes.
    if "$any" -m venv .uv >>"$log" 2>&1 &&
       .uv/bin/python $pip --require-hashes -r requirements/uv.txt >>"$log" 2>&1
    then uv=.uv/bin/uv; else rm -rf .uv; fi
fi

rm -rf .venv
if [ -n "$uv" ]; then
    # uv fetches a Python where none fits.
    "$uv" venv --python "${python:-3.11}" .venv >>"$log" 2>&1 ||
        stop "no Python 3.8 to 3.11 found${any:+ (only $("$any" -V 2>&1))}, and none could be fetched: install Python 3.11, then run make env PYTHON=python3.11 (details: $log)"
    "$uv" pip install --python .venv --require-hashes -r requirements/cpu.txt >>"$log" 2>&1 ||
        stop "$no_download"
    "$uv" pip install --python .venv --no-deps --no-build-isolation -e . >>"$log" 2>&1 ||
        stop "the project could not be installed (details: $log)"
else
    [ -n "$any" ] || stop "no Python found: install Python 3.11, then run make env"
    [ -n "$python" ] ||
        stop "d2lmulti needs Python 3.8 to 3.11, found $("$any" -V 2>&1): install Python 3.11, then run make env PYTHON=python3.11"
    "$python" -m venv .venv >>"$log" 2>&1 ||
        stop "$python cannot make environments: install its venv module (Debian: apt-get install python3-venv), then run make env"
    .venv/bin/python $pip --require-hashes -r requirements/cpu.txt >>"$log" 2>&1 ||
        stop "$no_download"
    .venv/bin/python $pip --no-deps --no-build-isolation -e . >>"$log" 2>&1 ||
        stop "the project could not be installed (details: $log)"
fi

.venv/bin/python -c 'import d2lmulti' >>"$log" 2>&1 ||
    stop "MXNet cannot be imported: $(tail -n 1 "$log"); where libgomp.so.1 is missing, install it (Debian: apt-get install libgomp1)"

# The notebooks carry no kernel's name: start the default one without asking.
mkdir -p .venv/share/jupyter/lab/settings
cat > .venv/share/jupyter/lab/settings/overrides.json <<'JSON'
{
  "@jupyterlab/notebook-extension:tracker": {"autoStartDefaultKernel": true},
  "@jupyterlab/apputils-extension:notification": {"fetchNews": "false"}
}
JSON
touch .venv/complete
