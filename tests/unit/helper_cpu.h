/* SPDX-License-Identifier: MIT */
/* helper_cpu.h: random images and a plain reference for the tests of the CPU device. */
#ifndef IMGSTAT_HELPER_CPU_H
#define IMGSTAT_HELPER_CPU_H

#include "device/device.h"
#include "support.h"

typedef struct Random {
    uint64_t state;
} Random;

static inline uint64_t random_next(Random *random)
{
    return splitmix64(&random->state);
}
uint32_t random_below(Random *random, uint32_t n);
/* The seed: IMGSTAT_SEED or a constant; printed. */
Random random_begin(const char *test);

typedef enum Pattern {
    PATTERN_RANDOM,   /* random bits: floats of every kind */
    PATTERN_CONSTANT, /* one value a channel */
    PATTERN_TWO,      /* two values in turn */
    PATTERN_RAMP,     /* period 251: swapped blocks show */
    PATTERN_12_BIT,   /* random, small values */
    PATTERN_SMOOTH,   /* neighbours are close */
    PATTERN_MAX,      /* all the largest value */
    PATTERN_MIXED,    /* zeros of both signs, infinities, NaN among values; extremes of integers */
    PATTERNS
} Pattern;

/* An image in the middle of poisoned memory. */
typedef struct TestImage {
    ImagePro image;
    unsigned char *memory;
    uint8_t *mask;
} TestImage;

/* misalign: bytes past a 64-byte boundary at which the pixels start. */
TestImage test_image(Random *random, ImgstatSample sample, uint32_t width, uint32_t height,
                     uint16_t channels, Pattern pattern, size_t pad, size_t misalign, bool nodata,
                     bool mask);
void test_image_release(TestImage *test);

/* What measure must yield, in the layout of a record; calloc'ed, record_bytes long. */
void *expected_record(const ImagePro *image, unsigned parts);
bool test_valid(const ImagePro *image, uint32_t x, uint32_t y, uint16_t channel, uint64_t *key);

/* Opens the CPU device with one set of instructions; NULL if this processor lacks it. */
Device *open_cpu(const char *level, unsigned threads);
extern const char *const cpu_levels[3];

#endif
