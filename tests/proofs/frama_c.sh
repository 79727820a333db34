#!/bin/sh
# SPDX-License-Identifier: MIT
# Proves by Frama-C's Eva, which computes with sets of values, that nothing undefined happens in decoders for any bytes up
# to a size: no access beside an object, nothing read before it is written, no signed overflow, no shift that is too wide.
cd "$(dirname "$0")/../.." || exit 1
command -v frama-c >/dev/null || { echo "skipped: Frama-C is not installed (package frama-c-base)" && exit 77; }
log=$(mktemp)
trap 'rm -f "$log"' EXIT
definitions='-DNDEBUG -DIMGSTAT_ISA=portable -U__SSE2__ -U__AVX2__'
for proof in tests/proofs/prove_packbits.c tests/proofs/any_rows.c; do
    frama-c -eva -machdep gcc_x86_64 -cpp-extra-args="-Isrc -Itests/proofs $definitions" -eva-no-print -eva-slevel 100000 \
        -eva-domains equality "$proof" >"$log" 2>&1
    if ! grep -q ' 0 alarms generated' "$log" || grep -qE 'merge loop iterations|assigns clause|no code' "$log"; then
        grep -vE 'superposing|Trace partitioning' "$log" | tail -n 40
        echo "$proof is not proved"
        exit 1
    fi
    echo "$proof: no alarm, every loop to its end"
done
