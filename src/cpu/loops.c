/* SPDX-License-Identifier: MIT */
/* loops.c: the operations on many pixels of one instruction set. The loops over samples are in
 * plain C, shaped so that compilers make vector code of them: accumulators are arrays in which
 * element j takes the samples j, j + K, j + 2K, ... with K a multiple of the number of channels, so
 * that interleaved channels need no taking apart. */
#include "cpu/loops.h"

#include "cpu/loop_narrow.h"
#include "cpu/loop_select.h"
#include "cpu/loop_sums.h"
#include "cpu/loops_isa.h"

const CpuLoops ISA(cpu_loops) = {
    .extrema = extrema,
    .sums32 = sums32,
    .piece = piece,
    .fill = fill,
    .leading = leading,
    .count_words = count_words,
    .count_bytes = count_bytes,
    .select = select_keys,
    .count_bins = count_bins,
    .distances = distances,
    .powers = powers,
    .lut8 = ISA(lut8),
    .luma_narrow = ISA(luma_narrow),
    .luma_narrow_scale = ISA(luma_narrow_scale),
    .luma_wide_load = ISA(luma_wide_load),
    .luma_wide_store = ISA(luma_wide_store),
    .clahe_row16 = ISA(clahe_row16),
    .clahe_map16 = ISA(clahe_map16),
    .map_linear = ISA(map_linear),
    .map_power = ISA(map_power),
    .map_knots_f32 = ISA(map_knots_f32),
};
