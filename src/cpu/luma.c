/* SPDX-License-Identifier: MIT */
/* luma.c: the luma plane of a band, and colours scaled to a new luma. */
#include "transfer/luma.h"

#include "cpu/cpu.h"
#include "cpu/luma_wide.h"
#include "cpu/map_rows.h"

/* Whether cpu/luma_narrow.c handles the samples: bytes or words. */
static bool is_narrow(const ImagePro *image)
{
    return image->sample == IMGSTAT_U8 || image->sample == IMGSTAT_U16;
}

/* The same, and every pixel has a luma. */
static bool is_plain(const ImagePro *image)
{
    return is_narrow(image) && !image->mask && !image->has_nodata;
}

/* Finds which of n pixels of bytes or words have a luma; returns whether all have. `bytes` is a
 * constant where this is inlined. */
static inline bool find_has_of(size_t bytes, const ImagePro *image, const unsigned char *at,
                               const uint8_t *mask, size_t n, uint8_t *has)
{
    const size_t pixel = image->channels * bytes;
    const uint64_t nodata = image->has_nodata ? image->nodata_key : UINT64_MAX;
    bool all = true;
    for (size_t i = 0; i < n; i++, at += pixel) {
        const uint64_t red = load_raw(at, bytes), green = load_raw(at + bytes, bytes);
        const uint64_t blue = load_raw(at + 2 * bytes, bytes);
        const bool hole = (red == nodata) | (green == nodata) | (blue == nodata);
        has[i] = (!mask || mask[i]) & !hole;
        all &= has[i];
    }
    return all;
}

static bool find_has(const ImagePro *image, const unsigned char *at, const uint8_t *mask, size_t n,
                     uint8_t *has)
{
    return image->sample == IMGSTAT_U8 ? find_has_of(1, image, at, mask, n, has)
                                       : find_has_of(2, image, at, mask, n, has);
}

/* Whether luma is computed in integers: samples of at most 16 bits. */
static bool luma_is_integer(ImgstatSample sample)
{
    return sample_is_narrow(sample) && !sample_is_float(sample);
}

/* Finds the key of the luma of the pixel at `at`. Returns false if it has none. */
static inline bool luma_pixel(ImgstatSample sample, const ImagePro *image, const unsigned char *at,
                              const uint8_t *mask, size_t x, uint64_t *luma)
{
    const size_t bytes = sample_bits(sample) / 8;
    uint64_t key[3];
    for (size_t c = 0; c < 3; c++) {
        key[c] = sample_key(sample, load_raw(at + c * bytes, bytes));
        if (map_undefined(sample, key[c]) || (image->has_nodata && key[c] == image->nodata_key))
            return false;
    }
    if (mask && !mask[x])
        return false;
    *luma = luma_of_keys(sample, key);
    return true;
}

static void luma_release(void *context)
{
    buffer_cache_release(context);
}

/* Computes the luma of all rows, without gaps, and whether each pixel has one. */
static void luma_rows(ImgstatSample sample, const ImagePro *from, unsigned char *luma,
                      unsigned char *valid)
{
    const size_t bytes = sample_bits(sample) / 8;
    for (size_t y = 0; y < from->height; y++) {
        const unsigned char *const source = image_row(from, y);
        const uint8_t *const mask = mask_row(from, y);
        for (size_t x = 0; x < from->width; x++) {
            const size_t at = y * from->width + x;
            uint64_t key = sample_key(sample, 0);
            const bool has =
                luma_pixel(sample, from, source + x * from->channels * bytes, mask, x, &key);
            store_raw(luma + at * bytes, bytes, sample_raw(sample, key));
            if (valid)
                valid[at] = has;
        }
    }
}

/* Works as luma_rows, for types that luma_wide.h handles. */
static void luma_blocks(const ImagePro *from, unsigned char *luma, unsigned char *valid)
{
    const LumaWide wide = luma_wide_of(from);
    const size_t bytes = imgstat_sample_bytes(from->sample), pixel = from->channels * bytes;
    LumaBlock block;
    for (size_t y = 0; y < from->height; y++) {
        const uint8_t *const mask = mask_row(from, y);
        for (size_t x = 0, n; x < from->width; x += n, luma += n * bytes) {
            n = from->width - x < LUMA_BLOCK ? from->width - x : LUMA_BLOCK;
            cpu_loops()->luma_wide_load(&wide, image_row(from, y) + x * pixel,
                                        mask ? mask + x : NULL, n, &block);
            memcpy(luma, block.luma, n * bytes);
            if (valid)
                memcpy(valid + y * from->width + x, block.has, n);
        }
    }
}

ImgstatResult luma_plane(BufferCache *scratch, const ImagePro *from, ImagePro *out,
                         ImgstatError *err)
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
    unsigned char *const memory = buffer_cache_acquire(scratch, total);
    if (!memory)
        return error_memory(err, total, "luma");
    const ImgstatResult result =
        imgstat_image_wrap(IMGSTAT_HOST, 0, memory, pitch, from->width, from->height, 1,
                           from->sample, from->bits, luma_release, memory, out, err);
    if (result != IMGSTAT_OK) {
        buffer_cache_release(memory);
        return result;
    }
    out->first_row = from->first_row;
    if (masked) {
        out->mask = memory + plane;
        out->mask_pitch = from->width;
    }
    unsigned char *const valid = masked ? memory + plane : NULL;
    const CpuLoops *const loops = cpu_loops();
    if (is_narrow(from))
        for (size_t y = 0; y < from->height; y++) {
            unsigned char *const row = memory + y * pitch;
            uint8_t *const has = valid ? valid + y * from->width : NULL;
            loops->luma_narrow(image_row(from, y), (unsigned)bytes, from->channels, from->width,
                               row);
            const bool all =
                !has || find_has(from, image_row(from, y), mask_row(from, y), from->width, has);
            for (size_t x = 0; !all && x < from->width; x++)
                store_raw(row + x * bytes, bytes, has[x] ? load_raw(row + x * bytes, bytes) : 0);
        }
    else if (luma_wide_loads(from->sample))
        luma_blocks(from, memory, valid);
    else
        luma_rows(from->sample, from, memory, valid);
    return IMGSTAT_OK;
}

typedef struct LumaUse {
    Device *device;
    UseBand use;
    void *context;
} LumaUse;

static ImgstatResult use_luma(void *context, const ImagePro *piece, ImgstatError *err)
{
    const LumaUse *const of = context;
    ImagePro luma;
    IMGSTAT_TRY(luma_plane(of->device->cache, piece, &luma, err));
    const ImgstatResult res = of->use(of->context, &luma, err);
    imgstat_image_release(&luma);
    return res;
}

ImgstatResult cpu_luma_bands(Device *device, const ImagePro *image, UseBand use, void *context,
                             ImgstatError *err)
{
    LumaUse of = {.device = device, .use = use, .context = context};
    return image_each_band(image, use_luma, &of, err);
}

/* What scaling a pixel to a new luma needs. */
typedef struct LumaRescale {
    const ImagePro *from;
    int16_t alpha; /* -1: none */
    const MapRange *range;
    const Map *rescale,
        *passthrough; /* maps of alpha and masked samples, and of others that pass */
} LumaRescale;

static uint64_t between(const MapRange *range, uint64_t key)
{
    key = key < range->lo_key ? range->lo_key : key > range->hi_key ? range->hi_key : key;
    return range_avoid(range, key);
}

static inline void rescale_luma_pixel(ImgstatSample in, ImgstatSample out, const LumaRescale *how,
                                      const unsigned char *at, uint64_t luma, unsigned char *to)
{
    const size_t in_bytes = sample_bits(in) / 8, out_bytes = sample_bits(out) / 8;
    uint64_t key[3];
    for (size_t c = 0; c < 3; c++)
        key[c] = sample_key(in, load_raw(at + c * in_bytes, in_bytes));
    if (luma_is_integer(in) && luma_is_integer(out)) {
        const uint32_t colour[3] = {(uint32_t)key[0], (uint32_t)key[1], (uint32_t)key[2]};
        uint32_t scaled[3];
        luma_scale(colour, (uint32_t)luma, (uint32_t)how->range->hi_key, scaled);
        for (size_t c = 0; c < 3; c++)
            key[c] = between(how->range, scaled[c]);
    } else {
        const double colour[3] = {map_value(in, key[0]), map_value(in, key[1]),
                                  map_value(in, key[2])};
        double scaled[3];
        luma_scale_value(colour, luma_black(in), map_value(out, luma), how->range->hi,
                         luma_black(out), scaled);
        for (size_t c = 0; c < 3; c++)
            key[c] = range_avoid(how->range, range_key(how->range, scaled[c]));
    }
    for (size_t c = 0; c < 3; c++)
        store_raw(to + c * out_bytes, out_bytes, sample_raw(out, key[c]));
}

/* Stores samples [first, end) of a pixel, which do not belong to its luma. */
static inline void keep_samples(ImgstatSample in, ImgstatSample out, const LumaRescale *how,
                                const unsigned char *at, size_t first, size_t end, bool masked,
                                unsigned char *to)
{
    const size_t in_bytes = sample_bits(in) / 8, out_bytes = sample_bits(out) / 8;
    for (size_t c = first; c < end; c++) {
        const Map *const map = masked || (int)c == how->alpha ? how->rescale : how->passthrough;
        store_raw(to + c * out_bytes, out_bytes,
                  map_raw(map, in, out, load_raw(at + c * in_bytes, in_bytes)));
    }
}

static LumaRescale luma_rescale_of(const ImagePro *from, int16_t alpha, const Transfer *transfer)
{
    return (LumaRescale){.from = from,
                         .alpha = alpha,
                         .range = &transfer->range,
                         .rescale = &transfer->rescale,
                         .passthrough = &transfer->passthrough};
}

/* Whether cpu/luma_narrow.c makes the transfer's output. It copies samples after the colours;
 * colours without a luma are put back. */
static bool fits_same_depth(const Transfer *transfer, const ImagePro *from)
{
    return is_narrow(from) && from->sample == transfer->range.sample &&
           ((from->channels == 3 && is_plain(from)) || transfer_copies(transfer));
}

/* Whether cpu/luma_narrow.c makes words from bytes, or bytes from words. */
static bool fits_other_depth(const Transfer *transfer, const ImagePro *from)
{
    const ImgstatSample out = transfer->range.sample;
    return is_plain(from) && from->channels == 3 && (out == IMGSTAT_U8 || out == IMGSTAT_U16);
}

/* Pixels of bytes or words that are scaled at once. */
enum { NARROW_BLOCK = 1024 };

/* Puts the colours of pixels without a luma back, without branches. `bytes` is a constant where
 * this is inlined. */
static inline void put_back(size_t bytes, const unsigned char *kept, const uint8_t *has,
                            unsigned channels, size_t n, unsigned char *to)
{
    for (size_t i = 0; i < n; i++, to += bytes * channels, kept += bytes * 3)
        for (size_t c = 0; c < 3 * bytes; c += bytes)
            store_raw(to + c, bytes, load_raw((has[i] ? to : kept) + c, bytes));
}

/* Scales n <= NARROW_BLOCK pixels to a new luma of the same type. has: which pixels have a luma;
 * NULL: all. */
static void scale_narrow(const ImagePro *image, const unsigned char *from, size_t n,
                         const void *luma, const uint8_t *has, const MapRange *range,
                         unsigned char *to)
{
    uint16_t colours[NARROW_BLOCK * 3];
    unsigned char *const kept = (unsigned char *)colours;
    const unsigned channels = image->channels;
    const size_t bytes = imgstat_sample_bytes(image->sample);
    for (size_t i = 0; has && i < n; i++) /* `to` may be `from` */
        memcpy(kept + i * 3 * bytes, from + i * channels * bytes, 3 * bytes);
    cpu_loops()->luma_narrow_scale(from, (unsigned)bytes, channels, n, luma, range, to);
    if (has && bytes == 1)
        put_back(1, kept, has, channels, n, to);
    else if (has)
        put_back(2, kept, has, channels, n, to);
}

ImgstatResult luma_apply(const ImagePro *from, const ImagePro *luma, const Transfer *transfer,
                         int16_t alpha, ImagePro *to, ImgstatError *err)
{
    const MapRange *const range = &transfer->range;
    IMGSTAT_TRY(apply_check_pair(from, range->sample, to, err));
    if (from->channels < 3 || luma->channels != 1 || luma->sample != to->sample ||
        luma->width != from->width || luma->height != from->height)
        return error_set(err, IMGSTAT_ERR_ARG, "the luma does not belong to the image");
    const LumaRescale how = luma_rescale_of(from, alpha, transfer);
    const size_t in = imgstat_sample_bytes(from->sample), out = imgstat_sample_bytes(to->sample);
    const bool plain =
        fits_same_depth(transfer, from) && (!luma->mask || transfer_copies(transfer));
    for (size_t y = 0; plain && y < from->height; y++)
        for (size_t x = 0, n; x < from->width; x += n) {
            n = from->width - x < NARROW_BLOCK ? from->width - x : NARROW_BLOCK;
            const uint8_t *const has = mask_row(luma, y);
            scale_narrow(from, image_row(from, y) + x * from->channels * in, n,
                         image_row(luma, y) + x * in, has ? has + x : NULL, range,
                         row_of(to, y) + x * from->channels * in);
        }
    for (size_t y = 0; !plain && y < from->height; y++) {
        const uint8_t *const mask = mask_row(luma, y), *const outer = mask_row(from, y);
        for (size_t x = 0; x < from->width; x++) {
            const unsigned char *const source = image_row(from, y) + x * from->channels * in;
            unsigned char *const target = row_of(to, y) + x * to->channels * out;
            const bool valid = !mask || mask[x];
            if (valid)
                rescale_luma_pixel(
                    from->sample, to->sample, &how, source,
                    sample_key(to->sample, load_raw(image_row(luma, y) + x * out, out)), target);
            keep_samples(from->sample, to->sample, &how, source, valid ? 3 : 0, from->channels,
                         outer && !outer[x], target);
        }
    }
    return IMGSTAT_OK;
}

/* `in` and `out` are constants where this is inlined. */
static inline void transfer_of(ImgstatSample in, ImgstatSample out, const Transfer *transfer,
                               const ImagePro *from, int16_t alpha, ImagePro *to)
{
    const Map *const map = &transfer->maps[0];
    const LumaRescale how = luma_rescale_of(from, alpha, transfer);
    const size_t in_pixel = sample_bits(in) / 8 * from->channels;
    const size_t out_pixel = sample_bits(out) / 8 * to->channels;
    const bool narrow = sample_is_narrow(in);
    for (size_t y = 0; y < from->height; y++) {
        const unsigned char *source = image_row(from, y);
        unsigned char *target = row_of(to, y);
        const uint8_t *const mask = mask_row(from, y);
        for (size_t x = 0; x < from->width; x++, source += in_pixel, target += out_pixel) {
            uint64_t luma;
            const bool change = luma_pixel(in, from, source, mask, x, &luma) && !map->passthrough;
            if (change)
                rescale_luma_pixel(in, out, &how, source,
                                   narrow ? sample_key(out, transfer->tables[luma])
                                          : map_sample(map, luma),
                                   target);
            keep_samples(in, out, &how, source, change ? 3 : 0, from->channels, mask && !mask[x],
                         target);
        }
    }
}

/* Maps n pixels of a row of bytes or words to the same type. */
static void transfer_same_depth(const Transfer *transfer, const ImagePro *image,
                                const unsigned char *from, const uint8_t *mask, unsigned char *to)
{
    uint16_t luma[NARROW_BLOCK];
    uint8_t *const byte = (uint8_t *)luma, has[NARROW_BLOCK];
    const size_t bytes = imgstat_sample_bytes(image->sample), pixel = bytes * image->channels;
    for (size_t x = 0, n; x < image->width; x += n, from += n * pixel, to += n * pixel) {
        n = image->width - x < NARROW_BLOCK ? image->width - x : NARROW_BLOCK;
        const bool all = is_plain(image) || find_has(image, from, mask ? mask + x : NULL, n, has);
        cpu_loops()->luma_narrow(from, (unsigned)bytes, image->channels, n, luma);
        if (bytes == 1)
            for (size_t i = 0; i < n; i++)
                byte[i] = (uint8_t)transfer->tables[byte[i]];
        else
            for (size_t i = 0; i < n; i++)
                luma[i] = (uint16_t)transfer->tables[luma[i]];
        scale_narrow(image, from, n, luma, all ? NULL : has, &transfer->range, to);
    }
}

/* Maps n pixels of bytes to words, or of words to bytes: all as words, whose colours are limited to
 * 255 for bytes. */
static void transfer_other_depth(const Transfer *transfer, const unsigned char *from, size_t bytes,
                                 size_t n, unsigned char *to)
{
    enum { BLOCK = 1024 };
    uint16_t luma[BLOCK], colour[BLOCK * 3];
    const CpuLoops *const loops = cpu_loops();
    for (size_t first = 0, here; first < n; first += here) {
        here = n - first < BLOCK ? n - first : BLOCK;
        const unsigned char *const source = from + first * 3 * bytes;
        unsigned char *const target = to + first * 3 * (3 - bytes);
        if (bytes == 1)
            for (size_t i = 0; i < here * 3; i++)
                colour[i] = source[i];
        else
            memcpy(colour, source, here * sizeof *colour * 3);
        loops->luma_narrow(colour, 2, 3, here, luma);
        for (size_t i = 0; i < here; i++)
            luma[i] = (uint16_t)transfer->tables[luma[i]];
        loops->luma_narrow_scale(colour, 2, 3, here, luma, &transfer->range, colour);
        if (bytes == 1)
            memcpy(target, colour, here * sizeof *colour * 3);
        else
            for (size_t i = 0; i < here * 3; i++)
                target[i] = (unsigned char)colour[i];
    }
}

/* Maps n pixels of a row, of types that luma_wide.h loads and stores. */
static void transfer_wide(const Transfer *transfer, const LumaRescale *how,
                          const unsigned char *from, const uint8_t *mask, size_t n,
                          unsigned char *to)
{
    const LumaWide wide = luma_wide_of(how->from);
    const ImgstatSample in = how->from->sample, out = how->range->sample;
    const size_t in_pixel = sample_bits(in) / 8 * wide.channels;
    const size_t out_pixel = sample_bits(out) / 8 * wide.channels;
    unsigned char mapped[LUMA_BLOCK * sizeof(double)], kept[LUMA_BLOCK * 3 * sizeof(double)];
    LumaBlock block;
    for (size_t x = 0, here; x < n; x += here, from += here * in_pixel, to += here * out_pixel) {
        here = n - x < LUMA_BLOCK ? n - x : LUMA_BLOCK;
        cpu_loops()->luma_wide_load(&wide, from, mask ? mask + x : NULL, here, &block);
        map_all_samples(&transfer->maps[0], transfer->knot_tables[0], block.luma, 1, here, mapped);
        for (size_t i = 0; !block.all && i < here; i++) /* `to` may be `from` */
            memcpy(kept + i * 3 * sizeof(double), from + i * in_pixel,
                   in_pixel / wide.channels * 3);
        cpu_loops()->luma_wide_store(&wide, &block, mapped, here, how->range, to);
        for (size_t i = 0; (!block.all || wide.channels > 3) && i < here; i++) {
            const bool masked = mask && !mask[x + i];
            if (!block.has[i])
                keep_samples(in, out, how, kept + i * 3 * sizeof(double), 0, 3, masked,
                             to + i * out_pixel);
            keep_samples(in, out, how, from + i * in_pixel, 3, wide.channels, masked,
                         to + i * out_pixel);
        }
    }
}

void luma_transfer(const Transfer *transfer, const ImagePro *from, int16_t alpha, ImagePro *to)
{
    const LumaRescale how = luma_rescale_of(from, alpha, transfer);
    if (luma_wide_loads(from->sample) && luma_wide_stores(to->sample) &&
        !transfer->maps[0].passthrough) {
        for (size_t y = 0; y < from->height; y++)
            transfer_wide(transfer, &how, image_row(from, y), mask_row(from, y), from->width,
                          row_of(to, y));
        return;
    }
    if (fits_same_depth(transfer, from) && !transfer->maps[0].passthrough)
        for (size_t y = 0; y < from->height; y++)
            transfer_same_depth(transfer, from, image_row(from, y), mask_row(from, y),
                                row_of(to, y));
    else if (fits_other_depth(transfer, from) && !transfer->maps[0].passthrough)
        for (size_t y = 0; y < from->height; y++)
            transfer_other_depth(transfer, image_row(from, y), imgstat_sample_bytes(from->sample),
                                 from->width, row_of(to, y));
    else if (from->sample == IMGSTAT_U8 && to->sample == IMGSTAT_U8)
        transfer_of(IMGSTAT_U8, IMGSTAT_U8, transfer, from, alpha, to);
    else if (from->sample == IMGSTAT_U16 && to->sample == IMGSTAT_U16)
        transfer_of(IMGSTAT_U16, IMGSTAT_U16, transfer, from, alpha, to);
    else if (from->sample == IMGSTAT_I16 && to->sample == IMGSTAT_I16)
        transfer_of(IMGSTAT_I16, IMGSTAT_I16, transfer, from, alpha, to);
    else if (from->sample == IMGSTAT_F16 && to->sample == IMGSTAT_F16)
        transfer_of(IMGSTAT_F16, IMGSTAT_F16, transfer, from, alpha, to);
    else
        transfer_of(from->sample, to->sample, transfer, from, alpha, to);
}
