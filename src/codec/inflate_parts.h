/* SPDX-License-Identifier: MIT */
/* inflate_parts.h: the parts of one deflate stream, and the threads that decode them ahead. One
 * thread, the one that reads, calls these functions. Places are numbers of bits in the stream. */
#ifndef IMGSTAT_CODEC_INFLATE_PARTS_H
#define IMGSTAT_CODEC_INFLATE_PARTS_H

#include "base/buffer_cache.h"
#include "codec/inflate_part.h"

/* Reads the next compressed bytes: at most `room`. Returns how many; 0: there are no more. */
typedef size_t InflateRead(void *context, uint8_t *to, size_t room);

typedef struct InflateParts InflateParts;

/* Begins a stream. threads: at least 2, the one that reads included. part_bytes: compressed bytes
 * of a part, about. buffers: for memory; NULL: memory is not kept. Returns NULL if memory or
 * threads run out. */
InflateParts *inflate_parts_create(unsigned threads, size_t part_bytes, InflateRead *read,
                                   void *context, BufferCache *buffers);

/* Accepts NULL. */
void inflate_parts_destroy(InflateParts *parts);

/* Returns the memory for each thread, about. */
size_t inflate_parts_bytes(size_t part_bytes);

/* Returns the compressed bytes. */
const PieceRing *inflate_parts_ring(const InflateParts *parts);

/* Gives back what lies before `place`, up to which all is decoded, but for parts that wait for
 * their turn, and reads as many parts as there is room for. Returns whether there was one. */
bool inflate_parts_load(InflateParts *parts, uint64_t place);

/* Returns the decoded part that begins at `place`, up to which all is decoded; NULL: there is none.
 * Only while none waits for its turn, it waits for a thread that decodes the part. */
InflatePart *inflate_parts_find(InflateParts *parts, uint64_t place);

/* Accepts the part that was found, which knows its window: it waits for its turn. Meanwhile threads
 * replace its words. */
void inflate_parts_accept(InflateParts *parts);

/* Returns how many parts were accepted. */
unsigned inflate_parts_accepted(const InflateParts *parts);

/* Whether accepted parts wait for their turn. */
bool inflate_parts_waiting(const InflateParts *parts);

/* Returns the part whose turn it is; NULL: none waits. It stays until the next inflate_parts_load.
 */
const InflatePart *inflate_parts_next(InflateParts *parts);

#endif
