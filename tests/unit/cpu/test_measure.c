/* SPDX-License-Identifier: MIT */
/* test_measure.c: every instruction set of the CPU device against a plain reference: whole
 * records, byte for byte. */
#include "cpu/cpu.h"
#include "device_calls.h"
#include "helper_cpu.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { LEVELS = 3, THREADS = 4 };
static const unsigned thread_counts[THREADS] = {1, 2, 3, 7};
static const uint32_t sizes[] = {0,   1,   2,   31,  32,  33,   63,   64,   65,   127,  128,
                                 129, 255, 256, 257, 511, 1000, 4095, 4096, 4097, 8191, 12345};

typedef struct Devices {
    Device *device[LEVELS][THREADS];
} Devices;

typedef struct Compared {
    uint64_t cases, samples;
} Compared;

static Devices open_all(void)
{
    Devices all;
    for (int level = 0; level < LEVELS; level++) {
        for (int t = 0; t < THREADS; t++)
            all.device[level][t] = open_cpu(cpu_levels[level], thread_counts[t]);
    }
    cr_assert(all.device[0][0], "the portable level opens everywhere");
    return all;
}

static void close_all(Devices *all)
{
    for (int level = 0; level < LEVELS; level++) {
        for (int t = 0; t < THREADS; t++)
            cpu_device_ops.close(all->device[level][t]);
    }
}

/* Measures the image in bands of `rows`, in one call or in several, in a shuffled order. */
static void measure_bands(Device *device, const ImagePro *image, const DeviceRecord *record,
                          uint32_t rows, bool one)
{
    ImagePro bands[64];
    DeviceRecord records[64];
    ImgstatError err;
    size_t n = 0;
    for (uint32_t y = 0; y < image->height && n < 64; y += rows) {
        bands[n] = image_band(image, y, image->height - y < rows ? image->height - y : rows);
        records[n++] = *record;
    }
    for (size_t i = 0; i + 1 < n; i += 2) {
        const ImagePro swap = bands[i];
        bands[i] = bands[i + 1];
        bands[i + 1] = swap;
    }
    if (one || n == 0) {
        cr_assert_eq(device_measure(device, bands, records, n, &err), IMGSTAT_OK, "%s",
                     err.message);
        return;
    }
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(device_measure(device, &bands[i], &records[i], 1, &err), IMGSTAT_OK, "%s",
                     err.message);
}

static void compare(const char *what, const void *expected, const void *got, size_t bytes,
                    const ImagePro *image, unsigned parts)
{
    if (memcmp(expected, got, bytes) == 0)
        return;
    const Tally *e = expected, *g = got;
    for (uint16_t c = 0; c < image->channels; c++) {
        fprintf(stderr,
                "%s %s %ux%u ch %u/%u nodata %d mask %d pitch %zu parts %u\n"
                "  expected n %lu nan %lu min %lx@%lu max %lx@%lu sum %lx sum2 %lx masked %lu over "
                "%lu %lu\n"
                "  got      n %lu nan %lu min %lx@%lu max %lx@%lu sum %lx sum2 %lx masked %lu over "
                "%lu %lu fsum %d fsum2 %d\n",
                what, imgstat_sample_name(image->sample), image->width, image->height, c,
                image->channels, image->has_nodata, image->mask != NULL, image->pitch, parts,
                e[c].n, e[c].nan, e[c].min_key, e[c].min_at, e[c].max_key, e[c].max_at, e[c].sum[0],
                e[c].sum2[0], e[c].masked, e[c].sum_overflow, e[c].sum2_overflow, g[c].n, g[c].nan,
                g[c].min_key, g[c].min_at, g[c].max_key, g[c].max_at, g[c].sum[0], g[c].sum2[0],
                g[c].masked, g[c].sum_overflow, g[c].sum2_overflow,
                memcmp(&e[c].fsum, &g[c].fsum, sizeof(ExactSum)),
                memcmp(&e[c].fsum2, &g[c].fsum2, sizeof(ExactSum)));
    }
    cr_assert_fail("records differ");
}

/* What RECORD_EXTREMA promises: extrema with their places, and as many samples in the bins, none of
 * them where there is no sample. */
static void compare_extrema(const ImagePro *image, const Tally *expected, const Tally *got)
{
    const bool narrow = sample_is_narrow(image->sample);
    const uint32_t bins = narrow ? sample_record_bins(image->sample) : 0;
    const uint64_t *e = (const uint64_t *)(const void *)(expected + image->channels);
    const uint64_t *g = (const uint64_t *)(const void *)(got + image->channels);
    for (uint16_t c = 0; c < image->channels; c++, e += bins, g += bins) {
        const Tally *const x = &expected[c], *const y = &got[c];
        uint64_t more = narrow ? 0 : x->n - y->n;
        for (uint32_t i = 0; i < bins; i++) {
            more += e[i] - g[i];
            cr_assert(e[i] > 0 || g[i] == 0, "bin %u is empty", i);
        }
        cr_assert_eq(more, 0);
        cr_assert(x->min_key == y->min_key && x->max_key == y->max_key && x->min_at == y->min_at &&
                      x->max_at == y->max_at && x->masked == y->masked,
                  "%s: extrema %lx@%lu to %lx@%lu, not %lx@%lu to %lx@%lu",
                  imgstat_sample_name(image->sample), y->min_key, y->min_at, y->max_key, y->max_at,
                  x->min_key, x->min_at, x->max_key, x->max_at);
        cr_assert(!narrow || x->n == 0 || x->min_key > x->max_key ||
                  (g[x->min_key] > 0 && g[x->max_key] > 0));
    }
}

static void check_image(const Devices *all, Random *random, const ImagePro *image, unsigned parts,
                        Compared *compared)
{
    const size_t bytes = record_bytes(image->sample, image->channels, parts);
    void *expected = expected_record(image, parts);
    for (int level = 0; level < LEVELS; level++) {
        Device *device = all->device[level][random_below(random, THREADS)];
        if (!device)
            continue;
        DeviceRecord record = {
            .sample = image->sample, .channels = image->channels, .parts = parts};
        cr_assert_eq(cpu_device_ops.alloc(device, bytes, &record.mem, NULL), IMGSTAT_OK);
        const uint32_t rows = random_below(random, 2) || image->height < 2
                                  ? image->height + 1
                                  : image->height / 16 + 1 + random_below(random, image->height);
        measure_bands(device, image, &record, rows, random_below(random, 2));
        if (parts & RECORD_EXTREMA)
            compare_extrema(image, expected, (const Tally *)(uintptr_t)record.mem.address);
        else
            compare(cpu_levels[level], expected, (const void *)(uintptr_t)record.mem.address, bytes,
                    image, parts);
        cpu_device_ops.release(device, &record.mem);
        compared->cases++;
        compared->samples += (uint64_t)image->width * image->height * image->channels;
    }
    free(expected);
}

static void check_random_case(const Devices *all, Random *random, ImgstatSample sample,
                              uint32_t width, uint32_t height, uint16_t channels,
                              Compared *compared)
{
    const size_t pads[] = {0, 0, 1, 7, 64}, shifts[] = {0, 0, 1, 4, 13};
    const Pattern pattern = (Pattern)random_below(random, PATTERNS);
    const bool nodata = random_below(random, 3) == 0, mask = random_below(random, 4) == 0;
    TestImage test =
        test_image(random, sample, width, height, channels, pattern, pads[random_below(random, 5)],
                   shifts[random_below(random, 5)], nodata, mask);
    static const unsigned parts[] = {0, RECORD_BINS, RECORD_EXTREMA};
    check_image(all, random, &test.image, parts[random_below(random, 3)], compared);
    test_image_release(&test);
}

static void report(const char *test, const Compared *compared)
{
    fprintf(stderr, "%s: %llu cases, %llu samples compared\n", test,
            (unsigned long long)compared->cases, (unsigned long long)compared->samples);
    cr_assert_gt(compared->cases, 0);
    cr_assert_gt(compared->samples, 0);
}

static void check_sample(ImgstatSample sample)
{
    Random random = random_begin(imgstat_sample_name(sample));
    Devices all = open_all();
    Compared compared = {0};
    for (uint16_t channels = 1; channels <= 6; channels++) {
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            const uint32_t width = 1 + random_below(&random, 300);
            const uint32_t height = random_below(&random, 100);
            if (is_run(s + channels, 2)) /* the same ends of rows again */
                check_random_case(&all, &random, sample, sizes[s], 1, channels, &compared);
            if (is_run(s + channels, 6))
                check_random_case(&all, &random, sample, sizes[s], 3, channels, &compared);
            if (is_run(s + channels + 1, 6))
                check_random_case(&all, &random, sample, width, height, channels, &compared);
            if (is_run(s + channels + 3, 6))
                check_random_case(&all, &random, sample, 1, sizes[s], channels, &compared);
        }
    }
    for (Pattern p = 0; p < PATTERNS; p++) { /* several tasks */
        if (!is_run(p + sample, 3))
            continue;
        TestImage test = test_image(&random, sample, p % 2 ? 1000003 : 5003, p % 2 ? 1 : 211,
                                    (uint16_t)(1 + 2 * (p % 3 == 1)), p, 0, 0, p == 2, p == 5);
        check_image(&all, &random, &test.image, RECORD_BINS, &compared);
        test_image_release(&test);
    }
    for (uint16_t channels = 2; channels <= 5; channels++) { /* enough for tables of byte pairs */
        if (!is_run(channels + sample, 4))
            continue;
        TestImage test = test_image(&random, sample, 1021, 701, channels,
                                    (Pattern)random_below(&random, PATTERNS), channels % 2,
                                    channels, false, false);
        check_image(&all, &random, &test.image, 0, &compared);
        test_image_release(&test);
    }
    TestImage many = test_image(&random, sample, 13, 17, 301, PATTERN_MIXED, 3, 1, false, true);
    check_image(&all, &random, &many.image, 0, &compared);
    test_image_release(&many);
    report(imgstat_sample_name(sample), &compared);
    close_all(&all);
}

/* More channels than a loop takes, in several blocks; masks with and without blocks that are masked
 * or not as a whole. */
Test(cpu_measure, many_channels)
{
    static const uint16_t channels[] = {1, 4, 5, 7, 13, 19};
    Random random = random_begin("many_channels");
    Devices all = open_all();
    Compared compared = {0};
    for (int k = 0; k < 11 * 6 * 3; k++) {
        const ImgstatSample sample = (ImgstatSample)(IMGSTAT_U8 + k % 11);
        const uint16_t n = channels[k / 11 % 6];
        const uint32_t width = 1021, height = n < 8 ? 40u : 25u;
        const int masks = k / 66;
        if (!is_run((uint64_t)k, 4))
            continue;
        TestImage test =
            test_image(&random, sample, width, height, n, (Pattern)random_below(&random, PATTERNS),
                       (size_t)(k % 2), 0, k % 3 == 0, masks > 0);
        for (uint32_t y = 0; masks == 2 && y < height; y++) {
            uint8_t *const row = (uint8_t *)(uintptr_t)test.image.mask + y * test.image.mask_pitch;
            const bool last = y + 1 == height; /* it has one pixel, its last */
            memset(row, y < height / 3 || last ? 0 : 255, width);
            row[last ? width - 1 : width / 3] ^= 255;
        }
        check_image(&all, &random, &test.image, random_below(&random, 2) ? RECORD_BINS : 0,
                    &compared);
        test_image_release(&test);
    }
    report("many_channels", &compared);
    close_all(&all);
}

/* NaN with all bits set: their keys are the least and the largest that there are. */
Test(cpu_measure, extreme_nan)
{
    Random random = random_begin("extreme_nan");
    Devices all = open_all();
    Compared compared = {0};
    for (int k = 0; k < 8; k++) {
        const ImgstatSample sample = k % 2 ? IMGSTAT_F64 : IMGSTAT_F32;
        const size_t bytes = sample_bits(sample) / 8;
        TestImage test =
            test_image(&random, sample, 300, 2, 2, PATTERN_SMOOTH, 0, 0, k / 2 % 2, k / 4);
        unsigned char *const at = test.image.host;
        memset(at + 10 * bytes, 0xFF, bytes);
        memset(at + 50 * bytes, 0xFF, bytes);
        at[51 * bytes - 1] = 0x7F; /* little-endian: a sign of 0 */
        check_image(&all, &random, &test.image, 0, &compared);
        test_image_release(&test);
    }
    report("extreme_nan", &compared);
    close_all(&all);
}

/* Every sample of an image without gaps. */
static void fill(const ImagePro *image, uint64_t raw)
{
    const size_t bytes = sample_bits(image->sample) / 8;
    const size_t n = image_samples_per_row(image) * image->height;
    for (size_t i = 0; i < n; i++)
        memcpy((unsigned char *)image->host + i * bytes, &raw, bytes);
}

/* A row of ones but for one sample at x, and another one like it that is later: of floats, a zero
 * of each sign. */
static void check_place(const Devices *all, Random *random, ImgstatSample sample, uint16_t channels,
                        uint32_t x, Compared *compared)
{
    enum { WIDTH = 1600 };
    const size_t bytes = sample_bits(sample) / 8;
    const uint64_t one = 1, sign = (uint64_t)1 << (8 * bytes - 1);
    const uint64_t least = sample_is_float(sample) ? sign : sample_raw(sample, 0);
    const uint64_t later = sample_is_float(sample) ? 0 : least;
    TestImage test =
        test_image(random, sample, WIDTH, 1, channels, PATTERN_CONSTANT, 0, 0, false, false);
    fill(&test.image, one);
    const uint16_t c = (uint16_t)random_below(random, channels);
    unsigned char *const at = (unsigned char *)test.image.host + c * bytes;
    const size_t stride = bytes * channels, after = x + 1 + random_below(random, WIDTH - x);
    memcpy(at + x * stride, x % 2 ? &least : &later, bytes);
    if (after < WIDTH)
        memcpy(at + after * stride, x % 2 ? &later : &least, bytes);
    check_image(all, random, &test.image, 0, compared);
    test_image_release(&test);
}

Test(cpu_measure, first_positions)
{
    Random random = random_begin("first_positions");
    Devices all = open_all();
    Compared compared = {0};
    for (ImgstatSample sample = IMGSTAT_U8; sample <= IMGSTAT_F64; sample++) {
        for (uint16_t channels = 1; channels <= 5; channels++) {
            for (uint32_t x = 0; x < 1600; x += 1 + random_below(&random, 40))
                if (is_run(x, 5))
                    check_place(&all, &random, sample, channels, x, &compared);
            for (uint32_t x = 255; x < 1600; x += x % 2 ? 1 : 255) /* around blocks */
                if (is_run(x + channels, 2))
                    check_place(&all, &random, sample, channels, x, &compared);
        }
    }
    report("first_positions", &compared);
    close_all(&all);
}

/* One value, and among it here and there a few others: the first place of an extremum may be in any
 * task, and tasks may have parts of the same rows. */
static void check_places(const Devices *all, Random *random, ImgstatSample sample, uint32_t width,
                         uint32_t height, uint16_t channels, bool mask, Compared *compared)
{
    enum { PLACES = 40, FEW = 3 };
    const size_t bytes = sample_bits(sample) / 8, n = (size_t)width * height * channels;
    const uint64_t middle = sample_raw(sample, (uint64_t)1 << (8 * bytes - 1));
    TestImage test =
        test_image(random, sample, width, height, channels, PATTERN_CONSTANT, 0, 0, false, mask);
    unsigned char *const at = test.image.host;
    fill(&test.image, middle);
    for (int i = 0; i < PLACES; i++) {
        const uint64_t key = ((uint64_t)1 << (8 * bytes - 1)) + random_below(random, 2 * FEW) - FEW;
        const uint64_t raw = sample_raw(sample, key);
        memcpy(at + random_below(random, (uint32_t)n) * bytes, &raw, bytes);
    }
    check_image(all, random, &test.image, 0, compared);
    test_image_release(&test);
}

Test(cpu_measure, first_positions_of_many_tasks)
{
    Random random = random_begin("first_positions_of_many_tasks");
    Devices all = open_all();
    Compared compared = {0};
    for (ImgstatSample sample = IMGSTAT_U8; sample <= IMGSTAT_F64; sample++) {
        for (uint16_t channels = 1; channels <= 5; channels += 2) {
            if (!is_run(sample + channels / 2, 3))
                continue;
            const bool mask = random_below(&random, 3) == 0;
            check_places(&all, &random, sample, 1021, 1500U / channels, channels, mask, &compared);
            check_places(&all, &random, sample, 270001, 3, channels, false, &compared);
        }
    }
    report("first_positions_of_many_tasks", &compared);
    close_all(&all);
}

/* Images of 16-bit integers of several tasks, of all kinds of rows. */
Test(cpu_measure, large_words)
{
    static const Pattern patterns[] = {PATTERN_RANDOM, PATTERN_12_BIT, PATTERN_SMOOTH};
    Random random = random_begin("large_words");
    Devices all = open_all();
    Compared compared = {0};
    for (int k = 0; k < 72; k++) {
        const int i = k * 31 % 72;       /* so that any few of them are of all kinds */
        if (!is_run((uint64_t)k / 2, 4)) /* i is even if k is: words of both kinds */
            continue;
        const uint16_t channels = (uint16_t)(1 + i % 6);
        const uint32_t width = i % 5 ? 100 + random_below(&random, 2000) : 300007;
        TestImage test = test_image(&random, i % 2 ? IMGSTAT_I16 : IMGSTAT_U16, width,
                                    1 + 600000 / width / channels, channels, patterns[i / 6 % 3],
                                    i % 7 == 6, (size_t)i % 3, i % 11 == 10, i % 13 == 12);
        check_image(&all, &random, &test.image, 0, &compared);
        test_image_release(&test);
    }
    report("large_words", &compared);
    close_all(&all);
}

Test(cpu_measure, u8)
{
    check_sample(IMGSTAT_U8);
}
Test(cpu_measure, i8)
{
    check_sample(IMGSTAT_I8);
}
Test(cpu_measure, u16)
{
    check_sample(IMGSTAT_U16);
}
Test(cpu_measure, i16)
{
    check_sample(IMGSTAT_I16);
}
Test(cpu_measure, f16)
{
    check_sample(IMGSTAT_F16);
}
Test(cpu_measure, u32)
{
    check_sample(IMGSTAT_U32);
}
Test(cpu_measure, i32)
{
    check_sample(IMGSTAT_I32);
}
Test(cpu_measure, f32)
{
    check_sample(IMGSTAT_F32);
}
Test(cpu_measure, u64)
{
    check_sample(IMGSTAT_U64);
}
Test(cpu_measure, i64)
{
    check_sample(IMGSTAT_I64);
}
Test(cpu_measure, f64)
{
    check_sample(IMGSTAT_F64);
}
