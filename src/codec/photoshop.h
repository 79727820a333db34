/* SPDX-License-Identifier: MIT */
/* photoshop.h: image resources of Photoshop: a list in a field of TIFF or a text of PNG. */
#ifndef IMGSTAT_CODEC_PHOTOSHOP_H
#define IMGSTAT_CODEC_PHOTOSHOP_H

#include "codec/metadata.h"
#include "codec/warnings.h"

enum {
    IPTC_MARKER = 0x1C,  /* which each data set begins with */
    IPTC_HEAD_BYTES = 12 /* of the resource that holds IPTC data */
};

/* Fills in the head of a resource of Photoshop that holds n bytes of IPTC data. */
void iptc_head_fill(uint8_t head[IPTC_HEAD_BYTES], size_t n);

/* Returns whether bytes begin as such resources do. */
bool photoshop_is_list(const uint8_t *data, size_t bytes);

/* Removes thumbnails from a list of resources. Damaged resources stay. Returns how many bytes are
 * left. */
size_t photoshop_remove_thumbnails(uint8_t *data, size_t bytes);

/* Adds the IPTC data of resources, or that the bytes are, and the other resources in a list of
 * their own. Thumbnails and what is damaged are left out, with a warning. Changes the bytes. */
ImgstatResult photoshop_read(uint8_t *data, size_t bytes, Metadata *out, Warnings *warnings,
                             ImgstatError *err);

#endif
