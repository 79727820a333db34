/* SPDX-License-Identifier: MIT */
/* device/measure.cu: the measure slot: images of all kinds, gathered to launches. */
#include "device/measure_launch.cuh"

#include <stdlib.h>

/* Segments of one image that a launch adds up: 2^26 * 10 terms < 2^30 (record/exact_sum.h). */
static const uint64_t LAUNCH_SEGMENTS = 1ull << 26;

/* Queries of a stream before a thread sleeps: some 0.4 ms. To fall asleep and wake takes 0.04 ms,
 * as long as mapping 64 MiB. */
enum { WAIT_QUERIES = 1024 };

/* ---- All images of a call -------------------------------------------------------------------- */

struct Batch {
    LaunchPlace place;
    Kind kind;
    WorkImage *images; /* room for LAUNCH_IMAGES */
    WorkPlace *places; /* likewise */
    size_t n, most;    /* images, and how many before the next launch */
    bool alike;        /* all are like images[0] but for their places; the others are not set */
    bool shared;       /* two of them may share a record: addresses do not ascend */
    const Tally *last; /* record */
    ImagePro model;    /* the image described last */
    unsigned parts;    /* of its record */
};

/* Describes images that were put down as alike one by one. */
static void expand(Batch *batch, size_t n)
{
    for (size_t i = n; i-- > 0;) {
        const WorkPlace place = batch->places[i];
        batch->images[i] = batch->images[0];
        batch->images[i].pixels = place.pixels;
        batch->images[i].first_at = place.first_at;
        batch->images[i].tally = place.tally;
        batch->images[i].bins = place.bins;
    }
}

static ImgstatResult launch_batch(CudaDevice *device, Batch *batch, ImgstatError *err)
{
    const size_t n = batch->n;
    const bool distinct = !batch->shared;
    const bool alike = batch->alike;
    batch->n = 0;
    batch->alike = batch->shared = false;
    if (n == batch->most && n > 1)
        batch->most = n < LAUNCH_IMAGES / MORE_IMAGES ? MORE_IMAGES * n : LAUNCH_IMAGES;
    if (n == 0)
        return IMGSTAT_OK;
    if (alike && n > 1) {
        bool done;
        IMGSTAT_TRY(launch_alike(device, batch->place, batch->kind, &batch->images[0],
                                 batch->places, n, distinct, &done, err));
        if (done)
            return IMGSTAT_OK;
    }
    if (alike)
        expand(batch, n);
    return launch_images(device, batch->place, batch->kind, batch->images, n, distinct, err);
}

static bool same_shape(const ImagePro *a, const ImagePro *b)
{
    return a->width == b->width && a->height == b->height && a->pitch == b->pitch &&
           a->channels == b->channels && a->sample == b->sample &&
           a->device.address % 16 == b->device.address % 16 && !a->mask && !b->mask &&
           !a->has_nodata && !b->has_nodata;
}

/* Adds a described image, launching those before where there is no more room. */
static ImgstatResult add_work(CudaDevice *device, Batch *batch, const WorkImage *work,
                              ImgstatError *err)
{
    if (batch->n == batch->most || (batch->n == 1 && batch->place.state))
        IMGSTAT_TRY(launch_batch(device, batch, err));
    if (batch->alike)
        expand(batch, batch->n);
    if (batch->n > 0 && work->tally <= batch->last)
        batch->shared = true;
    batch->last = work->tally;
    batch->alike = false;
    batch->images[batch->n++] = *work;
    return IMGSTAT_OK;
}

/* Whether the image differs from images[0], which was described last, by its place at most. */
static bool is_alike(const Batch *batch, const ImagePro *image, const DeviceRecord *record)
{
    return batch->places && (batch->n == 1 || batch->alike) && sample_bits(image->sample) == 8 &&
           record->parts == batch->parts && same_shape(&batch->model, image);
}

static Tally *record_tally(const DeviceRecord *record)
{
    return (Tally *)(uintptr_t)record->mem.address;
}

/* NULL: it has none. */
static uint64_t *record_bins(const DeviceRecord *record)
{
    if (!record_parts_bins(record->sample, record->parts))
        return NULL;
    return (uint64_t *)(record_tally(record) + record->channels);
}

/* Adds one that is. */
static ImgstatResult add_alike(CudaDevice *device, Batch *batch, const ImagePro *image,
                               const DeviceRecord *record, ImgstatError *err)
{
    Tally *tally = record_tally(record);
    if (!batch->alike) {
        const WorkImage *first = &batch->images[0];
        batch->places[0] = WorkPlace{first->pixels, first->first_at, first->tally, first->bins};
    }
    if (batch->n == batch->most) {
        const WorkImage model = batch->images[0];
        IMGSTAT_TRY(launch_batch(device, batch, err));
        batch->images[0] = model;
    } else if (tally <= batch->last) {
        batch->shared = true;
    }
    batch->last = tally;
    WorkPlace *place = &batch->places[batch->n++];
    place->pixels = (const unsigned char *)(uintptr_t)image->device.address;
    place->first_at = (uint64_t)image->first_row * image->width;
    place->tally = tally;
    place->bins = record_bins(record);
    batch->alike = true;
    return IMGSTAT_OK;
}

/* Describes an image; one with very many segments goes in several bands. */
static ImgstatResult add_image(CudaDevice *device, Batch *batch, const ImagePro *image,
                               const DeviceRecord *record, ImgstatError *err)
{
    bool tile_bytes;
    const uint64_t tile = tile_size(batch->kind, &tile_bytes);
    const bool by_rows = is_wide_float(image->sample);
    const uint64_t per_row = by_rows ? (image->width + tile - 1) / tile : 1;
    const uint64_t most = by_rows ? LAUNCH_SEGMENTS / (per_row ? per_row : 1) : image->height;
    for (uint32_t first = 0; first < image->height;) {
        const uint32_t left = image->height - first;
        const uint32_t rows = left < most ? left : most > 0 ? (uint32_t)most : 1;
        ImagePro band = image_band(image, first, rows);
        WorkImage work;
        work_describe(&work, &band, tile, tile_bytes, by_rows);
        work.tally = record_tally(record);
        work.bins = record_bins(record);
        IMGSTAT_TRY(add_work(device, batch, &work, err));
        first += rows;
    }
    batch->model = *image;
    batch->parts = record->parts;
    return IMGSTAT_OK;
}

/* An image whose samples are not on their boundaries is copied to where they are. */
static ImgstatResult realign(CudaDevice *device, const ImagePro *image, ImagePro *out,
                             ImgstatError *err)
{
    const size_t row_bytes = image_samples_per_row(image) * sample_size(image->sample);
    const size_t pitch = (row_bytes + 15) & ~(size_t)15;
    size_t bytes;
    if (!size_product(pitch, image->height, &bytes))
        return error_set(err, IMGSTAT_ERR_ARG, "the image is larger than memory");
    IMGSTAT_TRY(cuda_reserve(device, &device->aligned, bytes, false, err));
    device->order.pixels_may_change();
    *out = *image;
    out->device.address = (uint64_t)(uintptr_t)device->aligned.memory;
    out->pitch = pitch;
    CUDA_TRY(device, err,
             cuda_copy_rows(device->aligned.memory, pitch,
                            (const void *)(uintptr_t)image->device.address, image->pitch, row_bytes,
                            image->height, cudaMemcpyDeviceToDevice, device->stream));
    return IMGSTAT_OK;
}

ImgstatResult cuda_align(CudaDevice *device, const ImagePro *image, ImagePro *out,
                         ImgstatError *err)
{
    *out = *image;
    if (image->width == 0 || image->height == 0 || rows_aligned(image, sample_size(image->sample)))
        return IMGSTAT_OK;
    return realign(device, image, out, err);
}

static ImgstatResult measure_device_images(void *context, CudaDevice *device,
                                           const ImagePro *images, const uint32_t *origin, size_t n,
                                           ImgstatError *err)
{
    const DeviceRecord *const records = (const DeviceRecord *)context;
    const size_t list_bytes = LAUNCH_IMAGES * (sizeof(WorkImage) + sizeof(WorkPlace));
    if (!device->list.memory) {
        device->list.memory = malloc(list_bytes);
        if (!device->list.memory)
            return error_memory(err, list_bytes, "a list of images");
        device->list.bytes = list_bytes;
    }
    /* Images of one kind after the other, in the order in which the kinds come first. Calls have
     * few kinds; `from` is the first image that may still be of a new one. */
    Batch batch = {};
    batch.place = LaunchPlace{device->stream, (QueueMemory *)device->queue, NULL};
    batch.images = (WorkImage *)device->list.memory;
    batch.places = (WorkPlace *)(batch.images + LAUNCH_IMAGES);
    batch.most = (size_t)FIRST_IMAGES * (unsigned)device->properties.multiProcessorCount;
    if (batch.most > LAUNCH_IMAGES)
        batch.most = LAUNCH_IMAGES;
    for (size_t from = 0; from < n; from++) {
        const DeviceRecord *record = &records[origin ? origin[from] : from];
        batch.kind = kind_of(&images[from], record);
        bool seen = false;
        for (size_t i = 0; i < from && !seen; i++)
            seen = same_kind(batch.kind, kind_of(&images[i], &records[origin ? origin[i] : i]));
        if (seen)
            continue;
        bool others = false;
        for (size_t i = from; i < n; i++) {
            record = &records[origin ? origin[i] : i];
            if (is_alike(&batch, &images[i], record)) { /* the quick way */
                IMGSTAT_TRY(add_alike(device, &batch, &images[i], record, err));
                continue;
            }
            if (!same_kind(batch.kind, kind_of(&images[i], record))) {
                others = true;
                continue;
            }
            if (images[i].width == 0 || images[i].height == 0)
                continue;
            if (rows_aligned(&images[i], sample_size(images[i].sample))) {
                IMGSTAT_TRY(add_image(device, &batch, &images[i], record, err));
            } else {
                ImagePro aligned;
                IMGSTAT_TRY(launch_batch(device, &batch, err)); /* it may use the same memory */
                IMGSTAT_TRY(realign(device, &images[i], &aligned, err));
                batch.kind = kind_of(&aligned, record);
                IMGSTAT_TRY(add_image(device, &batch, &aligned, record, err));
                IMGSTAT_TRY(launch_batch(device, &batch, err));
                batch.kind = kind_of(&images[from], &records[origin ? origin[from] : from]);
            }
            if (batch.kind.bins)
                IMGSTAT_TRY(cuda_count_bins(device, &images[i], record, err));
        }
        IMGSTAT_TRY(launch_batch(device, &batch, err));
        if (!others)
            break;
    }
    return IMGSTAT_OK;
}

static ImgstatResult check_records(const ImagePro *images, const DeviceRecord *records, size_t n,
                                   ImgstatError *err)
{
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        const DeviceRecord *record = &records[i], *before = i > 0 ? record - 1 : NULL;
        if (!before || before->sample != record->sample || before->channels != record->channels ||
            before->parts != record->parts)
            bytes = record_bytes(record->sample, record->channels, record->parts);
        if (record->sample != images[i].sample || record->channels != images[i].channels ||
            record->mem.bytes < bytes || !record->mem.address)
            return error_set(err, IMGSTAT_ERR_ARG, "the record is not one for the image measured");
    }
    return IMGSTAT_OK;
}

ImgstatResult cuda_measure_images(CudaDevice *device, const ImagePro *images,
                                  const DeviceRecord *records, size_t n, ImgstatError *err)
{
    CUDA_ENTER_MEASURING(device, err);
    if (n > UINT32_MAX)
        return error_set(err, IMGSTAT_ERR_ARG, "too many images in one call");
    IMGSTAT_TRY(check_records(images, records, n, err));
    return cuda_stage(device, images, n, measure_device_images, (void *)(uintptr_t)records, err);
}

ImgstatResult cuda_measure(Device *base, const PixelSource *source, PixelView view,
                           const DeviceRecord *records, ImgstatError *err)
{
    CudaDevice *device = (CudaDevice *)base;
    if (view.channels == VIEW_EACH)
        return cuda_measure_images(device, source->images, records, source->n, err);
    if (view.channels != VIEW_LUMA)
        return error_set(err, IMGSTAT_ERR_ARG, "channels are joined once they are measured");
    for (size_t i = 0; i < source->n; i++) {
        const auto measure = [&](const ImagePro &plane) {
            return cuda_measure_images(device, &plane, &records[i], 1, err);
        };
        IMGSTAT_TRY(cuda_read_luma(device, &source->images[i], measure, err));
    }
    return IMGSTAT_OK;
}

/* ---- On the caller's stream ------------------------------------------------------------------ */

/* Measuring n images works with a queue, their state and, for more than one, their places. The
 * state lies where that of fewer images does, and no places on it: it stays zero, whatever the
 * series before. */
size_t cuda_async_bytes(ImgstatSample sample, uint16_t channels, size_t n)
{
    const Kind kind = {sample, channels, false, false};
    return sizeof(QueueMemory) + cuda_padded(state_bytes(kind, n)) +
           (n > 1 ? n * sizeof(WorkPlace) : 0);
}

static ImgstatResult check_async(const CudaDevice *device, const ImagePro *image, ImgstatError *err)
{
    if (image->memory != IMGSTAT_CUDA || image->device_id != device->index)
        return error_set(err, IMGSTAT_ERR_ARG, "the pixels are not in the memory of cuda:%d",
                         device->index);
    if (image->width > 0 && image->height > 0 && !rows_aligned(image, sample_size(image->sample)))
        return error_set(err, IMGSTAT_ERR_ARG, "the samples do not lie on their boundaries");
    return IMGSTAT_OK;
}

/* Where images with this scratch memory are measured. */
static LaunchPlace async_place(cudaStream_t stream, DevMem scratch)
{
    QueueMemory *const queue = (QueueMemory *)(uintptr_t)scratch.address;
    return LaunchPlace{stream, queue, queue + 1};
}

/* Adds an image, which has been checked, to a record. */
static ImgstatResult add_async(CudaDevice *device, cudaStream_t stream, const ImagePro *image,
                               const DeviceRecord *record, DevMem scratch, ImgstatError *err)
{
    WorkImage work;
    Batch batch = {};
    batch.kind = kind_of(image, record);
    batch.place = async_place(stream, scratch);
    batch.images = &work;
    batch.most = 1;
    if (image->width > 0 && image->height > 0)
        IMGSTAT_TRY(add_image(device, &batch, image, record, err));
    return launch_batch(device, &batch, err);
}

/* Adds all images of a series to their records in one launch, or *done is false. */
static ImgstatResult add_series(CudaDevice *device, cudaStream_t stream, const ImagePro *first,
                                const DeviceSeries *series, const DeviceRecord *record,
                                DevMem scratch, bool *done, ImgstatError *err)
{
    const Kind kind = kind_of(first, record);
    bool tile_bytes;
    const uint64_t tile = tile_size(kind, &tile_bytes);
    WorkImage work;
    *done = series->n > 1 && series->step % 16 == 0 && first->width > 0 && first->height > 0;
    if (!*done)
        return IMGSTAT_OK;
    work_describe(&work, first, tile, tile_bytes, is_wide_float(first->sample));
    *done = work.tiles <= LAUNCH_SEGMENTS;
    if (!*done)
        return IMGSTAT_OK;
    work.tally = record_tally(record);
    work.bins = record_bins(record);
    WorkPlace *const places =
        (WorkPlace *)(uintptr_t)(scratch.address + scratch.bytes) - series->n; /* at the end */
    return launch_series(device, async_place(stream, scratch), kind, &work, series,
                         record->mem.bytes, places, done, err);
}

ImgstatResult cuda_measure_more(CudaDevice *device, cudaStream_t stream, const ImagePro *image,
                                const DeviceRecord *record, DevMem scratch, ImgstatError *err)
{
    IMGSTAT_TRY(check_async(device, image, err));
    return add_async(device, stream, image, record, scratch, err);
}

ImgstatResult cuda_measure_async(Device *base, void *stream, const ImagePro *first,
                                 const DeviceSeries *series, const DeviceRecord *record,
                                 DevMem scratch, ImgstatError *err)
{
    CudaDevice *device = (CudaDevice *)base;
    const cudaStream_t on = (cudaStream_t)stream;
    DeviceRecord to = *record;
    bool done;
    CUDA_ENTER(device, err);
    IMGSTAT_TRY(check_async(device, first, err));
    CUDA_TRY(device, err,
             cudaMemsetAsync((void *)(uintptr_t)record->mem.address, 0,
                             series->n * record->mem.bytes, on));
    IMGSTAT_TRY(add_series(device, on, first, series, record, scratch, &done, err));
    for (size_t i = 0; i < series->n && !done; i++, to.mem.address += to.mem.bytes) {
        const ImagePro image = image_of_series(first, i, series->step);
        IMGSTAT_TRY(add_async(device, on, &image, &to, scratch, err));
    }
    return IMGSTAT_OK;
}

/* Waits actively for a moment, as results of single images are near, then asleep: other threads
 * decode files meanwhile. */
ImgstatResult cuda_wait(Device *base, void *stream, ImgstatError *err)
{
    CudaDevice *device = (CudaDevice *)base;
    CUDA_ENTER_MEASURING(device, err);
    const cudaStream_t on = (cudaStream_t)stream;
    cudaError_t status = cudaErrorNotReady;
    for (int i = 0; i < WAIT_QUERIES && status == cudaErrorNotReady; i++)
        status = cudaStreamQuery(on);
    if (status != cudaErrorNotReady) {
        CUDA_TRY(device, err, status);
        return IMGSTAT_OK;
    }
    cudaEvent_t done = NULL;
    CUDA_TRY(device, err,
             cudaEventCreateWithFlags(&done, cudaEventBlockingSync | cudaEventDisableTiming));
    status = cudaEventRecord(done, on);
    if (status == cudaSuccess)
        status = cudaEventSynchronize(done);
    cuda_free_event(device, done);
    CUDA_TRY(device, err, status);
    return IMGSTAT_OK;
}
