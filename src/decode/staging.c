/* SPDX-License-Identifier: MIT */
/* staging.c: pinned memory through which compressed bytes of files go to a device. */
#include "decode/batch.h"

#include "decode/deflated_place.h"

enum { STAGING_BYTES = 6 << 20 /* about two photographs, 100 us of the bus */ };

ImgstatResult batch_upload_staged(PageBatch *batch, ImgstatError *err)
{
    const size_t bytes = batch->staged;
    batch->staged = 0;
    return bytes == 0
               ? IMGSTAT_OK
               : batch->device->ops->upload(batch->device, batch->memory, batch->bottom - bytes,
                                            batch->staging, bytes, err);
}

ImgstatResult batch_reserve_staging(PageBatch *batch, size_t bytes, ImgstatError *err)
{
    const DeviceOps *const ops = batch->device->ops;
    if (batch->staging && batch->staging_bytes - batch->staged >= bytes)
        return IMGSTAT_OK;
    IMGSTAT_TRY(batch_upload_staged(batch, err));
    if (batch->staging && batch->staging_bytes >= bytes)
        return IMGSTAT_OK;
    const size_t wanted =
        bytes > STAGING_BYTES ? padded(bytes + bytes / 4, DEFLATED_ALIGN) : (size_t)STAGING_BYTES;
    if (batch->staging)
        ops->host_release(batch->device, batch->staging);
    batch->staging = NULL;
    IMGSTAT_TRY(ops->host_alloc(batch->device, wanted, &batch->staging, err));
    batch->staging_bytes = wanted;
    return IMGSTAT_OK;
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
        const size_t room = batch->staging_bytes - batch->staged;
        const size_t part = left < room ? (size_t)left : room, there = padded(part, DEFLATED_ALIGN);
        size_t got;
        *read = source_read(source, span->first + done, (uint8_t *)batch->staging + batch->staged,
                            part, &got, NULL) == IMGSTAT_OK &&
                got == part;
        batch->staged += there;
        batch->bottom += there;
        done += part;
    }
    return IMGSTAT_OK;
}
