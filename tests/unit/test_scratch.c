/* SPDX-License-Identifier: MIT */
/* test_scratch.c: memory that is kept: for the sizes that come again, no more than it may be; and
 * twice as many images ask the system for large blocks as often. */
#include "device.h"
#include "helper_encode.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGE = 64 << 10 };

/* In place of the C library's: counts large blocks, which come from here (scratch.c). */
static size_t large_blocks;

void *aligned_alloc(size_t alignment, size_t bytes)
{
    void *memory = NULL;
    if (bytes >= LARGE)
        __atomic_fetch_add(&large_blocks, 1, __ATOMIC_RELAXED);
    return posix_memalign(&memory, alignment, bytes) == 0 ? memory : NULL;
}

Test(scratch, comes_again)
{
    Scratch *const scratch = scratch_create();
    void *const a = scratch_take(scratch, 100000), *const b = scratch_take(scratch, 300001);
    cr_assert(a && b && (uintptr_t)a % 64 == 0 && (uintptr_t)b % 64 == 0);
    memset(a, 1, 100000);
    memset(b, 2, 300001);
    cr_assert_eq(scratch_made(scratch), 2);
    scratch_give(a);
    scratch_give(b);
    scratch_give(NULL);
    cr_assert_eq(scratch_take(scratch, 99000), a, "a little less");
    cr_assert_eq(scratch_take(scratch, 300001), b);
    cr_assert_eq(scratch_made(scratch), 2);
    scratch_give(a);
    scratch_give(b);
    void *const c = scratch_take(scratch, 40000);
    cr_assert(c != a && c != b, "a large block is not for something small");
    void *const d = scratch_take(scratch, 350000);
    cr_assert(d && scratch_made(scratch) == 4);
    scratch_give(d);
    cr_assert_eq(scratch_take(scratch, 300001), d, "it took the place of the smaller one");
    scratch_give(c);
    scratch_give(d);
    cr_assert_null(scratch_take(scratch, SIZE_MAX - 10));
    scratch_destroy(scratch);
    scratch_destroy(NULL);
}

Test(scratch, keeps_what_it_may)
{
    Scratch *const scratch = scratch_create();
    void *memory[4];
    for (size_t i = 0; i < 4; i++)
        memory[i] = scratch_take(scratch, 100000 << i);
    for (size_t i = 0; i < 4; i++)
        scratch_give(memory[i]);
    scratch_trim(scratch, 600000); /* the last is too large, the two before it fit */
    for (size_t i = 0; i < 4; i++)
        memory[i] = scratch_take(scratch, 100000 << i);
    cr_assert_eq(scratch_made(scratch), 4 + 2);
    for (size_t i = 0; i < 4; i++)
        scratch_give(memory[i]);
    scratch_trim(scratch, 0);
    cr_assert(memory[0] = scratch_take(scratch, 100000));
    cr_assert_eq(scratch_made(scratch), 4 + 2 + 1);
    scratch_destroy(scratch); /* a block is out */
    memset(memory[0], 1, 100000);
    scratch_give(memory[0]);
    void *const nobodys = scratch_take(NULL, 100000), *const small = scratch_take(NULL, 0);
    cr_assert(nobodys && small);
    scratch_give(nobodys);
    scratch_give(small);
}

static void *take_and_give(void *context)
{
    Scratch *const scratch = context;
    for (size_t i = 0; i < 5000; i++) {
        unsigned char *const a = scratch_take(scratch, 50000 + 977 * (i % 50));
        unsigned char *const b = scratch_take(scratch, 200000 - 977 * (i % 50));
        a[0] = b[0] = (unsigned char)i;
        a[49999] = b[150000] = (unsigned char)(i + 1);
        cr_assert(a != b && a[0] == (unsigned char)i && b[150000] == (unsigned char)(i + 1));
        scratch_give(i % 2 ? a : b);
        scratch_give(i % 2 ? b : a);
    }
    return NULL;
}

Test(scratch, threads_share_it)
{
    enum { THREADS = 4 };
    Scratch *const scratch = scratch_create();
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&thread[i], NULL, take_and_give, scratch), 0);
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_join(thread[i], NULL), 0);
    scratch_destroy(scratch);
}

TestSuite(images, .init = encode_begin, .fini = encode_end);

static void write_image(const EncodeFormat *format, ImgstatSample sample)
{
    const EncodePage page = {.width = 500,
                             .height = 400,
                             .channels = 3,
                             .sample = sample,
                             .bits = (uint8_t)(8 * imgstat_sample_bytes(sample)),
                             .alpha = -1};
    const EncodeHow how = {.level = 1};
    ImgstatError err = {.message = ""};
    uint8_t *const pixels = encode_pixels(&page);
    cr_assert_eq(encode_file(format, &how, &page, NULL, NULL, pixels, page.height, &err),
                 IMGSTAT_OK, "%s", err.message);
    free(pixels);
}

/* Large blocks that n equal jobs ask for. */
static size_t blocks_of_batch(size_t n, unsigned threads, ImgstatTransform transform)
{
    ImgstatJob jobs[64];
    const ImgstatBatch batch = {.method = {.transform = transform}, .threads = threads};
    ImgstatError err = {.message = ""};
    cr_assert_leq(n, 64);
    for (size_t i = 0; i < n; i++)
        jobs[i] = (ImgstatJob){.input = encode_path, .output = "/dev/null"};
    const size_t before = large_blocks;
    cr_assert_eq(imgstat_batch_run(&batch, jobs, n, &err), IMGSTAT_OK, "%s", err.message);
    return large_blocks - before;
}

static size_t blocks_of_measuring(size_t n)
{
    const ImgstatMeasure how = {.median = true, .mode = true, .histogram = true};
    ImgstatDevice *device;
    const size_t before = large_blocks;
    cr_assert_eq(imgstat_device_open("cpu", 1, &device, NULL), IMGSTAT_OK);
    for (size_t i = 0; i < n; i++) {
        ImgstatFile *file;
        ImgstatRecord *record;
        cr_assert_eq(imgstat_file_open(encode_path, NULL, &file, NULL), IMGSTAT_OK);
        cr_assert_eq(imgstat_measure_file(device, file, 0, &how, &record, NULL), IMGSTAT_OK);
        imgstat_record_destroy(record);
        imgstat_file_close(file);
    }
    imgstat_device_close(device);
    return large_blocks - before;
}

static void check_images(const EncodeFormat *format, ImgstatSample sample)
{
    static const ImgstatTransform transforms[] = {IMGSTAT_PERCENTILE, IMGSTAT_EQUALIZE,
                                                  IMGSTAT_GAMMA};
    write_image(format, sample);
    const size_t measured = blocks_of_measuring(2);
    cr_assert_gt(measured, 0);
    cr_assert_eq(blocks_of_measuring(8), measured);
    for (size_t t = 0; t < sizeof transforms / sizeof *transforms; t++) {
        const size_t once = blocks_of_batch(2, 1, transforms[t]);
        cr_assert_gt(once, 0);
        cr_assert_eq(blocks_of_batch(8, 1, transforms[t]), once);
    }
    /* Two workers: which of them comes first is chance; each warms up once. */
    const size_t two = blocks_of_batch(20, 2, IMGSTAT_PERCENTILE);
    cr_assert_leq(two, 2 * blocks_of_batch(2, 1, IMGSTAT_PERCENTILE) + 2, "%zu blocks", two);
    fprintf(stderr, "%s of %s: %zu blocks to measure, %zu for 20 jobs\n", format->name,
            imgstat_sample_name(sample), measured, two);
}

Test(images, png)
{
    check_images(&png_format, IMGSTAT_U8);
    check_images(&png_format, IMGSTAT_U16);
}

Test(images, tiff)
{
    check_images(&tiff_format, IMGSTAT_U8);
    check_images(&tiff_format, IMGSTAT_F32);
}

/* A file that outlives the device that it was measured by. */
Test(images, file_outlives_device)
{
    ImgstatDevice *device;
    ImgstatFile *file;
    ImgstatRecord *record;
    ImgstatPage page;
    ImagePro image;
    write_image(&png_format, IMGSTAT_U8);
    cr_assert_eq(imgstat_file_open(encode_path, NULL, &file, NULL), IMGSTAT_OK);
    cr_assert_eq(imgstat_device_open("cpu", 2, &device, NULL), IMGSTAT_OK);
    cr_assert_eq(imgstat_measure_file(device, file, 0, NULL, &record, NULL), IMGSTAT_OK);
    imgstat_record_destroy(record);
    imgstat_device_close(device);
    cr_assert_eq(imgstat_file_page(file, 0, &page, NULL), IMGSTAT_OK);
    cr_assert_eq(imgstat_image_create(page.width, page.height, page.channels, page.sample,
                                      page.bits, &image, NULL),
                 IMGSTAT_OK);
    cr_assert_eq(imgstat_file_read(file, &image, NULL), IMGSTAT_OK);
    imgstat_image_release(&image);
    imgstat_file_close(file);
}
