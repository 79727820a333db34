/* SPDX-License-Identifier: MIT */
/* codec/unfilter.cu: undoes the row filters of PNG, and makes pixels of what is packed, interlaced
 * or without its alpha. */
#include "codec/expand_lanes.h"
#include "codec/png.cuh"
#include "common/inline.cuh"
#include "common/tuning.cuh"

enum {
    TOLD = 4,        /* chunks after which a warp says how far the last row of its band is */
    BANDS_MOST = 64, /* blocks of an image: a band begins 36 chunks behind the one above */
    FILTERS = 5,
    MODULUS = 65521
};
static_assert((int)DEFLATED_BAND == (int)LANES, "a row a lane");
enum { FILTER_NONE, FILTER_SUB, FILTER_UP, FILTER_AVERAGE, FILTER_PAETH };

/* Rows of a pass, where unfiltered bytes go. */
struct Rows {
    uint8_t *at;
    uint64_t pitch;
    uint32_t bytes; /* of a row */
    bool swaps;     /* bytes of 16-bit samples change places on their way to memory and back */
};

/* WORDS words of row y from word `first` on, which another warp has written; bytes behind the end
 * of the row are 0. Rows begin anywhere. */
template <int WORDS>
DEVICE void load_words(const Rows &rows, uint32_t y, uint32_t first, uint32_t (&word)[WORDS])
{
    const uint8_t *const from = rows.at + y * rows.pitch + 4 * (uint64_t)first;
    const unsigned inside = (unsigned)((uintptr_t)from & 3);
    const uint32_t *const at = (const uint32_t *)(from - inside);
    if (4 * (first + WORDS) <= rows.bytes && (inside == 0 || first > 0)) {
        uint32_t raw[WORDS + 1]; /* no byte before the row, or behind its end */
#pragma unroll
        for (int i = 0; i < WORDS; i++)
            raw[i] = __ldcg(at + i);
        raw[WORDS] = 0;
        for (unsigned k = 0; k < inside; k++)
            raw[WORDS] |= (uint32_t)__ldcg((const uint8_t *)(at + WORDS) + k) << 8 * k;
#pragma unroll
        for (int i = 0; i < WORDS; i++)
            word[i] = __funnelshift_r(raw[i], raw[i + 1], 8 * inside);
    } else {
#pragma unroll
        for (int i = 0; i < 4 * WORDS; i++) {
            const uint32_t byte = 4 * first + i < rows.bytes ? __ldcg(from + i) : 0;
            word[i / 4] = i % 4 == 0 ? byte : word[i / 4] | byte << 8 * (i % 4);
        }
    }
#pragma unroll
    for (int i = 0; i < WORDS; i++)
        word[i] = rows.swaps ? __byte_perm(word[i], 0, 0x2301) : word[i];
}

template <int WORDS>
DEVICE void store_words(const Rows &rows, uint32_t y, uint32_t first, const uint32_t (&word)[WORDS])
{
    uint8_t *const to = rows.at + y * rows.pitch + 4 * (uint64_t)first;
    const unsigned inside = (unsigned)((uintptr_t)to & 3);
    uint32_t *const at = (uint32_t *)(to - inside);
    uint32_t own[WORDS];
#pragma unroll
    for (int i = 0; i < WORDS; i++)
        own[i] = rows.swaps ? __byte_perm(word[i], 0, 0x2301) : word[i];
    if (4 * (first + WORDS) <= rows.bytes) { /* single bytes at both ends, words between */
        for (unsigned k = 0; k < 4 - inside; k++)
            to[k] = (uint8_t)(own[0] >> 8 * k);
#pragma unroll
        for (int i = 1; i < WORDS; i++)
            at[i] = __funnelshift_l(own[i - 1], own[i], 8 * inside);
        for (unsigned k = 0; k < inside; k++)
            ((uint8_t *)(at + WORDS))[k] = (uint8_t)(own[WORDS - 1] >> 8 * (4 - inside + k));
    } else {
#pragma unroll
        for (int i = 0; i < 4 * WORDS; i++)
            if (4 * first + i < rows.bytes)
                to[i] = (uint8_t)(own[i / 4] >> 8 * (i % 4));
    }
}

DEVICE int byte_of(const uint32_t *word, int i)
{
    return (int)(word[i / 4] >> 8 * (i % 4) & 0xFF);
}

/* The prediction of Paeth's filter; with some of a, b and c 0 also that of others: a alone is Sub,
 * b alone Up, none of them None. */
DEVICE int paeth(int a, int b, int c)
{
    const int to_a = abs(b - c), to_b = abs(a - c), to_c = abs(a + b - 2 * c);
    return to_a <= to_b && to_a <= to_c ? a : to_b <= to_c ? b : c;
}

/* What a lane keeps from one chunk of its row to the next. */
template <int PIXEL> struct Left {
    int a[PIXEL], c[PIXEL]; /* of the pixel before, and above it */
};

/* Unfilters WORDS words of whole pixels in place. above: the same of the row above. */
template <int PIXEL, int WORDS>
DEVICE void unfilter_chunk(unsigned filter, uint32_t (&word)[WORDS], const uint32_t (&above)[WORDS],
                           Left<PIXEL> &left)
{
    const bool average = filter == FILTER_AVERAGE;
    const int use_a = filter == FILTER_NONE || filter == FILTER_UP ? 0 : -1;
    const uint32_t use_b = filter == FILTER_NONE || filter == FILTER_SUB ? 0 : ~0u;
    const int use_c = filter == FILTER_PAETH ? -1 : 0;
#pragma unroll
    for (int p = 0; p < 4 * WORDS / PIXEL; p++) {
#pragma unroll
        for (int k = 0; k < PIXEL; k++) {
            const int i = p * PIXEL + k;
            const int above_byte = byte_of(above, i);
            const int a = left.a[k] & use_a, b = above_byte & (int)use_b, c = left.c[k] & use_c;
            const int predicted = average ? (a + b) >> 1 : paeth(a, b, c);
            const int value = (byte_of(word, i) + predicted) & 0xFF;
            left.a[k] = value;
            left.c[k] = above_byte;
            const uint32_t mask = 0xFFu << 8 * (i % 4);
            word[i / 4] = (word[i / 4] & ~mask) | (uint32_t)value << 8 * (i % 4);
        }
    }
}

/* Waits until more than `chunk` chunks are there of the last row of a band; returns how many. */
DEVICE uint32_t wait_for(const uint32_t *told, uint32_t chunk)
{
    uint32_t there;
    while ((there = *(const volatile uint32_t *)told) <= chunk)
        __nanosleep(20);
    __threadfence(); /* what it was told of is read after it */
    return there;
}

/* Unfilters band number `band` of a pass by a warp. Returns whether the lane's row had a filter
 * that there is. */
template <int PIXEL>
DEVICE bool unfilter_band(const DeflatedRows &image, const DeflatedPass &pass, const Rows &rows,
                          uint32_t band)
{
    enum { WORDS = PIXEL % 3 ? 2 : 3, BYTES = 4 * WORDS };
    static_assert(BYTES % PIXEL == 0, "whole pixels");
    const unsigned lane = threadIdx.x % LANES;
    const uint32_t chunks = (rows.bytes + BYTES - 1) / BYTES, y = band * LANES + lane;
    const uint32_t height = pass.height;
    const uint8_t *const filtered =
        (const uint8_t *)image.filtered + pass.filtered + y * (1 + (uint64_t)rows.bytes);
    uint32_t *const told = (uint32_t *)image.told + pass.band + band;
    const unsigned filter = y < height ? *filtered : (unsigned)FILTER_NONE;
    Left<PIXEL> left = {};
    uint32_t word[WORDS] = {}, there = 0;
    for (uint32_t step = 0; step < chunks + LANES - 1; step++) {
        const uint32_t chunk = step - lane;
        uint32_t above[WORDS];
#pragma unroll
        for (int i = 0; i < WORDS; i++) /* what the lane of the row above did in the last step */
            above[i] = __shfl_up_sync(0xFFFFFFFFu, word[i], 1);
        if (step < lane || chunk >= chunks || y >= height)
            continue;
        if (lane == 0 && y > 0) {
            there = there <= chunk ? wait_for(told - 1, chunk) : there;
            load_words<WORDS>(rows, y - 1, chunk * WORDS, above);
        }
#pragma unroll
        for (int i = 0; i < WORDS; i++) /* nothing is above the first row */
            above[i] = y == 0 ? 0 : above[i];
        const uint8_t *const bytes = filtered + 1 + (uint64_t)chunk * BYTES;
        const uint32_t *const at = (const uint32_t *)((uintptr_t)bytes & ~(uintptr_t)3);
        const unsigned shift = 8 * (unsigned)((uintptr_t)bytes & 3);
        uint32_t low = at[0];
#pragma unroll
        for (int i = 0; i < WORDS; i++) {
            const uint32_t high = at[i + 1];
            word[i] = __funnelshift_r(low, high, shift);
            low = high;
        }
        unfilter_chunk<PIXEL>(filter, word, above, left);
        store_words<WORDS>(rows, y, chunk * WORDS, word);
        if (lane == LANES - 1 && ((chunk + 1) % TOLD == 0 || chunk + 1 == chunks)) {
            __threadfence(); /* the words are there before it is told */
            *(volatile uint32_t *)told = chunk + 1;
        }
    }
    return filter < FILTERS;
}

/* Unfilters a band, which has a number among those of the image. */
DEVICE bool unfilter_band_of(const DeflatedRows &image, uint32_t band)
{
    unsigned p = image.n_passes - 1u;
    while (image.pass[p].band > band)
        p--;
    const DeflatedPass &pass = image.pass[p];
    const bool plain = image.form == ROWS_PLAIN;
    const Rows rows = {(uint8_t *)(plain ? image.pixels : image.rows + pass.rows),
                       plain ? image.pitch : pass.row_pitch, pass.row_bytes,
                       plain && image.depth == 16};
    band -= pass.band;
    switch (image.pixel_bytes) {
    case 1:
        return unfilter_band<1>(image, pass, rows, band);
    case 2:
        return unfilter_band<2>(image, pass, rows, band);
    case 3:
        return unfilter_band<3>(image, pass, rows, band);
    case 4:
        return unfilter_band<4>(image, pass, rows, band);
    case 6:
        return unfilter_band<6>(image, pass, rows, band);
    case 8:
        return unfilter_band<8>(image, pass, rows, band);
    default:
        return false;
    }
}

/*
 * unfilter_rows: undoes the filters of images, and compares their Adler-32.
 *
 *   Idea      A band of 32 rows a warp, a row a lane, each lane a chunk behind the lane of the row
 *             above, whose bytes come from its registers; lane 0 reads what the last lane of the
 *             warp above has written, as soon as that says so. Bands are taken in the order in
 *             which blocks begin, so a warp waits only for one that runs. One formula has all
 *             filters, so lanes never part.
 *   Work      about 17 instructions a byte; 40 to 55 cycles a pixel of 32 rows. A band begins some
 *             36 chunks after the one above.
 *   Memory    reads n bytes once, writes n bytes once, reads one row in 32 again.
 *   Launch    <<<dim3(images, bands), 32>>>, where any number of bands will do.
 *   Requires  DEFLATED_BEHIND bytes behind the filtered rows. The image is inflated; the sums of
 *             its bytes are there; nothing is told, and no band is taken.
 *   Result    unfiltered rows, 16-bit samples in the order of the host; or a doubt.
 */
static __global__ void __launch_bounds__(LANES)
    unfilter_rows(const DeflatedRows *images, DeflatedCheck *checks)
{
    const DeflatedRows &image = images[blockIdx.x];
    DeflatedCheck &check = checks[blockIdx.x];
    if (__any_sync(0xFFFFFFFFu, *(volatile uint32_t *)&check.doubt)) /* others may set it now */
        return;
    const uint32_t low = (uint32_t)((1 + check.sum) % MODULUS);
    const uint32_t high = (uint32_t)((image.n_out + check.weighted) % MODULUS);
    if ((high << 16 | low) != image.adler) {
        if (threadIdx.x == 0)
            atomicOr(&check.doubt, (unsigned)DOUBT_ADLER);
        return;
    }
    for (;;) {
        const uint32_t taken = threadIdx.x == 0 ? atomicAdd(&check.taken, 1u) : 0;
        const uint32_t band = __shfl_sync(0xFFFFFFFFu, taken, 0);
        if (band >= image.bands)
            return;
        const bool right = unfilter_band_of(image, band);
        if (!__all_sync(0xFFFFFFFFu, right) && threadIdx.x == 0)
            atomicOr(&check.doubt, (unsigned)DOUBT_FILTER);
    }
}

/*
 * expand_rows: unfiltered rows that are not yet those of the image to its pixels: samples of fewer
 * than 8 bits, indices of colours, without the alpha of a key, passes.
 *
 *   Idea      A row of a pass a warp, a pixel a lane (src/codec/expand_lanes.h).
 *   Memory    reads a row's bytes once, writes the pixels once; colours come from the cache.
 *   Launch    <<<dim3(images, EXPAND_BLOCKS), EXPAND_THREADS>>>.
 *   Requires  unfiltered rows.
 *   Result    the pixels, 16-bit samples in the order of the host; or a doubt where an index has no
 *             colour.
 */
static __global__ void __launch_bounds__(EXPAND_THREADS)
    expand_rows(const DeflatedRows *images, DeflatedCheck *checks)
{
    enum { WARPS = EXPAND_THREADS / LANES };
    const DeflatedRows &image = images[blockIdx.x];
    if (image.form == ROWS_PLAIN || checks[blockIdx.x].doubt)
        return;
    for (unsigned p = 0; p < image.n_passes; p++) {
        const DeflatedPass &pass = image.pass[p];
        const uint8_t *const rows = (const uint8_t *)image.rows + pass.rows;
        for (uint64_t y = blockIdx.y * WARPS + threadIdx.x / LANES; y < pass.height;
             y += WARPS * EXPAND_BLOCKS)
            if (!expand_row(&image, &pass, y, rows + y * pass.row_pitch))
                atomicOr(&checks[blockIdx.x].doubt, (unsigned)DOUBT_COLOR);
    }
}

cudaError_t launch_unfilter_rows(const DeflatedRows *images, size_t n, uint32_t most_bands,
                                 DeflatedCheck *checks, cudaStream_t stream)
{
    if (n == 0)
        return load_kernel((const void *)unfilter_rows);
    const uint32_t bands = most_bands < BANDS_MOST ? most_bands : (uint32_t)BANDS_MOST;
    unfilter_rows<<<dim3((unsigned)n, bands), LANES, 0, stream>>>(images, checks);
    return cudaGetLastError();
}

cudaError_t launch_expand_rows(const DeflatedRows *images, size_t n, DeflatedCheck *checks,
                               cudaStream_t stream)
{
    if (n == 0)
        return load_kernel((const void *)expand_rows);
    expand_rows<<<dim3((unsigned)n, EXPAND_BLOCKS), EXPAND_THREADS, 0, stream>>>(images, checks);
    return cudaGetLastError();
}
