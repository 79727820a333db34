/* SPDX-License-Identifier: MIT */
/* deflate_vbmi.h: counts 64 bytes at once, and looks up their codes. Included by deflate_loops.c
 * alone. */

#define VBMI __attribute__((target("avx512vbmi,avx512vbmi2")))

FORCE_INLINE bool has_vbmi(void)
{
    return __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2");
}

/* ---- Counts ---- */

/* Bytes -COMMON / 2 to COMMON / 2 - 1 are counted by comparisons, each in 64 counters of a byte. In
 * filtered rows they are most. The others are moved together, and counted one by one. */
enum { COMMON = 16, FIRST_GROUPS = 16, MOST_GROUPS = 255 };

/* Counts 64 `groups` <= MOST_GROUPS bytes. Returns how many are not common. */
VBMI static size_t count_groups(const uint8_t *from, size_t groups, uint32_t counts[256])
{
    uint8_t others[64 * (MOST_GROUPS + 1)];
    uint32_t shifted[256] = {0};
    __m512i sum[COMMON];
    size_t n_others = 0;
    for (unsigned k = 0; k < COMMON; k++)
        sum[k] = _mm512_setzero_si512();
    for (size_t g = 0; g < groups; g++) {
        const __m512i bytes =
            _mm512_add_epi8(_mm512_loadu_si512(from + 64 * g), _mm512_set1_epi8(COMMON / 2));
        for (unsigned k = 0; k < COMMON; k++) {
            const __mmask64 equal = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8((char)k));
            sum[k] = _mm512_mask_sub_epi8(sum[k], equal, sum[k], _mm512_set1_epi8(-1));
        }
        const __mmask64 other = _mm512_cmpge_epu8_mask(bytes, _mm512_set1_epi8(COMMON));
        _mm512_storeu_si512(others + n_others, _mm512_maskz_compress_epi8(other, bytes));
        n_others += (size_t)__builtin_popcountll(other);
    }
    count_bytes(others, n_others, shifted);
    for (unsigned k = 0; k < COMMON; k++) {
        const __m512i parts = _mm512_sad_epu8(sum[k], _mm512_setzero_si512());
        shifted[k] = (uint32_t)_mm512_reduce_add_epi64(parts);
    }
    for (unsigned v = 0; v < 256; v++)
        counts[(uint8_t)(v - COMMON / 2)] += shifted[v];
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

/* What stays in registers. Compilers would load it again for each use, which takes the ports that
 * look-ups need. */
typedef struct Lookup {
    __m512i low[4], high[4];                                     /* tables of 256 */
    __m512i byte, length, upper, half, word, one_byte, one_word; /* masks and factors */
} Lookup;

VBMI FORCE_INLINE __m512i kept(__m512i v)
{
    __asm__("" : "+v"(v));
    return v;
}

VBMI FORCE_INLINE Lookup make_lookup(const DeflateSymbols *codes)
{
    Lookup lookup = {.byte = kept(_mm512_set1_epi16(0xFF)),
                     .length = kept(_mm512_set1_epi8(0xF)),
                     .upper = kept(_mm512_set1_epi16(0xF00)),
                     .half = kept(_mm512_set1_epi32(0xFFFF)),
                     .word = kept(_mm512_set1_epi64(0xFFFFFFFF)),
                     .one_byte = kept(_mm512_set1_epi8(1)),
                     .one_word = kept(_mm512_set1_epi16(1))};
    for (size_t i = 0; i < 4; i++) {
        lookup.low[i] = kept(_mm512_loadu_si512(codes->low + 64 * i));
        lookup.high[i] = kept(_mm512_loadu_si512(codes->high + 64 * i));
    }
    return lookup;
}

/* Looks up those of 64 bytes that are `taken`; 0 for others. */
VBMI FORCE_INLINE __m512i look_up(const __m512i table[4], __m512i bytes, __mmask64 taken)
{
    const __m512i low = _mm512_permutex2var_epi8(table[0], bytes, table[1]);
    const __m512i high = _mm512_permutex2var_epi8(table[2], bytes, table[3]);
    return _mm512_maskz_mov_epi8(taken,
                                 _mm512_mask_blend_epi8(_mm512_movepi8_mask(bytes), low, high));
}

/* Symbols of 64 bytes: four bytes in each element of `even` and `odd` by turns. */
typedef struct Quads {
    __m512i even, odd, n_even, n_odd;
} Quads;

/* The codes of literals. */
VBMI FORCE_INLINE Quads literal_quads(__m512i bytes, __mmask64 taken, const Lookup *c)
{
    const __m512i l = look_up(c->low, bytes, taken), h = look_up(c->high, bytes, taken);
    /* words: the codes and lengths of bytes 0 and 2 of each four, and of 1 and 3 */
    const __m512i code0 = _mm512_or_si512(_mm512_and_si512(l, c->byte),
                                          _mm512_and_si512(_mm512_slli_epi16(h, 4), c->upper));
    const __m512i code1 = _mm512_or_si512(_mm512_srli_epi16(l, 8),
                                          _mm512_and_si512(_mm512_srli_epi16(h, 4), c->upper));
    const __m512i lengths = _mm512_and_si512(h, c->length);
    const __m512i n0 = _mm512_and_si512(lengths, c->byte);
    const __m512i n = _mm512_maddubs_epi16(lengths, c->one_byte); /* of both */
    /* 32-bit elements: the codes of bytes 0 and 1, and of 2 and 3 */
    const __m512i first = _mm512_or_si512(
        _mm512_and_si512(code0, c->half),
        _mm512_sllv_epi32(_mm512_and_si512(code1, c->half), _mm512_and_si512(n0, c->half)));
    const __m512i second =
        _mm512_or_si512(_mm512_srli_epi32(code0, 16),
                        _mm512_sllv_epi32(_mm512_srli_epi32(code1, 16), _mm512_srli_epi32(n0, 16)));
    const __m512i n_first = _mm512_and_si512(n, c->half);
    const __m512i n_four = _mm512_madd_epi16(n, c->one_word);
    Quads quads;
    quads.even = _mm512_or_si512(
        _mm512_and_si512(first, c->word),
        _mm512_sllv_epi64(_mm512_and_si512(second, c->word), _mm512_and_si512(n_first, c->word)));
    quads.odd = _mm512_or_si512(
        _mm512_srli_epi64(first, 32),
        _mm512_sllv_epi64(_mm512_srli_epi64(second, 32), _mm512_srli_epi64(n_first, 32)));
    quads.n_even = _mm512_and_si512(n_four, c->word);
    quads.n_odd = _mm512_srli_epi64(n_four, 32);
    return quads;
}

/* Appends to each four bytes in which a match begins the bits of the match. Matches are longer than
 * four bytes, so nothing follows them there. */
VBMI FORCE_INLINE void add_matches(Quads *quads, __mmask64 starts, const uint32_t *matches)
{
    const __m512i ones = _mm512_movm_epi8(starts), byte = _mm512_set1_epi64(0xFF);
    const __m512i all = _mm512_maskz_expandloadu_epi32(_mm512_test_epi32_mask(ones, ones), matches);
    const __m512i even = _mm512_and_si512(all, _mm512_set1_epi64(0xFFFFFFFF));
    const __m512i odd = _mm512_srli_epi64(all, 32);
    quads->even =
        _mm512_or_si512(quads->even, _mm512_sllv_epi64(_mm512_srli_epi64(even, 8), quads->n_even));
    quads->odd =
        _mm512_or_si512(quads->odd, _mm512_sllv_epi64(_mm512_srli_epi64(odd, 8), quads->n_odd));
    quads->n_even = _mm512_add_epi64(quads->n_even, _mm512_and_si512(even, byte));
    quads->n_odd = _mm512_add_epi64(quads->n_odd, _mm512_and_si512(odd, byte));
}

/* What is to be written: eight or sixteen elements. */
typedef struct Parts {
    uint64_t bits[16];
    uint64_t n[16];
    unsigned eights;
} Parts;

/* Eight bytes make a part, if none of them takes more bits than bits_put does at once. */
VBMI FORCE_INLINE void store_parts(const Quads *quads, Parts *parts)
{
    const __m512i n = _mm512_add_epi64(quads->n_even, quads->n_odd);
    if (_mm512_cmpgt_epi64_mask(n, _mm512_set1_epi64(56)) == 0) {
        _mm512_storeu_si512(
            parts->bits,
            _mm512_or_si512(quads->even, _mm512_sllv_epi64(quads->odd, quads->n_even)));
        _mm512_storeu_si512(parts->n, n);
        parts->eights = 1;
        return;
    }
    for (unsigned k = 0; k < 2; k++) {
        const __m512i turns =
            _mm512_add_epi64(_mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0), _mm512_set1_epi64(4 * k));
        _mm512_storeu_si512(parts->bits + 8 * k,
                            _mm512_permutex2var_epi64(quads->even, turns, quads->odd));
        _mm512_storeu_si512(parts->n + 8 * k,
                            _mm512_permutex2var_epi64(quads->n_even, turns, quads->n_odd));
    }
    parts->eights = 2;
}

FORCE_INLINE void put_parts(BitEnd *end, const Parts *parts)
{
    const uint64_t *bits = parts->bits, *n = parts->n;
    for (unsigned i = 0; i < parts->eights; i++, bits += 8, n += 8)
        for (unsigned k = 0; k < 8; k++)
            bits_put(end, bits[k], (unsigned)n[k]);
}

/* While bits are put one after the other, the next 64 bytes are looked up. */
VBMI static void symbols_vbmi(const uint8_t *from, size_t n, const DeflateRuns *runs,
                              const DeflateSymbols *codes, BitEnd *end)
{
    _Static_assert(3 * LITERAL_LONGEST + MATCH_LONGEST <= 56, "four bytes at once");
    const Lookup lookup = make_lookup(codes);
    const uint32_t *match = codes->match;
    BitEnd here = *end; /* in registers */
    Parts parts[2], *made = parts, *next = parts + 1;
    made->eights = 0;
    for (size_t i = 0; i < n; i += 64) {
        const __mmask64 inside = n - i < 64 ? ((uint64_t)1 << (n - i)) - 1 : UINT64_MAX;
        const __mmask64 starts = runs->starts[i / 64], taken = inside & ~runs->covered[i / 64];
        if (taken == 0 && starts == 0)
            continue;
        Quads quads = literal_quads(_mm512_maskz_loadu_epi8(inside, from + i), taken, &lookup);
        if (starts != 0) {
            add_matches(&quads, starts, match);
            match += __builtin_popcountll(starts);
        }
        store_parts(&quads, next);
        __asm__("" : "+m"(parts)); /* else compilers take vectors apart, which is slower */
        put_parts(&here, made);
        Parts *const free = made;
        made = next;
        next = free;
    }
    put_parts(&here, made);
    *end = here;
}
