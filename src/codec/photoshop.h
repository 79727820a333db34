/* SPDX-License-Identifier: MIT */
/* photoshop.h: image resources of Photoshop: a list in a field of TIFF or a text of PNG. */
#ifndef IMGSTAT_CODEC_PHOTOSHOP_H
#define IMGSTAT_CODEC_PHOTOSHOP_H

#include <stddef.h>
#include <stdint.h>

/* Removes thumbnails from a list of resources. Damaged resources stay. Returns how many bytes are
 * left. */
size_t photoshop_remove_thumbnails(uint8_t *data, size_t bytes);

#endif
