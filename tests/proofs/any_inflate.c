/* SPDX-License-Identifier: MIT */
/* any_inflate: pieces of the CPU's decoder of deflate: bits that are read from any state of a reader,
 * codes of any lengths of a few symbols, their tables, and matches. Tables have fewer bits here; their sizes are
 * parameters of what fills them. */
#include "any.h"

#include "codec/deflate_codes.c"
#include "codec/deflate_decode.c"

/* CBMC: -DPROOF=reader -DBYTES=9 --unwind 10 */
/* CBMC: -DPROOF=lengths -DBYTES=3 -DLENGTHS=4 --unwind 6 */
/* CBMC: -DPROOF=tables -DBYTES=1 -DSYMBOLS=3 --unwind 18 */
/* CBMC: -DPROOF=matches -DBYTES=1 --unwind 20 --object-bits 12 */
/* CBMC: -DPROOF=stored -DBYTES=2 --unwind 9 */

/* Two pieces of up to BYTES bytes; the reader is anywhere in the first. */
typedef struct Input {
    uint8_t *slot[2];
    size_t bytes[2];
    PieceRing ring;
    BitReader reader;
} Input;

static void begin(Input *input)
{
    static uint8_t first[BYTES], second[BYTES];
    input->bytes[0] = any(BYTES + 1);
    input->bytes[1] = any(BYTES + 1);
    input->slot[0] = any_bytes(first, BYTES, input->bytes[0]);
    input->slot[1] = any_bytes(second, BYTES, input->bytes[1]);
    input->ring = (PieceRing){.slot = input->slot, .bytes = input->bytes, .n_slots = 2, .piece_bytes = BYTES,
                              .loaded = 1 + any(2)};
    BitReader *const r = &input->reader;
    *r = (BitReader){.ring = &input->ring, .begin = input->slot[0], .end = input->slot[0] + input->bytes[0]};
    r->at = r->begin + any((unsigned)input->bytes[0] + 1);
    r->n = any(64);
    __CPROVER_havoc_slice(&r->bits, sizeof r->bits);
    r->bits &= ((uint64_t)1 << r->n) - 1;
}

static bool reader_holds(const BitReader *r)
{
    return r->n < 64 && r->bits >> r->n == 0 && r->at >= r->begin && r->at <= r->end;
}

static void reader(void)
{
    static Input input;
    begin(&input);
    BitReader *const r = &input.reader;
    const unsigned n = any(49), before = r->n;
    const bool has = bit_reader_has(r, n);
    demand(reader_holds(r) && r->n >= before, "another state");
    demand(has == (r->n >= n), "bits that are not there");
    if (has && n <= 16)
        demand(bit_reader_take(r, n) >> n == 0 && reader_holds(r), "too many bits");
}

#ifdef LENGTHS
/* Code lengths of any complete code of code lengths, of which CBMC takes any entries that there may be. */
static void lengths(void)
{
    static Input input;
    uint8_t table[1 << LENGTH_BITS], read[LENGTHS];
    begin(&input);
    const unsigned n = 1 + any(LENGTHS);
    const uint8_t entry = (uint8_t)(any(DEFLATE_LENGTH_CODES) << 3 | (1 + any(LENGTH_BITS)));
    memset(table, entry, sizeof table);
    if (read_lengths(&input.reader, table, read + LENGTHS - n, n) == CODES_READY)
        for (unsigned i = 0; i < n; i++)
            demand(read[LENGTHS - n + i] <= MAX_BITS, "a length");
    demand(reader_holds(&input.reader), "another state");
}
#endif

#ifdef SYMBOLS
/* The table of any complete code, in memory that it fills. */
static void tables(void)
{
    enum { FIRST_BITS = 1, TABLE_ROOM = 2 + 4 };
    uint8_t lengths[SYMBOLS];
    uint32_t table[TABLE_ROOM];
    unsigned count[MAX_BITS + 1];
    for (unsigned i = 0; i < SYMBOLS; i++)
        __CPROVER_assume(lengths[i] <= MAX_BITS);
    if (count_lengths(lengths, SYMBOLS, count) == 0)
        (void)make_table(lengths, SYMBOLS, count, distance_entry, FIRST_BITS, table, TABLE_ROOM);
}
#endif

/* Matches of any bytes, of each way to copy, up to their margin behind the end. */
static void matches(void)
{
    static const size_t lengths[] = {3, 17}, distances[] = {1, 2, 3, 4, 7, 8, 17};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (size_t k = 0; k < sizeof distances / sizeof *distances; k++) {
            const size_t distance = distances[k], n = distance + lengths[i] + 16;
            uint8_t *const bytes = malloc(n);
            uint16_t *const words = malloc(n * sizeof *words);
            demand(copy_match_bytes(bytes + distance, distance, lengths[i]) == bytes + n - 16, "an end");
            demand(copy_match_words(words + distance, distance, lengths[i]) == words + n - 16, "an end");
        }
}

static void stored(void)
{
    enum { ROOM = DECODE_MARGIN + 6 };
    static Input input;
    static uint8_t out[ROOM];
    static DeflateDecoder decoder;
    begin(&input);
    decoder.reader = input.reader;
    decoder.reader.n -= decoder.reader.n % 8;
    decoder.n_stored = any(65536);
    uint8_t *at = out + any(7);
    const uint8_t *const before = at;
    (void)decode_stored_bytes(&decoder, &at, out + ROOM);
    demand(at >= before && at <= out + ROOM - DECODE_MARGIN, "beyond the room");
    demand(reader_holds(&decoder.reader), "another state");
}

void prove(void)
{
    PROOF();
}
