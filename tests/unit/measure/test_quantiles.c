/* SPDX-License-Identifier: MIT */
/* test_quantiles.c: all samples in ascending order, however little memory there is. */
#include "helper_cpu.h"

#include "device_calls.h"
#include "measure/quantiles.h"

#include <criterion/criterion.h>
#include <stdlib.h>

typedef struct Read {
    ImgstatDevice *device;
    const ImagePro *image;
    size_t reads;
} Read;

static ImgstatResult read_image(void *context, const ReadRequest *request, ImgstatError *err)
{
    Read *const read = context;
    read->reads++;
    return device_read(read->device, read->image, request, err);
}

static int by_key(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static uint64_t draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 11 ^ *state << 21;
}

/* Samples that crowd: one value, few values within the leading 16 bits, within 32 bits, anywhere.
 */
static uint64_t crowded(ImgstatSample sample, uint64_t *state)
{
    const unsigned width = sample_bits(sample);
    const uint64_t all = width == 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1, r = draw(state);
    switch (r % 5) {
    case 0:
        return 0x1234567812345678u & all;
    case 1:
        return ((0x4321u * ((uint64_t)1 << (width - 16))) | (r >> 8 & (all >> 16))) & all;
    case 2:
        return ((0x4321u * ((uint64_t)1 << (width - 16))) | (r >> 8 & 0xFFF)) & all;
    case 3:
        return r >> 40 & 0xFFFF;
    default:
        return r & all;
    }
}

static void check_order(ImgstatSample sample, size_t n, size_t capacity)
{
    ImagePro image;
    ImgstatError err;
    uint64_t state = n + capacity;
    cr_assert_eq(imgstat_image_create((uint32_t)n, 1, 1, sample, 0, &image, &err), IMGSTAT_OK);
    uint64_t *const keys = malloc(n * sizeof *keys);
    uint64_t *const bins = calloc(65536, sizeof *bins);
    for (size_t i = 0; i < n; i++) {
        const uint64_t raw = crowded(sample, &state);
        memcpy((char *)image.host + i * sample_bits(sample) / 8, &raw, sample_bits(sample) / 8);
        keys[i] = sample_key(sample, raw);
        bins[keys[i] >> (sample_bits(sample) - 16)]++;
    }
    qsort(keys, n, sizeof *keys, by_key);

    Read read = {.image = &image};
    cr_assert_eq(imgstat_device_open("cpu", 1, &read.device, &err), IMGSTAT_OK);
    RankBuilder builder;
    cr_assert_eq(rank_builder_init(NULL, &builder, n, &err), IMGSTAT_OK);
    const FurtherReads reader = {.read = read_image, .context = &read};
    cr_assert_eq(quantiles_build(sample, 0, bins, capacity, reader, &builder, &err), IMGSTAT_OK,
                 "%s", err.message);
    RankTable *const table = rank_builder_finish(&builder, &err);
    cr_assert_not_null(table);
    cr_assert_gt(table->n_knots, n / 8, "%u knots", table->n_knots);
    for (uint32_t k = 0; k < table->n_knots; k++) {
        const RankKnot *const knot = &table->knots[k];
        cr_assert(knot->below < knot->upto && knot->upto <= n);
        cr_assert_eq(keys[knot->below], knot->key);
        cr_assert_eq(keys[knot->upto - 1], knot->key);
        cr_assert(knot->below == 0 || keys[knot->below - 1] < knot->key);
        cr_assert(knot->upto == n || keys[knot->upto] > knot->key);
    }
    cr_assert_eq(table->knots[table->n_knots - 1].upto, n);
    cr_assert(capacity < n ? read.reads > 1 : read.reads == 1, "%zu reads", read.reads);
    rank_table_destroy(table);
    rank_builder_release(&builder);
    imgstat_device_close(read.device);
    imgstat_image_release(&image);
    free(bins);
    free(keys);
}

Test(order, integers_of_every_width_with_little_and_much_room)
{
    static const size_t room[] = {300, 5000, 100000};
    for (size_t i = 0; i < 3; i++) {
        check_order(IMGSTAT_U32, 20000, room[i]);
        check_order(IMGSTAT_I32, 20000, room[i]);
        check_order(IMGSTAT_U64, 20000, room[i]);
        check_order(IMGSTAT_I64, 20000, room[i]);
    }
}

Test(order, pixels_that_change_are_an_error)
{
    ImagePro image;
    ImgstatError err;
    uint64_t bins[65536] = {0};
    cr_assert_eq(imgstat_image_create(10, 1, 1, IMGSTAT_U32, 0, &image, &err), IMGSTAT_OK);
    bins[0] = 9; /* the image has 10 samples there */
    Read read = {.image = &image};
    cr_assert_eq(imgstat_device_open("cpu", 1, &read.device, &err), IMGSTAT_OK);
    const FurtherReads reader = {.read = read_image, .context = &read};
    RankBuilder builder;
    cr_assert_eq(rank_builder_init(NULL, &builder, 9, &err), IMGSTAT_OK);
    cr_assert_neq(quantiles_build(IMGSTAT_U32, 0, bins, 100, reader, &builder, &err), IMGSTAT_OK);
    bins[0] = 11;
    cr_assert_eq(quantiles_build(IMGSTAT_U32, 0, bins, 100, reader, &builder, &err),
                 IMGSTAT_ERR_IO);
    rank_builder_release(&builder);
    imgstat_device_close(read.device);
    imgstat_image_release(&image);
}

/* ---- A device that sorts --------------------------------------------------------------------- */

static struct Sorting {
    bool begun, forgets; /* forgets: a key */
    uint64_t n, taken;
    uint64_t *keys;
} sorting;

static ImgstatResult sort_begin(Device *device, ImgstatSample sample, uint64_t n, bool *sorts,
                                ImgstatError *err)
{
    (void)device;
    (void)sample;
    (void)err;
    sorting.begun = *sorts = true;
    sorting.n = n;
    sorting.taken = 0;
    return IMGSTAT_OK;
}

static ImgstatResult sort_read(Device *device, const PixelSource *source, PixelView view,
                               const ReadRequest *request, ImgstatError *err)
{
    KeyGather gather = {
        .channel = *request->sort, .hi = UINT64_MAX, .keys = sorting.keys, .capacity = sorting.n};
    const ReadRequest all = {.gathers = &gather, .n_gathers = 1};
    cr_assert(sorting.begun);
    IMGSTAT_TRY(cpu_device_ops.read(device, source, view, &all, err));
    sorting.taken = gather.n - sorting.forgets;
    return IMGSTAT_OK;
}

static ImgstatResult sort_end(Device *device, uint64_t *taken, RankKnot *runs, ImgstatError *err)
{
    (void)device;
    (void)err;
    cr_assert(sorting.begun);
    sorting.begun = false;
    if (!runs)
        return IMGSTAT_OK;
    *taken = sorting.taken;
    qsort(sorting.keys, sorting.taken, sizeof *sorting.keys, by_key);
    for (uint64_t j = 0; j <= RANK_STEPS; j++) {
        const uint64_t rank = (sorting.taken - 1) * j / RANK_STEPS;
        RankKnot run = {sorting.keys[rank], rank, rank + 1};
        while (run.below > 0 && sorting.keys[run.below - 1] == run.key)
            run.below--;
        while (run.upto < sorting.taken && sorting.keys[run.upto] == run.key)
            run.upto++;
        runs[j] = run;
    }
    return IMGSTAT_OK;
}

static ImgstatResult read_sorted(void *context, const ReadRequest *request, ImgstatError *err)
{
    Read *const read = context;
    cr_assert_not_null(request->sort);
    read->reads++;
    return device_read(read->device, read->image, request, err);
}

static ImgstatResult read_nothing(void *context, const ReadRequest *request, ImgstatError *err)
{
    (void)context;
    (void)request;
    return error_set(err, IMGSTAT_ERR_IO, "cannot be read");
}

static RankTable *ranks_of(ImgstatSample sample, const uint64_t *bins, uint64_t n,
                           FurtherReads reader, ImgstatResult expected)
{
    RankBuilder builder;
    ImgstatError err;
    cr_assert_eq(rank_builder_init(NULL, &builder, n, &err), IMGSTAT_OK);
    cr_assert_eq(quantiles_build(sample, 0, bins, n, reader, &builder, &err), expected);
    RankTable *const table = expected == IMGSTAT_OK ? rank_builder_finish(&builder, &err) : NULL;
    rank_builder_release(&builder);
    return table;
}

/* Its ranks are those that are found without; fewer samples than steps, and more. */
Test(order, devices_that_sort)
{
    static const size_t sizes[] = {1, 2, 1000, 65536, 65537, 300000};
    static uint64_t bins[65536];
    size_t compared = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const uint32_t n = (uint32_t)sizes[i];
        ImagePro image;
        ImgstatError err;
        uint64_t state = n;
        cr_assert_eq(imgstat_image_create(n, 1, 1, IMGSTAT_U32, 0, &image, &err), IMGSTAT_OK);
        memset(bins, 0, sizeof bins);
        for (uint32_t k = 0; k < n; k++) {
            const uint32_t raw = (uint32_t)crowded(IMGSTAT_U32, &state);
            memcpy((char *)image.host + k * sizeof raw, &raw, sizeof raw);
            bins[raw >> 16]++;
        }
        Read read = {.image = &image};
        cr_assert_eq(imgstat_device_open("cpu", 1, &read.device, &err), IMGSTAT_OK);
        const DeviceOps *const plain = read.device->ops;
        DeviceOps ops = *plain;
        ops.sort_begin = sort_begin;
        ops.read = sort_read;
        ops.sort_end = sort_end;
        FurtherReads reader = {.read = read_image, .context = &read, .sorter = read.device};
        RankTable *const expected = ranks_of(IMGSTAT_U32, bins, n, reader, IMGSTAT_OK);
        sorting.keys = malloc(n * sizeof *sorting.keys);
        read.device->ops = &ops;
        read.reads = 0;
        reader.read = read_sorted;
        RankTable *const table = ranks_of(IMGSTAT_U32, bins, n, reader, IMGSTAT_OK);
        cr_expect_eq(read.reads, 1);
        cr_expect_eq(table->n, n);
        cr_assert_eq(table->n_knots, expected->n_knots, "%u samples: %u knots, not %u", n,
                     table->n_knots, expected->n_knots);
        cr_expect_eq(memcmp(table->knots, expected->knots, table->n_knots * sizeof *table->knots),
                     0, "%u samples", n);
        compared += table->n_knots;
        sorting.forgets = n > 1; /* a sample that is not what it was */
        if (n > 1)
            ranks_of(IMGSTAT_U32, bins, n, reader, IMGSTAT_ERR_IO);
        sorting.forgets = false;
        reader.read = read_nothing;
        ranks_of(IMGSTAT_U32, bins, n, reader, IMGSTAT_ERR_IO);
        cr_expect_not(sorting.begun, "what has begun has an end");
        read.device->ops = plain;
        rank_table_destroy(table);
        rank_table_destroy(expected);
        free(sorting.keys);
        imgstat_device_close(read.device);
        imgstat_image_release(&image);
    }
    cr_assert_gt(compared, 65536);
}
