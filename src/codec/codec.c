/* SPDX-License-Identifier: MIT */
/* codec.c: what all decoders share: limits, and warnings told once. */
#include "codec/codec.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* A damaged file can give a warning for every row; people read the first few. */
enum { MAX_WARNINGS = 32 };

static uint64_t hash_text(const char *text) /* FNV-1a */
{
    uint64_t hash = 0xCBF29CE484222325u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001B3u;
    return hash;
}

static bool remember(Warnings *warnings, uint64_t hash)
{
    for (size_t i = 0; i < warnings->n_seen; i++)
        if (warnings->seen[i] == hash)
            return false;
    if (!warnings->seen) {
        warnings->seen = calloc(MAX_WARNINGS, sizeof *warnings->seen);
        if (!warnings->seen)
            return false;
    }
    if (warnings->n_seen == MAX_WARNINGS)
        return false;
    warnings->seen[warnings->n_seen++] = hash;
    return true;
}

void warnings_tell(Warnings *warnings, const char *format, ...)
{
    if (!warnings || !warnings->warn)
        return;
    char text[768];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!remember(warnings, hash_text(text)))
        return;
    ImgstatError sentence; /* masks what is not printable, as in errors */
    const char *const more =
        warnings->n_seen == MAX_WARNINGS ? "; further warnings about this file are left out" : "";
    (void)!error_set(&sentence, IMGSTAT_ERR_FORMAT, "%s: %s%s", warnings->name, text, more);
    warnings->warn(warnings->context, sentence.message);
}

void warnings_release(Warnings *warnings)
{
    free(warnings->seen);
    warnings->seen = NULL;
    warnings->n_seen = 0;
}

ImgstatLimits limits_default(ImgstatLimits limits)
{
    if (!limits.max_width)
        limits.max_width = 1000000;
    if (!limits.max_height)
        limits.max_height = 1000000;
    if (!limits.max_pixels)
        limits.max_pixels = (uint64_t)1 << 36;
    if (!limits.max_bytes)
        limits.max_bytes = (uint64_t)1 << 40;
    if (!limits.max_pages)
        limits.max_pages = 65535;
    if (!limits.max_chunk_bytes)
        limits.max_chunk_bytes = (uint64_t)1 << 31;
    return limits;
}

ImgstatResult decoder_changed(const Decoder *decoder, ImgstatError *err)
{
    return error_set(err, IMGSTAT_ERR_IO, "%s: changed while it was read", decoder->source->name);
}

ImgstatResult limits_check(const ImgstatLimits *limits, const char *name, uint64_t width,
                           uint64_t height, uint64_t channels, uint64_t sample_bytes,
                           ImgstatError *err)
{
    if (width == 0 || height == 0)
        return error_set(err, IMGSTAT_ERR_FORMAT,
                         "%s: an image of %llu x %llu pixels holds nothing", name,
                         (unsigned long long)width, (unsigned long long)height);
    if (width > limits->max_width || height > limits->max_height)
        return error_set(err, IMGSTAT_ERR_LIMIT,
                         "%s: %llu x %llu pixels are more than the limit of %u x %u", name,
                         (unsigned long long)width, (unsigned long long)height, limits->max_width,
                         limits->max_height);
    const uint64_t pixels = width * height; /* limits are 32 bits wide: no overflow */
    if (pixels > limits->max_pixels)
        return error_set(err, IMGSTAT_ERR_LIMIT,
                         "%s: %llu x %llu pixels are more than the limit of %llu in all", name,
                         (unsigned long long)width, (unsigned long long)height,
                         (unsigned long long)limits->max_pixels);
    uint64_t bytes = 0;
    if (__builtin_mul_overflow(pixels, channels, &bytes) ||
        __builtin_mul_overflow(bytes, sample_bytes, &bytes) || bytes > limits->max_bytes)
        return error_set(
            err, IMGSTAT_ERR_LIMIT,
            "%s: %llu x %llu pixels of %llu channels are more than the limit of %llu bytes", name,
            (unsigned long long)width, (unsigned long long)height, (unsigned long long)channels,
            (unsigned long long)limits->max_bytes);
    return IMGSTAT_OK;
}
