#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs what is missing, builds imgstat, and runs it. Without a GPU the CUDA device is left out; with one it is
# built for that GPU alone. Loops are built for this machine's processor alone, besides portable ones.
# usage: tools/quickstart.sh [FILE...]      (default: the example photograph)
# environment: IMGSTAT_CUDA=ON|OFF  CUDAARCHS (GPU architectures to compile for)
set -eu
start=$PWD
cd "$(dirname "$0")/.."
# shellcheck source=tools/setup.sh
. tools/setup.sh
set_up "$build_needs"

# The last is that of Windows under Linux.
has_gpu() {
    [ -e /dev/nvidiactl ] || [ -e /dev/dxg ] || nvidia-smi -L >/dev/null 2>&1
}

PATH=$PATH:/usr/local/cuda/bin # where NVIDIA's packages put nvcc
if [ -z "${IMGSTAT_CUDA-}" ]; then
    if has_gpu; then
        IMGSTAT_CUDA=AUTO
    else
        IMGSTAT_CUDA=OFF
        echo "There is no NVIDIA GPU: imgstat is built without CUDA (IMGSTAT_CUDA=ON builds it)"
    fi
fi
if [ "$IMGSTAT_CUDA" != OFF ] && has_gpu; then
    CUDAARCHS=${CUDAARCHS-native}
    export CUDAARCHS
fi

log=build/quickstart.log
mkdir -p build
build() {
    cmake --preset quick -DIMGSTAT_CUDA="$IMGSTAT_CUDA" && cmake --build --preset quick --target imgstat
}
echo "Building imgstat for this processor (a build for all of them: README.md, Install)"
if ! build >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    echo "The build failed; all of its output is in $log" >&2
    exit 1
fi
program=$PWD/build/quick/imgstat
echo "Built $program"
echo
[ $# -gt 0 ] || set -- "$PWD/testdata/photo.tif"
cd "$start"
exec "$program" "$@"
