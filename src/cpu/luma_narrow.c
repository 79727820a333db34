/* SPDX-License-Identifier: MIT */
/* luma_narrow.c: luma of many pixels, in plain C that compilers make vectors of. */
#include "base/compiler.h"
#include "cpu/loops_isa.h"
#include "transfer/luma.h"

/* Pixels whose colours are taken apart at once. */
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

/* q, below 65536 and nearer than 2^-36 to a ratio of integers below 2^48 and 2^32, as that ratio
 * rounded half to even: it is a half, or farther than 2^-33 from one, so that the nearest multiple
 * of 2^-34 is on the same side, or the half itself. */
FORCE_INLINE int32_t rounded(double q)
{
    const double grid = 393216.0;            /* 1.5 * 2^18, whose last place is 2^-34 */
    const double whole = 6755399441055744.0; /* 1.5 * 2^52 */
    return (int32_t)(q + grid - grid + whole - whole);
}

/* luma_scale with one division for three, in doubles: they hold every product of it exactly, and
 * a component times the factor errs by two roundings, below 65536 * 2^-52. Black becomes gray as
 * gray 1 does. */
FORCE_INLINE void scale_block(int32_t *restrict red, int32_t *restrict green,
                              int32_t *restrict blue, const int32_t *restrict luma, size_t n,
                              const MapRange *range)
{
    const double top = (double)(int32_t)range->hi_key;
    const int32_t lo = (int32_t)range->lo_key, hi = (int32_t)range->hi_key;
    const int32_t avoided = range->has_nodata ? (int32_t)range->nodata_key : -1;
    const int32_t instead = range->has_nodata ? (int32_t)range_avoid(range, range->nodata_key) : -1;
    for (size_t i = 0; i < n; i++) {
        const int32_t black = (red[i] | green[i] | blue[i]) == 0;
        const double r = red[i] + black, g = green[i] + black, b = blue[i] + black;
        const double fine = r * LUMA_RED + g * LUMA_GREEN + b * LUMA_BLUE;
        double most = r > g ? r : g;
        most = b > most ? b : most;
        const double numerator = (double)luma[i] * 65536.0;
        const bool capped = numerator * most > top * fine;
        const double factor = (capped ? top : numerator) / (capped ? most : fine);
        int32_t key[3] = {rounded(r * factor), rounded(g * factor), rounded(b * factor)};
        for (int c = 0; c < 3; c++) {
            int32_t k = key[c];
            k = k < lo ? lo : k;
            k = k > hi ? hi : k;
            key[c] = k == avoided ? instead : k;
        }
        red[i] = key[0];
        green[i] = key[1];
        blue[i] = key[2];
    }
}

FORCE_INLINE void scale_of(const unsigned char *from, unsigned bytes, unsigned channels, size_t n,
                           const unsigned char *luma, const MapRange *range, unsigned char *to)
{
    int32_t red[BLOCK], green[BLOCK], blue[BLOCK], target[BLOCK];
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
        scale_block(red, green, blue, target, left, range);
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
