/* SPDX-License-Identifier: MIT */
/* directory.c: reads the fields of one directory. */
#include "tiff/directory.h"

#include "base/byteswap.h"
#include "tiff/tag_source.h"

#include <stdlib.h>
#include <string.h>
#include <tiffio.h>

static const uint16_t field_tags[TIFF_FIELDS] = {
    [TIFF_FIELD_NEW_TYPE] = TIFFTAG_SUBFILETYPE,
    [TIFF_FIELD_OLD_TYPE] = TIFFTAG_OSUBFILETYPE,
    [TIFF_FIELD_WIDTH] = TIFFTAG_IMAGEWIDTH,
    [TIFF_FIELD_HEIGHT] = TIFFTAG_IMAGELENGTH,
    [TIFF_FIELD_BITS] = TIFFTAG_BITSPERSAMPLE,
    [TIFF_FIELD_SAMPLES] = TIFFTAG_SAMPLESPERPIXEL,
    [TIFF_FIELD_FORMAT] = TIFFTAG_SAMPLEFORMAT,
    [TIFF_FIELD_PHOTOMETRIC] = TIFFTAG_PHOTOMETRIC,
    [TIFF_FIELD_SUB] = TIFFTAG_SUBIFD,
    [TIFF_FIELD_JPEG] = TIFFTAG_JPEGIFOFFSET,
    [TIFF_FIELD_COMPRESSION] = TIFFTAG_COMPRESSION,
    [TIFF_FIELD_PLANAR] = TIFFTAG_PLANARCONFIG,
    [TIFF_FIELD_STRIPS] = TIFFTAG_STRIPOFFSETS,
    [TIFF_FIELD_STRIP_ROWS] = TIFFTAG_ROWSPERSTRIP,
    [TIFF_FIELD_TEXT] = TIFFTAG_IMAGEDESCRIPTION,
    [TIFF_FIELD_STRIP_BYTES] = TIFFTAG_STRIPBYTECOUNTS,
    [TIFF_FIELD_TILES] = TIFFTAG_TILEOFFSETS,
    [TIFF_FIELD_TILE_BYTES] = TIFFTAG_TILEBYTECOUNTS,
    [TIFF_FIELD_PREDICTOR] = TIFFTAG_PREDICTOR,
    [TIFF_FIELD_COLORMAP] = TIFFTAG_COLORMAP,
    [TIFF_FIELD_METAMORPH] = 33629, /* UIC2 */
};

unsigned tiff_field_bytes(uint16_t type)
{
    switch (type) {
    case TIFF_BYTE:
        return 1;
    case TIFF_SHORT:
        return 2;
    case TIFF_LONG:
    case TIFF_IFD:
        return 4;
    case TIFF_LONG8:
    case TIFF_IFD8:
        return 8;
    default:
        return 0;
    }
}

uint64_t tiff_field_value(const Source *source, const TiffKind *kind, const TiffField *field,
                          uint64_t k)
{
    const unsigned bytes = tiff_field_bytes(field->type), width = kind->big ? 8 : 4;
    uint8_t value[8];
    size_t got = 0;
    if (bytes == 0 || k >= field->count)
        return 0;
    if (field->count <= width / bytes)
        return load_number(field->value + k * bytes, bytes, kind->big_endian);
    const uint64_t at = load_number(field->value, width, kind->big_endian);
    if (field->count > source->bytes / bytes || at > source->bytes - field->count * bytes ||
        source_read(source, at + k * bytes, value, bytes, &got, NULL) != IMGSTAT_OK || got < bytes)
        return 0;
    return load_number(value, bytes, kind->big_endian);
}

static void note_field(const TiffKind *kind, const uint8_t *entry, TiffDirectory *out)
{
    const uint16_t tag = (uint16_t)load_number(entry, 2, kind->big_endian);
    const unsigned width = kind->big ? 8 : 4;
    for (unsigned f = 0; f < TIFF_FIELDS; f++) {
        TiffField *const field = &out->field[f];
        if (tag != field_tags[f] || field->count > 0)
            continue;
        field->type = (uint16_t)load_number(entry + 2, 2, kind->big_endian);
        field->count = load_number(entry + 4, width, kind->big_endian);
        memcpy(field->value, entry + 4 + width, width);
    }
}

/* Adds what a field holds outside of its directory. */
static void add_bytes(const Source *source, const TiffKind *kind, const uint8_t *entry,
                      TiffDirectory *out)
{
    const unsigned width = kind->big ? 8 : 4;
    const uint64_t each = tiff_value_bytes((uint16_t)load_number(entry + 2, 2, kind->big_endian));
    const uint64_t n = load_number(entry + 4, width, kind->big_endian);
    const uint64_t at = load_number(entry + 4 + width, width, kind->big_endian);
    if (each == 0 || n <= width / each)
        return;
    const uint64_t most = at < source->bytes ? source->bytes - at : 0;
    const uint64_t end = n <= most / each ? at + n * each : UINT64_MAX;
    out->end = end > out->end ? end : out->end;
    out->field_bytes += n < most / each ? n * each : most;
}

ImgstatResult tiff_directory_read(const Source *source, const TiffKind *kind, uint64_t at,
                                  TiffDirectory *out, ImgstatError *err)
{
    enum { BLOCK = 64 };
    const unsigned count_bytes = kind->big ? 8 : 2, entry_bytes = kind->big ? 20 : 12;
    const unsigned offset_bytes = kind->big ? 8 : 4;
    uint8_t bytes[BLOCK * 20] = {0};
    size_t n = 0;
    *out = (TiffDirectory){.whole = false};
    IMGSTAT_TRY(source_read(source, at, bytes, count_bytes, &n, err));
    if (n < count_bytes)
        return IMGSTAT_OK;
    const uint64_t entries = load_number(bytes, count_bytes, kind->big_endian),
                   first = at + count_bytes;
    out->empty = entries == 0;
    if (out->empty || entries > (source->bytes - first) / entry_bytes)
        return IMGSTAT_OK;
    out->whole = true;
    out->end = first + entries * entry_bytes + offset_bytes;
    for (uint64_t i = 0; i < entries && i < TIFF_MAX_FIELDS; i += BLOCK) {
        const size_t block = entries - i < BLOCK ? (size_t)(entries - i) : BLOCK;
        IMGSTAT_TRY(
            source_read(source, first + i * entry_bytes, bytes, block * entry_bytes, &n, err));
        for (size_t k = 0; k < n / entry_bytes; k++) {
            note_field(kind, bytes + k * entry_bytes, out);
            add_bytes(source, kind, bytes + k * entry_bytes, out);
        }
    }
    if (entries > TIFF_MAX_FIELDS)
        out->field_bytes = UINT64_MAX;
    /* A file that ends right behind the entries has no next directory. */
    IMGSTAT_TRY(source_read(source, first + entries * entry_bytes, bytes, offset_bytes, &n, err));
    if (n == offset_bytes)
        out->next = load_number(bytes, offset_bytes, kind->big_endian);
    else if (n > 0)
        out->next = source->bytes; /* it is cut off: that directory is not in the file */
    return IMGSTAT_OK;
}

ImgstatResult tiff_field_text(const Source *source, const TiffKind *kind, const TiffField *field,
                              char **out, ImgstatError *err)
{
    enum { MOST_TEXT = 16 << 20 };
    const unsigned width = kind->big ? 8 : 4;
    size_t got = 0;
    *out = NULL;
    if (field->type != TIFF_ASCII || field->count <= width || field->count > MOST_TEXT)
        return IMGSTAT_OK;
    char *const text = malloc((size_t)field->count + 1);
    if (!text)
        return error_memory(err, (size_t)field->count + 1, "a TIFF field");
    if (source_read(source, load_number(field->value, width, kind->big_endian), text,
                    (size_t)field->count, &got, NULL) == IMGSTAT_OK &&
        got == field->count) {
        text[got] = '\0';
        *out = text;
        return IMGSTAT_OK;
    }
    free(text);
    return IMGSTAT_OK;
}
