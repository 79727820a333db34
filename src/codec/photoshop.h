/* SPDX-License-Identifier: MIT */
/* photoshop.h: image resources of Photoshop, a list in TIFF fields and in texts of PNG. */
#ifndef IMGSTAT_CODEC_PHOTOSHOP_H
#define IMGSTAT_CODEC_PHOTOSHOP_H

#include <stddef.h>
#include <stdint.h>

/* Removes thumbnails from resources; what is damaged stays. Returns how many bytes are left. */
size_t photoshop_remove_thumbnails(uint8_t *data, size_t bytes);

#endif
