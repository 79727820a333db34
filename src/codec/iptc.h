/* SPDX-License-Identifier: MIT */
/* iptc.h: IPTC data, which files have as they are or as a resource of Photoshop. */
#ifndef IMGSTAT_CODEC_IPTC_H
#define IMGSTAT_CODEC_IPTC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Finds IPTC data in bytes that are such data or resources of Photoshop. Returns false if there are
 * none. *n: without padding. */
bool iptc_find(const uint8_t *data, size_t bytes, const uint8_t **iptc, size_t *n);

enum {
    IPTC_MARKER = 0x1C,  /* which each data set begins with */
    IPTC_HEAD_BYTES = 12 /* of the resource that holds IPTC data */
};

/* Fills in what stands in front of n bytes of IPTC data in a resource of Photoshop. */
void iptc_head_fill(uint8_t head[IPTC_HEAD_BYTES], size_t n);

#endif
