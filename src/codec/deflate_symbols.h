/* SPDX-License-Identifier: MIT */
/* deflate_symbols.h: decodes the symbols of a block to bytes or to words. Before each inclusion
 * SYMBOL is the type of both, STORE of four of them, LITERALS_OF(entry) their values, and NAME(x)
 * the name of a function for them. */

/* Writes the literals of an entry, and one symbol more. Returns where the next symbol goes. */
FORCE_INLINE SYMBOL *NAME(put_literals)(SYMBOL *out, uint32_t entry)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    const STORE values = LITERALS_OF(entry);
    memcpy(out, &values, sizeof values);
#else
    for (unsigned i = 0; i < 3; i++)
        out[i] = (uint8_t)(entry >> (8 * i + 8));
#endif
    return out + (entry >> 6 & 3);
}

/* Copies `length` symbols from `distance` symbols before, in steps of 8 bytes: up to 16 bytes more
 * than that are written. */
FORCE_INLINE SYMBOL *NAME(copy_match)(SYMBOL *out, size_t distance, size_t length)
{
    enum { STEP = 8 / sizeof(SYMBOL) };
    const SYMBOL *from = out - distance;
    SYMBOL *const end = out + length;
    if (distance >= STEP) {
        memcpy(out, from, 8);
        memcpy(out + STEP, from + STEP, 8);
        for (out += 2 * STEP, from += 2 * STEP; out < end; out += 2 * STEP, from += 2 * STEP) {
            memcpy(out, from, 8);
            memcpy(out + STEP, from + STEP, 8);
        }
    } else if (distance == 1) {
        const SYMBOL value = *from;
        for (; out < end; out += STEP)
            for (size_t i = 0; i < STEP; i++)
                out[i] = value;
    } else { /* of 8 bytes, the first `distance` symbols are right: the next steps right the rest */
        for (; out < end; out += distance, from += distance) {
            uint64_t step;
            memcpy(&step, from, sizeof step);
            memcpy(out, &step, sizeof step);
        }
    }
    return end;
}

/* One symbol where input may end. Returns DECODE_ROOM if there may be more. */
static DecodeStop NAME(decode_one)(BitReader *reader, const DeflateCodes *codes,
                                   const SYMBOL *start, SYMBOL **out)
{
    BitReader r = *reader;
    bit_reader_fill(&r);
    uint32_t entry = codes->literal[r.bits & LITERAL_MASK];
    if (has_table(entry)) {
        if (r.n < LITERAL_BITS)
            return DECODE_INPUT;
        bit_reader_drop(&r, LITERAL_BITS);
        entry = codes->literal[second_place(entry, r.bits)];
    }
    const unsigned taken = entry & ENTRY_COUNT;
    if (r.n < taken)
        return DECODE_INPUT;
    const uint64_t bits = r.bits;
    bit_reader_drop(&r, taken);
    if (entry & ENTRY_LITERALS) {
        *out = NAME(put_literals)(*out, entry);
        *reader = r;
        return DECODE_ROOM;
    }
    if (entry & ENTRY_SPECIAL) {
        if (!(entry & ENTRY_END))
            return r.n + taken < MOST_CODE ? DECODE_INPUT : DECODE_WRONG;
        *reader = r;
        return DECODE_BLOCK;
    }
    const size_t length = entry_value(entry, bits);
    bit_reader_fill(&r);
    entry = codes->distance[r.bits & DISTANCE_MASK];
    if (has_table(entry)) {
        if (r.n < DISTANCE_BITS)
            return DECODE_INPUT;
        bit_reader_drop(&r, DISTANCE_BITS);
        entry = codes->distance[second_place(entry, r.bits)];
    }
    if (entry & ENTRY_SPECIAL)
        return r.n < MOST_CODE ? DECODE_INPUT : DECODE_WRONG;
    if (r.n < (entry & ENTRY_COUNT))
        return DECODE_INPUT;
    const size_t distance = entry_value(entry, r.bits);
    bit_reader_drop(&r, entry & ENTRY_COUNT);
    if (distance > (size_t)(*out - start))
        return DECODE_WRONG;
    *out = NAME(copy_match)(*out, distance, length);
    *reader = r;
    return DECODE_ROOM;
}

/* Decodes to the end of the block, of the room or of the input. */
static DecodeStop NAME(decode_coded)(DeflateDecoder *decoder, const SYMBOL *start, SYMBOL **out_at,
                                     SYMBOL *end)
{
    const DeflateCodes *const codes = &decoder->codes;
    const uint32_t *const literals = codes->literal, *const distances = codes->distance;
    BitReader *const reader = &decoder->reader;
    SYMBOL *out = *out_at;
    DecodeStop stop = DECODE_ROOM;
    if (end - out < DECODE_MARGIN)
        return DECODE_ROOM;
    SYMBOL *const out_most = end - DECODE_MARGIN;
    while (out <= out_most && stop == DECODE_ROOM) {
        if (reader->end - reader->at < FAST_INPUT) {
            stop = NAME(decode_one)(reader, codes, start, &out);
            continue;
        }
        /* Of n only the low 6 bits count; what `bits` has above them is input as well. There are 56
         * bits and more at the start of each turn, and the next entry is loaded. Three codes of the
         * first table or two and a length leave enough to load one entry more. */
        uint64_t bits = reader->bits, before;
        unsigned n = reader->n;
        const uint8_t *at = reader->at, *const at_most = reader->end - FAST_INPUT;
        REFILL(bits, n, at);
        uint32_t entry = literals[bits & LITERAL_MASK];
        while (at <= at_most && out <= out_most) {
            TAKE_ENTRY(bits, n, entry, before);
            if (entry & ENTRY_LITERALS) {
                out = NAME(put_literals)(out, entry);
                entry = literals[bits & LITERAL_MASK];
                TAKE_ENTRY(bits, n, entry, before);
                if (entry & ENTRY_LITERALS) {
                    out = NAME(put_literals)(out, entry);
                    entry = literals[bits & LITERAL_MASK];
                    TAKE_ENTRY(bits, n, entry, before);
                    if (entry & ENTRY_LITERALS) {
                        out = NAME(put_literals)(out, entry);
                        entry = literals[bits & LITERAL_MASK];
                        REFILL(bits, n, at);
                        continue;
                    }
                }
            }
            if (entry & ENTRY_SPECIAL) {
                if (has_table(entry)) {
                    entry = literals[second_place(entry, bits)];
                    TAKE_ENTRY(bits, n, entry, before);
                    if (entry & ENTRY_LITERALS) {
                        out = NAME(put_literals)(out, entry);
                        REFILL(bits, n, at);
                        entry = literals[bits & LITERAL_MASK];
                        continue;
                    }
                }
                if (entry & ENTRY_SPECIAL) {
                    stop = entry & ENTRY_END ? DECODE_BLOCK : DECODE_WRONG;
                    break;
                }
            }
            const size_t length = entry_value(entry, before);
            entry = distances[bits & DISTANCE_MASK];
            REFILL(bits, n, at);
            TAKE_ENTRY(bits, n, entry, before);
            if (entry & ENTRY_SPECIAL) {
                if (has_table(entry)) {
                    entry = distances[second_place(entry, bits)];
                    TAKE_ENTRY(bits, n, entry, before);
                }
                if (entry & ENTRY_SPECIAL) {
                    stop = DECODE_WRONG;
                    break;
                }
            }
            const size_t distance = entry_value(entry, before);
            if (distance > (size_t)(out - start)) {
                stop = DECODE_WRONG;
                break;
            }
            entry = literals[bits & LITERAL_MASK];
            REFILL(bits, n, at);
            out = NAME(copy_match)(out, distance, length);
        }
        n &= 63;
        reader->bits = bits & (((uint64_t)1 << n) - 1);
        reader->n = n;
        reader->at = at;
    }
    *out_at = out;
    return stop;
}

/* Copies bytes of a stored block. */
static DecodeStop NAME(decode_stored)(DeflateDecoder *decoder, SYMBOL **out_at, SYMBOL *end)
{
    BitReader *const reader = &decoder->reader;
    SYMBOL *out = *out_at;
    while (decoder->n_stored > 0 && end - out > DECODE_MARGIN) {
        if (reader->n > 0) {
            *out++ = (uint8_t)bit_reader_take(reader, 8);
            decoder->n_stored--;
            continue;
        }
        size_t n = (size_t)(reader->end - reader->at);
        const size_t room = (size_t)(end - out) - DECODE_MARGIN;
        if (n == 0) {
            if (!bit_reader_open(reader, reader->piece + 1) || reader->at == reader->end) {
                *out_at = out;
                return DECODE_INPUT;
            }
            continue;
        }
        n = n < decoder->n_stored ? n : decoder->n_stored;
        n = n < room ? n : room;
        if (sizeof(SYMBOL) == 1)
            memcpy(out, reader->at, n);
        else
            for (size_t i = 0; i < n; i++)
                out[i] = reader->at[i];
        out += n;
        reader->at += n;
        decoder->n_stored -= (unsigned)n;
    }
    *out_at = out;
    return decoder->n_stored > 0 ? DECODE_ROOM : DECODE_BLOCK;
}

static DecodeStop NAME(decode)(DeflateDecoder *decoder, const SYMBOL *start, SYMBOL **out,
                               SYMBOL *end)
{
    if (decoder->inside == BLOCK_HEAD) {
        const DecodeStop stop = read_head(decoder);
        if (stop != DECODE_BLOCK)
            return stop;
    }
    const DecodeStop stop = decoder->inside == BLOCK_STORED
                                ? NAME(decode_stored)(decoder, out, end)
                                : NAME(decode_coded)(decoder, start, out, end);
    if (stop != DECODE_BLOCK)
        return stop;
    decoder->inside = BLOCK_HEAD;
    return decoder->last ? DECODE_END : DECODE_BLOCK;
}

#undef SYMBOL
#undef STORE
#undef LITERALS_OF
#undef NAME
