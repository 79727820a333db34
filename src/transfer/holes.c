/* SPDX-License-Identifier: MIT */
/* holes.c: chooses what undefined samples become, and writes it over what a map made of them. */
#include "transfer/holes.h"

#include "base/pixel.h"
#include "transfer/transfer.h"

#include <assert.h>

bool sample_holds(ImgstatSample sample, uint8_t bits, ImgstatValue value, uint64_t *key)
{
    uint64_t lo, hi;
    if (sample_is_float(sample) && isnan(imgstat_value_double(value))) {
        *key = sample_key_nan(sample);
        return true;
    }
    if (!sample_key_of(sample, value, key))
        return false;
    sample_full_scale(sample, bits, &lo, &hi);
    return sample_is_float(sample) || (*key >= lo && *key <= hi);
}

void shape_set_hole(TransferShape *shape, ImgstatSample to, ImgstatValue nodata)
{
    uint64_t key;
    if (sample_holds(to, 0, nodata, &key))
        return;
    shape->has_hole = true;
    shape->hole_key = sample_is_float(to) ? sample_key_nan(to) : map_key(to, 0.0);
}

void shape_set_hole_in_memory(TransferShape *shape, ImgstatSample to)
{
    if (shape->has_nodata)
        shape_set_hole(shape, to, sample_value(shape->sample, shape->nodata_key));
}

bool transfer_lacks_nodata(const Transfer *transfer, const TransferShape *shape)
{
    const Map *const passthrough = &transfer->passthrough;
    const MapRange *const range = &transfer->range;
    if (shape->has_nodata &&
        !(passthrough->has_nodata && passthrough->nodata_key == shape->nodata_key))
        return true;
    MapRange wanted = *range;
    if (shape->has_hole)
        range_set_hole(&wanted, shape->hole_key);
    else
        range_set_nodata(&wanted, transfer->from, passthrough->has_nodata, passthrough->nodata_key);
    return wanted.has_nodata != range->has_nodata || wanted.nodata_key != range->nodata_key;
}

Holes transfer_holes(const Transfer *transfer, const TransferShape *shape,
                     const ImgstatValue *nodata)
{
    const ImgstatSample to = transfer->range.sample;
    Holes holes = {.fills = shape->has_hole,
                   .masked = !map_is_identity(&transfer->rescale),
                   .whole = transfer->luma,
                   .hole = shape->hole_key,
                   .range = transfer->range};
    if (shape->has_hole)
        holes.mask_hole = shape->hole_key;
    else if (!nodata || !sample_holds(to, 0, *nodata, &holes.mask_hole))
        holes.mask_hole = map_key(to, 0.0);
    return holes;
}

Holes transfer_holes_in_memory(const Transfer *transfer, const TransferShape *shape)
{
    const ImgstatValue nodata = sample_value(shape->sample, shape->nodata_key);
    return transfer_holes(transfer, shape, shape->has_nodata ? &nodata : NULL);
}

/* ---- Filling --------------------------------------------------------------------------------- */

/* One row. `in` and `out` are constants where this is inlined. */
static inline void fill_row(const Holes *holes, const ImagePro *image, int16_t alpha,
                            ImgstatSample in, ImgstatSample out, const uint8_t *mask,
                            const unsigned char *from, unsigned char *to)
{
    const size_t in_bytes = imgstat_sample_bytes(in), out_bytes = imgstat_sample_bytes(out);
    const size_t channels = image->channels;
    const uint64_t hole = sample_raw(out, holes->hole);
    const uint64_t mask_hole = sample_raw(out, holes->mask_hole);
    for (uint32_t x = 0; x < image->width;
         x++, from += channels * in_bytes, to += channels * out_bytes) {
        const bool masked = mask && !mask[x];
        bool any = false;
        for (size_t c = 0; c < channels && (masked || holes->fills); c++) {
            unsigned char *const at = to + c * out_bytes;
            if ((int)c == alpha)
                continue;
            if (masked) {
                store_raw(at, out_bytes, mask_hole);
            } else if (holes_take(holes, in, out, image->has_nodata, image->nodata_key,
                                  sample_key(in, load_raw(from + c * in_bytes, in_bytes)))) {
                store_raw(at, out_bytes, hole);
                any = any || c < HOLES_COLOURS;
            } else {
                const uint64_t key = sample_key(out, load_raw(at, out_bytes));
                const uint64_t other = range_avoid(&holes->range, key);
                if (other != key)
                    store_raw(at, out_bytes, sample_raw(out, other));
            }
        }
        for (size_t c = 0; any && holes->whole && c < channels && c < HOLES_COLOURS; c++)
            if ((int)c != alpha)
                store_raw(to + c * out_bytes, out_bytes, hole);
    }
}

void holes_fill(const Holes *holes, const ImagePro *from, int16_t alpha, ImagePro *to)
{
    const ImgstatSample in = from->sample, out = to->sample;
    const bool masked = holes->masked && from->mask;
    if (!holes->fills && !masked)
        return;
    assert(!holes->fills || to->host != from->host || to->height == 0);
    for (uint32_t y = 0; y < to->height; y++) {
        const uint8_t *const mask = masked ? mask_row(from, y) : NULL;
        const unsigned char *const source = image_row(from, y);
        unsigned char *const target = row_of(to, y);
        if (in == IMGSTAT_F32 && out == IMGSTAT_U8)
            fill_row(holes, from, alpha, IMGSTAT_F32, IMGSTAT_U8, mask, source, target);
        else if (in == IMGSTAT_F32 && out == IMGSTAT_U16)
            fill_row(holes, from, alpha, IMGSTAT_F32, IMGSTAT_U16, mask, source, target);
        else
            fill_row(holes, from, alpha, in, out, mask, source, target);
    }
}
