/* SPDX-License-Identifier: MIT */
/* part_lanes.h: decompresses a deflate stream in parts, each by 32 lanes, and all at a time: the
 * kernels of codec/parted.cu, and the same in C.
 *
 *   part_find     looks for the first block that begins among PART_BYTES bytes.
 *   part_measure  decodes from there to the first place where a later part was found, counts, and
 *                 sets marks.
 *   parts_join    follows the parts from the first one on: what it passes is what one decoder would
 *                 read, whatever was found, and all sizes are known. If the end of the stream is
 *                 not reached, it is decoded in order.
 *   part_write    decodes again, from the start of a part or a mark to the next mark or the end, to
 *                 words: what lies before is not known.
 *   parts_relate  replaces words by what they name, in groups of pieces that follow each other: all
 *                 groups at a time, each piece after the one before. What lies before the group
 *                 stays unknown.
 *   parts_windows finds the last bytes before each group, one after the other.
 *   parts_bytes   replaces all words by bytes.
 *
 * A piece is what is written from a start or a mark on.
 *
 * Parts that are not used cost time; each ends after COUNT_STEPS spans and blocks. */
#ifndef IMGSTAT_CODEC_PART_LANES_H
#define IMGSTAT_CODEC_PART_LANES_H

#include "codec/block_lanes.h"
#include "codec/inflate_lanes.h"

enum {
    COUNT_STEPS = 1024, /* 640 KB of a photograph; the first part, which is used, has more */
    JOINED = 1024       /* parts that lanes load at once */
};

/* What the lanes that join parts share. */
typedef struct PartList {
    uint32_t bytes[JOINED], next[JOINED];
} PartList;

LANES_INLINE StreamPart *part_list(const PartedStream *p)
{
    return (StreamPart *)(uintptr_t)p->parts;
}

LANES_INLINE PartMark *part_marks(const PartedStream *p)
{
    return (PartMark *)(uintptr_t)p->marks;
}

LANES_INLINE void part_find(BlockSearch *s, const PartedStream *p, uint32_t k)
{
    const uint8_t *const in = (const uint8_t *)(uintptr_t)p->in;
    const uint32_t start = k == 0 ? 8 * p->before : block_by_lanes(s, in, p->n_in, k);
    if (lanes_leader()) {
        const StreamPart part = {start, 0, PART_WRONG, PART_NOWHERE};
        part_list(p)[k] = part;
        part_marks(p)[k] = 0;
    }
}

LANES_INLINE InflateCall part_call(const PartedStream *p, InflateTo to)
{
    InflateCall call = inflate_call((const uint8_t *)(uintptr_t)p->in, p->n_in, p->before, NULL,
                                    p->n_out, p->window);
    call.to = to;
    call.words = (uint16_t *)(uintptr_t)p->words;
    call.marks = part_marks(p);
    return call;
}

LANES_INLINE void part_measure(InflateLanes *s, const PartedStream *p, uint32_t k)
{
    StreamPart *const parts = part_list(p);
    InflateCall call = part_call(p, TO_NOTHING);
    call.part = k;
    const uint32_t steps = k == 0 ? p->n_in / BLOCK_INPUT + SPARE_BLOCKS : (uint32_t)COUNT_STEPS;
    InflatePlace at = {parts[k].start, 0, 0, steps, PART_MARK_OUTPUT, true};
    uint32_t next = PART_WRONG;
    if (at.bit == PART_NOWHERE)
        return;
    inflate_load(s, &call, &at);
    while (next == PART_WRONG && at.steps > 0) {
        bool last;
        at.steps--;
        if (inflate_block(s, &call, &at, &last) != INFLATE_RIGHT)
            break;
        const uint32_t i = at.bit >> MARK_BITS;
        if (last && (at.bit + 7) / 8 != p->n_in)
            break;
        if (last)
            next = PART_LAST;
        else if (at.done >= PART_OUTPUT_LEAST && parts[i].start == at.bit)
            next = i;
        else
            inflate_mark(&call, &at, false);
        at.inside = false;
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

/* Returns the output before a mark of a part; 0 if it is none, or too little follows. */
LANES_INLINE uint32_t mark_output(PartMark mark, uint32_t k, uint32_t bytes)
{
    const uint32_t before = (uint32_t)(mark >> 32) & 0x7FFFFFFF;
    return (uint32_t)mark >> MARK_BITS == k && before + PART_OUTPUT_LEAST <= bytes ? before : 0;
}

/* Notes that `first` begins what lies up to `end` in the output. */
LANES_INLINE void part_note(const PartedStream *p, uint32_t first, uint32_t end, bool last)
{
    uint32_t *const starts = (uint32_t *)(uintptr_t)p->starts;
    const uint32_t n = end / PART_OUTPUT_LEAST + last;
    for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP)
        for (uint32_t i = first / PART_OUTPUT_LEAST + lane; i < n; i += LANES)
            starts[i] = first;
}

/* Writes words of a part that is used: those from place number i on, its start or a mark. */
LANES_INLINE InflateVerdict part_write(InflateLanes *s, const PartedStream *p, uint32_t i,
                                       bool is_mark)
{
    const StreamPart *const parts = part_list(p);
    const PartMark *const marks = part_marks(p), from = is_mark ? marks[i] : 0;
    const uint32_t k = is_mark ? (uint32_t)from >> MARK_BITS : i;
    const StreamPart part = parts[k];
    const uint32_t before = is_mark ? mark_output(from, k, part.bytes) : 0;
    if (part.at == PART_NOWHERE || (is_mark && before == 0))
        return INFLATE_RIGHT;
    const bool ends = part.next == PART_LAST;
    const uint32_t end = ends ? PART_NOWHERE : parts[part.next].start;
    uint32_t output = part.bytes;
    InflateCall call = part_call(p, TO_WORDS);
    call.until = PART_NOWHERE;
    for (uint32_t j = i + is_mark; j <= (ends ? p->n_parts - 1 : part.next); j++) {
        const uint32_t there = mark_output(marks[j], k, part.bytes);
        if (there == 0)
            continue;
        output = there;
        call.until = j << MARK_BITS | ((uint32_t)marks[j] & ((1u << MARK_BITS) - 1));
        break;
    }
    call.first = part.at + before;
    call.n_out = part.at + output;
    const uint32_t bit = i << MARK_BITS | ((uint32_t)from & ((1u << MARK_BITS) - 1));
    const bool inside = from >> 63 != 0;
    InflatePlace at = {is_mark && !inside ? bit : part.start, 0, call.first, 0, 0, false};
    InflateVerdict verdict = INFLATE_RIGHT;
    bool last = false;
    inflate_load(s, &call, &at);
    if (inside) {
        bool coded;
        verdict = inflate_head(s, &call, &at, &last, &coded);
        at.bit = bit;
        if (verdict == INFLATE_RIGHT)
            verdict = inflate_symbols(s, &call, &at);
    }
    while (verdict == INFLATE_RIGHT && !last && at.bit != end && at.bit != call.until)
        verdict = inflate_block(s, &call, &at, &last);
    part_note(p, call.first, call.n_out, ends && call.until == PART_NOWHERE);
    return verdict;
}

/* Returns where group g of pieces begins: those that begin before the next one does. Groups that
 * have no piece begin where the next one does. */
LANES_INLINE uint32_t group_start(const PartedStream *p, uint32_t g)
{
    const uint32_t *const starts = (const uint32_t *)(uintptr_t)p->starts;
    return g == 0 ? 0 : g < p->n_groups ? starts[g * PART_GROUP - 1] : p->n_out;
}

/* Replaces words of a piece from place `at` up to `end`: by what they name, or by its place before
 * the group if it lies there. */
LANES_INLINE void piece_relate(const PartedStream *p, uint32_t group, uint32_t piece, uint32_t at,
                               uint32_t end)
{
    uint16_t *const words = (uint16_t *)(uintptr_t)p->words;
    for (at += block_first(); at < end && piece != group; at += BLOCK_STEP) {
        const uint32_t word = words[at];
        const uint32_t source = piece - PART_WINDOW + (word & (PART_WINDOW - 1));
        if (word & WORD_BEFORE)
            words[at] = source >= group
                            ? words[source]
                            : (uint16_t)(WORD_BEFORE | ((source - group) & (PART_WINDOW - 1)));
    }
}

/* Makes the words of group g name places before the group: called by a block. */
LANES_INLINE void parts_relate(const PartedStream *p, uint32_t g)
{
    const uint32_t *const starts = (const uint32_t *)(uintptr_t)p->starts;
    const uint32_t group = group_start(p, g), end = group_start(p, g + 1);
    uint32_t piece = group;
    for (uint32_t i = group / PART_OUTPUT_LEAST; i * PART_OUTPUT_LEAST < end; i++) {
        const uint32_t begin = i * PART_OUTPUT_LEAST, behind = begin + PART_OUTPUT_LEAST;
        uint32_t from = begin > group ? begin : group;
        const uint32_t to = behind < end ? behind : end, next = starts[i];
        if (next > piece && next < end) { /* a piece begins here, at most one */
            piece_relate(p, group, piece, from, next);
            block_meet(); /* nothing before the piece changes any more */
            piece = from = next;
        }
        piece_relate(p, group, piece, from, to);
    }
}

/* Finds the bytes before each group: called by a block. */
LANES_INLINE void parts_windows(uint8_t window[PART_WINDOW], const PartedStream *p)
{
    enum { EACH = PART_WINDOW / BLOCK_STEP };
    const uint16_t *const words = (const uint16_t *)(uintptr_t)p->words;
    for (uint32_t g = 0; g + 1 < p->n_groups; g++) {
        const uint32_t group = group_start(p, g), end = group_start(p, g + 1);
        uint8_t *const to = (uint8_t *)(uintptr_t)p->windows + (size_t)g * PART_WINDOW;
        uint8_t held[EACH]; /* all that is read of the window before, before it is replaced */
        for (uint32_t k = 0; k < EACH; k++) {
            const uint32_t i = block_first() + k * BLOCK_STEP, at = end + i - PART_WINDOW;
            const bool there = end + i >= PART_WINDOW, before = there && at < group;
            const uint32_t word = !there   ? 0
                                  : before ? WORD_BEFORE | ((at - group) & (PART_WINDOW - 1))
                                           : words[at];
            held[k] = word & WORD_BEFORE ? window[word & (PART_WINDOW - 1)] : (uint8_t)word;
        }
        block_meet(); /* the window has been read */
        for (uint32_t k = 0; k < EACH; k++)
            to[block_first() + k * BLOCK_STEP] = window[block_first() + k * BLOCK_STEP] = held[k];
        block_meet(); /* the next one is there */
    }
}

/* Writes the output number i of PART_OUTPUT_LEAST bytes: called by a block. */
LANES_INLINE void parts_bytes(const PartedStream *p, uint32_t i)
{
    const uint16_t *const words = (const uint16_t *)(uintptr_t)p->words;
    const uint8_t *const windows = (const uint8_t *)(uintptr_t)p->windows;
    uint8_t *const out = (uint8_t *)(uintptr_t)p->out;
    const uint32_t g = i / PART_GROUP, next = group_start(p, g + 1);
    const uint32_t begin = i * PART_OUTPUT_LEAST, left = p->n_out - begin;
    const uint32_t n = left < PART_OUTPUT_LEAST ? left : (uint32_t)PART_OUTPUT_LEAST;
    for (uint32_t k = block_first(); k < n; k += BLOCK_STEP) {
        const uint32_t word = words[begin + k], of = begin + k < next ? g : g + 1;
        out[begin + k] = word & WORD_BEFORE
                             ? windows[(of - 1) * (size_t)PART_WINDOW + (word & (PART_WINDOW - 1))]
                             : (uint8_t)word;
    }
}

#endif
