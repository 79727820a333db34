/* SPDX-License-Identifier: MIT */
/* test_cost.c: which device the cost model prefers, at points where the answer is not in doubt. */
#include "cost.h"

#include <criterion/criterion.h>

static ImgstatPage page(uint32_t side, uint16_t channels, ImgstatSample sample)
{
    return (ImgstatPage){.format = "tiff",
                         .pages = 1,
                         .width = side,
                         .height = side,
                         .channels = channels,
                         .sample = sample};
}

static CostWork many(unsigned n, ImgstatPage one, ImgstatMeasure how)
{
    CostWork work = {0};
    for (unsigned i = 0; i < n; i++)
        cost_add(&work, &one, &how);
    return work;
}

Test(cost, counts_reads)
{
    const ImgstatMeasure all = {.median = true, .mode = true, .histogram = true, .shape = true};
    CostWork work = many(3, page(100, 2, IMGSTAT_U16), all);
    cr_assert_eq(work.images, 3);
    cr_assert_eq(work.narrow_bytes, 3 * 100 * 100 * 2 * 2, "narrow samples are read once");
    cr_assert_eq(work.wide_bytes, 0);

    work = many(1, page(100, 1, IMGSTAT_F32), (ImgstatMeasure){0});
    cr_assert_eq(work.wide_bytes, 40000, "extrema and moments are one read");
    cr_assert_eq(work.slow_bytes, 0);
    work = many(1, page(100, 1, IMGSTAT_F32), all);
    cr_assert_eq(work.wide_bytes, 2 * 40000, "the other half of the key takes one more");
    cr_assert_eq(work.slow_bytes, 2 * 40000, "the mode one, powers and bins another");
    cr_assert_eq(work.reads, 4);
    work = many(1, page(100, 1, IMGSTAT_F64), all);
    cr_assert_eq(work.wide_bytes, 4 * 80000, "longer keys take more");
}

Test(cost, little_work_never_opens_a_gpu)
{
    const CostWork nothing = {0};
    const CostWork photo = many(1, page(4000, 3, IMGSTAT_U8), (ImgstatMeasure){.median = true});
    const CostWork small = many(1000, page(256, 3, IMGSTAT_U8), (ImgstatMeasure){.median = true});
    for (unsigned threads = 1; threads <= 256; threads *= 2) {
        cr_assert_lt(cost_cpu(&nothing, threads), cost_cuda(&nothing, threads));
        cr_assert_lt(cost_cpu(&photo, threads), cost_cuda(&photo, threads));
        cr_assert_lt(cost_cpu(&small, threads), cost_cuda(&small, threads));
    }
}

Test(cost, more_processors_never_take_longer)
{
    const CostWork work = many(10, page(8000, 1, IMGSTAT_F64), (ImgstatMeasure){.shape = true});
    for (unsigned threads = 1; threads < 256; threads *= 2)
        cr_assert_gt(cost_cpu(&work, threads), cost_cpu(&work, 2 * threads));
}

/* The table that the constants come from: its rows, seconds of cuda less those of cpu. */
Test(cost, agrees_with_what_was_measured)
{
    const ImgstatMeasure table = {.median = true};
    const ImgstatMeasure all = {
        .median = true, .mode = true, .histogram = true, .shape = true, .n_percentiles = 5};
    const struct {
        CostWork work;
        unsigned threads;
        double measured;
    } rows[] = {
        {many(1, page(64, 1, IMGSTAT_U8), table), 2, 0.363},
        {many(1, page(64, 1, IMGSTAT_U8), table), 16, 0.343},
        {many(1000, page(256, 3, IMGSTAT_U8), table), 2, 0.294},
        {many(1000, page(256, 3, IMGSTAT_U8), table), 16, 0.622},
        {many(1, page(16384, 1, IMGSTAT_U8), table), 2, 0.318},
        {many(1, page(16384, 1, IMGSTAT_U8), table), 16, 0.413},
        {many(100, page(2048, 1, IMGSTAT_U16), table), 2, 0.200},
        {many(100, page(2048, 1, IMGSTAT_U16), table), 16, 0.601},
        {many(1, page(16384, 1, IMGSTAT_F32), table), 2, 0.328},
        {many(1, page(16384, 1, IMGSTAT_F32), table), 16, 0.741},
        {many(8, page(4096, 1, IMGSTAT_F64), table), 2, 0.457},
        {many(8, page(4096, 1, IMGSTAT_F64), table), 16, 0.533},
        {many(1, page(16384, 1, IMGSTAT_F32), all), 1, -1.957},
        {many(1, page(16384, 1, IMGSTAT_F32), all), 2, -0.542},
        {many(1, page(16384, 1, IMGSTAT_F32), all), 4, 0.254},
        {many(1, page(16384, 1, IMGSTAT_F32), all), 16, 1.082},
        {many(400, page(512, 1, IMGSTAT_F32), all), 2, 0.401},
        {many(400, page(512, 1, IMGSTAT_F32), all), 16, 0.735},
        {many(4, page(4096, 1, IMGSTAT_F32), all), 2, 0.098}, /* deflated */
        {many(4, page(4096, 1, IMGSTAT_F32), all), 16, 0.391},
        {many(4, page(4096, 1, IMGSTAT_F64), all), 2, 0.749},
        {many(8, page(4096, 1, IMGSTAT_F64), all), 4, 0.926},
        {many(8, page(4096, 1, IMGSTAT_F64), all), 16, 0.913},
        {many(4, page(4096, 1, IMGSTAT_F64), all), 16, 0.561}, /* deflated */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const double expected =
            cost_cuda(&rows[i].work, rows[i].threads) - cost_cpu(&rows[i].work, rows[i].threads);
        cr_expect_eq(expected > 0, rows[i].measured > 0, "row %zu: %g s for %g s", i, expected,
                     rows[i].measured);
        if (i < 9) /* beyond, what else the processors do is the larger part of it */
            cr_expect_float_eq(expected, rows[i].measured, 0.2, "row %zu: %g s for %g s", i,
                               expected, rows[i].measured);
    }
}

/* One thread against a GPU, over gigabytes of doubles that are read many times. */
Test(cost, much_work_for_few_processors_pays_for_a_gpu)
{
    const ImgstatMeasure how = {.median = true, .histogram = true, .shape = true};
    const CostWork work = many(16, page(20000, 1, IMGSTAT_F64), how);
    cr_assert_gt(cost_cpu(&work, 1), cost_cuda(&work, 1));
}
