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

#include "base/thread_pool.h"
#include "codec/block_search.h"
#include "codec/deflate.h"
#include "codec/inflate.h"
#include "codec/inflate_part.h"

#include <stdlib.h>

enum {
    HEAD_BYTES = 2,
    CHECK_BITS = 32,
    PARTS_OF_THREAD = 2,
    LEAST_PART = 1 << 10, /* more than the head of a block */
    FRONT_ROOM = 1 << 17, /* decoded in order */
    MOST_TRIES = 16,      /* places in a part where no block begins after all */
    MOST_MISSES = 8       /* parts in vain, beyond four for each that was accepted */
};

typedef enum PartState {
    PART_READY,    /* read, and nobody decodes it */
    PART_SEARCHED, /* a thread looks for its first block */
    PART_DECODED,  /* a thread decodes from `start` on */
    PART_COMPLETE, /* decoded from `start` on */
    PART_IN_VAIN,  /* searched and decoded without result */
    PART_IN_ORDER, /* left to the thread that reads */
    PART_ACCEPTED, /* what precedes it is known: this and what follows */
    PART_RESOLVED, /* a thread replaces its words */
    PART_FINAL     /* bytes, or words that the thread that reads replaces */
} PartState;

/* A part, the place where a block begins in it, and who has it: guarded by the lock. */
typedef struct Part {
    PartState state;
    BlockStart start;
    atomic_bool cancelled;
    InflatePart decoded;
} Part;

struct ParallelInflater {
    uint64_t total;
    InflateRead *read;
    void *context;
    PieceRing ring;
    uint8_t **input; /* of each slot of the ring */
    size_t *n_input;
    Part *part; /* one for each slot */
    size_t n_parts;
    bool input_ended;
    uint64_t oldest; /* part that has a slot */
    uint64_t first;  /* part that holds the place of `front` */
    uint64_t next;   /* part that no thread has taken yet */
    /* Of these parts, all before `front`, the accepted ones are to be returned. */
    uint64_t turn, turns_end;
    unsigned hits, misses;
    bool stop;
    /* With two threads the other one takes every second part: what is decoded in order costs less,
     * so between them each decodes what it does best. */
    bool alternates;
    pthread_mutex_t lock;
    pthread_cond_t loaded;  /* for threads */
    pthread_cond_t changed; /* for the thread that reads */
    pthread_t *thread;
    unsigned n_threads;
    /* In order. */
    bool begun, failed, ended;
    DeflateDecoder front;
    uint8_t *memory;            /* DEFLATE_WINDOW bytes and more that were decoded last */
    uint8_t *returned, *at;     /* in memory: the ends of what was returned and decoded */
    const InflatePart *current; /* whose words and bytes are returned; NULL: those in memory */
    size_t n_returned;          /* of them */
    uint64_t made;              /* bytes decoded */
    uint32_t adler;
};

static Part *part_of(const ParallelInflater *inflater, uint64_t k)
{
    return &inflater->part[k % inflater->n_parts];
}

/* Whether the block that was found in a part may begin at a place. With the lock. */
static bool begins_at(const Part *part, uint64_t place)
{
    return part->start.least <= place && place <= part->start.place;
}

/* Whether accepted parts wait for their turn. */
static bool has_turns(const ParallelInflater *inflater)
{
    return inflater->turn < inflater->turns_end;
}

/* ---- Threads ---- */

static void set_state(ParallelInflater *inflater, Part *part, PartState state, BlockStart start)
{
    pthread_mutex_lock(&inflater->lock);
    part->state = state;
    part->start = start;
    pthread_cond_signal(&inflater->changed);
    pthread_mutex_unlock(&inflater->lock);
}

static void run_part(ParallelInflater *inflater, uint64_t k)
{
    Part *const part = part_of(inflater, k);
    const uint64_t bits = 8 * (uint64_t)inflater->ring.piece_bytes, end = (k + 1) * bits;
    BlockStart start = {0, 0};
    uint64_t at = k * bits;
    for (unsigned i = 0; i < MOST_TRIES; i++) {
        if (!block_search(&inflater->ring, &at, end, &part->cancelled, &start))
            break;
        set_state(inflater, part, PART_DECODED, start);
        if (inflate_part_decode(&part->decoded, &inflater->ring, start.place, end,
                                &part->cancelled)) {
            set_state(inflater, part, PART_COMPLETE, start);
            return;
        }
        set_state(inflater, part, PART_SEARCHED, start);
    }
    set_state(inflater, part, PART_IN_VAIN, start);
}

/* Takes the next part, if its input and that of the part behind it are there. With the lock. */
static bool take_part(ParallelInflater *inflater, uint64_t *k)
{
    const uint64_t loaded = atomic_load(&inflater->ring.loaded);
    if (inflater->next <= inflater->first)
        inflater->next = inflater->first + 1;
    if (inflater->alternates)
        inflater->next |= 1;
    if (inflater->next + !inflater->input_ended >= loaded ||
        inflater->misses > MOST_MISSES + 4 * inflater->hits)
        return false;
    *k = inflater->next++;
    part_of(inflater, *k)->state = PART_SEARCHED;
    return true;
}

/* Returns a part whose words nobody replaces yet, or NULL. With the lock. */
static Part *take_accepted(const ParallelInflater *inflater)
{
    for (uint64_t k = inflater->turn; k < inflater->turns_end; k++) {
        Part *const part = part_of(inflater, k);
        if (part->state == PART_ACCEPTED) {
            part->state = PART_RESOLVED;
            return part;
        }
    }
    return NULL;
}

static void *thread_main(void *context)
{
    ParallelInflater *const inflater = context;
    uint64_t k;
    pthread_mutex_lock(&inflater->lock);
    while (!inflater->stop) {
        Part *const accepted = take_accepted(inflater);
        if (!accepted && !take_part(inflater, &k)) {
            pthread_cond_wait(&inflater->loaded, &inflater->lock);
            continue;
        }
        pthread_mutex_unlock(&inflater->lock);
        if (accepted) {
            inflate_part_resolve(&accepted->decoded);
            set_state(inflater, accepted, PART_FINAL, accepted->start);
        } else {
            run_part(inflater, k);
        }
        pthread_mutex_lock(&inflater->lock);
    }
    pthread_mutex_unlock(&inflater->lock);
    return NULL;
}

/* ---- Input ---- */

/* Waits until no thread uses the oldest part, and makes its slot free. */
static void retire_part(ParallelInflater *inflater)
{
    Part *const part = part_of(inflater, inflater->oldest);
    pthread_mutex_lock(&inflater->lock);
    atomic_store(&part->cancelled, true);
    while (part->state == PART_SEARCHED || part->state == PART_DECODED)
        pthread_cond_wait(&inflater->changed, &inflater->lock);
    inflater->misses += part->state == PART_COMPLETE || part->state == PART_IN_VAIN;
    inflater->oldest++;
    pthread_mutex_unlock(&inflater->lock);
}

/* Goes on to the part that holds the place of `front`. With the lock. */
static void move_first(ParallelInflater *inflater)
{
    inflater->first =
        bit_reader_place(&inflater->front.reader) / (8 * (uint64_t)inflater->ring.piece_bytes);
}

/* Reads a part. Returns false if there is none. */
static bool load_part(ParallelInflater *inflater)
{
    PieceRing *const ring = &inflater->ring;
    const uint64_t k = atomic_load(&ring->loaded);
    const size_t slot = k % ring->n_slots;
    size_t n = 0;
    while (n < ring->piece_bytes) {
        const size_t got =
            inflater->read(inflater->context, inflater->input[slot] + n, ring->piece_bytes - n);
        if (got == 0)
            break;
        n += got;
    }
    Part *const part = &inflater->part[slot];
    pthread_mutex_lock(&inflater->lock);
    inflater->input_ended = n < ring->piece_bytes;
    if (n > 0) {
        inflater->n_input[slot] = n;
        part->state = PART_READY;
        atomic_store(&part->cancelled, false);
        atomic_store_explicit(&ring->loaded, k + 1, memory_order_release);
    }
    pthread_cond_broadcast(&inflater->loaded);
    pthread_mutex_unlock(&inflater->lock);
    return n > 0;
}

/* Reads as many parts as there are free slots. Returns whether there was one. */
static bool load_parts(ParallelInflater *inflater)
{
    bool any = false;
    if (inflater->begun) {
        pthread_mutex_lock(&inflater->lock);
        move_first(inflater);
        pthread_mutex_unlock(&inflater->lock);
        while (inflater->oldest < (has_turns(inflater) ? inflater->turn : inflater->first))
            retire_part(inflater);
    }
    while (!inflater->input_ended &&
           atomic_load(&inflater->ring.loaded) < inflater->oldest + inflater->n_parts)
        any |= load_part(inflater);
    return any;
}

/* ---- In order ---- */

static bool begin(ParallelInflater *inflater)
{
    load_parts(inflater);
    if (inflater->n_input[0] < HEAD_BYTES ||
        !inflate_head_is_usual(inflater->input[0], inflater->total) ||
        !bit_reader_seek(&inflater->front.reader, &inflater->ring, 8 * HEAD_BYTES))
        return false;
    inflater->front.inside = BLOCK_HEAD;
    inflater->begun = true;
    return true;
}

/* Accepts the first part, which begins at the place of `front`. All bytes in memory are returned.
 */
static void accept(ParallelInflater *inflater)
{
    Part *const part = part_of(inflater, inflater->first);
    const DeflateDecoder *const decoder = &part->decoded.decoder;
    inflate_part_follow(&part->decoded, inflater->at - DEFLATE_WINDOW);
    inflate_part_window(&part->decoded, inflater->memory);
    inflater->returned = inflater->at = inflater->memory + DEFLATE_WINDOW;
    inflater->front = *decoder;
    inflater->made += inflate_part_size(&part->decoded);
    inflater->ended = decoder->inside == BLOCK_HEAD && decoder->last;
    pthread_mutex_lock(&inflater->lock);
    part->state = PART_ACCEPTED;
    inflater->hits++;
    if (!has_turns(inflater))
        inflater->turn = inflater->first;
    inflater->turns_end = inflater->first + 1;
    move_first(inflater);
    pthread_mutex_unlock(&inflater->lock);
}

/* Waits until no thread decodes the first part from `place` on. Meanwhile other parts are decoded.
 * With the lock. */
static void await_first(ParallelInflater *inflater, Part *part, uint64_t place)
{
    if (part->state == PART_READY)
        part->state = PART_IN_ORDER;
    while (part->state == PART_SEARCHED ||
           (part->state == PART_DECODED && begins_at(part, place))) {
        uint64_t k;
        if (!inflater->alternates && take_part(inflater, &k)) {
            pthread_mutex_unlock(&inflater->lock);
            run_part(inflater, k);
            pthread_mutex_lock(&inflater->lock);
        } else {
            pthread_cond_wait(&inflater->changed, &inflater->lock);
        }
    }
    if (part->state == PART_DECODED && part->start.place < place)
        atomic_store(&part->cancelled, true);
}

/* Accepts the part that begins at the place of `front`, if there is one. While others wait for
 * their turn, it waits for none. */
static bool accept_next(ParallelInflater *inflater)
{
    if (inflater->front.inside != BLOCK_HEAD || inflater->made < DEFLATE_WINDOW ||
        inflater->first == 0 || inflater->first >= atomic_load(&inflater->ring.loaded))
        return false;
    const uint64_t place = bit_reader_place(&inflater->front.reader);
    Part *const part = part_of(inflater, inflater->first);
    pthread_mutex_lock(&inflater->lock);
    if (!has_turns(inflater))
        await_first(inflater, part, place);
    const bool fits = part->state == PART_COMPLETE && begins_at(part, place);
    pthread_mutex_unlock(&inflater->lock);
    if (fits)
        accept(inflater);
    return fits;
}

/* Makes the accepted part whose turn it is the one that is returned. Returns false if there is
 * none. */
static bool return_next(ParallelInflater *inflater)
{
    pthread_mutex_lock(&inflater->lock);
    while (has_turns(inflater) && part_of(inflater, inflater->turn)->state < PART_ACCEPTED)
        inflater->turn++;
    const bool any = has_turns(inflater);
    if (any) {
        Part *const part = part_of(inflater, inflater->turn++);
        while (part->state == PART_RESOLVED)
            pthread_cond_wait(&inflater->changed, &inflater->lock);
        part->state = PART_FINAL;
        inflater->current = &part->decoded;
        inflater->n_returned = 0;
    }
    if (has_turns(inflater))
        pthread_cond_broadcast(&inflater->loaded);
    pthread_mutex_unlock(&inflater->lock);
    return any;
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
           (stop != DECODE_INPUT || inflater->at > before || load_parts(inflater));
}

/* Decodes more, if it can. Returns false on a fault. */
static bool advance(ParallelInflater *inflater)
{
    inflater->current = NULL;
    if (!inflater->begun && !begin(inflater))
        return false;
    load_parts(inflater);
    while (inflater->made <= inflater->total && !inflater->ended && accept_next(inflater))
        continue;
    return return_next(inflater) ||
           (decode_in_order(inflater) && inflater->made <= inflater->total);
}

/* Whether all that the stream decodes to is in memory or in `current`. */
static bool is_over(const ParallelInflater *inflater)
{
    return inflater->ended && !has_turns(inflater);
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
        if (!load_parts(inflater))
            return false;
    for (unsigned i = 0; i < CHECK_BITS / 8; i++)
        check = check << 8 | bit_reader_take(reader, 8);
    *surplus = bit_reader_has(reader, 1) || (load_parts(inflater) && bit_reader_has(reader, 1));
    return check == inflater->adler;
}

/* ---- Memory and threads ---- */

void parallel_inflater_destroy(ParallelInflater *inflater)
{
    if (!inflater)
        return;
    pthread_mutex_lock(&inflater->lock);
    inflater->stop = true;
    for (size_t i = 0; i < inflater->n_parts && inflater->part; i++)
        atomic_store(&inflater->part[i].cancelled, true);
    pthread_cond_broadcast(&inflater->loaded);
    pthread_mutex_unlock(&inflater->lock);
    for (unsigned i = 0; i < inflater->n_threads; i++)
        pthread_join(inflater->thread[i], NULL);
    for (size_t i = 0; i < inflater->n_parts; i++) {
        if (inflater->part)
            buffer_cache_release(inflater->part[i].decoded.memory);
        if (inflater->input)
            buffer_cache_release(inflater->input[i]);
    }
    buffer_cache_release(inflater->memory);
    pthread_cond_destroy(&inflater->changed);
    pthread_cond_destroy(&inflater->loaded);
    pthread_mutex_destroy(&inflater->lock);
    free(inflater->thread);
    free(inflater->part);
    free(inflater->n_input);
    free(inflater->input);
    free(inflater);
}

unsigned parallel_inflater_used_parts(const ParallelInflater *inflater)
{
    return inflater->hits;
}

size_t parallel_inflater_bytes(size_t part_bytes)
{
    return PARTS_OF_THREAD * (INFLATE_PART_ROOM + part_bytes + sizeof(Part)) + FRONT_ROOM;
}

static bool get_memory(ParallelInflater *inflater, unsigned threads, BufferCache *buffers)
{
    const size_t n = inflater->n_parts;
    inflater->input = calloc(n, sizeof *inflater->input);
    inflater->n_input = calloc(n, sizeof *inflater->n_input);
    inflater->part = calloc(n, sizeof *inflater->part);
    inflater->thread = calloc(threads, sizeof *inflater->thread);
    inflater->memory = buffer_cache_acquire(buffers, DEFLATE_WINDOW + FRONT_ROOM);
    if (!inflater->input || !inflater->n_input || !inflater->part || !inflater->thread ||
        !inflater->memory)
        return false;
    bool complete = true;
    for (size_t i = 0; i < n; i++) {
        inflater->input[i] = buffer_cache_acquire(buffers, inflater->ring.piece_bytes);
        inflater->part[i].decoded.memory = buffer_cache_acquire(buffers, INFLATE_PART_ROOM);
        complete = complete && inflater->input[i] && inflater->part[i].decoded.memory;
    }
    inflater->ring.slot = inflater->input;
    inflater->ring.bytes = inflater->n_input;
    inflater->ring.n_slots = n;
    return complete;
}

ParallelInflater *parallel_inflater_create(uint64_t total, unsigned threads, size_t part_bytes,
                                           InflateRead *read, void *context, BufferCache *buffers)
{
    ParallelInflater *const inflater = calloc(1, sizeof *inflater);
    if (!inflater)
        return NULL;
    inflater->total = total;
    inflater->read = read;
    inflater->context = context;
    inflater->adler = 1;
    inflater->ring.piece_bytes = part_bytes > LEAST_PART ? part_bytes : LEAST_PART;
    inflater->n_parts = (size_t)PARTS_OF_THREAD * threads;
    inflater->alternates = threads == 2;
    pthread_mutex_init(&inflater->lock, NULL); /* cannot fail with default attributes on Linux */
    pthread_cond_init(&inflater->changed, NULL);
    pthread_cond_init(&inflater->loaded, NULL);
    bool good = get_memory(inflater, threads, buffers);
    if (good)
        inflater->returned = inflater->at = inflater->memory + DEFLATE_WINDOW;
    while (good && inflater->n_threads < threads - 1) {
        good = thread_start(&inflater->thread[inflater->n_threads], thread_main, inflater);
        inflater->n_threads += good;
    }
    if (good || inflater->n_threads > 0)
        return inflater;
    parallel_inflater_destroy(inflater);
    return NULL;
}
