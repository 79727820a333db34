/* SPDX-License-Identifier: MIT */
/* test_ladder.cu: every rung of kernels/ladder against a serial loop, at sizes around every
 * boundary. */
#include "ladder.h"
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <vector>

enum { GUARD = 256, SKIPPED = 77 };

static const size_t all_sizes[] = {
    0,
    1,
    2,
    3,
    31,
    32,
    33,
    63,
    64,
    65,
    127,
    128,
    129,
    255,
    256,
    257,
    511,
    512,
    513,
    1023,
    1024,
    1025,
    2047,
    2048,
    2049,
    4095,
    4096,
    4097,
    8191,
    8192,
    8193,
    65535,
    65536,
    65537,
    131073,
    1000003,
    ((size_t)1 << 24) + 3,
};
static const size_t small_limit = 8193; /* with IMGSTAT_TEST_SMALL=1, for compute-sanitizer */

typedef enum Pattern { RANDOM, RAMP, EXTREME, FRACTIONS, PATTERNS } Pattern;

typedef struct Tally {
    size_t cases, elements, failures;
} Tally;

/* A device buffer between guards, poisoned all over. */
typedef struct Guarded {
    unsigned char *base;
    size_t bytes;
} Guarded;

static void fatal(cudaError_t status, const char *what)
{
    if (status == cudaSuccess)
        return;
    fprintf(stderr, "test_ladder: %s: %s\n", what, cudaGetErrorString(status));
    exit(1);
}

static Guarded guarded_create(size_t bytes)
{
    Guarded g = {NULL, bytes};
    fatal(cudaMalloc((void **)&g.base, bytes + 2 * GUARD), "cudaMalloc");
    fatal(cudaMemset(g.base, POISON, bytes + 2 * GUARD), "cudaMemset");
    return g;
}

static void guarded_poison(Guarded g)
{
    fatal(cudaMemset(g.base, POISON, g.bytes + 2 * GUARD), "cudaMemset");
}

static void *guarded_data(Guarded g)
{
    return g.base + GUARD;
}

static bool guards_intact(Guarded g)
{
    unsigned char edge[2][GUARD];
    fatal(cudaMemcpy(edge[0], g.base, GUARD, cudaMemcpyDeviceToHost), "read a guard");
    fatal(cudaMemcpy(edge[1], g.base + GUARD + g.bytes, GUARD, cudaMemcpyDeviceToHost),
          "read a guard");
    for (size_t i = 0; i < sizeof edge; i++)
        if ((&edge[0][0])[i] != POISON)
            return false;
    return true;
}

/* Index of the first difference, or n. */
template <typename A>
static size_t first_difference(const A *expected, const A *got, size_t n, double tolerance)
{
    for (size_t i = 0; i < n; i++) {
        const bool equal = tolerance > 0 ? fabs((double)got[i] - (double)expected[i]) <= tolerance
                                         : got[i] == expected[i];
        if (!equal)
            return i;
    }
    return n;
}

/* Sums of up to 2^24 of them are exact in double, prefix sums of RANDOM and RAMP in float too. */
static float float_sample(Pattern pattern, size_t i, uint64_t r)
{
    if (pattern == RANDOM)
        return (float)(int)(r % 17) - 8;
    if (pattern == RAMP)
        return (float)(int)(i % 251) - 125;
    if (pattern == EXTREME)
        return -3e9f - 256.0f * (float)(r % 5); /* all negative: padding with 0 would show */
    return ((float)(r >> 40) - 8388608.0f) * 1.17e-4f;
}

template <typename T> static T sample(Pattern pattern, size_t i, uint64_t r)
{
    if (pattern == RANDOM || pattern == FRACTIONS)
        return (T)r;
    if (pattern == RAMP)
        return (T)(i % 251 * 5 + 1000);
    return (T)((uint64_t)1 << (8 * sizeof(T) - 1)) - (sizeof(T) == 2); /* INT32_MIN, 0x7FFF */
}
template <> float sample<float>(Pattern pattern, size_t i, uint64_t r)
{
    return float_sample(pattern, i, r);
}

template <typename T> static std::vector<T> make_input(Pattern pattern, size_t n, uint64_t seed)
{
    std::vector<T> in(n);
    for (size_t i = 0; i < n; i++)
        in[i] = sample<T>(pattern, i, splitmix64(&seed));
    return in;
}

/* The serial loop. Written out, so that the rungs' own combine is not its own judge. */
template <int OP, typename T, typename A>
static A serial_reduce(const T *in, size_t n, A empty, double *magnitude)
{
    A result = empty;
    long double sum = 0, size = 0;
    for (size_t i = 0; i < n; i++) {
        const A x = (A)in[i];
        sum += (long double)x; /* 64-bit significand: exact for the integers here */
        size += fabsl((long double)x);
        if (OP == LADDER_MIN && x < result)
            result = x;
        if (OP == LADDER_MAX && x > result)
            result = x;
    }
    *magnitude = (double)size;
    return OP == LADDER_SUM ? (A)sum : result;
}

template <int OP, typename A> static A empty_result(void)
{
    if constexpr (OP == LADDER_SUM)
        return 0;
    else if constexpr (sizeof(A) == 2)
        return (A)(OP == LADDER_MIN ? UINT16_MAX : 0);
    else if constexpr ((A)0.5 != 0)
        return OP == LADDER_MIN ? INFINITY : -INFINITY;
    else
        return OP == LADDER_MIN ? INT32_MAX : INT32_MIN;
}

static void report(Tally *tally, bool good, const char *rung, const char *what, size_t n,
                   unsigned block, Pattern pattern, size_t offset, size_t where)
{
    tally->cases++;
    if (good)
        return;
    tally->failures++;
    if (tally->failures <= 20)
        fprintf(stderr, "FAIL %s %s: n %zu, block %u, pattern %d, offset %zu, first at %zu\n", rung,
                what, n, block, (int)pattern, offset, where);
}

/* What an operation yields of an input in tiles, and how far off a right sum of a tile may be. */
template <typename A> struct Expected {
    size_t tile;
    std::vector<A> result;
    double tolerance;
};

/* tile 0: one result for the whole input. */
template <typename T, int OP, typename A>
static Expected<A> expect(const std::vector<T> &in, size_t tile, bool rounded)
{
    const size_t n = in.size();
    const size_t results = tile == 0 ? 1 : n / tile + (n % tile != 0);
    Expected<A> expected = {tile, std::vector<A>(results), 0};
    for (size_t b = 0; b < results; b++) {
        const size_t length = b + 1 == results ? n - b * tile : tile;
        double magnitude;
        expected.result[b] =
            serial_reduce<OP>(in.data() + b * tile, length, empty_result<OP, A>(), &magnitude);
        /* Any order of length - 1 additions in double errs by at most (length-1) 2^-53 sum|x|,
         * and a term for the rounding of the reference. */
        if (OP == LADDER_SUM && rounded)
            expected.tolerance =
                fmax(expected.tolerance, (double)(length + 1) * ldexp(magnitude, -53));
    }
    return expected;
}

template <typename T, int OP>
static void check_reduce(LadderType type, const std::vector<T> &in, const T *device_in,
                         Pattern pattern, size_t offset, Tally *tally)
{
    typedef typename LadderAcc<T, OP>::type A;
    static const char *const names[] = {"sum", "min", "max"};
    const bool rounded = type == LADDER_F32 && pattern == FRACTIONS;
    const size_t n = in.size();
    Expected<A> expected = expect<T, OP, A>(in, ladder_reduces[0]->partial_tile, rounded);
    for (const LadderReduce *rung : ladder_reduces) {
        if (rung->partial_tile != expected.tile)
            expected = expect<T, OP, A>(in, rung->partial_tile, rounded);
        const size_t results = expected.result.size();
        std::vector<A> got(results);
        Guarded out = guarded_create(results * sizeof(A));
        Guarded scratch = guarded_create(rung->scratch_bytes(n));
        for (const unsigned *block = rung->blocks; *block; block++) {
            guarded_poison(out);
            guarded_poison(scratch);
            const LadderCall call = {device_in, n, guarded_data(out), guarded_data(scratch), *block,
                                     false,     0};
            fatal(rung->run[type][OP](&call), rung->name);
            fatal(cudaDeviceSynchronize(), rung->name);
            fatal(cudaMemcpy(got.data(), guarded_data(out), results * sizeof(A),
                             cudaMemcpyDeviceToHost),
                  "download");
            const size_t where =
                first_difference(expected.result.data(), got.data(), results, expected.tolerance);
            report(tally, where == results && guards_intact(out) && guards_intact(scratch),
                   rung->name, names[OP], n, *block, pattern, offset, where);
            tally->elements += n;
        }
        fatal(cudaFree(out.base), "cudaFree");
        fatal(cudaFree(scratch.base), "cudaFree");
    }
}

template <typename T>
static void check_reductions(LadderType type, size_t n, Pattern pattern, size_t offset,
                             uint64_t seed, Tally *tally)
{
    const std::vector<T> in = make_input<T>(pattern, n, seed);
    Guarded buffer = guarded_create((n + offset) * sizeof(T));
    T *const device_in = (T *)guarded_data(buffer) + offset;
    fatal(cudaMemcpy(device_in, in.data(), n * sizeof(T), cudaMemcpyHostToDevice), "upload");
    check_reduce<T, LADDER_SUM>(type, in, device_in, pattern, offset, tally);
    check_reduce<T, LADDER_MIN>(type, in, device_in, pattern, offset, tally);
    check_reduce<T, LADDER_MAX>(type, in, device_in, pattern, offset, tally);
    fatal(cudaFree(buffer.base), "cudaFree");
}

template <typename T>
static void check_scans(LadderScanType type, size_t n, Pattern pattern, uint64_t seed, Tally *tally)
{
    const std::vector<T> in = make_input<T>(pattern, n, seed);
    std::vector<T> expected[2] = {std::vector<T>(n), std::vector<T>(n)}, got(n);
    T sum = 0;
    for (size_t i = 0; i < n; i++) {
        expected[0][i] = sum;
        sum += in[i];
        expected[1][i] = sum;
    }
    Guarded buffer = guarded_create(n * sizeof(T)), out = guarded_create(n * sizeof(T));
    fatal(cudaMemcpy(guarded_data(buffer), in.data(), n * sizeof(T), cudaMemcpyHostToDevice),
          "upload");
    for (const LadderScan *rung : ladder_scans) {
        if (rung->max_n && n > rung->max_n)
            continue;
        Guarded scratch = guarded_create(rung->scratch_bytes(n));
        for (int inclusive = 0; inclusive < 2; inclusive++) {
            if (!(inclusive ? rung->inclusive : rung->exclusive))
                continue;
            guarded_poison(out);
            guarded_poison(scratch);
            const LadderCall call = {
                guarded_data(buffer), n, guarded_data(out), guarded_data(scratch), 0,
                inclusive != 0,       0};
            fatal(rung->run[type](&call), rung->name);
            fatal(cudaDeviceSynchronize(), rung->name);
            fatal(cudaMemcpy(got.data(), guarded_data(out), n * sizeof(T), cudaMemcpyDeviceToHost),
                  "download");
            const size_t where = first_difference(expected[inclusive].data(), got.data(), n, 0.0);
            report(tally, where == n && guards_intact(out) && guards_intact(scratch), rung->name,
                   inclusive ? "inclusive" : "exclusive", n, 0, pattern, 0, where);
            tally->elements += n;
        }
        fatal(cudaFree(scratch.base), "cudaFree");
    }
    fatal(cudaFree(buffer.base), "cudaFree");
    fatal(cudaFree(out.base), "cudaFree");
}

/* What judges the rungs is judged first: one changed value and one changed guard byte must show. */
static bool comparators_work(void)
{
    std::vector<uint32_t> a(1000, 7), b(1000, 7);
    b[617] ^= 1;
    const bool exact = first_difference(a.data(), b.data(), a.size(), 0.0) == 617 &&
                       first_difference(a.data(), a.data(), a.size(), 0.0) == 1000;
    const double x[2] = {1.0, 2.0}, y[2] = {1.0, 2.0 + 3e-9}, nan[2] = {1.0, NAN};
    const bool close = first_difference(x, y, 2, 1e-9) == 1 &&
                       first_difference(x, y, 2, 4e-9) == 2 &&
                       first_difference(x, nan, 2, 1e-9) == 1;
    bool guards = true;
    Guarded g = guarded_create(100);
    const unsigned char flipped = POISON ^ 1;
    guards = guards && guards_intact(g);
    fatal(cudaMemcpy(g.base + GUARD + 100, &flipped, 1, cudaMemcpyHostToDevice), "flip a guard");
    guards = guards && !guards_intact(g);
    guarded_poison(g);
    fatal(cudaMemcpy(g.base + GUARD - 1, &flipped, 1, cudaMemcpyHostToDevice), "flip a guard");
    guards = guards && !guards_intact(g);
    fatal(cudaFree(g.base), "cudaFree");
    return exact && close && guards;
}

static void check_size(size_t n, bool small, uint64_t *seed, Tally *tally)
{
    for (int p = 0; p < PATTERNS; p++) {
        const Pattern pattern = (Pattern)p;
        /* The vector rung reads what precedes the first aligned 16 bytes on its own. */
        const size_t offset = splitmix64(seed) % 8;
        if (small && pattern != RANDOM)
            continue;
        if (pattern != FRACTIONS) {
            check_reductions<uint16_t>(LADDER_U16, n, pattern, offset, splitmix64(seed), tally);
            check_reductions<int32_t>(LADDER_I32, n, pattern, offset % 4, splitmix64(seed), tally);
            check_scans<uint32_t>(LADDER_SCAN_I32, n, pattern, splitmix64(seed), tally);
            check_scans<uint64_t>(LADDER_SCAN_U64, n, pattern, splitmix64(seed), tally);
        }
        check_reductions<float>(LADDER_F32, n, pattern, offset % 4, splitmix64(seed), tally);
        if (pattern == RANDOM || pattern == RAMP)
            check_scans<float>(LADDER_SCAN_F32, n, pattern, splitmix64(seed), tally);
    }
}

static bool asked(const char *variable)
{
    const char *const value = getenv(variable);
    return value && strcmp(value, "1") == 0;
}

int main(void)
{
    int devices = 0;
    const cudaError_t status = cudaGetDeviceCount(&devices);
    if (status != cudaSuccess || devices == 0) {
        printf("test_ladder: no CUDA device (%s)\n", cudaGetErrorString(status));
        return asked("IMGSTAT_REQUIRE_CUDA") ? 1 : SKIPPED;
    }
    const char *const given = getenv("IMGSTAT_TEST_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
    const bool small = asked("IMGSTAT_TEST_SMALL");
    printf("test_ladder: IMGSTAT_TEST_SEED=%llu\n", (unsigned long long)seed);
    if (!comparators_work()) {
        fprintf(stderr, "test_ladder: a comparator does not see a difference\n");
        return 1;
    }
    Tally tally = {0, 0, 0};
    for (const size_t n : all_sizes)
        if (!small || n <= small_limit)
            check_size(n, small, &seed, &tally);
    printf("test_ladder: %zu cases, %zu elements compared, %zu failures\n", tally.cases,
           tally.elements, tally.failures);
    return tally.cases > 0 && tally.elements > 0 && tally.failures == 0 ? 0 : 1;
}
