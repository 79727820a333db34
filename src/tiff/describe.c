/* SPDX-License-Identifier: MIT */
/* describe.c: Codec.layout of TIFF. */
#include "tiff/encoder.h"

#include "base/compiler.h"

#include <string.h>

/* Kinds of metadata that the neutral form does not have. */
static void add_fields(TIFF *tif, ImgstatLayout *out)
{
    static const struct {
        uint32_t tag;
        const char *name;
    } fields[] = {{TIFFTAG_GPSIFD, "gps"}, {TIFFTAG_PHOTOSHOP, "photoshop"},
                  {37724, "layers"},       {34735, "geotiff"},
                  {42112, "gdal"},         {50839, "imagej"},
                  {50706, "dng"}};
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        const TIFFField *const field = TIFFFindField(tif, fields[i].tag, TIFF_ANY);
        void *data = NULL;
        uint32_t n = 0;
        if (field && (TIFFFieldPassCount(field) ? TIFFGetField(tif, fields[i].tag, &n, &data)
                                                : TIFFGetField(tif, fields[i].tag, &data)))
            layout_add(out, fields[i].name);
    }
    char *text = NULL;
    if (!TIFFGetField(tif, TIFFTAG_IMAGEDESCRIPTION, &text) || !text)
        return;
    if (strncmp(text, "ImageJ=", 7) == 0)
        layout_add(out, "imagej-text");
    else if (strncmp(text, "{\"shape\":", 9) == 0)
        layout_add(out, "shape");
    else if (strstr(text, "<OME"))
        layout_add(out, "ome-xml");
}

void tiff_layout_describe(Decoder *base, ImgstatLayout *out)
{
    TiffDecoder *const td = (TiffDecoder *)base;
    const TiffLayout *const layout = &td->layout;
    static const char *const predictors[] = {"", "none", "horizontal", "float"};
    const char *const known = tiff_compression_name(layout->compression);
    out->compression = known ? known : "unknown";
    out->predictor =
        layout->predictor < ARRAY_LEN(predictors) ? predictors[layout->predictor] : "unknown";
    out->tiled = layout->tiled;
    out->planar = layout->planes > 1;
    out->tile_width = layout->tile_width;
    out->tile_height = layout->tile_height;
    out->tiles = (uint64_t)layout->across * layout->down * layout->planes;
    uint8_t start[4] = {0};
    size_t got = 0;
    (void)!source_read(base->source, 0, start, sizeof start, &got, NULL);
    out->big_endian = start[0] == 'M';
    out->big_file = start[2] == 43 || start[3] == 43;
    out->cloud_optimized = tiff_is_cog(base->source);
    if (!base->outlined)
        add_fields(td->handle.tif, out);
}
