/* SPDX-License-Identifier: MIT */
/* deflate_codes.c: reads code lengths and makes tables of them. Sets of codes that are not complete
 * are refused, apart from those without a distance or with one. */
#include "codec/deflate_codes.h"

#include "base/compiler.h"
#include "codec/deflate_format.h"

enum {
    MAX_BITS = 15,
    N_LITERALS = 288, /* literals, end, lengths, two without meaning */
    N_DISTANCES = 32, /* the last two without meaning */
    MOST_LITERALS = 286,
    MOST_DISTANCES = 30,
    END_OF_BLOCK = 256,
    LENGTH_BITS = 7,
    JOIN_SHARE = 16 /* of 32: else joining takes longer than it saves */
};

/* ---- What symbols mean ---- */

static const uint8_t distance_extra[] = {0, 0, 0, 0, 1, 1, 2, 2,  3,  3,  4,  4,  5,  5,  6,
                                         6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13};
static const uint16_t distance_base[] = {
    1,   2,   3,   4,   5,   7,    9,    13,   17,   25,   33,   49,   65,    97,    129,
    193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};

/* The entry of a symbol whose code has `bits` bits in the table that holds it. */
static uint32_t literal_entry(unsigned symbol, unsigned bits)
{
    if (symbol < END_OF_BLOCK)
        return symbol << 8 | ENTRY_LITERAL | bits;
    if (symbol == END_OF_BLOCK)
        return ENTRY_SPECIAL | ENTRY_END | bits;
    const unsigned i = symbol - END_OF_BLOCK - 1;
    if (i >= DEFLATE_LENGTHS)
        return ENTRY_SPECIAL;
    return (uint32_t)deflate_length_base[i] << 16 | bits << 8 | (bits + deflate_length_extra[i]);
}

static uint32_t distance_entry(unsigned symbol, unsigned bits)
{
    if (symbol >= ARRAY_LEN(distance_base))
        return ENTRY_SPECIAL;
    return (uint32_t)distance_base[symbol] << 16 | bits << 8 | (bits + distance_extra[symbol]);
}

/* ---- Tables ---- */

/* Counts codes of each length. Returns what they leave of the space of codes, in units of a code of
 * MAX_BITS bits; negative: too many. */
static int32_t count_lengths(const uint8_t *lengths, unsigned n, unsigned count[MAX_BITS + 1])
{
    int32_t left = 1 << MAX_BITS;
    memset(count, 0, (MAX_BITS + 1) * sizeof *count);
    for (unsigned i = 0; i < n; i++)
        count[lengths[i]]++;
    for (unsigned bits = 1; bits <= MAX_BITS; bits++)
        left -= (int32_t)(count[bits] << (MAX_BITS - bits));
    return left;
}

/* The code behind one of `bits` bits; codes are stored with their first bit lowest. */
static unsigned next_code(unsigned code, unsigned bits)
{
    unsigned bit = 1u << (bits - 1);
    while (code & bit) {
        code ^= bit;
        bit >>= 1;
    }
    return code | bit;
}

/* The bits of the index of a second table that begins with a code of `bits` bits: it ends with the
 * last code that has the same first bits. `count` are the codes that are left. */
static unsigned second_bits(const unsigned count[MAX_BITS + 1], unsigned bits, unsigned first_bits)
{
    unsigned index = bits - first_bits, room = 1u << index;
    for (unsigned longer = bits; longer <= MAX_BITS; longer++) {
        if (count[longer] >= room)
            break;
        if (longer == MAX_BITS)
            break;
        room = (room - count[longer]) << 1;
        index++;
    }
    return index;
}

/* Makes the tables of a complete set of codes. Returns false if `room` entries are too few. */
static bool make_table(const uint8_t *lengths, unsigned n, unsigned count[MAX_BITS + 1],
                       uint32_t (*entry)(unsigned symbol, unsigned bits), unsigned first_bits,
                       uint32_t *table, size_t room)
{
    uint16_t sorted[N_LITERALS], at[MAX_BITS + 1];
    unsigned code = 0, place = 0, second = 1u << first_bits, index = 0;
    at[0] = at[1] = 0;
    for (unsigned bits = 1; bits < MAX_BITS; bits++)
        at[bits + 1] = (uint16_t)(at[bits] + count[bits]);
    for (unsigned i = 0; i < n; i++)
        if (lengths[i] > 0)
            sorted[at[lengths[i]]++] = (uint16_t)i;
    unsigned bits = 1, prefix = UINT32_MAX;
    for (unsigned i = 0; bits <= MAX_BITS; i++) {
        while (bits <= MAX_BITS && count[bits] == 0)
            bits++;
        if (bits > MAX_BITS)
            break;
        if (bits <= first_bits) {
            const uint32_t value = entry(sorted[i], bits);
            for (unsigned k = code; k < 1u << first_bits; k += 1u << bits)
                table[k] = value;
        } else {
            if ((code & ((1u << first_bits) - 1)) != prefix) {
                prefix = code & ((1u << first_bits) - 1);
                index = second_bits(count, bits, first_bits);
                place = second;
                second += 1u << index;
                if (second > room)
                    return false;
                table[prefix] = ENTRY_SPECIAL | place << 12 | index << 8 | first_bits;
            }
            const uint32_t value = entry(sorted[i], bits - first_bits);
            for (unsigned k = code >> first_bits; k < 1u << index; k += 1u << (bits - first_bits))
                table[place + k] = value;
        }
        count[bits]--;
        code = next_code(code, bits);
    }
    return true;
}

/* Returns which share of all bits, in 32nds, begin a literal of at most 5 bits. */
static unsigned short_share(const uint8_t *lengths)
{
    unsigned share = 0;
    for (unsigned i = 0; i < END_OF_BLOCK; i++)
        share += lengths[i] > 0 ? 32u >> lengths[i] : 0;
    return share;
}

/* Returns whether an entry is one literal, of at most `bits` bits. */
static bool is_short_literal(uint32_t entry, unsigned bits)
{
    return (entry & ENTRY_LITERALS) && (entry & ENTRY_COUNT) <= bits;
}

/* Joins up to three literals whose codes the first table's bits hold. Entries at lower places are
 * not joined yet. */
static void join_literals(uint32_t *table)
{
    for (unsigned i = 1u << LITERAL_BITS; i-- > 0;) {
        uint32_t joined = table[i];
        if (!(joined & ENTRY_LITERALS))
            continue;
        for (unsigned k = 1; k < 3; k++) {
            const unsigned bits = joined & ENTRY_COUNT;
            const uint32_t next = table[i >> bits];
            if (!is_short_literal(next, LITERAL_BITS - bits))
                break;
            joined += (next & 0xFF00) << 8 * k | ENTRY_LITERAL | (next & ENTRY_COUNT);
        }
        table[i] = joined;
    }
}

/* Returns whether these are the lengths of no distance, or of one: the code has one bit. */
static bool few_distances(const unsigned count[MAX_BITS + 1], unsigned n)
{
    return count[0] == n || (count[0] == n - 1 && count[1] == 1);
}

/* Makes both tables; codes NULL: only checks. */
static bool make_codes(const uint8_t *lengths, unsigned n_literals, unsigned n_distances,
                       DeflateCodes *codes)
{
    unsigned literals[MAX_BITS + 1], distances[MAX_BITS + 1];
    const uint8_t *const second = lengths + n_literals;
    if (lengths[END_OF_BLOCK] == 0 || count_lengths(lengths, n_literals, literals) != 0)
        return false;
    const int32_t left = count_lengths(second, n_distances, distances);
    const bool few = left > 0 && few_distances(distances, n_distances);
    if (left != 0 && !few)
        return false;
    if (!codes)
        return true;
    if (!make_table(lengths, n_literals, literals, literal_entry, LITERAL_BITS, codes->literal,
                    LITERAL_ROOM))
        return false;
    if (short_share(lengths) >= JOIN_SHARE)
        join_literals(codes->literal);
    if (!few)
        return make_table(second, n_distances, distances, distance_entry, DISTANCE_BITS,
                          codes->distance, DISTANCE_ROOM);
    unsigned symbol = 0;
    while (symbol < n_distances && second[symbol] == 0)
        symbol++;
    for (unsigned i = 0; i < 1u << DISTANCE_BITS; i++)
        codes->distance[i] =
            i % 2 == 0 && symbol < n_distances ? distance_entry(symbol, 1) : ENTRY_SPECIAL;
    return true;
}

void deflate_codes_fix(DeflateCodes *codes)
{
    uint8_t lengths[N_LITERALS + N_DISTANCES];
    memset(lengths, 8, 144);
    memset(lengths + 144, 9, 112);
    memset(lengths + 256, 7, 24);
    memset(lengths + 280, 8, 8);
    memset(lengths + N_LITERALS, 5, N_DISTANCES);
    (void)make_codes(lengths, N_LITERALS, N_DISTANCES, codes); /* cannot fail */
}

/* ---- The head of a block ---- */

/* Reads the code of code lengths to a table of LENGTH_BITS bits: symbol << 3 | bits. */
static CodesState read_length_code(BitReader *reader, unsigned n, uint8_t table[1 << LENGTH_BITS])
{
    uint8_t lengths[DEFLATE_LENGTH_CODES] = {0};
    unsigned count[MAX_BITS + 1], code = 0;
    for (unsigned i = 0; i < n; i++) {
        if (!bit_reader_has(reader, 3))
            return CODES_INPUT;
        lengths[deflate_length_order[i]] = (uint8_t)bit_reader_take(reader, 3);
    }
    if (count_lengths(lengths, DEFLATE_LENGTH_CODES, count) != 0)
        return CODES_WRONG;
    for (unsigned bits = 1; bits <= LENGTH_BITS; bits++) {
        for (unsigned symbol = 0; symbol < DEFLATE_LENGTH_CODES; symbol++) {
            if (lengths[symbol] != bits)
                continue;
            for (unsigned k = code; k < 1 << LENGTH_BITS; k += 1u << bits)
                table[k] = (uint8_t)(symbol << 3 | bits);
            code = next_code(code, bits);
        }
    }
    return CODES_READY;
}

/* Reads n code lengths. */
static CodesState read_lengths(BitReader *reader, const uint8_t table[1 << LENGTH_BITS],
                               uint8_t *lengths, unsigned n)
{
    static const struct {
        uint8_t extra, least;
    } repeats[] = {{2, 3}, {3, 3}, {7, 11}}; /* of symbols 16, 17, 18 */
    for (unsigned i = 0; i < n;) {
        (void)bit_reader_has(reader, LENGTH_BITS + 7); /* of the last code there may be fewer */
        const unsigned found = table[reader->bits & ((1 << LENGTH_BITS) - 1)];
        const unsigned symbol = found >> 3, bits = found & 7;
        const unsigned extra = symbol < 16 ? 0 : repeats[symbol - 16].extra;
        if (reader->n < bits + extra)
            return CODES_INPUT;
        bit_reader_drop(reader, bits);
        if (symbol < 16) {
            lengths[i++] = (uint8_t)symbol;
            continue;
        }
        const unsigned times = repeats[symbol - 16].least + bit_reader_take(reader, extra);
        if (times > n - i || (symbol == 16 && i == 0))
            return CODES_WRONG;
        memset(lengths + i, symbol == 16 ? lengths[i - 1] : 0, times);
        i += times;
    }
    return CODES_READY;
}

CodesState deflate_codes_read(BitReader *reader, DeflateCodes *codes)
{
    uint8_t table[1 << LENGTH_BITS], lengths[MOST_LITERALS + MOST_DISTANCES];
    if (!bit_reader_has(reader, 14))
        return CODES_INPUT;
    const unsigned n_literals = bit_reader_take(reader, 5) + 257;
    const unsigned n_distances = bit_reader_take(reader, 5) + 1;
    const unsigned n_lengths = bit_reader_take(reader, 4) + 4;
    if (n_literals > MOST_LITERALS || n_distances > MOST_DISTANCES)
        return CODES_WRONG;
    CodesState state = read_length_code(reader, n_lengths, table);
    if (state == CODES_READY)
        state = read_lengths(reader, table, lengths, n_literals + n_distances);
    if (state != CODES_READY)
        return state;
    return make_codes(lengths, n_literals, n_distances, codes) ? CODES_READY : CODES_WRONG;
}
