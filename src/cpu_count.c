/* SPDX-License-Identifier: MIT */
/* cpu_count.c: further reads of wide types: counting by digits and by ranges, gathering keys. */
#include "cpu_reference.h"

/* Samples that are looked through at once: their keys fit the scratch of a thread. */
enum { KEYS = PIECE };
/* More counters than these are not kept per thread: all threads count into the host's. */
enum { LOCAL_COUNTERS = 1 << 24 };
/* Counters of a thread are emptied before they hold this many samples. */
static const uint64_t PENDING_LIMIT = (uint64_t)1 << 31;

struct Read;

/* What one of the counts or gathers of a call looks for. */
typedef struct Wanted {
    uint16_t channel;
    uint64_t lo, hi; /* keys, both included; lo > hi: none */
    uint64_t *bins;  /* n_bins on the host */
    size_t n_bins;
    size_t tables; /* of n_bins that a thread counts in */
    size_t first;  /* of its counters within a thread's */
} Wanted;

/* One call. */
typedef struct Read {
    CpuDevice *device;
    const ImagePro *image;
    CpuGrid grid;
    Wanted *wanted;
    size_t n;
    bool local; /* counters are kept per thread */
    bool too_many;
    const DigitCount *digits;
    const RangeCount *ranges;
    KeyGather *gathers;
    void (*use)(struct Read *read, CpuThread *thread, size_t i, uint64_t *keys, size_t n);
} Read;

/* The wanted keys of valid samples among [x, x + n) of a row, in order; n <= KEYS. */
static size_t find_keys(const Read *read, const Wanted *wanted, uint32_t y, uint32_t x, uint32_t n,
                        uint64_t *keys)
{
    const ImagePro *image = read->image;
    const size_t bytes = sample_bits(image->sample) / 8, stride = bytes * image->channels;
    const unsigned char *at = image_row(image, y) + x * stride + wanted->channel * bytes;
    const uint8_t *mask = cpu_mask_row(image, y);
    size_t found = 0;
    if (mask) {
        for (uint32_t i = 0; i < n; i++, at += stride) {
            const uint64_t key = sample_key(image->sample, cpu_load(at, bytes));
            keys[found] = key;
            found += mask[x + i] && key >= wanted->lo && key <= wanted->hi;
        }
    } else { /* the last pixel ends with this channel's sample */
        found =
            read->device->loops->select(image->sample, at, (n - 1) * (size_t)image->channels + 1,
                                        image->channels, wanted->lo, wanted->hi, keys);
    }
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

static void add_one(const Read *read, CpuThread *thread, const Wanted *wanted, size_t bin)
{
    if (read->local)
        thread->counts[wanted->first + bin]++;
    else
        __atomic_fetch_add(&wanted->bins[bin], 1, __ATOMIC_RELAXED);
}

static void use_digits(Read *read, CpuThread *thread, size_t i, uint64_t *keys, size_t n)
{
    const unsigned shift = read->digits[i].shift;
    for (size_t k = 0; k < n; k++)
        add_one(read, thread, &read->wanted[i], (keys[k] >> shift) & 0xFFFF);
}

/* The last edge that is not above the key. */
static uint32_t search_bin(const RangeCount *count, uint64_t key)
{
    uint32_t low = 0, high = count->n_bins; /* edge[low] <= key < edge[high] */
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (count->edge[middle] <= key)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The bin of a key between the outer edges: from a guess to the one that holds it. */
static uint32_t range_bin(const RangeCount *count, uint64_t key, double value)
{
    if (count->per_bin == 0)
        return search_bin(count, key);
    const double guess = (value - count->lo) * count->per_bin;
    const uint32_t last = count->n_bins - 1;
    uint32_t k = guess >= (double)last ? last : guess > 0 ? (uint32_t)guess : 0;
    while (key < count->edge[k])
        k--;
    while (key >= count->edge[k + 1])
        k++;
    return k;
}

static void use_range(Read *read, CpuThread *thread, size_t i, uint64_t *keys, size_t n)
{
    const RangeCount *count = &read->ranges[i];
    const ImgstatSample sample = read->image->sample;
    for (size_t k = 0; k < n; k++)
        add_one(read, thread, &read->wanted[i],
                range_bin(count, keys[k], cpu_double(sample, keys[k])));
}

/* The same for whole stretches of wide samples; false if that is not possible. */
static bool count_stretch(const Read *read, CpuThread *thread, size_t i, uint32_t y, uint32_t x,
                          uint32_t n)
{
    const ImagePro *image = read->image;
    const Wanted *wanted = &read->wanted[i];
    const size_t bytes = sample_bits(image->sample) / 8;
    if (!read->local || wanted->tables < 2 || wanted->lo > wanted->hi)
        return false;
    const RangeCount *count = &read->ranges[i];
    const LoopBins bins = {count->edge,    wanted->lo,    wanted->hi,        count->lo,
                           count->per_bin, count->n_bins, image->has_nodata, image->nodata_key};
    const unsigned char *at =
        image_row(image, y) + ((size_t)x * image->channels + wanted->channel) * bytes;
    read->device->loops->count_bins(image->sample, at, n, image->channels, &bins,
                                    thread->counts + wanted->first);
    return true;
}

static void use_gather(Read *read, CpuThread *thread, size_t i, uint64_t *keys, size_t n)
{
    KeyGather *gather = &read->gathers[i];
    (void)thread;
    pthread_mutex_lock(&read->device->lock);
    if (n > gather->capacity - gather->n)
        read->too_many = true;
    else
        memcpy(gather->keys + gather->n, keys, n * sizeof *keys);
    gather->n += read->too_many ? 0 : n;
    pthread_mutex_unlock(&read->device->lock);
}

static void flush(const Read *read, CpuThread *thread)
{
    pthread_mutex_lock(&read->device->lock);
    for (size_t i = 0; i < read->n; i++) {
        const Wanted *wanted = &read->wanted[i];
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

static void read_task(void *context, size_t task, unsigned number)
{
    Read *read = context;
    CpuThread *thread = &read->device->thread[number];
    CpuRect rect = cpu_rect(read->image, &read->grid, task);
    ImagePro rows;
    const uint64_t pixels = (uint64_t)(rect.y1 - rect.y0) * (rect.x1 - rect.x0);
    uint64_t *keys = thread->scratch;

    if (!cpu_rect_fetch(read->device, number, &rect, &rows))
        return;
    Read own = *read;
    own.image = rect.image;
    if (read->local && thread->pending + pixels > PENDING_LIMIT)
        flush(read, thread);
    thread->pending += pixels;
    for (uint32_t y = rect.y0; y < rect.y1; y++) {
        for (uint32_t x = rect.x0, width; x < rect.x1; x += width) {
            width = rect.x1 - x < KEYS ? rect.x1 - x : KEYS;
            for (size_t i = 0; i < read->n; i++) {
                if (read->ranges && count_stretch(&own, thread, i, y, x, width))
                    continue;
                const size_t n = find_keys(&own, &read->wanted[i], y, x, width, keys);
                if (n > 0)
                    read->use(read, thread, i, keys, n);
            }
        }
    }
}

static ImgstatResult reserve(Read *read, size_t counters, ImgstatError *err)
{
    read->local = counters <= LOCAL_COUNTERS;
    for (unsigned t = 0; read->local && t < pool_threads(read->device->pool); t++) {
        CpuThread *thread = &read->device->thread[t];
        thread->pending = 0;
        thread->counts = cpu_memory_reserve(&read->device->counts[t], counters * sizeof(uint32_t));
        if (!thread->counts)
            return error_memory(err, counters * sizeof(uint32_t), "counters");
    }
    return IMGSTAT_OK;
}

/* Whether whole stretches can be counted by the loop for that, in two tables. */
static bool is_stretched(const Read *read, size_t i)
{
    enum { SMALL = 1 << 20 };
    return read->ranges && read->ranges[i].per_bin > 0 && read->ranges[i].n_bins <= SMALL &&
           !sample_is_narrow(read->image->sample) && !read->image->mask;
}

/* Keeps to finite keys, and finds the counters their places. */
static ImgstatResult run(Read *read, ImgstatError *err)
{
    const ImgstatSample sample = read->image->sample;
    size_t counters = 0;
    for (size_t i = 0; i < read->n; i++) {
        Wanted *wanted = &read->wanted[i];
        if (wanted->channel >= read->image->channels)
            return error_set(err, IMGSTAT_ERR_ARG, "channel %u of an image with %u",
                             wanted->channel, read->image->channels);
        if (sample_is_float(sample)) {
            const uint64_t ninf = sample_key_infinity(sample, true);
            const uint64_t pinf = sample_key_infinity(sample, false);
            wanted->lo = wanted->lo > ninf ? wanted->lo : ninf + 1;
            wanted->hi = wanted->hi < pinf ? wanted->hi : pinf - 1;
        }
        wanted->first = counters;
        wanted->tables = wanted->n_bins > 0;
        if (counters <= LOCAL_COUNTERS && wanted->n_bins <= LOCAL_COUNTERS) {
            wanted->tables += is_stretched(read, i);
            counters += wanted->n_bins * wanted->tables;
        } else {
            counters = LOCAL_COUNTERS + 1;
        }
    }
    IMGSTAT_TRY(reserve(read, counters, err));
    if (read->n > 0)
        pool_run(read->device->pool, (size_t)read->grid.segments * read->grid.bands, read_task,
                 read);
    for (unsigned t = 0; read->local && t < pool_threads(read->device->pool); t++)
        flush(read, &read->device->thread[t]);
    return IMGSTAT_OK;
}

static ImgstatResult begin(Device *device, const ImagePro *image, size_t n, Read *read,
                           ImgstatError *err)
{
    CpuDevice *cpu = (CpuDevice *)device;
    if (!device->source)
        IMGSTAT_TRY(cpu_check_image(image, err));
    *read = (Read){.device = cpu, .image = image, .grid = cpu_grid(image), .n = n};
    if (n > SIZE_MAX / sizeof(Wanted))
        return error_set(err, IMGSTAT_ERR_ARG, "too many counts in one call");
    read->wanted = cpu_memory_reserve(&cpu->plan, n * sizeof(Wanted));
    if (!read->wanted)
        return error_memory(err, n * sizeof(Wanted), "the list of counts");
    return IMGSTAT_OK;
}

ImgstatResult cpu_count_digits(Device *device, const ImagePro *image, DigitCount *counts, size_t n,
                               ImgstatError *err)
{
    Read read;
    const uint32_t bits = sample_bits(image->sample);
    IMGSTAT_TRY(begin(device, image, n, &read, err));
    for (size_t i = 0; i < n; i++) {
        const unsigned above = counts[i].shift + 16u;
        const uint64_t rest = above >= 64 ? UINT64_MAX : ((uint64_t)1 << above) - 1;
        if (counts[i].shift >= bits)
            return error_set(err, IMGSTAT_ERR_ARG, "a digit outside the keys");
        /* A prefix longer than the key that is left has no samples. */
        const bool none =
            above >= bits ? counts[i].prefix != 0 : counts[i].prefix >> (bits - above);
        const uint64_t lo = above >= 64 ? 0 : counts[i].prefix << above;
        read.wanted[i] = (Wanted){.channel = counts[i].channel,
                                  .lo = none ? 1 : lo,
                                  .hi = none ? 0 : lo | rest,
                                  .bins = counts[i].bins,
                                  .n_bins = 65536};
    }
    read.digits = counts;
    read.use = use_digits;
    return run(&read, err);
}

ImgstatResult cpu_count_range(Device *device, const ImagePro *image, RangeCount *counts, size_t n,
                              ImgstatError *err)
{
    Read read;
    IMGSTAT_TRY(begin(device, image, n, &read, err));
    for (size_t i = 0; i < n; i++) {
        const uint64_t end = counts[i].n_bins ? counts[i].edge[counts[i].n_bins] : 0;
        read.wanted[i] = (Wanted){.channel = counts[i].channel,
                                  .lo = end ? counts[i].edge[0] : 1,
                                  .hi = end ? end - 1 : 0,
                                  .bins = counts[i].bins,
                                  .n_bins = counts[i].n_bins};
    }
    read.ranges = counts;
    read.use = use_range;
    return run(&read, err);
}

ImgstatResult cpu_gather(Device *device, const ImagePro *image, KeyGather *gathers, size_t n,
                         ImgstatError *err)
{
    Read read;
    IMGSTAT_TRY(begin(device, image, n, &read, err));
    for (size_t i = 0; i < n; i++)
        read.wanted[i] =
            (Wanted){.channel = gathers[i].channel, .lo = gathers[i].lo, .hi = gathers[i].hi};
    read.gathers = gathers;
    read.use = use_gather;
    IMGSTAT_TRY(run(&read, err));
    if (read.too_many)
        return error_set(err, IMGSTAT_ERR_ARG, "more keys in the range than there is room for");
    return IMGSTAT_OK;
}
