/* SPDX-License-Identifier: MIT */
/* map_blocks.h: samples as blocks of doubles: from their bits to values, and from outputs to bits.
 * Each file that includes it compiles it for an instruction set. */
#ifndef IMGSTAT_CPU_MAP_BLOCKS_H
#define IMGSTAT_CPU_MAP_BLOCKS_H

#include "base/compiler.h"
#include "cpu/map_rows.h"
#include "transfer/map_values.h"

enum { BLOCK = 128 };

/* `sample` and `step` are constants where this is inlined. */
FORCE_INLINE void load_values(ImgstatSample sample, const unsigned char *from, size_t step,
                              size_t n, double *x)
{
    const size_t bytes = sample_bits(sample) / 8;
    for (size_t i = 0; i < n; i++) {
        uint32_t raw;
        if (sample == IMGSTAT_F64) {
            memcpy(&x[i], from + i * step * bytes, sizeof x[i]);
            continue;
        }
        memcpy(&raw, from + i * step * bytes, sizeof raw);
        x[i] = sample == IMGSTAT_F32   ? (double)value_of_raw(raw)
               : sample == IMGSTAT_U32 ? (double)raw
                                       : (double)(int32_t)raw;
    }
}

FORCE_INLINE void load_block(ImgstatSample sample, const unsigned char *from, size_t step, size_t n,
                             double *x)
{
    switch (sample) {
    case IMGSTAT_F32:
        load_values(IMGSTAT_F32, from, step, n, x);
        return;
    case IMGSTAT_F64:
        load_values(IMGSTAT_F64, from, step, n, x);
        return;
    case IMGSTAT_U32:
        load_values(IMGSTAT_U32, from, step, n, x);
        return;
    default:
        load_values(IMGSTAT_I32, from, step, n, x);
    }
}

/* Returns the lowest bits of the integer to which a double within +-2^50 rounds, half to even. */
FORCE_INLINE uint64_t rounded_bits(double y)
{
    const double shifted = y + 0x1.8p52; /* its lowest bits are those of the integer */
    uint64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    return bits;
}

/* `sample` and `step` are constants where this is inlined. */
FORCE_INLINE void store_values(ImgstatSample sample, OutputType output, const double *y, size_t n,
                               unsigned char *to, size_t step)
{
    const size_t bytes = sample_bits(sample) / 8;
    const uint32_t all = bytes == 1 ? 0xFFu : bytes == 2 ? 0xFFFFu : 0xFFFFFFFFu;
    for (size_t i = 0; i < n; i++) {
        unsigned char *const at = to + i * step * bytes;
        if (sample == IMGSTAT_F64) {
            const double value = y[i] + 0.0; /* never -0 */
            uint64_t made;
            memcpy(&made, &value, sizeof made);
            made = made == output.avoided ? output.instead : made;
            memcpy(at, &made, sizeof made);
            continue;
        }
        uint32_t made;
        if (sample == IMGSTAT_F32) {
            const float value = (float)y[i] + 0.0f;
            memcpy(&made, &value, sizeof made);
        } else {
            made = (uint32_t)rounded_bits(y[i]) & all;
        }
        made = made == (uint32_t)output.avoided ? (uint32_t)output.instead : made;
        if (bytes == 1) {
            *at = (unsigned char)made;
        } else if (bytes == 2) {
            const uint16_t low = (uint16_t)made;
            memcpy(at, &low, sizeof low);
        } else {
            memcpy(at, &made, sizeof made);
        }
    }
}

/* Stores outputs that are within the range to every `step`th sample. */
FORCE_INLINE void store_block(OutputType output, const double *y, size_t n, unsigned char *to,
                              size_t step)
{
    switch (output.sample) {
    case IMGSTAT_F32:
        store_values(IMGSTAT_F32, output, y, n, to, step);
        return;
    case IMGSTAT_F64:
        store_values(IMGSTAT_F64, output, y, n, to, step);
        return;
    default:
        if (sample_bits(output.sample) == 8)
            store_values(IMGSTAT_U8, output, y, n, to, step);
        else if (sample_bits(output.sample) == 16)
            store_values(IMGSTAT_U16, output, y, n, to, step);
        else
            store_values(IMGSTAT_U32, output, y, n, to, step);
    }
}

/* Samples that pass, kept by their bits, since outputs may overwrite the sources. */
typedef struct Passthrough {
    uint64_t raw[BLOCK];
    uint32_t at[BLOCK];
    size_t n;
} Passthrough;

/* Finds the samples that pass, without branches. nodata: nodata value of the input; NaN: none. */
static inline void find_passthrough(const Map *map, double nodata, const unsigned char *from,
                                    size_t step, const double *x, size_t n,
                                    Passthrough *passthrough)
{
    const size_t bytes = sample_bits(map->from) / 8;
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        const unsigned char *const at = from + i * step * bytes;
        passthrough->at[found] = (uint32_t)i;
        passthrough->raw[found] = bytes == 4 ? load_raw(at, 4) : load_raw(at, 8);
        found += value_is_passthrough(x[i], nodata);
    }
    passthrough->n = found;
}

/* Most of them have the same bits. */
static inline void store_passthrough(const Map *map, const Passthrough *passthrough,
                                     unsigned char *to, size_t step)
{
    const size_t bytes = sample_bits(map->to.sample) / 8;
    uint64_t raw = 0, made = map_raw(map, map->from, map->to.sample, raw);
    for (size_t k = 0; k < passthrough->n; k++) {
        if (passthrough->raw[k] != raw) {
            raw = passthrough->raw[k];
            made = map_raw(map, map->from, map->to.sample, raw);
        }
        store_raw(to + passthrough->at[k] * step * bytes, bytes, made);
    }
}

#endif
