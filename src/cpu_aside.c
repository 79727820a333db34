/* SPDX-License-Identifier: MIT */
/* cpu_aside.c: keys that a further read would look for, set aside while they are in the cache. */
#include "cpu_reference.h"

static bool is_full(const CpuAside *aside)
{
    return __atomic_load_n(&aside->keys->full, __ATOMIC_RELAXED);
}

/* Under the lock. */
static void append(const CpuAside *aside, KeyGather *gather, const uint64_t *keys, size_t n)
{
    if (n > gather->capacity - gather->n) {
        __atomic_store_n(&aside->keys->full, true, __ATOMIC_RELAXED);
        return;
    }
    memcpy(gather->keys + gather->n, keys, n * sizeof *keys);
    gather->n += n;
}

void cpu_aside_samples(const CpuAside *aside, const CpuLoops *loops, ImgstatSample sample,
                       const unsigned char *x, const uint16_t *leading, size_t n, unsigned channels,
                       void *scratch)
{
    enum { MOST = 1 << 14 };
    const size_t bytes = sample_bits(sample) / 8, shift = 8 * bytes - 16, each = MOST / channels;
    uint16_t *const at = scratch;
    uint64_t *const keys = (uint64_t *)(void *)(at + MOST + PICK_PAST);
    for (size_t row = 0; row < aside->keys->n && !is_full(aside); row += channels) {
        KeyGather *const gather = aside->keys->gathers + row;
        uint16_t lo[LOOP_CHANNELS] = {0}, width[LOOP_CHANNELS] = {0};
        size_t kept[LOOP_CHANNELS] = {0};
        for (unsigned c = 0; c < channels; c++) {
            lo[c] = (uint16_t)(gather[c].lo >> shift);
            if (gather[c].lo <= gather[c].hi)
                width[c] = (uint16_t)((gather[c].hi >> shift) - (gather[c].lo >> shift) + 1);
        }
        const size_t found = loops->pick(leading, n, channels, lo, width, at);
        for (size_t i = 0; i < found; i++) {
            const unsigned c = at[i] % channels;
            keys[c * each + kept[c]++] = sample_key(sample, cpu_load(x + at[i] * bytes, bytes));
        }
        if (found == 0)
            continue;
        pthread_mutex_lock(aside->lock);
        for (unsigned c = 0; c < channels; c++)
            append(aside, &gather[c], keys + c * each, kept[c]);
        pthread_mutex_unlock(aside->lock);
    }
}

void cpu_aside_keys(const CpuAside *aside, uint16_t channels, uint16_t channel,
                    const uint64_t *keys, size_t n)
{
    for (size_t i = channel; i < aside->keys->n && !is_full(aside); i += channels) {
        KeyGather *const gather = &aside->keys->gathers[i];
        pthread_mutex_lock(aside->lock);
        for (size_t k = 0; k < n; k++)
            if (keys[k] >= gather->lo && keys[k] <= gather->hi)
                append(aside, gather, &keys[k], 1);
        pthread_mutex_unlock(aside->lock);
    }
}
