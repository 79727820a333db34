/* SPDX-License-Identifier: MIT */
/* record_file.h: data sets as bytes: header, account, records, checksum. docs/record-format.md
 * defines the format. */
#ifndef IMGSTAT_RECORD_RECORD_FILE_H
#define IMGSTAT_RECORD_RECORD_FILE_H

#include "record/byte_stream.h"
#include "record/dataset.h"

enum { RECORD_MAGIC_BYTES = 8, RECORD_FORMAT = 1 };
extern const uint8_t record_magic[RECORD_MAGIC_BYTES];

/* Bytes that the counters of a data set may take, unless the program says otherwise. */
static const uint64_t RECORD_MEMORY = (uint64_t)4 << 30;

/* Writes a data set. The caller frees writer->bytes. */
void dataset_put(ByteWriter *writer, ImgstatDataset *dataset);

/* Writes a data set that holds one record. */
void dataset_put_record(ByteWriter *writer, const ImgstatRecord *record);

/* Reads a data set as imgstat_dataset_from_bytes does. sparse: its records get sparse bins, and can
 * only be merged into others. */
ImgstatResult dataset_read(const char *name, const void *bytes, size_t n, bool sparse,
                           uint64_t memory, ImgstatDataset **out, ImgstatError *err);

/* Returns the only record of a data set, and destroys the data set whatever happens. */
ImgstatResult dataset_only_record(ImgstatDataset *dataset, ImgstatRecord **out, ImgstatError *err);

#endif
