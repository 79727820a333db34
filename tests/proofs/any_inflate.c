/* SPDX-License-Identifier: MIT */
/* any_inflate: pieces of the CPU's decoder of deflate: bits that are read from any state of a
 * reader, matches, and stored blocks. */
#include "any.h"

#include "codec/deflate_decode.c"

/* CBMC: -DPROOF=reader -DBYTES=8 --unwind 9 */
/* CBMC: -DPROOF=matches -DBYTES=1 --unwind 20 --object-bits 12 */
/* CBMC, full: -DPROOF=reader -DBYTES=10 --unwind 11 */
/* CBMC, full: -DPROOF=matches -DBYTES=1 --unwind 20 --object-bits 12 */
/* CBMC, full: -DPROOF=stored -DBYTES=1 --unwind 9 */

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
    input->ring = (PieceRing){.slot = input->slot,
                              .bytes = input->bytes,
                              .n_slots = 2,
                              .piece_bytes = BYTES,
                              .loaded = 1 + any(2)};
    BitReader *const r = &input->reader;
    *r = (BitReader){
        .ring = &input->ring, .begin = input->slot[0], .end = input->slot[0] + input->bytes[0]};
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

/* Matches of any bytes, of each way to copy, up to their margin behind the end. */
static void matches(void)
{
    static const size_t lengths[] = {3, 17}, distances[] = {1, 2, 3, 4, 7, 8, 17};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (size_t k = 0; k < sizeof distances / sizeof *distances; k++) {
            const size_t distance = distances[k], n = distance + lengths[i] + 16;
            uint8_t *const bytes = malloc(n);
            uint16_t *const words = malloc(n * sizeof *words);
            demand(copy_match_bytes(bytes + distance, distance, lengths[i]) == bytes + n - 16,
                   "an end");
            demand(copy_match_words(words + distance, distance, lengths[i]) == words + n - 16,
                   "an end");
        }
}

static void stored(void)
{
    enum { ROOM = DECODE_MARGIN + 2 };
    static Input input;
    static uint16_t out[ROOM];
    static DeflateDecoder decoder;
    begin(&input);
    decoder.reader = input.reader;
    bit_reader_drop(&decoder.reader, decoder.reader.n % 8); /* as read_stored does */
    decoder.n_stored = any(65536);
    uint16_t *at = out + any(3);
    const uint16_t *const before = at;
    (void)decode_stored_words(&decoder, &at, out + ROOM);
    demand(at >= before && at <= out + ROOM - DECODE_MARGIN, "beyond the room");
    demand(reader_holds(&decoder.reader), "another state");
}

void prove(void)
{
    PROOF();
}
