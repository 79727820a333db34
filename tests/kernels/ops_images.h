/* SPDX-License-Identifier: MIT */
/* ops_images.h: images of every shape and content on both devices, for the tests of the CUDA
 * device. */
#ifndef IMGSTAT_OPS_IMAGES_H
#define IMGSTAT_OPS_IMAGES_H

#include "device/device.h"

typedef enum Pattern {
    PATTERN_RANDOM, /* all bits */
    PATTERN_PRIME,  /* period 251: swapped blocks show */
    PATTERN_CONSTANT,
    PATTERN_LARGEST,
    PATTERN_CHECKER, /* smallest and largest by turns */
    PATTERN_SMOOTH,
    PATTERN_TWELVE,  /* 12 bits */
    PATTERN_SKEWED,  /* mostly small, a long tail */
    PATTERN_MISLEAD, /* a narrow window, then much of something else that a sample may miss */
    PATTERN_SPECIAL, /* floats: zeros of both signs, subnormals, infinities, NaN, huge values */
    PATTERN_OFFSET,  /* a large value plus little noise */
    PATTERNS
} Pattern;

typedef struct Shape {
    ImgstatSample sample;
    uint16_t channels;
    uint32_t width, height;
    uint32_t gap;   /* bytes between the end of a row and the next */
    uint32_t shift; /* bytes by which the first row is off a 256-byte boundary */
    Pattern pattern;
    bool mask, nodata;
    uint8_t bits; /* of unsigned samples; 0: all */
} Shape;

/* The same pixels in host memory for the CPU, and wherever for CUDA. */
typedef struct TestImage {
    Shape shape;
    ImagePro cpu, cuda;
    size_t bytes;
    void *host, *mask;
    DevMem memory, mask_memory;
} TestImage;

/* What the tests share. */
typedef struct Ops {
    Device *cpu, *cuda;
    ImgstatError error;
    uint64_t seed, state;
    size_t cases, compared, failures;
    bool small, quiet;
} Ops;

extern Ops ops;

/* 0, or the exit status of a test that cannot run. */
int ops_open(void);
void ops_close(void);
double seconds(void);

uint64_t random64(void);
uint32_t below(uint32_t n);
/* Ends the test program. */
_Noreturn void fail(const char *why);
void must(ImgstatResult result);
/* Counts a failure, and says it if there are few. */
__attribute__((format(printf, 1, 2))) void complain(const char *format, ...);

/* Whether n bytes are the same; the first that is not is a failure. */
bool same_bytes(const void *expected, const void *got, size_t bytes, const char *what,
                const char *text);
/* A comparison that cannot fail would prove nothing: fails if same_bytes sees no wrong byte. */
void check_same_bytes(void);

TestImage test_image_create(const Shape *shape, bool on_device);
void test_image_upload(TestImage *image);
void test_image_destroy(TestImage *image);
/* The key of some sample of the image. */
uint64_t test_image_key(const TestImage *image);

/* A case of what stays as it is: alpha, masked samples, nodata, images without contrast. */
typedef struct KeptCase {
    Shape shape;          /* all but its pattern */
    ImgstatMethod method; /* all but its transform */
    int16_t alpha;
    bool other; /* a choice of the test's own: of two transforms, say */
} KeptCase;

/* How many cases there are of each kind of sample, and the i-th of them. kind: the number of this
 * kind. */
unsigned kept_cases_of_kind(void);
KeptCase kept_case(ImgstatSample sample, uint8_t bits, unsigned kind, unsigned i);

void shape_text(const Shape *shape, const char *what, char *text, size_t bytes);

#endif
