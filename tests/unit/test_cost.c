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
    const double once = work.wide_bytes;
    work = many(1, page(100, 1, IMGSTAT_F32), all);
    cr_assert_gt(work.wide_bytes, 2 * once, "percentiles take further reads");
    const double single = work.wide_bytes;
    work = many(1, page(100, 1, IMGSTAT_F64), all);
    cr_assert_gt(work.wide_bytes, 2 * single, "longer keys take more of them");
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

/* One thread against a GPU, over gigabytes of doubles that are read many times. */
Test(cost, much_work_for_few_processors_pays_for_a_gpu)
{
    const ImgstatMeasure all = {.median = true, .mode = true, .histogram = true, .shape = true};
    const CostWork work = many(16, page(20000, 1, IMGSTAT_F64), all);
    cr_assert_gt(cost_cpu(&work, 1), cost_cuda(&work, 1));
}
