/* SPDX-License-Identifier: MIT */
/* codec/filter_rows.cu: PNG's filters, a row a warp. */
#include "codec/filter_rows.h"

#include "codec/load_kernel.cuh"
#include "common/tuning.cuh"
#include "common/warp.cuh"

enum { FILTERS = 5, WARPS = FILTER_THREADS / 32 };

/* A byte and its neighbours: left of it, above, above left. */
struct Neighbours {
    int byte, left, up, corner;
};

/* Of byte i of a row; above: NULL for the first one. flip: 1 where bytes of samples are swapped. */
DEVICE Neighbours neighbours(const uint8_t *row, const uint8_t *above, unsigned i, unsigned step,
                             unsigned flip)
{
    const bool first = i < step;
    const unsigned here = i ^ flip, before = (i - step) ^ flip;
    Neighbours at;
    at.byte = row[here];
    at.left = first ? 0 : row[before];
    at.up = above ? above[here] : 0;
    at.corner = first || !above ? 0 : above[before];
    return at;
}

DEVICE int paeth(const Neighbours &at)
{
    const int p = at.up - at.corner, q = at.left - at.corner;
    const int pa = abs(p), pb = abs(q), pc = abs(p + q);
    const int other = pb <= pc ? at.up : at.corner;
    return pa <= min(pb, pc) ? at.left : other;
}

DEVICE int guess(unsigned filter, const Neighbours &at)
{
    switch (filter) {
    case 0:
        return 0;
    case 1:
        return at.left;
    case 2:
        return at.up;
    case 3:
        return (at.left + at.up) / 2;
    default:
        return paeth(at);
    }
}

/* The magnitude of a byte as a signed number. */
DEVICE unsigned magnitude(int difference)
{
    return (unsigned)abs((int)(int8_t)difference);
}

/* The place of byte k of those that count. */
DEVICE unsigned counted(unsigned k, bool sampled)
{
    enum { FIRST = PNG_SAMPLE_STEP - PNG_SAMPLE };
    return sampled ? k / PNG_SAMPLE * PNG_SAMPLE_STEP + FIRST + k % PNG_SAMPLE : k;
}

/* The filter of least cost. One warp; a lane's sum is below 2^27. */
DEVICE unsigned choose(const FilterImage &image, const uint8_t *row, const uint8_t *above)
{
    const bool sampled = image.choice == PNG_CHOOSE_SAMPLED && image.row_bytes > PNG_SAMPLED_ROW;
    unsigned cost[FILTERS] = {0}, best = 0, i;
    for (unsigned k = threadIdx.x % 32; (i = counted(k, sampled)) < image.row_bytes; k += 32) {
        const Neighbours at = neighbours(row, above, i, image.pixel_bytes, image.swap);
#pragma unroll
        for (unsigned f = 0; f < FILTERS; f++)
            cost[f] += magnitude(at.byte - guess(f, at));
    }
    unsigned least = warp_sum(cost[0]);
#pragma unroll
    for (unsigned f = 1; f < FILTERS; f++) {
        const unsigned sum = warp_sum(cost[f]);
        best = sum < least ? f : best;
        least = min(sum, least);
    }
    return best;
}

template <unsigned FILTER>
DEVICE void filter_row(const FilterImage &image, const uint8_t *row, const uint8_t *above,
                       uint8_t *to)
{
    for (unsigned i = threadIdx.x % 32; i < image.row_bytes; i += 32) {
        const Neighbours at = neighbours(row, above, i, image.pixel_bytes, image.swap);
        to[i] = (uint8_t)(at.byte - guess(FILTER, at));
    }
}

/*
 * filter_rows: rows of images as PNG filters them.
 *
 *   Idea      A warp adds up what each filter costs in a row, takes the first of the least, and
 *             writes the row. Neighbours come from the cache.
 *   Work      about 60 instructions a byte.
 *   Memory    reads n bytes once, and seven times from the cache; writes n and a byte a row.
 *   Launch    <<<dim3(rows / WARPS, images), FILTER_THREADS>>>.
 *   Requires  what FilterImage says.
 *   Result    the rows that png_filter_row makes.
 */
static __global__ void __launch_bounds__(FILTER_THREADS) filter_rows(const FilterImage *images)
{
    const FilterImage image = images[blockIdx.y];
    const unsigned y = blockIdx.x * WARPS + threadIdx.x / 32;
    if (y >= image.height)
        return;
    const uint8_t *const row = (const uint8_t *)image.pixels + y * image.pitch;
    const uint8_t *const above = y > 0 ? row - image.pitch : nullptr;
    uint8_t *const to = (uint8_t *)image.to + y / image.piece_rows * image.piece_pitch +
                        y % image.piece_rows * (1ull + image.row_bytes);
    const unsigned filter = image.choice ? choose(image, row, above) : 0;
    if (threadIdx.x % 32 == 0)
        to[0] = (uint8_t)filter;
    switch (filter) {
    case 0:
        filter_row<0>(image, row, above, to + 1);
        break;
    case 1:
        filter_row<1>(image, row, above, to + 1);
        break;
    case 2:
        filter_row<2>(image, row, above, to + 1);
        break;
    case 3:
        filter_row<3>(image, row, above, to + 1);
        break;
    default:
        filter_row<4>(image, row, above, to + 1);
    }
}

cudaError_t cuda_filter_rows(const FilterImage *images, size_t n, uint32_t rows,
                             cudaStream_t stream)
{
    return launch_images(filter_rows, images, n, (rows + WARPS - 1) / WARPS, FILTER_THREADS,
                         stream);
}
