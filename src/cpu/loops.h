/* SPDX-License-Identifier: MIT */
/* loops.h: the loops over samples that exist once per instruction set. */
#ifndef IMGSTAT_CPU_LOOPS_H
#define IMGSTAT_CPU_LOOPS_H

#include "base/sample.h"

#include "record/exact_sum.h"

/* Interleaved channels that the loops take; more are taken apart first. */
enum { LOOP_CHANNELS = 4 };
/* Samples that one call takes at most, so that 64-bit partial sums are exact: 2^32 * 2^20 < 2^64.
 */
enum { LOOP_SAMPLES = 1 << 20 };

/* Words between tables of 65,536 counters: 17 cache lines more, so that equal samples of different
 * channels do not meet at one address modulo 4096, where stores and loads are taken for the same.
 */
enum { LOOP_TABLE = 65536 + 272 };

/* Tables that neighbouring bytes of a channel are counted in, and counters between them; the same
 * padding, of one cache line. */
enum { LOOP_BYTE_TABLES = 8, LOOP_BYTE_TABLE = 256 + 16 };
enum { LOOP_BYTES = LOOP_BYTE_TABLES * LOOP_BYTE_TABLE };

/* Counters of one byte between tables of 65,536 of them, padded like the others. */
enum { LOOP_LOW = 65536 + 64 };
/* Such tables that words of a channel are counted in. */
enum { LOOP_LOW_TABLES = 4 };
/* Sums of counters of the first of these, each of as many, and what lies between those of two
 * channels: whole cache lines. */
enum { LOOP_SUMS = 64, LOOP_SUMS_ROW = LOOP_SUMS + 16 };

/* Pairs of interleaved bytes repeat their channels after so many: pair i is counted in table i %
 * them.
 */
static inline unsigned loop_pair_tables(unsigned channels)
{
    return channels % 2 ? channels : channels / 2;
}

/* Counters of bytes; each byte is counted in one of these places. */
typedef struct LoopBytes {
    uint32_t *bytes; /* a channel: LOOP_BYTES */
    uint8_t *pairs;  /* NULL, or loop_pair_tables of LOOP_LOW, modulo 256: the rest is in bytes */
    uint32_t *wide;  /* as many tables of pairs, LOOP_TABLE apart */
} LoopBytes;

/* Counters of words: each is counted in one of these places. */
typedef struct LoopWords {
    uint32_t *wide; /* a channel: LOOP_TABLE */
    uint8_t *low;   /* a channel: LOOP_LOW_TABLES of LOOP_LOW, modulo 256: the rest is in wide */
    uint32_t *sums; /* a channel: LOOP_SUMS, and whether they are out of date; cpu/count_summed.h */
} LoopWords;

/* How bytes are counted, as those before were, in counters of the same kind, and where words have
 * been; {0} before the first, but for slow_bytes. */
typedef struct LoopChoice {
    size_t left; /* bytes that are counted before the next choice */
    bool spans, pairs, wide;
    bool crowded;      /* words have been counted in all low tables, not only in the first */
    bool frequent;     /* the last samples by comparing with few values */
    bool slow_bytes;   /* counters of one byte take the processor longer: cpu_features_slow_bytes */
    bool summed;       /* words have been counted by cpu/count_summed.h */
    unsigned let_pass; /* chances to count words by cpu/count_summed.h that are not taken */
} LoopChoice;

/* Sums of 32-bit integers of a channel. */
typedef struct LoopSums {
    uint64_t sum;       /* two's complement */
    uint64_t low, high; /* squares' sum = low + 2^32 high */
    uint64_t min, max;  /* order keys */
} LoopSums;

/* One piece of a channel of floats, all of them valid. */
typedef struct LoopPiece {
    double d, q, pivot;
    uint64_t min, max; /* order keys */
} LoopPiece;

/* Bins between edges, and the guess where a value lies (RangeCount in device.h). */
typedef struct LoopBins {
    const uint64_t *edge; /* n_bins + 1 keys, ascending */
    uint64_t least, most; /* finite keys between the outer edges, both included */
    double lo, per_bin;   /* per_bin > 0 */
    uint32_t n_bins;      /* at most 2^24 */
    bool has_nodata;
    uint64_t nodata;
} LoopBins;

/* x: n samples of `channels` <= LOOP_CHANNELS interleaved channels, n a multiple of channels. */
typedef struct CpuLoops {
    /* Extrema by key a channel of narrow samples that are valid; min > max where none is. nodata:
     * a key, or NULL. */
    void (*extrema)(ImgstatSample sample, const void *x, size_t n, unsigned channels,
                    const uint64_t *nodata, uint64_t *min, uint64_t *max);
    void (*sums32)(ImgstatSample sample, const void *x, size_t n, unsigned channels, LoopSums *out);
    /* f32, f64; n <= PIECE a channel, > 0. False if a sample is not finite or is nodata: nothing is
     * known then. */
    bool (*piece)(ImgstatSample sample, const void *x, size_t n, unsigned channels,
                  const uint64_t *nodata, LoopPiece *out);
    /* Leading 16 bits of the keys of wide samples. */
    void (*leading)(ImgstatSample sample, const void *x, size_t n, uint16_t *out);
    /* Counts n 16-bit words; notes in choice->crowded if more than the first of low tables are
     * used. */
    void (*count_words)(const void *x, size_t n, unsigned channels, const LoopWords *to,
                        LoopChoice *choice);
    /* Counts n bytes. */
    void (*count_bytes)(const uint8_t *x, size_t n, unsigned channels, const LoopBytes *to,
                        LoopChoice *choice);
    /* Packs the order keys from lo to hi of every `channels`th of the n samples at x (any type, any
     * number of channels), in order; returns how many. */
    size_t (*select)(ImgstatSample sample, const void *x, size_t n, size_t channels, uint64_t lo,
                     uint64_t hi, uint64_t *keys);
    /* Counts every `stride`th of the wide samples at x, n of them, between the edges; neighbours go
     * to two tables of n_bins. */
    void (*count_bins)(ImgstatSample sample, const void *x, size_t n, size_t stride,
                       const LoopBins *bins, uint32_t *counts);
    /* d[i] = value of wide sample x[i * stride] - center, for i < n; 0 for those that are not
     * finite or have the key nodata (NULL: none). */
    void (*distances)(ImgstatSample sample, const void *x, size_t n, size_t stride,
                      const uint64_t *nodata, double center, double *d);
    /* Sums of the powers 1 to 4 of n <= PIECE distances, in the tree of a piece. */
    void (*powers)(const double *d, size_t n, double out[4]);
} CpuLoops;

extern const CpuLoops cpu_loops_portable;
#if defined(__x86_64__)
extern const CpuLoops cpu_loops_avx2, cpu_loops_avx512;
#endif

#endif
