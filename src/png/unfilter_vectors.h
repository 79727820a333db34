/* SPDX-License-Identifier: MIT */
/* unfilter_vectors.h: PNG's filters undone in vectors of 16 bytes. Included by filter.c alone. */

/* ---- What filters guess, for each byte ---- */

FORCE_INLINE __m128i blend_16(__m128i no, __m128i yes, __m128i mask)
{
#if defined(__SSE4_1__)
    return _mm_blendv_epi8(no, yes, mask);
#else
    return _mm_or_si128(_mm_and_si128(mask, yes), _mm_andnot_si128(mask, no));
#endif
}

/* `yes` where a < b, else `no`. */
FORCE_INLINE __m128i choose_less_16(__m128i a, __m128i b, __m128i yes, __m128i no)
{
    return blend_16(yes, no, _mm_cmpeq_epi8(_mm_max_epu8(a, b), a));
}

/* As paeth_bytes in filter_vectors.h, which says why. */
FORCE_INLINE __m128i paeth_16(__m128i left, __m128i up, __m128i corner)
{
    const __m128i low = _mm_min_epu8(left, up), high = _mm_max_epu8(left, up);
    const __m128i over = _mm_subs_epu8(corner, low), under = _mm_subs_epu8(high, corner);
    const __m128i near = _mm_min_epu8(over, under), far = _mm_max_epu8(over, under);
    const __m128i neighbour = choose_less_16(under, over, low, high);
    return choose_less_16(_mm_sub_epi8(far, near), near, corner, neighbour);
}

/* Rounded down. */
FORCE_INLINE __m128i average_16(__m128i left, __m128i up)
{
    const __m128i odd = _mm_and_si128(_mm_xor_si128(left, up), _mm_set1_epi8(1));
    return _mm_sub_epi8(_mm_avg_epu8(left, up), odd);
}

/* ---- One row: a pixel at a time ---- */

FORCE_INLINE __m128i load_8(const uint8_t *at)
{
    return _mm_loadl_epi64((const __m128i *)(const void *)at);
}

FORCE_INLINE void store_8(uint8_t *at, __m128i v)
{
    _mm_storel_epi64((__m128i *)(void *)at, v);
}

/* Undoes filter 3 or 4 while 8 bytes may be read and written; the next pixel overwrites those
 * behind this one. Returns the bytes done. */
FORCE_INLINE size_t unfilter_pixels(unsigned filter, const uint8_t *from, const uint8_t *above,
                                    uint8_t *to, size_t n, size_t step)
{
    __m128i left = _mm_setzero_si128(), corner = left;
    size_t i = 0;
    for (; i + 8 <= n; i += step) {
        const __m128i up = load_8(above + i);
        const __m128i guess = filter == 3 ? average_16(left, up) : paeth_16(left, up, corner);
        left = _mm_add_epi8(load_8(from + i), guess);
        corner = up;
        store_8(to + i, left);
    }
    return i;
}

/* ---- Several rows: each a pixel behind the one above ----
 *
 * A pixel needs the one before it, so a row alone leaves most of the processor idle. Here a vector
 * has a slot for each row; slots are as large as pixels, or 4 for 3 bytes and 8 for 6. The pixel
 * above that of a slot is what the slot of the row above had a step before. Pixels are brought to
 * their slots, and back, by transposing squares of them. */

enum {
    SLOTS_BYTES = 16,
    MOST_SLOTS = UNFILTER_ROWS, /* of one byte */
    MOST_VECTORS = 2,           /* of slots: they need not wait for each other */
    LEAST_PIXELS = 64,          /* of a row: shorter ones are edges for the most part */
    PAETH_WEIGHT = 3,           /* what a row costs alone, where 1 is that of Average */
    TOGETHER_WEIGHT = 6         /* what the rows of all slots cost together */
};

/* Returns the bytes of a slot for a pixel of `step` bytes. */
FORCE_INLINE size_t slot_bytes(size_t step)
{
    return step == 3 ? 4 : step == 6 ? 8 : step;
}

/* Returns how many vectors of slots are in use. */
FORCE_INLINE size_t slot_vectors(size_t step)
{
    return step == 1 ? 1 : MOST_VECTORS;
}

FORCE_INLINE __m128i move_slots_up(__m128i v, size_t slot)
{
    return slot == 1   ? _mm_slli_si128(v, 1)
           : slot == 2 ? _mm_slli_si128(v, 2)
           : slot == 4 ? _mm_slli_si128(v, 4)
                       : _mm_slli_si128(v, 8);
}

/* The last slot of `before` and all but the last of v. */
FORCE_INLINE __m128i slots_before(__m128i v, __m128i before, size_t slot)
{
    const __m128i last = slot == 1   ? _mm_srli_si128(before, 15)
                         : slot == 2 ? _mm_srli_si128(before, 14)
                         : slot == 4 ? _mm_srli_si128(before, 12)
                                     : _mm_srli_si128(before, 8);
    return _mm_or_si128(move_slots_up(v, slot), last);
}

FORCE_INLINE __m128i interleave_low(__m128i a, __m128i b, size_t slot)
{
    return slot == 1   ? _mm_unpacklo_epi8(a, b)
           : slot == 2 ? _mm_unpacklo_epi16(a, b)
           : slot == 4 ? _mm_unpacklo_epi32(a, b)
                       : _mm_unpacklo_epi64(a, b);
}

FORCE_INLINE __m128i interleave_high(__m128i a, __m128i b, size_t slot)
{
    return slot == 1   ? _mm_unpackhi_epi8(a, b)
           : slot == 2 ? _mm_unpackhi_epi16(a, b)
           : slot == 4 ? _mm_unpackhi_epi32(a, b)
                       : _mm_unpackhi_epi64(a, b);
}

/* Makes rows of slots columns: interleaving the halves of a square does it, done once for each bit
 * of its side. */
FORCE_INLINE void transpose_slots(__m128i *v, size_t slot)
{
    const size_t n = SLOTS_BYTES / slot;
#pragma GCC unroll 4
    for (size_t bit = 1; bit < n; bit *= 2) {
        __m128i mixed[MOST_SLOTS];
#pragma GCC unroll 8
        for (size_t i = 0; i < n / 2; i++) {
            mixed[2 * i] = interleave_low(v[i], v[i + n / 2], slot);
            mixed[2 * i + 1] = interleave_high(v[i], v[i + n / 2], slot);
        }
#pragma GCC unroll 16
        for (size_t i = 0; i < n; i++)
            v[i] = mixed[i];
    }
}

/* Reads pixels into slots. 16 bytes may be read. */
FORCE_INLINE __m128i load_slots(const uint8_t *at, size_t step)
{
    if (step == 3) {
#if defined(__SSSE3__)
        const __m128i place = _mm_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1);
        return _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)at), place);
#else
        int32_t pixel[4];
        for (size_t i = 0; i < 4; i++)
            memcpy(pixel + i, at + 3 * i, 4);
        return _mm_set_epi32(pixel[3], pixel[2], pixel[1], pixel[0]);
#endif
    }
    if (step == 6)
        return _mm_unpacklo_epi64(load_8(at), load_8(at + 6));
    return _mm_loadu_si128((const __m128i *)(const void *)at);
}

/* Writes the pixels of slots. Up to 16 bytes are written: what is behind the pixels is overwritten
 * by the next ones. */
FORCE_INLINE void store_slots(uint8_t *at, __m128i v, size_t step)
{
    if (step == 3) {
#if defined(__SSSE3__)
        const __m128i place = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
        _mm_storeu_si128((__m128i *)(void *)at, _mm_shuffle_epi8(v, place));
#else
        for (size_t i = 0; i < 4; i++) {
            const int32_t pixel = _mm_cvtsi128_si32(v);
            memcpy(at + 3 * i, &pixel, 4);
            v = _mm_srli_si128(v, 4);
        }
#endif
    } else if (step == 6) {
        store_8(at, v);
        store_8(at + 6, _mm_unpackhi_epi64(v, v));
    } else
        _mm_storeu_si128((__m128i *)(void *)at, v);
}

typedef struct Slots {
    /* What a step leaves to the next one: the pixels that it made, and those above them. */
    __m128i left[MOST_VECTORS], up[MOST_VECTORS];
    /* Ones in the slots of rows that guess by these. No filter but Average needs a guess of its
     * own: Paeth's is the left pixel where the other two are 0, and the upper one where its are. */
    __m128i takes_left[MOST_VECTORS], takes_up[MOST_VECTORS], takes_corner[MOST_VECTORS];
    __m128i takes_average[MOST_VECTORS];
} Slots;

/* Where pixels of each slot are read and written. Slots without a row have the places of the last
 * row, which is written after them. */
typedef struct SlotRows {
    const uint8_t *above, *from[MOST_SLOTS];
    uint8_t *to[MOST_SLOTS];
} SlotRows;

/* Undoes squares from byte `at` of rows on, until `end` is reached. `step` is a constant where this
 * is inlined. */
FORCE_INLINE void unfilter_squares_of(Slots *slots, const SlotRows *rows, size_t at, size_t end,
                                      size_t step)
{
    const size_t slot = slot_bytes(step), vectors = slot_vectors(step), side = SLOTS_BYTES / slot;
    Slots s = *slots;
    for (; at < end; at += side * step) {
        __m128i square[MOST_VECTORS * MOST_SLOTS], above[MOST_SLOTS];
        for (size_t k = 0; k < vectors; k++) {
#pragma GCC unroll 16
            for (size_t i = 0; i < side; i++)
                square[k * side + i] = load_slots(rows->from[k * side + i] + at, step);
            transpose_slots(square + k * side, slot);
        }
        above[side - 1] = load_slots(rows->above + at, step);
#pragma GCC unroll 16
        for (size_t i = side - 1; i > 0; i--)
            above[i - 1] = move_slots_up(above[i], slot);
#pragma GCC unroll 16
        for (size_t i = 0; i < side; i++)
#pragma GCC unroll 2
            for (size_t k = vectors; k-- > 0;) {
                const __m128i left = s.left[k];
                const __m128i up = slots_before(left, k > 0 ? s.left[k - 1] : above[i], slot);
                const __m128i nearest =
                    paeth_16(_mm_and_si128(left, s.takes_left[k]), _mm_and_si128(up, s.takes_up[k]),
                             _mm_and_si128(s.up[k], s.takes_corner[k]));
                const __m128i guess = blend_16(nearest, average_16(left, up), s.takes_average[k]);
                s.left[k] = _mm_add_epi8(square[k * side + i], guess);
                s.up[k] = up;
                square[k * side + i] = s.left[k];
            }
        for (size_t k = vectors; k-- > 0;) { /* see SlotRows */
            transpose_slots(square + k * side, slot);
#pragma GCC unroll 16
            for (size_t i = side; i-- > 0;)
                store_slots(rows->to[k * side + i] + at, square[k * side + i], step);
        }
    }
    *slots = s;
}

static void unfilter_squares(Slots *slots, const SlotRows *rows, size_t at, size_t end, size_t step)
{
    switch (step) {
    case 1:
        unfilter_squares_of(slots, rows, at, end, 1);
        break;
    case 2:
        unfilter_squares_of(slots, rows, at, end, 2);
        break;
    case 3:
        unfilter_squares_of(slots, rows, at, end, 3);
        break;
    case 4:
        unfilter_squares_of(slots, rows, at, end, 4);
        break;
    case 6:
        unfilter_squares_of(slots, rows, at, end, 6);
        break;
    default:
        unfilter_squares_of(slots, rows, at, end, 8);
    }
}

static Slots begin_slots(const FilteredRows *rows, size_t step)
{
    Slots slots = {0};
    uint8_t takes[4][SLOTS_BYTES];
    for (size_t k = 0; k < slot_vectors(step); k++) {
        for (size_t i = 0; i < SLOTS_BYTES; i++) {
            const size_t y = (k * SLOTS_BYTES + i) / slot_bytes(step);
            const unsigned filter = y < rows->rows ? rows->from[y * (1 + rows->n)] : 0;
            takes[0][i] = filter == 1 || filter == 4 ? 255 : 0;
            takes[1][i] = filter == 2 || filter == 4 ? 255 : 0;
            takes[2][i] = filter == 4 ? 255 : 0;
            takes[3][i] = filter == 3 ? 255 : 0;
        }
        memcpy(&slots.takes_left[k], takes[0], SLOTS_BYTES);
        memcpy(&slots.takes_up[k], takes[1], SLOTS_BYTES);
        memcpy(&slots.takes_corner[k], takes[2], SLOTS_BYTES);
        memcpy(&slots.takes_average[k], takes[3], SLOTS_BYTES);
    }
    return slots;
}

/* The part of a square's line of pixels that is in its row. */
typedef struct Inside {
    size_t at; /* byte of the row, */
    size_t of; /* and of the line */
    size_t n;  /* bytes */
} Inside;

/* The line has `bytes` bytes from byte at - skew of a row of n bytes on. */
static Inside find_inside(size_t at, size_t skew, size_t n, size_t bytes)
{
    const size_t of = at < skew ? skew - at : 0, first = at < skew ? 0 : at - skew;
    if (of >= bytes || first >= n)
        return (Inside){0, 0, 0};
    return (Inside){first, of, n - first < bytes - of ? n - first : bytes - of};
}

/* Undoes the square at byte `at` where some rows begin or end: pixels beside them are 0. */
static void unfilter_edge(Slots *slots, const FilteredRows *rows, size_t at, size_t step)
{
    const size_t n = rows->n, bytes = SLOTS_BYTES / slot_bytes(step) * step;
    uint8_t line[MOST_SLOTS + 1][SLOTS_BYTES] = {{0}};
    SlotRows lines = {.above = line[MOST_SLOTS]};
    for (size_t y = 0; y < MOST_SLOTS; y++)
        lines.from[y] = lines.to[y] = line[y];
    const Inside above = find_inside(at, 0, n, bytes);
    memcpy(line[MOST_SLOTS] + above.of, rows->above + above.at, above.n);
    for (size_t y = 0; y < rows->rows; y++) {
        const Inside in = find_inside(at, y * step, n, bytes);
        memcpy(line[y] + in.of, rows->from + y * (1 + n) + 1 + in.at, in.n);
    }
    unfilter_squares(slots, &lines, 0, 1, step);
    for (size_t y = 0; y < rows->rows; y++) {
        const Inside in = find_inside(at, y * step, n, bytes);
        memcpy(rows->to + y * rows->pitch + in.at, line[y] + in.of, in.n);
    }
}

/* Undoes rows, as many as there are slots at most. */
static void unfilter_slots(const FilteredRows *rows, size_t step)
{
    const size_t n = rows->n, bytes = SLOTS_BYTES / slot_bytes(step) * step;
    const size_t end = n + (rows->rows - 1) * step;
    Slots slots = begin_slots(rows, step);
    SlotRows there = {.above = rows->above};
    for (size_t slot = 0; slot < MOST_SLOTS; slot++) {
        const size_t y = slot < rows->rows ? slot : rows->rows - 1;
        there.from[slot] = rows->from + y * (1 + n) + 1 - y * step;
        there.to[slot] = rows->to + y * rows->pitch - y * step;
    }
    size_t at = 0;
    for (; at < (rows->rows - 1) * step; at += bytes)
        unfilter_edge(&slots, rows, at, step);
    if (at + SLOTS_BYTES <= n) {
        const size_t squares = (n - SLOTS_BYTES - at) / bytes + 1;
        unfilter_squares(&slots, &there, at, at + squares * bytes, step);
        at += squares * bytes;
    }
    for (; at < end; at += bytes)
        unfilter_edge(&slots, rows, at, step);
}

/* Undoes the first rows together if they then take less time. Returns how many: 0 if not. */
static size_t unfilter_together(const FilteredRows *rows, size_t step)
{
    const size_t most = slot_vectors(step) * SLOTS_BYTES / slot_bytes(step);
    FilteredRows first = *rows;
    unsigned weight = 0;
    first.rows = rows->rows < most ? rows->rows : most;
    for (size_t y = 0; y < first.rows; y++) {
        const unsigned filter = rows->from[y * (1 + rows->n)];
        weight += filter == 4 ? PAETH_WEIGHT : filter == 3;
    }
    if (rows->from[0] < 3 || rows->n / step < LEAST_PIXELS || weight < TOGETHER_WEIGHT)
        return 0;
    unfilter_slots(&first, step);
    return first.rows;
}
