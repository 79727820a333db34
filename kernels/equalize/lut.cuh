/* SPDX-License-Identifier: MIT */
/* equalize/lut.cuh: what kernels do that turn the counts of a key into its entry. */
#ifndef IMGSTAT_KERNELS_EQUALIZE_LUT_CUH
#define IMGSTAT_KERNELS_EQUALIZE_LUT_CUH

#include "common/sm90.cuh"
#include "equalize/chain.cuh"

/* Valid samples of a key: record_finalize for one bin, of the channels that make map m. */
DEVICE uint64_t valid_count(const Finish &f, uint32_t m, uint32_t key, uint32_t entries)
{
    if (map_undefined(f.from, key) || (f.has_nodata && key == f.nodata_key))
        return 0;
    if (!f.joint) {
        const uint32_t channel = m + (f.alpha >= 0 && (int)m >= f.alpha);
        return channel < f.channels ? f.bins[(size_t)channel * entries + key] : 0;
    }
    uint64_t sum = 0;
    for (uint32_t c = 0; c < f.channels; c++)
        if ((int)c != f.alpha)
            sum += f.bins[(size_t)c * entries + key];
    return sum;
}

/* Leaves bins of a key as a launch that measures needs them: those that are read for map m, and
 * with the first map those of alpha. */
DEVICE void empty_bins(const Finish &f, uint32_t m, uint32_t key, uint32_t entries)
{
    for (uint32_t c = 0; c < f.channels; c++) {
        const uint32_t of = map_of_channel(c, f.alpha, f.n_maps);
        if (m == (of < f.n_maps ? of : 0))
            f.bins[(size_t)c * entries + key] = 0;
    }
}

/* And what else the record has. One block. */
DEVICE void empty_tallies(const Finish &f)
{
    uint64_t *const words = (uint64_t *)f.bins - f.channels * (sizeof(Tally) / sizeof(uint64_t));
    for (uint64_t *word = words + threadIdx.x; word < f.bins; word += blockDim.x)
        *word = 0;
}

/* The entries of a sample's raw bits, as make_table and tables_raw have them. */
DEVICE void write_entry(const Finish &f, const Map *map, uint32_t m, uint32_t raw, uint32_t entries)
{
    const ImgstatSample from = f.from, to = f.to;
    const uint32_t key = (uint32_t)sample_key(from, raw), bytes = sample_bits(to) / 8;
    uint32_t value = (uint32_t)sample_raw(to, map_sample(map, key));
    f.by_key[(size_t)m * entries + key] = value;
    if (from == IMGSTAT_F16 && to == IMGSTAT_F16 && raw == 0x8000u && value == 0 &&
        map->passthrough)
        value = raw;
    store_sample(f.by_raw + ((size_t)m * entries + raw) * bytes, bytes, value, true);
}

#endif
