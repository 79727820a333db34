/* SPDX-License-Identifier: MIT */
/* common/wide_sample.cuh: 32- and 64-bit samples in kernels: their types, keys, and folds over a
 * warp. */
#ifndef IMGSTAT_KERNELS_COMMON_WIDE_SAMPLE_CUH
#define IMGSTAT_KERNELS_COMMON_WIDE_SAMPLE_CUH

#include "common/warp.cuh"
#include "common/work_queue.cuh"

#include <type_traits>

template <int SAMPLE> struct WideType;
template <> struct WideType<IMGSTAT_U32> {
    typedef uint32_t Raw, Value;
    typedef uint4 Vector;
    static constexpr bool FLOAT = false;
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
};
template <> struct WideType<IMGSTAT_F64> {
    typedef uint64_t Raw;
    typedef double Value;
    typedef double2 Vector;
    static constexpr bool FLOAT = true;
};

template <int SAMPLE> using RawOf = typename WideType<SAMPLE>::Raw;
template <int SAMPLE> using ValueOf = typename WideType<SAMPLE>::Value;

/* Item e of a vector; e is known at compile time. */
template <typename V> DEVICE auto vector_item(const V &v, int e)
{
    if constexpr (sizeof(v.x) == 4)
        return e == 0 ? v.x : e == 1 ? v.y : e == 2 ? v.z : v.w;
    else
        return e == 0 ? v.x : v.y;
}

/* What makes a key of the bits of an integer. Kernels of U32 and U64 serve signed images too. */
template <int SAMPLE> DEVICE RawOf<SAMPLE> wide_sign(const WorkImage &image)
{
    typedef RawOf<SAMPLE> Raw;
    static_assert(!WideType<SAMPLE>::FLOAT, "keys of floats are made otherwise");
    return (Raw)sample_is_signed(image.sample) << (8 * sizeof(Raw) - 1);
}

/* The key of a sample with the bits `raw`. */
template <int SAMPLE> DEVICE RawOf<SAMPLE> wide_key(const WorkImage &image, RawOf<SAMPLE> raw)
{
    if constexpr (WideType<SAMPLE>::FLOAT)
        return (RawOf<SAMPLE>)sample_key((ImgstatSample)SAMPLE, raw);
    else
        return raw ^ wide_sign<SAMPLE>(image);
}

/* The bits of a sample with the key `key`. */
template <int SAMPLE> DEVICE RawOf<SAMPLE> wide_raw(const WorkImage &image, uint64_t key)
{
    if constexpr (WideType<SAMPLE>::FLOAT)
        return (RawOf<SAMPLE>)sample_raw((ImgstatSample)SAMPLE, key);
    else
        return (RawOf<SAMPLE>)key ^ wide_sign<SAMPLE>(image);
}

/* The nearest double. */
template <int SAMPLE> DEVICE double wide_double(const WorkImage &image, RawOf<SAMPLE> raw)
{
    if constexpr (SAMPLE == IMGSTAT_F32)
        return (double)__uint_as_float(raw);
    else if constexpr (SAMPLE == IMGSTAT_F64)
        return __longlong_as_double((long long)raw);
    else
        return sample_is_signed(image.sample) ? (double)(std::make_signed_t<decltype(raw)>)raw
                                              : (double)raw;
}

/* The key of a float. */
template <int SAMPLE> DEVICE uint64_t value_key(ValueOf<SAMPLE> value)
{
    const ImgstatSample type = (ImgstatSample)SAMPLE;
    if constexpr (SAMPLE == IMGSTAT_F32)
        return sample_key(type, __float_as_uint(value));
    else
        return sample_key(type, (uint64_t)__double_as_longlong(value));
}

/* Of finite values. */
DEVICE float value_min(float a, float b)
{
    return fminf(a, b);
}
DEVICE float value_max(float a, float b)
{
    return fmaxf(a, b);
}
DEVICE double value_min(double a, double b)
{
    return b < a ? b : a;
}
DEVICE double value_max(double a, double b)
{
    return b > a ? b : a;
}

/* The tree of docs/float-sums.md, step 4, of two sums at once: the upper half of the warp goes on
 * with the second. Lane t gives lanes t, t + 32, t + 64, t + 96 of the segment. */
DEVICE void lanes_fold(const double (&a)[4], const double (&b)[4], double *sum_a, double *sum_b)
{
    const double half_a = (a[0] + a[2]) + (a[1] + a[3]), half_b = (b[0] + b[2]) + (b[1] + b[3]);
    const bool upper = threadIdx.x % 32 >= 16;
    double v = (upper ? half_b : half_a) + __shfl_xor_sync(ALL_LANES, upper ? half_a : half_b, 16);
#pragma unroll
    for (int h = 8; h > 0; h /= 2)
        v += __shfl_xor_sync(ALL_LANES, v, h);
    *sum_a = __shfl_sync(ALL_LANES, v, 0);
    *sum_b = __shfl_sync(ALL_LANES, v, 16);
}

#endif
