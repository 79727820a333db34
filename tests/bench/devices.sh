#!/bin/sh
# SPDX-License-Identifier: MIT
# Times imgstat as a whole process on cpu, cuda and auto: files in the system's cache, the median of RUNS runs. The
# constants of src/batch/device_choice.c come from these tables, of stats and of transforms; docs/lab has them.
#
# usage: tests/bench/devices.sh IMGSTAT DIR      (images of about 8 GB are made in DIR)
# Environment: RUNS (default 3), SETS and TRANSFORMED (images to measure and to transform: names as make_images.py takes
# them), OUTPUTS and METHODS (words of time_devices.py's WORK), THREADS (default: "1 4" and all), WRITTEN (for outputs)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
imgstat=${1:?usage: devices.sh IMGSTAT DIR}
dir=${2:?usage: devices.sh IMGSTAT DIR}
sets=${SETS-"1x64x64x1-u8-png 1000x256x256x3-u8-png 10x4000x3000x3-u8-png 10x4000x3000x3-u8-deflate
1x16384x16384x1-u8-raw 100x2048x2048x1-u16-raw 1x16384x16384x1-f32-raw 16x4096x4096x1-f32-raw
8x4096x4096x1-f64-raw"}
transformed=${TRANSFORMED-"60x512x512x3-u8-png 2x4000x3000x3-u8-png 8x2048x2048x3-u8-raw 1x8192x8192x3-u8-raw
1x16384x8192x1-u16-raw 4x2048x2048x1-u16-deflate 1x8192x8192x1-f32-raw 16x2048x2048x1-f32-raw
4x2048x2048x1-f32-deflate 1x8192x4096x1-f64-raw 1x4096x4096x3-f32-raw 1x4096x4096x3-u32-raw"}
mkdir -p "$dir"
# shellcheck disable=SC2086 # lists of names
python3 "$here/make_images.py" "$dir" $sets $transformed
# shellcheck disable=SC2086
WORK=${OUTPUTS:-table,--json,all} python3 "$here/time_devices.py" "$imgstat" "$dir" $sets
# shellcheck disable=SC2086
WORK=${METHODS:-normalize,gamma,percentile,equalize,clahe} python3 "$here/time_devices.py" "$imgstat" "$dir" $transformed
