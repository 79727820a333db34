/* SPDX-License-Identifier: MIT */
/* equalize/chain.cu: from counts to tables on the device, so that measuring and applying follow
 * each other without the host. */
#include "common/warp.cuh"
#include "device/measure.cuh"
#include "equalize/lut.cuh"
#include "equalize/transform.h"
#include "luma/tile.cuh"

extern "C" {
#include "transfer/transfer.h"
}

#include <initializer_list>
#include <stdlib.h>

/*
 * finish_bytes: counts, prefix sums, map and table of 8-bit samples in one block a map.
 *
 *   Idea      256 of everything: one thread a key.
 *   Work      a division an entry; two searches of eight steps by one thread.
 *   Memory    reads and empties 2 KB a channel, and its tally; writes 2 KB a map at most.
 *   Launch    <<<n_maps, 256>>>; it may begin before the launch before has ended.
 *   Requires  the record is whole: the stream's order.
 *   Result    the map and table of map_make_table (transfer/table.c). The record is empty.
 */
static __global__ void __launch_bounds__(BYTE_BINS) finish_bytes(Finish f)
{
    __shared__ uint64_t of_warp[BYTE_BINS / 32], cdf[BYTE_BINS];
    __shared__ Map map;
    const uint32_t m = blockIdx.x, key = threadIdx.x;
    if (key == 0)
        map = f.blank[m]; /* which no launch changes */
    after_launches_before();
    cdf[key] = block_inclusive(valid_count(f, m, key, BYTE_BINS), of_warp);
    empty_bins(f, m, key, BYTE_BINS);
    if (m == 0)
        empty_tallies(f);
    __syncthreads(); /* the sums are whole */
    if (key == 0) {
        if (f.equalize)
            map_equalize_counts(&map, cdf);
        else
            map_clip_counts(&map, cdf, f.nano_lo, f.nano_hi);
        f.maps[m] = map;
        f.maps[m].cdf = NULL; /* the table replaces it */
    }
    __syncthreads(); /* so is the map */
    write_entry(f, &map, m, key, BYTE_BINS);
}

/* ---- Host side ------------------------------------------------------------------------------- */

static ImgstatResult launch_finish_bytes(CudaDevice *device, cudaStream_t stream, const Finish &f,
                                         ImgstatError *err)
{
    assert(f.n_maps > 0 && sample_record_bins(f.from) == BYTE_BINS);
    return cuda_launch_early(device, stream, "finish_bytes", finish_bytes, f.n_maps, BYTE_BINS, 0,
                             err, f);
}

struct DeviceTransform {
    CudaDevice *device;
    TransferShape shape;
    uint64_t pixels;
    char *memory; /* one allocation: what follows lies in it */
    DeviceRecord record;
    DevMem scratch;
    uint4 *tables;                   /* of words: see launch_count_words */
    uint64_t words;                  /* of images that these suffice for */
    unsigned char *luma, *luma_mask; /* planes without gaps, of luma transfers */
    SmallState *small;
    SmallMap small_map;
    ApplyTransfer transfer;
    Holes holes;
    Finish finish;
};

static size_t place(size_t *at, size_t bytes)
{
    const size_t here = *at;
    *at += cuda_padded(bytes);
    return here;
}

/* Whether images are counted in tables of words, not into the record, if there is nothing between
 * their samples and they are not too large: one map for all of them. */
static bool words_serve(const DeviceTransform *t, uint16_t measured)
{
    return (t->shape.sample == IMGSTAT_U16 || t->shape.sample == IMGSTAT_I16) &&
           (measured == 1 || (t->finish.joint && t->shape.alpha < 0));
}

/* Uploads what the counts do not change, and lays out the rest. */
static ImgstatResult lay_out(DeviceTransform *t, const Transfer *like, ImgstatError *err)
{
    CudaDevice *const device = t->device;
    const ImgstatSample from = t->shape.sample, to = like->rescale.to.sample;
    const size_t entries = sample_record_bins(from), tables = like->n_maps + 1u;
    const size_t maps = like->n_maps + (size_t)KEPT_MAPS;
    const uint16_t measured = like->luma ? 1 : t->shape.channels;
    const size_t record = record_bytes(from, measured, 0),
                 scratch = cuda_async_bytes(from, measured, 1);
    const size_t plane = like->luma ? t->pixels * (sample_bits(from) / 8) : 0;
    size_t bytes = 0;
    const size_t scratch_at = place(&bytes, scratch), record_at = place(&bytes, record);
    const size_t blank_at = place(&bytes, maps * sizeof(Map));
    const size_t maps_at = place(&bytes, maps * sizeof(Map));
    const size_t key_at = place(&bytes, tables * entries * sizeof(uint32_t));
    const size_t raw_at = place(&bytes, tables * entries * (sample_bits(to) / 8));
    const size_t words = entries > BYTE_BINS ? like->n_maps : 0;
    const size_t sums_at = place(&bytes, words * entries * sizeof(uint64_t));
    const size_t cdf_at = place(&bytes, words * entries * sizeof(uint64_t));
    const size_t segments_at = place(&bytes, words * SEGMENTS * sizeof(Segment));
    t->words = words_serve(t, measured) ? t->pixels * measured : 0;
    const size_t tables_at =
        place(&bytes, t->words ? count_words_room(device, t->words) * (size_t)WORD_TABLE : 0);
    const size_t luma_at = place(&bytes, plane);
    const size_t mask_at = place(&bytes, like->luma ? t->pixels : 0);
    const size_t small_at = place(&bytes, sizeof(SmallState));
    CUDA_TRY(device, err, cudaMalloc((void **)&t->memory, bytes));
    CUDA_TRY(device, err, cudaMemsetAsync(t->memory, 0, bytes, device->stream));
    for (size_t at : {blank_at, maps_at}) {
        CUDA_TRY(device, err,
                 cudaMemcpyAsync(t->memory + at, like->maps, like->n_maps * sizeof(Map),
                                 cudaMemcpyHostToDevice, device->stream));
        at += like->n_maps * sizeof(Map);
        for (const Map *kept : {&like->rescale, &like->passthrough}) {
            CUDA_TRY(device, err,
                     cudaMemcpyAsync(t->memory + at, kept, sizeof *kept, cudaMemcpyHostToDevice,
                                     device->stream));
            at += sizeof *kept;
        }
    }
    CUDA_TRY(device, err,
             cudaMemcpyAsync(t->memory + key_at, like->tables, tables * entries * sizeof(uint32_t),
                             cudaMemcpyHostToDevice, device->stream));
    t->record =
        DeviceRecord{{(uint64_t)(uintptr_t)t->memory + record_at, record}, from, measured, 0};
    t->scratch = DevMem{(uint64_t)(uintptr_t)t->memory + scratch_at, scratch};
    t->tables = (uint4 *)(t->memory + tables_at);
    t->small = (SmallState *)(t->memory + small_at);
    t->luma = (unsigned char *)t->memory + luma_at;
    t->luma_mask = (unsigned char *)t->memory + mask_at;

    ApplyTransfer *const apply = &t->transfer;
    apply->maps = (const Map *)(t->memory + maps_at);
    apply->by_key = (const uint32_t *)(t->memory + key_at);
    apply->by_raw = t->memory + raw_at;
    apply->range = like->range;
    apply->from = from;
    apply->to = to;
    apply->n_maps = like->n_maps;
    apply->luma = like->luma;
    apply->copies = transfer_copies(like);
    t->holes = transfer_holes_in_memory(like, &t->shape);
    Finish *const f = &t->finish;
    f->bins = (uint64_t *)(t->memory + record_at + measured * sizeof(Tally));
    f->sums = (uint64_t *)(t->memory + sums_at);
    f->cdf = (uint64_t *)(t->memory + cdf_at);
    f->segments = (Segment *)(t->memory + segments_at);
    f->blank = (const Map *)(t->memory + blank_at);
    f->maps = (Map *)(t->memory + maps_at);
    f->by_key = (uint32_t *)(t->memory + key_at);
    f->by_raw = (unsigned char *)t->memory + raw_at;
    f->from = from;
    f->to = to;
    f->n_maps = like->n_maps;
    f->channels = measured;
    f->alpha = like->luma ? -1 : t->shape.alpha;
    f->has_nodata = t->shape.has_nodata && !like->luma;
    f->nodata_key = t->shape.nodata_key;
    t->small_map = small_map(&like->maps[0], f);
    IMGSTAT_TRY(launch_tables_by_raw(device, device->stream, apply, err)); /* of rescale */
    CUDA_TRY(device, err,
             cudaStreamSynchronize(device->stream)); /* `like` is on its way till then */
    return IMGSTAT_OK;
}

ImgstatResult cuda_transform_create(Device *base, const ImgstatMethod *method,
                                    const TransferShape *shape, uint64_t pixels,
                                    DeviceTransform **out, ImgstatError *err)
{
    CudaDevice *device = (CudaDevice *)base;
    *out = NULL;
    CUDA_ENTER(device, err);
    IMGSTAT_TRY(transfer_check_async(method, shape, err));
    uint8_t bits;
    (void)transfer_output(method, shape, &bits);
    const MapRange range = transfer_range(method, shape);
    const ImgstatChannels mode = transfer_channels(method, shape);
    Transfer *like;
    IMGSTAT_TRY(transfer_begin(NULL, shape->sample, shape->bits, &range, bits,
                               transfer_maps(method, shape), shape->has_nodata, shape->nodata_key,
                               mode == IMGSTAT_LUMA, &like, err));
    DeviceTransform *t = (DeviceTransform *)calloc(1, sizeof *t);
    if (!t) {
        transfer_destroy(like);
        return error_memory(err, sizeof *t, "a transform");
    }
    t->device = device;
    t->shape = *shape;
    t->pixels = pixels;
    const Clip clip = transfer_clip_of(method);
    t->finish.joint = mode == IMGSTAT_JOINT;
    t->finish.equalize = method->transform == IMGSTAT_EQUALIZE;
    t->finish.nano_lo = clip_nano(clip.lo);
    t->finish.nano_hi = clip_nano(clip.hi);
    const ImgstatResult res = lay_out(t, like, err);
    transfer_destroy(like);
    if (res != IMGSTAT_OK) {
        cuda_transform_destroy(t);
        return res;
    }
    *out = t;
    return IMGSTAT_OK;
}

void cuda_transform_destroy(DeviceTransform *t)
{
    if (!t)
        return;
    const CudaStay stay(t->device);
    if (t->memory && stay.result == CUDA_SUCCESS)
        cuda_released(cudaFree(t->memory)); /* waits for what uses it */
    (void)cudaGetLastError();
    free(t);
}

static ImgstatResult check_images(const DeviceTransform *t, const ImagePro *from,
                                  const ImagePro *to, ImgstatError *err)
{
    IMGSTAT_TRY(transfer_check_shape(&t->shape, from, err));
    if (t->transfer.luma && (uint64_t)from->width * from->height > t->pixels)
        return error_set(err, IMGSTAT_ERR_ARG, "the image is larger than the transform allows");
    for (const ImagePro *image : {from, to})
        if (image->memory != IMGSTAT_CUDA || image->device_id != t->device->index)
            return error_set(err, IMGSTAT_ERR_ARG, "the pixels are not in the memory of cuda:%d",
                             t->device->index);
    return transfer_check_output(from, t->transfer.to, to, err);
}

/* What is measured: the image, or the luma of its pixels. */
static ImgstatResult measured_image(DeviceTransform *t, cudaStream_t stream, const ImagePro *from,
                                    const ApplyPixels *pixels, ImagePro *out, ImgstatError *err)
{
    *out = *from;
    if (!t->transfer.luma)
        return IMGSTAT_OK;
    const bool masked = from->mask || from->has_nodata || sample_is_float(from->sample);
    unsigned char *const valid = masked ? t->luma_mask : NULL;
    *out = luma_plane_image(from, t->luma, valid);
    return launch_luma_plane(t->device, stream, from->sample, pixels, t->luma, valid, err);
}

/* Whether this one is. */
static bool words_fit(const DeviceTransform *t, const ImagePro *image)
{
    const uint64_t samples = image_samples_per_row(image) * image->height;
    return samples <= t->words && !image->mask && image_is_flat(image) &&
           image->device.address % 16 == 0 && count_words_fit(t->device, samples);
}

/* The counts that the map is made from, and the table of that. */
static ImgstatResult make_tables(DeviceTransform *t, cudaStream_t stream, const ImagePro *from,
                                 const ApplyPixels *pixels, ImgstatError *err)
{
    CudaDevice *const device = t->device;
    const Finish &f = t->finish;
    ImagePro measured;
    if (t->transfer.luma && luma_counts_fit(device, from->sample, pixels)) {
        IMGSTAT_TRY(launch_count_luma(device, stream, pixels, f.bins, err));
        return launch_finish_bytes(device, stream, f, err);
    }
    IMGSTAT_TRY(measured_image(t, stream, from, pixels, &measured, err));
    if (words_fit(t, &measured)) {
        IMGSTAT_TRY(launch_count_words(device, stream, &measured, t->tables, err));
        return launch_finish_tables(device, stream, f, &measured, t->tables, err);
    }
    IMGSTAT_TRY(cuda_measure_more(device, stream, &measured, &t->record, t->scratch, err));
    return sample_record_bins(from->sample) == BYTE_BINS
               ? launch_finish_bytes(device, stream, f, err)
               : launch_finish_words(device, stream, f, err);
}

static ImgstatResult transform_image(DeviceTransform *t, cudaStream_t order, const ImagePro *from,
                                     const ImagePro *to, ImgstatError *err)
{
    const ApplyPixels pixels = apply_pixels(from, t->shape.alpha, to);
    const auto fill = [&] {
        return launch_holes(t->device, order, &t->holes, from->sample, to->sample, &pixels, err);
    };
    if (!t->transfer.luma && transform_is_small(t->device, &t->finish, &pixels)) {
        IMGSTAT_TRY(
            launch_transform_small(t->device, order, &t->small_map, t->small, &pixels, err));
        return fill();
    }
    const ImgstatResult res = make_tables(t, order, from, &pixels, err);
    if (res != IMGSTAT_OK) { /* nothing has emptied the record, which is added to */
        const DevMem *const record = &t->record.mem;
        (void)cudaMemsetAsync((void *)(uintptr_t)record->address, 0, record->bytes, order);
        return res;
    }
    IMGSTAT_TRY(launch_apply(t->device, order, &t->transfer, &pixels, err));
    return fill();
}

ImgstatResult cuda_transform_async(DeviceTransform *t, void *stream, const ImagePro *from,
                                   ImagePro *to, const DeviceSeries *series, ImgstatError *err)
{
    cudaStream_t const order = (cudaStream_t)stream;
    CUDA_ENTER(t->device, err);
    IMGSTAT_TRY(check_images(t, from, to, err));
    if (from->width == 0 || from->height == 0)
        return IMGSTAT_OK;
    const ApplyPixels pixels = apply_pixels(from, t->shape.alpha, to);
    bool done = false;
    if (!t->transfer.luma && !t->holes.fills) {
        const auto launch_many = t->words > 0 ? launch_words_many : launch_bytes_many;
        IMGSTAT_TRY(
            launch_many(t->device, order, &t->small_map, &t->finish, &pixels, series, &done, err));
    }
    if (done)
        return IMGSTAT_OK;
    for (size_t i = 0; i < series->n; i++) {
        const ImagePro image = image_of_series(from, i, series->step);
        const ImagePro mapped = image_of_series(to, i, series->to_step);
        IMGSTAT_TRY(transform_image(t, order, &image, &mapped, err));
    }
    return IMGSTAT_OK;
}
