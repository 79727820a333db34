/* SPDX-License-Identifier: MIT */
/* codec/deflate_block.cuh: a block of bytes as threads see it: its bytes, and its runs. */
#ifndef IMGSTAT_KERNELS_CODEC_DEFLATE_BLOCK_CUH
#define IMGSTAT_KERNELS_CODEC_DEFLATE_BLOCK_CUH

#include "codec/adler.cuh"
#include "codec/code_lengths.cuh"
#include "codec/deflate_pieces.h"
#include "common/lane_table.cuh"
#include "common/load_words.cuh"
#include "common/tuning.cuh"

extern "C" {
#include "codec/deflate_format.h"
}

enum {
    THREADS = DEFLATE_THREADS,
    CHUNK = 64, /* bytes that a thread takes at a time, and bits of a word about them */
    CHUNKS = DEFLATE_CODER_BLOCK / CHUNK,
    STEPS = CHUNKS / THREADS, /* of all threads */
    CHUNK_VECTORS = CHUNK / 16,
    SHORTEST_RUN = 8,
    SHORTEST_RUN_FAST = 16,
    SAMPLE_CHUNKS = 8,        /* the fast setting counts one chunk in so many */
    SAMPLED_BLOCK = 16 << 10, /* of larger blocks */
    LITERALS = 256,
    END_OF_BLOCK = 256,
    FIRST_LENGTH = 257,
    SYMBOLS = 286,
    SHORTEST_MATCH = 3,
    LONGEST_MATCH = 258,
    DISTANCES = DEFLATE_DISTANCES,
    FEWEST_DISTANCES = DEFLATE_FEWEST_DISTANCES,
    HEAD_SYMBOLS = 320, /* lengths of codes in a head, at most; a multiple of 32 */
    LONGEST_CODE = 12,
    LENGTH_CODES = 19,
    LENGTH_CODE_LIMIT = 7,
    HEAD_BITS = 17,   /* before the code of lengths */
    HEAD_WORDS = 144, /* the most that a head can have, and one */
    NOTHING = 0xFFFF  /* no item of the head */
};
static_assert(CHUNKS % THREADS == 0 && CHUNKS <= SAMPLE_CHUNKS * THREADS, "one step samples");
static_assert(HEAD_BITS + 3 * LENGTH_CODES + 14 * HEAD_SYMBOLS < 32 * (HEAD_WORDS - 1), "a head");

/* Words of the output that a step makes: its symbols, the head, the end of the block. */
enum { STEP_WORDS = THREADS * CHUNK * LONGEST_CODE / 32 + HEAD_WORDS + 4 };

/* Where the block's bytes are. */
struct Block {
    const uint8_t *begin; /* of the piece */
    const uint8_t *from;
    unsigned n;
};

/* A block's shared memory. Bit i % 64 of word i / 64 of `covered` tells whether a match stands for
 * byte i, of `stop` whether a match or a literal begins there. */
struct Coder {
    uint64_t covered[CHUNKS + 1], stop[CHUNKS + 1]; /* no byte behind the last is covered */
    uint32_t open[CHUNKS / 32 + 1]; /* a bit for each word of `equal` that has a 0 */
    uint32_t counts[CODE_SYMBOLS];
    uint32_t lengths[HEAD_SYMBOLS / 4]; /* of codes, a byte each */
    uint32_t codes[CODE_SYMBOLS];
    uint16_t items[HEAD_SYMBOLS]; /* of the head: symbol, extra bits from bit 8 on */
    uint32_t groups[HEAD_SYMBOLS / 32 + 1];
    uint32_t head_counts[LENGTH_CODES];
    uint32_t head_lengths[(LENGTH_CODES + 3) / 4];
    uint32_t head_codes[LENGTH_CODES];
    uint32_t head[HEAD_WORDS];
    unsigned n_symbols, n_distances, head_bits;
    uint32_t of_warp[STEPS + 1][THREADS / 32];
    uint64_t first_bit, last_bit; /* of the block in its stream */
    unsigned piece, number;       /* of the block in its launch */
    bool stored;
    union alignas(16) {
        uint64_t equal[CHUNKS + 1]; /* as `covered`: bytes equal to the one before */
        uint32_t table[BINS * COLUMNS];
        CodeRoom room;
        uint32_t out[STEP_WORDS];
    };
};

static_assert(sizeof(CodeRoom) <= sizeof(uint32_t) * BINS * COLUMNS, "the table is the largest");
static_assert(STEP_WORDS <= BINS * COLUMNS, "the table is the largest");

DEVICE unsigned first_bit_of(uint32_t word)
{
    return (unsigned)__ffs((int)word) - 1;
}

DEVICE unsigned first_bit_of(uint64_t word)
{
    return (unsigned)__ffsll((long long)word) - 1;
}

DEVICE unsigned last_bit_of(uint32_t word)
{
    return 31 - (unsigned)__clz((int)word);
}

DEVICE unsigned last_bit_of(uint64_t word)
{
    return 63 - (unsigned)__clzll((long long)word);
}

/* The first set bit from i on. There is one. */
template <typename T> DEVICE unsigned next_bit(const T *words, unsigned i)
{
    enum { BITS = 8 * sizeof(T) };
    unsigned w = i / BITS;
    T word = words[w] >> i % BITS << i % BITS;
    while (word == 0)
        word = words[++w];
    return w * BITS + first_bit_of(word);
}

/* The last set bit before i. There is one. */
template <typename T> DEVICE unsigned previous_bit(const T *words, unsigned i)
{
    enum { BITS = 8 * sizeof(T) };
    unsigned w = (i - 1) / BITS;
    const unsigned above = BITS - 1 - (i - 1) % BITS;
    T word = (T)(words[w] << above) >> above;
    while (word == 0)
        word = words[--w];
    return w * BITS + last_bit_of(word);
}

/* ---- Bytes ---- */

/* Up to 16 bytes, zeros behind them. */
static __device__ __noinline__ uint4 load_bytes(const uint8_t *from, unsigned n)
{
    uint32_t word[4];
#pragma unroll
    for (unsigned w = 0; w < 4; w++) {
        word[w] = 0;
#pragma unroll
        for (unsigned b = 0; b < 4; b++)
            word[w] |= 4 * w + b < n ? (uint32_t)from[4 * w + b] << 8 * b : 0;
    }
    return make_uint4(word[0], word[1], word[2], word[3]);
}

/* Bytes [at, at + 16) of the block, zeros behind its end; at < n. Reads nothing outside the piece.
 */
DEVICE uint4 load_vector(const Block &block, unsigned at)
{
    const uint8_t *const from = block.from + at;
    const unsigned odd = (uintptr_t)from % 16, over = (uintptr_t)from % 4;
    const unsigned left = block.n - at;
    if (odd == 0 && left >= 16)
        return __ldg((const uint4 *)from);
    if (left >= 20 && from - over >= block.begin)
        return load_words(from);
    return load_bytes(from, min(left, 16u));
}

/* The bits of a chunk's bytes that the block has. */
DEVICE uint64_t valid_bits(const Block &block, unsigned chunk)
{
    const unsigned at = chunk * CHUNK;
    return at + CHUNK <= block.n ? ~0ull : at >= block.n ? 0 : (1ull << (block.n - at)) - 1;
}

/* ---- Runs ---- */

/* A bit for each of 16 bytes that equals the one before. before: its last byte is before them. */
DEVICE uint64_t equal_bits(const uint4 &v, uint32_t before)
{
    unsigned bits = 0;
#pragma unroll
    for (int w = 0; w < 4; w++) {
        const uint32_t word = word_of(v, w), shifted = __byte_perm(before, word, 0x6543);
        bits |= __dp4a(__vcmpeq4(word, shifted) & 0x01010101u, 0x08040201u, 0u) << 4 * w;
        before = word;
    }
    return bits;
}

/* The two sums of Adler-32 over bytes: theirs, and each times what is left from it on. */
struct Sums {
    uint64_t plain, weighted;
};

/* Adds 16 bytes, of which `left` and what is behind them are left. */
DEVICE void sums_add(Sums *sums, const uint4 &v, unsigned left)
{
    unsigned inside;
    const unsigned plain = byte_sums(v, &inside);
    sums->plain += plain;
    sums->weighted += (uint64_t)left * plain - inside;
}

/* Compares bytes with those before them, and adds them up. */
DEVICE Sums find_equal(Coder *coder, const Block &block)
{
    Sums sums = {0, 0};
    for (unsigned step = 0; step < STEPS; step++) {
        const unsigned chunk = step * THREADS + threadIdx.x, at = chunk * CHUNK;
        uint64_t equal = 0;
        uint32_t before = at > 0 && at < block.n ? (uint32_t)block.from[at - 1] << 24 : 0;
#pragma unroll
        for (unsigned v = 0; v < CHUNK_VECTORS; v++) {
            if (at + 16 * v < block.n) {
                const uint4 vector = load_vector(block, at + 16 * v);
                equal |= equal_bits(vector, before) << 16 * v;
                before = vector.w;
                sums_add(&sums, vector, block.n - (at + 16 * v));
            }
        }
        equal &= valid_bits(block, chunk) & (chunk == 0 ? ~1ull : ~0ull);
        coder->equal[chunk] = equal;
        const unsigned open = __ballot_sync(ALL_LANES, ~equal != 0);
        if (threadIdx.x % 32 == 0)
            coder->open[chunk / 32] = open;
    }
    if (threadIdx.x == 0) {
        coder->equal[CHUNKS] = coder->covered[CHUNKS] = 0;
        coder->stop[CHUNKS] = ~0ull;
        coder->open[CHUNKS / 32] = 1;
    }
    return sums;
}

/* What of a run of n bytes is written as matches. */
DEVICE unsigned covered_of(unsigned n, unsigned shortest)
{
    return n % LONGEST_MATCH < shortest ? n - n % LONGEST_MATCH : n;
}

/* Bits [first, end) of a word, first < end <= 64. */
DEVICE uint64_t bits_between(unsigned first, unsigned end)
{
    return ~0ull << first & ~0ull >> (64 - end);
}

/* Leaves those groups of set bits that have `shortest` or more, a power of two, and those at the
 * ends, which may go on beyond. */
DEVICE uint64_t long_groups(uint64_t word, unsigned shortest)
{
    const unsigned top = (unsigned)__clzll((long long)~word);
    const uint64_t low = word & ~(word + 1), high = top > 63 ? word : ~(~0ull >> top);
    uint64_t whole = word;
    for (unsigned k = 1; k < shortest; k *= 2)
        whole &= whole >> k; /* now where 2 k begin */
    for (unsigned k = 1; k < shortest; k *= 2)
        whole |= whole << k;
    return whole | low | high;
}

/* Finds which bytes of a chunk matches stand for, and where these begin. A run may begin in a chunk
 * before and end in one behind. */
DEVICE void cover_chunk(Coder *coder, unsigned chunk, unsigned shortest)
{
    const unsigned at = chunk * CHUNK;
    uint64_t covered = 0, starts = 0;
    for (uint64_t left = long_groups(coder->equal[chunk], shortest); left != 0;) {
        const unsigned first = first_bit_of(left);
        const uint64_t clear = ~(left >> first);
        const unsigned end = clear == 0 ? CHUNK : first + first_bit_of(clear);
        unsigned begins = at + first, ends = at + end;
        left = end == CHUNK ? 0 : left & ~0ull << end;
        if (first == 0) {
            const unsigned before = previous_bit(coder->open, chunk);
            begins = before * CHUNK + last_bit_of(~coder->equal[before]) + 1;
        }
        if (end == CHUNK) {
            const unsigned behind = next_bit(coder->open, chunk + 1);
            ends = behind * CHUNK + first_bit_of(~coder->equal[behind]);
        }
        ends = begins + covered_of(ends - begins, shortest);
        if (ends <= at + first)
            continue;
        const unsigned here = min(ends - at, end);
        const unsigned matches = (at + first - begins + LONGEST_MATCH - 1) / LONGEST_MATCH;
        const unsigned start = begins + matches * LONGEST_MATCH; /* the next one's */
        covered |= bits_between(first, here);
        if (start < at + here)
            starts |= 1ull << (start - at);
    }
    coder->covered[chunk] = covered;
    coder->stop[chunk] = ~covered | starts;
}

/* ---- Matches ---- */

/* The index of the length symbol of a match of n bytes; *bits: of the extra bits. */
DEVICE unsigned length_index(unsigned n, unsigned *bits)
{
    const unsigned v = n - SHORTEST_MATCH;
    const bool few = v < 8 || n == LONGEST_MATCH;
    *bits = few ? 0 : last_bit_of(v) - 2;
    return n == LONGEST_MATCH ? 28 : 4 * *bits + (v >> *bits);
}

/* Length of the match that begins at byte i. */
DEVICE unsigned match_length(const Coder *coder, unsigned i)
{
    return next_bit(coder->stop, i + 1) - i;
}

/* Code and extra bits of the length of the match at byte i. */
DEVICE uint32_t length_code(const Coder *coder, unsigned i)
{
    unsigned extra_bits;
    const unsigned n = match_length(coder, i), index = length_index(n, &extra_bits);
    const uint32_t code = coder->codes[FIRST_LENGTH + index];
    const unsigned length = code % (1u << CODE_SHIFT);
    const uint32_t extra = (n - SHORTEST_MATCH) & ((1u << extra_bits) - 1);
    return (code >> CODE_SHIFT | extra << length) << CODE_SHIFT | (length + extra_bits);
}

/* The same with distance 1, whose code is a 0. */
DEVICE uint32_t match_code(const Coder *coder, unsigned i)
{
    return length_code(coder, i) + 1;
}

#endif
