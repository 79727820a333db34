/* SPDX-License-Identifier: MIT */
/* test_encode_tiff.c: pages of every type, layout and predictor in device memory, written as
 * deflated TIFF, against the encoder of files: the same bytes, in both settings. */
#include "tiff_pages.h"

#include <time.h>

enum { SKIPPED = 77 };

/* Strips and tiles of many blocks, and many of them: smooth, of noise, and such that matches pay.
 */
static void check_large(TiffPages *t)
{
    static const struct {
        uint32_t width, height, tile_width, tile_height;
        unsigned samples, bits, format, predictor, content;
    } cases[] = {
        {1507, 1023, 256, 256, 3, 8, TIFF_UNSIGNED, 2, 1},
        {1300, 900, 0, 900, 3, 16, TIFF_UNSIGNED, 2, 2},
        {1000, 700, 512, 512, 1, 32, TIFF_FLOAT, 3, 6},
        {2000, 1500, 0, 1, 3, 8, TIFF_UNSIGNED, 1, 4},
        {900, 900, 128, 64, 2, 64, TIFF_FLOAT, 3, 0},
    };
    const size_t n = sizeof cases / sizeof *cases;
    for (size_t i = 0; i < 2 * n; i++) {
        TiffSpec spec = tiff_spec(&t->state);
        spec.width = cases[i % n].width;
        spec.height = cases[i % n].height;
        spec.tile_width = cases[i % n].tile_width;
        spec.tile_height = cases[i % n].tile_height;
        spec.samples = cases[i % n].samples;
        spec.bits = cases[i % n].bits;
        spec.format = cases[i % n].format;
        spec.predictor = cases[i % n].predictor;
        spec.content = cases[i % n].content;
        spec.compression = TIFF_DEFLATE;
        t->how.fast = i < n; /* the last setting first */
        tiff_pages_check(t, &spec);
    }
}

int main(int argc, char **argv)
{
    const char *const required = getenv("IMGSTAT_REQUIRE_CUDA");
    const unsigned n = all_run() ? 400 : 60;
    ImgstatError err = {.message = ""};
    ThreadPool *pool = NULL;
    TiffPages t = {.how = {.level = -1},
                   .state = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)time(NULL)};
    if (imgstat_device_open("cuda:0", 0, &t.device, &err) != IMGSTAT_OK) {
        printf("%s\n", err.message);
        return required && *required == '1' ? 1 : SKIPPED;
    }
    if (thread_pool_create(4, &pool, &err) != IMGSTAT_OK) {
        printf("%s\n", err.message);
        return 1;
    }
    printf("test_encode_tiff: seed %llu\n", (unsigned long long)t.state);
    t.how.pool = pool;
    for (unsigned i = 0; i < n; i++) {
        TiffSpec spec = tiff_spec(&t.state);
        t.how.fast = i >= n / 2; /* another setting allocates anew */
        spec.compression = TIFF_DEFLATE;
        tiff_pages_check(&t, &spec);
    }
    printf("%zu small pages, %zu by the device\n", t.pages, t.there);
    fflush(stdout);
    if (all_run())
        check_large(&t);
    printf("%zu pages, %zu by the device, %zu bytes: %zu failures\n", t.pages, t.there, t.bytes,
           t.failures);
    page_rows_destroy(t.rows);
    imgstat_device_close(t.device);
    thread_pool_destroy(pool);
    return t.failures > 0 || t.there < t.pages / 2;
}
