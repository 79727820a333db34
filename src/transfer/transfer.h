/* SPDX-License-Identifier: MIT */
/* transfer.h: from records and a method to what is done to every sample. Pure: no file, no device.
 */
#ifndef IMGSTAT_TRANSFER_TRANSFER_H
#define IMGSTAT_TRANSFER_TRANSFER_H

#include "record/quantile_table.h"
#include "record/record.h"
#include "transfer/map.h"

/* Which image a transfer is made for. */
typedef struct TransferShape {
    ImgstatSample sample;
    uint8_t bits;      /* 0: the full width */
    uint16_t channels; /* > 0 */
    int16_t alpha;     /* -1: none */
    bool rgb;          /* channels 0, 1, 2 are red, green, blue: luma has a meaning */
    bool has_nodata;
    uint64_t nodata_key;
} TransferShape;

/* What one map is made from. Narrow types: n and cdf suffice, but for meanstd. */
typedef struct MapSource {
    uint64_t n;                /* valid samples */
    uint64_t min_key, max_key; /* where n > 0 */
    const uint64_t *cdf;       /* narrow types: inclusive counts by key */
    double mean, stddev;       /* read for IMGSTAT_MEANSTD: */
    uint64_t origin;       /* of types that doubles do not hold, the key from which `mean` counts */
    uint64_t black, white; /* wide types, IMGSTAT_PERCENTILE: keys of ranks transfer_clip_ranks */
    const RankTable *ranks; /* wide types, IMGSTAT_EQUALIZE and IMGSTAT_MATCH */
} MapSource;

/* A reference to match: as many sources as maps, or one for all. */
typedef struct MatchReference {
    ImgstatSample sample;
    uint8_t bits;
    uint16_t n_sources;
    const MapSource *sources;
} MatchReference;

/* cpu/map_knots.c: what finds a sample's place among the knots of a map. */
typedef struct KnotTable KnotTable;
/* NULL for other maps, and where memory is out: map_sample does without. */
KnotTable *knot_table_create(BufferCache *scratch, const Map *map);
void knot_table_destroy(KnotTable *table); /* accepts NULL */

/* What tells a transfer from all others while anybody keeps it: its address. */
typedef struct TransferId TransferId;
TransferId *transfer_tag_keep(TransferId *tag); /* returns it */
void transfer_tag_drop(TransferId *tag);        /* accepts NULL */

typedef struct ImgstatTransfer {
    TransferId *tag; /* a complete transfer does not change: one of this tag is this one */
    ImgstatTransform transform; /* for the reader of a saved one */
    ImgstatLike like;
    ImgstatSample from;
    uint8_t from_bits, to_bits;
    bool luma;       /* one map, from luma to luma */
    uint16_t n_maps; /* 1: for every channel but alpha; else one for each of them, in order */
    Map *maps;      /* pointers point into this transfer, or are NULL where a table replaces them */
    MapRange range; /* where defined samples go */
    Map rescale; /* of alpha and masked samples: by the ratio of the full scales, floats by value */
    Map stays;   /* of images without contrast, and of all else that stays beside luma */
    uint32_t *tables;        /* narrow types: n_maps tables of output bits by key */
    uint32_t *rescale_table; /* narrow types: the same for rescale */
    MapKnot *knots;          /* wide types: of all maps, one after the other */
    KnotTable **knot_tables; /* n_maps, NULL where the map has none */
} Transfer;

/* The channel mode that a method means for an image. */
ImgstatChannels transfer_channels(const ImgstatMethod *method, const TransferShape *shape);
/* How many maps, so sources, that takes: 1, or the channels without alpha. */
uint16_t transfer_maps(const ImgstatMethod *method, const TransferShape *shape);
/* Checks a method against an image without looking at pixels. */
ImgstatResult transfer_check(const ImgstatMethod *method, const TransferShape *shape,
                             ImgstatError *err);
/* Whether a reference is given just where one is matched. */
ImgstatResult transfer_check_reference(bool matches, bool given, ImgstatError *err);
/* Checks that a transfer fits an image: sample type, significant bits, number of channels. */
ImgstatResult transfer_check_image(const Transfer *transfer, const ImagePro *from, int16_t alpha,
                                   ImgstatError *err);
/* Checks that `to` can take the samples of type `sample` that are made from `from`: equal geometry,
 * and an equal sample type and pitch in place. The pixels may be in any memory. */
ImgstatResult transfer_check_output(const ImagePro *from, ImgstatSample sample, const ImagePro *to,
                                    ImgstatError *err);
/* Checks that a device can follow a method for images of a shape without waiting for the host:
 * samples of at most 16 bits; stretch, percentile and equalize by imgstat's own formulas, whose
 * transfer follows from counts alone. */
ImgstatResult transfer_check_async(const ImgstatMethod *method, const TransferShape *shape,
                                   ImgstatError *err);
/* Checks that an image has the shape. */
ImgstatResult transfer_check_shape(const TransferShape *shape, const ImagePro *image,
                                   ImgstatError *err);
/* The output type, and its significant bits. */
ImgstatSample transfer_output(const ImgstatMethod *method, const TransferShape *shape,
                              uint8_t *bits);
/* Completes a range: its values, and a nodata value of the image where the output type has it. An
 * end that is nodata moves inwards, so that stretching twice changes nothing; inside, range_avoid
 * steps over it. */
void range_set_nodata(MapRange *range, ImgstatSample from, bool has_nodata, uint64_t nodata_key);
/* Where that method sends defined samples. */
MapRange transfer_range(const ImgstatMethod *method, const TransferShape *shape);
/* The source of a narrow, settled record's channel; cdf: sample_record_bins counts, filled here. */
MapSource map_source_counts(const Record *record, uint16_t channel, uint64_t *cdf);

/* reference: for IMGSTAT_MATCH, else NULL. Not for IMGSTAT_CLAHE (clahe.h). scratch: where its
 * tables come from; may go before the transfer does. */
ImgstatResult transfer_create(BufferCache *scratch, const ImgstatMethod *method,
                              const TransferShape *shape, const MapSource *sources,
                              const MatchReference *reference, Transfer **out, ImgstatError *err);
/* For narrow types, straight from a settled record of the image (each, joint) or of its luma. mean
 * and stddev of the maps are read for IMGSTAT_MEANSTD only; NULL else. */
ImgstatResult transfer_create_counts(const ImgstatMethod *method, const TransferShape *shape,
                                     const Record *record, const double *mean, const double *stddev,
                                     Transfer **out, ImgstatError *err);
/* Whether what is not mapped keeps its bits. */
static inline bool transfer_copies(const Transfer *transfer)
{
    return map_is_identity(&transfer->rescale) && map_is_identity(&transfer->stays);
}
/* A map that leaves an image as it is takes the range of `stays`; others keep theirs. */
void transfer_unchanged(const Transfer *transfer, Map *map);
/* Once the maps are known: what makes applying them faster. */
void transfer_prepare(BufferCache *scratch, Transfer *transfer);
void transfer_destroy(Transfer *transfer); /* accepts NULL */
/* The same for images with that nodata value. Its knots are those of `given`, which outlives it. */
ImgstatResult transfer_with_nodata(BufferCache *scratch, const Transfer *given, uint64_t nodata_key,
                                   Transfer **out, ImgstatError *err);

/* Full scale of a type: order keys of the least and the largest sample of so many bits; floats:
 * 0, 1. */
void sample_full_scale(ImgstatSample sample, uint8_t bits, uint64_t *lo, uint64_t *hi);

/* Where samples go that are not mapped: rescale and stays of a Transfer. */
void transfer_kept(ImgstatSample from, uint8_t from_bits, const MapRange *to, uint8_t to_bits,
                   bool has_nodata, uint64_t nodata_key, Map *rescale, Map *stays);

/* An empty transfer: rescale, stays, maps without content; tables allocated. Used by the loader
 * too. */
ImgstatResult transfer_begin(BufferCache *scratch, ImgstatSample from, uint8_t from_bits,
                             const MapRange *to, uint8_t to_bits, uint16_t n_maps, bool has_nodata,
                             uint64_t nodata_key, bool luma, Transfer **out, ImgstatError *err);

#endif
