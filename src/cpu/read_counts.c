/* SPDX-License-Identifier: MIT */
/* read_counts.c: further reads of wide types: counting by digits and by ranges, gathering keys. */
#include "cpu/read.h"

#include "base/search.h"
#include "cpu/reference.h"
#include "transfer/map.h"

/* Samples that are searched at once: their keys fit the scratch of a thread. */
enum { KEYS = PIECE };
/* Largest number of counters that are kept per thread, if those of all threads fit the memory of
 * the device. Otherwise all threads count into those of the host. */
enum { LOCAL_COUNTERS = 1 << 24 };
/* Counters in the smallest page of memory. */
enum { PAGE_COUNTERS = 4096 / sizeof(uint32_t) };
/* Samples after which the counters of a thread are emptied. */
static const uint64_t PENDING_LIMIT = (uint64_t)1 << 31;

/* Finds the wanted keys of valid samples among [x, x + n) of a row, in order; n <= KEYS. */
static size_t find_keys(const CpuLoops *loops, const ImagePro *image, const CpuWanted *wanted,
                        uint32_t y, uint32_t x, uint32_t n, uint64_t *keys)
{
    const size_t bytes = sample_bits(image->sample) / 8, stride = bytes * image->channels;
    const unsigned char *at = image_row(image, y) + x * stride + wanted->channel * bytes;
    const uint8_t *mask = mask_row(image, y);
    /* for the last pixel, reading ends with this channel's sample */
    const size_t found =
        loops->select(image->sample, at, (n - 1) * (size_t)image->channels + 1, image->channels,
                      mask ? mask + x : NULL, wanted->lo, wanted->hi, keys);
    if (!image->has_nodata || image->nodata_key < wanted->lo || image->nodata_key > wanted->hi)
        return found;
    size_t kept = 0;
    for (size_t i = 0; i < found; i++) {
        const uint64_t key = keys[i];
        keys[kept] = key;
        kept += key != image->nodata_key;
    }
    return kept;
}

static void add_one(const CpuRead *read, CpuThread *thread, const CpuWanted *wanted, size_t bin)
{
    if (read->local)
        thread->counts[wanted->first + bin]++;
    else
        __atomic_fetch_add(&wanted->bins[bin], 1, __ATOMIC_RELAXED);
}

static void use_digits(const CpuRead *read, CpuThread *thread, const CpuWanted *wanted,
                       const uint64_t *keys, size_t n)
{
    for (size_t k = 0; k < n; k++)
        add_one(read, thread, wanted, (keys[k] >> wanted->shift) & 0xFFFF);
}

/* Returns the bin of a key between the outer edges, starting from a guess. */
static uint32_t range_bin(const RangeCount *count, uint64_t key, double value)
{
    if (count->per_bin == 0)
        return first_above(count->edge, sizeof *count->edge, count->n_bins, key) - 1;
    const double guess = (value - count->lo) * count->per_bin;
    const uint32_t last = count->n_bins - 1;
    uint32_t k = guess >= (double)last ? last : guess > 0 ? (uint32_t)guess : 0;
    while (key < count->edge[k])
        k--;
    while (key >= count->edge[k + 1])
        k++;
    return k;
}

static void use_range(const CpuRead *read, CpuThread *thread, const CpuWanted *wanted,
                      const uint64_t *keys, size_t n)
{
    const ImgstatSample sample = read->image->sample;
    for (size_t k = 0; k < n; k++)
        add_one(read, thread, wanted,
                range_bin(wanted->range, keys[k], map_value(sample, keys[k])));
}

/* Whether a loop counts whole rows, in two tables. */
static bool has_row_loop(const ImagePro *image, const CpuWanted *wanted)
{
    enum { SMALL = 1 << 20 };
    return wanted->range && wanted->range->per_bin > 0 && wanted->n_bins <= SMALL &&
           !sample_is_narrow(image->sample) && !image->mask;
}

/* Counts a whole row part of wide samples between edges. Returns false if that is not possible. */
static bool count_row(const CpuRead *read, CpuThread *thread, const CpuWanted *wanted,
                      const ImagePro *image, uint32_t y, uint32_t x, uint32_t n)
{
    const RangeCount *const count = wanted->range;
    if (!count || !read->local || wanted->tables < 2 || wanted->lo > wanted->hi)
        return false;
    const size_t bytes = sample_bits(image->sample) / 8;
    const LoopBins bins = {count->edge,    wanted->lo,    wanted->hi,        count->lo,
                           count->per_bin, count->n_bins, image->has_nodata, image->nodata_key};
    const unsigned char *at =
        image_row(image, y) + ((size_t)x * image->channels + wanted->channel) * bytes;
    read->device->loops->count_bins(image->sample, at, n, image->channels, &bins,
                                    thread->counts + wanted->first);
    return true;
}

static void use_gather(CpuRead *read, KeyGather *gather, const uint64_t *keys, size_t n)
{
    pthread_mutex_lock(&read->device->lock);
    if (n > gather->capacity - gather->n)
        read->too_many = true;
    else
        memcpy(gather->keys + gather->n, keys, n * sizeof *keys);
    gather->n += read->too_many ? 0 : n;
    pthread_mutex_unlock(&read->device->lock);
}

static void flush(const CpuRead *read, CpuThread *thread)
{
    if (thread->pending == 0)
        return;
    pthread_mutex_lock(&read->device->lock);
    for (size_t i = 0; i < read->n; i++) {
        const CpuWanted *wanted = &read->wanted[i];
        uint32_t *counts = thread->counts + wanted->first;
        for (size_t t = 0; t < wanted->tables; t++, counts += wanted->n_bins) {
            for (size_t k = 0; k < wanted->n_bins; k++)
                wanted->bins[k] += counts[k];
            memset(counts, 0, wanted->n_bins * sizeof *counts);
        }
    }
    pthread_mutex_unlock(&read->device->lock);
    thread->pending = 0;
}

static void use_keys(CpuRead *read, CpuThread *thread, const CpuWanted *wanted,
                     const uint64_t *keys, size_t n)
{
    if (wanted->gather)
        use_gather(read, wanted->gather, keys, n);
    else if (wanted->range)
        use_range(read, thread, wanted, keys, n);
    else
        use_digits(read, thread, wanted, keys, n);
}

void cpu_counts_rect(CpuRead *read, const CpuRect *rect, unsigned number)
{
    CpuThread *const thread = &read->device->thread[number];
    const ImagePro *const image = rect->image;
    const uint64_t pixels = (uint64_t)(rect->y1 - rect->y0) * (rect->x1 - rect->x0);
    uint64_t *const keys = thread->scratch;

    if (read->local && thread->pending + pixels > PENDING_LIMIT)
        flush(read, thread);
    thread->pending += read->local ? pixels : 0;
    for (uint32_t y = rect->y0; y < rect->y1; y++) {
        for (uint32_t x = rect->x0, width; x < rect->x1; x += width) {
            width = rect->x1 - x < KEYS ? rect->x1 - x : KEYS;
            for (size_t i = 0; i < read->n; i++) {
                const CpuWanted *const wanted = &read->wanted[i];
                if (count_row(read, thread, wanted, image, y, x, width))
                    continue;
                const size_t n = find_keys(read->device->loops, image, wanted, y, x, width, keys);
                if (n > 0)
                    use_keys(read, thread, wanted, keys, n);
            }
        }
    }
}

static ImgstatResult reserve(CpuRead *read, size_t counters, ImgstatError *err)
{
    const unsigned threads = thread_pool_threads(read->device->pool);
    const size_t most = read->request->counter_bytes / sizeof(uint32_t) / threads;
    read->local = counters <= (most > 0 && most < LOCAL_COUNTERS ? most : LOCAL_COUNTERS);
    for (unsigned t = 0; read->local && t < threads; t++) {
        CpuThread *thread = &read->device->thread[t];
        thread->pending = 0;
        thread->counts = cpu_memory_reserve(&read->device->counts[t], counters * sizeof(uint32_t));
        if (!thread->counts)
            return error_memory(err, counters * sizeof(uint32_t), "counters");
        /* Touches every page of the counters: a page that was only read is shared, and becomes its
         * own when written. Doing that here, by one thread, avoids interrupting the processors of
         * all threads while they count. */
        for (size_t i = 0; i < counters; i += PAGE_COUNTERS)
            ((volatile uint32_t *)thread->counts)[i] = 0;
    }
    return IMGSTAT_OK;
}

/* Adds a request to the list, once for each channel of the image that it covers: all but alpha for
 * a joint view, none if it is for another plane. */
static ImgstatResult add_wanted(CpuRead *read, CpuWanted wanted, ImgstatError *err)
{
    const PixelView view = read->view;
    const bool joint = view.channels == VIEW_JOINT;
    const uint16_t channel = wanted.channel, own = read->image->channels;
    const uint16_t channels = joint ? 1 : view.of_plane ? view.of_plane : own;
    if (channel >= channels)
        return error_set(err, IMGSTAT_ERR_ARG, "channel %u of an image with %u", channel, channels);
    for (uint16_t c = 0; c < own; c++) {
        wanted.channel = c;
        if (joint ? c != view.alpha : c + view.first == channel)
            read->wanted[read->n++] = wanted;
    }
    return IMGSTAT_OK;
}

static ImgstatResult list_digits(CpuRead *read, ImgstatError *err)
{
    const uint32_t bits = sample_bits(read->image->sample);
    for (size_t i = 0; i < read->request->n_digits; i++) {
        const DigitCount *const count = &read->request->digits[i];
        const unsigned above = count->shift + 16u;
        const uint64_t rest = above >= 64 ? UINT64_MAX : ((uint64_t)1 << above) - 1;
        if (count->shift >= bits)
            return error_set(err, IMGSTAT_ERR_ARG, "a digit outside the keys");
        /* No sample has a prefix longer than the rest of the key. */
        const bool none = above >= bits ? count->prefix != 0 : count->prefix >> (bits - above);
        const uint64_t lo = above >= 64 ? 0 : count->prefix << above;
        const CpuWanted wanted = {.channel = count->channel,
                                  .shift = count->shift,
                                  .lo = none ? 1 : lo,
                                  .hi = none ? 0 : lo | rest,
                                  .bins = count->bins,
                                  .n_bins = 65536};
        IMGSTAT_TRY(add_wanted(read, wanted, err));
    }
    return IMGSTAT_OK;
}

static ImgstatResult list_ranges(CpuRead *read, ImgstatError *err)
{
    for (size_t i = 0; i < read->request->n_ranges; i++) {
        const RangeCount *const count = &read->request->ranges[i];
        const uint64_t end = count->n_bins ? count->edge[count->n_bins] : 0;
        const CpuWanted wanted = {.channel = count->channel,
                                  .range = count,
                                  .lo = end ? count->edge[0] : 1,
                                  .hi = end ? end - 1 : 0,
                                  .bins = count->bins,
                                  .n_bins = count->n_bins};
        IMGSTAT_TRY(add_wanted(read, wanted, err));
    }
    return IMGSTAT_OK;
}

static ImgstatResult list_gathers(CpuRead *read, ImgstatError *err)
{
    for (size_t i = 0; i < read->request->n_gathers; i++) {
        KeyGather *const gather = &read->request->gathers[i];
        const CpuWanted wanted = {
            .channel = gather->channel, .gather = gather, .lo = gather->lo, .hi = gather->hi};
        IMGSTAT_TRY(add_wanted(read, wanted, err));
    }
    return IMGSTAT_OK;
}

/* Limits requests to finite keys, and gives the counters their places. */
static void place(CpuRead *read, size_t *counters)
{
    const ImgstatSample sample = read->image->sample;
    *counters = 0;
    for (size_t i = 0; i < read->n; i++) {
        CpuWanted *const wanted = &read->wanted[i];
        if (sample_is_float(sample)) {
            const uint64_t ninf = sample_key_infinity(sample, true);
            const uint64_t pinf = sample_key_infinity(sample, false);
            wanted->lo = wanted->lo > ninf ? wanted->lo : ninf + 1;
            wanted->hi = wanted->hi < pinf ? wanted->hi : pinf - 1;
        }
        if (i > 0 && wanted->n_bins > 0 &&
            wanted->bins == wanted[-1].bins) { /* joint channels share counters */
            wanted->first = wanted[-1].first;
            wanted->tables = wanted[-1].tables;
            continue;
        }
        wanted->first = *counters;
        wanted->tables = wanted->n_bins > 0;
        if (*counters <= LOCAL_COUNTERS && wanted->n_bins <= LOCAL_COUNTERS) {
            wanted->tables += has_row_loop(read->image, wanted);
            *counters += wanted->n_bins * wanted->tables;
        } else {
            *counters = LOCAL_COUNTERS + 1;
        }
    }
}

ImgstatResult cpu_counts_begin(CpuRead *read, ImgstatError *err)
{
    const ReadRequest *const request = read->request;
    const size_t each = read->view.channels == VIEW_JOINT ? read->image->channels : 1;
    size_t n, bytes, counters;
    if (__builtin_add_overflow(request->n_digits, request->n_ranges, &n) ||
        __builtin_add_overflow(n, request->n_gathers, &n) || !size_product(n, each, &n) ||
        !size_product(n, sizeof *read->wanted, &bytes))
        return error_set(err, IMGSTAT_ERR_ARG, "too many counts in one call");
    read->wanted = cpu_memory_reserve(&read->device->plan, bytes);
    if (!read->wanted)
        return error_memory(err, bytes, "the list of counts");
    IMGSTAT_TRY(list_digits(read, err));
    IMGSTAT_TRY(list_ranges(read, err));
    IMGSTAT_TRY(list_gathers(read, err));
    place(read, &counters);
    return reserve(read, counters, err);
}

ImgstatResult cpu_counts_end(CpuRead *read, ImgstatError *err)
{
    for (unsigned t = 0; read->local && t < thread_pool_threads(read->device->pool); t++)
        flush(read, &read->device->thread[t]);
    if (read->too_many)
        return pixels_changed(err);
    return IMGSTAT_OK;
}
