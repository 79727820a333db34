/* SPDX-License-Identifier: MIT */
/* undefined.c: chooses the value of undefined samples, and writes it over what maps made of them.
 */
#include "transform/undefined.h"

#include "base/pixel.h"

static ImgstatSample output_of(const Pipeline *pipeline, const TransferShape *shape, uint8_t *bits)
{
    return pipeline->transfer ? imgstat_transfer_output(pipeline->transfer, bits)
                              : transfer_output(pipeline->method, shape, bits);
}

/* The key of a value in samples of so many bits; false if they cannot hold it. */
static bool holds(ImgstatSample sample, uint8_t bits, ImgstatValue value, uint64_t *key)
{
    uint64_t lo, hi;
    if (sample_is_float(sample) && isnan(imgstat_value_double(value))) {
        *key = map_nan(sample);
        return true;
    }
    if (!sample_key_of(sample, value, key))
        return false;
    sample_full_scale(sample, bits, &lo, &hi);
    return sample_is_float(sample) || (*key >= lo && *key <= hi);
}

ImgstatResult undefined_choose(const Pipeline *pipeline, const Decoder *decoder,
                               TransferShape *shape, ImgstatError *err)
{
    const ImgstatPage *const page = &decoder->page;
    const ImgstatWrite *const write = pipeline->write;
    const bool is_nan = page->has_nodata && isnan(imgstat_value_double(page->nodata));
    uint8_t bits;
    const ImgstatSample to = output_of(pipeline, shape, &bits);
    uint64_t key;
    if (write->has_nodata) {
        if (!holds(to, bits, write->nodata, &shape->hole_key))
            return error_file(err, IMGSTAT_ERR_ARG, decoder->source->name,
                              "its output has %s samples of %u bits, which cannot hold the nodata "
                              "value %.9g",
                              imgstat_sample_name(to), bits ? bits : sample_bits(to),
                              imgstat_value_double(write->nodata));
        shape->has_hole = true;
    } else if (page->has_nodata && (shape->has_nodata || is_nan) &&
               !holds(to, 0, page->nodata, &key)) {
        shape->has_hole = true;
        shape->hole_key = sample_is_float(to) ? map_nan(to) : map_key(to, 0.0);
    }
    return IMGSTAT_OK;
}

Undefined undefined_of(const ImgstatWrite *write, const Decoder *decoder,
                       const TransferShape *shape, const Transfer *transfer, bool masked)
{
    const ImgstatPage *const page = &decoder->page;
    const ImgstatSample to = transfer->range.sample;
    Undefined u = {.given = write->has_nodata,
                   .fills = shape->has_hole,
                   .masked = masked && (write->has_nodata || !map_is_identity(&transfer->rescale)),
                   .nan = page->has_nodata && isnan(imgstat_value_double(page->nodata)),
                   .whole = transfer->luma,
                   .alpha = shape->alpha,
                   .hole = shape->hole_key,
                   .range = transfer->range};
    const bool held = page->has_nodata && holds(to, 0, page->nodata, &u.mask_hole);
    if (shape->has_hole)
        u.mask_hole = shape->hole_key;
    else if (!held)
        u.mask_hole = map_key(to, 0.0);
    u.has_nodata = shape->has_hole || held;
    u.any = u.fills || u.masked;
    u.tells = shape->has_hole || (decoder->how.has_nodata && page->has_nodata);
    u.nodata = shape->has_hole ? sample_value(to, shape->hole_key) : page->nodata;
    return u;
}

/* ---- Filling --------------------------------------------------------------------------------- */

typedef struct Filling {
    const Undefined *undefined;
    const ImagePro *from;
    ImagePro *to;
    uint32_t rows; /* of a task */
} Filling;

/* Whether a sample is nodata, or NaN that an integer cannot hold. nan: NaN is to go. */
static inline bool is_hole(const ImagePro *from, ImgstatSample sample, bool nan, uint64_t key)
{
    if (from->has_nodata && key == from->nodata_key)
        return true;
    return sample_is_float(sample) && nan &&
           (key < sample_key_infinity(sample, true) || key > sample_key_infinity(sample, false));
}

static inline void fill_row(const Filling *f, ImgstatSample in, ImgstatSample out, uint32_t y)
{
    const Undefined *const u = f->undefined;
    const size_t in_bytes = imgstat_sample_bytes(in), out_bytes = imgstat_sample_bytes(out);
    const size_t channels = f->from->channels;
    const unsigned char *from = image_row(f->from, y);
    unsigned char *to = row_of(f->to, y);
    const bool nan = u->nan || !sample_is_float(out);
    const uint8_t *const mask = u->masked ? mask_row(f->from, y) : NULL;
    const uint64_t hole = sample_raw(out, u->hole), mask_hole = sample_raw(out, u->mask_hole);
    for (uint32_t x = 0; x < f->from->width;
         x++, from += channels * in_bytes, to += channels * out_bytes) {
        const bool masked = mask && !mask[x];
        bool any = false;
        for (size_t c = 0; c < channels && (masked || u->fills); c++) {
            unsigned char *const at = to + c * out_bytes;
            if ((int)c == u->alpha)
                continue;
            if (masked) {
                store_raw(at, out_bytes, mask_hole);
            } else if (is_hole(f->from, in, nan,
                               sample_key(in, load_raw(from + c * in_bytes, in_bytes)))) {
                store_raw(at, out_bytes, hole);
                any = true;
            } else {
                const uint64_t key = sample_key(out, load_raw(at, out_bytes));
                const uint64_t other = range_avoid(&u->range, key);
                if (other != key)
                    store_raw(at, out_bytes, sample_raw(out, other));
            }
        }
        for (size_t c = 0; any && u->whole && c < channels; c++)
            if ((int)c != u->alpha)
                store_raw(to + c * out_bytes, out_bytes, hole);
    }
}

static void fill_rows(void *context, size_t task, unsigned thread)
{
    const Filling *const f = context;
    const ImgstatSample in = f->from->sample, out = f->to->sample;
    const uint64_t first = task * (uint64_t)f->rows, end = first + f->rows;
    (void)thread;
    for (uint32_t y = (uint32_t)first; y < f->to->height && y < end; y++)
        if (in == IMGSTAT_F32 && out == IMGSTAT_U8)
            fill_row(f, IMGSTAT_F32, IMGSTAT_U8, y);
        else if (in == IMGSTAT_F32 && out == IMGSTAT_U16)
            fill_row(f, IMGSTAT_F32, IMGSTAT_U16, y);
        else
            fill_row(f, in, out, y);
}

void undefined_fill(const Undefined *undefined, ThreadPool *pool, const ImagePro *from,
                    ImagePro *to)
{
    enum { TASK_SAMPLES = 1 << 16 };
    if (!undefined->any || to->height == 0)
        return;
    const size_t row = image_samples_per_row(to);
    Filling filling = {.undefined = undefined,
                       .from = from,
                       .to = to,
                       .rows = row && row < TASK_SAMPLES ? (uint32_t)(TASK_SAMPLES / row) : 1};
    const size_t tasks = (to->height - 1) / filling.rows + 1;
    if (pool) {
        thread_pool_run(pool, tasks, fill_rows, &filling);
        return;
    }
    for (size_t i = 0; i < tasks; i++)
        fill_rows(&filling, i, 0);
}

/* ---- Warnings -------------------------------------------------------------------------------- */

void undefined_warn(const Undefined *undefined, const Decoder *decoder, const TransferShape *shape,
                    Encoder *encoder)
{
    const ImgstatPage *const page = &decoder->page;
    uint64_t key;
    if (!page->has_nodata && !shape->has_hole)
        return;
    if (!encoder->format->has_nodata)
        warnings_report(encoder->warnings, "%s has no nodata value: such samples count as others",
                        encoder->format->title);
    else if (undefined->fills && !undefined->given &&
             !holds(undefined->range.sample, 0, page->nodata, &key))
        warnings_report(encoder->warnings,
                        "%s samples cannot hold the nodata value: undefined samples become %.9g, "
                        "and no others",
                        imgstat_sample_name(undefined->range.sample),
                        imgstat_value_double(undefined->nodata));
}
