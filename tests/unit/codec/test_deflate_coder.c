/* SPDX-License-Identifier: MIT */
/* test_deflate_coder.c: streams of the coder, by the loops of every processor, against the text of
 * docs/deflate-coder.md written as plainly as possible; and read back by zlib. */
#include "codec/deflate_coder.h"
#include "codec/huffman.h"
#include "deflate_patterns.h"
#include "deflate_streams.h"
#include "support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(deflate_coder);

enum { MOST = 200000, GUARD = 64, BLOCK = 65536, CODINGS = DEFLATE_SEARCH_FAST + 1 };

/* ---- The text ---- */

typedef struct Stream {
    uint8_t *bytes;
    size_t bits;
} Stream;

static void put(Stream *s, unsigned value, unsigned n)
{
    for (unsigned i = 0; i < n; i++, s->bits++) {
        if (s->bits % 8 == 0)
            s->bytes[s->bits / 8] = 0;
        s->bytes[s->bits / 8] |= (uint8_t)((value >> i & 1) << s->bits % 8);
    }
}

static void put_stored(Stream *s, const uint8_t *from, size_t n, bool final)
{
    do {
        const size_t taken = n < 65535 ? n : 65535;
        put(s, final && taken == n, 3);
        while (s->bits % 8 != 0)
            put(s, 0, 1);
        put(s, (unsigned)taken, 16);
        put(s, (unsigned)taken ^ 0xFFFF, 16);
        for (size_t i = 0; i < taken; i++)
            put(s, from[i], 8);
        from += taken;
        n -= taken;
    } while (n > 0);
}

/* RFC 1951's table of lengths, searched. */
static unsigned length_symbol(unsigned n, unsigned *extra, unsigned *extra_bits)
{
    static const unsigned base[] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                    31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
    unsigned i = 28;
    while (base[i] > n)
        i--;
    *extra = n - base[i];
    *extra_bits = i < 8 || i == 28 ? 0 : (i - 4) / 4;
    return 257 + i;
}

/* match[i]: the length of the match that begins at byte i; 1: a literal; 0: inside a match. */
static void find_matches(const uint8_t *from, size_t n, size_t shortest, unsigned *match)
{
    for (size_t i = 0; i < n; i++)
        match[i] = 1;
    for (size_t i = 1; i < n; i++) {
        size_t end = i;
        while (end < n && from[end] == from[end - 1])
            end++;
        for (size_t at = i; at < end;) {
            const size_t left = end - at, taken = left < 258 ? left : 258;
            if (taken < 258 && taken < shortest)
                break;
            memset(match + at, 0, taken * sizeof *match);
            match[at] = (unsigned)taken;
            at += taken;
        }
        i = end > i ? end - 1 : i;
    }
}

/* RFC 1951's table of distances, searched. */
static unsigned distance_symbol(unsigned distance, unsigned *extra, unsigned *extra_bits)
{
    unsigned symbol = 0, base = 1, bits = 0;
    while (distance >= base + (1u << bits)) {
        base += 1u << bits;
        symbol++;
        bits = symbol < 4 ? 0 : symbol / 2 - 1;
    }
    *extra = distance - base;
    *extra_bits = bits;
    return symbol;
}

static uint64_t number(const uint8_t *at, unsigned bytes)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < bytes; i++)
        v |= (uint64_t)at[i] << 8 * i;
    return v;
}

static size_t hash(const uint8_t *at, unsigned key)
{
    const uint64_t c = 11400714819323198485u, v = number(at, 8);
    if (key == 4)
        return (uint32_t)(v * 2654435761u) >> 17;
    return (key == 8 ? c * v : c * ((c * v) ^ number(at + 8, 8))) >> 49;
}

/* length[i], distance[i]: the match of byte i of the block. Blocks before it are full. */
static void find_far(const uint8_t *piece, size_t at, size_t n, bool fast, unsigned *length,
                     unsigned *distance)
{
    static const unsigned keys[] = {16, 8, 4};
    size_t *const last = calloc(3 << 15, sizeof *last); /* places, and one */
    for (size_t p = 0; p < at + n; p++) {
        const size_t span = p / 8192 * 8192 + 8192, end = span < at + n ? span : at + n;
        const bool keyed = p + 16 <= end;
        bool plain = p > 0 && keyed;
        size_t d = 0, l = 0;
        for (size_t k = 0; plain && k < 4; k++)
            plain = piece[p + k] == piece[p - 1];
        if (plain)
            d = 1;
        for (unsigned k = 0; keyed && !plain && k < 3; k++) {
            if (fast && keys[k] != 8)
                continue;
            size_t *const place = &last[(k << 15) + hash(piece + p, keys[k])];
            const size_t there = *place > 0 ? *place - 1 : p;
            if (d == 0 && p - there <= 32767 && memcmp(piece + p, piece + there, keys[k]) == 0)
                d = p - there;
            *place = p + 1;
        }
        if (p < at)
            continue;
        while (d > 0 && l < 258 && p + l < end && piece[p + l] == piece[p + l - d])
            l++;
        length[p - at] = fast && l < 8 ? 0 : (unsigned)l;
        distance[p - at] = (unsigned)d;
    }
    free(last);
}

/* The same as find_matches, with distances. */
static void find_far_matches(const uint8_t *piece, size_t at, size_t n, bool fast, unsigned *match,
                             unsigned *distance)
{
    find_far(piece, at, n, fast, match, distance);
    for (size_t i = 0; i < n;) {
        if (match[i] == 0) {
            match[i++] = 1;
            continue;
        }
        const size_t end = i + match[i];
        for (i++; i < end; i++)
            match[i] = 0;
    }
}

static void count_symbols(const uint8_t *from, size_t n, const unsigned *match, bool fast,
                          uint32_t counts[286])
{
    unsigned extra, bits;
    memset(counts, 0, 286 * sizeof *counts);
    counts[256] = 1;
    const bool sampled = fast && n > 16384;
    for (size_t v = 0; sampled && v < 256; v++)
        counts[v] = 1;
    for (size_t i = 0; i < n; i++) {
        if (match[i] > 1)
            counts[length_symbol(match[i], &extra, &bits)]++;
        if (sampled ? i % 512 < 64 : match[i] == 1)
            counts[from[i]]++;
    }
}

static unsigned head_symbols(const uint8_t *lengths, unsigned n, unsigned (*out)[3])
{
    unsigned made = 0;
    for (unsigned i = 0; i < n;) {
        unsigned k = 1;
        while (i + k < n && lengths[i + k] == lengths[i])
            k++;
        const unsigned length = lengths[i];
        i += k;
        if (length > 0) {
            out[made][0] = length, out[made][1] = 0, out[made++][2] = 0;
            k--;
        }
        while (k >= 3) {
            const unsigned symbol = length > 0 ? 16 : k >= 11 ? 18 : 17;
            const unsigned least = symbol == 18 ? 11 : 3, most = symbol == 16   ? 6
                                                                 : symbol == 17 ? 10
                                                                                : 138;
            const unsigned taken = k < most ? k : most;
            out[made][0] = symbol, out[made][1] = taken - least;
            out[made++][2] = symbol == 16 ? 2 : symbol == 17 ? 3 : 7;
            k -= taken;
        }
        for (; k > 0; k--)
            out[made][0] = length, out[made][1] = 0, out[made++][2] = 0;
    }
    return made;
}

static void put_head(Stream *s, const uint8_t *of_symbols, const uint8_t *of_distances, bool final)
{
    static const unsigned order[] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                     11, 4,  12, 3, 13, 2, 14, 1, 15};
    unsigned n = 286, n_distances = 30, symbols[316][3], lengths_n = 19;
    uint8_t all[316], lengths[19];
    uint16_t codes[19];
    uint32_t counts[19] = {0};
    while (of_symbols[n - 1] == 0)
        n--;
    memcpy(all, of_symbols, n);
    while (of_distances[n_distances - 1] == 0)
        n_distances--;
    memcpy(all + n, of_distances, n_distances);
    const unsigned made = head_symbols(all, n + n_distances, symbols);
    for (unsigned i = 0; i < made; i++)
        counts[symbols[i][0]]++;
    huffman_lengths(counts, 19, 7, lengths);
    huffman_codes(lengths, 19, codes);
    while (lengths_n > 4 && lengths[order[lengths_n - 1]] == 0)
        lengths_n--;
    put(s, final, 1);
    put(s, 2, 2);
    put(s, n - 257, 5);
    put(s, n_distances - 1, 5);
    put(s, lengths_n - 4, 4);
    for (unsigned i = 0; i < lengths_n; i++)
        put(s, lengths[order[i]], 3);
    for (unsigned i = 0; i < made; i++) {
        put(s, codes[symbols[i][0]], lengths[symbols[i][0]]);
        put(s, symbols[i][1], symbols[i][2]);
    }
}

/* The lengths of codes of the distances that occur, of two at least. */
static void distance_lengths(const unsigned *match, const unsigned *distance, size_t n,
                             uint8_t lengths[30])
{
    uint32_t counts[30] = {0};
    unsigned extra, bits, used = 0;
    for (size_t i = 0; i < n; i++)
        if (match[i] > 1)
            counts[distance_symbol(distance[i], &extra, &bits)]++;
    for (unsigned d = 0; d < 30; d++)
        used += counts[d] > 0;
    for (unsigned d = 0; used < 2; d++)
        if (counts[d] == 0) {
            counts[d] = 1;
            used++;
        }
    huffman_lengths(counts, 30, 12, lengths);
}

static void put_block(Stream *s, const uint8_t *piece, size_t at, size_t n, DeflateCoding coding,
                      bool final)
{
    const uint8_t *const from = piece + at;
    unsigned *const match = malloc((n + 1) * sizeof *match), extra, bits;
    unsigned *const distance = malloc((n + 1) * sizeof *distance);
    uint32_t counts[286];
    uint8_t lengths[286], far_lengths[30];
    uint16_t codes[286], far_codes[30];
    const Stream before = *s;
    if (coding == DEFLATE_RUNS || coding == DEFLATE_RUNS_FAST) {
        find_matches(from, n, coding == DEFLATE_RUNS_FAST ? 16 : 8, match);
        for (size_t i = 0; i < n; i++)
            distance[i] = 1;
    } else {
        find_far_matches(piece, at, n, coding == DEFLATE_SEARCH_FAST, match, distance);
    }
    count_symbols(from, n, match, coding == DEFLATE_RUNS_FAST, counts);
    huffman_lengths(counts, 286, 12, lengths);
    huffman_codes(lengths, 286, codes);
    distance_lengths(match, distance, n, far_lengths);
    huffman_codes(far_lengths, 30, far_codes);
    put_head(s, lengths, far_lengths, final);
    for (size_t i = 0; i < n; i++) {
        if (match[i] == 1)
            put(s, codes[from[i]], lengths[from[i]]);
        if (match[i] <= 1)
            continue;
        const unsigned symbol = length_symbol(match[i], &extra, &bits);
        put(s, codes[symbol], lengths[symbol]);
        put(s, extra, bits);
        const unsigned far = distance_symbol(distance[i], &extra, &bits);
        put(s, far_codes[far], far_lengths[far]);
        put(s, extra, bits);
    }
    put(s, codes[256], lengths[256]);
    if (s->bits - before.bits >= 8 * n + 35 * ((n + 65534) / 65535)) {
        s->bits = before.bits;
        if (s->bits % 8 != 0) /* of the last byte, what was there before */
            s->bytes[s->bits / 8] &= (uint8_t)((1u << s->bits % 8) - 1);
        put_stored(s, from, n, final);
    }
    free(match);
    free(distance);
}

static size_t reference(DeflateCoding coding, const uint8_t *from, size_t n, bool last, uint8_t *to)
{
    Stream s = {.bytes = to};
    if (coding == DEFLATE_STORED) {
        put_stored(&s, from, n, last);
        return (s.bits + 7) / 8;
    }
    size_t at = 0;
    do {
        const size_t taken = n - at < BLOCK ? n - at : BLOCK;
        put_block(&s, from, at, taken, coding, last && at + taken == n);
        at += taken;
    } while (at < n);
    if (!last)
        put_stored(&s, from, 0, false);
    return (s.bits + 7) / 8;
}

/* What the loops of a processor write of `from`, which follows the first byte of its memory. */
static void expect_stream(DeflateCoder *coder, DeflateCoding coding, const uint8_t *from, size_t n,
                          bool last, const uint8_t *expected, size_t wanted, const char *what)
{
    const size_t room = deflate_coder_bound(n);
    uint8_t *const to = malloc(room + GUARD);
    guard_fill(to + room, GUARD);
    const size_t made = deflate_coder_write(coder, coding, from, n, last, to);
    cr_assert_eq(made, wanted, "%s: %zu bytes, not %zu", what, made, wanted);
    cr_assert_arr_eq(to, expected, made, "%s", what);
    cr_assert(guard_holds(to + room, GUARD));
    free(to);
}

Test(deflate_coder, is_that_of_the_text)
{
    static const size_t sizes[] = {0,     1,     2,     7,     8,      9,      17,    63,    64,
                                   65,    127,   128,   129,   257,    4097,   16384, 16385, 32768,
                                   65535, 65536, 65537, 65544, 131072, 131073, MOST};
    DeflateCoder *coders[PROCESSOR_LEVELS] = {NULL};
    uint8_t *const expected = malloc(2 * MOST);
    unsigned streams = 0;
    for (int level = 0; level < PROCESSOR_LEVELS; level++)
        if (cpu_features_supports((CpuLevel)level))
            coders[level] = deflate_coder_create_for((CpuLevel)level);
    for (int pattern = 0; pattern < PATTERNS; pattern++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (int how = 0; how < 2 * CODINGS; how++, streams++) {
                const DeflateCoding coding = (DeflateCoding)(how / 2);
                const size_t n = sizes[s];
                const bool last = how % 2;
                /* At the end of its memory, so that sanitizers see a byte too many. */
                uint8_t *const exact = malloc(n + 1);
                fill_pattern((Pattern)pattern, 3, exact + 1, n);
                const size_t wanted = reference(coding, exact + 1, n, last, expected);
                if (last)
                    cr_assert(stream_inflates_to(expected, wanted, exact + 1, n));
                for (int level = 0; level < PROCESSOR_LEVELS; level++)
                    if (coders[level]) {
                        char what[80];
                        snprintf(what, sizeof what, "level %d, pattern %d, %zu bytes, coding %d",
                                 level, pattern, n, how);
                        expect_stream(coders[level], coding, exact + 1, n, last, expected, wanted,
                                      what);
                    }
                free(exact);
            }
    cr_assert_eq(streams, PATTERNS * 2 * CODINGS * sizeof sizes / sizeof *sizes);
    for (int level = 0; level < PROCESSOR_LEVELS; level++)
        deflate_coder_destroy(coders[level]);
    free(expected);
}

/* The last bytes are a few of 64, whose bits do or do not complete a byte. */
Test(deflate_coder, ends)
{
    enum { STATES = 256 };
    uint8_t from[64 * 16], to[4096], expected[4096];
    unsigned streams = 0;
    for (int level = 0; level < PROCESSOR_LEVELS; level++) {
        if (!cpu_features_supports((CpuLevel)level))
            continue;
        DeflateCoder *const coder = deflate_coder_create_for((CpuLevel)level);
        for (uint32_t state = 0; state < STATES; state++, streams++) {
            const size_t n = 64 * (1 + state % 15) + 48 + state / 15 % 16;
            fill_pattern(SPARSE, state, from, n);
            const size_t made = deflate_coder_write(coder, DEFLATE_RUNS, from, n, true, to);
            cr_assert_eq(made, reference(DEFLATE_RUNS, from, n, true, expected));
            cr_assert_arr_eq(to, expected, made, "level %d, state %u, %zu bytes", level, state, n);
        }
        deflate_coder_destroy(coder);
    }
    cr_assert_geq(streams, STATES);
}

/* Pieces that do not end a stream make one together. */
Test(deflate_coder, pieces_follow_each_other)
{
    DeflateCoder *const coder = deflate_coder_create();
    uint8_t *const from = malloc(MOST), *const to = malloc(4 * MOST);
    size_t bytes = 0;
    fill_pattern(DIFFERENCES, 3, from, MOST);
    for (size_t at = 0, n = 1; at < MOST; at += n, n = n * 3 + 1) {
        n = n < MOST - at ? n : MOST - at;
        const DeflateCoding coding = (DeflateCoding)(n % CODINGS);
        bytes += deflate_coder_write(coder, coding, from + at, n, at + n == MOST, to + bytes);
    }
    cr_assert(stream_inflates_to(to, bytes, from, MOST));
    deflate_coder_destroy(coder);
    deflate_coder_destroy(NULL);
    free(from);
    free(to);
}

Test(deflate_coder, bits_are_those_that_are_written)
{
    DeflateCoder *const coder = deflate_coder_create();
    uint8_t *const from = malloc(BLOCK);
    uint32_t *const bits = malloc((BLOCK + 1) * sizeof *bits);
    unsigned *const match = malloc(BLOCK * sizeof *match), extra, extra_bits;
    for (int pattern = 0; pattern < PATTERNS; pattern++) {
        uint32_t counts[286], sum = 0;
        uint8_t lengths[286];
        fill_pattern((Pattern)pattern, 3, from, BLOCK);
        find_matches(from, BLOCK, 8, match);
        count_symbols(from, BLOCK, match, false, counts);
        huffman_lengths(counts, 286, 12, lengths);
        deflate_coder_bits(coder, from, BLOCK, bits);
        cr_assert_eq(bits[0], 0);
        for (size_t i = 0; i < BLOCK; i++) {
            if (match[i] == 1)
                sum += lengths[from[i]];
            if (match[i] > 1) {
                const unsigned symbol = length_symbol(match[i], &extra, &extra_bits);
                sum += lengths[symbol] + extra_bits + 1;
            }
            cr_assert_eq(bits[i + 1], sum, "pattern %d, byte %zu", pattern, i);
        }
    }
    deflate_coder_destroy(coder);
    free(from);
    free(bits);
    free(match);
}
