/* SPDX-License-Identifier: MIT */
/* key_stream.c: walks the bins of leading key bits upwards. One read gathers the keys of as many
 * neighbouring bins as fit, and counts bins with too many samples by their next 16 bits. */
#include "measure/key_stream.h"

#include <stdlib.h>

enum {
    MAX_ITEMS = 64,     /* ranges and bins that one read looks for */
    MANY_READS = 32,    /* where gathering would take more, bins of DENSE samples are counted */
    DENSE = DIGIT_BINS, /* counting takes a bin's counters, gathering two keys a sample */
    TABLE_KEYS =
        DIGIT_BINS / 2 /* keys, with their copies, that take the memory of a bin's counters */
};

/* Consecutive keys that one read finds: gathered, or counted by their next 16 bits. */
typedef struct Item {
    bool counted;
    size_t index; /* of its gather or count */
    uint64_t expected;
} Item;

typedef struct Walk {
    const KeyStream *stream;
    ThreadPool *pool;       /* NULL: one thread */
    uint64_t *keys, *spare; /* capacity each */
    size_t capacity;
    uint64_t dense; /* bins with more samples are counted, */
    size_t tables;  /* so many in one read: their counters take no more than the keys, or one */
} Walk;

/* One read. */
typedef struct Plan {
    Item item[MAX_ITEMS];
    KeyGather gather[MAX_ITEMS];
    DigitCount digit[MAX_ITEMS];
    size_t n, n_gathers, n_digits, gathered;
    bool closed; /* the last item will need reads of its own, which take the room for keys */
    bool open;   /* the last item is a gather that the next bin continues */
} Plan;

/* Returns whether a bin is skipped. A small bin between two others is read with them: many ranges
 * cost more than a few keys. */
static bool is_skipped(const Walk *walk, const Plan *plan, uint64_t count)
{
    enum { SMALL = 256 };
    const uint64_t *const least = walk->stream->least;
    return least && count < *least &&
           !(plan->open && count <= walk->capacity / SMALL &&
             count <= walk->capacity - plan->gathered);
}

/* Adds the `count` samples whose key >> shift is prefix. Returns false if they do not fit this
 * read. */
static bool plan_bin(const Walk *walk, Plan *plan, uint64_t prefix, unsigned shift, uint64_t count)
{
    const uint64_t lo = prefix << shift, hi = lo + (((uint64_t)1 << shift) - 1);
    if (plan->closed)
        return false;
    if (is_skipped(walk, plan, count)) {
        plan->open = false;
        return true;
    }
    if (count > walk->dense) {
        if (plan->n == MAX_ITEMS || plan->n_digits == walk->tables)
            return false;
        plan->closed = shift > DIGIT_BITS;
        plan->open = false;
        DigitCount *const digit = &plan->digit[plan->n_digits];
        *digit = (DigitCount){.channel = walk->stream->channel,
                              .shift = (uint8_t)(shift - DIGIT_BITS),
                              .prefix = prefix,
                              .bins = buffer_cache_acquire_zeroed(walk->stream->reads.cache,
                                                                  DIGIT_BINS, sizeof *digit->bins)};
        plan->item[plan->n++] = (Item){true, plan->n_digits++, count};
        return true;
    }
    if (count > walk->capacity - plan->gathered)
        return false;
    if (plan->open) {
        Item *const last = &plan->item[plan->n - 1];
        KeyGather *const gather = &plan->gather[last->index];
        gather->hi = hi;
        gather->capacity += count;
        last->expected += count;
    } else if (plan->n == MAX_ITEMS) {
        return false;
    } else {
        plan->gather[plan->n_gathers] = (KeyGather){.channel = walk->stream->channel,
                                                    .lo = lo,
                                                    .hi = hi,
                                                    .keys = walk->keys + plan->gathered,
                                                    .capacity = count};
        plan->item[plan->n++] = (Item){false, plan->n_gathers++, count};
    }
    plan->open = true;
    plan->gathered += count;
    return true;
}

static ImgstatResult walk_bins(Walk *walk, const uint64_t *counts, size_t first, size_t end,
                               uint64_t prefix, unsigned shift, ImgstatError *err);

/* Passes the keys of a read to the receiver. */
static ImgstatResult feed(Walk *walk, const Plan *plan, ImgstatError *err)
{
    for (size_t i = 0; i < plan->n; i++) {
        const Item *const item = &plan->item[i];
        if (item->counted) {
            const DigitCount *const digit = &plan->digit[item->index];
            uint64_t total = 0;
            for (size_t k = 0; k < DIGIT_BINS; k++)
                total += digit->bins[k];
            if (total != item->expected)
                return pixels_changed(err);
            IMGSTAT_TRY(
                walk_bins(walk, digit->bins, 0, DIGIT_BINS, digit->prefix, digit->shift, err));
        } else {
            const KeyGather *const gather = &plan->gather[item->index];
            if (gather->n != item->expected)
                return pixels_changed(err);
            walk->stream->keys(walk->stream->context, gather->keys, walk->spare, gather->n,
                               gather->hi, walk->pool);
        }
    }
    return IMGSTAT_OK;
}

static ImgstatResult read_plan(const Walk *walk, Plan *plan, ImgstatError *err)
{
    for (size_t i = 0; i < plan->n_digits; i++)
        if (!plan->digit[i].bins)
            return error_memory(err, DIGIT_BINS * sizeof(uint64_t), "counters");
    const ReadRequest request = {.digits = plan->digit,
                                 .n_digits = plan->n_digits,
                                 .gathers = plan->gather,
                                 .n_gathers = plan->n_gathers};
    return walk->stream->reads.read(walk->stream->reads.context, &request, err);
}

/* Walks bins [first, end): counts[k] samples have a key >> shift of prefix * 65536 + k. */
static ImgstatResult walk_bins(Walk *walk, const uint64_t *counts, size_t first, size_t end,
                               uint64_t prefix, unsigned shift, ImgstatError *err)
{
    if (shift == 0) { /* whole keys: nothing is left to read */
        for (size_t k = first; k < end; k++)
            if (counts[k])
                walk->stream->run(walk->stream->context, prefix << DIGIT_BITS | k, counts[k]);
        return IMGSTAT_OK;
    }
    Plan *const plan = malloc(sizeof *plan);
    if (!plan)
        return error_memory(err, sizeof *plan, "order statistics");
    ImgstatResult res = IMGSTAT_OK;
    for (size_t k = first; res == IMGSTAT_OK && k < end;) {
        *plan = (Plan){.n = 0};
        for (; k < end; k++)
            if (counts[k] && !plan_bin(walk, plan, prefix << DIGIT_BITS | k, shift, counts[k]))
                break;
        if (plan->n)
            res = read_plan(walk, plan, err);
        if (res == IMGSTAT_OK)
            res = feed(walk, plan, err);
        for (size_t i = 0; i < plan->n_digits; i++)
            buffer_cache_release(plan->digit[i].bins);
    }
    free(plan);
    return res;
}

ImgstatResult key_stream_walk(const KeyStream *stream, const uint64_t *bins, size_t first,
                              size_t end, ImgstatError *err)
{
    const FurtherReads *const reads = &stream->reads;
    const ImgstatSample sample = stream->sample;
    uint64_t samples = 0;
    for (size_t k = first; k < end; k++)
        samples += bins[k];
    const size_t room = stream->room, capacity = samples < room ? (size_t)samples : room;
    Walk walk = {.stream = stream,
                 .capacity = capacity,
                 .keys = buffer_cache_acquire(reads->cache, (capacity + 1) * sizeof(uint64_t)),
                 .spare = buffer_cache_acquire(reads->cache, (capacity + 1) * sizeof(uint64_t)),
                 .dense = capacity,
                 .tables = room / TABLE_KEYS > 1 ? room / TABLE_KEYS : 1};
    if (samples / MANY_READS > capacity && capacity > DENSE)
        walk.dense = DENSE;
    if (reads->threads > 1 && thread_pool_create(reads->threads, &walk.pool, NULL) != IMGSTAT_OK)
        walk.pool = NULL;
    const ImgstatResult res =
        walk.keys && walk.spare
            ? walk_bins(&walk, bins, first, end, 0, sample_bits(sample) - DIGIT_BITS, err)
            : error_memory(err, 2 * capacity * sizeof(uint64_t), "sorting");
    thread_pool_destroy(walk.pool);
    buffer_cache_release(walk.keys);
    buffer_cache_release(walk.spare);
    return res;
}
