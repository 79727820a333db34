/* SPDX-License-Identifier: MIT */
/* measure.cu: the measure slot: images described for kernels, sorted by kind, launched together. */
#include "measure.cuh"

#include <stdlib.h>

/* A launch begins while the host describes the images of the next: first few, so that the device
 * has something to do soon, then more and more. */
enum { FIRST_IMAGES = 4, MORE_IMAGES = 4, LAUNCH_IMAGES = 8192 }; /* the first: a multiprocessor */
/* Pieces of one image that a launch adds up: 2^26 * 10 terms < 2^30 (exact.h). */
static const uint64_t LAUNCH_PIECES = 1ull << 26;
/* Bytes of an item: a few microseconds of a block's share of the memory. */
enum { ITEM_BYTES = 128 << 10 };

/* What the images of one launch have in common. */
struct Kind {
    ImgstatSample sample;
    uint16_t channels;     /* of the images */
    bool plain, bins, cdf; /* the records have the latter */
};

static bool same_kind(const Kind &a, const Kind &b)
{
    return a.sample == b.sample && a.channels == b.channels && a.plain == b.plain &&
           a.bins == b.bins && a.cdf == b.cdf;
}

static size_t sample_size(ImgstatSample sample)
{
    return sample_bits(sample) / 8;
}

static bool rows_aligned(const ImagePro *image, size_t bytes)
{
    const uint64_t all = image->device.address | (image->height == 1 ? 0 : image->pitch);
    return (all & (bytes - 1)) == 0; /* bytes is a power of two */
}

/* Whether rows follow each other without gaps, so that the image is one long row. */
bool image_is_flat(const ImagePro *image)
{
    const size_t row_bytes = image_samples_per_row(image) * sample_size(image->sample);
    return image->height == 1 ||
           (image->pitch == row_bytes && (!image->mask || image->mask_pitch == image->width));
}

static bool is_wide_float(ImgstatSample sample)
{
    return sample == IMGSTAT_F32 || sample == IMGSTAT_F64;
}

static Kind kind_of(const ImagePro *image, const DeviceRecord *record)
{
    Kind kind = {image->sample, image->channels, image->mask == NULL, false, false};
    kind.cdf = record && record_parts_cdf(record->sample, record->parts);
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

/* Pixels of a unit, and whether plain units are counted in bytes from a 16-byte boundary. */
static uint64_t unit_size(const Kind &kind, bool *bytes)
{
    *bytes = kind.plain && sample_is_narrow(kind.sample);
    if (!sample_is_narrow(kind.sample))
        return PIECE;
    if (sample_bits(kind.sample) == 16)
        return (uint64_t)(kind.plain ? NARROW16_UNIT : NARROW16_PIXELS);
    if (!kind.plain)
        return NARROW8_PIXELS;
    return (uint64_t)(kind.channels == 3 ? NARROW8_UNIT3 : NARROW8_UNIT);
}

void work_describe(WorkImage *out, const ImagePro *image, uint64_t unit, bool unit_bytes,
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
    /* A unit counted in bytes begins at the 16-byte boundary before its row. */
    const bool alike = flat || image->pitch % 16 == 0;
    const uint64_t early = alike ? image->device.address % 16 : 15;
    const uint64_t extent =
        unit_bytes ? out->row_pixels * image->channels * bytes + early : out->row_pixels;
    out->units_per_row = (extent + unit - 1) / unit;
    out->units = out->units_per_row * out->rows;
    out->channels = image->channels;
    out->sample = image->sample;
    out->has_nodata = image->has_nodata;
    out->nodata_key = image->nodata_key;
}

/* Pieces that a block of measure_wide takes at a time. */
static uint32_t wide_takers(const Kind &kind)
{
    const unsigned channels = kind.channels < 4 ? kind.channels : 4;
    return wide_warps(channels) /
           (kind.plain ? wide_group(channels, (unsigned)sample_size(kind.sample)) : 1);
}

/* Units an item: large enough that what an item costs does not count, small enough that the
 * machine is full and blocks end together. */
static uint32_t item_units(const CudaDevice *device, const Kind &kind, uint64_t total_units,
                           uint64_t images, uint64_t unit_bytes)
{
    const uint64_t blocks = 4u * (unsigned)device->properties.multiProcessorCount;
    const uint64_t share = total_units / (2 * blocks) + 1;
    if (!sample_is_narrow(kind.sample)) {
        const uint32_t least = wide_takers(kind);
        uint64_t units = ITEM_BYTES / (unit_bytes ? unit_bytes : 1);
        units = units < least ? least : units > 512 ? 512 : units;
        return (uint32_t)(units < share ? units : share < least ? least : share);
    }
    if (sample_bits(kind.sample) == 16) { /* whole steps */
        const uint64_t steps = total_units / NARROW16_STEP / blocks, most = 16;
        return (uint32_t)NARROW16_STEP * (uint32_t)(steps < 1 ? 1 : steps < most ? steps : most);
    }
    /* 32 warps take a unit each at a time. Few large items, since blocks wait for their slowest
     * warp after each; whole images where they are small, so that each is reported once. */
    if (images >= blocks || share >= 128)
        return 128;
    return (uint32_t)(share >= 32 ? share / 32 * 32 : 32);
}

/* Large items, and if `tapered` a few percent of the work in small ones at the end. */
static void cut_items(WorkImage *image, const Kind &kind, uint32_t per_item, bool tapered)
{
    const uint64_t large = image->units / per_item;
    uint32_t small = per_item / 4;
    if (sample_is_narrow(kind.sample))
        small = small < 32 ? 32 : small / 32 * 32; /* a unit a warp; NARROW16_STEP */
    if (sample_bits(kind.sample) == 16)
        small = per_item < 4 * 32 ? per_item / 64 * 32 : 4 * 32;
    if (!sample_is_narrow(kind.sample)) {
        const uint32_t least = wide_takers(kind);
        small = small < least ? least : small / least * least;
    }
    /* Blocks end when the slowest does: the small ones take as long as half a large one. */
    const uint64_t tail = sample_bits(kind.sample) == 16 ? 8 : 4;
    tapered = tapered && small > 0 && small < per_item && large >= 8;
    image->units_per_item = per_item;
    image->units_per_small = tapered ? small : per_item;
    image->large_items = (uint32_t)(tapered ? large - large / tail : large);
    const uint64_t left = image->units - (uint64_t)image->large_items * per_item;
    image->items = image->large_items +
                   (uint32_t)((left + image->units_per_small - 1) / image->units_per_small);
}

/* ---- One launch ------------------------------------------------------------------------------ */

static ImgstatResult run_kernels(const Launch *launch, const Kind &kind, ImgstatError *err)
{
    Launch part = *launch;
    part.work.cdf = kind.cdf;
    const unsigned group = 4;
    for (unsigned c = 0; c < kind.channels; c += group) {
        const unsigned n = kind.channels - c < group ? kind.channels - c : group;
        part.work.channel0 = c;
        if (sample_bits(kind.sample) == 8)
            IMGSTAT_TRY(launch_narrow8(&part, n, kind.plain, err));
        else if (sample_bits(kind.sample) == 16)
            IMGSTAT_TRY(launch_narrow16(&part, n, kind.plain, err));
        else
            IMGSTAT_TRY(launch_wide(&part, kind.sample, n, kind.plain, err));
    }
    return IMGSTAT_OK;
}

/* What n images of a launch need. */
static size_t state_bytes(const Kind &kind, size_t n)
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
    if (device->only_measured)
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

/* Where a launch is ordered and what it works with. */
struct Place {
    cudaStream_t stream;
    QueueMemory *queue;
    void *state; /* NULL: the device's own, which grows */
};

static bool same_units(const WorkImage &a, const WorkImage &b)
{
    return a.units == b.units && a.units_per_row == b.units_per_row;
}

/* Measures n described images of a kind. distinct: no two of them share a record. */
static ImgstatResult launch_images(CudaDevice *device, const Place &place, const Kind &kind,
                                   WorkImage *images, size_t n, bool distinct, ImgstatError *err)
{
    uint64_t total = 0, pixels = 0;
    for (size_t i = 0; i < n; i++) {
        total += images[i].units;
        pixels += images[i].rows * images[i].row_pixels;
    }
    if (total == 0)
        return IMGSTAT_OK;
    const uint64_t pixel_bytes = kind.channels * sample_size(kind.sample);
    const uint64_t average = pixels / total * pixel_bytes; /* bytes a unit; short rows are small */
    const uint32_t per_item = item_units(device, kind, total, n, average);

    Launch launch = {};
    launch.device = device;
    launch.stream = place.stream;
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && same_units(images[i], images[i - 1])) {
            images[i].units_per_item = images[i - 1].units_per_item;
            images[i].units_per_small = images[i - 1].units_per_small;
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

/* ---- All images of a call -------------------------------------------------------------------- */

struct Batch {
    Place place;
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

/* Measures images that are alike and an item each, if these are. */
static ImgstatResult launch_alike(CudaDevice *device, Batch *batch, size_t n, bool distinct,
                                  bool *done, ImgstatError *err)
{
    const WorkImage *model = &batch->images[0];
    Launch launch = {};
    const uint64_t average = model->rows * model->row_pixels * batch->kind.channels;
    const uint32_t per_item = item_units(device, batch->kind, n * model->units, n, average);
    *done = per_item >= model->units;
    if (!*done)
        return IMGSTAT_OK;
    launch.device = device;
    launch.stream = batch->place.stream;
    launch.work.only = *model;
    cut_items(&launch.work.only, batch->kind, per_item, false);
    launch.work.n_items = launch.work.n_images = (uint32_t)n;
    launch.work.distinct = distinct;
    launch.work.shared = batch->place.queue;
    IMGSTAT_TRY(cuda_reserve(device, &device->state, state_bytes(batch->kind, n), true, err));
    launch.work.state = device->state.memory;
    DescSlot *slot = &device->desc[device->desc_next++ % DESC_SLOTS];
    const size_t bytes = n * sizeof *batch->places;
    IMGSTAT_TRY(begin_upload(device, slot, bytes, err));
    memcpy(slot->pinned.memory, batch->places, bytes);
    IMGSTAT_TRY(end_upload(device, slot, bytes, err));
    launch.work.places = (const WorkPlace *)slot->device.memory;
    IMGSTAT_TRY(run_kernels(&launch, batch->kind, err));
    CUDA_TRY(device, err, cudaEventRecord(slot->used, launch.stream));
    slot->busy = true;
    return IMGSTAT_OK;
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
        IMGSTAT_TRY(launch_alike(device, batch, n, distinct, &done, err));
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

/* Describes an image; one with very many pieces goes in several bands. */
static ImgstatResult add_image(CudaDevice *device, Batch *batch, const ImagePro *image,
                               const DeviceRecord *record, ImgstatError *err)
{
    bool unit_bytes;
    const uint64_t unit = unit_size(batch->kind, &unit_bytes);
    const bool by_rows = is_wide_float(image->sample);
    const uint64_t per_row = by_rows ? (image->width + unit - 1) / unit : 1;
    const uint64_t most = by_rows ? LAUNCH_PIECES / (per_row ? per_row : 1) : image->height;
    for (uint32_t first = 0; first < image->height;) {
        const uint32_t left = image->height - first;
        const uint32_t rows = left < most ? left : most > 0 ? (uint32_t)most : 1;
        ImagePro band = image_band(image, first, rows);
        WorkImage work;
        work_describe(&work, &band, unit, unit_bytes, by_rows);
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
    device->only_measured = false;
    *out = *image;
    out->device.address = (uint64_t)(uintptr_t)device->aligned.memory;
    out->pitch = pitch;
    const char *from = (const char *)(uintptr_t)image->device.address;
    char *to = (char *)device->aligned.memory;
    if (image->height == 1) {
        CUDA_TRY(device, err,
                 cudaMemcpyAsync(to, from, row_bytes, cudaMemcpyDeviceToDevice, device->stream));
        return IMGSTAT_OK;
    }
    CUDA_TRY(device, err,
             cudaMemcpy2DAsync(to, pitch, from, image->pitch, row_bytes, image->height,
                               cudaMemcpyDeviceToDevice, device->stream));
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

struct Measure {
    const DeviceRecord *records;
};

static ImgstatResult measure_device_images(void *context, CudaDevice *device,
                                           const ImagePro *images, const uint32_t *origin, size_t n,
                                           ImgstatError *err)
{
    const Measure *measure = (const Measure *)context;
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
    batch.place = Place{device->stream, (QueueMemory *)device->queue, NULL};
    batch.images = (WorkImage *)device->list.memory;
    batch.places = (WorkPlace *)(batch.images + LAUNCH_IMAGES);
    batch.most = (size_t)FIRST_IMAGES * (unsigned)device->properties.multiProcessorCount;
    if (batch.most > LAUNCH_IMAGES)
        batch.most = LAUNCH_IMAGES;
    for (size_t from = 0; from < n; from++) {
        const DeviceRecord *record = &measure->records[origin ? origin[from] : from];
        batch.kind = kind_of(&images[from], record);
        bool seen = false;
        for (size_t i = 0; i < from && !seen; i++)
            seen = same_kind(batch.kind,
                             kind_of(&images[i], &measure->records[origin ? origin[i] : i]));
        if (seen)
            continue;
        bool others = false;
        for (size_t i = from; i < n; i++) {
            record = &measure->records[origin ? origin[i] : i];
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
                batch.kind =
                    kind_of(&images[from], &measure->records[origin ? origin[from] : from]);
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

/* Prefix sums of 65,536 bins a channel; measure_narrow8 makes those of 256 itself. */
static ImgstatResult sum_bins(Device *base, const DeviceRecord *record, ImgstatError *err)
{
    const size_t n = sample_record_bins(record->sample);
    const DevMem bins = {record->mem.address + record->channels * sizeof(Tally),
                         n * sizeof(uint64_t)};
    for (unsigned c = 0; c < record->channels; c++) {
        const DevMem from = {bins.address + c * bins.bytes, bins.bytes};
        const DevMem to = {from.address + record->channels * bins.bytes, bins.bytes};
        IMGSTAT_TRY(base->ops->scan(base, from, to, n, true, err));
    }
    return IMGSTAT_OK;
}

ImgstatResult cuda_measure(Device *base, const ImagePro *images, const DeviceRecord *records,
                           size_t n, ImgstatError *err)
{
    CudaDevice *device = (CudaDevice *)base;
    const bool only_measured = device->only_measured;
    IMGSTAT_TRY(cuda_enter(device, err));
    device->only_measured = only_measured; /* measuring changes no pixels but where it says so */
    if (n > UINT32_MAX)
        return error_set(err, IMGSTAT_ERR_ARG, "too many images in one call");
    IMGSTAT_TRY(check_records(images, records, n, err));
    Measure measure = {records};
    IMGSTAT_TRY(cuda_stage(device, images, n, measure_device_images, &measure, err));
    for (size_t i = 0; i < n; i++) {
        if (sample_bits(records[i].sample) == 16 &&
            record_parts_cdf(records[i].sample, records[i].parts))
            IMGSTAT_TRY(sum_bins(base, &records[i], err));
    }
    return IMGSTAT_OK;
}

/* ---- On the caller's stream ------------------------------------------------------------------ */

size_t cuda_async_bytes(ImgstatSample sample, uint16_t channels)
{
    const Kind kind = {sample, channels, false, false, false};
    return sizeof(QueueMemory) + state_bytes(kind, 1);
}

ImgstatResult cuda_measure_async(Device *base, void *stream, const ImagePro *image,
                                 const DeviceRecord *record, DevMem scratch, ImgstatError *err)
{
    CudaDevice *device = (CudaDevice *)base;
    IMGSTAT_TRY(cuda_enter(device, err));
    if (image->memory != IMGSTAT_CUDA || image->device_id != device->index)
        return error_set(err, IMGSTAT_ERR_ARG, "the pixels are not in the memory of cuda:%d",
                         device->index);
    if (image->width > 0 && image->height > 0 && !rows_aligned(image, sample_size(image->sample)))
        return error_set(err, IMGSTAT_ERR_ARG, "the samples do not lie on their boundaries");
    WorkImage work;
    Batch batch = {};
    batch.place.stream = (cudaStream_t)stream;
    batch.place.queue = (QueueMemory *)(uintptr_t)scratch.address;
    batch.place.state = batch.place.queue + 1;
    batch.kind = kind_of(image, record);
    batch.images = &work;
    batch.most = 1;
    CUDA_TRY(device, err,
             cudaMemsetAsync((void *)(uintptr_t)record->mem.address, 0, record->mem.bytes,
                             batch.place.stream));
    if (image->width > 0 && image->height > 0)
        IMGSTAT_TRY(add_image(device, &batch, image, record, err));
    return launch_batch(device, &batch, err);
}

ImgstatResult cuda_wait_stream(Device *base, void *stream, ImgstatError *err)
{
    CudaDevice *device = (CudaDevice *)base;
    IMGSTAT_TRY(cuda_enter(device, err));
    CUDA_TRY(device, err, cudaStreamSynchronize((cudaStream_t)stream));
    return IMGSTAT_OK;
}
