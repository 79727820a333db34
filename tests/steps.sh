# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2034  # out and failed are the script's
# Sourced by the scripts that run many long steps. $out is a folder: it gets a log of each step, and summary.txt.
failed=0

# step NAME COMMAND...: runs it into a log of its own. One line of summary: verdict, time, the last line of the log. The
# exit status is that of the command; any but 0 and 77 (skipped) sets failed=1.
step() {
    name=$1
    shift
    began=$(date +%s)
    "$@" >"$out/$name.log" 2>&1
    code=$?
    case $code in
    0) verdict=ok ;;
    77) verdict=skipped ;;
    *) verdict="FAILED ($code)" failed=1 ;;
    esac
    printf '%-20s %-12s %6d s  %s\n' "$name" "$verdict" $(($(date +%s) - began)) "$(tail -n 1 "$out/$name.log")" |
        tee -a "$out/summary.txt"
    case $verdict in
    FAILED*) tail -n 25 "$out/$name.log" ;;
    esac
    return $code
}
