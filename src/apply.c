/* SPDX-License-Identifier: MIT */
/* apply.c: a transfer over pixels, the portable version: what every other device is compared with.
 */
#include "apply.h"

#include "luma.h"

#include <stdlib.h>

static inline uint64_t load_raw(const unsigned char *at, size_t bytes)
{
    uint64_t raw = 0;
    switch (bytes) {
    case 1:
        return *at;
    case 2: {
        uint16_t v;
        memcpy(&v, at, sizeof v);
        return v;
    }
    case 4: {
        uint32_t v;
        memcpy(&v, at, sizeof v);
        return v;
    }
    default:
        memcpy(&raw, at, sizeof raw);
        return raw;
    }
}

static inline void store_raw(unsigned char *at, size_t bytes, uint64_t raw)
{
    switch (bytes) {
    case 1:
        *at = (unsigned char)raw;
        return;
    case 2: {
        const uint16_t v = (uint16_t)raw;
        memcpy(at, &v, sizeof v);
        return;
    }
    case 4: {
        const uint32_t v = (uint32_t)raw;
        memcpy(at, &v, sizeof v);
        return;
    }
    default:
        memcpy(at, &raw, sizeof raw);
    }
}

static unsigned char *row_of(ImagePro *image, size_t y)
{
    return (unsigned char *)image->host + y * image->pitch;
}

static const uint8_t *mask_row(const ImagePro *image, size_t y)
{
    return image->mask ? image->mask + y * image->mask_pitch : NULL;
}

/* ---- Checks -------------------------------------------------------------------------------- */

static ImgstatResult check_pair(const ImagePro *from, ImgstatSample sample, const ImagePro *to,
                                ImgstatError *err)
{
    if (from->memory == IMGSTAT_CUDA || to->memory == IMGSTAT_CUDA)
        return error_set(err, IMGSTAT_ERR_ARG,
                         "the pixels are in device memory; host memory is expected");
    if (from->width != to->width || from->height != to->height || from->channels != to->channels)
        return error_set(err, IMGSTAT_ERR_ARG,
                         "the output is %ux%u with %u channels, the input %ux%u with %u", to->width,
                         to->height, to->channels, from->width, from->height, from->channels);
    if (to->sample != sample)
        return error_set(err, IMGSTAT_ERR_ARG,
                         "the output has samples of type %s; the transfer makes %s",
                         imgstat_sample_name(to->sample), imgstat_sample_name(sample));
    const bool same = from->host == to->host;
    if (same && (from->sample != to->sample || from->pitch != to->pitch))
        return error_set(err, IMGSTAT_ERR_ARG, "in place, the sample type cannot change");
    return IMGSTAT_OK;
}

ImgstatResult apply_check(const Transfer *transfer, const ImagePro *from, int16_t alpha,
                          ImgstatError *err)
{
    if (from->sample != transfer->from)
        return error_set(err, IMGSTAT_ERR_ARG,
                         "the transfer is for samples of type %s; the image has %s",
                         imgstat_sample_name(transfer->from), imgstat_sample_name(from->sample));
    if (alpha >= (int)from->channels)
        return error_set(err, IMGSTAT_ERR_ARG, "alpha is channel %d of an image of %u", alpha,
                         from->channels);
    const int colours = from->channels - (alpha >= 0);
    if (transfer->luma && (colours < 3 || (alpha >= 0 && alpha < 3)))
        return error_set(err, IMGSTAT_ERR_ARG, "the transfer is for luma; the image is not RGB");
    if (!transfer->luma && transfer->n_maps != 1 && transfer->n_maps != colours)
        return error_set(err, IMGSTAT_ERR_ARG, "the transfer is for %u channels; the image has %d",
                         transfer->n_maps, colours);
    return IMGSTAT_OK;
}

/* ---- Narrow types: a table a channel ------------------------------------------------------- */

/* One channel of a row: bits by table. */
static void lookup_8(const unsigned char *from, size_t step, const uint32_t *table, size_t n,
                     unsigned char *to, size_t out_bytes)
{
    if (out_bytes == 1)
        for (size_t i = 0; i < n; i++)
            to[i * step] = (unsigned char)table[from[i * step]];
    else
        for (size_t i = 0; i < n; i++)
            store_raw(to + i * step * out_bytes, out_bytes, table[from[i * step]]);
}

static void lookup_16(const unsigned char *from, size_t step, const uint32_t *table, size_t n,
                      unsigned char *to, size_t out_bytes)
{
    if (out_bytes == 2)
        for (size_t i = 0; i < n; i++)
            store_raw(to + i * step * 2, 2, table[load_raw(from + i * step * 2, 2)]);
    else
        for (size_t i = 0; i < n; i++)
            store_raw(to + i * step * out_bytes, out_bytes,
                      table[load_raw(from + i * step * 2, 2)]);
}

static void lookup(size_t bytes, const unsigned char *from, size_t step, const uint32_t *table,
                   size_t n, unsigned char *to, size_t out_bytes)
{
    if (bytes == 1)
        lookup_8(from, step, table, n, to, out_bytes);
    else
        lookup_16(from, step, table, n, to, out_bytes);
}

/* Tables by raw bits, of all maps and then of rescale. Unsigned types: those of the transfer. */
static const uint32_t *tables_by_raw(const Transfer *transfer, uint32_t **own, ImgstatError *err)
{
    *own = NULL;
    const size_t entries = sample_record_bins(transfer->from);
    if (!sample_is_signed(transfer->from) && !sample_is_float(transfer->from))
        return transfer->tables;
    const size_t n = (transfer->n_maps + 1u) * entries;
    *own = malloc(n * sizeof **own);
    if (!*own) {
        error_memory(err, n * sizeof **own, "tables");
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        (*own)[i] = transfer->tables[i - i % entries + sample_key(transfer->from, i % entries)];
    return *own;
}

/* A negative zero has the key of zero; in its own type it stays negative where zero stays zero. */
static void keep_negative_zero(const Transfer *transfer, uint32_t *own)
{
    if (!own || transfer->from != IMGSTAT_F16 || transfer->rescale.to.sample != IMGSTAT_F16)
        return;
    const size_t entries = sample_record_bins(IMGSTAT_F16);
    for (size_t m = 0; m <= transfer->n_maps; m++)
        if (own[m * entries + 0x8000u] == 0 &&
            (m == transfer->n_maps || transfer->maps[m].passthrough))
            own[m * entries + 0x8000u] = 0x8000u;
}

static ImgstatResult apply_tables(const Transfer *transfer, const ImagePro *from, int16_t alpha,
                                  ImagePro *to, ImgstatError *err)
{
    uint32_t *own;
    const uint32_t *const tables = tables_by_raw(transfer, &own, err);
    if (!tables)
        return IMGSTAT_ERR_MEMORY;
    keep_negative_zero(transfer, own);
    const size_t entries = sample_record_bins(transfer->from);
    const uint32_t *const rescale = tables + transfer->n_maps * entries;
    const size_t in = imgstat_sample_bytes(from->sample), out = imgstat_sample_bytes(to->sample);
    const size_t channels = from->channels;
    const bool flat = transfer->n_maps == 1 && alpha < 0;
    for (size_t y = 0; y < from->height; y++) {
        const unsigned char *const source = image_row(from, y);
        unsigned char *const target = row_of(to, y);
        const uint8_t *const mask = mask_row(from, y);
        if (flat && !mask) {
            lookup(in, source, 1, tables, from->width * channels, target, out);
            continue;
        }
        size_t map = 0;
        for (size_t c = 0; c < channels; c++) {
            const bool left = (int)c == alpha;
            const uint32_t *const table = left ? rescale : tables + map * entries;
            map += !left && transfer->n_maps > 1;
            if (!mask) {
                lookup(in, source + c * in, channels, table, from->width, target + c * out, out);
                continue;
            }
            for (size_t x = 0; x < from->width; x++)
                lookup(in, source + (x * channels + c) * in, 1, mask[x] ? table : rescale, 1,
                       target + (x * channels + c) * out, out);
        }
    }
    free(own);
    return IMGSTAT_OK;
}

/* ---- Wide types: arithmetic ---------------------------------------------------------------- */

/* One channel of a row. `sample` is a constant where this is inlined. */
static inline void map_row(ImgstatSample sample, const Map *map, const Map *rescale,
                           const unsigned char *from, size_t step, size_t n, const uint8_t *mask,
                           unsigned char *to, ImgstatSample to_sample)
{
    const size_t in = sample_bits(sample) / 8, out = sample_bits(to_sample) / 8;
    const bool same = sample == to_sample;
    for (size_t x = 0; x < n; x++) {
        const uint64_t raw = load_raw(from + x * step * in, in);
        const Map *const use = mask && !mask[x] ? rescale : map;
        const uint64_t key = sample_key(sample, raw);
        const bool stays = same && (use->passthrough || map_undefined(sample, key) ||
                                    (use->has_nodata && key == use->nodata_key));
        store_raw(to + x * step * out, out,
                  stays ? raw : sample_raw(to_sample, map_sample(use, key)));
    }
}

static void map_row_of(ImgstatSample sample, const Map *map, const Map *rescale,
                       const unsigned char *from, size_t step, size_t n, const uint8_t *mask,
                       unsigned char *to, ImgstatSample to_sample)
{
    switch (sample) {
    case IMGSTAT_F32:
        map_row(IMGSTAT_F32, map, rescale, from, step, n, mask, to, to_sample);
        return;
    case IMGSTAT_F64:
        map_row(IMGSTAT_F64, map, rescale, from, step, n, mask, to, to_sample);
        return;
    case IMGSTAT_U32:
        map_row(IMGSTAT_U32, map, rescale, from, step, n, mask, to, to_sample);
        return;
    default:
        map_row(sample, map, rescale, from, step, n, mask, to, to_sample);
    }
}

static void apply_maps(const Transfer *transfer, const ImagePro *from, int16_t alpha, ImagePro *to)
{
    const size_t in = imgstat_sample_bytes(from->sample), out = imgstat_sample_bytes(to->sample);
    for (size_t y = 0; y < from->height; y++) {
        size_t m = 0;
        for (size_t c = 0; c < from->channels; c++) {
            const bool left = (int)c == alpha;
            const Map *const map = left ? &transfer->rescale : &transfer->maps[m];
            m += !left && transfer->n_maps > 1;
            map_row_of(from->sample, map, &transfer->rescale, image_row(from, y) + c * in,
                       from->channels, from->width, mask_row(from, y), row_of(to, y) + c * out,
                       to->sample);
        }
    }
}

/* ---- Luma ---------------------------------------------------------------------------------- */

/* Luma by integers: of samples, or to samples, that have at most 16 bits. */
static bool luma_is_integer(ImgstatSample sample)
{
    return sample_is_narrow(sample) && !sample_is_float(sample);
}

/* Key of the luma of the pixel at `at`; false where it has none. */
static inline bool luma_pixel(const ImagePro *image, const unsigned char *at, const uint8_t *mask,
                              size_t x, uint64_t *luma)
{
    const size_t bytes = sample_bits(image->sample) / 8;
    uint64_t key[3];
    for (size_t c = 0; c < 3; c++) {
        key[c] = sample_key(image->sample, load_raw(at + c * bytes, bytes));
        if (map_undefined(image->sample, key[c]) ||
            (image->has_nodata && key[c] == image->nodata_key))
            return false;
    }
    if (mask && !mask[x])
        return false;
    if (luma_is_integer(image->sample)) {
        *luma = luma_key((uint32_t)key[0], (uint32_t)key[1], (uint32_t)key[2]);
        return true;
    }
    *luma = map_key(image->sample,
                    luma_value(map_value(image->sample, key[0]), map_value(image->sample, key[1]),
                               map_value(image->sample, key[2])));
    return true;
}

static void luma_release(void *context)
{
    free(context);
}

ImgstatResult luma_plane(const ImagePro *from, ImagePro *out, ImgstatError *err)
{
    *out = (ImagePro){.memory = IMGSTAT_HOST};
    if (from->channels < 3)
        return error_set(err, IMGSTAT_ERR_ARG, "luma needs red, green and blue channels");
    const size_t bytes = imgstat_sample_bytes(from->sample);
    const size_t pitch = from->width * bytes;
    const bool masked = from->mask || from->has_nodata || sample_is_float(from->sample);
    size_t total, plane;
    if (!size_product(pitch + from->width, from->height, &total) ||
        !size_product(pitch, from->height, &plane))
        return error_set(err, IMGSTAT_ERR_MEMORY, "luma of %ux%u pixels is too large", from->width,
                         from->height);
    unsigned char *const memory = malloc(total ? total : 1);
    if (!memory)
        return error_memory(err, total, "luma");
    const ImgstatResult result =
        imgstat_image_wrap(IMGSTAT_HOST, 0, memory, pitch, from->width, from->height, 1,
                           from->sample, from->bits, luma_release, memory, out, err);
    if (result != IMGSTAT_OK) {
        free(memory);
        return result;
    }
    out->first_row = from->first_row;
    if (masked) {
        out->mask = memory + plane;
        out->mask_pitch = from->width;
    }
    for (size_t y = 0; y < from->height; y++) {
        const unsigned char *const source = image_row(from, y);
        const uint8_t *const mask = mask_row(from, y);
        for (size_t x = 0; x < from->width; x++) {
            uint64_t key = sample_key(from->sample, 0);
            const bool valid = luma_pixel(from, source + x * from->channels * bytes, mask, x, &key);
            store_raw(memory + y * pitch + x * bytes, bytes, sample_raw(from->sample, key));
            if (masked)
                memory[plane + y * from->width + x] = valid;
        }
    }
    return IMGSTAT_OK;
}

/* Everything that turning a pixel to a new luma needs. */
typedef struct Recolour {
    const ImagePro *from;
    const MapRange *range;
    const Map *rescale;
    ImgstatSample to;
    bool integer;
} Recolour;

static uint64_t between(const MapRange *range, uint64_t key)
{
    key = key < range->lo_key ? range->lo_key : key > range->hi_key ? range->hi_key : key;
    return range_avoid(range, key);
}

static inline void recolour_pixel(const Recolour *how, const unsigned char *at, uint64_t luma,
                                  unsigned char *to)
{
    const ImgstatSample in = how->from->sample, out = how->to;
    const size_t in_bytes = sample_bits(in) / 8, out_bytes = sample_bits(out) / 8;
    uint64_t key[3];
    for (size_t c = 0; c < 3; c++)
        key[c] = sample_key(in, load_raw(at + c * in_bytes, in_bytes));
    if (how->integer) {
        const uint32_t colour[3] = {(uint32_t)key[0], (uint32_t)key[1], (uint32_t)key[2]};
        uint32_t scaled[3];
        luma_scale(colour, (uint32_t)luma, (uint32_t)how->range->hi_key, scaled);
        for (size_t c = 0; c < 3; c++)
            key[c] = between(how->range, scaled[c]);
    } else {
        const double colour[3] = {map_value(in, key[0]), map_value(in, key[1]),
                                  map_value(in, key[2])};
        double scaled[3];
        luma_scale_value(colour, map_value(out, luma), how->range->hi, scaled);
        for (size_t c = 0; c < 3; c++)
            key[c] = range_avoid(how->range, range_key(how->range, scaled[c]));
    }
    for (size_t c = 0; c < 3; c++)
        store_raw(to + c * out_bytes, out_bytes, sample_raw(out, key[c]));
}

/* Samples [first, channels) of a pixel as they are. */
static void keep_samples(const Recolour *how, const unsigned char *at, size_t first,
                         unsigned char *to)
{
    const ImgstatSample in = how->from->sample, out = how->to;
    const size_t in_bytes = sample_bits(in) / 8, out_bytes = sample_bits(out) / 8;
    for (size_t c = first; c < how->from->channels; c++) {
        const uint64_t raw = load_raw(at + c * in_bytes, in_bytes);
        store_raw(to + c * out_bytes, out_bytes,
                  in == out ? raw : sample_raw(out, map_sample(how->rescale, sample_key(in, raw))));
    }
}

static Recolour recolour_of(const ImagePro *from, const MapRange *range, const Transfer *transfer,
                            const ImagePro *to)
{
    return (Recolour){.from = from,
                      .range = range,
                      .rescale = &transfer->rescale,
                      .to = to->sample,
                      .integer = luma_is_integer(from->sample) && luma_is_integer(to->sample)};
}

ImgstatResult luma_apply(const ImagePro *from, const ImagePro *luma, const MapRange *range,
                         const Transfer *rescale, ImagePro *to, ImgstatError *err)
{
    IMGSTAT_TRY(check_pair(from, range->sample, to, err));
    if (from->channels < 3 || luma->channels != 1 || luma->sample != to->sample ||
        luma->width != from->width || luma->height != from->height)
        return error_set(err, IMGSTAT_ERR_ARG, "the luma does not belong to the image");
    const Recolour how = recolour_of(from, range, rescale, to);
    const size_t in = imgstat_sample_bytes(from->sample), out = imgstat_sample_bytes(to->sample);
    for (size_t y = 0; y < from->height; y++) {
        const uint8_t *const mask = mask_row(luma, y);
        for (size_t x = 0; x < from->width; x++) {
            const unsigned char *const source = image_row(from, y) + x * from->channels * in;
            unsigned char *const target = row_of(to, y) + x * to->channels * out;
            const bool valid = !mask || mask[x];
            if (valid)
                recolour_pixel(&how, source,
                               sample_key(to->sample, load_raw(image_row(luma, y) + x * out, out)),
                               target);
            keep_samples(&how, source, valid ? 3 : 0, target);
        }
    }
    return IMGSTAT_OK;
}

static void apply_luma(const Transfer *transfer, const ImagePro *from, ImagePro *to)
{
    const Map *const map = &transfer->maps[0];
    const Recolour how = recolour_of(from, &transfer->range, transfer, to);
    const size_t in = imgstat_sample_bytes(from->sample), out = imgstat_sample_bytes(to->sample);
    const bool narrow = sample_is_narrow(from->sample);
    for (size_t y = 0; y < from->height; y++) {
        const uint8_t *const mask = mask_row(from, y);
        for (size_t x = 0; x < from->width; x++) {
            const unsigned char *const source = image_row(from, y) + x * from->channels * in;
            unsigned char *const target = row_of(to, y) + x * to->channels * out;
            uint64_t luma;
            const bool valid = luma_pixel(from, source, mask, x, &luma);
            if (valid && !map->passthrough)
                recolour_pixel(&how, source,
                               narrow ? sample_key(to->sample, transfer->tables[luma])
                                      : map_sample(map, luma),
                               target);
            keep_samples(&how, source, valid && !map->passthrough ? 3 : 0, target);
        }
    }
}

/* ---- One call ------------------------------------------------------------------------------ */

ImgstatResult transfer_apply(const Transfer *transfer, const ImagePro *from, int16_t alpha,
                             ImagePro *to, ImgstatError *err)
{
    IMGSTAT_TRY(apply_check(transfer, from, alpha, err));
    IMGSTAT_TRY(check_pair(from, transfer->rescale.to.sample, to, err));
    if (transfer->luma) {
        apply_luma(transfer, from, to);
        return IMGSTAT_OK;
    }
    if (sample_is_narrow(from->sample))
        return apply_tables(transfer, from, alpha, to, err);
    apply_maps(transfer, from, alpha, to);
    return IMGSTAT_OK;
}

ImgstatResult imgstat_transfer_apply(const ImgstatTransfer *transfer, const ImagePro *from,
                                     int16_t alpha, ImagePro *to, ImgstatError *err)
{
    return transfer_apply(transfer, from, alpha, to, err);
}
