/* SPDX-License-Identifier: MIT */
/* bin_code.c: the bins that are not empty, as gaps between them and as counts; of both the
 * differences of neighbours, in blocks of so many bits a number as their largest takes. */
#include "record/bin_code.h"

#include <string.h>

enum {
    BLOCK = 8,
    WIDTH_BITS = 6,
    WIDTH_64 = 63, /* stands for 64, which no six bits hold; 63 is written as 64 */
    RUN_BITS = 3   /* of a group, and one bit more that says that another follows */
};

/* Small numbers of either sign as small numbers: 0, -1, 1, -2 ... are 0, 1, 2, 3 ... */
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

typedef struct BitReader {
    ByteReader *reader;
    uint64_t bits;
    unsigned n;
} BitReader;

static uint64_t get_bits(BitReader *from, unsigned n)
{
    enum { MOST = 32 };
    if (n > MOST) {
        const uint64_t low = get_bits(from, MOST);
        return low | get_bits(from, n - MOST) << MOST;
    }
    ByteReader *const reader = from->reader;
    for (; from->n < n; from->n += 8) {
        if (reader->at < reader->end && !reader->failed)
            from->bits |= (uint64_t)*reader->at++ << from->n;
        else
            reader->failed = true;
    }
    const uint64_t value = from->bits & (((uint64_t)1 << n) - 1);
    from->bits >>= n;
    from->n -= n;
    return value;
}

typedef struct BlockReader {
    BitReader bits;
    uint64_t left;   /* numbers in the stream */
    uint64_t before; /* the number before */
    uint64_t block[BLOCK];
    size_t in_block, at;
    uint64_t empty; /* blocks of zeros to come */
    bool after_run; /* such blocks were the last that was read: another run is an error */
} BlockReader;

static void get_run(BlockReader *from)
{
    uint64_t run = 0, group;
    unsigned shift = 0;
    do {
        group = get_bits(&from->bits, RUN_BITS + 1);
        run |= (group & ((1 << RUN_BITS) - 1)) << shift;
        shift += RUN_BITS;
    } while (group >> RUN_BITS && shift < 60);
    if (group >> RUN_BITS || (group == 0 && shift > RUN_BITS) ||
        run >= (from->left + BLOCK - 1) / BLOCK || from->after_run)
        from->bits.reader->failed = true;
    from->empty = run + 1;
    from->after_run = true;
}

static void get_block(BlockReader *from)
{
    from->at = 0;
    from->in_block = from->left < BLOCK ? (size_t)from->left : BLOCK;
    memset(from->block, 0, sizeof from->block);
    if (from->empty == 0) {
        const unsigned code = (unsigned)get_bits(&from->bits, WIDTH_BITS);
        const unsigned width = code == WIDTH_64 ? 64 : code;
        uint64_t all = 0;
        if (code == 0)
            get_run(from);
        else
            from->after_run = false;
        for (size_t i = 0; code > 0 && i < from->in_block; i++)
            all |= from->block[i] = get_bits(&from->bits, width);
        if (width_of(all) != width)
            from->bits.reader->failed = true;
    }
    from->empty -= from->empty > 0;
}

static uint64_t get_from_stream(BlockReader *from)
{
    if (from->at == from->in_block)
        get_block(from);
    from->left--;
    return from->before += unfold(from->block[from->at++]);
}

static void close_stream(BlockReader *from)
{
    if (from->bits.bits != 0) /* what fills the last byte */
        from->bits.reader->failed = true;
}

BinRange bins_get(ByteReader *reader, uint64_t *bins, size_t n)
{
    const size_t present = get_varint_up_to(reader, n);
    BlockReader gaps = {.bits = {.reader = reader}, .left = present};
    BlockReader counts = gaps;
    BinRange range = {0};
    size_t next = 0;
    for (size_t i = 0; i < present && !reader->failed; i++) {
        const uint64_t gap = get_from_stream(&gaps);
        if (gap >= n - next) {
            reader->failed = true;
            return range;
        }
        next += (size_t)gap;
        if (i == 0)
            range.first = next;
        else
            bins[range.last] = next; /* until its count is read: where the next one is */
        range.last = next++;
    }
    close_stream(&gaps);
    for (size_t i = 0, k = range.first; i < present && !reader->failed; i++) {
        const size_t following = bins[k];
        bins[k] = get_from_stream(&counts);
        if (bins[k] == 0)
            reader->failed = true;
        if (__builtin_add_overflow(range.n, bins[k], &range.n))
            range.n = UINT64_MAX;
        k = following;
    }
    close_stream(&counts);
    return range;
}
