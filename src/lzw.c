/* SPDX-License-Identifier: MIT */
/* lzw.c: a code's string is in the output already, where it came up first: a place and a length are
 * all that the table must know. Most strings are short; their first bytes are in the table too, and
 * written with one store whatever their length. */
#include "lzw.h"

#include <stdlib.h>
#include <string.h>

enum {
    CLEAR = 256,
    END = 257,
    FIRST = 258,                          /* code that is free after a clear code */
    LEAST_WIDTH = 9,                      /* bits of a code */
    FIRST_WIDER = (1 << LEAST_WIDTH) - 1, /* next code when codes get a bit more: one early */
    MOST_WIDTH = 12,
    CODES = 1 << MOST_WIDTH,
    HEAD = 8,           /* bytes of a string in its entry */
    STEP = 16,          /* bytes copied at once */
    SLACK = HEAD + STEP /* bytes that may be written behind a string */
};

typedef struct Entry {
    uint64_t head;   /* first bytes of the string, the first one lowest; zeros behind its end */
    uint32_t at;     /* place of the string in the output; of single bytes none is needed */
    uint32_t length; /* of the string */
} Entry;

struct Lzw {
    Entry entry[CODES];
};

Lzw *lzw_create(void)
{
    Lzw *const lzw = calloc(1, sizeof *lzw);
    for (unsigned i = 0; lzw && i < 256; i++)
        lzw->entry[i] = (Entry){.head = i, .length = 1};
    return lzw;
}

void lzw_destroy(Lzw *lzw)
{
    free(lzw);
}

/* `width` bits from bit `at` on, as a number. */
static inline unsigned code_at(const uint8_t *from, size_t at, unsigned width)
{
    uint64_t word;
    memcpy(&word, from + at / 8, sizeof word);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return (unsigned)(word << at % 8 >> (64 - width));
}

static inline void store_head(uint8_t *to, uint64_t head)
{
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
    head = __builtin_bswap64(head);
#endif
    memcpy(to, &head, sizeof head);
}

/* The string where there is room behind it. It may end with its own first byte: that one is in the
 * head, which is written before it is read. Whether a string is longer than its head cannot be
 * foretold: one step is always copied, of single bytes from anywhere. */
static inline void copy_wide(uint8_t *to, uint32_t at, const Entry *string)
{
    uint8_t *const place = to + at;
    store_head(place, string->head);
    uint32_t i = HEAD;
    do {
        uint8_t step[STEP];
        memcpy(step, to + string->at + i, STEP);
        memcpy(place + i, step, STEP);
        i += STEP;
    } while (__builtin_expect(i < string->length, 0));
}

/* As much of the string as fits. */
static void copy_narrow(uint8_t *to, uint32_t at, uint32_t room, const Entry *string)
{
    const uint32_t n = string->length < room ? string->length : room;
    for (uint32_t i = 0; i < n; i++)
        to[at + i] = (uint8_t)(i < HEAD ? string->head >> 8 * i : to[string->at + i]);
}

/* The string before, and the first byte of the one after it. No branch: lengths around HEAD cannot
 * be foretold. */
static inline Entry extended(const Entry *string, uint64_t first)
{
    const uint64_t fits = 0 - (uint64_t)(string->length < HEAD);
    const uint64_t byte = (first & 0xFF) << (8 * string->length & 63);
    return (Entry){
        .head = string->head | (byte & fits), .at = string->at, .length = string->length + 1};
}

bool lzw_decode(Lzw *lzw, const uint8_t *from, size_t n, uint8_t *to, size_t bytes)
{
    Entry *const entry = lzw->entry;
    const size_t end = 8 * n;
    if (n > SIZE_MAX / 8 || bytes > UINT32_MAX - SLACK || end < LEAST_WIDTH ||
        code_at(from, 0, LEAST_WIDTH) != CLEAR)
        return false;
    const uint32_t last = (uint32_t)bytes;
    size_t bit = LEAST_WIDTH;
    unsigned width = LEAST_WIDTH, wider = FIRST_WIDER, next = FIRST;
    Entry before = {0}; /* length 0: no string since the clear code */
    for (uint32_t at = 0; at < last;) {
        if (end - bit < width)
            return false;
        const unsigned code = code_at(from, bit, width);
        bit += width;
        if (code == CLEAR || code == END) {
            if (code == END)
                return false;
            width = LEAST_WIDTH;
            wider = FIRST_WIDER;
            next = FIRST;
            before.length = 0;
            continue;
        }
        Entry string = entry[code];
        if (before.length == 0) {
            if (code > CLEAR)
                return false;
        } else {
            if (code > next || next == CODES)
                return false;
            /* A code that is about to be made extends the string before by its own first byte. */
            const Entry made = extended(&before, code == next ? before.head : string.head);
            entry[next] = made;
            if (code == next)
                string = made;
            next++;
            /* Rare, so a branch: the next code does not wait for a sum. */
            if (next == wider) {
                width += width < MOST_WIDTH;
                wider = (1u << width) - 1;
            }
        }
        if (last - at >= string.length + SLACK)
            copy_wide(to, at, &string);
        else
            copy_narrow(to, at, last - at, &string);
        before = (Entry){.head = string.head, .at = at, .length = string.length};
        at = last - at < string.length ? last : at + string.length;
    }
    return true;
}
