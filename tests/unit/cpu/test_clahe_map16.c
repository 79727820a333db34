/* SPDX-License-Identifier: MIT */
/* test_clahe_map16.c: 16-bit keys between four tiles, by every set of instructions, against
 * clahe_math.h; nothing beyond the pixels is written. */
#include "cpu/clahe_map16.h"

#include "cpu/loops.h"
#include "helper_transform.h"
#include "support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 1000, GUARD = 64, TABLE = CLAHE_NODES + 1 };

/* One row between four tiles, at odd addresses of its type. */
typedef struct Row {
    ClaheWords words;
    uint32_t table[4][TABLE];
    ClaheBlend blend[MOST];
    uint16_t key[MOST], expected[MOST];
    size_t n;
} Row;

/* Shares that rise: evenly, in a few steps, or by chance; the one after the last is any. */
static void draw_table(uint64_t *seed, uint32_t *table)
{
    const uint64_t kind = splitmix64(seed) % 4;
    const uint32_t step = (uint32_t)(splitmix64(seed) % CLAHE_NODES);
    uint64_t counts[CLAHE_NODES];
    for (uint32_t k = 0; k < CLAHE_NODES; k++)
        counts[k] = kind == 0 ? 1 : kind == 1 ? k == step : splitmix64(seed) % 5000;
    clahe_shares(counts, kind == 2 ? 10000000 : 1000000000, table);
    table[CLAHE_NODES] = (uint32_t)splitmix64(seed);
}

static uint32_t draw_weight(uint64_t *seed)
{
    return splitmix64(seed) % 8 ? (uint32_t)(splitmix64(seed) % CLAHE_WEIGHT) : 0;
}

static void draw_row(uint64_t *seed, Row *r)
{
    static const uint32_t spans[] = {65535, 65535, 65535, 65535, 4095, 255, 1, 0};
    const bool alike = splitmix64(seed) % 2; /* then the four shares err to the same side */
    ClaheWords *const w = &r->words;
    for (int t = 0; t < 4; t++) {
        if (t == 0 || !alike)
            draw_table(seed, r->table[t]);
        else
            memcpy(r->table[t], r->table[0], sizeof r->table[t]);
        w->table[t] = r->table[t];
    }
    const uint32_t one = (uint32_t)(splitmix64(seed) % 65536);
    const uint32_t other = (uint32_t)(splitmix64(seed) % 65536);
    const uint64_t kind = splitmix64(seed) % 4;
    w->black = kind == 0 || one == other ? 0 : one < other ? one : other;
    w->white = kind == 0 || one == other ? 65535 : one < other ? other : one;
    w->white = kind == 1 ? w->black + 1 : w->white;
    w->step = clahe_step(w->black, w->white);
    w->y_weight = draw_weight(seed);
    w->span = spans[splitmix64(seed) % 8];
    w->lo_key = splitmix64(seed) % (65536 - w->span);
    r->n = 1 + splitmix64(seed) % MOST;
    for (size_t i = 0; i < r->n; i++) {
        r->blend[i] =
            (ClaheBlend){(uint32_t)splitmix64(seed), (uint32_t)splitmix64(seed), draw_weight(seed)};
        r->key[i] = (uint16_t)splitmix64(seed);
        if (splitmix64(seed) % 4 == 0)
            r->key[i] = (uint16_t)(splitmix64(seed) % 2 ? w->black : w->white);
        const uint32_t position = clahe_position(r->key[i], w->black, w->white);
        uint64_t share[4];
        for (int t = 0; t < 4; t++)
            share[t] = clahe_share(w->table[t], position);
        r->expected[i] =
            (uint16_t)clahe_key(share, r->blend[i].weight, w->y_weight, w->lo_key, w->span);
    }
}

static void compare(const Row *r, const char *name, const CpuLoops *loops)
{
    uint64_t row[2][CLAHE_NODES];
    uint16_t out[MOST + GUARD];
    ClaheWords w = r->words;
    memset(out, 0xA5, sizeof out);
    for (int side = 0; loops && side < 2; side++) {
        loops->clahe_row16(w.table[side], w.table[2 + side], w.y_weight, row[side]);
        w.row[side] = row[side];
    }
    if (loops)
        loops->clahe_map16(&w, r->blend, r->key, r->n, out);
    else
        for (size_t i = 0; i < r->n; i++)
            out[i] = clahe_words_key(&w, r->blend[i].weight, r->key[i]);
    for (size_t i = 0; i < r->n; i++)
        cr_assert_eq(out[i], r->expected[i], "%s: key %u of %u to %u, weights %u, %u: %u, not %u",
                     name, r->key[i], w.black, w.white, r->blend[i].weight, w.y_weight, out[i],
                     r->expected[i]);
    for (size_t i = r->n; i < MOST + GUARD; i++)
        cr_assert_eq(out[i], 0xA5A5, "%s writes beyond %zu keys", name, r->n);
}

Test(clahe_words, keys_are_as_defined)
{
    static Row r;
    uint64_t seed = 12;
    size_t compared = 0, n = 0;
    for (int round = 0; round < 4000; round++) {
        draw_row(&seed, &r);
        compare(&r, "exact", NULL);
        for (CpuLevel level = PROCESSOR_PORTABLE;
             level < PROCESSOR_LEVELS && cpu_features_supports(level); level++) {
            compare(&r, cpu_features_level_names[level], cpu_loops_of(level));
            compared += r.n;
            n = level + 1u;
        }
    }
    fprintf(stderr, "clahe_words: %zu keys compared, %zu variants\n", compared, n);
    cr_assert_gt(compared, 1000000 * n);
}

Test(clahe_words, rows_are_alike)
{
    static Row r;
    uint64_t seed = 13, expected[CLAHE_NODES];
    for (int round = 0; round < 1000; round++) {
        draw_row(&seed, &r);
        cpu_loops_portable.clahe_row16(r.table[0], r.table[2], r.words.y_weight, expected);
        cr_assert_eq(expected[CLAHE_NODES - 1] >> 32, 0);
        for (CpuLevel level = PROCESSOR_PORTABLE;
             level < PROCESSOR_LEVELS && cpu_features_supports(level); level++) {
            uint64_t row[CLAHE_NODES] = {0};
            cpu_loops_of(level)->clahe_row16(r.table[0], r.table[2], r.words.y_weight, row);
            cr_assert_arr_eq(row, expected, sizeof row, "%s", cpu_features_level_names[level]);
        }
    }
}

/* Every key of some images. */
Test(clahe_words, positions_are_as_defined)
{
    size_t compared = 0;
    for (uint32_t range = 1; range < 65536; range += range < 300 ? 1 : 17 + range % 97) {
        const uint32_t black = (65535 - range) / 2, white = black + range;
        const ClaheWords w = {.black = black, .white = white, .step = clahe_step(black, white)};
        for (uint32_t key = 0; key < 65536; key++, compared++)
            if (clahe_words_position(&w, key) != clahe_position(key, black, white))
                cr_assert_fail("key %u of %u to %u", key, black, white);
    }
    cr_assert_gt(compared, 10000000);
}
