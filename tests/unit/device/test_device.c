/* SPDX-License-Identifier: MIT */
/* test_device.c: work that is cancelled at every moment: it fails, and the device's next call does
 * not notice. */
#include "device/device.h"

#include "base/compiler.h"
#include "helper_measure.h"
#include "helper_transform.h"

#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdio.h>

enum { WIDTH = 300, HEIGHT = 1500 };

/* Of calls: the number after which they say that work should end. */
typedef struct Moment {
    atomic_size_t asked;
    size_t most;
} Moment;

static bool on_cancelled(void *context)
{
    Moment *const moment = context;
    return atomic_fetch_add(&moment->asked, 1) >= moment->most;
}

/* Work on an image, whose result is a hash. */
typedef ImgstatResult Work(ImgstatDevice *device, const ImagePro *image, uint64_t *result,
                           ImgstatError *err);

static ImgstatResult measure(ImgstatDevice *device, const ImagePro *image, uint64_t *result,
                             ImgstatError *err)
{
    const double percentiles[] = {1, 99};
    const ImgstatMeasure how = {
        .percentiles = percentiles, .n_percentiles = 2, .mode = true, .shape = true, .hash = true};
    ImgstatRecord *record;
    const ImgstatResult res = imgstat_measure_image(device, image, &how, &record, err);
    cr_assert_eq(res == IMGSTAT_OK, record != NULL);
    ImgstatStats stats = {.count = 0};
    if (record)
        imgstat_record_stats(record, 0, &stats);
    const double numbers[] = {stats.sum, stats.median, imgstat_value_double(stats.mode)};
    *result = stats.count ^ stats.min_at << 20 ^ stats.max_at << 40;
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        uint64_t bits;
        memcpy(&bits, &numbers[i], sizeof bits);
        *result = *result * 3 + bits;
    }
    imgstat_record_destroy(record);
    return res;
}

static ImgstatResult transform(ImgstatDevice *device, const ImagePro *image,
                               ImgstatTransform transform, uint64_t *result, ImgstatError *err)
{
    const ImgstatMethod how = {.transform = transform};
    ImagePro to = {.host = NULL};
    const ImgstatResult res = imgstat_image_transform(device, &how, image, -1, NULL, &to, err);
    cr_assert_eq(res == IMGSTAT_OK, to.host != NULL);
    *result = res == IMGSTAT_OK ? image_fnv(&to) : 0;
    imgstat_image_release(&to);
    return res;
}

static ImgstatResult equalize(ImgstatDevice *device, const ImagePro *image, uint64_t *result,
                              ImgstatError *err)
{
    return transform(device, image, IMGSTAT_EQUALIZE, result, err);
}

static ImgstatResult clahe(ImgstatDevice *device, const ImagePro *image, uint64_t *result,
                           ImgstatError *err)
{
    return transform(device, image, IMGSTAT_CLAHE, result, err);
}

static size_t cancel_everywhere(Work *work, const ImagePro *image, unsigned threads)
{
    ImgstatDevice *const device = measure_device(threads);
    Moment moment = {.most = SIZE_MAX};
    ImgstatError err;
    uint64_t want, got;
    imgstat_device_cancel(device, on_cancelled, &moment);
    cr_assert_eq(work(device, image, &want, &err), IMGSTAT_OK);
    const size_t n = atomic_load(&moment.asked);
    for (moment.most = 0; moment.most < n; moment.most += 1 + n / 10) {
        atomic_store(&moment.asked, 0);
        cr_expect_eq(work(device, image, &got, &err), IMGSTAT_ERR_CANCELLED);
        cr_expect_eq(err.code, IMGSTAT_ERR_CANCELLED);
        imgstat_device_cancel(device, NULL, NULL);
        cr_expect_eq(work(device, image, &got, &err), IMGSTAT_OK);
        cr_expect_eq(got, want);
        imgstat_device_cancel(device, on_cancelled, &moment);
    }
    imgstat_device_close(device);
    return n;
}

Test(device, is_cancelled_at_every_moment)
{
    static const ImgstatSample samples[] = {IMGSTAT_U8, IMGSTAT_U16, IMGSTAT_F32};
    static Work *const works[] = {measure, equalize, clahe};
    size_t n = 0;
    for (size_t s = 0; s < ARRAY_LEN(samples); s++) {
        ImagePro image = pattern_image("noise", WIDTH, HEIGHT, samples[s]);
        const size_t n_works = samples[s] == IMGSTAT_F32 ? 2 : 3; /* there is no CLAHE of it */
        for (size_t w = 0; w < n_works; w++)
            for (unsigned threads = 1; threads <= 3; threads += 2) {
                const size_t asked = cancel_everywhere(works[w], &image, threads);
                cr_expect_geq(asked, 3, "%zu", asked);
                n += asked;
            }
        imgstat_image_release(&image);
    }
    fprintf(stderr, "asked %zu times\n", n);
}
