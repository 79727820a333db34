/* SPDX-License-Identifier: MIT */
/* clahe.cu: adaptive equalization: counts of the tiles, their tables, pixels between four of them.
 * The arithmetic is clahe_math.h's. */
#include "luma.cuh"

extern "C" {
#include "adapt.h"
#include "apply.h"
}

#include <stdlib.h>

enum { PIXEL_THREADS = 256, PIXEL_ROWS = 32768, TILE_WARPS = 8, TILE_THREADS = TILE_WARPS * 32 };
enum { STRIP_ROWS = 64 }; /* of a tile, that a block counts at once: 4,096 pixels square have 512 */
static_assert((int)CLAHE_NODES == TILE_THREADS, "a thread a node");

struct ClaheSide {
    uint32_t length, tiles, tile, padded; /* as ClaheAxis */
    const ClaheBlend *blend;
    const float *weight;
    const double *part;
};

/* An Adapt in device memory. Instances (a channel each, or luma) differ in their tables alone. */
struct ClaheWork {
    uint32_t like, from, to; /* from, to: sample types */
    uint32_t n, luma, channels;
    int32_t alpha;
    uint32_t has_nodata;
    uint64_t nodata_key;
    uint64_t nano;
    uint32_t bins, entries; /* counters a tile; keys of a sample */
    uint32_t by_key;        /* default, samples of 8 bits: shares are by key, not by node */
    ClaheSide x, y;
    MapRange range, colours;   /* of what is mapped; luma: then of the colours */
    const uint32_t *unchanged; /* n */
    const uint32_t *position;  /* n * entries */
    const uint32_t *stays;     /* entries: output bits of a sample that stays, */
    const uint32_t *rescale;   /* and of alpha, or beside luma */
    uint64_t *counts;          /* n * tiles * bins */
    uint32_t *share;           /* the same */
    uint32_t *observed;        /* n * 2: smallest and largest gray, like skimage */
};

/* A band in device memory. */
struct ClaheBand {
    ApplyPixels pixels; /* not made one long row */
    uint32_t first_row;
};

static __device__ __forceinline__ uint32_t load_key(const ClaheWork &w, const ApplyPixels &p,
                                                    const unsigned char *pixel, uint32_t channel)
{
    const uint32_t bytes = sample_bits((ImgstatSample)w.from) / 8;
    return (uint32_t)sample_key((ImgstatSample)w.from,
                                load_sample(pixel + channel * bytes, bytes, p.aligned));
}

static __device__ __forceinline__ uint32_t channel_of(const ClaheWork &w, uint32_t k)
{
    return k + (w.alpha >= 0 && (int)k >= w.alpha);
}

/* What instance k sees of a pixel; false where that is nothing. */
static __device__ __forceinline__ bool key_at(const ClaheWork &w, const ApplyPixels &p, uint32_t k,
                                              uint64_t x, uint64_t row, uint32_t *key)
{
    const uint32_t bytes = sample_bits((ImgstatSample)w.from) / 8;
    const unsigned char *pixel = p.from + row * p.from_pitch + x * p.channels * bytes;
    if (p.mask && !p.mask[row * p.mask_pitch + x])
        return false;
    if (!w.luma) {
        *key = load_key(w, p, pixel, channel_of(w, k));
        return !w.has_nodata || *key != w.nodata_key;
    }
    uint64_t colour[3], luma;
    for (uint32_t c = 0; c < 3; c++)
        colour[c] = load_key(w, p, pixel, c);
    if (!luma_of((ImgstatSample)w.from, p, colour, &luma))
        return false;
    *key = (uint32_t)luma;
    return true;
}

/*
 * clahe_count: counts of the tiles.
 *
 *   Idea      A block takes a strip of a tile; each warp counts rows into a table of its own, and
 *             their sums are added to the tile's.
 *   Work      a position's lookup and an increment a pixel and instance.
 *   Memory    reads each pixel once an instance; 8 KiB of shared memory.
 *   Launch    <<<blocks, TILE_THREADS>>>, any number of blocks; items: strips of tile rows
 *             [tile_row, tile_row + tile_rows) of all instances.
 *   Requires  counts are zero or hold other bands.
 *   Result    counts of clahe_count (clahe.c): integers, so their order cannot be seen.
 */
static __global__ void __launch_bounds__(TILE_THREADS)
    clahe_count_tiles(ClaheWork w, ClaheBand band, uint32_t tile_row, uint32_t strips,
                      uint64_t items)
{
    __shared__ uint32_t table[TILE_WARPS][CLAHE_NODES];
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const bool even = w.like == IMGSTAT_LIKE_IMGSTAT, small = w.bins == CLAHE_NODES;
    for (uint64_t item = blockIdx.x; item < items; item += gridDim.x) {
        uint64_t rest = item;
        const uint32_t strip = (uint32_t)(rest % strips);
        rest /= strips;
        const uint32_t tx = (uint32_t)(rest % w.x.tiles);
        rest /= w.x.tiles;
        const uint32_t k = (uint32_t)(rest % w.n), ty = tile_row + (uint32_t)(rest / w.n);
        const uint32_t left = even ? clahe_edge(tx, w.x.tiles, w.x.length) : tx * w.x.tile;
        const uint32_t right = even ? clahe_edge(tx + 1, w.x.tiles, w.x.length) : left + w.x.tile;
        const uint32_t top = even ? clahe_edge(ty, w.y.tiles, w.y.length) : ty * w.y.tile;
        const uint32_t bottom = even ? clahe_edge(ty + 1, w.y.tiles, w.y.length) : top + w.y.tile;
        const uint32_t first = top + strip * STRIP_ROWS;
        const uint32_t end = min(first + STRIP_ROWS, bottom);
        uint64_t *counts = w.counts + (((uint64_t)k * w.y.tiles + ty) * w.x.tiles + tx) * w.bins;
        if (w.unchanged[k] || first >= end)
            continue;
        for (uint32_t i = 0; i < TILE_WARPS; i++)
            table[i][threadIdx.x] = 0;
        __syncthreads(); /* the tables are empty */
        for (uint32_t py = first + warp; py < end; py += TILE_WARPS) {
            const uint32_t y = clahe_reflect(py, w.y.length);
            if (y < band.first_row || y - band.first_row >= band.pixels.rows)
                continue;
            for (uint32_t px = left + lane; px < right; px += 32) {
                uint32_t key;
                if (!key_at(w, band.pixels, k, clahe_reflect(px, w.x.length), y - band.first_row,
                            &key))
                    continue;
                const uint32_t position = w.position[(size_t)k * w.entries + key];
                if (!small)
                    atomicAdd((unsigned long long *)&counts[position], 1ull);
                else
                    atomicAdd(&table[warp][even ? clahe_node(position) : position], 1u);
            }
        }
        __syncthreads(); /* the tables are whole */
        uint64_t sum = 0;
        for (uint32_t i = 0; i < TILE_WARPS; i++)
            sum += table[i][threadIdx.x];
        if (sum)
            atomicAdd((unsigned long long *)&counts[threadIdx.x], (unsigned long long)sum);
        __syncthreads(); /* the next item empties them */
    }
}

/* Sum of a value of all threads, for all of them. */
static __device__ __forceinline__ uint64_t block_sum(uint64_t value, uint64_t *part)
{
    for (int step = 16; step; step /= 2)
        value += __shfl_xor_sync(0xFFFFFFFFu, value, step);
    __syncthreads(); /* the sum before has been read */
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = value;
    __syncthreads(); /* the parts are whole */
    uint64_t sum = 0;
    for (int i = 0; i < TILE_WARPS; i++)
        sum += part[i];
    return sum;
}

/*
 * clahe_tables: from the counts of a tile to its shares, by imgstat's definition.
 *
 *   Idea      A thread a node: clahe_shares with sums over the block instead of loops.
 *   Work      at most 48 sums of 256 values, a division a node.
 *   Memory    reads 2 KiB a tile, writes 1 KiB.
 *   Launch    <<<blocks, CLAHE_NODES>>>, any number of blocks; items: tiles of all instances.
 *   Requires  the counts are whole: the stream's order.
 *   Result    share of clahe_shares; by_key: clahe_share of each key's position in it.
 */
static __global__ void __launch_bounds__(TILE_THREADS) clahe_tables(ClaheWork w, uint64_t items)
{
    __shared__ uint64_t part[TILE_WARPS];
    __shared__ uint64_t scan[2][CLAHE_NODES];
    __shared__ uint32_t share[CLAHE_NODES];
    const uint32_t node = threadIdx.x;
    for (uint64_t item = blockIdx.x; item < items; item += gridDim.x) {
        const uint32_t k = (uint32_t)(item / ((uint64_t)w.x.tiles * w.y.tiles));
        const uint64_t count = w.counts[item * CLAHE_NODES + node];
        const uint64_t n = block_sum(count, part), all = n << CLAHE_COUNT_SHIFT;
        const uint64_t limit = w.nano >= 1000000000u ? all : clahe_limit(n, w.nano);
        if (clahe_is_even(n, limit)) {
            share[node] = clahe_even_share(node);
        } else {
            uint64_t low = 0, high = limit;
            while (low < high) { /* the same in all threads */
                const uint64_t middle = low + (high - low) / 2;
                if (block_sum(clahe_clipped(count, middle, limit), part) >= all)
                    high = middle;
                else
                    low = middle + 1;
            }
            unsigned side = 0;
            scan[0][node] = clahe_clipped(count, low, limit);
            for (uint32_t step = 1; step < CLAHE_NODES; step *= 2, side ^= 1) {
                __syncthreads(); /* the sums of the step before are whole */
                scan[side ^ 1][node] =
                    scan[side][node] + (node >= step ? scan[side][node - step] : 0);
            }
            __syncthreads(); /* so are the last ones */
            share[node] =
                (uint32_t)ratio_even(scan[side][node], CLAHE_UNIT, scan[side][CLAHE_NODES - 1]);
        }
        __syncthreads(); /* the shares are whole */
        w.share[item * CLAHE_NODES + node] =
            w.by_key && !w.unchanged[k]
                ? (uint32_t)clahe_share(share, w.position[(size_t)k * w.entries + node])
                : share[node];
        __syncthreads(); /* the next item writes them */
    }
}

/* What the four tiles around a pixel say of a position. */
static __device__ __forceinline__ void levels_at(const ClaheWork &w, uint32_t k,
                                                 const ClaheBlend &bx, const ClaheBlend &by,
                                                 uint32_t at, uint32_t level[4])
{
    const uint64_t upper = ((uint64_t)k * w.y.tiles + by.first) * w.x.tiles;
    const uint64_t lower = ((uint64_t)k * w.y.tiles + by.second) * w.x.tiles;
    level[0] = w.share[(upper + bx.first) * w.bins + at];
    level[1] = w.share[(upper + bx.second) * w.bins + at];
    level[2] = w.share[(lower + bx.first) * w.bins + at];
    level[3] = w.share[(lower + bx.second) * w.bins + at];
}

static __device__ __forceinline__ uint64_t map_pixel(const ClaheWork &w, uint32_t k, uint32_t x,
                                                     uint32_t y, uint32_t key)
{
    const ClaheBlend bx = w.x.blend[x], by = w.y.blend[y];
    uint32_t level[4];
    if (w.by_key) {
        levels_at(w, k, bx, by, key, level);
        const uint64_t share[4] = {level[0], level[1], level[2], level[3]};
        return clahe_key(share, bx.weight, by.weight, w.range.lo_key,
                         w.range.hi_key - w.range.lo_key);
    }
    const uint32_t position = w.position[(size_t)k * w.entries + key];
    if (w.like == IMGSTAT_LIKE_OPENCV) {
        levels_at(w, k, bx, by, position, level);
        return clahe_opencv(level, w.x.weight[x], w.y.weight[y], w.bins);
    }
    if (w.like == IMGSTAT_LIKE_SKIMAGE) {
        levels_at(w, k, bx, by, position, level);
        return clahe_skimage_key(clahe_skimage(level, w.x.part[x], w.y.part[y]), w.observed[2 * k],
                                 w.observed[2 * k + 1], w.range.hi_key);
    }
    const uint64_t upper = ((uint64_t)k * w.y.tiles + by.first) * w.x.tiles;
    const uint64_t lower = ((uint64_t)k * w.y.tiles + by.second) * w.x.tiles;
    const uint64_t share[4] = {clahe_share(w.share + (upper + bx.first) * w.bins, position),
                               clahe_share(w.share + (upper + bx.second) * w.bins, position),
                               clahe_share(w.share + (lower + bx.first) * w.bins, position),
                               clahe_share(w.share + (lower + bx.second) * w.bins, position)};
    return clahe_key(share, bx.weight, by.weight, w.range.lo_key, w.range.hi_key - w.range.lo_key);
}

/*
 * clahe_observe_pixels: the extreme grays that mapping like scikit-image makes.
 *
 *   Idea      A pixel a thread; extrema of a warp before those of the image.
 *   Work      four lookups and seven products a pixel.
 *   Memory    reads each pixel once an instance.
 *   Launch    <<<dim3(ceil(width / PIXEL_THREADS), rows or fewer, n), PIXEL_THREADS>>>.
 *   Requires  the shares are whole: the stream's order.
 *   Result    observed of clahe_observe (clahe.c).
 */
static __global__ void __launch_bounds__(PIXEL_THREADS)
    clahe_observe_pixels(ClaheWork w, ClaheBand band)
{
    const uint32_t x = blockIdx.x * PIXEL_THREADS + threadIdx.x, k = blockIdx.z;
    uint32_t low = UINT32_MAX, high = 0;
    for (uint32_t row = blockIdx.y; row < band.pixels.rows && !w.unchanged[k]; row += gridDim.y) {
        uint32_t key;
        if (x >= band.pixels.width || !key_at(w, band.pixels, k, x, row, &key))
            continue;
        const uint32_t y = band.first_row + row;
        uint32_t level[4];
        levels_at(w, k, w.x.blend[x], w.y.blend[y], w.position[(size_t)k * w.entries + key], level);
        const uint32_t gray = clahe_skimage(level, w.x.part[x], w.y.part[y]);
        low = min(low, gray);
        high = max(high, gray);
    }
    for (int step = 16; step; step /= 2) {
        low = min(low, __shfl_xor_sync(0xFFFFFFFFu, low, step));
        high = max(high, __shfl_xor_sync(0xFFFFFFFFu, high, step));
    }
    if (threadIdx.x % 32 == 0 && low <= high) {
        atomicMin(&w.observed[2 * k], low);
        atomicMax(&w.observed[2 * k + 1], high);
    }
}

/*
 * clahe_map: pixels between the tables of the four tiles around them.
 *
 *   Idea      A pixel a thread, a column of them a thread: what x blends is loaded once and stays.
 *   Work      default: 4 lookups (16 bits: 8), 6 wide products a sample; luma: once a pixel, and
 *             luma_scale.
 *   Memory    reads and writes each sample once; the tables through the caches.
 *   Launch    <<<dim3(ceil(width / PIXEL_THREADS), rows or fewer), PIXEL_THREADS>>>.
 *   Requires  the shares are whole, all has been observed. In place: a thread reads what it
 *             overwrites.
 *   Result    the bytes of adapt_apply (adapt.c).
 */
static __global__ void __launch_bounds__(PIXEL_THREADS) clahe_map(ClaheWork w, ClaheBand band)
{
    const ApplyPixels &p = band.pixels;
    const ImgstatSample from = (ImgstatSample)w.from, to = (ImgstatSample)w.to;
    const uint32_t in = sample_bits(from) / 8, out = sample_bits(to) / 8;
    const uint32_t x = blockIdx.x * PIXEL_THREADS + threadIdx.x;
    if (x >= p.width)
        return;
    for (uint32_t row = blockIdx.y; row < p.rows; row += gridDim.y) {
        const unsigned char *const source =
            p.from + row * p.from_pitch + (size_t)x * p.channels * in;
        unsigned char *const target = p.to + row * p.to_pitch + (size_t)x * p.channels * out;
        const uint32_t y = band.first_row + row;
        uint32_t key, first = 0;
        if (w.luma && !w.unchanged[0] && key_at(w, p, 0, x, row, &key)) {
            uint64_t colour[3];
            for (uint32_t c = 0; c < 3; c++)
                colour[c] = load_key(w, p, source, c);
            const uint64_t luma = range_avoid(&w.range, map_pixel(w, 0, x, y, key));
            recolour(from, to, w.colours, luma, colour);
            for (uint32_t c = 0; c < 3; c++)
                store_sample(target + c * out, out, sample_raw(to, colour[c]), p.aligned);
            first = 3;
        }
        uint32_t k = 0;
        for (uint32_t c = first; c < p.channels; c++) {
            const uint64_t raw = load_sample(source + c * in, in, p.aligned);
            key = (uint32_t)sample_key(from, raw);
            uint64_t made;
            if (w.luma)
                made = from == to ? raw : w.rescale[key];
            else if ((int)c == w.alpha)
                made = w.rescale[key];
            else {
                uint32_t seen;
                made = !w.unchanged[k] && key_at(w, p, k, x, row, &seen)
                           ? sample_raw(to, range_avoid(&w.range, map_pixel(w, k, x, y, seen)))
                           : w.stays[key];
                k++;
            }
            store_sample(target + c * out, out, made, p.aligned);
        }
    }
}

/* ---- Host side ------------------------------------------------------------------------------- */

/* Where the parts lie in device memory: what is sent first, then what is made there. */
struct ClaheLayout {
    size_t unchanged, position, stays, rescale, observed, blend[2], weight[2], part[2];
    size_t sent, counts, share, bytes;
};

/* False if that overflows. */
static bool place(size_t *at, size_t *bytes, size_t n, size_t size)
{
    size_t all;
    if (!size_product(n, size, &all) || all > SIZE_MAX / 2 || *bytes > SIZE_MAX / 2 - 256)
        return false;
    *at = *bytes;
    *bytes += (all + 255) & ~(size_t)255;
    return true;
}

static bool layout_of(const Adapt *adapt, ClaheLayout *l)
{
    const Clahe *const first = adapt->clahe[0];
    const size_t entries = sample_record_bins(first->sample);
    const uint32_t length[2] = {first->x.length, first->y.length};
    size_t tiles, counters;
    *l = ClaheLayout{};
    bool fits = size_product((size_t)first->x.tiles * first->y.tiles, adapt->n, &tiles) &&
                size_product(tiles, first->bins, &counters) &&
                place(&l->unchanged, &l->bytes, adapt->n, sizeof(uint32_t)) &&
                place(&l->position, &l->bytes, adapt->n * entries, sizeof(uint32_t)) &&
                place(&l->stays, &l->bytes, entries, sizeof(uint32_t)) &&
                place(&l->rescale, &l->bytes, entries, sizeof(uint32_t)) &&
                place(&l->observed, &l->bytes, adapt->n * 2u, sizeof(uint32_t));
    for (int a = 0; a < 2; a++)
        fits = fits && place(&l->blend[a], &l->bytes, length[a], sizeof(ClaheBlend)) &&
               place(&l->weight[a], &l->bytes, length[a], sizeof(float)) &&
               place(&l->part[a], &l->bytes, length[a], sizeof(double));
    l->sent = l->bytes;
    return fits && place(&l->counts, &l->bytes, counters, sizeof(uint64_t)) &&
           place(&l->share, &l->bytes, counters, sizeof(uint32_t));
}

static ClaheSide side_of(const ClaheAxis *axis, const char *memory, const ClaheLayout *l, int a)
{
    return ClaheSide{axis->length,
                     axis->tiles,
                     axis->tile,
                     axis->padded,
                     (const ClaheBlend *)(memory + l->blend[a]),
                     (const float *)(memory + l->weight[a]),
                     (const double *)(memory + l->part[a])};
}

static ClaheWork work_of(const Adapt *adapt, const ClaheLayout *l)
{
    const Clahe *const first = adapt->clahe[0];
    char *const memory = (char *)(uintptr_t)adapt->there.address;
    ClaheWork w;
    memset(&w, 0, sizeof w);
    w.like = first->like;
    w.from = first->sample;
    w.to = adapt->rescale->rescale.to.sample;
    w.n = adapt->n;
    w.luma = adapt->luma;
    w.channels = adapt->shape.channels;
    w.alpha = adapt->luma ? -1 : adapt->shape.alpha;
    w.has_nodata = first->has_nodata;
    w.nodata_key = first->nodata_key;
    w.nano = first->nano;
    w.bins = first->bins;
    w.entries = sample_record_bins(first->sample);
    w.by_key = first->like == IMGSTAT_LIKE_IMGSTAT && w.entries == CLAHE_NODES;
    w.x = side_of(&first->x, memory, l, 0);
    w.y = side_of(&first->y, memory, l, 1);
    w.range = first->to;
    w.colours = adapt->rescale->range;
    w.unchanged = (const uint32_t *)(memory + l->unchanged);
    w.position = (const uint32_t *)(memory + l->position);
    w.stays = (const uint32_t *)(memory + l->stays);
    w.rescale = (const uint32_t *)(memory + l->rescale);
    w.counts = (uint64_t *)(memory + l->counts);
    w.share = (uint32_t *)(memory + l->share);
    w.observed = (uint32_t *)(memory + l->observed);
    return w;
}

/* What is sent, as it lies in device memory. */
static void pack(const Adapt *adapt, const ClaheLayout *l, char *to)
{
    const Clahe *const first = adapt->clahe[0];
    const uint32_t entries = sample_record_bins(first->sample);
    const Map stays = clahe_stays(first);
    for (uint32_t k = 0; k < adapt->n; k++) {
        ((uint32_t *)(to + l->unchanged))[k] = adapt->clahe[k]->unchanged;
        ((uint32_t *)(to + l->observed))[2 * k] = UINT32_MAX;
        memcpy(to + l->position + (size_t)k * entries * sizeof(uint32_t), adapt->clahe[k]->position,
               entries * sizeof(uint32_t));
    }
    for (uint32_t key = 0; key < entries; key++)
        ((uint32_t *)(to + l->stays))[key] =
            (uint32_t)sample_raw(first->to.sample, map_sample(&stays, key));
    memcpy(to + l->rescale, adapt->rescale->rescale_table, entries * sizeof(uint32_t));
    const ClaheAxis *const axes[2] = {&first->x, &first->y};
    for (int a = 0; a < 2; a++) {
        memcpy(to + l->blend[a], axes[a]->blend, axes[a]->length * sizeof(ClaheBlend));
        memcpy(to + l->weight[a], axes[a]->weight, axes[a]->length * sizeof(float));
        memcpy(to + l->part[a], axes[a]->part, axes[a]->length * sizeof(double));
    }
}

static ImgstatResult prepare(CudaDevice *device, Adapt *adapt, ClaheWork *out, ImgstatError *err)
{
    ClaheLayout l;
    if (!layout_of(adapt, &l))
        return error_set(err, IMGSTAT_ERR_MEMORY, "the tiles are too many");
    if (!adapt->there.address) {
        const DeviceOps *const ops = device->base.ops;
        char *const memory = (char *)calloc(1, l.sent);
        if (!memory)
            return error_memory(err, l.sent, "adaptive equalization");
        pack(adapt, &l, memory);
        ImgstatResult res = ops->alloc(&device->base, l.bytes, &adapt->there, err);
        if (res == IMGSTAT_OK)
            res = ops->upload(&device->base, adapt->there, 0, memory, l.sent, err);
        free(memory);
        IMGSTAT_TRY(res);
    }
    *out = work_of(adapt, &l);
    return IMGSTAT_OK;
}

static ClaheBand band_of(const ImagePro *from, int16_t alpha, const ImagePro *to)
{
    ClaheBand band = {apply_pixels(from, alpha, to), from->first_row};
    band.pixels.width = from->width;
    band.pixels.rows = from->height;
    return band;
}

static dim3 pixel_grid(const ImagePro *image, unsigned n)
{
    const unsigned rows = image->height < PIXEL_ROWS ? image->height : PIXEL_ROWS;
    return dim3((image->width + PIXEL_THREADS - 1) / PIXEL_THREADS, rows, n);
}

static unsigned blocks_for(const CudaDevice *device, uint64_t items)
{
    const uint64_t most = (uint64_t)device->properties.multiProcessorCount * 16;
    return (unsigned)(items < most ? items : most);
}

struct ClaheReading {
    ClaheWork work;
    bool observe;
};

static ImgstatResult count_band(CudaDevice *device, const ClaheWork *w, const ImagePro *band,
                                ImgstatError *err)
{
    uint32_t first = 0, end = w->y.tiles, height = w->y.tile;
    if (w->like == IMGSTAT_LIKE_IMGSTAT) { /* no padding: the rows of a band are of few tiles */
        first = clahe_tile(band->first_row, w->y.tiles, w->y.length);
        end = clahe_tile(band->first_row + band->height - 1, w->y.tiles, w->y.length) + 1;
        height = w->y.length / w->y.tiles + 1;
    }
    const uint32_t strips = (height + STRIP_ROWS - 1) / STRIP_ROWS;
    const uint64_t items = (uint64_t)(end - first) * w->n * w->x.tiles * strips;
    clahe_count_tiles<<<blocks_for(device, items), TILE_THREADS, 0, device->stream>>>(
        *w, band_of(band, -1, band), first, strips, items);
    return cuda_launched(device, device->stream, "clahe_count_tiles", err);
}

static ImgstatResult read_bands(void *context, CudaDevice *device, const ImagePro *images,
                                const uint32_t *origin, size_t n, ImgstatError *err)
{
    const ClaheReading *const reading = (const ClaheReading *)context;
    const ClaheWork *const w = &reading->work;
    (void)origin; /* one image */
    for (size_t i = 0; i < n; i++) {
        if (images[i].width == 0 || images[i].height == 0)
            continue;
        if (!reading->observe) {
            IMGSTAT_TRY(count_band(device, w, &images[i], err));
            continue;
        }
        clahe_observe_pixels<<<pixel_grid(&images[i], w->n), PIXEL_THREADS, 0, device->stream>>>(
            *w, band_of(&images[i], -1, &images[i]));
        IMGSTAT_TRY(cuda_launched(device, device->stream, "clahe_observe_pixels", err));
    }
    return IMGSTAT_OK;
}

ImgstatResult cuda_adapt_read(Device *base, Adapt *adapt, const ImagePro *band, ImgstatError *err)
{
    CudaDevice *device = (CudaDevice *)base;
    ClaheReading reading;
    IMGSTAT_TRY(cuda_enter(device, err));
    IMGSTAT_TRY(prepare(device, adapt, &reading.work, err));
    reading.observe = adapt->finished;
    return cuda_stage(device, band, 1, read_bands, &reading, err);
}

/* The tables of other programs are made by the processor from the counts. */
static ImgstatResult finish_like(CudaDevice *device, Adapt *adapt, ImgstatError *err)
{
    const DeviceOps *const ops = device->base.ops;
    ClaheLayout l;
    (void)layout_of(adapt, &l);
    const size_t n =
        (size_t)adapt->clahe[0]->x.tiles * adapt->clahe[0]->y.tiles * adapt->clahe[0]->bins;
    for (uint32_t k = 0; k < adapt->n; k++) {
        Clahe *const clahe = adapt->clahe[k];
        const size_t counts = n * sizeof *clahe->counts, share = n * sizeof *clahe->share;
        IMGSTAT_TRY(ops->download(&device->base, clahe->counts, adapt->there, l.counts + k * counts,
                                  counts, err));
        clahe_finish(clahe);
        IMGSTAT_TRY(ops->upload(&device->base, adapt->there, l.share + k * share, clahe->share,
                                share, err));
    }
    return IMGSTAT_OK;
}

ImgstatResult cuda_adapt_finish(Device *base, Adapt *adapt, ImgstatError *err)
{
    CudaDevice *device = (CudaDevice *)base;
    ClaheWork w;
    IMGSTAT_TRY(cuda_enter(device, err));
    IMGSTAT_TRY(prepare(device, adapt, &w, err));
    if (w.like != IMGSTAT_LIKE_IMGSTAT)
        return finish_like(device, adapt, err);
    const uint64_t items = (uint64_t)w.n * w.x.tiles * w.y.tiles;
    clahe_tables<<<blocks_for(device, items), TILE_THREADS, 0, device->stream>>>(w, items);
    return cuda_launched(device, device->stream, "clahe_tables", err);
}

static ImgstatResult launch_map(const void *context, CudaDevice *device, const ImagePro *from,
                                const ImagePro *to, ImgstatError *err)
{
    const ClaheWork *const w = (const ClaheWork *)context;
    clahe_map<<<pixel_grid(from, 1), PIXEL_THREADS, 0, device->stream>>>(
        *w, band_of(from, (int16_t)w->alpha, to));
    return cuda_launched(device, device->stream, "clahe_map", err);
}

ImgstatResult cuda_adapt_apply(Device *base, const Adapt *adapt, const ImagePro *from, ImagePro *to,
                               ImgstatError *err)
{
    CudaDevice *device = (CudaDevice *)base;
    ClaheLayout l;
    IMGSTAT_TRY(cuda_enter(device, err));
    IMGSTAT_TRY(apply_check_shapes(from, adapt->rescale->rescale.to.sample, to, err));
    if (from->width == 0 || from->height == 0)
        return IMGSTAT_OK;
    if (!adapt->there.address || !layout_of(adapt, &l))
        return error_set(err, IMGSTAT_ERR_ARG, "adaptive equalization has not been finished");
    const ClaheWork w = work_of(adapt, &l);
    return cuda_apply_images(device, from, to, launch_map, &w, err);
}
