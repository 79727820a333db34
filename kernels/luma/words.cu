/* SPDX-License-Identifier: MIT */
/* luma/words.cu: RGB of 16 bits in one long row, brought to a new luma. */
#include "common/sm90.cuh"
#include "common/tuning.cuh"
#include "luma/tile.cuh"

enum { THREADS = LUMA_WORD_THREADS, BLOCKS = LUMA_WORD_BLOCKS };

/* What no pixel changes. */
struct WordColours {
    const uint16_t *table; /* by luma */
    uint32_t top, black;   /* the highest key; what a component of black becomes */
    bool unchanged;
};

/* The six components of two pixels in three words. */
DEVICE uint32_t component(const uint32_t (&word)[3], int i)
{
    return i % 2 ? word[i / 2] >> 16 : word[i / 2] & 0xFFFFu;
}

/* What a component of a pixel is multiplied by, as luma_scale has it. */
struct Factor {
    uint32_t fine, numerator, denominator;
};

DEVICE Factor factor_of(const WordColours &c, const uint32_t (&word)[3], int x)
{
    const uint32_t red = component(word, 3 * x), green = component(word, 3 * x + 1);
    const uint32_t blue = component(word, 3 * x + 2), largest = max(max(red, green), blue);
    Factor f;
    f.fine = luma_fine(red, green, blue);
    f.numerator = (uint32_t)c.table[luma_key(red, green, blue)] << LUMA_SHIFT;
    f.denominator = f.fine;
    if (c.unchanged || (uint64_t)f.numerator * largest > (uint64_t)c.top * f.fine) {
        f.numerator = c.unchanged ? 1 : c.top;
        f.denominator = c.unchanged ? 1 : largest;
    }
    return f;
}

/* Quotients of two pixels, one near a tie, as integers confirm them; black stays. The
 * pixels are read again, so that no register holds what is known of them for a rare branch. */
DEVICE void correct_ties(const WordColours &c, const volatile uint32_t *from,
                         uint32_t (&quotient)[6])
{
    const uint32_t word[3] = {from[0], from[1], from[2]};
#pragma unroll
    for (int x = 0; x < 2; x++) {
        const Factor f = factor_of(c, word, x);
#pragma unroll
        for (int i = 3 * x; i < 3 * x + 3; i++)
            quotient[i] =
                luma_settle16(quotient[i], component(word, i), f.numerator, f.denominator);
    }
}

/* rescale_luma of two pixels, but for the range; from: where the pixels are. */
DEVICE void rescale_luma_pair(const WordColours &c, const uint32_t *from, uint32_t (&word)[3])
{
    uint32_t quotient[6], fine[2], low = 0xFFFFFFFFu;
#pragma unroll
    for (int x = 0; x < 2; x++) {
        const Factor f = factor_of(c, word, x);
        const uint64_t ratio =
            luma_ratio(f.numerator, f.denominator, luma_reciprocal(__uint2float_rn(f.denominator)));
        fine[x] = f.fine;
#pragma unroll
        for (int i = 3 * x; i < 3 * x + 3; i++) {
            const uint32_t v = component(word, i);
            const uint64_t lower = (uint64_t)v * (uint32_t)ratio + LUMA_HALF16;
            quotient[i] = (uint32_t)(lower >> 32) + v * (uint32_t)(ratio >> 32);
            low = min(low, (uint32_t)lower);
        }
    }
    if (low <= LUMA_NEAR16)
        correct_ties(c, from, quotient);
    if (min(fine[0], fine[1]) == 0)
#pragma unroll
        for (int i = 0; i < 6; i++)
            quotient[i] = fine[i / 3] == 0 ? c.black : quotient[i];
#pragma unroll
    for (int j = 0; j < 3; j++)
        word[j] = __byte_perm(quotient[2 * j], quotient[2 * j + 1], 0x5410);
}

/*
 * apply_luma_words: colours get the luma that the transfer maps theirs to.
 *
 *   Idea      As apply_luma_bytes, with a quotient of 48 bits in two steps from one approximate
 *             reciprocal a pixel; two pixels in three words. The table is in global memory.
 *   Work      a lookup, a reciprocal and three products of 64 bits and some 30 instructions around
 *             them a pixel.
 *   Memory    reads and writes each sample once, by vectors, which pass shared memory to and fro.
 *   Launch    <<<blocks, THREADS, THREADS * TILE_VECTORS * 16>>>, any number of blocks; it may
 *             begin before the launch before has ended.
 *   Requires  luma_words_fit. In place: a lane writes what its warp has read.
 *   Result    the bits of cpu/luma.c.
 */
static __global__ void __launch_bounds__(THREADS, BLOCKS)
    apply_luma_words(ApplyTransfer t, ApplyPixels p, LumaRow row, WordRange range)
{
    after_launches_before();
    WordColours colours;
    colours.table = (const uint16_t *)t.by_raw;
    colours.top = range.top;
    colours.unchanged = t.maps[0].passthrough;
    colours.black = colours.unchanged ? 0 : min((uint32_t)colours.table[0], range.top);
    uint4 v[TILE_VECTORS];
    load_first_tile<THREADS, IMGSTAT_U16>(p, row, v);
    rescale_luma_row<THREADS, IMGSTAT_U16>(
        t, p, row, range, colours.unchanged, warp_buffer(0), v,
        [&](const uint32_t *at, uint32_t(&word)[3]) { rescale_luma_pair(colours, at, word); });
}

bool luma_words_fit(const CudaDevice *device, const ApplyTransfer *t, const ApplyPixels *p)
{
    return luma_applies(t, p, IMGSTAT_U16) && (uintptr_t)p->from % 2 == 0 &&
           device->max_shared >= THREADS * TILE_VECTORS * 16;
}

ImgstatResult launch_apply_luma_words(CudaDevice *device, cudaStream_t stream,
                                      const ApplyTransfer *t, const ApplyPixels *p,
                                      ImgstatError *err)
{
    assert(luma_words_fit(device, t, p));
    const LumaRow row = luma_row(p, 2);
    return cuda_launch_early(device, stream, "apply_luma_words", apply_luma_words,
                             luma_blocks(device, row, THREADS, BLOCKS), THREADS,
                             THREADS * TILE_VECTORS * 16, err, *t, *p, row,
                             word_range(t->range, 0x10001u));
}
