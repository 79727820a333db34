/* SPDX-License-Identifier: MIT */
/* parted_inflate.h: the kernels that decompress a stream in parts, compiled as C, one after the
 * other. */
#ifndef IMGSTAT_TESTS_PARTED_INFLATE_H
#define IMGSTAT_TESTS_PARTED_INFLATE_H

#include "codec/part_lanes.h"

#include "support.h"

#include <stdlib.h>

/* Decompresses a stream from and to memory of exactly that size. *used becomes how many parts made
 * the output; 0: it was decoded in order. */
static inline InflateVerdict parted_inflate(const InflateCall *call, size_t *used)
{
    static InflateLanes lanes;
    static BlockSearch search;
    static PartList list;
    static uint8_t window[PART_WINDOW];
    PartedStream p = {0};
    p.in = (uint64_t)(uintptr_t)call->in;
    p.n_in = call->n_in;
    p.before = call->before;
    p.n_out = call->n_out;
    p.window = call->window;
    (void)parted_place(&p, 0);
    const uint32_t n = p.n_parts;
    const size_t starts_bytes = (call->n_out / PART_OUTPUT_LEAST + 1) * sizeof(uint32_t);
    const size_t words_bytes = call->n_out * sizeof(uint16_t);
    StreamPart *const parts = (StreamPart *)malloc(n * sizeof *parts);
    uint32_t *const starts = (uint32_t *)malloc(starts_bytes);
    uint16_t *const words = (uint16_t *)malloc(words_bytes + !words_bytes);
    PartMark *const marks = (PartMark *)malloc(n * sizeof *marks);
    const size_t windows_bytes = (p.n_groups - 1) * (size_t)PART_WINDOW;
    uint8_t *const windows = (uint8_t *)malloc(windows_bytes + !windows_bytes);
    if (!parts || !starts || !words || !marks || !windows)
        abort();
    memset(&lanes, POISON, sizeof lanes);
    memset(&search, POISON, sizeof search);
    memset(&list, POISON, sizeof list);
    memset(words, POISON, words_bytes);
    memset(starts, POISON, starts_bytes);
    p.parts = (uint64_t)(uintptr_t)parts;
    p.marks = (uint64_t)(uintptr_t)marks;
    p.starts = (uint64_t)(uintptr_t)starts;
    p.windows = (uint64_t)(uintptr_t)windows;
    p.out = (uint64_t)(uintptr_t)call->out;
    p.words = (uint64_t)(uintptr_t)words;
    for (uint32_t k = 0; k < n; k++)
        part_find(&search, &p, k);
    for (uint32_t k = 0; k < n; k++)
        part_measure(&lanes, &p, k);
    InflateVerdict verdict = parts_join(&list, &p);
    *used = 0;
    for (uint32_t k = 0; k < n && verdict == INFLATE_RIGHT; k++)
        for (unsigned is_mark = 0; is_mark < 2 && verdict == INFLATE_RIGHT; is_mark++) {
            verdict = part_write(&lanes, &p, k, is_mark);
            *used += is_mark ? marks[k] != 0 : parts[k].at != PART_NOWHERE;
        }
    if (verdict == INFLATE_RIGHT) {
        for (uint32_t g = 0; g < p.n_groups; g++)
            parts_relate(&p, g);
        parts_windows(window, &p);
        for (uint32_t i = 0; i * PART_OUTPUT_LEAST < p.n_out; i++)
            parts_bytes(&p, i);
    }
    if (verdict == INFLATE_IN_ORDER)
        verdict = inflate_by_lanes(&lanes, call);
    free(parts);
    free(starts);
    free(words);
    free(marks);
    free(windows);
    return verdict;
}

#endif
