/* SPDX-License-Identifier: MIT */
/* cpu_loops_avx2.c: the loops over samples for processors with AVX2. */
#include "cpu_loops_body.h"

#if defined(__x86_64__)

#include "cpu_loops_bytes_avx2.h"

__attribute__((target("avx2,bmi,bmi2"))) static void extrema(ImgstatSample sample, const void *x,
                                                             size_t n, unsigned channels,
                                                             const uint64_t *nodata, uint64_t *min,
                                                             uint64_t *max)
{
    extrema_of(sample, x, n, channels, nodata, min, max);
}

__attribute__((target("avx2,bmi,bmi2"))) static void
sums32(ImgstatSample sample, const void *x, size_t n, unsigned channels, LoopSums *out)
{
    sums32_any(sample, x, n, channels, out);
}

__attribute__((target("avx2,bmi,bmi2"))) static bool piece(ImgstatSample sample, const void *x,
                                                           size_t n, unsigned channels,
                                                           const uint64_t *nodata, LoopPiece *out)
{
    return piece_any(sample, x, n, channels, nodata, out);
}

__attribute__((target("avx2,bmi,bmi2"))) static void leading(ImgstatSample sample, const void *x,
                                                             size_t n, uint16_t *out)
{
    leading_any(sample, x, n, out);
}

__attribute__((target("avx2,bmi,bmi2"))) static size_t pick(const uint16_t *leading, size_t n,
                                                            unsigned channels, const uint16_t *lo,
                                                            const uint16_t *width, uint16_t *at)
{
    return pick_any(leading, n, channels, lo, width, at);
}

__attribute__((target("avx2,bmi,bmi2"))) static void count_words(const void *x, size_t words,
                                                                 unsigned tables, uint32_t *counts)
{
    count_words_any(x, words, tables, counts);
}

__attribute__((target("avx2,bmi,bmi2"))) static void
count_bytes(const uint8_t *x, size_t n, unsigned channels, const LoopBytes *to, LoopChoice *choice)
{
    static const BytesParts parts = {extent_avx2, count_span_avx2, take_apart_avx2, 14, 28};
    count_bytes_any(x, n, channels, to, choice, &parts);
}

__attribute__((target("avx2,bmi,bmi2"))) static size_t select_keys(ImgstatSample sample,
                                                                   const void *x, size_t n,
                                                                   size_t channels, uint64_t lo,
                                                                   uint64_t hi, uint64_t *keys)
{
    return select_any(sample, x, n, channels, lo, hi, keys);
}

__attribute__((target("avx2,bmi,bmi2"))) static void count_bins(ImgstatSample sample, const void *x,
                                                                size_t n, size_t stride,
                                                                const LoopBins *bins,
                                                                uint32_t *counts)
{
    count_bins_any(sample, x, n, stride, bins, counts);
}

__attribute__((target("avx2,bmi,bmi2"))) static void distances(ImgstatSample sample, const void *x,
                                                               size_t n, size_t stride,
                                                               const uint64_t *nodata,
                                                               double center, double *d)
{
    distances_any(sample, x, n, stride, nodata, center, d);
}

__attribute__((target("avx2,bmi,bmi2"))) static void powers(const double *d, size_t n,
                                                            double out[4])
{
    powers_of(d, n, out);
}

const CpuLoops cpu_loops_avx2 = {
    .extrema = extrema,
    .sums32 = sums32,
    .piece = piece,
    .leading = leading,
    .pick = pick,
    .count_words = count_words,
    .count_bytes = count_bytes,
    .select = select_keys,
    .count_bins = count_bins,
    .distances = distances,
    .powers = powers,
};

#endif
