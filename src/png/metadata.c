/* SPDX-License-Identifier: MIT */
/* metadata.c: what a TIFF page says that PNG has a place for: resolution, colour profile,
 * text, EXIF data, XMP. */
#include "base/utf8.h"
#include "png/encoder.h"
#include "tiff/encoder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* A colour profile of the wrong kind would be taken for damage. */
static ImgstatResult write_profile(PngSink *sink, TIFF *tif, bool color, ImgstatError *err)
{
    static const char name[] = "ICC profile";
    uint32_t n = 0;
    const uint8_t *profile = NULL;
    if (!TIFFGetField(tif, TIFFTAG_ICCPROFILE, &n, &profile) || n < 128 ||
        memcmp(profile + 16, color ? "RGB " : "GRAY", 4) != 0)
        return IMGSTAT_OK;
    uLongf room = compressBound(n);
    const size_t head = sizeof name + 1; /* with its NUL, and the method */
    uint8_t *const data = calloc(1, head + room);
    if (!data)
        return error_memory(err, head + room, "a colour profile");
    memcpy(data, name, sizeof name);
    ImgstatResult res = IMGSTAT_OK;
    if (compress(data + head, &room, profile, n) == Z_OK)
        res = png_chunk_write(sink, "iCCP", data, head + room, err);
    free(data);
    return res;
}

static ImgstatResult write_resolution(PngSink *sink, TIFF *tif, ImgstatError *err)
{
    uint16_t unit = RESUNIT_INCH;
    float x = 0, y = 0;
    uint8_t data[9] = {0};
    TIFFGetFieldDefaulted(tif, TIFFTAG_RESOLUTIONUNIT, &unit);
    if (!TIFFGetField(tif, TIFFTAG_XRESOLUTION, &x) || !TIFFGetField(tif, TIFFTAG_YRESOLUTION, &y))
        return IMGSTAT_OK;
    const double scale = unit == RESUNIT_INCH ? 1 / 0.0254 : unit == RESUNIT_CENTIMETER ? 100 : 1;
    const double per_x = round((double)x * scale), per_y = round((double)y * scale);
    if (!(per_x >= 1 && per_x <= INT32_MAX && per_y >= 1 && per_y <= INT32_MAX))
        return IMGSTAT_OK;
    png_put32(data, (uint32_t)per_x);
    png_put32(data + 4, (uint32_t)per_y);
    data[8] = unit == RESUNIT_INCH || unit == RESUNIT_CENTIMETER;
    return png_chunk_write(sink, "pHYs", data, sizeof data, err);
}

/* Text with a keyword. iTXt is UTF-8: what is not goes into a tEXt, which is Latin-1. */
static ImgstatResult write_text(PngSink *sink, const char *keyword, const char *text, size_t n,
                                bool utf8, ImgstatError *err)
{
    const size_t key = strlen(keyword);
    const size_t head = key + (utf8 ? 5 : 1); /* NUL; in iTXt two flags and two empty names, too */
    char *const data = calloc(1, head + n);
    if (!data)
        return error_memory(err, head + n, "text");
    memcpy(data, keyword, key);
    memcpy(data + head, text, n);
    const ImgstatResult res = png_chunk_write(sink, utf8 ? "iTXt" : "tEXt", data, head + n, err);
    free(data);
    return res;
}

static ImgstatResult write_texts(PngSink *sink, TIFF *tif, ImgstatError *err)
{
    static const struct {
        const char *keyword;
        uint32_t tag;
    } known[] = {{"Title", TIFFTAG_DOCUMENTNAME},
                 {"Author", TIFFTAG_ARTIST},
                 {"Description", TIFFTAG_IMAGEDESCRIPTION},
                 {"Copyright", TIFFTAG_COPYRIGHT},
                 {"Software", TIFFTAG_SOFTWARE}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const char *text = NULL;
        if (TIFFGetField(tif, known[i].tag, &text) && text && *text)
            IMGSTAT_TRY(
                write_text(sink, known[i].keyword, text, strlen(text), utf8_is_valid(text), err));
    }
    uint32_t n = 0;
    const char *xmp = NULL;
    if (TIFFGetField(tif, TIFFTAG_XMLPACKET, &n, &xmp) && xmp)
        return write_text(sink, "XML:com.adobe.xmp", xmp, strnlen(xmp, n), true, err);
    return IMGSTAT_OK;
}

/* Of a page's directory, what EXIF data begin with and no text says. */
static bool is_exif(const void *context, uint16_t tag)
{
    (void)context;
    return tag == TIFFTAG_ORIENTATION || tag == TIFFTAG_MAKE || tag == TIFFTAG_MODEL ||
           tag == TIFFTAG_DATETIME || tag == TIFFTAG_EXIFIFD || tag == TIFFTAG_GPSIFD;
}

/* Whether there is more than the orientation that everybody takes for granted. */
static bool exif_tells(const TiffTags *tags, TIFF *tif)
{
    uint16_t orientation = ORIENTATION_TOPLEFT;
    TIFFGetFieldDefaulted(tif, TIFFTAG_ORIENTATION, &orientation);
    const bool has = tiff_tags_have(tags, TIFFTAG_ORIENTATION);
    return tags->n > has || (has && orientation > ORIENTATION_TOPLEFT && orientation <= 8);
}

/* EXIF data are a TIFF file without pixels. */
static ImgstatResult write_exif(PngSink *sink, const TiffDecoder *td, Warnings *warnings,
                                ImgstatError *err)
{
    const Decoder *const like = &td->base;
    TiffTagSource from;
    if (!tiff_tag_source(like->source, 0, like->source->bytes, &from))
        return error_set(err, IMGSTAT_ERR_IO, "%s: has changed while it was read",
                         like->source->name);
    TiffTags *tags = tiff_tags_create();
    if (!tags)
        return error_memory(err, sizeof *tags, "EXIF data");
    TiffFile file = {
        .at = TIFF_HEADER_BYTES, .big_endian = from.big_endian, .pages = &tags, .n_pages = 1};
    ImgstatResult res = tiff_tags_copy(&file, &from, td->page_at[like->page.page], is_exif, NULL,
                                       warnings, tags, err);
    const bool tells = res == IMGSTAT_OK && exif_tells(tags, td->handle.tif);
    if (tells)
        res = tiff_tags_finish(&file, err);
    if (tells && res == IMGSTAT_OK)
        res = png_chunk_write(sink, "eXIf", file.memory, (size_t)file.at, err);
    if (res == IMGSTAT_ERR_LIMIT) {
        warnings_report(warnings, "its EXIF data are more than %d MiB and are left out",
                        TIFF_MEMORY_BYTES >> 20);
        res = IMGSTAT_OK;
    }
    free(file.memory);
    tiff_tags_destroy(tags);
    return res;
}

ImgstatResult png_chunks_from_tiff(PngSink *sink, const Decoder *like, const PngForm *form,
                                   Warnings *warnings, ImgstatError *err)
{
    const TiffDecoder *const td = (const TiffDecoder *)like;
    TIFF *const tif = td->handle.tif;
    uint16_t n = 0;
    const uint16_t *kinds = NULL;
    if (form->color_type != PNG_PALETTE && (form->color_type & 4) &&
        TIFFGetField(tif, TIFFTAG_EXTRASAMPLES, &n, &kinds) && n > 0 &&
        kinds[0] == EXTRASAMPLE_ASSOCALPHA)
        warnings_report(warnings, "its colours are multiplied by alpha, which PNG cannot say");
    IMGSTAT_TRY(write_profile(sink, tif, form->color_type & 2, err));
    IMGSTAT_TRY(write_resolution(sink, tif, err));
    IMGSTAT_TRY(write_exif(sink, td, warnings, err));
    return write_texts(sink, tif, err);
}
