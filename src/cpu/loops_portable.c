/* SPDX-License-Identifier: MIT */
/* loops_portable.c: the loops over samples for any processor. */
#include "cpu/loops_body.h"

static void extrema(ImgstatSample sample, const void *x, size_t n, unsigned channels,
                    const uint64_t *nodata, uint64_t *min, uint64_t *max)
{
    extrema_of(sample, x, n, channels, nodata, min, max);
}

static void sums32(ImgstatSample sample, const void *x, size_t n, unsigned channels, LoopSums *out)
{
    sums32_any(sample, x, n, channels, out);
}

static bool piece(ImgstatSample sample, const void *x, size_t n, unsigned channels,
                  const uint64_t *nodata, LoopPiece *out)
{
    return piece_any(sample, x, n, channels, nodata, turn_f32_any, out);
}

static void leading(ImgstatSample sample, const void *x, size_t n, uint16_t *out)
{
    leading_any(sample, x, n, out);
}

static void count_words(const void *x, size_t n, unsigned channels, const LoopWords *to,
                        LoopChoice *choice)
{
    count_words_any(x, n, channels, to, choice);
}

static void count_bytes(const uint8_t *x, size_t n, unsigned channels, const LoopBytes *to,
                        LoopChoice *choice)
{
    count_bytes_any(x, n, channels, to, choice);
}

static size_t select_keys(ImgstatSample sample, const void *x, size_t n, size_t channels,
                          uint64_t lo, uint64_t hi, uint64_t *keys)
{
    return select_any(sample, x, n, channels, lo, hi, keys);
}

static void count_bins(ImgstatSample sample, const void *x, size_t n, size_t stride,
                       const LoopBins *bins, uint32_t *counts)
{
    count_bins_any(sample, x, n, stride, bins, counts);
}

static void distances(ImgstatSample sample, const void *x, size_t n, size_t stride,
                      const uint64_t *nodata, double center, double *d)
{
    distances_any(sample, x, n, stride, nodata, center, d);
}

static void powers(const double *d, size_t n, double out[4])
{
    powers_of(d, n, out);
}

const CpuLoops cpu_loops_portable = {
    .extrema = extrema,
    .sums32 = sums32,
    .piece = piece,
    .leading = leading,
    .count_words = count_words,
    .count_bytes = count_bytes,
    .select = select_keys,
    .count_bins = count_bins,
    .distances = distances,
    .powers = powers,
};
