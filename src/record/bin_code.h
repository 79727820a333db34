/* SPDX-License-Identifier: MIT */
/* bin_code.h: bins in compact form. docs/record-format.md defines it. */
#ifndef IMGSTAT_RECORD_BIN_CODE_H
#define IMGSTAT_RECORD_BIN_CODE_H

#include "record/byte_stream.h"
#include "record/record.h"

/* Writes bins [0, n). */
void bins_put(ByteWriter *writer, const uint64_t *bins, size_t n);

/* What a list of bins holds. */
typedef struct BinRange {
    uint64_t n;         /* the sum of all, UINT64_MAX at most */
    size_t first, last; /* that are not empty, if n > 0 */
} BinRange;

/* Reads bins [0, n), n <= 65536. The caller frees out->count, whatever happens. The reader fails on
 * bytes that bins_put would not write. False: memory ran out. */
bool bins_get(ByteReader *reader, size_t n, SparseBins *out, BinRange *range);

#endif
