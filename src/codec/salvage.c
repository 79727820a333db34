/* SPDX-License-Identifier: MIT */
/* salvage.c: decodes a damaged page as far as possible. Lost samples become nodata, or 0. */
#include "codec/salvage.h"

#include "base/pixel.h"
#include "base/sample.h"

#include <stdlib.h>
#include <string.h>

/* Bits of Salvage.rows. */
enum {
    ROW_LOST = 1,   /* lost in at least one plane */
    ROW_PARTLY = 2, /* tiles of it are lost */
    ROW_DAMAGED = 4 /* it has samples that the decoder completed */
};

bool salvage_is_damage(ImgstatResult result)
{
    return result == IMGSTAT_ERR_FORMAT || result == IMGSTAT_ERR_TRUNCATED;
}

void salvage_forget(Salvage *salvage)
{
    free(salvage->rows);
    free(salvage->lost);
    free(salvage->tiles);
    *salvage = (Salvage){.all_rows = salvage->all_rows, .lost_from = UINT32_MAX};
}

/* ---- What is lost ---- */

static uint16_t planes_of(const Decoder *decoder)
{
    return decoder->caps.lost_planes > 1 ? decoder->caps.lost_planes : 1;
}

static size_t tiles_across(const Decoder *decoder)
{
    const uint32_t width = decoder->caps.lost_width;
    return width > 0 ? (size_t)(decoder->page.width - 1) / width + 1 : 0;
}

/* Tiles of a plane. */
static size_t tiles_of(const Decoder *decoder)
{
    const size_t across = tiles_across(decoder);
    return across > 0 ? across * ((decoder->page.height - 1) / decoder->caps.unit_rows + 1) : 0;
}

/* Where the tiles of a row are noted. */
static uint8_t *tiles_at(const Decoder *decoder, uint16_t plane, uint32_t row)
{
    return decoder->salvage.tiles + plane * tiles_of(decoder) +
           row / decoder->caps.unit_rows * tiles_across(decoder);
}

uint64_t salvage_bytes(const Decoder *decoder)
{
    const uint64_t planes = planes_of(decoder), height = decoder->page.height;
    return decoder->how.salvage ? height * (planes + 1) + planes * tiles_of(decoder) : 0;
}

/* Allocates the notes before the first rows are used: another thread reads the notes then. */
static ImgstatResult begin(Decoder *decoder, ImgstatError *err)
{
    Salvage *const salvage = &decoder->salvage;
    const size_t planes = planes_of(decoder), tiles = tiles_of(decoder);
    if (salvage->rows)
        return IMGSTAT_OK;
    salvage->rows = calloc(decoder->page.height, 1);
    salvage->lost = calloc(decoder->page.height, planes);
    salvage->tiles = tiles > 0 ? calloc(tiles, planes) : NULL;
    if (salvage->rows && salvage->lost && (salvage->tiles || tiles == 0))
        return IMGSTAT_OK;
    salvage_forget(salvage);
    return error_memory(err, (size_t)salvage_bytes(decoder), "lost rows");
}

/* Sets bits. Does not write bits that are set: another thread may be using that row. */
static void note(uint8_t *at, uint8_t bits)
{
    if ((*at & bits) != bits)
        *at |= bits;
}

static void note_row(Decoder *decoder, uint32_t row, uint8_t bit)
{
    Salvage *const salvage = &decoder->salvage;
    uint8_t *const at = &salvage->rows[row];
    salvage->n_lost += bit == ROW_LOST && !(*at & bit);
    salvage->n_damaged += bit == ROW_DAMAGED && !(*at & bit);
    salvage->all_rows += *at == 0;
    note(at, bit);
}

void salvage_lose_rows(Decoder *decoder, uint16_t plane, uint32_t row, uint32_t rows)
{
    const size_t first = planes_of(decoder) > 1 ? plane * (size_t)decoder->page.height : 0;
    for (uint32_t y = row; y < row + rows; y++) {
        note_row(decoder, y, ROW_LOST);
        note(&decoder->salvage.lost[first + y], 1);
    }
}

void salvage_lose_tile(Decoder *decoder, uint16_t plane, uint32_t row, uint32_t k)
{
    Salvage *const salvage = &decoder->salvage;
    uint8_t *const at = tiles_at(decoder, planes_of(decoder) > 1 ? plane : 0, row) + k;
    const uint32_t left = decoder->page.height - row, most = decoder->caps.unit_rows;
    if (salvage->n_tiles == 0) {
        salvage->first_x = k * decoder->caps.lost_width;
        salvage->first_y = row;
    }
    salvage->n_tiles += *at == 0;
    note(at, 1);
    for (uint32_t y = 0; y < left && y < most; y++)
        note_row(decoder, row + y, ROW_PARTLY);
}

void salvage_damage_rows(Decoder *decoder, uint32_t row, uint32_t rows)
{
    for (uint32_t y = row; y < row + rows; y++)
        note_row(decoder, y, ROW_DAMAGED);
}

void salvage_fill(const Decoder *decoder, void *to, size_t pitch, uint32_t x, uint32_t pixels,
                  uint32_t rows, uint16_t channel, uint16_t n)
{
    const ImgstatPage *const page = &decoder->page;
    const size_t bytes = imgstat_sample_bytes(page->sample);
    const size_t channels = decoder_channels(decoder);
    const uint64_t raw = sample_raw_missing(page->sample, page->has_nodata ? &page->nodata : NULL);
    unsigned char *const first = (unsigned char *)to + x * channels * bytes;
    const bool whole = n == channels;
    for (uint32_t y = 0; y < rows; y++) {
        unsigned char *const row = first + y * pitch;
        if (whole && y > 0) {
            memcpy(row, first, pixels * channels * bytes);
            continue;
        }
        for (size_t i = 0; i < pixels; i++)
            for (size_t c = channel; c < (size_t)channel + n; c++)
                store_raw(row + (i * channels + c) * bytes, bytes, raw);
    }
}

/* ---- Reading ---- */

/* Fills rows, and notes that they are lost. */
static void lose_rows(Decoder *decoder, uint32_t row, void *to, size_t pitch, uint32_t rows)
{
    salvage_fill(decoder, to, pitch, 0, decoder->page.width, rows, 0, decoder_channels(decoder));
    for (uint16_t plane = 0; plane < planes_of(decoder); plane++)
        salvage_lose_rows(decoder, plane, row, rows);
}

/* Selects the page again and makes a row next. If the rows above must be decoded for that, the
 * first that fails ends what can be decoded. */
static ImgstatResult begin_at(Decoder *decoder, uint32_t row, uint16_t plane, ImgstatError *err)
{
    IMGSTAT_TRY(decoder_reselect(decoder, NULL, err));
    decoder->plane = plane;
    decoder->started = true;
    decoder->next_row = row;
    if (decoder->caps.unit_rows > 0 || row == 0)
        return IMGSTAT_OK;
    const size_t bytes = (size_t)decoder->page.width * decoder_channels(decoder) *
                         imgstat_sample_bytes(decoder->page.sample);
    void *const scratch = malloc(bytes);
    if (!scratch)
        return error_memory(err, bytes, "a row");
    decoder->next_row = 0;
    while (decoder->next_row < row &&
           decoder->codec->read_rows(decoder, scratch, bytes, 1, NULL) == IMGSTAT_OK)
        decoder->next_row++;
    if (decoder->next_row < row)
        decoder->salvage.lost_from = decoder->next_row;
    free(scratch);
    return IMGSTAT_OK;
}

/* Reads rows by the smallest tiles or strips that can be decoded alone. */
static ImgstatResult read_units(Decoder *decoder, uint32_t first, unsigned char *to, size_t pitch,
                                uint32_t rows, ImgstatError *err)
{
    Salvage *const salvage = &decoder->salvage;
    const uint16_t plane = decoder->plane;
    bool ready = false;
    if (decoder->caps.unit_rows == 0)
        decoder->mode = DECODE_PLAIN; /* row by row: the other modes decode ahead */
    for (uint32_t done = 0, n; done < rows; done += n) {
        const uint32_t row = first + done, left = rows - done;
        if (!ready && row < salvage->lost_from)
            IMGSTAT_TRY(begin_at(decoder, row, plane, err));
        if (row >= salvage->lost_from) {
            lose_rows(decoder, row, to + done * pitch, pitch, left);
            return IMGSTAT_OK;
        }
        const uint32_t unit = decoder->caps.unit_rows > 0 ? decoder->caps.unit_rows : 1;
        n = unit - row % unit < left ? unit - row % unit : left;
        decoder->next_row = row;
        const ImgstatResult res =
            decoder->codec->read_rows(decoder, to + done * pitch, pitch, n, err);
        ready = res == IMGSTAT_OK;
        if (ready)
            continue;
        if (!salvage_is_damage(res))
            return res;
        if (decoder->caps.unit_rows == 0)
            salvage->lost_from = row;
        lose_rows(decoder, row, to + done * pitch, pitch, n);
    }
    salvage->stuck = !ready;
    return IMGSTAT_OK;
}

ImgstatResult salvage_read_rows(Decoder *decoder, void *to, size_t pitch, uint32_t rows,
                                ImgstatError *err)
{
    Salvage *const salvage = &decoder->salvage;
    const uint32_t first = decoder->next_row;
    IMGSTAT_TRY(begin(decoder, err));
    const bool stuck = salvage->stuck || first >= salvage->lost_from;
    salvage->stuck = false;
    ImgstatResult res = IMGSTAT_ERR_FORMAT;
    if (!stuck)
        res = decoder->codec->read_rows(decoder, to, pitch, rows, err);
    if (salvage_is_damage(res))
        res = read_units(decoder, first, to, pitch, rows, err);
    if (res == IMGSTAT_OK)
        decoder->next_row = first;
    return res;
}

void salvage_warn(Decoder *decoder)
{
    const Salvage *const salvage = &decoder->salvage;
    const ImgstatPage *const page = &decoder->page;
    const char *const fill = page->has_nodata ? "nodata" : "0";
    char text[PAGE_NAME_BYTES];
    const char *const name = decoder_page_name(decoder, page->page, text);
    const size_t tiles = planes_of(decoder) * tiles_of(decoder);
    if (salvage->n_lost > 0)
        warnings_report(&decoder->warnings,
                        "page %s: %u of %u rows cannot be decoded; they are %s, and do not count",
                        name, salvage->n_lost, page->height, fill);
    if (salvage->n_tiles > 0)
        warnings_report(&decoder->warnings,
                        "page %s: %u of %zu tiles cannot be decoded, the first at %u,%u; their "
                        "samples are %s, and do not count",
                        name, salvage->n_tiles, tiles, salvage->first_x, salvage->first_y, fill);
    if (salvage->n_damaged > 0)
        warnings_report(&decoder->warnings,
                        "page %s: %u of %u rows are damaged; they count as their decoder completed "
                        "them",
                        name, salvage->n_damaged, page->height);
}

/* ---- Using rows ---- */

bool salvage_lost(const Decoder *decoder, const ImagePro *band)
{
    const uint8_t *const rows = decoder->salvage.rows;
    for (uint32_t y = 0; rows && y < band->height; y++)
        if (rows[band->first_row + y] & (ROW_LOST | ROW_PARTLY))
            return true;
    return false;
}

typedef void (*UseLost)(void *to, uint32_t x, uint32_t pixels, uint16_t plane);

/* Calls use for each lost part of a row. */
static void each_lost(const Decoder *decoder, uint32_t row, UseLost use, void *to)
{
    const Salvage *const salvage = &decoder->salvage;
    const uint32_t width = decoder->page.width, step = decoder->caps.lost_width;
    if (!(salvage->rows[row] & (ROW_LOST | ROW_PARTLY)))
        return;
    for (uint16_t plane = 0; plane < planes_of(decoder); plane++) {
        const uint8_t *const tiles = salvage->tiles ? tiles_at(decoder, plane, row) : NULL;
        if (salvage->lost[plane * (size_t)decoder->page.height + row])
            use(to, 0, width, plane);
        for (size_t k = 0; tiles && k < tiles_across(decoder); k++) {
            const uint32_t x = (uint32_t)k * step;
            if (tiles[k])
                use(to, x, width - x < step ? width - x : step, plane);
        }
    }
}

static void clear_mask(void *to, uint32_t x, uint32_t pixels, uint16_t plane)
{
    (void)plane;
    memset((uint8_t *)to + x, 0, pixels);
}

ImagePro salvage_masked(const Decoder *decoder, const ImagePro *band, uint8_t *mask)
{
    ImagePro masked = *band;
    masked.mask = mask;
    masked.mask_pitch = band->width;
    for (uint32_t y = 0; y < band->height; y++, mask += band->width) {
        if (band->mask)
            memcpy(mask, mask_row(band, y), band->width);
        else
            memset(mask, 1, band->width);
        each_lost(decoder, band->first_row + y, clear_mask, mask);
    }
    return masked;
}

typedef struct Overwriting {
    unsigned char *row;
    const ImagePro *band;
    bool planes;
    uint64_t raw;
} Overwriting;

static void overwrite(void *context, uint32_t x, uint32_t pixels, uint16_t plane)
{
    const Overwriting *const o = context;
    const size_t bytes = imgstat_sample_bytes(o->band->sample), channels = o->band->channels;
    const size_t first = o->planes ? plane : 0, end = o->planes ? first + 1 : channels;
    for (size_t i = x; i < (size_t)x + pixels; i++)
        for (size_t c = first; c < end; c++)
            store_raw(o->row + (i * channels + c) * bytes, bytes, o->raw);
}

void salvage_overwrite(const Decoder *decoder, ImagePro *band, uint64_t raw)
{
    for (uint32_t y = 0; y < band->height; y++) {
        Overwriting o = {row_of(band, y), band, planes_of(decoder) > 1, raw};
        each_lost(decoder, band->first_row + y, overwrite, &o);
    }
}
