/* SPDX-License-Identifier: MIT */
/* test_buffer_cache.c: memory that is kept: for the sizes that come again, no more than it may be;
 * and more images ask for no more large blocks. */
#include "device/device.h"
#include "helper_encode.h"
#include "support.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As base/buffer_cache.c has it: blocks up to this malloc keeps itself. */
enum { SMALL = 32 << 10 };

/* In place of the C library's where imgstat's own code calls them (the link says so): counts. */
static size_t large_blocks, small_blocks, freed_blocks;
static _Thread_local void *release_meanwhile; /* when memory is next freed */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
void __real_free(void *memory);
void __wrap_free(void *memory);

static void count_block(size_t bytes)
{
    enum { IN_FRONT = 128 }; /* what base/buffer_cache.c puts in front is not asked for */
    __atomic_fetch_add(bytes > SMALL + IN_FRONT ? &large_blocks : &small_blocks, 1,
                       __ATOMIC_RELAXED);
}

void *__wrap_malloc(size_t bytes)
{
    count_block(bytes);
    return __real_malloc(bytes);
}

void *__wrap_calloc(size_t n, size_t bytes)
{
    count_block(n * bytes); /* none that overflows is asked for here */
    return __real_calloc(n, bytes);
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    count_block(bytes);
    return __real_realloc(memory, bytes);
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    count_block(bytes);
    return __real_aligned_alloc(alignment, bytes);
}

void __wrap_free(void *memory)
{
    void *const meanwhile = release_meanwhile;
    release_meanwhile = NULL;
    if (meanwhile)
        buffer_cache_release(meanwhile);
    __atomic_fetch_add(&freed_blocks, memory != NULL, __ATOMIC_RELAXED);
    __real_free(memory);
}

Test(scratch, comes_again)
{
    BufferCache *const scratch = buffer_cache_create();
    void *const a = buffer_cache_acquire(scratch, 100000), *const b = buffer_cache_acquire(scratch,
                                                                                           300001);
    cr_assert(a && b && (uintptr_t)a % 64 == 0 && (uintptr_t)b % 64 == 0);
    memset(a, 1, 100000);
    memset(b, 2, 300001);
    cr_assert_eq(buffer_cache_made(scratch), 2);
    buffer_cache_release(a);
    buffer_cache_release(b);
    buffer_cache_release(NULL);
    cr_assert_eq(buffer_cache_acquire(scratch, 99000), a, "a little less");
    cr_assert_eq(buffer_cache_acquire(scratch, 300001), b);
    cr_assert_eq(buffer_cache_made(scratch), 2);
    buffer_cache_release(a);
    buffer_cache_release(b);
    void *const c = buffer_cache_acquire(scratch, 40000);
    cr_assert(c != a && c != b, "a large block is not for something small");
    void *const d = buffer_cache_acquire(scratch, 350000);
    cr_assert(d && buffer_cache_made(scratch) == 4);
    buffer_cache_release(d);
    cr_assert_eq(buffer_cache_acquire(scratch, 300001), d, "it took the place of the smaller one");
    buffer_cache_release(c);
    buffer_cache_release(d);
    cr_assert_null(buffer_cache_acquire(scratch, SIZE_MAX - 10));
    buffer_cache_destroy(scratch);
    buffer_cache_destroy(NULL);
}

Test(scratch, zeroes)
{
    BufferCache *const scratch = buffer_cache_create();
    unsigned char *memory = buffer_cache_acquire(scratch, 100000);
    memset(memory, 0xA5, 100000);
    buffer_cache_release(memory);
    cr_assert_eq(buffer_cache_acquire_zeroed(scratch, 33333, 3), memory);
    for (size_t i = 0; i < 99999; i++)
        cr_assert_eq(memory[i], 0, "byte %zu", i);
    buffer_cache_release(memory);
    cr_assert_null(buffer_cache_acquire_zeroed(scratch, SIZE_MAX / 2, 3));
    buffer_cache_release(buffer_cache_acquire_zeroed(NULL, 0, 8));
    buffer_cache_destroy(scratch);
}

Test(scratch, keeps_what_it_may)
{
    BufferCache *const scratch = buffer_cache_create();
    void *memory[4];
    for (size_t i = 0; i < 4; i++)
        memory[i] = buffer_cache_acquire(scratch, (size_t)100000 << i);
    for (size_t i = 0; i < 4; i++)
        buffer_cache_release(memory[i]);
    buffer_cache_trim(scratch, 600000); /* the last is too large, the two before it fit */
    for (size_t i = 0; i < 4; i++)
        memory[i] = buffer_cache_acquire(scratch, (size_t)100000 << i);
    cr_assert_eq(buffer_cache_made(scratch), 4 + 2);
    for (size_t i = 0; i < 4; i++)
        buffer_cache_release(memory[i]);
    buffer_cache_trim(scratch, 0);
    cr_assert(memory[0] = buffer_cache_acquire(scratch, 100000));
    cr_assert_eq(buffer_cache_made(scratch), 4 + 2 + 1);
    buffer_cache_destroy(scratch); /* a block is out */
    memset(memory[0], 1, 100000);
    buffer_cache_release(memory[0]);
    void *const nobodys = buffer_cache_acquire(NULL, 100000), *const small =
                                                                  buffer_cache_acquire(NULL, 0);
    cr_assert(nobodys && small);
    buffer_cache_release(nobodys);
    buffer_cache_release(small);
}

static void *take_and_give(void *context)
{
    BufferCache *const scratch = context;
    for (size_t i = 0; i < 5000; i++) {
        unsigned char *const a = buffer_cache_acquire(scratch, 50000 + 977 * (i % 50));
        unsigned char *const b = buffer_cache_acquire(scratch, 200000 - 977 * (i % 50));
        a[0] = b[0] = (unsigned char)i;
        a[49999] = b[150000] = (unsigned char)(i + 1);
        cr_assert(a != b && a[0] == (unsigned char)i && b[150000] == (unsigned char)(i + 1));
        buffer_cache_release(i % 2 ? a : b);
        buffer_cache_release(i % 2 ? b : a);
    }
    return NULL;
}

Test(scratch, threads_share_it)
{
    enum { THREADS = 4 };
    BufferCache *const scratch = buffer_cache_create();
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&thread[i], NULL, take_and_give, scratch), 0);
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_join(thread[i], NULL), 0);
    buffer_cache_destroy(scratch);
}

/* As by another thread, while its cache is destroyed: such a buffer was kept, and lost. */
Test(scratch, is_released_while_it_is_destroyed)
{
    const size_t made = large_blocks + small_blocks, freed = freed_blocks;
    BufferCache *const scratch = buffer_cache_create();
    void *const kept = buffer_cache_acquire(scratch, SMALL + 1);
    void *const used = buffer_cache_acquire(scratch, SMALL + 1);
    cr_assert(kept && used);
    buffer_cache_release(kept);
    release_meanwhile = used;
    buffer_cache_destroy(scratch);
    cr_assert_null(release_meanwhile);
    cr_assert_eq(large_blocks + small_blocks - made, 3);
    cr_assert_eq(freed_blocks - freed, 3);
}

TestSuite(images, .init = encode_begin, .fini = encode_end);

static void write_image(const EncodeFormat *format, ImgstatSample sample)
{
    const EncodePage page = {.width = 250,
                             .height = 200,
                             .channels = 3,
                             .sample = sample,
                             .bits = (uint8_t)(8 * imgstat_sample_bytes(sample)),
                             .alpha = -1};
    const EncodeOptions how = {.level = 1};
    ImgstatError err = {.message = ""};
    uint8_t *const pixels = encode_pixels(&page);
    cr_assert_eq(encode_file(format, &how, &page, NULL, NULL, pixels, page.height, &err),
                 IMGSTAT_OK, "%s", err.message);
    free(pixels);
}

typedef struct Blocks {
    size_t large, small;
} Blocks;

static Blocks blocks(void)
{
    return (Blocks){large_blocks, small_blocks};
}

static Blocks blocks_since(Blocks before)
{
    return (Blocks){large_blocks - before.large, small_blocks - before.small};
}

/* What n equal jobs ask for. */
static Blocks blocks_of_batch(size_t n, unsigned threads, const ImgstatMethod *method)
{
    ImgstatJob jobs[64];
    const ImgstatBatch batch = {.method = *method, .threads = threads};
    ImgstatError err = {.message = ""};
    cr_assert_leq(n, 64);
    for (size_t i = 0; i < n; i++)
        jobs[i] = (ImgstatJob){.input = encode_path, .output = "/dev/null"};
    const Blocks before = blocks();
    cr_assert_eq(imgstat_batch_run(&batch, jobs, n, &err), IMGSTAT_OK, "%s", err.message);
    return blocks_since(before);
}

static Blocks blocks_of_measuring(size_t n, const ImgstatMeasure *how)
{
    ImgstatDevice *device;
    const Blocks before = blocks();
    cr_assert_eq(imgstat_device_open("cpu", 1, &device, NULL), IMGSTAT_OK);
    for (size_t i = 0; i < n; i++) {
        ImgstatFile *file;
        ImgstatRecord *record;
        cr_assert_eq(imgstat_file_open(encode_path, NULL, &file, NULL), IMGSTAT_OK);
        cr_assert_eq(imgstat_measure_file(device, file, 0, how, &record, NULL), IMGSTAT_OK);
        imgstat_record_destroy(record);
        imgstat_file_close(file);
    }
    imgstat_device_close(device);
    return blocks_since(before);
}

/* So many more images ask for no more large blocks, and for a few small ones each. */
static void check_more(Blocks few, Blocks many, size_t more, const char *what)
{
    enum { SMALL_AN_IMAGE = 96 }; /* its list of pages and its group among them */
    cr_assert_gt(few.large, 0, "%s", what);
    cr_expect_eq(many.large, few.large, "%s: %zu large blocks, %zu for %zu images more", what,
                 few.large, many.large, more);
    cr_expect_leq(many.small - few.small, more * SMALL_AN_IMAGE, "%s: %zu small blocks for %zu",
                  what, many.small - few.small, more);
    fprintf(stderr, "%s: %zu large blocks, %.1f small ones an image\n", what, few.large,
            (double)(many.small - few.small) / (double)more);
}

static void check_measuring(const char *type)
{
    static const double percentiles[] = {1, 99};
    const ImgstatMeasure all = {.median = true,
                                .mode = true,
                                .histogram = true,
                                .shape = true,
                                .percentiles = percentiles,
                                .n_percentiles = 2};
    const ImgstatMeasure *const ways[] = {NULL, &all};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        char what[80];
        snprintf(what, sizeof what, "%s, measured %s", type, ways[i] ? "for all" : "plainly");
        const Blocks few = blocks_of_measuring(2, ways[i]);
        check_more(few, blocks_of_measuring(8, ways[i]), 6, what);
    }
}

static void check_transforming(const char *type, ImgstatSample sample)
{
    static const ImgstatMethod methods[] = {
        {.transform = IMGSTAT_PERCENTILE, .clip_lo = 0.5, .clip_hi = 0.5},
        {.transform = IMGSTAT_MEANSTD, .mean = 0.5, .stddev = 0.2},
        {.transform = IMGSTAT_EQUALIZE},
        {.transform = IMGSTAT_EQUALIZE, .channels = IMGSTAT_EACH},
        {.transform = IMGSTAT_GAMMA, .gamma = 2},
        {.transform = IMGSTAT_CLAHE}};
    const size_t n = sizeof methods / sizeof *methods - (sample == IMGSTAT_F32);
    for (size_t i = 0; i < n; i++) {
        char what[80];
        snprintf(what, sizeof what, "%s, method %zu", type, i);
        const Blocks few = blocks_of_batch(2, 1, &methods[i]);
        check_more(few, blocks_of_batch(8, 1, &methods[i]), 6, what);
        /* Two workers: which of them comes first is chance; each warms up once. */
        const Blocks two = blocks_of_batch(20, 2, &methods[i]);
        cr_expect_leq(two.large, 2 * few.large + 2, "%s: %zu blocks", what, two.large);
    }
}

static void check_images(const EncodeFormat *format, const ImgstatSample *samples, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!is_run(i, 2))
            continue;
        char type[40];
        snprintf(type, sizeof type, "%s of %s", format->name, imgstat_sample_name(samples[i]));
        write_image(format, samples[i]);
        check_measuring(type);
        check_transforming(type, samples[i]);
    }
}

Test(images, png)
{
    static const ImgstatSample samples[] = {IMGSTAT_U8, IMGSTAT_U16};
    check_images(&png_format, samples, 2);
}

Test(images, tiff)
{
    static const ImgstatSample samples[] = {IMGSTAT_U8, IMGSTAT_U16, IMGSTAT_F32};
    check_images(&tiff_format, samples, 3);
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
