/* SPDX-License-Identifier: MIT */
/* test_cost.c: which device the cost model prefers, at points where the answer is not in doubt. */
#include "batch/device_choice.h"
#include "transfer/transfer.h"

#include <criterion/criterion.h>

static ImgstatPage page(uint32_t side, uint16_t channels, ImgstatSample sample)
{
    return (ImgstatPage){.format = "tiff",
                         .pages = 1,
                         .width = side,
                         .height = side,
                         .channels = channels,
                         .sample = sample,
                         .alpha = -1,
                         .photometric = channels == 3 ? "rgb" : "gray"};
}

static CostWork many(unsigned n, ImgstatPage one, ImgstatMeasure how)
{
    CostWork work = {0};
    const CostTask task = {.measure = &how};
    cost_add(&work, &one, &task, n);
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

static CostWork transformed_to(ImgstatDepth depth, double n, ImgstatPage one,
                               ImgstatTransform transform)
{
    CostWork work = {0};
    const ImgstatMethod method = {.transform = transform, .depth = depth};
    const CostTask task = {.method = &method};
    cost_add(&work, &one, &task, n);
    return work;
}

static CostWork transformed(double n, ImgstatPage one, ImgstatTransform transform)
{
    return transformed_to(IMGSTAT_DEPTH_KEEP, n, one, transform);
}

Test(cost, counts_what_transforms_do)
{
    CostWork work = transformed(3, page(100, 1, IMGSTAT_U8), IMGSTAT_STRETCH);
    cr_assert_eq(work.images, 3);
    cr_assert_eq(work.narrow_bytes, 30000);
    cr_assert_eq(work.mapped_bytes, 60000, "in and out");
    cr_assert_eq(work.alone, 0);

    work = transformed(1, page(100, 1, IMGSTAT_F32), IMGSTAT_GAMMA);
    cr_assert_eq(work.wide_bytes, 0, "a power needs no statistics");
    work = transformed(1, page(100, 1, IMGSTAT_F64), IMGSTAT_GAMMA);
    cr_assert_gt(work.mapping, transformed(1, page(100, 1, IMGSTAT_F64), IMGSTAT_STRETCH).mapping);
    cr_assert_gt(work.mapping, transformed(2, page(100, 1, IMGSTAT_F32), IMGSTAT_GAMMA).mapping);
    work = transformed(1, page(100, 1, IMGSTAT_F64), IMGSTAT_PERCENTILE);
    cr_assert_eq(work.reads, 4);
    work = transformed(1, page(100, 1, IMGSTAT_F64), IMGSTAT_EQUALIZE);
    cr_assert_eq(work.reads, 2, "its keys fit memory");
    work = transformed(1, page(8192, 1, IMGSTAT_F32), IMGSTAT_EQUALIZE);
    cr_assert_eq(work.reads, 2, "a GPU sorts all of them at once");
    cr_assert_eq(work.again_bytes, 7 * 4.0 * 8192 * 8192, "the processors an eighth");
    cr_assert_lt(work.at_once, 3, "pages of 256 MiB share 1 GiB");

    work = transformed(1, page(100, 3, IMGSTAT_U8), IMGSTAT_CLAHE);
    cr_assert_eq(work.narrow_bytes, 10000, "luma");
    cr_assert_gt(work.alone, 0);

    ImgstatPage palette = page(100, 3, IMGSTAT_U8);
    palette.photometric = "palette";
    cr_assert_eq(transformed(1, palette, IMGSTAT_EQUALIZE).mapping, 0, "its colours alone change");
    cr_assert_gt(transformed(1, palette, IMGSTAT_CLAHE).mapping, 0);

    /* A transfer that is given: nothing is measured. */
    ImgstatMethod method = {.transform = IMGSTAT_EQUALIZE, .depth = IMGSTAT_DEPTH_FLOAT};
    Map maps[] = {{.kind = MAP_KNOTS}};
    const ImgstatTransfer transfer = {
        .n_maps = 1, .maps = maps, .rescale = {.to = {.sample = IMGSTAT_F32}}};
    CostTask task = {.transfer = &transfer};
    const ImgstatPage doubles = page(100, 1, IMGSTAT_F64);
    work = (CostWork){0};
    cost_add(&work, &doubles, &task, 1);
    cr_assert_eq(work.reads, 0);
    cr_assert_eq(work.mapped_bytes, 120000);
    CostWork made = {0};
    task = (CostTask){.method = &method};
    cost_add(&made, &doubles, &task, 1);
    cr_assert_eq(work.mapping, made.mapping);
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

/* Likewise of transforms: seconds of both; what is chosen takes less than 1.1 times the better. */
typedef struct Transformed {
    double n;
    uint32_t width, height;
    uint16_t channels;
    ImgstatSample sample;
    ImgstatTransform transform;
    unsigned threads;
    double cpu, cuda;
} Transformed;

static void check_choices(const Transformed *rows, size_t n_rows, ImgstatDepth depth)
{
    for (size_t i = 0; i < n_rows; i++) {
        ImgstatPage one = page(rows[i].width, rows[i].channels, rows[i].sample);
        one.height = rows[i].height;
        const CostWork work = transformed_to(depth, rows[i].n, one, rows[i].transform);
        const double cpu = cost_cpu(&work, rows[i].threads);
        const double cuda = cost_cuda(&work, rows[i].threads);
        const double taken = cuda < cpu ? rows[i].cuda : rows[i].cpu;
        const double best = rows[i].cuda < rows[i].cpu ? rows[i].cuda : rows[i].cpu;
        cr_expect_leq(taken, 1.1 * best, "row %zu: %g and %g s expected, %g and %g measured", i,
                      cpu, cuda, rows[i].cpu, rows[i].cuda);
    }
}

Test(cost, agrees_with_transforms_that_were_measured)
{
    static const Transformed rows[] = {
        {1, 8192, 8192, 1, IMGSTAT_F32, IMGSTAT_PERCENTILE, 1, 0.455, 0.751},
        {1, 8192, 8192, 1, IMGSTAT_F32, IMGSTAT_PERCENTILE, 2, 0.343, 0.659},
        {1, 8192, 8192, 1, IMGSTAT_F32, IMGSTAT_PERCENTILE, 4, 0.356, 0.796},
        {1, 8192, 8192, 1, IMGSTAT_F32, IMGSTAT_PERCENTILE, 16, 0.391, 0.799},
        {1, 8192, 8192, 1, IMGSTAT_F32, IMGSTAT_STRETCH, 1, 0.464, 0.800},
        {1, 8192, 8192, 1, IMGSTAT_F32, IMGSTAT_STRETCH, 2, 0.393, 0.821},
        {1, 8192, 8192, 1, IMGSTAT_F32, IMGSTAT_STRETCH, 4, 0.331, 0.666},
        {1, 8192, 8192, 1, IMGSTAT_F32, IMGSTAT_STRETCH, 16, 0.414, 0.831},
        {16, 2048, 2048, 1, IMGSTAT_F32, IMGSTAT_PERCENTILE, 1, 0.462, 0.717},
        {16, 2048, 2048, 1, IMGSTAT_F32, IMGSTAT_PERCENTILE, 2, 0.282, 0.639},
        {16, 2048, 2048, 1, IMGSTAT_F32, IMGSTAT_PERCENTILE, 4, 0.137, 0.614},
        {16, 2048, 2048, 1, IMGSTAT_F32, IMGSTAT_PERCENTILE, 16, 0.180, 0.992},
        {16, 2048, 2048, 1, IMGSTAT_F32, IMGSTAT_STRETCH, 1, 0.302, 0.670},
        {16, 2048, 2048, 1, IMGSTAT_F32, IMGSTAT_STRETCH, 2, 0.175, 0.556},
        {16, 2048, 2048, 1, IMGSTAT_F32, IMGSTAT_STRETCH, 4, 0.101, 0.575},
        {16, 2048, 2048, 1, IMGSTAT_F32, IMGSTAT_STRETCH, 16, 0.059, 1.047},
        {1, 8192, 4096, 1, IMGSTAT_F64, IMGSTAT_STRETCH, 1, 0.332, 0.691},
        {1, 8192, 4096, 1, IMGSTAT_F64, IMGSTAT_STRETCH, 2, 0.267, 0.588},
        {1, 8192, 4096, 1, IMGSTAT_F64, IMGSTAT_STRETCH, 4, 0.279, 0.638},
        {1, 8192, 4096, 1, IMGSTAT_F64, IMGSTAT_STRETCH, 16, 0.285, 0.636},
        {1, 8192, 4096, 1, IMGSTAT_F64, IMGSTAT_GAMMA, 1, 0.461, 0.497},
        {1, 8192, 4096, 1, IMGSTAT_F64, IMGSTAT_GAMMA, 2, 0.310, 0.465},
        {1, 8192, 4096, 1, IMGSTAT_F64, IMGSTAT_GAMMA, 4, 0.224, 0.465},
        {1, 8192, 4096, 1, IMGSTAT_F64, IMGSTAT_GAMMA, 16, 0.199, 0.490},
        {1, 8192, 4096, 1, IMGSTAT_F64, IMGSTAT_PERCENTILE, 1, 0.435, 0.681},
        {1, 8192, 4096, 1, IMGSTAT_F64, IMGSTAT_PERCENTILE, 2, 0.356, 0.671},
        {1, 8192, 4096, 1, IMGSTAT_F64, IMGSTAT_PERCENTILE, 4, 0.280, 0.634},
        {1, 8192, 4096, 1, IMGSTAT_F64, IMGSTAT_PERCENTILE, 16, 0.292, 0.615},
        {1, 8192, 8192, 1, IMGSTAT_F32, IMGSTAT_GAMMA, 1, 0.373, 0.419},
        {1, 8192, 8192, 1, IMGSTAT_F32, IMGSTAT_GAMMA, 2, 0.264, 0.435},
        {1, 8192, 8192, 1, IMGSTAT_F32, IMGSTAT_GAMMA, 4, 0.192, 0.453},
        {1, 8192, 8192, 1, IMGSTAT_F32, IMGSTAT_GAMMA, 16, 0.165, 0.496},
        {16, 2048, 2048, 1, IMGSTAT_F32, IMGSTAT_GAMMA, 1, 0.365, 0.495},
        {16, 2048, 2048, 1, IMGSTAT_F32, IMGSTAT_GAMMA, 2, 0.189, 0.407},
        {16, 2048, 2048, 1, IMGSTAT_F32, IMGSTAT_GAMMA, 4, 0.120, 0.393},
        {16, 2048, 2048, 1, IMGSTAT_F32, IMGSTAT_GAMMA, 16, 0.058, 0.453},
        {1, 8192, 8192, 1, IMGSTAT_F32, IMGSTAT_EQUALIZE, 1, 1.326, 0.679},
        {1, 8192, 8192, 1, IMGSTAT_F32, IMGSTAT_EQUALIZE, 2, 1.061, 0.709},
        {1, 8192, 8192, 1, IMGSTAT_F32, IMGSTAT_EQUALIZE, 4, 0.717, 0.608},
        {1, 8192, 8192, 1, IMGSTAT_F32, IMGSTAT_EQUALIZE, 16, 0.552, 0.646},
        {16, 2048, 2048, 1, IMGSTAT_F32, IMGSTAT_EQUALIZE, 1, 1.402, 0.636},
        {16, 2048, 2048, 1, IMGSTAT_F32, IMGSTAT_EQUALIZE, 2, 0.721, 0.529},
        {16, 2048, 2048, 1, IMGSTAT_F32, IMGSTAT_EQUALIZE, 4, 0.345, 0.527},
        {16, 2048, 2048, 1, IMGSTAT_F32, IMGSTAT_EQUALIZE, 16, 0.285, 0.884},
        {1, 8192, 8192, 1, IMGSTAT_F32, IMGSTAT_EQUALIZE, 1, 1.542, 0.831},
        {1, 8192, 8192, 1, IMGSTAT_F32, IMGSTAT_EQUALIZE, 2, 1.139, 0.628},
        {1, 8192, 8192, 1, IMGSTAT_F32, IMGSTAT_EQUALIZE, 4, 0.786, 0.669},
        {1, 8192, 8192, 1, IMGSTAT_F32, IMGSTAT_EQUALIZE, 16, 0.576, 0.702},
        {16, 2048, 2048, 1, IMGSTAT_F32, IMGSTAT_EQUALIZE, 1, 1.430, 0.755},
        {16, 2048, 2048, 1, IMGSTAT_F32, IMGSTAT_EQUALIZE, 2, 0.772, 0.504},
        {16, 2048, 2048, 1, IMGSTAT_F32, IMGSTAT_EQUALIZE, 4, 0.532, 0.622},
        {16, 2048, 2048, 1, IMGSTAT_F32, IMGSTAT_EQUALIZE, 16, 0.331, 0.928},
        {1, 4096, 4096, 1, IMGSTAT_F32, IMGSTAT_EQUALIZE, 1, 0.366, 0.435},
        {1, 4096, 4096, 1, IMGSTAT_F32, IMGSTAT_EQUALIZE, 2, 0.284, 0.451},
        {1, 4096, 4096, 1, IMGSTAT_F32, IMGSTAT_EQUALIZE, 4, 0.230, 0.423},
        {1, 4096, 4096, 1, IMGSTAT_F32, IMGSTAT_EQUALIZE, 16, 0.193, 0.434},
        {1, 8192, 4096, 1, IMGSTAT_F64, IMGSTAT_EQUALIZE, 1, 1.765, 0.773},
        {1, 8192, 4096, 1, IMGSTAT_F64, IMGSTAT_EQUALIZE, 2, 1.122, 0.671},
        {1, 8192, 4096, 1, IMGSTAT_F64, IMGSTAT_EQUALIZE, 4, 0.771, 0.650},
        {1, 8192, 4096, 1, IMGSTAT_F64, IMGSTAT_EQUALIZE, 16, 0.575, 0.708},
        {1, 8192, 8192, 3, IMGSTAT_U8, IMGSTAT_EQUALIZE, 1, 0.583, 0.714},
        {1, 8192, 8192, 3, IMGSTAT_U8, IMGSTAT_EQUALIZE, 16, 0.251, 0.579},
        {1, 16384, 8192, 1, IMGSTAT_U16, IMGSTAT_CLAHE, 1, 0.638, 0.720},
        {1, 16384, 8192, 1, IMGSTAT_U16, IMGSTAT_CLAHE, 2, 0.416, 0.664},
        {1, 16384, 8192, 1, IMGSTAT_U16, IMGSTAT_CLAHE, 4, 0.407, 0.726},
        {1, 16384, 8192, 1, IMGSTAT_U16, IMGSTAT_CLAHE, 16, 0.346, 0.710},
        {1, 8192, 8192, 3, IMGSTAT_U8, IMGSTAT_CLAHE, 1, 0.786, 0.632},
        {1, 8192, 8192, 3, IMGSTAT_U8, IMGSTAT_CLAHE, 2, 0.568, 0.633},
        {1, 8192, 8192, 3, IMGSTAT_U8, IMGSTAT_CLAHE, 4, 0.454, 0.643},
        {1, 8192, 8192, 3, IMGSTAT_U8, IMGSTAT_CLAHE, 16, 0.381, 0.686},
        {8, 2048, 2048, 3, IMGSTAT_U8, IMGSTAT_CLAHE, 2, 0.229, 0.495},
        {8, 2048, 2048, 3, IMGSTAT_U8, IMGSTAT_CLAHE, 16, 0.060, 0.658},
        {2, 4000, 3000, 3, IMGSTAT_U8, IMGSTAT_CLAHE, 2, 1.454, 1.939},  /* png */
        {2, 4000, 3000, 3, IMGSTAT_U8, IMGSTAT_CLAHE, 16, 0.327, 0.732}, /* png */
        {1, 4096, 4096, 1, IMGSTAT_F32, IMGSTAT_GAMMA, 1, 0.114, 0.329},
        {1, 4096, 4096, 1, IMGSTAT_F32, IMGSTAT_GAMMA, 16, 0.058, 0.396},
        {1, 8192, 8192, 1, IMGSTAT_F32, IMGSTAT_STRETCH, 2, 0.365, 0.698},
        {1, 8192, 8192, 1, IMGSTAT_F32, IMGSTAT_STRETCH, 16, 0.289, 0.689},
        {1, 16384, 16384, 1, IMGSTAT_F32, IMGSTAT_STRETCH, 2, 1.006, 1.028},
        {2, 4000, 3000, 3, IMGSTAT_U8, IMGSTAT_EQUALIZE, 2, 0.829, 1.185}, /* png */
        {1, 16384, 8192, 1, IMGSTAT_U16, IMGSTAT_EQUALIZE, 2, 0.290, 0.693},
        {2, 4000, 3000, 3, IMGSTAT_U8, IMGSTAT_STRETCH, 16, 0.236, 0.621},   /* png */
        {4, 2048, 2048, 1, IMGSTAT_U16, IMGSTAT_STRETCH, 16, 0.070, 0.462},  /* deflate */
        {4, 2048, 2048, 1, IMGSTAT_F32, IMGSTAT_STRETCH, 16, 0.153, 0.576},  /* deflate */
        {4, 2048, 2048, 1, IMGSTAT_F32, IMGSTAT_EQUALIZE, 1, 1.731, 1.907},  /* deflate */
        {4, 2048, 2048, 1, IMGSTAT_F32, IMGSTAT_EQUALIZE, 2, 0.907, 1.128},  /* deflate */
        {4, 2048, 2048, 1, IMGSTAT_F32, IMGSTAT_EQUALIZE, 4, 0.556, 0.934},  /* deflate */
        {4, 2048, 2048, 1, IMGSTAT_F32, IMGSTAT_EQUALIZE, 16, 0.189, 0.568}, /* deflate */
        {1, 16384, 8192, 1, IMGSTAT_U16, IMGSTAT_STRETCH, 16, 0.276, 0.668},
        {16, 2048, 2048, 1, IMGSTAT_F32, IMGSTAT_STRETCH, 16, 0.059, 0.849},
        {60, 512, 512, 3, IMGSTAT_U8, IMGSTAT_STRETCH, 2, 0.569, 0.900}, /* png */
        {16, 2048, 2048, 1, IMGSTAT_F32, IMGSTAT_STRETCH, 2, 0.174, 0.477},
        {1, 4096, 4096, 3, IMGSTAT_F32, IMGSTAT_EQUALIZE, 1, 1.529, 0.865},
        {1, 4096, 4096, 3, IMGSTAT_F32, IMGSTAT_EQUALIZE, 4, 0.845, 0.856},
        {1, 4096, 4096, 3, IMGSTAT_F32, IMGSTAT_EQUALIZE, 16, 0.692, 0.781},
        {1, 4096, 4096, 3, IMGSTAT_U32, IMGSTAT_EQUALIZE, 1, 1.649, 0.817},
        {1, 4096, 4096, 3, IMGSTAT_U32, IMGSTAT_EQUALIZE, 4, 0.862, 0.799},
        {1, 4096, 4096, 3, IMGSTAT_U32, IMGSTAT_EQUALIZE, 16, 0.706, 0.867},
        {6, 2048, 2048, 3, IMGSTAT_F32, IMGSTAT_EQUALIZE, 1, 1.366, 0.887},
        {6, 2048, 2048, 3, IMGSTAT_F32, IMGSTAT_EQUALIZE, 4, 0.595, 0.778},
        {6, 2048, 2048, 3, IMGSTAT_F32, IMGSTAT_EQUALIZE, 16, 0.297, 0.798},
        {1, 8192, 4096, 3, IMGSTAT_U16, IMGSTAT_EQUALIZE, 1, 0.414, 0.707},
        {1, 8192, 4096, 3, IMGSTAT_U16, IMGSTAT_EQUALIZE, 4, 0.321, 0.676},
        {1, 8192, 4096, 3, IMGSTAT_U16, IMGSTAT_EQUALIZE, 16, 0.326, 0.737},
    };
    static const Transformed to_bytes[] = {
        {1, 4096, 4096, 3, IMGSTAT_F32, IMGSTAT_EQUALIZE, 1, 1.395, 0.900},
        {1, 4096, 4096, 3, IMGSTAT_F32, IMGSTAT_EQUALIZE, 4, 0.766, 0.820},
        {1, 4096, 4096, 3, IMGSTAT_F32, IMGSTAT_EQUALIZE, 16, 0.661, 0.783},
        {1, 4096, 4096, 3, IMGSTAT_U32, IMGSTAT_EQUALIZE, 1, 1.618, 0.761},
        {1, 4096, 4096, 3, IMGSTAT_U32, IMGSTAT_EQUALIZE, 4, 0.726, 0.716},
        {1, 4096, 4096, 3, IMGSTAT_U32, IMGSTAT_EQUALIZE, 16, 0.594, 0.712},
        {6, 2048, 2048, 3, IMGSTAT_F32, IMGSTAT_EQUALIZE, 1, 1.627, 0.819},
        {6, 2048, 2048, 3, IMGSTAT_F32, IMGSTAT_EQUALIZE, 4, 0.610, 0.724},
        {6, 2048, 2048, 3, IMGSTAT_F32, IMGSTAT_EQUALIZE, 16, 0.268, 0.802},
        {1, 8192, 4096, 3, IMGSTAT_U16, IMGSTAT_EQUALIZE, 1, 0.419, 0.637},
        {1, 8192, 4096, 3, IMGSTAT_U16, IMGSTAT_EQUALIZE, 4, 0.286, 0.663},
        {1, 8192, 4096, 3, IMGSTAT_U16, IMGSTAT_EQUALIZE, 16, 0.299, 0.665},
    };
    check_choices(rows, sizeof rows / sizeof rows[0], IMGSTAT_DEPTH_KEEP);
    check_choices(to_bytes, sizeof to_bytes / sizeof to_bytes[0], IMGSTAT_DEPTH_8);
}

/* One thread against a GPU, over gigabytes of doubles that are read many times. */
Test(cost, much_work_for_few_processors_pays_for_a_gpu)
{
    const ImgstatMeasure how = {.median = true, .histogram = true, .shape = true};
    const CostWork work = many(16, page(20000, 1, IMGSTAT_F64), how);
    cr_assert_gt(cost_cpu(&work, 1), cost_cuda(&work, 1));
}
