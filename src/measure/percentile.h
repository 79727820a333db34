/* SPDX-License-Identifier: MIT */
/* percentile.h: exact order statistics of wide types: 16 key bits a read, or all of them where few
 * samples have the same leading bits. */
#ifndef IMGSTAT_MEASURE_PERCENTILE_H
#define IMGSTAT_MEASURE_PERCENTILE_H

#include "device/read_request.h"
#include "record/image_record.h"
#include "record/statistics.h"

/* One order statistic. In: the rank, 0 for the smallest valid sample. Out: the key of that sample.
 */
typedef struct OrderStat {
    uint16_t channel;
    uint64_t rank; /* below the channel's n; during the search, among the samples with these bits */
    uint64_t key;  /* during the search: its leading bits */
    uint8_t shift; /* key bits that are not known yet */
    uint64_t within; /* samples with these leading bits */
} OrderStat;

/* Most counts of one read, and most gathers: 128 times 65,536 bins are 64 MiB. */
enum { PERCENTILE_COUNTS = 128 };
/* Samples with the same leading bits that are gathered rather than counted. */
enum { PERCENTILE_FEW = 4096 };

typedef struct PercentileSearch {
    BufferCache *cache; /* for counters */
    ImgstatSample sample;
    OrderStat *stat; /* the caller's, n of them */
    size_t n;
    size_t *found_by;   /* for each statistic: the count or gather of this read, or SIZE_MAX */
    DigitCount *counts; /* of this read */
    size_t n_counts, capacity;
    KeyGather *gathers; /* of this read */
    size_t n_gathers;
    uint64_t *keys; /* of the gathers, and room for sorting them */
} PercentileSearch;

/* Begins a search for n order statistics of a record that has bins. It finds those of narrow types
 * at once. */
ImgstatResult percentile_search_start(BufferCache *cache, PercentileSearch *search,
                                      const Record *record, OrderStat *stat, size_t n,
                                      ImgstatError *err);

/* Chooses what the next read finds, and adds it to a request without counts and gathers. *more
 * becomes false when all is known. */
ImgstatResult percentile_search_prepare(PercentileSearch *search, ReadRequest *request, bool *more,
                                        ImgstatError *err);

/* Narrows every statistic by what that read found. Fails with IMGSTAT_ERR_IO if the pixels have
 * changed. */
ImgstatResult percentile_search_advance(PercentileSearch *search, ImgstatError *err);

/* Returns the percentile between two samples, whose keys are low and high. *exact says whether it
 * is the value of a key. */
double percentile_at(ImgstatSample sample, uint64_t low, uint64_t high, const PercentileRank *rank,
                     ExactPercentile *exact);

/* Returns the percentile if the leading bits of its two samples, in stat[0] and stat[1], and the
 * extrema determine it. Else it returns NaN, and *bounds receives its bounds. */
double percentile_bounded(const Record *record, uint16_t channel, PercentileRank rank,
                          const OrderStat stat[2], ExactPercentile *exact,
                          PercentileBounds *bounds);

void percentile_search_release(PercentileSearch *search); /* contents only */

#endif
