/* SPDX-License-Identifier: MIT */
/* guess.c: guessed places of order statistics, and counting from keys that were set aside there.
 * Whatever the guess, bins say where an order statistic lies, and the keys of whole bins are set
 * aside, all of them or none: a wrong guess costs a read, not exactness. */
#include "guess.h"

#include "findings.h"

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
        const double p = k < how->n_percentiles ? how->percentiles[k] : 50;
        for (uint16_t c = 0; c < sample->channels; c++) {
            KeyGather *const gather = &gathers[k * sample->channels + c];
            const uint64_t inside = bins_about(sample, c, p, margin, gather);
            const uint64_t expected = inside * every; /* < 2^64: pages have fewer samples */
            gather->capacity =
                (size_t)(expected < GUESS_KEYS ? expected + expected / 2 + SPARE : GUESS_KEYS + 1);
            room += gather->capacity;
        }
    }
    return room;
}

void guess_make(Guess *guess, const Record *sample, uint32_t every, const ImgstatMeasure *how,
                Scratch *scratch)
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
        guess->keys = scratch_take(scratch, room * sizeof *guess->keys);
    if (!guess->keys) {
        free(gathers);
        return;
    }
    uint64_t *at = guess->keys;
    for (size_t i = 0; i < n; at += gathers[i++].capacity)
        gathers[i].keys = at;
    guess->aside = (KeyAside){.gathers = gathers, .n = n};
}

void guess_release(Guess *guess)
{
    free(guess->aside.gathers);
    scratch_give(guess->keys);
    *guess = (Guess){0};
}

/* The keys that hold all those which the count looks for; NULL if there are none. */
static const KeyGather *holder(const Guess *guess, ImgstatSample sample, const DigitCount *count)
{
    const unsigned above = count->shift + 16u;
    const uint64_t lo = above >= sample_bits(sample) ? 0 : count->prefix << above;
    const uint64_t hi = lo | (((uint64_t)1 << above) - 1);
    for (size_t i = 0; i < guess->aside.n; i++) {
        const KeyGather *const gather = &guess->aside.gathers[i];
        if (gather->channel == count->channel && gather->lo <= lo && gather->hi >= hi)
            return gather;
    }
    return NULL;
}

bool guess_answer(const Guess *guess, ImgstatSample sample, const Pass *pass)
{
    if (guess->aside.full || guess->aside.n == 0 || pass->n_ranges || pass->n_gathers ||
        pass->n_windows || pass->central)
        return false;
    for (size_t i = 0; i < pass->n_digits; i++)
        if (!holder(guess, sample, &pass->digits[i]))
            return false;
    for (size_t i = 0; i < pass->n_digits; i++) {
        const DigitCount *const count = &pass->digits[i];
        const KeyGather *const gather = holder(guess, sample, count);
        for (size_t k = 0; k < gather->n; k++) { /* no branch: keys of several bins are mixed */
            const uint64_t leading = gather->keys[k] >> count->shift;
            count->bins[leading & 0xFFFF] += leading >> 16 == count->prefix;
        }
    }
    return true;
}
