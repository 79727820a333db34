/* SPDX-License-Identifier: MIT */
/* same_scale.c: whether the values of a method that are not per cent fit all inputs of a batch. */
#include "batch/same_scale.h"

#include "batch/job.h"
#include "codec/page_list.h"

#include <stdio.h>

typedef struct FullScale {
    double lo, hi;
} FullScale;

/* The first image, which the others are compared with. */
typedef struct FirstImage {
    const char *name;           /* of its file; NULL: there was none yet */
    char page[PAGE_NAME_BYTES]; /* its name */
    FullScale input, output;
} FirstImage;

static FullScale full_scale(ImgstatSample sample, uint8_t bits)
{
    uint64_t lo, hi;
    sample_full_scale(sample, bits, &lo, &hi);
    return (FullScale){.lo = map_value(sample, lo), .hi = map_value(sample, hi)};
}

static ImgstatResult compare(const char *what, FullScale one, FullScale first,
                             const FirstImage *image, const char *name, ImgstatError *err)
{
    char page[5 + PAGE_NAME_BYTES];
    if (one.lo == first.lo && one.hi == first.hi)
        return IMGSTAT_OK;
    snprintf(page, sizeof page, "page %s", image->page);
    return error_file(err, IMGSTAT_ERR_ARG, name,
                      "%s samples reach from %.10g to %.10g, those of %s from %.10g to %.10g: "
                      "values in per cent of full scale, such as 50%%, fit both; plain numbers do "
                      "not",
                      what, one.lo, one.hi, strcmp(name, image->name) == 0 ? page : image->name,
                      first.lo, first.hi);
}

static ImgstatResult check_page(const ImgstatMethod *method, const Decoder *decoder,
                                const char *name, FirstImage *first, ImgstatError *err)
{
    const PlainValues plain = transfer_plain_values(method);
    const TransferShape shape = shape_of_page(decoder);
    uint8_t bits;
    const ImgstatSample to = transfer_output(method, &shape, &bits);
    FirstImage here = {.name = name,
                       .input = full_scale(shape.sample, shape.bits),
                       .output = full_scale(to, bits)};
    (void)decoder_page_name(decoder, decoder->page.page, here.page);
    if (!first->name)
        *first = here;
    if (plain.input)
        IMGSTAT_TRY(compare("its", here.input, first->input, first, name, err));
    if (plain.output)
        IMGSTAT_TRY(compare("its output", here.output, first->output, first, name, err));
    return IMGSTAT_OK;
}

/* A file that cannot be read fails later, by itself. */
static ImgstatResult check_file(const Jobs *jobs, const ImgstatJob *job, FirstImage *first,
                                ImgstatError *err)
{
    ImgstatOpen how = jobs->open;
    how.warn = NULL;
    ImgstatFile *file = NULL;
    ImgstatResult res = job_open(job, &how, &jobs->cancel, &file, NULL);
    if (res == IMGSTAT_OK)
        res = file_choose(file, job->pages, 0, NULL);
    ImgstatResult found = IMGSTAT_OK;
    for (uint32_t i = 0; res == IMGSTAT_OK && found == IMGSTAT_OK && i < file->n_chosen; i++) {
        const ChosenPage *const chosen = &file->chosen[i];
        if (!chosen->leads)
            continue;
        res = imgstat_file_page(file, chosen->page, NULL, NULL);
        if (res == IMGSTAT_OK && !page_is_mask(&file->decoder->page))
            found = check_page(&jobs->method, file->decoder, job->input, first, err);
    }
    imgstat_file_close(file);
    return found;
}

ImgstatResult jobs_check_scale(const Jobs *jobs, ImgstatError *err)
{
    const PlainValues plain = transfer_plain_values(&jobs->method);
    FirstImage first = {0};
    if (jobs->batch->transfer || (!plain.input && !plain.output))
        return IMGSTAT_OK;
    for (size_t i = 0; i < jobs->n; i++)
        if (job_is_readable_again(&jobs->job[i]))
            IMGSTAT_TRY(check_file(jobs, &jobs->job[i], &first, err));
    return IMGSTAT_OK;
}
