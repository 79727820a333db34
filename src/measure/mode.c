/* SPDX-License-Identifier: MIT */
/* mode.c: sorts as many keys at a time as memory allows, and finds the longest run of equal ones.
 * No value is more frequent than its bin of leading key bits, so bins with too few samples are not
 * read. */
#include "measure/mode.h"

#include "measure/key_stream.h"
#include "record/radix_sort.h"

typedef struct Mode {
    BufferCache *cache;
    uint64_t count, key; /* the best so far */
} Mode;

static void add_run(void *context, uint64_t key, uint64_t count)
{
    Mode *const mode = context;
    if (count > mode->count || (count == mode->count && key < mode->key))
        *mode = (Mode){.cache = mode->cache, .count = count, .key = key};
}

static void add_keys(void *context, uint64_t *keys, uint64_t *spare, size_t n, uint64_t most,
                     ThreadPool *pool)
{
    Mode *const mode = context;
    const uint64_t *const sorted = keys_sort_together(pool, mode->cache, keys, spare, n);
    (void)most;
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && sorted[end] == sorted[i]; end++) {
        }
        add_run(mode, sorted[i], end - i);
    }
}

/* Reads the fullest bin first: its mode rules out most other bins. */
ImgstatResult mode_find(const Record *record, uint16_t channel, FurtherReads reads, uint64_t *key,
                        ImgstatError *err)
{
    const size_t room = mode_room(&reads);
    const Tally *const tally = &record->tally[channel];
    const size_t n = sample_record_bins(record->sample);
    const uint64_t *const bins = record->bins + channel * n;
    Mode mode = {.cache = reads.cache};
    const KeyStream stream = {.sample = record->sample,
                              .channel = channel,
                              .reads = reads,
                              .room = room,
                              .least = &mode.count,
                              .keys = add_keys,
                              .run = add_run,
                              .context = &mode};
    size_t fullest = 0;
    *key = tally->min_key;
    if (tally->min_key == tally->max_key)
        return IMGSTAT_OK;
    for (size_t k = 0; k < n; k++)
        fullest = bins[k] > bins[fullest] ? k : fullest;
    if (tally->n <= room) {
        IMGSTAT_TRY(key_stream_walk(&stream, bins, 0, n, err));
    } else {
        IMGSTAT_TRY(key_stream_walk(&stream, bins, fullest, fullest + 1, err));
        IMGSTAT_TRY(key_stream_walk(&stream, bins, 0, fullest, err));
        IMGSTAT_TRY(key_stream_walk(&stream, bins, fullest + 1, n, err));
    }
    *key = mode.key;
    return IMGSTAT_OK;
}
