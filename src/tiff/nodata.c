/* SPDX-License-Identifier: MIT */
/* nodata.c: the GDAL_NODATA tag: one value, as text, that stands for "undefined". */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* strtod_l */
#endif
#include "base/sample.h"
#include "tiff/decoder.h"

#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

/* The longest of "%f" is -DBL_MAX with 309 digits before the point. */
enum { TAG_GDAL_NODATA = 42113, TEXT_BYTES = 512 };

/* The tag's text, which other users of libtiff in the process may have declared with another shape.
 */
static bool read_text(TIFF *tif, char text[TEXT_BYTES])
{
    const TIFFField *const field = TIFFFindField(tif, TAG_GDAL_NODATA, TIFF_ANY);
    const char *data = NULL;
    size_t bytes = 0;
    if (!field || TIFFFieldDataType(field) != TIFF_ASCII)
        return false;
    if (TIFFFieldPassCount(field) && TIFFFieldReadCount(field) == TIFF_VARIABLE2) {
        uint32_t count = 0;
        if (!TIFFGetField(tif, TAG_GDAL_NODATA, &count, &data))
            return false;
        bytes = data ? strnlen(data, count) : 0;
    } else if (TIFFFieldPassCount(field)) {
        uint16_t count = 0;
        if (!TIFFGetField(tif, TAG_GDAL_NODATA, &count, &data))
            return false;
        bytes = data ? strnlen(data, count) : 0;
    } else if (TIFFGetField(tif, TAG_GDAL_NODATA, &data) && data) {
        bytes = strlen(data);
    }
    while (bytes > 0 && strchr(" \t\r\n\v\f", data[bytes - 1]))
        bytes--;
    if (bytes == 0 || bytes >= TEXT_BYTES)
        return false;
    memcpy(text, data, bytes);
    text[bytes] = '\0';
    return true;
}

/* Numbers in files have a point, whatever the locale of the process is. */
static bool parse_double(const char *text, double *out)
{
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!plain)
        return false;
    char *end = NULL;
    *out = strtod_l(text, &end, plain);
    freelocale(plain);
    return end != text && *end == '\0';
}

/* An integer given with full precision, or as a float ("-9999.0", "1e3") of integral value. */
static bool parse_integer(const char *text, ImgstatValue *value)
{
    char *end = NULL;
    errno = 0;
    if (sample_is_signed(value->sample)) {
        value->as.i = strtoll(text, &end, 10);
    } else {
        value->as.u = strtoull(text, &end, 10);
        if (strchr(text, '-') && value->as.u != 0)
            return false;
    }
    if (*end == '.' && end != text)
        end += 1 + strspn(end + 1, "0");
    if (end != text && *end == '\0')
        return errno == 0;
    double x = 0;
    if (!parse_double(text, &x) || x != floor(x) || fabs(x) >= 9007199254740992.0 /* 2^53 */)
        return false;
    if (sample_is_signed(value->sample)) {
        value->as.i = (int64_t)x;
        return true;
    }
    value->as.u = x >= 0 ? (uint64_t)x : 0;
    return x >= 0;
}

void tiff_nodata_read(TiffDecoder *td)
{
    ImgstatPage *const page = &td->base.page;
    char text[TEXT_BYTES];
    double x = 0;
    page->has_nodata = false;
    page->nodata = (ImgstatValue){.sample = page->sample};
    if (!read_text(td->handle.tif, text))
        return;
    if (!parse_double(text, &x)) {
        warnings_report(&td->base.warnings, "its nodata value \"%s\" is not a number", text);
        return;
    }
    if (td->map8 || td->map16) {
        warnings_report(&td->base.warnings,
                        "its nodata value is a palette index and not applied to colours");
        return;
    }
    if (sample_is_float(page->sample)) {
        page->nodata.as.f = x;
        page->has_nodata = true;
        return;
    }
    /* A value that the samples cannot hold, such as -9999 for unsigned ones, marks none of them. */
    uint64_t key = 0;
    page->has_nodata =
        parse_integer(text, &page->nodata) && sample_key_of(page->sample, page->nodata, &key);
}

void tiff_nodata_fill(const ImgstatPage *page, void *to, size_t n)
{
    const size_t bytes = imgstat_sample_bytes(page->sample);
    uint64_t key = 0;
    memset(to, 0, n * bytes);
    if (!page->has_nodata || !sample_key_of(page->sample, page->nodata, &key))
        return;
    const uint64_t raw = sample_raw(page->sample, key);
    for (size_t i = 0; i < n; i++) {
        unsigned char *const at = (unsigned char *)to + i * bytes;
        const uint8_t u8 = (uint8_t)raw;
        const uint16_t u16 = (uint16_t)raw;
        const uint32_t u32 = (uint32_t)raw;
        memcpy(at,
               bytes == 1   ? (const void *)&u8
               : bytes == 2 ? (const void *)&u16
               : bytes == 4 ? (const void *)&u32
                            : (const void *)&raw,
               bytes);
    }
}
