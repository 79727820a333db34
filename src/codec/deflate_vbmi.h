/* SPDX-License-Identifier: MIT */
/* deflate_vbmi.h: counts 64 bytes at once, and puts their codes. Included by deflate_loops.c
 * alone. */

#define VBMI __attribute__((target("avx512vbmi,avx512vbmi2,avx512vpopcntdq")))

FORCE_INLINE bool has_vbmi(void)
{
    return __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2") &&
           __builtin_cpu_supports("avx512vpopcntdq");
}

/* ---- Counts ---- */

/* Bytes -COMMON / 2 to COMMON / 2 - 1 are counted 64 at once. In filtered rows they are most. The
 * others are moved together, and counted one by one. */
enum { COMMON = 16, FIRST_GROUPS = 16, MOST_GROUPS = 255 };

/* Returns one bit of each of 64 bytes, in each element. bit: a power of two. */
VBMI FORCE_INLINE __m512i bits_of(__m512i bytes, char bit)
{
    return _mm512_set1_epi64((long long)_mm512_test_epi8_mask(bytes, _mm512_set1_epi8(bit)));
}

/* Counts 64 `groups` <= MOST_GROUPS bytes. Returns how many are not common. Of common values each
 * has an element, whose bits become those bytes that have the value. */
VBMI static size_t count_groups(const uint8_t *from, size_t groups, uint32_t counts[256])
{
    const __m512i bit0 =
        _mm512_set_epi64(0, -1, 0, -1, 0, -1, 0, -1); /* -1: of values without it */
    const __m512i bit1 = _mm512_set_epi64(0, 0, -1, -1, 0, 0, -1, -1);
    const __m512i bit2 = _mm512_set_epi64(0, 0, 0, 0, -1, -1, -1, -1);
    enum { AND_DIFFERENT = 0x60 }; /* a & (b ^ c) */
    uint8_t others[64 * (MOST_GROUPS + 1)];
    uint32_t shifted[256] = {0};
    uint64_t sums[COMMON];
    __m512i lower = _mm512_setzero_si512(), upper = lower;
    size_t n_others = 0;
    for (size_t g = 0; g < groups; g++) {
        const __m512i bytes =
            _mm512_add_epi8(_mm512_loadu_si512(from + 64 * g), _mm512_set1_epi8(COMMON / 2));
        const __mmask64 other = _mm512_cmpge_epu8_mask(bytes, _mm512_set1_epi8(COMMON));
        const uint64_t large = _mm512_test_epi8_mask(bytes, _mm512_set1_epi8(COMMON / 2));
        __m512i have = _mm512_xor_si512(bits_of(bytes, 1), bit0);
        have = _mm512_ternarylogic_epi64(have, bits_of(bytes, 2), bit1, AND_DIFFERENT);
        have = _mm512_ternarylogic_epi64(have, bits_of(bytes, 4), bit2, AND_DIFFERENT);
        const __m512i low = _mm512_and_si512(have, _mm512_set1_epi64((long long)~(other | large)));
        const __m512i high = _mm512_and_si512(have, _mm512_set1_epi64((long long)(~other & large)));
        lower = _mm512_add_epi64(lower, _mm512_popcnt_epi64(low));
        upper = _mm512_add_epi64(upper, _mm512_popcnt_epi64(high));
        _mm512_storeu_si512(others + n_others, _mm512_maskz_compress_epi8(other, bytes));
        n_others += (size_t)__builtin_popcountll(other);
    }
    count_bytes(others, n_others, shifted);
    _mm512_storeu_si512(sums, lower);
    _mm512_storeu_si512(sums + COMMON / 2, upper);
    for (unsigned v = 0; v < 256; v++)
        counts[(uint8_t)(v - COMMON / 2)] += v < COMMON ? (uint32_t)sums[v] : shifted[v];
    return n_others;
}

static void count_vbmi(const uint8_t *from, size_t n, uint32_t counts[256])
{
    size_t i = 0;
    while (n - i >= 64) {
        const size_t left = (n - i) / 64;
        const size_t groups = left <= MOST_GROUPS ? left : i == 0 ? FIRST_GROUPS : MOST_GROUPS;
        const size_t others = count_groups(from + i, groups, counts);
        i += 64 * groups;
        if (others > 32 * groups) /* noise, say */
            break;
    }
    count_bytes(from + i, n - i, counts);
}

/* ---- Codes ---- */

/* Codes of bytes, as DeflateSymbols has them. Compilers would load them anew for each use. */
typedef struct Lookup {
    __m512i low[4], high[4];
} Lookup;

VBMI FORCE_INLINE __m512i kept(__m512i v)
{
    __asm__("" : "+v"(v));
    return v;
}

VBMI FORCE_INLINE Lookup make_lookup(const DeflateSymbols *codes)
{
    Lookup lookup;
    for (size_t i = 0; i < 4; i++) {
        lookup.low[i] = kept(_mm512_loadu_si512(codes->low + 64 * i));
        lookup.high[i] = kept(_mm512_loadu_si512(codes->high + 64 * i));
    }
    return lookup;
}

/* Looks up 64 bytes. */
VBMI FORCE_INLINE __m512i look_up(const __m512i table[4], __m512i bytes)
{
    const __m512i low = _mm512_permutex2var_epi8(table[0], bytes, table[1]);
    const __m512i high = _mm512_permutex2var_epi8(table[2], bytes, table[3]);
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(bytes), low, high);
}

/* 64 symbols or fewer: four in each element of `even` and `odd` by turns, and the numbers of their
 * bits. */
typedef struct Quads {
    __m512i even, odd, n;
    unsigned symbols;
} Quads;

/* Joins the codes of 64 symbols; low, high: as the tables have them. Neighbours are joined twice:
 * the second one is moved left by the length of the first one, and what leaves the element becomes
 * the upper half of a larger one. These moves take counts modulo the bits of an element, so what is
 * above a count does not matter. */
VBMI FORCE_INLINE Quads join_codes(__m512i low, __m512i high)
{
    /* Indices that exchange neighbours */
    const __m512i bytes = _mm512_set4_epi32(0x0E0F0C0D, 0x0A0B0809, 0x06070405, 0x02030001);
    const __m512i words = _mm512_set4_epi32(0x0D0C0F0E, 0x09080B0A, 0x05040706, 0x01000302);
    const __m512i zero = _mm512_setzero_si512(), nibble = _mm512_set1_epi8(15);
    const __m512i h1 = _mm512_and_si512(high, nibble);
    const __m512i n1 = _mm512_and_si512(_mm512_srli_epi16(high, 4), nibble);
    const __m512i n2 = _mm512_maddubs_epi16(n1, _mm512_set1_epi8(1));
    const __m512i first = _mm512_mask_shuffle_epi8(low, 0xAAAAAAAAAAAAAAAA, h1, bytes);
    const __m512i second = _mm512_mask_shuffle_epi8(h1, 0x5555555555555555, low, bytes);
    const __m512i l2 = _mm512_or_si512(first, _mm512_shldv_epi16(second, zero, n1));
    const __m512i h2 = _mm512_shldv_epi16(zero, second, n1);
    const __m512i third = _mm512_mask_shuffle_epi8(l2, 0xCCCCCCCCCCCCCCCC, h2, words);
    const __m512i fourth = _mm512_mask_shuffle_epi8(h2, 0x3333333333333333, l2, words);
    const __m512i l4 = _mm512_or_si512(third, _mm512_shldv_epi32(fourth, zero, n2));
    const __m512i h4 = _mm512_shldv_epi32(zero, fourth, n2);
    return (Quads){.even = _mm512_mask_shuffle_epi32(l4, 0xAAAA, h4, _MM_PERM_CDAB),
                   .odd = _mm512_mask_shuffle_epi32(h4, 0x5555, l4, _MM_PERM_CDAB),
                   .n = _mm512_madd_epi16(n2, _mm512_set1_epi16(1)),
                   .symbols = 64};
}

/* ---- Matches ---- */

/* Matches as two symbols each, which stand for their first two bytes; as the tables have codes. */
typedef struct MatchPairs {
    uint8_t low[2 * DEFLATE_MATCHES], high[2 * DEFLATE_MATCHES];
} MatchPairs;

/* Each of the two has a bit and more. */
static void pair_matches(const uint32_t *match, size_t n, MatchPairs *pairs)
{
    _Static_assert(MATCH_LONGEST - LITERAL_LONGEST <= 8, "the second one has no upper bits");
    for (size_t k = 0; k < n; k++) {
        const uint32_t bits = match[k] >> 8, length = code_length(match[k]);
        const uint32_t first = length > LITERAL_LONGEST ? LITERAL_LONGEST : length - 1;
        const uint32_t code = bits & ((1u << first) - 1);
        pairs->low[2 * k] = (uint8_t)code;
        pairs->high[2 * k] = (uint8_t)(first << 4 | code >> 8);
        pairs->low[2 * k + 1] = (uint8_t)(bits >> first);
        pairs->high[2 * k + 1] = (uint8_t)((length - first) << 4);
    }
}

/* ---- Bits ---- */

/* Where the bits end: `held` in the last element, and in each of `n` how many there are, modulo
 * 8. */
typedef struct VectorEnd {
    uint8_t *to;
    __m512i held, n;
} VectorEnd;

/* Appends the low n <= 64 bits of each element; of n the lower byte counts. Each element is moved
 * to its place in a byte, holds for the next one what is left behind the last byte that it
 * completes, and all complete bytes are moved together. last: the last element that has bits; up to
 * there at most short_ones neighbours complete no byte. They hold what those before them hold as
 * well. */
VBMI FORCE_INLINE void put_elements(VectorEnd *end, __m512i bits, __m512i n, unsigned last,
                                    unsigned short_ones)
{
    const __m512i in_byte = _mm512_set1_epi64(7), whole_bytes = _mm512_set1_epi64(0x78);
    const __m512i numbers = _mm512_maskz_permutexvar_epi8(
        0x7F3F1F0F07030100, _mm512_set1_epi64(0x3830282018100800), n); /* of those before */
    const __m512i before = _mm512_sad_epu8(numbers, _mm512_setzero_si512());
    const __m512i at = _mm512_and_si512(_mm512_add_epi64(before, end->n), in_byte);
    const __m512i placed = _mm512_sllv_epi64(bits, at), filled = _mm512_add_epi64(at, n);
    const __m512i whole = _mm512_and_si512(filled, whole_bytes);
    __m512i held = _mm512_srlv_epi64(bits, _mm512_sub_epi64(whole, at));
    if (short_ones > 0) {
        const __mmask8 none = _mm512_testn_epi64_mask(filled, whole_bytes);
        const __m512i own = _mm512_mask_mov_epi64(held, none, placed);
        held = own;
        for (unsigned k = 0; k < short_ones; k++) { /* moved by a byte, what is held is 0 */
            const __m512i left = _mm512_alignr_epi64(held, end->held, 7);
            held = _mm512_or_si512(own, _mm512_srlv_epi64(left, whole));
        }
    }
    const __m512i bytes = _mm512_or_si512(placed, _mm512_alignr_epi64(held, end->held, 7));
    const __mmask64 complete = _mm512_cmpge_epu8_mask(
        _mm512_shuffle_epi8(filled, _mm512_set4_epi32(0x08080808, 0x08080808, 0, 0)),
        _mm512_set1_epi64(0x4038302820181008));
    _mm512_storeu_si512(end->to, _mm512_maskz_compress_epi8(complete, bytes));
    end->to += __builtin_popcountll(complete);
    end->held = short_ones > 0 ? _mm512_permutexvar_epi64(_mm512_set1_epi64(last), held) : held;
    end->n = _mm512_permutexvar_epi64(in_byte, filled);
}

/* Eight symbols make an element if none of them takes too many bits, else four. Each has a bit and
 * more: eight complete a byte, and so do two times four. Fewer at the end may not. */
VBMI FORCE_INLINE void put_quads(VectorEnd *end, const Quads *quads)
{
    const __m512i n_odd = _mm512_srli_epi64(quads->n, 32), n = _mm512_add_epi64(quads->n, n_odd);
    const unsigned last = quads->symbols > 0 ? (quads->symbols - 1) / 4 : 0;
    if (_mm512_mask_cmpgt_epi32_mask(0x5555, n, _mm512_set1_epi32(64)) == 0) {
        const __m512i odd = _mm512_shldv_epi64(quads->odd, _mm512_setzero_si512(), quads->n);
        const __m512i bits = _mm512_or_si512(quads->even, odd);
        if (quads->symbols == 64)
            put_elements(end, bits, n, 7, 0);
        else
            put_elements(end, bits, n, last / 2, 1);
        return;
    }
    const __m512i lower = _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0);
    const __m512i upper = _mm512_add_epi64(lower, _mm512_set1_epi64(4));
    put_elements(end, _mm512_permutex2var_epi64(quads->even, lower, quads->odd),
                 _mm512_permutex2var_epi64(quads->n, lower, n_odd), last < 8 ? last : 7, 2);
    put_elements(end, _mm512_permutex2var_epi64(quads->even, upper, quads->odd),
                 _mm512_permutex2var_epi64(quads->n, upper, n_odd), last < 8 ? 0 : last - 8, 2);
}

/* While symbols are put, the next 64 bytes are looked up, and others are fetched from memory. Bytes
 * that matches stand for are left out, but for the first two of each. */
VBMI static void symbols_vbmi(const uint8_t *from, size_t n, const DeflateRuns *runs,
                              const DeflateSymbols *codes, BitEnd *end)
{
    const Lookup lookup = make_lookup(codes);
    VectorEnd here = {end->to, _mm512_set1_epi64((long long)end->held), _mm512_set1_epi64(end->n)};
    Quads made = {.symbols = 0};
    MatchPairs pairs;
    size_t paired = 0;
    uint64_t second = 0; /* of a match that begins at the byte before */
    made.even = made.odd = made.n = _mm512_setzero_si512();
    pair_matches(codes->match, runs->n, &pairs);
    for (size_t i = 0; i < n; i += 64) {
        const __mmask64 inside = n - i < 64 ? ((uint64_t)1 << (n - i)) - 1 : UINT64_MAX;
        const __mmask64 literals = inside & ~runs->covered[i / 64];
        const __m512i bytes = _mm512_maskz_loadu_epi8(inside, from + i);
        __m512i low = look_up(lookup.low, bytes), high = look_up(lookup.high, bytes);
        Quads next;
        __builtin_prefetch((const void *)(codes->next + i), 0, 2);
        if (literals == UINT64_MAX) {
            next = join_codes(low, high);
        } else {
            const uint64_t starts = runs->starts[i / 64], matches = starts | starts << 1 | second;
            const uint64_t symbols = literals | matches;
            second = starts >> 63;
            low = _mm512_mask_expandloadu_epi8(low, matches, pairs.low + paired);
            high = _mm512_mask_expandloadu_epi8(high, matches, pairs.high + paired);
            paired += (unsigned)__builtin_popcountll(matches);
            next = join_codes(_mm512_maskz_compress_epi8(symbols, low),
                              _mm512_maskz_compress_epi8(symbols, high));
            next.symbols = (unsigned)__builtin_popcountll(symbols);
        }
        put_quads(&here, &made);
        made = next;
    }
    put_quads(&here, &made);
    end->to = here.to;
    end->held = (uint64_t)_mm512_reduce_add_epi64(_mm512_maskz_mov_epi64(0x80, here.held));
    end->n = (unsigned)_mm_cvtsi128_si32(_mm512_castsi512_si128(here.n)) & 7;
}
