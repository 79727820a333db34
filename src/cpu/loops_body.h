/* SPDX-License-Identifier: MIT */
/* loops_body.h: the loops of cpu/loops.h in plain C, shaped so that compilers make vector code
 * of them: accumulators are arrays in which element j takes the samples j, j + K, j + 2K, ... with
 * K a multiple of the number of channels, so that interleaved channels need no taking apart. Each
 * file that includes this compiles them for one instruction set. */
#ifndef IMGSTAT_CPU_LOOPS_BODY_H
#define IMGSTAT_CPU_LOOPS_BODY_H

#include "cpu/loop_count16.h"
#include "cpu/loop_count8.h"
#include "cpu/loop_extrema.h"
#include "cpu/loop_select.h"
#include "cpu/loop_sums.h"

#endif
