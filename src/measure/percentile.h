/* SPDX-License-Identifier: MIT */
/* percentile.h: exact order statistics of wide types, 16 key bits a read. */
#ifndef IMGSTAT_MEASURE_PERCENTILE_H
#define IMGSTAT_MEASURE_PERCENTILE_H

#include "device/read_request.h"
#include "record/image_record.h"
#include "record/statistics.h"

/* One order statistic: in, the rank; out, the key of the valid sample of that rank (0: smallest).
 */
typedef struct OrderStat {
    uint16_t channel;
    uint64_t rank;   /* below the channel's n; while descending, among the samples that share key */
    uint64_t key;    /* while descending, its leading bits */
    uint8_t shift;   /* key bits still unknown */
    uint64_t within; /* samples that share key */
} OrderStat;

/* Counters of one read: 128 of 65,536 bins are 64 MiB. */
enum { PERCENTILE_COUNTS = 128 };

typedef struct PercentileSearch {
    BufferCache *cache; /* where counters come from */
    ImgstatSample sample;
    OrderStat *stat; /* the caller's, n of them */
    size_t n;
    size_t *count_of;   /* of each statistic: which count narrows it in this read, or SIZE_MAX */
    DigitCount *counts; /* for the next read; n_counts of them, 0 when all is known */
    size_t n_counts, capacity;
} PercentileSearch;

/* Begins a search for n order statistics of a record that has bins. Those of narrow types are found
 * at once. */
ImgstatResult percentile_search_start(BufferCache *cache, PercentileSearch *search,
                                      const Record *record, OrderStat *stat, size_t n,
                                      ImgstatError *err);

/* Chooses the counts of the next read; n_counts becomes 0 when all is known. */
ImgstatResult percentile_search_prepare(PercentileSearch *search, ImgstatError *err);

/* Narrows every statistic by the counts of that read. Fails with IMGSTAT_ERR_IO if the pixels are
 * not those of the reads before. */
ImgstatResult percentile_search_advance(PercentileSearch *search, ImgstatError *err);

/* Returns the percentile between samples of these keys, and whether it is one of a sample. */
double percentile_at(ImgstatSample sample, uint64_t low, uint64_t high, const PercentileRank *rank,
                     ExactPercentile *exact);

/* The same where no read narrowed stat[0] and stat[1], which have the leading bits of these keys:
 * the percentile if they and the extrema determine it, else not a number, and its bounds. */
double percentile_bounded(const Record *record, uint16_t channel, PercentileRank rank,
                          const OrderStat stat[2], ExactPercentile *exact,
                          PercentileBounds *bounds);

void percentile_search_release(PercentileSearch *search); /* contents only */

#endif
