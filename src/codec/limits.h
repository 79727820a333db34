/* SPDX-License-Identifier: MIT */
/* limits.h: checks the geometry of inputs, which may be hostile, against limits. */
#ifndef IMGSTAT_CODEC_LIMITS_H
#define IMGSTAT_CODEC_LIMITS_H

#include "base/error.h"

/* Returns `limits` with defaults in place of zeros. */
ImgstatLimits limits_default(ImgstatLimits limits);

/* Compares the geometry of a page with limits. Call it before anything is allocated for the page.
 * name: begins messages. */
ImgstatResult limits_check(const ImgstatLimits *limits, const char *name, uint64_t width,
                           uint64_t height, uint64_t channels, uint64_t sample_bytes,
                           ImgstatError *err);

/* Lowers the most bytes of a tile to these. */
void limits_lower_tile(ImgstatLimits *limits, uint64_t bytes);

#endif
