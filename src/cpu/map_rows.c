/* SPDX-License-Identifier: MIT */
/* map_rows.c: applies a transfer to pixels, by one thread or those of the CPU device. Every other
 * device is compared with it. */
#include "cpu/map_rows.h"

#include "cpu/cpu.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- Checks -------------------------------------------------------------------------------- */

ImgstatResult apply_check_pair(const ImagePro *from, ImgstatSample sample, const ImagePro *to,
                               ImgstatError *err)
{
    if (from->memory == IMGSTAT_CUDA || to->memory == IMGSTAT_CUDA)
        return error_set(err, IMGSTAT_ERR_ARG,
                         "the pixels are in device memory; host memory is expected");
    return transfer_check_output(from, sample, to, err);
}

/* ---- Narrow types: a table a channel ------------------------------------------------------- */

/* Maps one channel of a row by a table of bits, masked samples by another. mask: a byte a sample,
 * or NULL. Sizes are constants where this is inlined. */
static inline void lookup_of(size_t in, const unsigned char *from, size_t step,
                             const uint32_t *table, const uint32_t *masked, const uint8_t *mask,
                             size_t n, unsigned char *to, size_t out)
{
    for (size_t i = 0; !mask && i < n; i++)
        store_raw(to + i * step * out, out, table[load_raw(from + i * step * in, in)]);
    const uint32_t *const either[] = {masked, table}; /* without a branch */
    for (size_t i = 0; mask && i < n; i++)
        store_raw(to + i * step * out, out,
                  either[mask[i] != 0][load_raw(from + i * step * in, in)]);
}

static inline void lookup_from(size_t in, const unsigned char *from, size_t step,
                               const uint32_t *table, const uint32_t *masked, const uint8_t *mask,
                               size_t n, unsigned char *to, size_t out)
{
    if (out == 1)
        lookup_of(in, from, step, table, masked, mask, n, to, 1);
    else if (out == 2)
        lookup_of(in, from, step, table, masked, mask, n, to, 2);
    else
        lookup_of(in, from, step, table, masked, mask, n, to, 4);
}

static void lookup(size_t in, const unsigned char *from, size_t step, const uint32_t *table,
                   const uint32_t *masked, const uint8_t *mask, size_t n, unsigned char *to,
                   size_t out)
{
    if (in == 1)
        lookup_from(1, from, step, table, masked, mask, n, to, out);
    else
        lookup_from(2, from, step, table, masked, mask, n, to, out);
}

/* Returns tables by raw bits, for all maps and then for rescale. Unsigned types use the tables of
 * the transfer. */
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
    const size_t half = entries / 2; /* sample_key, of many: from here on negative samples */
    const uint32_t *keys = transfer->tables;
    for (uint32_t *raw = *own; raw < *own + n; raw += entries, keys += entries) {
        memcpy(raw, keys + half, half * sizeof *raw);
        if (sample_is_signed(transfer->from))
            memcpy(raw + half, keys, half * sizeof *raw);
        else
            for (size_t i = 0; i < half; i++)
                raw[half + i] = keys[i == 0 ? half : half - 1 - i]; /* -0 as +0 */
    }
    return *own;
}

/* Negative zero has the key of zero. In its own type it stays negative where zero stays zero. */
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

/* Maps bytes to bytes without a mask, all channels at once. Returns false if the request is
 * another. */
static bool apply_bytes(const Transfer *transfer, const uint32_t *tables, const ImagePro *from,
                        int16_t alpha, ImagePro *to)
{
    enum { ENTRIES = 256 };
    uint8_t bytes[LOOP_CHANNELS * ENTRIES];
    if (sample_bits(from->sample) != 8 || sample_bits(to->sample) != 8 || from->mask ||
        from->channels > LOOP_CHANNELS)
        return false;
    const bool flat = transfer->n_maps == 1 && alpha < 0;
    const unsigned channels = flat ? 1 : from->channels;
    const size_t row = from->width * (size_t)from->channels;
    size_t map = 0;
    for (unsigned c = 0; c < channels; c++) {
        const bool left = (int)c == alpha;
        const uint32_t *const table = tables + (left ? transfer->n_maps : map) * ENTRIES;
        map += !left && transfer->n_maps > 1;
        for (size_t k = 0; k < ENTRIES; k++)
            bytes[c * ENTRIES + k] = (uint8_t)table[k];
    }
    Lut8 *const lut8 = cpu_loops()->lut8;
    for (size_t y = 0; y < from->height; y++)
        lut8(image_row(from, y), row, channels, bytes, row_of(to, y));
    return true;
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
    const bool done = apply_bytes(transfer, tables, from, alpha, to);
    const size_t step = flat && !from->mask ? 1 : channels;
    for (size_t y = 0; !done && y < from->height; y++) {
        size_t map = 0;
        for (size_t c = 0; c < step; c++) {
            const bool left = (int)c == alpha;
            const uint32_t *const table = left ? rescale : tables + map * entries;
            map += !left && transfer->n_maps > 1;
            lookup(in, image_row(from, y) + c * in, step, table, rescale, mask_row(from, y),
                   from->width * (channels / step), row_of(to, y) + c * out, out);
        }
    }
    free(own);
    return IMGSTAT_OK;
}

/* ---- Wide types: arithmetic ---------------------------------------------------------------- */

/* Maps every `step`th of n samples. `sample` is a constant where this is inlined. */
static inline void map_singly(ImgstatSample sample, const Map *map, const unsigned char *from,
                              size_t step, size_t n, unsigned char *to)
{
    const ImgstatSample to_sample = map->to.sample;
    const size_t in = sample_bits(sample) / 8, out = sample_bits(to_sample) / 8;
    for (size_t x = 0; x < n; x++)
        store_raw(to + x * step * out, out,
                  map_raw(map, sample, to_sample, load_raw(from + x * step * in, in)));
}

static void map_singly_of(const Map *map, const unsigned char *from, size_t step, size_t n,
                          unsigned char *to)
{
    switch (map->from) {
    case IMGSTAT_F32:
        map_singly(IMGSTAT_F32, map, from, step, n, to);
        return;
    case IMGSTAT_F64:
        map_singly(IMGSTAT_F64, map, from, step, n, to);
        return;
    case IMGSTAT_U32:
        map_singly(IMGSTAT_U32, map, from, step, n, to);
        return;
    default:
        map_singly(map->from, map, from, step, n, to);
    }
}

bool map_power_fits(const Map *map)
{
    return map->kind == MAP_POWER && !sample_is_narrow(map->from) &&
           !sample_exceeds_double(map->from) && map->to.sample != IMGSTAT_F16 &&
           !sample_exceeds_double(map->to.sample) && !map_is_identity(map);
}

bool map_samples(const Map *map, const KnotTable *knots, const unsigned char *from, size_t step,
                 size_t n, unsigned char *to)
{
    const CpuLoops *const loops = cpu_loops();
    if (knots)
        apply_knots(knots, from, step, n, to);
    else if (map_power_fits(map))
        loops->map_power(map, from, step, n, to);
    else
        return loops->map_linear(map, from, step, n, to);
    return true;
}

void map_all_samples(const Map *map, const KnotTable *knots, const unsigned char *from, size_t step,
                     size_t n, unsigned char *to)
{
    if (!knots && map_is_identity(map))
        copy_samples(sample_bits(map->from) / 8, from, step, n, to, step);
    else if (!map_samples(map, knots, from, step, n, to))
        map_singly_of(map, from, step, n, to);
}

/* Maps every `step`th of n samples, masked ones by `rescale`: a block by both maps where it has
 * both kinds. */
static void map_masked(const Map *map, const KnotTable *knots, const Map *rescale,
                       const unsigned char *from, size_t step, size_t n, const uint8_t *mask,
                       unsigned char *to)
{
    enum { SAMPLES = 512 };
    const size_t in = sample_bits(map->from) / 8, out = sample_bits(map->to.sample) / 8;
    uint64_t own[SAMPLES], mapped[SAMPLES], rescaled[SAMPLES];
    unsigned char *const made = (unsigned char *)mapped, *const left = (unsigned char *)rescaled;
    for (size_t first = 0, here; first < n; first += here) {
        here = n - first < SAMPLES ? n - first : SAMPLES;
        const uint8_t *const inside = mask + first;
        const unsigned char *const source = from + first * step * in;
        unsigned char *const target = to + first * step * out;
        size_t masked = 0;
        for (size_t i = 0; i < here; i++)
            masked += inside[i] == 0;
        if (masked == 0 || masked == here) {
            map_all_samples(masked ? rescale : map, masked ? NULL : knots, source, step, here,
                            target);
            continue;
        }
        copy_samples(in, source, step, here, (unsigned char *)own, 1);
        map_all_samples(map, knots, (unsigned char *)own, 1, here, made);
        map_all_samples(rescale, NULL, (unsigned char *)own, 1, here, left);
        for (size_t i = 0; i < here; i++)
            store_raw(target + i * step * out, out,
                      load_raw((inside[i] ? made : left) + i * out, out));
    }
}

static void apply_maps(const Transfer *transfer, const ImagePro *from, int16_t alpha, ImagePro *to)
{
    const size_t in = imgstat_sample_bytes(from->sample), out = imgstat_sample_bytes(to->sample);
    const size_t step = transfer->n_maps == 1 && alpha < 0 && !from->mask ? 1 : from->channels;
    const size_t n = from->width * (size_t)(from->channels / step);
    for (uint32_t y = 0; y < from->height; y++) {
        const uint8_t *const mask = mask_row(from, y);
        size_t m = 0;
        for (size_t c = 0; c < step; c++) {
            const bool left = (int)c == alpha;
            const Map *const map = left ? &transfer->rescale : &transfer->maps[m];
            const KnotTable *const knots = left ? NULL : transfer->knot_tables[m];
            const unsigned char *const source = image_row(from, y) + c * in;
            unsigned char *const target = row_of(to, y) + c * out;
            m += !left && transfer->n_maps > 1;
            if (mask)
                map_masked(map, knots, &transfer->rescale, source, step, n, mask, target);
            else
                map_all_samples(map, knots, source, step, n, target);
        }
    }
}

/* ---- One call ------------------------------------------------------------------------------ */

ImgstatResult transfer_apply(const Transfer *transfer, const ImagePro *from, int16_t alpha,
                             ImagePro *to, ImgstatError *err)
{
    IMGSTAT_TRY(transfer_check_image(transfer, from, alpha, err));
    IMGSTAT_TRY(apply_check_pair(from, transfer->rescale.to.sample, to, err));
    if (transfer->luma)
        luma_transfer(transfer, from, alpha, to);
    else if (sample_is_narrow(from->sample))
        IMGSTAT_TRY(apply_tables(transfer, from, alpha, to, err));
    else
        apply_maps(transfer, from, alpha, to);
    holes_fill(&transfer->holes, from, alpha, to);
    return IMGSTAT_OK;
}

/* ---- By the threads of the device ---------------------------------------------------------- */

/* An image, cut into slices of rows for the threads. */
typedef struct Slices {
    const ImagePro *from;
    ImagePro *to;
    CpuSlice *use;
    const void *context;
    uint32_t rows; /* of a slice */
    atomic_int result;
    ImgstatError error; /* error of the thread that set result first */
} Slices;

static void use_slice(void *context, size_t task, unsigned thread)
{
    Slices *const s = context;
    (void)thread;
    const uint32_t first = (uint32_t)task * s->rows;
    const uint32_t left = s->from->height - first;
    const ImagePro from = image_band(s->from, first, left < s->rows ? left : s->rows);
    ImagePro to = image_band(s->to, first, from.height);
    ImgstatError error;
    const ImgstatResult res = s->use(s->context, &from, &to, &error);
    int none = IMGSTAT_OK;
    if (res != IMGSTAT_OK && atomic_compare_exchange_strong(&s->result, &none, (int)res))
        s->error = error;
}

ImgstatResult cpu_slices(Device *base, const ImagePro *from, ImagePro *to, CpuSlice *use,
                         const void *context, ImgstatError *err)
{
    /* Slices a thread, so that the last ones even out; fewest samples of a slice that is worth a
     * task; and of a slice that needs tables of its own, as signed types and f16 do. No slice is so
     * large that a program waits for its end after it has cancelled. */
    enum { SLICES = 4, LEAST_SAMPLES = 1 << 15, TABLE_SAMPLES = 1 << 18, MOST_SAMPLES = 1 << 22 };
    const bool tables = sample_is_narrow(from->sample) &&
                        (sample_is_signed(from->sample) || sample_is_float(from->sample));
    const size_t samples = tables ? TABLE_SAMPLES : LEAST_SAMPLES;
    CpuDevice *const device = (CpuDevice *)base;
    if (from->width == 0 || from->height == 0)
        return IMGSTAT_OK;
    const size_t row = (size_t)from->width * from->channels;
    const size_t least = samples / row + 1, most = MOST_SAMPLES / row + 1;
    const size_t rows = from->height / (SLICES * thread_pool_threads(device->pool)) + 1;
    Slices slices = {.from = from,
                     .to = to,
                     .use = use,
                     .context = context,
                     .rows = (uint32_t)(rows < least  ? least
                                        : rows > most ? most
                                                      : rows)};
    IMGSTAT_TRY(cpu_run(device, (from->height - 1) / slices.rows + 1, use_slice, &slices, err));
    const ImgstatResult res = (ImgstatResult)atomic_load(&slices.result);
    return res == IMGSTAT_OK ? res : error_set(err, res, "%s", slices.error.message);
}

typedef struct Applying {
    const Transfer *transfer;
    int16_t alpha;
} Applying;

static ImgstatResult apply_slice(const void *context, const ImagePro *from, ImagePro *to,
                                 ImgstatError *err)
{
    const Applying *const a = context;
    return transfer_apply(a->transfer, from, a->alpha, to, err);
}

ImgstatResult cpu_apply(Device *device, const ImgstatTransfer *transfer, const ImagePro *from,
                        int16_t alpha, ImagePro *to, ImgstatError *err)
{
    const Applying applying = {.transfer = transfer, .alpha = alpha};
    IMGSTAT_TRY(transfer_check_image(transfer, from, alpha, err));
    IMGSTAT_TRY(apply_check_pair(from, transfer->rescale.to.sample, to, err));
    return cpu_slices(device, from, to, apply_slice, &applying, err);
}
