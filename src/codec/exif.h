/* SPDX-License-Identifier: MIT */
/* exif.h: the thumbnail in EXIF data: the second directory of their TIFF structure. */
#ifndef IMGSTAT_CODEC_EXIF_H
#define IMGSTAT_CODEC_EXIF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns whether there is such a directory. */
bool exif_has_thumbnail(const uint8_t *data, size_t bytes);

/* Removes it: nothing refers to it any more, its bytes are zeros, and cut off where they are the
 * last. Everything else stays in its place. Returns how many bytes are left. */
size_t exif_remove_thumbnail(uint8_t *data, size_t bytes);

#endif
