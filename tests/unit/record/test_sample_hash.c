/* SPDX-License-Identifier: MIT */
/* test_sample_hash.c: the hash of samples does not depend on how rows come. */
#include "record/sample_hash.h"

#include "helper_measure.h"

#include <criterion/criterion.h>

enum { WIDTH = 5, HEIGHT = 6, GAP = 3 };

static uint16_t dense[HEIGHT][WIDTH], spaced[HEIGHT][WIDTH + GAP];

static ImagePro image_of(uint16_t *pixels, size_t pitch)
{
    ImagePro image;
    cr_assert_eq(imgstat_image_wrap(IMGSTAT_HOST, 0, pixels, pitch, WIDTH, HEIGHT, 1, IMGSTAT_U16,
                                    0, NULL, NULL, &image, NULL),
                 IMGSTAT_OK);
    return image;
}

static void draw(void)
{
    for (unsigned y = 0; y < HEIGHT; y++)
        for (unsigned x = 0; x < WIDTH; x++)
            dense[y][x] = spaced[y][x] = (uint16_t)(7919 * (y * WIDTH + x));
}

Test(sample_hash, rows)
{
    draw();
    const ImagePro image = image_of(dense[0], 0), gaps = image_of(spaced[0], sizeof spaced[0]);
    static const uint8_t of_nothing[SAMPLE_HASH_BYTES] = {0x99, 0xaa, 0x06, 0xd3, 0x01, 0x47,
                                                          0x98, 0xd8, 0x60, 0x01, 0xc3, 0x24,
                                                          0x46, 0x8d, 0x49, 0x7f};
    uint8_t want[SAMPLE_HASH_BYTES], got[SAMPLE_HASH_BYTES];
    SampleHash *hash = NULL;
    cr_assert_eq(sample_hash_create(&hash, NULL), IMGSTAT_OK);
    sample_hash_write(hash, got);
    cr_expect_arr_eq(got, of_nothing, sizeof got);
    sample_hash_begin(hash, &image, WIDTH, HEIGHT);
    sample_hash_add(hash, &image);
    sample_hash_write(hash, want);
    for (uint32_t rows = 1; rows <= HEIGHT; rows++) {
        sample_hash_reset(hash);
        sample_hash_begin(hash, &gaps, WIDTH, HEIGHT);
        for (uint32_t y = 0; y < HEIGHT; y += rows) {
            const ImagePro band = image_band(&gaps, y, HEIGHT - y < rows ? HEIGHT - y : rows);
            sample_hash_add(hash, &band);
        }
        sample_hash_write(hash, got);
        cr_expect_arr_eq(got, want, sizeof got, "%u rows", rows);
    }
    sample_hash_destroy(hash);
}

Test(sample_hash, measured)
{
    draw();
    const ImagePro gaps = image_of(spaced[0], sizeof spaced[0]);
    const ImgstatMeasure how = {.hash = true};
    uint8_t want[SAMPLE_HASH_BYTES], got[SAMPLE_HASH_BYTES];
    SampleHash *hash = NULL;
    cr_assert_eq(sample_hash_create(&hash, NULL), IMGSTAT_OK);
    sample_hash_begin(hash, &gaps, WIDTH, HEIGHT);
    sample_hash_add(hash, &gaps);
    sample_hash_write(hash, want);
    sample_hash_destroy(hash);
    ImgstatRecord *const record = measure_image(&gaps, &how);
    ImgstatRecord *const plain = measure_image(&gaps, NULL);
    cr_assert(imgstat_record_hash(record, got));
    cr_expect_arr_eq(got, want, sizeof got);
    cr_expect_not(imgstat_record_hash(plain, got), "none was asked for");
    cr_assert_eq(imgstat_record_merge(record, plain, NULL), IMGSTAT_OK);
    cr_expect_not(imgstat_record_hash(record, got), "merged records have none");
    imgstat_record_destroy(plain);
    imgstat_record_destroy(record);
}
