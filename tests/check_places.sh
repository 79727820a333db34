#!/bin/sh
# SPDX-License-Identifier: MIT
# Every unit test lies in the folder of the source that it tests and has its name:
# tests/unit/FOLDER/test_NAME.c, or test_NAME_PART.c, belongs to src/FOLDER/NAME.c or NAME.h.
cd "$(dirname "$0")/.."
n=0 wrong=0
for test in tests/unit/*/test_*.c tests/unit/test_*.c; do
    n=$((n + 1))
    source=$(echo "$test" | sed 's|^tests/unit/|src/|; s|test_\([^/]*\)\.c$|\1|')
    if [ ! -e "$source.c" ] && [ ! -e "$source.h" ] && [ ! -e "${source%_*}.c" ] && [ ! -e "${source%_*}.h" ]; then
        echo "$test: there is no $source.c or .h"
        wrong=$((wrong + 1))
    fi
done
echo "$n unit tests, $wrong without a source of their name"
[ "$n" -gt 20 ] && [ "$wrong" -eq 0 ]
