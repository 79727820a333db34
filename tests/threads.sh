#!/bin/sh
# SPDX-License-Identifier: MIT
# Threads under ThreadSanitizer. Without an argument: those programs and tests that find most, built for a short build, in
# less than a minute of processor time. all: every unit test and every test of the command line, in hours.
set -eu
cd "$(dirname "$0")/.."
export TSAN_OPTIONS="halt_on_error=1:allocator_may_return_null=1 ${TSAN_OPTIONS-}" IMGSTAT_TESTDATA="$PWD/testdata" IMGSTAT_TEST_SMALL=1
if [ "${1-}" = all ]; then
    cmake --preset tsan && cmake --build --preset tsan
    exec ctest --preset tsan -L 'unit|cli' --parallel "$(nproc)"
fi

programs='base_thread_pool base_buffer_cache codec_parallel_inflate codec_prefetch measure_read_ahead batch_feeding
    batch_measure_batch batch_scheduler_cancel imgstat_threads'
flags='-DCMAKE_C_FLAGS_RELWITHDEBINFO=-O0 -DIMGSTAT_NATIVE=ON -DIMGSTAT_MPI=OFF -DIMGSTAT_PYTHON=OFF'
build=build/threads
# shellcheck disable=SC2086,SC2046 # words
{
    cmake --preset tsan -B $build $flags >/dev/null
    cmake --build $build --parallel "$(nproc)" --target imgstat $(printf 'test_%s ' $programs) >/dev/null
}

n=0
run() {
    "$@" >$build/log 2>&1 || { cat $build/log && echo "failed under ThreadSanitizer: $*" && exit 1; }
    n=$((n + 1))
}

for program in $programs; do
    case $program in
    base_buffer_cache) set -- scratch/threads_share_it ;;
    codec_parallel_inflate) set -- parallel_inflate/single_block parallel_inflate/ends_early ;;
    *) set -- ;;
    esac
    run $build/tests/test_"$program" "$@"
done

outputs=$build/outputs
mkdir -p $outputs
run $build/imgstat stats --json --percentiles=1,50 -j4 testdata/good-*.tif testdata/good-*.png
run $build/imgstat stats --by=all -j4 testdata/good-rgb.png testdata/good-example.png testdata/good-interlaced.png
run $build/imgstat normalize -j4 --force testdata/good-*.png -o $outputs
run $build/imgstat equalize --clahe -j4 --force testdata/photo.tif testdata/good-tiled.tif -o $outputs
run $build/imgstat normalize --together -j4 --force testdata/good-rgb.png testdata/good-example.png -o $outputs
rm -rf $outputs
echo "$n runs under ThreadSanitizer: nothing found"
