/* SPDX-License-Identifier: MIT */
/* deflate_coder.c: a block in four steps: its runs or matches are found, its symbols counted, their
 * codes made, and the codes written. */
#include "codec/deflate_coder.h"

#include "base/compiler.h"
#include "codec/deflate_format.h"
#include "codec/deflate_loops.h"
#include "codec/huffman.h"
#include "codec/match_search.h"

#include <stdlib.h>
#include <string.h>

enum {
    SAMPLE_STEP = 512, /* DEFLATE_RUNS_FAST counts the first SAMPLE bytes of each so many */
    SAMPLE = 64,
    SAMPLED_BLOCK = 16 << 10, /* larger blocks are sampled */
    LITERALS = 256,
    END_OF_BLOCK = 256,
    FIRST_LENGTH = 257, /* the symbol of matches of 3 bytes */
    SYMBOLS = 286,
    SHORTEST_MATCH = 3,
    LENGTH_CODE_LIMIT = 7,
    REPEAT = 16, /* the length before, 3 to 6 times; */
    ZEROS = 17,  /* length 0, 3 to 10 times; */
    MANY_ZEROS = 18,
    STORED_MOST = 65535,
    STORED_HEAD = 4, /* after the three bits of each block's head and what fills their byte */
    MOST_HEAD = 512  /* bytes of a block's head */
};

/* A symbol of the code that the lengths of a block's codes are written in. */
typedef struct LengthSymbol {
    uint8_t symbol, extra;
} LengthSymbol;

struct DeflateCoder {
    const DeflateLoops *loops;
    DeflateRuns runs;
    DeflateSymbols symbols;
    const uint8_t *next; /* of deflate_coder_fetch */
    uint8_t sample[DEFLATE_CODER_BLOCK / SAMPLE_STEP * SAMPLE];
    uint32_t counts[SYMBOLS];
    uint32_t distance_counts[DEFLATE_DISTANCES];
    uint8_t lengths[SYMBOLS + DEFLATE_DISTANCES]; /* of distances behind the others' */
    uint16_t codes[SYMBOLS];
    uint8_t length_index[DEFLATE_LONGEST_MATCH + 1];
    LengthSymbol head[SYMBOLS + DEFLATE_DISTANCES];
    unsigned n_symbols, n_distances, n_head; /* symbols in the head; elements of head */
    uint8_t head_lengths[DEFLATE_LENGTH_CODES];
    uint16_t head_codes[DEFLATE_LENGTH_CODES];
    unsigned n_head_lengths;
    MatchSearch search; /* last: its pages are used where matches pay */
};

/* The index of the length symbol of a match of n bytes. */
static unsigned length_index(unsigned n)
{
    if (n == DEFLATE_LONGEST_MATCH)
        return 28;
    const unsigned v = n - SHORTEST_MATCH;
    if (v < 8)
        return v;
    const unsigned bits = 29u - (unsigned)__builtin_clz(v); /* extra bits: v has three more */
    return 4 * bits + (v >> bits);
}

DeflateCoder *deflate_coder_create_for(CpuLevel level)
{
    DeflateCoder *const coder = calloc(1, sizeof *coder);
    if (!coder)
        return NULL;
    coder->loops = deflate_loops(level);
    for (unsigned n = SHORTEST_MATCH; n <= DEFLATE_LONGEST_MATCH; n++)
        coder->length_index[n] = (uint8_t)length_index(n);
    return coder;
}

DeflateCoder *deflate_coder_create(void)
{
    return deflate_coder_create_for(cpu_features_level());
}

void deflate_coder_destroy(DeflateCoder *coder)
{
    free(coder);
}

size_t deflate_coder_bound(size_t n)
{
    /* Stored blocks of half a block at least, and what ends them; a block that is coded and then
     * stored after all; what is written behind it. */
    const size_t stored = n + (n / (DEFLATE_CODER_BLOCK / 2) + 4) * (1 + STORED_HEAD);
    const size_t block = n < DEFLATE_CODER_BLOCK ? n : DEFLATE_CODER_BLOCK;
    return stored + block / 2 + MOST_HEAD + DEFLATE_SPARE;
}

/* ---- Counts ---- */

static void count_matches(DeflateCoder *coder)
{
    for (size_t k = 0; k < coder->runs.n; k++)
        coder->counts[FIRST_LENGTH + coder->length_index[coder->runs.match[k].n]]++;
}

static void count_all(DeflateCoder *coder, const uint8_t *from, size_t n)
{
    const DeflateRuns *const runs = &coder->runs;
    memset(coder->counts, 0, sizeof coder->counts);
    coder->loops->count(from, n, coder->counts);
    for (size_t k = 0; k < runs->n; k++)
        coder->counts[from[runs->match[k].at]] -= runs->match[k].n;
    count_matches(coder);
    coder->counts[END_OF_BLOCK] = 1;
}

/* Every literal counts as if it had occurred once more, for those that the sample lacks. */
static void count_sample(DeflateCoder *coder, const uint8_t *from, size_t n)
{
    size_t bytes = 0, at = 0;
    for (; at + SAMPLE <= n; at += SAMPLE_STEP, bytes += SAMPLE)
        memcpy(coder->sample + bytes, from + at, SAMPLE);
    if (at < n) {
        memcpy(coder->sample + bytes, from + at, n - at);
        bytes += n - at;
    }
    memset(coder->counts, 0, sizeof coder->counts);
    for (size_t i = 0; i < LITERALS; i++)
        coder->counts[i] = 1;
    coder->loops->count(coder->sample, bytes, coder->counts);
    count_matches(coder);
    coder->counts[END_OF_BLOCK] = 1;
}

/* Counts what matches leave, and their lengths and distances. */
static void count_far(DeflateCoder *coder, const uint8_t *from, size_t n)
{
    const MatchSearch *const search = &coder->search;
    memset(coder->counts, 0, sizeof coder->counts);
    size_t at = 0;
    for (size_t k = 0; k <= search->n; k++) {
        const FarMatch match = k < search->n ? search->match[k] : (FarMatch){0};
        for (const size_t end = k < search->n ? match.at : n; at < end; at++)
            coder->counts[from[at]]++;
        if (k == search->n)
            break;
        unsigned extra_bits;
        coder->counts[FIRST_LENGTH + coder->length_index[match.n]]++;
        coder->distance_counts[deflate_distance_symbol(match.distance, &extra_bits)]++;
        at += match.n;
    }
    coder->counts[END_OF_BLOCK] = 1;
}

/* ---- The head of a block ---- */

/* Appends `times` symbols of one length, as repeats where three or more follow each other. */
static void repeat_length(DeflateCoder *coder, uint8_t length, unsigned times)
{
    LengthSymbol *const head = coder->head;
    unsigned *const n = &coder->n_head;
    if (length > 0) {
        head[(*n)++] = (LengthSymbol){length, 0};
        times--;
    }
    while (times >= 3) {
        const unsigned most = length > 0 ? 6 : times > 10 ? 138 : 10;
        const unsigned taken = times < most ? times : most;
        const bool many = length == 0 && taken > 10;
        head[(*n)++] = (LengthSymbol){.symbol = length > 0 ? REPEAT
                                                : many     ? MANY_ZEROS
                                                           : ZEROS,
                                      .extra = (uint8_t)(taken - (many ? 11 : 3))};
        times -= taken;
    }
    for (; times > 0; times--)
        head[(*n)++] = (LengthSymbol){length, 0};
}

static unsigned extra_bits(unsigned length_symbol)
{
    static const uint8_t bits[] = {2, 3, 7};
    return length_symbol < REPEAT ? 0 : bits[length_symbol - REPEAT];
}

/* Makes the head of the codes in coder->lengths. */
static void make_head(DeflateCoder *coder)
{
    uint32_t counts[DEFLATE_LENGTH_CODES] = {0};
    uint8_t lengths[SYMBOLS + DEFLATE_DISTANCES];
    unsigned n = SYMBOLS, n_distances = DEFLATE_DISTANCES;
    while (coder->lengths[n - 1] == 0)
        n--;
    while (coder->lengths[SYMBOLS + n_distances - 1] == 0)
        n_distances--;
    memcpy(lengths, coder->lengths, n);
    memcpy(lengths + n, coder->lengths + SYMBOLS, n_distances);
    coder->n_symbols = n;
    coder->n_distances = n_distances;
    n += n_distances;
    coder->n_head = 0;
    for (unsigned i = 0, next; i < n; i = next) {
        for (next = i + 1; next < n && lengths[next] == lengths[i]; next++) {
        }
        repeat_length(coder, lengths[i], next - i);
    }
    for (unsigned i = 0; i < coder->n_head; i++)
        counts[coder->head[i].symbol]++;
    huffman_lengths(counts, DEFLATE_LENGTH_CODES, LENGTH_CODE_LIMIT, coder->head_lengths);
    huffman_codes(coder->head_lengths, DEFLATE_LENGTH_CODES, coder->head_codes);
    coder->n_head_lengths = DEFLATE_LENGTH_CODES;
    while (coder->n_head_lengths > 4 &&
           coder->head_lengths[deflate_length_order[coder->n_head_lengths - 1]] == 0)
        coder->n_head_lengths--;
}

static uint64_t head_bits(const DeflateCoder *coder)
{
    uint64_t bits = 3 + 5 + 5 + 4 + 3 * coder->n_head_lengths;
    for (unsigned i = 0; i < coder->n_head; i++)
        bits += coder->head_lengths[coder->head[i].symbol] + extra_bits(coder->head[i].symbol);
    return bits;
}

static void write_head(const DeflateCoder *coder, bool final, BitEnd *end)
{
    bits_put(end, (uint64_t) final | 2 << 1, 3);
    bits_put(end, coder->n_symbols - 257, 5);
    bits_put(end, coder->n_distances - 1, 5);
    bits_put(end, coder->n_head_lengths - 4, 4);
    for (unsigned i = 0; i < coder->n_head_lengths; i++)
        bits_put(end, coder->head_lengths[deflate_length_order[i]], 3);
    for (unsigned i = 0; i < coder->n_head; i++) {
        const LengthSymbol s = coder->head[i];
        const unsigned bits = coder->head_lengths[s.symbol];
        bits_put(end, coder->head_codes[s.symbol] | (uint64_t)s.extra << bits,
                 bits + extra_bits(s.symbol));
    }
}

/* ---- The symbols of a block ---- */

/* Exact where all bytes were counted. */
static uint64_t symbol_bits(const DeflateCoder *coder)
{
    uint64_t bits = 0;
    for (unsigned s = 0; s < SYMBOLS; s++)
        bits += (uint64_t)coder->counts[s] *
                (coder->lengths[s] +
                 (s < FIRST_LENGTH ? 0u : deflate_length_extra[s - FIRST_LENGTH] + 1u));
    return bits;
}

/* Those of a match of n bytes at distance 1. */
static unsigned match_bits(const DeflateCoder *coder, unsigned n)
{
    const unsigned index = coder->length_index[n];
    return coder->lengths[FIRST_LENGTH + index] + deflate_length_extra[index] + 1u;
}

/* Code and extra bits of a length above bit 8, their number below. */
static uint32_t length_code(const DeflateCoder *coder, unsigned n)
{
    const unsigned index = coder->length_index[n], symbol = FIRST_LENGTH + index;
    const uint32_t extra = n - deflate_length_base[index];
    return (coder->codes[symbol] | extra << coder->lengths[symbol]) << 8 |
           (coder->lengths[symbol] + deflate_length_extra[index]);
}

static void write_symbols(DeflateCoder *coder, bool far, const uint8_t *from, size_t n, BitEnd *end)
{
    DeflateSymbols *const symbols = &coder->symbols;
    for (unsigned i = 0; i < LITERALS; i++)
        deflate_symbols_literal(symbols, (uint8_t)i, coder->codes[i], coder->lengths[i]);
    if (far) {
        const uint8_t *const lengths = coder->lengths + SYMBOLS;
        uint16_t codes[DEFLATE_DISTANCES];
        huffman_codes(lengths, DEFLATE_DISTANCES, codes);
        for (unsigned d = 0; d < DEFLATE_DISTANCES; d++)
            symbols->distance[d] = (uint32_t)codes[d] << 8 | lengths[d];
        for (unsigned l = SHORTEST_MATCH; l <= DEFLATE_LONGEST_MATCH; l++)
            symbols->length[l] = length_code(coder, l);
        coder->loops->matches(from, n, coder->search.match, coder->search.n, symbols, end);
    } else {
        for (size_t k = 0; k < coder->runs.n; k++) /* the code of distance 1 is a 0 */
            symbols->match[k] = length_code(coder, coder->runs.match[k].n) + 1;
        coder->loops->symbols(from, n, &coder->runs, symbols, end);
    }
    bits_put(end, coder->codes[END_OF_BLOCK], coder->lengths[END_OF_BLOCK]);
}

/* ---- Stored blocks ---- */

static void fill_byte(BitEnd *end)
{
    if (end->n > 0)
        bits_put(end, 0, 8 - end->n);
}

static void put_stored(const uint8_t *from, size_t n, bool final, BitEnd *end)
{
    bits_put(end, final, 3);
    fill_byte(end);
    bits_put(end, (uint64_t)n | (uint64_t)(n ^ 0xFFFF) << 16, 8 * STORED_HEAD);
    if (n > 0)
        memcpy(end->to, from, n);
    end->to += n;
}

static void store(const uint8_t *from, size_t n, bool final, BitEnd *end)
{
    for (; n > STORED_MOST; from += STORED_MOST, n -= STORED_MOST)
        put_stored(from, STORED_MOST, false, end);
    put_stored(from, n, final, end);
}

/* The least that stored blocks of n bytes take. */
static uint64_t stored_bits(size_t n)
{
    return 8 * (uint64_t)n + (n + STORED_MOST - 1) / STORED_MOST * (3 + 8 * STORED_HEAD);
}

/* ---- Blocks ---- */

static bool is_far(DeflateCoding coding)
{
    return coding == DEFLATE_SEARCH || coding == DEFLATE_SEARCH_FAST;
}

static bool is_sampled(DeflateCoding coding, size_t n)
{
    return coding == DEFLATE_RUNS_FAST && n > SAMPLED_BLOCK;
}

/* A block of a piece. */
typedef struct Block {
    const uint8_t *piece;
    size_t at, n;
} Block;

/* Finds a block's runs or matches, and the lengths of its codes. */
static void plan_block(DeflateCoder *coder, DeflateCoding coding, const Block *block)
{
    const uint8_t *const from = block->piece + block->at;
    memset(coder->distance_counts, 0, sizeof coder->distance_counts);
    if (is_far(coding)) {
        match_search(&coder->search, block->piece, block->at, block->n,
                     coding == DEFLATE_SEARCH_FAST);
        count_far(coder, from, block->n);
    } else {
        coder->loops->runs(from, block->n,
                           coding == DEFLATE_RUNS_FAST ? DEFLATE_SHORTEST_RUN_FAST
                                                       : DEFLATE_SHORTEST_RUN,
                           &coder->runs);
        if (is_sampled(coding, block->n))
            count_sample(coder, from, block->n);
        else
            count_all(coder, from, block->n);
    }
    huffman_lengths(coder->counts, SYMBOLS, LITERAL_LONGEST, coder->lengths);
    deflate_complete_distances(coder->distance_counts);
    huffman_lengths(coder->distance_counts, DEFLATE_DISTANCES, LITERAL_LONGEST,
                    coder->lengths + SYMBOLS);
}

/* The size is known before the symbols are written where all bytes were counted, and only runs. */
static void write_block(DeflateCoder *coder, DeflateCoding coding, const Block *block, bool final,
                        BitEnd *end)
{
    const BitEnd begin = *end;
    const uint8_t *const from = block->piece + block->at;
    const bool known = !is_far(coding) && !is_sampled(coding, block->n);
    coder->symbols.next = (uintptr_t)(coder->next ? coder->next : block->piece) + block->at;
    plan_block(coder, coding, block);
    huffman_codes(coder->lengths, SYMBOLS, coder->codes);
    const uint64_t symbols = known ? symbol_bits(coder) : 0;
    make_head(coder);
    if (symbols + head_bits(coder) < stored_bits(block->n)) {
        write_head(coder, final, end);
        write_symbols(coder, is_far(coding), from, block->n, end);
        const uint64_t bits = 8 * (uint64_t)(end->to - begin.to) + end->n - begin.n;
        if (bits < stored_bits(block->n))
            return;
        *end = begin;
    }
    store(from, block->n, final, end);
}

void deflate_coder_fetch(DeflateCoder *coder, const void *next)
{
    coder->next = next;
}

size_t deflate_coder_write(DeflateCoder *coder, DeflateCoding coding, const uint8_t *from, size_t n,
                           bool last, uint8_t *to)
{
    BitEnd end = {.to = to};
    if (coding == DEFLATE_STORED) {
        store(from, n, last, &end);
        return (size_t)(end.to - to);
    }
    for (size_t at = 0; at < n || at == 0; at += DEFLATE_CODER_BLOCK) {
        const size_t left = n - at;
        const Block block = {from, at, left < DEFLATE_CODER_BLOCK ? left : DEFLATE_CODER_BLOCK};
        write_block(coder, coding, &block, last && block.n == left, &end);
    }
    coder->next = NULL;
    if (!last)
        put_stored(NULL, 0, false, &end);
    fill_byte(&end);
    return (size_t)(end.to - to);
}

void deflate_coder_bits(DeflateCoder *coder, const uint8_t *from, size_t n, uint32_t *bits)
{
    const DeflateRuns *const runs = &coder->runs;
    size_t i = 0;
    plan_block(coder, DEFLATE_RUNS, &(Block){from, 0, n});
    bits[0] = 0;
    for (size_t k = 0; k <= runs->n; k++) {
        const size_t literals = k < runs->n ? runs->match[k].at : n;
        for (; i < literals; i++)
            bits[i + 1] = bits[i] + coder->lengths[from[i]];
        if (k == runs->n)
            return;
        const uint32_t after = bits[i] + match_bits(coder, runs->match[k].n);
        for (const size_t end = i + runs->match[k].n; i < end; i++)
            bits[i + 1] = after;
    }
}
