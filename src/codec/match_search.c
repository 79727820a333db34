/* SPDX-License-Identifier: MIT */
/* match_search.c: takes the first match that each byte has, by hashes of the bytes from there on.
 */
#include "codec/match_search.h"

#include "base/compiler.h"
#include "codec/match_length.h"

/* ---- Places ---- */

/* Keys, as they are numbered. */
enum { FOUR, EIGHT, SIXTEEN };

/* A place is its distance from 32,768 bytes before the half block that is searched; 0: none. */
static void move_places(uint16_t places[MATCH_PLACES])
{
    for (size_t i = 0; i < MATCH_PLACES; i++)
        places[i] = (uint16_t)(places[i] > MATCH_PLACES ? places[i] - MATCH_PLACES : 0);
}

static void begin_half(MatchSearch *search, bool first, bool fast)
{
    for (unsigned key = 0; key < MATCH_KEYS; key++) {
        if (fast && key != EIGHT)
            continue;
        if (first)
            memset(search->place[key], 0, sizeof search->place[key]);
        else
            move_places(search->place[key]);
    }
}

FORCE_INLINE uint64_t load_key(const uint8_t *at)
{
    const uint64_t key = load_raw(at, 8);
    return host_big_endian ? __builtin_bswap64(key) : key;
}

/* Enters `now` as a key's place. Returns how far back the last one is; 0: too far, or none. */
FORCE_INLINE unsigned enter(uint16_t *place, unsigned now)
{
    const unsigned distance = now - *place;
    *place = (uint16_t)now;
    return distance <= MATCH_REACH ? distance : 0;
}

/* How far back the keys of a byte were last. */
typedef struct Places {
    unsigned distance[MATCH_KEYS];
} Places;

FORCE_INLINE Places enter_keys(MatchSearch *search, const uint8_t *at, unsigned now, bool fast)
{
    const uint64_t key = load_key(at);
    Places last = {0};
    last.distance[EIGHT] = enter(&search->place[EIGHT][match_hash_8(key)], now);
    if (!fast) {
        last.distance[FOUR] = enter(&search->place[FOUR][match_hash_4(key)], now);
        last.distance[SIXTEEN] =
            enter(&search->place[SIXTEEN][match_hash_16(key, load_key(at + 8))], now);
    }
    return last;
}

/* ---- Matches ---- */

/* Whether four bytes equal the one before them: they have no places. */
FORCE_INLINE bool is_plain(const uint8_t *at)
{
    return load_raw(at - 1, 4) == load_raw(at, 4);
}

/* A match; length 0: none. */
typedef struct Found {
    unsigned distance, length;
} Found;

/* The match of a byte whose keys were last there. most: bytes of its span from there on, at most
 * the longest. */
FORCE_INLINE Found find_match(const uint8_t *at, const Places *last, unsigned most, bool fast)
{
    const uint64_t key = load_key(at);
    const unsigned far = last->distance[SIXTEEN], eight = last->distance[EIGHT];
    const unsigned four = last->distance[FOUR];
    if (!fast && far > 0 && load_key(at - far) == key && load_key(at - far + 8) == load_key(at + 8))
        return (Found){far, (unsigned)match_length(at - far, at, 16, most)};
    if (eight > 0 && load_key(at - eight) == key)
        return (Found){eight, (unsigned)match_length(at - eight, at, 8, most)};
    if (!fast && four > 0 && load_raw(at - four, 4) == load_raw(at, 4))
        return (Found){four, (unsigned)match_length(at - four, at, 4, most)};
    return (Found){0, 0};
}

/* Enters the first n bytes behind the first byte of a match of at least MATCH_SHORTEST bytes. In a
 * run only the last three bytes may not be plain. */
FORCE_INLINE void enter_covered(MatchSearch *search, const uint8_t *at, unsigned now, unsigned n,
                                Found found, bool fast)
{
    const unsigned first = found.distance == 1 ? found.length - 3 : 1;
    for (unsigned k = first; k <= n; k++)
        if (!is_plain(at + k))
            (void)enter_keys(search, at + k, now + k, fast);
}

/* Takes the matches of a span of n bytes. at: of its first byte in the block. before: whether the
 * piece has bytes before it. now: its first byte as a place. */
FORCE_INLINE void search_span(MatchSearch *search, const uint8_t *from, unsigned at, unsigned n,
                              bool before, unsigned now, bool fast)
{
    const unsigned keyed = n < MATCH_KEYED ? 0 : n - MATCH_KEYED + 1;
    for (unsigned i = 0; i < keyed;) {
        const unsigned left = n - i;
        const unsigned most = left < DEFLATE_LONGEST_MATCH ? left : DEFLATE_LONGEST_MATCH;
        Found found;
        if ((before || i > 0) && is_plain(from + i)) {
            found = (Found){1, (unsigned)match_length(from + i - 1, from + i, 4, most)};
            if (fast && found.length < MATCH_SHORTEST_FAST)
                found.length = 0;
        } else {
            const Places last = enter_keys(search, from + i, now + i, fast);
            found = find_match(from + i, &last, most, fast);
        }
        if (found.length == 0) {
            i++;
            continue;
        }
        const unsigned end = i + found.length < keyed ? i + found.length : keyed;
        enter_covered(search, from + i, now + i, end - i - 1, found, fast);
        search->match[search->n++] =
            (FarMatch){(uint16_t)(at + i), (uint16_t)found.length, (uint16_t)found.distance};
        i += found.length;
    }
}

FORCE_INLINE void search_block(MatchSearch *search, const uint8_t *piece, size_t at, size_t n,
                               bool fast)
{
    search->n = 0;
    for (size_t i = 0; i < n; i += MATCH_SPAN) {
        const size_t here = at + i, left = n - i;
        if (here % MATCH_PLACES == 0)
            begin_half(search, here == 0, fast);
        search_span(search, piece + here, (unsigned)i,
                    (unsigned)(left < MATCH_SPAN ? left : MATCH_SPAN), here > 0,
                    (unsigned)(MATCH_PLACES + here % MATCH_PLACES), fast);
    }
}

void match_search(MatchSearch *search, const uint8_t *piece, size_t at, size_t n, bool fast)
{
    if (fast)
        search_block(search, piece, at, n, true);
    else
        search_block(search, piece, at, n, false);
}
