/* SPDX-License-Identifier: MIT */
/* group_transfer.c: measures pages of an open file together, page after page. */
#include "transform/group_transfer.h"

#include "transform/page.h"
#include "transform/undefined.h"

ImgstatGrouping group_transfer_by(const Pipeline *pipeline)
{
    if (pipeline->transfer || pipeline->method->transform == IMGSTAT_CLAHE)
        return IMGSTAT_BY_PAGE;
    return pipeline->by == IMGSTAT_BY_DEFAULT ? IMGSTAT_BY_CHANNEL : pipeline->by;
}

typedef struct Group {
    const Pipeline *pipeline;
    TransformWorker *worker;
    ImgstatFile *file;
    const uint32_t *pages; /* n of them */
    uint32_t n;
    TransferInput *input; /* NULL until the first page is open */
    const MatchReference *reference;
} Group;

/* Measures page i, or reads it again for a request. */
static ImgstatResult read_page(Group *group, uint32_t i, const ReadRequest *request,
                               ImgstatError *err)
{
    TransformWorker *const worker = group->worker;
    Decoder *const decoder = group->file->decoder;
    PageReader reader;
    Record *record = NULL;
    IMGSTAT_TRY(imgstat_file_page(group->file, group->pages[i], NULL, err));
    TransferShape shape = shape_of_page(decoder);
    IMGSTAT_TRY(undefined_choose(group->pipeline, decoder, &shape, err));
    if (!group->input) {
        IMGSTAT_TRY(reference_get(group->pipeline->reference, worker, group->pipeline->method,
                                  &shape, decoder->source->name, &group->reference, err));
        IMGSTAT_TRY(transfer_input_create(group->pipeline->method, &shape,
                                          sort_bytes(group->pipeline->memory), &group->input, err));
    }
    IMGSTAT_TRY(transfer_shapes_check(group->pipeline->method, &group->input->shape, &shape,
                                      decoder->source->name, err));
    if (!page_open_there(worker, decoder, &shape, &reader))
        IMGSTAT_TRY(page_reader_open(worker->device, decoder, false, &worker->in, &reader, err));
    if (request)
        IMGSTAT_TRY(transfer_input_read(group->input, &reader, &shape, request, err));
    else
        IMGSTAT_TRY(transfer_input_measure(group->input, &reader, &shape, &record, err));
    if (record)
        transfer_input_merge(group->input, &record);
    return device_wait(worker->device, err); /* the next page takes its memory */
}

static ImgstatResult read_pages(void *context, const ReadRequest *request, ImgstatError *err)
{
    Group *const group = context;
    const char *const name = group->file->decoder->source->name;
    for (uint32_t i = 0; i < group->n; i++) {
        const ImgstatResult res = read_page(group, i, request, err);
        if (res != IMGSTAT_OK)
            return decoder_add_page(group->file->decoder, group->pages[i],
                                    error_add_file(err, res, name), err);
    }
    return IMGSTAT_OK;
}

ImgstatResult group_transfer_make(const Pipeline *pipeline, TransformWorker *worker,
                                  ImgstatFile *file, const uint32_t *pages, uint32_t n,
                                  Transfer **out, ImgstatError *err)
{
    Group group = {.pipeline = pipeline, .worker = worker, .file = file, .pages = pages, .n = n};
    const FurtherReads reads = {.read = read_pages,
                                .context = &group,
                                .threads = worker->device->threads,
                                .cache = worker->device->cache,
                                .sorter = worker->device};
    *out = NULL;
    ImgstatResult res = read_pages(&group, NULL, err);
    if (res == IMGSTAT_OK)
        res = transfer_input_finish(group.input, reads, err);
    if (res == IMGSTAT_OK)
        res = transfer_create(worker->device->cache, pipeline->method, &group.input->shape,
                              group.input->sources, group.reference, out, err);
    transfer_input_destroy(group.input);
    return error_add_file(err, res, file->decoder->source->name);
}

uint64_t group_transfer_bytes(const Pipeline *pipeline, const TransferShape *shape)
{
    enum { LEAST = 4096, KNOT_TABLE_BYTES = 1 << 20 };
    const uint64_t maps = transfer_maps(pipeline->method, shape);
    if (sample_is_narrow(shape->sample))
        return LEAST + (maps + 1) * sample_record_bins(shape->sample) * sizeof(uint32_t);
    if (pipeline->method->transform != IMGSTAT_EQUALIZE &&
        pipeline->method->transform != IMGSTAT_MATCH)
        return LEAST * maps;
    return maps * (2 * RANK_STEPS * (sizeof(RankKnot) + sizeof(MapKnot)) + KNOT_TABLE_BYTES);
}

ImgstatResult group_transfer_memory(const Pipeline *pipeline, const ImgstatFile *file,
                                    uint64_t *bytes, ImgstatError *err)
{
    const TransferShape shape = shape_of_page(file->decoder);
    const ImgstatTransform transform = pipeline->method->transform;
    PageGroups groups;
    uint32_t several = 0, measured = 0;
    *bytes = 0;
    const ImgstatGrouping by = group_transfer_by(pipeline);
    if (by == IMGSTAT_BY_PAGE)
        return IMGSTAT_OK;
    const ImgstatResult res =
        page_groups_make(by, &file->decoder->list, file->chosen, file->n_chosen, &groups, err);
    for (uint32_t g = 0; res == IMGSTAT_OK && g < groups.n; g++) {
        const PageEntry *const first = &file->decoder->list.entry[groups.page[groups.first[g]]];
        several += page_group_pages(&groups, g) > 1;
        measured += first->role == IMGSTAT_ROLE_IMAGE;
    }
    page_groups_release(&groups);
    if (by == IMGSTAT_BY_ALL) { /* records, until the file is read to its end */
        if (measured > 1)
            *bytes =
                (measured - 1) * (uint64_t)record_bytes(shape.sample, shape.channels, RECORD_BINS);
        return res;
    }
    if (several == 0)
        return res;
    *bytes = (several - 1) * group_transfer_bytes(pipeline, &shape);
    if (!sample_is_narrow(shape.sample) &&
        (transform == IMGSTAT_EQUALIZE || transform == IMGSTAT_MATCH))
        *bytes += 2 * (uint64_t)sort_bytes(pipeline->memory);
    return res;
}
