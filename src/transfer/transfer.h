/* SPDX-License-Identifier: MIT */
/* transfer.h: a transfer, made from records and a method. Pure: no file, no device. */
#ifndef IMGSTAT_TRANSFER_TRANSFER_H
#define IMGSTAT_TRANSFER_TRANSFER_H

#include "record/quantile_table.h"
#include "record/record.h"
#include "transfer/holes.h"
#include "transfer/map.h"

#include <string.h>

/* The kind of image that a transfer is made for. */
typedef struct TransferShape {
    ImgstatSample sample;
    uint8_t bits;      /* 0: the full width */
    uint16_t channels; /* > 0 */
    int16_t alpha;     /* -1: none */
    bool rgb;          /* channels 0, 1, 2 are red, green, blue */
    bool has_nodata;
    uint64_t nodata_key;
    bool has_hole; /* undefined samples get hole_key, which no other output has */
    uint64_t hole_key;
    uint8_t kept_bits; /* significant bits of the output if another depth of u8 or u16 is kept; else
                          0 */
} TransferShape;

/* The distribution that one map is made from. Narrow types need n and cdf alone, except for
 * IMGSTAT_MEANSTD. */
typedef struct MapSource {
    uint64_t n;                /* valid samples */
    uint64_t min_key, max_key; /* where n > 0 */
    const uint64_t *cdf;       /* narrow types: inclusive counts by key */
    double mean, stddev;       /* for IMGSTAT_MEANSTD */
    uint64_t origin;           /* types that doubles do not hold: the key that `mean` counts from */
    uint64_t black,
        white; /* wide types, IMGSTAT_PERCENTILE: keys of the ranks of transfer_clip_ranks */
    const RankTable *ranks; /* wide types, IMGSTAT_EQUALIZE and IMGSTAT_MATCH */
} MapSource;

/* A reference to match. */
typedef struct MatchReference {
    ImgstatSample sample;
    uint8_t bits;
    uint16_t n_sources; /* as many as maps, or 1 for all maps */
    const MapSource *sources;
} MatchReference;

/* A search table for the knots of a map (cpu/map_knots.c). */
typedef struct KnotTable KnotTable;

/* Returns NULL for maps without knots, and on allocation failure: map_sample needs no table. */
KnotTable *knot_table_create(BufferCache *buffers, const Map *map);

/* Accepts NULL. */
void knot_table_destroy(KnotTable *table);

/* The identity of a transfer: its address differs from that of every other while it is retained. */
typedef struct TransferId TransferId;

/* Returns the id, which lives until it is released as often as it was retained. */
TransferId *transfer_id_retain(TransferId *id);

/* Accepts NULL. */
void transfer_id_release(TransferId *id);

/* The images that one transfer of a set serves: those of a channel, in all files or in the files of
 * a group. */
typedef struct TransferChannel {
    bool known;        /* false: images without a channel axis, or all images */
    uint32_t c;        /* place along the axis, if the channel has no name */
    const char *name;  /* NULL: no name, or one that another channel of the file has as well */
    const char *group; /* group of files; NULL: all files, "" for an image */
} TransferChannel;

static inline bool transfer_group_same(const TransferChannel *a, const TransferChannel *b)
{
    return strcmp(a->group ? a->group : "", b->group ? b->group : "") == 0;
}

static inline bool transfer_channel_same(const TransferChannel *a, const TransferChannel *b)
{
    if (a->known != b->known || !a->name != !b->name)
        return false;
    return a->name ? strcmp(a->name, b->name) == 0 : !a->known || a->c == b->c;
}

/* A transfer does not change once it is complete, except when it becomes part of a set. */
typedef struct ImgstatTransfer {
    struct ImgstatTransfer
        *next;               /* next transfer of its set, owned; NULL: the last, or not in a set */
    TransferChannel channel; /* images that it serves; its texts are owned */
    ImgstatKind *kind; /* kind of images that it serves, compared by kind_is_of; owned. NULL: images
                          of its sample type and at most its bits */
    TransferId *id;
    ImgstatTransform transform; /* recorded in saved transfers */
    ImgstatLike like;           /* recorded in saved transfers */
    ImgstatSample from;
    uint8_t from_bits, to_bits;
    bool luma;           /* one map, from luma to luma */
    bool has_parameters; /* the maps have the parameters that they were made from, also if tables
                            replace them */
    uint16_t n_maps;     /* 1 (for all channels but alpha), or one for each channel but alpha */
    Map *maps; /* they point into this transfer; a table sets their pointers to counts to NULL */
    MapRange range; /* output range of defined samples */
    Map rescale; /* maps alpha and masked samples: by the ratio of the full scales; floats by value
                  */
    Map passthrough;  /* maps images without contrast and, in luma mode, samples that are no colour
                       */
    uint32_t *tables; /* narrow types: n_maps tables of output bits by key */
    uint32_t *rescale_table; /* narrow types: the table of `rescale`, behind those of the maps */
    MapKnot *knots;          /* wide types: knots of all maps, one map after the other */
    KnotTable **knot_tables; /* n_maps; NULL where a map has none */
    bool has_hole; /* undefined samples get hole_key; in a saved transfer, those of every image */
    uint64_t hole_key;
    Holes holes; /* filled when applied; set in a copy, for one call. All zero: nothing */
} Transfer;

/* ---- What a method means for an image (method.c) --------------------------------------------- */

/* By ImgstatTransform and ImgstatLike: words of saved transfers and of messages. */
extern const char *const transfer_transform_names[], *const transfer_like_names[];

/* Returns the channel mode: IMGSTAT_EACH, IMGSTAT_JOINT or IMGSTAT_LUMA. */
ImgstatChannels transfer_channels(const ImgstatMethod *method, const TransferShape *shape);

/* Returns the number of maps: 1, or the channels without alpha. */
uint16_t transfer_maps(const ImgstatMethod *method, const TransferShape *shape);

/* Returns the output type. bits: receives its significant bits, 0 for the full width. */
ImgstatSample transfer_output(const ImgstatMethod *method, const TransferShape *shape,
                              uint8_t *bits);

/* Whether a method needs statistics of the image. */
bool transfer_measures(const ImgstatMethod *method);

/* Returns the output mean of IMGSTAT_MEANSTD for samples with so many significant bits. */
double transfer_mean(const ImgstatMethod *method, ImgstatSample sample, uint8_t bits);

/* Returns the output deviation of IMGSTAT_MEANSTD for samples with so many significant bits. */
double transfer_stddev(const ImgstatMethod *method, ImgstatSample sample, uint8_t bits);

/* Finds the keys of the input range of a method that has one. */
void transfer_in_range(const ImgstatMethod *method, ImgstatSample sample, uint8_t bits,
                       uint64_t *black, uint64_t *white);

/* Which values of a method are in units of the input or of the output. They mean something else in
 * another depth. */
typedef struct PlainValues {
    bool input, output;
} PlainValues;
PlainValues transfer_plain_values(const ImgstatMethod *method);

/* Gives a range of floats all finite values. */
void range_any(MapRange *range);

/* Returns the range that defined samples are mapped to. */
MapRange transfer_range(const ImgstatMethod *method, const TransferShape *shape);

/* Completes a range with the values of its ends and, if the output type holds it, the nodata value
 * of the image. An end that is nodata moves inwards, so that stretching twice changes nothing;
 * other keys are kept off nodata by range_avoid. */
void range_set_nodata(MapRange *range, ImgstatSample from, bool has_nodata, uint64_t nodata_key);

/* Checks a method against an image; its pixels are not needed. */
ImgstatResult transfer_check(const ImgstatMethod *method, const TransferShape *shape,
                             ImgstatError *err);

/* Checks that a reference is given if and only if the method matches one. */
ImgstatResult transfer_check_reference(bool matches, bool given, ImgstatError *err);

/* Checks that a transfer fits an image: sample type, significant bits, number of channels. */
ImgstatResult transfer_check_image(const Transfer *transfer, const ImagePro *from, int16_t alpha,
                                   ImgstatError *err);

/* Checks that `to` can take the samples of type `sample` that are made from `from`: equal geometry,
 * and an equal sample type and pitch in place; else no sample of `from`, as far as that is plain.
 * The pixels may be in any memory. */
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

/* ---- Creating ----------------------------------------------------------------------------------
 */

/* Creates a transfer. sources: one for each map. reference: for IMGSTAT_MATCH, else NULL. buffers:
 * of large tables; need not outlive the transfer. Not for IMGSTAT_CLAHE (clahe.h). */
ImgstatResult transfer_create(BufferCache *buffers, const ImgstatMethod *method,
                              const TransferShape *shape, const MapSource *sources,
                              const MatchReference *reference, Transfer **out, ImgstatError *err);

/* Creates a transfer of a narrow type from a finalized record: that of the image's channels, or of
 * its luma in luma mode. mean, stddev: one for each map for IMGSTAT_MEANSTD, else NULL. */
ImgstatResult transfer_create_counts(const ImgstatMethod *method, const TransferShape *shape,
                                     const Record *record, const double *mean, const double *stddev,
                                     Transfer **out, ImgstatError *err);

/* Returns the source of a channel of a finalized record of a narrow type. cdf: room for
 * sample_record_bins counts, which the source points to. */
MapSource map_source_counts(const Record *record, uint16_t channel, uint64_t *cdf);

/* Keeps defined samples off a value of the output, as range_set_nodata does. */
void range_set_hole(MapRange *range, uint64_t key);

/* Creates a copy of a transfer for images of another nodata value, or another value of undefined
 * samples in the output, than it was made for. It shares the knots of `given`, which outlives it.
 */
ImgstatResult transfer_with_nodata(BufferCache *buffers, const Transfer *given,
                                   const TransferShape *shape, Transfer **out, ImgstatError *err);

/* Creates a transfer whose maps have no parameters and tables yet. transfer_prepare follows once
 * they have. */
ImgstatResult transfer_begin(BufferCache *buffers, ImgstatSample from, uint8_t from_bits,
                             const MapRange *to, uint8_t to_bits, uint16_t n_maps, bool has_nodata,
                             uint64_t nodata_key, bool luma, Transfer **out, ImgstatError *err);

/* Turns a map into one that passes all samples, in the range of transfer->passthrough. */
void transfer_unchanged(const Transfer *transfer, Map *map);

/* Creates the search tables of complete maps. */
void transfer_prepare(BufferCache *buffers, Transfer *transfer);

/* Destroys a transfer and those after it in its set. Accepts NULL. */
void transfer_destroy(Transfer *transfer);

/* ---- Undefined samples (holes.c) ------------------------------------------------------------- */

/* Whether samples of so many bits (0: the full width) can hold a value. Floats hold NaN. */
bool sample_holds(ImgstatSample sample, uint8_t bits, ImgstatValue value, uint64_t *key);

/* Sets the hole of a shape if the output type cannot hold the nodata value of the images: 0, or NaN
 * for floats. */
void shape_set_hole(TransferShape *shape, ImgstatSample to, ImgstatValue nodata);

/* Sets the hole of a shape of images in memory, whose nodata value is one of their samples. */
void shape_set_hole_in_memory(TransferShape *shape, ImgstatSample to);

/* Whether the nodata value of a shape is not the one that the transfer lets pass, or its hole is a
 * value that the transfer gives to defined samples. */
bool transfer_lacks_nodata(const Transfer *transfer, const TransferShape *shape);

/* Returns what undefined samples of images of a shape become. nodata: NULL where there is none. */
Holes transfer_holes(const Transfer *transfer, const TransferShape *shape,
                     const ImgstatValue *nodata);
/* Returns what undefined samples of images in memory become. */
Holes transfer_holes_in_memory(const Transfer *transfer, const TransferShape *shape);

/* ---- Sets (transfer_set.c) --------------------------------------------------------------------
 * One transfer for each channel and each depth; those of a channel lie behind each other. A set is
 * known by its first transfer. */

/* Makes a transfer the last of a set (*set NULL: its first) for images of a channel, whose texts
 * are copied. Takes over `add`, whatever the result. */
ImgstatResult transfer_set_add(Transfer **set, Transfer *add, const TransferChannel *channel,
                               ImgstatError *err);

/* Finds the transfer of a set for images of a channel and a kind. Sets without kinds look at its
 * sample type and bits alone. Of a set with groups of files only transfers of the image's group
 * count. Sets without channels, and transfers that are alone, serve images of every channel. */
ImgstatResult transfer_set_find(const Transfer *set, const TransferChannel *channel,
                                const ImgstatKind *image, const Transfer **out, ImgstatError *err);

/* Returns for how many channels, of every group, a set has transfers; images at no channel count
 * as one. *number: NULL, or receives which of these `one` is for. */
uint32_t transfer_set_channels(const Transfer *set, const Transfer *one, uint32_t *number);

/* Whether any transfer of a set is for a group of files. */
bool transfer_set_has_groups(const Transfer *set);

/* Whether a set has a transfer for each kind of images. */
static inline bool transfer_set_has_kinds(const Transfer *set)
{
    return set->kind != NULL;
}

/* Makes the maps of samples that are not mapped: `rescale` and `passthrough` of a Transfer. */
void passthrough_maps(ImgstatSample from, uint8_t from_bits, const MapRange *to, uint8_t to_bits,
                      bool has_nodata, uint64_t nodata_key, Map *rescale, Map *passthrough);

/* Whether samples that are not mapped keep their bits. */
static inline bool transfer_copies(const Transfer *transfer)
{
    return map_is_identity(&transfer->rescale) && map_is_identity(&transfer->passthrough);
}

#endif
