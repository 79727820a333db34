/* SPDX-License-Identifier: MIT */
/* level_maker.c: a pixel of a level is the mean of the area of the image that it covers: samples of
 * a column are summed up row by row, and the row of a level goes to the spool when it is full.
 * Undefined samples have no part in it, and masked ones only where the whole area is masked. */
#include "transform/level_maker.h"

#include "base/pixel.h"
#include "base/sample.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_LEVELS = 64 };

typedef struct Level {
    uint32_t page, width, height;
    uint32_t row;    /* that is being summed up */
    uint64_t at;     /* of its rows in the spool */
    double *sum;     /* width * channels; exact for integers: at most 2^16 * 2^36 */
    uint64_t *count; /* likewise: samples in `sum` */
    bool *valid;     /* likewise: these are unmasked; else all of the area so far are masked */
} Level;

struct LevelMaker {
    LevelSpool *spool;
    const AtomicFile *output;
    EncodePage image;
    uint32_t next_row;
    bool has_nodata;
    double nodata;
    Level level[MOST_LEVELS];
    unsigned n;
    double *values; /* a row of the image */
    uint8_t *row;   /* of a level, as it is written */
};

ImgstatResult level_maker_create(LevelSpool *spool, const AtomicFile *output, LevelMaker **out,
                                 ImgstatError *err)
{
    LevelMaker *const maker = calloc(1, sizeof *maker);
    *out = maker;
    if (!maker)
        return error_memory(err, sizeof *maker, "levels");
    maker->spool = spool;
    maker->output = output;
    return spool->file ? IMGSTAT_OK : atomic_file_spool(output, &spool->file, err);
}

static void release_rows(LevelMaker *maker)
{
    for (unsigned i = 0; i < maker->n; i++) {
        free(maker->level[i].sum);
        free(maker->level[i].count);
        free(maker->level[i].valid);
        maker->level[i].sum = NULL;
        maker->level[i].count = NULL;
        maker->level[i].valid = NULL;
    }
    free(maker->values);
    maker->values = NULL;
}

void level_maker_destroy(LevelMaker *maker)
{
    if (!maker)
        return;
    release_rows(maker);
    free(maker->row);
    free(maker);
}

ImgstatResult level_maker_add(LevelMaker *maker, uint32_t page, uint32_t width, uint32_t height,
                              ImgstatError *err)
{
    if (maker->n == MOST_LEVELS)
        return error_file(err, IMGSTAT_ERR_LIMIT, maker->output->name,
                          "more than %d levels of an image cannot be made anew", MOST_LEVELS);
    maker->level[maker->n++] = (Level){.page = page, .width = width, .height = height};
    return IMGSTAT_OK;
}

static size_t row_bytes(const LevelMaker *maker, uint32_t width)
{
    return (size_t)width * maker->image.channels * imgstat_sample_bytes(maker->image.sample);
}

ImgstatResult level_maker_begin(LevelMaker *maker, const EncodePage *image,
                                const ImgstatValue *nodata, ImgstatError *err)
{
    maker->image = *image;
    maker->has_nodata = nodata != NULL;
    maker->nodata = nodata ? imgstat_value_double(*nodata) : 0;
    maker->values = malloc((size_t)image->width * image->channels * sizeof *maker->values);
    maker->row = malloc(row_bytes(maker, image->width));
    bool ok = maker->values && maker->row;
    for (unsigned i = 0; i < maker->n && ok; i++) {
        Level *const level = &maker->level[i];
        const size_t n = (size_t)level->width * image->channels;
        level->at = maker->spool->bytes;
        maker->spool->bytes += row_bytes(maker, level->width) * level->height;
        level->sum = calloc(n, sizeof *level->sum);
        level->count = calloc(n, sizeof *level->count);
        level->valid = calloc(n, sizeof *level->valid);
        ok = level->sum && level->count && level->valid;
    }
    return ok ? IMGSTAT_OK : error_memory(err, row_bytes(maker, image->width), "levels");
}

/* The first row or column of the image that row or column k of n of a level covers. */
static uint32_t first_of(uint32_t k, uint32_t n, uint32_t of)
{
    return (uint32_t)((uint64_t)k * of / n);
}

static void load_row(const LevelMaker *maker, const uint8_t *row)
{
    const size_t n = (size_t)maker->image.width * maker->image.channels;
    double *const to = maker->values;
    switch (maker->image.sample) {
    case IMGSTAT_U8:
        for (size_t i = 0; i < n; i++)
            to[i] = row[i];
        break;
    case IMGSTAT_I8:
        for (size_t i = 0; i < n; i++)
            to[i] = ((const int8_t *)row)[i];
        break;
    case IMGSTAT_U16:
        for (size_t i = 0; i < n; i++)
            to[i] = ((const uint16_t *)(const void *)row)[i];
        break;
    case IMGSTAT_I16:
        for (size_t i = 0; i < n; i++)
            to[i] = ((const int16_t *)(const void *)row)[i];
        break;
    default: /* what adaptive equalization gives beside these */
        for (size_t i = 0; i < n; i++)
            to[i] = (double)((const float *)(const void *)row)[i];
    }
}

/* Half up, in integers. */
static int64_t rounded(double sum, uint64_t count)
{
    const int64_t twice = 2 * (int64_t)sum + (int64_t)count, by = 2 * (int64_t)count;
    return twice / by - (twice % by < 0);
}

static void store(const LevelMaker *maker, size_t i, double sum, uint64_t count)
{
    const double none = maker->has_nodata ? maker->nodata : 0;
    const int64_t whole = count ? rounded(sum, count) : (int64_t)none;
    switch (maker->image.sample) {
    case IMGSTAT_U8:
    case IMGSTAT_I8:
        maker->row[i] = (uint8_t)whole;
        break;
    case IMGSTAT_U16:
    case IMGSTAT_I16:
        ((uint16_t *)(void *)maker->row)[i] = (uint16_t)whole;
        break;
    default:
        ((float *)(void *)maker->row)[i] = (float)(count               ? sum / (double)count
                                                   : maker->has_nodata ? none
                                                                       : (double)NAN);
    }
}

/* Adds a sample to an area: masked ones only while the area has no other. */
static void add(Level *level, size_t to, double value, bool valid)
{
    if (valid && !level->valid[to]) {
        level->sum[to] = 0;
        level->count[to] = 0;
        level->valid[to] = true;
    }
    if (valid == level->valid[to]) {
        level->sum[to] += value;
        level->count[to]++;
    }
}

/* mask: of the row, or NULL. Alpha is never masked. */
static void add_row(const LevelMaker *maker, const uint8_t *mask, Level *level)
{
    const uint16_t channels = maker->image.channels;
    for (uint32_t x = 0; x < level->width; x++) {
        const uint32_t first = first_of(x, level->width, maker->image.width);
        const uint32_t last = first_of(x + 1, level->width, maker->image.width);
        for (uint16_t c = 0; c < channels; c++) {
            const bool masks = mask && c != maker->image.alpha;
            for (uint32_t from = first; from < last; from++) {
                const double value = maker->values[(size_t)from * channels + c];
                if (!isnan(value) && !(maker->has_nodata && value == maker->nodata))
                    add(level, (size_t)x * channels + c, value, !masks || mask[from]);
            }
        }
    }
}

static ImgstatResult end_row(LevelMaker *maker, Level *level, ImgstatError *err)
{
    const size_t n = (size_t)level->width * maker->image.channels;
    const size_t bytes = row_bytes(maker, level->width);
    for (size_t i = 0; i < n; i++) {
        store(maker, i, level->sum[i], level->count[i]);
        level->sum[i] = 0;
        level->count[i] = 0;
        level->valid[i] = false;
    }
    const uint64_t at = level->at + (uint64_t)level->row * bytes;
    level->row++;
    return atomic_file_write(maker->spool->file, at, maker->row, bytes, err);
}

ImgstatResult level_maker_rows(LevelMaker *maker, const ImagePro *rows, ImgstatError *err)
{
    const uint32_t height = maker->image.height;
    for (uint32_t y = 0; y < rows->height; y++) {
        load_row(maker, image_row(rows, y));
        maker->next_row++;
        for (unsigned i = 0; i < maker->n; i++) {
            Level *const level = &maker->level[i];
            add_row(maker, mask_row(rows, y), level);
            if (maker->next_row == first_of(level->row + 1, level->height, height))
                IMGSTAT_TRY(end_row(maker, level, err));
        }
    }
    if (maker->next_row == height)
        release_rows(maker);
    return IMGSTAT_OK;
}

static const Level *level_of(const LevelMaker *maker, uint32_t page)
{
    unsigned i = 0;
    while (i + 1 < maker->n && maker->level[i].page != page)
        i++;
    return &maker->level[i];
}

EncodePage level_maker_page(const LevelMaker *maker, uint32_t page)
{
    const Level *const level = level_of(maker, page);
    EncodePage out = maker->image;
    out.width = level->width;
    out.height = level->height;
    return out;
}

ImgstatResult level_maker_write(const LevelMaker *maker, uint32_t page, Encoder *encoder,
                                ImgstatError *err)
{
    const Level *const level = level_of(maker, page);
    const size_t bytes = row_bytes(maker, level->width);
    for (uint32_t y = 0; y < level->height; y++) {
        IMGSTAT_TRY(atomic_file_read(maker->spool->file, level->at + (uint64_t)y * bytes,
                                     maker->row, bytes, err));
        IMGSTAT_TRY(encoder_write_rows(encoder, maker->row, bytes, 1, err));
    }
    return IMGSTAT_OK;
}

uint64_t level_maker_bytes(uint32_t width, uint16_t channels)
{
    /* A row of the image, and what levels hold, whose widths halve: together twice. */
    return (uint64_t)width * channels * (8 + 8 + 2 * (8 + 8 + 1));
}
