/* SPDX-License-Identifier: MIT */
/* raw_profile.h: texts such as "Raw profile type iptc", in which PNG files have IPTC data, other
 * resources of Photoshop and EXIF data. */
#ifndef IMGSTAT_PNG_RAW_PROFILE_H
#define IMGSTAT_PNG_RAW_PROFILE_H

#include "codec/metadata.h"
#include "codec/warnings.h"
#include "png/chunks.h"

/* Inflates a zlib stream of unknown length. Returns NULL where it is damaged or very large. */
uint8_t *raw_profile_inflate(const uint8_t *from, size_t n, size_t *bytes);

/* Returns the text of a tEXt, zTXt or iTXt chunk of n bytes: malloc's, a NUL behind its *bytes.
 * NULL: it is damaged, very large, or memory runs out. */
char *png_text_load(const char *type, const uint8_t *data, size_t n, size_t *bytes);

/* Returns whether the text of that keyword is such a profile. */
bool raw_profile_is(const char *keyword);

/* Adds what is in such a text, unless it is damaged. */
ImgstatResult raw_profile_read(Metadata *out, const char *text, size_t bytes, Warnings *warnings,
                               ImgstatError *err);

/* Writes IPTC data or Photoshop's resources as such a text. */
ImgstatResult raw_profile_write(PngSink *sink, const MetadataItem *item, ImgstatError *err);

/* Replaces a chunk with its frame, malloc's, by one without thumbnails if it is such a text and has
 * some: NULL if nothing else was in it. *removed: NULL, or whose they were: "EXIF", "Photoshop". */
ImgstatResult raw_profile_remove_thumbnails(const char *type, uint8_t **chunk, size_t *bytes,
                                            const char **removed, ImgstatError *err);

#endif
