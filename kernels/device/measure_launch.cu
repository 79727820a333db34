/* SPDX-License-Identifier: MIT */
/* device/measure_launch.cu: images of one kind described for kernels, cut into items, and launched.
 */
#include "device/measure_launch.cuh"

bool same_kind(const Kind &a, const Kind &b)
{
    return a.sample == b.sample && a.channels == b.channels && a.plain == b.plain &&
           a.bins == b.bins;
}

size_t sample_size(ImgstatSample sample)
{
    return sample_bits(sample) / 8;
}

bool rows_aligned(const ImagePro *image, size_t bytes)
{
    const uint64_t all = image->device.address | (image->height == 1 ? 0 : image->pitch);
    return (all & (bytes - 1)) == 0; /* bytes is a power of two */
}

bool image_is_flat(const ImagePro *image)
{
    const size_t row_bytes = image_samples_per_row(image) * sample_size(image->sample);
    return image->height == 1 ||
           (image->pitch == row_bytes && (!image->mask || image->mask_pitch == image->width));
}

bool is_wide_float(ImgstatSample sample)
{
    return sample == IMGSTAT_F32 || sample == IMGSTAT_F64;
}

Kind kind_of(const ImagePro *image, const DeviceRecord *record)
{
    Kind kind = {image->sample, image->channels, image->mask == NULL, false};
    if (sample_is_narrow(image->sample)) {
        kind.plain = kind.plain && image->channels <= 4;
        return kind;
    }
    const bool flat = image_is_flat(image) && !is_wide_float(image->sample);
    const bool aligned = flat ? image->device.address % 16 == 0 : rows_aligned(image, 16);
    kind.plain = kind.plain && aligned && image->channels <= 4 && !image->has_nodata;
    kind.bins = record && (record->parts & RECORD_BINS);
    return kind;
}

uint64_t tile_size(const Kind &kind, bool *bytes)
{
    *bytes = kind.plain && sample_is_narrow(kind.sample);
    if (!sample_is_narrow(kind.sample))
        return PIECE;
    if (sample_bits(kind.sample) == 16)
        return (uint64_t)(kind.plain ? NARROW16_TILE : NARROW16_PIXELS);
    if (!kind.plain)
        return NARROW8_PIXELS;
    return (uint64_t)(kind.channels == 3 ? NARROW8_TILE3 : NARROW8_TILE);
}

void work_describe(WorkImage *out, const ImagePro *image, uint64_t tile, bool tile_bytes,
                   bool by_rows)
{
    const bool flat = image_is_flat(image) && !by_rows;
    const size_t bytes = sample_size(image->sample);
    *out = WorkImage{};
    out->pixels = (const unsigned char *)(uintptr_t)image->device.address;
    out->mask = image->mask;
    out->pitch = image->pitch;
    out->mask_pitch = image->mask_pitch;
    out->row_pixels = flat ? (uint64_t)image->width * image->height : image->width;
    out->rows = flat ? 1 : image->height;
    out->first_at = (uint64_t)image->first_row * image->width;
    /* A tile counted in bytes begins at the 16-byte boundary before its row. */
    const bool alike = flat || image->pitch % 16 == 0;
    const uint64_t early = alike ? image->device.address % 16 : 15;
    const uint64_t extent =
        tile_bytes ? out->row_pixels * image->channels * bytes + early : out->row_pixels;
    out->tiles_per_row = (extent + tile - 1) / tile;
    out->tiles = out->tiles_per_row * out->rows;
    out->channels = image->channels;
    out->sample = image->sample;
    out->has_nodata = image->has_nodata;
    out->nodata_key = image->nodata_key;
}

/* Segments that a block of measure_wide measures at a time. */
static uint32_t wide_groups(const Kind &kind)
{
    const unsigned channels = kind.plain && kind.channels < 4 ? kind.channels : 4;
    return wide_warps(channels) /
           (kind.plain ? wide_group(channels, (unsigned)sample_size(kind.sample)) : 1);
}

/* Tiles an item: large enough that the cost of an item is negligible, small enough that the
 * machine is full and blocks end together. */
static uint32_t item_tiles(const CudaDevice *device, const Kind &kind, uint64_t total_tiles,
                           uint64_t images, uint64_t tile_bytes)
{
    const uint64_t blocks = 4u * (unsigned)device->properties.multiProcessorCount;
    const uint64_t share = total_tiles / (2 * blocks) + 1;
    if (!sample_is_narrow(kind.sample)) {
        const uint32_t least = wide_groups(kind);
        uint64_t tiles = device->tuning->item_bytes / (tile_bytes ? tile_bytes : 1);
        tiles = tiles < least ? least : tiles > 512 ? 512 : tiles;
        return (uint32_t)(tiles < share ? tiles : share < least ? least : share);
    }
    if (sample_bits(kind.sample) == 16) { /* whole steps */
        const uint64_t steps = total_tiles / NARROW16_STEP / blocks, most = 16;
        return (uint32_t)NARROW16_STEP * (uint32_t)(steps < 1 ? 1 : steps < most ? steps : most);
    }
    /* The 16 warps of a block count a tile each at a time. Few large items, since blocks wait for
     * their slowest warp after each; whole images where they are small, so that each is reported
     * once. */
    if (images >= blocks || share >= 128)
        return 128;
    return (uint32_t)(share >= 32 ? share / 32 * 32 : 32);
}

/* Large items, and if `tapered` a few percent of the work in small ones at the end. */
static void cut_items(WorkImage *image, const Kind &kind, uint32_t per_item, bool tapered)
{
    const uint64_t large = image->tiles / per_item;
    uint32_t small = per_item / 4;
    if (sample_is_narrow(kind.sample))
        small = small < 32 ? 32 : small / 32 * 32; /* a tile a warp; NARROW16_STEP */
    if (sample_bits(kind.sample) == 16)
        small = per_item < 4 * 32 ? per_item / 64 * 32 : 4 * 32;
    if (!sample_is_narrow(kind.sample)) {
        const uint32_t least = wide_groups(kind);
        small = small < least ? least : small / least * least;
    }
    /* Blocks end when the slowest does: the small ones take as long as half a large one. */
    const uint64_t tail = sample_bits(kind.sample) == 16 ? 8 : 4;
    tapered = tapered && small > 0 && small < per_item && large >= 8;
    image->tiles_per_item = per_item;
    image->tiles_per_small = tapered ? small : per_item;
    image->large_items = (uint32_t)(tapered ? large - large / tail : large);
    const uint64_t left = image->tiles - (uint64_t)image->large_items * per_item;
    image->items = image->large_items +
                   (uint32_t)((left + image->tiles_per_small - 1) / image->tiles_per_small);
}

/* ---- One launch ------------------------------------------------------------------------------ */

static ImgstatResult run_kernels(const Launch *launch, const Kind &kind, ImgstatError *err)
{
    Launch part = *launch;
    const unsigned group = 4;
    for (unsigned c = 0; c < kind.channels; c += group) {
        const unsigned n = kind.channels - c < group ? kind.channels - c : group;
        part.work.channel0 = c;
        if (sample_bits(kind.sample) == 8)
            IMGSTAT_TRY(launch_narrow8(&part, n, kind.plain, err));
        else if (sample_bits(kind.sample) == 16)
            IMGSTAT_TRY(launch_narrow16(&part, n, kind.plain, err));
        else if (sample_is_float(kind.sample))
            IMGSTAT_TRY(launch_wide_float(&part, kind.sample, n, kind.plain, err));
        else
            IMGSTAT_TRY(launch_wide_integer(&part, kind.sample, n, kind.plain, err));
    }
    return IMGSTAT_OK;
}

size_t state_bytes(const Kind &kind, size_t n)
{
    const unsigned channels = kind.channels < 4 ? kind.channels : 4;
    if (!sample_is_narrow(kind.sample))
        return n * wide_state_bytes(channels);
    if (sample_bits(kind.sample) == 8)
        return n * narrow_state_bytes();
    return channels * (n * narrow_state_bytes() + narrow16_pack_bytes());
}

/* Makes room for descriptions in a slot. It is in use until its event `used`, to be recorded
 * behind the launch. */
static ImgstatResult begin_upload(CudaDevice *device, DescSlot *slot, size_t bytes,
                                  ImgstatError *err)
{
    if (slot->busy)
        CUDA_TRY(device, err, cudaEventSynchronize(slot->used));
    slot->busy = false;
    IMGSTAT_TRY(cuda_reserve_host(device, &slot->pinned, bytes, err));
    return cuda_reserve(device, &slot->device, bytes, false, err);
}

/* Copies them to the device, while kernels before are at work. If the launch may begin early the
 * host waits for that, which takes some 10 us, and not the stream: then it could not. */
static ImgstatResult end_upload(CudaDevice *device, DescSlot *slot, size_t bytes, ImgstatError *err)
{
    CUDA_TRY(device, err,
             cudaMemcpyAsync(slot->device.memory, slot->pinned.memory, bytes,
                             cudaMemcpyHostToDevice, device->copies));
    CUDA_TRY(device, err, cudaEventRecord(slot->copied, device->copies));
    if (device->order.may_overlap())
        CUDA_TRY(device, err, cudaEventSynchronize(slot->copied));
    else
        CUDA_TRY(device, err, cudaStreamWaitEvent(device->stream, slot->copied, 0));
    return IMGSTAT_OK;
}

static ImgstatResult upload_work(CudaDevice *device, Launch *launch, const WorkImage *images,
                                 size_t n, DescSlot *slot, ImgstatError *err)
{
    const size_t table = n * sizeof *images;
    const bool single = launch->work.n_items == n; /* an item an image */
    const size_t bytes = table + (single ? 0 : launch->work.n_items * sizeof(uint32_t));
    IMGSTAT_TRY(begin_upload(device, slot, bytes, err));
    memcpy(slot->pinned.memory, images, table);
    uint32_t *of_item = (uint32_t *)((char *)slot->pinned.memory + table);
    for (size_t i = 0; i < n && !single; i++) {
        for (uint32_t k = 0; k < images[i].items; k++)
            *of_item++ = (uint32_t)i;
    }
    IMGSTAT_TRY(end_upload(device, slot, bytes, err));
    launch->work.images = (const WorkImage *)slot->device.memory;
    if (!single)
        launch->work.image_of_item = (const uint32_t *)((char *)slot->device.memory + table);
    return IMGSTAT_OK;
}

/* Short rows have small tiles. */
static uint64_t average_tile_bytes(const Kind &kind, uint64_t pixels, uint64_t tiles)
{
    return pixels / tiles * kind.channels * sample_size(kind.sample);
}

static bool same_tiles(const WorkImage &a, const WorkImage &b)
{
    return a.tiles == b.tiles && a.tiles_per_row == b.tiles_per_row;
}

ImgstatResult launch_images(CudaDevice *device, const LaunchPlace &place, const Kind &kind,
                            WorkImage *images, size_t n, bool distinct, ImgstatError *err)
{
    uint64_t total = 0, pixels = 0;
    for (size_t i = 0; i < n; i++) {
        total += images[i].tiles;
        pixels += images[i].rows * images[i].row_pixels;
    }
    if (total == 0)
        return IMGSTAT_OK;
    const uint64_t average = average_tile_bytes(kind, pixels, total);
    const uint32_t per_item = item_tiles(device, kind, total, n, average);

    Launch launch = {};
    launch.device = device;
    launch.stream = place.stream;
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && same_tiles(images[i], images[i - 1])) {
            images[i].tiles_per_item = images[i - 1].tiles_per_item;
            images[i].tiles_per_small = images[i - 1].tiles_per_small;
            images[i].large_items = images[i - 1].large_items;
            images[i].items = images[i - 1].items;
        } else {
            cut_items(&images[i], kind, per_item, n == 1);
        }
        images[i].first_item = launch.work.n_items;
        launch.work.n_items += images[i].items; /* 2^32 items would be 2^45 bytes and more */
    }
    launch.work.n_images = (uint32_t)n;
    launch.work.distinct = distinct;
    launch.work.shared = place.queue;
    launch.work.state = place.state;
    if (!place.state) {
        IMGSTAT_TRY(cuda_reserve(device, &device->state, state_bytes(kind, n), true, err));
        launch.work.state = device->state.memory;
    }
    if (n == 1) {
        launch.work.only = images[0];
        return run_kernels(&launch, kind, err);
    }
    DescSlot *slot = &device->desc[device->desc_next++ % DESC_SLOTS];
    IMGSTAT_TRY(upload_work(device, &launch, images, n, slot, err));
    IMGSTAT_TRY(run_kernels(&launch, kind, err));
    CUDA_TRY(device, err, cudaEventRecord(slot->used, launch.stream));
    slot->busy = true;
    return IMGSTAT_OK;
}

/* Describes a launch of images that are like a model, if their items can be numbered. */
static bool describe_alike(CudaDevice *device, const LaunchPlace &place, const Kind &kind,
                           const WorkImage *model, size_t n, bool distinct, Launch *launch)
{
    const uint64_t average =
        average_tile_bytes(kind, model->rows * model->row_pixels, model->tiles);
    const uint32_t per_item = item_tiles(device, kind, n * model->tiles, n, average);
    *launch = Launch{};
    launch->device = device;
    launch->stream = place.stream;
    launch->work.only = *model;
    cut_items(&launch->work.only, kind, per_item, false);
    const uint64_t each = launch->work.only.items;
    if (n > INT32_MAX / each || (each > 1 && n > UINT32_MAX / each / each)) /* exact till then */
        return false;
    launch->work.items_each = (uint32_t)each;
    launch->work.each_inverse = each > 1 ? (uint32_t)(UINT32_MAX / each + 1) : 0;
    launch->work.n_images = (uint32_t)n;
    launch->work.n_items = (uint32_t)(n * each);
    launch->work.distinct = distinct;
    launch->work.shared = place.queue;
    launch->work.state = place.state;
    return true;
}

ImgstatResult launch_alike(CudaDevice *device, const LaunchPlace &place, const Kind &kind,
                           const WorkImage *model, const WorkPlace *places, size_t n, bool distinct,
                           bool *done, ImgstatError *err)
{
    Launch launch;
    *done = describe_alike(device, place, kind, model, n, distinct, &launch);
    if (!*done)
        return IMGSTAT_OK;
    IMGSTAT_TRY(cuda_reserve(device, &device->state, state_bytes(kind, n), true, err));
    launch.work.state = device->state.memory;
    DescSlot *slot = &device->desc[device->desc_next++ % DESC_SLOTS];
    const size_t bytes = n * sizeof *places;
    IMGSTAT_TRY(begin_upload(device, slot, bytes, err));
    memcpy(slot->pinned.memory, places, bytes);
    IMGSTAT_TRY(end_upload(device, slot, bytes, err));
    launch.work.places = (const WorkPlace *)slot->device.memory;
    IMGSTAT_TRY(run_kernels(&launch, kind, err));
    CUDA_TRY(device, err, cudaEventRecord(slot->used, launch.stream));
    slot->busy = true;
    return IMGSTAT_OK;
}

/*
 * place_images: says where the images of a series and their records lie.
 *
 *   Idea      An image a thread.
 *   Memory    writes n places.
 *   Launch    <<<(n + PLACE_THREADS - 1) / PLACE_THREADS, PLACE_THREADS>>>.
 *   Result    places[i] is that of the model, i steps on.
 */
enum { PLACE_THREADS = 256 };
static __global__ void __launch_bounds__(PLACE_THREADS)
    place_images(WorkPlace model, int64_t step, uint64_t record_bytes, uint32_t n,
                 WorkPlace *places)
{
    const uint32_t i = blockIdx.x * PLACE_THREADS + threadIdx.x;
    if (i >= n)
        return;
    WorkPlace place = model;
    place.pixels += (int64_t)i * step;
    place.tally = (Tally *)((char *)place.tally + i * record_bytes);
    place.bins = (uint64_t *)((char *)place.bins + i * record_bytes);
    places[i] = place;
}

ImgstatResult launch_series(CudaDevice *device, const LaunchPlace &place, const Kind &kind,
                            const WorkImage *first, const DeviceSeries *series, size_t record_bytes,
                            WorkPlace *places, bool *done, ImgstatError *err)
{
    const unsigned blocks = (unsigned)((series->n + PLACE_THREADS - 1) / PLACE_THREADS);
    const WorkPlace model = {first->pixels, first->first_at, first->tally, first->bins};
    Launch launch;
    *done = describe_alike(device, place, kind, first, series->n, true, &launch);
    if (!*done)
        return IMGSTAT_OK;
    launch.work.places = places;
    place_images<<<blocks, PLACE_THREADS, 0, place.stream>>>(model, series->step, record_bytes,
                                                             (uint32_t)series->n, places);
    IMGSTAT_TRY(cuda_launched(device, place.stream, "place_images", err));
    return run_kernels(&launch, kind, err);
}
