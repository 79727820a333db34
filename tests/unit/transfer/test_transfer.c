/* SPDX-License-Identifier: MIT */
/* test_transfer.c: what becomes of samples, against definitions worked out apart from the library.
 */
#include "helper_transform.h"
#include "support.h"
#include "transfer/clamped.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint8_t at8(const ImagePro *image, size_t i)
{
    return image_row(image, i / image_samples_per_row(image))[i % image_samples_per_row(image)];
}

static uint16_t at16(const ImagePro *image, size_t i)
{
    const size_t row = image_samples_per_row(image);
    return ((const uint16_t *)(const void *)image_row(image, i / row))[i % row];
}

static float at_float(const ImagePro *image, size_t i)
{
    const size_t row = image_samples_per_row(image);
    return ((const float *)(const void *)image_row(image, i / row))[i % row];
}

Test(transfer, worked_example)
{
    ImagePro image = image_of(example_in, 8, 8, 1, IMGSTAT_U8, 8);
    ImagePro expected = image_of(example_out, 8, 8, 1, IMGSTAT_U8, 8);
    const ImgstatMethod method = {.transform = IMGSTAT_EQUALIZE};
    ImagePro out = transformed(&method, &image, -1, false);
    cr_assert(image_equal(&out, &expected));
    imgstat_image_release(&out);
    imgstat_image_release(&image);
    imgstat_image_release(&expected);
}

/* a / b rounded half to even, by comparing twice the remainder */
static uint64_t plain_even(uint64_t a, uint64_t b)
{
    uint64_t q = a / b;
    const uint64_t twice = 2 * (a % b);
    if (twice > b || (twice == b && q % 2 == 1))
        q++;
    return q;
}

Test(transfer, ratios_round_half_to_even)
{
    size_t compared = 0;
    for (uint64_t b = 1; b < 60; b++)
        for (uint64_t a = 0; a < 300; a++, compared++)
            cr_assert_eq(ratio_even64(a, b), plain_even(a, b), "%d / %d", (int)a, (int)b);
    uint64_t seed = 1;
    for (int i = 0; i < 100000;
         i++, compared++) { /* q * d + r has quotient q, whatever the width */
        const uint64_t d = (splitmix64(&seed) >> (splitmix64(&seed) % 40)) | 1;
        const uint64_t q = splitmix64(&seed) >> 1 >> (splitmix64(&seed) % 40);
        const Wide128 product = (Wide128)q * d;
        cr_assert_eq(ratio_even(q, d, d), q);
        if (product >> 64 == 0)
            cr_assert_eq(ratio_even((uint64_t)product, 1, d), q);
    }
    cr_assert_eq(ratio_even(UINT64_MAX, UINT64_MAX, UINT64_MAX), UINT64_MAX);
    cr_assert_eq(ratio_even(1, 1, 2), 0);
    cr_assert_eq(ratio_even(3, 1, 2), 2);
    cr_assert_eq(ratio_even((uint64_t)1 << 40, (uint64_t)3 << 40, (uint64_t)1 << 41),
                 (uint64_t)3 << 39);
    cr_assert_gt(compared, 100000);
}

/* As far off as the divisions of floats that devices have. */
static void check_near(uint32_t a, uint32_t b, uint32_t d)
{
    const float share = (float)b / (float)d;
    const float ulp = share * 1.2e-7f;
    const uint32_t expected = (uint32_t)ratio_even(a, b, d);
    for (int off = -2; off <= 2; off++)
        cr_assert_eq(ratio_even_near(a, b, d, share + (float)off * ulp), expected, "%u * %u / %u",
                     a, b, d);
}

Test(transfer, ratios_by_floats_are_exact)
{
    size_t compared = 0;
    for (uint32_t d = 1; d < 600; d++)
        for (uint32_t a = 0; a <= d; a++, compared++)
            check_near(a, 255, d);
    uint64_t seed = 2;
    for (int i = 0; i < 300000; i++, compared++) {
        const uint32_t d = 1 + (uint32_t)(splitmix64(&seed) % ((1u << 30) - 1));
        const uint32_t b = 1 + (uint32_t)(splitmix64(&seed) % (i % 2 ? 255 : 65535));
        /* around halves, where a wrong neighbour would be taken */
        const uint64_t q = splitmix64(&seed) % b;
        const uint64_t half = ((2 * q + 1) * d / 2 + b - 1) / b;
        for (uint64_t a = half > 2 ? half - 2 : 0; a <= half + 2 && a <= d; a++)
            check_near((uint32_t)a, b, d);
        check_near((uint32_t)(splitmix64(&seed) % ((uint64_t)d + 1)), b, d);
    }
    check_near((1u << 30) - 1, 65535, (1u << 30) - 1);
    check_near(0, 65535, 1);
    cr_assert_gt(compared, 100000);
}

Test(transfer, stretch_reaches_the_full_scale)
{
    /* 12-bit values in 16 bits: the file's depth is the scale, not the data's */
    const uint16_t scan[6] = {100, 200, 1000, 2000, 4000, 4095};
    ImagePro image = image_of(scan, 6, 1, 1, IMGSTAT_U16, 16);
    ImgstatMethod method = {.transform = IMGSTAT_STRETCH};
    ImagePro out = transformed(&method, &image, -1, false);
    for (size_t i = 0; i < 6; i++)
        cr_expect_eq(at16(&out, i), plain_even((uint64_t)(scan[i] - 100) * 65535, 3995));
    imgstat_image_release(&out);
    method.transform = IMGSTAT_EQUALIZE;
    out = transformed(&method, &image, -1, false);
    for (size_t i = 0; i < 6; i++)
        cr_expect_eq(at16(&out, i), i * 13107); /* 65535 / 5 */
    imgstat_image_release(&out);
    image.bits = 12; /* a 12-bit file keeps its 12 bits */
    method.transform = IMGSTAT_STRETCH;
    out = transformed(&method, &image, -1, false);
    cr_expect_eq(at16(&out, 0), 0);
    cr_expect_eq(at16(&out, 5), 4095);
    imgstat_image_release(&out);
    imgstat_image_release(&image);
}

Test(transfer, stretch_of_signed_samples)
{
    const int8_t samples[4] = {-3, 0, 5, 9};
    ImagePro image = image_of(samples, 4, 1, 1, IMGSTAT_I8, 8);
    ImgstatMethod method = {.transform = IMGSTAT_STRETCH};
    ImagePro out = transformed(&method, &image, -1, false);
    const int8_t expected[4] = {-128, -64, 42, 127}; /* -128 + 255 * 3/12, 8/12: -64.25, 42 */
    cr_assert_arr_eq(out.host, expected, 4);
    imgstat_image_release(&out);
    method = (ImgstatMethod){.transform = IMGSTAT_STRETCH, .has_range = true, .lo = -10, .hi = 20};
    out = transformed(&method, &image, -1, false);
    const int8_t ranged[4] = {-10, -2, 10, 20}; /* -10 + 7.5 is halfway: 8, even */
    cr_assert_arr_eq(out.host, ranged, 4);
    imgstat_image_release(&out);
    imgstat_image_release(&image);
}

/* Sorted samples: SPEC's black and white by counting. */
static void plain_clip(const uint8_t *samples, size_t n, double lo, double hi, int *black,
                       int *white)
{
    for (*black = 0; *black < 256; ++*black) {
        size_t count = 0;
        for (size_t i = 0; i < n; i++)
            count += samples[i] <= *black;
        if ((double)count * 100 > (double)n * lo)
            break;
    }
    for (*white = 255; *white >= 0; --*white) {
        size_t count = 0;
        for (size_t i = 0; i < n; i++)
            count += samples[i] >= *white;
        if ((double)count * 100 > (double)n * hi)
            break;
    }
}

Test(transfer, percentile_cuts_by_exact_counts)
{
    size_t compared = 0;
    const double clips[][2] = {{0, 0}, {10, 10}, {25, 0.5}, {0.5, 49.5}, {33.25, 12.5}};
    uint64_t seed = 7;
    for (size_t round = 0; round < 60; round++) {
        uint8_t samples[400];
        const size_t n = 8 + splitmix64(&seed) % 392;
        for (size_t i = 0; i < n; i++)
            samples[i] = (uint8_t)(40 + (splitmix64(&seed) % 100) * (splitmix64(&seed) % 100) / 60);
        const double *const clip = clips[round % 5];
        int black, white;
        plain_clip(samples, n, clip[0], clip[1], &black, &white);
        ImagePro image = image_of(samples, (uint32_t)n, 1, 1, IMGSTAT_U8, 8);
        const ImgstatMethod method = {.transform = IMGSTAT_PERCENTILE,
                                      .has_clip = true,
                                      .clip_lo = clip[0],
                                      .clip_hi = clip[1]};
        ImagePro out = transformed(&method, &image, -1, false);
        for (size_t i = 0; i < n; i++, compared++) {
            const int v = samples[i];
            const uint64_t expected = black >= white ? (uint64_t)v
                                                     : plain_even((uint64_t)((v < black   ? black
                                                                              : v > white ? white
                                                                                          : v) -
                                                                             black) *
                                                                      255,
                                                                  (uint64_t)(white - black));
            cr_assert_eq(at8(&out, i), expected, "%d with %d..%d", v, black, white);
        }
        imgstat_image_release(&out);
        imgstat_image_release(&image);
    }
    cr_assert_gt(compared, 5000);
}

Test(transfer, constant_images_stay)
{
    static const ImgstatTransform transforms[] = {IMGSTAT_STRETCH, IMGSTAT_PERCENTILE,
                                                  IMGSTAT_EQUALIZE};
    for (size_t t = 0; t < 3; t++) {
        const uint8_t samples[4] = {77, 77, 77, 77};
        ImagePro image = image_of(samples, 2, 2, 1, IMGSTAT_U8, 8);
        ImgstatMethod method = {.transform = transforms[t]};
        ImagePro out = transformed(&method, &image, -1, false);
        cr_expect(image_equal(&out, &image));
        imgstat_image_release(&out);
        method.depth = IMGSTAT_DEPTH_16;
        out = transformed(&method, &image, -1, false);
        cr_expect_eq(at16(&out, 3), 77 * 257);
        imgstat_image_release(&out);
        imgstat_image_release(&image);
    }
}

Test(transfer, stretching_twice_changes_nothing)
{
    uint64_t seed = 11;
    size_t compared = 0;
    for (size_t round = 0; round < 200; round++) {
        static const ImgstatSample types[] = {IMGSTAT_U8, IMGSTAT_I8, IMGSTAT_U16, IMGSTAT_I16};
        const ImgstatSample sample = types[round % 4];
        uint16_t samples[64];
        for (size_t i = 0; i < 64; i++)
            samples[i] = (uint16_t)(splitmix64(&seed) & (round % 3 ? 0x3F3F : 0xFFFF));
        ImagePro image = image_of(samples, 8, 4, 1, sample, 0);
        image.has_nodata = round % 2;
        image.nodata_key = sample_key(sample, round % 5 ? 0 : samples[3] & 0xFF);
        const ImgstatMethod method = {.transform = IMGSTAT_STRETCH};
        ImagePro once = transformed(&method, &image, -1, false);
        once.has_nodata = image.has_nodata;
        once.nodata_key = image.nodata_key;
        ImagePro twice = transformed(&method, &once, -1, false);
        cr_assert(image_equal(&once, &twice), "round %zu", round);
        Record *const before = plain_record(&image), *const after = plain_record(&once);
        cr_assert_eq(before->tally[0].n, after->tally[0].n,
                     "valid samples became nodata or the reverse");
        compared += before->tally[0].n;
        record_destroy(before);
        record_destroy(after);
        imgstat_image_release(&image);
        imgstat_image_release(&once);
        imgstat_image_release(&twice);
    }
    cr_assert_gt(compared, 1000);
}

Test(transfer, channel_modes)
{
    const uint8_t rgba[2][4] = {{10, 60, 100, 7}, {20, 80, 140, 9}};
    ImagePro image = image_of(rgba, 2, 1, 4, IMGSTAT_U8, 8);
    ImgstatMethod method = {.transform = IMGSTAT_STRETCH}; /* joint by default */
    ImagePro out = transformed(&method, &image, 3, true);
    const uint8_t joint[8] = {0,  98,  177, 7,
                              20, 137, 255, 9}; /* 255 * 50/130 = 98.08, 90: 176.5, 10: 19.6 */
    for (size_t i = 0; i < 8; i++)
        cr_expect_eq(at8(&out, i), joint[i], "joint %zu: %d", i, at8(&out, i));
    imgstat_image_release(&out);
    method.channels = IMGSTAT_EACH;
    out = transformed(&method, &image, 3, true);
    const uint8_t each[8] = {0, 0, 0, 7, 255, 255, 255, 9};
    cr_expect_arr_eq(out.host, each, 8);
    imgstat_image_release(&out);
    imgstat_image_release(&image);
}

/* match: the definition, by searching all levels. */
Test(transfer, match_is_the_smallest_level_with_enough)
{
    uint64_t seed = 5;
    size_t compared = 0;
    for (int round = 0; round < 20; round++) {
        uint8_t a[300], b[170];
        for (size_t i = 0; i < sizeof a; i++)
            a[i] = (uint8_t)(splitmix64(&seed) % 90 + 10);
        for (size_t i = 0; i < sizeof b; i++)
            b[i] = (uint8_t)(splitmix64(&seed) % 40 * 5 + 3);
        ImagePro image = image_of(a, 300, 1, 1, IMGSTAT_U8, 8),
                 wanted = image_of(b, 170, 1, 1, IMGSTAT_U8, 8);
        Record *const ra = plain_record(&image), *const rb = plain_record(&wanted);
        uint64_t cdf_a[256], cdf_b[256];
        const MapSource source = map_source_counts(ra, 0, cdf_a),
                        target = map_source_counts(rb, 0, cdf_b);
        const MatchReference reference = {IMGSTAT_U8, 8, 1, &target};
        const ImgstatMethod method = {.transform = IMGSTAT_MATCH};
        const TransferShape shape = shape_of(&image, -1, false);
        Transfer *transfer;
        cr_assert_eq(transfer_create(NULL, &method, &shape, &source, &reference, &transfer, NULL),
                     IMGSTAT_OK);
        ImagePro out = image_like(&image, IMGSTAT_U8);
        cr_assert_eq(transfer_apply(transfer, &image, -1, &out, NULL), IMGSTAT_OK);
        for (size_t i = 0; i < sizeof a; i++, compared++) {
            size_t at_most = 0, u;
            for (size_t k = 0; k < sizeof a; k++)
                at_most += a[k] <= a[i];
            for (u = 0; u < 256; u++) {
                size_t count = 0;
                for (size_t k = 0; k < sizeof b; k++)
                    count += b[k] <= u;
                if (count * sizeof a >= at_most * sizeof b)
                    break;
            }
            cr_assert_eq(at8(&out, i), u);
        }
        transfer_destroy(transfer);
        record_destroy(ra);
        record_destroy(rb);
        imgstat_image_release(&out);
        imgstat_image_release(&image);
        imgstat_image_release(&wanted);
    }
    cr_assert_eq(compared, 6000);
}

Test(transfer, mean_and_deviation)
{
    const uint8_t samples[4] = {10, 20, 30, 40}; /* mean 25, stddev sqrt(125) */
    ImagePro image = image_of(samples, 4, 1, 1, IMGSTAT_U8, 8);
    const TransferShape shape = shape_of(&image, -1, false);
    Record *const record = plain_record(&image);
    const double mean = 25, stddev = sqrt(125.0), none = 0;
    const ImgstatMethod method = {.transform = IMGSTAT_MEANSTD, .mean = 128, .stddev = 100};
    ImagePro out = image_like(&image, IMGSTAT_U8);
    for (int constant = 0; constant < 2; constant++) {
        Transfer *transfer;
        cr_assert_eq(transfer_create_counts(&method, &shape, record, &mean,
                                            constant ? &none : &stddev, &transfer, NULL),
                     IMGSTAT_OK);
        cr_assert_eq(transfer_apply(transfer, &image, -1, &out, NULL), IMGSTAT_OK);
        for (size_t i = 0; i < 4; i++) {
            const double x = (samples[i] - 25.0) / stddev * 100 + 128;
            const double clamped = x < 0 ? 0 : x > 255 ? 255 : x;
            cr_expect_eq(at8(&out, i), constant ? 128 : (uint8_t)rint(clamped));
        }
        transfer_destroy(transfer);
    }
    record_destroy(record);
    imgstat_image_release(&out);
    imgstat_image_release(&image);
}

/* Black and white that are given, of a narrow and of a wide type; per cent of 12 bits, which only
 * the header declares. */
Test(transfer, input_range)
{
    const ImgstatMethod plain = {
        .transform = IMGSTAT_STRETCH, .has_in_range = true, .in_lo = 100, .in_hi = 300};
    ImgstatMethod percent = {.transform = IMGSTAT_STRETCH,
                             .depth = IMGSTAT_DEPTH_8,
                             .has_in_range = true,
                             .in_lo = 0,
                             .in_hi = 50,
                             .in_lo_percent = true,
                             .in_hi_percent = true};
    const uint16_t narrow[4] = {0, 100, 200, 4095};
    const uint32_t wide[4] = {0, 100, 200, 4095};
    const uint64_t no_counts[65536] = {0};
    const MapSource nothing = {.cdf = no_counts};
    ImagePro images[2] = {image_of(narrow, 4, 1, 1, IMGSTAT_U16, 12),
                          image_of(wide, 4, 1, 1, IMGSTAT_U32, 12)};
    for (int i = 0; i < 2; i++) {
        const TransferShape shape = shape_of(&images[i], -1, false);
        Transfer *transfer;
        cr_assert_eq(transfer_create(NULL, &plain, &shape, &nothing, NULL, &transfer, NULL),
                     IMGSTAT_OK);
        ImagePro out = image_like(&images[i], images[i].sample);
        cr_assert_eq(transfer_apply(transfer, &images[i], -1, &out, NULL), IMGSTAT_OK);
        const uint32_t want[4] = {0, 0, 2048, 4095}; /* 2047.5, half to even */
        for (size_t k = 0; k < 4; k++)
            cr_expect_eq(i ? ((uint32_t *)out.host)[k] : ((uint16_t *)out.host)[k], want[k],
                         "%d %zu", i, k);
        transfer_destroy(transfer);
        imgstat_image_release(&out);
        uint64_t black, white;
        transfer_in_range(&percent, images[i].sample, 12, &black, &white);
        cr_expect(black == 0 && white == 2048, "%d: %d", i, (int)white);
        imgstat_image_release(&images[i]);
    }
}

/* Masked and nodata samples are not counted, and each channel has the limits of its map. */
Test(transfer, clamped_samples)
{
    const uint8_t samples[4][2] = {{10, 1}, {20, 2}, {30, 3}, {40, 4}};
    const uint8_t mask[4] = {1, 1, 1, 0};
    ImagePro image = image_of(samples, 4, 1, 2, IMGSTAT_U8, 8);
    image.mask = mask;
    image.mask_pitch = 4;
    ImgstatMethod method = {
        .channels = IMGSTAT_EACH, .has_in_range = true, .in_lo = 3, .in_hi = 25};
    const TransferShape shape = shape_of(&image, -1, false);
    const uint64_t no_counts[256] = {0};
    const MapSource nothing[2] = {{.cdf = no_counts}, {.cdf = no_counts}};
    for (int joint = 0; joint < 2; joint++) {
        method.channels = joint ? IMGSTAT_JOINT : IMGSTAT_EACH;
        Transfer *transfer;
        cr_assert_eq(transfer_create(NULL, &method, &shape, nothing, NULL, &transfer, NULL),
                     IMGSTAT_OK);
        cr_expect(transfer_clamps(transfer));
        ImgstatClamped counts = {.n = 100};
        transfer_count_clamped(transfer, &image, -1, &counts);
        cr_expect(counts.n == 106 && counts.low == 2 && counts.high == 1);
        transfer_count_clamped(transfer, &image, 1, &counts);
        cr_expect(counts.n == 109 && counts.low == 2 && counts.high == 2);
        image.has_nodata = true;
        image.nodata_key = 30;
        transfer_count_clamped(transfer, &image, -1, &counts);
        cr_expect(counts.n == 114 && counts.low == 4 && counts.high == 2);
        image.has_nodata = false;
        transfer_destroy(transfer);
    }
    image.mask = NULL;
    imgstat_image_release(&image);
}

Test(transfer, plain_values)
{
    const ImgstatMethod percent = {.transform = IMGSTAT_MEANSTD,
                                   .mean = 50,
                                   .stddev = 20,
                                   .mean_percent = true,
                                   .stddev_percent = true};
    ImgstatMethod method = percent;
    cr_expect_not(transfer_plain_values(&method).output);
    cr_expect_float_eq(transfer_mean(&method, IMGSTAT_U8, 0), 127.5, 0);
    cr_expect_float_eq(transfer_stddev(&method, IMGSTAT_U8, 0), 51, 0);
    cr_expect_float_eq(transfer_mean(&method, IMGSTAT_I8, 0), -0.5, 0);
    cr_expect_float_eq(transfer_stddev(&method, IMGSTAT_I8, 0), 51, 0);
    cr_expect_float_eq(transfer_mean(&method, IMGSTAT_U16, 12), 2047.5, 0);
    cr_expect_float_eq(transfer_mean(&method, IMGSTAT_F32, 0), 0.5, 0);
    method.stddev_percent = false;
    cr_expect(transfer_plain_values(&method).output && !transfer_plain_values(&method).input);
    method = (ImgstatMethod){.has_in_range = true, .in_hi = 5};
    cr_expect(transfer_plain_values(&method).input && !transfer_plain_values(&method).output);
    cr_expect_not(transfer_measures(&method));
    method = (ImgstatMethod){.has_range = true, .hi = 5, .lo_percent = true};
    cr_expect(transfer_plain_values(&method).output && transfer_measures(&method));
    method = (ImgstatMethod){.transform = IMGSTAT_EQUALIZE};
    cr_expect_not(transfer_plain_values(&method).output);
}

/* Floats are not limited unless a range is given. */
Test(transfer, mean_and_deviation_of_floats)
{
    const uint8_t samples[4] = {10, 20, 30, 40};
    ImagePro image = image_of(samples, 4, 1, 1, IMGSTAT_U8, 8);
    const TransferShape shape = shape_of(&image, -1, false);
    Record *const record = plain_record(&image);
    const double mean = 25, stddev = sqrt(125.0);
    ImgstatMethod method = {
        .transform = IMGSTAT_MEANSTD, .mean = 0, .stddev = 2, .depth = IMGSTAT_DEPTH_FLOAT};
    ImagePro out = image_like(&image, IMGSTAT_F32);
    for (int limited = 0; limited < 2; limited++) {
        method.has_range = limited;
        method.lo = -1;
        method.hi = 1;
        Transfer *transfer;
        cr_assert_eq(
            transfer_create_counts(&method, &shape, record, &mean, &stddev, &transfer, NULL),
            IMGSTAT_OK);
        cr_assert_eq(transfer_apply(transfer, &image, -1, &out, NULL), IMGSTAT_OK);
        for (size_t i = 0; i < 4; i++) {
            const double x = (samples[i] - 25.0) / stddev * 2;
            cr_expect_float_eq(at_float(&out, i), limited ? fmax(-1, fmin(1, x)) : x, 1e-6);
        }
        transfer_destroy(transfer);
    }
    record_destroy(record);
    imgstat_image_release(&out);
    imgstat_image_release(&image);
}

Test(transfer, power_is_accurate)
{
    uint64_t seed = 3;
    double worst = 0;
    for (int i = 0; i < 200000; i++) {
        const double x =
            (double)(splitmix64(&seed) >> 11) * 0x1p-53 * exp2(-(double)(splitmix64(&seed) % 60));
        const double g = 0.05 + (double)(splitmix64(&seed) % 1000) / 100.0;
        const long double exact = powl(x, g);
        if (exact < 1e-300L)
            continue;
        const double error = (double)fabsl((map_power(x, g) - exact) / exact);
        worst = error > worst ? error : worst;
    }
    cr_assert_lt(worst, 1e-15, "worst relative error %g", worst);
    cr_assert_eq(map_power(0, 0.5), 0);
    cr_assert_eq(map_power(1, 0.5), 1);
    cr_assert_eq(map_power(0.25, 0.5), 0.5);
}

Test(transfer, gamma_on_the_unit_range)
{
    uint8_t samples[256];
    for (int i = 0; i < 256; i++)
        samples[i] = (uint8_t)i;
    ImagePro image = image_of(samples, 256, 1, 1, IMGSTAT_U8, 8);
    const ImgstatMethod method = {.transform = IMGSTAT_GAMMA, .gamma = 2.2};
    ImagePro out = transformed(&method, &image, -1, false);
    for (int i = 0; i < 256; i++)
        cr_expect_eq(at8(&out, (size_t)i), (uint8_t)lrint(255 * pow(i / 255.0, 2.2)));
    imgstat_image_release(&out);
    imgstat_image_release(&image);
}

/* All samples of 16 bits, whose powers follow from those of others. */
Test(transfer, gamma_of_all_keys)
{
    enum { N = 65536 };
    static const double exponents[] = {0.1, 0.4545, 0.5, 1, 1.8, 2, 2.2, 3, 8.7, 9, 9.5, 30};
    static const int tops[] = {1000, 4095, 65535};
    uint16_t *const samples = malloc(N * sizeof *samples);
    size_t compared = 0;
    for (size_t e = 0; e < sizeof exponents / sizeof *exponents; e++)
        for (int t = 0; t < 4; t++) { /* the last one: signed */
            const int lowest = t == 3 ? -32768 : 0, top = t == 1 ? 4095 : 65535;
            const int range = tops[t % 3];
            for (int i = 0; i < N; i++)
                samples[i] = (uint16_t)(i + lowest);
            ImagePro image =
                image_of(samples, N, 1, 1, t == 3 ? IMGSTAT_I16 : IMGSTAT_U16, t == 1 ? 12 : 16);
            const ImgstatMethod method = {.transform = IMGSTAT_GAMMA,
                                          .gamma = exponents[e],
                                          .has_range = true,
                                          .lo = lowest,
                                          .hi = lowest + range};
            ImagePro out = transformed(&method, &image, -1, false);
            for (int i = 0; i <= top; i++, compared++) {
                const long double unit = powl((long double)i / top, exponents[e]);
                const uint16_t expected = (uint16_t)(lowest + lrintl(unit * range));
                const uint16_t got = ((const uint16_t *)(const void *)out.host)[i];
                if (got != expected)
                    cr_expect(false, "gamma %g, %d: %d is %u, not %u", exponents[e], t, i, got,
                              expected);
            }
            imgstat_image_release(&out);
            imgstat_image_release(&image);
        }
    free(samples);
    cr_assert_gt(compared, 12 * 3 * N);
}

/* Through the public calls, on the CPU. */
static ImagePro transformed_wide(const ImgstatMethod *method, const ImagePro *image)
{
    ImgstatDevice *device;
    ImgstatError err = {0};
    ImagePro out;
    cr_assert_eq(imgstat_device_open("cpu", 1, &device, NULL), IMGSTAT_OK);
    cr_assert_eq(imgstat_image_transform(device, method, image, -1, NULL, &out, &err), IMGSTAT_OK,
                 "%s", err.message);
    imgstat_device_close(device);
    return out;
}

/* Integers of 64 bits that are one double, or few: a deviation of 2 about the fourth. */
Test(transfer, mean_and_deviation_of_what_doubles_do_not_hold)
{
    static const uint64_t bases[] = {
        6978066283056151073u,           UINT64_MAX - 6,         1, 4503599627370497u,
        (uint64_t)-9223372036854775807, (uint64_t)INT64_MAX - 6};
    static const uint64_t expected[7] = {85, 90, 95, 100, 105, 110, 115};
    const ImgstatMethod method = {.transform = IMGSTAT_MEANSTD, .mean = 100, .stddev = 10};
    size_t compared = 0;
    for (size_t b = 0; b < sizeof bases / sizeof *bases; b++)
        for (int is_signed = 0; is_signed < 2; is_signed++, compared++) {
            const ImgstatSample sample = is_signed ? IMGSTAT_I64 : IMGSTAT_U64;
            uint64_t x[7];
            for (uint64_t i = 0; i < 7; i++)
                x[i] = bases[b] + i;
            ImagePro image = image_of(x, 7, 1, 1, sample, 0);
            ImagePro out = transformed_wide(&method, &image);
            cr_expect_arr_eq(out.host, expected, sizeof expected, "base %zu, signed %d", b,
                             is_signed);
            imgstat_image_release(&out);
            imgstat_image_release(&image);
        }
    cr_assert_eq(compared, 12);
}

/* The distance from the lowest value counts, wherever that is. */
Test(transfer, gamma_near_the_lowest_integer)
{
    enum { N = 1000 };
    const ImgstatMethod method = {.transform = IMGSTAT_GAMMA, .gamma = 0.5};
    for (int is_signed = 0; is_signed < 2; is_signed++) {
        const uint64_t lowest = is_signed ? (uint64_t)INT64_MIN : 0;
        uint64_t x[N];
        for (uint64_t i = 0; i < N; i++)
            x[i] = lowest + i;
        ImagePro image = image_of(x, N, 1, 1, is_signed ? IMGSTAT_I64 : IMGSTAT_U64, 0);
        ImagePro out = transformed_wide(&method, &image);
        const uint64_t *const got = (const uint64_t *)(const void *)out.host;
        for (uint64_t i = 0; i < N; i++) /* sqrt(i / 2^64) 2^64, which is below 2^37 */
            cr_expect_eq(got[i] - lowest, (uint64_t)llrintl(sqrtl((long double)i) * 0x1p32L), "%d",
                         (int)i);
        imgstat_image_release(&out);
        imgstat_image_release(&image);
    }
}

Test(transfer, between_keys)
{
    const uint64_t far = 6978066283056151073u;
    cr_expect_eq(key_between(far, far + 10, 0.5), far + 5);
    cr_expect_eq(key_between(far + 10, far, 0.3), far + 7);
    cr_expect_eq(key_between(far, far + 10, 0), far);
    cr_expect_eq(key_between(far, far + 10, -1e-300), far);
    cr_expect_eq(key_between(far, far + 10, 1), far + 10);
    cr_expect_eq(key_between(far, far + 5, 0.5), far + 2); /* half to even, of the step */
    cr_expect_eq(key_between(far, far + 7, 0.5), far + 4);
    cr_expect_eq(key_between(0, UINT64_MAX, 1), UINT64_MAX); /* its double is 2^64 */
    cr_expect_eq(key_between(UINT64_MAX, 0, 1), 0);
    cr_expect_eq(key_between(0, UINT64_MAX, 0x1.fffffffffffffp-1), UINT64_MAX - 2047);
    cr_expect_eq(key_between(1000, UINT64_MAX, 0.5), (uint64_t)1000 + ((uint64_t)1 << 63));
    cr_expect_eq(key_between(7, 7, 0.5), 7);

    const MapKnot knots[2] = {{.key = 10, .before = far, .at = far},
                              {.key = 20, .before = far + 5, .at = far + 9}};
    Map map = {.kind = MAP_KNOTS, .from = IMGSTAT_U64, .knots = knots, .n_knots = 2};
    map.to = (MapRange){.sample = IMGSTAT_U64, .hi_key = UINT64_MAX, .hi = 0x1p64};
    static const uint64_t steps[] = {0, 0, 0, 1, 2, 2, 2, 3, 4, 4, 4, 9}; /* keys 9 to 20 */
    for (uint64_t i = 0; i < 12; i++)
        cr_expect_eq(map_sample(&map, 9 + i), far + steps[i], "key %d", (int)(9 + i));
}

Test(transfer, depth_changes)
{
    const uint8_t samples[4] = {0, 51, 102, 255};
    ImagePro image = image_of(samples, 2, 1, 2, IMGSTAT_U8, 8); /* gray and alpha */
    ImgstatMethod method = {.transform = IMGSTAT_STRETCH, .depth = IMGSTAT_DEPTH_16};
    ImagePro out = transformed(&method, &image, 1, false);
    const uint16_t wide[4] = {0, 51 * 257, 65535, 65535};
    cr_expect_arr_eq(out.host, wide, sizeof wide);
    imgstat_image_release(&out);
    method.depth = IMGSTAT_DEPTH_FLOAT;
    out = transformed(&method, &image, 1, false);
    const float unit[4] = {0.0f, 0.2f, 1.0f, 1.0f};
    for (size_t i = 0; i < 4; i++)
        cr_expect_eq(at_float(&out, i), unit[i]);
    imgstat_image_release(&out);
    imgstat_image_release(&image);
}

/* 4 bits and 8 bits are one type: alpha 15 of 15 became 15 of 255, and a white page black. */
Test(transfer, depth_changes_within_a_type)
{
    const uint8_t samples[6] = {3, 15, 9, 0, 6, 5}, white[4] = {15, 15, 15, 15};
    ImagePro image = image_of(samples, 3, 1, 2, IMGSTAT_U8, 4); /* gray and alpha */
    ImgstatMethod method = {.transform = IMGSTAT_STRETCH, .depth = IMGSTAT_DEPTH_8};
    ImagePro out = transformed(&method, &image, 1, false);
    const uint8_t eight[6] = {0, 255, 255, 0, 128, 85};
    cr_expect_arr_eq(out.host, eight, sizeof eight);
    imgstat_image_release(&out);
    imgstat_image_release(&image);
    image = image_of(white, 4, 1, 1, IMGSTAT_U8, 4);
    out = transformed(&method, &image, -1, false);
    cr_expect_eq(at8(&out, 3), 255);
    imgstat_image_release(&out);
    method.depth = IMGSTAT_DEPTH_KEEP;
    out = transformed(&method, &image, -1, false);
    cr_expect_eq(at8(&out, 3), 15);
    imgstat_image_release(&out);
    imgstat_image_release(&image);
    const uint16_t scan[3] = {1000, 1000, 1000};
    image = image_of(scan, 1, 1, 3, IMGSTAT_U16, 12);
    method = (ImgstatMethod){.transform = IMGSTAT_EQUALIZE, .depth = IMGSTAT_DEPTH_16};
    out = transformed(&method, &image, -1, true);
    for (size_t i = 0; i < 3; i++)
        cr_expect_eq(at16(&out, i), plain_even(1000 * 65535, 4095), "luma");
    imgstat_image_release(&out);
    imgstat_image_release(&image);
}

/* An opaque pixel of an image whose nodata value is 255 became nearly transparent. */
Test(transfer, alpha_knows_no_nodata)
{
    const uint8_t samples[8] = {0, 51, 102, 255, 255, 255, 30, 0};
    ImagePro image = image_of(samples, 4, 1, 2, IMGSTAT_U8, 8); /* gray and alpha */
    image.has_nodata = true;
    image.nodata_key = 255;
    ImgstatMethod method = {.transform = IMGSTAT_STRETCH, .depth = IMGSTAT_DEPTH_16};
    ImagePro out = transformed(&method, &image, 1, false);
    const uint16_t wide[8] = {0, 51 * 257, 65535, 65535, 255, 65535, 19275, 0};
    cr_expect_arr_eq(out.host, wide, sizeof wide);
    imgstat_image_release(&out);
    method.depth = IMGSTAT_DEPTH_FLOAT;
    out = transformed(&method, &image, 1, false);
    cr_expect_eq(at_float(&out, 3), 1.0f);
    cr_expect_eq(at_float(&out, 4), 255.0f);
    imgstat_image_release(&out);
    imgstat_image_release(&image);
}

/* An end that is nodata moves inwards where there is another value. */
Test(transfer, ranges_that_end_at_nodata)
{
    static const uint64_t cases[][5] = {/* range, nodata, and the range then */
                                        {0, 255, 0, 1, 255}, {0, 255, 255, 0, 254},
                                        {0, 255, 9, 0, 255}, {7, 8, 7, 8, 8},
                                        {7, 8, 8, 7, 7},     {200, 200, 200, 200, 200}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        MapRange range = {.sample = IMGSTAT_U8, .lo_key = cases[i][0], .hi_key = cases[i][1]};
        range_set_nodata(&range, IMGSTAT_U8, true, cases[i][2]);
        cr_expect_eq(range.lo_key, cases[i][3], "case %zu", i);
        cr_expect_eq(range.hi_key, cases[i][4], "case %zu", i);
        cr_expect(range.has_nodata && range.nodata_key == cases[i][2]);
    }
}

Test(transfer, halves)
{
    /* every finite binary16 goes to a double and back */
    size_t compared = 0;
    for (uint32_t raw = 0; raw < 65536; raw++) {
        if ((raw & 0x7C00u) == 0x7C00u)
            continue;
        cr_assert_eq(half_raw(half_value(raw)), raw);
        compared++;
    }
    cr_assert_eq(compared, 63488);
    cr_assert_eq(half_raw(1.0 + 0x1p-11), 0x3C00u, "a tie goes to even");
    cr_assert_eq(half_raw(1.0 + 3 * 0x1p-11), 0x3C02u);
    cr_assert_eq(half_raw(65519.99), 0x7BFFu);
    cr_assert_eq(half_raw(0x1p-25), 0u);
    cr_assert_eq(half_raw(3 * 0x1p-25), 2u);
}

Test(transfer, wrong_parameters_are_refused)
{
    ImgstatError err;
    const TransferShape shape = {.sample = IMGSTAT_U8, .channels = 3, .alpha = -1};
    const ImgstatMethod wrong[] = {
        {.transform = IMGSTAT_PERCENTILE, .has_clip = true, .clip_lo = 60, .clip_hi = 40},
        {.transform = IMGSTAT_PERCENTILE, .has_clip = true, .clip_lo = 99.99999999995},
        {.transform = IMGSTAT_PERCENTILE, .has_clip = true, .clip_hi = 99.99999999995},
        {.transform = IMGSTAT_PERCENTILE, .has_clip = true, .clip_lo = -1},
        {.transform = IMGSTAT_PERCENTILE, .has_clip = true, .clip_lo = NAN},
        {.transform = IMGSTAT_GAMMA, .gamma = 0},
        {.transform = IMGSTAT_MEANSTD, .mean = INFINITY},
        {.transform = IMGSTAT_STRETCH, .has_range = true, .lo = 0, .hi = 256},
        {.transform = IMGSTAT_STRETCH, .has_range = true, .lo = 0.5, .hi = 200},
        {.transform = IMGSTAT_STRETCH, .has_range = true, .lo = 9, .hi = 9},
        {.transform = IMGSTAT_STRETCH, .has_range = true, .lo = 0, .hi = 101, .hi_percent = true},
        {.transform = IMGSTAT_STRETCH, .has_range = true, .lo = 200, .hi = 50, .hi_percent = true},
        {.transform = IMGSTAT_STRETCH, .has_in_range = true, .in_lo = 0, .in_hi = 256},
        {.transform = IMGSTAT_STRETCH, .has_in_range = true, .in_lo = 9, .in_hi = 9},
        {.transform = IMGSTAT_STRETCH, .has_in_range = true, .in_lo = NAN, .in_hi = 9},
        {.transform = IMGSTAT_PERCENTILE, .has_in_range = true, .in_lo = 0, .in_hi = 9},
        {.transform = IMGSTAT_STRETCH,
         .has_in_range = true,
         .in_hi = 9,
         .like = IMGSTAT_LIKE_IMAGEJ},
        {.transform = IMGSTAT_STRETCH, .channels = IMGSTAT_LUMA},
        {.transform = IMGSTAT_STRETCH, .like = (ImgstatLike)99},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cr_expect_eq(transfer_check(&wrong[i], &shape, &err), IMGSTAT_ERR_ARG, "%zu", i);
        cr_expect_gt(strlen(err.message), 10);
    }
}

/* ---- Wide types ---------------------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static RankTable *ranks_of(uint64_t *keys, size_t n)
{
    qsort(keys, n, sizeof *keys, by_key);
    RankBuilder builder;
    cr_assert_eq(rank_builder_init(NULL, &builder, n, NULL), IMGSTAT_OK);
    for (size_t i = 0; i < n; i++)
        rank_builder_add(&builder, keys[i], 1);
    RankTable *const table = rank_builder_finish(&builder, NULL);
    cr_assert_not_null(table);
    return table;
}

Test(transfer, order_statistics_are_exact_and_close)
{
    uint64_t seed = 21;
    static const size_t sizes[] = {1, 2, 65535, 65536, 65537, 300000};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const size_t n = sizes[s];
        uint64_t *const keys = malloc(n * sizeof *keys);
        for (size_t i = 0; i < n; i++)
            keys[i] = i % 5 ? splitmix64(&seed) >> 32 : 1000 + splitmix64(&seed) % 3;
        RankTable *const table = ranks_of(keys, n);
        cr_assert_eq(table->n, n);
        cr_assert_eq(table->knots[table->n_knots - 1].upto, n);
        cr_assert_eq(table->knots[0].below, 0);
        for (uint32_t k = 0; k < table->n_knots; k++) {
            const RankKnot knot = table->knots[k];
            cr_assert(keys[knot.below] == knot.key && keys[knot.upto - 1] == knot.key);
            cr_assert(knot.below == 0 || keys[knot.below - 1] < knot.key);
            cr_assert(knot.upto == n || keys[knot.upto] > knot.key);
            if (k)
                cr_assert_lt((knot.below - table->knots[k - 1].upto) * RANK_STEPS, n,
                             "%zu samples: a gap of %d", n,
                             (int)(knot.below - table->knots[k - 1].upto));
        }
        rank_table_destroy(table);
        free(keys);
    }
}

/* Equalization of floats: the share of samples, within one 65,536th, and exact for few samples. */
Test(transfer, equalize_floats)
{
    uint64_t seed = 9;
    static const size_t sizes[] = {500, 200000};
    for (size_t s = 0; s < 2; s++) {
        const size_t n = sizes[s];
        float *const samples = malloc(n * sizeof *samples);
        uint64_t *const keys = malloc(n * sizeof *keys);
        for (size_t i = 0; i < n; i++) {
            samples[i] = (float)((double)(splitmix64(&seed) >> 11) * 0x1p-53 - 0.4);
            samples[i] *= samples[i] * samples[i] * 1000;
            uint32_t raw;
            memcpy(&raw, &samples[i], sizeof raw);
            keys[i] = sample_key(IMGSTAT_F32, raw);
        }
        ImagePro image = image_of(samples, (uint32_t)n, 1, 1, IMGSTAT_F32, 0);
        RankTable *const ranks = ranks_of(keys, n);
        const MapSource source = {
            .n = n, .min_key = keys[0], .max_key = keys[n - 1], .ranks = ranks};
        const ImgstatMethod method = {.transform = IMGSTAT_EQUALIZE};
        const TransferShape shape = shape_of(&image, -1, false);
        Transfer *transfer;
        cr_assert_eq(transfer_create(NULL, &method, &shape, &source, NULL, &transfer, NULL),
                     IMGSTAT_OK);
        ImagePro out = image_like(&image, IMGSTAT_F32);
        cr_assert_eq(transfer_apply(transfer, &image, -1, &out, NULL), IMGSTAT_OK);
        uint64_t first = 1;
        while (first < n && keys[first] == keys[0])
            first++;
        const double tolerance = n < 65536 ? 1e-7 : 1.0 / 65536 + 1e-7;
        for (size_t i = 0; i < n; i += n / 500) {
            uint32_t raw;
            memcpy(&raw, &samples[i], sizeof raw);
            const uint64_t key = sample_key(IMGSTAT_F32, raw);
            uint64_t low = 0, high = n; /* how many keys are at most this one */
            while (low < high) {
                const uint64_t middle = (low + high) / 2;
                if (keys[middle] <= key)
                    low = middle + 1;
                else
                    high = middle;
            }
            const double expected = (double)(low - first) / (double)(n - first);
            cr_assert_float_eq(at_float(&out, i), expected, tolerance);
        }
        transfer_destroy(transfer);
        rank_table_destroy(ranks);
        imgstat_image_release(&out);
        imgstat_image_release(&image);
        free(samples);
        free(keys);
    }
}

Test(transfer, stretch_of_wide_integers_is_exact)
{
    const uint64_t samples[4] = {5, 6, (uint64_t)1 << 62, UINT64_MAX - 3};
    ImagePro image = image_of(samples, 4, 1, 1, IMGSTAT_U64, 0);
    const MapSource source = {.n = 4, .min_key = 5, .max_key = UINT64_MAX - 3};
    const ImgstatMethod method = {.transform = IMGSTAT_STRETCH};
    const TransferShape shape = shape_of(&image, -1, false);
    Transfer *transfer;
    cr_assert_eq(transfer_create(NULL, &method, &shape, &source, NULL, &transfer, NULL),
                 IMGSTAT_OK);
    ImagePro out = image_like(&image, IMGSTAT_U64);
    cr_assert_eq(transfer_apply(transfer, &image, -1, &out, NULL), IMGSTAT_OK);
    const uint64_t *const got = out.host;
    cr_expect_eq(got[0], 0);
    cr_expect_eq(got[1], 1); /* (2^64 - 1) / (2^64 - 9) */
    /* (2^62 - 5) (2^64 - 1) / (2^64 - 9) = 2^62 - 5 + 8 (2^62 - 5) / (2^64 - 9) = 2^62 - 3 - a
     * little */
    cr_expect_eq(got[2], ((uint64_t)1 << 62) - 3);
    cr_expect_eq(got[3], UINT64_MAX);
    transfer_destroy(transfer);
    imgstat_image_release(&out);
    imgstat_image_release(&image);
}

/* Signed integers are the unsigned ones, moved: so are their colours. */
Test(transfer, colours_of_signed_samples_are_those_of_unsigned_ones)
{
    enum { PIXELS = 400 };
    const ImgstatMethod method = {
        .transform = IMGSTAT_EQUALIZE, .channels = IMGSTAT_LUMA, .depth = IMGSTAT_DEPTH_FLOAT};
    uint64_t seed = 11;
    uint8_t bytes[2][3 * PIXELS];
    uint16_t words[2][3 * PIXELS];
    for (size_t i = 0; i < 3 * (size_t)PIXELS; i++) {
        const uint64_t r = splitmix64(&seed);
        bytes[0][i] = (uint8_t)(r >> 20);
        words[0][i] = (uint16_t)(r >> 40);
        bytes[1][i] = bytes[0][i] ^ 0x80;
        words[1][i] = words[0][i] ^ 0x8000;
    }
    for (int wide = 0; wide < 2; wide++) {
        ImagePro image[2], out[2];
        for (int s = 0; s < 2; s++) {
            image[s] = wide ? image_of(words[s], PIXELS, 1, 3, s ? IMGSTAT_I16 : IMGSTAT_U16, 16)
                            : image_of(bytes[s], PIXELS, 1, 3, s ? IMGSTAT_I8 : IMGSTAT_U8, 8);
            out[s] = transformed(&method, &image[s], -1, true);
        }
        cr_assert_eq(out[0].sample, IMGSTAT_F32);
        cr_assert(image_equal(&out[0], &out[1]));
        for (int s = 0; s < 2; s++) {
            imgstat_image_release(&out[s]);
            imgstat_image_release(&image[s]);
        }
    }
}

static void check_accuracy(const MapRange *to, uint64_t key, long double exact, long double *worst)
{
    exact = exact < to->lo ? (long double)to->lo : exact > to->hi ? (long double)to->hi : exact;
    const long double larger = fabs(to->lo) > fabs(to->hi) ? fabs(to->lo) : fabs(to->hi);
    const long double off = fabsl((long double)map_value(IMGSTAT_F64, key) - exact);
    const long double share = off / (larger * 0x1p-49L);
    *worst = share > *worst ? share : *worst;
}

/* 64-bit floats against the formulas in longer numbers: the bound of docs/transforms.md. */
Test(transfer, accuracy_of_doubles)
{
    if (LDBL_MANT_DIG < 64)
        cr_skip_test("long double is not longer than double");
    enum { CASES = 200000 };
    uint64_t seed = 11;
    long double worst = 0;
    for (int i = 0; i < CASES; i++) {
        double x[5];
        for (int k = 0; k < 5; k++)
            x[k] = (double)(int64_t)splitmix64(&seed) * (k < 2 ? 0x1p-62 : 0x1p-50);
        const bool swapped = x[0] > x[1];
        MapRange to = {.sample = IMGSTAT_F64, .lo = x[swapped], .hi = x[!swapped]};
        to.lo_key = map_key(IMGSTAT_F64, to.lo);
        to.hi_key = map_key(IMGSTAT_F64, to.hi);
        const long double span = (long double)to.hi - to.lo;
        /* a stretch */
        const double black = fmin(x[2], x[3]), white = fmax(x[2], x[3]);
        const long double t = ((long double)x[4] - black) / ((long double)white - black);
        check_accuracy(&to,
                       range_affine(&to, IMGSTAT_F64, map_key(IMGSTAT_F64, black),
                                    map_key(IMGSTAT_F64, white), map_key(IMGSTAT_F64, x[4])),
                       to.lo + t * span, &worst);
        /* counts */
        const uint64_t n = 1 + splitmix64(&seed) % 10000000, count = splitmix64(&seed) % (n + 1);
        check_accuracy(&to, range_ratio(&to, count, n),
                       to.lo + span * (long double)count / (long double)n, &worst);
        /* the line between two knots, whose outputs are as they are */
        const MapKnot knots[2] = {
            {.key = map_key(IMGSTAT_F64, black), .before = to.lo_key, .at = to.lo_key},
            {.key = map_key(IMGSTAT_F64, white), .before = to.hi_key, .at = to.hi_key}};
        const Map map = {
            .kind = MAP_KNOTS, .from = IMGSTAT_F64, .to = to, .knots = knots, .n_knots = 2};
        check_accuracy(&to, map_sample(&map, map_key(IMGSTAT_F64, x[4])), to.lo + t * span, &worst);
    }
    printf("%d outputs, at most %.2Lf of the bound\n", 3 * CASES, worst);
    cr_assert(worst <= 1);
}
