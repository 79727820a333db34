/* SPDX-License-Identifier: MIT */
/* clahe.h: contrast-limited adaptive equalization of one channel, band by band: count every band,
 * finish, (observe every band,) map every band. Memory depends on the tiles, not on the image. */
#ifndef IMGSTAT_TRANSFER_CLAHE_H
#define IMGSTAT_TRANSFER_CLAHE_H

#include "base/image.h"
#include "transfer/clahe_math.h"
#include "transfer/transfer.h"

/* How one axis is cut and blended. Default: even tiles. The other programs have tiles of equal
 * size and pad the image by reflection. */
typedef struct ClaheAxis {
    uint32_t length; /* pixels */
    uint32_t tiles;
    uint32_t tile;     /* pixels a tile, of the other programs' equal tiles */
    uint32_t padded;   /* length with padding, of the other programs */
    ClaheBlend *blend; /* per pixel, default */
    float *weight;     /* per pixel, like opencv: of the second tile */
    double *part;      /* per pixel, like skimage: the same */
} ClaheAxis;

typedef struct Clahe {
    ImgstatLike like;
    ImgstatSample sample; /* integers of at most 16 bits; output has the type of `to` */
    MapRange to;
    bool has_nodata;
    uint64_t nodata_key;
    Map rescale, passthrough; /* of masked samples; of others that are not mapped */
    uint64_t black, white;    /* extreme keys of the image */
    bool unchanged;           /* no level; the default: or one */
    uint64_t step;            /* the default: clahe_step of them, where it is not */
    uint64_t nano;            /* clip limit in billionths (default, skimage) */
    double clip_limit;
    ClaheAxis x, y;
    uint32_t bins;             /* counters a tile */
    uint32_t *position;        /* by key: clahe_position; like skimage: the bin */
    uint8_t *bin;              /* by the sample's bits, where there are 256 bins; else NULL */
    uint64_t *counts;          /* tiles * bins */
    uint32_t *share;           /* tiles * bins, once finished; clahe_by_key: by key */
    uint32_t out_min, out_max; /* like skimage: of the mapped image, once observed */
} Clahe;

/* black, white: extreme keys of the channel's (or luma's) valid samples; black > white: there are
 * none. The shape's nodata is honoured; a luma plane has none. */
ImgstatResult clahe_create(BufferCache *cache, const ImgstatMethod *method,
                           const TransferShape *shape, uint32_t width, uint32_t height,
                           uint64_t black, uint64_t white, Clahe **out, ImgstatError *err);
void clahe_destroy(Clahe *clahe); /* accepts NULL */
/* Whether the tables of the tiles, once finished, are by key: 8-bit samples, the default method. */
static inline bool clahe_by_key(const Clahe *clahe)
{
    return clahe->like == IMGSTAT_LIKE_IMGSTAT && sample_bits(clahe->sample) == 8;
}

/* Counts what one channel of a band (which lies at first_row) has of a tile. Bands may come in
 * any order; threads may count different tiles. */
void clahe_count(Clahe *clahe, size_t tile, const ImagePro *band, uint16_t channel);
void clahe_finish(Clahe *clahe);
/* Whether every band must pass clahe_observe before the first clahe_apply. */
bool clahe_observes(const Clahe *clahe);
void clahe_observe(Clahe *clahe, const ImagePro *band, uint16_t channel);
/* Maps one channel of a band; `to` has its geometry and the output type, or is the band itself.
 * Undefined and masked samples stay. */
void clahe_apply(const Clahe *clahe, const ImagePro *band, uint16_t channel, ImagePro *to);

/* CLAHE of every channel of a page but alpha, or of its luma. */
typedef struct ClahePage {
    TransferShape shape;
    bool luma;
    uint16_t n; /* 1, or one for each channel but alpha */
    Clahe **clahe;
    Transfer *rescale; /* its rescale and passthrough map the samples that CLAHE does not */
    bool finished;     /* clahe_finish is done: bands are observed, not counted */
    DevMem there;      /* tables in a device's own memory; empty on the CPU */
} ClahePage;

/* The pixel channel that clahe[k] maps. */
static inline uint16_t clahe_page_channel(const ClahePage *page, size_t k)
{
    return (uint16_t)(k + (page->shape.alpha >= 0 && (int)k >= page->shape.alpha));
}

/* transfer/clahe_compat.c: the table of one tile from its counts, as OpenCV and as scikit-image
 * make it. */
enum {
    SKIMAGE_GRAYS = 16384, /* levels that scikit-image works with */
    SKIMAGE_BINS = 256,
    SKIMAGE_BIN_GRAYS = 1 + SKIMAGE_GRAYS / SKIMAGE_BINS
};
void clahe_opencv_shares(const Clahe *clahe, const uint64_t *counts, uint32_t *share);
void clahe_skimage_shares(const Clahe *clahe, const uint64_t *counts, uint32_t *share);

#endif
