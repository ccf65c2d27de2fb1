#!/bin/sh
# Install d2lmulti and samestep into the Python of a Colab notebook. What Colab has there
# stays as it is, so that the runtime need not restart: no dependencies.
set -e
cd "$(dirname "$0")/../.."
libraries=libgomp.so.1:libgomp1
[ "$(uname -m)" != x86_64 ] || libraries="$libraries libquadmath.so.0:libquadmath0"
for library in $libraries; do
    ldconfig -p | grep -q "${library%:*}" || apt-get install -qq "${library#*:}"
done
python3 -m pip install -q --no-deps -r tools/setup/cpu.in ./samestep .
