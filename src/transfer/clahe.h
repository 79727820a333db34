/* SPDX-License-Identifier: MIT */
/* clahe.h: contrast-limited adaptive equalization of one channel, band by band: count every band,
 * finish, (observe every band,) map every band. Memory depends on the tiles, not on the image. */
#ifndef IMGSTAT_TRANSFER_CLAHE_H
#define IMGSTAT_TRANSFER_CLAHE_H

#include "base/image.h"
#include "transfer/clahe_math.h"
#include "transfer/transfer.h"

/* How one axis is cut and blended. imgstat's own tiles differ by at most a pixel; other programs
 * have equal tiles and pad the image by reflection. */
typedef struct ClaheAxis {
    uint32_t length; /* pixels */
    uint32_t tiles;
    uint32_t tile;     /* pixels a tile; other programs only */
    uint32_t padded;   /* length with padding; other programs only */
    ClaheBlend *blend; /* one a pixel; imgstat's own method */
    float *weight;     /* one a pixel, like opencv: weight of the second tile */
    double *part;      /* one a pixel, like skimage: weight of the second tile */
} ClaheAxis;

typedef struct Clahe {
    ImgstatLike like;
    ImgstatSample sample; /* integers of at most 16 bits; output has the type of `to` */
    MapRange to;
    bool has_nodata;
    uint64_t nodata_key;
    Map rescale, passthrough; /* maps of masked samples, and of others that are not mapped */
    uint64_t black, white;    /* extreme keys of the image; like others: in the type's full scale */
    bool unchanged;           /* no valid sample; for imgstat's own method also a constant image */
    uint64_t step;            /* clahe_step(black, white), unless unchanged; imgstat's own method */
    uint64_t nano;            /* clip limit in billionths; imgstat's own method, skimage */
    double clip_limit;
    ClaheAxis x, y;
    uint32_t bins;             /* counters a tile */
    uint32_t *position;        /* by key: clahe_position, or like skimage the bin */
    uint8_t *bin;              /* by the bits of an 8-bit sample; else NULL */
    uint64_t *counts;          /* tiles * bins counters */
    uint32_t *share;           /* tiles * bins entries after clahe_finish; by key if clahe_by_key */
    uint32_t out_min, out_max; /* like skimage: extremes of the mapped image, after clahe_observe */
} Clahe;

/* black, white: extreme keys of the valid samples of the channel or luma; black > white if there
 * are none. The shape's nodata value holds; a luma plane has none. */
ImgstatResult clahe_create(BufferCache *cache, const ImgstatMethod *method,
                           const TransferShape *shape, uint32_t width, uint32_t height,
                           uint64_t black, uint64_t white, Clahe **out, ImgstatError *err);
void clahe_destroy(Clahe *clahe); /* accepts NULL */
/* Whether clahe_finish makes tables by key: imgstat's own method, 8-bit samples. */
static inline bool clahe_by_key(const Clahe *clahe)
{
    return clahe->like == IMGSTAT_LIKE_IMGSTAT && sample_bits(clahe->sample) == 8;
}

/* Counts the samples of a tile in one channel of a band, which begins at its first_row. Bands may
 * come in any order. Threads may count different tiles at the same time. */
void clahe_count(Clahe *clahe, size_t tile, const ImagePro *band, uint16_t channel);
void clahe_finish(Clahe *clahe);
/* Whether every band must pass clahe_observe before the first clahe_apply. */
bool clahe_observes(const Clahe *clahe);
void clahe_observe(Clahe *clahe, const ImagePro *band, uint16_t channel);
/* Maps one channel of a band. `to` has the geometry of the band and the output type, or is the
 * band. Undefined and masked samples stay. */
void clahe_apply(const Clahe *clahe, const ImagePro *band, uint16_t channel, ImagePro *to);

/* CLAHE of every channel of a page but alpha, or of its luma. */
typedef struct ClahePage {
    TransferShape shape;
    bool luma;
    uint16_t n; /* 1, or one for each channel but alpha */
    Clahe **clahe;
    Transfer *rescale; /* maps the samples that CLAHE leaves out, by rescale and passthrough */
    bool finished;     /* after clahe_finish: bands are observed, not counted */
    DevMem there;      /* tables in a device's own memory; empty on the CPU */
} ClahePage;

/* The pixel channel that clahe[k] maps. */
static inline uint16_t clahe_page_channel(const ClahePage *page, size_t k)
{
    return (uint16_t)(k + (page->shape.alpha >= 0 && (int)k >= page->shape.alpha));
}

/* transfer/clahe_compat.c: tables of a tile from its counts, as OpenCV and scikit-image make
 * them. */
enum {
    SKIMAGE_GRAYS = 16384, /* levels that scikit-image works with */
    SKIMAGE_BINS = 256,
    SKIMAGE_BIN_GRAYS = 1 + SKIMAGE_GRAYS / SKIMAGE_BINS
};
void clahe_opencv_shares(const Clahe *clahe, const uint64_t *counts, uint32_t *share);
void clahe_skimage_shares(const Clahe *clahe, const uint64_t *counts, uint32_t *share);

#endif
