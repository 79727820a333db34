/* SPDX-License-Identifier: MIT */
/* memory_estimate.h: the one estimate of the memory that a page takes. */
#ifndef IMGSTAT_TRANSFORM_MEMORY_ESTIMATE_H
#define IMGSTAT_TRANSFORM_MEMORY_ESTIMATE_H

#include "transform/file.h"

/* The largest page that is decoded once and kept, of Pipeline.memory `memory`. */
static inline uint64_t kept_page_bytes(uint64_t memory)
{
    return memory / 4;
}

/* The keys of wide samples that are sorted at a time. */
static inline size_t sort_bytes(uint64_t memory)
{
    return (size_t)(memory / 8);
}

/* The largest strip that is compressed: libtiff holds it six times. */
static inline size_t strip_bytes(uint64_t memory)
{
    return (size_t)(memory / 16);
}

/* The memory that transforming a page takes. */
typedef struct PageMemory {
    uint64_t bytes; /* upper bound of the allocations */
    bool keep;      /* the page is decoded once; its pixels are part of `bytes` */
} PageMemory;

/* Estimates the memory of the page that the decoder has selected, for decoder->options.threads. */
PageMemory page_memory(const Pipeline *pipeline, const Decoder *decoder);

#endif
