/* SPDX-License-Identifier: MIT */
/* moments/exact_sums.cuh: exact sums of integers of 32 and 64 bits and of their squares, in
 * kernels. */
#ifndef IMGSTAT_KERNELS_MOMENTS_EXACT_SUMS_CUH
#define IMGSTAT_KERNELS_MOMENTS_EXACT_SUMS_CUH

#include "common/wide_sample.cuh"

/* Signed samples are added up as their keys k = x + 2^(bits - 1), which are unsigned, and
 * digits_unbias turns the sums of a block into those of x: no sign is looked at a sample.
 *
 * What one lane adds up between two reports of its block (at most BLOCK_SEGMENTS segments: 2^24
 * samples a lane). Products are added in 64 bits and the carries counted apart, which is one
 * multiplication and one addition each; sums of 32-bit halves need no carry. */
template <int SAMPLE, int BYTES = (int)sizeof(RawOf<SAMPLE>)> struct IntegerSums;

/* low += a * b, and high counts the carries. */
DEVICE void add_product(uint64_t *low, uint32_t *high, uint32_t a, uint32_t b)
{
    uint32_t l = (uint32_t)*low, h = (uint32_t)(*low >> 32);
    asm("mad.lo.cc.u32 %0, %3, %4, %0;\n\t"
        "madc.hi.cc.u32 %1, %3, %4, %1;\n\t"
        "addc.u32 %2, %2, 0;"
        : "+r"(l), "+r"(h), "+r"(*high)
        : "r"(a), "r"(b));
    *low = (uint64_t)h << 32 | l;
}

/* sum += a as one multiplication: the pipe of the additions is the busier one. */
DEVICE void add_word(uint64_t *sum, uint32_t a)
{
    asm("mad.wide.u32 %0, %1, 1, %0;" : "+l"(*sum) : "r"(a));
}

template <int SAMPLE> struct IntegerSums<SAMPLE, 4> {
    enum { DIGITS = 1, DIGITS2 = 2 };
    uint64_t sum;
    uint64_t low; /* squares: 96 bits */
    uint32_t high;

    __device__ __forceinline__ void add(uint32_t key)
    {
        add_word(&sum, key);
        add_product(&low, &high, key, key);
    }
    /* Summands of digits with weights 2^(32 k), such that those of a block fit 63 bits. */
    __device__ __forceinline__ void digits(uint64_t *digit, uint64_t *digit2) const
    {
        digit[0] = sum;
        digit2[0] = low & 0xFFFFFFFFu;
        digit2[1] = (uint64_t)high << 32 | low >> 32;
    }
};

/* k = 2^32 h + l, k^2 = 2^64 h^2 + 2^33 h l + l^2. */
template <int SAMPLE> struct IntegerSums<SAMPLE, 8> {
    enum { DIGITS = 3, DIGITS2 = 5 };
    uint64_t sum_l, sum_h, ll, hl, hh;
    uint32_t ll_high, hl_high, hh_high;

    __device__ __forceinline__ void add(uint64_t key)
    {
        const uint32_t l = (uint32_t)key, h = (uint32_t)(key >> 32);
        add_word(&sum_l, l);
        add_word(&sum_h, h);
        add_product(&ll, &ll_high, l, l);
        add_product(&hl, &hl_high, h, l);
        add_product(&hh, &hh_high, h, h);
    }
    __device__ __forceinline__ void digits(uint64_t *digit, uint64_t *digit2) const
    {
        const uint64_t word = 0xFFFFFFFFu;
        digit[0] = sum_l & word;
        digit[1] = (sum_l >> 32) + (sum_h & word);
        digit[2] = sum_h >> 32;
        digit2[0] = ll & word;
        digit2[1] = (ll >> 32) + 2 * (hl & word);
        digit2[2] = ll_high + 2 * (hl >> 32) + (hh & word);
        digit2[3] = 2 * (uint64_t)hl_high + (hh >> 32);
        digit2[4] = hh_high;
    }
};

template <int SAMPLE> struct IntegerSums<SAMPLE, 0>; /* never */

/* Sums of n keys to sums of n samples, in digits: with x = k - b, b = 2^(bits - 1),
 *   sum x = sum k - n b, sum x^2 = sum k^2 - 2 b sum k + n b^2. */
template <int SAMPLE>
DEVICE void digits_unbias(unsigned long long *digit, unsigned long long *digit2,
                          unsigned long long n)
{
    enum { WORDS = sizeof(RawOf<SAMPLE>) / 4 };
    for (int i = 0; i < IntegerSums<SAMPLE>::DIGITS; i++)
        digit2[WORDS + i] -= digit[i];
    digit2[2 * WORDS - 1] += n << 30;
    digit[WORDS - 1] -= n << 31;
}

/* Carries between the digits of a block's sum: afterwards each is below 2^32, and sums are taken
 * modulo 2^128, squares modulo 2^192. */
DEVICE void digits_normalize(unsigned long long *digit, bool squares)
{
    const int n = squares ? 6 : 4;
    int64_t carry = 0;
    for (int i = 0; i < n; i++) {
        const int64_t v = (int64_t)digit[i] + carry;
        digit[i] = (unsigned long long)v & 0xFFFFFFFFu;
        carry = v >> 32;
    }
}

/* Adds digits (each a sum of few below 2^32) to n <= 3 words of 64 bits. */
DEVICE void digits_merge(const unsigned long long *digit, uint64_t *words, int n)
{
    uint64_t word[3] = {0}, carry = 0;
#pragma unroll
    for (int i = 0; i < 3; i++)
        word[i] = i < n ? __ldcg((const unsigned long long *)&words[i]) : 0;
#pragma unroll
    for (int i = 0; i < 3; i++) {
        if (i < n) {
            const uint64_t low = (word[i] & 0xFFFFFFFFu) + digit[2 * i] + carry;
            const uint64_t high = (word[i] >> 32) + digit[2 * i + 1] + (low >> 32);
            words[i] = high << 32 | (low & 0xFFFFFFFFu);
            carry = high >> 32;
        }
    }
}

#endif
