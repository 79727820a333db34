/* SPDX-License-Identifier: MIT */
/* read_windows.c: counting every key of many windows in one read. Samples are sorted by where they
 * are counted, a few megabytes at a time: the counters of a group of windows fit the cache, and no
 * two threads share one. */
#include "cpu/loop_common.h"
#include "cpu/read.h"
#include "cpu/reference.h"

#include <stdlib.h>

enum {
    WINDOW_KEYS = 65536,
    GROUP_WINDOWS = 8, /* 512 KiB of low counters */
    GROUP_SHIFT = 19,  /* of a code: log2(WINDOW_KEYS * GROUP_WINDOWS) */
    GROUPS = (WINDOWS_MOST + GROUP_WINDOWS - 1) / GROUP_WINDOWS,
    PIECE_SAMPLES = CPU_SCRATCH / 4, /* at least what a rectangle has of a channel */
    /* Pieces of a batch, of which there are two: enough that the counters are worth fetching, and
     * that threads share them out evenly. 1 MiB each. */
    BATCH_LEAST = 8,
    BATCH_A_THREAD = 2
};

/* A code is slot << 16 | digit, the place of a counter. The slot that follows those in use stands
 * for samples in no window. */
struct CpuWindows {
    ImgstatSample sample;
    uint16_t channels, active; /* active: those with windows */
    size_t n;
    unsigned groups;
    uint16_t channel[WINDOWS_MOST]; /* active */
    uint16_t *slot;                 /* active * 65536, by leading bits */
    uint8_t *low;                   /* counts modulo 256 */
    uint32_t *high;  /* the rest of them. Pages of zeros that nobody writes take no memory */
    bool *carried;   /* a slot each: whether high is in use */
    uint32_t *codes; /* 2 * room * PIECE_SAMPLES, each piece sorted by group */
    uint32_t (*start)[GROUPS + 1]; /* of the groups of each piece */
    size_t room;                   /* pieces of a batch */
    unsigned half;                 /* that is being filled: 0 or 1 */
    size_t filled;                 /* pieces of it */
    size_t full;                   /* pieces of the other, not counted so far */
};

static size_t slots_of(const CpuWindows *windows)
{
    return (size_t)windows->groups * GROUP_WINDOWS;
}

/* Neighbours in the list, of which the first may be the most frequent, go to different groups. */
static size_t slot_of(const CpuWindows *windows, size_t i)
{
    return i % windows->groups * GROUP_WINDOWS + i / windows->groups;
}

/* ---- Sorting --------------------------------------------------------------------------------- */

/* Codes of a piece, and how many there are in each group, the last for none. Neighbours add to
 * different counters: else each waits for the one before. */
typedef struct Codes {
    uint32_t *code;
    size_t n;
    uint32_t count[2][GROUPS + 1];
} Codes;

FORCE_INLINE void find_codes(ImgstatSample sample, const Mem32 *x, size_t n, size_t stride,
                             const uint16_t *slot, uint32_t none, Codes *out)
{
    uint32_t *code = out->code + out->n;
    for (size_t i = 0; i < n; i++) {
        const uint32_t key = key32(sample, x[i * stride]), at = slot[key >> 16];
        *code = at << 16 | (key & 0xFFFF);
        code += at != none;
        out->count[i % 2][at / GROUP_WINDOWS]++;
    }
    out->n = (size_t)(code - out->code);
}

/* The same where samples may be masked or nodata. */
static void find_valid(const ImagePro *image, const Mem32 *x, size_t n, const uint8_t *mask,
                       const uint16_t *slot, uint32_t none, Codes *out)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t key = key32(image->sample, x[i * image->channels]);
        const bool valid = (!mask || mask[i]) && !(image->has_nodata && key == image->nodata_key);
        const uint32_t at = valid ? slot[key >> 16] : none;
        out->code[out->n] = at << 16 | (key & 0xFFFF);
        out->n += at != none;
        out->count[i % 2][at / GROUP_WINDOWS]++;
    }
}

static void find_row(const ImagePro *image, const Mem32 *x, size_t n, const uint8_t *mask,
                     const uint16_t *slot, uint32_t none, Codes *out)
{
    const size_t stride = image->channels;
    if (mask || image->has_nodata) {
        find_valid(image, x, n, mask, slot, none, out);
        return;
    }
    switch (image->sample) {
    case IMGSTAT_F32:
        if (stride == 1)
            find_codes(IMGSTAT_F32, x, n, 1, slot, none, out);
        else
            find_codes(IMGSTAT_F32, x, n, stride, slot, none, out);
        break;
    case IMGSTAT_I32:
        find_codes(IMGSTAT_I32, x, n, stride, slot, none, out);
        break;
    default:
        find_codes(IMGSTAT_U32, x, n, stride, slot, none, out);
    }
}

/* Sorts codes by group; start: where each group begins, and the end. */
static void sort_codes(const Codes *codes, unsigned groups, uint32_t *out, uint32_t *start)
{
    uint32_t at[GROUPS], before = 0;
    for (unsigned g = 0; g < groups; g++) {
        start[g] = at[g] = before;
        before += codes->count[0][g] + codes->count[1][g];
    }
    start[groups] = before;
    for (size_t i = 0; i < codes->n; i++)
        out[at[codes->code[i] >> GROUP_SHIFT]++] = codes->code[i];
}

void cpu_windows_piece(const CpuDevice *device, const CpuRect *rect, unsigned channel, size_t piece,
                       unsigned thread)
{
    CpuWindows *const windows = device->windows;
    const size_t place = windows->half * windows->room + windows->filled + piece;
    const uint16_t c = windows->channel[channel];
    const uint16_t *const slot = windows->slot + (size_t)channel * WINDOW_KEYS;
    const uint32_t none = (uint32_t)slots_of(windows);
    Codes codes = {.code = device->thread[thread].scratch};
    for (uint32_t y = rect ? rect->y0 : 0; rect && y < rect->y1; y++) {
        const ImagePro *const image = rect->image;
        const uint8_t *mask = cpu_mask_row(image, y);
        const unsigned char *at =
            image_row(image, y) + ((size_t)rect->x0 * image->channels + c) * 4;
        find_row(image, (const Mem32 *)(const void *)at, rect->x1 - rect->x0,
                 mask ? mask + rect->x0 : NULL, slot, none, &codes);
    }
    sort_codes(&codes, windows->groups, windows->codes + place * PIECE_SAMPLES,
               windows->start[place]);
}

/* ---- Counting -------------------------------------------------------------------------------- */

void cpu_windows_count(CpuWindows *windows, unsigned group)
{
    uint8_t *const low = windows->low;
    const size_t first = (1 - windows->half) * windows->room;
    for (size_t piece = first; piece < first + windows->full; piece++) {
        const uint32_t *const codes = windows->codes + piece * PIECE_SAMPLES;
        const uint32_t end = windows->start[piece][group + 1];
        for (uint32_t i = windows->start[piece][group]; i < end; i++) {
            const uint32_t code = codes[i];
            if (++low[code] == 0) {
                windows->high[code] += 256;
                windows->carried[code >> 16] = true;
            }
        }
    }
}

unsigned cpu_windows_channels(const CpuWindows *windows)
{
    return windows->active;
}

static void turn(CpuWindows *windows)
{
    windows->full = windows->filled;
    windows->filled = 0;
    windows->half = 1 - windows->half;
}

CpuWindowsBatch cpu_windows_batch(CpuWindows *windows, size_t wanted)
{
    if (windows->room - windows->filled < wanted)
        turn(windows);
    return (CpuWindowsBatch){.pieces = windows->room - windows->filled,
                             .groups = windows->full ? windows->groups : 0};
}

void cpu_windows_made(CpuWindows *windows, size_t pieces)
{
    windows->filled += pieces;
    windows->full = 0;
}

static void count_task(void *context, size_t group, unsigned thread)
{
    (void)thread;
    cpu_windows_count(context, (unsigned)group);
}

/* What no batch has counted. */
static void count_rest(CpuDevice *device, CpuWindows *windows)
{
    turn(windows);
    thread_pool_run(device->pool, windows->groups, count_task, windows);
    windows->full = 0;
}

/* ---- The slots ------------------------------------------------------------------------------- */

static void destroy(CpuWindows *windows)
{
    if (!windows)
        return;
    buffer_cache_release(windows->slot);
    buffer_cache_release(windows->low);
    buffer_cache_release(windows->high);
    buffer_cache_release(windows->carried);
    buffer_cache_release(windows->codes);
    buffer_cache_release(windows->start);
    free(windows);
}

static bool reserve(CpuWindows *windows, BufferCache *scratch, unsigned threads)
{
    const size_t slots = slots_of(windows);
    windows->room = (size_t)BATCH_A_THREAD * threads;
    windows->room = windows->room > BATCH_LEAST ? windows->room : BATCH_LEAST;
    windows->slot =
        buffer_cache_acquire(scratch, windows->active * sizeof *windows->slot * WINDOW_KEYS);
    windows->low = buffer_cache_acquire_zeroed(scratch, slots, WINDOW_KEYS);
    windows->high =
        buffer_cache_acquire_zeroed(scratch, slots, WINDOW_KEYS * sizeof *windows->high);
    windows->carried = buffer_cache_acquire_zeroed(scratch, slots, sizeof *windows->carried);
    windows->codes =
        buffer_cache_acquire(scratch, 2 * windows->room * PIECE_SAMPLES * sizeof *windows->codes);
    windows->start = buffer_cache_acquire(scratch, 2 * windows->room * sizeof *windows->start);
    return windows->slot && windows->low && windows->high && windows->carried && windows->codes &&
           windows->start;
}

/* Lists the channels that have windows. */
static void list_channels(CpuWindows *windows, const KeyWindow *window, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint16_t k = 0;
        while (k < windows->active && windows->channel[k] != window[i].channel)
            k++;
        windows->channel[k] = window[i].channel;
        windows->active = (uint16_t)(k == windows->active ? k + 1 : windows->active);
    }
}

/* Finds each window its slot. What is not finite has leading bits of its own, which have none. */
static void fill_slots(CpuWindows *windows, const KeyWindow *window, size_t n)
{
    const bool is_float = sample_is_float(windows->sample);
    const uint64_t least = sample_key_infinity(windows->sample, true) >> 16;
    const uint64_t most = sample_key_infinity(windows->sample, false) >> 16;
    for (size_t i = 0; i < (size_t)windows->active * WINDOW_KEYS; i++)
        windows->slot[i] = (uint16_t)slots_of(windows);
    for (size_t i = 0; i < n; i++) {
        const uint16_t lead = window[i].lead;
        size_t k = 0;
        while (windows->channel[k] != window[i].channel)
            k++;
        if (!is_float || (lead > least && lead < most))
            windows->slot[k * WINDOW_KEYS + lead] = (uint16_t)slot_of(windows, i);
    }
}

ImgstatResult cpu_windows_begin(Device *base, ImgstatSample sample, uint16_t channels,
                                const KeyWindow *windows, size_t n, ImgstatError *err)
{
    CpuDevice *device = (CpuDevice *)base;
    if (device->windows || sample_bits(sample) != 32 || channels == 0 || n == 0 || n > WINDOWS_MOST)
        return error_set(err, IMGSTAT_ERR_ARG, "windows of keys that cannot be counted");
    for (size_t i = 0; i < n; i++)
        if (windows[i].channel >= channels)
            return error_set(err, IMGSTAT_ERR_ARG, "channel %u of an image with %u",
                             windows[i].channel, channels);
    CpuWindows *const made = calloc(1, sizeof *made);
    if (made) {
        made->sample = sample;
        made->channels = channels;
        made->n = n;
        made->groups = (unsigned)((n + GROUP_WINDOWS - 1) / GROUP_WINDOWS);
        list_channels(made, windows, n);
    }
    if (!made || !reserve(made, base->scratch, thread_pool_threads(device->pool))) {
        destroy(made);
        return error_memory(err, n * WINDOW_KEYS * 5, "counters");
    }
    fill_slots(made, windows, n);
    device->windows = made;
    return IMGSTAT_OK;
}

ImgstatResult cpu_windows_check(const CpuDevice *device, const ImagePro *image, ImgstatError *err)
{
    const CpuWindows *const windows = device->windows;
    if (!windows || windows->sample != image->sample || windows->channels != image->channels)
        return error_set(err, IMGSTAT_ERR_ARG, "an image of other samples than the windows");
    return IMGSTAT_OK;
}

typedef struct Finding {
    const CpuWindows *windows;
    KeyWindow *found;
} Finding;

static void find_best(void *context, size_t i, unsigned thread)
{
    const Finding *const finding = context;
    KeyWindow *const found = &finding->found[i];
    const size_t slot = slot_of(finding->windows, i);
    const uint8_t *const low = finding->windows->low + slot * WINDOW_KEYS;
    const uint32_t *const high = finding->windows->high + slot * WINDOW_KEYS;
    (void)thread;
    found->count = 0;
    found->digit = 0;
    for (size_t k = 0; k < WINDOW_KEYS; k++) {
        const uint64_t count = low[k] + (finding->windows->carried[slot] ? high[k] : 0u);
        if (count > found->count) {
            found->count = count;
            found->digit = (uint16_t)k;
        }
    }
}

ImgstatResult cpu_windows_end(Device *base, KeyWindow *windows, size_t n, ImgstatError *err)
{
    CpuDevice *device = (CpuDevice *)base;
    ImgstatResult res = IMGSTAT_OK;
    if (windows && (!device->windows || n != device->windows->n)) {
        res = error_set(err, IMGSTAT_ERR_ARG, "not the windows that were begun");
    } else if (windows) {
        Finding finding = {device->windows, windows};
        count_rest(device, device->windows);
        thread_pool_run(device->pool, n, find_best, &finding);
    }
    destroy(device->windows);
    device->windows = NULL;
    return res;
}
