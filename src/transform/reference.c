/* SPDX-License-Identifier: MIT */
/* reference.c: the file that others are matched to, measured once for each way of its channels. */
#include "transform/reference.h"

#include <pthread.h>
#include <stdlib.h>

enum { MODES = IMGSTAT_LUMA + 1 };

struct Reference {
    ImgstatFile *file;
    ImgstatMethod method[MODES]; /* surveys point to them */
    size_t memory;
    PageToMeasure page;
    pthread_mutex_t lock; /* guards what follows, and the file once it is open */
    TransferInput *survey[MODES];
    MatchReference match[MODES];
};

ImgstatResult reference_create(const char *path, uint32_t page, const ImgstatOpen *how,
                               size_t memory, Reference **out, ImgstatError *err)
{
    *out = NULL;
    Reference *const reference = calloc(1, sizeof *reference);
    if (!reference)
        return error_memory(err, sizeof *reference, "a reference");
    pthread_mutex_init(&reference->lock, NULL);
    reference->memory = memory;
    ImgstatResult res = imgstat_file_open(path, how, &reference->file, err);
    if (res == IMGSTAT_OK)
        res = imgstat_file_page(reference->file, page, NULL, err);
    if (res != IMGSTAT_OK) {
        reference_destroy(reference);
        return res;
    }
    reference->page = page_to_measure(reference->file->decoder);
    *out = reference;
    return IMGSTAT_OK;
}

const PageToMeasure *reference_page(const Reference *reference)
{
    return &reference->page;
}

void reference_destroy(Reference *reference)
{
    if (!reference)
        return;
    for (size_t i = 0; i < MODES; i++)
        transfer_input_destroy(reference->survey[i]);
    imgstat_file_close(reference->file);
    pthread_mutex_destroy(&reference->lock);
    free(reference);
}

/* An image of one channel is matched to the luma of colours, or to all of them. */
static ImgstatChannels mode_for(const ImgstatMethod *method, const TransferShape *shape,
                                const TransferShape *reference)
{
    if (shape->channels - (shape->alpha >= 0) > 1)
        return transfer_channels(method, shape);
    return reference->rgb ? IMGSTAT_LUMA : IMGSTAT_JOINT;
}

ImgstatResult reference_get(Reference *reference, TransformWorker *worker,
                            const ImgstatMethod *method, const TransferShape *shape,
                            const MatchReference **out, ImgstatError *err)
{
    *out = NULL;
    const TransferShape own = reference->page.shape;
    const ImgstatChannels mode = mode_for(method, shape, &own);
    ImgstatResult res = IMGSTAT_OK;
    pthread_mutex_lock(&reference->lock);
    if (!reference->survey[mode]) {
        /* What the outputs are to look like says nothing about the reference. */
        reference->method[mode] = (ImgstatMethod){.transform = IMGSTAT_MATCH, .channels = mode};
        BandMemory memory = {0};
        PageReader reader;
        res = page_reader_open(worker->device, reference->file->decoder, false, &memory,
                               &worker->cancel, &reader, err);
        if (res == IMGSTAT_OK)
            res = transfer_input_image(&reference->method[mode], &reader, &own, reference->memory,
                                       &reference->survey[mode], err);
        band_memory_release(worker->device, &memory);
        if (res == IMGSTAT_OK)
            reference->match[mode] =
                (MatchReference){.sample = own.sample,
                                 .bits = own.bits,
                                 .n_sources = reference->survey[mode]->n_sources,
                                 .sources = reference->survey[mode]->sources};
    }
    pthread_mutex_unlock(&reference->lock);
    if (res == IMGSTAT_OK)
        *out = &reference->match[mode];
    return res;
}
