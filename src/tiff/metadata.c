/* SPDX-License-Identifier: MIT */
/* metadata.c: what a PNG says that TIFF has a place for: resolution, colour profile, text,
 * EXIF. */
#include "png/encoder.h"
#include "tiff/encoder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { FIRST_CHUNK = 8, MAX_CHUNK = 16 << 20, MAX_PROFILE = 64 << 20, TEXT_KEY = 79 };

/* Inflates a zlib stream of unknown length; NULL where it is damaged or very large. */
static uint8_t *inflate_all(const uint8_t *from, size_t n, size_t *bytes)
{
    for (size_t room = 16 * n + 4096; room <= MAX_PROFILE; room *= 4) {
        uint8_t *const to = malloc(room);
        uLongf got = (uLongf)room;
        if (!to)
            return NULL;
        const int result = uncompress(to, &got, from, (uLong)n);
        if (result == Z_OK) {
            *bytes = (size_t)got;
            return to;
        }
        free(to);
        if (result != Z_BUF_ERROR)
            return NULL;
    }
    return NULL;
}

static ImgstatResult take_profile(TiffFile *file, const uint8_t *data, size_t n, TiffTags *tags,
                                  ImgstatError *err)
{
    const uint8_t *const end = memchr(data, 0, n);
    size_t bytes = 0;
    if (!end || (size_t)(end - data) + 2 >= n)
        return IMGSTAT_OK;
    uint8_t *const profile = inflate_all(end + 2, n - (size_t)(end - data) - 2, &bytes);
    if (!profile)
        return IMGSTAT_OK;
    const ImgstatResult res =
        tiff_tags_set(file, tags, TIFFTAG_ICCPROFILE, TIFF_UNDEFINED, bytes, profile, err);
    free(profile);
    return res;
}

/* Pixels a metre as pixels a centimetre; or only their ratio. */
static ImgstatResult take_resolution(TiffFile *file, const uint8_t *data, TiffTags *tags,
                                     ImgstatError *err)
{
    const uint32_t per = data[8] == 1 ? 100 : 1;
    const uint32_t x[2] = {png_get32(data), per}, y[2] = {png_get32(data + 4), per};
    IMGSTAT_TRY(tiff_tags_set(file, tags, TIFFTAG_XRESOLUTION, TIFF_RATIONAL, 1, x, err));
    IMGSTAT_TRY(tiff_tags_set(file, tags, TIFFTAG_YRESOLUTION, TIFF_RATIONAL, 1, y, err));
    return tiff_tags_number(file, tags, TIFFTAG_RESOLUTIONUNIT, TIFF_SHORT,
                            per == 100 ? RESUNIT_CENTIMETER : RESUNIT_NONE, err);
}

static ImgstatResult take_time(TiffFile *file, const uint8_t *data, TiffTags *tags,
                               ImgstatError *err)
{
    char text[32];
    snprintf(text, sizeof text, "%04u:%02u:%02u %02u:%02u:%02u", (unsigned)data[0] << 8 | data[1],
             data[2], data[3], data[4], data[5], data[6]);
    if (strlen(text) != 19)
        return IMGSTAT_OK;
    return tiff_tags_set(file, tags, TIFFTAG_DATETIME, TIFF_ASCII, 20, text, err);
}

static uint16_t tag_of_keyword(const char *keyword)
{
    static const struct {
        const char *keyword;
        uint16_t tag;
    } known[] = {{"Title", TIFFTAG_DOCUMENTNAME},
                 {"Author", TIFFTAG_ARTIST},
                 {"Description", TIFFTAG_IMAGEDESCRIPTION},
                 {"Copyright", TIFFTAG_COPYRIGHT},
                 {"Software", TIFFTAG_SOFTWARE},
                 {"Source", TIFFTAG_MODEL}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].keyword, keyword) == 0)
            return known[i].tag;
    return 0;
}

/* Latin-1 to UTF-8, which TIFF readers take for ASCII where it is. */
static size_t to_utf8(const uint8_t *from, size_t n, char *to)
{
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        if (from[i] >= 0x80)
            to[used++] = (char)(0xC0 | from[i] >> 6);
        to[used++] = (char)(from[i] >= 0x80 ? 0x80 | (from[i] & 0x3F) : from[i]);
    }
    to[used++] = '\0';
    return used;
}

static ImgstatResult set_text(TiffFile *file, uint16_t tag, const uint8_t *text, size_t n,
                              bool latin, TiffTags *tags, ImgstatError *err)
{
    if (tag == 0 || tiff_tags_have(tags, tag))
        return IMGSTAT_OK;
    if (tag == TIFFTAG_XMLPACKET)
        return tiff_tags_set(file, tags, tag, TIFF_BYTE, n, text, err);
    n = strnlen((const char *)text, n); /* PNG allows no NUL in it, TIFF has several texts then */
    char *const utf8 = malloc(2 * n + 1);
    if (!utf8)
        return error_memory(err, 2 * n + 1, "text");
    size_t used = n + 1;
    if (latin) {
        used = to_utf8(text, n, utf8);
    } else {
        memcpy(utf8, text, n);
        utf8[n] = '\0';
    }
    const ImgstatResult res = tiff_tags_set(file, tags, tag, TIFF_ASCII, used, utf8, err);
    free(utf8);
    return res;
}

/* tEXt, zTXt and iTXt: keyword, then flags and other names, then text, deflated or not. */
static ImgstatResult take_text(TiffFile *file, const char *type, const uint8_t *data, size_t n,
                               TiffTags *tags, ImgstatError *err)
{
    const uint8_t *const end = data + n;
    const uint8_t *at = memchr(data, 0, n < TEXT_KEY + 1 ? n : TEXT_KEY + 1);
    if (!at)
        return IMGSTAT_OK;
    const bool international = type[0] == 'i';
    uint16_t tag = tag_of_keyword((const char *)data);
    if (international && strcmp((const char *)data, "XML:com.adobe.xmp") == 0)
        tag = TIFFTAG_XMLPACKET;
    at++;
    bool deflated = type[0] == 'z';
    if (deflated && at < end)
        at++;
    if (international) {
        if (end - at < 2)
            return IMGSTAT_OK;
        deflated = at[0] == 1;
        at += 2;
        for (int i = 0; i < 2 && at; i++) {
            at = memchr(at, 0, (size_t)(end - at));
            at = at ? at + 1 : NULL;
        }
    }
    if (!at || tag == 0)
        return IMGSTAT_OK;
    if (!deflated)
        return set_text(file, tag, at, (size_t)(end - at), !international, tags, err);
    size_t bytes = 0;
    uint8_t *const text = inflate_all(at, (size_t)(end - at), &bytes);
    if (!text)
        return IMGSTAT_OK;
    const ImgstatResult res = set_text(file, tag, text, bytes, !international, tags, err);
    free(text);
    return res;
}

/* Of the first directory of EXIF data, what does not describe a thumbnail or samples. */
static bool is_exif_wanted(const void *context, uint16_t tag)
{
    (void)context;
    return tag == TIFFTAG_ORIENTATION || tag == TIFFTAG_MAKE || tag == TIFFTAG_MODEL ||
           tag == TIFFTAG_ARTIST || tag == TIFFTAG_COPYRIGHT || tag == TIFFTAG_SOFTWARE ||
           tag == TIFFTAG_DATETIME || tag == TIFFTAG_IMAGEDESCRIPTION || tag == TIFFTAG_EXIFIFD ||
           tag == TIFFTAG_GPSIFD;
}

static ImgstatResult take_chunk(TiffFile *file, const Decoder *like, const char *type, uint64_t at,
                                uint32_t bytes, Warnings *warnings, TiffTags *tags,
                                ImgstatError *err)
{
    TiffTagSource exif;
    size_t got = 0;
    if (strcmp(type, "eXIf") == 0)
        return tiff_tag_source(like->source, at, bytes, &exif)
                   ? tiff_tags_copy(file, &exif, exif.first, is_exif_wanted, NULL, warnings, tags,
                                    err)
                   : IMGSTAT_OK;
    uint8_t *const data = bytes <= MAX_CHUNK ? malloc((size_t)bytes + 1) : NULL;
    ImgstatResult res = IMGSTAT_OK;
    if (!data || source_read(like->source, at, data, bytes, &got, NULL) != IMGSTAT_OK ||
        got != bytes) {
        free(data);
        return IMGSTAT_OK;
    }
    if (strcmp(type, "iCCP") == 0)
        res = take_profile(file, data, bytes, tags, err);
    else if (strcmp(type, "pHYs") == 0 && bytes == 9 && !tiff_tags_have(tags, TIFFTAG_XRESOLUTION))
        res = take_resolution(file, data, tags, err);
    else if (strcmp(type, "tIME") == 0 && bytes == 7 && !tiff_tags_have(tags, TIFFTAG_DATETIME))
        res = take_time(file, data, tags, err);
    else
        res = take_text(file, type, data, bytes, tags, err);
    free(data);
    return res;
}

static ImgstatResult take_palette(TiffFile *file, const Decoder *like, const EncodePage *page,
                                  TiffTags *tags, ImgstatError *err)
{
    PngForm form;
    IMGSTAT_TRY(png_form_read(like->source, &form, err));
    const size_t n = (size_t)1 << page->bits;
    uint16_t *const map = calloc(3 * n, sizeof *map);
    if (!map)
        return error_memory(err, 3 * n * sizeof *map, "a palette");
    for (size_t i = 0; i < 3 * n; i++)
        map[i] = i % n < form.n_colors ? (uint16_t)(form.colors[i % n][i / n] * 257) : 0;
    const ImgstatResult res =
        tiff_tags_set(file, tags, TIFFTAG_COLORMAP, TIFF_SHORT, 3 * n, map, err);
    free(map);
    return res;
}

ImgstatResult tiff_tags_from_png(TiffFile *file, const Decoder *like, const EncodePage *page,
                                 Warnings *warnings, TiffTags *tags, ImgstatError *err)
{
    static const char types[] = "iCCP pHYs tIME tEXt zTXt iTXt eXIf";
    uint64_t at = FIRST_CHUNK;
    uint8_t head[8];
    size_t got = 0;
    if (tiff_keeps_palette(like, page) && !page->colormap)
        IMGSTAT_TRY(take_palette(file, like, page, tags, err));
    while (source_read(like->source, at, head, sizeof head, &got, NULL) == IMGSTAT_OK &&
           got == sizeof head) {
        const uint32_t bytes = png_get32(head);
        char type[5] = "";
        memcpy(type, head + 4, 4);
        if (bytes > INT32_MAX || at + 12 + bytes > like->source->bytes || strcmp(type, "IEND") == 0)
            break;
        if (strlen(type) == 4 && strstr(types, type))
            IMGSTAT_TRY(take_chunk(file, like, type, at + 8, bytes, warnings, tags, err));
        at += 12 + (uint64_t)bytes;
    }
    return IMGSTAT_OK;
}
