/* SPDX-License-Identifier: MIT */
/* helper_lanes.h: tiles as the kernels decompress them, by the same source compiled as C. */
#ifndef IMGSTAT_TESTS_KERNELS_HELPER_LANES_H
#define IMGSTAT_TESTS_KERNELS_HELPER_LANES_H

#include "codec/tiled_page.h"
#include "tiff/lzw.h"

/* Decompresses a tile in this process's memory: TILE_DEFLATED, TILE_LZW or TILE_PACKBITS. Returns
 * whether it is right. */
bool lanes_decode(const TiledPage *page, const CodedTile *tile);

/* Returns whether the verdict and the output are those of zlib, or of the processor's decoder of
 * LZW, where what is refused does not count. Behind the input LZW_SPARE bytes are readable. */
bool lanes_agree(const TiledPage *page, const CodedTile *tile, bool right, Lzw *lzw);

#endif
