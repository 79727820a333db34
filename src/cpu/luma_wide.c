/* SPDX-License-Identifier: MIT */
/* luma_wide.c: luma by blocks of doubles, without branches, so that compilers vectorize it. */
#include "cpu/luma_wide.h"

#include "cpu/loops_isa.h"
#include "cpu/map_blocks.h"
#include "transfer/luma.h"

/* ---- Luma ------------------------------------------------------------------------------------ */

/* Returns the nearest value of the type. Luma of finite samples does not exceed it. */
FORCE_INLINE double nearest(ImgstatSample sample, double x)
{
    return sample == IMGSTAT_F64 ? x : sample == IMGSTAT_F32 ? (double)(float)x : rint(x);
}

/* `sample` and `channels` are constants where this is inlined. */
FORCE_INLINE void load_luma_block(ImgstatSample sample, const LumaWide *wide, size_t channels,
                                  const unsigned char *from, const uint8_t *mask, size_t n,
                                  LumaBlock *block)
{
    const size_t bytes = sample_bits(sample) / 8;
    const double nodata = wide->nodata;
    double luma[LUMA_BLOCK];
    uint64_t passthrough[LUMA_BLOCK], any = 0;
    for (size_t c = 0; c < 3; c++)
        load_values(sample, from + c * bytes, channels, n, block->colour[c]);
    for (size_t i = 0; i < n; i++)
        passthrough[i] = mask && !mask[i];
    for (size_t i = 0; i < n; i++)
        luma[i] = nearest(
            sample, luma_value(block->colour[0][i], block->colour[1][i], block->colour[2][i]));
    for (size_t i = 0; i < n; i++) { /* value_is_passthrough, in a form that compilers vectorize */
        const double r = block->colour[0][i], g = block->colour[1][i], b = block->colour[2][i];
        uint64_t some = passthrough[i];
        some = fabs(r) < INFINITY ? some : 1;
        some = fabs(g) < INFINITY ? some : 1;
        some = fabs(b) < INFINITY ? some : 1;
        some = r == nodata ? 1 : some;
        some = g == nodata ? 1 : some;
        some = b == nodata ? 1 : some;
        passthrough[i] = some;
        any |= some;
    }
    for (size_t i = 0; any && i < n; i++)
        luma[i] = passthrough[i] ? 0.0 : luma[i];
    for (size_t i = 0; i < n; i++)
        block->has[i] = (uint8_t)(passthrough[i] ^ 1);
    block->all = any == 0;
    store_values(sample, (OutputType){.sample = sample}, luma, n, block->luma, 1);
}

FORCE_INLINE void load_block_of(const LumaWide *wide, size_t channels, const unsigned char *from,
                                const uint8_t *mask, size_t n, LumaBlock *block)
{
    switch (wide->sample) {
    case IMGSTAT_F32:
        load_luma_block(IMGSTAT_F32, wide, channels, from, mask, n, block);
        return;
    case IMGSTAT_F64:
        load_luma_block(IMGSTAT_F64, wide, channels, from, mask, n, block);
        return;
    case IMGSTAT_U32:
        load_luma_block(IMGSTAT_U32, wide, channels, from, mask, n, block);
        return;
    default:
        load_luma_block(IMGSTAT_I32, wide, channels, from, mask, n, block);
    }
}

void ISA(luma_wide_load)(const LumaWide *wide, const unsigned char *from, const uint8_t *mask,
                         size_t n, LumaBlock *block)
{
    if (wide->channels == 3)
        load_block_of(wide, 3, from, mask, n, block);
    else if (wide->channels == 4)
        load_block_of(wide, 4, from, mask, n, block);
    else
        load_block_of(wide, wide->channels, from, mask, n, block);
}

/* ---- Colours --------------------------------------------------------------------------------- */

/* Loads luma samples of any type but f16. */
FORCE_INLINE void load_luma(ImgstatSample sample, const unsigned char *luma, size_t n,
                            double *value)
{
    if (!sample_is_narrow(sample)) {
        load_block(sample, luma, 1, n, value);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const bool byte = sample_bits(sample) == 8;
        const uint32_t raw = byte ? luma[i] : luma[2 * i] | (uint32_t)luma[2 * i + 1] << 8;
        const int32_t negative = byte ? (int8_t)raw : (int16_t)raw;
        value[i] = sample_is_signed(sample) ? (double)negative : (double)raw;
    }
}

/* Works as luma_scale_value, without branches, and limits to the range as range_key does, but does
 * not round. */
FORCE_INLINE void scale(const LumaWide *wide, const LumaBlock *block, const double *wanted,
                        size_t n, const MapRange *range, double out[3][LUMA_BLOCK])
{
    const double black = luma_black(wide->sample), to_black = luma_black(range->sample);
    const double lo = range->lo, hi = range->hi, top = map_sub(hi, to_black);
    for (size_t i = 0; i < n; i++) {
        const double above[3] = {map_sub(block->colour[0][i], black),
                                 map_sub(block->colour[1][i], black),
                                 map_sub(block->colour[2][i], black)};
        const double luma = luma_value(above[0], above[1], above[2]);
        const double to = map_sub(wanted[i], to_black), difference = map_sub(to, luma);
        double largest = above[0] > above[1] ? above[0] : above[1];
        largest = above[2] > largest ? above[2] : largest;
        const double share = to / luma, most = top / largest;
        const double factor = map_mul(share, largest) > top ? most : share;
        for (size_t c = 0; c < 3; c++) {
            const double scaled = map_mul(above[c], factor), moved = map_add(above[c], difference);
            double y = map_add(luma > 0.0 ? scaled : moved, to_black);
            y = y > lo ? y : lo; /* NaN: lo */
            out[c][i] = y < hi ? y : hi;
        }
    }
}

void ISA(luma_wide_store)(const LumaWide *wide, const LumaBlock *block, const unsigned char *luma,
                          size_t n, const MapRange *range, unsigned char *to)
{
    const size_t bytes = sample_bits(range->sample) / 8;
    const OutputType output = output_type_of(range);
    double wanted[LUMA_BLOCK], out[3][LUMA_BLOCK];
    load_luma(range->sample, luma, n, wanted);
    scale(wide, block, wanted, n, range, out);
    for (size_t c = 0; c < 3; c++) {
        if (wide->channels == 3)
            store_block(output, out[c], n, to + c * bytes, 3);
        else if (wide->channels == 4)
            store_block(output, out[c], n, to + c * bytes, 4);
        else
            store_block(output, out[c], n, to + c * bytes, wide->channels);
    }
}
