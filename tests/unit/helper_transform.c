/* SPDX-License-Identifier: MIT */
/* helper_transform.c: images and plain-counted records for the tests of transfers. */
#include "helper_transform.h"

#include "transfer/clahe.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

const uint8_t example_in[64] = {
    52, 55, 61, 66, 70, 61,  64,  73,  63, 59, 55, 90, 109, 85,  69,  72, 62, 59, 68, 113, 144, 104,
    66, 73, 63, 58, 71, 122, 154, 106, 70, 69, 67, 61, 68,  104, 126, 88, 68, 70, 79, 65,  60,  70,
    77, 68, 58, 75, 85, 71,  64,  59,  55, 61, 65, 83, 87,  79,  69,  68, 65, 76, 78, 94,
};

const uint8_t example_out[64] = {
    0,   12,  53,  93,  146, 53,  73,  166, 65,  32,  12,  215, 235, 202, 130, 158,
    57,  32,  117, 239, 251, 227, 93,  166, 65,  20,  154, 243, 255, 231, 146, 130,
    97,  53,  117, 227, 247, 210, 117, 146, 190, 85,  36,  146, 178, 117, 20,  170,
    202, 154, 73,  32,  12,  53,  85,  194, 206, 190, 130, 117, 85,  174, 182, 219,
};

ImagePro image_of(const void *pixels, uint32_t width, uint32_t height, uint16_t channels,
                  ImgstatSample sample, uint8_t bits)
{
    ImagePro image;
    ImgstatError err;
    cr_assert_eq(imgstat_image_create(width, height, channels, sample, bits, &image, &err),
                 IMGSTAT_OK, "%s", err.message);
    const size_t bytes = (size_t)width * channels * imgstat_sample_bytes(sample);
    if (pixels)
        for (size_t y = 0; y < height; y++)
            memcpy((char *)image.host + y * image.pitch, (const char *)pixels + y * bytes, bytes);
    return image;
}

ImagePro image_like(const ImagePro *image, ImgstatSample sample)
{
    ImagePro out = image_of(NULL, image->width, image->height, image->channels, sample, 0);
    out.first_row = image->first_row;
    return out;
}

static uint32_t pattern_value(const char *kind, uint32_t x, uint32_t y)
{
    uint32_t h = x * 374761393u + y * 668265263u;
    h = (h ^ (h >> 13)) * 1274126177u;
    h ^= h >> 16;
    const uint32_t low = h & 0xFFFF, high = h >> 16;
    if (strcmp(kind, "noise") == 0)
        return high;
    if (strcmp(kind, "slope") == 0)
        return (x * 700 + y * 300 + (low & 4095)) & 0xFFFF;
    if (strcmp(kind, "dark") == 0)
        return (uint32_t)((uint64_t)low * high >> 16);
    if (strcmp(kind, "scan") == 0)
        return (512 + (h & 4095) + x) & 0xFFFF;
    if (strcmp(kind, "black") == 0)
        return 0;
    if (strcmp(kind, "flat") == 0)
        return 25700;
    if (strcmp(kind, "white") == 0)
        return 65535;
    cr_assert_str_eq(kind, "tiles");
    return ((x / 13 + y / 17) % 5) * 9000 + 1000;
}

ImagePro pattern_image(const char *kind, uint32_t width, uint32_t height, ImgstatSample sample)
{
    ImagePro image = image_of(NULL, width, height, 1, sample, 0);
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++) {
            const uint32_t v = pattern_value(kind, x, y);
            unsigned char *const row = (unsigned char *)image.host + y * image.pitch;
            if (sample == IMGSTAT_U8)
                row[x] = (unsigned char)(v >> 8);
            else
                ((uint16_t *)(void *)row)[x] = (uint16_t)v;
        }
    return image;
}

uint64_t image_fnv(const ImagePro *image)
{
    const size_t bytes = image_samples_per_row(image) * imgstat_sample_bytes(image->sample);
    uint64_t h = 0xCBF29CE484222325u;
    for (size_t y = 0; y < image->height; y++)
        for (size_t i = 0; i < bytes; i++)
            h = (h ^ image_row(image, y)[i]) * 0x100000001B3u;
    return h;
}

bool image_equal(const ImagePro *a, const ImagePro *b)
{
    if (a->width != b->width || a->height != b->height || a->channels != b->channels ||
        a->sample != b->sample)
        return false;
    const size_t bytes = image_samples_per_row(a) * imgstat_sample_bytes(a->sample);
    for (size_t y = 0; y < a->height; y++)
        if (memcmp(image_row(a, y), image_row(b, y), bytes) != 0)
            return false;
    return true;
}

Record *plain_record(const ImagePro *image)
{
    Record *record;
    cr_assert_eq(record_create(NULL, image->sample, image->channels, 0, &record, NULL), IMGSTAT_OK);
    const size_t bytes = imgstat_sample_bytes(image->sample),
                 bins = sample_record_bins(image->sample);
    for (uint32_t y = 0; y < image->height; y++)
        for (uint32_t x = 0; x < image->width; x++)
            for (uint16_t c = 0; c < image->channels; c++) {
                uint64_t raw = 0;
                memcpy(&raw, image_row(image, y) + ((size_t)x * image->channels + c) * bytes,
                       bytes);
                const uint64_t key = sample_key(image->sample, raw);
                if ((image->mask && !image->mask[y * image->mask_pitch + x]) ||
                    (image->has_nodata && key == image->nodata_key) ||
                    map_undefined(image->sample, key))
                    continue;
                Tally *const tally = &record->tally[c];
                tally->min_key = tally->n == 0 || key < tally->min_key ? key : tally->min_key;
                tally->max_key = tally->n == 0 || key > tally->max_key ? key : tally->max_key;
                tally->n++;
                if (record->bins)
                    record->bins[c * bins + key]++;
            }
    return record;
}

TransferShape shape_of(const ImagePro *image, int16_t alpha, bool rgb)
{
    return (TransferShape){.sample = image->sample,
                           .bits = image->bits,
                           .channels = image->channels,
                           .alpha = alpha,
                           .rgb = rgb,
                           .has_nodata = image->has_nodata,
                           .nodata_key = image->nodata_key};
}

ImagePro transformed(const ImgstatMethod *method, const ImagePro *image, int16_t alpha, bool rgb)
{
    ImgstatError err = {0};
    const TransferShape shape = shape_of(image, alpha, rgb);
    ImagePro plane = {0};
    const bool luma = transfer_channels(method, &shape) == IMGSTAT_LUMA;
    if (luma)
        cr_assert_eq(luma_plane(NULL, image, &plane, &err), IMGSTAT_OK, "%s", err.message);
    Record *const record = plain_record(luma ? &plane : image);
    Transfer *transfer;
    cr_assert_eq(transfer_create_counts(method, &shape, record, NULL, NULL, &transfer, &err),
                 IMGSTAT_OK, "%s", err.message);
    uint8_t bits;
    ImagePro out = image_like(image, transfer_output(method, &shape, &bits));
    cr_assert_eq(transfer_apply(transfer, image, alpha, &out, &err), IMGSTAT_OK, "%s", err.message);
    transfer_destroy(transfer);
    record_destroy(record);
    imgstat_image_release(&plane);
    return out;
}

ImagePro adapted(const ImgstatMethod *method, const ImagePro *image, uint32_t rows)
{
    ImgstatError err = {0};
    const TransferShape shape = shape_of(image, -1, false);
    Record *const record = plain_record(image);
    const bool any = record->tally[0].n > 0;
    Clahe *clahe;
    cr_assert_eq(clahe_create(NULL, method, &shape, image->width, image->height,
                              any ? record->tally[0].min_key : 1,
                              any ? record->tally[0].max_key : 0, &clahe, &err),
                 IMGSTAT_OK, "%s", err.message);
    uint8_t bits;
    ImagePro out = image_like(image, transfer_output(method, &shape, &bits));
    for (int pass = 0; pass < 3; pass++) {
        for (uint32_t y = 0; y < image->height; y += rows) {
            const uint32_t n = image->height - y < rows ? image->height - y : rows;
            const ImagePro band = image_band(image, y, n);
            ImagePro to = image_band(&out, y, n);
            for (size_t t = 0; pass == 0 && t < (size_t)clahe->x.tiles * clahe->y.tiles; t++)
                clahe_count(clahe, t, &band, 0);
            if (pass == 0)
                continue;
            if (pass == 1)
                clahe_observe(clahe, &band, 0);
            else
                clahe_apply(clahe, &band, 0, &to);
        }
        if (pass == 0)
            clahe_finish(clahe);
    }
    clahe_destroy(clahe);
    record_destroy(record);
    return out;
}
