#!/bin/sh
# SPDX-License-Identifier: MIT
# Proves by CBMC, which makes one formula of all runs, that nothing undefined happens, every loop ends and every demand holds,
# for any bytes up to a size. Each line "CBMC:" of a proof has the options, bounds and further sources of one run; with
# IMGSTAT_PROOFS=full the lines "CBMC, full:" count, where there are any.
# usage: cbmc.sh PROOF [SRC]   PROOF of tests/proofs, without .c; SRC: a changed copy of src (mutations.py)
#        cbmc.sh --fetch       unpacks Debian 13's CBMC into build/cbmc if none is installed
cd "$(dirname "$0")/../.." || exit 1
folder=build/cbmc
cbmc=cbmc
if ! command -v cbmc >/dev/null; then
    cbmc=$folder/usr/bin/cbmc
    [ "$1" != --fetch ] || [ -x $cbmc ] || tools/newer_debian.sh trixie $folder cbmc libc6 libgcc-s1 libstdc++6 minisat
    [ -x $cbmc ] || { echo "skipped: CBMC is not installed (package cbmc; Debian 12 has none), and cannot be fetched" && exit 77; }
    libraries=$(find $folder/usr/lib -name '*.so.*' -exec dirname {} + | sort -u | tr '\n' ':')
    cbmc="$(find $folder/usr/lib/ -name 'ld-linux*' | head -n 1) --library-path $libraries $cbmc" # it needs a newer libc
fi
[ "$1" != --fetch ] || exec $cbmc --version

src=${2:-src}
checks='--bounds-check --pointer-check --pointer-overflow-check --signed-overflow-check --undefined-shift-check
    --div-by-zero-check --unwinding-assertions --no-malloc-may-fail --drop-unused-functions'
definitions='-DNDEBUG -DIMGSTAT_ISA=portable -DIMGSTAT_WITHOUT_AVX2 -DIMGSTAT_WITHOUT_AVX512'
lines=$(mktemp)
trap 'rm -f "$lines" "$lines.log"' EXIT
sed -n 's,^/\* CBMC: \(.*\) \*/$,\1,p' "tests/proofs/$1.c" >"$lines"
if [ "${IMGSTAT_PROOFS-}" = full ] && grep -q '^/\* CBMC, full:' "tests/proofs/$1.c"; then
    sed -n 's,^/\* CBMC\, full: \(.*\) \*/$,\1,p' "tests/proofs/$1.c" >"$lines"
fi
[ -s "$lines" ] || { echo "tests/proofs/$1.c has no line for CBMC" && exit 1; }
while read -r options; do
    # shellcheck disable=SC2086,SC2046 # words
    if ! $cbmc $checks -I"$src" -Itests/proofs $definitions $(echo "$options" | sed "s,src/,$src/,g") "tests/proofs/$1.c" \
        >"$lines.log" 2>&1; then
        grep -E 'FAILURE|VERIFICATION' "$lines.log" || tail -n 40 "$lines.log"
        echo "$1 is not proved: $options"
        exit 1
    fi
    echo "$1 is proved: $options"
done <"$lines"
