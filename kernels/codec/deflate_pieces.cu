/* SPDX-License-Identifier: MIT */
/* codec/deflate_pieces.cu: compresses pieces to deflate streams, as src/codec/deflate_coder.c does:
 * runs and Huffman codes in blocks. docs/deflate-coder.md defines every bit. */
#include "codec/deflate_symbols.cuh"
#include "codec/load_kernel.cuh"

enum {
    STORED_MOST = DEFLATE_STORED_MOST,
    STORED_HEAD = 32, /* bits behind the three of a block's head and what fills their byte */
    MODULUS = 65521   /* of Adler-32 */
};

/* What a launch works on. */
struct Call {
    const DeflatePiece *pieces;
    DeflatedPiece *results;
    unsigned long long *sums; /* two a piece */
    unsigned long long *ends; /* of each block: 1 + its last bit, or 0 as long as that is unknown */
    unsigned *next;           /* block; behind it, of those that are searched */
    const uint8_t *pays;      /* 1: the piece is searched for matches; NULL: none is */
    uint16_t *distances; /* of the blocks that are searched at a time: how far back keys were */
    unsigned n;
    DeflateCoding coding;
    unsigned block_bytes;
};

/* Finds the piece of the block. One warp. */
DEVICE unsigned find_piece(const Call &call, unsigned number)
{
    const unsigned lane = threadIdx.x % 32;
    unsigned low = 0, n = call.n;
    while (n > 1) {
        const unsigned step = (n + 31) / 32, at = lane * step;
        const bool before = at < n && call.pieces[low + at].first_block <= number;
        const unsigned last = last_bit_of(__ballot_sync(ALL_LANES, before)) * step;
        low += last;
        n = min(step, n - last);
    }
    return low;
}

/* ---- Sums ---- */

/* Adds a block's sums to those of its piece, in which `behind` bytes follow the block. */
DEVICE void add_sums(const Call &call, unsigned piece, Sums sums, uint64_t behind)
{
    const uint64_t plain = warp_sum(sums.plain), weighted = warp_sum(sums.weighted);
    if (threadIdx.x % 32 == 0) {
        atomicAdd(&call.sums[2 * piece], (unsigned long long)(plain % MODULUS));
        atomicAdd(&call.sums[2 * piece + 1],
                  (unsigned long long)((weighted + behind % MODULUS * plain) % MODULUS));
    }
}

DEVICE uint32_t adler_of(const unsigned long long *sums, uint64_t n)
{
    const uint64_t first = __ldcg(&sums[0]) + 1, second = __ldcg(&sums[1]) + n % MODULUS;
    return (uint32_t)(second % MODULUS << 16 | first % MODULUS);
}

/* ---- Stored blocks ---- */

/* The least that stored blocks of n bytes take. */
DEVICE uint64_t stored_bits(unsigned n)
{
    return 8ull * n + (n + STORED_MOST - 1) / STORED_MOST * (3 + STORED_HEAD);
}

/* Where a stored block of n bytes that begins at a bit has its bytes. */
DEVICE uint64_t stored_at(uint64_t bit)
{
    return (bit + 3 + 7) / 8 * 8 + STORED_HEAD;
}

/* Where n bytes end that are stored from a bit on. */
DEVICE uint64_t stored_end(uint64_t bit, unsigned n)
{
    for (; n > STORED_MOST; n -= STORED_MOST)
        bit = stored_at(bit) + 8 * STORED_MOST;
    return stored_at(bit) + 8ull * n;
}

/* Writes the head of a stored block. Bits of its first byte may belong to the block before. */
DEVICE void put_stored_head(uint8_t *to, uint64_t bit, unsigned n, bool final)
{
    uint64_t at = (bit + 7) / 8;
    if (final && bit % 8 > 0)
        atomicOr((uint32_t *)to + bit / 32, 1u << bit % 32);
    for (; at < stored_at(bit) / 8 - STORED_HEAD / 8; at++)
        to[at] = 8 * at == bit && final;
    to[at] = (uint8_t)n;
    to[at + 1] = (uint8_t)(n >> 8);
    to[at + 2] = (uint8_t)~n;
    to[at + 3] = (uint8_t)(~n >> 8);
}

/* Writes a block as stored blocks. */
DEVICE void store_block(const Block &block, uint8_t *to, uint64_t bit, bool final)
{
    unsigned done = 0, n;
    do {
        n = min(block.n - done, (unsigned)STORED_MOST);
        if (threadIdx.x == 0)
            put_stored_head(to, bit, n, final && done + n == block.n);
        uint8_t *const bytes = to + stored_at(bit) / 8;
        for (unsigned i = threadIdx.x; i < n; i += THREADS)
            bytes[i] = block.from[done + i];
        bit = stored_at(bit) + 8ull * n;
        done += n;
    } while (done < block.n);
}

/* ---- Places ---- */

/* Waits for the end of the block before, and tells that of this one. One thread. Words at the ends
 * of blocks, which others may share, are 0 from then on. */
DEVICE void find_place(const Call &call, Coder *coder, const Block &block, uint8_t *to, bool begins,
                       uint64_t bits)
{
    uint32_t *const words = (uint32_t *)to;
    uint64_t first = 0;
    if (begins) {
        words[0] = 0;
    } else {
        while ((first = atomicAdd(&call.ends[coder->number - 1], 0ull)) == 0)
            __nanosleep(100);
        first--;
        __threadfence();
    }
    coder->first_bit = first;
    coder->last_bit = coder->stored ? stored_end(first, block.n) : first + bits;
    if (coder->last_bit / 32 != first / 32)
        words[coder->last_bit / 32] = 0;
    __threadfence();
    atomicExch(&call.ends[coder->number], (unsigned long long)coder->last_bit + 1);
}

/* Ends a piece behind its last block. One thread. */
DEVICE void end_piece(const Call &call, const Coder *coder, const DeflatePiece &piece)
{
    uint64_t end = coder->last_bit;
    if (!piece.last && call.coding != DEFLATE_STORED) { /* stored ones end with a byte */
        put_stored_head((uint8_t *)piece.to, end, 0, false);
        end = stored_at(end);
    }
    call.results[coder->piece].bytes = (end + 7) / 8;
    call.results[coder->piece].adler = adler_of(&call.sums[2 * coder->piece], piece.n);
}

/* ---- Blocks ---- */

/* Gives the block the next number. All threads; they meet after. */
DEVICE void take_number(const Call &call, Coder *coder, unsigned *next)
{
    if (threadIdx.x < 32) {
        unsigned number = threadIdx.x == 0 ? atomicAdd(next, 1u) : 0;
        number = __shfl_sync(ALL_LANES, number, 0);
        const unsigned piece = find_piece(call, number);
        if (threadIdx.x == 0) {
            coder->number = number;
            coder->piece = piece;
        }
    }
    __syncthreads(); /* the block has a number */
}

/* Compresses the block that has a number. search: NULL to find runs alone. */
DEVICE void compress_block(const Call &call, Coder *coder, Search *search)
{
    const DeflatePiece piece = call.pieces[coder->piece];
    const unsigned number = coder->number - piece.first_block;
    const uint64_t at = (uint64_t)number * call.block_bytes;
    const uint8_t *const from = (const uint8_t *)piece.from;
    uint8_t *const to = (uint8_t *)piece.to;
    const Block block = {from, from + at, (unsigned)min(piece.n - at, (uint64_t)call.block_bytes)};
    const uint64_t behind = piece.n - at - block.n;
    const bool final = piece.last && behind == 0, fast = call.coding == DEFLATE_RUNS_FAST;
    unsigned before[STEPS], step_bits[STEPS];
    uint64_t bits = 0;

    add_sums(call, coder->piece, find_equal(coder, block), behind);
    __syncthreads(); /* equal bytes are known */
    if (call.coding != DEFLATE_STORED) {
        if (search) {
            search_matches(coder, search, Part{from, piece.n, at, block.n}, fast);
        } else {
            for (unsigned step = 0; step < STEPS; step++)
                cover_chunk(coder, step * THREADS + threadIdx.x,
                            fast ? SHORTEST_RUN_FAST : SHORTEST_RUN);
            __syncthreads(); /* matches are known */
        }
        count_symbols(coder, block, fast && !search);
        make_symbol_codes(coder);
        if (search)
            make_distance_codes(coder, search);
        make_head(coder, search ? (const uint8_t *)search->distance_lengths : NULL, final);
#pragma unroll
        for (unsigned step = 0; step < STEPS; step++) {
            const unsigned own = chunk_bits(coder, search, block, step * THREADS + threadIdx.x);
            before[step] = block_inclusive(own, coder->of_warp[step]) - own;
        }
#pragma unroll
        for (unsigned step = 0; step < STEPS; step++) {
            step_bits[step] = 0;
            for (unsigned w = 0; w < THREADS / 32; w++)
                step_bits[step] += coder->of_warp[step][w];
            bits += step_bits[step];
        }
        bits += coder->head_bits + coder->codes[END_OF_BLOCK] % (1u << CODE_SHIFT);
    }
    if (threadIdx.x == 0) {
        coder->stored = call.coding == DEFLATE_STORED || bits >= stored_bits(block.n);
        find_place(call, coder, block, to, at == 0, bits);
    }
    __syncthreads(); /* the block has its place */
    if (coder->stored)
        store_block(block, to, coder->first_bit, final);
    else
        code_block(coder, search, block, to, before, step_bits);
    if (threadIdx.x == 0 && behind == 0)
        end_piece(call, coder, piece);
}

/*
 * deflate_pieces: compresses pieces, a block of the stream a thread block.
 *
 *   Idea      Bits for all bytes: equal to the one before, covered by a match, begins a symbol.
 *             From them threads count and write 64 bytes each. Counts have a column a lane. Lengths
 *             of codes: ranks, one thread that joins trees, links to the root in nine steps. Codes
 *             of a thread follow those of all before it: a prefix sum. A block learns from the one
 *             before where that ends.
 *   Work      about 40 instructions a byte; joining takes 285 steps of one thread, behind which
 *             other blocks hide.
 *   Memory    reads n bytes once, and three times more from the cache; writes the result once;
 *             54 KiB of shared memory.
 *   Launch    <<<blocks of all pieces, DEFLATE_THREADS>>>.
 *   Requires  pieces with numbered blocks; next, sums and ends are 0. Blocks take numbers as they
 *             begin, so one waits only for one that runs.
 *   Result    the bytes of deflate_coder_write, their number, and Adler-32; nothing of pieces that
 *             deflate_searched compresses.
 */
static __global__ void __launch_bounds__(THREADS, DEFLATE_BLOCKS)
    deflate_pieces(const __grid_constant__ Call call)
{
    extern __shared__ uint4 shared[];
    Coder *const coder = (Coder *)shared;
    take_number(call, coder, call.next);
    if (!call.pays || call.pays[coder->piece] == 0)
        compress_block(call, coder, NULL);
}

/*
 * deflate_searched: the same with a search for matches, of pieces in which they pay.
 *
 *   Idea      Keys are hashed by all threads; each warp enters those of its eighth of the places, in
 *             the order of the bytes. Each byte then finds its match alone, and one thread of each
 *             warp walks through a span from match to match. The rest is as for runs.
 *   Work      for each of three keys some 600 instructions of a warp for 32 bytes; the walk takes
 *             about 150 cycles a match, behind which other warps and blocks hide.
 *   Memory    reads n bytes some 20 times, mostly from the cache; 256 KiB of scratch memory a
 *             thread block; 97 KiB of shared memory.
 *   Launch    <<<DEFLATE_SEARCHES, or fewer, DEFLATE_THREADS>>>, which take block after block.
 *   Requires  what deflate_pieces does.
 *   Result    as deflate_pieces, of DEFLATE_SEARCH or DEFLATE_SEARCH_FAST, where call.pays is 1.
 */
static __global__ void __launch_bounds__(THREADS, SEARCH_BLOCKS)
    deflate_searched(const __grid_constant__ Call call, unsigned n_blocks)
{
    extern __shared__ uint4 shared[];
    Coder *const coder = (Coder *)shared;
    Search *const search = (Search *)((uint8_t *)shared + SEARCH_AT);
    uint16_t *const distances = call.distances + (size_t)blockIdx.x * DEFLATE_SEARCH_DISTANCES;
    if (threadIdx.x == 0) {
        search->places = (uint16_t *)(coder->out + STAGED_BYTES / 4);
        search->length = (uint8_t *)search->places;
        search->distance = distances;
        for (unsigned key = 0; key < MATCH_KEYS; key++)
            search->last[key] = distances + key * DEFLATE_CODER_BLOCK;
    }
    for (;;) {
        take_number(call, coder, call.next + 1);
        if (coder->number >= n_blocks)
            break;
        if (call.pays[coder->piece])
            compress_block(call, coder, search);
        __syncthreads(); /* the block is done */
    }
}

cudaError_t cuda_deflate(DeflateCoding coding, const DeflatePiece *pieces, size_t n,
                         uint32_t n_blocks, const uint8_t *pays, DeflatedPiece *results,
                         void *scratch, cudaStream_t stream)
{
    cudaError_t status = cudaSuccess;
    if (n_blocks == 0) {
        status = load_kernel((const void *)deflate_searched);
        return status == cudaSuccess ? load_kernel((const void *)deflate_pieces) : status;
    }
    unsigned long long *const sums = (unsigned long long *)scratch + DEFLATE_SCRATCH_HEAD / 8;
    const size_t counters = deflate_pieces_counters(n, n_blocks);
    const bool search = pays && coding != DEFLATE_STORED;
    const Call call = {pieces,
                       results,
                       sums,
                       sums + 2 * n,
                       (unsigned *)scratch,
                       search ? pays : NULL,
                       (uint16_t *)((uint8_t *)scratch + counters),
                       (unsigned)n,
                       coding,
                       deflate_pieces_block(coding)};
    status = cudaMemsetAsync(scratch, 0, counters, stream);
    if (status == cudaSuccess)
        status = cudaFuncSetAttribute(deflate_pieces, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      (int)sizeof(Coder));
    if (status == cudaSuccess && search)
        status = cudaFuncSetAttribute(deflate_searched, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      (int)SEARCH_SHARED);
    if (status != cudaSuccess)
        return status;
    deflate_pieces<<<n_blocks, THREADS, sizeof(Coder), stream>>>(call);
    status = cudaGetLastError();
    if (status != cudaSuccess || !search)
        return status;
    deflate_searched<<<deflate_searches(n_blocks), THREADS, SEARCH_SHARED, stream>>>(call,
                                                                                     n_blocks);
    return cudaGetLastError();
}
