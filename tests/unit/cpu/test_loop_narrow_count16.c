/* SPDX-License-Identifier: MIT */
/* test_loop_narrow_count16.c: counting 16-bit words: every instruction set and every way of
 * counting against counts of single words. */
#include "cpu/cpu.h"
#include "helper_cpu.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

enum { LEVELS = 3, MOST = 70000, VALUES = 65536 };

/* How words of a channel follow each other. */
typedef enum Kind {
    KIND_UNIFORM, /* values of a span */
    KIND_NEAR,    /* steps of a few, from end to end of a span */
    KIND_FAR,     /* two values, `span` apart, in any order */
    KIND_MOSTLY,  /* one value, others now and then */
    KIND_RAMP,    /* all values in turn: their counters come round together */
    KIND_PERIOD,  /* four pixels repeat */
    KIND_RUNS,    /* long runs of one value, noise between them */
    KIND_FEW,     /* some values in any order, rarely another */
    KIND_PEAK,    /* values of a span, one of a hundred times the same one */
    KINDS
} Kind;

static const unsigned spans[] = {1, 2, 3, 5, 9, 100, 256, 4096, 65535, 65536};
enum { SPANS = sizeof spans / sizeof *spans };

static void fill(Random *random, uint16_t *x, size_t n, unsigned channels, Kind kind, unsigned span)
{
    const unsigned first = random_below(random, 65537 - span);
    const size_t run = 1 + random_below(random, 9000), period = (size_t)4 * channels;
    const unsigned values = 1 + random_below(random, 6), rare = 1 + random_below(random, 200);
    int at[LOOP_CHANNELS] = {0};
    for (size_t i = 0; i < n; i++) {
        const unsigned c = (unsigned)(i % channels);
        unsigned some = random_below(random, span);
        switch (kind) {
        case KIND_NEAR:
            at[c] += (int)random_below(random, 7) - 3;
            at[c] = at[c] < 0 ? 0 : at[c] >= (int)span ? (int)span - 1 : at[c];
            some = (unsigned)at[c];
            break;
        case KIND_FAR:
            some = some % 2 ? span - 1 : 0;
            break;
        case KIND_MOSTLY:
            some = random_below(random, 50) ? span / 2 : some;
            break;
        case KIND_RAMP:
            some = (unsigned)(i / channels + c) % span;
            break;
        case KIND_PERIOD:
            some = i < period ? some : x[i - period] - first;
            break;
        case KIND_FEW:
            if (random_below(random, rare) > 0 || rare == 1)
                some = (random_below(random, values) * 7919 + c * 31) % span;
            break;
        case KIND_PEAK:
            some = random_below(random, 100) ? some : span / 3;
            break;
        case KIND_RUNS:
            some = i / run % 2 ? some : span / 2;
            break;
        default:
            break;
        }
        x[i] = (uint16_t)(first + some);
    }
}

typedef struct Counters {
    LoopWords to;
    LoopChoice choice;
    uint64_t *expected; /* channel * VALUES + word */
} Counters;

static Counters counters_begin(void)
{
    Counters counters = {0};
    counters.to.wide = calloc((size_t)LOOP_CHANNELS * COUNTERS32_STRIDE, sizeof(uint32_t));
    counters.to.low = calloc((size_t)LOOP_CHANNELS * COUNTERS8_TABLES, COUNTERS8_STRIDE);
    counters.expected = calloc((size_t)LOOP_CHANNELS * VALUES, sizeof(uint64_t));
    cr_assert(counters.to.wide && counters.to.low && counters.expected);
    return counters;
}

static void counters_end(Counters *counters)
{
    free(counters->to.wide);
    free(counters->to.low);
    free(counters->expected);
}

/* What the tests of a level went through: words that were found in each kind of table. */
typedef struct Seen {
    uint64_t words, wide, first, others;
} Seen;

static void check(const Counters *counters, unsigned channels, const char *what, Seen *seen)
{
    for (unsigned c = 0; c < channels; c++) {
        const uint32_t *const wide = counters->to.wide + c * (size_t)COUNTERS32_STRIDE;
        const uint8_t *const low =
            counters->to.low + c * (size_t)COUNTERS8_TABLES * COUNTERS8_STRIDE;
        for (unsigned word = 0; word < VALUES; word++) {
            const uint64_t expected = counters->expected[c * (size_t)VALUES + word];
            uint64_t got = wide[word] + (uint64_t)low[word];
            seen->wide += wide[word];
            seen->first += low[word];
            for (unsigned t = 1; t < COUNTERS8_TABLES; t++) {
                const uint8_t count = low[t * (size_t)COUNTERS8_STRIDE + word];
                got += count;
                seen->others += count;
                cr_assert(count == 0 || t < counters->choice.tables);
            }
            cr_assert_eq(got, expected, "%s, %u channels: %u of %u: %lu != %lu", what, channels,
                         word, c, got, expected);
            seen->words += got;
        }
        for (unsigned k = VALUES; k < COUNTERS32_STRIDE; k++)
            cr_assert_eq(wide[k], 0);
        for (unsigned t = 0; t < COUNTERS8_TABLES; t++)
            for (unsigned k = VALUES; k < COUNTERS8_STRIDE; k++)
                cr_assert_eq(low[t * (size_t)COUNTERS8_STRIDE + k], 0);
    }
}

/* n words that begin `shift` bytes past a boundary, with nothing behind them. */
static void count(const CpuLoops *loops, const uint16_t *words, size_t n, unsigned channels,
                  size_t shift, Counters *counters)
{
    uint8_t *const x = malloc(n * sizeof *words + shift);
    cr_assert(x);
    memcpy(x + shift, words, n * sizeof *words);
    loops->count_words(x + shift, n, channels, &counters->to, &counters->choice);
    for (size_t i = 0; i < n; i++)
        counters->expected[i % channels * VALUES + words[i]]++;
    free(x);
}

static Kind any_kind(Random *random)
{
    return (Kind)random_below(random, KINDS);
}

/* Calls of any length, of words of changing kinds, in the same counters. */
static void check_calls(Random *random, const CpuLoops *loops, unsigned channels, unsigned calls,
                        uint16_t *words, Seen *seen)
{
    Counters counters = counters_begin();
    for (unsigned call = 0; call < calls; call++) {
        const uint32_t most = random_below(random, 3) ? 3000 : MOST;
        const size_t n = random_below(random, call % 2 ? most : 700) / channels * channels;
        for (size_t at = 0, m; at < n; at += m) {
            m = (size_t)(1 + random_below(random, 60000)) * channels;
            m = n - at < m ? n - at : m;
            fill(random, words + at, m, channels, any_kind(random),
                 spans[random_below(random, SPANS)]);
        }
        count(loops, words, n, channels, random_below(random, 64), &counters);
    }
    check(&counters, channels, "calls", seen);
    counters_end(&counters);
}

/* One kind and span, each word so often that counters come round. */
static void check_kind(Random *random, const CpuLoops *loops, unsigned channels, Kind kind,
                       unsigned span, uint16_t *words, Seen *seen)
{
    Counters counters = counters_begin();
    const size_t n = (size_t)MOST / channels * channels;
    fill(random, words, n, channels, kind, span);
    for (int times = 0; times < 3; times++)
        count(loops, words, n, channels, (size_t)times, &counters);
    check(&counters, channels, "kind", seen);
    counters_end(&counters);
}

/* n of one value and channel, and `every`th word another, which breaks runs. */
static void check_equal(const CpuLoops *loops, unsigned channels, size_t n, size_t every,
                        uint16_t *words, Seen *seen)
{
    Counters counters = counters_begin();
    size_t equal[LOOP_CHANNELS] = {0};
    const size_t most = (size_t)MOST / channels;
    while (equal[channels - 1] < n) { /* the last channel to come there */
        size_t pixels = 0;
        for (; pixels < most && equal[channels - 1] < n; pixels++) {
            for (unsigned c = 0; c < channels; c++) {
                const bool other = equal[c] == n || (every && (pixels + c) % every == 0);
                words[pixels * channels + c] = (uint16_t)(other ? 60000 + pixels % 99 : 17 + c);
                equal[c] += !other;
            }
        }
        count(loops, words, pixels * channels, channels, 0, &counters);
    }
    check(&counters, channels, "equal", seen);
    cr_assert_eq(counters.expected[(channels - 1) * (size_t)VALUES + 17 + channels - 1], n);
    counters_end(&counters);
}

static void check_level(Random *random, const CpuLoops *loops, uint16_t *words, Seen *seen)
{
    static const size_t counts[] = {254, 255, 256, 257, 1023, 1024, 65535, 65536, 65537};
    for (unsigned channels = 1; channels <= LOOP_CHANNELS; channels++) {
        for (Kind kind = 0; kind < KINDS; kind++) {
            for (unsigned s = 0; s < SPANS; s++)
                if (is_run(channels + kind + s, 3))
                    check_kind(random, loops, channels, kind, spans[s], words, seen);
        }
        for (unsigned i = 0; i < 30; i++)
            if (is_run(i + channels, 3))
                check_calls(random, loops, channels, 1 + i, words, seen);
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            check_equal(loops, channels, counts[i], 0, words, seen);
            check_equal(loops, channels, counts[i], 3, words, seen);
            check_equal(loops, channels, counts[i], 13, words, seen);
        }
    }
    check_equal(loops, 1, ((size_t)1 << 24) + 1, 0, words, seen);
    check_equal(loops, 1, ((size_t)1 << 24) - 1, 11, words, seen);
}

Test(cpu_words, counts)
{
    Random random = random_begin("counts");
    uint16_t *const words = malloc(MOST * sizeof *words);
    unsigned levels = 0;
    cr_assert(words);
    for (int level = 0; level < LEVELS; level++) {
        Device *const device = open_cpu(cpu_levels[level], 1);
        if (!device)
            continue;
        Seen seen = {0};
        check_level(&random, ((const CpuDevice *)device)->loops, words, &seen);
        fprintf(stderr, "%s: %lu words; %lu in 32-bit counters, %lu in one table, %lu in others\n",
                cpu_levels[level], seen.words, seen.wide, seen.first, seen.others);
        cr_assert(seen.words && seen.wide && seen.first && seen.others);
        cpu_device_ops.close(device);
        levels++;
    }
    free(words);
    cr_assert_gt(levels, 0);
}
