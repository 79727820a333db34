/* SPDX-License-Identifier: MIT */
/* metadata.c: converts chunks of metadata to the form of codec/metadata.h, and back. */
#include "codec/metadata.h"
#include "png/decoder.h"
#include "png/encoder.h"
#include "png/raw_profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static const char xmp_keyword[] = "XML:com.adobe.xmp";

/* ---- Reading ---- */

enum { KEYWORD_BYTES = 79 };

static ImgstatResult read_profile(Metadata *out, const uint8_t *data, size_t n, Warnings *warnings,
                                  ImgstatError *err)
{
    const uint8_t *const end = memchr(data, 0, n);
    if (!end || (size_t)(end - data) + 2 >= n)
        return IMGSTAT_OK;
    MetadataItem item = {.kind = METADATA_PROFILE};
    item.data = raw_profile_inflate(end + 2, n - (size_t)(end - data) - 2, &item.bytes);
    const ImgstatResult res = item.data ? metadata_add(out, &item, err) : IMGSTAT_OK;
    free(item.data);
    if (res == IMGSTAT_OK && !metadata_has(out, METADATA_PROFILE, 0))
        warnings_report(warnings, "its colour profile is damaged or very large and is left out");
    return res;
}

static ImgstatResult read_time(Metadata *out, const uint8_t *data, ImgstatError *err)
{
    char text[32];
    snprintf(text, sizeof text, "%04u:%02u:%02u %02u:%02u:%02u", (unsigned)data[0] << 8 | data[1],
             data[2], data[3], data[4], data[5], data[6]);
    if (strlen(text) != 19)
        return IMGSTAT_OK;
    const MetadataItem item = {
        .kind = METADATA_TIME, .data = (uint8_t *)text, .bytes = strlen(text)};
    return metadata_add(out, &item, err);
}

/* Returns whether the formats share a text of that keyword. */
static bool kind_of_text(const char *keyword, bool international, MetadataItem *item)
{
    item->kind = METADATA_XMP;
    if (international && strcmp(keyword, xmp_keyword) == 0)
        return true;
    item->kind = METADATA_TEXT;
    for (unsigned i = 0; i < TEXT_KINDS; i++) {
        item->keyword = (MetadataText)i;
        if (strcmp(metadata_keyword(item->keyword), keyword) == 0)
            return true;
    }
    return false;
}

/* tEXt, zTXt and iTXt */
static ImgstatResult read_text(Metadata *out, const char *type, const uint8_t *data, size_t n,
                               Warnings *warnings, ImgstatError *err)
{
    const char *const keyword = (const char *)data;
    const bool international = type[0] == 'i';
    MetadataItem item = {.latin1 = !international};
    if (!memchr(data, 0, n < KEYWORD_BYTES + 1 ? n : KEYWORD_BYTES + 1))
        return IMGSTAT_OK;
    const bool is_profile = raw_profile_is(keyword);
    if (!is_profile && (!kind_of_text(keyword, international, &item) ||
                        metadata_has(out, item.kind, item.keyword)))
        return IMGSTAT_OK;
    char *const text = png_text_load(type, data, n, &item.bytes);
    if (!text)
        return IMGSTAT_OK;
    item.data = (uint8_t *)text;
    const ImgstatResult res = is_profile ? raw_profile_read(out, text, item.bytes, warnings, err)
                                         : metadata_add(out, &item, err);
    free(text);
    return res;
}

static ImgstatResult read_chunk(Metadata *out, const PngChunk *chunk, uint8_t *data,
                                Warnings *warnings, ImgstatError *err)
{
    const MetadataItem exif = {.kind = METADATA_EXIF, .data = data, .bytes = chunk->bytes};
    if (strcmp(chunk->type, "eXIf") == 0)
        return metadata_add(out, &exif, err);
    if (strcmp(chunk->type, "iCCP") == 0)
        return read_profile(out, data, chunk->bytes, warnings, err);
    if (strcmp(chunk->type, "tIME") == 0)
        return chunk->bytes == PNG_TIME_BYTES ? read_time(out, data, err) : IMGSTAT_OK;
    if (strcmp(chunk->type, "pHYs") != 0)
        return read_text(out, chunk->type, data, chunk->bytes, warnings, err);
    if (chunk->bytes != 9)
        return IMGSTAT_OK;
    const MetadataItem resolution = {.kind = METADATA_RESOLUTION,
                                     .x = png_get32(data),
                                     .y = png_get32(data + 4),
                                     .unit = data[8] == 1 ? RESOLUTION_METRE : RESOLUTION_RATIO};
    return metadata_add(out, &resolution, err);
}

/* What only PNG has a place for, named in one warning. */
typedef struct Lost {
    char names[240];
    size_t n;
} Lost;

static void add_lost(Lost *lost, const char *name, size_t bytes)
{
    const size_t left = sizeof lost->names - lost->n;
    const int n =
        snprintf(lost->names + lost->n, left, "%s%.*s", lost->n > 0 ? ", " : "", (int)bytes, name);
    if (n > 0 && (size_t)n < left)
        lost->n += (size_t)n;
    else /* the first of many */
        lost->names[lost->n] = '\0';
}

/* Notes a chunk that gave nothing: a text that other formats have no place for, or no second one,
 * or one that is damaged. */
static void note_chunk(Lost *lost, const PngChunk *chunk, const uint8_t *data)
{
    const size_t n = chunk->bytes;
    const bool text = strcmp(chunk->type + 1, "EXt") == 0 || strcmp(chunk->type + 1, "TXt") == 0;
    const size_t most = n < KEYWORD_BYTES + 1 ? n : KEYWORD_BYTES + 1;
    const uint8_t *const end = text ? memchr(data, 0, most) : NULL;
    if (!end)
        add_lost(lost, chunk->type, 4);
    else if (!raw_profile_is((const char *)data))
        add_lost(lost, (const char *)data, (size_t)(end - data));
}

ImgstatResult png_metadata_read(Decoder *base, Metadata *out, Warnings *warnings, ImgstatError *err)
{
    static const char types[] = "iCCP pHYs tIME tEXt zTXt iTXt eXIf";
    Lost lost = {.n = 0};
    const Source *const source = base->source;
    const PngForm *const form = &((const PngDecoder *)base)->form;
    uint64_t at = PNG_SIGNATURE_BYTES;
    PngChunk chunk = {.at = 0};
    ImgstatResult res = IMGSTAT_OK;
    while (res == IMGSTAT_OK && png_chunk_next(source, &at, &chunk)) {
        if (strcmp(chunk.type, "acTL") == 0)
            png_note_animation(warnings);
        if (!strstr(types, chunk.type)) {
            if (!png_is_silent(chunk.type) || png_suggests_palette(form, &chunk))
                add_lost(&lost, chunk.type, 4);
            continue;
        }
        if (chunk.bytes > METADATA_BYTES) {
            warnings_report(warnings, "its %s chunk is very large and is left out", chunk.type);
            continue;
        }
        uint8_t *const data = malloc((size_t)chunk.bytes + PNG_CHUNK_FRAME);
        if (!data)
            return error_memory(err, chunk.bytes, "metadata");
        const size_t before = out->n;
        const bool whole = png_chunk_read(source, &chunk, data);
        if (whole)
            res = read_chunk(out, &chunk, data + PNG_CHUNK_HEAD, warnings, err);
        else
            warnings_report(warnings, "its %s chunk is damaged, and left out", chunk.type);
        if (whole && out->n == before && strcmp(chunk.type, "iCCP") != 0) /* has its own warning */
            note_chunk(&lost, &chunk, data + PNG_CHUNK_HEAD);
        free(data);
    }
    if (lost.n > 0)
        warnings_report(warnings,
                        "only PNG has a place for these of its chunks and texts, left "
                        "out: %s",
                        lost.names);
    if (res == IMGSTAT_OK)
        png_note_behind_end(source, at, &chunk, warnings);
    return res;
}

/* ---- Writing ---- */

/* Readers would take a colour profile of the wrong kind for damage. */
static ImgstatResult write_profile(PngSink *sink, const MetadataItem *item, bool color,
                                   Warnings *warnings, ImgstatError *err)
{
    static const char name[] = "ICC profile";
    if (item->bytes < 128) {
        warnings_report(warnings, "its colour profile is damaged and is left out");
        return IMGSTAT_OK;
    }
    if (memcmp(item->data + 16, color ? "RGB " : "GRAY", 4) != 0) {
        warnings_report(warnings, "its colour profile is not for %s samples and is left out",
                        color ? "RGB" : "gray");
        return IMGSTAT_OK;
    }
    uLongf room = compressBound((uLong)item->bytes);
    const size_t head = sizeof name + 1; /* with its NUL, and the method */
    uint8_t *const data = calloc(1, head + room);
    if (!data)
        return error_memory(err, head + room, "a colour profile");
    memcpy(data, name, sizeof name);
    ImgstatResult res = IMGSTAT_OK;
    if (compress(data + head, &room, item->data, (uLong)item->bytes) == Z_OK)
        res = png_chunk_write(sink, "iCCP", data, head + room, err);
    free(data);
    return res;
}

static ImgstatResult write_resolution(PngSink *sink, const MetadataItem *item, Warnings *warnings,
                                      ImgstatError *err)
{
    static const double to_metres[] = {[RESOLUTION_RATIO] = 1,
                                       [RESOLUTION_INCH] = 1 / 0.0254,
                                       [RESOLUTION_CENTIMETRE] = 100,
                                       [RESOLUTION_METRE] = 1};
    double scale = to_metres[item->unit];
    /* The shape of a pixel is that of any multiple. */
    if (item->unit == RESOLUTION_RATIO && (item->x != floor(item->x) || item->y != floor(item->y)))
        for (scale = 1000; fmin(item->x, item->y) * scale < 1000 && scale < 1e9;)
            scale *= 10;
    const double x = round(item->x * scale);
    const double y = round(item->y * scale);
    uint8_t data[9] = {0};
    if (!(x >= 1 && x <= INT32_MAX && y >= 1 && y <= INT32_MAX)) {
        warnings_report(warnings, "its resolution of %g x %g is out of PNG's range and is left out",
                        item->x, item->y);
        return IMGSTAT_OK;
    }
    png_put32(data, (uint32_t)x);
    png_put32(data + 4, (uint32_t)y);
    data[8] = item->unit != RESOLUTION_RATIO;
    return png_chunk_write(sink, "pHYs", data, sizeof data, err);
}

/* Text with a keyword: an iTXt is UTF-8, a tEXt is Latin-1. */
static ImgstatResult write_text(PngSink *sink, const char *keyword, const MetadataItem *item,
                                ImgstatError *err)
{
    const size_t key = strlen(keyword);
    const size_t head = key + (item->latin1 ? 1 : 5); /* NUL; of iTXt two flags, two empty names */
    char *const data = calloc(1, head + item->bytes);
    if (!data)
        return error_memory(err, head + item->bytes, "text");
    memcpy(data, keyword, key);
    memcpy(data + head, item->data, item->bytes);
    const ImgstatResult res =
        png_chunk_write(sink, item->latin1 ? "tEXt" : "iTXt", data, head + item->bytes, err);
    free(data);
    return res;
}

static ImgstatResult write_time(PngSink *sink, const MetadataItem *item, Warnings *warnings,
                                ImgstatError *err)
{
    unsigned year, part[5];
    uint8_t data[PNG_TIME_BYTES] = {0};
    if (sscanf((const char *)item->data, "%4u:%2u:%2u %2u:%2u:%2u", &year, &part[0], &part[1],
               &part[2], &part[3], &part[4]) == 6) {
        data[0] = (uint8_t)(year >> 8);
        data[1] = (uint8_t)year;
        for (size_t i = 0; i < 5; i++)
            data[2 + i] = (uint8_t)part[i];
    }
    if (!png_time_is_valid(data)) {
        warnings_report(warnings, "its time is damaged and is left out");
        return IMGSTAT_OK;
    }
    return png_chunk_write(sink, "tIME", data, sizeof data, err);
}

static ImgstatResult write_item(PngSink *sink, const MetadataItem *item, const PngForm *form,
                                Warnings *warnings, ImgstatError *err)
{
    switch (item->kind) {
    case METADATA_PROFILE:
        return write_profile(sink, item, form->color_type & 2, warnings, err);
    case METADATA_RESOLUTION:
        return write_resolution(sink, item, warnings, err);
    case METADATA_TIME:
        return write_time(sink, item, warnings, err);
    case METADATA_EXIF:
        return png_chunk_write(sink, "eXIf", item->data, item->bytes, err);
    case METADATA_XMP:
        return write_text(sink, xmp_keyword, item, err);
    case METADATA_IPTC:
    case METADATA_PHOTOSHOP:
        return raw_profile_write(sink, item, err);
    case METADATA_TEXT:
        return write_text(sink, metadata_keyword(item->keyword), item, err);
    }
    return IMGSTAT_OK;
}

ImgstatResult png_metadata_write(PngSink *sink, const Metadata *metadata, const PngForm *form,
                                 Warnings *warnings, ImgstatError *err)
{
    const bool alpha = form->color_type != PNG_PALETTE && (form->color_type & 4);
    if (alpha && metadata->premultiplied)
        warnings_report(warnings, "its colours are multiplied by alpha, which PNG cannot say");
    for (size_t i = 0; i < metadata->n; i++)
        IMGSTAT_TRY(write_item(sink, &metadata->item[i], form, warnings, err));
    return IMGSTAT_OK;
}
