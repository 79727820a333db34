/* SPDX-License-Identifier: MIT */
/* record_transfer.c: a transfer from a record, without the pixels. */
#include "record/image_record.h"
#include "record/kind.h"
#include "transform/transfer_source.h"

static ImgstatResult no_pixels(void *context, const ReadRequest *request, ImgstatError *err)
{
    (void)context;
    (void)request;
    return error_set(err, IMGSTAT_ERR_ARG, "this would read the pixels again");
}

/* Checks that what a record holds suffices for a method. */
static ImgstatResult check(const ImgstatMethod *method, const TransferShape *shape,
                           const ImgstatKind *kind, ImgstatError *err)
{
    if (method->transform == IMGSTAT_CLAHE)
        return error_set(err, IMGSTAT_ERR_ARG,
                         "adaptive equalization depends on the place: it has no transfer");
    if (!kind_has_region(kind, &method->region))
        return error_set(err, IMGSTAT_ERR_ARG, "a region is asked of a record of other pixels");
    IMGSTAT_TRY(transfer_check(method, shape, err));
    if (transfer_channels(method, shape) == IMGSTAT_LUMA)
        return error_set(err, IMGSTAT_ERR_ARG,
                         "a record has the channels of its images and not their luma: their "
                         "transfer is made for each channel or jointly");
    if (transfer_input_reads_again(method, shape->sample))
        return error_set(err, IMGSTAT_ERR_ARG,
                         "of %s samples this transfer needs the pixels: their record does not have "
                         "all their values",
                         imgstat_sample_name(shape->sample));
    return IMGSTAT_OK;
}

/* Makes the input of a transfer, which has the counts of the record while it is used. */
static ImgstatResult input_of_record(const ImgstatMethod *method, const ImgstatRecord *record,
                                     TransferInput **out, ImgstatError *err)
{
    const TransferShape shape = shape_of_kind(record->kind);
    const FurtherReads reads = {.read = no_pixels};
    TransferInput *input = NULL;
    *out = NULL;
    IMGSTAT_TRY(check(method, &shape, record->kind, err));
    IMGSTAT_TRY(transfer_input_create(method, &shape, 0, &input, err));
    const int16_t alpha = shape.alpha;
    ImgstatResult res = input->n_sources == 1
                            ? record_joint(NULL, record->record, alpha, &input->record, err)
                            : record_create(NULL, shape.sample, shape.channels,
                                            record->record->parts, &input->record, err);
    if (res == IMGSTAT_OK && input->n_sources > 1)
        record_merge(input->record, record->record);
    if (res == IMGSTAT_OK)
        res = transfer_input_finish(input, reads, err);
    if (res == IMGSTAT_OK)
        *out = input;
    else
        transfer_input_destroy(input);
    return res;
}

ImgstatResult imgstat_transfer_from_record(const ImgstatMethod *method, const ImgstatRecord *record,
                                           const ImgstatRecord *reference, ImgstatTransfer **out,
                                           ImgstatError *err)
{
    if (out)
        *out = NULL;
    IMGSTAT_TRY(error_if_null(method && record && out, __func__, err));
    IMGSTAT_TRY(transfer_check_reference(method->transform == IMGSTAT_MATCH, reference, err));
    const ImgstatMethod bare = {.transform = method->transform, .channels = method->channels};
    TransferInput *input = NULL, *other = NULL;
    MatchReference match = {.n_sources = 0};
    ImgstatResult res = input_of_record(method, record, &input, err);
    if (res == IMGSTAT_OK && reference)
        res = input_of_record(&bare, reference, &other, err);
    if (other)
        match = (MatchReference){.sample = reference->kind->sample,
                                 .bits = reference->kind->bits,
                                 .n_sources = other->n_sources,
                                 .sources = other->sources};
    if (res == IMGSTAT_OK)
        res = transfer_create(NULL, method, &input->shape, input->sources, other ? &match : NULL,
                              out, err);
    transfer_input_destroy(input);
    transfer_input_destroy(other);
    return res;
}
