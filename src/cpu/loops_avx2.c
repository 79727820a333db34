/* SPDX-License-Identifier: MIT */
/* loops_avx2.c: the loops over samples for processors with AVX2. */
#include "cpu/loops_body.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define LOOP_AVX2 __attribute__((target("avx2,bmi,bmi2"), always_inline)) static inline

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

/* turn_f32_any that converts from memory, not from halves of a register. */
LOOP_AVX2 void turn_f32(const MemF32 *x, size_t block, LanesF32 *to)
{
    for (size_t j = 0; j < block; j += 8) {
        const __m256d pivot0 = _mm256_load_pd(to->pivot + j);
        const __m256d pivot1 = _mm256_load_pd(to->pivot + j + 4);
        __m256d sum0 = _mm256_load_pd(to->d + j), sum1 = _mm256_load_pd(to->d + j + 4);
        __m256d square0 = _mm256_load_pd(to->q + j), square1 = _mm256_load_pd(to->q + j + 4);
        __m256 low = _mm256_load_ps(to->lo + j), high = _mm256_load_ps(to->hi + j);
        for (size_t k = 0; k < TURN_BLOCKS; k++) {
            const float *const at = (const float *)(x + k * block + j);
            const __m256 v = _mm256_loadu_ps(at);
            const __m256d t0 = _mm256_sub_pd(_mm256_cvtps_pd(_mm_loadu_ps(at)), pivot0);
            const __m256d t1 = _mm256_sub_pd(_mm256_cvtps_pd(_mm_loadu_ps(at + 4)), pivot1);
            sum0 = _mm256_add_pd(sum0, t0);
            sum1 = _mm256_add_pd(sum1, t1);
            square0 = _mm256_add_pd(square0, _mm256_mul_pd(t0, t0));
            square1 = _mm256_add_pd(square1, _mm256_mul_pd(t1, t1));
            low = _mm256_min_ps(v, low);
            high = _mm256_max_ps(v, high);
        }
        _mm256_store_pd(to->d + j, sum0);
        _mm256_store_pd(to->d + j + 4, sum1);
        _mm256_store_pd(to->q + j, square0);
        _mm256_store_pd(to->q + j + 4, square1);
        _mm256_store_ps(to->lo + j, low);
        _mm256_store_ps(to->hi + j, high);
    }
}

__attribute__((target("avx2,bmi,bmi2"))) static bool piece(ImgstatSample sample, const void *x,
                                                           size_t n, unsigned channels,
                                                           const uint64_t *nodata, LoopPiece *out)
{
    return piece_any(sample, x, n, channels, nodata, turn_f32, out);
}

__attribute__((target("avx2,bmi,bmi2"))) static void leading(ImgstatSample sample, const void *x,
                                                             size_t n, uint16_t *out)
{
    leading_any(sample, x, n, out);
}

__attribute__((target("avx2,bmi,bmi2"))) static void
count_words(const void *x, size_t n, unsigned channels, const LoopWords *to, LoopChoice *choice)
{
    count_words_any(x, n, channels, to, choice);
}

__attribute__((target("avx2,bmi,bmi2"))) static void
count_bytes(const uint8_t *x, size_t n, unsigned channels, const LoopBytes *to, LoopChoice *choice)
{
    count_bytes_any(x, n, channels, to, choice);
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
    .count_words = count_words,
    .count_bytes = count_bytes,
    .select = select_keys,
    .count_bins = count_bins,
    .distances = distances,
    .powers = powers,
};

#endif
