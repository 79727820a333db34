/* SPDX-License-Identifier: MIT */
/* filter_vectors.h: PNG's filters for many bytes at once. Included by filter.c alone. */

/* OP(x): the intrinsic x for Bytes. */
#if defined(__AVX512BW__)
typedef __m512i Bytes;
#define OP(x) _mm512_##x
#else
typedef __m256i Bytes;
#define OP(x) _mm256_##x
#endif

FORCE_INLINE Bytes load(const uint8_t *at)
{
    Bytes v;
    memcpy(&v, at, sizeof v);
    return v;
}

FORCE_INLINE void store(uint8_t *at, Bytes v)
{
    memcpy(at, &v, sizeof v);
}

FORCE_INLINE Bytes subtract(Bytes a, Bytes b)
{
    return OP(sub_epi8)(a, b);
}

/* a - b, at least 0. */
FORCE_INLINE Bytes excess(Bytes a, Bytes b)
{
    return OP(subs_epu8)(a, b);
}

FORCE_INLINE Bytes lesser(Bytes a, Bytes b)
{
    return OP(min_epu8)(a, b);
}

FORCE_INLINE Bytes greater(Bytes a, Bytes b)
{
    return OP(max_epu8)(a, b);
}

/* `yes` where a < b, else `no`. */
FORCE_INLINE Bytes choose_less(Bytes a, Bytes b, Bytes yes, Bytes no)
{
#if defined(__AVX512BW__)
    return _mm512_mask_blend_epi8(_mm512_cmplt_epu8_mask(a, b), no, yes);
#else
    return _mm256_blendv_epi8(yes, no, _mm256_cmpeq_epi8(greater(a, b), a));
#endif
}

/* Rounded down. */
FORCE_INLINE Bytes average(Bytes a, Bytes b)
{
    return OP(sub_epi8)(OP(avg_epu8)(a, b), (a ^ b) & OP(set1_epi8)(1));
}

FORCE_INLINE Bytes both(Bytes a, Bytes b)
{
    return a & b;
}

FORCE_INLINE Bytes zeros(void)
{
    return OP(set1_epi8)(0);
}

/* Adds the magnitudes of signed bytes. */
FORCE_INLINE Bytes add_magnitudes(Bytes sum, Bytes v)
{
    return OP(add_epi64)(sum, OP(sad_epu8)(OP(abs_epi8)(v), zeros()));
}

FORCE_INLINE uint64_t total(Bytes sum)
{
    uint64_t part[sizeof sum / 8], all = 0;
    memcpy(part, &sum, sizeof part);
    for (size_t i = 0; i < sizeof sum / 8; i++)
        all += part[i];
    return all;
}

enum { VECTOR = sizeof(Bytes) };

/* With the corner between the other two, it lies `over` above the lower one and `under` below the
 * upper one: these are the distances of left + up - corner to the upper and to the lower one, and
 * their difference is that to the corner. With the corner outside, one of them is 0, and the
 * farther neighbour is the guess. */
FORCE_INLINE Bytes paeth_bytes(Bytes left, Bytes up, Bytes corner)
{
    const Bytes low = lesser(left, up), high = greater(left, up);
    const Bytes over = excess(corner, low), under = excess(high, corner);
    const Bytes near = lesser(over, under), far = greater(over, under);
    const Bytes neighbour = choose_less(under, over, low, high);
    return choose_less(subtract(far, near), near, corner, neighbour);
}

/* `filter` is a constant where this is inlined. */
FORCE_INLINE Bytes guess(unsigned filter, const uint8_t *row, const uint8_t *above, size_t i,
                         size_t step)
{
    switch (filter) {
    case 0:
        return zeros();
    case 1:
        return load(row + i - step);
    case 2:
        return load(above + i);
    case 3:
        return average(load(row + i - step), load(above + i));
    default:
        return paeth_bytes(load(row + i - step), load(above + i), load(above + i - step));
    }
}

/* Filters bytes [step, n), the last ones twice. Returns n, or 0 if they are too few. */
FORCE_INLINE size_t filter_vectors(unsigned filter, const uint8_t *row, const uint8_t *above,
                                   size_t n, size_t step, uint8_t *to)
{
    if (n < step + VECTOR)
        return 0;
    for (size_t i = step; i < n; i += VECTOR) {
        i = n - i < VECTOR ? n - VECTOR : i;
        store(to + i, subtract(load(row + i), guess(filter, row, above, i, step)));
    }
    return n;
}

/* Adds the magnitudes of those of the bytes at i for which `counted` has ones. */
FORCE_INLINE void add_costs_at(const uint8_t *row, const uint8_t *above, size_t i, size_t step,
                               Bytes counted, Bytes sum[PNG_FILTERS])
{
    const Bytes here = load(row + i);
#pragma GCC unroll 5
    for (unsigned f = 0; f < PNG_FILTERS; f++)
        sum[f] =
            add_magnitudes(sum[f], both(subtract(here, guess(f, row, above, i, step)), counted));
}

/* Adds the magnitudes of a sample of bytes [step, n). Returns whether there are enough of them. */
FORCE_INLINE bool add_vector_costs(const uint8_t *row, const uint8_t *above, const Sample *sample,
                                   size_t n, size_t step, uint64_t cost[PNG_FILTERS])
{
    uint8_t last_bytes[2 * VECTOR]; /* from k on, a vector that leaves out its first VECTOR - k */
    Bytes sum[PNG_FILTERS];
    if (n < step + VECTOR)
        return false;
    memset(last_bytes, 0, VECTOR);
    memset(last_bytes + VECTOR, 255, VECTOR);
    for (unsigned f = 0; f < PNG_FILTERS; f++)
        sum[f] = zeros();
    for (size_t at = sample->first; at < n; at += sample->step) {
        const size_t end = n - at < sample->n ? n : at + sample->n;
        size_t i = at;
        for (; end - i >= VECTOR; i += VECTOR)
            add_costs_at(row, above, i, step, load(last_bytes + VECTOR), sum);
        if (i < end)
            add_costs_at(row, above, end - VECTOR, step, load(last_bytes + (end - i)), sum);
    }
    for (unsigned f = 0; f < PNG_FILTERS; f++)
        cost[f] += total(sum[f]);
    return true;
}
