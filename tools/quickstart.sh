#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs what is missing, builds imgstat, and runs it.
# usage: tools/quickstart.sh [FILE...]      (default: the example photograph)
set -eu
start=$PWD
cd "$(dirname "$0")/.."
# shellcheck source=tools/setup.sh
. tools/setup.sh
set_up "$build_needs"

log=build/quickstart.log
mkdir -p build
build() {
    cmake --preset release -DIMGSTAT_TESTS=OFF -DIMGSTAT_CUDA="${IMGSTAT_CUDA:-AUTO}" &&
        cmake --build --preset release --target imgstat
}
echo "Building imgstat"
if ! build >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    echo "The build failed; all of its output is in $log" >&2
    exit 1
fi
program=$PWD/build/release/imgstat
echo "Built $program"
echo
[ $# -gt 0 ] || set -- "$PWD/testdata/photo.tif"
cd "$start"
exec "$program" "$@"
