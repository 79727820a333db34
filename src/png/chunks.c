/* SPDX-License-Identifier: MIT */
/* chunks.c: reads and writes chunks of PNG, and copies those that are still true from an input to
 * an output. */
#define _GNU_SOURCE /* memmem */
#include "png/chunks.h"
#include "base/compiler.h"
#include "codec/exif.h"
#include "codec/inflate.h"
#include "png/decoder.h"
#include "png/encoder.h"
#include "png/raw_profile.h"

#include <stdlib.h>
#include <string.h>

enum {
    SMALL_BYTES = 1024, /* a chunk that is copied rather than written in parts */
    MAX_KINDS = 32
};

const uint8_t png_signature[PNG_SIGNATURE_BYTES] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};

void png_chunk_frame(const char *type, uint8_t *chunk, size_t bytes)
{
    png_put32(chunk, (uint32_t)bytes);
    memcpy(chunk + 4, type, 4);
    png_put32(chunk + PNG_CHUNK_HEAD + bytes, inflate_crc(0, chunk + 4, 4 + bytes));
}

ImgstatResult png_chunk_write(PngSink *sink, const char *type, const void *data, size_t bytes,
                              ImgstatError *err)
{
    uint8_t whole[PNG_CHUNK_FRAME + SMALL_BYTES];
    if (bytes <= SMALL_BYTES) { /* one system call */
        if (bytes > 0)
            memcpy(whole + PNG_CHUNK_HEAD, data, bytes);
        png_chunk_frame(type, whole, bytes);
        IMGSTAT_TRY(atomic_file_write(sink->output, sink->at, whole, PNG_CHUNK_FRAME + bytes, err));
        sink->at += PNG_CHUNK_FRAME + bytes;
        return IMGSTAT_OK;
    }
    uint8_t head[PNG_CHUNK_HEAD], check[4];
    png_put32(head, (uint32_t)bytes);
    memcpy(head + 4, type, 4);
    png_put32(check, inflate_crc(inflate_crc(0, head + 4, 4), data, bytes));
    IMGSTAT_TRY(atomic_file_write(sink->output, sink->at, head, sizeof head, err));
    IMGSTAT_TRY(atomic_file_write(sink->output, sink->at + sizeof head, data, bytes, err));
    IMGSTAT_TRY(atomic_file_write(sink->output, sink->at + sizeof head + bytes, check, 4, err));
    sink->at += PNG_CHUNK_FRAME + bytes;
    return IMGSTAT_OK;
}

/* ---- Walking an input ---- */

/* Returns whether a type has four letters. libpng stops at any other, as readers of an output
 * would. */
static bool is_name(const char *type)
{
    for (size_t i = 0; i < 4; i++)
        if ((type[i] < 'A' || type[i] > 'Z') && (type[i] < 'a' || type[i] > 'z'))
            return false;
    return true;
}

bool png_chunk_next(const Source *source, uint64_t *at, PngChunk *chunk)
{
    uint8_t head[PNG_CHUNK_HEAD];
    size_t n = 0;
    if (source_read(source, *at, head, sizeof head, &n, NULL) != IMGSTAT_OK || n < sizeof head)
        return false;
    *chunk = (PngChunk){.at = *at + PNG_CHUNK_HEAD, .bytes = png_get32(head)};
    memcpy(chunk->type, head + 4, 4);
    *at += PNG_CHUNK_FRAME + (uint64_t)chunk->bytes;
    return chunk->bytes <= INT32_MAX && *at <= source->bytes && is_name(chunk->type) &&
           strcmp(chunk->type, "IEND") != 0;
}

bool png_time_is_valid(const uint8_t data[PNG_TIME_BYTES])
{
    return data[2] >= 1 && data[2] <= 12 && data[3] >= 1 && data[3] <= 31 && data[4] <= 23 &&
           data[5] <= 59 && data[6] <= 60;
}

bool png_chunk_read(const Source *source, const PngChunk *chunk, uint8_t *data)
{
    const size_t bytes = (size_t)chunk->bytes + PNG_CHUNK_FRAME;
    size_t n = 0;
    return source_read(source, chunk->at - PNG_CHUNK_HEAD, data, bytes, &n, NULL) == IMGSTAT_OK &&
           n == bytes && inflate_crc(0, data + 4, bytes - 8) == png_get32(data + bytes - 4) &&
           (strcmp(chunk->type, "tIME") != 0 || chunk->bytes != PNG_TIME_BYTES ||
            png_time_is_valid(data + PNG_CHUNK_HEAD));
}

void png_note_behind_end(const Source *source, uint64_t at, const PngChunk *last,
                         Warnings *warnings)
{
    const uint64_t bytes = at < source->bytes ? source->bytes - at : 0;
    if (strcmp(last->type, "IEND") == 0 && bytes > 0)
        warnings_report(warnings, "%llu byte%s behind its end, and left out",
                        (unsigned long long)bytes, bytes == 1 ? " is" : "s are");
}

/* Loads a chunk with its frame; the caller frees it. Returns NULL if it is damaged or memory runs
 * out. */
static uint8_t *load_chunk(const Source *source, const PngChunk *chunk)
{
    const size_t bytes = (size_t)chunk->bytes + PNG_CHUNK_FRAME;
    uint8_t *const data = chunk->bytes <= PNG_MOST_COPIED ? malloc(bytes) : NULL;
    if (data && png_chunk_read(source, chunk, data))
        return data;
    free(data);
    return NULL;
}

bool png_suggests_palette(const PngForm *form, const PngChunk *chunk)
{
    return strcmp(chunk->type, "PLTE") == 0 && (form->color_type & 2) &&
           form->color_type != PNG_PALETTE;
}

/* ---- What is copied ---- */

typedef enum Keep {
    KEEP_ALWAYS,
    KEEP_VALUES,  /* describes samples of this colour type and depth that are not mapped */
    KEEP_COLOUR,  /* one colour: of a palette its index, which stays; else as KEEP_VALUES */
    KEEP_PALETTE, /* describes the entries of the palette */
    KEEP_NEVER    /* describes values, which change; or is written otherwise */
} Keep;

typedef struct Rule {
    char type[5];
    uint32_t bytes; /* 0: any */
    Keep keep;
    bool before_palette; /* the standard requires it before PLTE */
    bool anywhere;       /* it may follow the pixels */
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
        {"sBIT", 0, KEEP_VALUES, true, false, false},
        {"bKGD", 0, KEEP_COLOUR, false, false, false},
        {"hIST", 0, KEEP_PALETTE, false, false, false},
        {"pHYs", 9, KEEP_ALWAYS, false, false, false},
        {"sPLT", 0, KEEP_NEVER, false, false, true},
        {"pCAL", 0, KEEP_NEVER, false, false, false},
        {"sCAL", 0, KEEP_ALWAYS, false, false, false},
        {"oFFs", 9, KEEP_ALWAYS, false, false, false},
        {"sTER", 1, KEEP_ALWAYS, false, false, false},
        {"eXIf", 0, KEEP_ALWAYS, false, true, false},
        {"tIME", PNG_TIME_BYTES, KEEP_ALWAYS, false, true, false},
        {"tEXt", 0, KEEP_ALWAYS, false, true, true},
        {"zTXt", 0, KEEP_ALWAYS, false, true, true},
        {"iTXt", 0, KEEP_ALWAYS, false, true, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rules); i++)
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
    bool mapped; /* samples were */
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

static bool is_behind_profiles(const PngChunk *chunk)
{
    return strcmp(chunk->type, "PLTE") == 0 || strcmp(chunk->type, "IDAT") == 0;
}

/* Whether the input has a colour profile that is copied, and that readers can use. */
static bool has_profile(const Copy *copy)
{
    uint64_t at = PNG_SIGNATURE_BYTES;
    PngChunk chunk;
    bool found = false;
    while (!found && png_chunk_next(copy->source, &at, &chunk) && !is_behind_profiles(&chunk)) {
        uint8_t *const data =
            strcmp(chunk.type, "iCCP") == 0 ? load_chunk(copy->source, &chunk) : NULL;
        const uint8_t *const profile = data ? data + PNG_CHUNK_HEAD : NULL;
        const uint8_t *const name_end = data ? memchr(profile, 0, chunk.bytes) : NULL;
        const size_t head = name_end ? (size_t)(name_end - profile) + 2 : chunk.bytes;
        size_t bytes = 0;
        uint8_t *const whole = head < chunk.bytes
                                   ? raw_profile_inflate(profile + head, chunk.bytes - head, &bytes)
                                   : NULL;
        found = whole != NULL;
        free(whole);
        free(data);
    }
    return found;
}

static bool is_wanted(Copy *copy, const PngChunk *chunk)
{
    const Rule *const rule = rule_of(chunk->type);
    if (!rule) /* lower-case first letter: not critical; last letter: safe to copy when pixels
                  change */
        return (chunk->type[0] & 0x20) && (chunk->type[3] & 0x20);
    const bool values = copy->same && !copy->mapped;
    if (rule->keep == KEEP_NEVER || (rule->keep == KEEP_VALUES && !values) ||
        (rule->keep == KEEP_COLOUR && !values && !copy->palette) ||
        (rule->keep == KEEP_PALETTE && !copy->palette))
        return false;
    /* Readers disagree about chunks that are misplaced, repeated or of a wrong length. */
    if ((rule->bytes > 0 && rule->bytes != chunk->bytes) ||
        (rule->before_palette && copy->palette_passed) || (copy->pixels_passed && !rule->anywhere))
        return false;
    return rule->many || !is_second(copy, rule);
}

bool png_is_silent(const char *type)
{
    static const char types[] = "IHDR PLTE IDAT IEND tRNS sBIT bKGD hIST acTL fcTL fdAT";
    return strstr(types, type);
}

static void note_left_out(Copy *copy, const PngChunk *chunk)
{
    if (!png_is_silent(chunk->type))
        warnings_report(copy->warnings,
                        "its %s chunk is left out: it may not hold for other samples, or is "
                        "damaged, misplaced or doubled",
                        chunk->type);
}

void png_note_animation(Warnings *warnings)
{
    warnings_report(warnings, "its animation is left out; the first image is kept");
}

ImgstatResult png_palette_write(PngSink *sink, const PngForm *form, ImgstatError *err)
{
    uint8_t colors[256 * 3], alpha[256];
    if (form->color_type != PNG_PALETTE)
        return IMGSTAT_OK;
    for (size_t i = 0; i < form->n_colors; i++) {
        memcpy(colors + 3 * i, form->colors[i], 3);
        alpha[i] = form->colors[i][3];
    }
    IMGSTAT_TRY(png_chunk_write(sink, "PLTE", colors, 3 * (size_t)form->n_colors, err));
    if (form->n_alpha == 0)
        return IMGSTAT_OK;
    return png_chunk_write(sink, "tRNS", alpha, form->n_alpha, err);
}

/* Returns the bytes of the chunk without the thumbnail in it. */
static size_t remove_thumbnail(const Copy *copy, uint8_t *chunk, size_t bytes)
{
    const size_t n = bytes - PNG_CHUNK_FRAME;
    if (!exif_has_thumbnail(chunk + PNG_CHUNK_HEAD, n))
        return bytes;
    const size_t left = exif_remove_thumbnail(chunk + PNG_CHUNK_HEAD, n);
    png_chunk_frame("eXIf", chunk, left);
    warnings_report(copy->warnings, "its EXIF thumbnail is left out: it shows the old contrast");
    return left + PNG_CHUNK_FRAME;
}

static ImgstatResult copy_chunk(Copy *copy, PngSink *sink, const PngChunk *chunk, uint8_t **tail,
                                size_t *tail_bytes, ImgstatError *err)
{
    size_t bytes = (size_t)chunk->bytes + PNG_CHUNK_FRAME;
    uint8_t *data = load_chunk(copy->source, chunk);
    const char *removed = NULL;
    ImgstatResult res = IMGSTAT_OK;
    if (data && copy->mapped && strcmp(chunk->type, "eXIf") == 0)
        bytes = remove_thumbnail(copy, data, bytes);
    else if (data && copy->mapped)
        res = raw_profile_remove_thumbnails(chunk->type, &data, &bytes, &removed, err);
    if (removed)
        warnings_report(copy->warnings, "its %s thumbnail is left out: it shows the old contrast",
                        removed);
    if (res != IMGSTAT_OK || (removed && !data))
        return res;
    if (!data) {
        warnings_report(copy->warnings, "its %s chunk is damaged or very large, and left out",
                        chunk->type);
    } else if (!copy->pixels_passed) {
        res = atomic_file_write(sink->output, sink->at, data, bytes, err);
        sink->at += bytes;
    } else if (*tail_bytes + bytes <= PNG_MOST_COPIED) {
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

ImgstatResult png_chunks_copy(PngSink *sink, const Decoder *like, const PngForm *form, bool mapped,
                              Warnings *warnings, uint8_t **tail, size_t *tail_bytes,
                              ImgstatError *err)
{
    const PngForm *const before = &((const PngDecoder *)like)->form;
    Copy copy = {.source = like->source, .form = form, .mapped = mapped, .warnings = warnings};
    copy.same = before->color_type == form->color_type && before->depth == form->depth;
    copy.palette = copy.same && form->color_type == PNG_PALETTE;
    uint64_t at = PNG_SIGNATURE_BYTES;
    PngChunk chunk = {.at = 0};
    while (png_chunk_next(like->source, &at, &chunk)) {
        if (strcmp(chunk.type, "acTL") == 0)
            png_note_animation(warnings);
        if (png_suggests_palette(before, &chunk))
            warnings_report(warnings, "its PLTE chunk is left out: it suggests colours to show the "
                                      "old samples with");
        if (strcmp(chunk.type, "PLTE") == 0 && !copy.palette_passed) {
            copy.palette_passed = true;
            IMGSTAT_TRY(png_palette_write(sink, form, err));
        } else if (strcmp(chunk.type, "IDAT") == 0) {
            copy.pixels_passed = true;
        } else if (strcmp(chunk.type, "sRGB") == 0 && has_profile(&copy)) {
            warnings_report(warnings, "its sRGB chunk is left out: it has a colour profile");
        } else if (is_wanted(&copy, &chunk)) {
            IMGSTAT_TRY(copy_chunk(&copy, sink, &chunk, tail, tail_bytes, err));
        } else {
            note_left_out(&copy, &chunk);
        }
    }
    png_note_behind_end(like->source, at, &chunk, warnings);
    return IMGSTAT_OK;
}

bool png_is_whole(const Source *source)
{
    enum { END = 4096 }; /* other bytes may follow the last chunk */
    static const uint8_t last[] = {'I', 'E', 'N', 'D', 0xAE, 0x42, 0x60, 0x82};
    uint8_t end[END];
    size_t n = 0;
    const uint64_t at = source->bytes > END ? source->bytes - END : 0;
    return source_read(source, at, end, END, &n, NULL) != IMGSTAT_OK ||
           memmem(end, n, last, sizeof last) != NULL;
}
