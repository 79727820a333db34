/* SPDX-License-Identifier: MIT */
/* deflate_runs.c: deflate (RFC 1951) by Huffman codes and runs of one byte. Differences of
 * neighbouring pixels of photographs hold hardly any other matches that pay: those that a search
 * finds cost more bits than the bytes they stand for. */
#include "deflate_runs.h"

#include <stdlib.h>
#include <string.h>

enum {
    BLOCK_BYTES =
        32 << 10,   /* that share codes; at most 65,535, which is what a stored block takes */
    LITERALS = 286, /* codes of bytes, the end and lengths */
    END = 256,
    FIRST_LENGTH = 257,
    DISTANCES = 2, /* 1 is the only distance; codes of two are complete, which old decoders want */
    LENGTHS = 19,  /* codes of code lengths */
    MAX_BITS = 14, /* of a literal's code: four and seven bits left over fit 63 */
    MAX_LENGTHS = 7, /* of a code length's code */
    LONGEST = 258,   /* match */
    STEP = 8,        /* bytes looked at together; shorter runs are literals */
    STORED_HEAD = 5,
    SLACK = 16 /* bits are stored eight bytes at a time */
};

/* A code, first bit lowest, and its length. */
typedef struct Code {
    uint16_t bits;
    uint8_t length;
} Code;

typedef struct Bits {
    uint64_t held;
    unsigned n; /* below 8 after bits_flush */
    uint8_t *to;
} Bits;

typedef struct Block {
    uint32_t count[LITERALS];
    Code code[LITERALS];
    /* The lengths of both codes, and how they are written: symbols with their extra bits. */
    uint8_t symbol[LITERALS + DISTANCES], extra[LITERALS + DISTANCES];
    size_t n_symbols;
    unsigned n_literals;
    Code length_code[LENGTHS];
    unsigned n_lengths;
} Block;

/* Order in which the lengths of length codes are written. */
static const uint8_t length_order[LENGTHS] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                              11, 4,  12, 3, 13, 2, 14, 1, 15};
static const uint8_t length_extra_bits[LENGTHS] = {[16] = 2, [17] = 3, [18] = 7};

/* ---- Bits ---- */

static inline void bits_add(Bits *bits, uint64_t value, unsigned n)
{
    bits->held |= value << bits->n;
    bits->n += n;
}

/* Whole bytes go out. */
static inline void bits_flush(Bits *bits)
{
    uint64_t word = bits->held;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    memcpy(bits->to, &word, sizeof word);
    bits->to += bits->n / 8;
    bits->held >>= bits->n & ~7u;
    bits->n &= 7;
}

static void bits_align(Bits *bits)
{
    bits->n = (bits->n + 7) & ~7u;
    bits_flush(bits);
}

/* ---- Runs ---- */

static inline uint64_t load_word(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* Bytes from `at` on, below `end`, that equal the one before `at`: none, or at least STEP. */
static inline size_t run_length(const uint8_t *at, const uint8_t *end)
{
    const uint8_t *p = at;
    if (load_word(at) != load_word(at - 1))
        return 0;
    for (p += STEP; end - p >= STEP && load_word(p) == load_word(p - 1); p += STEP) {
    }
    while (p < end && *p == *(p - 1))
        p++;
    return (size_t)(p - at);
}

/* The next match of a run of n >= 3: what it leaves is nothing or a run again. */
static inline size_t next_match(size_t n)
{
    if (n <= LONGEST)
        return n;
    return n - LONGEST < 3 ? LONGEST - 3 : LONGEST;
}

/* The symbol of a match's length, and the bits that follow it. */
static unsigned length_symbol(size_t length, unsigned *extra, unsigned *n_extra)
{
    const unsigned v = (unsigned)length - 3;
    *extra = *n_extra = 0;
    if (length == LONGEST)
        return FIRST_LENGTH + 28;
    if (v < 8)
        return FIRST_LENGTH + v;
    const unsigned top = 31 - (unsigned)__builtin_clz(v); /* four symbols for each power of two */
    *n_extra = top - 2;
    *extra = v & ((1u << *n_extra) - 1);
    return FIRST_LENGTH + 4 * (top - 1) + ((v >> *n_extra) & 3);
}

/* ---- Codes ---- */

static int by_value(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Lengths of a code of least redundancy, for weights in ascending order, in their place (Moffat and
 * Katajainen, 1995). n >= 2. */
static void code_lengths(uint32_t *a, int n)
{
    int root = 0, leaf = 2;
    a[0] += a[1];
    for (int next = 1; next < n - 1; next++) {
        if (leaf >= n || a[root] < a[leaf]) {
            a[next] = a[root];
            a[root++] = (uint32_t)next;
        } else {
            a[next] = a[leaf++];
        }
        if (leaf >= n || (root < next && a[root] < a[leaf])) {
            a[next] += a[root];
            a[root++] = (uint32_t)next;
        } else {
            a[next] += a[leaf++];
        }
    }
    a[n - 2] = 0;
    for (int next = n - 3; next >= 0; next--)
        a[next] = a[a[next]] + 1;
    int avail = 1, used = 0, next = n - 1;
    uint32_t depth = 0;
    for (root = n - 2; avail > 0; avail = 2 * used, used = 0, depth++) {
        for (; root >= 0 && a[root] == depth; root--)
            used++;
        for (; avail > used; avail--)
            a[next--] = depth;
    }
}

/* How many codes of each length, none longer than `most`, so that they are a complete code. */
static void limit_lengths(uint16_t *n_of, unsigned longest, unsigned most)
{
    uint32_t total = 0;
    for (unsigned i = longest; i > most; i--) {
        n_of[most] = (uint16_t)(n_of[most] + n_of[i]);
        n_of[i] = 0;
    }
    for (unsigned i = 1; i <= most; i++)
        total += (uint32_t)n_of[i] << (most - i);
    for (; total > 1u << most; total--) {
        unsigned i = most - 1;
        while (n_of[i] == 0)
            i--;
        n_of[i]--;
        n_of[i + 1] = (uint16_t)(n_of[i + 1] + 2);
        n_of[most]--;
    }
}

static uint16_t reversed(unsigned bits, unsigned n)
{
    unsigned out = 0;
    for (unsigned i = 0; i < n; i++)
        out |= (bits >> i & 1) << (n - 1 - i);
    return (uint16_t)out;
}

/* Codes of at most `most` bits for n symbols, from how often they occur; at least two occur. */
static void make_codes(const uint32_t *count, unsigned n, unsigned most, Code *code)
{
    enum {
        DEPTHS = 64
    }; /* counts below 2^32 give no deeper tree: its depth grows as Fibonacci's */
    uint32_t sorted[LITERALS], weight[LITERALS];
    uint16_t n_of[DEPTHS] = {0}, next[DEPTHS] = {0};
    int used = 0;
    for (unsigned i = 0; i < n; i++) {
        code[i] = (Code){0};
        if (count[i] > 0) /* 2^16 * 512 < 2^32 */
            sorted[used++] = count[i] << 9 | i;
    }
    qsort(sorted, (size_t)used, sizeof *sorted, by_value);
    for (int i = 0; i < used; i++)
        weight[i] = sorted[i] >> 9;
    code_lengths(weight, used);
    for (int i = 0; i < used; i++)
        n_of[weight[i]]++;
    limit_lengths(n_of, DEPTHS - 1, most);
    int at = used;
    for (unsigned length = 1; length <= most; length++)
        for (unsigned i = 0; i < n_of[length]; i++)
            code[sorted[--at] & 511].length = (uint8_t)length;
    for (unsigned length = 1, first = 0; length <= most; length++) {
        next[length] = (uint16_t)first;
        first = (first + n_of[length]) << 1;
    }
    for (unsigned i = 0; i < n; i++)
        if (code[i].length > 0)
            code[i].bits = reversed(next[code[i].length]++, code[i].length);
}

/* ---- A block ---- */

static void count_symbols(Block *block, const uint8_t *first, const uint8_t *from, size_t n)
{
    enum { TABLES = 4 }; /* equal neighbours do not wait for each other */
    uint32_t table[TABLES][256] = {0};
    const uint8_t *p = from, *const end = from + n;
    memset(block->count, 0, sizeof block->count);
    while (end - p >= STEP) {
        const size_t run = p > first ? run_length(p, end) : 0;
        if (run == 0) {
            for (size_t i = 0; i < STEP; i++)
                table[i % TABLES][p[i]]++;
            p += STEP;
            continue;
        }
        p += run;
        for (size_t left = run, match; left > 0; left -= match) {
            unsigned extra, n_extra;
            match = next_match(left);
            block->count[length_symbol(match, &extra, &n_extra)]++;
        }
    }
    for (; p < end; p++)
        table[0][*p]++;
    for (size_t i = 0; i < 256; i++)
        for (size_t t = 0; t < TABLES; t++)
            block->count[i] += table[t][i];
    block->count[END] = 1;
}

/* The lengths of both codes as a sequence of symbols: repeated ones, and zeros, together. */
static void write_lengths(Block *block, const uint8_t *length, size_t n)
{
    block->n_symbols = 0;
    for (size_t i = 0, run; i < n; i += run) {
        for (run = 1; i + run < n && length[i + run] == length[i]; run++) {
        }
        const size_t longest = length[i] == 0 ? 138 : 7;
        run = run < longest ? run : longest;
        const bool repeats = run >= (length[i] == 0 ? 3 : 4); /* the first of others is written */
        if (!repeats)
            run = 1;
        const size_t at = block->n_symbols++;
        block->symbol[at] = length[i];
        block->extra[at] = 0;
        if (repeats && length[i] == 0) {
            block->symbol[at] = run <= 10 ? 17 : 18;
            block->extra[at] = (uint8_t)(run <= 10 ? run - 3 : run - 11);
        } else if (repeats) {
            block->symbol[at + 1] = 16;
            block->extra[at + 1] = (uint8_t)(run - 4);
            block->n_symbols++;
        }
    }
}

/* Makes the codes; returns the bits that the block takes. */
static uint64_t plan_block(Block *block)
{
    uint8_t length[LITERALS + DISTANCES];
    uint32_t count[LENGTHS] = {0};
    uint64_t bits = 3 + 5 + 5 + 4; /* kind and three numbers */
    bool other = false;            /* a code needs two symbols */
    for (unsigned i = 0; i < END; i++)
        other = other || block->count[i] > 0;
    if (!other)
        block->count[0] = 1;
    make_codes(block->count, LITERALS, MAX_BITS, block->code);
    block->n_literals = LITERALS;
    while (block->code[block->n_literals - 1].length == 0)
        block->n_literals--;
    for (unsigned i = 0; i < block->n_literals; i++)
        length[i] = block->code[i].length;
    length[block->n_literals] = length[block->n_literals + 1] = 1; /* of the distances */
    write_lengths(block, length, block->n_literals + DISTANCES);
    for (size_t i = 0; i < block->n_symbols; i++)
        count[block->symbol[i]]++;
    make_codes(count, LENGTHS, MAX_LENGTHS, block->length_code);
    block->n_lengths = LENGTHS;
    while (block->n_lengths > 4 &&
           block->length_code[length_order[block->n_lengths - 1]].length == 0)
        block->n_lengths--;
    bits += 3 * (uint64_t)block->n_lengths;
    for (unsigned i = 0; i < LENGTHS; i++)
        bits += (uint64_t)count[i] * (block->length_code[i].length + length_extra_bits[i]);
    for (unsigned i = 0; i < LITERALS; i++) {
        const unsigned more = i < FIRST_LENGTH ? 0 : i < 265 || i == 285 ? 1 : 1 + (i - 261) / 4;
        bits += (uint64_t)block->count[i] * (block->code[i].length + more);
    }
    return bits;
}

static void emit_codes(const Block *block, Bits *bits, bool final)
{
    bits_add(bits, final, 1);
    bits_add(bits, 2, 2);
    bits_add(bits, block->n_literals - FIRST_LENGTH, 5);
    bits_add(bits, DISTANCES - 1, 5);
    bits_add(bits, block->n_lengths - 4, 4);
    bits_flush(bits);
    for (unsigned i = 0; i < block->n_lengths; i++) {
        bits_add(bits, block->length_code[length_order[i]].length, 3);
        bits_flush(bits);
    }
    for (size_t i = 0; i < block->n_symbols; i++) {
        const Code code = block->length_code[block->symbol[i]];
        bits_add(bits, code.bits, code.length);
        bits_add(bits, block->extra[i], length_extra_bits[block->symbol[i]]);
        bits_flush(bits);
    }
}

static void emit_run(const Code *code, Bits *bits, size_t run)
{
    for (size_t left = run, match; left > 0; left -= match) {
        unsigned extra, n_extra;
        match = next_match(left);
        const Code symbol = code[length_symbol(match, &extra, &n_extra)];
        bits_add(bits, symbol.bits, symbol.length);
        bits_add(bits, extra, n_extra);
        bits_add(bits, 0, 1); /* the distance */
        bits_flush(bits);
    }
}

static void emit_block(const Block *block, Bits *out, const uint8_t *first, const uint8_t *from,
                       size_t n, bool final)
{
    const uint8_t *p = from, *const end = from + n;
    const Code *const code = block->code;
    emit_codes(block, out, final);
    Bits bits = *out; /* in registers */
    while (end - p >= STEP) {
        const size_t run = p > first ? run_length(p, end) : 0;
        if (run > 0) {
            emit_run(code, &bits, run);
            p += run;
            continue;
        }
        for (size_t half = 0; half < 2; half++, p += STEP / 2) {
            for (size_t i = 0; i < STEP / 2; i++)
                bits_add(&bits, code[p[i]].bits, code[p[i]].length);
            bits_flush(&bits);
        }
    }
    for (; p < end; p++) {
        bits_add(&bits, code[*p].bits, code[*p].length);
        bits_flush(&bits);
    }
    bits_add(&bits, code[END].bits, code[END].length);
    bits_flush(&bits);
    *out = bits;
}

static void emit_stored(Bits *bits, const uint8_t *from, size_t n, bool final)
{
    bits_add(bits, final, 3);
    bits_align(bits);
    bits_add(bits, n | (~n & 0xFFFF) << 16, 32);
    bits_flush(bits);
    if (n > 0)
        memcpy(bits->to, from, n);
    bits->to += n;
}

size_t deflate_runs_bound(size_t n)
{
    return n + (n / BLOCK_BYTES + 2) * (STORED_HEAD + 1) + SLACK;
}

size_t deflate_runs(const uint8_t *from, size_t n, bool last, bool store, uint8_t *to)
{
    Bits bits = {.to = to};
    Block block;
    for (size_t at = 0; at < n; at += BLOCK_BYTES) {
        const size_t bytes = n - at < BLOCK_BYTES ? n - at : BLOCK_BYTES;
        const bool final = last && at + bytes == n;
        if (!store)
            count_symbols(&block, from, from + at, bytes);
        if (store || plan_block(&block) > 8 * (bytes + STORED_HEAD - 1))
            emit_stored(&bits, from + at, bytes, final);
        else
            emit_block(&block, &bits, from, from + at, bytes, final);
    }
    if (!last || n == 0)
        emit_stored(&bits, NULL, 0, last); /* an empty one ends with a whole byte */
    bits_align(&bits);
    return (size_t)(bits.to - to);
}
