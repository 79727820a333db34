/* SPDX-License-Identifier: MIT */
/* tiff_file.c: the TIFF encoder writes the header, the fields and the places of strips; the strips
 * lie where it would write them. */
#include "encode/tiff_file.h"

#include "base/byteswap.h"
#include "tiff/encoder.h"

#include <string.h>

/* In front of the strips: BitsPerSample, SampleFormat and ExtraSamples, each on an even place, of
 * more channels than fit into a field. Then strips are where the encoder puts them, or up to two
 * bytes a channel behind. */
static size_t head_bytes(uint16_t channels)
{
    return TIFF_HEADER_BYTES + (channels > 4 ? 3 * 2 * (size_t)channels : 0);
}

/* Behind them: the directory, of fewer than 20 fields, and two lists of 32 bits. */
static size_t tail_bytes(size_t n_strips)
{
    enum { DIRECTORY_BYTES = 256 };
    return DIRECTORY_BYTES + 2 * 4 * n_strips;
}

ImgstatResult tiff_file_describe(const char *name, const EncodePage *page, const EncodeOptions *how,
                                 RowImage *out, ImgstatError *err)
{
    TiffShape shape;
    IMGSTAT_TRY(tiff_shape_choose(name, page, NULL, how, host_big_endian, NULL, &shape, err));
    if (!tiff_shape_tiles(&shape, page, &out->tiles))
        return error_file(err, IMGSTAT_ERR_UNSUPPORTED, name,
                          "samples of %u bits, or more than %d bytes, are not encoded to TIFF here",
                          page->bits, TIFF_DEFLATE_BYTES);
    out->head_bytes = head_bytes(page->channels);
    out->tail_bytes = tail_bytes(out->tiles.page.n_tiles);
    return IMGSTAT_OK;
}

/* Tells the encoder of the strips. */
static ImgstatResult write_strips(Encoder *encoder, const RowImage *image)
{
    size_t first = 0;
    while (encoder->next_row < encoder->page.height) {
        TiledImage part;
        uint64_t *bytes, *at, all = 0;
        if (!tiff_encoder_tiles(encoder, encoder->page.height - encoder->next_row, &part, &bytes,
                                &at))
            return IMGSTAT_ERR_ARG;
        const uint8_t *const strips = image->at + image->tile_at[first];
        for (size_t i = 0; i < part.page.n_tiles; i++) {
            bytes[i] = image->tile_bytes[first + i];
            at[i] = all;
            all += bytes[i];
        }
        first += part.page.n_tiles;
        IMGSTAT_TRY(tiff_encoder_write(encoder, &part, at, strips, (size_t)all, NULL));
    }
    return IMGSTAT_OK;
}

ImgstatResult tiff_file_complete(const char *name, const EncodePage *page, const EncodeOptions *how,
                                 RowImage *image)
{
    AtomicFile *output = NULL;
    Encoder *encoder = NULL;
    ImgstatResult res = atomic_file_open_memory(name, image->at, image->bytes, &output, NULL);
    if (res == IMGSTAT_OK)
        res = encoder_create(&tiff_format, output, how, NULL, &encoder, NULL);
    if (res == IMGSTAT_OK)
        res = encoder_begin_page(encoder, NULL, page, NULL);
    if (res == IMGSTAT_OK)
        res = write_strips(encoder, image);
    if (res == IMGSTAT_OK)
        res = encoder_finish(encoder, NULL);
    if (res == IMGSTAT_OK)
        image->bytes = (size_t)output->end;
    encoder_destroy(encoder);
    atomic_file_discard(output);
    return res;
}
