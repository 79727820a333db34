/* SPDX-License-Identifier: MIT */
/* key_stream.h: the samples of a channel of a wide type in ascending order, in bounded memory. */
#ifndef IMGSTAT_MEASURE_KEY_STREAM_H
#define IMGSTAT_MEASURE_KEY_STREAM_H

#include "base/thread_pool.h"
#include "device/read_request.h"

/* What to read, and the receiver of the keys. */
typedef struct KeyStream {
    ImgstatSample sample;
    uint16_t channel;
    FurtherReads reads;
    size_t room; /* keys that are gathered at once; each takes 16 bytes */
    const uint64_t
        *least; /* NULL, or bins of fewer samples may be skipped; it may grow meanwhile */
    /* Receives n keys in any order, above all keys before and at most `most`. It may write to both
     * arrays, of n keys each, until it returns. pool may be NULL. */
    void (*keys)(void *context, uint64_t *keys, uint64_t *spare, size_t n, uint64_t most,
                 ThreadPool *pool);
    /* Receives one key, above all keys before, that `count` samples have. */
    void (*run)(void *context, uint64_t key, uint64_t count);
    void *context;
} KeyStream;

/* Sends the samples of bins [first, end) to the receiver. bins: the record's 65,536 counts of the
 * channel by the leading 16 bits of the key. Fails with IMGSTAT_ERR_IO if a read finds other
 * samples than those counts. */
ImgstatResult key_stream_walk(const KeyStream *stream, const uint64_t *bins, size_t first,
                              size_t end, ImgstatError *err);

#endif
