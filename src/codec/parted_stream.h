/* SPDX-License-Identifier: MIT */
/* parted_stream.h: a long deflate stream that a device decodes in parts, all at a time. */
#ifndef IMGSTAT_CODEC_PARTED_STREAM_H
#define IMGSTAT_CODEC_PARTED_STREAM_H

#include "base/padded.h"

#include <stddef.h>
#include <stdint.h>

enum {
    PART_BYTES = 1 << 10,        /* of the stream: in so many a block is looked for */
    PART_OUTPUT_LEAST = 1 << 12, /* of a part, but for the last */
    PART_MARK_OUTPUT = 1 << 15,  /* from one mark to the next, at least */
    PART_GROUP = 128,            /* pieces that begin within so many times PART_OUTPUT_LEAST */
    PART_WINDOW = 1 << 15,       /* bytes that the largest distance goes back */
    /* A stream of fewer bytes, or with more beside it, takes no longer in order. */
    PARTED_BYTES_LEAST = 1 << 16,
    PARTED_STREAMS_MOST = 512,
    PARTED_OUTPUT_MOST = 1 << 29, /* words take twice as much */
    PARTED_ROUND_BYTES = 1 << 30 /* of places, but for a stream that needs more; then others wait */
};

static const uint32_t PART_NOWHERE = UINT32_MAX;                               /* no place */
static const uint32_t PART_LAST = UINT32_MAX - 1, PART_WRONG = UINT32_MAX - 2; /* no part */

/* Where a block begins that is the first one found among PART_BYTES bytes, and what follows up to
 * the start of a later part. */
typedef struct StreamPart {
    uint32_t start; /* in bits; PART_NOWHERE: no block was found */
    uint32_t bytes; /* of output */
    uint32_t next;  /* the part that begins where this one ends; PART_LAST, PART_WRONG */
    uint32_t at;    /* place in the output; PART_NOWHERE: it is not used */
} StreamPart;

enum { MARK_BITS = 13 }; /* PART_BYTES have 2^MARK_BITS bits */

/* A place from which on a part can be written by itself, noted where its bit is among PART_BYTES
 * bytes: the bit among those in bits 0 to 12, the number of the part in bits 13 to 31, its bytes of
 * output before the place in bits 32 to 62, and whether the place lies inside the first block of
 * the part: else a block begins there. A part that overlaps may replace a mark. So a mark has the
 * number of its part, and one that is lost is not needed. */
typedef uint64_t PartMark;

/* A stream; places are addresses in the device's memory. */
typedef struct PartedStream {
    uint64_t in;      /* on a boundary of 4 */
    uint64_t out;     /* on a boundary of 16, and room up to the next one */
    uint64_t parts;   /* StreamPart: n_parts of them */
    uint64_t marks;   /* PartMark: n_parts of them; 0: none */
    uint64_t starts;  /* uint32_t: for each PART_OUTPUT_LEAST bytes of output, the last place up to
                         their end where a part or what is behind a mark begins */
    uint64_t windows; /* PART_WINDOW bytes before each group of pieces but the first */
    uint64_t words; /* uint16_t: n_out of them, on a boundary of 16 and with room up to the next */
    uint64_t verdict;                     /* uint32_t: an InflateVerdict */
    uint32_t n_in, before, n_out, window; /* as in InflateCall */
    uint32_t n_parts, n_groups;
    uint32_t check; /* number of the check that a doubt is noted in */
} PartedStream;

/* Places what a stream needs besides its input and output behind `at`, relative to the same start.
 * Returns where that ends. */
static inline size_t parted_place(PartedStream *p, size_t at)
{
    enum { ALIGN = 256 };
    p->n_parts = p->n_in / PART_BYTES + 1;
    p->n_groups = p->n_out / PART_OUTPUT_LEAST / PART_GROUP + 1;
    p->words = at;
    at += padded(p->n_out * sizeof(uint16_t) + sizeof(uint64_t), ALIGN);
    p->parts = at;
    at += padded(p->n_parts * sizeof(StreamPart), ALIGN);
    p->marks = at;
    at += padded(p->n_parts * sizeof(PartMark), ALIGN);
    p->starts = at;
    at += padded((p->n_out / PART_OUTPUT_LEAST + 1) * sizeof(uint32_t), ALIGN);
    p->windows = at;
    at += (p->n_groups - 1) * (size_t)PART_WINDOW;
    p->verdict = at;
    return at + ALIGN;
}

/* Makes addresses of these places. */
static inline void parted_move(PartedStream *p, uint64_t base)
{
    p->words += base;
    p->parts += base;
    p->marks += base;
    p->starts += base;
    p->windows += base;
    p->verdict += base;
}

#endif
