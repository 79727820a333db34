/* SPDX-License-Identifier: MIT */
/* bin_code.c: writes the gaps between bins that are not empty, then their counts. Both are
 * differences of neighbours, in blocks whose numbers have as many bits as the largest needs. */
#include "record/bin_code.h"

#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = 8,
    WIDTH_BITS = 6,
    WIDTH_64 = 63, /* stands for 64, which does not fit six bits; a width of 63 is written as 64 */
    RUN_BITS = 3   /* of a group, and one bit more that says that another follows */
};

/* Maps small numbers of either sign to small numbers: 0, -1, 1, -2 ... become 0, 1, 2, 3 ... */
static uint64_t fold(uint64_t difference)
{
    return difference << 1 ^ (0 - (difference >> 63));
}

static uint64_t unfold(uint64_t folded)
{
    return folded >> 1 ^ (0 - (folded & 1));
}

static unsigned width_of(uint64_t x)
{
    const unsigned bits = x ? 64 - (unsigned)__builtin_clzll(x) : 0;
    return bits >= WIDTH_64 ? 64 : bits;
}

/* ---- Writing ---- */

typedef struct BitWriter {
    ByteWriter *writer;
    uint64_t bits; /* n of them, low ones first; fewer than 8 between two calls */
    unsigned n;
} BitWriter;

static void put_bits(BitWriter *to, uint64_t value, unsigned n)
{
    enum { MOST = 32 };
    for (; n > MOST; n -= MOST, value >>= MOST)
        put_bits(to, value & UINT32_MAX, MOST);
    to->bits |= value << to->n;
    to->n += n;
    put_number(to->writer, to->bits, to->n / 8);
    to->bits >>= to->n / 8 * 8;
    to->n %= 8;
}

/* Numbers of a stream, given one after another. */
typedef struct BlockWriter {
    BitWriter bits;
    uint64_t before; /* the number before */
    uint64_t block[BLOCK];
    size_t in_block;
    uint64_t empty; /* blocks of zeros that are not written yet */
} BlockWriter;

static void put_run(BlockWriter *to)
{
    if (to->empty == 0)
        return;
    put_bits(&to->bits, 0, WIDTH_BITS);
    for (uint64_t left = to->empty - 1;; left >>= RUN_BITS) {
        const uint64_t group = left & ((1 << RUN_BITS) - 1);
        const bool more = left >> RUN_BITS != 0;
        put_bits(&to->bits, group | (uint64_t)more << RUN_BITS, RUN_BITS + 1);
        if (!more)
            break;
    }
    to->empty = 0;
}

static void put_block(BlockWriter *to)
{
    uint64_t all = 0;
    for (size_t i = 0; i < to->in_block; i++)
        all |= to->block[i];
    const unsigned width = width_of(all);
    if (width == 0) {
        to->empty++;
    } else {
        put_run(to);
        put_bits(&to->bits, width == 64 ? WIDTH_64 : width, WIDTH_BITS);
        for (size_t i = 0; i < to->in_block; i++)
            put_bits(&to->bits, to->block[i], width);
    }
    to->in_block = 0;
}

static void put_in_stream(BlockWriter *to, uint64_t number)
{
    to->block[to->in_block++] = fold(number - to->before);
    to->before = number;
    if (to->in_block == BLOCK)
        put_block(to);
}

static void end_stream(BlockWriter *to)
{
    if (to->in_block > 0)
        put_block(to);
    put_run(to);
    if (to->bits.n > 0)
        put_number(to->bits.writer, to->bits.bits, 1);
}

void bins_put(ByteWriter *writer, const uint64_t *bins, size_t n)
{
    BlockWriter gaps = {.bits = {.writer = writer}}, counts = {.bits = {.writer = writer}};
    size_t present = 0, next = 0;
    for (size_t k = 0; k < n; k++)
        present += bins[k] > 0;
    put_varint(writer, present);
    for (size_t k = 0; k < n; k++) {
        if (!bins[k])
            continue;
        put_in_stream(&gaps, k - next);
        next = k + 1;
    }
    end_stream(&gaps);
    for (size_t k = 0; k < n; k++)
        if (bins[k])
            put_in_stream(&counts, bins[k]);
    end_stream(&counts);
}

/* ---- Reading ---- */

/* Bits of a stream. At its end the reader gets back the bytes that were read ahead. */
typedef struct BitReader {
    ByteReader *reader;
    uint64_t bits; /* n of them, low ones first; higher bits may be those of bytes not yet read */
    unsigned n;
} BitReader;

/* Reads whole bytes as long as there is room for them and there are any. */
static void refill(BitReader *from)
{
    ByteReader *const reader = from->reader;
    if (reader->end - reader->at >= 8) {
        uint64_t word = 0;
        for (unsigned i = 0; i < 8; i++)
            word |= (uint64_t)reader->at[i] << (8 * i);
        from->bits |= word << from->n;
        reader->at += (63 - from->n) / 8;
        from->n |= 56;
        return;
    }
    for (; from->n <= 56 && reader->at < reader->end; from->n += 8)
        from->bits |= (uint64_t)*reader->at++ << from->n;
}

/* n <= 56. */
static uint64_t get_few_bits(BitReader *from, unsigned n)
{
    if (from->n < n)
        refill(from);
    if (from->n < n) {
        from->reader->failed = true;
        return 0;
    }
    const uint64_t value = from->bits & (((uint64_t)1 << n) - 1);
    from->bits >>= n;
    from->n -= n;
    return value;
}

static uint64_t get_bits(BitReader *from, unsigned n)
{
    enum { MOST = 32 };
    if (n <= MOST)
        return get_few_bits(from, n);
    const uint64_t low = get_few_bits(from, MOST);
    return low | get_few_bits(from, n - MOST) << MOST;
}

/* Reads a block of numbers of `width` bits. At least one of them needs so many. */
static void get_block(BitReader *from, unsigned width, uint64_t *out, size_t n)
{
    enum { TOGETHER = 56 };
    uint64_t all = 0;
    if (width * n <= TOGETHER) {
        uint64_t bits = get_few_bits(from, width * (unsigned)n);
        for (size_t i = 0; i < n; i++, bits >>= width)
            all |= out[i] = bits & (((uint64_t)1 << width) - 1);
    } else {
        for (size_t i = 0; i < n; i++)
            all |= out[i] = get_bits(from, width);
    }
    if (width_of(all) != width)
        from->reader->failed = true;
}

/* Returns how many blocks of zeros there are, of `blocks` that are left. */
static uint64_t get_run(BitReader *from, uint64_t blocks)
{
    uint64_t run = 0, group;
    unsigned shift = 0;
    do {
        group = get_bits(from, RUN_BITS + 1);
        run |= (group & ((1 << RUN_BITS) - 1)) << shift;
        shift += RUN_BITS;
    } while (group >> RUN_BITS && shift < 60);
    if (group >> RUN_BITS || (group == 0 && shift > RUN_BITS) || run >= blocks)
        from->reader->failed = true;
    return run + 1;
}

/* Ends a stream: the rest of its last byte is 0. */
static void close_stream(BitReader *from)
{
    if (from->reader->failed)
        return;
    from->reader->at -= from->n / 8;
    if (from->bits & ((1u << from->n % 8) - 1))
        from->reader->failed = true;
}

/* Reads a stream of n numbers. */
static void get_stream(ByteReader *reader, uint64_t *out, size_t n)
{
    BitReader bits = {.reader = reader};
    uint64_t number = 0;
    bool after_run = false;
    for (size_t i = 0, end; i < n && !reader->failed; i = end) {
        const size_t blocks = (n - i + BLOCK - 1) / BLOCK;
        const unsigned code = (unsigned)get_bits(&bits, WIDTH_BITS);
        const uint64_t taken = code == 0 ? get_run(&bits, blocks) : 1;
        end = taken < blocks ? i + (size_t)taken * BLOCK : n;
        if (code > 0)
            get_block(&bits, code == WIDTH_64 ? 64 : code, out + i, end - i);
        else if (after_run)
            reader->failed = true;
        for (size_t k = i; k < end; k++)
            out[k] = number += code > 0 ? unfold(out[k]) : 0;
        after_run = code == 0;
    }
    close_stream(&bits);
}

/* Makes bins of the gaps between them; false: a gap leads beyond n. */
static bool bins_of_gaps(const uint64_t *gap, size_t present, size_t n, uint16_t *out)
{
    size_t next = 0;
    for (size_t i = 0; i < present; i++) {
        if (gap[i] >= n - next)
            return false;
        next += (size_t)gap[i];
        out[i] = (uint16_t)next++;
    }
    return true;
}

bool bins_get(ByteReader *reader, size_t n, SparseBins *out, BinRange *range)
{
    *range = (BinRange){0};
    *out = (SparseBins){.n = get_varint_up_to(reader, n)};
    if (out->n == 0)
        return true;
    out->count = malloc(out->n * (sizeof *out->count + sizeof *out->bin));
    if (!out->count) {
        out->n = 0;
        return false;
    }
    out->bin = (uint16_t *)(out->count + out->n);
    get_stream(reader, out->count, out->n);
    if (!reader->failed && !bins_of_gaps(out->count, out->n, n, out->bin))
        reader->failed = true;
    if (!reader->failed)
        get_stream(reader, out->count, out->n);
    for (size_t i = 0; i < out->n && !reader->failed; i++) {
        if (out->count[i] == 0)
            reader->failed = true;
        if (__builtin_add_overflow(range->n, out->count[i], &range->n))
            range->n = UINT64_MAX;
    }
    if (reader->failed) {
        out->n = 0; /* some are not set */
        return true;
    }
    range->first = out->bin[0];
    range->last = out->bin[out->n - 1];
    return true;
}
