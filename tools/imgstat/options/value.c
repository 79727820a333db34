/* SPDX-License-Identifier: MIT */
/* value.c: strict readers of numbers, sizes and lists. */
#define _GNU_SOURCE
#include "options/value.h"
#include "text/text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Every hundredth of a percent is 10,001; more than this many would be a mistake, and every one
 * costs a column. */
enum { PERCENTILES_MAX = 32768 };

bool usage_error(const char *command, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    const size_t bytes = (size_t)vsnprintf(NULL, 0, format, arguments) + 1;
    char *const sentence = text_alloc(bytes); /* names of files may be long */
    vsnprintf(sentence, bytes, format, again);
    va_end(again);
    va_end(arguments);
    char *const shown = text_display(sentence);
    fprintf(stderr, "%s: %s\n", command, shown);
    free(shown);
    free(sentence);
    return false;
}

/* Digits only: strtoull would take a sign and leading blanks. */
static bool read_whole(const char *text, const char **end, uint64_t *out)
{
    if (!isdigit((unsigned char)*text))
        return false;
    char *after;
    errno = 0;
    *out = strtoull(text, &after, 10);
    *end = after;
    return errno == 0;
}

bool value_count(const char *command, const char *option, const char *text, uint32_t least,
                 uint32_t most, uint32_t *out)
{
    const char *end;
    uint64_t value;
    if (!read_whole(text, &end, &value) || *end != '\0' || value < least || value > most)
        return usage_error(command, "%s takes a whole number from %u to %u, not '%s'", option,
                           least, most, text);
    *out = (uint32_t)value;
    return true;
}

bool value_size(const char *command, const char *option, const char *text, uint64_t least,
                uint64_t *out)
{
    static const char suffixes[] = "KMGT";
    const char *end = text;
    uint64_t value = 0;
    bool good = read_whole(text, &end, &value);
    if (good && *end != '\0') {
        const char *const suffix = strchr(suffixes, toupper((unsigned char)*end));
        const unsigned shift = suffix != NULL ? 10 * (unsigned)(suffix - suffixes + 1) : 0;
        good = suffix != NULL && end[1] == '\0' && value <= UINT64_MAX >> shift;
        if (good)
            value <<= shift;
    }
    if (!good || value < least)
        return usage_error(command,
                           "%s takes a whole number from %u%s to 2^64 - 1, or one with K, M, G or "
                           "T, not '%s'",
                           option, (unsigned)(least >> 20 ? least >> 20 : least),
                           least >> 20 ? "M" : "", text);
    *out = value;
    return true;
}

/* A finite decimal number, spelled without blanks; hexadecimal and "inf" are left out. */
static bool read_real(const char *text, const char **end, double *out)
{
    const size_t length = strspn(text, "+-.0123456789eE");
    if (length == 0)
        return false;
    char *after;
    *out = strtod(text, &after);
    *end = after;
    return after == text + length && isfinite(*out);
}

bool value_real(const char *text, double *out)
{
    const char *end;
    return read_real(text, &end, out) && *end == '\0';
}

bool value_sample(const char *text, ImgstatValue *out)
{
    const bool negative = *text == '-';
    const char *end;
    uint64_t whole;
    char *after;
    if (read_whole(text + negative, &end, &whole) && *end == '\0' &&
        (!negative || whole <= (uint64_t)INT64_MAX)) {
        out->sample = negative ? IMGSTAT_I64 : IMGSTAT_U64;
        if (negative)
            out->as.i = -(int64_t)whole;
        else
            out->as.u = whole;
        return true;
    }
    const char *const word = text + strspn(text, "+-");
    const bool named = strcasecmp(word, "nan") == 0 || strcasecmp(word, "inf") == 0;
    out->sample = IMGSTAT_F64;
    out->as.f = named ? strtod(text, &after) : 0;
    return named ? word - text <= 1 : value_real(text, &out->as.f);
}

bool value_pair(const char *text, double *a, double *b)
{
    const char *end;
    return read_real(text, &end, a) && *end == ',' && value_real(end + 1, b);
}

static bool read_scaled(const char *text, const char **end, ScaledValue *out)
{
    if (!read_real(text, end, &out->value))
        return false;
    out->percent = **end == '%';
    *end += out->percent;
    return true;
}

bool value_scaled(const char *text, ScaledValue *out)
{
    const char *end;
    return read_scaled(text, &end, out) && *end == '\0';
}

bool value_scaled_pair(const char *text, ScaledValue *a, ScaledValue *b)
{
    const char *end;
    return read_scaled(text, &end, a) && *end == ',' && value_scaled(end + 1, b);
}

bool value_region(const char *text, ImgstatRegion *out)
{
    uint32_t *const fields[] = {&out->x, &out->y, &out->width, &out->height};
    for (size_t i = 0; i < 4; i++) {
        uint64_t value;
        const char *end;
        if (!read_whole(text, &end, &value) || value > UINT32_MAX || *end != (i < 3 ? ',' : '\0'))
            return false;
        *fields[i] = (uint32_t)value;
        text = end + 1;
    }
    return true;
}

bool value_range(const char *command, const char *option, const char *text, double out[2])
{
    if (!value_pair(text, &out[0], &out[1]) || !(out[0] < out[1]))
        return usage_error(command, "%s takes LO,HI with LO below HI, such as 0,255, not '%s'",
                           option, text);
    return true;
}

/* "a, b or c" */
static char *list_words(const char *words)
{
    char *const out = text_alloc(2 * strlen(words) + sizeof " or ");
    const char *const last = strrchr(words, ' ');
    char *end = out;
    for (const char *at = words; *at != '\0'; at++)
        if (at == last)
            end = stpcpy(end, " or ");
        else if (*at == ' ')
            end = stpcpy(end, ", ");
        else
            *end++ = *at;
    *end = '\0';
    return out;
}

bool value_word(const char *command, const char *option, const char *text, const char *words,
                unsigned *out)
{
    unsigned place = 0;
    for (const char *at = words; *at != '\0'; place++) {
        const size_t length = strcspn(at, " ");
        if (strlen(text) == length && memcmp(text, at, length) == 0) {
            *out = place;
            return true;
        }
        at += length + (at[length] == ' ');
    }
    char *const list = list_words(words);
    usage_error(command, "%s is %s, not '%s'", option, list, text);
    free(list);
    return false;
}

static bool has_key(const Options *o, const char *key, size_t length)
{
    for (size_t i = 0; i < o->n_percentiles; i++)
        if (strlen(o->percentile_keys[i]) == length &&
            memcmp(o->percentile_keys[i], key, length) == 0)
            return true;
    return false;
}

static void add_percentile(Options *o, double value, const char *key, size_t length)
{
    const size_t n = o->n_percentiles + 1;
    double *const values = text_alloc(n * sizeof *values);
    char **const keys = text_alloc(n * sizeof *keys);
    if (n > 1) {
        memcpy(values, o->percentiles, (n - 1) * sizeof *values);
        memcpy(keys, o->percentile_keys, (n - 1) * sizeof *keys);
    }
    values[n - 1] = value;
    keys[n - 1] = text_copy_part(key, length);
    free(o->percentiles);
    free(o->percentile_keys);
    o->percentiles = values;
    o->percentile_keys = keys;
    o->n_percentiles = n;
}

bool value_percentiles(const char *text, Options *options)
{
    for (const char *at = text;; at++) {
        at += strspn(at, " ");
        const char *end;
        double value;
        if (!read_real(at, &end, &value) || value < 0 || value > 100)
            return usage_error(options->command,
                               "--percentiles takes numbers from 0 to 100 separated by commas, "
                               "such as 1,50,99.5, not '%s'",
                               text);
        if (options->n_percentiles == PERCENTILES_MAX)
            return usage_error(options->command, "--percentiles takes at most %d numbers",
                               PERCENTILES_MAX);
        if (!has_key(options, at, (size_t)(end - at)))
            add_percentile(options, value, at, (size_t)(end - at));
        at = end + strspn(end, " ");
        if (*at == '\0')
            return true;
        if (*at != ',')
            return usage_error(options->command, "--percentiles: expected a comma before '%s'", at);
    }
}
