#!/bin/sh
# SPDX-License-Identifier: MIT
# Times imgstat against other programs that do the same work. compare.sh --help says how.
exec python3 "$(dirname "$0")/compare.py" "$@"
