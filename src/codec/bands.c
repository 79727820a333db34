/* SPDX-License-Identifier: MIT */
/* bands.c: how high bands are, and which of them a region needs. */
#include "codec/bands.h"

enum {
    BAND_BYTES = 4 << 20,  /* near the cache, and work enough for every thread */
    STREAM_BYTES = 1 << 20 /* for pages that one thread decodes while all others wait */
};

/* Bands are whole rows of tiles, which would else be decoded twice. */
uint32_t bands_rows(const Decoder *decoder, size_t row_bytes)
{
    const uint32_t height = decoder->page.height;
    if (row_bytes == 0)
        return height;
    const uint64_t unit = decoder->caps.band_rows;
    const uint64_t wanted = (decoder->codec->tiles_begin ? BAND_BYTES : STREAM_BYTES) / row_bytes;
    const uint64_t rows = wanted > unit ? wanted - wanted % unit : unit;
    return rows < height ? (uint32_t)rows : height;
}

RowRange bands_of_region(const Decoder *decoder, const ImgstatRegion *region, uint32_t rows)
{
    const uint32_t height = decoder->page.height;
    const bool seeks = decoder->caps.unit_rows > 0 && !page_is_masked(decoder);
    const uint64_t end = (uint64_t)region->y + region->height + rows - 1;
    const uint32_t first = seeks ? region->y - region->y % rows : 0;
    return (RowRange){first, (end < height ? (uint32_t)(end - end % rows) : height) - first};
}
