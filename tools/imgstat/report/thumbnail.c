/* SPDX-License-Identifier: MIT */
/* thumbnail.c: levels from samples, compressed by libjpeg. */
#include "report/thumbnail.h"
#include "text/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

enum { QUALITY = 70 }; /* 2 KB of a photograph */

static uint8_t level_of(float value, double black, double white, unsigned x, unsigned y)
{
    if (isnan(value))
        return (x + y) / 3 % 2 ? 96 : 160;
    const double part = white > black ? (value - black) / (white - black) : 0;
    return (uint8_t)lrint(255 * fmin(fmax(part, 0), 1));
}

static bool is_rgb(const ImgstatKind *kind)
{
    return kind->channels - (kind->alpha >= 0) == 3 &&
           (strcmp(kind->photometric, "rgb") == 0 || strcmp(kind->photometric, "ycbcr") == 0 ||
            strcmp(kind->photometric, "palette") == 0);
}

static uint8_t *levels_of(const ImgstatRecord *record, double black, double white,
                          const Thumbnail *size, unsigned components)
{
    uint32_t width, height;
    const float *const samples = imgstat_record_preview(record, &width, &height);
    const size_t channels = imgstat_record_channels(record);
    uint8_t *const levels = text_alloc((size_t)width * height * components);
    uint8_t *to = levels;
    for (unsigned y = 0; y < size->height; y++)
        for (unsigned x = 0; x < size->width; x++)
            for (unsigned c = 0; c < components; c++)
                *to++ =
                    level_of(samples[((size_t)y * width + x) * channels + c], black, white, x, y);
    return levels;
}

/* libjpeg's own function would print a sentence of its own. */
static void on_jpeg_error(j_common_ptr jpeg)
{
    (void)jpeg;
    text_no_memory();
}

static void compress(const uint8_t *levels, unsigned components, Thumbnail *out)
{
    struct jpeg_error_mgr errors; /* the only possible one, lack of memory, ends the program */
    struct jpeg_compress_struct jpeg = {.err = jpeg_std_error(&errors)};
    unsigned long bytes = 0;
    errors.error_exit = on_jpeg_error;
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, &out->jpeg, &bytes);
    jpeg.image_width = out->width;
    jpeg.image_height = out->height;
    jpeg.input_components = (int)components;
    jpeg.in_color_space = components == 3 ? JCS_RGB : JCS_GRAYSCALE;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, QUALITY, TRUE);
    jpeg.optimize_coding = TRUE;
    jpeg.write_JFIF_header = FALSE;
    jpeg_start_compress(&jpeg, TRUE);
    while (jpeg.next_scanline < jpeg.image_height) {
        JSAMPROW row =
            (JSAMPROW)(uintptr_t)(levels + (size_t)jpeg.next_scanline * out->width * components);
        (void)jpeg_write_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    out->bytes = bytes;
}

bool thumbnail_create(const ImgstatRecord *record, double black, double white, Thumbnail *out)
{
    uint32_t width, height;
    ImgstatKind kind;
    *out = (Thumbnail){0};
    if (imgstat_record_preview(record, &width, &height) == NULL)
        return false;
    imgstat_record_kind(record, &kind);
    const unsigned components = is_rgb(&kind) ? 3 : 1;
    out->width = (uint16_t)width;
    out->height = (uint16_t)height;
    uint8_t *const levels = levels_of(record, black, white, out, components);
    compress(levels, components, out);
    free(levels);
    return true;
}
