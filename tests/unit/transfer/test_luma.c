/* SPDX-License-Identifier: MIT */
/* test_luma.c: colours of 8 and 16 bits brought to a new luma by a reciprocal that is not exact, as
 * CUDA does it, against luma_scale. */
#include "transfer/luma.h"

#include "helper_transform.h"
#include "support.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdio.h>

/* What the bound of luma.h counts with: 2^-22 is two units of the last place, at most. */
enum { ULPS = 2 };

static size_t settled, compared;

static void scale_by(float inverse, const uint32_t from[3], uint32_t to, uint32_t top,
                     uint32_t out[3])
{
    const uint32_t fine = luma_fine(from[0], from[1], from[2]);
    uint32_t largest = from[0] > from[1] ? from[0] : from[1];
    largest = from[2] > largest ? from[2] : largest;
    const float factor = fminf(luma_wanted(to) * inverse, luma_cap(top, largest));
    const bool capped = (to << LUMA_SHIFT) * largest > top * fine;
    for (int c = 0; c < 3; c++) {
        uint32_t estimate = from[c] * (uint32_t)rintf(factor) + (uint32_t)LUMA_HALF;
        if ((estimate >> (LUMA_PLACES - 16) & 65535u) <= LUMA_NEAR) {
            settled++;
            estimate = luma_settle(estimate, from[c], capped ? top : to << LUMA_SHIFT,
                                   capped ? largest : fine);
        }
        out[c] = estimate >> LUMA_PLACES;
    }
}

static void compare(const uint32_t from[3], uint32_t to, uint32_t top)
{
    uint32_t expected[3];
    luma_scale(from, to, top, expected);
    const float exact = 1.0f / (float)luma_fine(from[0], from[1], from[2]);
    float inverse = exact;
    for (int i = 0; i < ULPS; i++)
        inverse = nextafterf(inverse, 0.0f);
    for (int i = -ULPS; i <= ULPS; i++, inverse = nextafterf(inverse, INFINITY)) {
        uint32_t got[3];
        scale_by(inverse, from, to, top, got);
        compared++;
        cr_assert(got[0] == expected[0] && got[1] == expected[1] && got[2] == expected[2],
                  "%u %u %u to %u of %u, %d off: %u %u %u, expected %u %u %u", from[0], from[1],
                  from[2], to, top, i, got[0], got[1], got[2], expected[0], expected[1],
                  expected[2]);
    }
}

Test(luma, reciprocals_that_err_change_nothing)
{
    uint64_t seed = 1;
    for (size_t i = 0; i < 1000000; i++) {
        uint32_t colour[3];
        const uint32_t mask = i % 3 ? 255 : 15; /* dark colours have large factors */
        for (int c = 0; c < 3; c++)
            colour[c] = (uint32_t)splitmix64(&seed) & mask;
        if (luma_fine(colour[0], colour[1], colour[2]) == 0)
            continue;
        const uint32_t top = i % 4 ? 255 : (uint32_t)splitmix64(&seed) & 255;
        compare(colour, (uint32_t)splitmix64(&seed) & 255, top);
    }
    printf("%zu colours, %zu quotients near a tie\n", compared, settled);
    cr_assert(settled > 10000);
}

/* Every quotient of a cap: a component times top / largest, of which many are ties. */
Test(luma, caps_change_nothing)
{
    for (uint32_t largest = 1; largest < 256; largest++)
        for (uint32_t other = 0; other <= largest; other++)
            for (uint32_t top = 1; top < 256; top += 2)
                compare((const uint32_t[]){other, other / 2, largest}, 255, top);
    cr_assert(settled > 100000);
}

/* Grays: all quotients are whole, and none is taken to be near a tie. */
Test(luma, whole_lumas_change_nothing)
{
    for (uint32_t v = 1; v < 256; v++)
        for (uint32_t to = 0; to < 256; to++)
            compare((const uint32_t[]){v, v, v}, to, 255);
    cr_assert(settled == 0);
}

/* ---- 16 bits --------------------------------------------------------------------------------- */

static void compare16(const uint32_t from[3], uint32_t to, uint32_t top)
{
    uint32_t expected[3];
    luma_scale(from, to, top, expected);
    const uint32_t fine = luma_fine(from[0], from[1], from[2]);
    uint32_t largest = from[0] > from[1] ? from[0] : from[1];
    largest = from[2] > largest ? from[2] : largest;
    const bool capped = ((uint64_t)to << LUMA_SHIFT) * largest > (uint64_t)top * fine;
    const uint32_t numerator = capped ? top : to << LUMA_SHIFT;
    const uint32_t denominator = capped ? largest : fine;
    float inverse = 1.0f / (float)denominator;
    for (int i = 0; i < ULPS; i++)
        inverse = nextafterf(inverse, 0.0f);
    for (int i = -ULPS; i <= ULPS; i++, inverse = nextafterf(inverse, INFINITY)) {
        const uint64_t ratio = luma_ratio(numerator, denominator, inverse);
        compared++;
        for (int c = 0; c < 3; c++) {
            const uint64_t estimate = from[c] * ratio + LUMA_HALF16;
            uint32_t got = (uint32_t)(estimate >> 32);
            if ((uint32_t)estimate <= LUMA_NEAR16) {
                settled++;
                got = luma_settle16(got, from[c], numerator, denominator);
            }
            cr_assert_eq(got, expected[c], "%u %u %u to %u of %u, %d off: %u, expected %u", from[0],
                         from[1], from[2], to, top, i, got, expected[c]);
        }
    }
}

Test(luma, words_that_err_change_nothing)
{
    uint64_t seed = 2;
    for (size_t i = 0; i < 1000000; i++) {
        uint32_t colour[3];
        for (int c = 0; c < 3; c++) /* large, or of any size */
            colour[c] = (uint32_t)splitmix64(&seed) & 65535u >> (i % 2 ? 0 : i / 2 % 16);
        if (i % 5 == 0)
            colour[0] = colour[1] = colour[2];
        if (i % 7 == 0) {
            colour[0] = colour[2] / 2;
            colour[1] = colour[2] / 4;
        }
        if (luma_fine(colour[0], colour[1], colour[2]) == 0)
            continue;
        const uint32_t top = i % 3 ? 65535 : i % 9 ? 4095 : (uint32_t)splitmix64(&seed) & 65535;
        compare16(colour, (uint32_t)splitmix64(&seed) & (i % 11 ? 65535 : 15), top);
    }
    printf("%zu quotients of 16 bits near a tie\n", settled);
    cr_assert(settled > 10000);
}

/* Colours of 64-bit floats, of both signs and of one, against the formula in longer numbers: the
 * bound of docs/transforms.md. */
Test(luma, accuracy_of_doubles)
{
    if (LDBL_MANT_DIG < 64)
        cr_skip_test("long double is not longer than double");
    enum { COLOURS = 300000 };
    uint64_t seed = 3;
    long double worst = 0; /* of the bound */
    size_t n = 0;
    for (size_t i = 0; i < COLOURS; i++) {
        double from[3], out[3];
        for (int c = 0; c < 3; c++)
            from[c] = (double)(int64_t)splitmix64(&seed) * (i % 2 ? 0x1p-62 : 0x1p-40);
        if (i % 3 == 0)
            for (int c = 0; c < 3; c++)
                from[c] = fabs(from[c]);
        const double to = (double)(int64_t)splitmix64(&seed) * 0x1p-62;
        const double top = (double)(splitmix64(&seed) >> 1) * 0x1p-61;
        const long double weight[3] = {LUMA_RED, LUMA_GREEN, LUMA_BLUE};
        long double luma = 0, size = 0, largest = from[0];
        for (int c = 0; c < 3; c++) {
            luma += weight[c] * from[c] / 65536;
            size += weight[c] * fabsl(from[c]) / 65536;
            largest = from[c] > largest ? from[c] : largest;
        }
        if (!(luma > size / 1048576))
            continue; /* the sign of its luma may be that of a rounding */
        luma_scale_value(from, 0.0, to, top, 0.0, out);
        long double factor = to / luma;
        if (factor * largest > top)
            factor = top / largest;
        for (int c = 0; c < 3; c++) {
            const long double exact = factor * from[c];
            const long double bound = fabsl(exact) * (size / luma) * 0x1p-50L;
            const long double off = fabsl((long double)out[c] - exact);
            worst = bound > 0 && off / bound > worst ? off / bound : worst;
            n++;
        }
    }
    printf("%zu components, at most %.2Lf of the bound\n", n, worst);
    cr_assert(n > COLOURS);
    cr_assert(worst <= 1);
}

/* Luma of colours beyond 4e303 was infinite, so that the pixel passed unchanged. */
Test(luma, of_the_largest_doubles)
{
    const double most = DBL_MAX;
    cr_assert_eq(luma_value(most, most, most), most);
    cr_assert_eq(luma_value(-most, -most, -most), -most);
    cr_assert_eq(luma_value(most, 0, 0), LUMA_RED / 65536.0 * most);
    cr_assert_eq(luma_value(0, most, -most),
                 LUMA_GREEN / 65536.0 * most - LUMA_BLUE / 65536.0 * most);
}
