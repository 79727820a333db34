/* SPDX-License-Identifier: MIT */
/* staging.c: pinned memory through which compressed bytes of files go to a device. */
#include "decode/batch.h"

#include "decode/deflated_place.h"

#include <assert.h>

enum { STAGING_BYTES = 6 << 20 /* about two photographs, 100 us of the bus */ };

void batch_acquire_staging(PageBatch *batch)
{
    SharedDevice *const shared = batch->shared;
    Staging *found = NULL;
    if (batch->staging)
        return;
    pthread_mutex_lock(&shared->lock);
    for (unsigned i = 0; i < shared->n_staging && !found; i++)
        if (!shared->staging[i].taken)
            found = &shared->staging[i];
    assert(found); /* one for each thread that fills */
    found->taken = true;
    pthread_mutex_unlock(&shared->lock);
    batch->staging = found;
}

void batch_release_staging(PageBatch *batch)
{
    if (!batch->staging)
        return;
    pthread_mutex_lock(&batch->shared->lock);
    batch->staging->taken = false;
    pthread_mutex_unlock(&batch->shared->lock);
    batch->staging = NULL;
}

ImgstatResult batch_upload_staged(PageBatch *batch, ImgstatError *err)
{
    Device *const device = batch->shared->device;
    const size_t bytes = batch->staged;
    batch->staged = 0;
    if (bytes == 0)
        return IMGSTAT_OK;
    pthread_mutex_lock(&batch->shared->lock);
    const ImgstatResult res = device->ops->upload(device, batch->memory, batch->bottom - bytes,
                                                  batch->staging->memory, bytes, err);
    pthread_mutex_unlock(&batch->shared->lock);
    return res;
}

ImgstatResult batch_reserve_staging(PageBatch *batch, size_t bytes, ImgstatError *err)
{
    Device *const device = batch->shared->device;
    Staging *const staging = batch->staging;
    if (staging->memory && staging->bytes - batch->staged >= bytes)
        return IMGSTAT_OK;
    IMGSTAT_TRY(batch_upload_staged(batch, err));
    if (staging->memory && staging->bytes >= bytes)
        return IMGSTAT_OK;
    const size_t wanted =
        bytes > STAGING_BYTES ? padded(bytes + bytes / 4, DEFLATED_ALIGN) : (size_t)STAGING_BYTES;
    pthread_mutex_lock(&batch->shared->lock);
    if (staging->memory)
        device->ops->host_release(device, staging->memory);
    staging->memory = NULL;
    const ImgstatResult res = device->ops->host_alloc(device, wanted, &staging->memory, err);
    pthread_mutex_unlock(&batch->shared->lock);
    staging->bytes = wanted;
    return res;
}

ImgstatResult batch_stage_file(PageBatch *batch, const Source *source, const FileSpan *span,
                               bool *read, ImgstatError *err)
{
    *read = true;
    for (uint64_t done = 0; done < span->bytes && *read;) {
        const uint64_t left = span->bytes - done;
        IMGSTAT_TRY(batch_reserve_staging(
            batch, left < STAGING_BYTES ? padded((size_t)left, DEFLATED_ALIGN) : STAGING_BYTES,
            err));
        const size_t room = batch->staging->bytes - batch->staged;
        const size_t part = left < room ? (size_t)left : room, there = padded(part, DEFLATED_ALIGN);
        size_t got;
        *read = source_read(source, span->first + done,
                            (uint8_t *)batch->staging->memory + batch->staged, part, &got,
                            NULL) == IMGSTAT_OK &&
                got == part;
        batch->staged += there;
        batch->bottom += there;
        done += part;
    }
    return IMGSTAT_OK;
}
