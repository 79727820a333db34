/* SPDX-License-Identifier: MIT */
/* clahe/kernels.cu: counts of the tiles, their tables, pixels between four of them. The arithmetic
 * is transfer/clahe_math.h's. */
#include "clahe/clahe.cuh"
#include "common/tuning.cuh"
#include "common/warp.cuh"
#include "luma/luma.cuh"

enum { PIXEL_THREADS = CLAHE_PIXEL_THREADS, PIXEL_ROWS = 32768 };
enum { TILE_WARPS = CLAHE_TILE_WARPS, TILE_THREADS = TILE_WARPS * 32 };
enum { STRIP_ROWS = CLAHE_STRIP_ROWS };
static_assert((int)CLAHE_NODES == TILE_THREADS, "a thread a node");

DEVICE uint32_t load_key(const ClaheWork &w, const ApplyPixels &p, const unsigned char *pixel,
                         uint32_t channel)
{
    const uint32_t bytes = sample_bits(w.from) / 8;
    return (uint32_t)sample_key(w.from, load_sample(pixel + channel * bytes, bytes, p.aligned));
}

DEVICE uint32_t channel_of(const ClaheWork &w, uint32_t k)
{
    return k + (w.alpha >= 0 && (int)k >= w.alpha);
}

/* The key that instance k counts of a pixel; false where there is none. */
DEVICE bool key_at(const ClaheWork &w, const ApplyPixels &p, uint32_t k, uint64_t x, uint64_t row,
                   uint32_t *key)
{
    const uint32_t bytes = sample_bits(w.from) / 8;
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
    if (!luma_of(w.from, p, colour, &luma))
        return false;
    *key = (uint32_t)luma;
    return true;
}

/*
 * clahe_count_tiles: counts of the tiles.
 *
 *   Idea      A block takes a strip of a tile; each warp counts rows into a table of its own, and
 *             their sums are added to the tile's.
 *   Work      a position's lookup and an increment a pixel and instance.
 *   Memory    reads each pixel once an instance; 8 KiB of shared memory.
 *   Launch    <<<blocks, TILE_THREADS>>>, any number of blocks; items: strips of tile rows
 *             [tile_row, tile_row + tile_rows) of all instances.
 *   Requires  counts are zero or hold other bands.
 *   Result    counts of clahe_count (cpu/clahe_count.c): integers, so their order cannot be seen.
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
DEVICE uint64_t block_sum(uint64_t value, uint64_t *part)
{
    value = warp_sum(value);
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
    __shared__ uint64_t of_warp[TILE_WARPS], total;
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
            const uint64_t sum = block_inclusive(clahe_clipped(count, low, limit), of_warp);
            if (node == CLAHE_NODES - 1)
                total = sum;
            __syncthreads(); /* the total is known */
            share[node] = (uint32_t)ratio_even(sum, CLAHE_UNIT, total);
        }
        __syncthreads(); /* the shares are whole */
        w.share[item * CLAHE_NODES + node] =
            w.by_key && !w.unchanged[k]
                ? (uint32_t)clahe_share(share, w.position[(size_t)k * w.entries + node])
                : share[node];
        __syncthreads(); /* the next item writes them */
    }
}

/* The levels of a position in the four tiles around a pixel. */
DEVICE void levels_at(const ClaheWork &w, uint32_t k, const ClaheBlend &bx, const ClaheBlend &by,
                      uint32_t at, uint32_t level[4])
{
    const uint64_t upper = ((uint64_t)k * w.y.tiles + by.first) * w.x.tiles;
    const uint64_t lower = ((uint64_t)k * w.y.tiles + by.second) * w.x.tiles;
    level[0] = w.share[(upper + bx.first) * w.bins + at];
    level[1] = w.share[(upper + bx.second) * w.bins + at];
    level[2] = w.share[(lower + bx.first) * w.bins + at];
    level[3] = w.share[(lower + bx.second) * w.bins + at];
}

DEVICE uint64_t map_pixel(const ClaheWork &w, uint32_t k, uint32_t x, uint32_t y, uint32_t key)
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
 *   Result    observed of clahe_observe (cpu/clahe_map.c).
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
    low = warp_min(low);
    high = warp_max(high);
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
 *   Result    the bytes of cpu_clahe_apply (cpu/clahe.c).
 */
static __global__ void __launch_bounds__(PIXEL_THREADS) clahe_map(ClaheWork w, ClaheBand band)
{
    const ApplyPixels &p = band.pixels;
    const ImgstatSample from = w.from, to = w.to;
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
            rescale_luma(from, to, w.colours, luma, colour);
            for (uint32_t c = 0; c < 3; c++)
                store_sample(target + c * out, out, sample_raw(to, colour[c]), p.aligned);
            first = 3;
        }
        const bool masked = p.mask && !p.mask[row * p.mask_pitch + x];
        uint32_t k = 0;
        for (uint32_t c = first; c < p.channels; c++) {
            const uint64_t raw = load_sample(source + c * in, in, p.aligned);
            key = (uint32_t)sample_key(from, raw);
            uint64_t made;
            uint32_t seen;
            if (masked || (int)c == w.alpha)
                made = w.rescale[key];
            else if (!w.luma && !w.unchanged[k] && key_at(w, p, k, x, row, &seen))
                made = sample_raw(to, range_avoid(&w.range, map_pixel(w, k, x, y, seen)));
            else
                made = w.passthrough[key];
            k += !w.luma && (int)c != w.alpha;
            store_sample(target + c * out, out, made, p.aligned);
        }
    }
}

/* ---- Launching ------------------------------------------------------------------------------- */

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
    assert(image->width > 0 && image->height > 0);
    return dim3((image->width + PIXEL_THREADS - 1) / PIXEL_THREADS, rows, n);
}

ImgstatResult launch_clahe_count(CudaDevice *device, const ClaheWork *w, const ImagePro *band,
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
    assert(items > 0 && w->counts);
    clahe_count_tiles<<<cuda_blocks(device, items, 16), TILE_THREADS, 0, device->stream>>>(
        *w, band_of(band, -1, band), first, strips, items);
    return cuda_launched(device, device->stream, "clahe_count_tiles", err);
}

ImgstatResult launch_clahe_tables(CudaDevice *device, const ClaheWork *w, ImgstatError *err)
{
    const uint64_t items = (uint64_t)w->n * w->x.tiles * w->y.tiles;
    assert(items > 0 && w->bins == CLAHE_NODES);
    clahe_tables<<<cuda_blocks(device, items, 16), TILE_THREADS, 0, device->stream>>>(*w, items);
    return cuda_launched(device, device->stream, "clahe_tables", err);
}

ImgstatResult launch_clahe_observe(CudaDevice *device, const ClaheWork *w, const ImagePro *band,
                                   ImgstatError *err)
{
    clahe_observe_pixels<<<pixel_grid(band, w->n), PIXEL_THREADS, 0, device->stream>>>(
        *w, band_of(band, -1, band));
    return cuda_launched(device, device->stream, "clahe_observe_pixels", err);
}

ImgstatResult launch_clahe_map(CudaDevice *device, const ClaheMapping *mapping,
                               const ImagePro *from, const ImagePro *to, ImgstatError *err)
{
    const ClaheBand band = band_of(from, (int16_t)mapping->work.alpha, to);
    clahe_map<<<pixel_grid(from, 1), PIXEL_THREADS, 0, device->stream>>>(mapping->work, band);
    IMGSTAT_TRY(cuda_launched(device, device->stream, "clahe_map", err));
    return launch_holes(device, device->stream, &mapping->holes, from->sample, to->sample,
                        &band.pixels, err);
}
