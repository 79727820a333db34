/* SPDX-License-Identifier: MIT */
/* metadata.c: fields of metadata to the neutral form, and from it. */
#include "codec/metadata.h"
#include "base/byteswap.h"
#include "base/compiler.h"
#include "base/text_buffer.h"
#include "base/utf8.h"
#include "codec/exif.h"
#include "codec/photoshop.h"
#include "tiff/decoder.h"
#include "tiff/encoder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The field of each text. */
static const uint16_t text_tags[TEXT_KINDS] = {[TEXT_TITLE] = TIFFTAG_DOCUMENTNAME,
                                               [TEXT_AUTHOR] = TIFFTAG_ARTIST,
                                               [TEXT_DESCRIPTION] = TIFFTAG_IMAGEDESCRIPTION,
                                               [TEXT_COPYRIGHT] = TIFFTAG_COPYRIGHT,
                                               [TEXT_SOFTWARE] = TIFFTAG_SOFTWARE,
                                               [TEXT_SOURCE] = TIFFTAG_MODEL};

/* ---- Reading ---- */

static ImgstatResult read_profile(TIFF *tif, Metadata *out, ImgstatError *err)
{
    uint32_t n = 0;
    void *profile = NULL;
    if (!TIFFGetField(tif, TIFFTAG_ICCPROFILE, &n, &profile))
        return IMGSTAT_OK;
    const MetadataItem item = {.kind = METADATA_PROFILE, .data = profile, .bytes = n};
    return metadata_add(out, &item, err);
}

static ImgstatResult read_resolution(TIFF *tif, Metadata *out, ImgstatError *err)
{
    uint16_t unit = RESUNIT_INCH;
    float x = 0, y = 0;
    TIFFGetFieldDefaulted(tif, TIFFTAG_RESOLUTIONUNIT, &unit);
    if (!TIFFGetField(tif, TIFFTAG_XRESOLUTION, &x) || !TIFFGetField(tif, TIFFTAG_YRESOLUTION, &y))
        return IMGSTAT_OK;
    const MetadataItem item = {.kind = METADATA_RESOLUTION,
                               .x = (double)x,
                               .y = (double)y,
                               .unit = unit == RESUNIT_INCH         ? RESOLUTION_INCH
                                       : unit == RESUNIT_CENTIMETER ? RESOLUTION_CENTIMETRE
                                                                    : RESOLUTION_RATIO};
    return metadata_add(out, &item, err);
}

/* Of a page's directory, what EXIF data begin with and no text holds. */
static bool is_exif(const void *context, uint16_t tag)
{
    (void)context;
    return tag == TIFFTAG_ORIENTATION || tag == TIFFTAG_MAKE || tag == TIFFTAG_MODEL ||
           tag == TIFFTAG_DATETIME || tag == TIFFTAG_EXIFIFD || tag == TIFFTAG_GPSIFD;
}

/* Returns whether there is more than the orientation that everybody takes for granted. */
static bool has_exif(const TiffTags *tags, TIFF *tif)
{
    uint16_t orientation = ORIENTATION_TOPLEFT;
    TIFFGetFieldDefaulted(tif, TIFFTAG_ORIENTATION, &orientation);
    const bool has = tiff_tags_have(tags, TIFFTAG_ORIENTATION);
    return tags->n > has || (has && orientation > ORIENTATION_TOPLEFT && orientation <= 8);
}

/* EXIF data are a TIFF file without pixels. */
static ImgstatResult read_exif(const TiffDecoder *td, Metadata *out, Warnings *warnings,
                               ImgstatError *err)
{
    const Source *const source = td->base.source;
    TiffTagSource from;
    if (!tiff_tag_source(source, &from))
        return decoder_changed(&td->base, err);
    TiffTags *tags = tiff_tags_create();
    if (!tags)
        return error_memory(err, sizeof *tags, "EXIF data");
    TiffFile file = {
        .at = TIFF_HEADER_BYTES, .big_endian = from.kind.big_endian, .pages = &tags, .n_pages = 1};
    ImgstatResult res =
        tiff_tags_copy(&file, &from, tiff_page_at(td), is_exif, NULL, warnings, tags, err);
    const bool has = res == IMGSTAT_OK && has_exif(tags, td->handle.tif);
    if (has)
        res = tiff_tags_finish(&file, err);
    const MetadataItem item = {
        .kind = METADATA_EXIF, .data = file.memory, .bytes = (size_t)file.at};
    if (has && res == IMGSTAT_OK)
        res = metadata_add(out, &item, err);
    if (res == IMGSTAT_ERR_LIMIT) {
        out->lacks = true;
        res = IMGSTAT_OK;
    }
    free(file.memory);
    tiff_tags_destroy(tags);
    return res;
}

bool tiff_text_is_for_programs(TIFF *tif)
{
    char *text = NULL;
    return TIFFGetField(tif, TIFFTAG_IMAGEDESCRIPTION, &text) && text &&
           stack_text_kind(text) != STACK_TEXT_OTHER;
}

/* Parts of a text that NULs divide, as of a photographer and an editor, become lines. Returns its
 * bytes without the NULs at its end. */
static size_t join_parts(char *text, size_t n)
{
    while (n > 0 && text[n - 1] == '\0')
        n--;
    for (size_t i = 0; i < n; i++)
        if (text[i] == '\0')
            text[i] = '\n';
    return n;
}

/* The camera's model is among the EXIF data. */
static ImgstatResult read_texts(const TiffDecoder *td, const TiffTagSource *from, Metadata *out,
                                ImgstatError *err)
{
    for (unsigned i = 0; i < TEXT_SOURCE; i++) {
        TiffLoaded field;
        if (i == TEXT_DESCRIPTION && tiff_text_is_for_programs(td->handle.tif))
            continue;
        IMGSTAT_TRY(tiff_tag_load(from, tiff_page_at(td), text_tags[i], &field, err));
        char *const text = (char *)field.data;
        const size_t n = text && field.type == TIFF_ASCII ? join_parts(text, field.bytes) : 0;
        const MetadataItem item = {.kind = METADATA_TEXT,
                                   .keyword = (MetadataText)i,
                                   .latin1 = n > 0 && !utf8_is_valid(text),
                                   .data = field.data,
                                   .bytes = n};
        const ImgstatResult res = n > 0 ? metadata_add(out, &item, err) : IMGSTAT_OK;
        free(field.data);
        IMGSTAT_TRY(res);
    }
    return IMGSTAT_OK;
}

/* Others take it as UTF-8; a NUL in it is of UTF-16 or UTF-32. */
static ImgstatResult read_xmp(TIFF *tif, Metadata *out, Warnings *warnings, ImgstatError *err)
{
    uint32_t n = 0;
    char *xmp = NULL;
    if (!TIFFGetField(tif, TIFFTAG_XMLPACKET, &n, &xmp) || !xmp)
        return IMGSTAT_OK;
    while (n > 0 && xmp[n - 1] == '\0')
        n--;
    const MetadataItem item = {.kind = METADATA_XMP, .data = (uint8_t *)xmp, .bytes = n};
    if (n > 0 && !memchr(xmp, '\0', n))
        return metadata_add(out, &item, err);
    if (n > 0)
        warnings_report(warnings, "its XMP is not UTF-8 and is left out");
    return IMGSTAT_OK;
}

/* Adds the IPTC data of a field, and Photoshop's resources. */
static ImgstatResult read_resources(const TiffTagSource *from, uint64_t at, uint16_t tag,
                                    Metadata *out, Warnings *warnings, ImgstatError *err)
{
    TiffLoaded field;
    IMGSTAT_TRY(tiff_tag_load(from, at, tag, &field, err));
    /* Bytes that are said to be numbers are in order, or in that of the numbers. */
    if (field.data && field.bytes > 0 && tag == TIFFTAG_RICHTIFFIPTC &&
        field.data[0] != IPTC_MARKER)
        tiff_swap_values(field.data, field.bytes, field.type);
    const bool known = field.data && field.bytes > 0 &&
                       (field.data[0] == IPTC_MARKER || photoshop_is_list(field.data, field.bytes));
    const ImgstatResult res =
        known ? photoshop_read(field.data, field.bytes, out, warnings, err) : IMGSTAT_OK;
    free(field.data);
    return res;
}

static ImgstatResult read_fields(const TiffDecoder *td, Metadata *out, Warnings *warnings,
                                 ImgstatError *err)
{
    TiffTagSource from;
    if (!tiff_tag_source(td->base.source, &from))
        return decoder_changed(&td->base, err);
    const uint64_t at = tiff_page_at(td);
    IMGSTAT_TRY(read_resources(&from, at, TIFFTAG_RICHTIFFIPTC, out, warnings, err));
    IMGSTAT_TRY(read_resources(&from, at, TIFFTAG_PHOTOSHOP, out, warnings, err));
    return read_texts(td, &from, out, err);
}

/* Returns whether other formats have a place for a field, or it describes how samples lie and which
 * values they have. */
static bool has_place(uint16_t tag)
{
    static const struct {
        uint16_t first, last;
    } ranges[] = {{TIFFTAG_SUBFILETYPE, TIFFTAG_CELLLENGTH},
                  {TIFFTAG_FILLORDER, TIFFTAG_FILLORDER},
                  {TIFFTAG_DOCUMENTNAME, TIFFTAG_PLANARCONFIG},
                  {TIFFTAG_FREEOFFSETS, TIFFTAG_FREEBYTECOUNTS},
                  {TIFFTAG_GROUP3OPTIONS, TIFFTAG_RESOLUTIONUNIT},
                  {TIFFTAG_SOFTWARE, TIFFTAG_DATETIME},
                  {TIFFTAG_ARTIST, TIFFTAG_ARTIST},
                  {TIFFTAG_PREDICTOR, TIFFTAG_PREDICTOR},
                  {TIFFTAG_COLORMAP, TIFFTAG_COLORMAP},
                  {TIFFTAG_TILEWIDTH, TIFFTAG_TILEBYTECOUNTS},
                  {TIFFTAG_SUBIFD, TIFFTAG_SUBIFD},
                  {TIFFTAG_EXTRASAMPLES, TIFFTAG_SMAXSAMPLEVALUE},
                  {TIFFTAG_JPEGTABLES, TIFFTAG_JPEGTABLES},
                  {TIFFTAG_JPEGPROC, TIFFTAG_REFERENCEBLACKWHITE},
                  {TIFFTAG_XMLPACKET, TIFFTAG_XMLPACKET},
                  {TIFFTAG_COPYRIGHT, TIFFTAG_COPYRIGHT},
                  {TIFFTAG_RICHTIFFIPTC, TIFFTAG_RICHTIFFIPTC},
                  {TIFFTAG_PHOTOSHOP, TIFFTAG_PHOTOSHOP},
                  {TIFFTAG_EXIFIFD, TIFFTAG_EXIFIFD},
                  {TIFFTAG_ICCPROFILE, TIFFTAG_ICCPROFILE},
                  {TIFFTAG_GPSIFD, TIFFTAG_GPSIFD},
                  {TIFFTAG_GDAL_NODATA, TIFFTAG_GDAL_NODATA}}; /* it has a warning of its own */
    for (size_t i = 0; i < ARRAY_LEN(ranges); i++)
        if (tag >= ranges[i].first && tag <= ranges[i].last)
            return true;
    return false;
}

typedef struct LostFields {
    TIFF *tif;
    TextBuffer *names;
} LostFields;

/* Notes the name of a field that no other format has a place for; copies none. */
static bool note_lost(const void *context, uint16_t tag)
{
    const LostFields *const lost = context;
    const char *const comma = lost->names->n > 0 ? ", " : "";
    if (has_place(tag) &&
        !(tag == TIFFTAG_IMAGEDESCRIPTION && tiff_text_is_for_programs(lost->tif)))
        return false;
    const TIFFField *const field = TIFFFieldWithTag(lost->tif, tag);
    const char *const name = field ? TIFFFieldName(field) : "";
    if (*name && strncmp(name, "Tag ", 4) != 0)
        text_print(lost->names, "%s%s", comma, name);
    else
        text_print(lost->names, "%s%u", comma, tag);
    return false;
}

static ImgstatResult warn_of_lost(const TiffDecoder *td, Warnings *warnings, ImgstatError *err)
{
    TextBuffer names = {.data = NULL};
    const LostFields lost = {td->handle.tif, &names};
    TiffFile file = {.at = 0};
    TiffTags none = {.n = 0};
    TiffTagSource from;
    if (!tiff_tag_source(td->base.source, &from))
        return decoder_changed(&td->base, err);
    ImgstatResult res =
        tiff_tags_copy(&file, &from, tiff_page_at(td), note_lost, &lost, warnings, &none, err);
    if (res == IMGSTAT_OK && names.failed)
        res = error_memory(err, names.n, "names of fields");
    if (res == IMGSTAT_OK && names.n > 0)
        warnings_report(warnings, "only TIFF has a place for these of its fields, left out: %s",
                        names.data);
    text_release(&names);
    return res;
}

ImgstatResult tiff_metadata_read(Decoder *base, Metadata *out, Warnings *warnings,
                                 ImgstatError *err)
{
    const TiffDecoder *const td = (const TiffDecoder *)base;
    TIFF *const tif = td->handle.tif;
    uint16_t n = 0;
    const uint16_t *kinds = NULL;
    out->premultiplied = TIFFGetField(tif, TIFFTAG_EXTRASAMPLES, &n, &kinds) && n > 0 &&
                         kinds[0] == EXTRASAMPLE_ASSOCALPHA;
    IMGSTAT_TRY(read_profile(tif, out, err));
    IMGSTAT_TRY(read_resolution(tif, out, err));
    IMGSTAT_TRY(read_exif(td, out, warnings, err));
    IMGSTAT_TRY(read_fields(td, out, warnings, err));
    IMGSTAT_TRY(read_xmp(tif, out, warnings, err));
    return warn_of_lost(td, warnings, err);
}

/* ---- Writing ---- */

bool tiff_metadata_big_endian(const Metadata *metadata)
{
    for (size_t i = 0; i < metadata->n; i++) {
        const MetadataItem *const item = &metadata->item[i];
        TiffTagSource exif;
        if (item->kind == METADATA_EXIF && tiff_tag_memory(item->data, item->bytes, &exif))
            return exif.kind.big_endian;
    }
    return host_big_endian;
}

/* Metres become centimetres. */
static ImgstatResult write_resolution(TiffFile *file, const MetadataItem *item, Warnings *warnings,
                                      TiffTags *tags, ImgstatError *err)
{
    const bool metres = item->unit == RESOLUTION_METRE;
    const bool whole = item->x == floor(item->x) && item->y == floor(item->y);
    const uint32_t scale = whole ? 1 : 1000, per = scale * (metres ? 100 : 1);
    const double x = round(item->x * scale), y = round(item->y * scale);
    if (tiff_tags_have(tags, TIFFTAG_XRESOLUTION))
        return IMGSTAT_OK;
    if (!(x >= 1 && x <= UINT32_MAX && y >= 1 && y <= UINT32_MAX)) {
        warnings_report(warnings, "its resolution of %g x %g is no resolution and is left out",
                        item->x, item->y);
        return IMGSTAT_OK;
    }
    const uint32_t across[2] = {(uint32_t)x, per}, down[2] = {(uint32_t)y, per};
    IMGSTAT_TRY(tiff_tags_set(file, tags, TIFFTAG_XRESOLUTION, TIFF_RATIONAL, 1, across, err));
    IMGSTAT_TRY(tiff_tags_set(file, tags, TIFFTAG_YRESOLUTION, TIFF_RATIONAL, 1, down, err));
    return tiff_tags_number(file, tags, TIFFTAG_RESOLUTIONUNIT, TIFF_SHORT,
                            item->unit == RESOLUTION_RATIO  ? RESUNIT_NONE
                            : item->unit == RESOLUTION_INCH ? RESUNIT_INCH
                                                            : RESUNIT_CENTIMETER,
                            err);
}

/* Of the first directory of EXIF data, what does not describe a thumbnail or samples. */
static bool is_exif_wanted(const void *context, uint16_t tag)
{
    const bool *const resolution = context;
    switch (tag) {
    case TIFFTAG_DOCUMENTNAME:
    case TIFFTAG_IMAGEDESCRIPTION:
    case TIFFTAG_MAKE:
    case TIFFTAG_MODEL:
    case TIFFTAG_ORIENTATION:
    case TIFFTAG_SOFTWARE:
    case TIFFTAG_DATETIME:
    case TIFFTAG_ARTIST:
    case TIFFTAG_COPYRIGHT:
    case TIFFTAG_EXIFIFD:
    case TIFFTAG_GPSIFD:
        return true;
    case TIFFTAG_XRESOLUTION:
    case TIFFTAG_YRESOLUTION:
    case TIFFTAG_RESOLUTIONUNIT:
        return *resolution;
    case TIFFTAG_GRAYRESPONSEUNIT:
    case TIFFTAG_GRAYRESPONSECURVE:
    case TIFFTAG_TRANSFERFUNCTION:
        return false;
    default:
        return !has_place(tag);
    }
}

/* Returns whether the resolution is that of EXIF data: it has one, and the other format says no
 * more than the shape of a pixel. */
static ImgstatResult find_resolution(const Metadata *metadata, bool *of_exif, ImgstatError *err)
{
    TiffTagSource exif;
    TiffLoaded field;
    *of_exif = false;
    for (size_t i = 0; i < metadata->n; i++)
        if (metadata->item[i].kind == METADATA_RESOLUTION &&
            metadata->item[i].unit != RESOLUTION_RATIO)
            return IMGSTAT_OK;
    for (size_t i = 0; i < metadata->n; i++) {
        const MetadataItem *const item = &metadata->item[i];
        if (item->kind != METADATA_EXIF || !tiff_tag_memory(item->data, item->bytes, &exif))
            continue;
        IMGSTAT_TRY(tiff_tag_load(&exif, exif.first, TIFFTAG_XRESOLUTION, &field, err));
        *of_exif = field.data != NULL;
        free(field.data);
    }
    return IMGSTAT_OK;
}

static ImgstatResult write_exif(TiffFile *file, const MetadataItem *item, bool resolution,
                                Warnings *warnings, TiffTags *tags, ImgstatError *err)
{
    TiffTagSource exif;
    if (exif_has_thumbnail(item->data, item->bytes))
        warnings_report(warnings, "its EXIF thumbnail is left out: it shows the old contrast");
    return tiff_tag_memory(item->data, item->bytes, &exif)
               ? tiff_tags_copy(file, &exif, exif.first, is_exif_wanted, &resolution, warnings,
                                tags, err)
               : IMGSTAT_OK;
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

/* A text ends at its first NUL: TIFF has several texts behind each other. */
static ImgstatResult write_text(TiffFile *file, uint16_t tag, const MetadataItem *item,
                                TiffTags *tags, ImgstatError *err)
{
    const char *const text = (const char *)item->data;
    const size_t n = strnlen(text, item->bytes);
    if (tiff_tags_have(tags, tag))
        return IMGSTAT_OK;
    if (!item->latin1)
        return tiff_tags_set(file, tags, tag, TIFF_ASCII, n + 1, text, err);
    char *const utf8 = malloc(2 * n + 1);
    if (!utf8)
        return error_memory(err, 2 * n + 1, "text");
    const size_t used = to_utf8(item->data, n, utf8);
    const ImgstatResult res = tiff_tags_set(file, tags, tag, TIFF_ASCII, used, utf8, err);
    free(utf8);
    return res;
}

static ImgstatResult write_item(TiffFile *file, const MetadataItem *item, bool exif_resolution,
                                Warnings *warnings, TiffTags *tags, ImgstatError *err)
{
    switch (item->kind) {
    case METADATA_PROFILE:
        return tiff_tags_set(file, tags, TIFFTAG_ICCPROFILE, TIFF_UNDEFINED, item->bytes,
                             item->data, err);
    case METADATA_RESOLUTION:
        return exif_resolution ? IMGSTAT_OK : write_resolution(file, item, warnings, tags, err);
    case METADATA_TIME:
        return write_text(file, TIFFTAG_DATETIME, item, tags, err);
    case METADATA_EXIF:
        return write_exif(file, item, exif_resolution, warnings, tags, err);
    case METADATA_XMP:
        return tiff_tags_have(tags, TIFFTAG_XMLPACKET)
                   ? IMGSTAT_OK
                   : tiff_tags_set(file, tags, TIFFTAG_XMLPACKET, TIFF_BYTE, item->bytes,
                                   item->data, err);
    case METADATA_IPTC:
        return tiff_tags_set(file, tags, TIFFTAG_RICHTIFFIPTC, TIFF_UNDEFINED, item->bytes,
                             item->data, err);
    case METADATA_PHOTOSHOP:
        return tiff_tags_set(file, tags, TIFFTAG_PHOTOSHOP, TIFF_BYTE, item->bytes, item->data,
                             err);
    case METADATA_TEXT:
        return write_text(file, text_tags[item->keyword], item, tags, err);
    }
    return IMGSTAT_OK;
}

ImgstatResult tiff_metadata_write(TiffFile *file, const Metadata *metadata, Warnings *warnings,
                                  TiffTags *tags, ImgstatError *err)
{
    bool exif_resolution;
    IMGSTAT_TRY(find_resolution(metadata, &exif_resolution, err));
    for (size_t i = 0; i < metadata->n; i++)
        IMGSTAT_TRY(write_item(file, &metadata->item[i], exif_resolution, warnings, tags, err));
    return IMGSTAT_OK;
}

ImgstatResult tiff_palette_write(TiffFile *file, const Decoder *like, const EncodePage *page,
                                 TiffTags *tags, ImgstatError *err)
{
    const size_t n = (size_t)1 << page->bits;
    unsigned n_colors = 0;
    ImagePro colors;
    IMGSTAT_TRY(imgstat_image_create((uint32_t)n, 1, 3, IMGSTAT_U8, 8, &colors, err));
    uint16_t *const map = calloc(3 * n, sizeof *map);
    ImgstatResult res = IMGSTAT_OK;
    if (!map)
        res = error_memory(err, 3 * n * sizeof *map, "a palette");
    else if (!like->codec->palette(like, &colors, &n_colors))
        res = decoder_changed(like, err);
    for (size_t i = 0; res == IMGSTAT_OK && i < 3 * n; i++)
        map[i] = (uint16_t)(((const uint8_t *)colors.host)[i % n * 3 + i / n] * 257);
    if (res == IMGSTAT_OK)
        res = tiff_tags_set(file, tags, TIFFTAG_COLORMAP, TIFF_SHORT, 3 * n, map, err);
    free(map);
    imgstat_image_release(&colors);
    return res;
}
