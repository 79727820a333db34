/* SPDX-License-Identifier: MIT */
/* work.h: how much work the pages of a small file may ask for. */
#ifndef IMGSTAT_CODEC_WORK_H
#define IMGSTAT_CODEC_WORK_H

#include "codec/codec.h"

/* What is done with a decoded byte, in times of measuring it. */
enum { WORK_MEASURE = 1, WORK_MAP = 3, WORK_CLAHE = 6 };

/* An output may have so many bytes for each of its input, and this many in any case. */
enum { OUTPUT_RATIO = 1000, OUTPUT_LEAST = 256 << 20 };

/* Adds the work of the page selected to that of its file, unless it has been added before. Call it
 * before rows are read. Fails with IMGSTAT_ERR_LIMIT if a file of that size may not ask for so
 * much. */
ImgstatResult work_spend(Decoder *decoder, ImgstatError *err);

/* Returns the most bytes that an output may have; 0: any number. */
uint64_t work_output_bytes(const Decoder *decoder);

#endif
