/* SPDX-License-Identifier: MIT */
/* test_sample.c: order keys, exhaustively for narrow types. */
#include "helper_keys.h"

#include <criterion/criterion.h>
#include <float.h>

/* binary16 by its definition. */
static double half(uint32_t raw)
{
    const double sign = raw & 0x8000 ? -1 : 1;
    const int e = (int)(raw >> 10 & 31);
    const double f = raw & 1023;
    if (e == 31)
        return (raw & 1023) ? (double)NAN : sign * (double)INFINITY;
    return e == 0 ? sign * f / 1024 * pow(2, -14) : sign * (1 + f / 1024) * pow(2, e - 15);
}

static double narrow_value(ImgstatSample s, uint32_t raw)
{
    switch (s) {
    case IMGSTAT_U8:
    case IMGSTAT_U16:
        return raw;
    case IMGSTAT_I8:
        return (int8_t)(uint8_t)raw;
    case IMGSTAT_I16:
        return (int16_t)(uint16_t)raw;
    default:
        return half(raw);
    }
}

static const ImgstatSample narrow[] = {IMGSTAT_U8, IMGSTAT_I8, IMGSTAT_U16, IMGSTAT_I16,
                                       IMGSTAT_F16};

Test(sample, narrow_keys_order_values)
{
    size_t compared = 0;
    for (size_t i = 0; i < 5; i++) {
        const ImgstatSample s = narrow[i];
        const uint32_t n = sample_record_bins(s);
        for (uint32_t raw = 0; raw < n; raw++) {
            const uint64_t key = sample_key(s, raw);
            const double value = narrow_value(s, raw);
            cr_assert_lt(key, n);
            if (isnan(value)) {
                cr_assert(key < sample_key_infinity(s, true) ||
                          key > sample_key_infinity(s, false));
                cr_assert(isnan(sample_double(s, key)));
                continue;
            }
            cr_assert(sample_double(s, key) == value);
            if (s != IMGSTAT_F16 || raw != 0x8000)
                cr_assert_eq(sample_raw(s, key), raw);
            uint64_t back = 0;
            const ImgstatValue as_double = {.sample = IMGSTAT_F64, .as.f = value};
            cr_assert(sample_key_of(s, as_double, &back));
            cr_assert_eq(back, key);
            back = 0;
            cr_assert(sample_key_of(s, sample_value(s, key), &back));
            cr_assert_eq(back, key);
            compared++;
        }
        for (uint32_t key = 1; key < n; key++) {
            const double a = sample_double(s, key - 1), b = sample_double(s, key);
            cr_assert(isnan(a) || isnan(b) || a < b || (a == 0 && b == 0));
        }
    }
    cr_assert_gt(compared, 190000);
}

/* The definition: the smallest key of a finite value that is >= x. */
static uint64_t slow_ceil(ImgstatSample s, double x)
{
    const uint32_t n = sample_record_bins(s);
    const bool is_float = s == IMGSTAT_F16;
    const uint64_t first = is_float ? sample_key_infinity(s, true) + 1 : 0;
    const uint64_t past = is_float ? sample_key_infinity(s, false) : n;
    uint64_t low = first, high = past;
    while (low < high) {
        const uint64_t middle = (low + high) / 2;
        if (sample_double(s, middle) >= x)
            high = middle;
        else
            low = middle + 1;
    }
    /* keys of -0 and +0 are one: no raw value has the one below */
    return is_float && low == 0x7FFF ? 0x8000 : low;
}

Test(sample, narrow_ceil)
{
    Random random = {1};
    for (size_t i = 0; i < 5; i++) {
        const ImgstatSample s = narrow[i];
        const uint32_t n = sample_record_bins(s);
        for (uint32_t raw = 0; raw < n; raw++) {
            const double value = narrow_value(s, raw);
            if (!isfinite(value))
                continue;
            const double x[] = {value, nextafter(value, INFINITY), nextafter(value, -INFINITY),
                                value + random_unit(&random), value * (1 + random_unit(&random))};
            for (size_t k = 0; k < 5; k++)
                cr_assert_eq(sample_key_ceil(s, x[k]), slow_ceil(s, x[k]), "%s %a",
                             imgstat_sample_name(s), x[k]);
        }
        const double far[] = {-DBL_MAX, DBL_MAX, -1e6,   1e6,    65519.99,
                              65520,    -65520,  -65519, 5e-324, -5e-324};
        for (size_t k = 0; k < 10; k++)
            cr_assert_eq(sample_key_ceil(s, far[k]), slow_ceil(s, far[k]), "%s %a",
                         imgstat_sample_name(s), far[k]);
    }
}

Test(sample, wide_keys)
{
    Random random = {2};
    for (int i = 0; i < 200000; i++) {
        const uint64_t r = random_next(&random), q = random_next(&random);
        cr_assert_eq(sample_double(IMGSTAT_U32, sample_key(IMGSTAT_U32, (uint32_t)r)),
                     (double)(uint32_t)r);
        cr_assert_eq(sample_value(IMGSTAT_I32, sample_key(IMGSTAT_I32, (uint32_t)r)).as.i,
                     (int32_t)(uint32_t)r);
        cr_assert_eq(sample_value(IMGSTAT_U64, sample_key(IMGSTAT_U64, r)).as.u, r);
        cr_assert_eq(sample_value(IMGSTAT_I64, sample_key(IMGSTAT_I64, r)).as.i, (int64_t)r);
        cr_assert_eq((int64_t)r < (int64_t)q,
                     sample_key(IMGSTAT_I64, r) < sample_key(IMGSTAT_I64, q));
        double a, b;
        float f;
        const uint32_t low = (uint32_t)r;
        memcpy(&a, &r, 8);
        memcpy(&b, &q, 8);
        memcpy(&f, &low, 4);
        if (!isnan(a)) {
            cr_assert_eq(sample_key(IMGSTAT_F64, r), key_of_double(a));
            cr_assert_eq(sample_double(IMGSTAT_F64, key_of_double(a)), a);
        }
        if (!isnan(a) && !isnan(b))
            cr_assert_eq(a < b, sample_key(IMGSTAT_F64, r) < sample_key(IMGSTAT_F64, q));
        if (!isnan(f)) {
            cr_assert_eq(sample_key(IMGSTAT_F32, low), key_of_float(f));
            cr_assert_eq(sample_double(IMGSTAT_F32, key_of_float(f)), (double)f);
        }
    }
    cr_assert_eq(sample_key(IMGSTAT_F64, (uint64_t)1 << 63), sample_key(IMGSTAT_F64, 0));
}

static uint64_t key(ImgstatSample s, ImgstatValue value)
{
    uint64_t out = 12345;
    cr_assert(sample_key_of(s, value, &out));
    return out;
}

static ImgstatValue f64(double x)
{
    return (ImgstatValue){.sample = IMGSTAT_F64, .as.f = x};
}

Test(sample, key_of_other_types)
{
    uint64_t out;
    cr_assert_not(sample_key_of(IMGSTAT_U8, f64(-1), &out));
    cr_assert_not(sample_key_of(IMGSTAT_U8, f64(256), &out));
    cr_assert_not(sample_key_of(IMGSTAT_U8, f64(0.5), &out));
    cr_assert_not(sample_key_of(IMGSTAT_U8, f64(NAN), &out));
    cr_assert_not(sample_key_of(IMGSTAT_F32, f64(NAN), &out));
    cr_assert_not(sample_key_of(IMGSTAT_U64, f64(INFINITY), &out));
    cr_assert_not(sample_key_of(IMGSTAT_U64, f64(0x1p64), &out));
    cr_assert_not(sample_key_of(IMGSTAT_I64, f64(0x1p63), &out));
    cr_assert_not(sample_key_of(IMGSTAT_F32, f64(1e300), &out));
    cr_assert_not(sample_key_of(IMGSTAT_F16, f64(65520), &out));
    cr_assert_eq(key(IMGSTAT_F16, f64(65519)), sample_key(IMGSTAT_F16, 0x7BFF));
    cr_assert_eq(key(IMGSTAT_I64, f64(-0x1p63)), 0);
    cr_assert_eq(key(IMGSTAT_F32, f64(-3.40282347e+38)),
                 key_of_float(-FLT_MAX)); /* GDAL's usual text */
    cr_assert_eq(key(IMGSTAT_F32, f64(0.1)), key_of_float(0.1f));
    cr_assert_eq(key(IMGSTAT_F32, f64(-INFINITY)), key_of_float(-INFINITY));
    cr_assert_eq(key(IMGSTAT_U16, f64(-0.0)), 0);
    const ImgstatValue big = {.sample = IMGSTAT_U64, .as.u = UINT64_MAX};
    cr_assert_eq(key(IMGSTAT_U64, big), UINT64_MAX);
    cr_assert_not(sample_key_of(IMGSTAT_I64, big, &out));
    const ImgstatValue minus = {.sample = IMGSTAT_I64, .as.i = INT64_MIN};
    cr_assert_eq(key(IMGSTAT_I64, minus), 0);
    cr_assert_not(sample_key_of(IMGSTAT_U64, minus, &out));
    /* 2^54 + 2^30 + 1: by way of double it would round to an even float twice */
    const ImgstatValue twice = {.sample = IMGSTAT_U64,
                                .as.u = ((uint64_t)1 << 54) + ((uint64_t)1 << 30) + 1};
    cr_assert_eq(key(IMGSTAT_F32, twice), key_of_float((float)twice.as.u));
}

Test(sample, half_rounds_to_nearest_even)
{
    for (uint32_t raw = 0; raw < 0x7BFF; raw++) {
        const double a = half(raw), b = half(raw + 1), middle = (a + b) / 2;
        const uint32_t even = raw % 2 ? raw + 1 : raw;
        cr_assert_eq(key(IMGSTAT_F16, f64(middle)), sample_key(IMGSTAT_F16, even));
        cr_assert_eq(key(IMGSTAT_F16, f64(nextafter(middle, 0))), sample_key(IMGSTAT_F16, raw));
        cr_assert_eq(key(IMGSTAT_F16, f64(-nextafter(middle, INFINITY))),
                     sample_key(IMGSTAT_F16, (raw + 1) | 0x8000));
    }
}

Test(sample, wide_ceil)
{
    Random random = {3};
    cr_assert_eq(sample_key_ceil(IMGSTAT_U32, 4294967295.0), UINT32_MAX);
    cr_assert_eq(sample_key_ceil(IMGSTAT_U32, 4294967295.5), (uint64_t)1 << 32);
    cr_assert_eq(sample_key_ceil(IMGSTAT_U32, -3), 0);
    cr_assert_eq(sample_key_ceil(IMGSTAT_I32, -0.5), (uint64_t)1 << 31);
    cr_assert_eq(sample_key_ceil(IMGSTAT_U64, 0x1p64), UINT64_MAX);
    cr_assert_eq(sample_key_ceil(IMGSTAT_U64, nextafter(0x1p64, 0)), UINT64_MAX - 2047);
    cr_assert_eq(sample_key_ceil(IMGSTAT_I64, 0x1p63), UINT64_MAX);
    cr_assert_eq(sample_key_ceil(IMGSTAT_I64, -0x1p63), 0);
    cr_assert_eq(sample_key_ceil(IMGSTAT_I64, -DBL_MAX), 0);
    cr_assert_eq(sample_key_ceil(IMGSTAT_F32, DBL_MAX), key_of_float(INFINITY));
    cr_assert_eq(sample_key_ceil(IMGSTAT_F32, -DBL_MAX), key_of_float(-FLT_MAX));
    cr_assert_eq(sample_key_ceil(IMGSTAT_F64, -0.0), key_of_double(0));
    for (int i = 0; i < 100000; i++) {
        const double x = ldexp(random_normal(&random), (int)(random_next(&random) % 200) - 100);
        cr_assert_eq(sample_key_ceil(IMGSTAT_F64, x), key_of_double(x));
        const uint64_t k = sample_key_ceil(IMGSTAT_F32, x);
        cr_assert(sample_double(IMGSTAT_F32, k) >= x);
        const double below = sample_double(IMGSTAT_F32, k - 1);
        cr_assert(isnan(below) || below < x || k == key_of_float(0)); /* +0 and -0 share a key */
        const double y = random_normal(&random) * 1e18;
        const uint64_t m = sample_key_ceil(IMGSTAT_I64, y);
        cr_assert_eq(sample_value(IMGSTAT_I64, m).as.i, (int64_t)ceil(y));
    }
}

Test(sample, names_and_sizes)
{
    cr_assert_str_eq(imgstat_sample_name(IMGSTAT_F16), "f16");
    cr_assert_str_eq(imgstat_sample_name(IMGSTAT_F64), "f64");
    cr_assert_str_eq(imgstat_sample_name((ImgstatSample)77), "unknown");
    cr_assert_eq(imgstat_sample_bytes(IMGSTAT_I8), 1);
    cr_assert_eq(imgstat_sample_bytes(IMGSTAT_F16), 2);
    cr_assert_eq(imgstat_sample_bytes(IMGSTAT_U32), 4);
    cr_assert_eq(imgstat_sample_bytes(IMGSTAT_U64), 8);
}
