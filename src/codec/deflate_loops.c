/* SPDX-License-Identifier: MIT */
/* deflate_loops.c: runs found, bytes counted, and replaced by codes. */
#include "codec/deflate_loops.h"

#include "base/compiler.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

/* ---- Equal neighbours ---- */

enum { WORD = 64 };

/* Compares n <= 64 bytes with the byte before each. */
FORCE_INLINE uint64_t equal_bytes(const uint8_t *from, size_t n)
{
    uint64_t word = 0;
    for (size_t i = 0; i < n; i++)
        word |= (uint64_t)(from[i] == from[(ptrdiff_t)i - 1]) << i;
    return word;
}

#if defined(__AVX512BW__)

FORCE_INLINE uint64_t equal_word(const uint8_t *from)
{
    return _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(from), _mm512_loadu_si512(from - 1));
}

#elif defined(__SSE2__)

FORCE_INLINE uint64_t equal_quarter(const uint8_t *from)
{
    const __m128i *const here = (const void *)from, *const before = (const void *)(from - 1);
    return (uint32_t)_mm_movemask_epi8(
        _mm_cmpeq_epi8(_mm_loadu_si128(here), _mm_loadu_si128(before)));
}

FORCE_INLINE uint64_t equal_word(const uint8_t *from)
{
    return equal_quarter(from) | equal_quarter(from + 16) << 16 | equal_quarter(from + 32) << 32 |
           equal_quarter(from + 48) << 48;
}

#else

FORCE_INLINE uint64_t equal_word(const uint8_t *from)
{
    return equal_bytes(from, WORD);
}

#endif

/* Compares n bytes with the byte before each. Bit i % 64 of word i / 64 is 1 if byte i equals byte
 * i - 1. Bit 0 of word 0, those from n on, and the word behind them are 0. */
static void equal_neighbours(const uint8_t *from, size_t n, uint64_t *words)
{
    const size_t first = n < WORD ? n : WORD;
    words[(n + WORD - 1) / WORD] = 0;
    if (n == 0)
        return;
    words[0] = equal_bytes(from + 1, first - 1) << 1; /* nothing before the first byte is read */
    size_t i = first;
    for (; n - i >= WORD; i += WORD)
        words[i / WORD] = equal_word(from + i);
    if (i < n)
        words[i / WORD] = equal_bytes(from + i, n - i);
}

/* ---- Runs ---- */

/* Of bits from which k set bits follow, those from which 2 k do. next: the bits behind, of which
 * those count that a run from `here` reaches. */
FORCE_INLINE uint64_t double_length(uint64_t here, uint64_t *next, unsigned k)
{
    const uint64_t twice = here & (here >> k | *next << (WORD - k));
    *next &= *next >> k;
    return twice;
}

/* Sets reach[w] to the bits of words[w] at which `shortest` set bits and more begin. `shortest` is
 * a constant where this is inlined. */
FORCE_INLINE void find_reach(const uint64_t *restrict words, size_t n, unsigned shortest,
                             uint64_t *restrict reach)
{
    for (size_t w = 0; w < n; w++) {
        uint64_t next = words[w + 1], here = double_length(words[w], &next, 1);
        here = double_length(here, &next, 2);
        here = double_length(here, &next, 4);
        if (shortest == DEFLATE_SHORTEST_RUN_FAST)
            here = double_length(here, &next, 8);
        reach[w] = here;
    }
}

/* Finds the runs of each word: the bits that they cover, and those at which they start and behind
 * which they end. A run that begins in a word before goes on if one of the last `shortest` bits
 * there reaches far enough. Adding a run's first bit to it moves the bit behind its end. words[-1]
 * and reach[-1] are 0. */
FORCE_INLINE void find_bounds(const uint64_t *restrict words, const uint64_t *restrict reach,
                              size_t n, unsigned shortest, DeflateRuns *restrict runs,
                              uint64_t *restrict ends)
{
    for (size_t w = 0; w < n; w++) {
        const uint64_t word = words[w];
        const uint64_t starts = reach[w] & ~(word << 1 | words[(ptrdiff_t)w - 1] >> (WORD - 1));
        const uint64_t goes_on = reach[(ptrdiff_t)w - 1] >> (WORD - shortest) != 0;
        const uint64_t sum =
            word + (starts | goes_on); /* a run that begins at bit 0 does not go on */
        runs->starts[w] = starts;
        runs->covered[w] = word & ~sum;
        ends[w] = sum & ~word;
    }
}

/* Returns a bit for each of WORD words: whether it is not 0. */
FORCE_INLINE uint64_t some_bits(const uint64_t *words)
{
    uint64_t some = 0;
    for (size_t k = 0; k < WORD; k++)
        some |= (uint64_t)(words[k] != 0) << k;
    return some;
}

/* Lists the bits of n words. How many a word has cannot be predicted: only words with bits are
 * visited, and two of them are listed without a branch. `list` has room for one more. */
static size_t list_bits(const uint64_t *words, size_t n, uint32_t *list)
{
    const uint64_t last = (uint64_t)1 << (WORD - 1);
    size_t listed = 0;
    for (size_t first = 0; first < n; first += WORD) {
        for (uint64_t some = some_bits(words + first); some != 0; some &= some - 1) {
            const size_t w = first + (size_t)__builtin_ctzll(some);
            const uint64_t bits = words[w];
            uint64_t others = bits & (bits - 1);
            list[listed++] = (uint32_t)(w * WORD + (size_t)__builtin_ctzll(bits));
            list[listed] = (uint32_t)(w * WORD + (size_t)__builtin_ctzll(others | last));
            listed += others != 0;
            while ((others &= others - 1) != 0)
                list[listed++] = (uint32_t)(w * WORD + (size_t)__builtin_ctzll(others));
        }
    }
    return listed;
}

static void put_bit(uint64_t *words, size_t at, uint64_t bit)
{
    words[at / WORD] = (words[at / WORD] & ~((uint64_t)1 << at % WORD)) | bit << at % WORD;
}

/* A run longer than a match: as many of the longest as fit, and what remains if it is not too
 * short. */
static void split_run(DeflateRuns *runs, uint32_t at, uint32_t end, unsigned shortest)
{
    for (; end - at >= DEFLATE_LONGEST_MATCH; at += DEFLATE_LONGEST_MATCH) {
        put_bit(runs->starts, at, 1);
        runs->match[runs->n++] = (DeflateMatch){(uint16_t)at, DEFLATE_LONGEST_MATCH};
    }
    if (end - at >= shortest) {
        put_bit(runs->starts, at, 1);
        runs->match[runs->n++] = (DeflateMatch){(uint16_t)at, (uint16_t)(end - at)};
        return;
    }
    for (; at < end; at++)
        put_bit(runs->covered, at, 0);
}

FORCE_INLINE void find_runs(const uint8_t *from, size_t n, unsigned shortest, DeflateRuns *runs)
{
    uint64_t words[1 + DEFLATE_WORDS + 1], *const equal = words + 1;
    uint64_t reach[1 + DEFLATE_WORDS], ends[DEFLATE_WORDS];
    uint32_t start[DEFLATE_MATCHES], end[DEFLATE_MATCHES];
    const size_t n_words = (n + WORD - 1) / WORD;
    words[0] = reach[0] = 0;
    equal_neighbours(from, n, equal);
    find_reach(equal, n_words, shortest, reach + 1);
    find_bounds(equal, reach + 1, n_words, shortest, runs, ends);
    for (size_t w = n_words; w % WORD != 0; w++)
        runs->starts[w] = ends[w] = 0;
    const size_t n_starts = list_bits(runs->starts, n_words, start);
    if (list_bits(ends, n_words, end) < n_starts)
        end[n_starts - 1] = (uint32_t)n;
    runs->n = 0;
    for (size_t k = 0; k < n_starts; k++) {
        const uint32_t length = end[k] - start[k];
        if (length <= DEFLATE_LONGEST_MATCH)
            runs->match[runs->n++] = (DeflateMatch){(uint16_t)start[k], (uint16_t)length};
        else
            split_run(runs, start[k], end[k], shortest);
    }
}

static void runs(const uint8_t *from, size_t n, unsigned shortest, DeflateRuns *found)
{
    if (shortest == DEFLATE_SHORTEST_RUN)
        find_runs(from, n, DEFLATE_SHORTEST_RUN, found);
    else
        find_runs(from, n, DEFLATE_SHORTEST_RUN_FAST, found);
}

/* ---- Counts ---- */

enum { TABLES = 4, FEW = 2048 };

/* Many are counted in four tables, so that equal neighbours do not wait for each other. */
static void count_bytes(const uint8_t *from, size_t n, uint32_t counts[256])
{
    uint32_t table[TABLES][256];
    size_t i = 0;
    if (n >= FEW) {
        memset(table, 0, sizeof table);
        for (; n - i >= 8; i += 8) {
            uint64_t v;
            memcpy(&v, from + i, sizeof v);
            for (unsigned k = 0; k < 8; k++)
                table[k % TABLES][v >> 8 * k & 255]++;
        }
        for (size_t v = 0; v < 256; v++)
            for (size_t k = 0; k < TABLES; k++)
                counts[v] += table[k][v];
    }
    for (; i < n; i++)
        counts[from[i]]++;
}

/* ---- Codes ---- */

FORCE_INLINE unsigned code_length(uint32_t code)
{
    return code % 256;
}

FORCE_INLINE void put_code(BitEnd *end, uint32_t code)
{
    bits_put(end, code >> 8, code_length(code));
}

/* The codes of two bytes. *n: their bits. */
FORCE_INLINE uint64_t two_codes(const uint8_t *from, const uint32_t codes[256], unsigned *n)
{
    const uint32_t first = codes[from[0]], second = codes[from[1]];
    *n = code_length(first) + code_length(second);
    return first >> 8 | (uint64_t)(second >> 8) << code_length(first);
}

FORCE_INLINE void put_literals(BitEnd *end, const uint8_t *from, size_t n,
                               const uint32_t codes[256])
{
    _Static_assert(4 * LITERAL_LONGEST <= 56, "four codes at once");
    size_t i = 0;
    for (; n - i >= 4; i += 4) {
        unsigned first, second;
        const uint64_t bits = two_codes(from + i, codes, &first);
        const uint64_t more = two_codes(from + i + 2, codes, &second);
        bits_put(end, bits | more << first, first + second);
    }
    for (; i < n; i++)
        put_code(end, codes[from[i]]);
}

static void put_symbols(const uint8_t *from, size_t n, const DeflateRuns *runs,
                        const DeflateSymbols *codes, BitEnd *end)
{
    BitEnd here = *end; /* in registers */
    size_t at = 0;
    for (size_t k = 0; k < runs->n; k++) {
        const DeflateMatch match = runs->match[k];
        put_literals(&here, from + at, match.at - at, codes->literal);
        put_code(&here, codes->match[k]);
        at = (size_t)match.at + match.n;
    }
    put_literals(&here, from + at, n - at, codes->literal);
    *end = here;
}

FORCE_INLINE void put_match(BitEnd *end, FarMatch match, const DeflateSymbols *codes)
{
    unsigned extra_bits;
    const unsigned symbol = deflate_distance_symbol(match.distance, &extra_bits);
    const uint32_t length = codes->length[match.n], distance = codes->distance[symbol];
    const uint64_t extra = (match.distance - 1u) & ((1u << extra_bits) - 1);
    const uint64_t far = distance >> 8 | extra << code_length(distance);
    bits_put(end, length >> 8 | far << code_length(length),
             code_length(length) + code_length(distance) + extra_bits);
}

static void put_matches(const uint8_t *from, size_t n, const FarMatch *match, size_t n_matches,
                        const DeflateSymbols *codes, BitEnd *end)
{
    _Static_assert(MATCH_LONGEST - 1 + LITERAL_LONGEST + 13 <= 56, "a match at once");
    BitEnd here = *end; /* in registers */
    size_t at = 0;
    for (size_t k = 0; k < n_matches; k++) {
        put_literals(&here, from + at, match[k].at - at, codes->literal);
        put_match(&here, match[k], codes);
        at = (size_t)match[k].at + match[k].n;
    }
    put_literals(&here, from + at, n - at, codes->literal);
    *end = here;
}

/* ---- Many bytes at once ---- */

#if defined(__AVX512BW__)

#include "codec/deflate_vbmi.h"

static void count(const uint8_t *from, size_t n, uint32_t counts[256])
{
    if (has_vbmi())
        count_vbmi(from, n, counts);
    else
        count_bytes(from, n, counts);
}

static void symbols(const uint8_t *from, size_t n, const DeflateRuns *runs,
                    const DeflateSymbols *codes, BitEnd *end)
{
    if (has_vbmi())
        symbols_vbmi(from, n, runs, codes, end);
    else
        put_symbols(from, n, runs, codes, end);
}

const DeflateLoops ISA(deflate_loops) = {
    .runs = runs, .count = count, .symbols = symbols, .matches = put_matches};

#else

const DeflateLoops ISA(deflate_loops) = {
    .runs = runs, .count = count_bytes, .symbols = put_symbols, .matches = put_matches};

#endif
