/* SPDX-License-Identifier: MIT */
/* bin_code.h: bins as few bytes. docs/record-format.md has the code. */
#ifndef IMGSTAT_RECORD_BIN_CODE_H
#define IMGSTAT_RECORD_BIN_CODE_H

#include "record/byte_stream.h"
#include "record/record.h"

/* Writes bins [0, n). */
void bins_put(ByteWriter *writer, const uint64_t *bins, size_t n);

/* What bins hold. */
typedef struct BinRange {
    uint64_t n;         /* the sum of all; UINT64_MAX for more */
    size_t first, last; /* that are not empty, where n > 0 */
} BinRange;

/* Reads bins [0, n), n <= 65536; free(out->count) frees them, whatever happens. The reader fails
 * for what bins_put does not write. False: memory ran out. */
bool bins_get(ByteReader *reader, size_t n, SparseBins *out, BinRange *range);

#endif
