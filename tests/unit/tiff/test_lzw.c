/* SPDX-License-Identifier: MIT */
/* test_lzw.c: what an encoder written from the TIFF specification makes of bytes of all kinds comes
 * back, whole and in part, with guard bytes around it; damage is refused. */
#include "support.h"
#include "tiff/lzw.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 300000, GUARD = 32, CLEAR = 256, END = 257 };

static uint32_t state = 20261120;

static uint32_t next_number(void)
{
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

/* Random, few values, long runs (codes that are made as they are used), a ramp, a constant. */
static void fill(uint8_t *to, size_t n, unsigned kind)
{
    uint8_t run = 0;
    for (size_t i = 0; i < n; i++) {
        if (next_number() % 97 == 0)
            run = (uint8_t)next_number();
        to[i] = (uint8_t)(kind == 0   ? next_number()
                          : kind == 1 ? next_number() % 3
                          : kind == 2 ? run
                          : kind == 3 ? i / 7
                                      : 0x5A);
    }
}

typedef struct Codes {
    uint8_t *bytes;
    size_t bits;
} Codes;

static void put(Codes *codes, unsigned code, unsigned width)
{
    for (unsigned b = width; b-- > 0; codes->bits++) {
        uint8_t *const at = codes->bytes + codes->bits / 8;
        if (codes->bits % 8 == 0)
            *at = 0;
        *at |= (uint8_t)((code >> b & 1) << (7 - codes->bits % 8));
    }
}

/* TIFF 6.0, section 13; the table is cleared at `most` codes. */
static size_t encode(const uint8_t *from, size_t n, unsigned most, bool ends, uint8_t *to)
{
    static uint16_t after[4096][256]; /* the code of a string and one byte more; 0: none */
    Codes codes = {.bytes = to};
    unsigned width = 9, next = 258, string = 0;
    memset(after, 0, sizeof after);
    put(&codes, CLEAR, 9);
    for (size_t i = 0; i < n; i++) {
        if (i == 0) {
            string = from[0];
            continue;
        }
        if (after[string][from[i]]) {
            string = after[string][from[i]];
            continue;
        }
        put(&codes, string, width);
        after[string][from[i]] = (uint16_t)next++;
        string = from[i];
        width = next >= 2048 ? 12 : next >= 1024 ? 11 : next >= 512 ? 10 : 9;
        if (next == most) {
            put(&codes, CLEAR, width);
            memset(after, 0, sizeof after);
            width = 9;
            next = 258;
        }
    }
    if (n > 0)
        put(&codes, string, width);
    if (n > 0 && (next + 1 == 512 || next + 1 == 1024 || next + 1 == 2048))
        width++; /* the decoder has made one code more */
    if (ends)
        put(&codes, END, width);
    return (codes.bits + 7) / 8;
}

static size_t bytes_compared;

static bool gives(Lzw *lzw, const uint8_t *codes, size_t n_codes, const uint8_t *expected, size_t n)
{
    /* Just as much input as promised, so that a sanitizer sees more. */
    uint8_t *const input = malloc(n_codes + LZW_SPARE), *const memory = malloc(n + 2 * GUARD);
    memcpy(input, codes, n_codes);
    memset(input + n_codes, 0xFF, LZW_SPARE);
    guard_fill(memory, n + 2 * GUARD);
    const bool done = lzw_decode(lzw, input, n_codes, memory + GUARD, n);
    cr_assert(guard_holds(memory, GUARD) && guard_holds(memory + GUARD + n, GUARD));
    const bool same = done && memcmp(memory + GUARD, expected, n) == 0;
    cr_assert(same == done, "%zu bytes differ", n);
    bytes_compared += n;
    free(input);
    free(memory);
    return done;
}

/* Reads all that the codes stand for, in pieces; then there is no more. */
static void compare_stream(LzwStream *stream, const uint8_t *codes, size_t n_codes,
                           const uint8_t *expected, size_t n, size_t in_piece, size_t out_piece)
{
    uint8_t *const input = malloc(in_piece + 4 + LZW_SPARE), *const got = malloc(n + 1);
    size_t given = 0, left = 0, done = 0;
    bool good = true;
    const uint8_t *at = input;
    lzw_stream_begin(stream);
    while (good && done < n) {
        size_t room = n - done < out_piece ? n - done : out_piece;
        const size_t wanted = room;
        uint8_t *to = got + done;
        good = lzw_stream_run(stream, &at, &left, &to, &room);
        done += wanted - room;
        if (!good || room == 0)
            continue;
        const size_t more = n_codes - given < in_piece ? n_codes - given : in_piece;
        if (more == 0)
            break;
        cr_assert_lt(left, 4);
        memmove(input, at, left);
        memcpy(input + left, codes + given, more);
        memset(input + left + more, 0xFF, LZW_SPARE);
        at = input;
        left += more;
        given += more;
    }
    cr_assert(good && done == n && memcmp(got, expected, n) == 0, "%zu of %zu in %zu, %zu", done, n,
              in_piece, out_piece);
    bytes_compared += n;
    free(input);
    free(got);
}

Test(lzw, round_trip)
{
    static const size_t length[] = {0,   1,   2,    7,    8,    9,    23,   24,    25,  255,
                                    256, 257, 1000, 3837, 3838, 3839, 4096, 10007, MOST};
    static const unsigned most[] = {4094, 4095, 512, 300};
    static uint8_t bytes[MOST], codes[2 * MOST + 16];
    Lzw *const lzw = lzw_create();
    cr_assert_not_null(lzw);
    for (unsigned kind = 0; kind < 5; kind++) {
        for (size_t l = 0; l < sizeof length / sizeof *length; l++) {
            const size_t n = length[l];
            fill(bytes, n, kind);
            for (size_t m = 0; m < sizeof most / sizeof *most; m++) {
                const size_t n_codes = encode(bytes, n, most[m], m % 2 == 0, codes);
                cr_assert(gives(lzw, codes, n_codes, bytes, n), "kind %u, %zu bytes, clear at %u",
                          kind, n, most[m]);
                for (size_t part = 1; part < n; part += part / 2 + 1)
                    cr_assert(gives(lzw, codes, n_codes, bytes, n - part));
            }
        }
    }
    lzw_destroy(lzw);
    cr_assert(bytes_compared > 10 * MOST, "%zu bytes compared", bytes_compared);
}

/* Input and output in pieces of every size; a string may begin far back. */
Test(lzw, piece_by_piece)
{
    static const size_t length[] = {1, 9, 257, 3838, 70000, MOST};
    static const size_t pieces[] = {1, 3, 100, 4096, 1 << 18};
    static uint8_t bytes[MOST], codes[2 * MOST + 16];
    LzwStream *const stream = lzw_stream_create();
    cr_assert_not_null(stream);
    for (unsigned kind = 0; kind < 5; kind++) {
        for (size_t l = 0; l < sizeof length / sizeof *length; l++) {
            fill(bytes, length[l], kind);
            const size_t n_codes = encode(bytes, length[l], l % 2 ? 4094 : 512, l % 3, codes);
            for (size_t p = 0; p < 25; p++)
                if (pieces[p % 5] > 3 || length[l] < 5000)
                    compare_stream(stream, codes, n_codes, bytes, length[l], pieces[p % 5],
                                   pieces[p / 5]);
        }
    }
    lzw_stream_destroy(stream);
    cr_assert(bytes_compared > 50 * MOST, "%zu bytes compared", bytes_compared);
}

/* More than there is, and every shorter input: no bytes are made up. */
Test(lzw, ends_early)
{
    static uint8_t bytes[3000], codes[6000];
    Lzw *const lzw = lzw_create();
    for (unsigned kind = 0; kind < 5; kind++) {
        fill(bytes, sizeof bytes, kind);
        const size_t n_codes = encode(bytes, sizeof bytes, 4094, true, codes);
        uint8_t *const room = malloc(sizeof bytes + 1);
        cr_assert(!lzw_decode(lzw, codes, n_codes, room, sizeof bytes + 1));
        for (size_t n = 0; n + 3 < n_codes; n++)
            cr_assert(!gives(lzw, codes, n, bytes, sizeof bytes), "%zu of %zu", n, n_codes);
        free(room);
    }
    lzw_destroy(lzw);
}

static bool accepts(const unsigned *code, size_t n, size_t bytes)
{
    uint8_t stream[64 + LZW_SPARE] = {0}, to[64];
    Codes codes = {.bytes = stream};
    for (size_t i = 0; i < n; i++)
        put(&codes, code[i], 9);
    Lzw *const lzw = lzw_create();
    const bool done = lzw_decode(lzw, stream, (codes.bits + 7) / 8, to, bytes);
    lzw_destroy(lzw);
    return done;
}

Test(lzw, only_the_usual)
{
    cr_assert(accepts((unsigned[]){CLEAR, 'a', 258, 259, END}, 5, 6)); /* a aa aaa */
    cr_assert(accepts((unsigned[]){CLEAR, CLEAR, 'a', CLEAR, 'b', END}, 6, 2));
    cr_assert(!accepts((unsigned[]){'a', 'b', 'c', END}, 4, 3));   /* no clear code */
    cr_assert(!accepts((unsigned[]){CLEAR, 258, 'a', END}, 4, 2)); /* no string before */
    cr_assert(!accepts((unsigned[]){CLEAR, 'a', 259, END}, 4, 3)); /* not made so far */
    cr_assert(!accepts((unsigned[]){CLEAR, 'a', 'b', CLEAR, 258, END}, 6, 4)); /* forgotten */
    cr_assert(!accepts((unsigned[]){CLEAR, 'a', END, 'b'}, 4, 2));             /* ended */
}

/* A table that nobody clears has no place for a string at last. */
Test(lzw, table_overflows)
{
    static uint8_t stream[16000], to[8000];
    Codes codes = {.bytes = stream};
    put(&codes, CLEAR, 9);
    for (unsigned i = 0; i < 5000; i++) {
        const unsigned next = 257 + i; /* after this code */
        put(&codes, i % 256, next >= 2047 ? 12 : next >= 1023 ? 11 : next >= 511 ? 10 : 9);
    }
    Lzw *const lzw = lzw_create();
    const size_t n = (codes.bits + 7) / 8;
    cr_assert(lzw_decode(lzw, stream, n, to, 3839)); /* 4,096 codes are the last that fit */
    for (unsigned i = 0; i < 3839; i++)
        cr_assert_eq(to[i], i % 256);
    cr_assert(!lzw_decode(lzw, stream, n, to, 3840));
    lzw_destroy(lzw);
}
