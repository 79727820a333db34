/* SPDX-License-Identifier: MIT */
/* reference.c: the file that others are matched to, measured once for each way of its channels. */
#include "transform/reference.h"

#include "base/thread_pool.h"

#include <pthread.h>
#include <stdlib.h>

enum { MODES = IMGSTAT_LUMA + 1 };

struct Reference {
    ImgstatFile *file;
    ImgstatMethod method[MODES]; /* the inputs point to them */
    size_t memory;
    PageToMeasure page[2]; /* read by one thread; by all */
    pthread_mutex_t lock;  /* guards what follows */
    pthread_cond_t measured;
    uint64_t lost_rows;
    bool measuring; /* a thread has the file, and may write one of the inputs */
    TransferInput *input[MODES];
    MatchReference match[MODES];
};

ImgstatResult reference_create(const char *path, const char *page, const ImgstatOpen *how,
                               size_t memory, Reference **out, ImgstatError *err)
{
    *out = NULL;
    Reference *const reference = calloc(1, sizeof *reference);
    if (!reference)
        return error_memory(err, sizeof *reference, "a reference");
    pthread_mutex_init(&reference->lock, NULL);
    pthread_cond_init(&reference->measured, NULL);
    reference->memory = memory;
    ImgstatOpen open = *how;
    open.mask = NULL; /* is one of the images that are matched */
    ImgstatResult res = imgstat_file_open(path, &open, &reference->file, err);
    if (res == IMGSTAT_OK)
        res = file_choose(reference->file, page, 0, err);
    if (res == IMGSTAT_OK && page && reference->file->n_chosen > 1)
        res = error_file(err, IMGSTAT_ERR_ARG, path,
                         "\"%s\" names several pages, a reference is one", page);
    if (res == IMGSTAT_OK)
        res = imgstat_file_page(reference->file, reference->file->chosen->page, NULL, err);
    if (res == IMGSTAT_OK) {
        Decoder *const decoder = reference->file->decoder;
        const DecodeOptions all = decoder->options;
        DecodeOptions one = all;
        one.threads = 1;
        res = decoder_reselect(decoder, &one, err);
        reference->page[0] = page_to_measure(decoder);
        if (res == IMGSTAT_OK)
            res = decoder_reselect(decoder, &all, err);
        reference->page[1] = page_to_measure(decoder);
    }
    if (res != IMGSTAT_OK) {
        reference_destroy(reference);
        return res;
    }
    *out = reference;
    return IMGSTAT_OK;
}

const PageToMeasure *reference_page(const Reference *reference, unsigned threads)
{
    return &reference->page[threads != 1];
}

void reference_destroy(Reference *reference)
{
    if (!reference)
        return;
    for (size_t i = 0; i < MODES; i++)
        transfer_input_destroy(reference->input[i]);
    imgstat_file_close(reference->file);
    pthread_cond_destroy(&reference->measured);
    pthread_mutex_destroy(&reference->lock);
    free(reference);
}

uint64_t reference_lost_rows(Reference *reference)
{
    if (!reference)
        return 0;
    pthread_mutex_lock(&reference->lock);
    const uint64_t lost_rows = reference->lost_rows;
    pthread_mutex_unlock(&reference->lock);
    return lost_rows;
}

/* An image of one channel is matched to the luma of colours, or to all of them. */
static ImgstatChannels mode_for(const ImgstatMethod *method, const TransferShape *shape,
                                const TransferShape *reference)
{
    if (shape->channels - (shape->alpha >= 0) > 1)
        return transfer_channels(method, shape);
    return reference->rgb ? IMGSTAT_LUMA : IMGSTAT_JOINT;
}

/* Measures the reference for a mode, in the memory of the page that is measured next. The caller
 * has set `measuring`. */
static ImgstatResult measure(Reference *reference, TransformWorker *worker, ImgstatChannels mode,
                             ImgstatError *err)
{
    const TransferShape *const shape = &reference->page[0].shape;
    /* The methods of outputs differ in what does not concern the reference. */
    reference->method[mode] = (ImgstatMethod){.transform = IMGSTAT_MATCH, .channels = mode};
    TransferInput *input = NULL;
    BandMemory memory = {0};
    PageReader reader;
    band_memory_release(worker->device, &worker->in);
    ImgstatResult res =
        page_reader_open(worker->device, reference->file->decoder, false, &memory, &reader, err);
    if (res == IMGSTAT_OK)
        res = transfer_input_image(&reference->method[mode], &reader, shape, reference->memory,
                                   &input, err);
    band_memory_release(worker->device, &memory);
    if (res == IMGSTAT_OK) { /* what its sources were made of */
        record_destroy(input->record);
        input->record = NULL;
    }
    if (worker->device->cache)
        buffer_cache_trim(worker->device->cache, 0);
    if (res == IMGSTAT_OK)
        reference->match[mode] = (MatchReference){.sample = shape->sample,
                                                  .bits = shape->bits,
                                                  .n_sources = input->n_sources,
                                                  .sources = input->sources};
    reference->input[mode] = input;
    return res;
}

/* Waits, with the lock held, until no other thread measures or the worker is cancelled. */
static ImgstatResult wait_for_others(Reference *reference, const TransformWorker *worker,
                                     ImgstatError *err)
{
    while (reference->measuring) {
        IMGSTAT_TRY(cancel_check(&worker->device->cancel, err));
        (void)thread_wait_briefly(&reference->measured, &reference->lock);
    }
    return IMGSTAT_OK;
}

ImgstatResult reference_get(Reference *reference, TransformWorker *worker,
                            const ImgstatMethod *method, const TransferShape *shape,
                            const char *file, const MatchReference **out, ImgstatError *err)
{
    ImgstatError why = {0};
    *out = NULL;
    if (method->transform != IMGSTAT_MATCH)
        return IMGSTAT_OK;
    const ImgstatChannels mode = mode_for(method, shape, &reference->page[0].shape);
    pthread_mutex_lock(&reference->lock);
    ImgstatResult res = wait_for_others(reference, worker, &why);
    if (res == IMGSTAT_OK && !reference->input[mode]) {
        reference->measuring = true;
        pthread_mutex_unlock(&reference->lock);
        res = measure(reference, worker, mode, &why);
        pthread_mutex_lock(&reference->lock);
        reference->measuring = false;
        if (reference->lost_rows == 0) /* each mode reads the same page */
            reference->lost_rows = imgstat_file_lost_rows(reference->file);
        pthread_cond_broadcast(&reference->measured);
    }
    pthread_mutex_unlock(&reference->lock);
    if (res == IMGSTAT_OK)
        *out = &reference->match[mode];
    else if (file)
        res = error_file(err, res, file, "%s", why.message);
    else if (err)
        *err = why;
    return res;
}
