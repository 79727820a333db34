/* SPDX-License-Identifier: MIT */
/* loops.h: the loops over samples that exist once per instruction set. */
#ifndef IMGSTAT_CPU_LOOPS_H
#define IMGSTAT_CPU_LOOPS_H

#include "base/cpu_features.h"
#include "base/isa.h"
#include "base/sample.h"
#include "cpu/clahe_map16.h"
#include "cpu/luma_wide.h"
#include "record/exact_sum.h"
#include "transfer/transfer.h"

/* Interleaved channels that the loops take; more are taken apart first. */
enum { LOOP_CHANNELS = 4 };
/* Samples that one call takes at most, so that 64-bit partial sums are exact: 2^32 * 2^20 < 2^64.
 */
enum { LOOP_SAMPLES = 1 << 20 };

/* From one table of 65,536 32-bit counters to the next: 17 cache lines more than they take, so that
 * equal samples of different channels do not meet at one address modulo 4096, where processors take
 * stores and loads for the same. */
enum { COUNTERS32_STRIDE = 65536 + 272 };

/* Tables of 65,536 8-bit counters that the words of a channel are counted in, and counters from one
 * to the next: padded by a cache line. */
enum { COUNTERS8_TABLES = 4, COUNTERS8_STRIDE = 65536 + 64 };

/* Tables of 256 32-bit counters that the bytes of a channel are counted in, at most; counters from
 * one to the next, padded by a cache line; and from one channel to the next. */
enum { BYTE_TABLES = 24, BYTE_STRIDE = 256 + 16, BYTE_COUNTERS = BYTE_TABLES * BYTE_STRIDE };

/* Pairs of interleaved bytes repeat their channels after so many: pair i is counted in table i %
 * them.
 */
static inline unsigned loop_pair_tables(unsigned channels)
{
    return channels % 2 ? channels : channels / 2;
}

/* Tables that bytes of interleaved channels are counted in by turns. A counter that is stored and
 * loaded again within 20 bytes is slow where the next one of its table is another now and then. */
static inline unsigned loop_byte_tables(unsigned channels)
{
    return channels == 1 ? BYTE_TABLES : channels == 2 ? 16 : 8;
}

/* Counters of bytes; each byte is counted in one of these places. */
typedef struct LoopBytes {
    uint32_t *bytes; /* a channel: BYTE_COUNTERS */
    uint32_t *pairs; /* NULL, or loop_pair_tables, COUNTERS32_STRIDE apart */
} LoopBytes;

/* Counters of words; each word is counted in one of these places. */
typedef struct LoopWords {
    uint32_t *wide; /* a channel: COUNTERS32_STRIDE */
    uint8_t *low;   /* a channel: COUNTERS8_TABLES of COUNTERS8_STRIDE, modulo 256; the rest is in
                       wide */
} LoopWords;

/* How an image is counted; {0} before its first samples. */
typedef struct LoopChoice {
    size_t left;     /* bytes that are counted before the next choice */
    bool pairs;      /* bytes: by pairs */
    unsigned tables; /* of each channel that single bytes or words have been counted in: at most */
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

/* Bins between edges, and the guess where a value lies (RangeCount in device/read_request.h). */
typedef struct LoopBins {
    const uint64_t *edge; /* n_bins + 1 keys, ascending */
    uint64_t least, most; /* finite keys between the outer edges, both included */
    double lo, per_bin;   /* per_bin > 0 */
    uint32_t n_bins;      /* at most 2^24 */
    bool has_nodata;
    uint64_t nodata;
} LoopBins;

/* ---- Types of operations that have files of their own ---- */

/* Puts n bytes through tables, 256 bytes for each of at most LOOP_CHANNELS interleaved channels.
 * The first byte is of channel 0; `to` may be `from`. */
typedef void Lut8(const uint8_t *from, size_t n, unsigned channels, const uint8_t *tables,
                  uint8_t *to);
/* Luma of n pixels of `channels` >= 3 samples of `bytes` (1: u8, 2: u16), at any alignment, as
 * samples of the same type: luma_key. */
typedef void LumaNarrow(const void *from, unsigned bytes, unsigned channels, size_t n, void *luma);
/* The colours of such pixels at a new luma, which has the samples' type, as has the range:
 * luma_scale within the range. Further samples are copied. `to` may be `from`. */
typedef void LumaNarrowScale(const void *from, unsigned bytes, unsigned channels, size_t n,
                             const void *luma, const MapRange *range, void *to);
/* Loads n <= LUMA_BLOCK pixels and finds their luma: luma_value. mask: a byte a pixel, NULL: none.
 */
typedef void LumaWideLoad(const LumaWide *wide, const unsigned char *from, const uint8_t *mask,
                          size_t n, LumaBlock *block);
/* Stores the colours of a block at n luma samples of the range's type: luma_scale_value. What
 * pixels without luma get is undefined. */
typedef void LumaWideStore(const LumaWide *wide, const LumaBlock *block, const unsigned char *luma,
                           size_t n, const MapRange *range, unsigned char *to);
/* Maps n samples of a type that doubles hold, every `step`th, by a straight line: map_raw. Returns
 * false, and does nothing, where the map is no line or its output is of another type. */
typedef bool MapLinear(const Map *map, const unsigned char *from, size_t step, size_t n,
                       unsigned char *to);
/* Maps n samples, every `step`th, by a power law: map_raw. map_power_fits holds. */
typedef void MapPower(const Map *map, const unsigned char *from, size_t step, size_t n,
                      unsigned char *to);

enum { KNOT_BLOCK = 512 };

/* Samples, and the knots on both sides. */
typedef struct KnotBlock {
    uint32_t raw[KNOT_BLOCK];
    float x[KNOT_BLOCK]; /* within the knots */
    float left[KNOT_BLOCK], right[KNOT_BLOCK], at[KNOT_BLOCK], before[KNOT_BLOCK];
} KnotBlock;

/* Maps n <= KNOT_BLOCK samples of type f32, whose knots are found, to every `step`th sample. */
typedef void MapKnotsF32(const KnotTable *table, const KnotBlock *block, size_t step, size_t n,
                         unsigned char *to);

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
    /* Counts n 16-bit words. */
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

    Lut8 *lut8;
    LumaNarrow *luma_narrow;
    LumaNarrowScale *luma_narrow_scale;
    LumaWideLoad *luma_wide_load;
    LumaWideStore *luma_wide_store;
    ClaheRow16 *clahe_row16;
    ClaheMap16 *clahe_map16;
    MapLinear *map_linear;
    MapPower *map_power;
    MapKnotsF32 *map_knots_f32;
} CpuLoops;

extern const CpuLoops cpu_loops_portable, cpu_loops_avx2, cpu_loops_avx512;

static inline const CpuLoops *cpu_loops_of(CpuLevel level)
{
    static const CpuLoops *const of[] = ISA_TABLE(&cpu_loops);
    return of[level];
}

/* Those for cpu_features_level(). */
static inline const CpuLoops *cpu_loops(void)
{
    return cpu_loops_of(cpu_features_level());
}

#endif
