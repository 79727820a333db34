/* SPDX-License-Identifier: MIT */
/* deviation.c: the deviation of doubles whose squares overflow or underflow. Squares of distances
 * that are divided or multiplied by 2^600 do not overflow, and what they lose is far below such a
 * deviation. */
#include "measure/deviation.h"

#include "measure/key_stream.h"
#include "measure/mode.h"
#include "record/statistics.h"

/* Sums of the distances to `center` and of their squares; distances and center are multiplied by
 * 2^scale. */
typedef struct Distances {
    int scale;
    double center;
    ExactSum power[2];
    uint64_t added;
} Distances;

static double scaled(uint64_t key, int scale)
{
    return ldexp(sample_double(IMGSTAT_F64, key), scale);
}

static void add_distances(void *context, uint64_t key, uint64_t count)
{
    enum { NORMALIZE = 1 << 30 };
    Distances *const d = context;
    const double distance = scaled(key, d->scale) - d->center;
    for (; count > 0; count--) {
        exact_add(&d->power[0], distance);
        exact_add(&d->power[1], distance * distance);
        if (++d->added % NORMALIZE == 0) {
            exact_normalize(&d->power[0]);
            exact_normalize(&d->power[1]);
        }
    }
}

static void add_distances_of(void *context, uint64_t *keys, uint64_t *spare, size_t n,
                             uint64_t most, ThreadPool *pool)
{
    (void)spare;
    (void)most;
    (void)pool;
    for (size_t i = 0; i < n; i++)
        add_distances(context, keys[i], 1);
}

bool deviation_needs_bins(const Record *record)
{
    bool lacks = false;
    for (uint16_t c = 0; c < record->channels; c++)
        lacks |= statistics_lack_squares(record, c);
    return lacks;
}

ImgstatResult deviation_find(const Record *record, uint16_t channel, unsigned ddof,
                             FurtherReads reads, double *stddev, ImgstatError *err)
{
    const Tally *const tally = &record->tally[channel];
    const size_t bins = sample_record_bins(record->sample);
    const int scale = tally->sum2_overflow > 0 ? -600 : 600;
    Distances distances = {.scale = scale, .center = scaled(tally->min_key, scale)};
    const KeyStream stream = {.sample = record->sample,
                              .channel = channel,
                              .reads = reads,
                              .room = mode_room(&reads),
                              .keys = add_distances_of,
                              .run = add_distances,
                              .context = &distances};
    if (!statistics_lack_squares(record, channel) || !(record->parts & RECORD_BINS) ||
        tally->n <= ddof)
        return IMGSTAT_OK;
    IMGSTAT_TRY(key_stream_walk(&stream, record->bins + channel * bins, 0, bins, err));
    for (int k = 0; k < 2; k++)
        exact_normalize(&distances.power[k]);
    const double found = ldexp(statistics_stddev(distances.power, tally->n, ddof), -scale);
    *stddev = isfinite(found) ? found : (double)NAN;
    return IMGSTAT_OK;
}
