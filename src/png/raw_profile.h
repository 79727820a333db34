/* SPDX-License-Identifier: MIT */
/* raw_profile.h: texts such as "Raw profile type iptc", in which PNG files have IPTC data and other
 * resources of Photoshop. */
#ifndef IMGSTAT_PNG_RAW_PROFILE_H
#define IMGSTAT_PNG_RAW_PROFILE_H

#include "codec/metadata.h"
#include "png/chunks.h"

#define RAW_PROFILE_IPTC "Raw profile type iptc"

/* Inflates a zlib stream of unknown length. Returns NULL where it is damaged or very large. */
uint8_t *raw_profile_inflate(const uint8_t *from, size_t n, size_t *bytes);

/* Adds the IPTC data of such a text, unless it is damaged. */
ImgstatResult raw_profile_read(Metadata *out, const char *text, size_t bytes, ImgstatError *err);

/* Writes IPTC data as such a text. */
ImgstatResult raw_profile_write(PngSink *sink, const MetadataItem *item, ImgstatError *err);

/* Replaces a chunk with its frame, malloc's, by one without Photoshop's thumbnails if it is such a
 * text and has some: NULL if nothing else was in it. */
ImgstatResult raw_profile_remove_thumbnails(const char *type, uint8_t **chunk, size_t *bytes,
                                            bool *removed, ImgstatError *err);

#endif
