#!/bin/sh
# SPDX-License-Identifier: MIT
# Are all sources formatted as .clang-format says? Versions of clang-format differ, so one of them counts.
set -eu
cd "$(dirname "$0")/.."
want=14
for program in clang-format-$want clang-format; do
    version=$($program --version 2>/dev/null | sed -n 's/.*version \([0-9]*\)\..*/\1/p')
    [ "$version" = "$want" ] && break
    program=
done
if [ -z "$program" ]; then
    echo "skipped: the format is checked with clang-format $want, which is not installed"
    exit 77
fi
files=$(find src kernels tools tests -path tests/install/abi -prune -o \
    \( -name '*.[ch]' -o -name '*.cc' -o -name '*.cu' -o -name '*.cuh' \) -print)
[ -n "$files" ] || { echo "no sources found"; exit 1; }
# shellcheck disable=SC2086 # our file names have no spaces
if ! findings=$($program --dry-run -Werror $files 2>&1); then
    echo "Not formatted (places to change, file):"
    echo "$findings" | grep -a 'error:' | cut -d: -f1 | sort | uniq -c
    echo "Run: clang-format -i FILE"
    exit 1
fi
echo "$(echo "$files" | wc -l) files are formatted"
