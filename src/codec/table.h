/* SPDX-License-Identifier: MIT */
/* table.h: the file formats. A new one is a folder and its lines in table.c. */
#ifndef IMGSTAT_CODEC_TABLE_H
#define IMGSTAT_CODEC_TABLE_H

#include "codec/codec.h"
#include "codec/encoder.h"

extern const Codec png_codec, tiff_codec;
extern const EncodeFormat png_format, tiff_format;

/* Bytes at the start of a file that every codec needs to recognise its own. */
enum { CODEC_PROBE_BYTES = 16 };

/* Finds the codec of a file that begins with these bytes. name: of the file. */
ImgstatResult codec_of_bytes(const uint8_t *bytes, size_t n, const char *name, const Codec **out,
                             ImgstatError *err);

/* Returns codec number i of the table, NULL behind the last. */
const Codec *codec_at(size_t i);

/* Returns the format of that name ("png", "tiff", "tif"), NULL for none. */
const EncodeFormat *encode_format_named(const char *name);

/* Returns the format of a file name with that ending (.png; .tif, .tiff, .gtiff, .btf, .tf8), NULL
 * for none. */
const EncodeFormat *encode_format_of_path(const char *path);

#endif
