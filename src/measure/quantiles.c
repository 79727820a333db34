/* SPDX-License-Identifier: MIT */
/* quantiles.c: builds a quantile table from keys in ascending order, or from the runs that a device
 * finds, which sorts all keys in its own memory. */
#include "measure/quantiles.h"

#include "device/device.h"
#include "measure/key_stream.h"

static ImgstatResult add_runs(Device *device, RankBuilder *builder, RankKnot *runs,
                              ImgstatError *err)
{
    uint64_t taken;
    IMGSTAT_TRY(device->ops->sort_end(device, &taken, runs, err));
    if (taken != builder->table.n)
        return pixels_changed(err);
    for (size_t j = 0; j <= RANK_STEPS; j++)
        if (runs[j].upto > builder->seen) /* it is not the run before */
            rank_builder_add_run(builder, &runs[j]);
    return IMGSTAT_OK;
}

/* Lets the device sort all keys. *sorted becomes false if it does not sort; then nothing was read.
 */
static ImgstatResult sort_all(ImgstatSample sample, uint16_t channel, const FurtherReads *reads,
                              RankBuilder *builder, bool *sorted, ImgstatError *err)
{
    Device *const device = reads->sorter;
    *sorted = false;
    if (!device)
        return IMGSTAT_OK;
    IMGSTAT_TRY(device->ops->sort_begin(device, sample, builder->table.n, sorted, err));
    if (!*sorted)
        return IMGSTAT_OK;
    RankKnot *const runs = buffer_cache_acquire(reads->cache, (RANK_STEPS + 1) * sizeof *runs);
    const ReadRequest request = {.sort = &channel};
    ImgstatResult res = runs ? reads->read(reads->context, &request, err)
                             : error_memory(err, (RANK_STEPS + 1) * sizeof *runs, "sorting");
    if (res == IMGSTAT_OK)
        res = add_runs(device, builder, runs, err);
    else
        (void)(device->ops->sort_end(device, NULL, NULL, NULL) == IMGSTAT_OK);
    buffer_cache_release(runs);
    return res;
}

static void add_keys(void *context, uint64_t *keys, uint64_t *spare, size_t n, uint64_t most,
                     ThreadPool *pool)
{
    rank_builder_add_keys(context, keys, spare, n, most, pool);
}

static void add_run(void *context, uint64_t key, uint64_t count)
{
    rank_builder_add(context, key, count);
}

ImgstatResult quantiles_build(ImgstatSample sample, uint16_t channel, const uint64_t *bins,
                              size_t room, FurtherReads reads, RankBuilder *builder,
                              ImgstatError *err)
{
    bool sorted;
    IMGSTAT_TRY(sort_all(sample, channel, &reads, builder, &sorted, err));
    if (sorted)
        return IMGSTAT_OK;
    const KeyStream stream = {.sample = sample,
                              .channel = channel,
                              .reads = reads,
                              .room = room,
                              .keys = add_keys,
                              .run = add_run,
                              .context = builder};
    return key_stream_walk(&stream, bins, 0, sample_record_bins(sample), err);
}
