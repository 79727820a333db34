/* SPDX-License-Identifier: MIT */
/* clahe.c: contrast-limited adaptive equalization, imgstat's own and those of OpenCV and
 * scikit-image: tiles and their tables. */
#include "transfer/clahe.h"

#include <stdlib.h>
#include <string.h>

enum { DEFAULT_TILES = 8 };

/* ---- Geometry ------------------------------------------------------------------------------ */

static ImgstatResult axis_init(BufferCache *cache, ClaheAxis *axis, ImgstatLike like,
                               uint32_t length, uint32_t tiles, uint32_t padded, ImgstatError *err)
{
    axis->length = length;
    axis->tiles = tiles;
    axis->padded = padded;
    axis->tile = padded / tiles;
    axis->blend = buffer_cache_acquire(cache, length * sizeof *axis->blend);
    axis->weight = buffer_cache_acquire(cache, length * sizeof *axis->weight);
    axis->part = buffer_cache_acquire(cache, length * sizeof *axis->part);
    if (!axis->blend || !axis->weight || !axis->part)
        return error_memory(err, length * sizeof *axis->blend, "adaptive equalization");
    const float inverse = 1.0f / (float)axis->tile;
    for (uint32_t p = 0; p < length; p++) {
        axis->weight[p] = 0.0f;
        axis->part[p] = 0.0;
        if (like == IMGSTAT_LIKE_OPENCV) {
            const float at = (float)p * inverse - 0.5f;
            const float whole = floorf(at);
            const int first = (int)whole, last = (int)tiles - 1;
            axis->weight[p] = at - whole;
            axis->blend[p] =
                (ClaheBlend){.first = (uint32_t)(first < 0      ? 0
                                                 : first > last ? last
                                                                : first),
                             .second = (uint32_t)(first + 1 > last ? last : first + 1)};
        } else if (like == IMGSTAT_LIKE_SKIMAGE) {
            const uint32_t at = p + axis->tile / 2, block = at / axis->tile;
            axis->part[p] = (double)(at % axis->tile) / (double)axis->tile;
            axis->blend[p] = (ClaheBlend){.first = block ? block - 1 : 0,
                                          .second = block < tiles ? block : tiles - 1};
        } else
            axis->blend[p] = clahe_blend(p, tiles, length);
    }
    return IMGSTAT_OK;
}

static ImgstatResult set_axes(BufferCache *cache, Clahe *clahe, const ImgstatMethod *method,
                              uint32_t width, uint32_t height, ImgstatError *err)
{
    uint32_t tiles_x = method->tiles_x ? method->tiles_x : DEFAULT_TILES;
    uint32_t tiles_y = method->tiles_y ? method->tiles_y : DEFAULT_TILES;
    uint32_t padded_x = width, padded_y = height;
    if (clahe->like == IMGSTAT_LIKE_OPENCV) {
        /* If either axis does not divide into equal tiles, both are padded; one that does divide
         * grows by a pixel a tile. */
        if (width % tiles_x || height % tiles_y) {
            padded_x += tiles_x - width % tiles_x;
            padded_y += tiles_y - height % tiles_y;
        }
    } else if (clahe->like == IMGSTAT_LIKE_SKIMAGE) {
        const uint32_t tile_x = width / tiles_x ? width / tiles_x : 1;
        const uint32_t tile_y = height / tiles_y ? height / tiles_y : 1;
        tiles_x = (width + tile_x - 1) / tile_x;
        tiles_y = (height + tile_y - 1) / tile_y;
        padded_x = tiles_x * tile_x;
        padded_y = tiles_y * tile_y;
    } else {
        tiles_x = clahe_at_most(tiles_x, width);
        tiles_y = clahe_at_most(tiles_y, height);
    }
    IMGSTAT_TRY(axis_init(cache, &clahe->x, clahe->like, width, tiles_x, padded_x, err));
    return axis_init(cache, &clahe->y, clahe->like, height, tiles_y, padded_y, err);
}

/* ---- Making -------------------------------------------------------------------------------- */

static ImgstatResult check(const ImgstatMethod *method, const TransferShape *shape, uint32_t width,
                           uint32_t height, ImgstatError *err)
{
    if (!sample_is_narrow(shape->sample) || sample_is_float(shape->sample))
        return error_set(err, IMGSTAT_ERR_UNSUPPORTED,
                         "adaptive equalization takes integers of at most 16 bits, not %s",
                         imgstat_sample_name(shape->sample));
    if (method->depth == IMGSTAT_DEPTH_FLOAT)
        return error_set(err, IMGSTAT_ERR_UNSUPPORTED,
                         "adaptive equalization makes 8- or 16-bit samples");
    if (width == 0 || height == 0)
        return error_set(err, IMGSTAT_ERR_ARG, "the image is empty");
    if (method->tiles_x > 65536 || method->tiles_y > 65536)
        return error_set(err, IMGSTAT_ERR_ARG, "%ux%u tiles: at most 65536 a side are expected",
                         method->tiles_x, method->tiles_y);
    if (!(method->clip_limit >= 0.0))
        return error_set(err, IMGSTAT_ERR_ARG,
                         "clip limit %.9g: a number of at least 0 is expected", method->clip_limit);
    return IMGSTAT_OK;
}

/* Returns the level of a key among the grays that scikit-image scales an image to. A constant image
 * keeps its level among 65,536. */
static uint32_t skimage_gray(const Clahe *clahe, uint64_t key, uint32_t entries)
{
    const uint64_t most = SKIMAGE_GRAYS - 1;
    if (clahe->black < clahe->white) {
        const double span = (double)(clahe->white - clahe->black);
        return (uint32_t)rint((double)(key - clahe->black) / span * (double)most);
    }
    const uint64_t level = key * (65535 / (entries - 1));
    return (uint32_t)(level < most ? level : most);
}

/* Returns what a key is to the method: other programs bring samples of fewer bits to 8 or 16. */
static uint64_t key_of(const Clahe *clahe, uint64_t key)
{
    return clahe->like == IMGSTAT_LIKE_IMGSTAT ? key : map_sample(&clahe->rescale, key);
}

static void set_positions(Clahe *clahe)
{
    const uint32_t entries = sample_record_bins(clahe->sample);
    for (uint32_t key = 0; key < entries; key++) {
        const uint64_t full = key_of(clahe, key);
        const uint64_t k = full < clahe->black   ? clahe->black
                           : full > clahe->white ? clahe->white
                                                 : full;
        if (clahe->like == IMGSTAT_LIKE_OPENCV)
            clahe->position[key] = (uint32_t)full;
        else if (clahe->like == IMGSTAT_LIKE_SKIMAGE)
            clahe->position[key] = skimage_gray(clahe, k, entries) / SKIMAGE_BIN_GRAYS;
        else
            clahe->position[key] = clahe_position(key, clahe->black, clahe->white);
        const uint64_t raw = sample_raw(clahe->sample, key);
        if (clahe->bin)
            clahe->bin[raw] =
                (uint8_t)(clahe->like == IMGSTAT_LIKE_IMGSTAT ? clahe_node(clahe->position[key])
                                                              : clahe->position[key]);
    }
}

static ImgstatResult allocate(BufferCache *cache, Clahe *clahe, ImgstatError *err)
{
    const uint32_t entries = sample_record_bins(clahe->sample);
    clahe->bins = clahe->like == IMGSTAT_LIKE_OPENCV ? entries : CLAHE_NODES;
    size_t tiles, counters, bytes;
    if (!size_product(clahe->x.tiles, clahe->y.tiles, &tiles) ||
        !size_product(tiles, clahe->bins, &counters) ||
        !size_product(counters + 1, sizeof(uint64_t) + sizeof(uint32_t), &bytes))
        return error_set(err, IMGSTAT_ERR_MEMORY, "%ux%u tiles are too many", clahe->x.tiles,
                         clahe->y.tiles);
    clahe->counts = buffer_cache_acquire_zeroed(cache, counters, sizeof *clahe->counts);
    /* one more: readers load the value after the last node, with weight 0 */
    clahe->share = buffer_cache_acquire_zeroed(cache, counters + 1, sizeof *clahe->share);
    clahe->position = buffer_cache_acquire_zeroed(cache, entries, sizeof *clahe->position);
    if (clahe->bins == CLAHE_NODES)
        clahe->bin = buffer_cache_acquire_zeroed(cache, entries, sizeof *clahe->bin);
    if (!clahe->counts || !clahe->share || !clahe->position ||
        (!clahe->bin && clahe->bins == CLAHE_NODES))
        return error_memory(err, bytes, "adaptive equalization");
    return IMGSTAT_OK;
}

ImgstatResult clahe_create(BufferCache *cache, const ImgstatMethod *method,
                           const TransferShape *shape, uint32_t width, uint32_t height,
                           uint64_t black, uint64_t white, Clahe **out, ImgstatError *err)
{
    *out = NULL;
    IMGSTAT_TRY(transfer_check(method, shape, err));
    IMGSTAT_TRY(check(method, shape, width, height, err));
    Clahe *const clahe = calloc(1, sizeof *clahe);
    if (!clahe)
        return error_memory(err, sizeof *clahe, "adaptive equalization");
    const double given = method->clip_limit;
    clahe->like = method->like;
    clahe->sample = shape->sample;
    clahe->to = transfer_range(method, shape);
    clahe->has_nodata = shape->has_nodata;
    clahe->nodata_key = shape->nodata_key;
    uint8_t bits;
    (void)transfer_output(method, shape, &bits);
    passthrough_maps(shape->sample, shape->bits, &clahe->to, bits, shape->has_nodata,
                     shape->nodata_key, &clahe->rescale, &clahe->passthrough);
    clahe->black = key_of(clahe, black);
    clahe->white = key_of(clahe, white);
    clahe->unchanged = clahe->like == IMGSTAT_LIKE_IMGSTAT ? black >= white : black > white;
    clahe->clip_limit = given > 0.0 ? given : method->like == IMGSTAT_LIKE_OPENCV ? 40.0 : 0.01;
    clahe->nano = clahe->clip_limit >= 1.0 ? 1000000000u : (uint64_t)rint(clahe->clip_limit * 1e9);
    clahe->out_min = UINT32_MAX;
    ImgstatResult result = set_axes(cache, clahe, method, width, height, err);
    if (result == IMGSTAT_OK)
        result = allocate(cache, clahe, err);
    if (result != IMGSTAT_OK) {
        clahe_destroy(clahe);
        return result;
    }
    if (!clahe->unchanged) {
        if (clahe->like == IMGSTAT_LIKE_IMGSTAT)
            clahe->step = clahe_step((uint32_t)black, (uint32_t)white);
        set_positions(clahe);
    }
    *out = clahe;
    return IMGSTAT_OK;
}

static void axis_release(ClaheAxis *axis)
{
    buffer_cache_release(axis->blend);
    buffer_cache_release(axis->weight);
    buffer_cache_release(axis->part);
}

void clahe_destroy(Clahe *clahe)
{
    if (!clahe)
        return;
    axis_release(&clahe->x);
    axis_release(&clahe->y);
    buffer_cache_release(clahe->counts);
    buffer_cache_release(clahe->share);
    buffer_cache_release(clahe->position);
    buffer_cache_release(clahe->bin);
    free(clahe);
}

/* ---- Tables of the tiles ------------------------------------------------------------------- */

/* Turns the shares of nodes into shares of keys, for 8-bit samples. */
static void shares_by_key(const Clahe *clahe, uint32_t *share)
{
    uint32_t node[CLAHE_NODES];
    memcpy(node, share, sizeof node);
    for (uint32_t key = 0; key < CLAHE_NODES; key++)
        share[key] = (uint32_t)clahe_share(node, clahe->position[key]);
}

void clahe_finish(Clahe *clahe)
{
    const size_t tiles = (size_t)clahe->x.tiles * clahe->y.tiles;
    for (size_t t = 0; !clahe->unchanged && t < tiles; t++) {
        uint64_t *const counts = clahe->counts + t * clahe->bins;
        uint32_t *const share = clahe->share + t * clahe->bins;
        if (clahe->like == IMGSTAT_LIKE_OPENCV)
            clahe_opencv_shares(clahe, counts, share);
        else if (clahe->like == IMGSTAT_LIKE_SKIMAGE)
            clahe_skimage_shares(clahe, counts, share);
        else
            clahe_shares(counts, clahe->nano, share);
        if (clahe_by_key(clahe))
            shares_by_key(clahe, share);
    }
}
