#!/bin/sh
# Run the book on an emulated arm64 processor, in a separate Debian. As root, with
# Debian's packages qemu-user-static, mmdebstrap and arch-test:
#
#     sh tools/setup/tests/arm64.sh [STEP ...]       every step, or those named
#     ROOT=DIR           where that Debian lies or is to be made: build/arm64
#     SUITE=trixie       which one: bookworm, with Python 3.11, by default
#     QEMU_CPU=max       which processor; one without SVE by default, as in
#                        Apple's computers
#     CHAPTERS=..., TESTS=...    files of the steps chapters and tests
#     PIP_INDEX_URL, SSL_CERT_FILE and so on are handed on
#
# Arithmetic is some hundred times slower than on a processor of that kind, so
# this shows what is computed, not how fast.
set -u
cd "$(dirname "$0")/../../.." || exit
root=${ROOT:-build/arm64}
certificates=/etc/ssl/certs/ca-certificates.crt
python='.venv/bin/python'
pytest="$python -m pytest -q --timeout 7200 --durations=20"
chapters=${CHAPTERS:-$(echo notebooks/0[1-5]_*.ipynb)}
tests=${TESTS:-$(for name in devices network replicas data training causes \
    raw_data; do echo "tests/taught/test_$name.py"; done | xargs)}

fail() { echo "$*" >&2; exit 1; }

# The kernel hands programs for arm64 to qemu, also inside of the root.
emulate() {
    ! arch-test arm64 >/dev/null 2>&1 || return 0
    at=/proc/sys/fs/binfmt_misc
    [ -e $at/register ] || mount -t binfmt_misc binfmt_misc $at || return
    magic='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
    mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
    printf '%s' ":qemu-aarch64:M::$magic:$mask:$(command -v qemu-aarch64-static):OCF" \
        >$at/register && arch-test arm64
}

# Debian, and the files that git knows in /root/d2lmulti, as they are here.
make_root() {
    if [ ! -e "$root/etc/debian_version" ]; then
        mmdebstrap --arch=arm64 --variant=apt \
            --include=ca-certificates,git,libgomp1,make,python3-venv \
            "${SUITE:-bookworm}" "$root" || return
    fi
    cp -L /etc/resolv.conf "$root/etc"
    cp -L "${SSL_CERT_FILE:-$certificates}" "$root$certificates"
    mkdir -p "$root/root/d2lmulti" &&
        git ls-files -z | tar --null -T - -c | tar -x -C "$root/root/d2lmulti"
}

# inside COMMAND: in the project's folder in the root, with nothing of our
# environment that is not named here.
inside() {
    set -- "$1" HOME=/root LANG=C.UTF-8 SSL_CERT_FILE=$certificates \
        PATH=/usr/sbin:/usr/bin:/sbin:/bin D2LMULTI_SMALL=1 \
        QEMU_CPU="${QEMU_CPU:-cortex-a76}" UV_HTTP_TIMEOUT=300 \
        ${PIP_INDEX_URL:+"PIP_INDEX_URL=$PIP_INDEX_URL"} \
        ${HTTPS_PROXY:+"HTTPS_PROXY=$HTTPS_PROXY"}
    command=$1
    shift
    unshare --mount sh -c 'set -e
        for folder in proc sys dev; do
            mount --rbind "/$folder" "$0/$folder"
        done
        exec chroot "$0" env -i "$@"' "$root" "$@" \
        sh -c "cd /root/d2lmulti && $command"
}

step() {
    case $1 in
        set-up) inside 'make env' ;;
        doctor) inside "$python -m d2ldoctor --quick" ;;
        tests)
            inside "$pytest $tests" ;;
        chapters) # with a test, or pytest finds no tests/conftest.py
            inside "$pytest --nbval --nbval-current-env \
                --nbval-cell-timeout=7200 $chapters \
                tests/test_imports.py::test_no_imports_run_in_a_circle" ;;
        job) # qemu lacks process_vm_readv, by which MPICH copies (CMA)
            inside "rm -rf /tmp/c && MPIR_CVAR_CH4_CMA_ENABLE=0 $python \
                -m d2lmulti.cluster.jobs -n 2 --limit 3600 \
                tools/containers/train.py /tmp/c 512" ;;
        *) fail "no step $1: set-up, doctor, tests, chapters or job" ;;
    esac
}

[ "$(id -u)" = 0 ] || fail 'tools/setup/tests/arm64.sh needs root, for chroot and mounts'
for program in qemu-aarch64-static mmdebstrap arch-test; do
    command -v $program >/dev/null || fail "install $program:" \
        'apt-get install qemu-user-static mmdebstrap arch-test'
done
emulate || fail 'the kernel does not run programs for arm64 by qemu'
make_root || fail "could not make a Debian for arm64 in $root"
failed=''
for name in ${*:-set-up doctor tests chapters job}; do
    echo "== $name"
    step "$name" || failed="$failed $name"
done
[ -z "$failed" ] || fail "failed on arm64:$failed"
