/* SPDX-License-Identifier: MIT */
/* helper_cpu.c: random images and a plain reference for the tests of the CPU device. Written from
 * record.h and docs/float-sums.md, apart from the code under test. */
#include "helper_cpu.h"

#include <stdio.h>
#include <stdlib.h>

const char *const cpu_levels[3] = {"portable", "avx2", "avx512"};

uint32_t random_below(Random *random, uint32_t n)
{
    return (uint32_t)(random_next(random) % n);
}

Random random_begin(const char *test)
{
    const char *text = getenv("IMGSTAT_SEED");
    const Random random = {text ? strtoull(text, NULL, 0) : 20261120u};
    fprintf(stderr, "%s: IMGSTAT_SEED=%llu\n", test, (unsigned long long)random.state);
    return random;
}

static uint64_t bits_of_double(ImgstatSample sample, double v)
{
    uint64_t raw = 0;
    if (sample == IMGSTAT_F64) {
        memcpy(&raw, &v, 8);
        return raw;
    }
    const float f = (float)v;
    uint32_t low;
    memcpy(&low, &f, 4);
    if (sample == IMGSTAT_F32)
        return low;
    /* binary16 of a normal number, cut off */
    const int32_t exponent = (int32_t)((low >> 23) & 0xFF) - 127 + 15;
    if (exponent <= 0)
        return (low >> 16) & 0x8000;
    return ((low >> 16) & 0x8000) | (uint32_t)(exponent > 30 ? 30 : exponent) << 10 |
           ((low >> 13) & 0x3FF);
}

static uint64_t mixed(Random *random, ImgstatSample sample)
{
    const unsigned width = sample_bits(sample);
    const uint64_t sign = (uint64_t)1 << (width - 1), all = sign | (sign - 1);
    const uint64_t inf = sample == IMGSTAT_F16   ? 0x7C00u
                         : sample == IMGSTAT_F32 ? 0x7F800000u
                                                 : 0x7FF0000000000000u;
    if (!sample_is_float(sample)) {
        const uint64_t some[] = {0, 1, sign, sign - 1, all, all - 1};
        return some[random_below(random, 6)];
    }
    const uint64_t some[] = {0, sign,    inf, inf | sign, inf + 1, all, inf - 1, (inf - 1) | sign,
                             1, sign | 1};
    const uint32_t k = random_below(random, 40);
    return k < 10 ? some[k] : bits_of_double(sample, (double)random_below(random, 2000) - 1000);
}

static uint64_t sample_of(Random *random, ImgstatSample sample, Pattern pattern, uint64_t i,
                          uint64_t x, uint64_t y)
{
    const unsigned width = sample_bits(sample);
    const uint64_t sign = (uint64_t)1 << (width - 1), all = sign | (sign - 1);
    const uint64_t r = random_next(random);
    uint64_t v = 0;
    switch (pattern) {
    case PATTERN_RANDOM:
        return r & all;
    case PATTERN_MIXED:
        return mixed(random, sample);
    case PATTERN_MAX:
        return sample_is_float(sample)    ? bits_of_double(sample, 60000)
               : sample_is_signed(sample) ? sign - 1
                                          : all;
    case PATTERN_CONSTANT:
        v = 77;
        break;
    case PATTERN_TWO:
        v = i % 2 ? 3 : 200;
        break;
    case PATTERN_RAMP:
        v = i % 251;
        break;
    case PATTERN_12_BIT:
        v = (r & 0xFFF) >> (width == 8 ? 4 : 0);
        break;
    default:
        v = 100 + (x / 16 + y / 16) % 50 + r % 4;
    }
    if (sample_is_float(sample))
        return bits_of_double(sample, (double)v * 1.37 - 90);
    return sample_is_signed(sample) ? (v - 100) & all : v & all;
}

TestImage test_image(Random *random, ImgstatSample sample, uint32_t width, uint32_t height,
                     uint16_t channels, Pattern pattern, size_t pad, size_t misalign, bool nodata,
                     bool mask)
{
    TestImage test = {0};
    const size_t bytes = sample_bits(sample) / 8, row = width * bytes * channels, pitch = row + pad;
    const size_t total = (pitch * height + misalign + 128 + 63) / 64 * 64;
    test.memory = aligned_alloc(64, total);
    if (!test.memory)
        abort();
    for (size_t i = 0; i < total; i += 8) { /* padding is not to be counted, whatever it holds */
        const uint64_t bits = random_next(random);
        memcpy(test.memory + i, &bits, 8);
    }
    ImagePro *image = &test.image;
    *image = (ImagePro){.memory = IMGSTAT_HOST,
                        .host = test.memory + misalign,
                        .pitch = pitch,
                        .width = width,
                        .height = height,
                        .channels = channels,
                        .sample = sample,
                        .bits = (uint8_t)sample_bits(sample),
                        .first_row = random_below(random, 3) * 1000};
    for (uint32_t y = 0; y < height; y++) {
        for (size_t i = 0; i < (size_t)width * channels; i++) {
            const uint64_t v = sample_of(random, sample, pattern,
                                         (uint64_t)y * width * channels + i, i / channels, y);
            memcpy((unsigned char *)image->host + y * pitch + i * bytes, &v,
                   bytes); /* little-endian */
        }
    }
    if (nodata && width && height) { /* a value that occurs */
        const size_t i = random_below(random, (uint32_t)((uint64_t)width * channels));
        uint64_t raw = 0;
        memcpy(&raw,
               (unsigned char *)image->host + random_below(random, height) * pitch + i * bytes,
               bytes);
        const uint64_t key = sample_key(sample, raw);
        image->has_nodata = true;
        image->nodata_key = key;
    }
    if (mask) {
        image->mask_pitch = width + pad;
        test.mask = malloc(image->mask_pitch * height + 1);
        if (!test.mask)
            abort();
        const uint32_t kind = random_below(random, 4);
        for (size_t i = 0; i < image->mask_pitch * height; i++)
            test.mask[i] = (uint8_t)(kind == 0 ? 0 : kind == 1 ? 255 : random_below(random, 3));
        image->mask = test.mask;
    }
    return test;
}

void test_image_release(TestImage *test)
{
    free(test->memory);
    free(test->mask);
}

static uint64_t raw_at(const ImagePro *image, uint32_t x, uint32_t y, uint16_t channel)
{
    const size_t bytes = sample_bits(image->sample) / 8;
    uint64_t raw = 0;
    memcpy(&raw,
           (const unsigned char *)image->host + y * image->pitch +
               ((size_t)x * image->channels + channel) * bytes,
           bytes);
    return raw;
}

static bool masked_at(const ImagePro *image, uint32_t x, uint32_t y)
{
    return image->mask && image->mask[y * image->mask_pitch + x] == 0;
}

typedef enum Kind { VALID, NODATA, PINF, NINF, NOT_A_NUMBER } Kind;

static Kind kind_of(const ImagePro *image, uint64_t raw)
{
    if (image->has_nodata && sample_key(image->sample, raw) == image->nodata_key)
        return NODATA;
    if (!sample_is_float(image->sample))
        return VALID;
    const unsigned width = sample_bits(image->sample);
    const unsigned fraction = width == 16 ? 10 : width == 32 ? 23 : 52;
    const uint64_t exponent = ((uint64_t)1 << (width - 1 - fraction)) - 1;
    if (((raw >> fraction) & exponent) != exponent)
        return VALID;
    if (raw & (((uint64_t)1 << fraction) - 1))
        return NOT_A_NUMBER;
    return raw >> (width - 1) ? NINF : PINF;
}

bool test_valid(const ImagePro *image, uint32_t x, uint32_t y, uint16_t channel, uint64_t *key)
{
    const uint64_t raw = raw_at(image, x, y, channel);
    *key = sample_key(image->sample, raw);
    return !masked_at(image, x, y) && kind_of(image, raw) == VALID;
}

static double value_of(ImgstatSample sample, uint64_t raw)
{
    if (sample == IMGSTAT_F64) {
        double d;
        memcpy(&d, &raw, 8);
        return d;
    }
    float f;
    const uint32_t low = (uint32_t)raw;
    memcpy(&f, &low, 4);
    return (double)f;
}

static void expect_piece(const ImagePro *image, uint32_t x0, uint32_t x1, uint32_t y,
                         uint16_t channel, Tally *tally)
{
    static double d[PIECE_LANES], q[PIECE_LANES];
    double pivot = 0;
    unsigned n = 0;
    uint64_t key;
    memset(d, 0, sizeof d);
    memset(q, 0, sizeof q);
    for (uint32_t x = x0; x < x1; x++) {
        if (!test_valid(image, x, y, channel, &key))
            continue;
        const double v = value_of(image->sample, raw_at(image, x, y, channel));
        if (n++ == 0)
            pivot = v == 0 ? 0.0 : v;
        const volatile double t = v - pivot;
        const volatile double s = t * t;
        d[(x - x0) % 128] += t;
        q[(x - x0) % 128] += s;
    }
    if (!n)
        return;
    for (int h = 64; h; h /= 2)
        for (int l = 0; l < h; l++)
            d[l] += d[l + h], q[l] += q[l + h];
    double term[PIECE_TERMS];
    piece_terms(n, pivot, d[0], q[0], term);
    bool bad = !isfinite(term[0]) || !isfinite(term[1]) || !isfinite(term[2]), bad2 = false;
    for (int i = 3; i < 10; i++)
        bad2 = bad2 || !isfinite(term[i]);
    tally->sum_overflow += bad;
    tally->sum2_overflow += bad2;
    for (int i = 0; i < 10; i++)
        if (i < 3 ? !bad : !bad2)
            exact_add(i < 3 ? &tally->fsum : &tally->fsum2, term[i]);
    exact_normalize(&tally->fsum);
    exact_normalize(&tally->fsum2);
}

static void add_word(uint64_t *words, int n, uint64_t value)
{
    for (int i = 0; i < n && value; i++) {
        words[i] += value;
        value = words[i] < value;
    }
}

static void expect_integer(Tally *tally, ImgstatSample sample, uint64_t raw)
{
    __int128 v = (__int128)raw;
    if (sample == IMGSTAT_I32)
        v = (int32_t)(uint32_t)raw;
    if (sample == IMGSTAT_I64)
        v = (int64_t)raw;
    __int128 sum;
    memcpy(&sum, tally->sum, 16);
    sum += v;
    memcpy(tally->sum, &sum, 16);
    const uint64_t m = (uint64_t)(v < 0 ? -v : v);
    const unsigned __int128 square = (unsigned __int128)m * m;
    add_word(tally->sum2, 3, (uint64_t)square);
    add_word(tally->sum2 + 1, 2, (uint64_t)(square >> 64));
}

static void expect_sample(const ImagePro *image, uint64_t raw, uint64_t at, Tally *tally,
                          uint64_t *bins, bool *any)
{
    const ImgstatSample sample = image->sample;
    const Kind kind = kind_of(image, raw);
    const uint64_t key = sample_key(sample, raw);
    if (sample_is_narrow(sample)) {
        tally->n++;
        bins[key]++;
    } else {
        tally->n += kind == VALID;
        tally->nodata += kind == NODATA;
        tally->pinf += kind == PINF;
        tally->ninf += kind == NINF;
        tally->nan += kind == NOT_A_NUMBER;
        if (kind == VALID && bins)
            bins[key >> (sample_bits(sample) - 16)]++;
        if (kind == VALID && !sample_is_float(sample))
            expect_integer(tally, sample, raw);
    }
    if (kind != VALID)
        return;
    if (!*any || key < tally->min_key) {
        tally->min_key = key;
        tally->min_at = at;
    }
    if (!*any || key > tally->max_key) {
        tally->max_key = key;
        tally->max_at = at;
    }
    *any = true;
}

void *expected_record(const ImagePro *image, unsigned parts)
{
    const ImgstatSample sample = image->sample;
    Tally *tally = calloc(1, record_bytes(sample, image->channels, parts));
    if (!tally)
        abort();
    uint64_t *bins =
        record_parts_bins(sample, parts) ? (uint64_t *)(void *)(tally + image->channels) : NULL;
    for (uint16_t c = 0; c < image->channels; c++) {
        Tally *t = &tally[c];
        bool any = false;
        for (uint32_t y = 0; y < image->height; y++) {
            for (uint32_t x = 0; x < image->width; x++) {
                if (masked_at(image, x, y))
                    t->masked++;
                else
                    expect_sample(image, raw_at(image, x, y, c),
                                  ((uint64_t)image->first_row + y) * image->width + x, t,
                                  bins ? bins + (size_t)c * sample_record_bins(sample) : NULL,
                                  &any);
            }
            for (uint32_t x = 0;
                 (sample == IMGSTAT_F32 || sample == IMGSTAT_F64) && x < image->width; x += 4096)
                expect_piece(image, x, image->width - x < 4096 ? image->width : x + 4096, y, c, t);
        }
        if (!any)
            t->min_key = t->n > 0;
    }
    return tally;
}

Device *open_cpu(const char *level, unsigned threads)
{
    Device *device = NULL;
    ImgstatError err;
    setenv("IMGSTAT_CPU", level, 1);
    if (cpu_device_ops.open(0, threads, &device, &err) != IMGSTAT_OK) {
        fprintf(stderr, "%s\n", err.message);
        device = NULL;
    }
    unsetenv("IMGSTAT_CPU");
    return device;
}
