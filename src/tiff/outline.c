/* SPDX-License-Identifier: MIT */
/* outline.c: what the directory of a page says where its samples cannot be decoded. */
#include "base/compiler.h"
#include "tiff/decoder.h"
#include "tiff/tag_source.h"

#include <string.h>

/* Whether a thumbnail lacks what every image has: cameras and raw converters store a whole JPEG
 * file in place of strips. */
static bool is_no_image(const ImgstatPage *page, const TiffDirectory *directory)
{
    const bool is_jpeg = directory->field[TIFF_FIELD_JPEG].count > 0 &&
                         directory->field[TIFF_FIELD_STRIPS].count == 0;
    return page->role == IMGSTAT_ROLE_THUMBNAIL &&
           (is_jpeg || page->width == 0 || page->height == 0);
}

static void fill_page(TiffDecoder *td, const uint64_t *value, bool is_jpeg)
{
    ImgstatPage *const page = &td->base.page;
    const uint64_t compression = value[TIFF_FIELD_COMPRESSION];
    td->layout = (TiffLayout){.compression = (uint16_t)compression};
    if (compression == 0)
        td->layout.compression = is_jpeg ? COMPRESSION_OJPEG : COMPRESSION_NONE;
    page->photometric = tiff_photometric_name((uint16_t)value[TIFF_FIELD_PHOTOMETRIC]);
    page->bits = value[TIFF_FIELD_BITS] <= UINT8_MAX ? (uint8_t)value[TIFF_FIELD_BITS] : 0;
    page->channels = (uint16_t)value[TIFF_FIELD_SAMPLES];
    page->alpha = -1;
    page->has_nodata = false;
}

ImgstatResult tiff_page_outline(TiffDecoder *td, ImgstatResult res, ImgstatError *err)
{
    ImgstatPage *const page = &td->base.page;
    const PageEntry *const entry = &td->base.list.entry[page->page];
    const Source *const source = td->base.source;
    TiffTagSource file;
    TiffDirectory directory;
    uint64_t value[TIFF_FIELDS];
    if ((res != IMGSTAT_ERR_UNSUPPORTED && res != IMGSTAT_ERR_FORMAT) ||
        !tiff_tag_source(source, &file) ||
        tiff_directory_read(source, &file.kind, entry->at, &directory, NULL) != IMGSTAT_OK ||
        !directory.whole)
        return res;
    for (unsigned f = 0; f < TIFF_FIELDS; f++)
        value[f] = tiff_field_value(source, &file.kind, &directory.field[f], 0);
    page->width = entry->width;
    page->height = entry->height;
    const bool is_jpeg = directory.field[TIFF_FIELD_JPEG].count > 0;
    if (res == IMGSTAT_ERR_FORMAT && !is_no_image(page, &directory))
        return res;
    if (directory.field[TIFF_FIELD_PHOTOMETRIC].count == 0)
        value[TIFF_FIELD_PHOTOMETRIC] = UINT16_MAX; /* which is none */
    fill_page(td, value, is_jpeg);
    td->base.outlined = true;
    if (res == IMGSTAT_ERR_UNSUPPORTED)
        return res;
    return error_file(err, IMGSTAT_ERR_UNSUPPORTED, source->name,
                      is_jpeg ? "a thumbnail that is a JPEG file of its own is not supported"
                              : "a thumbnail without width and height is not supported");
}
