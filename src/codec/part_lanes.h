/* SPDX-License-Identifier: MIT */
/* part_lanes.h: decompresses a deflate stream in parts, each by 32 lanes, and all at a time: the
 * kernels of codec/parted.cu, and the same in C.
 *
 *   part_find     looks for the first block that begins among PART_BYTES bytes.
 *   part_measure  decodes from there to the first place where a later part was found, and counts.
 *   parts_join    follows the parts from the first one on: what it passes is what one decoder would
 *                 read, whatever was found, and all sizes are known. If the end of the stream is
 *                 not reached, it is decoded in order.
 *   part_write    decodes again, to words: what lies before the part is not known.
 *   parts_byte    replaces a word by what it names, which lies in a part before. */
#ifndef IMGSTAT_CODEC_PART_LANES_H
#define IMGSTAT_CODEC_PART_LANES_H

#include "codec/block_lanes.h"
#include "codec/inflate_lanes.h"

enum { JOINED = 1024 /* parts that lanes load at once */ };

/* What the lanes that join parts share. */
typedef struct PartList {
    uint32_t bytes[JOINED], next[JOINED];
} PartList;

LANES_INLINE StreamPart *part_list(const PartedStream *p)
{
    return (StreamPart *)(uintptr_t)p->parts;
}

LANES_INLINE void part_find(BlockSearch *s, const PartedStream *p, uint32_t k)
{
    const uint8_t *const in = (const uint8_t *)(uintptr_t)p->in;
    const uint32_t start = k == 0 ? 8 * p->before : block_by_lanes(s, in, p->n_in, k);
    if (lanes_leader()) {
        const StreamPart part = {start, 0, PART_WRONG, PART_NOWHERE};
        part_list(p)[k] = part;
    }
}

LANES_INLINE void part_measure(InflateLanes *s, const PartedStream *p, uint32_t k)
{
    StreamPart *const parts = part_list(p);
    const InflateCall call = {(const uint8_t *)(uintptr_t)p->in,
                              p->n_in,
                              p->before,
                              NULL,
                              p->n_out,
                              p->window,
                              TO_NOTHING,
                              NULL,
                              0};
    InflatePlace at = {parts[k].start, 0, 0, 0};
    uint32_t next = PART_WRONG;
    if (at.bit == PART_NOWHERE)
        return;
    inflate_load(s, &call, &at);
    while (next == PART_WRONG && at.steps++ < COUNT_STEPS) {
        bool last;
        if (inflate_block(s, &call, &at, &last) != INFLATE_RIGHT)
            break;
        const uint32_t i = at.bit / 8 / PART_BYTES;
        if (last && (at.bit + 7) / 8 != p->n_in)
            break;
        if (last)
            next = PART_LAST;
        else if (at.done >= PART_OUTPUT_LEAST && parts[i].start == at.bit)
            next = i;
    }
    if (lanes_leader()) {
        parts[k].bytes = at.done;
        parts[k].next = next;
    }
}

/* Gives each part that is used its place. Returns INFLATE_RIGHT if they fill the output. */
LANES_INLINE InflateVerdict parts_join(PartList *s, const PartedStream *p)
{
    StreamPart *const parts = part_list(p);
    uint32_t k = 0, at = 0;
    for (uint32_t base = 0; base < p->n_parts; base += JOINED) {
        for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP)
            for (uint32_t i = lane; i < JOINED && base + i < p->n_parts; i += LANES) {
                s->bytes[i] = parts[base + i].bytes;
                s->next[i] = parts[base + i].next;
            }
        lanes_meet(); /* the parts are there */
        while (k < base + JOINED) {
            const uint32_t bytes = s->bytes[k - base], next = s->next[k - base];
            if (next == PART_WRONG || bytes > p->n_out - at)
                return INFLATE_IN_ORDER;
            if (lanes_leader())
                parts[k].at = at;
            at += bytes;
            if (next == PART_LAST)
                return at == p->n_out ? INFLATE_RIGHT : INFLATE_BAD_SIZE;
            k = next; /* always a later one */
        }
        lanes_meet(); /* the parts have been read */
    }
    return INFLATE_IN_ORDER;
}

/* Writes the words of a part that is used. */
LANES_INLINE InflateVerdict part_write(InflateLanes *s, const PartedStream *p, uint32_t k)
{
    const StreamPart *const parts = part_list(p);
    const StreamPart part = parts[k];
    const InflateCall call = {(const uint8_t *)(uintptr_t)p->in,
                              p->n_in,
                              p->before,
                              NULL,
                              part.at + part.bytes,
                              p->window,
                              TO_WORDS,
                              (uint16_t *)(uintptr_t)p->words,
                              part.at};
    InflatePlace at = {part.start, 0, part.at, 0};
    const bool ends = part.next == PART_LAST;
    const uint32_t end = ends ? PART_NOWHERE : parts[part.next].start;
    inflate_load(s, &call, &at);
    for (bool last = false; !last && at.bit != end;) {
        const InflateVerdict verdict = inflate_block(s, &call, &at, &last);
        if (verdict != INFLATE_RIGHT)
            return verdict;
    }
    uint32_t *const starts = (uint32_t *)(uintptr_t)p->starts;
    const uint32_t n =
        ends ? p->n_out / PART_OUTPUT_LEAST + 1 : (part.at + part.bytes) / PART_OUTPUT_LEAST;
    for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP)
        for (uint32_t i = part.at / PART_OUTPUT_LEAST + lane; i < n; i += LANES)
            starts[i] = part.at;
    return INFLATE_RIGHT;
}

/* Returns the byte that a word at a place of the output is or names. Every word that is written
 * names an earlier place. */
LANES_INLINE uint32_t parts_byte(const PartedStream *p, uint32_t at, uint32_t word)
{
    const uint32_t *const starts = (const uint32_t *)(uintptr_t)p->starts;
    const volatile uint16_t *const words = (const volatile uint16_t *)(uintptr_t)p->words;
    while (word & WORD_BEFORE) {
        const uint32_t i = at / PART_OUTPUT_LEAST; /* at most one part begins there */
        const uint32_t start = starts[i] > at ? starts[i - 1] : starts[i];
        at = start - WORD_WINDOW + (word & (WORD_WINDOW - 1));
        word = words[at]; /* others may replace it by its byte now */
    }
    return word;
}

#endif
