#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: tools/build-html.sh [FOLDER [BUILD]]     the documents and imgstat.h as HTML (default: build/html)
# BUILD: a folder in which imgstat was built (default: build/release), for its manual pages, if mandoc is installed.
# Needs python3-sphinx, python3-myst-parser and doxygen. A link that leads nowhere is an error.
set -eu
cd "$(dirname "$0")/.."
out=${1:-build/html}
export IMGSTAT_MANUALS="${2:-build/release}"
for program in sphinx-build doxygen; do
    command -v $program >/dev/null || { echo "skipped: $program is not installed"; exit 77; }
done
python=$(sed -n '1s/^#! *//p' "$(command -v sphinx-build)")
$python -c 'import myst_parser' 2>/dev/null || { echo "skipped: myst_parser is not installed"; exit 77; }
mkdir -p "$out"
sphinx-build -q -W --keep-going -c docs -d "$out/.doctrees" -b html . "$out"
# Doxygen reads comments that begin with two asterisks.
doxygen - <<END
PROJECT_NAME = imgstat
INPUT = src/imgstat.h src/imgstat_async.h
INPUT_FILTER = "sed -e 's,^\\( *\\)/[*] \\([^-]\\),\\1/** \\2,' -e 's,\\([;\\,]\\) */[*] ,\\1 /**< ,'"
OUTPUT_DIRECTORY = $out
HTML_OUTPUT = api
GENERATE_LATEX = NO
HAVE_DOT = NO
OPTIMIZE_OUTPUT_FOR_C = YES
EXTRACT_ALL = YES
MACRO_EXPANSION = YES
EXPAND_ONLY_PREDEF = YES
PREDEFINED = IMGSTAT_API= IMGSTAT_MUST_CHECK=
JAVADOC_AUTOBRIEF = YES
QUIET = YES
WARN_AS_ERROR = YES
WARN_IF_UNDOCUMENTED = NO
END
echo "$out/docs/index.html"
