#!/bin/sh
# SPDX-License-Identifier: MIT
# Statistics of a folder in N shards, by GNU parallel, on this machine or on those of a list:
#     sh shards-parallel.sh IN STATE N [--sshloginfile HOSTS] > all.jsonl
# IN and STATE are the same folders on all machines. Run again, it does what is missing.
set -eu
in=$1 state=$2 n=$3
shift 3
# A shard with files that failed ends with 1 and is done all the same: the last command prints what failed.
seq "$n" | parallel --jobs 2 "$@" imgstat stats --json --recursive --jobs 1 --state "$state" --shard "{}/$n" "$in" \
    >/dev/null 2>&1 || true
# What is still missing is done here; all is printed, in the order of the names.
exec imgstat stats --json --recursive --state "$state" --shards "$n" "$in"
