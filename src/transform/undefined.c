/* SPDX-License-Identifier: MIT */
/* undefined.c: chooses the value of undefined samples, and writes it over what maps made of them.
 */
#include "transform/undefined.h"

ImgstatResult undefined_choose(const Pipeline *pipeline, const Decoder *decoder,
                               TransferShape *shape, ImgstatError *err)
{
    const ImgstatPage *const page = &decoder->page;
    const ImgstatWrite *const write = pipeline->write;
    const bool is_nan = page->has_nodata && isnan(imgstat_value_double(page->nodata));
    uint8_t bits;
    const ImgstatSample to = pipeline->transfer ? imgstat_transfer_output(pipeline->transfer, &bits)
                                                : transfer_output(pipeline->method, shape, &bits);
    if (write->has_nodata) {
        if (!sample_holds(to, bits, write->nodata, &shape->hole_key))
            return error_file(err, IMGSTAT_ERR_ARG, decoder->source->name,
                              "its output has %s samples of %u bits, which cannot hold the nodata "
                              "value %.9g",
                              imgstat_sample_name(to), bits ? bits : sample_bits(to),
                              imgstat_value_double(write->nodata));
        shape->has_hole = true;
    } else if (pipeline->saved && pipeline->transfer->has_hole) {
        shape->has_hole = true;
        shape->hole_key = pipeline->transfer->hole_key;
    } else if (page->has_nodata && (shape->has_nodata || is_nan)) {
        shape_set_hole(shape, to, page->nodata);
    }
    return IMGSTAT_OK;
}

Undefined undefined_of(const ImgstatWrite *write, const Decoder *decoder,
                       const TransferShape *shape, const Transfer *transfer, bool masked)
{
    const ImgstatPage *const page = &decoder->page;
    uint64_t key;
    const bool held =
        page->has_nodata && sample_holds(transfer->range.sample, 0, page->nodata, &key);
    Undefined u = {.given = write->has_nodata,
                   .alpha = shape->alpha,
                   .holes =
                       transfer_holes(transfer, shape, page->has_nodata ? &page->nodata : NULL),
                   .has_nodata = shape->has_hole || held};
    u.holes.masked = masked && (shape->has_hole || u.holes.masked);
    u.holes.nan = page->has_nodata && isnan(imgstat_value_double(page->nodata));
    u.any = u.holes.fills || u.holes.masked;
    u.named = shape->has_hole || (decoder->how.has_nodata && page->has_nodata);
    u.nodata =
        shape->has_hole ? sample_value(transfer->range.sample, shape->hole_key) : page->nodata;
    return u;
}

/* ---- Filling --------------------------------------------------------------------------------- */

typedef struct Filling {
    const Undefined *undefined;
    const ImagePro *from;
    ImagePro *to;
    uint32_t rows; /* of a task */
} Filling;

static void fill_rows(void *context, size_t task, unsigned thread)
{
    const Filling *const f = context;
    const uint32_t first = (uint32_t)task * f->rows, left = f->to->height - first;
    const ImagePro from = image_band(f->from, first, left < f->rows ? left : f->rows);
    ImagePro to = image_band(f->to, first, from.height);
    (void)thread;
    holes_fill(&f->undefined->holes, &from, f->undefined->alpha, &to);
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
    else if (undefined->holes.fills && !undefined->given &&
             !sample_holds(undefined->holes.range.sample, 0, page->nodata, &key))
        warnings_report(encoder->warnings,
                        "%s samples cannot hold the nodata value: undefined samples become %.9g, "
                        "and no others",
                        imgstat_sample_name(undefined->holes.range.sample),
                        imgstat_value_double(undefined->nodata));
}
