/* SPDX-License-Identifier: MIT */
/* sample_hash.h: a hash of the decoded samples of images, with their size and type. */
#ifndef IMGSTAT_RECORD_SAMPLE_HASH_H
#define IMGSTAT_RECORD_SAMPLE_HASH_H

#include "base/image.h"

enum { SAMPLE_HASH_BYTES = 16 };

typedef struct SampleHash SampleHash;

ImgstatResult sample_hash_create(SampleHash **out, ImgstatError *err);
void sample_hash_destroy(SampleHash *hash); /* accepts NULL */
/* Makes it the hash of no image. */
void sample_hash_reset(SampleHash *hash);
/* Begins the next image, of `width` times `height` pixels of the type of `like`. */
void sample_hash_begin(SampleHash *hash, const ImagePro *like, uint32_t width, uint32_t height);
/* Adds the next rows of the image, which are in host memory. */
void sample_hash_add(SampleHash *hash, const ImagePro *rows);
/* Writes the hash of the images so far, high byte first. */
void sample_hash_write(const SampleHash *hash, uint8_t out[SAMPLE_HASH_BYTES]);

#endif
