/* SPDX-License-Identifier: MIT */
/* record.h: what reading channels finds: counts, extrema, exact sums, bins. Records merge. */
#ifndef IMGSTAT_RECORD_RECORD_H
#define IMGSTAT_RECORD_RECORD_H

#include "base/buffer_cache.h"
#include "base/image.h"
#include "record/exact_sum.h"

/* One channel, without its bins. All zero bytes are the empty tally, the identity of merging.
 * Narrow types (at most 16 bits): a device fills n with all unmasked samples, masked, and the
 * extrema; everything else follows from the bins on the host (record_finalize), which also moves
 * NaN, infinite and nodata bins into their counts. Wide types: a device fills all of it. */
typedef struct Tally {
    uint64_t n;               /* finite and valid samples */
    uint64_t nan, pinf, ninf; /* undefined and infinite ones */
    uint64_t nodata, masked;
    /* Order keys of the extrema; 0 where n is 0. A narrow tally may count samples none of which is
     * valid (all NaN, all nodata): then min_key is 1 and max_key 0, until record_finalize. */
    uint64_t min_key, max_key;
    uint64_t min_at, max_at; /* smallest raster index (y * width + x) that holds each */
    uint64_t sum[2];         /* wide integers: two's complement, low word first */
    uint64_t sum2[3];        /* wide integers: unsigned */
    uint64_t sum_overflow, sum2_overflow; /* pieces whose terms were not finite */
    ExactSum fsum, fsum2;                 /* f32, f64; normalized */
} Tally;

/* Power sums about a center, for skewness and kurtosis of wide types (docs/float-sums.md). */
typedef struct Central {
    ExactSum power[4]; /* of d, d^2, d^3, d^4; normalized */
    uint64_t overflow; /* pieces with a sum that was not finite */
} Central;

/* Parts of a record that a measurement fills, besides tallies. */
enum {
    RECORD_BINS = 1,   /* wide types: counts by the leading 16 bits of the key, valid samples only.
                        * Narrow types have their bins (all unmasked samples, by whole key) always. */
    RECORD_EXTREMA = 2 /* only the number and the extrema of valid samples are wanted: a device may
                        * leave out sums, and count other samples in the bins of these */
};

/* Where a device keeps the record of one image: a tally for each channel, then, if it has bins,
 * channels * sample_record_bins(sample) counts of 64 bits. */
typedef struct DeviceRecord {
    DevMem mem;
    ImgstatSample sample;
    uint16_t channels;
    unsigned parts;
} DeviceRecord;

static inline bool record_parts_bins(ImgstatSample sample, unsigned parts)
{
    return sample_is_narrow(sample) || (parts & RECORD_BINS);
}

static inline size_t record_bytes(ImgstatSample sample, uint16_t channels, unsigned parts)
{
    const size_t bins = record_parts_bins(sample, parts) ? sample_record_bins(sample) : 0;
    return channels * (sizeof(Tally) + bins * sizeof(uint64_t));
}

/* The bins of a channel that are not empty, in ascending order. */
typedef struct SparseBins {
    uint64_t *count; /* n of them; owned, and with them what `bin` points to */
    uint16_t *bin;
    size_t n;
} SparseBins;

/* A record on the host, in the layout that a device uses. */
typedef struct Record {
    ImgstatSample sample;
    uint16_t channels;
    unsigned parts;
    Tally *tally;       /* channels */
    uint64_t *bins;     /* channels * sample_record_bins, or NULL; channel c's begin at c * that */
    SparseBins *sparse; /* NULL, or one a channel in place of `bins`: only to merge from */
} Record;

/* Fails with IMGSTAT_ERR_LIMIT if a record needs more counters than are allowed. */
ImgstatResult record_check_bytes(ImgstatSample sample, uint16_t channels, unsigned parts,
                                 ImgstatError *err);
/* cache: provides its counters, and may be released before the record. */
ImgstatResult record_create(BufferCache *cache, ImgstatSample sample, uint16_t channels,
                            unsigned parts, Record **out, ImgstatError *err);
/* As record_create, but tallies and bins are not set: all of them come from a device. */
ImgstatResult record_reserve(BufferCache *cache, ImgstatSample sample, uint16_t channels,
                             unsigned parts, Record **out, ImgstatError *err);
/* Creates a record that has room for tallies, and sparse bins that are all empty. */
ImgstatResult record_create_sparse(ImgstatSample sample, uint16_t channels, Record **out,
                                   ImgstatError *err);
void record_destroy(Record *record);
/* Merges records of one sample type with the same channels and parts. Merging is associative and
 * commutative, and does not change `from`. */
void record_merge(Record *into, const Record *from);
/* Merges one channel of finalized records; into has no sparse bins. */
void record_merge_channel(Record *into, const Record *from, uint16_t channel);
void tally_merge(Tally *into, const Tally *from);
/* Normalizes `from`, and adds it. */
void central_merge(Central *into, Central *from);
/* Creates a record of one channel that merges all channels of `record` but `alpha` (-1: none). */
ImgstatResult record_joint(BufferCache *cache, const Record *record, int16_t alpha, Record **out,
                           ImgstatError *err);

/* Narrow types: derives n, nan, pinf, ninf, nodata and extrema keys from the bins, and empties the
 * bins of undefined and infinite samples. The device has found the positions, among valid samples
 * alone. Finalized records merge. */
void record_finalize(Record *record, bool has_nodata, uint64_t nodata_key);

/* Turns positions in a region into positions in a page of that width. The record is finalized.
 * Width 0: they are that already. */
void record_place_extrema(Record *record, const ImgstatRegion *region, uint32_t page_width);

#endif
