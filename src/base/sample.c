/* SPDX-License-Identifier: MIT */
/* sample.c: names and sizes of sample types; values to order keys and back. */
#include "base/sample.h"

#include "base/compiler.h"
#include "base/half.h"

const char *imgstat_sample_name(ImgstatSample sample)
{
    static const char *const name[] = {"u8",  "i8",  "u16", "i16", "f16", "u32",
                                       "i32", "f32", "u64", "i64", "f64"};
    return (unsigned)sample < ARRAY_LEN(name) ? name[sample] : "unknown";
}

size_t imgstat_sample_bytes(ImgstatSample sample)
{
    return sample_bits(sample) / 8;
}

double imgstat_value_double(ImgstatValue value)
{
    if (sample_is_float(value.sample))
        return value.as.f;
    return sample_is_signed(value.sample) ? (double)value.as.i : (double)value.as.u;
}

static double float_of_raw(ImgstatSample s, uint64_t raw)
{
    if (s == IMGSTAT_F16)
        return half_value((uint32_t)raw);
    if (s == IMGSTAT_F32) {
        const uint32_t bits = (uint32_t)raw;
        float f;
        memcpy(&f, &bits, sizeof f);
        return (double)f;
    }
    double d;
    memcpy(&d, &raw, sizeof d);
    return d;
}

/* Raw bits of x rounded to s; x is no NaN. */
static uint64_t raw_of_float(ImgstatSample s, double x)
{
    if (s == IMGSTAT_F16)
        return half_raw(x);
    if (s == IMGSTAT_F32) {
        const float f = (float)x;
        uint32_t bits;
        memcpy(&bits, &f, sizeof bits);
        return bits;
    }
    uint64_t raw;
    memcpy(&raw, &x, sizeof raw);
    return raw;
}

ImgstatValue sample_value(ImgstatSample s, uint64_t key)
{
    ImgstatValue value = {.sample = s};
    const uint64_t sign = (uint64_t)1 << (sample_bits(s) - 1);
    if (sample_is_float(s))
        value.as.f = float_of_raw(s, sample_raw(s, key));
    else if (sample_is_signed(s))
        value.as.i = key >= sign ? (int64_t)(key - sign) : -(int64_t)(sign - key - 1) - 1;
    else
        value.as.u = key;
    return value;
}

double sample_double(ImgstatSample s, uint64_t key)
{
    return imgstat_value_double(sample_value(s, key));
}

/* Finds the key of an integer, given by sign and magnitude, in an integer type. Returns false if
 * the type cannot hold it. */
static bool key_of_integer(ImgstatSample s, bool negative, uint64_t magnitude, uint64_t *key)
{
    const uint64_t sign = (uint64_t)1 << (sample_bits(s) - 1);
    if (!sample_is_signed(s)) {
        if ((negative && magnitude) || magnitude > (sign | (sign - 1)))
            return false;
        *key = magnitude;
        return true;
    }
    if (magnitude > (negative ? sign : sign - 1))
        return false;
    *key = negative ? sign - magnitude : sign + magnitude;
    return true;
}

static bool key_of_float(ImgstatSample s, ImgstatValue value, uint64_t *key)
{
    uint64_t raw;
    if (s == IMGSTAT_F32 && !sample_is_float(value.sample)) {
        /* Straight to float: through a double, a 64-bit integer would be rounded twice. */
        const float f = sample_is_signed(value.sample) ? (float)value.as.i : (float)value.as.u;
        raw = raw_of_float(s, (double)f);
    } else {
        const double x = imgstat_value_double(value);
        if (isnan(x))
            return false;
        raw = raw_of_float(s, x);
        if (isfinite(x) && !isfinite(float_of_raw(s, raw)))
            return false;
    }
    *key = sample_key(s, raw);
    return true;
}

bool sample_key_of(ImgstatSample s, ImgstatValue value, uint64_t *key)
{
    if (sample_is_float(s))
        return key_of_float(s, value, key);
    if (sample_is_float(value.sample)) {
        const double x = value.as.f;
        if (!(fabs(x) < 0x1p64) || x != trunc(x)) /* NaN and infinities too */
            return false;
        return key_of_integer(s, x < 0, (uint64_t)fabs(x), key);
    }
    if (!sample_is_signed(value.sample))
        return key_of_integer(s, false, value.as.u, key);
    const bool negative = value.as.i < 0;
    const uint64_t magnitude = negative ? 0 - (uint64_t)value.as.i : (uint64_t)value.as.i;
    return key_of_integer(s, negative, magnitude, key);
}

uint64_t sample_raw_missing(ImgstatSample s, const ImgstatValue *nodata)
{
    uint64_t key = sample_key(s, 0);
    if (nodata && sample_is_float(s) && isnan(imgstat_value_double(*nodata)))
        key = sample_key_nan(s);
    else if (nodata)
        (void)sample_key_of(s, *nodata, &key); /* else it stays 0 */
    return sample_raw(s, key);
}

uint64_t sample_key_ceil(ImgstatSample s, double x)
{
    const uint32_t width = sample_bits(s);
    const uint64_t sign = (uint64_t)1 << (width - 1);
    if (!sample_is_float(s)) {
        const double lowest = sample_is_signed(s) ? -(double)sign : 0.0;
        const double past = sample_is_signed(s) ? (double)sign : 2.0 * (double)sign; /* exact */
        const double up = ceil(x);
        if (up <= lowest)
            return 0;
        if (up >= past)
            return width == 64 ? UINT64_MAX : (uint64_t)1 << width;
        uint64_t key = 0;
        (void)key_of_integer(s, up < 0, (uint64_t)fabs(up), &key); /* in range by now */
        return key;
    }
    const uint64_t raw = raw_of_float(s, x);
    const uint64_t key = sample_key(s, raw);
    if (float_of_raw(s, raw) >= x)
        return key;
    /* Rounded down: the next key is the result, also after -infinity and the largest finite value.
     * The key before that of zero, where -0 would be, has no value. */
    return key + 2 == sign ? sign : key + 1;
}

void sample_full_scale(ImgstatSample sample, uint8_t bits, uint64_t *lo, uint64_t *hi)
{
    const uint32_t width = sample_bits(sample);
    const uint32_t used = bits && bits < width ? bits : width;
    if (sample_is_float(sample)) {
        *lo = sample_key_ceil(sample, 0);
        *hi = sample_key_ceil(sample, 1);
        return;
    }
    const uint64_t half = (uint64_t)1 << (used - 1);
    if (sample_is_signed(sample)) {
        const uint64_t zero = (uint64_t)1 << (width - 1);
        *lo = zero - half;
        *hi = zero + (half - 1);
        return;
    }
    *lo = 0;
    *hi = half | (half - 1);
}
