/* SPDX-License-Identifier: MIT */
/* palette.c: the colours of a palette through a transfer. */
#include "transform/palette.h"

#include <stdlib.h>

bool palette_used(const Decoder *decoder)
{
    return strcmp(decoder->page.photometric, "palette") == 0 && !decoder->how.indices;
}

ImgstatResult palette_open(Decoder *decoder, Palette **out, ImgstatError *err)
{
    *out = NULL;
    Palette *const palette = calloc(1, sizeof *palette);
    if (!palette)
        return error_memory(err, sizeof *palette, "a palette");
    ImgstatOpen how = decoder->how;
    how.indices = how.ignore_masks = true;
    how.alpha_masks = how.has_nodata = false;
    how.mask = NULL;
    how.warn = NULL; /* it has been said once */
    const Codec *const codec = decoder->codec;
    ImgstatResult res =
        decoder_open(codec, decoder->source, &how, decoder->mode, &palette->indices, err);
    if (res == IMGSTAT_OK)
        res = decoder_select(palette->indices, decoder->page.page, &decoder->options, err);
    bool usable = false;
    if (res == IMGSTAT_OK) {
        const ImgstatPage *const page = &palette->indices->page;
        usable = page->channels == 1 && page->bits <= 16 && decoder->page.channels >= 3;
        if (usable)
            res = imgstat_image_create(1u << page->bits, 1, decoder->page.channels,
                                       decoder->page.sample, decoder->page.bits, &palette->colours,
                                       err);
    }
    if (res == IMGSTAT_OK && usable && decoder->page.has_nodata)
        imgstat_image_set_nodata(&palette->colours, decoder->page.nodata);
    if (res == IMGSTAT_OK && usable)
        usable = codec->palette(decoder, &palette->colours, &palette->n_colors);
    if (res != IMGSTAT_OK || !usable)
        palette_close(palette);
    else
        *out = palette;
    return res;
}

void palette_close(Palette *palette)
{
    if (!palette)
        return;
    decoder_close(palette->indices);
    imgstat_image_release(&palette->colours);
    free(palette);
}

ImgstatResult palette_check(const Palette *palette, const ImagePro *band, ImgstatError *err)
{
    if (palette->n_colors >= palette->colours.width)
        return IMGSTAT_OK;
    /* Only PNG has shorter palettes, and no indices of more than 8 bits. */
    for (uint32_t y = 0; y < band->height; y++) {
        const uint8_t *const row = (const uint8_t *)band->host + y * band->pitch;
        unsigned largest = 0;
        for (size_t x = 0; x < band->width; x++)
            largest = row[x] > largest ? row[x] : largest;
        if (largest >= palette->n_colors)
            return error_file(err, IMGSTAT_ERR_FORMAT, palette->indices->source->name,
                              "row %u has index %u where the palette has %u colours",
                              (unsigned)(band->first_row + y), largest, palette->n_colors);
    }
    return IMGSTAT_OK;
}

static uint16_t level_of(const ImagePro *colours, size_t index, size_t channel)
{
    const size_t at = index * colours->channels + channel;
    if (colours->sample == IMGSTAT_U8)
        return (uint16_t)(257u * ((const uint8_t *)colours->host)[at]);
    return ((const uint16_t *)colours->host)[at];
}

ImgstatResult palette_transfer(Device *device, const Palette *palette, const Transfer *transfer,
                               int16_t alpha, uint16_t **out, ImgstatError *err)
{
    *out = NULL;
    const ImagePro *const from = &palette->colours;
    const size_t n = from->width;
    ImagePro to;
    IMGSTAT_TRY(
        imgstat_image_create(from->width, 1, from->channels, from->sample, from->bits, &to, err));
    uint16_t *const map = malloc(3 * n * sizeof *map);
    ImgstatResult res = map ? device->ops->apply(device, transfer, from, alpha, &to, err)
                            : error_memory(err, 3 * n * sizeof *map, "a palette");
    if (res == IMGSTAT_OK)
        res = device_wait(device, err);
    bool same = true;
    for (size_t i = 0; res == IMGSTAT_OK && i < n; i++)
        for (size_t c = 0; c < 3; c++) {
            map[c * n + i] = level_of(&to, i, c);
            same &= map[c * n + i] == level_of(from, i, c);
        }
    imgstat_image_release(&to);
    if (res != IMGSTAT_OK || same)
        free(map);
    else
        *out = map;
    return res;
}
