/* SPDX-License-Identifier: MIT */
/* wide.cuh: 32- and 64-bit samples in kernels: their types, keys, sums, and folds over a warp. */
#ifndef IMGSTAT_WIDE_CUH
#define IMGSTAT_WIDE_CUH

#include "work.cuh"

static const unsigned ALL_LANES = 0xFFFFFFFFu;

template <int SAMPLE> struct WideType;
template <> struct WideType<IMGSTAT_U32> {
    typedef uint32_t Raw, Value;
    typedef uint4 Vector;
    static constexpr bool FLOAT = false;
    static constexpr Value SMALLEST = 0, LARGEST = UINT32_MAX;
};
template <> struct WideType<IMGSTAT_I32> {
    typedef uint32_t Raw;
    typedef int32_t Value;
    typedef int4 Vector;
    static constexpr bool FLOAT = false;
    static constexpr Value SMALLEST = INT32_MIN, LARGEST = INT32_MAX;
};
template <> struct WideType<IMGSTAT_F32> {
    typedef uint32_t Raw;
    typedef float Value;
    typedef float4 Vector;
    static constexpr bool FLOAT = true;
};
template <> struct WideType<IMGSTAT_U64> {
    typedef uint64_t Raw;
    typedef unsigned long long Value;
    typedef ulonglong2 Vector;
    static constexpr bool FLOAT = false;
    static constexpr Value SMALLEST = 0, LARGEST = UINT64_MAX;
};
template <> struct WideType<IMGSTAT_I64> {
    typedef uint64_t Raw;
    typedef long long Value;
    typedef longlong2 Vector;
    static constexpr bool FLOAT = false;
    static constexpr Value SMALLEST = INT64_MIN, LARGEST = INT64_MAX;
};
template <> struct WideType<IMGSTAT_F64> {
    typedef uint64_t Raw;
    typedef double Value;
    typedef double2 Vector;
    static constexpr bool FLOAT = true;
};

/* Item e of a vector; e is known at compile time. */
template <typename V> static __device__ __forceinline__ auto vector_item(const V &v, int e)
{
    if constexpr (sizeof(v.x) == 4)
        return e == 0 ? v.x : e == 1 ? v.y : e == 2 ? v.z : v.w;
    else
        return e == 0 ? v.x : v.y;
}

/* Finite and not nodata. */
template <int SAMPLE>
static __device__ __forceinline__ bool wide_valid(const WorkImage &image, uint64_t key)
{
    const ImgstatSample type = (ImgstatSample)SAMPLE;
    if (image.has_nodata && key == image.nodata_key)
        return false;
    return !WideType<SAMPLE>::FLOAT ||
           (key > sample_key_infinity(type, true) && key < sample_key_infinity(type, false));
}

/* The nearest double. */
template <int SAMPLE>
static __device__ __forceinline__ double wide_double(typename WideType<SAMPLE>::Raw raw)
{
    if constexpr (SAMPLE == IMGSTAT_F32)
        return (double)__uint_as_float(raw);
    else if constexpr (SAMPLE == IMGSTAT_F64)
        return __longlong_as_double((long long)raw);
    else
        return (double)(typename WideType<SAMPLE>::Value)raw;
}

template <int SAMPLE>
static __device__ __forceinline__ uint64_t value_key(typename WideType<SAMPLE>::Value value)
{
    const ImgstatSample type = (ImgstatSample)SAMPLE;
    if constexpr (SAMPLE == IMGSTAT_F32)
        return sample_key(type, __float_as_uint(value));
    else if constexpr (SAMPLE == IMGSTAT_F64)
        return sample_key(type, (uint64_t)__double_as_longlong(value));
    else
        return sample_key(type, (typename WideType<SAMPLE>::Raw)value);
}

/* Of finite values. */
static __device__ __forceinline__ float value_min(float a, float b)
{
    return fminf(a, b);
}
static __device__ __forceinline__ float value_max(float a, float b)
{
    return fmaxf(a, b);
}
static __device__ __forceinline__ double value_min(double a, double b)
{
    return b < a ? b : a;
}
static __device__ __forceinline__ double value_max(double a, double b)
{
    return b > a ? b : a;
}

/* ---- Over a warp; every lane calls, every lane gets the result ------------------------------- */

static __device__ __forceinline__ uint64_t warp_sum(uint64_t v)
{
#pragma unroll
    for (int h = 16; h > 0; h /= 2)
        v += __shfl_xor_sync(ALL_LANES, v, h);
    return v;
}

static __device__ __forceinline__ uint64_t warp_min(uint64_t v)
{
#pragma unroll
    for (int h = 16; h > 0; h /= 2)
        v = min(v, __shfl_xor_sync(ALL_LANES, v, h));
    return v;
}

static __device__ __forceinline__ uint64_t warp_max(uint64_t v)
{
#pragma unroll
    for (int h = 16; h > 0; h /= 2)
        v = max(v, __shfl_xor_sync(ALL_LANES, v, h));
    return v;
}

/* Keys of 32-bit samples have an instruction of their own from compute capability 8.0. */
template <int SAMPLE> static __device__ __forceinline__ uint64_t warp_min_key(uint64_t key)
{
#if __CUDA_ARCH__ >= 800
    if constexpr (sizeof(typename WideType<SAMPLE>::Raw) == 4)
        return __reduce_min_sync(ALL_LANES, (uint32_t)key);
#endif
    return warp_min(key);
}

template <int SAMPLE> static __device__ __forceinline__ uint64_t warp_max_key(uint64_t key)
{
#if __CUDA_ARCH__ >= 800
    if constexpr (sizeof(typename WideType<SAMPLE>::Raw) == 4)
        return __reduce_max_sync(ALL_LANES, (uint32_t)key);
#endif
    return warp_max(key);
}

/* The tree of docs/float-sums.md, step 4. Lane t gives lanes t, t + 32, t + 64, t + 96 of the
 * piece; lane 0 gets the sum. */
static __device__ __forceinline__ double lanes_fold(double l0, double l32, double l64, double l96)
{
    double v = (l0 + l64) + (l32 + l96);
#pragma unroll
    for (int h = 16; h > 0; h /= 2)
        v += __shfl_down_sync(ALL_LANES, v, h);
    return v;
}

/* ---- Exact sums of integers ------------------------------------------------------------------ */

/* What one lane adds up over one piece: at most 4096 samples. */
template <int SAMPLE, int BYTES = (int)sizeof(typename WideType<SAMPLE>::Raw)> struct IntegerSums;

template <int SAMPLE> struct IntegerSums<SAMPLE, 4> {
    enum { DIGITS = 1, DIGITS2 = 2 };
    uint64_t sum; /* signed types: two's complement */
    uint64_t low; /* squares: 96 bits */
    uint32_t high;

    __device__ __forceinline__ void add(uint32_t raw)
    {
        uint64_t square;
        if constexpr (SAMPLE == IMGSTAT_I32) {
            sum += (uint64_t)(int64_t)(int32_t)raw;
            square = (uint64_t)((int64_t)(int32_t)raw * (int32_t)raw);
        } else {
            sum += raw;
            square = (uint64_t)raw * raw;
        }
        low += square;
        high += low < square;
    }
    /* Summands of digits with weights 2^(32 k), such that 2^17 pieces of them fit 63 bits. */
    __device__ __forceinline__ void digits(uint64_t *digit, uint64_t *digit2) const
    {
        digit[0] = sum;
        digit2[0] = low & 0xFFFFFFFFu;
        digit2[1] = (uint64_t)high << 32 | low >> 32;
    }
};

template <int SAMPLE> struct IntegerSums<SAMPLE, 8> {
    enum { DIGITS = 3, DIGITS2 = 5 };
    uint64_t sum[2], square[3];

    __device__ __forceinline__ void add(uint64_t raw)
    {
        const bool negative = SAMPLE == IMGSTAT_I64 && (int64_t)raw < 0;
        const uint64_t magnitude = negative ? 0 - raw : raw;
        sum[0] += raw;
        sum[1] += (negative ? ~0ull : 0) + (sum[0] < raw);
        const uint64_t low = magnitude * magnitude, high = __umul64hi(magnitude, magnitude);
        square[0] += low;
        const uint64_t carry = square[0] < low;
        square[1] += high;
        square[2] += square[1] < high;
        square[1] += carry;
        square[2] += square[1] < carry;
    }
    __device__ __forceinline__ void digits(uint64_t *digit, uint64_t *digit2) const
    {
        digit[0] = sum[0] & 0xFFFFFFFFu;
        digit[1] = sum[0] >> 32;
        digit[2] = sum[1];
        digit2[0] = square[0] & 0xFFFFFFFFu;
        digit2[1] = square[0] >> 32;
        digit2[2] = square[1] & 0xFFFFFFFFu;
        digit2[3] = square[1] >> 32;
        digit2[4] = square[2];
    }
};

template <int SAMPLE> struct IntegerSums<SAMPLE, 0>; /* never */

/* Carries between the digits of a block's sum: afterwards each is below 2^32, and sums are taken
 * modulo 2^128, squares modulo 2^192. */
template <int SAMPLE>
static __device__ __forceinline__ void digits_normalize(unsigned long long *digit, bool squares)
{
    const int n = squares ? 6 : 4;
    int64_t carry = 0;
    for (int i = 0; i < n; i++) {
        const int64_t v = (int64_t)digit[i] + carry;
        digit[i] = (unsigned long long)v & 0xFFFFFFFFu;
        carry = v >> 32;
    }
}

/* Adds digits (each a sum of few below 2^32) to words of 64 bits. */
static __device__ __forceinline__ void digits_merge(const unsigned long long *digit,
                                                    uint64_t *words, int n)
{
    uint64_t carry = 0;
    for (int i = 0; i < n; i++) {
        const uint64_t word = __ldcg((const unsigned long long *)&words[i]);
        const uint64_t low = (word & 0xFFFFFFFFu) + digit[2 * i] + carry;
        const uint64_t high = (word >> 32) + digit[2 * i + 1] + (low >> 32);
        words[i] = high << 32 | (low & 0xFFFFFFFFu);
        carry = high >> 32;
    }
}

#endif
