/* SPDX-License-Identifier: MIT */
/* memory_estimate.h: the one estimate of the memory that a page takes. */
#ifndef IMGSTAT_TRANSFORM_MEMORY_ESTIMATE_H
#define IMGSTAT_TRANSFORM_MEMORY_ESTIMATE_H

#include "transform/file.h"

/* Of Pipeline.memory: a page up to a quarter is decoded once and kept; keys of wide samples are
 * sorted an eighth at a time; a strip that is compressed is at most a sixteenth, since libtiff
 * holds it six times. */
static inline uint64_t kept_page_bytes(uint64_t memory)
{
    return memory / 4;
}

static inline size_t sort_bytes(uint64_t memory)
{
    return (size_t)(memory / 8);
}

static inline size_t strip_bytes(uint64_t memory)
{
    return (size_t)(memory / 16);
}

typedef struct PageMemory {
    uint64_t bytes; /* upper bound of what transforming the page allocates */
    bool keep;      /* the page is decoded once: its pixels are part of that */
} PageMemory;

/* For the page that the decoder has selected, decoded and encoded by decoder->options.threads. */
PageMemory page_memory(const Pipeline *pipeline, const Decoder *decoder);

#endif
