/* SPDX-License-Identifier: MIT */
/* codec/deflate_head.cuh: counts of a block's symbols, their codes, and the head that lists them.
 */
#ifndef IMGSTAT_KERNELS_CODEC_DEFLATE_HEAD_CUH
#define IMGSTAT_KERNELS_CODEC_DEFLATE_HEAD_CUH

#include "codec/deflate_block.cuh"

/* ---- Counts ---- */

DEVICE void count_matches(Coder *coder, unsigned chunk)
{
    for (uint64_t left = coder->covered[chunk] & coder->stop[chunk]; left != 0; left &= left - 1) {
        unsigned bits;
        const unsigned n = match_length(coder, chunk * CHUNK + first_bit_of(left));
        atomicAdd(&coder->counts[FIRST_LENGTH + length_index(n, &bits)], 1u);
    }
}

/* Counts the bytes of a chunk whose bits are set, each lane in its column. */
DEVICE void count_bytes(Coder *coder, const Block &block, unsigned chunk, uint64_t counted)
{
    const uint32_t column = own_column();
#pragma unroll 1
    for (unsigned v = 0; v < CHUNK_VECTORS; v++) {
        const unsigned bits = (unsigned)(counted >> 16 * v) & 0xFFFF;
        if (bits == 0)
            continue;
        const uint4 vector = load_vector(block, chunk * CHUNK + 16 * v);
#pragma unroll
        for (int b = 0; b < 16; b++)
            if (bits >> b & 1)
                atomicAdd(row_of<NARROW_ROW>(coder->table, word_of(vector, b / 4), b % 4, column),
                          1u);
    }
}

/* Counts all symbols. All threads; they meet before and after. */
DEVICE void count_symbols(Coder *coder, const Block &block, bool fast)
{
    const bool sampled = fast && block.n > SAMPLED_BLOCK;
    empty_columns<THREADS, NARROW_ROW>((uint4 *)coder->table);
    for (unsigned i = threadIdx.x; i < CODE_SYMBOLS; i += THREADS)
        coder->counts[i] = i == END_OF_BLOCK;
    __syncthreads(); /* all counters are 0 */
    for (unsigned step = 0; step < STEPS; step++) {
        const unsigned chunk = step * THREADS + threadIdx.x;
        count_matches(coder, chunk);
        if (!sampled)
            count_bytes(coder, block, chunk, ~coder->covered[chunk] & valid_bits(block, chunk));
    }
    const unsigned chunk = SAMPLE_CHUNKS * threadIdx.x;
    if (sampled && chunk < CHUNKS)
        count_bytes(coder, block, chunk, valid_bits(block, chunk));
    __syncthreads(); /* the table is complete */
    static_assert(THREADS == LITERALS, "a thread sums a row");
    coder->counts[threadIdx.x] =
        sum_columns<THREADS, NARROW_ROW>((const uint4 *)coder->table) + sampled;
    __syncthreads(); /* so are the counts */
}

/* ---- The head ---- */

/* Appends the low n <= 25 bits at bit `at` of words; those above them are 0. */
DEVICE void or_bits(uint32_t *words, unsigned at, uint32_t bits, unsigned n)
{
    atomicOr(&words[at / 32], bits << at % 32);
    if (at % 32 + n > 32)
        atomicOr(&words[at / 32 + 1], bits >> (32 - at % 32));
}

/* What the head has at place `at` of a group of n equal lengths. */
DEVICE uint32_t item_of(unsigned length, unsigned at, unsigned n)
{
    enum { REPEAT = 16, ZEROS = 17, MANY_ZEROS = 18 };
    if (length > 0 && at > 0) {
        const unsigned taken = min(n - 1 - (at - 1) / 6 * 6, 6u);
        return taken < 3 ? length : (at - 1) % 6 == 0 ? REPEAT | (taken - 3) << 8 : NOTHING;
    }
    if (length > 0)
        return length;
    const unsigned left = n - at / 138 * 138, taken = min(left, 138u);
    if (left < 3)
        return 0;
    return at % 138 > 0 ? NOTHING
           : left < 11  ? ZEROS | (taken - 3) << 8
                        : MANY_ZEROS | (taken - 11) << 8;
}

DEVICE unsigned extra_bits_of(unsigned item)
{
    const unsigned symbol = item & 0xFF;
    return symbol < 16 ? 0 : symbol == 16 ? 2 : symbol == 17 ? 3 : 7;
}

/* Bits of an item, in the form of a code. */
DEVICE uint32_t item_code(const Coder *coder, unsigned item)
{
    if (item == NOTHING)
        return 0;
    const uint32_t code = coder->head_codes[item & 0xFF];
    const unsigned length = code % (1u << CODE_SHIFT);
    return (code >> CODE_SHIFT | (item >> 8) << length) << CODE_SHIFT |
           (length + extra_bits_of(item));
}

/* Finds the groups of equal lengths, and what stands for them. distances: the lengths of their
 * codes; NULL: two of one bit. */
DEVICE void find_items(Coder *coder, const uint8_t *distances)
{
    uint8_t *const lengths = (uint8_t *)coder->lengths;
    unsigned *const n_symbols = &coder->n_symbols;
    for (unsigned i = threadIdx.x; i < SYMBOLS; i += THREADS)
        if (lengths[i] > 0)
            atomicMax(n_symbols, i + 1);
    const unsigned distance = distances && threadIdx.x < DISTANCES ? distances[threadIdx.x]
                                                                   : threadIdx.x < FEWEST_DISTANCES;
    if (threadIdx.x < 32) {
        const unsigned used = __ballot_sync(ALL_LANES, distance > 0);
        coder->n_distances = last_bit_of(used) + 1;
    }
    __syncthreads(); /* the numbers of symbols are known */
    const unsigned n = *n_symbols + coder->n_distances;
    if (threadIdx.x < coder->n_distances)
        lengths[*n_symbols + threadIdx.x] = (uint8_t)distance;
    __syncthreads(); /* the distances follow */
    for (unsigned first = 0; first < HEAD_SYMBOLS; first += THREADS) {
        const unsigned i = first + threadIdx.x;
        if (i / 32 * 32 < HEAD_SYMBOLS) { /* whole warps */
            const bool begins = i < n && (i == 0 || lengths[i] != lengths[i - 1]);
            const unsigned group = __ballot_sync(ALL_LANES, begins || i == n);
            if (threadIdx.x % 32 == 0)
                coder->groups[i / 32] = group;
        }
    }
    if (threadIdx.x == 0)
        coder->groups[HEAD_SYMBOLS / 32] = ~0u;
    __syncthreads(); /* the groups are known */
    for (unsigned i = threadIdx.x; i < HEAD_SYMBOLS; i += THREADS) {
        unsigned item = NOTHING;
        if (i < n) {
            const unsigned begin = previous_bit(coder->groups, i + 1);
            item = item_of(lengths[i], i - begin, next_bit(coder->groups, i + 1) - begin);
        }
        coder->items[i] = (uint16_t)item;
        if (item != NOTHING)
            atomicAdd(&coder->head_counts[item & 0xFF], 1u);
    }
    __syncthreads(); /* so are the items */
}

/* Writes the parts of the head, whose codes are known. */
DEVICE void write_head(Coder *coder, bool final)
{
    /* RFC 1951 section 3.2.7: 16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15 */
    const unsigned lane = threadIdx.x % 32, i = lane - 3;
    const unsigned symbol = lane < 3 ? 16 + lane : i == 0 ? 0 : i % 2 == 1 ? 8 + i / 2 : 8 - i / 2;
    const uint8_t *const lengths = (const uint8_t *)coder->head_lengths;
    const unsigned length = lane < LENGTH_CODES ? lengths[symbol] : 0;
    const unsigned used = __ballot_sync(ALL_LANES, length > 0);
    const unsigned n_lengths = max(last_bit_of(used) + 1, 4u);
    const unsigned at = HEAD_BITS + 3 * n_lengths;
    if (threadIdx.x < n_lengths)
        or_bits(coder->head, HEAD_BITS + 3 * threadIdx.x, length, 3);
    if (threadIdx.x == 0)
        or_bits(coder->head, 0,
                final | 2u << 1 | (coder->n_symbols - 257) << 3 | (coder->n_distances - 1) << 8 |
                    (n_lengths - 4) << 13,
                HEAD_BITS);
    const unsigned pair = 2 * threadIdx.x;
    const bool inside = pair < HEAD_SYMBOLS;
    const uint32_t first = inside ? item_code(coder, coder->items[pair]) : 0;
    const uint32_t second = inside ? item_code(coder, coder->items[pair + 1]) : 0;
    const unsigned n_first = first % (1u << CODE_SHIFT), n_second = second % (1u << CODE_SHIFT);
    const uint32_t end = at + block_inclusive(n_first + n_second, coder->of_warp[STEPS]);
    or_bits(coder->head, end - n_second - n_first, first >> CODE_SHIFT, n_first);
    or_bits(coder->head, end - n_second, second >> CODE_SHIFT, n_second);
    if (threadIdx.x == THREADS - 1)
        coder->head_bits = end;
}

/* Makes the codes of the symbols. All threads; they meet before and after. */
DEVICE void make_symbol_codes(Coder *coder)
{
    uint8_t *const lengths = (uint8_t *)coder->lengths;
    code_lengths<THREADS>(&coder->room, coder->counts, SYMBOLS, LONGEST_CODE, lengths);
    canonical_codes<THREADS>(&coder->room, lengths, SYMBOLS, coder->codes);
    __syncthreads(); /* the codes are there */
}

/* Makes the head that lists these codes. All threads; they meet before and after. */
DEVICE void make_head(Coder *coder, const uint8_t *distances, bool final)
{
    uint8_t *const lengths = (uint8_t *)coder->head_lengths;
    for (unsigned i = threadIdx.x; i < HEAD_WORDS; i += THREADS)
        coder->head[i] = 0;
    if (threadIdx.x < LENGTH_CODES)
        coder->head_counts[threadIdx.x] = 0;
    if (threadIdx.x == 0)
        coder->n_symbols = 0;
    __syncthreads(); /* everything is empty */
    find_items(coder, distances);
    code_lengths<THREADS>(&coder->room, coder->head_counts, LENGTH_CODES, LENGTH_CODE_LIMIT,
                          lengths);
    canonical_codes<THREADS>(&coder->room, lengths, LENGTH_CODES, coder->head_codes);
    __syncthreads(); /* the codes are there */
    write_head(coder, final);
    __syncthreads(); /* the head is there */
}

#endif
