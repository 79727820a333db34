/* SPDX-License-Identifier: MIT */
/* image_record.h: struct ImgstatRecord of the public header: the record of the images of one kind,
 * with that kind, the places of the extrema, and computed statistics. */
#ifndef IMGSTAT_RECORD_IMAGE_RECORD_H
#define IMGSTAT_RECORD_IMAGE_RECORD_H

#include "record/clipped.h"
#include "record/digest.h"
#include "record/histogram.h"
#include "record/preview.h"
#include "record/record.h"
#include "record/sample_hash.h"
#include "record/shared_text.h"

/* The most samples of a tally, for which sums of bins do not overflow; also of files and pages. */
#define RECORD_MOST_SAMPLES (UINT64_MAX / 2)

static inline unsigned __int128 tally_samples(const Tally *tally)
{
    return (unsigned __int128)tally->n + tally->nan + tally->pinf + tally->ninf + tally->nodata +
           tally->masked;
}

/* A percentile that is a sample or, for 64-bit integers, another whole number: a double may not
 * hold it. */
typedef struct ExactPercentile {
    bool exact;
    uint64_t key;
} ExactPercentile;

/* Bounds of a percentile whose value is not known. */
typedef struct PercentileBounds {
    bool only;
    double lo, hi;
} PercentileBounds;

typedef struct ChannelResult {
    ImgstatStats stats; /* without the files and pages of extrema */
    char sum[48];
    double *percentile;       /* n_percentiles of them */
    ExactPercentile *rank;    /* of each percentile, then of the median */
    PercentileBounds *bounds; /* NULL, or the same if nothing was read again */
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
    bool has_hash; /* of the samples of one image or group of pages, which is not merged */
    uint8_t hash[SAMPLE_HASH_BYTES];
    bool has_clipped; /* the same */
    Clipped clipped;
    Preview *preview; /* NULL, or of the image, or the first of a group */
    bool in_dataset;  /* its group and kind must not change then */
};

/* The image that positions refer to. */
typedef struct ImagePlace {
    SharedText *file; /* NULL: an image in memory */
    uint32_t page, width;
} ImagePlace;

/* Creates the record of an image. record: finalized; it is taken over whatever happens. The new
 * record counts no file. */
ImgstatResult image_record_create(const ImgstatKind *kind, Record *record, ImagePlace place,
                                  ImgstatRecord **out, ImgstatError *err);

/* Counts one file that was measured. */
void image_record_count_file(ImgstatRecord *record, const char *name);

/* Drops the computed statistics. */
void image_record_clear(ImgstatRecord *record);

/* Checks that two records merge. Does not compare their kinds. */
ImgstatResult image_record_check(const ImgstatRecord *into, const ImgstatRecord *from,
                                 ImgstatError *err);

/* Merges records that image_record_check has accepted. `into` keeps its kind. */
void image_record_add(ImgstatRecord *into, const ImgstatRecord *from);

/* Creates a copy without statistics. */
ImgstatResult image_record_copy(const ImgstatRecord *record, ImgstatRecord **out,
                                ImgstatError *err);

#endif
