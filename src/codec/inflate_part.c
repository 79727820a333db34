/* SPDX-License-Identifier: MIT */
/* inflate_part.c: decodes a part to words and, as soon as the window has no words that refer to
 * what is before the part, to bytes. */
#include "codec/inflate_part.h"

enum { STEP = 1 << 15 /* symbols after which it looks up */ };

/* Returns the place behind the last word that refers to the window, or `from` if there is none. */
static const uint16_t *behind_markers(const uint16_t *from, const uint16_t *to)
{
    enum { GROUP = 32 };
    while (to - from >= GROUP) {
        unsigned all = 0;
        for (size_t i = 1; i <= GROUP; i++)
            all |= *(to - i);
        if (all >= DEFLATE_MARKER)
            break;
        to -= GROUP;
    }
    while (to > from && to[-1] < DEFLATE_MARKER)
        to--;
    return to;
}

/* Returns whether decoding of a part is over. */
static bool is_over(const InflatePart *part, DecodeStop stop, uint64_t end,
                    const atomic_bool *cancelled)
{
    return stop == DECODE_WRONG || stop == DECODE_END || stop == DECODE_INPUT ||
           (stop == DECODE_BLOCK && bit_reader_place(&part->decoder.reader) >= end) ||
           atomic_load_explicit(cancelled, memory_order_relaxed);
}

/* Decodes words until the window holds none that refers to what is before the part. */
static DecodeStop decode_words(InflatePart *part, uint64_t end, const atomic_bool *cancelled)
{
    uint16_t *const window = (uint16_t *)(void *)part->memory;
    uint16_t *const room_end = (uint16_t *)(void *)(part->memory + INFLATE_PART_ROOM);
    uint16_t *out = window + DEFLATE_WINDOW;
    const uint16_t *clean = out, *seen = out;
    for (size_t i = 0; i < DEFLATE_WINDOW; i++)
        window[i] = (uint16_t)(DEFLATE_MARKER | i);
    part->words = out;
    part->resolved = false;
    part->bytes = NULL;
    part->n_bytes = 0;
    for (;;) {
        uint16_t *const most = room_end - out > STEP ? out + STEP : room_end;
        const DecodeStop stop = deflate_decode_words(&part->decoder, window, &out, most);
        part->n_words = (size_t)(out - part->words);
        const uint16_t *const behind = behind_markers(seen, out);
        clean = behind > seen ? behind : clean;
        seen = out;
        if (is_over(part, stop, end, cancelled) || (stop == DECODE_ROOM && most == room_end))
            return stop;
        if (out - clean >= DEFLATE_WINDOW)
            return DECODE_ROOM;
    }
}

/* Decodes on to bytes. */
static DecodeStop decode_bytes(InflatePart *part, uint64_t end, const atomic_bool *cancelled)
{
    const uint16_t *const words_end = part->words + part->n_words;
    uint8_t *const window = (uint8_t *)(uintptr_t)words_end;
    uint8_t *const room_end = part->memory + INFLATE_PART_ROOM;
    if (part->n_words < DEFLATE_WINDOW || room_end - window < DEFLATE_WINDOW + DECODE_MARGIN)
        return DECODE_ROOM;
    for (size_t i = 0; i < DEFLATE_WINDOW; i++)
        window[i] = (uint8_t)words_end[(ptrdiff_t)i - DEFLATE_WINDOW];
    uint8_t *out = window + DEFLATE_WINDOW;
    part->bytes = out;
    for (;;) {
        uint8_t *const most = room_end - out > STEP ? out + STEP : room_end;
        const DecodeStop stop = deflate_decode_bytes(&part->decoder, window, &out, most);
        part->n_bytes = (size_t)(out - part->bytes);
        if (is_over(part, stop, end, cancelled) || (stop == DECODE_ROOM && most == room_end))
            return stop;
    }
}

bool inflate_part_decode(InflatePart *part, const PieceRing *ring, uint64_t place, uint64_t end,
                         const atomic_bool *cancelled)
{
    if (!bit_reader_seek(&part->decoder.reader, ring, place))
        return false;
    part->decoder.inside = BLOCK_HEAD;
    DecodeStop stop = decode_words(part, end, cancelled);
    if (stop == DECODE_ROOM && !is_over(part, stop, end, cancelled))
        stop = decode_bytes(part, end, cancelled);
    return stop != DECODE_WRONG && !atomic_load(cancelled);
}

size_t inflate_part_size(const InflatePart *part)
{
    return part->n_words + part->n_bytes;
}

/* The words of the window before a part are needed while it is decoded. Then what each word of the
 * part stands for lies there. */

void inflate_part_follow(InflatePart *part, const uint8_t *window)
{
    for (size_t i = 0; i < 256; i++)
        part->memory[i] = (uint8_t)i;
    memcpy(part->memory + DEFLATE_MARKER, window, DEFLATE_WINDOW);
}

/* Makes bytes of n words from `at` on. to: may be the place of the first. */
static void resolve(const InflatePart *part, size_t at, size_t n, uint8_t *to)
{
    const uint16_t *const words = part->words + at;
    for (size_t i = 0; i < n; i++)
        to[i] = part->memory[words[i]];
}

void inflate_part_window(const InflatePart *part, uint8_t *window)
{
    const size_t n = part->n_words, fresh = n < DEFLATE_WINDOW ? n : DEFLATE_WINDOW;
    const size_t kept = DEFLATE_WINDOW - fresh;
    if (part->bytes) {
        memcpy(window, part->bytes + part->n_bytes - DEFLATE_WINDOW, DEFLATE_WINDOW);
        return;
    }
    memcpy(window, part->memory + DEFLATE_MARKER + fresh, kept);
    resolve(part, n - fresh, fresh, window + kept);
}

void inflate_part_resolve(InflatePart *part)
{
    resolve(part, 0, part->n_words, (uint8_t *)part->words);
    part->resolved = true;
}

size_t inflate_part_copy(const InflatePart *part, size_t at, uint8_t *to, size_t n)
{
    const bool in_words = at < part->n_words;
    const size_t left = (in_words ? part->n_words : inflate_part_size(part)) - at;
    n = n < left ? n : left;
    if (in_words && !part->resolved)
        resolve(part, at, n, to);
    else if (in_words)
        memcpy(to, (const uint8_t *)part->words + at, n);
    else if (n > 0)
        memcpy(to, part->bytes + (at - part->n_words), n);
    return n;
}
