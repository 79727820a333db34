/* SPDX-License-Identifier: MIT */
/* histogram8/count.cuh: counting: a word, a vector, a tile, all tiles of an item or of an image. */
#ifndef IMGSTAT_KERNELS_HISTOGRAM8_COUNT_CUH
#define IMGSTAT_KERNELS_HISTOGRAM8_COUNT_CUH

#include "histogram8/extrema.cuh"

/* ---- Counters -------------------------------------------------------------------------------- */

DEVICE void count(uint32_t offset)
{
    atomicAdd((unsigned *)(table + offset), 1u);
}

/* Where among the counters of a sample a lane has its own, so that in no instruction of a warp two
 * lanes meet in a bank. One or two channels: a column a lane. More: lanes l and l + 16 share, and
 * are always at different channels: of four, at ones of different parity (count_word); of three, at
 * c and c + 1, so the last channel has columns for both, swapped. */
template <int C> DEVICE uint32_t column_of(unsigned channel, unsigned lane)
{
    if (C == 1)
        return lane * 4;
    if (C == 2)
        return channel * 128 + lane * 4;
    if (C == 3 && channel == 2)
        return 128 + (lane ^ 16) * 4;
    return channel * 64 + lane % 16 * 4;
}

template <int C> struct Columns {
    uint32_t of[C]; /* of byte p of a vector: number (p + ROTATE) % C */
    uint32_t swap;  /* four channels: half the lanes count neighbouring bytes the other way round */
};

template <int C> DEVICE Columns<C> columns_of(unsigned phase)
{
    const unsigned lane = threadIdx.x % 32, other = C == 4 ? lane / 16 : 0;
    Columns<C> columns;
#pragma unroll
    for (unsigned j = 0; j < C; j++)
        columns.of[j] = column_of<C>((phase + (j ^ other)) % C, lane);
    columns.swap = other ? 0x2301 : 0x3210;
    return columns;
}

/* Counts 4 bytes. */
template <int C, int ROTATE> DEVICE void count_word(uint32_t word, const Columns<C> &columns)
{
    if (C == 4)
        word = __byte_perm(word, 0, columns.swap);
#pragma unroll
    for (int p = 0; p < 4; p++) {
        const uint32_t column = columns.of[(p + ROTATE) % C];
        atomicAdd(row_of<WIDE_ROW>((uint32_t *)table, word, p, column), 1u);
    }
}

/* ---- Plain tiles ----------------------------------------------------------------------------- */

/* The 4 bytes at `from`, and 0xFF where they lie in the row. */
DEVICE uint32_t edge_word(const TilePlace8 &place, const unsigned char *from, uint32_t *within)
{
    uint32_t word = 0;
    *within = 0;
    for (int p = 0; p < 4; p++) {
        if (from + p >= place.row && from + p < place.end) {
            word |= (uint32_t)from[p] << 8 * p;
            *within |= 0xFFu << 8 * p;
        }
    }
    return word;
}

/* How raw samples become keys, and which is none. */
struct Keys {
    uint32_t flip;   /* in every byte */
    uint32_t nodata; /* the key in every byte */
    uint32_t has_nodata;
};

DEVICE Keys keys_of(const WorkImage &image)
{
    Keys keys;
    keys.flip = image.sample == IMGSTAT_I8 ? 0x80808080 : 0;
    keys.has_nodata = image.has_nodata && image.nodata_key < TABLE_BINS ? NONE : 0;
    keys.nodata = (uint32_t)image.nodata_key % TABLE_BINS * 0x01010101u;
    return keys;
}

/* Adds a word; KEYED: its samples are not simply keys. within: see edge_word. */
template <int C, bool KEYED, int ROTATE>
DEVICE void extend_word(Extent<C> *extent, const Keys &keys, uint32_t word, uint32_t within)
{
    if (KEYED) {
        word ^= keys.flip;
        within &= ~(__vcmpeq4(word, keys.nodata) & keys.has_nodata);
    }
    extend<C, ROTATE>(extent, word | ~within, word & within);
}

template <int C, bool KEYED, int ROTATE>
DEVICE void count_vector(uint4 v, const Columns<C> &columns, const Keys &keys, Extent<C> *extent)
{
    count_word<C, ROTATE % C>(v.x, columns);
    extend_word<C, KEYED, ROTATE % C>(extent, keys, v.x, NONE);
    count_word<C, (ROTATE + 4) % C>(v.y, columns);
    extend_word<C, KEYED, (ROTATE + 4) % C>(extent, keys, v.y, NONE);
    count_word<C, (ROTATE + 8) % C>(v.z, columns);
    extend_word<C, KEYED, (ROTATE + 8) % C>(extent, keys, v.z, NONE);
    count_word<C, (ROTATE + 12) % C>(v.w, columns);
    extend_word<C, KEYED, (ROTATE + 12) % C>(extent, keys, v.w, NONE);
}

/* A vector at an end of a row. */
template <int C, int ROTATE>
DEVICE void count_edge(const TilePlace8 &place, const unsigned char *at, const Keys &keys,
                       Extent<C> *extent)
{
    const unsigned lane = threadIdx.x % 32;
    uint32_t word[4], within[4];
#pragma unroll
    for (int w = 0; w < 4; w++) {
        word[w] = edge_word(place, at + 4 * w, &within[w]);
#pragma unroll
        for (int p = 0; p < 4; p++) {
            if (within[w] >> 8 * p & 1)
                count((word[w] >> 8 * p & 0xFF) * WIDE_ROW |
                      column_of<C>((place.phase + ROTATE + 4 * w + p) % C, lane));
        }
    }
    extend_word<C, true, ROTATE % C>(extent, keys, word[0], within[0]);
    extend_word<C, true, (ROTATE + 4) % C>(extent, keys, word[1], within[1]);
    extend_word<C, true, (ROTATE + 8) % C>(extent, keys, word[2], within[2]);
    extend_word<C, true, (ROTATE + 12) % C>(extent, keys, word[3], within[3]);
}

template <int C, bool KEYED, int ROTATE>
DEVICE void count_either(const TilePlace8 &place, const unsigned char *at,
                         const Columns<C> &columns, const Keys &keys, Extent<C> *extent)
{
    if (at >= place.row && at + 16 <= place.end)
        count_vector<C, KEYED, ROTATE>(__ldcs((const uint4 *)at), columns, keys, extent);
    else if (at + 16 > place.row && at < place.end)
        count_edge<C, ROTATE>(place, at, keys, extent);
}

/* Counts one tile of a plain image with one warp. */
template <int C, bool KEYED> DEVICE void count_plain(ImageState8<C> *held, uint64_t tile)
{
    const TilePlace8 place = plain_place<C>(held->image, tile);
    const unsigned char *at = place.address + threadIdx.x % 32 * 16;
    const Columns<C> columns = columns_of<C>(place.phase);
    const Keys keys = keys_of(held->image);
    Extent<C> extent = extent_none<C>();

    if (place.address >= place.row && place.address + Shape8<C>::TILE <= place.end) {
        uint4 v[Shape8<C>::STEPS];
#pragma unroll
        for (int i = 0; i < Shape8<C>::STEPS; i++)
            v[i] = __ldcs((const uint4 *)(at + i * 512));
#pragma unroll
        for (int i = 0; i < Shape8<C>::STEPS; i += C == 3 ? 3 : 1) {
            count_vector<C, KEYED, 0>(v[i], columns, keys, &extent);
            if constexpr (C == 3) {
                count_vector<C, KEYED, 512 % C>(v[i + 1], columns, keys, &extent);
                count_vector<C, KEYED, 1024 % C>(v[i + 2], columns, keys, &extent);
            }
        }
    } else {
#pragma unroll 1
        for (int k = 0; k < Shape8<C>::STEPS && at < place.end; k++, at += 512) {
            if (C == 3 && k % 3 == 1)
                count_either<C, KEYED, 512 % C>(place, at, columns, keys, &extent);
            else if (C == 3 && k % 3 == 2)
                count_either<C, KEYED, 1024 % C>(place, at, columns, keys, &extent);
            else
                count_either<C, KEYED, 0>(place, at, columns, keys, &extent);
        }
    }
    int low[C], high[C];
    extent_keys<C>(extent, place.phase, low, high);
    update_limits<C>(held, low, high, tile);
}

/* ---- Any tile -------------------------------------------------------------------------------- */

/* Counts one tile of an image with a mask, or some channels of one with more. */
template <int C>
DEVICE unsigned count_general(ImageState8<C> *held, uint64_t tile, unsigned channel0)
{
    const WorkImage &image = held->image;
    const unsigned lane = threadIdx.x % 32;
    uint64_t row, place;
    tile_place(image, tile, &row, &place);
    const unsigned char *samples = image.pixels + row * image.pitch + channel0;
    const uint8_t *mask = image.mask ? image.mask + row * image.mask_pitch : NULL;
    const uint64_t end = min((place + 1) * NARROW8_PIXELS, image.row_pixels);
    const unsigned flip = image.sample == IMGSTAT_I8 ? 0x80 : 0;
    const int nodata =
        image.has_nodata && image.nodata_key < TABLE_BINS ? (int)image.nodata_key : -1;
    unsigned masked = 0;
    int low[C], high[C];
#pragma unroll
    for (int c = 0; c < C; c++) {
        low[c] = TABLE_BINS;
        high[c] = -1;
    }
#pragma unroll 2
    for (uint64_t x = place * NARROW8_PIXELS + lane; x < end; x += 32) {
        if (mask && !mask[x]) {
            masked++;
            continue;
        }
#pragma unroll
        for (int c = 0; c < C; c++) {
            const unsigned sample = samples[x * image.channels + c];
            const int key = (int)(sample ^ flip);
            count(sample * WIDE_ROW | column_of<C>(c, lane));
            if (key != nodata) {
                low[c] = min(low[c], key);
                high[c] = max(high[c], key);
            }
        }
    }
    __syncwarp();
    update_limits<C>(held, low, high, tile);
    return masked;
}

/* Counts one tile with one warp. A function of its own, so that what is kept meanwhile needs
 * none of its registers. */
template <int C, bool PLAIN, bool KEYED>
static __device__ __noinline__ void count_tile(ImageState8<C> *held, uint64_t tile,
                                               unsigned channel0)
{
    if (PLAIN) {
        count_plain<C, KEYED>(held, tile);
    } else {
        const unsigned masked = count_general<C>(held, tile, channel0);
        if (masked)
            atomicAdd(&held->masked, (unsigned long long)masked);
    }
}

template <int C, bool PLAIN>
DEVICE void count_either_tile(const Work &work, ImageState8<C> *held, uint64_t tile)
{
    if (PLAIN && (held->image.sample == IMGSTAT_I8 || held->image.has_nodata))
        count_tile<C, PLAIN, PLAIN>(held, tile, work.channel0);
    else
        count_tile<C, PLAIN, false>(held, tile, work.channel0);
}

/* All tiles of an item. Warps fetch their numbers from a counter. */
template <int C, bool PLAIN>
DEVICE void count_item(const Work &work, ImageState8<C> *held, unsigned *cursor, uint64_t begin,
                       unsigned tiles)
{
    unsigned number = threadIdx.x / 32; /* the first is the warp's number */
    while (number < tiles) {
        unsigned next = 0;
        if (threadIdx.x % 32 == 0)
            next = WARPS + atomicAdd(cursor, 1u); /* on its way while the tile is counted */
        count_either_tile<C, PLAIN>(work, held, begin + number);
        number = __shfl_sync(NONE, next, 0);
    }
}

/* What a block counts of an image that has the launch to itself. Some tiles go in a fixed order;
 * the others are fetched one by one, so that all end together, even if one began late because a
 * block of the launch before was still merging. No block waits for another. */

template <int C, bool PLAIN> DEVICE void count_alone(const Work &work, ImageState8<C> *held)
{
    const uint64_t tiles = held->image.tiles, round = (uint64_t)gridDim.x * WARPS;
    const uint64_t fixed = max(tiles / 16 * HISTOGRAM8_FIXED_16THS / round, (uint64_t)1) * round;
    uint64_t tile = (uint64_t)blockIdx.x * WARPS + threadIdx.x / 32;
    for (; tile < min(fixed, tiles); tile += round)
        count_either_tile<C, PLAIN>(work, held, tile);
    if (fixed >= tiles)
        return;
    after_all_before(); /* that launch uses the queues as well */
    const unsigned queues = min(gridDim.x, (unsigned)TAIL_QUEUES), queue = blockIdx.x % queues;
    unsigned *tail = &work.shared->tail[queue * TAIL_STRIDE], number = 0;
    if (threadIdx.x % 32 == 0)
        number = atomicAdd(tail, 1u);
    for (;;) {
        tile = fixed + (uint64_t)__shfl_sync(NONE, number, 0) * queues + queue;
        if (tile >= tiles)
            break;
        if (threadIdx.x % 32 == 0)
            number = atomicAdd(tail, 1u); /* on its way while the tile is counted */
        count_either_tile<C, PLAIN>(work, held, tile);
    }
}

#endif
