/* SPDX-License-Identifier: MIT */
/* common/work_queue.cuh: what the measuring kernels share: images as rows of tiles, tiles dealt out
 * in items, extrema that blocks agree on, records that are merged into. */
#ifndef IMGSTAT_KERNELS_COMMON_WORK_QUEUE_CUH
#define IMGSTAT_KERNELS_COMMON_WORK_QUEUE_CUH

#include "common/sm90.cuh"
#include "common/tuning.cuh"
#include "device/cuda_device.h"

/* One image of a launch. An image without gaps between its rows is one long row, unless its sample
 * type is summed row by row. */
struct WorkImage {
    const unsigned char *pixels;
    const uint8_t *mask; /* NULL: none */
    uint64_t pitch, mask_pitch;
    uint64_t row_pixels, rows;
    uint64_t first_at; /* raster index of the first pixel */
    uint64_t tiles, tiles_per_row;
    uint64_t first_item;
    uint32_t items, large_items; /* the latter come first */
    uint32_t tiles_per_item, tiles_per_small;
    uint32_t channels; /* of the image; a launch measures some of them */
    ImgstatSample sample;
    uint32_t has_nodata;
    uint64_t nodata_key;
    Tally *tally;   /* of channel 0 */
    uint64_t *bins; /* of channel 0; NULL: none */
};

/* What an image of a batch has to itself, where all are alike otherwise; its first item besides. */
struct WorkPlace {
    const unsigned char *pixels;
    uint64_t first_at;
    Tally *tally;
    uint64_t *bins;
};

/* Items are handed out in order, to whichever block is free. */
struct Queue {
    unsigned next;
    unsigned finished; /* blocks; the last one makes the queue ready for the next launch */
};

struct QueueMemory {
    Queue queue;
    unsigned part_next[MEASURE_PARTS]; /* of blocks that count a part of the samples each */
    /* Two images may share a record; a block that merges into it holds the lock of its address. */
    unsigned lock[RECORD_LOCKS];
    /* Where warps fetch the last tiles of an image that has a launch to itself. */
    unsigned tail[TAIL_QUEUES * TAIL_STRIDE];
};

struct Work {
    const WorkImage *images;       /* n_images, or NULL: only */
    const WorkPlace *places;       /* n_images that are like only; or NULL */
    const uint32_t *image_of_item; /* n_items, or NULL: all have as many, items_each */
    QueueMemory *shared;
    void *state;
    uint32_t n_items;      /* and as many as there are blocks more fit 32 bits */
    uint32_t items_each;   /* of an image, if all have as many */
    uint32_t each_inverse; /* 2^32 / items_each, rounded up; 0: items_each is 1 */
    uint32_t n_images;
    uint32_t channel0; /* the first channel that this launch measures */
    uint32_t group;    /* channels that it measures, of samples of 16 bits and more */
    uint32_t shares;   /* into which the values of a channel are divided (histogram16) */
    uint32_t words;    /* of the table in shared memory, where its size varies */
    bool distinct;     /* no two images share a record */
    bool alone;        /* the only image is not cut into items (measure_narrow8) */
    bool early;        /* the launch before changes no pixels: counting may begin before it ends */
    WorkImage only;
};

DEVICE uint32_t work_image_of(const Work &work, uint64_t item)
{
    if (work.image_of_item)
        return __ldg(&work.image_of_item[item]);
    if (work.n_images == 1)
        return 0;
    const uint32_t i = (uint32_t)item; /* a division would keep the block waiting */
    return work.each_inverse ? __umulhi(i, work.each_inverse) : i;
}

/* Word i of the description of an image. */
DEVICE uint32_t image_word(const Work &work, uint32_t number, unsigned i)
{
    const unsigned half = i % 2;
    if (!work.places)
        return ((const uint32_t *)(work.images ? &work.images[number] : &work.only))[i];
    const WorkPlace *place = &work.places[number];
    switch (i / 2 * 8) {
    case offsetof(WorkImage, pixels):
        return ((const uint32_t *)&place->pixels)[half];
    case offsetof(WorkImage, first_at):
        return ((const uint32_t *)&place->first_at)[half];
    case offsetof(WorkImage, tally):
        return ((const uint32_t *)&place->tally)[half];
    case offsetof(WorkImage, bins):
        return ((const uint32_t *)&place->bins)[half];
    case offsetof(WorkImage, first_item):
        return half ? 0 : number * work.items_each;
    default:
        return ((const uint32_t *)&work.only)[i];
    }
}

/* Whether the sample with a key is finite and not nodata. sample: the image's type, or one whose
 * keys are alike. */
DEVICE bool key_valid(const WorkImage &image, ImgstatSample sample, uint64_t key)
{
    return !(image.has_nodata && key == image.nodata_key) &&
           (!sample_is_float(sample) ||
            (key > sample_key_infinity(sample, true) && key < sample_key_infinity(sample, false)));
}

/* Row and place in the row of a tile. Divisions of 64 bits are slow. */
DEVICE void tile_place(const WorkImage &image, uint64_t tile, uint64_t *row, uint64_t *place)
{
    if (image.rows == 1)
        *row = 0;
    else if ((tile | image.tiles_per_row) >> 32 == 0)
        *row = (uint32_t)tile / (uint32_t)image.tiles_per_row;
    else
        *row = tile / image.tiles_per_row;
    *place = tile - *row * image.tiles_per_row;
}

/* The tiles of an item. The last ones of a launch are smaller, so that blocks end together. */
DEVICE void item_tiles(const WorkImage &image, uint64_t item, uint64_t *begin, uint64_t *end)
{
    const uint64_t i = item - image.first_item, large = image.large_items;
    const uint64_t tiles = i < large ? image.tiles_per_item : image.tiles_per_small;
    *begin = i < large ? i * tiles : large * image.tiles_per_item + (i - large) * tiles;
    *end = min(*begin + tiles, image.tiles);
}

/* A segment of a row (docs/float-sums.md): where tiles are segments, a tile. */
struct RowSegment {
    const unsigned char *samples; /* of its first pixel */
    const uint8_t *mask;          /* of its first pixel, or NULL */
    unsigned n;                   /* pixels */
};

DEVICE RowSegment segment_at(const WorkImage &image, uint64_t row, uint64_t x, unsigned bytes)
{
    RowSegment segment;
    segment.samples = image.pixels + row * image.pitch + x * image.channels * bytes;
    segment.mask = image.mask ? image.mask + row * image.mask_pitch + x : NULL;
    segment.n = (unsigned)min((uint64_t)PIECE, image.row_pixels - x);
    return segment;
}

DEVICE RowSegment tile_segment(const WorkImage &image, uint64_t tile, unsigned bytes)
{
    uint64_t row, place;
    tile_place(image, tile, &row, &place);
    return segment_at(image, row, place * PIECE, bytes);
}

/* ---- Extrema --------------------------------------------------------------------------------- */

DEVICE void lock_acquire(unsigned *lock)
{
    while (atomicCAS(lock, 0u, 1u) != 0u)
        __nanosleep(64);
    __threadfence();
}

DEVICE void lock_release(unsigned *lock)
{
    __threadfence();
    atomicExch(lock, 0u);
}

/* The best extremum so far: largest rank, then largest place. Minima rank by inverted key, places
 * are inverted positions: all zero is "none". rank only grows, and place is 0 while rank changes,
 * so a block that reads something better than its own may drop its own. */
struct Extreme {
    unsigned long long rank, place;
    unsigned long long lead; /* the largest rank that a block has, published or not */
    unsigned lock;
    unsigned reserved;
};

DEVICE uint64_t extreme_rank(uint64_t key, bool largest)
{
    return largest ? key : ~key;
}

/* Whether an occurrence at `at` or after it could be the one to keep. */
DEVICE bool extreme_leads(const Extreme *extreme, uint64_t rank, uint64_t at)
{
    const uint64_t best = *(volatile const unsigned long long *)&extreme->rank;
    __threadfence();
    const uint64_t place = *(volatile const unsigned long long *)&extreme->place;
    return rank > best || (rank == best && ~at > place);
}

/* extreme_leads, and publishes the rank that this block has. Of blocks that call at the same time
 * few get true, unless their keys are equal. */
DEVICE bool extreme_needs(Extreme *extreme, uint64_t key, uint64_t at, bool largest)
{
    const uint64_t rank = extreme_rank(key, largest);
    return atomicMax(&extreme->lead, (unsigned long long)rank) <= rank &&
           extreme_leads(extreme, rank, at);
}

/* Publishes an extremum. A block that no longer leads stops waiting for the lock. */
DEVICE void extreme_publish(Extreme *extreme, uint64_t key, uint64_t at, bool largest)
{
    const uint64_t rank = extreme_rank(key, largest), place = ~at;
    volatile unsigned long long *best = &extreme->rank, *best_place = &extreme->place;
    do {
        if (!extreme_leads(extreme, rank, at))
            return;
    } while (atomicCAS(&extreme->lock, 0u, 1u) != 0u);
    __threadfence();
    if (rank > *best) {
        *best_place = 0;
        __threadfence();
        *best = rank;
        __threadfence();
        *best_place = place;
    } else if (rank == *best && place > *best_place) {
        *best_place = place;
    }
    lock_release(&extreme->lock);
}

/* ---- Records --------------------------------------------------------------------------------- */

/* Extrema of one channel of one image, in the form of a tally: 1 and 0 stand for "none". */
struct FoundExtrema {
    uint64_t min_key, max_key, min_at, max_at;
};

/* Returns what the blocks agreed on, and leaves "none" for the next launch. */
DEVICE FoundExtrema extrema_fetch(Extreme *low, Extreme *high)
{
    FoundExtrema found = {1, 0, 0, 0};
    const uint64_t place = __ldcg(&low->place);
    if (place) {
        found.min_key = ~__ldcg(&low->rank);
        found.min_at = ~place;
        found.max_key = __ldcg(&high->rank);
        found.max_at = ~__ldcg(&high->place);
    }
    low->rank = low->place = low->lead = 0;
    high->rank = high->place = high->lead = 0;
    return found;
}

/* As merge_extrema of record.c; n: samples counted in what is merged. The caller holds the lock
 * and adds n itself afterwards. */
DEVICE void tally_merge_extrema(Tally *into, uint64_t n, const FoundExtrema &from)
{
    const uint64_t n0 = __ldcg((const unsigned long long *)&into->n);
    const uint64_t min0 = __ldcg((const unsigned long long *)&into->min_key);
    const uint64_t max0 = __ldcg((const unsigned long long *)&into->max_key);
    const uint64_t min_at0 = __ldcg((const unsigned long long *)&into->min_at);
    const uint64_t max_at0 = __ldcg((const unsigned long long *)&into->max_at);
    const bool has = n0 > 0 && min0 <= max0;

    if (n == 0 || from.min_key > from.max_key) {
        if (!has) {
            into->min_key = n0 || n;
            into->max_key = into->min_at = into->max_at = 0;
        }
        return;
    }
    if (!has || from.min_key < min0 || (from.min_key == min0 && from.min_at < min_at0)) {
        into->min_key = from.min_key;
        into->min_at = from.min_at;
    }
    if (!has || from.max_key > max0 || (from.max_key == max0 && from.max_at < max_at0)) {
        into->max_key = from.max_key;
        into->max_at = from.max_at;
    }
}

DEVICE void tally_add(uint64_t *field, uint64_t n)
{
    *field = __ldcg((const unsigned long long *)field) + n;
}

DEVICE unsigned *record_lock(const Work &work, const Tally *tally)
{
    const uint64_t address = (uint64_t)tally / 64;
    return &work.shared->lock[(address ^ (address >> 10)) % RECORD_LOCKS];
}

/* Called by one thread of each block when it is done with the queues. The last one to come readies
 * them for the next launch, and gets true. */
DEVICE bool queue_release(const Work &work)
{
    QueueMemory *const memory = work.shared;
    if (atomicAdd(&memory->queue.finished, 1u) != gridDim.x - 1)
        return false;
    memory->queue.next = memory->queue.finished = 0;
    for (unsigned i = 0; i < MEASURE_PARTS; i++)
        memory->part_next[i] = 0;
    for (unsigned i = 0; i < TAIL_QUEUES; i++)
        memory->tail[i * TAIL_STRIDE] = 0;
    return true;
}

DEVICE void bin_add(uint64_t *bin, uint64_t n)
{
    atomicAdd((unsigned long long *)bin, (unsigned long long)n);
}

/* ---- Host side ------------------------------------------------------------------------------- */

/* What one launch measures: images of one kind. */
struct Launch {
    CudaDevice *device;
    cudaStream_t stream;
    Work work;
};

/* Launches a kernel that measures and begins while the launch before ends (after_all_before). If
 * that was one of these as well, pixels have not changed since. */
template <typename Kernel>
static ImgstatResult launch_behind(const Launch *launch, Kernel kernel, const char *name,
                                   unsigned blocks, unsigned threads, int shared_bytes,
                                   ImgstatError *err)
{
    CudaDevice *device = launch->device;
    const bool own = launch->stream == device->stream;
    Work work = launch->work;
    work.early = own && device->order.may_overlap();
    IMGSTAT_TRY(cuda_launch_early(device, launch->stream, name, kernel, blocks, threads,
                                  (size_t)shared_bytes, err, work));
    device->order.measured(own);
    return IMGSTAT_OK;
}

/* Each measures channels [work.channel0, work.channel0 + channels) of its images. plain: no mask,
 * and the image has just these channels (wide types: it has no nodata either, and its rows begin on
 * 16 bytes). */
ImgstatResult launch_narrow8(const Launch *launch, unsigned channels, bool plain,
                             ImgstatError *err);
ImgstatResult launch_narrow16(const Launch *launch, unsigned channels, bool plain,
                              ImgstatError *err);
ImgstatResult launch_wide_float(const Launch *launch, ImgstatSample sample, unsigned channels,
                                bool plain, ImgstatError *err);
ImgstatResult launch_wide_integer(const Launch *launch, ImgstatSample sample, unsigned channels,
                                  bool plain, ImgstatError *err);

/* Bytes of state that an image needs, all zero between launches. */
size_t narrow_state_bytes(void);
size_t narrow16_pack_bytes(void); /* a channel, once a launch, after the states */
size_t wide_state_bytes(unsigned channels);

/* Warps of a block that measures so many channels of wide samples (4 unless the image is plain),
 * and how many of them take a segment together if it is plain (else one does): more where segments
 * are large. */
static constexpr __host__ __device__ unsigned wide_warps(unsigned channels)
{
    return channels == 3 ? 6 : channels == 4 ? 8 : 4;
}

static constexpr __host__ __device__ unsigned wide_group(unsigned channels, unsigned sample_bytes)
{
    return channels < 4 ? channels : channels * sample_bytes / 4;
}

/* How images are cut: pixels (plain: bytes) a tile, and tiles an item, for so many bytes in all. */
enum { NARROW8_TILE = 4096, NARROW8_TILE3 = 4608, NARROW8_PIXELS = 1024 };
enum { NARROW16_TILE = 1536, NARROW16_PIXELS = 768, NARROW16_STEP = 32 };

#endif
