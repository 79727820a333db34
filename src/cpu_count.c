/* SPDX-License-Identifier: MIT */
/* cpu_count.c: further reads of wide types: counting by digits and by ranges, gathering keys. */
#include "cpu_reference.h"

/* Valid keys of one channel in one stretch of a row, packed. */
enum { KEYS = PIECE };

/* Calls that read one image: the rectangles are tasks. */
typedef struct Read {
    CpuDevice *device;
    const ImagePro *image;
    CpuGrid grid;
    DigitCount *digits;
    RangeCount *ranges;
    KeyGather *gathers;
    size_t n;
    bool too_many;
} Read;

/* The valid keys among samples [x, x + n) of a row, in order; n <= KEYS. */
static size_t valid_keys(const ImagePro *image, uint32_t y, uint32_t x, uint32_t n,
                         uint16_t channel, uint64_t *keys)
{
    const size_t bytes = sample_bits(image->sample) / 8, stride = bytes * image->channels;
    const unsigned char *at = image_row(image, y) + x * stride + channel * bytes;
    const uint8_t *mask = cpu_mask_row(image, y);
    size_t found = 0;
    for (uint32_t i = 0; i < n; i++, at += stride) {
        const uint64_t key = sample_key(image->sample, cpu_load(at, bytes));
        keys[found] = key;
        found += (!mask || mask[x + i]) && cpu_valid(image, key);
    }
    return found;
}

static void add_count(uint64_t *count)
{
    __atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
}

static void count_digits(const DigitCount *count, const uint64_t *keys, size_t n, uint32_t bits)
{
    const unsigned above = count->shift + 16u;
    for (size_t i = 0; i < n; i++) {
        /* A shift by the whole width is not defined in C. */
        const uint64_t leading = above >= 64 || above >= bits ? 0 : keys[i] >> above;
        if (leading == count->prefix)
            add_count(&count->bins[(keys[i] >> count->shift) & 0xFFFF]);
    }
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

static void count_range(const RangeCount *count, ImgstatSample sample, const uint64_t *keys,
                        size_t n)
{
    if (count->n_bins == 0)
        return;
    const uint64_t lo = count->edge[0], hi = count->edge[count->n_bins];
    for (size_t i = 0; i < n; i++) {
        if (keys[i] >= lo && keys[i] < hi)
            add_count(&count->bins[range_bin(count, keys[i], cpu_double(sample, keys[i]))]);
    }
}

/* Room for n keys in the output, taken once for all of them; SIZE_MAX if there is none. */
static size_t take_room(KeyGather *gather, size_t n)
{
    size_t at = __atomic_load_n(&gather->n, __ATOMIC_RELAXED);
    do {
        if (n > gather->capacity - at)
            return SIZE_MAX;
    } while (!__atomic_compare_exchange_n(&gather->n, &at, at + n, false, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    return at;
}

/* keys is overwritten. */
static bool gather_keys(KeyGather *gather, uint64_t *keys, size_t n)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t key = keys[i];
        keys[found] = key;
        found += key >= gather->lo && key <= gather->hi;
    }
    const size_t at = found ? take_room(gather, found) : 0;
    if (at == SIZE_MAX)
        return false;
    if (found)
        memcpy(gather->keys + at, keys, found * sizeof *keys);
    return true;
}

static void digits_task(void *context, size_t task, unsigned thread)
{
    Read *read = context;
    const CpuRect rect = cpu_rect(read->image, &read->grid, task);
    uint64_t *keys = read->device->thread[thread].scratch;
    for (size_t i = 0; i < read->n; i++) {
        for (uint32_t y = rect.y0; y < rect.y1; y++) {
            for (uint32_t x = rect.x0; x < rect.x1; x += KEYS) {
                const uint32_t width = rect.x1 - x < KEYS ? rect.x1 - x : KEYS;
                const size_t n =
                    valid_keys(read->image, y, x, width, read->digits[i].channel, keys);
                count_digits(&read->digits[i], keys, n, sample_bits(read->image->sample));
            }
        }
    }
}

static void range_task(void *context, size_t task, unsigned thread)
{
    Read *read = context;
    const CpuRect rect = cpu_rect(read->image, &read->grid, task);
    uint64_t *keys = read->device->thread[thread].scratch;
    for (size_t i = 0; i < read->n; i++) {
        for (uint32_t y = rect.y0; y < rect.y1; y++) {
            for (uint32_t x = rect.x0; x < rect.x1; x += KEYS) {
                const uint32_t width = rect.x1 - x < KEYS ? rect.x1 - x : KEYS;
                const size_t n =
                    valid_keys(read->image, y, x, width, read->ranges[i].channel, keys);
                count_range(&read->ranges[i], read->image->sample, keys, n);
            }
        }
    }
}

static void gather_task(void *context, size_t task, unsigned thread)
{
    Read *read = context;
    const CpuRect rect = cpu_rect(read->image, &read->grid, task);
    uint64_t *keys = read->device->thread[thread].scratch;
    for (size_t i = 0; i < read->n; i++) {
        for (uint32_t y = rect.y0; y < rect.y1; y++) {
            for (uint32_t x = rect.x0; x < rect.x1; x += KEYS) {
                const uint32_t width = rect.x1 - x < KEYS ? rect.x1 - x : KEYS;
                const size_t n =
                    valid_keys(read->image, y, x, width, read->gathers[i].channel, keys);
                if (!gather_keys(&read->gathers[i], keys, n))
                    __atomic_store_n(&read->too_many, true, __ATOMIC_RELAXED);
            }
        }
    }
}

static ImgstatResult check_channel(const ImagePro *image, uint16_t channel, ImgstatError *err)
{
    if (channel >= image->channels)
        return error_set(err, IMGSTAT_ERR_ARG, "channel %u of an image with %u", channel,
                         image->channels);
    return IMGSTAT_OK;
}

static Read read_of(Device *device, const ImagePro *image, size_t n)
{
    return (Read){.device = (CpuDevice *)device, .image = image, .grid = cpu_grid(image), .n = n};
}

static void read_run(Read *read, void (*work)(void *context, size_t task, unsigned thread))
{
    const size_t tasks = (size_t)read->grid.segments * read->grid.bands;
    if (read->n > 0)
        pool_run(read->device->pool, tasks, work, read);
}

ImgstatResult cpu_count_digits(Device *device, const ImagePro *image, DigitCount *counts, size_t n,
                               ImgstatError *err)
{
    IMGSTAT_TRY(cpu_check_image(image, err));
    for (size_t i = 0; i < n; i++) {
        IMGSTAT_TRY(check_channel(image, counts[i].channel, err));
        if (counts[i].shift >= sample_bits(image->sample))
            return error_set(err, IMGSTAT_ERR_ARG, "a digit outside the keys");
    }
    Read read = read_of(device, image, n);
    read.digits = counts;
    read_run(&read, digits_task);
    return IMGSTAT_OK;
}

ImgstatResult cpu_count_range(Device *device, const ImagePro *image, RangeCount *counts, size_t n,
                              ImgstatError *err)
{
    IMGSTAT_TRY(cpu_check_image(image, err));
    for (size_t i = 0; i < n; i++)
        IMGSTAT_TRY(check_channel(image, counts[i].channel, err));
    Read read = read_of(device, image, n);
    read.ranges = counts;
    read_run(&read, range_task);
    return IMGSTAT_OK;
}

ImgstatResult cpu_gather(Device *device, const ImagePro *image, KeyGather *gathers, size_t n,
                         ImgstatError *err)
{
    IMGSTAT_TRY(cpu_check_image(image, err));
    for (size_t i = 0; i < n; i++)
        IMGSTAT_TRY(check_channel(image, gathers[i].channel, err));
    Read read = read_of(device, image, n);
    read.gathers = gathers;
    read_run(&read, gather_task);
    if (read.too_many)
        return error_set(err, IMGSTAT_ERR_ARG, "more keys in the range than there is room for");
    return IMGSTAT_OK;
}
