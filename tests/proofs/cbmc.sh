#!/bin/sh
# SPDX-License-Identifier: MIT
# Proves by CBMC, which makes one formula of all runs, that nothing undefined happens and every demand holds, for any bytes.
# Loops over 32 lanes are too much for it.
cd "$(dirname "$0")/../.." || exit 1
command -v cbmc >/dev/null || { echo "skipped: CBMC is not installed (package cbmc; Debian 12 has none)" && exit 77; }
exec cbmc --bounds-check --pointer-check --signed-overflow-check --undefined-shift-check --unwind 14 --unwinding-assertions --no-malloc-may-fail \
    -Isrc -Itests/proofs -DNDEBUG --verbosity 4 tests/proofs/prove_numbers.c src/record/byte_stream.c
