/* SPDX-License-Identifier: MIT */
/* png_filter.c: PNG's five row filters, and the choice among them. */
#include "png_write.h"

#include <string.h>

/* Loops without branches, over arrays that do not overlap: compilers turn them into vector code. */

static void filter_sub(const uint8_t *restrict row, size_t n, size_t step, uint8_t *restrict to)
{
    for (size_t i = 0; i < step; i++)
        to[i] = row[i];
    for (size_t i = step; i < n; i++)
        to[i] = (uint8_t)(row[i] - row[i - step]);
}

static void filter_up(const uint8_t *restrict row, const uint8_t *restrict above, size_t n,
                      uint8_t *restrict to)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (uint8_t)(row[i] - above[i]);
}

static void filter_average(const uint8_t *restrict row, const uint8_t *restrict above, size_t n,
                           size_t step, uint8_t *restrict to)
{
    for (size_t i = 0; i < step; i++)
        to[i] = (uint8_t)(row[i] - above[i] / 2);
    for (size_t i = step; i < n; i++)
        to[i] = (uint8_t)(row[i] - (row[i - step] + above[i]) / 2);
}

static void filter_paeth(const uint8_t *restrict row, const uint8_t *restrict above, size_t n,
                         size_t step, uint8_t *restrict to)
{
    for (size_t i = 0; i < step; i++)
        to[i] = (uint8_t)(row[i] - above[i]);
    for (size_t i = step; i < n; i++) {
        const int16_t a = row[i - step], b = above[i], c = above[i - step];
        const int16_t p = (int16_t)(b - c), q = (int16_t)(a - c), r = (int16_t)(p + q);
        const int16_t pa = (int16_t)(p < 0 ? -p : p), pb = (int16_t)(q < 0 ? -q : q);
        const int16_t pc = (int16_t)(r < 0 ? -r : r);
        const int16_t bc = pb <= pc ? b : c, least = pb <= pc ? pb : pc;
        to[i] = (uint8_t)(row[i] - (pa <= least ? a : bc));
    }
}

/* Sum of the bytes as signed magnitudes: small where deflate will find little. */
static uint64_t cost(const uint8_t *bytes, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n;) {
        const size_t end = n - i < 4096 ? n : i + 4096; /* 4096 * 128 < 2^32 */
        uint32_t part = 0;
        for (; i < end; i++)
            part += bytes[i] < 128 ? bytes[i] : 256u - bytes[i];
        sum += part;
    }
    return sum;
}

void png_filter_row(const uint8_t *row, const uint8_t *above, size_t bytes, unsigned pixel_bytes,
                    bool choose, uint8_t *trial, uint8_t *to)
{
    const size_t step = pixel_bytes < bytes ? pixel_bytes : bytes;
    to[0] = 0;
    memcpy(to + 1, row, bytes);
    if (!choose)
        return;
    uint64_t least = cost(to + 1, bytes);
    for (uint8_t filter = 1; filter <= 4 && least > 0; filter++) {
        if (filter == 1)
            filter_sub(row, bytes, step, trial + 1);
        else if (filter == 2)
            filter_up(row, above, bytes, trial + 1);
        else if (filter == 3)
            filter_average(row, above, bytes, step, trial + 1);
        else
            filter_paeth(row, above, bytes, step, trial + 1);
        const uint64_t sum = cost(trial + 1, bytes);
        if (sum < least) {
            least = sum;
            trial[0] = filter;
            memcpy(to, trial, 1 + bytes);
        }
    }
}
