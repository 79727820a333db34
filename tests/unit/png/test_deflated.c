/* SPDX-License-Identifier: MIT */
/* test_deflated: small interlaced PNG files of every kind, listed for a device whose memory is the
 * processor's: the lists decode to the pixels that libpng gives. */
#include "decode/decode.h"

#include "png_files.h"
#include "rows_in_c.h"

#include <criterion/criterion.h>

enum { FILES = 15 * PNG_SIDES };

/* Compares the pixels of rows with those that the decoder reads. Returns whether some are clear. */
static bool check_rows(DeflatedRows *rows, DecodeFile *f)
{
    const ImgstatPage *const page = &f->page;
    const ImgstatOpen how = {0};
    ImgstatPage again;
    ImgstatFile *file;
    ImgstatError err;
    ImagePro image, right;
    bool clear = false;
    cr_assert_eq(decode_open_page(f, &how, &file, &again, &err), IMGSTAT_OK);
    for (size_t i = 0; i < 2; i++)
        cr_assert_eq(imgstat_image_create(page->width, page->height, page->channels, page->sample,
                                          0, i ? &right : &image, &err),
                     IMGSTAT_OK);
    cr_assert_eq(imgstat_file_read(file, &right, &err), IMGSTAT_OK);
    rows->pixels = (uintptr_t)image.host;
    rows->pitch = image.pitch;
    cr_assert(rows_decode(rows));
    cr_assert(memcmp(image.host, right.host, image.pitch * image.height) == 0,
              "%u x %u, %u channels of %u bits, %u passes", page->width, page->height,
              page->channels, rows->depth, rows->n_passes);
    const size_t sample = imgstat_sample_bytes(page->sample);
    for (size_t i = page->channels * sample - 1; rows->keyed && i < image.pitch;
         i += page->channels * sample)
        clear = clear || ((const uint8_t *)image.host)[i] == 0;
    imgstat_image_release(&image);
    imgstat_image_release(&right);
    imgstat_file_close(file);
    return clear;
}

/* Returns how many keys occur in their images. */
static size_t check_files(ImgstatDevice *device, size_t first, uint64_t *state)
{
    ImgstatEncoded files[FILES];
    uint8_t *bytes[FILES];
    ImgstatDecode *decode;
    ImgstatError err;
    size_t next = 0, clear = 0;
    for (size_t i = 0; i < FILES; i++) {
        const PngSpec spec = png_small(first + i, state);
        files[i] = (ImgstatEncoded){"some file", NULL, png_file(&spec, state, &bytes[i])};
        files[i].bytes = bytes[i];
    }
    cr_assert_eq(imgstat_decode_create(device, files, FILES, NULL, &decode, &err), IMGSTAT_OK);
    for (size_t i = 0; i < FILES; i++) {
        if (decode->file[i].on_device)
            clear += check_rows(&decode->work.rows[next++], &decode->file[i]);
        free(bytes[i]);
    }
    cr_assert(next > FILES * 3 / 4 && next == decode->work.n_rows, "%zu of %d", next, FILES);
    imgstat_decode_destroy(decode);
    return clear;
}

Test(deflated, small_interlaced_files)
{
    uint64_t state = 3;
    ImgstatDevice *device;
    ImgstatError err;
    size_t clear = 0;
    cr_assert_eq(imgstat_device_open("cpu", 2, &device, &err), IMGSTAT_OK);
    const DeviceOps *const usual = device->ops;
    DeviceOps ops = *usual;
    ops.fetches = false; /* so it has files decoded */
    device->ops = &ops;
    for (size_t first = 0; first < PNG_SMALL; first += FILES)
        clear += check_files(device, first, &state);
    cr_assert(clear > PNG_SMALL / 20, "%zu", clear);
    device->ops = usual;
    imgstat_device_close(device);
}
