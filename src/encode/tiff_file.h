/* SPDX-License-Identifier: MIT */
/* tiff_file.h: a TIFF file of one page in memory, around strips that a row encoder makes. */
#ifndef IMGSTAT_ENCODE_TIFF_FILE_H
#define IMGSTAT_ENCODE_TIFF_FILE_H

#include "codec/encoder.h"
#include "encode/rows.h"

/* Describes the strips of the file that the TIFF encoder writes of a page, and the room around
 * them, without memory for their places. Fails for a page that TIFF cannot hold, or whose samples
 * are packed. name: of the output. */
ImgstatResult tiff_file_describe(const char *name, const EncodePage *page, const EncodeOptions *how,
                                 RowImage *out, ImgstatError *err);

/* Writes the file around the strips that a row encoder has made: image->bytes become the file's.
 * The caller says what went wrong. */
ImgstatResult tiff_file_complete(const char *name, const EncodePage *page, const EncodeOptions *how,
                                 RowImage *image);

#endif
