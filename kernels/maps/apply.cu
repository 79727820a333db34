/* SPDX-License-Identifier: MIT */
/* maps/apply.cu: a transfer over pixels: the transfer on its way to the device, host images in
 * bands that are copied there, mapped and copied back at the same time. */
#include "maps/apply.cuh"

extern "C" {
#include "transfer/transfer.h"
}

#include <initializer_list>
#include <stdlib.h>

typedef struct ApplySlot {
    CudaBuffer from, to, mask;
    cudaEvent_t filled, mapped, emptied;
} ApplySlot;

/* What applying keeps from call to call. */
typedef struct ApplyMemory {
    cudaStream_t returns; /* device to host */
    ApplySlot slot[APPLY_SLOTS];
    CudaBuffer held;     /* pinned: a transfer on its way to the device */
    CudaBuffer transfer; /* the same on the device, and behind it the tables by raw bits */
    TransferId *id;      /* of the transfer that the device has; NULL: none */
    cudaEvent_t copied;  /* held may be written again */
} ApplyMemory;

void cuda_apply_close(CudaDevice *device)
{
    ApplyMemory *memory = (ApplyMemory *)device->apply;
    if (!memory)
        return;
    for (ApplySlot &slot : memory->slot) {
        cuda_free(device, &slot.from, false);
        cuda_free(device, &slot.to, false);
        cuda_free(device, &slot.mask, false);
        for (cudaEvent_t event : {slot.filled, slot.mapped, slot.emptied})
            cuda_free_event(device, event);
    }
    cuda_free(device, &memory->held, true);
    cuda_free(device, &memory->transfer, false);
    transfer_id_release(memory->id);
    cuda_free_event(device, memory->copied);
    cuda_free_stream(device, memory->returns);
    free(memory);
    device->apply = NULL;
}

static ImgstatResult create_memory(CudaDevice *device, ApplyMemory *memory, ImgstatError *err)
{
    CUDA_TRY(device, err, cudaStreamCreateWithFlags(&memory->returns, cudaStreamNonBlocking));
    CUDA_TRY(device, err, cudaEventCreateWithFlags(&memory->copied, cudaEventDisableTiming));
    for (ApplySlot &slot : memory->slot)
        for (cudaEvent_t *event : {&slot.filled, &slot.mapped, &slot.emptied})
            CUDA_TRY(device, err, cudaEventCreateWithFlags(event, cudaEventDisableTiming));
    return IMGSTAT_OK;
}

static ImgstatResult open_memory(CudaDevice *device, ApplyMemory **out, ImgstatError *err)
{
    ImgstatResult res = IMGSTAT_OK;
    if (!device->apply) {
        device->apply = calloc(1, sizeof **out);
        if (!device->apply)
            return error_memory(err, sizeof **out, "what applying keeps");
        res = create_memory(device, (ApplyMemory *)device->apply, err);
        if (res != IMGSTAT_OK)
            cuda_apply_close(device);
    }
    *out = (ApplyMemory *)device->apply;
    return res;
}

/* ---- The transfer ---------------------------------------------------------------------------- */

/* Where the parts of a transfer lie: maps, knots, tables by key; on the device then those by raw
 * bits. */
typedef struct ApplyLayout {
    size_t knots_at, tables_at, bytes, raw_at, groups_at, all;
    size_t n_knots, entries, group_pitch;
} ApplyLayout;

static uint32_t knots_of(const Map *map)
{
    return map->kind == MAP_KNOTS && map->knots ? map->n_knots : 0;
}

static ApplyLayout layout_of(const Transfer *transfer)
{
    ApplyLayout l;
    memset(&l, 0, sizeof l);
    uint32_t most = 0;
    for (uint16_t m = 0; m < transfer->n_maps; m++) {
        const uint32_t knots = knots_of(&transfer->maps[m]);
        l.n_knots += knots;
        most = knots > most ? knots : most;
    }
    const size_t tables = transfer->n_maps + 1u, maps = transfer->n_maps + (size_t)KEPT_MAPS;
    l.entries = sample_is_narrow(transfer->from) ? tables * sample_record_bins(transfer->from) : 0;
    l.knots_at = cuda_padded(maps * sizeof(Map));
    l.tables_at = l.knots_at + cuda_padded(l.n_knots * sizeof(MapKnot));
    l.bytes = l.tables_at + cuda_padded(l.entries * sizeof(uint32_t));
    l.raw_at = l.bytes;
    const ImgstatSample to = transfer->rescale.to.sample;
    l.groups_at = l.raw_at + cuda_padded(l.entries * sample_bits(to) / 8);
    if (!transfer->luma)
        l.group_pitch = cuda_padded(knot_group_bytes(transfer->from, to, most));
    l.all = l.groups_at + transfer->n_maps * l.group_pitch;
    return l;
}

/* A map as the device reads it: its knots there, and no pointers to what only the host has. */
static Map map_for_device(const Map *map, const char *device, size_t *knots_at)
{
    Map copy = *map;
    copy.cdf = copy.reference_cdf = NULL;
    copy.knots = NULL;
    if (knots_of(map) > 0) {
        copy.knots = (const MapKnot *)(device + *knots_at);
        *knots_at += map->n_knots * sizeof(MapKnot);
    }
    return copy;
}

/* Puts the parts into `to`. */
static void pack(const Transfer *transfer, const ApplyLayout *l, const char *device, char *to)
{
    size_t knots_at = l->knots_at;
    for (uint32_t m = 0; m < transfer->n_maps + (uint32_t)KEPT_MAPS; m++) {
        const Map *map = m < transfer->n_maps    ? &transfer->maps[m]
                         : m == transfer->n_maps ? &transfer->rescale
                                                 : &transfer->passthrough;
        const size_t at = knots_at;
        const Map copy = map_for_device(map, device, &knots_at);
        memcpy(to + m * sizeof copy, &copy, sizeof copy);
        if (copy.knots)
            memcpy(to + at, map->knots, map->n_knots * sizeof(MapKnot));
    }
    if (l->entries)
        memcpy(to + l->tables_at, transfer->tables, l->entries * sizeof(uint32_t));
}

/* The transfer in device memory. Bands come with the same one again and again: it is sent once. */
static ImgstatResult send_transfer(CudaDevice *device, ApplyMemory *memory,
                                   const Transfer *transfer, ApplyTransfer *out, ImgstatError *err)
{
    const ApplyLayout l = layout_of(transfer);
    const bool sent = memory->id == transfer->id;
    if (!sent) {
        transfer_id_release(memory->id);
        memory->id = NULL;
        IMGSTAT_TRY(cuda_reserve_host(device, &memory->held, l.bytes, err));
        IMGSTAT_TRY(cuda_reserve(device, &memory->transfer, l.all, false, err));
    }
    char *const there = (char *)memory->transfer.memory, *const here = (char *)memory->held.memory;
    memset(out, 0, sizeof *out);
    out->maps = (const Map *)there;
    out->by_key = (const uint32_t *)(there + l.tables_at);
    out->by_raw = there + l.raw_at;
    out->groups = there + l.groups_at;
    out->group_pitch = l.group_pitch;
    out->host_maps = transfer->maps;
    out->range = transfer->range;
    out->from = transfer->from;
    out->to = transfer->rescale.to.sample;
    out->n_maps = transfer->n_maps;
    out->luma = transfer->luma;
    out->copies = transfer_copies(transfer);
    if (sent)
        return IMGSTAT_OK;
    CUDA_TRY(device, err, cudaEventSynchronize(memory->copied));
    memset(here, 0, l.bytes);
    pack(transfer, &l, there, here);
    CUDA_TRY(device, err,
             cudaMemcpyAsync(there, here, l.bytes, cudaMemcpyHostToDevice, device->stream));
    CUDA_TRY(device, err, cudaEventRecord(memory->copied, device->stream));
    if (l.entries)
        IMGSTAT_TRY(launch_tables_by_raw(device, device->stream, out, err));
    if (l.group_pitch > 0)
        IMGSTAT_TRY(launch_knot_groups(device, device->stream, out, err));
    memory->id = transfer_id_retain(transfer->id);
    return IMGSTAT_OK;
}

/* ---- Pixels ---------------------------------------------------------------------------------- */

ApplyPixels apply_pixels(const ImagePro *from, int16_t alpha, const ImagePro *to)
{
    const size_t in = sample_bits(from->sample) / 8, out = sample_bits(to->sample) / 8;
    const size_t samples = image_samples_per_row(from);
    ApplyPixels p;
    memset(&p, 0, sizeof p);
    p.from = (const unsigned char *)(uintptr_t)from->device.address;
    p.to = (unsigned char *)(uintptr_t)to->device.address;
    p.mask = from->mask;
    p.from_pitch = from->pitch;
    p.to_pitch = to->pitch;
    p.mask_pitch = from->mask_pitch;
    p.width = from->width;
    p.rows = from->height;
    p.channels = from->channels;
    p.alpha = alpha;
    p.has_nodata = from->has_nodata;
    p.nodata_key = from->nodata_key;
    p.aligned = (from->device.address | from->pitch * (from->height > 1)) % in == 0 &&
                (to->device.address | to->pitch * (to->height > 1)) % out == 0;
    if (!p.mask && from->pitch == samples * in && to->pitch == samples * out) {
        p.width *= p.rows;
        p.rows = 1;
    }
    return p;
}

ImgstatResult launch_apply(CudaDevice *device, cudaStream_t stream, const ApplyTransfer *transfer,
                           const ApplyPixels *pixels, ImgstatError *err)
{
    if (transfer->luma)
        return launch_apply_luma(device, stream, transfer, pixels, err);
    if (sample_is_narrow(transfer->from))
        return launch_apply_narrow(device, stream, transfer, pixels, err);
    return launch_apply_wide(device, stream, transfer, pixels, err);
}

static ImagePro on_device(const CudaDevice *device, const ImagePro *image, const CudaBuffer *buffer,
                          size_t row)
{
    ImagePro there = *image;
    there.memory = IMGSTAT_CUDA;
    there.device_id = device->index;
    there.host = NULL;
    there.device.address = (uint64_t)(uintptr_t)buffer->memory;
    there.pitch = row;
    return there;
}

/* Rows [first, first + n) of the images; one or both are on the host. */
static ImgstatResult apply_band(CudaDevice *device, ApplyMemory *memory, ApplySlot *slot,
                                const ImagePro *from, const ImagePro *to, ApplyLaunch launch,
                                const void *context, ImgstatError *err)
{
    const size_t in_row = image_samples_per_row(from) * (sample_bits(from->sample) / 8);
    const size_t out_row = image_samples_per_row(to) * (sample_bits(to->sample) / 8);
    ImagePro source = *from, target = *to;
    if (from->memory == IMGSTAT_HOST) {
        source = on_device(device, from, &slot->from, in_row);
        CUDA_TRY(device, err, cudaStreamWaitEvent(device->copies, slot->mapped, 0));
        CUDA_TRY(device, err,
                 cuda_copy_rows(slot->from.memory, in_row, from->host, from->pitch, in_row,
                                from->height, cudaMemcpyHostToDevice, device->copies));
        if (from->mask) {
            source.mask = (const uint8_t *)slot->mask.memory;
            source.mask_pitch = from->width;
            CUDA_TRY(device, err,
                     cuda_copy_rows(slot->mask.memory, from->width, from->mask, from->mask_pitch,
                                    from->width, from->height, cudaMemcpyHostToDevice,
                                    device->copies));
        }
        CUDA_TRY(device, err, cudaEventRecord(slot->filled, device->copies));
        CUDA_TRY(device, err, cudaStreamWaitEvent(device->stream, slot->filled, 0));
    }
    if (to->memory == IMGSTAT_HOST) {
        target = on_device(device, to, &slot->to, out_row);
        CUDA_TRY(device, err, cudaStreamWaitEvent(device->stream, slot->emptied, 0));
    }
    IMGSTAT_TRY(launch(context, device, &source, &target, err));
    CUDA_TRY(device, err, cudaEventRecord(slot->mapped, device->stream));
    if (to->memory == IMGSTAT_HOST) {
        CUDA_TRY(device, err, cudaStreamWaitEvent(memory->returns, slot->mapped, 0));
        CUDA_TRY(device, err,
                 cuda_copy_rows(to->host, to->pitch, slot->to.memory, out_row, out_row, to->height,
                                cudaMemcpyDeviceToHost, memory->returns));
        CUDA_TRY(device, err, cudaEventRecord(slot->emptied, memory->returns));
    }
    return IMGSTAT_OK;
}

static ImgstatResult apply_bands(CudaDevice *device, ApplyMemory *memory, const ImagePro *from,
                                 const ImagePro *to, ApplyLaunch launch, const void *context,
                                 ImgstatError *err)
{
    const size_t in_row = image_samples_per_row(from) * (sample_bits(from->sample) / 8);
    const size_t out_row = image_samples_per_row(to) * (sample_bits(to->sample) / 8);
    const size_t row = in_row > out_row ? in_row : out_row;
    uint32_t rows = row < (size_t)APPLY_BYTES ? (uint32_t)(APPLY_BYTES / row) : 1;
    rows = rows < from->height ? rows : from->height;
    for (ApplySlot &slot : memory->slot) {
        if (from->memory == IMGSTAT_HOST) {
            IMGSTAT_TRY(cuda_reserve(device, &slot.from, in_row * rows, false, err));
            if (from->mask)
                IMGSTAT_TRY(
                    cuda_reserve(device, &slot.mask, (size_t)from->width * rows, false, err));
        }
        if (to->memory == IMGSTAT_HOST)
            IMGSTAT_TRY(cuda_reserve(device, &slot.to, out_row * rows, false, err));
    }
    unsigned turn = 0;
    for (uint32_t y = 0; y < from->height; turn++) {
        const uint32_t n = from->height - y < rows ? from->height - y : rows;
        const ImagePro source = image_band(from, y, n), target = image_band(to, y, n);
        IMGSTAT_TRY(apply_band(device, memory, &memory->slot[turn % APPLY_SLOTS], &source, &target,
                               launch, context, err));
        y += n;
    }
    return IMGSTAT_OK;
}

ImgstatResult cuda_apply_images(CudaDevice *device, const ImagePro *from, const ImagePro *to,
                                ApplyLaunch launch, const void *context, ImgstatError *err)
{
    IMGSTAT_TRY(cuda_check_image(device, from, err));
    IMGSTAT_TRY(cuda_check_image(device, to, err));
    if (from->memory == IMGSTAT_CUDA && to->memory == IMGSTAT_CUDA)
        return launch(context, device, from, to, err);
    ApplyMemory *memory;
    IMGSTAT_TRY(open_memory(device, &memory, err));
    const ImgstatResult res = apply_bands(device, memory, from, to, launch, context, err);
    /* Whatever happened, the host's pixels are the caller's again. */
    cudaError_t status = cudaStreamSynchronize(device->copies);
    for (cudaStream_t stream : {device->stream, memory->returns})
        if (const cudaError_t other = cudaStreamSynchronize(stream))
            status = other;
    IMGSTAT_TRY(res);
    CUDA_TRY(device, err, status);
    return IMGSTAT_OK;
}

struct Sent {
    ApplyTransfer transfer;
    Holes holes;
    int16_t alpha;
};

static ImgstatResult launch_sent(const void *context, CudaDevice *device, const ImagePro *from,
                                 const ImagePro *to, ImgstatError *err)
{
    const Sent *const sent = (const Sent *)context;
    const ApplyPixels pixels = apply_pixels(from, sent->alpha, to);
    IMGSTAT_TRY(launch_apply(device, device->stream, &sent->transfer, &pixels, err));
    return launch_holes(device, device->stream, &sent->holes, from->sample, to->sample, &pixels,
                        err);
}

ImgstatResult cuda_apply(Device *base, const ImgstatTransfer *transfer, const ImagePro *from,
                         int16_t alpha, ImagePro *to, ImgstatError *err)
{
    CudaDevice *device = (CudaDevice *)base;
    CUDA_ENTER(device, err);
    IMGSTAT_TRY(transfer_check_image(transfer, from, alpha, err));
    IMGSTAT_TRY(transfer_check_output(from, transfer->rescale.to.sample, to, err));
    if (from->width == 0 || from->height == 0)
        return IMGSTAT_OK;
    ApplyMemory *memory;
    IMGSTAT_TRY(open_memory(device, &memory, err));
    Sent sent;
    IMGSTAT_TRY(send_transfer(device, memory, transfer, &sent.transfer, err));
    sent.holes = transfer->holes;
    sent.alpha = alpha;
    return cuda_apply_images(device, from, to, launch_sent, &sent, err);
}
