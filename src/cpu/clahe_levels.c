/* SPDX-License-Identifier: MIT */
/* clahe_levels.c: what four tables say is joined, then looked up at once and mixed, by every set
 * of instructions. */
#include "cpu/clahe_levels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define BODY static inline __attribute__((always_inline))

BODY void join_all(const uint32_t *const table[4], size_t begin, size_t end, ClaheLevels *levels)
{
    const uint32_t *const all[4] = {table[0], table[1], table[2], table[3]};
    for (size_t k = begin; k < end; k++)
        levels[k] = clahe_levels_at(all, k);
}

static void join_portable(const uint32_t *const table[4], size_t begin, size_t end,
                          ClaheLevels *levels)
{
    join_all(table, begin, end, levels);
}

/* clahe_opencv; int: compilers know no vectors that make floats of unsigned ones. */
BODY uint16_t mixed(ClaheLevels levels, float xa, float ya, float top)
{
    const float xb = 1.0f - xa, yb = 1.0f - ya;
    const int left[2] = {(int)(levels.upper & 0xFFFF), (int)(levels.lower & 0xFFFF)};
    const int right[2] = {(int)(levels.upper >> 16), (int)(levels.lower >> 16)};
    const float upper = (float)left[0] * xb + (float)right[0] * xa;
    const float lower = (float)left[1] * xb + (float)right[1] * xa;
    const float level = clahe_rounded(upper * yb + lower * ya);
    return (uint16_t)(int)(level > top ? top : level);
}

static void opencv_portable(const ClaheLevels *levels, const uint16_t *place, size_t n,
                            const float *x_weight, float y_weight, uint32_t bins, uint16_t *out)
{
    const float top = (float)(bins - 1);
    for (size_t i = 0; i < n; i++)
        out[i] = mixed(levels[place[i]], x_weight[i], y_weight, top);
}

BODY uint16_t gray_of(ClaheLevels levels, double xa, double ya)
{
    const uint32_t level[4] = {levels.upper & 0xFFFF, levels.upper >> 16, levels.lower & 0xFFFF,
                               levels.lower >> 16};
    return (uint16_t)clahe_skimage(level, xa, ya);
}

static void skimage_portable(const ClaheLevels *levels, const uint16_t *place, size_t n,
                             const double *x_part, double y_part, uint16_t *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = gray_of(levels[place[i]], x_part[i], y_part);
}

static const ClaheLevelsLoops loops_portable = {join_portable, opencv_portable, skimage_portable};

#if defined(__x86_64__)

#define LEVELS_AVX2 __attribute__((target("avx2,bmi,bmi2")))

LEVELS_AVX2 static void join_avx2(const uint32_t *const table[4], size_t begin, size_t end,
                                  ClaheLevels *levels)
{
    join_all(table, begin, end, levels);
}

LEVELS_AVX2 BODY __m128 levels_2(const ClaheLevels *first, const ClaheLevels *second)
{
    const __m128i one = _mm_loadl_epi64((const __m128i *)(const void *)first);
    return _mm_loadh_pi(_mm_castsi128_ps(one), (const __m64 *)(const void *)second);
}

/* The levels at places 0 and 1, and at 4 and 5. */
LEVELS_AVX2 BODY __m256 levels_0145(const ClaheLevels *levels, const uint16_t *place)
{
    const __m128 first = levels_2(levels + place[0], levels + place[1]);
    const __m128 second = levels_2(levels + place[4], levels + place[5]);
    return _mm256_insertf128_ps(_mm256_castps128_ps256(first), second, 1);
}

LEVELS_AVX2 BODY __m256 mix_8(__m256i levels, __m256 xa, __m256 xb)
{
    const __m256i left = _mm256_and_si256(levels, _mm256_set1_epi32(0xFFFF));
    const __m256i right = _mm256_srli_epi32(levels, 16);
    return _mm256_add_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(left), xb),
                         _mm256_mul_ps(_mm256_cvtepi32_ps(right), xa));
}

enum { STEP = 8 };

/* STEP pixels; they are rounded half to even, as rintf does. */
LEVELS_AVX2 BODY __m128i opencv_8(const ClaheLevels *levels, const uint16_t *place,
                                  const float *x_weight, __m256 ya, __m256i top)
{
    const __m256 one = _mm256_set1_ps(1.0f);
    const __m256 a = levels_0145(levels, place), b = levels_0145(levels, place + 2);
    const __m256 xa = _mm256_loadu_ps(x_weight), xb = _mm256_sub_ps(one, xa);
    const __m256 upper = mix_8(_mm256_castps_si256(_mm256_shuffle_ps(a, b, 0x88)), xa, xb);
    const __m256 lower = mix_8(_mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xDD)), xa, xb);
    const __m256 sum =
        _mm256_add_ps(_mm256_mul_ps(upper, _mm256_sub_ps(one, ya)), _mm256_mul_ps(lower, ya));
    const __m256i level = _mm256_min_epi32(_mm256_cvtps_epi32(sum), top);
    return _mm_packus_epi32(_mm256_castsi256_si128(level), _mm256_extracti128_si256(level, 1));
}

LEVELS_AVX2 static void opencv_avx2(const ClaheLevels *levels, const uint16_t *place, size_t n,
                                    const float *x_weight, float y_weight, uint32_t bins,
                                    uint16_t *out)
{
    const __m256 ya = _mm256_set1_ps(y_weight);
    const __m256i top = _mm256_set1_epi32((int32_t)(bins - 1));
    size_t i = 0;
    for (; i + STEP <= n; i += STEP)
        _mm_storeu_si128((__m128i *)(void *)(out + i),
                         opencv_8(levels, place + i, x_weight + i, ya, top));
    for (; i < n; i++)
        out[i] = mixed(levels[place[i]], x_weight[i], y_weight, (float)(bins - 1));
}

/* What a tile adds to 4 pixels. */
LEVELS_AVX2 BODY __m128 share_4(__m128i level, __m256d x, __m256d y)
{
    return _mm256_cvtpd_ps(_mm256_mul_pd(_mm256_cvtepi32_pd(level), _mm256_mul_pd(x, y)));
}

/* The levels of a row of two tiles at 4 pixels. */
LEVELS_AVX2 BODY __m128 add_row(__m128 sum, __m128i levels, __m256d xa, __m256d y)
{
    const __m256d xb = _mm256_sub_pd(_mm256_set1_pd(1.0), xa);
    const __m128i left = _mm_and_si128(levels, _mm_set1_epi32(0xFFFF));
    sum = _mm_add_ps(sum, share_4(left, xb, y));
    return _mm_add_ps(sum, share_4(_mm_srli_epi32(levels, 16), xa, y));
}

LEVELS_AVX2 BODY __m128i gray_4(__m128i upper, __m128i lower, const double *x_part, __m256d ya)
{
    const __m256d xa = _mm256_loadu_pd(x_part), yb = _mm256_sub_pd(_mm256_set1_pd(1.0), ya);
    return _mm_cvttps_epi32(add_row(add_row(_mm_setzero_ps(), upper, xa, yb), lower, xa, ya));
}

LEVELS_AVX2 static void skimage_avx2(const ClaheLevels *levels, const uint16_t *place, size_t n,
                                     const double *x_part, double y_part, uint16_t *out)
{
    const __m256d ya = _mm256_set1_pd(y_part);
    size_t i = 0;
    for (; i + STEP <= n; i += STEP) {
        const __m256 a = levels_0145(levels, place + i), b = levels_0145(levels, place + i + 2);
        const __m256i upper = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0x88));
        const __m256i lower = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xDD));
        const __m128i first =
            gray_4(_mm256_castsi256_si128(upper), _mm256_castsi256_si128(lower), x_part + i, ya);
        const __m128i second = gray_4(_mm256_extracti128_si256(upper, 1),
                                      _mm256_extracti128_si256(lower, 1), x_part + i + 4, ya);
        _mm_storeu_si128((__m128i *)(void *)(out + i), _mm_packus_epi32(first, second));
    }
    for (; i < n; i++)
        out[i] = gray_of(levels[place[i]], x_part[i], y_part);
}

/* Vectors of 512 bits gain a tenth of what this takes. */
static const ClaheLevelsLoops loops_avx2 = {join_avx2, opencv_avx2, skimage_avx2};

#endif

const ClaheLevelsLoops *clahe_levels_of(CpuLevel level)
{
#if defined(__x86_64__)
    if (level >= PROCESSOR_AVX2)
        return &loops_avx2;
#endif
    (void)level;
    return &loops_portable;
}

const ClaheLevelsLoops *clahe_levels(void)
{
    return clahe_levels_of(cpu_features_level());
}
