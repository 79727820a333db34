/* SPDX-License-Identifier: MIT */
/* read_candidates.c: keys that a further read would look for, set aside while they are in the
 * cache. */
#include "cpu/reference.h"

static bool is_full(const CandidateKeys *aside)
{
    return __atomic_load_n(&aside->full, __ATOMIC_RELAXED);
}

/* Threads take their places in turn, and fill them at the same time. Without room gather->n counts
 * more than there are; such keys are of no value, and no thread goes on for long. */
static void append(CandidateKeys *aside, KeyGather *gather, const uint64_t *keys, size_t n)
{
    const size_t at = __atomic_fetch_add(&gather->n, n, __ATOMIC_RELAXED);
    if (at > gather->capacity || n > gather->capacity - at)
        __atomic_store_n(&aside->full, true, __ATOMIC_RELAXED);
    else
        memcpy(gather->keys + at, keys, n * sizeof *keys);
}

static void add_below(KeyGather *gather, uint64_t n)
{
    if (n > 0)
        __atomic_fetch_add(&gather->below, n, __ATOMIC_RELAXED);
}

void cpu_aside_samples(CandidateKeys *aside, const CpuLoops *loops, ImgstatSample sample,
                       const unsigned char *x, size_t n, unsigned channels, void *scratch)
{
    enum { MOST = 1 << 14 };
    const size_t bytes = sample_bits(sample) / 8, each = MOST / channels;
    uint16_t *const at = scratch;
    uint64_t *const keys = (uint64_t *)(void *)(at + MOST + PART_PAST);
    for (size_t row = 0; row < aside->n && !is_full(aside); row += channels) {
        KeyGather *const gather = aside->gathers + row;
        uint64_t lo[LOOP_CHANNELS], hi[LOOP_CHANNELS], below[LOOP_CHANNELS];
        size_t kept[LOOP_CHANNELS] = {0};
        for (unsigned c = 0; c < channels; c++) {
            lo[c] = gather[c].lo;
            hi[c] = gather[c].hi;
        }
        const size_t found = loops->part(sample, x, n, channels, lo, hi, below, at);
        for (size_t i = 0; i < found; i++) {
            const unsigned c = at[i] % channels;
            keys[c * each + kept[c]++] = sample_key(sample, cpu_load(x + at[i] * bytes, bytes));
        }
        for (unsigned c = 0; c < channels; c++) {
            add_below(&gather[c], below[c]);
            if (kept[c] > 0)
                append(aside, &gather[c], keys + c * each, kept[c]);
        }
    }
}

void cpu_aside_keys(CandidateKeys *aside, uint16_t channels, uint16_t channel, const uint64_t *keys,
                    size_t n)
{
    for (size_t i = channel; i < aside->n && !is_full(aside); i += channels) {
        KeyGather *const gather = &aside->gathers[i];
        uint64_t below = 0;
        for (size_t k = 0; k < n; k++) {
            below += keys[k] < gather->lo;
            if (keys[k] >= gather->lo && keys[k] <= gather->hi)
                append(aside, gather, &keys[k], 1);
        }
        add_below(gather, below);
    }
}
