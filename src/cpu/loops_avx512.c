/* SPDX-License-Identifier: MIT */
/* loops_avx512.c: the loops over samples for processors with AVX-512 F, BW, DQ and VL. */
#include "base/cpu_features.h"
#include "cpu/loops_body.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define LOOP_AVX512                                                                   \
    __attribute__((target("avx2,bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl,popcnt"), \
                   always_inline)) static inline

__attribute__((target("avx2,bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl"))) static void
extrema(ImgstatSample sample, const void *x, size_t n, unsigned channels, const uint64_t *nodata,
        uint64_t *min, uint64_t *max)
{
    extrema_of(sample, x, n, channels, nodata, min, max);
}

__attribute__((target("avx2,bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl"))) static void
sums32(ImgstatSample sample, const void *x, size_t n, unsigned channels, LoopSums *out)
{
    sums32_any(sample, x, n, channels, out);
}

/* turn_f32_any that converts from memory, not from halves of a register. */
LOOP_AVX512 void turn_f32(const MemF32 *x, size_t block, LanesF32 *to)
{
    for (size_t j = 0; j < block; j += 16) {
        const __m512d pivot0 = _mm512_load_pd(to->pivot + j);
        const __m512d pivot1 = _mm512_load_pd(to->pivot + j + 8);
        __m512d sum0 = _mm512_load_pd(to->d + j), sum1 = _mm512_load_pd(to->d + j + 8);
        __m512d square0 = _mm512_load_pd(to->q + j), square1 = _mm512_load_pd(to->q + j + 8);
        __m512 low = _mm512_load_ps(to->lo + j), high = _mm512_load_ps(to->hi + j);
        for (size_t k = 0; k < TURN_BLOCKS; k++) {
            const float *const at = (const float *)(x + k * block + j);
            const __m512 v = _mm512_loadu_ps(at);
            const __m512d t0 = _mm512_sub_pd(_mm512_cvtps_pd(_mm256_loadu_ps(at)), pivot0);
            const __m512d t1 = _mm512_sub_pd(_mm512_cvtps_pd(_mm256_loadu_ps(at + 8)), pivot1);
            sum0 = _mm512_add_pd(sum0, t0);
            sum1 = _mm512_add_pd(sum1, t1);
            square0 = _mm512_add_pd(square0, _mm512_mul_pd(t0, t0));
            square1 = _mm512_add_pd(square1, _mm512_mul_pd(t1, t1));
            low = _mm512_min_ps(v, low);
            high = _mm512_max_ps(v, high);
        }
        _mm512_store_pd(to->d + j, sum0);
        _mm512_store_pd(to->d + j + 8, sum1);
        _mm512_store_pd(to->q + j, square0);
        _mm512_store_pd(to->q + j + 8, square1);
        _mm512_store_ps(to->lo + j, low);
        _mm512_store_ps(to->hi + j, high);
    }
}

/* With vectors of 256 bits: of f64, half as fast again on Zen 4 as with 512. */
PROCESSOR_VECTORS("avx2,bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl", "256")
static bool piece(ImgstatSample sample, const void *x, size_t n, unsigned channels,
                  const uint64_t *nodata, LoopPiece *out)
{
    return piece_any(sample, x, n, channels, nodata, turn_f32, out);
}

__attribute__((target("avx2,bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl"))) static void
leading(ImgstatSample sample, const void *x, size_t n, uint16_t *out)
{
    leading_any(sample, x, n, out);
}

/* The order keys of 16 samples of 32 bits. */
LOOP_AVX512 __m512i keys_avx512(ImgstatSample sample, __m512i raw)
{
    const __m512i sign = _mm512_set1_epi32(INT32_MIN);
    if (sample == IMGSTAT_U32)
        return raw;
    if (sample == IMGSTAT_I32)
        return _mm512_xor_si512(raw, sign);
    const __mmask16 minus_zero = _mm512_cmpeq_epi32_mask(raw, sign); /* has the key of +0 */
    const __m512i flip = _mm512_or_si512(_mm512_srai_epi32(raw, 31), sign);
    return _mm512_mask_mov_epi32(_mm512_xor_si512(raw, flip), minus_zero, sign);
}

__attribute__((target("avx2,bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl"))) static void
count_words(const void *x, size_t n, unsigned channels, const LoopWords *to, LoopChoice *choice)
{
    count_words_any(x, n, channels, to, choice);
}

__attribute__((target("avx2,bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl,popcnt"))) static void
count_bytes(const uint8_t *x, size_t n, unsigned channels, const LoopBytes *to, LoopChoice *choice)
{
    count_bytes_any(x, n, channels, to, choice);
}

/* select_any for 32-bit samples that are neighbours; span = hi - lo. The keys found move together
 * in a register. */
__attribute__((target("avx2,bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl"))) static size_t
select_packed(ImgstatSample sample, const Mem32 *x, size_t n, uint32_t lo, uint32_t span,
              uint64_t *keys)
{
    const __m512i first = _mm512_set1_epi32((int)lo);
    const __m512i most = _mm512_set1_epi32((int)span);
    size_t found = 0, i = 0;
    for (; i + 16 <= n; i += 16) {
        const __m512i key = keys_avx512(sample, _mm512_loadu_si512(x + i));
        const __mmask16 in = _mm512_cmple_epu32_mask(_mm512_sub_epi32(key, first), most);
        if (in == 0)
            continue;
        const __m512i packed = _mm512_maskz_compress_epi32(in, key);
        const unsigned here = (unsigned)__builtin_popcount(in);
        _mm512_mask_storeu_epi64(keys + found, (__mmask8)_bzhi_u32(0xFF, here),
                                 _mm512_cvtepu32_epi64(_mm512_castsi512_si256(packed)));
        if (here > 8)
            _mm512_mask_storeu_epi64(keys + found + 8, (__mmask8)_bzhi_u32(0xFF, here - 8),
                                     _mm512_cvtepu32_epi64(_mm512_extracti32x8_epi32(packed, 1)));
        found += here;
    }
    return found + select_any(sample, x + i, n - i, 1, lo, (uint64_t)lo + span, keys + found);
}

__attribute__((target("avx2,bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl"))) static size_t
select_keys(ImgstatSample sample, const void *x, size_t n, size_t channels, uint64_t lo,
            uint64_t hi, uint64_t *keys)
{
    if (sample_bits(sample) == 32 && channels == 1 && lo <= hi && lo <= UINT32_MAX) {
        const uint64_t most = hi < UINT32_MAX ? hi : UINT32_MAX;
        return select_packed(sample, x, n, (uint32_t)lo, (uint32_t)(most - lo), keys);
    }
    return select_any(sample, x, n, channels, lo, hi, keys);
}

__attribute__((target("avx2,bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl"))) static void
count_bins(ImgstatSample sample, const void *x, size_t n, size_t stride, const LoopBins *bins,
           uint32_t *counts)
{
    count_bins_any(sample, x, n, stride, bins, counts);
}

__attribute__((target("avx2,bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl"))) static void
distances(ImgstatSample sample, const void *x, size_t n, size_t stride, const uint64_t *nodata,
          double center, double *d)
{
    distances_any(sample, x, n, stride, nodata, center, d);
}

__attribute__((target("avx2,bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl"))) static void
powers(const double *d, size_t n, double out[4])
{
    powers_of(d, n, out);
}

const CpuLoops cpu_loops_avx512 = {
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
