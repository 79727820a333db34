/* SPDX-License-Identifier: MIT */
/* record_code.h: one record as bytes. docs/record-format.md has the code. */
#ifndef IMGSTAT_RECORD_RECORD_CODE_H
#define IMGSTAT_RECORD_RECORD_CODE_H

#include "record/byte_stream.h"
#include "record/image_record.h"

void record_put(ByteWriter *writer, const ImgstatRecord *record);

/* Reads a record. sparse: its bins become sparse ones. memory: bytes that counters may take,
 * reduced by what they do. Damaged bytes fail the reader, with IMGSTAT_ERR_FORMAT. */
ImgstatResult record_get(ByteReader *reader, bool sparse, uint64_t *memory, ImgstatRecord **out,
                         ImgstatError *err);

/* IMGSTAT_ERR_FORMAT, in the sentence for damaged bytes. */
ImgstatResult record_damaged(ImgstatError *err, const char *what);

#endif
