/* SPDX-License-Identifier: MIT */
/* expand.c: PackBits here, Zstandard and LZMA by their libraries, where these are installed. */
#include "tiff/expand.h"

#include <stdlib.h>
#include <string.h>
#ifdef IMGSTAT_WITH_LZMA
#include <lzma.h>
#endif
#ifdef IMGSTAT_WITH_ZSTD
#include <zstd.h>
#endif

enum {
    WINDOW_BYTES = 8 << 20,    /* of Zstandard up to level 19, of LZMA up to level 6 */
    STATE_BYTES = 1 << 19,     /* beside it */
    MOST_LZMA_BYTES = 80 << 20 /* level 9 takes 64 MiB: what wants more is left to libtiff */
};

struct Expander {
    ExpandKind kind;
    size_t row_bytes, left; /* PackBits: bytes that are missing of the row */
    bool ended;
#ifdef IMGSTAT_WITH_LZMA
    lzma_stream lzma;
#endif
#ifdef IMGSTAT_WITH_ZSTD
    ZSTD_DStream *zstd;
#endif
};

bool expander_known(ExpandKind kind)
{
    switch (kind) {
    case EXPAND_PACKBITS:
        return true;
#ifdef IMGSTAT_WITH_ZSTD
    case EXPAND_ZSTD:
        return true;
#endif
#ifdef IMGSTAT_WITH_LZMA
    case EXPAND_LZMA:
        return true;
#endif
    default:
        return false;
    }
}

size_t expander_bytes(ExpandKind kind)
{
    return kind == EXPAND_PACKBITS ? sizeof(Expander) : WINDOW_BYTES + STATE_BYTES;
}

Expander *expander_create(ExpandKind kind, size_t row_bytes)
{
    Expander *const expander = expander_known(kind) ? calloc(1, sizeof *expander) : NULL;
    if (!expander)
        return NULL;
    expander->kind = kind;
    expander->row_bytes = row_bytes;
#ifdef IMGSTAT_WITH_ZSTD
    if (kind == EXPAND_ZSTD && !(expander->zstd = ZSTD_createDStream())) {
        free(expander);
        return NULL;
    }
#endif
    return expander;
}

void expander_destroy(Expander *expander)
{
    if (!expander)
        return;
#ifdef IMGSTAT_WITH_LZMA
    lzma_end(&expander->lzma);
#endif
#ifdef IMGSTAT_WITH_ZSTD
    ZSTD_freeDStream(expander->zstd);
#endif
    free(expander);
}

bool expander_begin(Expander *expander)
{
    expander->left = expander->row_bytes;
    expander->ended = false;
    switch (expander->kind) {
#ifdef IMGSTAT_WITH_ZSTD
    case EXPAND_ZSTD:
        return !ZSTD_isError(ZSTD_initDStream(expander->zstd));
#endif
#ifdef IMGSTAT_WITH_LZMA
    case EXPAND_LZMA:
        return lzma_stream_decoder(&expander->lzma, MOST_LZMA_BYTES, 0) == LZMA_OK;
#endif
    default:
        return true;
    }
}

/* ---- PackBits: -n: the next byte n + 1 times; n: the next n + 1 bytes; -128: nothing -----------
 */

static bool run_packbits(Expander *expander, const uint8_t **in, size_t *n_in, uint8_t **out,
                         size_t *room)
{
    while (*room > 0 && *n_in > 0) {
        const uint8_t head = **in;
        if (head == 128) {
            (*in)++;
            (*n_in)--;
            continue;
        }
        const bool repeats = head > 128;
        const size_t n = repeats ? 257u - head : head + 1u, takes = repeats ? 2 : n + 1;
        if (n > expander->left || n > *room)
            return false;
        if (*n_in < takes)
            return true;
        if (repeats)
            memset(*out, (*in)[1], n);
        else
            memcpy(*out, *in + 1, n);
        *in += takes;
        *n_in -= takes;
        *out += n;
        *room -= n;
        expander->left -= n;
        if (expander->left == 0)
            expander->left = expander->row_bytes;
    }
    return true;
}

/* ---- By libraries ------------------------------------------------------------------------------
 */

#ifdef IMGSTAT_WITH_ZSTD
static bool run_zstd(Expander *expander, const uint8_t **in, size_t *n_in, uint8_t **out,
                     size_t *room)
{
    ZSTD_inBuffer input = {.src = *in, .size = *n_in};
    ZSTD_outBuffer output = {.dst = *out, .size = *room};
    bool good = !expander->ended;
    /* It may hold output for which there was no room, so it is asked without input too. */
    while (good && output.pos < output.size) {
        const size_t before_in = input.pos, before_out = output.pos;
        const size_t left = ZSTD_decompressStream(expander->zstd, &output, &input);
        good = !ZSTD_isError(left);
        if (left == 0) {
            expander->ended = true;
            good = output.pos == output.size;
        }
        if (input.pos == before_in && output.pos == before_out)
            break;
    }
    *in += input.pos;
    *n_in -= input.pos;
    *out += output.pos;
    *room -= output.pos;
    return good;
}
#endif

#ifdef IMGSTAT_WITH_LZMA
static bool run_lzma(Expander *expander, const uint8_t **in, size_t *n_in, uint8_t **out,
                     size_t *room)
{
    lzma_stream *const lzma = &expander->lzma;
    lzma->next_in = *in;
    lzma->avail_in = *n_in;
    lzma->next_out = *out;
    lzma->avail_out = *room;
    lzma_ret res = expander->ended ? LZMA_DATA_ERROR : LZMA_OK;
    while (res == LZMA_OK && lzma->avail_out > 0)
        res = lzma_code(lzma, LZMA_RUN);
    expander->ended = expander->ended || res == LZMA_STREAM_END;
    *in = lzma->next_in;
    *n_in = lzma->avail_in;
    *out = lzma->next_out;
    *room = lzma->avail_out;
    /* LZMA_BUF_ERROR: all input is used. */
    return res == LZMA_OK || res == LZMA_BUF_ERROR || (res == LZMA_STREAM_END && *room == 0);
}
#endif

bool expander_run(Expander *expander, const uint8_t **in, size_t *n_in, uint8_t **out, size_t *room)
{
    switch (expander->kind) {
    case EXPAND_PACKBITS:
        return run_packbits(expander, in, n_in, out, room);
#ifdef IMGSTAT_WITH_ZSTD
    case EXPAND_ZSTD:
        return run_zstd(expander, in, n_in, out, room);
#endif
#ifdef IMGSTAT_WITH_LZMA
    case EXPAND_LZMA:
        return run_lzma(expander, in, n_in, out, room);
#endif
    default:
        return false;
    }
}
