/* SPDX-License-Identifier: MIT */
/* counters.h: the layout of the counters of a partial record. */
#ifndef IMGSTAT_CPU_COUNTERS_H
#define IMGSTAT_CPU_COUNTERS_H

#include "base/image.h"
#include "cpu/loops.h"
#include "record/record.h"

/* Fewest samples of an image that is counted by pairs. For fewer, emptying the tables takes too
 * long. */
enum { PAIRS_FROM = 1 << 20 };

/* 32-bit words of the counters of a channel of words. */
enum {
    WORD_COUNTERS = COUNTERS32_STRIDE + COUNTERS8_TABLES * (COUNTERS8_STRIDE / sizeof(uint32_t))
};

/* Which counters a partial record has. */
typedef enum CpuCounting {
    COUNT_NOTHING, /* no bins */
    COUNT_EXTREMA, /* every sample is a minimum or a maximum: RECORD_EXTREMA */
    COUNT_BYTES,   /* by raw byte: cpu_byte_counters */
    COUNT_PAIRS,   /* by raw byte and by pairs of them: cpu_byte_counters */
    COUNT_WORDS,   /* by raw word: cpu_word_counters */
    COUNT_LEADING  /* by the leading 16 bits of the key: cpu_word_counters */
} CpuCounting;

/* Returns how an image is counted for a record of these parts. */
static inline CpuCounting cpu_counting(const ImagePro *image, unsigned parts)
{
    const uint64_t samples = (uint64_t)image->width * image->height * image->channels;
    if (!record_parts_bins(image->sample, parts))
        return COUNT_NOTHING;
    if ((parts & RECORD_EXTREMA) && !sample_is_float(image->sample) && !image->has_nodata)
        return COUNT_EXTREMA; /* all unmasked samples are valid */
    if (!sample_is_narrow(image->sample))
        return COUNT_LEADING;
    if (sample_bits(image->sample) == 16)
        return COUNT_WORDS;
    return image->channels <= LOOP_CHANNELS && samples >= PAIRS_FROM ? COUNT_PAIRS : COUNT_BYTES;
}

/* Returns how many 32-bit words the counters of an image have. */
static inline size_t cpu_counters(const ImagePro *image, CpuCounting counting)
{
    const size_t channels = image->channels;
    switch (counting) {
    case COUNT_NOTHING:
    case COUNT_EXTREMA:
        return 0;
    case COUNT_BYTES:
        return channels * BYTE_COUNTERS;
    case COUNT_PAIRS:
        return channels * BYTE_COUNTERS +
               loop_pair_tables(image->channels) * (size_t)COUNTERS32_STRIDE;
    default:
        return channels * WORD_COUNTERS;
    }
}

/* Returns the counters of COUNT_BYTES and COUNT_PAIRS. Pairs of a channel begin 48 bytes into a
 * cache line, in the padding of the table: Zen 4 counts frequent low values 1.5 times as fast there
 * as at the start of a line. */
static inline LoopBytes cpu_byte_counters(uint32_t *counts, unsigned channels, CpuCounting counting)
{
    uint32_t *const pairs = counts + channels * (size_t)BYTE_COUNTERS + (channels == 1 ? 12 : 0);
    return (LoopBytes){.bytes = counts, .pairs = counting == COUNT_PAIRS ? pairs : NULL};
}

/* Returns the counters of COUNT_WORDS and COUNT_LEADING. */
static inline LoopWords cpu_word_counters(uint32_t *counts, unsigned channels)
{
    return (LoopWords){.wide = counts,
                       .low = (uint8_t *)(counts + channels * (size_t)COUNTERS32_STRIDE)};
}

#endif
