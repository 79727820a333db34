/* SPDX-License-Identifier: MIT */
/* lzw.c: a code's string is in the output already, where it came up first: a place and a length are
 * all that the table must know. Most strings are short; their first bytes are in the table too, and
 * written with one store whatever their length. */
#include "tiff/lzw.h"

#include <stdlib.h>
#include <string.h>

enum {
    CLEAR = 256,
    END = 257,
    FIRST = 258,                          /* code that is free after a clear code */
    LEAST_WIDTH = 9,                      /* bits of a code */
    FIRST_WIDER = (1 << LEAST_WIDTH) - 1, /* next code when codes get a bit more: one early */
    MOST_WIDTH = 12,
    CODES = 1 << MOST_WIDTH,
    HEAD = 8,            /* bytes of a string in its entry */
    STEP = 16,           /* bytes copied at once */
    SLACK = HEAD + STEP, /* bytes that may be written behind a string */
    BLOCK = 1 << 16      /* bytes that a stream makes at a time: within the cache */
};

typedef struct Entry {
    uint64_t head;   /* first bytes of the string, the first one lowest; zeros behind its end */
    uint32_t at;     /* place of the string in the output; of single bytes none is needed */
    uint32_t length; /* of the string */
} Entry;

/* Between two codes. */
typedef struct State {
    size_t bit;   /* of the input, where the next code begins */
    uint32_t at;  /* of the output, where its string goes */
    Entry before; /* length 0: no string since the clear code */
    unsigned width, wider, next;
} State;

struct Lzw {
    Entry entry[CODES];
};

/* Strings refer to what was made since the last clear code, which the window holds: 7.4 MB at most,
 * since the string of the n-th code after it has n + 1 bytes at most. */
struct LzwStream {
    Lzw lzw;
    State state;
    bool begun;      /* the clear code at the start has been seen */
    bool cleared;    /* the code before was a clear code: no string refers to the window */
    bool ended;      /* no more can be made */
    uint8_t *window; /* `room` bytes */
    size_t room;
    uint32_t given; /* bytes of the window; state.at of them are made */
};

static void init(Lzw *lzw)
{
    for (unsigned i = 0; i < 256; i++)
        lzw->entry[i] = (Entry){.head = i, .length = 1};
}

Lzw *lzw_create(void)
{
    Lzw *const lzw = calloc(1, sizeof *lzw);
    if (lzw)
        init(lzw);
    return lzw;
}

void lzw_destroy(Lzw *lzw)
{
    free(lzw);
}

/* `width` bits from bit `at` on, as a number. */
static inline unsigned code_at(const uint8_t *from, size_t at, unsigned width)
{
    uint64_t word;
    memcpy(&word, from + at / 8, sizeof word);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return (unsigned)(word << at % 8 >> (64 - width));
}

static inline void store_head(uint8_t *to, uint64_t head)
{
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
    head = __builtin_bswap64(head);
#endif
    memcpy(to, &head, sizeof head);
}

/* The string where there is room behind it. It may end with its own first byte: that one is in the
 * head, which is written before it is read. Whether a string is longer than its head cannot be
 * predicted: one step is always copied, of single bytes from anywhere. */
static inline void copy_wide(uint8_t *to, uint32_t at, const Entry *string)
{
    uint8_t *const place = to + at;
    store_head(place, string->head);
    uint32_t i = HEAD;
    do {
        uint8_t step[STEP];
        memcpy(step, to + string->at + i, STEP);
        memcpy(place + i, step, STEP);
        i += STEP;
    } while (__builtin_expect(i < string->length, 0));
}

/* As much of the string as fits. */
static void copy_narrow(uint8_t *to, uint32_t at, uint32_t room, const Entry *string)
{
    const uint32_t n = string->length < room ? string->length : room;
    for (uint32_t i = 0; i < n; i++)
        to[at + i] = (uint8_t)(i < HEAD ? string->head >> 8 * i : to[string->at + i]);
}

/* The string before, and the first byte of the one after it. No branch: lengths around HEAD cannot
 * be predicted. */
static inline Entry extended(const Entry *string, uint64_t first)
{
    const uint64_t fits = 0 - (uint64_t)(string->length < HEAD);
    const uint64_t byte = (first & 0xFF) << (8 * string->length & 63);
    return (Entry){
        .head = string->head | (byte & fits), .at = string->at, .length = string->length + 1};
}

static void clear(State *state)
{
    state->width = LEAST_WIDTH;
    state->wider = FIRST_WIDER;
    state->next = FIRST;
    state->before.length = 0;
}

typedef enum Outcome {
    FULL,    /* `enough` bytes are made */
    CLEARED, /* behind a clear code; only if asked for */
    HUNGRY,  /* the input ends within the next code */
    ENDED    /* in order or not */
} Outcome;

/* Makes strings of the codes up to bit `end` until `enough` bytes are there; what does not fit into
 * `room` of them is left out. */
static inline Outcome run(Entry *entry, State *state, const uint8_t *from, size_t end, uint8_t *to,
                          uint32_t enough, uint32_t room, bool stop_cleared)
{
    State s = *state;
    Outcome outcome = FULL;
    while (s.at < enough) {
        if (end - s.bit < s.width) {
            outcome = HUNGRY;
            break;
        }
        const unsigned code = code_at(from, s.bit, s.width);
        s.bit += s.width;
        if (code == CLEAR || code == END) {
            clear(&s);
            if (code == CLEAR && !stop_cleared)
                continue;
            outcome = code == CLEAR ? CLEARED : ENDED;
            break;
        }
        Entry string = entry[code];
        if (s.before.length == 0 ? code > CLEAR : code > s.next || s.next == CODES) {
            outcome = ENDED;
            break;
        }
        if (s.before.length > 0) {
            /* A code that is about to be made extends the string before by its own first byte. */
            const Entry made = extended(&s.before, code == s.next ? s.before.head : string.head);
            entry[s.next] = made;
            if (code == s.next)
                string = made;
            s.next++;
            /* Rare, so a branch: the next code does not wait for a sum. */
            if (s.next == s.wider) {
                s.width += s.width < MOST_WIDTH;
                s.wider = (1u << s.width) - 1;
            }
        }
        if (room - s.at >= string.length + SLACK)
            copy_wide(to, s.at, &string);
        else
            copy_narrow(to, s.at, room - s.at, &string);
        s.before = (Entry){.head = string.head, .at = s.at, .length = string.length};
        s.at = room - s.at < string.length ? room : s.at + string.length;
    }
    *state = s;
    return outcome;
}

bool lzw_decode(Lzw *lzw, const uint8_t *from, size_t n, uint8_t *to, size_t bytes)
{
    const size_t end = 8 * n;
    if (n > SIZE_MAX / 8 || bytes > UINT32_MAX - SLACK || end < LEAST_WIDTH ||
        code_at(from, 0, LEAST_WIDTH) != CLEAR)
        return false;
    const uint32_t last = (uint32_t)bytes;
    State state = {.bit = LEAST_WIDTH};
    clear(&state);
    return run(lzw->entry, &state, from, end, to, last, last, false) == FULL;
}

/* ---- Block by block -------------------------------------------------------------------------- */

LzwStream *lzw_stream_create(void)
{
    LzwStream *const stream = calloc(1, sizeof *stream);
    if (stream)
        init(&stream->lzw);
    return stream;
}

void lzw_stream_destroy(LzwStream *stream)
{
    if (!stream)
        return;
    free(stream->window);
    free(stream);
}

void lzw_stream_begin(LzwStream *stream)
{
    stream->state = (State){0};
    stream->given = 0;
    stream->begun = stream->cleared = stream->ended = false;
}

/* Room for a block more, whose last string is as long as can be. */
static bool make_room(LzwStream *stream)
{
    const size_t wanted = (size_t)stream->state.at + BLOCK + CODES + SLACK;
    if (wanted <= stream->room)
        return true;
    const size_t room = wanted + stream->room / 2;
    uint8_t *const grown = realloc(stream->window, room);
    if (!grown)
        return false;
    stream->window = grown;
    stream->room = room;
    return true;
}

static bool begin(LzwStream *stream, const uint8_t *from)
{
    stream->begun = code_at(from, 0, LEAST_WIDTH) == CLEAR;
    stream->state.bit = LEAST_WIDTH;
    clear(&stream->state);
    return stream->begun;
}

bool lzw_stream_run(LzwStream *stream, const uint8_t **in, size_t *n_in, uint8_t **out,
                    size_t *room)
{
    State *const state = &stream->state;
    const size_t end = 8 * *n_in;
    Outcome outcome = FULL;
    if (!stream->begun && end < LEAST_WIDTH)
        return true;
    if (!stream->begun && !begin(stream, *in))
        return false;
    for (;;) {
        const size_t made = state->at - stream->given, n = made < *room ? made : *room;
        if (n > 0)
            memcpy(*out, stream->window + stream->given, n);
        *out += n;
        *room -= n;
        stream->given += (uint32_t)n;
        if (*room == 0 || outcome == HUNGRY)
            break;
        if (stream->cleared)
            state->at = stream->given = 0;
        if (stream->ended || !make_room(stream))
            return false;
        outcome = run(stream->lzw.entry, state, *in, end, stream->window, state->at + BLOCK,
                      (uint32_t)stream->room, true);
        stream->cleared = outcome == CLEARED;
        stream->ended = outcome == ENDED;
    }
    *in += state->bit / 8;
    *n_in -= state->bit / 8;
    state->bit %= 8;
    return true;
}
