#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds and tests the CUDA device on a machine with a GPU, which may be without network.
#
# usage: tests/run-gpu.sh [build] [test] [cards] [mps] [sanitize] [devices] [folder] [bench]
# Default: all, in this order. cards: the GPU tests as on a card with 99 KiB of shared memory and with the PTX of 8.0, and
# whether nvcc compiles the architectures that a release has; mps: the GPU tests as clients of CUDA's Multi-Process Service;
# folder only where PHOTOS names a directory of PNG photographs (time_folder.py).
#
# Libraries that the machine lacks are taken from .gpu-deps/ (unpacked packages, with an env.sh that sets the search
# paths), the corpus from IMGSTAT_CORPUS, .gpu-corpus/ or .gpu-corpus.tar.xz. Environment: OUT (log files; default
# build/gpu-out), JOBS, SANITIZERS (default "memcheck racecheck initcheck synccheck"), SANITIZE_TIMEOUT (seconds),
# BENCH_ARGUMENTS (for imgstat-bench), and what tests/bench/devices.sh takes.
set -u
cd "$(dirname "$0")/.." || exit 1
if [ -r .gpu-deps/env.sh ]; then
    # shellcheck source=/dev/null
    . ./.gpu-deps/env.sh
fi
PATH=/usr/local/cuda/bin:$PATH
build=build/gpu
out=${OUT:-build/gpu-out}
jobs=${JOBS:-$(nproc)}
mkdir -p "$out"
out=$(cd "$out" && pwd)
summary=$out/summary.txt
: >"$summary"
if [ -z "${IMGSTAT_CORPUS-}" ] && [ -r .gpu-corpus.tar.xz ] && [ ! -d .gpu-corpus ]; then
    mkdir .gpu-corpus && tar -xJf .gpu-corpus.tar.xz -C .gpu-corpus --strip-components=1
fi
if [ -z "${IMGSTAT_CORPUS-}" ] && [ -d .gpu-corpus ]; then
    IMGSTAT_CORPUS=$PWD/.gpu-corpus
    export IMGSTAT_CORPUS
fi

# shellcheck source=tests/steps.sh
. tests/steps.sh

architecture() {
    nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d . | grep . || echo 90
}

# configure NAME FOLDER OPTION...
configure() {
    configure_name=$1 configure_folder=$2
    shift 2
    generator=
    command -v ninja >/dev/null && generator='-G Ninja'
    # shellcheck disable=SC2086 # two words
    step "$configure_name" cmake -S . -B "$configure_folder" $generator -DCMAKE_BUILD_TYPE=Release -DIMGSTAT_CUDA=ON \
        -DIMGSTAT_WERROR="${IMGSTAT_WERROR:-OFF}" "$@"
}

do_build() {
    python=OFF
    python3 -c 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null && python=ON
    configure configure "$build" -DIMGSTAT_TESTS=ON -DIMGSTAT_PYTHON=$python -DIMGSTAT_BENCH=ON \
        -DCMAKE_CUDA_ARCHITECTURES="$(architecture)" &&
        step build cmake --build "$build" --parallel "$jobs"
}

do_test() {
    # Without a formatter or network some tests of the project itself are skipped by their own decision.
    IMGSTAT_REQUIRE_CUDA=1 step test ctest --test-dir "$build" --output-on-failure --parallel "$jobs" \
        ${TEST_EXCLUDE:+--exclude-regex "$TEST_EXCLUDE"}
    sed -n '/tests passed/,$p' "$out/test.log" | tee -a "$summary"
    grep '(label\|^corpus.*lines,\|lines compared' "$build/Testing/Temporary/LastTest.log" | tee -a "$summary"
}

# The GPU's tests, without those of the corpus and the ladder: what differs is planned on the host.
gpu_tests() {
    ctest --test-dir "$1" --output-on-failure --parallel "$jobs" --label-regex gpu --exclude-regex 'corpus|ladder|hostile'
}

# Other cards on this one. A module of PTX for 8.0 replaces the one beside the tests; ptxas makes machine code of it on all
# processors, the driver would take one.
do_cards() {
    IMGSTAT_CUDA_SHARED_KIB=99 IMGSTAT_REQUIRE_CUDA=1 step shared-99 gpu_tests "$build"
    configure configure-ptx "$build-ptx" -DIMGSTAT_TESTS=OFF -DIMGSTAT_PYTHON=OFF -DCMAKE_CUDA_ARCHITECTURES=OFF \
        -DCMAKE_CUDA_FLAGS="--generate-code=arch=compute_80,code=sm_$(architecture)" &&
        step build-ptx cmake --build "$build-ptx" --target imgstat_cuda --parallel "$jobs" &&
        IMGSTAT_CUDA_MODULE=$PWD/$build-ptx/libimgstat-cuda.so IMGSTAT_TEST_SMALL=1 IMGSTAT_REQUIRE_CUDA=1 step ptx-80 gpu_tests "$build"
    configure configure-release "$build-release" -DIMGSTAT_TESTS=OFF -DIMGSTAT_PYTHON=OFF &&
        step build-release cmake --build "$build-release" --target imgstat_cuda --parallel "$jobs"
}

# All processes of a user share a context of the service's.
do_mps() {
    command -v nvidia-cuda-mps-control >/dev/null || {
        echo "mps: skipped, no nvidia-cuda-mps-control" | tee -a "$summary"
        return
    }
    CUDA_MPS_PIPE_DIRECTORY=$(mktemp -d) CUDA_MPS_LOG_DIRECTORY=$out/mps
    export CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
    mkdir -p "$out/mps"
    nvidia-cuda-mps-control -d
    IMGSTAT_TEST_SMALL=1 IMGSTAT_REQUIRE_CUDA=1 step mps gpu_tests "$build"
    echo quit | nvidia-cuda-mps-control
    unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
}

# The tests provoke errors of calls, and look at what the library makes of them. Barriers in dynamic shared memory are
# none that synccheck counts beforehand: it runs out of room, and the launch fails.
tool_options() {
    case $1 in
    memcheck) echo '--report-api-errors no' ;;
    synccheck) echo '--num-cuda-barriers 64' ;;
    esac
}

# One program under one tool of compute-sanitizer, on small sizes.
sanitize_one() {
    tool=$1 program=$2
    began=$(date +%s)
    # shellcheck disable=SC2046 # options and their values
    IMGSTAT_REQUIRE_CUDA=1 IMGSTAT_TEST_SMALL=1 IMGSTAT_TESTDATA=$PWD/testdata \
        timeout "${SANITIZE_TIMEOUT:-300}" compute-sanitizer --tool "$tool" $(tool_options "$tool") \
        --error-exitcode 9 "$program" \
        >"$out/$tool-$(basename "$program").log" 2>&1
    code=$?
    verdict=ok
    [ $code = 0 ] || verdict="FAILED ($code)"
    [ $code != 124 ] || verdict="out of time"
    printf '%-28s %-12s %5d s\n' "$tool-$(basename "$program")" "$verdict" $(($(date +%s) - began))
}

# sanitize_with TOOL...: every GPU test under these tools, all at the same time: they take little of the GPU. But for
# gpu_device, which takes all of its memory to see what happens then: it follows alone.
sanitize_with() {
    for program in "$build"/tests/gpu_*; do
        if [ -x "$program" ] && [ -f "$program" ] && [ "${program##*/}" != gpu_device ]; then
            for tool in "$@"; do
                [ "$tool ${program##*/}" != 'memcheck gpu_faults' ] || continue # kernels that trap, on purpose
                sanitize_one "$tool" "$program" >"$out/$tool-$(basename "$program").verdict" &
            done
        fi
    done
    wait
    for tool in "$@"; do
        sanitize_one "$tool" "$build/tests/gpu_device" >"$out/$tool-gpu_device.verdict"
    done
}

# initcheck goes alone: its shadow of the device's memory leaves none to others.
do_sanitize() {
    sanitize_began=$(date +%s)
    wanted=${SANITIZERS:-memcheck racecheck initcheck synccheck}
    case $wanted in
    *initcheck*) sanitize_with initcheck ;;
    esac
    # shellcheck disable=SC2046,SC2086 # a list of tools
    sanitize_with $(printf '%s\n' $wanted | grep -v initcheck)
    cat "$out"/*.verdict 2>/dev/null | tee -a "$summary"
    if ! cat "$out"/*.verdict >/dev/null 2>&1 || grep -q 'FAILED\|out of time' "$out"/*.verdict; then
        failed=1
        grep -h -A 12 '=========' "$out"/*check-*.log | grep -v 'COMPUTE-SANITIZER\|ERROR SUMMARY: 0' | head -n 40
    fi
    rm -f "$out"/*.verdict
    printf '%-28s %-12s %5d s\n' sanitize '' $(($(date +%s) - sanitize_began)) | tee -a "$summary"
}

# Whole processes on each device.
do_devices() {
    scratch=$(mktemp -d)
    step devices sh tests/bench/devices.sh "$build/imgstat" "$scratch"
    cat "$out/devices.log"
    rm -rf "$scratch"
}

# Whole folders of photographs on each device, and on 1 to all processors.
do_folder() {
    [ -n "${PHOTOS-}" ] || return 0
    scratch=$(mktemp -d)
    step folder python3 tests/bench/time_folder.py "$build/imgstat" "$PHOTOS" "$scratch"
    cat "$out/folder.log"
    rm -rf "$scratch"
}

do_bench() {
    # shellcheck disable=SC2086 # a list of arguments
    step bench "$build/imgstat-bench" ${BENCH_ARGUMENTS-}
    cat "$out/bench.log"
}

[ $# -gt 0 ] || set -- build test cards mps sanitize devices folder bench
for wanted in "$@"; do
    case $wanted in
    build) do_build || break ;;
    test) do_test ;;
    cards) do_cards ;;
    mps) do_mps ;;
    sanitize) do_sanitize ;;
    devices) do_devices ;;
    folder) do_folder ;;
    bench) do_bench ;;
    *)
        echo "unknown step '$wanted'; the steps are: build test cards mps sanitize devices folder bench" >&2
        exit 2
        ;;
    esac
done
echo "== summary"
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null
cat "$summary"
exit $failed
