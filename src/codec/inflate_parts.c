/* SPDX-License-Identifier: MIT */
/* inflate_parts.c: a ring of parts. Threads take them in order; the thread that reads accepts them
 * in order, waits for their turn, and makes their slots free. */
#include "codec/inflate_parts.h"

#include "base/thread_pool.h"
#include "codec/block_search.h"

#include <stdlib.h>

enum {
    PARTS_OF_THREAD = 2,
    LEAST_PART = 1 << 10, /* more than the head of a block */
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

struct InflateParts {
    InflateRead *read;
    void *context;
    PieceRing ring;
    uint8_t **input; /* of each slot of the ring */
    size_t *n_input;
    Part *part; /* one for each slot */
    size_t n;
    bool input_ended;
    uint64_t oldest; /* part that has a slot */
    uint64_t first;  /* part that holds the place up to which all is decoded */
    uint64_t next;   /* part that no thread has taken yet */
    /* Of these parts, all before that place, the accepted ones are to be returned. */
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
};

static Part *part_of(const InflateParts *parts, uint64_t k)
{
    return &parts->part[k % parts->n];
}

/* Whether the block that was found in a part may begin at a place. With the lock. */
static bool begins_at(const Part *part, uint64_t place)
{
    return part->start.least <= place && place <= part->start.place;
}

bool inflate_parts_waiting(const InflateParts *parts)
{
    return parts->turn < parts->turns_end;
}

/* ---- Threads ---- */

static void set_state(InflateParts *parts, Part *part, PartState state, BlockStart start)
{
    pthread_mutex_lock(&parts->lock);
    part->state = state;
    part->start = start;
    pthread_cond_signal(&parts->changed);
    pthread_mutex_unlock(&parts->lock);
}

static void run_part(InflateParts *parts, uint64_t k)
{
    Part *const part = part_of(parts, k);
    const uint64_t bits = 8 * (uint64_t)parts->ring.piece_bytes, end = (k + 1) * bits;
    BlockStart start = {0, 0};
    uint64_t at = k * bits;
    for (unsigned i = 0; i < MOST_TRIES; i++) {
        if (!block_search(&parts->ring, &at, end, &part->cancelled, &start))
            break;
        set_state(parts, part, PART_DECODED, start);
        if (inflate_part_decode(&part->decoded, &parts->ring, start.place, end, &part->cancelled)) {
            set_state(parts, part, PART_COMPLETE, start);
            return;
        }
        set_state(parts, part, PART_SEARCHED, start);
    }
    set_state(parts, part, PART_IN_VAIN, start);
}

/* Takes the next part, if its input and that of the part behind it are there. With the lock. */
static bool take_part(InflateParts *parts, uint64_t *k)
{
    const uint64_t loaded = atomic_load(&parts->ring.loaded);
    if (parts->next <= parts->first)
        parts->next = parts->first + 1;
    if (parts->alternates)
        parts->next |= 1;
    if (parts->next + !parts->input_ended >= loaded ||
        parts->misses > MOST_MISSES + 4 * parts->hits)
        return false;
    *k = parts->next++;
    part_of(parts, *k)->state = PART_SEARCHED;
    return true;
}

/* Returns a part whose words nobody replaces yet, or NULL. With the lock. */
static Part *take_accepted(const InflateParts *parts)
{
    for (uint64_t k = parts->turn; k < parts->turns_end; k++) {
        Part *const part = part_of(parts, k);
        if (part->state == PART_ACCEPTED) {
            part->state = PART_RESOLVED;
            return part;
        }
    }
    return NULL;
}

static void *thread_main(void *context)
{
    InflateParts *const parts = context;
    uint64_t k;
    pthread_mutex_lock(&parts->lock);
    while (!parts->stop) {
        Part *const accepted = take_accepted(parts);
        if (!accepted && !take_part(parts, &k)) {
            pthread_cond_wait(&parts->loaded, &parts->lock);
            continue;
        }
        pthread_mutex_unlock(&parts->lock);
        if (accepted) {
            inflate_part_resolve(&accepted->decoded);
            set_state(parts, accepted, PART_FINAL, accepted->start);
        } else {
            run_part(parts, k);
        }
        pthread_mutex_lock(&parts->lock);
    }
    pthread_mutex_unlock(&parts->lock);
    return NULL;
}

/* ---- The thread that reads: input ---- */

/* Waits until no thread uses the oldest part, and makes its slot free. */
static void retire_part(InflateParts *parts)
{
    Part *const part = part_of(parts, parts->oldest);
    pthread_mutex_lock(&parts->lock);
    atomic_store(&part->cancelled, true);
    while (part->state == PART_SEARCHED || part->state == PART_DECODED)
        pthread_cond_wait(&parts->changed, &parts->lock);
    parts->misses += part->state == PART_COMPLETE || part->state == PART_IN_VAIN;
    parts->oldest++;
    pthread_mutex_unlock(&parts->lock);
}

/* Goes on to the part that holds a place. With the lock. */
static void move_first(InflateParts *parts, uint64_t place)
{
    parts->first = place / (8 * (uint64_t)parts->ring.piece_bytes);
}

/* Reads a part. Returns false if there is none. */
static bool load_part(InflateParts *parts)
{
    PieceRing *const ring = &parts->ring;
    const uint64_t k = atomic_load(&ring->loaded);
    const size_t slot = k % ring->n_slots;
    size_t n = 0;
    while (n < ring->piece_bytes) {
        const size_t got =
            parts->read(parts->context, parts->input[slot] + n, ring->piece_bytes - n);
        if (got == 0)
            break;
        n += got;
    }
    Part *const part = &parts->part[slot];
    pthread_mutex_lock(&parts->lock);
    parts->input_ended = n < ring->piece_bytes;
    if (n > 0) {
        parts->n_input[slot] = n;
        part->state = PART_READY;
        atomic_store(&part->cancelled, false);
        atomic_store_explicit(&ring->loaded, k + 1, memory_order_release);
    }
    pthread_cond_broadcast(&parts->loaded);
    pthread_mutex_unlock(&parts->lock);
    return n > 0;
}

bool inflate_parts_load(InflateParts *parts, uint64_t place)
{
    bool any = false;
    pthread_mutex_lock(&parts->lock);
    move_first(parts, place);
    pthread_mutex_unlock(&parts->lock);
    while (parts->oldest < (inflate_parts_waiting(parts) ? parts->turn : parts->first))
        retire_part(parts);
    while (!parts->input_ended && atomic_load(&parts->ring.loaded) < parts->oldest + parts->n)
        any |= load_part(parts);
    return any;
}

/* ---- The thread that reads: decoded parts ---- */

/* Waits until no thread decodes the first part from `place` on. Meanwhile other parts are decoded.
 * With the lock. */
static void await_first(InflateParts *parts, Part *part, uint64_t place)
{
    if (part->state == PART_READY)
        part->state = PART_IN_ORDER;
    while (part->state == PART_SEARCHED ||
           (part->state == PART_DECODED && begins_at(part, place))) {
        uint64_t k;
        if (!parts->alternates && take_part(parts, &k)) {
            pthread_mutex_unlock(&parts->lock);
            run_part(parts, k);
            pthread_mutex_lock(&parts->lock);
        } else {
            pthread_cond_wait(&parts->changed, &parts->lock);
        }
    }
    if (part->state == PART_DECODED && part->start.place < place)
        atomic_store(&part->cancelled, true);
}

InflatePart *inflate_parts_find(InflateParts *parts, uint64_t place)
{
    if (parts->first == 0 || parts->first >= atomic_load(&parts->ring.loaded))
        return NULL;
    Part *const part = part_of(parts, parts->first);
    pthread_mutex_lock(&parts->lock);
    if (!inflate_parts_waiting(parts))
        await_first(parts, part, place);
    const bool fits = part->state == PART_COMPLETE && begins_at(part, place);
    pthread_mutex_unlock(&parts->lock);
    return fits ? &part->decoded : NULL;
}

void inflate_parts_accept(InflateParts *parts)
{
    Part *const part = part_of(parts, parts->first);
    pthread_mutex_lock(&parts->lock);
    part->state = PART_ACCEPTED;
    parts->hits++;
    if (!inflate_parts_waiting(parts))
        parts->turn = parts->first;
    parts->turns_end = parts->first + 1;
    move_first(parts, bit_reader_place(&part->decoded.decoder.reader));
    pthread_mutex_unlock(&parts->lock);
}

const InflatePart *inflate_parts_next(InflateParts *parts)
{
    const InflatePart *found = NULL;
    pthread_mutex_lock(&parts->lock);
    while (inflate_parts_waiting(parts) && part_of(parts, parts->turn)->state < PART_ACCEPTED)
        parts->turn++;
    if (inflate_parts_waiting(parts)) {
        Part *const part = part_of(parts, parts->turn++);
        while (part->state == PART_RESOLVED)
            pthread_cond_wait(&parts->changed, &parts->lock);
        part->state = PART_FINAL;
        found = &part->decoded;
    }
    if (inflate_parts_waiting(parts))
        pthread_cond_broadcast(&parts->loaded);
    pthread_mutex_unlock(&parts->lock);
    return found;
}

unsigned inflate_parts_accepted(const InflateParts *parts)
{
    return parts->hits;
}

const PieceRing *inflate_parts_ring(const InflateParts *parts)
{
    return &parts->ring;
}

/* ---- Memory and threads ---- */

void inflate_parts_destroy(InflateParts *parts)
{
    if (!parts)
        return;
    pthread_mutex_lock(&parts->lock);
    parts->stop = true;
    for (size_t i = 0; i < parts->n && parts->part; i++)
        atomic_store(&parts->part[i].cancelled, true);
    pthread_cond_broadcast(&parts->loaded);
    pthread_mutex_unlock(&parts->lock);
    for (unsigned i = 0; i < parts->n_threads; i++)
        pthread_join(parts->thread[i], NULL);
    for (size_t i = 0; i < parts->n; i++) {
        if (parts->part)
            buffer_cache_release(parts->part[i].decoded.memory);
        if (parts->input)
            buffer_cache_release(parts->input[i]);
    }
    pthread_cond_destroy(&parts->changed);
    pthread_cond_destroy(&parts->loaded);
    pthread_mutex_destroy(&parts->lock);
    free(parts->thread);
    free(parts->part);
    free(parts->n_input);
    free(parts->input);
    free(parts);
}

size_t inflate_parts_bytes(size_t part_bytes)
{
    return PARTS_OF_THREAD * (INFLATE_PART_ROOM + part_bytes + sizeof(Part));
}

static bool get_memory(InflateParts *parts, unsigned threads, BufferCache *buffers)
{
    const size_t n = parts->n;
    parts->input = calloc(n, sizeof *parts->input);
    parts->n_input = calloc(n, sizeof *parts->n_input);
    parts->part = calloc(n, sizeof *parts->part);
    parts->thread = calloc(threads, sizeof *parts->thread);
    if (!parts->input || !parts->n_input || !parts->part || !parts->thread)
        return false;
    bool complete = true;
    for (size_t i = 0; i < n; i++) {
        parts->input[i] = buffer_cache_acquire(buffers, parts->ring.piece_bytes);
        parts->part[i].decoded.memory = buffer_cache_acquire(buffers, INFLATE_PART_ROOM);
        complete = complete && parts->input[i] && parts->part[i].decoded.memory;
    }
    parts->ring.slot = parts->input;
    parts->ring.bytes = parts->n_input;
    parts->ring.n_slots = n;
    return complete;
}

InflateParts *inflate_parts_create(unsigned threads, size_t part_bytes, InflateRead *read,
                                   void *context, BufferCache *buffers)
{
    InflateParts *const parts = calloc(1, sizeof *parts);
    if (!parts)
        return NULL;
    parts->read = read;
    parts->context = context;
    parts->ring.piece_bytes = part_bytes > LEAST_PART ? part_bytes : LEAST_PART;
    parts->n = (size_t)PARTS_OF_THREAD * threads;
    parts->alternates = threads == 2;
    pthread_mutex_init(&parts->lock, NULL); /* cannot fail with default attributes on Linux */
    pthread_cond_init(&parts->changed, NULL);
    pthread_cond_init(&parts->loaded, NULL);
    bool good = get_memory(parts, threads, buffers);
    while (good && parts->n_threads < threads - 1) {
        good = thread_start(&parts->thread[parts->n_threads], thread_main, parts);
        parts->n_threads += good;
    }
    if (good || parts->n_threads > 0)
        return parts;
    inflate_parts_destroy(parts);
    return NULL;
}
