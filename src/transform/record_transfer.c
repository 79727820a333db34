/* SPDX-License-Identifier: MIT */
/* record_transfer.c: a transfer from a record, without the pixels. */
#include "record/dataset.h"
#include "record/kind.h"
#include "transform/transfer_source.h"

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
    const ImgstatKind *const kind = record->kind;
    TransferShape shape = shape_of_kind(kind);
    const FurtherReads none = {.read = NULL};
    TransferInput *input = NULL;
    *out = NULL;
    IMGSTAT_TRY(check(method, &shape, kind, err));
    /* A float that is not held is NaN in all likelihood; in memory that marks nothing. */
    const bool is_nan = sample_is_float(shape.sample) && !kind_is_bare(kind);
    uint8_t bits;
    if (kind->has_nodata && (shape.has_nodata || is_nan))
        shape_set_hole(&shape, transfer_output(method, &shape, &bits), kind->nodata);
    IMGSTAT_TRY(transfer_input_create(method, &shape, 0, &input, err));
    const int16_t alpha = shape.alpha;
    ImgstatResult res = input->n_sources == 1
                            ? record_joint(NULL, record->record, alpha, &input->record, err)
                            : record_create(NULL, shape.sample, shape.channels,
                                            record->record->parts, &input->record, err);
    if (res == IMGSTAT_OK && input->n_sources > 1)
        record_merge(input->record, record->record);
    if (res == IMGSTAT_OK)
        res = transfer_input_finish(input, none, err);
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

static const char *group_of(const ImgstatRecord *record)
{
    return shared_text_of(record->group);
}

/* Adds the transfer of a record to a set. */
static ImgstatResult add_record(const ImgstatMethod *method, const ImgstatRecord *record,
                                Transfer **set, ImgstatError *err)
{
    const TransferChannel channel = {.group = group_of(record)};
    Transfer *one = NULL;
    ImgstatError cause;
    const ImgstatResult res = imgstat_transfer_from_record(method, record, NULL, &one, &cause);
    if (res != IMGSTAT_OK) {
        char words[KIND_WORDS];
        kind_describe(record->kind, words);
        return error_set(err, res, "%s in the group \"%.120s\": %s", words, group_of(record),
                         cause.message);
    }
    one->kind = kind_copy(record->kind);
    if (!one->kind) {
        transfer_destroy(one);
        return error_memory(err, sizeof *one->kind, "a transfer");
    }
    return transfer_set_add(set, one, &channel, err);
}

ImgstatResult imgstat_transfer_from_dataset(const ImgstatMethod *method, ImgstatDataset *dataset,
                                            ImgstatTransfer **out, ImgstatError *err)
{
    Transfer *set = NULL;
    if (out)
        *out = NULL;
    IMGSTAT_TRY(error_if_null(method && dataset && out, __func__, err));
    if (imgstat_dataset_records(dataset) == 0)
        return error_set(err, IMGSTAT_ERR_ARG, "the data set holds no record");
    ImgstatResult res = IMGSTAT_OK;
    const ImgstatRecord *record;
    for (size_t i = 0; res == IMGSTAT_OK && (record = imgstat_dataset_record(dataset, i)); i++)
        res = add_record(method, record, &set, err);
    if (res == IMGSTAT_OK)
        *out = set;
    else
        transfer_destroy(set);
    return res;
}
