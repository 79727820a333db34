/* SPDX-License-Identifier: MIT */
/* image_record.h: struct ImgstatRecord of the public header: the record of the images of one kind,
 * with what they are, where their extrema are, and the statistics that were computed of it. */
#ifndef IMGSTAT_RECORD_IMAGE_RECORD_H
#define IMGSTAT_RECORD_IMAGE_RECORD_H

#include "record/digest.h"
#include "record/histogram.h"
#include "record/record.h"
#include "record/shared_text.h"

/* Samples that a tally counts at most, as the sums of bins allow, and files and pages. */
#define RECORD_MOST_SAMPLES (UINT64_MAX / 2)

static inline unsigned __int128 tally_samples(const Tally *tally)
{
    return (unsigned __int128)tally->n + tally->nan + tally->pinf + tally->ninf + tally->nodata +
           tally->masked;
}

/* A percentile that is a sample's value or, of 64-bit integers, another whole number: a double may
 * not hold it. */
typedef struct ExactPercentile {
    bool exact;
    uint64_t key;
} ExactPercentile;

/* What is known of a percentile where its value is not. */
typedef struct PercentileBounds {
    bool only;
    double lo, hi;
} PercentileBounds;

typedef struct ChannelResult {
    ImgstatStats stats; /* without the files and pages of extrema */
    char sum[48];
    double *percentile;       /* as many as asked for */
    ExactPercentile *rank;    /* of each percentile, then of the median */
    PercentileBounds *bounds; /* NULL, or the same where nothing was read again */
    Histogram histogram;
} ChannelResult;

/* The images with the extrema of a channel; their raster indices are in its tally. */
typedef struct Places {
    SharedText *min_file, *max_file; /* NULL: an image in memory */
    uint32_t min_page, max_page;
    uint32_t min_width, max_width; /* of these pages; 0 of an image in memory */
} Places;

struct ImgstatRecord {
    ImgstatKind *kind;
    SharedText *group; /* NULL: "" */
    uint64_t files, pages;
    Digest names;           /* of the files */
    Record *record;         /* finalized; its bins count valid samples */
    Places *places;         /* one a channel */
    ChannelResult *channel; /* one a channel; NULL: nothing is computed */
    bool has_histogram;
    size_t n_percentiles;
    bool in_dataset; /* its place there depends on its group and kind */
};

/* An image that positions are in. */
typedef struct ImagePlace {
    SharedText *file; /* NULL: an image in memory */
    uint32_t page, width;
} ImagePlace;

/* Creates the record of an image. record: finalized, taken over whatever happens. No file is
 * counted yet. */
ImgstatResult image_record_create(const ImgstatKind *kind, Record *record, ImagePlace place,
                                  ImgstatRecord **out, ImgstatError *err);

/* Counts one file that was measured. */
void image_record_count_file(ImgstatRecord *record, const char *name);

/* Drops the computed statistics. */
void image_record_clear(ImgstatRecord *record);

/* Checks that two records merge, whatever their kinds. */
ImgstatResult image_record_check(const ImgstatRecord *into, const ImgstatRecord *from,
                                 ImgstatError *err);

/* Merges records that were checked; into's kind stays. Nothing fails. */
void image_record_add(ImgstatRecord *into, const ImgstatRecord *from);

/* Creates a copy without statistics. */
ImgstatResult image_record_copy(const ImgstatRecord *record, ImgstatRecord **out,
                                ImgstatError *err);

#endif
