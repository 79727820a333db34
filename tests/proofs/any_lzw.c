/* SPDX-License-Identifier: MIT */
/* any_lzw: the CPU's LZW decoder, by induction over codes: from any state in which what is below
 * holds, any code leads to such a state, and touches nothing beside its input, output and table. So
 * it holds for any number of codes whose output has up to ROOM bytes. */
#include "any.h"

#include "tiff/lzw.c"

/* CBMC: --unwind 5 --unwindset run.0:2,copy_narrow.0:26,copy_wide.0:2 -DROOM=25 */
/* CBMC, full: --unwind 5 --unwindset run.0:2,copy_narrow.0:57,copy_wide.0:4 -DROOM=56 -DOTHERS */

enum { IN = 2, IN_ROOM = IN + LZW_SPARE }; /* a code, from any bit of a byte */

/* A string lies in what is made, and those of single bytes anywhere in it; a code is at most one
 * byte longer than the one that was made before it. */
static bool string_holds(const Entry *string, uint32_t made, unsigned most)
{
    return string->length > 0 && string->length <= most && string->at <= made &&
           (string->length == 1 || string->length <= made - string->at);
}

static unsigned longest(unsigned code)
{
    return code < CLEAR ? 1 : code - FIRST + 2;
}

static bool state_holds(const State *s, size_t end, uint32_t room)
{
    const bool width = s->width >= LEAST_WIDTH && s->width <= MOST_WIDTH &&
                       s->wider == (1u << s->width) - 1 && s->next >= FIRST && s->next <= CODES &&
                       (s->next < s->wider || s->width == MOST_WIDTH);
    const bool before = s->before.length == 0 ||
                        (s->before.at <= s->at && s->before.length <= longest(s->next) - 1 &&
                         (s->at == room || s->before.length == s->at - s->before.at));
    return s->bit <= end && s->at <= room && width && before;
}

void prove(void)
{
    const size_t end = 8 * any(IN + 1);
    const uint32_t room = any(ROOM + 1), place = any(2) ? 0 : ROOM - room;
    uint8_t in[IN_ROOM], out[ROOM];
    const size_t codes =
        any(CODES + 1); /* of unknown size: CBMC then makes no bits of all entries */
    Entry *const entry = malloc(codes * sizeof *entry);
    __CPROVER_assume(codes >= CODES);
    State s;
    __CPROVER_assume(state_holds(&s, end, room) && s.at < room);
    const uint8_t *const from = in + IN - end / 8;
    const unsigned next = s.next;
    const unsigned code = end - s.bit < s.width ? 0 : code_at(from, s.bit, s.width);
    if (code < CLEAR || (code >= FIRST && code < next))
        __CPROVER_assume(string_holds(&entry[code], s.at, longest(code)));
#ifdef OTHERS
    const unsigned other = any(CODES);
    const Entry kept = entry[other];
#endif
    const size_t bit = s.bit;
    const uint32_t at = s.at;
    const Outcome outcome = run(entry, &s, from, end, out + place, s.at + 1, room, true);
    demand(state_holds(&s, end, room), "another state");
    demand(outcome == HUNGRY || s.bit > bit, "no progress");
    demand(outcome != FULL || s.at > at, "no output");
    demand(s.next == next || s.next == next + 1 || s.next == FIRST, "another code");
    if (s.next == next + 1)
        demand(string_holds(&entry[next], s.at, longest(next)), "another string");
#ifdef OTHERS
    if (s.next != next + 1 || other != next)
        demand(entry[other].at == kept.at && entry[other].length == kept.length,
               "a string that was there");
#endif
}
