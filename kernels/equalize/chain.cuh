/* SPDX-License-Identifier: MIT */
/* equalize/chain.cuh: what turns counts into tables, and images small enough to be transformed at
 * once.
 */
#ifndef IMGSTAT_KERNELS_EQUALIZE_CHAIN_CUH
#define IMGSTAT_KERNELS_EQUALIZE_CHAIN_CUH

#include "common/tuning.cuh"
#include "maps/apply.cuh"

enum { BYTE_BINS = 256, WORD_BINS = 65536, SEGMENT = 256, SEGMENTS = WORD_BINS / SEGMENT };

/* The counts of SEGMENT keys of 16-bit samples: of all of them, and, unless that is 0, of the
 * lowest that has any. */
struct Segment {
    uint64_t n, first;
};

/* What turns counts into tables. */
struct Finish {
    uint64_t *bins; /* of the record: channels * entries, behind a tally a channel; empty before
                     * an image is measured */
    /* Of types with 65,536 bins, for n_maps: inclusive sums of counts within segments and of all;
     * the segments. */
    uint64_t *sums, *cdf;
    Segment *segments;
    const Map *blank; /* n_maps: all but what depends on the counts */
    Map *maps;        /* the finished ones: what applying reads of them */
    uint32_t *by_key;
    unsigned char *by_raw;
    ImgstatSample from, to;
    uint32_t n_maps;
    uint32_t channels; /* of the record */
    int32_t alpha;
    uint32_t joint; /* one map from the counts of all channels but alpha */
    uint32_t equalize;
    uint32_t has_nodata;
    uint64_t nodata_key;
    uint64_t nano_lo, nano_hi; /* what is cut at either end */
};

/* What the counts do not change of a map from 8 or 16 bits to 8 or 16. Keys; the number of keys is
 * none of them. */
struct SmallMap {
    uint32_t from_flip, to_flip; /* what makes a key of bits, and bits of a key */
    uint32_t nodata, nodata_to;  /* the key that stays what it is, and what that is */
    uint32_t avoid;              /* what no other key becomes */
    uint32_t lo, range;          /* the output's keys: lo to lo + range */
    uint32_t full_lo, full_span; /* of an image without contrast */
    uint32_t same;               /* which stays as it is: Map.same_scale */
    uint32_t equalize;
    uint64_t nano_lo, nano_hi;
};

enum { SMALL_LAUNCH = 1 << 16 };

/* What blocks of a launch share. Launches use two sets of counts and items alternately: each
 * empties those of the next. All zero before the first. */
struct SmallState {
    uint32_t counts[2][SMALL_LINES][32]; /* see count_of; 128 bytes are a line of the cache */
    uint32_t samples[2][32];             /* the first: how many have been counted, or nearly */
    uint32_t reserved[2][SMALL_BLOCKS];  /* whether a block has reserved the item of this one */
    uint32_t begun; /* parity * SMALL_LAUNCH + blocks of this launch that have begun */
};

/* Whether one launch can do it all (equalize/bytes_fused.cu): one map for all samples of 8 bits,
 * fewer than 2^27. Then it does, in the stream's order. */
bool transform_is_small(const CudaDevice *device, const Finish *finish, const ApplyPixels *pixels);
SmallMap small_map(const Map *blank, const Finish *finish);
ImgstatResult launch_transform_small(CudaDevice *device, cudaStream_t stream, const SmallMap *map,
                                     SmallState *state, const ApplyPixels *pixels,
                                     ImgstatError *err);

/* The same of a series, a block an image (equalize/bytes_many.cu): of many images that are not too
 * large for that. pixels: of the first. *fits: whether it could be done, and was. */
ImgstatResult launch_bytes_many(CudaDevice *device, cudaStream_t stream, const SmallMap *map,
                                const Finish *finish, const ApplyPixels *pixels,
                                const DeviceSeries *series, bool *fits, ImgstatError *err);

/* 16-bit samples of one map that follow each other from a 16-byte boundary on are counted in tables
 * of WORD_TABLE bytes, if they are not too many (equalize/words.cu). */
enum { WORD_TABLE = WORD_BINS * 2 };
bool count_words_fit(const CudaDevice *device, uint64_t samples);
/* Tables that images of at most so many samples need, those that fit. */
uint32_t count_words_room(const CudaDevice *device, uint64_t samples);
ImgstatResult launch_count_words(CudaDevice *device, cudaStream_t stream, const ImagePro *image,
                                 uint4 *tables, ImgstatError *err);

/* The same of a series, a cluster of blocks an image (equalize/words_many.cu), where the device has
 * clusters: samples of one map that follow each other from a 16-byte boundary on. pixels: of the
 * first. *fits as above. */
ImgstatResult launch_words_many(CudaDevice *device, cudaStream_t stream, const SmallMap *map,
                                const Finish *finish, const ApplyPixels *pixels,
                                const DeviceSeries *series, bool *fits, ImgstatError *err);

/* From these tables, or the record, to those of the transfer. */
ImgstatResult launch_finish_tables(CudaDevice *device, cudaStream_t stream, const Finish &finish,
                                   const ImagePro *image, const uint4 *tables, ImgstatError *err);
ImgstatResult launch_finish_words(CudaDevice *device, cudaStream_t stream, const Finish &finish,
                                  ImgstatError *err);

#endif
