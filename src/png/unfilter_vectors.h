/* SPDX-License-Identifier: MIT */
/* unfilter_vectors.h: PNG's filters undone in vectors. Included by filter.c alone. */

/* ---- Two vectors of 16 bytes, which are one where the processor has such ---- */

#if defined(__AVX2__)

typedef __m256i Lanes;

#define LANES(name, of_128, of_256)           \
    FORCE_INLINE Lanes name(Lanes a, Lanes b) \
    {                                         \
        return of_256(a, b);                  \
    }

FORCE_INLINE Lanes lanes_of(__m128i low, __m128i high)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

/* The other lane is 0. */
FORCE_INLINE Lanes low_lane(__m128i low)
{
    return _mm256_zextsi128_si256(low);
}

FORCE_INLINE __m128i lane(Lanes v, size_t k)
{
    return k == 0 ? _mm256_castsi256_si128(v) : _mm256_extracti128_si256(v, 1);
}

#else

typedef struct Lanes {
    __m128i lane[2];
} Lanes;

#define LANES(name, of_128, of_256)                                                   \
    FORCE_INLINE Lanes name(Lanes a, Lanes b)                                         \
    {                                                                                 \
        return (Lanes){{of_128(a.lane[0], b.lane[0]), of_128(a.lane[1], b.lane[1])}}; \
    }

FORCE_INLINE Lanes lanes_of(__m128i low, __m128i high)
{
    return (Lanes){{low, high}};
}

FORCE_INLINE Lanes low_lane(__m128i low)
{
    return (Lanes){{low, _mm_setzero_si128()}};
}

FORCE_INLINE __m128i lane(Lanes v, size_t k)
{
    return v.lane[k];
}

#endif

LANES(and_lanes, _mm_and_si128, _mm256_and_si256)
LANES(xor_lanes, _mm_xor_si128, _mm256_xor_si256)
LANES(equal_lanes, _mm_cmpeq_epi8, _mm256_cmpeq_epi8)
LANES(add_lanes, _mm_add_epi8, _mm256_add_epi8)
LANES(subtract_lanes, _mm_sub_epi8, _mm256_sub_epi8)
LANES(excess_lanes, _mm_subs_epu8, _mm256_subs_epu8) /* a - b, at least 0 */
LANES(lesser_lanes, _mm_min_epu8, _mm256_min_epu8)
LANES(greater_lanes, _mm_max_epu8, _mm256_max_epu8)
LANES(average_lanes_up, _mm_avg_epu8, _mm256_avg_epu8)
LANES(low_halves_8, _mm_unpacklo_epi8, _mm256_unpacklo_epi8)
LANES(low_halves_16, _mm_unpacklo_epi16, _mm256_unpacklo_epi16)
LANES(low_halves_32, _mm_unpacklo_epi32, _mm256_unpacklo_epi32)
LANES(low_halves_64, _mm_unpacklo_epi64, _mm256_unpacklo_epi64)
LANES(high_halves_8, _mm_unpackhi_epi8, _mm256_unpackhi_epi8)
LANES(high_halves_16, _mm_unpackhi_epi16, _mm256_unpackhi_epi16)
LANES(high_halves_32, _mm_unpackhi_epi32, _mm256_unpackhi_epi32)
LANES(high_halves_64, _mm_unpackhi_epi64, _mm256_unpackhi_epi64)

FORCE_INLINE Lanes equal_bytes(int byte)
{
    return lanes_of(_mm_set1_epi8((char)byte), _mm_set1_epi8((char)byte));
}

/* The bytes of `yes` where mask has ones, of `no` where it has zeros. */
FORCE_INLINE Lanes choose_lanes(Lanes mask, Lanes yes, Lanes no)
{
#if defined(__AVX512VL__)
    return _mm256_ternarylogic_epi32(mask, yes, no, 0xca);
#elif defined(__AVX2__)
    return _mm256_blendv_epi8(no, yes, mask);
#else
    return xor_lanes(no, and_lanes(mask, xor_lanes(yes, no)));
#endif
}

/* ---- What filters guess, for each byte ---- */

/* As paeth_bytes in filter_vectors.h, which says why. */
FORCE_INLINE Lanes paeth_lanes(Lanes left, Lanes up, Lanes corner)
{
    const Lanes low = lesser_lanes(left, up), high = greater_lanes(left, up);
    const Lanes over = excess_lanes(corner, low), under = excess_lanes(high, corner);
    const Lanes near = lesser_lanes(over, under), far = greater_lanes(over, under);
    const Lanes between = subtract_lanes(far, near);
    const Lanes neighbour = choose_lanes(equal_lanes(far, under), high, low);
    return choose_lanes(equal_lanes(greater_lanes(between, near), between), neighbour, corner);
}

/* Rounded down. */
FORCE_INLINE Lanes average_lanes(Lanes left, Lanes up)
{
    const Lanes odd = and_lanes(xor_lanes(left, up), equal_bytes(1));
    return subtract_lanes(average_lanes_up(left, up), odd);
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
    Lanes left = equal_bytes(0), corner = left;
    size_t i = 0;
    for (; i + 8 <= n; i += step) {
        const Lanes up = low_lane(load_8(above + i));
        const Lanes guess = filter == 3 ? average_lanes(left, up) : paeth_lanes(left, up, corner);
        left = add_lanes(low_lane(load_8(from + i)), guess);
        corner = up;
        store_8(to + i, lane(left, 0));
    }
    return i;
}

/* ---- Several rows: each a pixel behind the one above ----
 *
 * A pixel needs the one before it, so a row alone leaves most of the processor idle. Here both
 * lanes have a slot for each row; slots are as large as pixels, or 4 for 3 bytes and 8 for 6. The
 * pixel above that of a slot is what the slot of the row above had a step before. Pixels are
 * brought to their slots, and back, by transposing squares of them. */

enum {
    LANE_BYTES = 16,
    MOST_SIDE = LANE_BYTES, /* slots of one byte in a lane */
    LEAST_PIXELS = 64,      /* of a row: shorter ones are edges for the most part */
    PAETH_WEIGHT = 3,       /* what a row costs alone, where 1 is that of Average */
    TOGETHER_WEIGHT = 6     /* what the rows of all slots cost together */
};

/* Returns the bytes of a slot for a pixel of `step` bytes. */
FORCE_INLINE size_t slot_bytes(size_t step)
{
    return step == 3 ? 4 : step == 6 ? 8 : step;
}

/* Returns the slots of a lane, which are the pixels of a side of a square as well. */
FORCE_INLINE size_t side_of(size_t step)
{
    return LANE_BYTES / slot_bytes(step);
}

/* Returns how many bytes row y is behind the first: a pixel for each row, and one more in the
 * second lane, whose first slot then has time to get a pixel from the other lane. */
FORCE_INLINE size_t skew_of(size_t y, size_t step)
{
    return (y + (y >= side_of(step))) * step;
}

FORCE_INLINE __m128i move_slots_up(__m128i v, size_t slot)
{
    return slot == 1   ? _mm_slli_si128(v, 1)
           : slot == 2 ? _mm_slli_si128(v, 2)
           : slot == 4 ? _mm_slli_si128(v, 4)
                       : _mm_slli_si128(v, 8);
}

/* In each lane, the last slot of `before` and all but the last of v. */
FORCE_INLINE Lanes slots_before(Lanes v, Lanes before, size_t slot)
{
#if defined(__AVX2__)
    return slot == 1   ? _mm256_alignr_epi8(v, before, 15)
           : slot == 2 ? _mm256_alignr_epi8(v, before, 14)
           : slot == 4 ? _mm256_alignr_epi8(v, before, 12)
                       : _mm256_alignr_epi8(v, before, 8);
#else
    for (size_t k = 0; k < 2; k++) {
        const __m128i last = slot == 1   ? _mm_srli_si128(before.lane[k], 15)
                             : slot == 2 ? _mm_srli_si128(before.lane[k], 14)
                             : slot == 4 ? _mm_srli_si128(before.lane[k], 12)
                                         : _mm_srli_si128(before.lane[k], 8);
        v.lane[k] = _mm_or_si128(move_slots_up(v.lane[k], slot), last);
    }
    return v;
#endif
}

FORCE_INLINE Lanes low_halves(Lanes a, Lanes b, size_t slot)
{
    return slot == 1   ? low_halves_8(a, b)
           : slot == 2 ? low_halves_16(a, b)
           : slot == 4 ? low_halves_32(a, b)
                       : low_halves_64(a, b);
}

FORCE_INLINE Lanes high_halves(Lanes a, Lanes b, size_t slot)
{
    return slot == 1   ? high_halves_8(a, b)
           : slot == 2 ? high_halves_16(a, b)
           : slot == 4 ? high_halves_32(a, b)
                       : high_halves_64(a, b);
}

/* Makes rows of slots columns: interleaving the halves of a square does it, done once for each bit
 * of its side. */
FORCE_INLINE void transpose_slots(Lanes *v, size_t slot)
{
    const size_t n = LANE_BYTES / slot;
#pragma GCC unroll 4
    for (size_t bit = 1; bit < n; bit *= 2) {
        Lanes mixed[MOST_SIDE];
#pragma GCC unroll 8
        for (size_t i = 0; i < n / 2; i++) {
            mixed[2 * i] = low_halves(v[i], v[i + n / 2], slot);
            mixed[2 * i + 1] = high_halves(v[i], v[i + n / 2], slot);
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
    Lanes left, up; /* what a step leaves to the next one: its pixels, and those above them */
    Lanes before;   /* the pixels of the step before that */
    /* Ones in the slots of rows that guess by these. No filter but Average needs a guess of its
     * own: Paeth's is the left pixel where the other two are 0, and the upper one where its are. */
    Lanes takes_left, takes_up, takes_corner, takes_average;
} Slots;

/* Where pixels of each slot are read and written. Slots without a row have the places of the last
 * row, which is written after them. */
typedef struct SlotRows {
    const uint8_t *above, *from[UNFILTER_ROWS];
    uint8_t *to[UNFILTER_ROWS];
} SlotRows;

/* Undoes squares from byte `at` of rows on, until `end` is reached. `step` is a constant where this
 * is inlined. */
FORCE_INLINE void unfilter_squares_of(Slots *slots, const SlotRows *rows, size_t at, size_t end,
                                      size_t step)
{
    const size_t slot = slot_bytes(step), side = side_of(step);
    Slots s = *slots;
    for (; at < end; at += side * step) {
        Lanes square[MOST_SIDE];
        __m128i above[MOST_SIDE];
#pragma GCC unroll 16
        for (size_t i = 0; i < side; i++)
            square[i] = lanes_of(load_slots(rows->from[i] + at, step),
                                 load_slots(rows->from[side + i] + at, step));
        transpose_slots(square, slot);
        above[side - 1] = load_slots(rows->above + at, step);
#pragma GCC unroll 16
        for (size_t i = side - 1; i > 0; i--)
            above[i - 1] = move_slots_up(above[i], slot);
#pragma GCC unroll 16
        for (size_t i = 0; i < side; i++) {
            const Lanes up = slots_before(s.left, lanes_of(above[i], lane(s.before, 0)), slot);
            const Lanes nearest =
                paeth_lanes(and_lanes(s.left, s.takes_left), and_lanes(up, s.takes_up),
                            and_lanes(s.up, s.takes_corner));
            const Lanes guess = choose_lanes(s.takes_average, average_lanes(s.left, up), nearest);
            s.before = s.left;
            s.left = add_lanes(square[i], guess);
            s.up = up;
            square[i] = s.left;
        }
        transpose_slots(square, slot);
#pragma GCC unroll 2
        for (size_t k = 2; k-- > 0;) /* see SlotRows */
#pragma GCC unroll 16
            for (size_t i = side; i-- > 0;)
                store_slots(rows->to[k * side + i] + at, lane(square[i], k), step);
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

static Lanes load_lanes(const uint8_t at[2 * LANE_BYTES])
{
    return lanes_of(_mm_loadu_si128((const __m128i *)(const void *)at),
                    _mm_loadu_si128((const __m128i *)(const void *)(at + LANE_BYTES)));
}

static Slots begin_slots(const FilteredRows *rows, size_t step)
{
    uint8_t takes[4][2 * LANE_BYTES];
    for (size_t i = 0; i < sizeof takes[0]; i++) {
        const size_t y = i / slot_bytes(step);
        const unsigned filter = y < rows->rows ? rows->from[y * (1 + rows->n)] : 0;
        takes[0][i] = filter == 1 || filter == 4 ? 255 : 0;
        takes[1][i] = filter == 2 || filter == 4 ? 255 : 0;
        takes[2][i] = filter == 4 ? 255 : 0;
        takes[3][i] = filter == 3 ? 255 : 0;
    }
    return (Slots){.left = equal_bytes(0),
                   .up = equal_bytes(0),
                   .before = equal_bytes(0),
                   .takes_left = load_lanes(takes[0]),
                   .takes_up = load_lanes(takes[1]),
                   .takes_corner = load_lanes(takes[2]),
                   .takes_average = load_lanes(takes[3])};
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
    const size_t n = rows->n, bytes = side_of(step) * step;
    uint8_t line[UNFILTER_ROWS + 1][LANE_BYTES] = {{0}};
    SlotRows lines = {.above = line[UNFILTER_ROWS]};
    for (size_t y = 0; y < UNFILTER_ROWS; y++)
        lines.from[y] = lines.to[y] = line[y];
    const Inside above = find_inside(at, 0, n, bytes);
    memcpy(line[UNFILTER_ROWS] + above.of, rows->above + above.at, above.n);
    for (size_t y = 0; y < rows->rows; y++) {
        const Inside in = find_inside(at, skew_of(y, step), n, bytes);
        memcpy(line[y] + in.of, rows->from + y * (1 + n) + 1 + in.at, in.n);
    }
    unfilter_squares(slots, &lines, 0, 1, step);
    for (size_t y = 0; y < rows->rows; y++) {
        const Inside in = find_inside(at, skew_of(y, step), n, bytes);
        memcpy(rows->to + y * rows->pitch + in.at, line[y] + in.of, in.n);
    }
}

/* Undoes rows, as many as there are slots at most. */
static void unfilter_slots(const FilteredRows *rows, size_t step)
{
    const size_t n = rows->n, bytes = side_of(step) * step;
    const size_t end = n + skew_of(rows->rows - 1, step);
    Slots slots = begin_slots(rows, step);
    SlotRows there = {.above = rows->above};
    for (size_t slot = 0; slot < UNFILTER_ROWS; slot++) {
        const size_t y = slot < rows->rows ? slot : rows->rows - 1;
        there.from[slot] = rows->from + y * (1 + n) + 1 - skew_of(y, step);
        there.to[slot] = rows->to + y * rows->pitch - skew_of(y, step);
    }
    size_t at = 0;
    for (; at < skew_of(rows->rows - 1, step); at += bytes)
        unfilter_edge(&slots, rows, at, step);
    if (at + LANE_BYTES <= n) {
        const size_t squares = (n - LANE_BYTES - at) / bytes + 1;
        unfilter_squares(&slots, &there, at, at + squares * bytes, step);
        at += squares * bytes;
    }
    for (; at < end; at += bytes)
        unfilter_edge(&slots, rows, at, step);
}

/* Undoes the first rows together if they then take less time. Returns how many: 0 if not. */
static size_t unfilter_together(const FilteredRows *rows, size_t step)
{
    const size_t most = 2 * side_of(step);
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
