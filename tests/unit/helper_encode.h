/* SPDX-License-Identifier: MIT */
/* helper_encode.h: images of known samples, written by the encoders, for the tests of both. */
#ifndef HELPER_ENCODE_H
#define HELPER_ENCODE_H

#include "codec/encoder.h"

/* A folder of its own for each test, and a path in it. */
extern char encode_folder[64], encode_path[96];
void encode_begin(void);
void encode_end(void);
/* Files in the folder, hidden ones too. */
unsigned encode_entries(void);

/* Sample c of pixel x, y: repeats with a prime period, so that misplaced rows show. */
uint64_t encode_pattern(uint64_t x, uint64_t y, uint64_t c, unsigned bits);
/* Interleaved samples of the pattern, rows without gaps; freed by the caller. */
void *encode_pixels(const EncodePage *page);

/* Writes one page of such pixels to encode_path, `rows` rows at a time. like: NULL, or a file whose
 * page 0 the page comes from. */
ImgstatResult encode_file(const EncodeFormat *format, const EncodeOptions *how,
                          const EncodePage *page, ImgstatFile *like, Warnings *warnings,
                          const void *pixels, uint32_t rows, ImgstatError *err);

#endif
