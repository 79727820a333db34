/* SPDX-License-Identifier: MIT */
/* test_image.c: geometry is checked, bands share memory, release happens once. */
#include "base/image.h"

#include "base/sample.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static int released;

static void count_release(void *context)
{
    released += *(int *)context;
}

Test(image, create)
{
    ImagePro image;
    cr_assert_eq(imgstat_image_create(5, 3, 4, IMGSTAT_U16, 12, &image, NULL), IMGSTAT_OK);
    cr_assert_eq(image.width, 5);
    cr_assert_eq(image.height, 3);
    cr_assert_eq(image.bits, 12);
    cr_assert_geq(image.pitch, 40);
    for (size_t y = 0; y < 3; y++)
        for (size_t i = 0; i < 40; i++)
            cr_assert_eq(image_row(&image, y)[i], 0);
    imgstat_image_release(&image);
    cr_assert_null(image.host);
    imgstat_image_release(&image);
    imgstat_image_release(NULL);
    cr_assert_eq(imgstat_image_create(0, 0, 1, IMGSTAT_F64, 0, &image, NULL), IMGSTAT_OK);
    cr_assert_eq(image.bits, 64);
    imgstat_image_release(&image);
}

Test(image, create_unset)
{
    ImagePro image, zeroed;
    for (uint32_t width = 5; width <= 8; width++) {
        cr_assert_eq(image_create_unset(width, 3, 4, IMGSTAT_U16, 12, &image, NULL), IMGSTAT_OK);
        cr_assert_eq(imgstat_image_create(width, 3, 4, IMGSTAT_U16, 12, &zeroed, NULL), IMGSTAT_OK);
        cr_assert_eq(image.pitch, zeroed.pitch);
        cr_assert_eq(image.bits, zeroed.bits);
        for (size_t y = 0; y < 3; y++)
            for (size_t i = width * 8; i < image.pitch; i++)
                cr_assert_eq(image_row(&image, y)[i], 0);
        imgstat_image_release(&image);
        imgstat_image_release(&zeroed);
    }
    cr_assert_eq(image_create_unset(0, 9, 1, IMGSTAT_U8, 0, &image, NULL), IMGSTAT_OK);
    cr_assert_not_null(image.host);
    imgstat_image_release(&image);
    cr_assert_eq(image_create_unset(1, 1, 0, IMGSTAT_U8, 0, &image, NULL), IMGSTAT_ERR_ARG);
}

Test(image, refuses)
{
    ImagePro image;
    unsigned char pixels[64] = {0};
    ImgstatError err;
    cr_assert_eq(imgstat_image_create(1, 1, 0, IMGSTAT_U8, 0, &image, &err), IMGSTAT_ERR_ARG);
    cr_assert_eq(imgstat_image_create(1, 1, 1, (ImgstatSample)11, 0, &image, &err),
                 IMGSTAT_ERR_ARG);
    cr_assert_eq(imgstat_image_create(1, 1, 1, IMGSTAT_U8, 9, &image, &err), IMGSTAT_ERR_ARG);
    /* 2^32 * 2^16 * 8 bytes a row, as many rows: more than any address */
    cr_assert_eq(
        imgstat_image_create(UINT32_MAX, UINT32_MAX, UINT16_MAX, IMGSTAT_F64, 0, &image, &err),
        IMGSTAT_ERR_ARG);
    cr_assert_eq(imgstat_image_wrap(IMGSTAT_HOST, 0, pixels, SIZE_MAX, 1, 2, 1, IMGSTAT_U8, 0, NULL,
                                    NULL, &image, &err),
                 IMGSTAT_ERR_ARG);
    cr_assert_eq(imgstat_image_wrap(IMGSTAT_HOST, 0, pixels, 7, 2, 2, 1, IMGSTAT_U32, 0, NULL, NULL,
                                    &image, &err),
                 IMGSTAT_ERR_ARG);
    cr_assert_eq(imgstat_image_wrap(IMGSTAT_HOST, 0, NULL, 0, 2, 2, 1, IMGSTAT_U32, 0, NULL, NULL,
                                    &image, &err),
                 IMGSTAT_ERR_ARG);
    cr_assert_eq(imgstat_image_wrap((ImgstatMemory)9, 0, pixels, 0, 2, 2, 1, IMGSTAT_U8, 0, NULL,
                                    NULL, &image, &err),
                 IMGSTAT_ERR_ARG);
    cr_assert_null(image.host);
}

Test(image, wraps_and_cuts_bands)
{
    ImagePro image;
    unsigned char pixels[11 * 4] = {0};
    int weight = 1;
    cr_assert_eq(imgstat_image_wrap(IMGSTAT_HOST, 3, pixels + 1, 11, 3, 3, 3, IMGSTAT_U8, 0,
                                    count_release, &weight, &image, NULL),
                 IMGSTAT_OK);
    cr_assert_eq(image.device_id, 0);
    image.mask = pixels;
    image.mask_pitch = 7;
    image.first_row = 100;
    const ImagePro band = image_band(&image, 2, 1);
    cr_assert_eq((unsigned char *)band.host, pixels + 1 + 22);
    cr_assert_eq(band.mask, pixels + 14);
    cr_assert_eq(band.first_row, 102);
    cr_assert_eq(band.height, 1);
    cr_assert_null(band.release);
    const ImgstatRegion region = {.x = 1, .y = 2, .width = 2, .height = 1};
    const ImagePro part = image_part(&image, &region);
    cr_assert_eq((unsigned char *)part.host, pixels + 1 + 22 + 3);
    cr_assert_eq(part.mask, pixels + 14 + 1);
    cr_assert(part.first_row == 0 && part.width == 2 && part.height == 1 && part.pitch == 11);
    cr_assert_null(part.release);
    imgstat_image_release(&image);
    imgstat_image_release(&image);
    cr_assert_eq(released, 1);

    cr_assert_eq(imgstat_image_wrap(IMGSTAT_CUDA, 2, pixels, 0, 3, 3, 1, IMGSTAT_U16, 10, NULL,
                                    NULL, &image, NULL),
                 IMGSTAT_OK);
    cr_assert_null(image.host);
    cr_assert_eq(image.device.address, (uint64_t)(uintptr_t)pixels);
    cr_assert_eq(image.device_id, 2);
    cr_assert_eq(image.pitch, 6);
    cr_assert_eq(image_band(&image, 1, 2).device.address, image.device.address + 6);
    const ImgstatRegion corner = {.x = 2, .y = 1, .width = 1, .height = 2};
    cr_assert_eq(image_part(&image, &corner).device.address, image.device.address + 6 + 4);
}

Test(image, regions_within)
{
    static const struct {
        ImgstatRegion region;
        bool within;
    } cases[] = {
        {{0, 0, 9, 5}, true},  {{8, 4, 1, 1}, true},           {{0, 0, 10, 1}, false},
        {{0, 0, 1, 6}, false}, {{9, 0, 1, 1}, false},          {{0, 5, 1, 1}, false},
        {{1, 0, 9, 1}, false}, {{0, UINT32_MAX, 1, 2}, false}, {{UINT32_MAX, 0, 2, 1}, false},
        {{3, 3, 0, 1}, false}, {{3, 3, 1, 0}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_eq(region_is_within(&cases[i].region, 9, 5), cases[i].within, "%zu", i);
}

typedef struct Pieces {
    const ImagePro *image;
    uint32_t rows, calls, most; /* most: calls that succeed */
} Pieces;

static ImgstatResult take_piece(void *context, const ImagePro *piece, ImgstatError *err)
{
    Pieces *const p = context;
    if (p->calls == p->most)
        return error_set(err, IMGSTAT_ERR_CANCELLED, "enough");
    cr_assert_eq(piece->host, image_row(p->image, p->rows));
    cr_assert_eq(piece->first_row, p->image->first_row + p->rows);
    cr_assert(piece->height == 1 || piece->height * piece->pitch <= IMAGE_BAND_BYTES);
    p->rows += piece->height;
    p->calls++;
    return IMGSTAT_OK;
}

Test(image, pieces)
{
    enum { HALF = IMAGE_BAND_BYTES / 2 };
    static const struct {
        size_t pitch;
        uint32_t height, calls;
    } cases[] = {{HALF, 5, 3},      {HALF, 2, 1}, {HALF + 1, 3, 3}, {3 * (size_t)HALF, 2, 2},
                 {HALF / 7, 29, 3}, {1, 1, 1},    {1, 0, 0}};
    unsigned char *const pixels = malloc(6 * (size_t)HALF);
    cr_assert(pixels);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ImagePro image;
        cr_assert_eq(imgstat_image_wrap(IMGSTAT_HOST, 0, pixels, cases[i].pitch, 1, cases[i].height,
                                        1, IMGSTAT_U8, 0, NULL, NULL, &image, NULL),
                     IMGSTAT_OK);
        image.first_row = 1000;
        Pieces pieces = {.image = &image, .most = UINT32_MAX};
        cr_assert_eq(image_each_band(&image, take_piece, &pieces, NULL), IMGSTAT_OK);
        cr_assert_eq(pieces.rows, cases[i].height);
        cr_assert_eq(pieces.calls, cases[i].calls, "%zu: %u", i, pieces.calls);
        if (cases[i].calls < 2)
            continue;
        pieces = (Pieces){.image = &image, .most = 1};
        cr_assert_eq(image_each_band(&image, take_piece, &pieces, NULL), IMGSTAT_ERR_CANCELLED);
        cr_assert_eq(pieces.calls, 1);
    }
    free(pixels);
}

Test(image, nodata)
{
    ImagePro image;
    cr_assert_eq(imgstat_image_create(1, 1, 1, IMGSTAT_I16, 0, &image, NULL), IMGSTAT_OK);
    imgstat_image_set_nodata(&image, (ImgstatValue){.sample = IMGSTAT_F64, .as.f = -9999});
    cr_assert(image.has_nodata);
    cr_assert_eq(image.nodata_key, 32768 - 9999);
    imgstat_image_set_nodata(&image, (ImgstatValue){.sample = IMGSTAT_F64, .as.f = NAN});
    cr_assert_not(image.has_nodata);
    imgstat_image_set_nodata(&image, (ImgstatValue){.sample = IMGSTAT_F64, .as.f = 1e9});
    cr_assert_not(image.has_nodata);
    imgstat_image_release(&image);
}

Test(image, products)
{
    size_t out;
    cr_assert(size_product(SIZE_MAX, 1, &out));
    cr_assert_eq(out, SIZE_MAX);
    cr_assert_not(size_product(SIZE_MAX / 2 + 1, 2, &out));
}
