/* SPDX-License-Identifier: MIT */
/* chunks.c: chunks of an output PNG: written, and copied from an input where they still hold.
 */
#include "png/encoder.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#ifdef IMGSTAT_WITH_LIBDEFLATE
#include <libdeflate.h>
#endif

enum {
    FIRST_CHUNK = 8,       /* behind the signature */
    HEAD_BYTES = 8,        /* length and type */
    FRAME_BYTES = 12,      /* these and the checksum */
    SMALL_BYTES = 1024,    /* a chunk that is copied rather than written in parts */
    MAX_COPIED = 64 << 20, /* bytes of one chunk; text larger than that is no text */
    MAX_KINDS = 32
};

static uint32_t checksum(uint32_t crc, const void *bytes, size_t n)
{
#ifdef IMGSTAT_WITH_LIBDEFLATE
    return libdeflate_crc32(crc, bytes, n);
#else
    return (uint32_t)crc32_z(crc, bytes, n);
#endif
}

uint32_t png_get32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

void png_put32(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 24);
    at[1] = (uint8_t)(value >> 16);
    at[2] = (uint8_t)(value >> 8);
    at[3] = (uint8_t)value;
}

void png_chunk_frame(const char *type, uint8_t *chunk, size_t bytes)
{
    png_put32(chunk, (uint32_t)bytes);
    memcpy(chunk + 4, type, 4);
    png_put32(chunk + HEAD_BYTES + bytes, checksum(0, chunk + 4, 4 + bytes));
}

ImgstatResult png_chunk_write(PngSink *sink, const char *type, const void *data, size_t bytes,
                              ImgstatError *err)
{
    uint8_t whole[FRAME_BYTES + SMALL_BYTES];
    if (bytes <= SMALL_BYTES) { /* with one call of the system */
        if (bytes > 0)
            memcpy(whole + HEAD_BYTES, data, bytes);
        png_chunk_frame(type, whole, bytes);
        IMGSTAT_TRY(atomic_file_write(sink->output, sink->at, whole, FRAME_BYTES + bytes, err));
        sink->at += FRAME_BYTES + bytes;
        return IMGSTAT_OK;
    }
    uint8_t head[HEAD_BYTES], check[4];
    png_put32(head, (uint32_t)bytes);
    memcpy(head + 4, type, 4);
    png_put32(check, checksum(checksum(0, head + 4, 4), data, bytes));
    IMGSTAT_TRY(atomic_file_write(sink->output, sink->at, head, sizeof head, err));
    IMGSTAT_TRY(atomic_file_write(sink->output, sink->at + sizeof head, data, bytes, err));
    IMGSTAT_TRY(atomic_file_write(sink->output, sink->at + sizeof head + bytes, check, 4, err));
    sink->at += FRAME_BYTES + bytes;
    return IMGSTAT_OK;
}

/* ---- Walking an input ---- */

typedef struct Chunk {
    uint64_t at; /* of its data */
    uint32_t bytes;
    char type[5];
} Chunk;

/* Names are four letters; at any other libpng stops, and so would a reader of an output. */
static bool is_name(const char *type)
{
    for (size_t i = 0; i < 4; i++)
        if ((type[i] < 'A' || type[i] > 'Z') && (type[i] < 'a' || type[i] > 'z'))
            return false;
    return true;
}

/* The chunk at *at, which moves behind it; false at the end or where the file is damaged. */
static bool next_chunk(const Source *source, uint64_t *at, Chunk *chunk)
{
    uint8_t head[HEAD_BYTES];
    size_t n = 0;
    if (source_read(source, *at, head, sizeof head, &n, NULL) != IMGSTAT_OK || n < sizeof head)
        return false;
    *chunk = (Chunk){.at = *at + HEAD_BYTES, .bytes = png_get32(head)};
    memcpy(chunk->type, head + 4, 4);
    *at += FRAME_BYTES + (uint64_t)chunk->bytes;
    return chunk->bytes <= INT32_MAX && *at <= source->bytes && is_name(chunk->type) &&
           strcmp(chunk->type, "IEND") != 0;
}

/* The chunk's data with its frame, to be freed; NULL where it is damaged or memory runs out. */
static uint8_t *load_chunk(const Source *source, const Chunk *chunk)
{
    const size_t bytes = (size_t)chunk->bytes + FRAME_BYTES;
    size_t n = 0;
    uint8_t *const data = chunk->bytes <= MAX_COPIED ? malloc(bytes) : NULL;
    if (!data)
        return NULL;
    if (source_read(source, chunk->at - HEAD_BYTES, data, bytes, &n, NULL) == IMGSTAT_OK &&
        n == bytes && checksum(0, data + 4, bytes - 8) == png_get32(data + bytes - 4))
        return data;
    free(data);
    return NULL;
}

/* What libpng takes: colours that indices of this depth can name ... */
static void take_palette(PngForm *form, const uint8_t *data, uint32_t bytes)
{
    const uint32_t most = form->depth < 8 ? 1u << form->depth : 256;
    form->n_colors = (uint16_t)(bytes / 3 < most ? bytes / 3 : most);
    memcpy(form->colors, data, 3 * (size_t)form->n_colors);
}

/* ... and the first tRNS behind them that has no more values than they are. */
static void take_alpha(PngForm *form, const uint8_t *data, uint32_t bytes)
{
    if (form->n_alpha > 0 || bytes > form->n_colors)
        return;
    form->n_alpha = (uint16_t)bytes;
    memcpy(form->alpha, data, bytes);
}

ImgstatResult png_form_read(const Source *source, PngForm *form, ImgstatError *err)
{
    uint64_t at = FIRST_CHUNK;
    Chunk chunk;
    *form = (PngForm){.depth = 0};
    while (next_chunk(source, &at, &chunk) && strcmp(chunk.type, "IDAT") != 0) {
        const bool head = strcmp(chunk.type, "IHDR") == 0;
        const bool palette = strcmp(chunk.type, "PLTE") == 0;
        if (!head && !palette && strcmp(chunk.type, "tRNS") != 0)
            continue;
        uint8_t *const data = load_chunk(source, &chunk);
        if (!data)
            continue; /* libpng has read it, or had reason to pass over it */
        if (head && chunk.bytes == 13) {
            form->depth = data[HEAD_BYTES + 8];
            form->color_type = data[HEAD_BYTES + 9];
            form->interlaced = data[HEAD_BYTES + 12] != 0;
        } else if (palette && form->color_type == PNG_PALETTE) {
            take_palette(form, data + HEAD_BYTES, chunk.bytes);
        } else if (!head && form->color_type == PNG_PALETTE) {
            take_alpha(form, data + HEAD_BYTES, chunk.bytes);
        }
        free(data);
    }
    if (form->depth == 0)
        return error_set(err, IMGSTAT_ERR_IO, "%s: has changed while it was read", source->name);
    return IMGSTAT_OK;
}

/* ---- What is copied ---- */

typedef enum Keep {
    KEEP_ALWAYS,
    KEEP_SAME,    /* says something of samples of this colour type and depth */
    KEEP_PALETTE, /* says something of the entries of the palette */
    KEEP_NEVER    /* tells of values, which change; or is written otherwise */
} Keep;

typedef struct Rule {
    char type[5];
    uint32_t bytes; /* 0: any */
    Keep keep;
    bool before_palette; /* the standard has it in front of PLTE */
    bool anywhere;       /* and behind the pixels too */
    bool many;
} Rule;

static const Rule *rule_of(const char *type)
{
    static const Rule rules[] = {
        {"IHDR", 13, KEEP_NEVER, true, false, false},
        {"PLTE", 0, KEEP_NEVER, false, false, false},
        {"tRNS", 0, KEEP_NEVER, false, false, false},
        {"cHRM", 32, KEEP_ALWAYS, true, false, false},
        {"gAMA", 4, KEEP_ALWAYS, true, false, false},
        {"iCCP", 0, KEEP_ALWAYS, true, false, false},
        {"sRGB", 1, KEEP_ALWAYS, true, false, false},
        {"cICP", 4, KEEP_ALWAYS, true, false, false},
        {"sBIT", 0, KEEP_SAME, true, false, false},
        {"bKGD", 0, KEEP_SAME, false, false, false},
        {"hIST", 0, KEEP_PALETTE, false, false, false},
        {"pHYs", 9, KEEP_ALWAYS, false, false, false},
        {"sPLT", 0, KEEP_NEVER, false, false, true},
        {"pCAL", 0, KEEP_NEVER, false, false, false},
        {"sCAL", 0, KEEP_ALWAYS, false, false, false},
        {"oFFs", 9, KEEP_ALWAYS, false, false, false},
        {"sTER", 1, KEEP_ALWAYS, false, false, false},
        {"eXIf", 0, KEEP_ALWAYS, false, true, false},
        {"tIME", 7, KEEP_ALWAYS, false, true, false},
        {"tEXt", 0, KEEP_ALWAYS, false, true, true},
        {"zTXt", 0, KEEP_ALWAYS, false, true, true},
        {"iTXt", 0, KEEP_ALWAYS, false, true, true},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strcmp(rules[i].type, type) == 0)
            return &rules[i];
    return NULL;
}

/* The state of one copying. */
typedef struct Copy {
    const Source *source;
    const PngForm *form;
    bool same,
        palette; /* of output and input: colour type and depth; whether both have a palette */
    bool palette_passed, pixels_passed;
    Warnings *warnings;
    const Rule *seen[MAX_KINDS];
    size_t n_seen;
} Copy;

static bool is_second(Copy *copy, const Rule *rule)
{
    for (size_t i = 0; i < copy->n_seen; i++)
        if (copy->seen[i] == rule)
            return true;
    if (copy->n_seen < MAX_KINDS)
        copy->seen[copy->n_seen++] = rule;
    return false;
}

static bool is_wanted(Copy *copy, const Chunk *chunk)
{
    const Rule *const rule = rule_of(chunk->type);
    if (!rule) /* lower-case first letter: not critical; last letter: safe to copy when pixels
                  change */
        return (chunk->type[0] & 0x20) && (chunk->type[3] & 0x20);
    if (rule->keep == KEEP_NEVER || (rule->keep == KEEP_SAME && !copy->same) ||
        (rule->keep == KEEP_PALETTE && !copy->palette))
        return false;
    /* Misplaced, doubled or of a wrong length: readers do not agree on what such chunks mean. */
    if ((rule->bytes > 0 && rule->bytes != chunk->bytes) ||
        (rule->before_palette && copy->palette_passed) || (copy->pixels_passed && !rule->anywhere))
        return false;
    return rule->many || !is_second(copy, rule);
}

static void note_animation(Copy *copy, const Chunk *chunk)
{
    if (strcmp(chunk->type, "acTL") == 0)
        warnings_report(copy->warnings, "its animation is left out; the first image is kept");
}

ImgstatResult png_palette_write(PngSink *sink, const PngForm *form, ImgstatError *err)
{
    if (form->color_type != PNG_PALETTE)
        return IMGSTAT_OK;
    IMGSTAT_TRY(png_chunk_write(sink, "PLTE", form->colors, 3 * (size_t)form->n_colors, err));
    if (form->n_alpha == 0)
        return IMGSTAT_OK;
    return png_chunk_write(sink, "tRNS", form->alpha, form->n_alpha, err);
}

static ImgstatResult copy_chunk(Copy *copy, PngSink *sink, const Chunk *chunk, uint8_t **tail,
                                size_t *tail_bytes, ImgstatError *err)
{
    const size_t bytes = (size_t)chunk->bytes + FRAME_BYTES;
    uint8_t *const data = load_chunk(copy->source, chunk);
    ImgstatResult res = IMGSTAT_OK;
    if (!data) {
        warnings_report(copy->warnings, "its %s chunk is damaged or very large, and left out",
                        chunk->type);
    } else if (!copy->pixels_passed) {
        res = atomic_file_write(sink->output, sink->at, data, bytes, err);
        sink->at += bytes;
    } else if (*tail_bytes + bytes <= MAX_COPIED) {
        uint8_t *const larger = realloc(*tail, *tail_bytes + bytes);
        if (larger) {
            memcpy(larger + *tail_bytes, data, bytes);
            *tail = larger;
            *tail_bytes += bytes;
        } else {
            res = error_memory(err, *tail_bytes + bytes, "chunks of metadata");
        }
    }
    free(data);
    return res;
}

ImgstatResult png_chunks_copy(PngSink *sink, const Decoder *like, const PngForm *form,
                              Warnings *warnings, uint8_t **tail, size_t *tail_bytes,
                              ImgstatError *err)
{
    PngForm before;
    Copy copy = {.source = like->source, .form = form, .warnings = warnings};
    IMGSTAT_TRY(png_form_read(like->source, &before, err));
    copy.same = before.color_type == form->color_type && before.depth == form->depth;
    copy.palette = copy.same && form->color_type == PNG_PALETTE;
    uint64_t at = FIRST_CHUNK;
    Chunk chunk;
    while (next_chunk(like->source, &at, &chunk)) {
        note_animation(&copy, &chunk);
        if (strcmp(chunk.type, "PLTE") == 0) {
            copy.palette_passed = true;
            IMGSTAT_TRY(png_palette_write(sink, form, err));
        } else if (strcmp(chunk.type, "IDAT") == 0) {
            copy.pixels_passed = true;
        } else if (is_wanted(&copy, &chunk)) {
            IMGSTAT_TRY(copy_chunk(&copy, sink, &chunk, tail, tail_bytes, err));
        }
    }
    return IMGSTAT_OK;
}
