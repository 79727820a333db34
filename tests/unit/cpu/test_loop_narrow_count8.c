/* SPDX-License-Identifier: MIT */
/* test_loop_narrow_count8.c: counting bytes: every instruction set and every way of counting
 * against counts of single bytes. */
#include "cpu/cpu.h"
#include "helper_cpu.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

enum { LEVELS = 3, MOST = 70000 + 64 };

/* How bytes follow each other. */
typedef enum Kind {
    KIND_UNIFORM, /* values of a span */
    KIND_NEAR,    /* steps of a few, from end to end of a span */
    KIND_FAR,     /* two values, `span` apart */
    KIND_GRAY,    /* channels within a few of each other, any pixels of a span */
    KIND_SKEWED,  /* mostly low values */
    KIND_PERIOD,  /* eight pixels repeat */
    KIND_FEW,     /* some values in any order, rarely another */
    KINDS
} Kind;

static const unsigned spans[] = {1,  2,  3,  8,  9,  13, 14, 15, 16, 17,  20,
                                 21, 22, 28, 29, 42, 43, 48, 64, 65, 255, 256};
enum { SPANS = sizeof spans / sizeof *spans };

static void fill(Random *random, uint8_t *x, size_t n, unsigned channels, Kind kind, unsigned span)
{
    const unsigned first = random_below(random, 257 - span);
    const unsigned values = 1 + random_below(random, 6), rare = 1 + random_below(random, 200);
    int at[LOOP_CHANNELS] = {0};
    for (size_t i = 0; i < n; i++) {
        const unsigned c = (unsigned)(i % channels);
        const unsigned some = random_below(random, span);
        switch (kind) {
        case KIND_NEAR:
            at[c] += (int)random_below(random, 7) - 3;
            at[c] = at[c] < 0 ? 0 : at[c] >= (int)span ? (int)span - 1 : at[c];
            x[i] = (uint8_t)(first + (unsigned)at[c]);
            break;
        case KIND_FAR:
            x[i] = (uint8_t)(first + (some % 2 ? span - 1 : 0));
            break;
        case KIND_GRAY:
            at[0] = c == 0 ? (int)some : at[0];
            x[i] = (uint8_t)(first + ((unsigned)at[0] + random_below(random, 3)) % span);
            break;
        case KIND_SKEWED:
            x[i] = (uint8_t)(first + some * random_below(random, span) / span);
            break;
        case KIND_FEW:
            x[i] = (uint8_t)(first + (rare == 1 || random_below(random, rare) > 0
                                          ? (random_below(random, values) * 79 + c * 31) % span
                                          : some));
            break;
        case KIND_PERIOD:
            x[i] = i < (size_t)8 * channels ? (uint8_t)(first + some) : x[i - (size_t)8 * channels];
            break;
        default:
            x[i] = (uint8_t)(first + some);
        }
    }
}

typedef struct Counters {
    LoopBytes to;
    uint64_t expected[LOOP_CHANNELS][256];
} Counters;

static Counters counters_begin(bool pairs)
{
    Counters counters = {0};
    counters.to.bytes = calloc((size_t)LOOP_CHANNELS * BYTE_COUNTERS, sizeof(uint32_t));
    counters.to.pairs =
        pairs ? calloc((size_t)LOOP_CHANNELS * COUNTERS32_STRIDE, sizeof(uint32_t)) : NULL;
    cr_assert(counters.to.bytes && (!pairs || counters.to.pairs));
    return counters;
}

static void counters_end(Counters *counters)
{
    free(counters->to.bytes);
    free(counters->to.pairs);
}

/* No table from `tables` on is in use. */
static uint64_t counted(const LoopBytes *to, unsigned tables, unsigned channels, unsigned channel,
                        unsigned value)
{
    uint64_t sum = 0;
    for (unsigned t = 0; t < BYTE_TABLES; t++) {
        const uint32_t count = to->bytes[channel * BYTE_COUNTERS + t * BYTE_STRIDE + value];
        cr_assert(t < tables || count == 0);
        sum += count;
    }
    for (unsigned t = 0; to->pairs && t < loop_pair_tables(channels); t++) {
        const uint32_t *const pairs = to->pairs + (size_t)t * COUNTERS32_STRIDE;
        for (unsigned other = 0; other < 256; other++) {
            if (2 * t % channels == channel)
                sum += pairs[other << 8 | value];
            if ((2 * t + 1) % channels == channel)
                sum += pairs[value << 8 | other];
        }
    }
    return sum;
}

static uint64_t check(const Counters *counters, const LoopChoice *choice, unsigned channels,
                      const char *what)
{
    uint64_t all = 0;
    for (unsigned c = 0; c < channels; c++) {
        for (unsigned value = 0; value < 256; value++) {
            const uint64_t got = counted(&counters->to, choice->tables, channels, c, value);
            cr_assert_eq(got, counters->expected[c][value], "%s, %u channels: %u of %u: %lu != %lu",
                         what, channels, value, c, got, counters->expected[c][value]);
            all += got;
        }
    }
    return all;
}

/* What the tests of a level went through: bytes, and calls by either loop. */
typedef struct Seen {
    uint64_t bytes, pairs, singly;
} Seen;

static void note_way(Seen *seen, const LoopChoice *choice)
{
    seen->pairs += choice->pairs;
    seen->singly += !choice->pairs;
}

/* Calls of any length, of bytes of changing kinds, with one choice. */
static void check_calls(Random *random, const CpuLoops *loops, unsigned channels, bool pairs,
                        unsigned calls, uint8_t *x, Seen *seen)
{
    Counters counters = counters_begin(pairs);
    LoopChoice choice = {.left = random_below(random, 2) * 20000};
    Kind kind = (Kind)random_below(random, KINDS);
    unsigned span = spans[random_below(random, SPANS)];
    for (unsigned call = 0; call < calls; call++) {
        const uint32_t most = random_below(random, 3) ? 3000 : 70000;
        size_t n = random_below(random, most), kept = n;
        uint8_t *const from = x + random_below(random, 64);
        n = kept = n / channels * channels;
        for (size_t at = 0, m; at < n; at += m) { /* within a call, too */
            m = (size_t)(1 + random_below(random, 60000)) * channels;
            m = n - at < m ? n - at : m;
            fill(random, from + at, m, channels, kind, span);
            if (random_below(random, 4) == 0) {
                kind = (Kind)random_below(random, KINDS);
                span = spans[random_below(random, SPANS)];
            }
        }
        for (size_t i = 0; i < kept; i++)
            counters.expected[i % channels][from[i]]++;
        loops->count_bytes(from, n, channels, &counters.to, &choice);
        note_way(seen, &choice);
    }
    seen->bytes += check(&counters, &choice, channels, "calls");
    counters_end(&counters);
}

/* One kind and span, long enough for every way. */
static void check_kind(Random *random, const CpuLoops *loops, unsigned channels, Kind kind,
                       unsigned span, uint8_t *x, Seen *seen)
{
    const size_t n = (size_t)50000 / channels * channels;
    fill(random, x, n, channels, kind, span);
    for (int pairs = 0; pairs < 2; pairs++) {
        Counters counters = counters_begin(pairs);
        LoopChoice choice = {0};
        for (size_t i = 0; i < n; i++)
            counters.expected[i % channels][x[i]] += 4;
        for (int times = 0; times < 4; times++)
            loops->count_bytes(x, n, channels, &counters.to, &choice);
        note_way(seen, &choice);
        /* spread out, they are counted by pairs where there are tables of these, and one value
         * never */
        cr_assert(!choice.pairs || (pairs && span > 1));
        cr_assert(channels > 1 || kind != KIND_UNIFORM || span < 256 ||
                  choice.pairs == (pairs != 0));
        seen->bytes += check(&counters, &choice, channels, "kind");
        counters_end(&counters);
    }
}

static void check_level(Random *random, const CpuLoops *loops, uint8_t *x, Seen *seen)
{
    for (unsigned channels = 1; channels <= LOOP_CHANNELS; channels++) {
        for (Kind kind = 0; kind < KINDS; kind++) {
            for (unsigned s = 0; s < SPANS; s++)
                if (is_run(channels + kind + s, 3))
                    check_kind(random, loops, channels, kind, spans[s], x, seen);
        }
        for (unsigned i = 0; i < 40; i++)
            if (is_run(i + channels, 3))
                check_calls(random, loops, channels, i % 4 > 0, 1 + i, x, seen);
    }
}

Test(cpu_bytes, counts)
{
    Random random = random_begin("counts");
    uint8_t *const x = malloc(MOST);
    unsigned levels = 0;
    cr_assert(x);
    for (int level = 0; level < LEVELS; level++) {
        Device *const device = open_cpu(cpu_levels[level], 1);
        if (!device)
            continue;
        Seen seen = {0};
        check_level(&random, ((const CpuDevice *)device)->loops, x, &seen);
        fprintf(stderr, "%s: %lu bytes; calls by pairs %lu, singly %lu\n", cpu_levels[level],
                seen.bytes, seen.pairs, seen.singly);
        cr_assert(seen.bytes && seen.pairs && seen.singly);
        cpu_device_ops.close(device);
        levels++;
    }
    free(x);
    cr_assert_gt(levels, 0);
}
