/* SPDX-License-Identifier: MIT */
/* result.c: computes statistics from a record with few further reads, and returns them to callers.
 */
#include "measure/result.h"

#include "measure/deviation.h"
#include "measure/ends.h"
#include "measure/mode.h"
#include "measure/percentile.h"
#include "record/kind.h"
#include "record/statistics.h"

#include <stdlib.h>

const ImgstatMeasure result_least = {0};

ImgstatResult result_check(const ImgstatMeasure *how, ImgstatError *err)
{
    if (how->n_percentiles && !how->percentiles)
        return error_set(err, IMGSTAT_ERR_ARG, "%zu percentiles, but no list of them",
                         how->n_percentiles);
    if ((unsigned)how->percentile_method > IMGSTAT_NEAREST)
        return error_set(err, IMGSTAT_ERR_ARG, "%d is no way to take percentiles",
                         (int)how->percentile_method);
    for (size_t i = 0; i < how->n_percentiles; i++) {
        const double p = how->percentiles[i];
        if (!(p >= 0 && p <= 100))
            return error_set(err, IMGSTAT_ERR_ARG, "percentile %g is not between 0 and 100", p);
    }
    return histogram_check(how, err);
}

unsigned result_parts(const ImgstatMeasure *how)
{
    return how->n_percentiles || how->median || how->mode || how->mergeable ? RECORD_BINS : 0;
}

bool result_reads_again(const ImgstatMeasure *how, ImgstatSample sample)
{
    return !sample_is_narrow(sample) && !how->mergeable &&
           (result_parts(how) || how->shape || how->histogram);
}

bool result_ranks_only(const ImgstatMeasure *how, ImgstatSample sample)
{
    return !sample_is_narrow(sample) && (how->n_percentiles || how->median) && !how->mode &&
           !how->shape && !how->histogram && !how->mergeable;
}

/* While a record is made. */
typedef struct Work {
    ImgstatRecord *out;
    const ImgstatMeasure *how;
    uint16_t channels;
    const FurtherReads *reads; /* NULL: there are none */
    BufferCache *cache;
    bool narrow, median;
    OrderStat
        *stat; /* channels with samples: low and high rank of each percentile, then of the median */
    size_t n_stats;
    RangeCount *ranges;
    DigitCount *tops; /* of largest keys that no edge can exceed */
    size_t n_ranges, n_tops;
    EndCount *ends; /* NULL, or two a channel: low and high */
    double *center;
    Central *central;
} Work;

static size_t ranks_per_channel(const Work *work)
{
    return 2 * (work->how->n_percentiles + work->median);
}

static PercentileRank rank_of(const Work *work, size_t k, uint64_t n)
{
    const double p = k < work->how->n_percentiles ? work->how->percentiles[k] : 50;
    return percentile_rank(p, work->how->percentile_method, n);
}

static ImgstatResult list_ranks(Work *work, ImgstatError *err)
{
    size_t n;
    if (!size_product(ranks_per_channel(work), work->channels, &n) ||
        !(work->stat = calloc(n ? n : 1, sizeof *work->stat)))
        return error_memory(err, n, "order statistics");
    for (uint16_t c = 0; c < work->channels; c++) {
        const uint64_t count = work->out->record->tally[c].n;
        for (size_t k = 0; count && k < ranks_per_channel(work) / 2; k++) {
            const PercentileRank rank = rank_of(work, k, count);
            work->stat[work->n_stats++] = (OrderStat){.channel = c, .rank = rank.low};
            work->stat[work->n_stats++] = (OrderStat){.channel = c, .rank = rank.high};
        }
    }
    return IMGSTAT_OK;
}

/* Adds the bytes of a histogram to those of the channels before: a hostile file has 65,535. */
static ImgstatResult check_bytes(const Histogram *h, uint64_t *bytes, ImgstatError *err)
{
    const uint64_t most = (uint64_t)4 * 16 * HISTOGRAM_MAX_BINS; /* RGB and alpha */
    *bytes += (uint64_t)h->bins * (h->per_value ? 8 : 16);
    if (*bytes > most)
        return error_set(err, IMGSTAT_ERR_LIMIT,
                         "the histograms of its channels take more than %llu bytes: ask for fewer "
                         "bins",
                         (unsigned long long)most);
    return IMGSTAT_OK;
}

static ImgstatResult make_histograms(Work *work, ImgstatError *err)
{
    uint64_t bytes = 0;
    const uint8_t bits = work->out->kind->bits;
    BufferCache *const cache = work->cache;
    work->out->has_histogram = work->how->histogram;
    if (!work->how->histogram)
        return IMGSTAT_OK;
    Record *const record = work->out->record;
    work->tops = calloc(work->channels, sizeof *work->tops);
    if (!work->tops)
        return error_memory(err, work->channels * sizeof *work->tops, "histograms");
    for (uint16_t c = 0; c < work->channels; c++) {
        Histogram *const h = &work->out->channel[c].histogram;
        IMGSTAT_TRY(histogram_create(cache, record, c, bits, work->how, h, err));
        IMGSTAT_TRY(check_bytes(h, &bytes, err));
        if (work->narrow || record->tally[c].n == 0)
            continue;
        work->ranges[work->n_ranges++] = (RangeCount){.channel = c,
                                                      .n_bins = h->bins,
                                                      .edge = h->edge,
                                                      .lo = h->lo,
                                                      .per_bin = h->per_bin,
                                                      .bins = h->counts};
        if (!h->has_top || record->tally[c].max_key != UINT64_MAX)
            continue;
        DigitCount *const top = &work->tops[work->n_tops];
        *top = (DigitCount){.channel = c, .shift = 0, .prefix = UINT64_MAX >> 16};
        if (!(top->bins = buffer_cache_acquire_zeroed(cache, DIGIT_BINS, sizeof *top->bins)))
            return error_memory(err, DIGIT_BINS * sizeof *top->bins, "counters");
        work->n_tops++;
    }
    return IMGSTAT_OK;
}

/* Samples at the ends of full scale are counted where the pixels are read again. */
static ImgstatResult make_ends(Work *work, ImgstatError *err)
{
    const Record *const record = work->out->record;
    if (work->narrow || sample_is_float(record->sample) || !work->reads ||
        !result_reads_again(work->how, record->sample))
        return IMGSTAT_OK;
    work->ends = calloc(2 * (size_t)work->channels, sizeof *work->ends);
    if (!work->ends)
        return error_memory(err, 2 * work->channels * sizeof *work->ends, "counters");
    for (uint16_t c = 0; c < work->channels; c++)
        work->n_ranges += ends_list(record, work->out->kind->bits, c, &work->ends[2 * c],
                                    &work->ranges[work->n_ranges]);
    return IMGSTAT_OK;
}

static ImgstatResult make_centers(Work *work, ImgstatError *err)
{
    if (!work->how->shape || work->narrow)
        return IMGSTAT_OK;
    work->center = calloc(work->channels, sizeof *work->center);
    work->central = calloc(work->channels, sizeof *work->central);
    if (!work->center || !work->central)
        return error_memory(err, work->channels * sizeof *work->central, "moments");
    for (uint16_t c = 0; c < work->channels; c++)
        work->center[c] = statistics_center(work->out->record, c);
    return IMGSTAT_OK;
}

/* Everything but the modes: all of it shares the reads that the deepest descent needs. */
static ImgstatResult read_again(Work *work, PercentileSearch *search, ImgstatError *err)
{
    const FurtherReads reads = *work->reads;
    bool first = true, more;
    for (;; first = false) {
        ReadRequest request = {0};
        IMGSTAT_TRY(percentile_search_prepare(search, &request, &more, err));
        if (first) {
            request.ranges = work->ranges;
            request.n_ranges = work->n_ranges;
            request.center = work->center;
            request.central = work->central;
        }
        if (more || request.n_ranges || request.central)
            IMGSTAT_TRY(reads.read(reads.context, &request, err));
        if (first && work->n_tops) { /* rare: worth a read, not a list of both kinds */
            const ReadRequest tops = {.digits = work->tops, .n_digits = work->n_tops};
            IMGSTAT_TRY(reads.read(reads.context, &tops, err));
        }
        if (!more)
            return IMGSTAT_OK;
        IMGSTAT_TRY(percentile_search_advance(search, err));
    }
}

static void add_tops(Work *work)
{
    for (size_t i = 0; i < work->n_tops; i++) {
        Histogram *const h = &work->out->channel[work->tops[i].channel].histogram;
        h->counts[h->top_bin] += work->tops[i].bins[DIGIT_BINS - 1];
    }
}

/* Percentile k of a channel with n samples; stat: its low and its high rank. */
static double percentile_found(const Work *work, size_t k, uint64_t n, const OrderStat *stat,
                               ExactPercentile *exact)
{
    const ImgstatSample sample = work->out->record->sample;
    const PercentileRank rank = rank_of(work, k, n);
    return percentile_at(sample, stat[0].key, stat[1].key, &rank, exact);
}

static ImgstatResult fill_percentiles(Work *work, ImgstatError *err)
{
    const size_t wanted = work->how->n_percentiles;
    const OrderStat *stat = work->stat;
    for (uint16_t c = 0; c < work->channels; c++) {
        ChannelResult *const found = &work->out->channel[c];
        const uint64_t n = work->out->record->tally[c].n;
        if (wanted && !(found->percentile = calloc(wanted, sizeof *found->percentile)))
            return error_memory(err, wanted * sizeof *found->percentile, "percentiles");
        if (!(found->rank = calloc(wanted + 1, sizeof *found->rank)))
            return error_memory(err, (wanted + 1) * sizeof *found->rank, "percentiles");
        if (!work->reads && !(found->bounds = calloc(wanted + 1, sizeof *found->bounds)))
            return error_memory(err, (wanted + 1) * sizeof *found->bounds, "percentiles");
        for (size_t k = 0; k < wanted; k++)
            found->percentile[k] = (double)NAN;
        for (size_t k = 0; n && k < wanted + work->median; k++, stat += 2) {
            double *const into = k < wanted ? &found->percentile[k] : &found->stats.median;
            if (work->narrow || work->reads)
                *into = percentile_found(work, k, n, stat, &found->rank[k]);
            else
                *into = percentile_bounded(work->out->record, c, rank_of(work, k, n), stat,
                                           &found->rank[k], &found->bounds[k]);
        }
    }
    return IMGSTAT_OK;
}

/* The bins of a channel of a narrow type from that of the minimum to that of the maximum. */
static const uint64_t *bins_between(const Record *record, uint16_t c, size_t *n)
{
    const Tally *const tally = &record->tally[c];
    *n = tally->max_key - tally->min_key + 1;
    return record->bins + c * sample_record_bins(record->sample) + tally->min_key;
}

static ImgstatResult fill_mode(Work *work, uint16_t c, ImgstatError *err)
{
    const Record *const record = work->out->record;
    uint64_t key = 0;
    size_t n;
    if (record->tally[c].n == 0 || (!work->narrow && !work->how->mode))
        return IMGSTAT_OK;
    if (work->narrow) {
        const uint64_t *const bins = bins_between(record, c, &n);
        key = record->tally[c].min_key + statistics_mode(bins, n);
    } else {
        IMGSTAT_TRY(mode_find(record, c, *work->reads, &key, err));
    }
    work->out->channel[c].stats.mode = sample_value(record->sample, key);
    return IMGSTAT_OK;
}

/* Returns the entropy of the values if the type has one bin a value and the request has no bins of
 * its own; else of the histogram. */
static double entropy_of(const Record *record, uint16_t c, const ImgstatMeasure *how,
                         const Histogram *h)
{
    const bool by_value = sample_is_narrow(record->sample) && !sample_is_float(record->sample);
    size_t n = h->bins;
    const bool own = by_value && !how->bins && !how->has_range;
    const uint64_t *const counts = own ? bins_between(record, c, &n) : h->counts;
    return statistics_entropy(counts, n);
}

static ImgstatResult find_all(Work *work, ImgstatError *err)
{
    const Record *const record = work->out->record;
    PercentileSearch search = {0};
    ImgstatResult res = list_ranks(work, err);
    if (res == IMGSTAT_OK && work->n_stats)
        res = percentile_search_start(work->cache, &search, record, work->stat, work->n_stats, err);
    if (res == IMGSTAT_OK && !(work->ranges = calloc(3 * (size_t)work->channels,
                                                     sizeof *work->ranges))) /* a histogram, ends */
        res = error_memory(err, 3 * work->channels * sizeof *work->ranges, "histograms");
    if (res == IMGSTAT_OK)
        res = make_histograms(work, err);
    if (res == IMGSTAT_OK)
        res = make_ends(work, err);
    if (res == IMGSTAT_OK)
        res = make_centers(work, err);
    if (res == IMGSTAT_OK && work->reads)
        res = read_again(work, &search, err);
    percentile_search_release(&search);
    if (res != IMGSTAT_OK)
        return res;

    add_tops(work);
    for (uint16_t c = 0; c < work->channels; c++) {
        ChannelResult *const found = &work->out->channel[c];
        statistics_fill(record, c, work->how->ddof, work->how->shape,
                        work->central ? &work->central[c] : NULL, &found->stats, found->sum);
        if (work->how->histogram)
            found->stats.entropy = entropy_of(record, c, work->how, &found->histogram);
        if (found->stats.count > 0 && !sample_is_float(record->sample))
            ends_fill(record, work->out->kind->bits, c, work->ends ? &work->ends[2 * c] : NULL,
                      &found->stats);
        IMGSTAT_TRY(fill_mode(work, c, err));
        if (work->reads)
            IMGSTAT_TRY(deviation_find(record, c, work->how->ddof, *work->reads,
                                       &found->stats.stddev, err));
    }
    return fill_percentiles(work, err);
}

ImgstatResult result_compute(ImgstatRecord *record, const ImgstatMeasure *how,
                             const FurtherReads *reads, ImgstatError *err)
{
    const uint16_t channels = record->kind->channels;
    const bool narrow = sample_is_narrow(record->kind->sample);
    Work work = {.out = record,
                 .how = how,
                 .channels = channels,
                 .reads = reads,
                 .cache = reads ? reads->cache : NULL,
                 .narrow = narrow,
                 .median = how->median || narrow};
    image_record_clear(record);
    record->n_percentiles = how->n_percentiles;
    record->channel = calloc(channels, sizeof *record->channel);
    const ImgstatResult res =
        record->channel ? find_all(&work, err)
                        : error_memory(err, channels * sizeof *record->channel, "statistics");
    for (size_t i = 0; i < work.n_tops; i++)
        buffer_cache_release(work.tops[i].bins);
    free(work.tops);
    free(work.ranges);
    free(work.ends);
    free(work.stat);
    free(work.center);
    free(work.central);
    if (res != IMGSTAT_OK)
        image_record_clear(record);
    return res;
}

ImgstatResult result_of_image(Record *record, uint8_t bits, const ImgstatMeasure *how,
                              FurtherReads reads, ImgstatRecord **out, ImgstatError *err)
{
    const ImgstatKind kind = {.sample = record->sample,
                              .bits = bits,
                              .channels = record->channels,
                              .alpha = -1,
                              .region = how->region};
    ImgstatRecord *made = NULL;
    *out = NULL;
    IMGSTAT_TRY(image_record_create(&kind, record, (ImagePlace){NULL, 0, 0}, &made, err));
    const ImgstatResult res = how->mergeable ? IMGSTAT_OK : result_compute(made, how, &reads, err);
    if (res == IMGSTAT_OK)
        *out = made;
    else
        imgstat_record_destroy(made);
    return res;
}

ImgstatResult imgstat_record_compute(ImgstatRecord *record, const ImgstatMeasure *how,
                                     ImgstatError *err)
{
    IMGSTAT_TRY(error_if_null(record != NULL, __func__, err));
    how = how ? how : &result_least;
    IMGSTAT_TRY(result_check(how, err));
    const char *const sample = imgstat_sample_name(record->kind->sample);
    if (!kind_has_region(record->kind, &how->region))
        return error_set(err, IMGSTAT_ERR_ARG, "a region is asked of a record of other pixels");
    if (!sample_is_narrow(record->kind->sample)) {
        const char *const needs = how->mode        ? "mode"
                                  : how->shape     ? "skewness and kurtosis"
                                  : how->histogram ? "histogram"
                                                   : NULL;
        if (needs)
            return error_set(err, IMGSTAT_ERR_ARG,
                             "a record of %s samples has no %s: that takes the pixels", sample,
                             needs);
        if ((how->n_percentiles || how->median) && !record->record->bins)
            return error_set(err, IMGSTAT_ERR_ARG,
                             "this record of %s samples has no counts, as percentiles need them",
                             sample);
    }
    return result_compute(record, how, NULL, err);
}

/* ---- What callers ask of it ---- */

/* NULL where the record has no such channel, or no statistics. */
static const ChannelResult *find_channel(const ImgstatRecord *record, uint16_t channel)
{
    return channel < record->kind->channels && record->channel ? &record->channel[channel] : NULL;
}

void imgstat_record_stats(const ImgstatRecord *record, uint16_t channel, ImgstatStats *out)
{
    const ChannelResult *const found = find_channel(record, channel);
    if (found) {
        *out = found->stats;
    } else {
        *out = statistics_undefined(record->kind->sample);
        if (channel < record->kind->channels)
            statistics_fill_counts(record->record, channel, out);
    }
    const Places *const places =
        channel < record->kind->channels ? &record->places[channel] : &(Places){0};
    out->min_page = places->min_page;
    out->max_page = places->max_page;
    out->min_width = places->min_width;
    out->max_width = places->max_width;
    out->min_file = shared_text_of(places->min_file);
    out->max_file = shared_text_of(places->max_file);
}

double imgstat_record_percentile(const ImgstatRecord *record, uint16_t channel, size_t k)
{
    const ChannelResult *const found = find_channel(record, channel);
    return found && k < record->n_percentiles ? found->percentile[k] : (double)NAN;
}

/* The place of percentile k of the list, or behind that of the median. False: there is no such. */
static bool find_rank(const ImgstatRecord *record, const ChannelResult *found, size_t k, size_t *at)
{
    *at = k == IMGSTAT_MEDIAN ? record->n_percentiles : k;
    return found && (k == IMGSTAT_MEDIAN || k < record->n_percentiles);
}

bool imgstat_record_bounds(const ImgstatRecord *record, uint16_t channel, size_t k, double *lo,
                           double *hi)
{
    const ChannelResult *const found = find_channel(record, channel);
    size_t at;
    if (!find_rank(record, found, k, &at) || !found->bounds || !found->bounds[at].only)
        return false;
    *lo = found->bounds[at].lo;
    *hi = found->bounds[at].hi;
    return true;
}

bool imgstat_record_exact(const ImgstatRecord *record, uint16_t channel, size_t k,
                          ImgstatValue *out)
{
    const ChannelResult *const found = find_channel(record, channel);
    size_t at;
    if (!find_rank(record, found, k, &at) || !found->rank[at].exact)
        return false;
    *out = sample_value(record->record->sample, found->rank[at].key);
    return true;
}

bool imgstat_record_histogram(const ImgstatRecord *record, uint16_t channel, ImgstatHistogram *out)
{
    const ChannelResult *const found = find_channel(record, channel);
    if (!found || !record->has_histogram)
        return false;
    const Histogram *const h = &found->histogram;
    *out = (ImgstatHistogram){
        .lo = h->lo, .hi = h->hi, .bins = h->bins, .per_value = h->per_value, .counts = h->counts};
    return true;
}

bool imgstat_record_edge(const ImgstatRecord *record, uint16_t channel, uint32_t k,
                         ImgstatValue *out)
{
    const ChannelResult *const found = find_channel(record, channel);
    if (!found || !record->has_histogram || k > found->histogram.bins)
        return false;
    const Histogram *const h = &found->histogram;
    if (!h->outgrown)
        *out = (ImgstatValue){.sample = IMGSTAT_F64, .as.f = histogram_edge(h, k)};
    else
        *out = k == h->bins ? found->stats.max : sample_value(record->record->sample, h->edge[k]);
    return true;
}

void imgstat_record_sum(const ImgstatRecord *record, uint16_t channel, char text[48])
{
    const ChannelResult *const found = find_channel(record, channel);
    memcpy(text, found ? found->sum : "null", found ? sizeof found->sum : sizeof "null");
}
