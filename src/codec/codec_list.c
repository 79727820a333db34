/* SPDX-License-Identifier: MIT */
/* codec_list.c: lists such as "png,tiff:none,lzw,deflate" or "-jbig,-old-jpeg". */
#include "codec/codec_list.h"

#include "base/compiler.h"
#include "codec/codec.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#ifndef IMGSTAT_CODECS
#define IMGSTAT_CODECS NULL /* all that there are */
#endif

/* A word of a list: "-jbig", "tiff:none". Other words for names are those of --compression. */
typedef struct CodecWord {
    const char *name;
    size_t n;
    bool excludes;
} CodecWord;

/* Takes the next word off a list. Returns false if there is none. */
static bool next_word(const char **list, CodecWord *out)
{
    static const char tiff[] = "tiff:";
    *list += strspn(*list, ", ");
    out->excludes = **list == '-';
    out->name = *list + out->excludes;
    out->n = strcspn(out->name, ", ");
    *list = out->name + out->n;
    if (strncmp(out->name, tiff, strlen(tiff)) == 0) {
        out->name += strlen(tiff);
        out->n -= strlen(tiff);
    }
    return out->n > 0;
}

/* Compares a word with a name such as "CCITT T.6", which "ccitt-t.6" and "ccitt" stand for. */
static bool names(const CodecWord *word, const char *name)
{
    size_t i = 0;
    if (word->n == 4 && strncmp(word->name, "zstd", 4) == 0)
        return strcmp(name, "Zstandard") == 0;
    while (i < word->n && name[i] &&
           (name[i] == ' ' ? '-' : tolower((unsigned char)name[i])) == word->name[i])
        i++;
    return i == word->n && (name[i] == '\0' || name[i] == ' ');
}

static bool is_known(const CodecWord *word)
{
    for (size_t i = 0; codec_at(i); i++) {
        const Codec *const codec = codec_at(i);
        if (names(word, codec->name))
            return true;
        for (size_t k = 0; codec->compression && codec->compression(k); k++)
            if (names(word, codec->compression(k)))
                return true;
    }
    return false;
}

ImgstatResult codec_list_check(const char *list, const char *whose, ImgstatError *err)
{
    CodecWord word;
    while (list && next_word(&list, &word))
        if (!is_known(&word))
            return error_set(
                err, IMGSTAT_ERR_ARG,
                "%s: no codec is called \"%.*s\"; they are png, tiff, and compressions "
                "such as none, lzw, deflate, zstd, old-jpeg",
                whose, (int)word.n, word.name);
    return IMGSTAT_OK;
}

static bool allows(const char *list, const char *format, const char *compression)
{
    CodecWord word;
    if (!list || list[strspn(list, ", ")] == '\0')
        return true;
    bool allowed = list[strspn(list, ", ")] == '-';
    while (next_word(&list, &word))
        if (names(&word, format) || (compression && names(&word, compression)))
            allowed = !word.excludes;
    return allowed;
}

bool codec_list_allows(const char *list, const char *format, const char *compression)
{
    const char *const lists[] = {list, getenv("IMGSTAT_CODECS"), IMGSTAT_CODECS};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        if (!allows(lists[i], format, compression))
            return false;
    return true;
}
