#!/bin/sh
# SPDX-License-Identifier: MIT
# Statistics of a folder as a Slurm array, one shard a task:
#     sbatch --array=1-64 shards-slurm.sh IN STATE
#     imgstat stats --json --recursive --state STATE --shards 64 IN > all.jsonl     # when it has ended
# A task that is requeued, or a job that is submitted again, does what is missing.
#SBATCH --job-name=imgstat
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=16
#SBATCH --requeue
set -eu
in=$1 state=$2
status=0
imgstat stats --json --recursive --jobs "${SLURM_CPUS_PER_TASK:-1}" --state "$state" \
    --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" "$in" >/dev/null || status=$?
# 1 with a shard that is kept: some files failed, and the last command says which. Slurm need not call that a failed task.
kept=$(printf '%s/shard-%04d-of-%04d.out' "$state" "$SLURM_ARRAY_TASK_ID" "$SLURM_ARRAY_TASK_COUNT")
[ "$status" -eq 1 ] && [ -s "$kept" ] && status=0
exit "$status"
