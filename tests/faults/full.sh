#!/bin/sh
# SPDX-License-Identifier: MIT
# Every campaign against faults in full, for a release: hours. Builds what it needs. Exit status 1 if one of them found something;
# build/faults has what each of them said.
# usage: tests/faults/full.sh [calls] [reads] [power] [stress] [dlpack] [proofs] [mutations] [threads] [fuzz]   (default: all)
# environment: IMGSTAT_CORPUS  FUZZ_MINUTES (default 480)
set -u
cd "$(dirname "$0")/../.." || exit 1
release=build/release asan=build/asan out=build/faults
shim=$release/tests/libfaults_shim.so
mkdir -p $out
: >$out/summary.txt
# shellcheck source=tests/steps.sh
. tests/steps.sh

# build PRESET
build() {
    cmake --preset "$1" -DIMGSTAT_TESTS=ON -DIMGSTAT_PYTHON=ON -DPython3_EXECUTABLE=/usr/bin/python3 &&
        cmake --build --preset "$1" --parallel "$(nproc)"
}

[ $# -gt 0 ] || set -- calls reads power stress dlpack proofs mutations threads fuzz
step release build release || exit 1
case " $* " in
*' proofs '* | *' mutations '*) step asan build asan ;;
esac
for wanted in "$@"; do
    case $wanted in
    calls) step calls python3 tests/faults/campaign.py $release/imgstat $shim --full ;;
    reads) step reads python3 tests/faults/input_errors.py $release/imgstat $shim ;;
    power) step power python3 tests/faults/power_cut.py $release/imgstat $shim --files 40 --states 300 ;;
    stress) IMGSTAT_STRESS_JOBS=1000000 IMGSTAT_TESTDATA=$PWD/testdata step stress $release/tests/test_batch_scheduler_cancel ;;
    dlpack) IMGSTAT_DLPACK_RUNS=60000 step dlpack python3 tests/python/run.py tests/python/test_dlpack.py $release/python ;;
    proofs)
        IMGSTAT_PROOFS=full step proofs ctest --preset asan -L proof --timeout 36000
        IMGSTAT_PROOFS=full step cbmc ctest --preset release -R '^cbmc' --timeout 36000
        ;;
    mutations)
        step mutations python3 tests/proofs/mutations.py $asan
        step mutations-cbmc python3 tests/proofs/mutations.py --cbmc
        ;;
    threads) step threads tests/threads.sh all ;;
    fuzz) step fuzz tests/fuzz/nightly.sh "${FUZZ_MINUTES:-480}" ;;
    *)
        echo "unknown campaign '$wanted'; there are: calls reads power stress dlpack proofs mutations threads fuzz" >&2
        exit 2
        ;;
    esac
done
exit $failed
