/* SPDX-License-Identifier: MIT */
/* percentile_estimate.c: guessed places of order statistics, and finding them among the keys set
 * aside there. How many samples lie below says which ranks those have: a wrong guess costs a read,
 * not exactness. */
#include "measure/percentile_estimate.h"

#include "measure/result.h"
#include "record/statistics.h"

#include <stdlib.h>

enum {
    GUESS_CHANNELS = 4,
    GUESS_RANKS = 4,     /* order statistics a channel: each looks at every sample's leading bits */
    GUESS_KEYS = 2 << 20 /* 16 MiB, touched where they fill */
};
/* The share of the samples that is taken to lie between the sample's rank and the true one: of 64
 * rows of photographs, the ranks were off by up to 0.4 %. The widest that room is left for. */
static const double margins[] = {0.005, 0.0025};

static size_t ranks_of(const ImgstatMeasure *how)
{
    return how->n_percentiles + how->median;
}

/* The last one is the median. */
static double percent_of(const ImgstatMeasure *how, size_t k)
{
    return k < how->n_percentiles ? how->percentiles[k] : 50;
}

bool guess_helps(const ImgstatMeasure *how, ImgstatSample sample, uint16_t channels)
{
    return findings_ranks_only(how, sample) && channels <= GUESS_CHANNELS &&
           ranks_of(how) <= GUESS_RANKS;
}

/* The bins of a channel that hold the ranks about percentile p, as a range of keys. Returns how
 * many samples they have. */
static uint64_t bins_about(const Record *sample, uint16_t c, double p, double margin,
                           KeyGather *gather)
{
    const uint64_t *const bins = sample->bins + c * (size_t)sample_record_bins(sample->sample);
    const unsigned shift = sample_bits(sample->sample) - 16;
    const double n = (double)sample->tally[c].n, least = n * (p / 100 - margin);
    const uint64_t low = least > 0 ? (uint64_t)least : 0;
    const uint64_t high = (uint64_t)(n * (p / 100 + margin));
    uint64_t below = 0, inside = 0, first = 1, last = 0;
    for (uint64_t k = sample->tally[c].min_key >> shift; k < 65536 && below <= high;
         below += bins[k++]) {
        if (bins[k] == 0 || below + bins[k] < low)
            continue;
        first = inside ? first : k;
        last = k;
        inside += bins[k];
    }
    *gather = (KeyGather){.channel = c, .lo = 1};
    if (inside > 0) {
        gather->lo = first << shift;
        gather->hi = (last << shift) | (((uint64_t)1 << shift) - 1);
    }
    return inside;
}

/* The ranges of all percentiles and channels for a margin. Returns the room for their keys. */
static uint64_t list_ranges(const Record *sample, uint32_t every, const ImgstatMeasure *how,
                            double margin, KeyGather *gathers)
{
    enum { SPARE = 4096 };
    uint64_t room = 0;
    for (size_t k = 0; k < ranks_of(how); k++) {
        for (uint16_t c = 0; c < sample->channels; c++) {
            KeyGather *const gather = &gathers[k * sample->channels + c];
            const uint64_t inside = bins_about(sample, c, percent_of(how, k), margin, gather);
            const uint64_t expected = inside * every; /* < 2^64: pages have fewer samples */
            gather->capacity =
                (size_t)(expected < GUESS_KEYS ? expected + expected / 2 + SPARE : GUESS_KEYS + 1);
            room += gather->capacity;
        }
    }
    return room;
}

void guess_make(Guess *guess, const Record *sample, uint32_t every, const ImgstatMeasure *how,
                BufferCache *scratch)
{
    const size_t n = ranks_of(how) * sample->channels;
    *guess = (Guess){0};
    KeyGather *const gathers = calloc(n, sizeof *gathers);
    if (!gathers)
        return;
    uint64_t room = UINT64_MAX;
    for (size_t i = 0; i < sizeof margins / sizeof *margins && room > GUESS_KEYS; i++)
        room = list_ranges(sample, every, how, margins[i], gathers);
    if (room <= GUESS_KEYS)
        guess->keys = buffer_cache_acquire(scratch, room * sizeof *guess->keys);
    if (!guess->keys) {
        free(gathers);
        return;
    }
    uint64_t *at = guess->keys;
    for (size_t i = 0; i < n; at += gathers[i++].capacity)
        gathers[i].keys = at;
    guess->aside = (CandidateKeys){.gathers = gathers, .n = n};
}

void guess_release(Guess *guess)
{
    free(guess->aside.gathers);
    buffer_cache_release(guess->keys);
    *guess = (Guess){0};
}

/* The keys among which the sample of that rank is; NULL if none of them has it. */
static const KeyGather *holder(const Guess *guess, uint16_t channel, uint64_t rank)
{
    for (size_t i = 0; i < guess->aside.n; i++) {
        const KeyGather *const gather = &guess->aside.gathers[i];
        if (gather->channel == channel && rank >= gather->below && rank - gather->below < gather->n)
            return gather;
    }
    return NULL;
}

bool guess_holds(const Guess *guess, const Record *record, const ImgstatMeasure *how)
{
    bool holds = !guess->aside.full;
    for (uint16_t c = 0; c < record->channels; c++) {
        const uint64_t n = record->tally[c].n;
        for (size_t k = 0; holds && n > 0 && k < ranks_of(how); k++) {
            const PercentileRank rank =
                percentile_rank(percent_of(how, k), how->percentile_method, n);
            holds = holder(guess, c, rank.low) && holder(guess, c, rank.high);
        }
    }
    return holds;
}

/* The key of rank `left` among those gathered. */
static uint64_t find_key(const KeyGather *gather, uint64_t left)
{
    enum { BITS = 12, BINS = 1 << BITS };
    uint64_t lo = gather->lo, span = gather->hi - lo;
    for (;;) { /* BITS of the key in each turn, among the keys from lo to lo + span */
        uint32_t bins[BINS + 1] = {0};
        unsigned shift = 0, bin = 0;
        while (span >> shift >= BINS)
            shift++;
        for (size_t i = 0; i < gather->n; i++) {
            const uint64_t past = gather->keys[i] - lo;
            bins[past <= span ? past >> shift : BINS]++;
        }
        while (left >= bins[bin])
            left -= bins[bin++];
        const uint64_t below = (uint64_t)bin << shift, size = ((uint64_t)1 << shift) - 1;
        lo += below;
        span = span - below < size ? span - below : size;
        if (span == 0)
            return lo;
    }
}

/* The key of rank `left` among those gathered, where `key` is that of the rank before it, which may
 * be below all of them. */
static uint64_t next_key(const KeyGather *gather, uint64_t left, uint64_t key)
{
    uint64_t upto = 0, next = UINT64_MAX;
    for (size_t i = 0; i < gather->n; i++) {
        const uint64_t other = gather->keys[i];
        upto += other <= key;
        next = other > key && other < next ? other : next;
    }
    return left < upto ? key : next;
}

void guess_keys(const Guess *guess, uint16_t channel, uint64_t low, uint64_t high, uint64_t keys[2])
{
    const KeyGather *const first = holder(guess, channel, low);
    const KeyGather *const second = holder(guess, channel, high);
    keys[0] = keys[1] = find_key(first, low - first->below);
    if (high == low + 1)
        keys[1] = next_key(second, high - second->below, keys[0]);
    else if (high != low)
        keys[1] = find_key(second, high - second->below);
}
