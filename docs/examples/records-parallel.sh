#!/bin/sh
# SPDX-License-Identifier: MIT
# Exact statistics of all images of a folder, by N processes of GNU parallel that save a record each, on this machine or
# on those of a list:
#     sh records-parallel.sh IN RECORDS N [--sshloginfile HOSTS] > all.json
# IN and RECORDS are the same folders on all machines. Run again, it makes the records that are missing. RECORDS/all.rec
# remains: 'imgstat stats RECORDS/all.rec' and 'imgstat normalize --from RECORDS/all.rec' read no image again.
set -eu
in=$1 records=$2 n=$3
shift 3
mkdir -p "$records/shards"
# A shard with files that failed ends with 1; its record names them.
for k in $(seq "$n"); do
    [ -e "$records/shards/$k.rec" ] || echo "$k"
done | parallel --jobs 2 "$@" imgstat stats --quiet --by all --recursive --jobs 1 --shard "{}/$n" \
    --save-record "$records/shards/{}.rec" "$in" ">/dev/null" || true
# A shard that is missing is an error here.
imgstat merge --force -o "$records/all.rec" "$records/shards"
exec imgstat stats --json "$records/all.rec"
