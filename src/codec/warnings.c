/* SPDX-License-Identifier: MIT */
/* warnings.c: reports each sentence once, and only the first few of a file. */
#include "codec/warnings.h"
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
        if (!warnings->seen) /* rather twice than never */
            return true;
    }
    if (warnings->n_seen == MAX_WARNINGS)
        return false;
    warnings->seen[warnings->n_seen++] = hash;
    return true;
}

void warnings_report(Warnings *warnings, const char *format, ...)
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
    (void)!error_file(&sentence, IMGSTAT_ERR_FORMAT, warnings->name, "%s%s", text, more);
    warnings->warn(warnings->context, sentence.message);
}

void warnings_release(Warnings *warnings)
{
    free(warnings->seen);
    warnings->seen = NULL;
    warnings->n_seen = 0;
}

void kept_warnings_add(KeptWarnings *kept, const char *sentence)
{
    const size_t bytes = strlen(sentence) + 1;
    char *const grown = realloc(kept->text, kept->bytes + bytes);
    if (!grown)
        return;
    memcpy(grown + kept->bytes, sentence, bytes);
    kept->text = grown;
    kept->bytes += bytes;
}

void kept_warnings_report(const KeptWarnings *kept, ImgstatWarn warn, void *context)
{
    for (size_t at = 0; warn && at < kept->bytes; at += strlen(kept->text + at) + 1)
        warn(context, kept->text + at);
}

void kept_warnings_release(KeptWarnings *kept)
{
    free(kept->text);
    *kept = (KeptWarnings){0};
}
