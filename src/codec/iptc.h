/* SPDX-License-Identifier: MIT */
/* iptc.h: IPTC data, which files store plainly or as a resource of Photoshop. */
#ifndef IMGSTAT_CODEC_IPTC_H
#define IMGSTAT_CODEC_IPTC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Finds IPTC data in bytes that are IPTC data or resources of Photoshop. *n becomes their length
 * without padding. Returns false if there are none. */
bool iptc_find(const uint8_t *data, size_t bytes, const uint8_t **iptc, size_t *n);

enum {
    IPTC_MARKER = 0x1C,  /* which each data set begins with */
    IPTC_HEAD_BYTES = 12 /* of the resource that holds IPTC data */
};

/* Fills in the head of a resource of Photoshop that holds n bytes of IPTC data. */
void iptc_head_fill(uint8_t head[IPTC_HEAD_BYTES], size_t n);

#endif
