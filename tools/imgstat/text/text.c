/* SPDX-License-Identifier: MIT */
/* text.c: UTF-8 repair and width, and numbers that read back exactly. */
#define _GNU_SOURCE
#include "text/text.h"
#include "text/status.h"
#include "text/terminal.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int last_stderr = STDERR_FILENO;

void text_use_stderr(int fd)
{
    last_stderr = fd;
}

void text_no_memory(void)
{
    dprintf(last_stderr, "imgstat: out of memory\n");
    status_remove_temporary();
    fflush(stdout);
    _exit(1); /* other threads go on until then */
}

void *text_alloc(size_t bytes)
{
    void *const memory = malloc(bytes > 0 ? bytes : 1);
    if (memory == NULL)
        text_no_memory();
    return memory;
}

void *text_room(void *items, size_t n, size_t *capacity, size_t bytes)
{
    if (n < *capacity)
        return items;
    *capacity = n > 0 ? 2 * n : 16;
    void *const larger = reallocarray(items, *capacity, bytes);
    if (larger == NULL)
        text_no_memory();
    return larger;
}

char *text_copy(const char *text)
{
    const size_t bytes = strlen(text) + 1;
    return memcpy(text_alloc(bytes), text, bytes);
}

char *text_copy_part(const char *text, size_t length)
{
    char *const out = text_alloc(length + 1);
    memcpy(out, text, length);
    out[length] = '\0';
    return out;
}

static char *repair(const char *bytes, bool mask)
{
    const size_t capacity = imgstat_text_utf8(bytes, mask, NULL, 0) + 1;
    char *const out = text_alloc(capacity);
    (void)imgstat_text_utf8(bytes, mask, out, capacity);
    return out;
}

char *text_utf8(const char *bytes)
{
    return repair(bytes, false);
}

char *text_display(const char *bytes)
{
    return repair(bytes, true);
}

const char *text_cause(const char *sentence, const char *name)
{
    const size_t length = strlen(name);
    if (strncmp(sentence, name, length) == 0 && strncmp(sentence + length, ": ", 2) == 0)
        return sentence + length + 2;
    const char *const ellipsis = strstr(sentence, "\xE2\x80\xA6");
    const char *const colon = ellipsis != NULL ? strstr(ellipsis, ": ") : NULL;
    return colon != NULL ? colon + 2 : sentence;
}

bool text_names_file(const char *sentence, const char *path)
{
    char *const name = text_display(path);
    const size_t n = strlen(name);
    const bool names = strncmp(sentence, name, n) == 0 && sentence[n] == ':';
    free(name);
    return names;
}

void text_put_warning(FILE *err, const char *about, const char *format, ...)
{
    const Styles *const styles = terminal_styles(STDERR_FILENO);
    va_list values;
    va_start(values, format);
    flockfile(err); /* one line, whatever other threads print */
    fprintf(err, "%s: %swarning:%s ", about, styles->warning, styles->end);
    vfprintf(err, format, values);
    fputc('\n', err);
    funlockfile(err);
    va_end(values);
}

void text_put_file_warning(FILE *err, const char *path, const char *sentence)
{
    char *const name = text_display(path);
    text_put_warning(err, name, "%s", text_cause(sentence, name));
    free(name);
}

const char *text_base(const char *path)
{
    const char *const slash = strrchr(path, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

/* The common blocks are enough for aligning file names; a full table would be larger than the
 * rest of the program's text handling. */
static size_t character_width(uint32_t c)
{
    static const struct {
        uint32_t first, last;
        size_t width;
    } blocks[] = {
        {0x0300, 0x036F, 0},   {0x0483, 0x0489, 0},   {0x0591, 0x05BD, 0},   {0x064B, 0x065F, 0},
        {0x1100, 0x115F, 2},   {0x1AB0, 0x1AFF, 0},   {0x1DC0, 0x1DFF, 0},   {0x200B, 0x200F, 0},
        {0x20D0, 0x20FF, 0},   {0x2E80, 0x303E, 2},   {0x3041, 0xA4CF, 2},   {0xAC00, 0xD7A3, 2},
        {0xF900, 0xFAFF, 2},   {0xFE00, 0xFE0F, 0},   {0xFE20, 0xFE2F, 0},   {0xFE30, 0xFE6F, 2},
        {0xFF00, 0xFF60, 2},   {0xFFE0, 0xFFE6, 2},   {0x1F300, 0x1F64F, 2}, {0x1F680, 0x1F6FF, 2},
        {0x1F900, 0x1F9FF, 2}, {0x20000, 0x3FFFD, 2},
    };
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
        if (c >= blocks[i].first && c <= blocks[i].last)
            return blocks[i].width;
    return 1;
}

/* The width of the character at *utf8, which moves on to the next. */
static size_t next_width(const char **utf8)
{
    const unsigned char *s = (const unsigned char *)*utf8;
    const unsigned more = *s < 0xC0 ? 0 : *s < 0xE0 ? 1 : *s < 0xF0 ? 2 : 3;
    uint32_t code = *s++ & (more > 0 ? 0x3Fu >> more : 0x7Fu);
    for (unsigned i = 0; i < more; i++)
        code = code << 6 | (*s++ & 0x3Fu);
    *utf8 = (const char *)s;
    return character_width(code);
}

size_t text_width(const char *utf8)
{
    size_t width = 0;
    while (*utf8 != '\0')
        width += next_width(&utf8);
    return width;
}

char *text_shorten(const char *utf8, size_t columns)
{
    const char *const ellipsis = text_is_utf8() ? "\xE2\x80\xA6" : "...";
    size_t over = text_width(utf8), used = 0;
    if (over <= columns)
        return text_copy(utf8);
    const size_t room = columns > text_width(ellipsis) ? columns - text_width(ellipsis) : 0;
    const char *head = utf8, *tail = utf8;
    for (const char *next = head; used + next_width(&next) <= room / 2; head = next)
        used = text_width(utf8) - text_width(next);
    while (over > room - used) /* mostly the end is what differs */
        over -= next_width(&tail);
    const size_t bytes = (size_t)(head - utf8) + strlen(ellipsis) + strlen(tail) + 1;
    char *const out = text_alloc(bytes);
    snprintf(out, bytes, "%.*s%s%s", (int)(head - utf8), utf8, ellipsis, tail);
    return out;
}

bool text_is_utf8(void)
{
    /* The order in which the C library looks; asking it would load the whole locale. */
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *const value = getenv(names[i]);
        if (value != NULL && *value != '\0')
            return strcasestr(value, "UTF-8") != NULL || strcasestr(value, "UTF8") != NULL;
    }
    return false;
}

static locale_t plain;

static void make_plain(void)
{
    plain = newlocale(LC_ALL_MASK, "C",
                      (locale_t)0); /* NULL without memory: uselocale changes nothing */
}

locale_t text_use_points(void)
{
    static pthread_once_t made = PTHREAD_ONCE_INIT;
    (void)pthread_once(&made, make_plain);
    return uselocale(plain);
}

void text_real(char out[TEXT_NUMBER], double value)
{
    if (!isfinite(value)) {
        strcpy(out, "null");
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(out, TEXT_NUMBER, "%.*g", digits, value);
        if (strtod(out, NULL) == value)
            break;
    }
    if (strpbrk(out, ".e") == NULL)
        strcat(out, ".0");
}

void text_number(char out[TEXT_NUMBER], double value, bool whole)
{
    /* No integer sample is 2^64, nor is any that a reader of 64 bits takes. */
    if (whole && isfinite(value) && value == floor(value) && fabs(value) < 0x1p64)
        snprintf(out, TEXT_NUMBER, "%.0f", value == 0 ? 0.0 : value);
    else
        text_real(out, value);
}

bool text_is_float(ImgstatSample sample)
{
    return sample == IMGSTAT_F16 || sample == IMGSTAT_F32 || sample == IMGSTAT_F64;
}

static bool is_signed(ImgstatSample sample)
{
    return sample == IMGSTAT_I8 || sample == IMGSTAT_I16 || sample == IMGSTAT_I32 ||
           sample == IMGSTAT_I64;
}

void text_value(char out[TEXT_NUMBER], ImgstatValue value)
{
    if (text_is_float(value.sample))
        text_real(out, value.as.f);
    else if (is_signed(value.sample))
        snprintf(out, TEXT_NUMBER, "%" PRId64, value.as.i);
    else
        snprintf(out, TEXT_NUMBER, "%" PRIu64, value.as.u);
}

static double percentile_of(const ImgstatRecord *record, uint16_t channel, size_t k)
{
    ImgstatStats stats;
    imgstat_record_stats(record, channel, &stats);
    return k == IMGSTAT_MEDIAN ? stats.median : imgstat_record_percentile(record, channel, k);
}

void text_percentile(char out[TEXT_NUMBER], const ImgstatRecord *record, uint16_t channel, size_t k)
{
    ImgstatValue value;
    if (imgstat_record_exact(record, channel, k, &value))
        text_value(out, value);
    else
        text_real(out, percentile_of(record, channel, k));
}

void text_short_percentile(char out[TEXT_NUMBER], const ImgstatRecord *record, uint16_t channel,
                           size_t k)
{
    ImgstatValue value;
    if (imgstat_record_exact(record, channel, k, &value))
        text_short_value(out, value);
    else
        text_short(out, percentile_of(record, channel, k));
}

double text_point(double lo, double hi, double k, double n)
{
    const double apart = hi - lo;
    return isfinite(apart) ? lo + k * (apart / n) : 2 * (lo / 2 + k * ((hi / 2 - lo / 2) / n));
}

void text_edge(char out[TEXT_NUMBER], const ImgstatRecord *record, uint16_t channel, uint32_t k,
               bool whole)
{
    ImgstatValue value = {.sample = IMGSTAT_F64, .as.f = (double)NAN};
    (void)imgstat_record_edge(record, channel, k, &value);
    if (text_is_float(value.sample))
        text_number(out, value.as.f, whole);
    else
        text_value(out, value);
}

void text_short(char out[TEXT_NUMBER], double value)
{
    if (!isfinite(value)) {
        strcpy(out, "-");
        return;
    }
    const double size = fabs(value);
    const int digits = size >= 1e5 && size < 1e15 ? (int)log10(size) + 2 : 6;
    snprintf(out, TEXT_NUMBER, "%.*g", digits, value == 0 ? 0.0 : value);
}

void text_short_value(char out[TEXT_NUMBER], ImgstatValue value)
{
    if (text_is_float(value.sample))
        text_short(out, value.as.f);
    else
        text_value(out, value);
}

void text_nodata(char out[TEXT_NUMBER], ImgstatValue value)
{
    const double x = imgstat_value_double(value);
    if (isfinite(x))
        text_short_value(out, value);
    else
        strcpy(out, isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
}

void text_grouped(char out[TEXT_NUMBER], uint64_t n)
{
    char digits[TEXT_NUMBER];
    const int length = snprintf(digits, sizeof digits, "%" PRIu64, n);
    size_t end = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            out[end++] = ',';
        out[end++] = digits[i];
    }
    out[end] = '\0';
}

void text_put_markup(FILE *out, const char *text)
{
    for (const char *s = text; *s != '\0'; s++) {
        switch (*s) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        default:
            fputc(*s, out);
        }
    }
}
