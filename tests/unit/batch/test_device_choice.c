/* SPDX-License-Identifier: MIT */
/* test_device_choice.c: the rule prefers the device that was faster where both were timed. */
#include "batch/device_choice.h"

#include <criterion/criterion.h>

static ImgstatPage page(uint32_t width, uint32_t height, uint16_t channels, ImgstatSample sample)
{
    return (ImgstatPage){.format = "tiff",
                         .pages = 1,
                         .width = width,
                         .height = height,
                         .channels = channels,
                         .sample = sample,
                         .alpha = -1,
                         .photometric = channels == 3 ? "rgb" : "gray"};
}

static WorkSum measured(double n, ImgstatPage one, ImgstatMeasure how)
{
    WorkSum sum = {0};
    work_add(&sum, &one, &(ImgstatWork){.measure = &how}, false, n);
    return sum;
}

/* The rule takes the device that was faster, or one within a tenth of it. cpu, cuda: seconds that
 * were measured. */
static void expect_faster(size_t row, const WorkSum *sum, unsigned threads, double cpu, double cuda)
{
    const double cpu_expected = work_seconds_cpu(sum, threads);
    const double cuda_expected = work_seconds_cuda(sum, threads);
    const double taken = cuda_expected < cpu_expected ? cuda : cpu;
    const double best = cuda < cpu ? cuda : cpu;
    cr_expect_leq(taken, 1.1 * best, "row %zu: %g and %g s expected, %g and %g measured", row,
                  cpu_expected, cuda_expected, cpu, cuda);
}

Test(device_choice, little_work_never_opens_a_gpu)
{
    const WorkSum nothing = {0};
    const WorkSum photo =
        measured(1, page(4000, 4000, 3, IMGSTAT_U8), (ImgstatMeasure){.median = true});
    const WorkSum small =
        measured(1000, page(256, 256, 3, IMGSTAT_U8), (ImgstatMeasure){.median = true});
    for (unsigned threads = 1; threads <= 256; threads *= 2) {
        cr_assert_lt(work_seconds_cpu(&nothing, threads), work_seconds_cuda(&nothing, threads));
        cr_assert_lt(work_seconds_cpu(&photo, threads), work_seconds_cuda(&photo, threads));
        cr_assert_lt(work_seconds_cpu(&small, threads), work_seconds_cuda(&small, threads));
    }
}

Test(device_choice, more_threads_never_take_longer)
{
    const WorkSum sum =
        measured(10, page(8000, 8000, 1, IMGSTAT_F64), (ImgstatMeasure){.shape = true});
    for (unsigned threads = 1; threads < 256; threads *= 2)
        cr_assert_gt(work_seconds_cpu(&sum, threads), work_seconds_cpu(&sum, 2 * threads));
}

Test(device_choice, much_work_for_one_thread_pays_for_a_gpu)
{
    const ImgstatMeasure how = {.median = true, .histogram = true, .shape = true};
    const WorkSum sum = measured(16, page(20000, 20000, 1, IMGSTAT_F64), how);
    cr_assert_gt(work_seconds_cpu(&sum, 1), work_seconds_cuda(&sum, 1));
}

/* Whole commands, in seconds, on an H200 or an H100 beside 16 processors (tests/bench/devices.sh):
 * what is chosen takes at most 1.1 times the better. */
Test(device_choice, chooses_what_was_faster)
{
    static const struct {
        double n;
        uint32_t width, height;
        uint16_t channels;
        ImgstatSample sample;
        ImgstatTransform transform;
        unsigned threads;
        double cpu, cuda;
    } rows[] = {
        {1, 8192, 8192, 1, IMGSTAT_F32, IMGSTAT_STRETCH, 1, 0.464, 0.800},
        {16, 2048, 2048, 1, IMGSTAT_F32, IMGSTAT_PERCENTILE, 4, 0.137, 0.614},
        {1, 8192, 4096, 1, IMGSTAT_F64, IMGSTAT_GAMMA, 1, 0.461, 0.497},
        {1, 8192, 8192, 1, IMGSTAT_F32, IMGSTAT_EQUALIZE, 1, 1.326, 0.679},
        {1, 8192, 8192, 1, IMGSTAT_F32, IMGSTAT_EQUALIZE, 4, 0.717, 0.608},
        {1, 8192, 8192, 1, IMGSTAT_F32, IMGSTAT_EQUALIZE, 16, 0.552, 0.646},
        {16, 2048, 2048, 1, IMGSTAT_F32, IMGSTAT_EQUALIZE, 1, 1.402, 0.636},
        {16, 2048, 2048, 1, IMGSTAT_F32, IMGSTAT_EQUALIZE, 16, 0.285, 0.884},
        {1, 4096, 4096, 1, IMGSTAT_F32, IMGSTAT_EQUALIZE, 1, 0.366, 0.435},
        {1, 8192, 4096, 1, IMGSTAT_F64, IMGSTAT_EQUALIZE, 2, 1.122, 0.671},
        {1, 8192, 4096, 1, IMGSTAT_F64, IMGSTAT_EQUALIZE, 16, 0.575, 0.708},
        {1, 16384, 8192, 1, IMGSTAT_U16, IMGSTAT_CLAHE, 1, 0.638, 0.720},
        {1, 8192, 8192, 3, IMGSTAT_U8, IMGSTAT_CLAHE, 1, 0.786, 0.632},
        {1, 8192, 8192, 3, IMGSTAT_U8, IMGSTAT_CLAHE, 4, 0.454, 0.643},
        {1, 8192, 8192, 3, IMGSTAT_U8, IMGSTAT_EQUALIZE, 16, 0.251, 0.579},
        {1, 4096, 4096, 3, IMGSTAT_F32, IMGSTAT_EQUALIZE, 1, 1.529, 0.865},
        {6, 2048, 2048, 3, IMGSTAT_F32, IMGSTAT_EQUALIZE, 4, 0.595, 0.778},
        {1, 4096, 4096, 3, IMGSTAT_U32, IMGSTAT_EQUALIZE, 1, 1.649, 0.817},
        {1, 4096, 4096, 3, IMGSTAT_U32, IMGSTAT_EQUALIZE, 16, 0.706, 0.867},
        {60, 512, 512, 3, IMGSTAT_U8, IMGSTAT_STRETCH, 2, 0.569, 0.900},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const ImgstatPage one =
            page(rows[i].width, rows[i].height, rows[i].channels, rows[i].sample);
        const ImgstatMethod method = {.transform = rows[i].transform};
        WorkSum sum = {0};
        work_add(&sum, &one, &(ImgstatWork){.method = &method}, false, rows[i].n);
        expect_faster(i, &sum, rows[i].threads, rows[i].cpu, rows[i].cuda);
    }
}

/* `stats` and `normalize` of photographs and small images beside an H100
 * (tests/bench/time_jobs.py): PNGs and TIFFs to PNG, and tiles to tiles. */
Test(device_choice, chooses_who_decodes)
{
    static const struct {
        const char *format;
        double n;
        uint32_t width, height;
        uint16_t channels;
        unsigned threads;
        double cpu, cuda;
        FedOutput to;
        bool fast;
    } rows[] = {
        {"png", 256, 1507, 2048, 3, 16, 0.57, 0.91, FED_MEASURED, false},
        {"png", 256, 1507, 2048, 3, 4, 2.23, 0.81, FED_MEASURED, false},
        {"png", 2000, 1507, 2048, 3, 16, 4.59, 1.79, FED_MEASURED, false},
        {"png", 2000, 1507, 2048, 3, 4, 14.10, 1.70, FED_MEASURED, false},
        {"png", 2000, 1507, 2048, 3, 8, 8.32, 1.79, FED_MEASURED, false},
        {"png", 256, 1507, 2048, 3, 8, 1.18, 0.86, FED_MEASURED, false},
        {"png", 10000, 512, 512, 1, 16, 1.02, 0.97, FED_MEASURED, false},
        {"png", 10000, 512, 512, 1, 8, 1.72, 1.00, FED_MEASURED, false},
        {"png", 10000, 512, 512, 1, 4, 3.26, 1.18, FED_MEASURED, false},
        {"png", 60000, 512, 512, 1, 16, 5.56, 2.18, FED_MEASURED, false},
        {"png", 100, 1507, 2048, 3, 16, 0.35, 0.78, FED_PNG, false},
        {"png", 100, 1507, 2048, 3, 4, 1.25, 0.87, FED_PNG, false},
        {"png", 256, 1507, 2048, 3, 16, 0.87, 1.13, FED_PNG, false},
        {"png", 256, 1507, 2048, 3, 4, 3.21, 1.12, FED_PNG, false},
        {"png", 256, 1507, 2048, 3, 2, 5.77, 1.12, FED_PNG, false},
        {"png", 256, 1507, 2048, 3, 8, 1.57, 1.05, FED_PNG, false},
        {"png", 2000, 1507, 2048, 3, 16, 6.96, 3.36, FED_PNG, false},
        {"png", 256, 1507, 2048, 3, 16, 1.04, 1.14, FED_TIFF, false},
        {"png", 256, 1507, 2048, 3, 8, 2.00, 1.09, FED_TIFF, false},
        {"png", 2000, 1507, 2048, 3, 16, 8.67, 3.66, FED_TIFF, false},
        {"png", 256, 1507, 2048, 3, 16, 0.84, 1.08, FED_PNG, true},
        {"png", 256, 1507, 2048, 3, 4, 2.58, 1.05, FED_PNG, true},
        {"png", 2000, 1507, 2048, 3, 16, 5.28, 2.97, FED_PNG, true},
        {"tiff", 256, 1507, 2048, 3, 16, 0.40, 0.62, FED_MEASURED, false},
        {"tiff", 2000, 1507, 2048, 3, 16, 2.84, 1.22, FED_MEASURED, false},
        {"tiff", 2000, 1507, 2048, 3, 4, 10.44, 1.21, FED_MEASURED, false},
        {"tiff", 1024, 1507, 2048, 3, 16, 3.33, 1.72, FED_PNG, false},
        {"tiff", 256, 1507, 2048, 3, 4, 2.80, 1.84, FED_PNG, false},
        {"tiff", 100, 1507, 2048, 3, 16, 0.56, 0.85, FED_TIFF, false},
        {"tiff", 100, 1507, 2048, 3, 4, 1.91, 0.94, FED_TIFF, false},
        {"tiff", 200, 1507, 2048, 3, 16, 1.61, 1.55, FED_TIFF, false}, /* 20 stacks of 10 */
        {"tiff", 200, 1507, 2048, 3, 4, 4.51, 1.51, FED_TIFF, false},
        {"tiff", 600, 1507, 2048, 3, 16, 3.83, 2.06, FED_TIFF, false}, /* 60 of them */
        {"tiff", 600, 1507, 2048, 3, 4, 10.42, 1.48, FED_TIFF, false},
        {"tiff", 1024, 1507, 2048, 3, 16, 5.27, 1.99, FED_TIFF, false},
        {"tiff", 1024, 1507, 2048, 3, 16, 3.21, 1.60, FED_TIFF, true},
        {"tiff", 200, 1507, 2048, 3, 16, 0.69, 0.94, FED_TIFF, true},
        {"tiff", 200, 1507, 2048, 3, 4, 2.10, 1.34, FED_TIFF, true},
    };
    const ImgstatMeasure how = {.median = true};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ImgstatPage one = page(rows[i].width, rows[i].height, rows[i].channels, IMGSTAT_U8);
        one.format = rows[i].format;
        const ImgstatMethod method = {.transform = IMGSTAT_STRETCH};
        const ImgstatWork work = {.measure = rows[i].to != FED_MEASURED ? NULL : &how,
                                  .method = &method};
        WorkSum sum = {0};
        work_add(&sum, &one, &work, false, rows[i].n);
        work_add_fed(&sum, &one, 0, rows[i].width == 512 ? 184e3 : 3e6, rows[i].n);
        if (rows[i].to != FED_MEASURED)
            work_add_packed(&sum, &one, rows[i].to, rows[i].fast, false, rows[i].n);
        expect_faster(i, &sum, rows[i].threads, rows[i].cpu, rows[i].cuda);
    }
}

/* One TIFF of deflate tiles, RGB of 8 bits, measured, and written as such
 * (docs/lab/2026-11-26-tiff-folders.md, 2026-11-26-auto-written.md). */
Test(device_choice, chooses_for_large_tiled_pages)
{
    static const struct {
        uint32_t side;
        unsigned threads;
        double cpu, cuda;
        bool written;
        ImgstatTransform transform;
        bool fast;
    } rows[] = {
        {25600, 16, 0.33, 0.76, false, IMGSTAT_STRETCH, false},
        {25600, 8, 0.59, 0.63, false, IMGSTAT_STRETCH, false},
        {25600, 4, 1.17, 0.69, false, IMGSTAT_STRETCH, false},
        {25600, 2, 2.23, 0.74, false, IMGSTAT_STRETCH, false},
        {58880, 16, 1.66, 1.31, false, IMGSTAT_STRETCH, false},
        {58880, 8, 3.19, 1.20, false, IMGSTAT_STRETCH, false},
        {58880, 4, 6.32, 1.20, false, IMGSTAT_STRETCH, false},
        {25600, 16, 3.48, 2.81, true, IMGSTAT_EQUALIZE, false},
        {25600, 16, 4.56, 3.00, true, IMGSTAT_CLAHE, false},
        {25600, 16, 2.44, 1.58, true, IMGSTAT_STRETCH, false},
        {25600, 16, 1.49, 1.29, true, IMGSTAT_STRETCH, true},
        {25600, 4, 3.80, 1.30, true, IMGSTAT_STRETCH, true},
        {12800, 16, 0.65, 0.97, true, IMGSTAT_STRETCH, false},
        {12800, 4, 1.27, 0.84, true, IMGSTAT_STRETCH, false},
        {14080, 16, 0.47, 0.86, true, IMGSTAT_STRETCH, true},
        {14080, 4, 0.92, 0.91, true, IMGSTAT_STRETCH, true},
    };
    const ImgstatMeasure how = {.median = true};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const ImgstatPage one = page(rows[i].side, rows[i].side, 3, IMGSTAT_U8);
        const ImgstatMethod method = {.transform = rows[i].transform};
        const ImgstatWork work = {.measure = rows[i].written ? NULL : &how, .method = &method};
        WorkSum sum = {0};
        work_add(&sum, &one, &work, true, 1);
        if (rows[i].written)
            work_add_packed(&sum, &one, FED_TIFF, rows[i].fast, true, 1);
        expect_faster(i, &sum, rows[i].threads, rows[i].cpu, rows[i].cuda);
    }
}

Test(device_choice, names_a_device_and_a_reason)
{
    char why[200] = "";
    const ImgstatMeasure how = {0};
    const ImgstatJob job = {.input = "missing.png"};
    const char *const name =
        imgstat_device_choose(&job, 1, &(ImgstatWork){.measure = &how}, NULL, 2, why, sizeof why);
    cr_assert_str_eq(name, "cpu", "nothing to read is nothing to do");
    cr_assert_str_not_empty(why);
}
