#!/bin/sh
# SPDX-License-Identifier: MIT
# Which lines of src/, tools/imgstat/ and tools/python/ the tests run. Needs gcovr (Debian, Ubuntu: gcovr).
# usage: coverage.sh [CTEST_OPTION...]     for instance -L unit; the report: build/coverage/coverage.html
set -eu
cd "$(dirname "$0")/.."
command -v gcovr >/dev/null || { echo "coverage.sh: gcovr is missing" >&2; exit 77; }
cmake --preset coverage >/dev/null
cmake --build --preset coverage --parallel
find build/coverage -name '*.gcda' -delete
status=0
ctest --preset coverage --parallel "$(nproc)" "$@" || status=1
gcovr --root . --object-directory build/coverage --filter 'src/' --filter 'tools/imgstat/' --filter 'tools/python/' --print-summary \
    --exclude-unreachable-branches --txt build/coverage/coverage.txt --html-details build/coverage/coverage.html \
    build/coverage
echo "folder: lines run of lines"
awk '$1 ~ /^(src|tools)\// { n = split($1, part, "/"); f = part[1] "/" part[2]; all[f] += $2; run[f] += $3 }
     END { for (f in all) printf "%s: %d of %d, %.1f %%\n", f, run[f], all[f], 100 * run[f] / all[f] }' \
    build/coverage/coverage.txt | sort
exit $status
