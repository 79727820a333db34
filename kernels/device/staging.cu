/* SPDX-License-Identifier: MIT */
/* device/staging.cu: images of the host brought to the GPU through four staging buffers in
 * rotation. */
#include "device/cuda_device.h"

/* The bands of images that fit into one buffer, as images in device memory. */
enum { BUFFER_BANDS = 1024 };

struct StageBuffer {
    StageSlot *slot;
    size_t used, capacity;
    size_t n;
    ImagePro band[BUFFER_BANDS];
    uint32_t origin[BUFFER_BANDS];
};

/* Rows to copy into a buffer, shared out among threads. */
struct RowCopy {
    unsigned char *to;
    const unsigned char *from;
    size_t pitch, row_bytes, rows, rows_per_task;
};

static void copy_rows(void *context, size_t task, unsigned thread)
{
    (void)thread;
    const RowCopy *copy = (const RowCopy *)context;
    const size_t first = task * copy->rows_per_task;
    size_t end = first + copy->rows_per_task;
    if (end > copy->rows)
        end = copy->rows;
    if (copy->pitch == copy->row_bytes) {
        memcpy(copy->to + first * copy->row_bytes, copy->from + first * copy->pitch,
               (end - first) * copy->row_bytes);
        return;
    }
    for (size_t y = first; y < end; y++)
        memcpy(copy->to + y * copy->row_bytes, copy->from + y * copy->pitch, copy->row_bytes);
}

static void gather_rows(ThreadPool *pool, unsigned char *to, const unsigned char *from,
                        size_t pitch, size_t row_bytes, size_t rows)
{
    RowCopy copy = {to,        from, pitch,
                    row_bytes, rows, STAGE_TASK_BYTES / (row_bytes ? row_bytes : 1) + 1};
    thread_pool_run(pool, (rows - 1) / copy.rows_per_task + 1, copy_rows, &copy);
}

/* Takes the next slot, with room for `bytes` bytes on the host. */
static ImgstatResult begin_slot(CudaDevice *device, size_t bytes, StageSlot **out,
                                ImgstatError *err)
{
    StageSlot *const slot = *out = &device->stage[device->stage_next++ % STAGE_SLOTS];
    if (slot->busy) /* its last copy and the kernels that read it are done */
        CUDA_TRY(device, err, cudaEventSynchronize(slot->used));
    slot->busy = false;
    return cuda_reserve_host(device, &slot->pinned, bytes, err);
}

ImgstatResult cuda_upload_staged(CudaDevice *device, void *to, const void *from, size_t bytes,
                                 ImgstatError *err)
{
    for (size_t at = 0; at < bytes; at += STAGE_BYTES) {
        const size_t left = bytes - at, n = left < STAGE_BYTES ? left : (size_t)STAGE_BYTES;
        StageSlot *slot;
        IMGSTAT_TRY(begin_slot(device, STAGE_BYTES, &slot, err));
        gather_rows(device->pool, (unsigned char *)slot->pinned.memory,
                    (const unsigned char *)from + at, 1, 1, n);
        CUDA_TRY(device, err,
                 cudaMemcpyAsync((char *)to + at, slot->pinned.memory, n, cudaMemcpyHostToDevice,
                                 device->stream));
        CUDA_TRY(device, err, cudaEventRecord(slot->used, device->stream));
        slot->busy = true;
    }
    return IMGSTAT_OK;
}

static ImgstatResult begin_buffer(CudaDevice *device, StageBuffer *buffer, size_t least,
                                  ImgstatError *err)
{
    StageSlot *slot;
    const size_t bytes = least > (size_t)STAGE_BYTES ? least : (size_t)STAGE_BYTES;
    IMGSTAT_TRY(begin_slot(device, bytes, &slot, err));
    IMGSTAT_TRY(cuda_reserve(device, &slot->pixels, bytes, false, err));
    buffer->slot = slot;
    buffer->used = buffer->n = 0;
    /* either may have grown without the other */
    buffer->capacity =
        slot->pinned.bytes < slot->pixels.bytes ? slot->pinned.bytes : slot->pixels.bytes;
    return IMGSTAT_OK;
}

static ImgstatResult end_buffer(CudaDevice *device, StageBuffer *buffer, CudaRead read,
                                void *context, ImgstatError *err)
{
    StageSlot *slot = buffer->slot;
    if (!slot)
        return IMGSTAT_OK;
    buffer->slot = NULL;
    device->order.pixels_may_change();
    CUDA_TRY(device, err,
             cudaMemcpyAsync(slot->pixels.memory, slot->pinned.memory, buffer->used,
                             cudaMemcpyHostToDevice, device->copies));
    CUDA_TRY(device, err, cudaEventRecord(slot->filled, device->copies));
    CUDA_TRY(device, err, cudaStreamWaitEvent(device->stream, slot->filled, 0));
    IMGSTAT_TRY(read(context, device, buffer->band, buffer->origin, buffer->n, err));
    CUDA_TRY(device, err, cudaEventRecord(slot->used, device->stream));
    slot->busy = true;
    return IMGSTAT_OK;
}

/* Puts as many rows from `first` on into the buffer as fit; returns how many did. */
static uint32_t add_rows(CudaDevice *device, StageBuffer *buffer, const ImagePro *image,
                         uint32_t origin, uint32_t first)
{
    const size_t row_bytes = image_samples_per_row(image) * (sample_bits(image->sample) / 8);
    const size_t mask_bytes = image->mask ? image->width : 0;
    const size_t room = buffer->capacity - buffer->used;
    if (buffer->n == BUFFER_BANDS || room < 512 + row_bytes + mask_bytes)
        return 0;
    size_t rows = (room - 512) / (row_bytes + mask_bytes);
    if (rows > image->height - first)
        rows = image->height - first;

    unsigned char *to = (unsigned char *)buffer->slot->pinned.memory + buffer->used;
    unsigned char *there = (unsigned char *)buffer->slot->pixels.memory + buffer->used;
    ImagePro *band = &buffer->band[buffer->n];
    *band = image_band(image, first, (uint32_t)rows);
    gather_rows(device->pool, to, (const unsigned char *)band->host, image->pitch, row_bytes, rows);
    band->memory = IMGSTAT_CUDA;
    band->device_id = device->index;
    band->host = NULL;
    band->device.address = (uint64_t)(uintptr_t)there;
    band->pitch = row_bytes;
    if (image->mask) {
        const size_t at = cuda_padded(rows * row_bytes);
        gather_rows(device->pool, to + at, band->mask, image->mask_pitch, mask_bytes, rows);
        band->mask = there + at;
        band->mask_pitch = mask_bytes;
        buffer->used += at;
        buffer->used += cuda_padded(rows * mask_bytes);
    } else {
        buffer->used += cuda_padded(rows * row_bytes);
    }
    buffer->origin[buffer->n++] = origin;
    return (uint32_t)rows;
}

static ImgstatResult stage_image(CudaDevice *device, StageBuffer *buffer, const ImagePro *image,
                                 uint32_t origin, CudaRead read, void *context, ImgstatError *err)
{
    const size_t row_bytes = image_samples_per_row(image) * (sample_bits(image->sample) / 8);
    for (uint32_t first = 0; first < image->height;) {
        if (!buffer->slot)
            IMGSTAT_TRY(begin_buffer(device, buffer, row_bytes + image->width + 1024, err));
        const uint32_t rows = add_rows(device, buffer, image, origin, first);
        first += rows;
        if (rows == 0)
            IMGSTAT_TRY(end_buffer(device, buffer, read, context, err));
    }
    return IMGSTAT_OK;
}

ImgstatResult cuda_check_image(const CudaDevice *device, const ImagePro *image, ImgstatError *err)
{
    const bool empty = image->width == 0 || image->height == 0;
    if (image->memory == IMGSTAT_CUDA && image->device_id != device->index)
        return error_set(err, IMGSTAT_ERR_ARG, "cuda:%d cannot reach an image on cuda:%d",
                         device->index, image->device_id);
    if (!empty && (image->memory == IMGSTAT_CUDA ? !image->device.address : !image->host))
        return error_set(err, IMGSTAT_ERR_ARG, "the image has no pixels");
    return IMGSTAT_OK;
}

ImgstatResult cuda_stage(CudaDevice *device, const ImagePro *images, size_t n, CudaRead read,
                         void *context, ImgstatError *err)
{
    size_t on_device = 0;
    for (size_t i = 0; i < n; i++) {
        IMGSTAT_TRY(cuda_check_image(device, &images[i], err));
        on_device += images[i].memory == IMGSTAT_CUDA;
    }
    if (on_device == n)
        return read(context, device, images, NULL, n, err);

    StageBuffer *buffer = (StageBuffer *)calloc(1, sizeof *buffer);
    if (!buffer)
        return error_memory(err, sizeof *buffer, "a buffer");
    ImgstatResult res = IMGSTAT_OK;
    for (size_t i = 0; i < n && res == IMGSTAT_OK; i++) {
        const uint32_t origin = (uint32_t)i;
        if (images[i].width == 0 || images[i].height == 0)
            continue;
        if (images[i].memory == IMGSTAT_CUDA)
            res = read(context, device, &images[i], &origin, 1, err);
        else
            res = stage_image(device, buffer, &images[i], origin, read, context, err);
    }
    if (res == IMGSTAT_OK)
        res = end_buffer(device, buffer, read, context, err);
    free(buffer);
    return res;
}
