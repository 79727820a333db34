#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds and tests the CUDA device on a machine with a GPU, which may be without network.
#
# usage: tests/run-gpu.sh [build] [test] [sanitize] [bench]      (default: all, in this order)
#
# Libraries that the machine lacks are taken from .gpu-deps/ (unpacked packages, with an env.sh that sets the search
# paths), the corpus from IMGSTAT_CORPUS. Environment: OUT (log files; default build/gpu-out), JOBS,
# SANITIZERS (default "memcheck racecheck initcheck synccheck"), BENCH_ARGUMENTS (for imgstat-bench).
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
failed=0

# step NAME COMMAND...: runs it into a log of its own; one line of summary with its time.
step() {
    name=$1
    shift
    began=$(date +%s)
    "$@" >"$out/$name.log" 2>&1
    code=$?
    took=$(($(date +%s) - began))
    case $code in
    0) verdict=ok ;;
    77) verdict=skipped ;;
    *) verdict="FAILED ($code)" failed=1 ;;
    esac
    printf '%-28s %-12s %5d s\n' "$name" "$verdict" "$took" | tee -a "$summary"
    case $verdict in
    FAILED*) tail -n 25 "$out/$name.log" ;;
    esac
    return $code
}

do_build() {
    architecture=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d .)
    generator=
    command -v ninja >/dev/null && generator='-G Ninja'
    # shellcheck disable=SC2086 # a list of options
    step configure cmake -S . -B "$build" $generator -DCMAKE_BUILD_TYPE=Release -DIMGSTAT_CUDA=ON -DIMGSTAT_TESTS=ON \
        -DIMGSTAT_WERROR="${IMGSTAT_WERROR:-OFF}" -DCMAKE_CUDA_ARCHITECTURES="${architecture:-90}" &&
        step build cmake --build "$build" --parallel "$jobs"
}

do_test() {
    IMGSTAT_REQUIRE_CUDA=1 step test ctest --test-dir "$build" --output-on-failure --parallel "$jobs"
    sed -n '/tests passed/,$p' "$out/test.log" | tee -a "$summary"
}

# The GPU tests again, on small sizes, under each of the tools of compute-sanitizer.
do_sanitize() {
    found=0
    for program in "$build"/tests/gpu_*; do
        [ -x "$program" ] && [ -f "$program" ] || continue
        found=1
        for tool in ${SANITIZERS:-memcheck racecheck initcheck synccheck}; do
            IMGSTAT_REQUIRE_CUDA=1 IMGSTAT_TEST_SMALL=1 IMGSTAT_TESTDATA=$PWD/testdata \
                step "$tool-$(basename "$program")" timeout "${SANITIZE_TIMEOUT:-300}" \
                compute-sanitizer --tool "$tool" --error-exitcode 9 "$program"
        done
    done
    [ "$found" = 1 ] || step sanitize sh -c 'echo "no GPU tests were built"; exit 1'
}

do_bench() {
    # shellcheck disable=SC2086 # a list of arguments
    step bench "$build/imgstat-bench" ${BENCH_ARGUMENTS-}
    cat "$out/bench.log"
}

[ $# -gt 0 ] || set -- build test sanitize bench
for wanted in "$@"; do
    case $wanted in
    build) do_build || break ;;
    test) do_test ;;
    sanitize) do_sanitize ;;
    bench) do_bench ;;
    *)
        echo "unknown step '$wanted'; the steps are: build test sanitize bench" >&2
        exit 2
        ;;
    esac
done
echo "== summary"
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null
cat "$summary"
exit $failed
