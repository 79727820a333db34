/* SPDX-License-Identifier: MIT */
/* helper_decode.h: files that a test wrote, read back. */
#ifndef HELPER_DECODE_H
#define HELPER_DECODE_H

#include "base/image.h"

/* A file of its own for each test. */
extern char decode_path[64];
void decode_begin(void);
void decode_end(void);

/* The bits of sample c of pixel x, y, where y counts from the first row that the image holds. */
uint64_t decode_sample(const ImagePro *image, uint32_t x, uint32_t y, uint32_t c);

/* What sample c of pixel x, y of the page must be, as bits. */
typedef uint64_t DecodeExpected(const void *context, uint32_t x, uint32_t y, uint32_t c);

/* Reads page 0 in bands of `rows` rows and compares every sample; returns how many. `what` tells
 * in a failure's sentence what was read. */
size_t decode_compare(const ImgstatOpen *how, uint32_t rows, DecodeExpected *expected,
                      const void *context, const char *what, ImgstatPage *page);
/* Reads every page whole; the first error, or IMGSTAT_OK. */
ImgstatResult decode_all(const ImgstatOpen *how, uint32_t *pages, ImgstatError *err);

/* What warnings said: give `decode_hear` and such a thing to ImgstatOpen. */
typedef struct DecodeHeard {
    int n;
    char last[1024];
} DecodeHeard;
void decode_hear(void *heard, const char *sentence);

#endif
