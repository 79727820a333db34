/* SPDX-License-Identifier: MIT */
/* codec/match_search.cuh: matches at any distance, taken as src/codec/match_search.c takes them.
 * docs/deflate-coder.md defines them, "Matches". */
#ifndef IMGSTAT_KERNELS_CODEC_MATCH_SEARCH_CUH
#define IMGSTAT_KERNELS_CODEC_MATCH_SEARCH_CUH

#include "codec/deflate_head.cuh"

extern "C" {
#include "codec/match_search.h"
}

#include <stddef.h>

enum {
    WARPS = THREADS / 32,
    HASH_BITS = 15,
    NO_HASH = 0xFFFF,
    GROUP = 16,                 /* bytes whose keys a thread hashes */
    STAGED = GROUP * THREADS,   /* hashes that all threads prepare for the warps */
    TOGETHER = 4,               /* hashes that a lane looks at at once */
    QUEUE = 32 * (TOGETHER + 1) /* bytes that wait for a warp: fewer than its lanes, and as many */
};
static_assert(1 << HASH_BITS == MATCH_PLACES && WARPS == 8,
              "a warp has an eighth of a table's places");
static_assert(WARPS * MATCH_SPAN == (int)DEFLATE_CODER_BLOCK, "and a span of a block");
static_assert((int)MATCH_KEYED == (int)GROUP && (int)MATCH_SPAN % GROUP == 0,
              "one group of a span lacks keys");

/* What a block that is searched has in shared memory beside its Coder. Two large arrays lie in the
 * end of the Coder, behind what is staged there, and go on behind it. */
struct Search {
    uint32_t queue[WARPS][QUEUE]; /* bytes to enter: the place from bit 16 on, the hash below */
    uint32_t distance_counts[32], distance_codes[32], distance_lengths[8];
    uint16_t *places; /* by hash: 32,768 and the place in the half block; 0: none. Later: */
    uint8_t *length;  /* of the match of each byte, less 3; 0: none */
    uint16_t *last[MATCH_KEYS]; /* of each byte of the block: how far back each key of it was; 0:
                                 * not known. The first is 1 where a byte is plain. Later: */
    uint16_t *distance;         /* of its match */
};

enum {
    STAGED_BYTES = STAGED * sizeof(uint16_t),
    SEARCH_BYTES = 2 * MATCH_PLACES, /* of a large array */
    SEARCH_AT = offsetof(Coder, out) + STAGED_BYTES + SEARCH_BYTES,
    SEARCH_SHARED = SEARCH_AT + sizeof(Search)
};
static_assert(sizeof(CodeRoom) <= STAGED_BYTES, "it lies before the large arrays");
static_assert(SEARCH_BYTES == (int)DEFLATE_CODER_BLOCK, "both arrays have this size");
static_assert(SEARCH_AT % 16 == 0 && SEARCH_AT >= sizeof(Coder), "it lies behind the Coder");
static_assert(SEARCH_SHARED <= 99 << 10, "every GPU has as much");

/* Where a block lies in its piece. */
struct Part {
    const uint8_t *piece;
    uint64_t n, at; /* bytes of the piece; where the block begins */
    unsigned bytes; /* of the block */
};

/* ---- Bytes ---- */

/* Whether words around the 16 bytes from byte i on can be loaded. */
DEVICE bool is_inside(const Part &part, uint64_t i)
{
    return i >= 3 && i + 20 <= part.n;
}

/* Up to 16 bytes of a piece from byte i on, zeros behind them. */
DEVICE uint4 load_sixteen(const Part &part, uint64_t i)
{
    if (is_inside(part, i))
        return load_words(part.piece + i);
    return load_bytes(part.piece + i, i < part.n ? (unsigned)min(part.n - i, (uint64_t)16) : 0);
}

/* How many of 16 bytes are equal from the first on. */
DEVICE unsigned equal_of(const uint4 &a, const uint4 &b)
{
#pragma unroll
    for (int w = 0; w < 4; w++) {
        const uint32_t differ = word_of(a, w) ^ word_of(b, w);
        if (differ != 0)
            return 4 * (unsigned)w + first_bit_of(differ) / 8;
    }
    return 16;
}

/* ---- Places ---- */

/* How many bytes of a group have keys. It is in the block, or in one before, whose spans are full.
 */
DEVICE unsigned keyed_bytes(const Part &part, uint64_t i)
{
    const uint64_t end = part.at + part.bytes;
    const unsigned most = i % MATCH_SPAN == MATCH_SPAN - GROUP ? 1 : GROUP;
    return end < i + MATCH_KEYED ? 0 : (unsigned)min(end - i - MATCH_KEYED + 1, (uint64_t)most);
}

/* Hashes a key of each byte of a group. last: where 0 is stored for those that are not entered, or
 * 1 if `tells` and they are plain; NULL: nowhere. */
template <unsigned KEY>
DEVICE void hash_group(const Part &part, uint64_t i, uint16_t *hashes, uint16_t *last, bool tells)
{
    const uint4 front = load_sixteen(part, i), behind = load_sixteen(part, i + 16);
    const uint32_t word[8] = {front.x,  front.y,  front.z,  front.w,
                              behind.x, behind.y, behind.z, behind.w};
    const unsigned keyed = keyed_bytes(part, i);
    /* Four bytes from the one before on. Of the piece's first byte they differ: it is not plain. */
    uint32_t before = i > 0 && i < part.n ? word[0] << 8 | part.piece[i - 1] : ~word[0];
    uint32_t packed[GROUP / 2];
#pragma unroll
    for (int b = 0; b < GROUP; b++) {
        const int w = b / 4;
        const unsigned shift = 8 * (b % 4);
        const uint32_t low = __funnelshift_r(word[w], word[w + 1], shift);
        const uint64_t key = low | (uint64_t)__funnelshift_r(word[w + 1], word[w + 2], shift) << 32;
        const uint64_t more = __funnelshift_r(word[w + 2], word[w + 3], shift) |
                              (uint64_t)__funnelshift_r(word[w + 3], word[min(w + 4, 7)], shift)
                                  << 32;
        const bool plain = low == before;
        unsigned hash = KEY == 4   ? match_hash_4(key)
                        : KEY == 8 ? match_hash_8(key)
                                   : match_hash_16(key, more);
        if (plain || b >= (int)keyed) {
            hash = NO_HASH;
            if (last && i + b < part.at + part.bytes)
                last[b] = tells && plain && b < (int)keyed;
        }
        packed[b / 2] = b % 2 == 0 ? hash : packed[b / 2] | hash << 16;
        before = low;
    }
    ((uint4 *)hashes)[0] = make_uint4(packed[0], packed[1], packed[2], packed[3]);
    ((uint4 *)hashes)[1] = make_uint4(packed[4], packed[5], packed[6], packed[7]);
}

/* Enters the n <= 32 bytes in front of a warp's queue, in their order. last: of the first byte of
 * the half block, where how far back their keys were is stored; NULL: nowhere. */
DEVICE void enter(Search *search, const uint32_t *queue, unsigned n, uint16_t *last)
{
    const unsigned lane = threadIdx.x % 32;
    const uint32_t entry = lane < n ? queue[lane] : ~0u;
    const unsigned hash = entry & 0xFFFF, now = entry >> 16;
    const unsigned same = __match_any_sync(ALL_LANES, hash), lower = same & ((1u << lane) - 1);
    unsigned before = __shfl_sync(ALL_LANES, now, lower ? (int)last_bit_of(lower) : 0);
    if (!lower && lane < n)
        before = search->places[hash];
    __syncwarp(); /* places are read */
    if (lane < n && lane == last_bit_of(same))
        search->places[hash] = (uint16_t)now;
    if (lane < n && last)
        last[now - MATCH_PLACES] =
            (uint16_t)(before > 0 && now - before <= MATCH_REACH ? now - before : 0);
    __syncwarp(); /* places are entered */
}

/* Enters the staged bytes whose hashes are the warp's, from place `place` on. waiting: bytes in its
 * queue. Returns how many are left there, fewer than 32. */
DEVICE unsigned enter_staged(Search *search, const uint16_t *hashes, unsigned place,
                             unsigned waiting, uint16_t *last)
{
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint32_t *const queue = search->queue[warp];
    for (unsigned k = 0; k < STAGED; k += 32 * TOGETHER) {
        unsigned hash[TOGETHER];
#pragma unroll
        for (int t = 0; t < TOGETHER; t++)
            hash[t] = hashes[k + 32 * t + lane];
#pragma unroll
        for (int t = 0; t < TOGETHER; t++) {
            const bool is_own = hash[t] >> (HASH_BITS - 3) == warp;
            const unsigned own = __ballot_sync(ALL_LANES, is_own);
            if (is_own)
                queue[waiting + __popc(own & ((1u << lane) - 1))] =
                    (place + k + 32 * t + lane) << 16 | hash[t];
            waiting += __popc(own);
        }
        if (waiting < 32)
            continue;
        __syncwarp(); /* they are in the queue */
        unsigned entered = 0;
        for (; waiting - entered >= 32; entered += 32)
            enter(search, queue + entered, 32, last);
        const uint32_t left = queue[min(entered + lane, QUEUE - 1u)];
        __syncwarp(); /* what is left is read */
        waiting -= entered;
        if (lane < waiting)
            queue[lane] = left;
    }
    return waiting;
}

/* Finds how far back a key of each byte of the block was, in the 32,768 bytes before it as well.
 * All threads; they meet before and after. */
template <unsigned KEY>
DEVICE void find_last(Coder *coder, Search *search, const Part &part, uint16_t *last, bool tells)
{
    enum { VECTORS = SEARCH_BYTES / 16 };
    uint16_t *const hashes = (uint16_t *)coder->out;
    uint4 *const places = (uint4 *)search->places;
    const uint64_t end = part.at + part.bytes;
    for (unsigned i = threadIdx.x; i < VECTORS; i += THREADS)
        places[i] = make_uint4(0, 0, 0, 0);
    for (uint64_t half = part.at > 0 ? part.at - MATCH_PLACES : 0; half < end;
         half += MATCH_PLACES) {
        uint16_t *const there = half < part.at ? NULL : last + (half - part.at);
        unsigned waiting = 0;
        for (unsigned first = 0; first < MATCH_PLACES && half + first < end; first += STAGED) {
            const unsigned at = first + GROUP * threadIdx.x;
            __syncthreads(); /* what was staged is used */
            hash_group<KEY>(part, half + at, hashes + GROUP * threadIdx.x,
                            there ? there + at : NULL, tells);
            __syncthreads(); /* hashes are staged */
            waiting = enter_staged(search, hashes, MATCH_PLACES + first, waiting, there);
        }
        __syncwarp(); /* what is left is in the queue */
        enter(search, search->queue[threadIdx.x / 32], waiting, there);
        __syncthreads(); /* all are entered */
        for (unsigned i = threadIdx.x; i < VECTORS; i += THREADS) {
            const uint4 v = places[i];
            places[i] = make_uint4(__vsubus2(v.x, 0x80008000), __vsubus2(v.y, 0x80008000),
                                   __vsubus2(v.z, 0x80008000), __vsubus2(v.w, 0x80008000));
        }
    }
    __syncthreads(); /* the table may go */
}

/* ---- Matches ---- */

/* What is the longest key with a good place, and how many of 16 bytes are equal there. */
struct Found {
    unsigned distance, n;
};

/* The match of byte i of the block, as far as 16 bytes tell. */
DEVICE Found find_match(const Search *search, const Part &part, unsigned i, bool fast)
{
    const uint64_t at = part.at + i;
    unsigned last[MATCH_KEYS], n[MATCH_KEYS];
#pragma unroll
    for (int k = 0; k < MATCH_KEYS; k++)
        last[k] = k > 0 && fast ? 0 : search->last[k][i];
    const uint64_t first = at - max(last[0], max(last[1], last[2]));
    uint4 own, there[MATCH_KEYS];
    if (is_inside(part, first) && is_inside(part, at)) {
        own = load_words(part.piece + at);
#pragma unroll
        for (int k = 0; k < MATCH_KEYS; k++)
            there[k] = load_words(part.piece + at - last[k]);
    } else {
        own = load_sixteen(part, at);
#pragma unroll
        for (int k = 0; k < MATCH_KEYS; k++)
            there[k] = load_sixteen(part, at - last[k]);
    }
#pragma unroll
    for (int k = 0; k < MATCH_KEYS; k++)
        n[k] = last[k] > 0 ? equal_of(own, there[k]) : 0;
    /* Four bytes at distance 1 are equal where a byte is plain, and nowhere else. */
    if (n[0] >= (fast ? 8 : 16) || (last[0] == 1 && n[0] >= 4))
        return Found{last[0], n[0]};
    if (n[1] >= 8)
        return Found{last[1], n[1]};
    return n[2] >= 4 ? Found{last[2], n[2]} : Found{0, 0};
}

/* Lengths of the matches of 32 bytes. Of neighbours at one distance all lanes look for the end of
 * the last one alone, if it has more than 16 bytes. Whole warps. */
DEVICE unsigned length_of(const Part &part, unsigned i, Found found)
{
    enum { KNOWN = 16 };
    static_assert(KNOWN + 32 * 8 >= LONGEST_MATCH, "all lanes see all of a match");
    const unsigned lane = threadIdx.x % 32, distance = found.distance;
    const unsigned end = min(part.bytes, (i / MATCH_SPAN + 1) * MATCH_SPAN);
    const unsigned most = i < end ? min(end - i, (unsigned)LONGEST_MATCH) : 0;
    const unsigned next = __shfl_down_sync(ALL_LANES, distance, 1);
    const bool counts = distance > 0 && (lane == 31 || next != distance);
    unsigned n = min(found.n, most);
    for (unsigned left = __ballot_sync(ALL_LANES, counts && n == KNOWN && most > KNOWN); left != 0;
         left &= left - 1) {
        const int of = (int)first_bit_of(left);
        const unsigned all = __shfl_sync(ALL_LANES, most, of), begin = KNOWN + 8 * lane;
        const unsigned there = __shfl_sync(ALL_LANES, i, of);
        const unsigned back = __shfl_sync(ALL_LANES, distance, of);
        const unsigned own = begin < all ? min(all - begin, 8u) : 0;
        const uint64_t at = part.at + min(there + begin, part.bytes);
        const unsigned equal =
            min(equal_of(load_sixteen(part, at), load_sixteen(part, at - back)), own);
        const unsigned differ = __ballot_sync(ALL_LANES, equal < own);
        const unsigned first = differ ? first_bit_of(differ) : 0;
        const unsigned total = KNOWN + 8 * first + __shfl_sync(ALL_LANES, equal, (int)first);
        if (lane == (unsigned)of)
            n = differ ? total : all;
    }
    const unsigned counting = __ballot_sync(ALL_LANES, counts) >> lane << lane;
    const unsigned last = counting ? first_bit_of(counting) : lane;
    n = __shfl_sync(ALL_LANES, n, (int)last) + last - lane;
    return distance > 0 ? min(n, (unsigned)LONGEST_MATCH) : 0;
}

/* Finds the match of each byte. Sets the bits of `covered` of those that have one. */
DEVICE void find_matches(Coder *coder, Search *search, const Part &part, bool fast)
{
    uint32_t *const matches = (uint32_t *)coder->covered;
    for (unsigned first = 0; first < DEFLATE_CODER_BLOCK; first += THREADS) {
        const unsigned i = first + threadIdx.x;
        const Found found = i < part.bytes ? find_match(search, part, i, fast) : Found{0, 0};
        unsigned n = length_of(part, i, found);
        if (fast && n < MATCH_SHORTEST_FAST)
            n = 0;
        search->length[i] = (uint8_t)(n > 0 ? n - SHORTEST_MATCH : 0);
        if (i < part.bytes)
            search->distance[i] = (uint16_t)found.distance;
        const unsigned word = __ballot_sync(ALL_LANES, n > 0);
        if (threadIdx.x % 32 == 0)
            matches[i / 32] = word;
    }
}

/* From the first byte of each span on: takes the next match, and clears the bits of `stop` of the
 * bytes behind its first. All threads; they meet before and after. */
DEVICE void take_matches(Coder *coder, const Search *search)
{
    for (unsigned c = threadIdx.x; c <= CHUNKS; c += THREADS)
        coder->stop[c] = ~0ull;
    if (threadIdx.x == 0)
        coder->covered[CHUNKS] = ~0ull; /* where looking for the next ends */
    __syncthreads();                    /* the bits are set */
    if (threadIdx.x % 32 == 0) {
        const unsigned begin = threadIdx.x / 32 * MATCH_SPAN, end = begin + MATCH_SPAN;
        for (unsigned i = begin; (i = next_bit(coder->covered, i)) < end;) {
            const unsigned behind = i + search->length[i] + SHORTEST_MATCH;
            for (unsigned k = i + 1; k < behind;) {
                const unsigned here = min(behind - k / CHUNK * CHUNK, (unsigned)CHUNK);
                coder->stop[k / CHUNK] &= ~bits_between(k % CHUNK, here);
                k = k / CHUNK * CHUNK + here;
            }
            i = behind;
        }
    }
    __syncthreads(); /* all are taken */
}

/* Takes the matches of the block: `covered` and `stop` tell them. All threads; they meet before and
 * after. */
DEVICE void search_matches(Coder *coder, Search *search, const Part &part, bool fast)
{
    if (fast) {
        find_last<8>(coder, search, part, search->last[0], true);
    } else {
        find_last<16>(coder, search, part, search->last[0], true);
        find_last<8>(coder, search, part, search->last[1], false);
        find_last<4>(coder, search, part, search->last[2], false);
    }
    find_matches(coder, search, part, fast);
    __syncthreads(); /* all have matches */
    take_matches(coder, search);
    for (unsigned c = threadIdx.x; c < CHUNKS; c += THREADS)
        coder->covered[c] |= ~coder->stop[c];
    if (threadIdx.x == 0)
        coder->covered[CHUNKS] = 0;
    __syncthreads(); /* the bits are as those of runs */
}

/* ---- Distances ---- */

/* The symbol of a distance; *bits: of the extra bits. */
DEVICE unsigned distance_symbol(unsigned distance, unsigned *bits)
{
    const unsigned v = distance - 1;
    *bits = last_bit_of(v | 2) - 1;
    return 2 * *bits + (v >> *bits);
}

/* Makes the code of distances. All threads; they meet before and after. */
DEVICE void make_distance_codes(Coder *coder, Search *search)
{
    if (threadIdx.x < 32)
        search->distance_counts[threadIdx.x] = 0;
    __syncthreads(); /* all counters are 0 */
    for (unsigned c = threadIdx.x; c < CHUNKS; c += THREADS)
        for (uint64_t left = coder->covered[c] & coder->stop[c]; left != 0; left &= left - 1) {
            unsigned bits;
            const unsigned i = c * CHUNK + first_bit_of(left);
            atomicAdd(&search->distance_counts[distance_symbol(search->distance[i], &bits)], 1u);
        }
    __syncthreads(); /* distances are counted */
    if (threadIdx.x == 0)
        deflate_complete_distances(search->distance_counts);
    __syncthreads(); /* two occur */
    uint8_t *const lengths = (uint8_t *)search->distance_lengths;
    code_lengths<THREADS>(&coder->room, search->distance_counts, DISTANCES, LONGEST_CODE, lengths);
    canonical_codes<THREADS>(&coder->room, lengths, DISTANCES, search->distance_codes);
    __syncthreads(); /* the codes are there */
}

/* The code of the distance of the match at byte i; *extra: its extra bits, as a code. */
DEVICE uint32_t distance_code(const Search *search, unsigned i, uint32_t *extra)
{
    unsigned extra_bits;
    const unsigned distance = search->distance[i];
    const unsigned symbol = distance_symbol(distance, &extra_bits);
    *extra = ((distance - 1) & ((1u << extra_bits) - 1)) << CODE_SHIFT | extra_bits;
    return search->distance_codes[symbol];
}

#endif
