#!/bin/sh
# Run a command as other processors would, and say where it failed:
#
#     sh tests/processors.sh 'NAME ...' COMMAND ...
#
# NAME: a setting below, by default all that this processor has. oneDNN and
# OpenBLAS then use the instructions of that processor and no newer ones.
settings=$1
shift
has() { grep -qw "$1" /proc/cpuinfo; }

if [ -z "$settings" ]; then
    settings='sse41 avx2 default one-core'
    ! has avx512f || settings="$settings avx512"
fi
failed=''
for name in $settings; do
    pin=''
    unset DNNL_MAX_CPU_ISA OPENBLAS_CORETYPE
    case $name in
        sse41) export DNNL_MAX_CPU_ISA=SSE41 OPENBLAS_CORETYPE=Nehalem ;;
        avx) export DNNL_MAX_CPU_ISA=AVX OPENBLAS_CORETYPE=Sandybridge ;;
        avx2) export DNNL_MAX_CPU_ISA=AVX2 OPENBLAS_CORETYPE=Haswell ;;
        avx512)
            export DNNL_MAX_CPU_ISA=AVX512_CORE OPENBLAS_CORETYPE=SkylakeX ;;
        one-core) pin='taskset -c 0' ;;
        default) ;;
        *) echo "no setting $name: sse41, avx, avx2, avx512, one-core" \
            'or default' >&2
            exit 2 ;;
    esac
    echo "== $name"
    $pin "$@" || failed="$failed $name"
done
[ -z "$failed" ] || { echo "failed as:$failed" >&2; exit 1; }
