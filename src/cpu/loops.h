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

/* Most interleaved channels of a loop. Images with more are separated into channels first. */
enum { LOOP_CHANNELS = 4 };
/* Most samples of a call, so that 64-bit partial sums are exact: 2^32 * 2^20 < 2^64. */
enum { LOOP_SAMPLES = 1 << 20 };

/* Distance between tables of 65,536 32-bit counters: 17 cache lines more than a table. Equal
 * samples of different channels then differ in address modulo 4096; processors take a store and a
 * load at equal ones for a dependency. */
enum { COUNTERS32_STRIDE = 65536 + 272 };

/* Number of tables of 65,536 8-bit counters for the words of a channel, and the distance between
 * tables, which are padded by a cache line. */
enum { COUNTERS8_TABLES = 4, COUNTERS8_STRIDE = 65536 + 64 };

/* Largest number of tables of 256 32-bit counters for the bytes of a channel; the distance between
 * tables, which are padded by a cache line; and that between channels. */
enum { BYTE_TABLES = 24, BYTE_STRIDE = 256 + 16, BYTE_COUNTERS = BYTE_TABLES * BYTE_STRIDE };

/* Returns after how many pairs of interleaved bytes their channels repeat: pair i is counted in
 * table i modulo that. */
static inline unsigned loop_pair_tables(unsigned channels)
{
    return channels % 2 ? channels : channels / 2;
}

/* Returns how many tables take turns for the bytes of interleaved channels. Storing a counter and
 * loading it again within 20 bytes is slow if the next counter of that table sometimes differs. */
static inline unsigned loop_byte_tables(unsigned channels)
{
    return channels == 1 ? BYTE_TABLES : channels == 2 ? 16 : 8;
}

/* Counters of bytes; each byte is counted in one of these places. */
typedef struct LoopBytes {
    uint32_t *bytes; /* BYTE_COUNTERS a channel */
    uint32_t *pairs; /* NULL, or loop_pair_tables, COUNTERS32_STRIDE apart */
} LoopBytes;

/* Counters of words; each word is counted in one of these places. */
typedef struct LoopWords {
    uint32_t *wide; /* COUNTERS32_STRIDE a channel */
    uint8_t
        *low; /* COUNTERS8_TABLES * COUNTERS8_STRIDE a channel, modulo 256; the rest is in wide */
} LoopWords;

/* How an image is counted. All zero before its first samples. */
typedef struct LoopChoice {
    size_t left; /* bytes that are counted before the next choice */
    bool pairs;  /* bytes are counted by pairs */
    unsigned
        tables; /* upper bound of the tables in use for each channel, for single bytes or words */
} LoopChoice;

/* Sums of 32-bit integers of a channel. */
typedef struct LoopSums {
    uint64_t sum;       /* two's complement */
    uint64_t low, high; /* sum of squares = low + 2^32 high */
    uint64_t min, max;  /* order keys */
} LoopSums;

/* One piece of a channel of floats, all of them valid. */
typedef struct LoopPiece {
    double d, q, pivot;
    uint64_t min, max; /* order keys */
} LoopPiece;

/* How many of some samples are valid, and what the others are. */
typedef struct LoopGaps {
    uint32_t valid, masked, nodata, pinf, ninf, nan;
} LoopGaps;

/* Bins between edges, and how the bin of a value is guessed (RangeCount in
 * device/read_request.h). */
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
/* Computes the luma of n pixels of `channels` >= 3 samples of `bytes` bytes (1: u8, 2: u16), at any
 * alignment, as samples of the same type, by luma_key. */
typedef void LumaNarrow(const void *from, unsigned bytes, unsigned channels, size_t n, void *luma);
/* Scales the colours of such pixels to a new luma of the same type, by luma_scale, limited to the
 * range. Further samples are copied. `to` may be `from`. */
typedef void LumaNarrowScale(const void *from, unsigned bytes, unsigned channels, size_t n,
                             const void *luma, const MapRange *range, void *to);
/* Loads n <= LUMA_BLOCK pixels and computes their luma, by luma_value. mask: a byte a pixel, or
 * NULL. */
typedef void LumaWideLoad(const LumaWide *wide, const unsigned char *from, const uint8_t *mask,
                          size_t n, LumaBlock *block);
/* Stores the colours of a block, scaled to n luma samples of the range's type, by luma_scale_value.
 * The output of pixels without luma is undefined. */
typedef void LumaWideStore(const LumaWide *wide, const LumaBlock *block, const unsigned char *luma,
                           size_t n, const MapRange *range, unsigned char *to);
/* Maps every `step`th of n samples by a straight line, as map_raw does, for types that doubles
 * hold. Returns false, and does nothing, if the map is no line or has another output type. */
typedef bool MapLinear(const Map *map, const unsigned char *from, size_t step, size_t n,
                       unsigned char *to);
/* Maps every `step`th of n samples by a power law, as map_raw does. map_power_fits must hold. */
typedef void MapPower(const Map *map, const unsigned char *from, size_t step, size_t n,
                      unsigned char *to);

enum { KNOT_BLOCK = 512 };

/* Samples, and the knots on both sides of each. */
typedef struct KnotBlock {
    uint32_t raw[KNOT_BLOCK];
    float x[KNOT_BLOCK]; /* samples, clamped to the knots */
    float left[KNOT_BLOCK], right[KNOT_BLOCK], at[KNOT_BLOCK], before[KNOT_BLOCK];
} KnotBlock;

/* Maps n <= KNOT_BLOCK samples of type f32 between the knots found for them, to every `step`th
 * output. */
typedef void MapKnotsF32(const KnotTable *table, const KnotBlock *block, size_t step, size_t n,
                         unsigned char *to);

/* In all loops x has n samples of `channels` <= LOOP_CHANNELS interleaved channels; n is a multiple
 * of channels. */
typedef struct CpuLoops {
    /* Finds the extreme keys of the valid narrow samples of each channel; min > max if there are
     * none. nodata: a key, or NULL. */
    void (*extrema)(ImgstatSample sample, const void *x, size_t n, unsigned channels,
                    const uint64_t *nodata, uint64_t *min, uint64_t *max);
    void (*sums32)(ImgstatSample sample, const void *x, size_t n, unsigned channels, LoopSums *out);
    /* f32, f64; 0 < n <= PIECE a channel. Returns false, with undefined results, if a sample is
     * nodata or not finite. */
    bool (*piece)(ImgstatSample sample, const void *x, size_t n, unsigned channels,
                  const uint64_t *nodata, LoopPiece *out);
    /* Copies n <= PIECE samples of a channel of f32 or f64, with the first valid one in the place
     * of all that are masked, nodata or not finite; copies nothing if none is valid. mask: NULL, or
     * a byte a sample. */
    void (*fill)(ImgstatSample sample, const void *x, size_t n, const uint8_t *mask,
                 const uint64_t *nodata, void *to, LoopGaps *gaps);
    /* Extracts the leading 16 bits of the keys of wide samples. */
    void (*leading)(ImgstatSample sample, const void *x, size_t n, uint16_t *out);
    /* Counts n 16-bit words. */
    void (*count_words)(const void *x, size_t n, unsigned channels, const LoopWords *to,
                        LoopChoice *choice);
    /* Counts n bytes. */
    void (*count_bytes)(const uint8_t *x, size_t n, unsigned channels, const LoopBytes *to,
                        LoopChoice *choice);
    /* Packs the order keys from lo to hi of every `channels`th of the n samples at x (any type, any
     * number of channels), in order; returns their number. mask: NULL, or a byte for each of these,
     * 0 where it is left out. */
    size_t (*select)(ImgstatSample sample, const void *x, size_t n, size_t channels,
                     const uint8_t *mask, uint64_t lo, uint64_t hi, uint64_t *keys);
    /* Counts every `stride`th of the n wide samples at x between the edges. Neighbours go to two
     * tables of n_bins. */
    void (*count_bins)(ImgstatSample sample, const void *x, size_t n, size_t stride,
                       const LoopBins *bins, uint32_t *counts);
    /* d[i] = value of wide sample x[i * stride] - center, for i < n; 0 for those that are not
     * finite or have the key nodata (NULL: none). */
    void (*distances)(ImgstatSample sample, const void *x, size_t n, size_t stride,
                      const uint64_t *nodata, double center, double *d);
    /* Sums the powers 1 to 4 of n <= PIECE distances, in the tree of a piece. */
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

/* Returns the loops for cpu_features_level(). */
static inline const CpuLoops *cpu_loops(void)
{
    return cpu_loops_of(cpu_features_level());
}

#endif
