/* SPDX-License-Identifier: MIT */
/* test_ops.c: every operation of the CUDA device against the CPU device: whole results, bit for
 * bit. */
#include "device_calls.h"
#include "ops_images.h"
#include "ops_reads.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>

/* A record on each device, with a guard behind the one under test. */
typedef struct Records {
    DeviceRecord cpu, cuda;
    size_t bytes;
} Records;

enum { GUARD = 64 };

static Records records_create(ImgstatSample sample, uint16_t channels, unsigned parts)
{
    Records r = {.bytes = record_bytes(sample, channels, parts)};
    unsigned char guard[GUARD];
    r.cpu = r.cuda = (DeviceRecord){.sample = sample, .channels = channels, .parts = parts};
    must(cpu_device_ops.alloc(ops.cpu, r.bytes, &r.cpu.mem, &ops.error));
    must(ops.cuda->ops->alloc(ops.cuda, r.bytes + GUARD, &r.cuda.mem, &ops.error));
    memset(guard, POISON, GUARD);
    must(ops.cuda->ops->upload(ops.cuda, r.cuda.mem, r.bytes, guard, GUARD, &ops.error));
    return r;
}

static void records_destroy(Records *r)
{
    cpu_device_ops.release(ops.cpu, &r->cpu.mem);
    ops.cuda->ops->release(ops.cuda, &r->cuda.mem);
}

static const char *tally_difference(const Tally *a, const Tally *b)
{
    static char text[200];
    static const struct {
        const char *name;
        size_t at, bytes;
    } fields[] = {
        {"n", offsetof(Tally, n), sizeof(((Tally *)0)->n)},
        {"nan", offsetof(Tally, nan), sizeof(((Tally *)0)->nan)},
        {"pinf", offsetof(Tally, pinf), sizeof(((Tally *)0)->pinf)},
        {"ninf", offsetof(Tally, ninf), sizeof(((Tally *)0)->ninf)},
        {"nodata", offsetof(Tally, nodata), sizeof(((Tally *)0)->nodata)},
        {"masked", offsetof(Tally, masked), sizeof(((Tally *)0)->masked)},
        {"min_key", offsetof(Tally, min_key), sizeof(((Tally *)0)->min_key)},
        {"max_key", offsetof(Tally, max_key), sizeof(((Tally *)0)->max_key)},
        {"min_at", offsetof(Tally, min_at), sizeof(((Tally *)0)->min_at)},
        {"max_at", offsetof(Tally, max_at), sizeof(((Tally *)0)->max_at)},
        {"sum", offsetof(Tally, sum), sizeof(((Tally *)0)->sum)},
        {"sum2", offsetof(Tally, sum2), sizeof(((Tally *)0)->sum2)},
        {"sum_overflow", offsetof(Tally, sum_overflow), sizeof(((Tally *)0)->sum_overflow)},
        {"sum2_overflow", offsetof(Tally, sum2_overflow), sizeof(((Tally *)0)->sum2_overflow)},
        {"fsum", offsetof(Tally, fsum), sizeof(((Tally *)0)->fsum)},
        {"fsum2", offsetof(Tally, fsum2), sizeof(((Tally *)0)->fsum2)},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const unsigned char *x = (const unsigned char *)a + fields[i].at;
        const unsigned char *y = (const unsigned char *)b + fields[i].at;
        uint64_t cpu, cuda;
        if (memcmp(x, y, fields[i].bytes) == 0)
            continue;
        memcpy(&cpu, x, sizeof cpu);
        memcpy(&cuda, y, sizeof cuda);
        snprintf(text, sizeof text, "%s: cpu %llu, cuda %llu", fields[i].name,
                 (unsigned long long)cpu, (unsigned long long)cuda);
        return text;
    }
    return "nothing";
}

/* Compares the whole record, and that nothing behind it was written. */
static void records_compare(const Records *r, const char *what)
{
    unsigned char *cuda = malloc(r->bytes + GUARD);
    const unsigned char *cpu = (const unsigned char *)(uintptr_t)r->cpu.mem.address;
    if (!cuda)
        fail("out of memory");
    must(ops.cuda->ops->download(ops.cuda, cuda, r->cuda.mem, 0, r->bytes + GUARD, &ops.error));
    ops.cases++;
    ops.compared += r->bytes;
    if (memcmp(cpu, cuda, r->bytes) != 0) {
        for (uint16_t c = 0; c < r->cpu.channels; c++) {
            const Tally *a = (const Tally *)(const void *)cpu + c,
                        *b = (const Tally *)(void *)cuda + c;
            if (memcmp(a, b, sizeof *a) != 0)
                complain("%s: channel %u differs in %s", what, c, tally_difference(a, b));
        }
        const size_t tallies = r->cpu.channels * sizeof(Tally);
        const uint64_t *a = (const uint64_t *)(const void *)(cpu + tallies);
        const uint64_t *b = (const uint64_t *)(void *)(cuda + tallies);
        for (size_t i = 0; i < (r->bytes - tallies) / 8; i++) {
            if (a[i] != b[i]) {
                complain("%s: bin %zu: cpu %llu, cuda %llu", what, i, (unsigned long long)a[i],
                         (unsigned long long)b[i]);
                break;
            }
        }
    }
    for (size_t i = 0; i < GUARD; i++) {
        if (cuda[r->bytes + i] != POISON) {
            complain("%s: written behind the record", what);
            break;
        }
    }
    free(cuda);
}

/* Measures an image on both devices, twice into the same record if `again`. */
static void check_measure(const Shape *shape, unsigned parts, bool on_device, bool again)
{
    char what[160];
    TestImage image = test_image_create(shape, on_device);
    Records r = records_create(shape->sample, shape->channels, parts);
    for (int k = 0; k <= again; k++) {
        must(device_measure(ops.cpu, &image.cpu, &r.cpu, 1, &ops.error));
        must(device_measure(ops.cuda, &image.cuda, &r.cuda, 1, &ops.error));
        image.cpu.first_row = image.cuda.first_row = 7; /* the second time another place */
    }
    shape_text(shape, on_device ? "measure device" : "measure host", what, sizeof what);
    records_compare(&r, what);
    records_destroy(&r);
    test_image_destroy(&image);
}

/* Measures an image whose pixels were changed on the host; destroys it. */
static void check_image(TestImage *image, const char *what)
{
    test_image_upload(image);
    Records r = records_create(image->shape.sample, image->shape.channels, 0);
    must(device_measure(ops.cpu, &image->cpu, &r.cpu, 1, &ops.error));
    must(device_measure(ops.cuda, &image->cuda, &r.cuda, 1, &ops.error));
    records_compare(&r, what);
    records_destroy(&r);
    test_image_destroy(image);
}

static const uint32_t widths[] = {1,    2,    3,    5,    7,    15,   16,   17,    31,
                                  32,   33,   64,   127,  128,  129,  251,  255,   256,
                                  257,  1021, 1023, 1024, 1025, 1535, 1536, 1537,  2047,
                                  2049, 4093, 4095, 4096, 4097, 8191, 8193, 12289, 65537};

enum { WIDTHS = sizeof widths / sizeof *widths };

/* Whether a small run has this size: racecheck takes some tenths of a second for a launch. Two of
 * the widths for each type and number of channels, one of them in the smaller half; for 16 bits,
 * three types of which share kernels, one. All widths are used. */
static bool is_small_case(ImgstatSample sample, uint16_t channels, size_t width)
{
    const size_t number = 5u * (unsigned)sample + channels;
    const size_t step = sample_bits(sample) == 16 ? WIDTHS : WIDTHS / 2;
    return (width + 7 * number) % step == 0;
}

/* Makes sure that the few sizes of is_small_case launch all kernels: those of aligned pixels, of
 * rows with gaps or of nodata, and of masks. */
static void settle_small(Shape *shape, size_t width, unsigned *parts, bool *on_device)
{
    const uint32_t bytes = (uint32_t)imgstat_sample_bytes(shape->sample);
    const uint32_t row = shape->width * shape->channels * bytes;
    const unsigned number = (unsigned)shape->sample + shape->channels;
    const bool first = (width < WIDTHS / 2) == number % 2, wide = !sample_is_narrow(shape->sample);
    const unsigned way = sample_bits(shape->sample) == 16 ? number % 3
                         : first                          ? 0
                         : wide                           ? 1 + below(2)
                                                          : 1 + number % 2;
    if (shape->width > 200)
        shape->height = shape->width > 5000 ? 1 : 1 + below(2);
    shape->mask = way == 2;
    if (way == 2)
        return;
    *on_device = true;
    if (!wide) {
        shape->gap = shape->shift = way * bytes;
        shape->height += way == 1 && shape->height == 1;
        return;
    }
    shape->gap = (16 - row % 16) % 16; /* each row on a boundary */
    shape->shift = 0;
    shape->nodata = way == 1;
    *parts = RECORD_BINS;
}

static void test_sizes(void)
{
    for (ImgstatSample s = IMGSTAT_U8; s <= IMGSTAT_F64; s++) {
        for (size_t w = 0; w < WIDTHS; w++) {
            for (uint16_t channels = 1; channels <= 5; channels++) {
                if (ops.small && !is_small_case(s, channels, w))
                    continue;
                Shape shape = {.sample = s, .channels = channels, .width = widths[w]};
                shape.height = (uint32_t[]){1, 2, 3, 33, 61}[below(5)];
                if (widths[w] > 5000)
                    shape.height = 1 + below(3);
                shape.gap = below(2) ? 0 : below(40) * (uint32_t)imgstat_sample_bytes(shape.sample);
                shape.shift = below(3) ? 0 : below(16);
                shape.pattern = (Pattern)below(PATTERNS);
                shape.mask = below(5) == 0;
                shape.nodata = below(4) == 0;
                unsigned parts = below(4) == 0 ? RECORD_BINS : 0;
                bool on_device = below(4) > 0;
                if (ops.small)
                    settle_small(&shape, w, &parts, &on_device);
                check_measure(&shape, parts, on_device, below(4) == 0);
            }
        }
    }
}

/* Every pattern on sizes that occupy several blocks. */
static void test_patterns(void)
{
    for (int s = IMGSTAT_U8; s <= IMGSTAT_F64; s++) {
        for (int pattern = 0; pattern < PATTERNS; pattern++) {
            for (int k = 0; k < (ops.small ? 1 : 4); k++) {
                const uint32_t size = ops.small ? 80 : 700;
                Shape shape = {.sample = (ImgstatSample)s, .pattern = (Pattern)pattern};
                shape.channels = (uint16_t)(k == 0 ? 1 : 1 + below(4));
                shape.width = size + below(size);
                shape.height = size / 2 + below(size);
                shape.gap = k % 2 ? below(9) * 16 : 0;
                shape.nodata = below(5) == 0;
                shape.mask = below(8) == 0;
                check_measure(&shape, below(3) == 0 ? RECORD_BINS : 0, true, false);
            }
        }
    }
}

/* 16-bit images so large that a warp counts several units, and fetches the last ones. */
static void test_turns(void)
{
    static const ImgstatSample samples[] = {IMGSTAT_U16, IMGSTAT_I16, IMGSTAT_F16};
    if (ops.small)
        return;
    for (size_t s = 0; s < sizeof samples / sizeof *samples; s++) {
        for (uint16_t channels = 1; channels <= 4; channels++) {
            for (int k = 0; k < 3; k++) {
                Shape shape = {.sample = samples[s], .channels = channels};
                const uint32_t bytes = (6u + below(20)) << 20;
                shape.pattern = k == 0 ? PATTERN_RANDOM : (Pattern)below(PATTERNS);
                shape.width = 1500 + below(1000);
                shape.height = bytes / 2 / channels / shape.width;
                shape.shift = below(2) ? 0 : below(8) * 2;
                shape.nodata = below(4) == 0;
                check_measure(&shape, 0, true, false);
            }
        }
    }
}

/* Four values share words with others, whichever do, and are so frequent that 16 bits of a block
 * overflow: the sample, in which all buckets are equal, cannot avoid that. */
static void test_overflow(void)
{
    if (ops.small)
        return;
    Shape shape = {.sample = IMGSTAT_U16, .channels = 1, .width = 8192, .height = 6400};
    TestImage image = test_image_create(&shape, true);
    uint16_t *samples = (uint16_t *)image.cpu.host;
    const size_t n = (size_t)shape.width * shape.height;
    for (size_t i = 0; i < n; i++)
        samples[i] = (uint16_t)(i % 5000 ? (random64() & 3) << 14 : random64());
    check_image(&image, "halves that overflow");
}

/* Valid samples are all the largest value there is, or all the smallest, and come late. */
static void test_late(void)
{
    for (int k = 0; k < 4; k++) {
        Shape shape = {.sample = IMGSTAT_U16, .channels = 1, .width = ops.small ? 300 : 4000};
        shape.height = ops.small ? 100 : 2000;
        TestImage image = test_image_create(&shape, true);
        uint16_t *samples = (uint16_t *)image.cpu.host;
        const uint32_t n = shape.width * shape.height, from = n / 8 + below(n / 2);
        const uint16_t nodata = k % 2 ? 65535 : 0;
        for (uint32_t i = 0; i < n; i++)
            samples[i] = (uint16_t)(i < from || below(3) ? nodata : 65535 - nodata);
        image.cpu.has_nodata = image.cuda.has_nodata = true;
        image.cpu.nodata_key = image.cuda.nodata_key = nodata;
        check_image(&image, "valid samples that come late");
    }
}

static void test_empty(void)
{
    for (int s = IMGSTAT_U8; s <= IMGSTAT_F64; s++) {
        for (int k = 0; k < 3; k++) {
            Shape shape = {.sample = (ImgstatSample)s, .channels = 1 + (uint16_t)k};
            shape.width = k == 1 ? 0 : 5;
            shape.height = k == 0 ? 0 : k == 1 ? 3 : 0;
            check_measure(&shape, 0, k != 2, true);
        }
    }
}

/* Many images in one call: all sizes and types, some as bands that share a record. */
static void test_batches(void)
{
    enum { IMAGES = 700 };
    static TestImage image[IMAGES];
    static Records record[IMAGES];
    static ImagePro cpu[IMAGES], cuda[IMAGES];
    static DeviceRecord cpu_record[IMAGES], cuda_record[IMAGES];
    const int rounds = ops.small ? 1 : 4;
    const size_t images = ops.small ? 60 : IMAGES;

    for (int round = 0; round < rounds; round++) {
        size_t n = 0;
        const bool uniform = round == 1;
        for (size_t i = 0; i < images; i++) {
            Shape shape = {.sample = (ImgstatSample)below(IMGSTAT_F64 + 1)};
            shape.channels = (uint16_t)(1 + below(5));
            shape.width = below(8) ? 1 + below(300) : below(ops.small ? 1000 : 4000);
            shape.height = 1 + below(60);
            if (uniform)
                shape = (Shape){.sample = IMGSTAT_U8, .channels = 1, .width = 512, .height = 512};
            shape.pattern = (Pattern)below(PATTERNS);
            shape.gap = below(4) ? 0 : 16 * below(3);
            shape.mask = !uniform && below(10) == 0;
            shape.nodata = below(6) == 0;
            image[i] = test_image_create(&shape, round != 2 || below(2));
            record[i] = records_create(shape.sample, shape.channels, 0);
            const bool bands = i + n + 2 < IMAGES && below(5) == 0 && shape.height > 1;
            const uint32_t rows = bands ? 1 + below(shape.height - 1) : shape.height;
            for (uint32_t first = 0; first < shape.height && n < IMAGES; first += rows) {
                const uint32_t left = shape.height - first;
                const uint32_t count = left < rows || n + 1 == IMAGES ? left : rows;
                if (n + 2 >= IMAGES && count < left)
                    break; /* on both devices alike */
                cpu[n] = image_band(&image[i].cpu, first, count);
                cuda[n] = image_band(&image[i].cuda, first, count);
                cpu_record[n] = record[i].cpu;
                cuda_record[n++] = record[i].cuda;
            }
        }
        must(device_measure(ops.cpu, cpu, cpu_record, n, &ops.error));
        must(device_measure(ops.cuda, cuda, cuda_record, n, &ops.error));
        for (size_t i = 0; i < images; i++) {
            char what[160];
            shape_text(&image[i].shape, "batch", what, sizeof what);
            records_compare(&record[i], what);
            records_destroy(&record[i]);
            test_image_destroy(&image[i]);
        }
    }
}

/* Many images of one shape in one call, as a device measures them at once: more than two launches
 * take, or so large that one is several items; some share a record. */
static void test_alike(void)
{
    static const Shape shapes[] = {
        {.sample = IMGSTAT_U8, .channels = 1, .width = 33, .height = 7},
        {.sample = IMGSTAT_U8, .channels = 3, .width = 70, .height = 5, .gap = 6},
        {.sample = IMGSTAT_I8, .channels = 4, .width = 31, .height = 3},
        {.sample = IMGSTAT_U8, .channels = 2, .width = 1500, .height = 700},
    };
    enum { MOST = 3000 };
    static ImagePro cpu[MOST], cuda[MOST];
    static DeviceRecord cpu_record[MOST], cuda_record[MOST];
    static TestImage image[MOST];
    static Records record[MOST];

    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        const size_t n = shapes[s].width > 1000 ? 3 : ops.small ? 40 : MOST;
        const size_t other = 1 + below((uint32_t)n - 1); /* unlike the rest, once in a while */
        const bool mixed = below(2);
        for (size_t i = 0; i < n; i++) {
            Shape shape = shapes[s];
            shape.pattern = (Pattern)below(PATTERNS);
            shape.height += mixed && i == other;
            image[i] = test_image_create(&shape, true);
            record[i] = records_create(shape.sample, shape.channels, 0);
            const size_t r = i > 0 && below(50) == 0 ? below((uint32_t)i) : i;
            cpu[i] = image[i].cpu;
            cuda[i] = image[i].cuda;
            cpu[i].first_row = cuda[i].first_row = (uint32_t)i;
            cpu_record[i] = record[r].cpu;
            cuda_record[i] = record[r].cuda;
        }
        must(device_measure(ops.cpu, cpu, cpu_record, n, &ops.error));
        must(device_measure(ops.cuda, cuda, cuda_record, n, &ops.error));
        for (size_t i = 0; i < n; i++) {
            char what[160];
            shape_text(&image[i].shape, "alike", what, sizeof what);
            records_compare(&record[i], what);
            records_destroy(&record[i]);
            test_image_destroy(&image[i]);
        }
    }
}

/* Calls in a row that nothing waits for between, as one begins before the other has ended: images
 * of all sizes and several types, in records that they share, some changed just before they are
 * measured. */
static void test_sequence(void)
{
    enum { IMAGES = 16, SAMPLES = 4, RECORDS = 3 };
    static const uint32_t sizes[] = {1, 40, 300, 1000, 3000};
    static const ImgstatSample floats[] = {IMGSTAT_F32, IMGSTAT_F64};
    static const ImgstatSample integers[] = {IMGSTAT_U32, IMGSTAT_I64, IMGSTAT_U64, IMGSTAT_I32};
    static const ImgstatSample halves[] = {IMGSTAT_U16, IMGSTAT_I16, IMGSTAT_F16, IMGSTAT_U16};
    const unsigned calls = ops.small ? 10 : 200;
    for (uint16_t channels = 1; channels <= 4; channels++) {
        const ImgstatSample samples[SAMPLES] = {IMGSTAT_U8, floats[channels % 2],
                                                integers[channels - 1], halves[channels - 1]};
        TestImage image[IMAGES];
        Records record[SAMPLES][RECORDS];
        for (size_t i = 0; i < IMAGES; i++) {
            Shape shape = {.sample = samples[i % SAMPLES], .channels = channels};
            shape.width = sizes[below(ops.small ? 2 : 5)];
            shape.height = 1 + below(200);
            if (shape.width >= 1000 && below(2) && imgstat_sample_bytes(shape.sample) < 8)
                shape.height *= 4;
            shape.pattern = (Pattern)below(PATTERNS);
            image[i] = test_image_create(&shape, true);
        }
        for (size_t s = 0; s < SAMPLES; s++)
            for (size_t r = 0; r < RECORDS; r++)
                record[s][r] = records_create(samples[s], channels, 0);
        for (unsigned k = 0; k < calls; k++) {
            const size_t i = below(IMAGES);
            TestImage *from = &image[i];
            const Records *to = &record[i % SAMPLES][below(RECORDS)];
            if (below(4) == 0) {
                unsigned char *const bytes = from->host;
                for (size_t b = below(3); b < from->bytes; b += 1 + below(99))
                    bytes[b] = (unsigned char)(bytes[b] * 5 + 1);
                test_image_upload(from);
            }
            must(device_measure(ops.cpu, &from->cpu, &to->cpu, 1, &ops.error));
            must(device_measure(ops.cuda, &from->cuda, &to->cuda, 1, &ops.error));
        }
        for (size_t s = 0; s < SAMPLES; s++) {
            for (size_t r = 0; r < RECORDS; r++) {
                records_compare(&record[s][r], "sequence");
                records_destroy(&record[s][r]);
            }
        }
        for (size_t i = 0; i < IMAGES; i++)
            test_image_destroy(&image[i]);
    }
}

/* More than 2^32 pixels; extrema planted beyond the first 2^32. */
static void test_huge(void)
{
    if (ops.small)
        return;
    Shape shape = {.sample = IMGSTAT_U8, .channels = 1, .width = 65551, .height = 65600};
    shape.pattern = PATTERN_PRIME;
    TestImage image = test_image_create(&shape, true);
    unsigned char *row = (unsigned char *)image.cpu.host + (size_t)65540 * image.cpu.pitch;
    row[77] = 255;
    row[99] = 0;
    check_image(&image, "more than 2^32 pixels");
}

/* ---- The comparator must see a difference ---------------------------------------------------- */

static void test_comparator(void)
{
    Records r = records_create(IMGSTAT_U8, 1, 0);
    const unsigned char one = 1;
    const size_t failures = ops.failures;
    ops.quiet = true;
    must(ops.cuda->ops->upload(ops.cuda, r.cuda.mem, r.bytes - 8, &one, 1, &ops.error));
    records_compare(&r, "planted difference");
    const bool seen = ops.failures > failures;
    ops.failures = failures;
    ops.quiet = false;
    if (!seen)
        complain("a planted difference was not seen");
    records_destroy(&r);
}

typedef struct Test {
    const char *name;
    void (*run)(void);
} Test;

static const Test tests[] = {{"comparator", test_comparator},
                             {"empty", test_empty},
                             {"sizes", test_sizes},
                             {"sequence", test_sequence},
                             {"alike", test_alike},
                             {"patterns", test_patterns},
                             {"turns", test_turns},
                             {"overflow", test_overflow},
                             {"late", test_late},
                             {"batches", test_batches},
                             {"reads", test_reads},
                             {"sort", test_sort},
                             {"huge", test_huge}};

static void run(const Test *test)
{
    const size_t cases = ops.cases, failures = ops.failures;
    const double began = seconds();
    test->run();
    must(device_wait(ops.cuda, &ops.error));
    printf("%-12s %7zu cases  %5.1f s  %s\n", test->name, ops.cases - cases, seconds() - began,
           ops.failures == failures ? "ok" : "FAILED");
    fflush(stdout);
}

/* All tests, or those named. */
int main(int argc, char **argv)
{
    const int status = ops_open();
    if (status != 0)
        return status;
    for (size_t t = 0; t < sizeof tests / sizeof *tests; t++) {
        bool wanted = argc < 2;
        for (int i = 1; i < argc; i++)
            wanted |= strcmp(argv[i], tests[t].name) == 0;
        if (wanted)
            run(&tests[t]);
    }
    printf("%zu cases, %.1f MB compared, %zu failures, seed %llu\n", ops.cases,
           (double)ops.compared / 1e6, ops.failures, (unsigned long long)ops.seed);
    const bool vacuous = ops.cases == 0;
    ops_close();
    return vacuous || ops.failures > 0;
}
