/* SPDX-License-Identifier: MIT */
/* luma_narrow.c: luma of many pixels, in plain C that compilers vectorize. */
#include "base/compiler.h"
#include "base/pixel.h"
#include "cpu/loops_isa.h"
#include "transfer/luma.h"

/* Pixels that are deinterleaved at once. */
enum { BLOCK = 256 };

FORCE_INLINE int32_t load(const unsigned char *at, unsigned bytes)
{
    uint16_t v;
    if (bytes == 1)
        return *at;
    memcpy(&v, at, sizeof v);
    return v;
}

FORCE_INLINE void store(unsigned char *at, unsigned bytes, int32_t value)
{
    const uint16_t v = (uint16_t)value;
    if (bytes == 1)
        *at = (unsigned char)value;
    else
        memcpy(at, &v, sizeof v);
}

/* `bytes` and `channels` are constants where these are inlined. */
FORCE_INLINE void luma_of(const unsigned char *from, unsigned bytes, unsigned channels, size_t n,
                          unsigned char *luma)
{
    for (size_t i = 0; i < n; i++) {
        const unsigned char *const at = from + i * channels * bytes;
        store(luma + i * bytes, bytes,
              (int32_t)luma_key((uint32_t)load(at, bytes), (uint32_t)load(at + bytes, bytes),
                                (uint32_t)load(at + 2 * bytes, bytes)));
    }
}

/* Rounds q half to even. q is below 65536 and within 2^-36 of a ratio of integers below 2^48 and
 * 2^32. The ratio is a half, or farther than 2^-33 from one; so the nearest multiple of 2^-34 is on
 * the same side, or is the half. */
FORCE_INLINE int32_t rounded(double q)
{
    const double grid = 393216.0;            /* 1.5 * 2^18, whose last place is 2^-34 */
    const double whole = 6755399441055744.0; /* 1.5 * 2^52 */
    return (int32_t)(q + grid - grid + whole - whole);
}

/* Limits of the range for an output key. */
typedef struct Limits {
    int32_t lo, hi, avoided, instead;
} Limits;

FORCE_INLINE Limits limits_of(const MapRange *range)
{
    const bool avoids = range->has_nodata;
    return (Limits){.lo = (int32_t)range->lo_key,
                    .hi = (int32_t)range->hi_key,
                    .avoided = avoids ? (int32_t)range->nodata_key : -1,
                    .instead = avoids ? (int32_t)range_avoid(range, range->nodata_key) : -1};
}

FORCE_INLINE int32_t limited(int32_t key, Limits limits)
{
    key = key < limits.lo ? limits.lo : key;
    key = key > limits.hi ? limits.hi : key;
    return key == limits.avoided ? limits.instead : key;
}

/* Works as luma_scale, with one division for three components, in doubles. They hold every product
 * exactly, and a component times the factor errs by two roundings, below 65536 * 2^-52. Black
 * becomes gray as gray 1 does. */
FORCE_INLINE void scale_block(int32_t *restrict red, int32_t *restrict green,
                              int32_t *restrict blue, const int32_t *restrict luma, size_t n,
                              const MapRange *range)
{
    const double top = (double)(int32_t)range->hi_key;
    const Limits limits = limits_of(range);
    for (size_t i = 0; i < n; i++) {
        const int32_t black = (red[i] | green[i] | blue[i]) == 0;
        const double r = red[i] + black, g = green[i] + black, b = blue[i] + black;
        const double fine = r * LUMA_RED + g * LUMA_GREEN + b * LUMA_BLUE;
        double most = r > g ? r : g;
        most = b > most ? b : most;
        const double numerator = (double)luma[i] * 65536.0;
        const bool capped = numerator * most > top * fine;
        const double factor = (capped ? top : numerator) / (capped ? most : fine);
        red[i] = limited(rounded(r * factor), limits);
        green[i] = limited(rounded(g * factor), limits);
        blue[i] = limited(rounded(b * factor), limits);
    }
}

/* Returns x < 2^32, rounded down. */
FORCE_INLINE uint32_t whole(float x)
{
    const bool large = x >= 2147483648.0f; /* vector conversions are signed */
    const int32_t low = (int32_t)(x - (large ? 2147483648.0f : 0.0f));
    return (uint32_t)low + (large ? 1u << 31 : 0u);
}

/* Scales 8-bit colours by the estimates that luma.h derives. The factor is rounded down, not to the
 * nearest unit: an estimate errs by at most 5.98 / 65536, which is below LUMA_MARGIN. Sets near[i]
 * where integers must decide, which is rare; returns whether there are any. */
FORCE_INLINE bool scale_bytes(int32_t *restrict red, int32_t *restrict green,
                              int32_t *restrict blue, const int32_t *restrict luma, size_t n,
                              const MapRange *range, uint8_t *restrict near)
{
    enum { PART = (1 << LUMA_PLACES) - 1, TIE = (LUMA_NEAR + 1) << (LUMA_PLACES - 16) };
    const Limits limits = limits_of(range);
    const float top = luma_cap((uint32_t)range->hi_key, 1);
    int32_t any = 0;
    for (size_t i = 0; i < n; i++) {
        const int32_t black = (red[i] | green[i] | blue[i]) == 0;
        const int32_t r = red[i] + black, g = green[i] + black, b = blue[i] + black;
        const float fine = (float)(r * LUMA_RED + g * LUMA_GREEN + b * LUMA_BLUE); /* exact */
        int32_t most = r > g ? r : g;
        most = b > most ? b : most;
        const float wanted = luma_wanted((uint32_t)luma[i]) * (1.0f / fine);
        const float cap = top / (float)most;
        const uint32_t factor = whole(wanted < cap ? wanted : cap);
        const uint32_t x = (uint32_t)r * factor + LUMA_HALF, y = (uint32_t)g * factor + LUMA_HALF;
        const uint32_t z = (uint32_t)b * factor + LUMA_HALF;
        const int32_t is_near = ((x & PART) < TIE) | ((y & PART) < TIE) | ((z & PART) < TIE);
        near[i] = (uint8_t)is_near;
        any |= is_near;
        red[i] = limited((int32_t)(x >> LUMA_PLACES), limits);
        green[i] = limited((int32_t)(y >> LUMA_PLACES), limits);
        blue[i] = limited((int32_t)(z >> LUMA_PLACES), limits);
    }
    return any;
}

/* Scales the pixels that `near` marks again, by integers. */
static void decide(const unsigned char *from, unsigned channels, const int32_t *luma, size_t n,
                   const MapRange *range, const uint8_t *near, int32_t *red, int32_t *green,
                   int32_t *blue)
{
    const Limits limits = limits_of(range);
    for (size_t i = 0; i < n; i++) {
        if (i % 8 == 0 && load_raw(near + i, 8) == 0) { /* none of these eight */
            i += 7;
            continue;
        }
        if (!near[i])
            continue;
        const unsigned char *const at = from + i * channels;
        const uint32_t colour[3] = {at[0], at[1], at[2]};
        uint32_t out[3];
        luma_scale(colour, (uint32_t)luma[i], (uint32_t)range->hi_key, out);
        red[i] = limited((int32_t)out[0], limits);
        green[i] = limited((int32_t)out[1], limits);
        blue[i] = limited((int32_t)out[2], limits);
    }
}

FORCE_INLINE void scale_of(const unsigned char *from, unsigned bytes, unsigned channels, size_t n,
                           const unsigned char *luma, const MapRange *range, unsigned char *to)
{
    int32_t red[BLOCK], green[BLOCK], blue[BLOCK], target[BLOCK];
    uint8_t near[BLOCK] = {0};
    for (size_t first = 0; first < n; first += BLOCK) {
        const size_t left = n - first < BLOCK ? n - first : BLOCK;
        const unsigned char *const source = from + first * channels * bytes;
        unsigned char *const out = to + first * channels * bytes;
        for (size_t i = 0; i < left; i++) {
            const unsigned char *const at = source + i * channels * bytes;
            red[i] = load(at, bytes);
            green[i] = load(at + bytes, bytes);
            blue[i] = load(at + 2 * bytes, bytes);
            target[i] = load(luma + (first + i) * bytes, bytes);
        }
        if (bytes > 1)
            scale_block(red, green, blue, target, left, range);
        else if (scale_bytes(red, green, blue, target, left, range, near))
            decide(source, channels, target, left, range, near, red, green, blue);
        for (size_t i = 0; i < left; i++) {
            unsigned char *const at = out + i * channels * bytes;
            store(at, bytes, red[i]);
            store(at + bytes, bytes, green[i]);
            store(at + 2 * bytes, bytes, blue[i]);
            for (unsigned c = 3; c < channels; c++)
                store(at + c * bytes, bytes, load(source + (i * channels + c) * bytes, bytes));
        }
    }
}

/* ---- The number of channels, and the instructions ------------------------------------------ */

void ISA(luma_narrow)(const void *from, unsigned bytes, unsigned channels, size_t n, void *luma)
{
    if (bytes == 1 && channels == 3)
        luma_of(from, 1, 3, n, luma);
    else if (bytes == 2 && channels == 3)
        luma_of(from, 2, 3, n, luma);
    else if (bytes == 1 && channels == 4)
        luma_of(from, 1, 4, n, luma);
    else if (bytes == 2 && channels == 4)
        luma_of(from, 2, 4, n, luma);
    else
        luma_of(from, bytes, channels, n, luma);
}

void ISA(luma_narrow_scale)(const void *from, unsigned bytes, unsigned channels, size_t n,
                            const void *luma, const MapRange *range, void *to)
{
    if (bytes == 1 && channels == 3)
        scale_of(from, 1, 3, n, luma, range, to);
    else if (bytes == 2 && channels == 3)
        scale_of(from, 2, 3, n, luma, range, to);
    else if (bytes == 1 && channels == 4)
        scale_of(from, 1, 4, n, luma, range, to);
    else if (bytes == 2 && channels == 4)
        scale_of(from, 2, 4, n, luma, range, to);
    else
        scale_of(from, bytes, channels, n, luma, range, to);
}
