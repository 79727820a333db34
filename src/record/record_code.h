/* SPDX-License-Identifier: MIT */
/* record_code.h: one record as bytes. docs/record-format.md defines them. */
#ifndef IMGSTAT_RECORD_RECORD_CODE_H
#define IMGSTAT_RECORD_RECORD_CODE_H

#include "record/byte_stream.h"
#include "record/image_record.h"

void record_put(ByteWriter *writer, const ImgstatRecord *record);

/* Reads a record. sparse: with sparse bins. memory: bytes that counters may take; reduced by what
 * they take. Damaged bytes are IMGSTAT_ERR_FORMAT. */
ImgstatResult record_get(ByteReader *reader, bool sparse, uint64_t *memory, ImgstatRecord **out,
                         ImgstatError *err);

/* Sets IMGSTAT_ERR_FORMAT and the sentence for damaged bytes. */
ImgstatResult record_damaged(ImgstatError *err, const char *what);

/* ---- record/tally_check.c ---- */

/* Whether counts, extrema and sums can belong together. Sums of tallies that pass do not overflow
 * for RECORD_MOST_SAMPLES samples in all. Those of floats are checked again when records merge. */
bool tally_is_possible(ImgstatSample sample, const Tally *tally);

#endif
