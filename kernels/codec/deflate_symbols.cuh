/* SPDX-License-Identifier: MIT */
/* codec/deflate_symbols.cuh: the symbols of a block whose runs or matches and codes are known: how
 * many bits they take, and the bits. */
#ifndef IMGSTAT_KERNELS_CODEC_DEFLATE_SYMBOLS_CUH
#define IMGSTAT_KERNELS_CODEC_DEFLATE_SYMBOLS_CUH

#include "codec/match_search.cuh"

/* The code of byte i of the block, which is `byte`; 0 if a match before it stands for it. bits: of
 * 16 bytes, of which it is number b. */
DEVICE uint32_t code_at(const Coder *coder, uint32_t byte, unsigned covered, unsigned stop, int b,
                        unsigned i)
{
    if (!(covered >> b & 1))
        return coder->codes[byte];
    return stop >> b & 1 ? match_code(coder, i) : 0;
}

DEVICE uint32_t byte_of(const uint4 &v, int b)
{
    return word_of(v, b / 4) >> 8 * (b % 4) & 0xFF;
}

/* Bits that a chunk takes. search: NULL where all distances are 1. */
DEVICE unsigned chunk_bits(const Coder *coder, const Search *search, const Block &block,
                           unsigned chunk)
{
    const uint64_t valid = valid_bits(block, chunk), covered = coder->covered[chunk];
    const uint64_t literal = ~covered & valid;
    const uint8_t *const lengths = (const uint8_t *)coder->lengths;
    unsigned n = 0;
#pragma unroll 1
    for (unsigned v = 0; v < CHUNK_VECTORS; v++) {
        const unsigned counted = (unsigned)(literal >> 16 * v) & 0xFFFF;
        if (counted == 0)
            continue;
        const uint4 vector = load_vector(block, chunk * CHUNK + 16 * v);
#pragma unroll
        for (int b = 0; b < 16; b++)
            if (counted >> b & 1)
                n += lengths[byte_of(vector, b)];
    }
    for (uint64_t left = covered & coder->stop[chunk]; left != 0; left &= left - 1) {
        const unsigned i = chunk * CHUNK + first_bit_of(left);
        uint32_t code = 1, extra = 0; /* of distance 1 */
        if (search)
            code = distance_code(search, i, &extra);
        n += (length_code(coder, i) + code + extra) % (1u << CODE_SHIFT);
    }
    return n;
}

/* Bits that a thread puts together. Of its words, others have bits in the first and the last. */
struct Bits {
    uint32_t *begin, *word;
    uint32_t first, held;
    unsigned n; /* held, with those of others before the first */
};

/* Appends two codes, which have at most 32 bits together. */
DEVICE void put_codes(Bits *to, uint32_t one, uint32_t other)
{
    const unsigned n_one = one % (1u << CODE_SHIFT), n_other = other % (1u << CODE_SHIFT);
    const uint32_t bits = one >> CODE_SHIFT | other >> CODE_SHIFT << n_one;
    to->held |= bits << to->n;
    const unsigned n = to->n + n_one + n_other;
    if (n >= 32) {
        if (to->word == to->begin)
            to->first = to->held;
        else
            *to->word = to->held;
        to->word++;
        to->held = __funnelshift_l(bits, 0, to->n);
    }
    to->n = n % 32;
}

/* Writes what is held, and what others share. */
DEVICE void put_rest(const Bits &to)
{
    if (to.word != to.begin)
        atomicOr(to.begin, to.first);
    if (to.held)
        atomicOr(to.word, to.held);
}

/* Writes the codes of a chunk to coder->out, whose words were 0 there, from bit `at` on. Two
 * neighbours are literals, or one of them a match. */
DEVICE void write_chunk(Coder *coder, const Block &block, unsigned chunk, unsigned at)
{
    const uint64_t valid = valid_bits(block, chunk), covered = coder->covered[chunk] | ~valid;
    const uint64_t stop = coder->stop[chunk] & valid;
    uint32_t *const begin = coder->out + at / 32;
    Bits to = {begin, begin, 0, 0, at % 32};
#pragma unroll 1
    for (unsigned v = 0; v < CHUNK_VECTORS; v++) {
        const unsigned c = (unsigned)(covered >> 16 * v) & 0xFFFF;
        const unsigned s = (unsigned)(stop >> 16 * v) & 0xFFFF;
        const unsigned i = chunk * CHUNK + 16 * v;
        if (s == 0)
            continue;
        const uint4 vector = load_vector(block, i);
#pragma unroll
        for (int b = 0; b < 16; b += 2)
            put_codes(&to, code_at(coder, byte_of(vector, b), c, s, b, i + b),
                      code_at(coder, byte_of(vector, b + 1), c, s, b + 1, i + b + 1));
    }
    put_rest(to);
}

/* The same with matches at any distance. */
DEVICE void write_matched_chunk(Coder *coder, const Search *search, const Block &block,
                                unsigned chunk, unsigned at)
{
    const uint64_t covered = coder->covered[chunk];
    uint32_t *const begin = coder->out + at / 32;
    Bits to = {begin, begin, 0, 0, at % 32};
    for (uint64_t left = coder->stop[chunk] & valid_bits(block, chunk); left != 0;
         left &= left - 1) {
        const unsigned b = first_bit_of(left), i = chunk * CHUNK + b;
        if (covered >> b & 1) {
            uint32_t extra;
            const uint32_t code = distance_code(search, i, &extra);
            put_codes(&to, length_code(coder, i), 0);
            put_codes(&to, code, extra);
        } else {
            put_codes(&to, coder->codes[block.from[i]], 0);
        }
    }
    put_rest(to);
}

/* Moves the words of coder->out that hold bits [first, end) of the stream to their place. The last
 * one stays, if it is not full; returns it. The block's first word has bits of others. */
DEVICE uint32_t move_words(const Coder *coder, uint32_t *to, uint64_t first, uint64_t end)
{
    const unsigned n = (unsigned)(end / 32 - first / 32);
    for (unsigned i = threadIdx.x; i < n; i += THREADS) {
        if (first / 32 + i == coder->first_bit / 32)
            atomicOr(&to[first / 32 + i], coder->out[i]);
        else
            to[first / 32 + i] = coder->out[i];
    }
    return coder->out[n];
}

/* Writes a block. bits: of this thread's chunk in each step. */
DEVICE void code_block(Coder *coder, const Search *search, const Block &block, uint8_t *to,
                       const unsigned *before, const unsigned *step_bits)
{
    uint64_t first = coder->first_bit;
    uint32_t carried = 0;
#pragma unroll
    for (unsigned step = 0; step < STEPS; step++) {
        const bool last = (step + 1) * THREADS * CHUNK >= block.n;
        const unsigned head = step == 0 ? coder->head_bits : 0;
        const unsigned begin = (unsigned)(first % 32), codes = begin + head;
        const uint64_t end = last ? coder->last_bit : first + head + step_bits[step];
        const unsigned words = (unsigned)(end / 32 - first / 32) + 1;
        for (unsigned i = threadIdx.x; i < words; i += THREADS)
            coder->out[i] = i == 0 ? carried : 0;
        __syncthreads(); /* there is room */
        for (unsigned i = threadIdx.x; 32 * i < head; i += THREADS) {
            const uint32_t word = coder->head[i];
            atomicOr(&coder->out[i], word << begin);
            if (begin > 0 && word >> (32 - begin) > 0)
                atomicOr(&coder->out[i + 1], word >> (32 - begin));
        }
        const unsigned chunk = step * THREADS + threadIdx.x;
        if (search)
            write_matched_chunk(coder, search, block, chunk, codes + before[step]);
        else
            write_chunk(coder, block, chunk, codes + before[step]);
        if (last && threadIdx.x == 0) {
            const uint32_t code = coder->codes[END_OF_BLOCK];
            or_bits(coder->out, codes + step_bits[step], code >> CODE_SHIFT,
                    code % (1u << CODE_SHIFT));
        }
        __syncthreads(); /* the words are complete */
        carried = move_words(coder, (uint32_t *)to, first, end);
        __syncthreads(); /* the words are used */
        first = end;
        if (last)
            break;
    }
    if (threadIdx.x == 0 && carried)
        atomicOr((uint32_t *)to + first / 32, carried);
}

#endif
