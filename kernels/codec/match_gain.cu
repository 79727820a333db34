/* SPDX-License-Identifier: MIT */
/* codec/match_gain.cu: whether a search for matches would pay, as src/codec/match_gain.c finds it.
 */
#include "codec/deflate_head.cuh"
#include "codec/load_kernel.cuh"

enum {
    SAMPLE = 8 << 10,
    SAMPLE_FAST = 2 << 10,
    SHORTEST = 4,
    MATCH_BITS = 12, /* of a match, besides the bits of its distance */
    SHARE = 12,      /* matches pay from one part in so many on */
    SHARE_FAST = 5,
    PLACES = 4096,
    HASH_SHIFT = 20
};
static_assert(SAMPLE <= BINS * COLUMNS && SAMPLE <= CHUNK * THREADS, "one step");
static_assert(PLACES * sizeof(uint16_t) <= sizeof(((Coder *)0)->stop), "places fit");

/* Where the bits of the bytes up to each are, once codes are made. */
DEVICE uint32_t *bits_of(Coder *coder)
{
    return coder->out;
}

/* Adds up what each byte of the sample takes; a match counts at its first byte. All threads; they
 * meet before and after. */
DEVICE void sum_bits(Coder *coder, const Block &block)
{
    const unsigned at = threadIdx.x * CHUNK, end = min(at + CHUNK, block.n);
    unsigned own = 0;
    for (unsigned i = at; i < end; i++) {
        const bool covered = coder->covered[i / CHUNK] >> i % CHUNK & 1;
        const bool stop = coder->stop[i / CHUNK] >> i % CHUNK & 1;
        const uint32_t code = !covered ? coder->codes[block.from[i]]
                              : stop   ? match_code(coder, i)
                                       : 0;
        bits_of(coder)[i] = own += code % (1u << CODE_SHIFT);
    }
    const unsigned before = block_inclusive(own, coder->of_warp[0]) - own;
    for (unsigned i = at; i < end; i++)
        bits_of(coder)[i] += before;
    __syncthreads(); /* the sums are there, and no match is looked for any more */
}

/* Bits of the first i bytes. */
DEVICE uint32_t bits_before(Coder *coder, unsigned i)
{
    return i == 0 ? 0 : bits_of(coder)[i - 1];
}

DEVICE unsigned common_bytes(const uint8_t *a, const uint8_t *b, unsigned most)
{
    unsigned n = 0;
    while (n < most && a[n] == b[n])
        n++;
    return n;
}

/* Walks through the sample. One warp: each lane looks from another byte, as if no lane before it
 * took a match; then the first that does so counts. Returns the bits saved. */
DEVICE uint32_t saved_bits(Coder *coder, uint16_t *places, const Block &block)
{
    const unsigned lane = threadIdx.x % 32;
    uint32_t saved = 0;
    for (unsigned first = 0; first + SHORTEST <= block.n;) {
        const unsigned i = first + lane;
        const uint8_t *const here = block.from + i;
        const bool inside = i + SHORTEST <= block.n;
        unsigned hash = PLACES + lane, length = 0; /* of lanes outside: like no other */
        uint32_t gain = 0;
        if (inside)
            hash =
                (here[0] | here[1] << 8 | here[2] << 16 | (uint32_t)here[3] << 24) * 2654435761u >>
                HASH_SHIFT;
        const unsigned same = __match_any_sync(ALL_LANES, hash), lower = same & ((1u << lane) - 1);
        const unsigned before = lower ? first + last_bit_of(lower) + 1 : inside ? places[hash] : 0;
        if (before > 0) {
            const unsigned distance = i + 1 - before;
            length = common_bytes(here - distance, here, min(block.n - i, (unsigned)LONGEST_MATCH));
            const uint32_t literals = bits_before(coder, i + length) - bits_before(coder, i);
            const uint32_t match = MATCH_BITS + last_bit_of(distance) + 1;
            if (length >= SHORTEST && literals > match)
                gain = literals - match;
        }
        const unsigned takers = __ballot_sync(ALL_LANES, gain > 0);
        const unsigned last = takers ? first_bit_of(takers) : 31;
        __syncwarp(); /* places are read */
        const unsigned entered = same & (last == 31 ? ALL_LANES : (2u << last) - 1);
        if (inside && lane <= last && lane == last_bit_of(entered))
            places[hash] = (uint16_t)(i + 1);
        saved += __shfl_sync(ALL_LANES, gain, (int)last);
        first += last + (takers ? __shfl_sync(ALL_LANES, length, (int)last) : 1);
        __syncwarp(); /* places are entered */
    }
    return saved;
}

/*
 * match_gain: tells for each piece whether matches would pay.
 *
 *   Idea      The middle of the piece is planned as a block of the deflating kernel. A warp then
 *             walks through it, 32 bytes at a time as long as nothing matches.
 *   Work      some 50,000 cycles to plan; of one warp 3,000 for 32 bytes, or for a match.
 *   Memory    reads 8 KiB a piece; 54 KiB of shared memory.
 *   Launch    <<<pieces, DEFLATE_THREADS>>>.
 *   Requires  pieces as for deflate_pieces.
 *   Result    1 where match_gain_pays, else 0.
 */
static __global__ void __launch_bounds__(THREADS, DEFLATE_BLOCKS)
    match_gain(const DeflatePiece *pieces, bool fast, uint8_t *pays)
{
    extern __shared__ uint4 shared[];
    Coder *const coder = (Coder *)shared;
    const DeflatePiece &piece = pieces[blockIdx.x];
    const uint64_t most = fast ? SAMPLE_FAST : SAMPLE, n = min(piece.n, most);
    const uint8_t *const from = (const uint8_t *)piece.from;
    const Block block = {from, from + (piece.n - n) / 2, (unsigned)n};
    find_equal(coder, block);
    __syncthreads(); /* equal bytes are known */
    for (unsigned step = 0; step < STEPS; step++)
        cover_chunk(coder, step * THREADS + threadIdx.x, SHORTEST_RUN);
    __syncthreads(); /* matches are known */
    count_symbols(coder, block, false);
    make_symbol_codes(coder);
    sum_bits(coder, block);
    uint16_t *const places = (uint16_t *)coder->stop;
    for (unsigned i = threadIdx.x; i < PLACES; i += THREADS)
        places[i] = 0;
    __syncthreads(); /* places are empty */
    if (threadIdx.x < 32) {
        const uint32_t saved = saved_bits(coder, places, block);
        if (threadIdx.x == 0)
            pays[blockIdx.x] = saved * (fast ? SHARE_FAST : SHARE) >= bits_before(coder, block.n);
    }
}

cudaError_t cuda_match_gain(DeflateCoding coding, const DeflatePiece *pieces, size_t n,
                            uint8_t *pays, cudaStream_t stream)
{
    if (n == 0)
        return load_kernel((const void *)match_gain);
    if (n > INT32_MAX)
        return cudaErrorInvalidValue;
    const cudaError_t status = cudaFuncSetAttribute(
        match_gain, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sizeof(Coder));
    if (status != cudaSuccess)
        return status;
    match_gain<<<(unsigned)n, THREADS, sizeof(Coder), stream>>>(pieces, coding == DEFLATE_RUNS_FAST,
                                                                pays);
    return cudaGetLastError();
}
