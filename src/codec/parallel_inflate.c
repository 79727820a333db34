/* SPDX-License-Identifier: MIT */
/* parallel_inflate.c: the compressed stream is cut into parts of one size. Threads look for the
 * first block that begins in a part, and decode from there to the first block that begins in a
 * later part. What a part refers to before its first byte is not known then: until 32 KiB without
 * such references follow each other, it is decoded to words that name places in that window.
 *
 * The thread that reads goes through the stream in order. It accepts a part only if what it
 * accepted before ends where the part begins, so that what it returns is what one decoder gives;
 * elsewhere it decodes by itself. So no place that was found needs to be trusted. With a part the
 * window of the next is known: threads replace words by bytes before their turn to be returned. */
#include "codec/parallel_inflate.h"

#include "codec/deflate.h"
#include "codec/inflate.h"

#include <stdlib.h>

enum {
    HEAD_BYTES = 2,
    CHECK_BITS = 32,
    FRONT_ROOM = 1 << 17 /* decoded in order */
};

struct ParallelInflater {
    uint64_t total;
    InflateParts *parts;
    bool begun, failed, ended;
    DeflateDecoder front;       /* up to where all is decoded */
    uint8_t *memory;            /* DEFLATE_WINDOW bytes and more that were decoded last */
    uint8_t *returned, *at;     /* in memory: the ends of what was returned and decoded */
    const InflatePart *current; /* whose words and bytes are returned; NULL: those in memory */
    size_t n_returned;          /* of them */
    uint64_t made;              /* bytes decoded */
    uint32_t adler;
};

/* Returns whether there is more input. */
static bool load(ParallelInflater *inflater)
{
    return inflate_parts_load(inflater->parts,
                              inflater->begun ? bit_reader_place(&inflater->front.reader) : 0);
}

static bool begin(ParallelInflater *inflater)
{
    const PieceRing *const ring = inflate_parts_ring(inflater->parts);
    if (!load(inflater) || ring->bytes[0] < HEAD_BYTES ||
        !inflate_head_is_usual(ring->slot[0], inflater->total) ||
        !bit_reader_seek(&inflater->front.reader, ring, 8 * HEAD_BYTES))
        return false;
    inflater->front.inside = BLOCK_HEAD;
    inflater->begun = true;
    return true;
}

/* Accepts the part that begins at the place of `front`, if there is one. All bytes in memory are
 * returned. */
static bool accept_next(ParallelInflater *inflater)
{
    if (inflater->ended || inflater->made > inflater->total || inflater->made < DEFLATE_WINDOW ||
        inflater->front.inside != BLOCK_HEAD)
        return false;
    InflatePart *const part =
        inflate_parts_find(inflater->parts, bit_reader_place(&inflater->front.reader));
    if (!part)
        return false;
    inflate_part_follow(part, inflater->at - DEFLATE_WINDOW);
    inflate_part_window(part, inflater->memory);
    inflater->returned = inflater->at = inflater->memory + DEFLATE_WINDOW;
    inflater->front = part->decoder;
    inflater->made += inflate_part_size(part);
    inflater->ended = part->decoder.inside == BLOCK_HEAD && part->decoder.last;
    inflate_parts_accept(inflater->parts);
    return true;
}

/* Decodes on in order. Returns false on a fault. */
static bool decode_in_order(ParallelInflater *inflater)
{
    uint8_t *const end = inflater->memory + DEFLATE_WINDOW + FRONT_ROOM;
    if (end - inflater->at < FRONT_ROOM / 2) {
        memmove(inflater->memory, inflater->at - DEFLATE_WINDOW, DEFLATE_WINDOW);
        inflater->returned = inflater->at = inflater->memory + DEFLATE_WINDOW;
    }
    const size_t behind = (size_t)(inflater->at - inflater->memory);
    const uint8_t *const start = inflater->at - (inflater->made < behind ? inflater->made : behind);
    uint8_t *const before = inflater->at;
    const DecodeStop stop = deflate_decode_bytes(&inflater->front, start, &inflater->at, end);
    inflater->made += (size_t)(inflater->at - before);
    inflater->ended = stop == DECODE_END;
    return stop != DECODE_WRONG &&
           (stop != DECODE_INPUT || inflater->at > before || load(inflater));
}

/* Decodes more, if it can. Returns false on a fault. */
static bool advance(ParallelInflater *inflater)
{
    inflater->current = NULL;
    if (!inflater->begun && !begin(inflater))
        return false;
    load(inflater);
    while (accept_next(inflater))
        continue;
    inflater->current = inflate_parts_next(inflater->parts);
    inflater->n_returned = 0;
    return inflater->current || (decode_in_order(inflater) && inflater->made <= inflater->total);
}

/* Whether all that the stream decodes to is in memory or in `current`. */
static bool is_over(const ParallelInflater *inflater)
{
    return inflater->ended && !inflate_parts_waiting(inflater->parts);
}

/* Copies at most n bytes that are decoded. */
static size_t copy_decoded(ParallelInflater *inflater, uint8_t *to, size_t n)
{
    if (inflater->current) {
        n = inflate_part_copy(inflater->current, inflater->n_returned, to, n);
        inflater->n_returned += n;
        return n;
    }
    const size_t left = (size_t)(inflater->at - inflater->returned);
    n = n < left ? n : left;
    memcpy(to, inflater->returned, n);
    inflater->returned += n;
    return n;
}

bool parallel_inflater_read(ParallelInflater *inflater, uint8_t *to, size_t n)
{
    while (n > 0 && !inflater->failed) {
        const size_t got = copy_decoded(inflater, to, n);
        if (got == 0) {
            inflater->failed = is_over(inflater) || !advance(inflater);
            continue;
        }
        inflater->adler = deflate_adler_join(inflater->adler, deflate_adler(to, got), got);
        to += got;
        n -= got;
    }
    return n == 0;
}

bool parallel_inflater_end(ParallelInflater *inflater, bool *surplus)
{
    BitReader *const reader = &inflater->front.reader;
    uint32_t check = 0;
    uint8_t more;
    while (!inflater->failed && !is_over(inflater))
        inflater->failed = copy_decoded(inflater, &more, 1) > 0 || !advance(inflater);
    if (inflater->failed || copy_decoded(inflater, &more, 1) > 0)
        return false;
    bit_reader_drop(reader, reader->n % 8);
    while (!bit_reader_has(reader, CHECK_BITS))
        if (!load(inflater))
            return false;
    for (unsigned i = 0; i < CHECK_BITS / 8; i++)
        check = check << 8 | bit_reader_take(reader, 8);
    *surplus = bit_reader_has(reader, 1) || (load(inflater) && bit_reader_has(reader, 1));
    return check == inflater->adler;
}

/* ---- Memory ---- */

void parallel_inflater_destroy(ParallelInflater *inflater)
{
    if (!inflater)
        return;
    inflate_parts_destroy(inflater->parts);
    buffer_cache_release(inflater->memory);
    free(inflater);
}

unsigned parallel_inflater_used_parts(const ParallelInflater *inflater)
{
    return inflate_parts_accepted(inflater->parts);
}

size_t parallel_inflater_bytes(size_t part_bytes)
{
    return inflate_parts_bytes(part_bytes) + FRONT_ROOM;
}

ParallelInflater *parallel_inflater_create(uint64_t total, unsigned threads, size_t part_bytes,
                                           InflateRead *read, void *context, BufferCache *buffers)
{
    ParallelInflater *const inflater = calloc(1, sizeof *inflater);
    if (!inflater)
        return NULL;
    inflater->total = total;
    inflater->adler = 1;
    inflater->memory = buffer_cache_acquire(buffers, DEFLATE_WINDOW + FRONT_ROOM);
    if (inflater->memory)
        inflater->parts = inflate_parts_create(threads, part_bytes, read, context, buffers);
    if (inflater->parts) {
        inflater->returned = inflater->at = inflater->memory + DEFLATE_WINDOW;
        return inflater;
    }
    parallel_inflater_destroy(inflater);
    return NULL;
}
