/* SPDX-License-Identifier: MIT */
/* salvage.c: rows of a damaged page as far as they can be decoded. The rest is nodata, or 0. */
#include "codec/salvage.h"

#include "base/pixel.h"
#include "base/sample.h"

#include <stdlib.h>

static bool is_damage(ImgstatResult result)
{
    return result == IMGSTAT_ERR_FORMAT || result == IMGSTAT_ERR_TRUNCATED;
}

void salvage_forget(Salvage *salvage)
{
    free(salvage->lost);
    *salvage = (Salvage){.all_rows = salvage->all_rows, .lost_from = UINT32_MAX};
}

/* Fills rows and notes that they are lost. */
static void lose_rows(Decoder *decoder, uint32_t row, unsigned char *to, size_t pitch,
                      uint32_t rows)
{
    const ImgstatPage *const page = &decoder->page;
    Salvage *const salvage = &decoder->salvage;
    const size_t bytes = imgstat_sample_bytes(page->sample);
    const size_t samples = (size_t)page->width * decoder_channels(decoder);
    uint64_t key = sample_key(page->sample, 0);
    if (page->has_nodata)
        (void)sample_key_of(page->sample, page->nodata, &key); /* else it stays 0 */
    for (uint32_t y = 0; y < rows; y++) {
        for (size_t i = 0; i < samples; i++)
            store_raw(to + y * pitch + i * bytes, bytes, sample_raw(page->sample, key));
        salvage->rows += !salvage->lost[row + y];
        salvage->all_rows += !salvage->lost[row + y];
        salvage->lost[row + y] = 1;
    }
}

/* Selects the page again and makes a row next; where that takes decoding the rows above, one that
 * fails ends what can be decoded. */
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

/* Reads rows by the smallest units that can be decoded by themselves. */
static ImgstatResult read_units(Decoder *decoder, uint32_t first, unsigned char *to, size_t pitch,
                                uint32_t rows, ImgstatError *err)
{
    Salvage *const salvage = &decoder->salvage;
    const uint16_t plane = decoder->plane;
    bool ready = false;
    if (decoder->caps.unit_rows == 0)
        decoder->mode = DECODE_PLAIN; /* row by row: the others decode ahead */
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
        if (!is_damage(res))
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
    /* Before the first rows are handed on: another thread reads it meanwhile. */
    if (!salvage->lost && !(salvage->lost = calloc(decoder->page.height, 1)))
        return error_memory(err, decoder->page.height, "lost rows");
    const bool stuck = salvage->stuck || first >= salvage->lost_from;
    salvage->stuck = false;
    ImgstatResult res = IMGSTAT_ERR_FORMAT;
    if (!stuck)
        res = decoder->codec->read_rows(decoder, to, pitch, rows, err);
    if (is_damage(res))
        res = read_units(decoder, first, to, pitch, rows, err);
    if (res == IMGSTAT_OK)
        decoder->next_row = first;
    return res;
}

void salvage_warn(Decoder *decoder)
{
    const Salvage *const salvage = &decoder->salvage;
    if (salvage->rows > 0)
        warnings_report(&decoder->warnings,
                        "page %u: %u of %u rows cannot be decoded; they are %s, and do not count",
                        decoder->page.page, salvage->rows, decoder->page.height,
                        decoder->page.has_nodata ? "nodata" : "0");
}
