/* SPDX-License-Identifier: MIT */
/* exif.h: the thumbnail in EXIF data, which is the second directory of their TIFF structure. */
#ifndef IMGSTAT_CODEC_EXIF_H
#define IMGSTAT_CODEC_EXIF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns whether EXIF data have a thumbnail. */
bool exif_has_thumbnail(const uint8_t *data, size_t bytes);

/* Removes the thumbnail from EXIF data: clears the reference to it and its bytes, and cuts them off
 * if they are the last. All other bytes stay in place. Returns how many bytes are left. */
size_t exif_remove_thumbnail(uint8_t *data, size_t bytes);

#endif
