/* SPDX-License-Identifier: MIT */
/* page_mask.c: reads masks in step with the rows of the page that they belong to. */
#include "codec/page_mask.h"

#include "base/pixel.h"
#include "base/sample.h"
#include "codec/codec.h"
#include "codec/work.h"

#include <stdlib.h>

/* Most bytes of the rows of a mask that are read at a time. */
enum { BLOCK_BYTES = 64 << 20 };

/* A page that is read as a mask. Pixels count where its first channel is not 0. */
typedef struct MaskPage {
    Decoder *decoder; /* NULL: not used */
    unsigned char *rows;
    size_t room, row_bytes;
    uint32_t first, n, block; /* rows held; at most */
} MaskPage;

struct PageMask {
    Decoder *own;       /* of the same file, for its masks; NULL: not opened yet */
    ImgstatFile *other; /* that ImgstatOpen.mask names; NULL: not opened yet */
    MaskPage page[2];   /* of `own` and of `other` */
};

/* Returns whether the file has a mask of the page selected. */
static bool has_own(const Decoder *decoder)
{
    return !decoder->how.ignore_masks && decoder->page.mask != IMGSTAT_NO_PAGE;
}

static bool has_alpha(const Decoder *decoder)
{
    return decoder->how.alpha_masks && decoder->page.alpha >= 0;
}

bool page_is_masked(const Decoder *decoder)
{
    return decoder->page.role != IMGSTAT_ROLE_MASK &&
           (has_own(decoder) || decoder->how.mask || has_alpha(decoder));
}

/* ---- Opening --------------------------------------------------------------------------------- */

static ImgstatResult open_own(Decoder *decoder, PageMask *mask, ImgstatError *err)
{
    const DecodeOptions options = {.threads = 1};
    if (!mask->own) {
        const ImgstatOpen quiet = {.limits = decoder->how.limits};
        IMGSTAT_TRY(
            decoder_open(decoder->codec, decoder->source, &quiet, decoder->mode, &mask->own, err));
    }
    const uint32_t page = decoder->page.mask;
    if (page >= mask->own->list.n)
        return decoder_changed(decoder, err);
    IMGSTAT_TRY(decoder_select(mask->own, page, &options, err));
    if (mask->own->page.width != decoder->page.width ||
        mask->own->page.height != decoder->page.height)
        return decoder_changed(decoder, err);
    mask->page[0].decoder = mask->own;
    return IMGSTAT_OK;
}

/* A mask has the size of the image. Levels use the pixels of the mask at their centres. */
static ImgstatResult check_size(const Decoder *decoder, const Decoder *mask, ImgstatError *err)
{
    const ImgstatPage *const page = &decoder->page;
    if (page->role == IMGSTAT_ROLE_LEVEL ||
        (mask->page.width == page->width && mask->page.height == page->height))
        return IMGSTAT_OK;
    return error_file(err, IMGSTAT_ERR_ARG, decoder->source->name,
                      "has %u x %u pixels, its mask %s %u x %u; they must be equal", page->width,
                      page->height, mask->source->name, mask->page.width, mask->page.height);
}

/* Opens the file that ImgstatOpen.mask names and chooses its page. */
static ImgstatResult open_mask_file(const ImgstatOpen *how, ImgstatFile **out, ImgstatError *err)
{
    const ImgstatOpen quiet = {.limits = how->limits, .indices = true};
    ImgstatFile *file = NULL;
    if (strcmp(how->mask, "-") == 0)
        return error_set(err, IMGSTAT_ERR_ARG, "a mask is no standard input: name a file");
    IMGSTAT_TRY(file_open(how->mask, NULL, &quiet, NULL, &file, err));
    ImgstatResult res = file_choose(file, how->mask_page, 0, err);
    if (res == IMGSTAT_OK && how->mask_page && file->n_chosen > 1)
        res = error_file(err, IMGSTAT_ERR_ARG, how->mask,
                         "\"%s\" names several pages, a mask is one", how->mask_page);
    if (res != IMGSTAT_OK) {
        imgstat_file_close(file);
        return res;
    }
    *out = file;
    return IMGSTAT_OK;
}

static ImgstatResult open_other(Decoder *decoder, PageMask *mask, ImgstatError *err)
{
    const DecodeOptions options = {.threads = 1};
    if (!mask->other)
        IMGSTAT_TRY(open_mask_file(&decoder->how, &mask->other, err));
    IMGSTAT_TRY(file_select(mask->other, mask->other->chosen->page, &options, err));
    mask->page[1].decoder = mask->other->decoder;
    return check_size(decoder, mask->other->decoder, err);
}

/* Allocates the fewest rows that avoid decoding twice, within BLOCK_BYTES. */
static ImgstatResult make_room(MaskPage *page, ImgstatError *err)
{
    Decoder *const decoder = page->decoder;
    const ImgstatPage *const of = &decoder->page;
    size_t bytes;
    IMGSTAT_TRY(work_spend(decoder, err));
    if (!size_product(of->width, of->channels * imgstat_sample_bytes(of->sample),
                      &page->row_bytes) ||
        page->row_bytes == 0)
        return error_file(err, IMGSTAT_ERR_LIMIT, decoder->source->name, "rows are too large");
    const size_t most = BLOCK_BYTES / page->row_bytes + 1;
    const uint32_t unit =
        decoder->caps.band_rows < of->height ? decoder->caps.band_rows : of->height;
    page->block = unit < most ? unit : (uint32_t)most;
    page->first = page->n = 0;
    if (!size_product(page->row_bytes, page->block, &bytes))
        return error_file(err, IMGSTAT_ERR_LIMIT, decoder->source->name, "rows are too large");
    if (page->room >= bytes)
        return IMGSTAT_OK;
    free(page->rows);
    page->rows = malloc(bytes);
    page->room = page->rows ? bytes : 0;
    return page->rows ? IMGSTAT_OK : error_memory(err, bytes, "a mask");
}

ImgstatResult page_mask_begin(Decoder *decoder, ImgstatError *err)
{
    if (!decoder->mask && !(decoder->mask = calloc(1, sizeof *decoder->mask)))
        return error_memory(err, sizeof *decoder->mask, "a mask");
    PageMask *const mask = decoder->mask;
    mask->page[0].decoder = mask->page[1].decoder = NULL;
    if (has_own(decoder))
        IMGSTAT_TRY(open_own(decoder, mask, err));
    if (decoder->how.mask)
        IMGSTAT_TRY(open_other(decoder, mask, err));
    for (int i = 0; i < 2; i++)
        if (mask->page[i].decoder)
            IMGSTAT_TRY(make_room(&mask->page[i], err));
    return IMGSTAT_OK;
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* Rows are asked for in ascending order. */
static ImgstatResult row_at(MaskPage *page, uint32_t y, const unsigned char **out,
                            ImgstatError *err)
{
    while (y >= page->first + page->n) {
        const uint32_t left = page->decoder->page.height - page->first - page->n;
        const uint32_t rows = left < page->block ? left : page->block;
        page->first += page->n;
        page->n = 0;
        IMGSTAT_TRY(decoder_read_rows(page->decoder, page->rows, page->row_bytes, rows, err));
        page->n = rows;
    }
    *out = page->rows + (y - page->first) * page->row_bytes;
    return IMGSTAT_OK;
}

static bool is_zero(ImgstatSample sample, const unsigned char *at)
{
    const uint64_t raw = load_raw(at, imgstat_sample_bytes(sample));
    return sample_key(sample, raw) == sample_key(sample, 0); /* -0.0 as well */
}

/* Clears the mask of n pixels where a sample is 0. step: bytes between samples of pixels. */
static void clear_where_zero(ImgstatSample sample, const unsigned char *from, size_t step,
                             uint8_t *mask, uint32_t n)
{
    if (sample == IMGSTAT_U8) {
        for (uint32_t x = 0; x < n; x++)
            mask[x] = from[x * step] ? mask[x] : 0;
        return;
    }
    for (uint32_t x = 0; x < n; x++)
        if (is_zero(sample, from + x * step))
            mask[x] = 0;
}

/* Clears the mask of row y of the page selected by the row of a mask there. */
static ImgstatResult apply_row(const Decoder *decoder, MaskPage *page, uint32_t y, uint8_t *mask,
                               ImgstatError *err)
{
    const ImgstatPage *const of = &page->decoder->page, *const to = &decoder->page;
    const size_t step = of->channels * imgstat_sample_bytes(of->sample);
    const bool same = of->width == to->width && of->height == to->height;
    const uint64_t middle = ((2 * (uint64_t)y + 1) * of->height) / (2 * (uint64_t)to->height);
    const unsigned char *row = NULL;
    IMGSTAT_TRY(row_at(page, same ? y : (uint32_t)middle, &row, err));
    if (same) {
        clear_where_zero(of->sample, row, step, mask, to->width);
        return IMGSTAT_OK;
    }
    for (uint32_t x = 0; x < to->width; x++) {
        const uint64_t at = ((2 * (uint64_t)x + 1) * of->width) / (2 * (uint64_t)to->width);
        clear_where_zero(of->sample, row + at * step, step, mask + x, 1);
    }
    return IMGSTAT_OK;
}

ImgstatResult page_mask_read(Decoder *decoder, ImagePro *band, ImgstatError *err)
{
    const size_t sample = imgstat_sample_bytes(band->sample), pixel = band->channels * sample;
    for (uint32_t y = 0; y < band->height; y++) {
        uint8_t *const mask = (uint8_t *)(uintptr_t)band->mask + y * band->mask_pitch;
        memset(mask, 1, band->width);
        for (int i = 0; i < 2; i++)
            if (decoder->mask->page[i].decoder)
                IMGSTAT_TRY(
                    apply_row(decoder, &decoder->mask->page[i], band->first_row + y, mask, err));
        if (has_alpha(decoder) && decoder->page.alpha < band->channels)
            clear_where_zero(band->sample,
                             image_row(band, y) + (size_t)decoder->page.alpha * sample, pixel, mask,
                             band->width);
    }
    return IMGSTAT_OK;
}

uint64_t page_mask_bytes(const Decoder *decoder)
{
    enum { ROWS = 512, DECODER_BYTES = 2 << 20 }; /* rows of tiles, decoded and held */
    return page_is_masked(decoder) ? DECODER_BYTES + 2 * (uint64_t)ROWS * decoder->page.width : 0;
}

void page_mask_destroy(PageMask *mask)
{
    if (!mask)
        return;
    decoder_close(mask->own);
    imgstat_file_close(mask->other);
    free(mask->page[0].rows);
    free(mask->page[1].rows);
    free(mask);
}
