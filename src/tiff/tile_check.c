/* SPDX-License-Identifier: MIT */
/* tile_check.c: whether a TIFF file holds the strips and tiles of a page, and whether headers
 * inside them agree with it. */
#include "base/byteswap.h"
#include "tiff/decoder.h"

#include <string.h>

/* The most that a compressed byte can expand to; 0 where a codec has no bound. Deflate: 258 bytes
 * from 2 bits. LZW: strings of up to 4,093 bytes from 9 to 12 bits. PackBits: 128 from 2 bytes.
 * Zstandard: blocks of 128 KiB from 4 bytes. LZMA: 273 bytes from a few bits; measured below 2^14.
 */
static uint64_t expansion(uint16_t compression)
{
    switch (compression) {
    case COMPRESSION_NONE:
        return 1;
    case COMPRESSION_PACKBITS:
        return 64;
    case COMPRESSION_DEFLATE:
    case COMPRESSION_ADOBE_DEFLATE:
        return 1032;
    case COMPRESSION_LZW:
        return 4096;
    case COMPRESSION_LZMA:
    case COMPRESSION_ZSTD:
        return 1 << 16;
    default:
        return 0;
    }
}

/* Bytes wanted of tile `index`: those of the last row of tiles are cut at the image's end. */
static uint64_t decoded_bytes(const TiffDecoder *td, uint32_t index)
{
    const TiffLayout *const layout = &td->layout;
    const uint32_t down = index / layout->across % layout->down;
    if (down != layout->down - 1)
        return layout->tile_bytes;
    const uint64_t rows = td->base.page.height - (uint64_t)(layout->down - 1) * layout->tile_height;
    return rows * layout->row_bytes;
}

/* The width that a WebP stream at `at` declares; 0 if it is none, which libtiff finds out. */
static uint32_t webp_width(const Source *source, uint64_t at)
{
    uint8_t head[30] = {0};
    size_t got = 0;
    if (source_read(source, at, head, sizeof head, &got, NULL) != IMGSTAT_OK || got < 25 ||
        memcmp(head, "RIFF", 4) != 0 || memcmp(head + 8, "WEBPVP8", 7) != 0)
        return 0;
    switch (head[15]) {
    case 'X': /* canvas, 24 bits less one */
        return 1u + head[24] + ((uint32_t)head[25] << 8) + ((uint32_t)head[26] << 16);
    case 'L': /* after a signature, 14 bits less one */
        return head[20] == 0x2F ? 1u + head[21] + ((head[22] & 0x3Fu) << 8) : 0;
    default: /* after a frame tag and a start code, 14 bits */
        return head[26] + ((head[27] & 0x3Fu) << 8);
    }
}

/* libtiff before 4.6 gives memory that nobody has written for what a narrower WebP stream lacks. */
static ImgstatResult check_webp(const TiffDecoder *td, uint32_t index, ImgstatError *err)
{
    const uint32_t width = webp_width(td->base.source, TIFFGetStrileOffset(td->handle.tif, index));
    char text[64];
    if (width == 0 || width == td->layout.tile_width)
        return IMGSTAT_OK;
    return error_file(err, IMGSTAT_ERR_FORMAT, td->base.source->name,
                      "%s is %u pixels wide, but its WebP data are %u",
                      tiff_tile_name(td, index, text), td->layout.tile_width, width);
}

/* Checks the header of JBIG data, by which libjbig allocates; where it cannot, it calls abort().
 * Its bits are in the other order for libtiff where those of other data are not. */
static ImgstatResult check_jbig(const TiffDecoder *td, uint32_t index, ImgstatError *err)
{
    enum { PLANES = 2, WIDTH = 4, HEIGHT = 8, HEAD = 20 };
    const TiffLayout *const layout = &td->layout;
    uint8_t head[HEAD] = {0};
    size_t got = 0;
    char text[64];
    IMGSTAT_TRY(source_read(td->base.source, TIFFGetStrileOffset(td->handle.tif, index), head,
                            sizeof head, &got, err));
    if (!layout->reversed)
        TIFFReverseBits(head, sizeof head);
    const uint64_t width = load_number(head + WIDTH, 4, true),
                   height = load_number(head + HEIGHT, 4, true);
    if (got < sizeof head || (head[PLANES] == 1 && width == layout->tile_width && height > 0 &&
                              height <= layout->tile_height))
        return IMGSTAT_OK; /* libjbig refuses data without a header */
    return error_file(err, IMGSTAT_ERR_FORMAT, td->base.source->name,
                      "%s has %u x %u pixels, but its JBIG data have %llu x %llu in %u planes",
                      tiff_tile_name(td, index, text), layout->tile_width, layout->tile_height,
                      (unsigned long long)width, (unsigned long long)height, head[PLANES]);
}

static ImgstatResult check_tile(TiffDecoder *td, uint32_t index, ImgstatError *err)
{
    TiffLayout *const layout = &td->layout;
    const uint64_t file_bytes = td->base.source->bytes;
    const uint64_t at = TIFFGetStrileOffset(td->handle.tif, index);
    uint64_t bytes = TIFFGetStrileByteCount(td->handle.tif, index);
    const uint64_t need = decoded_bytes(td, index);
    char text[64];
    /* Writers round the size of the last tile up; what matters is that its samples are there. */
    if (layout->compression == COMPRESSION_NONE && !layout->converted && bytes > need)
        bytes = need;
    if (at > file_bytes || bytes > file_bytes - at)
        return error_file(err, IMGSTAT_ERR_TRUNCATED, td->base.source->name, "%s ends early",
                          tiff_tile_name(td, index, text));
    const uint64_t ratio = layout->converted ? 0 : expansion(layout->compression);
    if (ratio > 0 && need / ratio > bytes)
        return error_file(err, IMGSTAT_ERR_TRUNCATED, td->base.source->name,
                          "%s ends early: %llu bytes cannot hold its %llu",
                          tiff_tile_name(td, index, text), (unsigned long long)bytes,
                          (unsigned long long)need);
    if (bytes > layout->stored_bytes) {
        layout->stored_bytes = bytes;
        layout->stored_most = index;
    }
    return layout->compression == COMPRESSION_WEBP ? check_webp(td, index, err) : IMGSTAT_OK;
}

ImgstatResult tiff_check_tiles(TiffDecoder *td, ImgstatError *err)
{
    const TiffLayout *const layout = &td->layout;
    const uint64_t n = (uint64_t)layout->across * layout->down * layout->planes;
    const uint64_t declared =
        layout->tiled ? TIFFNumberOfTiles(td->handle.tif) : TIFFNumberOfStrips(td->handle.tif);
    uint64_t absent = 0;
    if (layout->compression == COMPRESSION_OJPEG)
        return IMGSTAT_OK; /* its strips are places in one JPEG stream, which libtiff sorts out */
    if (declared != n || n > UINT32_MAX)
        return error_file(err, IMGSTAT_ERR_FORMAT, td->base.source->name,
                          "declares %llu %s where its size needs %llu",
                          (unsigned long long)declared, layout->tiled ? "tiles" : "strips",
                          (unsigned long long)n);
    for (uint32_t i = 0; i < n; i++) {
        if (tiff_tile_absent(td, i))
            absent++;
        else {
            const bool salvage = td->base.how.salvage; /* the tile is missed when it is read */
            const ImgstatResult res = check_tile(td, i, salvage ? NULL : err);
            if (res != IMGSTAT_OK && !salvage)
                return res;
            if (layout->compression == COMPRESSION_JBIG)
                IMGSTAT_TRY(check_jbig(td, i, err));
        }
    }
    if (absent > 0 && td->offsets_truncated)
        return error_file(err, IMGSTAT_ERR_FORMAT, td->base.source->name,
                          "says where %llu of its %llu %s lie", (unsigned long long)(n - absent),
                          (unsigned long long)n, layout->tiled ? "tiles" : "strips");
    if (absent > 0)
        warnings_report(&td->base.warnings, "%llu of %llu %s are absent; their samples count as %s",
                        (unsigned long long)absent, (unsigned long long)n,
                        layout->tiled ? "tiles" : "strips",
                        td->base.page.has_nodata ? "nodata" : "0");
    return IMGSTAT_OK;
}
