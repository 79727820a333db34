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

/* Which of 8 samples of 32 bits are below and up to the bounds. */
LOOP_AVX2 __m256i part_8(ImgstatSample sample, __m256i raw, __m256i first, __m256i last,
                         __m256i *below)
{
    if (sample == IMGSTAT_F32) { /* as values: they are finite, and -0 is +0 */
        const __m256 value = _mm256_castsi256_ps(raw);
        *below = _mm256_castps_si256(_mm256_cmp_ps(value, _mm256_castsi256_ps(first), _CMP_LT_OQ));
        return _mm256_castps_si256(_mm256_cmp_ps(value, _mm256_castsi256_ps(last), _CMP_LE_OQ));
    }
    const __m256i sign = _mm256_set1_epi32(sample == IMGSTAT_I32 ? INT32_MIN : 0);
    const __m256i key = _mm256_xor_si256(raw, sign), ones = _mm256_set1_epi32(-1);
    *below = _mm256_xor_si256(_mm256_cmpeq_epi32(_mm256_max_epu32(key, first), key), ones);
    return _mm256_cmpeq_epi32(_mm256_min_epu32(key, last), key);
}

/* part_any for samples of 32 bits: as many vectors as there are channels take turns. */
LOOP_AVX2 size_t part_packed(ImgstatSample sample, const Mem32 *x, size_t n, unsigned channels,
                             const uint64_t *lo, const uint64_t *hi, uint64_t *below, uint16_t *at)
{
    enum { LANES = 8 };
    const size_t group = LANES * (size_t)channels, whole = n - n % group;
    uint32_t bounds[2][LANES * LOOP_CHANNELS], under[LANES * LOOP_CHANNELS];
    __m256i first[LOOP_CHANNELS], last[LOOP_CHANNELS], less[LOOP_CHANNELS];
    size_t found = 0;
    for (size_t j = 0; j < group; j++) {
        bounds[0][j] = part_from(sample, lo[j % channels]);
        bounds[1][j] = part_upto(sample, hi[j % channels]);
    }
#pragma GCC unroll 4
    for (unsigned v = 0; v < channels; v++) {
        first[v] = _mm256_loadu_si256((const __m256i *)(const void *)(bounds[0] + v * LANES));
        last[v] = _mm256_loadu_si256((const __m256i *)(const void *)(bounds[1] + v * LANES));
        less[v] = _mm256_setzero_si256(); /* minus how many are below */
    }
    for (size_t i = 0; i < whole; i += group) {
#pragma GCC unroll 4
        for (unsigned v = 0; v < channels; v++) {
            const void *const eight = x + i + v * LANES;
            __m256i below_8;
            const __m256i upto = part_8(sample, _mm256_loadu_si256((const __m256i *)eight),
                                        first[v], last[v], &below_8);
            unsigned wanted = (unsigned)_mm256_movemask_ps(
                _mm256_castsi256_ps(_mm256_andnot_si256(below_8, upto)));
            less[v] = _mm256_add_epi32(less[v], below_8);
            for (; wanted != 0; wanted = _blsr_u32(wanted))
                at[found++] = (uint16_t)(i + v * LANES + _tzcnt_u32(wanted));
        }
    }
#pragma GCC unroll 4
    for (unsigned v = 0; v < channels; v++)
        _mm256_storeu_si256((__m256i *)(void *)(under + v * LANES), less[v]);
    for (unsigned c = 0; c < channels; c++) {
        below[c] = 0;
        for (size_t j = c; j < group; j += channels)
            below[c] += 0u - under[j];
    }
    for (size_t i = whole; i < n; i++) {
        const unsigned c = (unsigned)(i % channels);
        const uint32_t key = key32(sample, x[i]);
        below[c] += key < lo[c];
        at[found] = (uint16_t)i;
        found += key >= lo[c] && key <= hi[c];
    }
    return found;
}

LOOP_AVX2 size_t part_32(ImgstatSample sample, const Mem32 *x, size_t n, unsigned channels,
                         const uint64_t *lo, const uint64_t *hi, uint64_t *below, uint16_t *at)
{
    switch (channels) {
    case 1:
        return part_packed(sample, x, n, 1, lo, hi, below, at);
    case 2:
        return part_packed(sample, x, n, 2, lo, hi, below, at);
    case 3:
        return part_packed(sample, x, n, 3, lo, hi, below, at);
    default:
        return part_packed(sample, x, n, 4, lo, hi, below, at);
    }
}

__attribute__((target("avx2,bmi,bmi2"))) static size_t part(ImgstatSample sample, const void *x,
                                                            size_t n, unsigned channels,
                                                            const uint64_t *lo, const uint64_t *hi,
                                                            uint64_t *below, uint16_t *at)
{
    switch (sample) {
    case IMGSTAT_U32:
        return part_32(IMGSTAT_U32, x, n, channels, lo, hi, below, at);
    case IMGSTAT_I32:
        return part_32(IMGSTAT_I32, x, n, channels, lo, hi, below, at);
    case IMGSTAT_F32:
        return part_32(IMGSTAT_F32, x, n, channels, lo, hi, below, at);
    default:
        return part_any(sample, x, n, channels, lo, hi, below, at);
    }
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
    .part = part,
    .count_words = count_words,
    .count_bytes = count_bytes,
    .select = select_keys,
    .count_bins = count_bins,
    .distances = distances,
    .powers = powers,
};

#endif
