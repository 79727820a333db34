/* SPDX-License-Identifier: MIT */
/* quantiles.c: walks the bins of leading key bits upwards. Neighbouring bins are gathered together
 * and sorted, as many as fit; a bin that holds too many samples is counted by its next 16 bits. A
 * device that sorts takes all keys at once. */
#include "measure/quantiles.h"

#include "record/quantile_table.h"

#include <stdlib.h>

enum {
    DIGIT_BITS = 16,
    DIGIT_BINS = 65536,
    MAX_ITEMS = 64,     /* looked for in one read */
    MANY_READS = 32,    /* where gathering would take more, bins of DENSE samples are counted */
    DENSE = DIGIT_BINS, /* counting costs a bin's counters, */
    TABLE_KEYS = DIGIT_BINS / 2 /* gathering two keys a sample */
};

/* A stretch of keys that one read finds: gathered, or counted by digit. */
typedef struct Item {
    bool counted;
    size_t index; /* of its gather or count */
    uint64_t expected;
} Item;

typedef struct Order {
    ImgstatSample sample;
    uint16_t channel;
    PixelSource reader;
    RankBuilder *builder;
    ThreadPool *pool;       /* NULL: one thread */
    uint64_t *keys, *spare; /* capacity each */
    size_t capacity;
    uint64_t dense; /* bins with more samples are counted, */
    size_t tables;  /* so many in one read: their counters take no more than the keys, or one */
} Order;

/* One read. */
typedef struct Plan {
    Item item[MAX_ITEMS];
    KeyGather gather[MAX_ITEMS];
    DigitCount digit[MAX_ITEMS];
    size_t n, n_gathers, n_digits, gathered;
    bool closed; /* the last item will need reads of its own, which take the room for keys */
} Plan;

static ImgstatResult changed(ImgstatError *err)
{
    return error_set(err, IMGSTAT_ERR_IO, "the pixels changed between two reads");
}

/* Adds the `count` samples whose key >> shift is prefix; false if the next read must take them. */
static bool plan_bin(const Order *order, Plan *plan, uint64_t prefix, unsigned shift,
                     uint64_t count)
{
    Item *const last = plan->n ? &plan->item[plan->n - 1] : NULL;
    const uint64_t lo = prefix << shift, hi = lo + (((uint64_t)1 << shift) - 1);
    if (plan->closed)
        return false;
    if (count > order->dense) {
        if (plan->n == MAX_ITEMS || plan->n_digits == order->tables)
            return false;
        plan->closed = shift > DIGIT_BITS;
        DigitCount *const digit = &plan->digit[plan->n_digits];
        *digit = (DigitCount){.channel = order->channel,
                              .shift = (uint8_t)(shift - DIGIT_BITS),
                              .prefix = prefix,
                              .bins = buffer_cache_acquire_zeroed(order->reader.scratch, DIGIT_BINS,
                                                                  sizeof *digit->bins)};
        plan->item[plan->n++] = (Item){true, plan->n_digits++, count};
        return true;
    }
    if (count > order->capacity - plan->gathered)
        return false;
    if (last && !last->counted) {
        KeyGather *const gather = &plan->gather[last->index];
        gather->hi = hi;
        gather->capacity += count;
        last->expected += count;
    } else if (plan->n == MAX_ITEMS) {
        return false;
    } else {
        plan->gather[plan->n_gathers] = (KeyGather){.channel = order->channel,
                                                    .lo = lo,
                                                    .hi = hi,
                                                    .keys = order->keys + plan->gathered,
                                                    .capacity = count};
        plan->item[plan->n++] = (Item){false, plan->n_gathers++, count};
    }
    plan->gathered += count;
    return true;
}

static ImgstatResult stream_level(Order *order, const uint64_t *counts, size_t n, uint64_t prefix,
                                  unsigned shift, ImgstatError *err);

/* Hands on what a read has found. */
static ImgstatResult feed(Order *order, const Plan *plan, ImgstatError *err)
{
    for (size_t i = 0; i < plan->n; i++) {
        const Item *const item = &plan->item[i];
        if (item->counted) {
            const DigitCount *const digit = &plan->digit[item->index];
            uint64_t total = 0;
            for (size_t k = 0; k < DIGIT_BINS; k++)
                total += digit->bins[k];
            if (total != item->expected)
                return changed(err);
            IMGSTAT_TRY(
                stream_level(order, digit->bins, DIGIT_BINS, digit->prefix, digit->shift, err));
        } else {
            const KeyGather *const gather = &plan->gather[item->index];
            if (gather->n != item->expected)
                return changed(err);
            rank_builder_add_keys(order->builder, gather->keys, order->spare, gather->n, gather->hi,
                                  order->pool);
        }
    }
    return IMGSTAT_OK;
}

static ImgstatResult read_plan(const Order *order, Plan *plan, ImgstatError *err)
{
    for (size_t i = 0; i < plan->n_digits; i++)
        if (!plan->digit[i].bins)
            return error_memory(err, DIGIT_BINS * sizeof(uint64_t), "counters");
    const ReadRequest pass = {.digits = plan->digit,
                              .n_digits = plan->n_digits,
                              .gathers = plan->gather,
                              .n_gathers = plan->n_gathers};
    return order->reader.read(order->reader.context, &pass, err);
}

/* counts[k]: samples whose key >> shift is prefix * 65536 + k. */
static ImgstatResult stream_level(Order *order, const uint64_t *counts, size_t n, uint64_t prefix,
                                  unsigned shift, ImgstatError *err)
{
    if (shift == 0) { /* whole keys: nothing is left to read */
        for (size_t k = 0; k < n; k++)
            rank_builder_add(order->builder, prefix << DIGIT_BITS | k, counts[k]);
        return IMGSTAT_OK;
    }
    Plan *const plan = malloc(sizeof *plan);
    if (!plan)
        return error_memory(err, sizeof *plan, "order statistics");
    ImgstatResult res = IMGSTAT_OK;
    for (size_t k = 0; res == IMGSTAT_OK && k < n;) {
        *plan = (Plan){.n = 0};
        for (; k < n; k++)
            if (counts[k] && !plan_bin(order, plan, prefix << DIGIT_BITS | k, shift, counts[k]))
                break;
        if (plan->n)
            res = read_plan(order, plan, err);
        if (res == IMGSTAT_OK)
            res = feed(order, plan, err);
        for (size_t i = 0; i < plan->n_digits; i++)
            buffer_cache_release(plan->digit[i].bins);
    }
    free(plan);
    return res;
}

/* The runs that hold the steps' ranks are all that the builder needs. */
static ImgstatResult take_runs(Device *device, RankBuilder *builder, RankKnot *runs,
                               ImgstatError *err)
{
    uint64_t taken;
    IMGSTAT_TRY(device->ops->sort_end(device, &taken, runs, err));
    if (taken != builder->table.n)
        return changed(err);
    for (size_t j = 0; j <= RANK_STEPS; j++)
        if (runs[j].upto > builder->seen) /* not the one before */
            rank_builder_add_run(builder, &runs[j]);
    return IMGSTAT_OK;
}

/* *sorted: false where the device does not, and nothing has been read. */
static ImgstatResult sort_all(ImgstatSample sample, uint16_t channel, const PixelSource *reader,
                              RankBuilder *builder, bool *sorted, ImgstatError *err)
{
    Device *const device = reader->sorter;
    *sorted = false;
    if (!device)
        return IMGSTAT_OK;
    IMGSTAT_TRY(device->ops->sort_begin(device, sample, builder->table.n, sorted, err));
    if (!*sorted)
        return IMGSTAT_OK;
    RankKnot *const runs = buffer_cache_acquire(reader->scratch, (RANK_STEPS + 1) * sizeof *runs);
    const ReadRequest pass = {.sort = &channel};
    ImgstatResult res = runs ? reader->read(reader->context, &pass, err)
                             : error_memory(err, (RANK_STEPS + 1) * sizeof *runs, "sorting");
    if (res == IMGSTAT_OK)
        res = take_runs(device, builder, runs, err);
    else
        (void)(device->ops->sort_end(device, NULL, NULL, NULL) == IMGSTAT_OK);
    buffer_cache_release(runs);
    return res;
}

ImgstatResult order_stream(ImgstatSample sample, uint16_t channel, const uint64_t *bins,
                           size_t keys, PixelSource reader, RankBuilder *builder, ImgstatError *err)
{
    bool sorted;
    IMGSTAT_TRY(sort_all(sample, channel, &reader, builder, &sorted, err));
    if (sorted)
        return IMGSTAT_OK;
    const uint64_t n = builder->table.n;
    const size_t capacity = n < keys ? (size_t)n : keys;
    Order order = {.sample = sample,
                   .channel = channel,
                   .reader = reader,
                   .builder = builder,
                   .capacity = capacity,
                   .keys = buffer_cache_acquire(reader.scratch, (capacity + 1) * sizeof(uint64_t)),
                   .spare = buffer_cache_acquire(reader.scratch, (capacity + 1) * sizeof(uint64_t)),
                   .dense = capacity,
                   .tables = keys / TABLE_KEYS > 1 ? keys / TABLE_KEYS : 1};
    if (n / MANY_READS > capacity && capacity > DENSE)
        order.dense = DENSE;
    if (reader.threads > 1 && thread_pool_create(reader.threads, &order.pool, NULL) != IMGSTAT_OK)
        order.pool = NULL;
    const ImgstatResult res = order.keys && order.spare
                                  ? stream_level(&order, bins, sample_record_bins(sample), 0,
                                                 sample_bits(sample) - DIGIT_BITS, err)
                                  : error_memory(err, 2 * capacity * sizeof(uint64_t), "sorting");
    thread_pool_destroy(order.pool);
    buffer_cache_release(order.keys);
    buffer_cache_release(order.spare);
    return res;
}
