/* SPDX-License-Identifier: MIT */
/* parted_inflate.h: the kernels that decompress a stream in parts, compiled as C, one after the
 * other. */
#ifndef IMGSTAT_TESTS_PARTED_INFLATE_H
#define IMGSTAT_TESTS_PARTED_INFLATE_H

#include "codec/part_lanes.h"

#include "support.h"

#include <stdlib.h>

/* Decompresses a stream whose places are addresses in this process, if its parts follow each other.
 * *used becomes how many parts and marks made the output. */
static inline InflateVerdict parted_run(const PartedStream *p, size_t *used)
{
    static InflateLanes lanes;
    static BlockSearch search;
    static PartList list;
    static uint8_t window[PART_WINDOW];
    memset(&lanes, POISON, sizeof lanes);
    memset(&search, POISON, sizeof search);
    memset(&list, POISON, sizeof list);
    memset(window, POISON, sizeof window);
    for (uint32_t k = 0; k < p->n_parts; k++)
        part_find(&search, p, k);
    for (uint32_t k = 0; k < p->n_parts; k++)
        part_measure(&lanes, p, k);
    InflateVerdict verdict = parts_join(&list, p);
    *used = 0;
    for (uint32_t k = 0; k < p->n_parts && verdict == INFLATE_RIGHT; k++) {
        verdict = part_write(&lanes, p, k, false);
        if (verdict == INFLATE_RIGHT)
            verdict = part_write(&lanes, p, k, true);
        *used += part_list(p)[k].at != PART_NOWHERE;
        *used += part_marks(p)[k] != 0;
    }
    if (verdict != INFLATE_RIGHT)
        return verdict;
    for (uint32_t g = 0; g < p->n_groups; g++)
        parts_relate(p, g);
    parts_windows(window, p);
    for (uint32_t i = 0; i * PART_OUTPUT_LEAST < p->n_out; i++)
        parts_bytes(p, i);
    return INFLATE_RIGHT;
}

static inline uint64_t poisoned(size_t bytes)
{
    void *const memory = malloc(bytes + !bytes);
    if (!memory)
        abort();
    memset(memory, POISON, bytes);
    return (uint64_t)(uintptr_t)memory;
}

/* Decompresses a stream with memory of exactly the sizes that are wanted. *used: 0: it was decoded
 * in order. */
static inline InflateVerdict parted_inflate(const InflateCall *call, size_t *used)
{
    static InflateLanes lanes;
    PartedStream p = {0};
    p.in = (uint64_t)(uintptr_t)call->in;
    p.out = (uint64_t)(uintptr_t)call->out;
    p.n_in = call->n_in;
    p.before = call->before;
    p.n_out = call->n_out;
    p.window = call->window;
    (void)parted_place(&p, 0);
    const uint64_t memory[] = {
        p.parts = poisoned(p.n_parts * sizeof(StreamPart)),
        p.marks = poisoned(p.n_parts * sizeof(PartMark)),
        p.starts = poisoned((p.n_out / PART_OUTPUT_LEAST + 1) * sizeof(uint32_t)),
        p.windows = poisoned((p.n_groups - 1) * (size_t)PART_WINDOW),
        p.words = poisoned(p.n_out * sizeof(uint16_t)),
    };
    InflateVerdict verdict = parted_run(&p, used);
    if (verdict == INFLATE_IN_ORDER)
        verdict = inflate_by_lanes(&lanes, call);
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        free((void *)(uintptr_t)memory[i]);
    return verdict;
}

#endif
