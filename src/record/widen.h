/* SPDX-License-Identifier: MIT */
/* widen.h: records of 8-bit samples among those of 16 bits. */
#ifndef IMGSTAT_RECORD_WIDEN_H
#define IMGSTAT_RECORD_WIDEN_H

#include "record/record.h"

/* The sample of 16 bits that stands where an 8-bit one stands on its full scale, divided by it: 0
 * and 255 become 0 and 65535. */
enum { WIDEN_FACTOR = 257 };

/* Turns a finalized record of u8 samples into that of the u16 samples that they stand for. */
ImgstatResult record_widen(BufferCache *cache, Record **record, ImgstatError *err);

#endif
