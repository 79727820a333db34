/* SPDX-License-Identifier: MIT */
/* ranks/digits.cu: further reads of an image: counting keys by digits and by ranges, gathering
 * keys. */
#include "common/dispatch.cuh"
#include "common/tuning.cuh"
#include "common/warp.cuh"
#include "device/measure_launch.cuh"
#include "transfer/map.h"

#include <stdlib.h>

enum { THREADS = RANKS_THREADS, WARPS = THREADS / 32, DIGITS = 65536 };

/* Tiles are parts of a row; warps read them in a fixed order. */
struct ReadImage {
    WorkImage image;
    unsigned channel;
};

/* The key of pixel x of a segment; false if there is none or it is not valid. */
template <typename Raw>
DEVICE bool valid_key(const ReadImage &read, const RowSegment &segment, unsigned x, uint64_t *key)
{
    const Raw *const samples = (const Raw *)segment.samples + read.channel;
    if (x >= segment.n || (segment.mask && !segment.mask[x]))
        return false;
    *key = sample_key(read.image.sample, samples[(size_t)x * read.image.channels]);
    return key_valid(read.image, read.image.sample, *key);
}

/* Calls each(there, key) in all lanes of a warp for 32 pixels at a time; there: the lane has one.
 */
template <typename Raw, typename Each> DEVICE void each_key(const ReadImage &read, const Each &each)
{
    for (uint64_t number = blockIdx.x * WARPS + threadIdx.x / 32; number < read.image.tiles;
         number += (uint64_t)gridDim.x * WARPS) {
        const RowSegment tile = tile_segment(read.image, number, sizeof(Raw));
#pragma unroll 1
        for (unsigned first = 0; first < tile.n; first += 32) {
            uint64_t key = 0;
            const bool there = valid_key<Raw>(read, tile, first + threadIdx.x % 32, &key);
            each(there, key);
        }
    }
}

extern __shared__ __align__(16) unsigned counter[];

/* Counts in shared memory where the table reaches, else in global memory, equal ones of a warp
 * together. All lanes; there: the lane has a key. */
DEVICE void count(uint32_t index, bool there, uint32_t base, uint32_t words, uint64_t *bins)
{
    const bool near = there && index - base < words, far = there && !near;
    const unsigned lane = threadIdx.x % 32;
    if (near)
        atomicAdd(&counter[index - base], 1u);
    if (!__any_sync(ALL_LANES, far))
        return;
    const unsigned matched = __match_any_sync(ALL_LANES, index);
    const unsigned peers = matched & __ballot_sync(ALL_LANES, far);
    if (far && lane == (unsigned)__ffs((int)peers) - 1)
        bin_add(&bins[index], (uint64_t)__popc(peers));
}

DEVICE void table_clear(uint32_t words)
{
    for (uint32_t i = threadIdx.x; i < words; i += THREADS)
        counter[i] = 0;
    __syncthreads();
}

DEVICE void table_flush(uint32_t base, uint32_t words, uint32_t n, uint64_t *bins)
{
    __syncthreads(); /* all is counted */
    for (uint32_t i = threadIdx.x; i < words && base + i < n; i += THREADS) {
        if (counter[i])
            bin_add(&bins[base + i], counter[i]);
    }
}

/*
 * count_digits: counts keys by 16 of their bits, among those whose leading bits are as asked.
 *
 *   Idea      32-bit counters in shared memory for most of the 65,536 digits, placed where the
 *             sample type has them; the rest in global memory, equal digits of a warp together.
 *   Work      about 10 instructions a sample.
 *   Memory    reads n samples once; adds up to 65,536 bins a block.
 *   Launch    one block of 1,024 an SM; warps take tiles in a fixed order.
 *   Requires  samples aligned; base + words <= 65,536. A block counts fewer than 2^32 samples.
 *   Result    added to bins; integers, so every order gives the same.
 */
template <typename Raw>
static __global__ void __launch_bounds__(THREADS, 1)
    count_digits(const __grid_constant__ ReadImage read, unsigned shift, uint64_t prefix,
                 uint32_t base, uint32_t words, uint64_t *bins)
{
    const unsigned above = shift + 16, width = sizeof(Raw) * 8;
    table_clear(words);
    each_key<Raw>(read, [&](bool valid, uint64_t key) {
        const bool there = valid && (above >= width ? 0 : key >> above) == prefix;
        count((uint32_t)(key >> shift) & 0xFFFFu, there, base, words, bins);
    });
    table_flush(base, words, DIGITS, bins);
}

/* What a range count needs on the device. */
struct Range {
    const uint64_t *edge;
    uint64_t *bins;
    uint64_t low, high; /* the outer edges */
    double lo, per_bin;
    uint32_t n_bins;
};

/* The bin of a key between the outer edges: from a guess to the one that holds it, or by halves. */
DEVICE uint32_t range_bin(const Range &range, uint64_t key, double value)
{
    if (range.per_bin == 0) {
        uint32_t low = 0, high = range.n_bins; /* edge[low] <= key < edge[high] */
        while (high - low > 1) {
            const uint32_t middle = low + (high - low) / 2;
            if (__ldg((const unsigned long long *)&range.edge[middle]) <= key)
                low = middle;
            else
                high = middle;
        }
        return low;
    }
    const double guess = (value - range.lo) * range.per_bin;
    const uint32_t last = range.n_bins - 1;
    uint32_t k = guess >= (double)last ? last : guess > 0 ? (uint32_t)guess : 0;
    while (key < __ldg((const unsigned long long *)&range.edge[k]))
        k--;
    while (key >= __ldg((const unsigned long long *)&range.edge[k + 1]))
        k++;
    return k;
}

/*
 * count_range: counts keys between edges.
 *
 *   Idea      The bin is guessed from the value and corrected against the edges, which are exact.
 *   Work      about 20 instructions a sample.
 *   Memory    reads n samples once and edges, mostly cached; adds n_bins a block.
 *   Launch    as count_digits.
 *   Requires  samples aligned, edges ascending, n_bins > 0.
 *   Result    added to bins; integers, so every order gives the same.
 */
template <typename Raw>
static __global__ void __launch_bounds__(THREADS, 1)
    count_range(const __grid_constant__ ReadImage read, const __grid_constant__ Range range,
                uint32_t words)
{
    table_clear(words);
    each_key<Raw>(read, [&](bool valid, uint64_t key) {
        const bool there = valid && key >= range.low && key < range.high;
        const double value = map_value(read.image.sample, key);
        count(there ? range_bin(range, key, value) : 0, there, 0, words, range.bins);
    });
    table_flush(0, words, range.n_bins, range.bins);
}

/*
 * gather_keys: appends the valid keys between two bounds to a list.
 *
 *   Idea      A warp counts its finds among some samples a lane by ballots, and takes room for all
 *             of them at once.
 *   Work      about 10 instructions a sample, an atomic addition a warp and round.
 *   Memory    reads n samples once, writes the keys found.
 *   Launch    as count_digits.
 *   Requires  samples aligned; Key holds their keys.
 *   Result    *found keys; the first `capacity` are written, in any order.
 */
template <typename Raw, typename Key>
static __global__ void __launch_bounds__(THREADS, 1)
    gather_keys(const __grid_constant__ ReadImage read, uint64_t low, uint64_t high,
                uint64_t capacity, Key *keys, unsigned long long *found)
{
    enum { EACH = 8 };
    const unsigned lane = threadIdx.x % 32;
    for (uint64_t number = blockIdx.x * WARPS + threadIdx.x / 32; number < read.image.tiles;
         number += (uint64_t)gridDim.x * WARPS) {
        const RowSegment tile = tile_segment(read.image, number, sizeof(Raw));
        for (unsigned x0 = 0; x0 < tile.n; x0 += 32 * EACH) {
            Key key[EACH];
            unsigned finds[EACH], total = 0;
#pragma unroll
            for (unsigned k = 0; k < EACH; k++) {
                uint64_t own = 0;
                const bool mine = valid_key<Raw>(read, tile, x0 + 32 * k + lane, &own) &&
                                  own >= low && own <= high;
                key[k] = (Key)own;
                finds[k] = __ballot_sync(ALL_LANES, mine);
                total += __popc(finds[k]);
            }
            if (!total)
                continue;
            unsigned long long at = 0;
            if (lane == 0)
                at = atomicAdd(found, (unsigned long long)total);
            at = __shfl_sync(ALL_LANES, at, 0);
#pragma unroll
            for (unsigned k = 0; k < EACH; k++) {
                const unsigned long long own = at + __popc(finds[k] & ((1u << lane) - 1));
                if ((finds[k] >> lane & 1) && own < capacity)
                    keys[own] = key[k];
                at += __popc(finds[k]);
            }
        }
    }
}

/* ---- Host side ------------------------------------------------------------------------------- */

/* Describes a channel of an image. */
static ImgstatResult describe_read(CudaDevice *device, const ImagePro *image, unsigned channel,
                                   ReadImage *out, ImgstatError *err)
{
    ImagePro aligned;
    IMGSTAT_TRY(cuda_align(device, image, &aligned, err));
    work_describe(&out->image, &aligned, PIECE, false, false);
    out->channel = channel;
    assert(channel < image->channels && rows_aligned(&aligned, sample_size(image->sample)));
    return IMGSTAT_OK;
}

/* Blocks of a launch; each counts fewer than 2^32 samples. */
static unsigned grid_size(const CudaDevice *device, const ReadImage *read)
{
    const unsigned blocks = cuda_blocks(device, (read->image.tiles + WARPS - 1) / WARPS, 1);
    assert(blocks > 0 && read->image.tiles / blocks < (1ull << 32) / PIECE - WARPS);
    return blocks;
}

/* Counters that fit shared memory, of so many bins. */
static uint32_t table_words(const CudaDevice *device, uint64_t bins)
{
    const uint64_t room = (uint64_t)(device->max_shared - 1024) / 4;
    return (uint32_t)(bins < room ? bins : room);
}

static ImgstatResult launch_digits(CudaDevice *device, const ImagePro *image, unsigned channel,
                                   unsigned shift, uint64_t prefix, uint64_t *bins,
                                   ImgstatError *err)
{
    const uint32_t words = table_words(device, DIGITS);
    /* Leading digits: small magnitudes are common, so the table leaves out the largest. */
    const bool centered = shift + 16 == sample_bits(image->sample) &&
                          (sample_is_float(image->sample) || sample_is_signed(image->sample));
    const uint32_t base = centered ? (DIGITS - words) / 2 : 0;
    ReadImage read;
    IMGSTAT_TRY(describe_read(device, image, channel, &read, err));
    if (read.image.tiles == 0)
        return IMGSTAT_OK;
    assert(base + words <= DIGITS && shift < sample_bits(image->sample));
    return dispatch_bits(image->sample, [&](auto raw) {
        return cuda_launch(device, device->stream, "count_digits", count_digits<decltype(raw)>,
                           grid_size(device, &read), THREADS, words * 4, err, read, shift, prefix,
                           base, words, bins);
    });
}

ImgstatResult cuda_count_bins(CudaDevice *device, const ImagePro *image, const DeviceRecord *record,
                              ImgstatError *err)
{
    uint64_t *bins = (uint64_t *)((Tally *)(uintptr_t)record->mem.address + record->channels);
    if (cuda_can_count_leading(image))
        return cuda_count_leading(device, image, bins, err);
    for (unsigned c = 0; c < record->channels; c++)
        IMGSTAT_TRY(launch_digits(device, image, c, sample_bits(image->sample) - 16, 0,
                                  bins + (size_t)c * DIGITS, err));
    return IMGSTAT_OK;
}

/* Waits for n counts in device memory. *counts: on the host, until the next call. */
static ImgstatResult fetch_counts(CudaDevice *device, const uint64_t *from, size_t n,
                                  const uint64_t **counts, ImgstatError *err)
{
    IMGSTAT_TRY(cuda_reserve_host(device, &device->host, n * sizeof *from, err));
    CUDA_TRY(device, err,
             cudaMemcpyAsync(device->host.memory, from, n * sizeof *from, cudaMemcpyDeviceToHost,
                             device->stream));
    CUDA_TRY(device, err, cudaStreamSynchronize(device->stream));
    *counts = (const uint64_t *)device->host.memory;
    return IMGSTAT_OK;
}

/* Adds n counts in device memory to host counters. */
static ImgstatResult add_counts(CudaDevice *device, const uint64_t *from, size_t n, uint64_t *to,
                                ImgstatError *err)
{
    const uint64_t *counts;
    IMGSTAT_TRY(fetch_counts(device, from, n, &counts, err));
    for (size_t i = 0; i < n; i++)
        to[i] += counts[i];
    return IMGSTAT_OK;
}

ImgstatResult cuda_count_digits(CudaDevice *device, const ImagePro *image, DigitCount *counts,
                                size_t n, ImgstatError *err)
{
    for (size_t i = 0; i < n; i++)
        if (counts[i].shift >= sample_bits(image->sample))
            return error_set(err, IMGSTAT_ERR_ARG, "a digit outside the keys");
    const size_t bytes = n * DIGITS * sizeof(uint64_t);
    IMGSTAT_TRY(cuda_reserve(device, &device->scratch, bytes, false, err));
    uint64_t *const bins = (uint64_t *)device->scratch.memory;
    CUDA_TRY(device, err, cudaMemsetAsync(bins, 0, bytes, device->stream));
    const auto count = [&](const ImagePro &band) {
        const bool prefixed = band.channels == 1 && cuda_can_count_leading(&band);
        for (size_t k = 0; k < n; k++) {
            const DigitCount &c = counts[k];
            IMGSTAT_TRY(prefixed ? cuda_count_prefixed(device, &band, c.shift, c.prefix,
                                                       bins + k * DIGITS, err)
                                 : launch_digits(device, &band, c.channel, c.shift, c.prefix,
                                                 bins + k * DIGITS, err));
        }
        return IMGSTAT_OK;
    };
    IMGSTAT_TRY(cuda_stage_bands(device, image, count, err));
    for (size_t i = 0; i < n; i++)
        IMGSTAT_TRY(add_counts(device, bins + i * DIGITS, DIGITS, counts[i].bins, err));
    return IMGSTAT_OK;
}

static ImgstatResult launch_range(CudaDevice *device, const ImagePro *image, unsigned channel,
                                  const Range &range, ImgstatError *err)
{
    const uint32_t words = table_words(device, range.n_bins);
    ReadImage read;
    IMGSTAT_TRY(describe_read(device, image, channel, &read, err));
    if (read.image.tiles == 0)
        return IMGSTAT_OK;
    assert(range.n_bins > 0);
    return dispatch_bits(image->sample, [&](auto raw) {
        return cuda_launch(device, device->stream, "count_range", count_range<decltype(raw)>,
                           grid_size(device, &read), THREADS, words * 4, err, read, range, words);
    });
}

ImgstatResult cuda_count_range(CudaDevice *device, const ImagePro *image, RangeCount *count,
                               ImgstatError *err)
{
    const size_t n = count->n_bins, bytes = (2 * n + 1) * sizeof(uint64_t);
    IMGSTAT_TRY(cuda_reserve(device, &device->scratch, bytes, false, err));
    uint64_t *bins = (uint64_t *)device->scratch.memory, *edge = bins + n;
    CUDA_TRY(device, err, cudaMemsetAsync(bins, 0, n * sizeof *bins, device->stream));
    CUDA_TRY(device, err,
             cudaMemcpyAsync(edge, count->edge, (n + 1) * sizeof *edge, cudaMemcpyHostToDevice,
                             device->stream));
    const Range range = {edge,      bins,           count->edge[0], count->edge[n],
                         count->lo, count->per_bin, count->n_bins};
    const auto read = [&](const ImagePro &band) {
        return launch_range(device, &band, count->channel, range, err);
    };
    IMGSTAT_TRY(cuda_stage_bands(device, image, read, err));
    return add_counts(device, bins, n, count->bins, err); /* waits: edges are the caller's again */
}

/* Keys that are gathered: their bounds, the list in device memory and how many it has. */
template <typename Key> struct GatherList {
    uint64_t low, high, capacity;
    Key *keys;
    unsigned long long *found;
};

template <typename Raw, typename Key>
static ImgstatResult launch_gather(CudaDevice *device, const ReadImage &read,
                                   const GatherList<Key> &list, ImgstatError *err)
{
    return cuda_launch(device, device->stream, "gather_keys", gather_keys<Raw, Key>,
                       grid_size(device, &read), THREADS, 0, err, read, list.low, list.high,
                       list.capacity, list.keys, list.found);
}

ImgstatResult cuda_append_keys(CudaDevice *device, const ImagePro *image, uint16_t channel,
                               uint64_t capacity, void *keys, unsigned long long *found,
                               ImgstatError *err)
{
    ReadImage read;
    IMGSTAT_TRY(describe_read(device, image, channel, &read, err));
    if (read.image.tiles == 0)
        return IMGSTAT_OK;
    if (sample_bits(image->sample) == 32)
        return launch_gather<uint32_t, uint32_t>(
            device, read, {0, UINT64_MAX, capacity, (uint32_t *)keys, found}, err);
    assert(sample_bits(image->sample) == 64);
    return launch_gather<uint64_t, uint64_t>(
        device, read, {0, UINT64_MAX, capacity, (uint64_t *)keys, found}, err);
}

/* Starts copying the keys that were found; adds their number to each gather. */
static ImgstatResult take_keys(CudaDevice *device, const uint64_t *found, const uint64_t *keys,
                               KeyGather *gathers, size_t n, ImgstatError *err)
{
    for (size_t i = 0; i < n; i++) {
        KeyGather *const gather = &gathers[i];
        const size_t room = gather->capacity - gather->n;
        if (found[i] > room)
            return pixels_changed(err);
        if (found[i] > 0)
            CUDA_TRY(device, err,
                     cudaMemcpyAsync(gather->keys + gather->n, keys, found[i] * sizeof *keys,
                                     cudaMemcpyDeviceToHost, device->stream));
        gather->n += found[i];
        keys += room;
    }
    return IMGSTAT_OK;
}

ImgstatResult cuda_gather(CudaDevice *device, const ImagePro *image, KeyGather *gathers, size_t n,
                          ImgstatError *err)
{
    size_t room = n, bytes;
    for (size_t i = 0; i < n; i++)
        if (gathers[i].n > gathers[i].capacity ||
            __builtin_add_overflow(room, gathers[i].capacity - gathers[i].n, &room))
            return error_set(err, IMGSTAT_ERR_ARG, "more keys gathered than there is room for");
    if (!size_product(room, sizeof(uint64_t), &bytes))
        return error_memory(err, SIZE_MAX, "keys");
    IMGSTAT_TRY(cuda_reserve(device, &device->scratch, bytes, false, err));
    unsigned long long *const found = (unsigned long long *)device->scratch.memory;
    uint64_t *const keys = (uint64_t *)(found + n);
    CUDA_TRY(device, err, cudaMemsetAsync(found, 0, n * sizeof *found, device->stream));
    const auto append = [&](const ImagePro &band) {
        uint64_t *to = keys;
        for (size_t i = 0; i < n; i++) {
            const KeyGather &gather = gathers[i];
            const size_t left = gather.capacity - gather.n;
            const GatherList<uint64_t> list = {gather.lo, gather.hi, left, to, found + i};
            ReadImage read;
            IMGSTAT_TRY(describe_read(device, &band, gather.channel, &read, err));
            to += left;
            if (read.image.tiles == 0)
                continue;
            IMGSTAT_TRY(dispatch_bits(band.sample, [&](auto raw) {
                return launch_gather<decltype(raw), uint64_t>(device, read, list, err);
            }));
        }
        return IMGSTAT_OK;
    };
    IMGSTAT_TRY(cuda_stage_bands(device, image, append, err));
    const uint64_t *counts;
    IMGSTAT_TRY(fetch_counts(device, (const uint64_t *)found, n, &counts, err));
    const ImgstatResult res = take_keys(device, counts, keys, gathers, n, err);
    CUDA_TRY(device, err, cudaStreamSynchronize(device->stream));
    return res;
}
