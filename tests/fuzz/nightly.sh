#!/bin/sh
# SPDX-License-Identifier: MIT
# Fuzzes every target for an equal share of so many minutes, on all processors, from the corpora of the nights before; then
# keeps of each corpus the fewest and smallest inputs that reach as much. usage: tests/fuzz/nightly.sh [MINUTES (default 60)]
# Exit status 1: something was found; it lies in build/fuzz/found.
set -eu
cd "$(dirname "$0")/../.."
build=$PWD/build/fuzz
corpora=$build/corpora found=$build/found jobs=$(nproc)
# Inputs are small: what compares say of them takes longer than it finds.
cmake --preset fuzz -DCMAKE_C_FLAGS=-fno-sanitize-coverage=trace-cmp -DIMGSTAT_MPI=OFF >/dev/null
targets=$(basename -s .c tests/fuzz/fuzz_*.c)
# shellcheck disable=SC2086 # words
cmake --build --preset fuzz --parallel "$jobs" --target imgstat $targets >/dev/null
mkdir -p "$found"
"$build/imgstat" normalize --help-all | sed -n 's/^ *\(-., \)*\(--[a-z0-9-]*=*\).*/"\2"/p' | sort -u >"$build/options.dict"
seconds=$((${1:-60} * 60 / $(echo "$targets" | wc -l)))

# most NAME: the largest input in bytes.
most() {
    case $1 in
    fuzz_lzw_lanes | fuzz_deflate) echo 200 ;;
    fuzz_inflate*) echo 400 ;;
    fuzz_tar) echo 8192 ;;
    fuzz_tiff*) echo 24000 ;;
    *) echo 4000 ;;
    esac
}

# run NAME: one process a processor, which share a corpus.
run() {
    name=$1 corpus=$corpora/$1
    set --
    words=${name#fuzz_}
    for file in "$PWD/tests/fuzz/${words%_transform}.dict" "$build/$words.dict"; do
        [ ! -e "$file" ] || set -- "-dict=$file"
    done
    mkdir -p "$corpus" "$corpus.new"
    set -- "$@" "$corpus" "$PWD/testdata" "$PWD/tests/fuzz/seeds"
    (cd "$build" && "tests/$name" -jobs="$jobs" -workers="$jobs" -max_total_time=$seconds -max_len="$(most "$name")" \
        -timeout=30 -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$found/$name-" "$@" >/dev/null 2>&1) || true
    inputs=$(cat "$build"/fuzz-*.log | awk '/number_of_executed_units/ { n += $2 } END { print n + 0 }')
    rm -f "$build"/fuzz-*.log
    "$build/tests/$name" -merge=1 -max_len="$(most "$name")" "$corpus.new" "$corpus" >/dev/null 2>&1 || true
    rm -rf "$corpus" && mv "$corpus.new" "$corpus"
    echo "| $name | $inputs | $(find "$corpus" -type f | wc -l) |"
}

echo "| target | inputs in ${seconds} s a process | kept |"
echo "|---|---|---|"
for name in $targets; do
    run "$name"
done
n=$(find "$found" -type f ! -name '*slow-unit*' | wc -l)
echo "$n findings"
[ "$n" -eq 0 ]
