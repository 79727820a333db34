/* SPDX-License-Identifier: MIT */
/* test_ladder.cu: every rung of kernels/ladder against a serial loop, at sizes around every
 * boundary; on a GPU, and compiled as C++ in the emulator. */
#include "ladder/measure.h"
#include "support.h"

#include <stdio.h>
#include <time.h>

enum { SKIPPED = 77 };

#ifdef __CUDACC__
static const bool emulated = false;
static const size_t sizes[] = {
    0,    1,    2,    3,    31,   32,   33,    63,    64,    65,     127,     128,
    129,  255,  256,  257,  511,  512,  513,   1023,  1024,  1025,   2047,    2048,
    2049, 4095, 4096, 4097, 8191, 8192, 65535, 65536, 65537, 131073, 1000003, (1 << 24) + 3};

static void choose_order(LadderPattern, size_t)
{
}
#else
static const bool emulated = true;
static const size_t sizes[] = {0, 1, 255, 256, 257, 1025, 16411};

/* Threads forward, backward and neither: a rung that lacks a barrier is wrong in one of them. Of
 * the largest size several blocks at a time, which look back at each other. */
static void choose_order(LadderPattern pattern, size_t n)
{
    static const int steps[] = {1, -1, 37};
    emulate_order = {steps[pattern], n > 1025 ? 3u : 1u};
}
#endif

/* The emulator is slow: all patterns of one size only, of others one pattern. So is
 * compute-sanitizer: noise, and no large sizes. */
static bool is_checked(size_t n, LadderPattern pattern)
{
    if (emulated)
        return n == 257 || n % LADDER_PATTERNS == pattern;
    return !getenv("IMGSTAT_TEST_SMALL") || (n < 10000 && pattern == LADDER_NOISE);
}

typedef struct Tally {
    size_t cases, bytes, failures;
    bool judged;
} Tally;

static void fatal(cudaError_t status, const char *what)
{
    if (status == cudaSuccess)
        return;
    fprintf(stderr, "test_ladder: %s: %s\n", what, cudaGetErrorString(status));
    exit(1);
}

/* What judges the rungs is judged as well: one changed byte of the output, or one beside it. */
static void judge(LadderCase *c, const LadderTrial *trial)
{
    unsigned char *const places[] = {(unsigned char *)trial->call.out + trial->out_bytes / 2,
                                     (unsigned char *)trial->call.out - 1,
                                     (unsigned char *)trial->call.out + trial->out_bytes,
                                     (unsigned char *)trial->call.scratch + trial->scratch_bytes};
    for (unsigned char *place : places) {
        unsigned char was, changed;
        bool right = true;
        fatal(cudaMemcpy(&was, place, 1, cudaMemcpyDeviceToHost), "read a byte");
        changed = was ^ 1;
        fatal(cudaMemcpy(place, &changed, 1, cudaMemcpyHostToDevice), "change a byte");
        fatal(ladder_trial_right(c, trial, &right), "compare");
        fatal(cudaMemcpy(place, &was, 1, cudaMemcpyHostToDevice), "restore a byte");
        if (right) {
            fprintf(stderr, "test_ladder: the comparison does not see a changed byte\n");
            exit(1);
        }
    }
}

static void check_block(LadderCase *c, LadderPattern pattern, const LadderRung *rung,
                        unsigned block, Tally *tally)
{
    LadderTrial trial;
    bool right = false;
    fatal(ladder_trial_create(c, rung, block, &trial), rung->name);
    cudaError_t status = ladder_trial_run(c, &trial);
    if (status == cudaSuccess)
        status = cudaDeviceSynchronize();
    if (status == cudaSuccess)
        status = ladder_trial_right(c, &trial, &right);
    if (right && trial.out_bytes > 0 && !tally->judged) {
        judge(c, &trial);
        tally->judged = true;
    }
    tally->cases++;
    tally->bytes += trial.out_bytes;
    if (!right && tally->failures++ < 20)
        fprintf(stderr, "FAIL %s, %s: n %zu, block %u, pattern %d: %s\n",
                ladder_kinds[c->kind].name, rung->name, c->n, block, (int)pattern,
                status == cudaSuccess ? "wrong" : cudaGetErrorString(status));
    ladder_trial_release(&trial);
}

static void check_kind(LadderKind kind, LadderPattern pattern, size_t n, uint64_t seed,
                       Tally *tally)
{
    LadderCase c;
    fatal(ladder_case_create(kind, pattern, n, seed, &c), "input");
    for (const LadderGroup *group = ladder_groups; group->name; group++)
        for (const LadderRung *const *rung = group->rungs; *rung; rung++)
            for (const unsigned *block = (*rung)->blocks; *block; block++)
                if ((*rung)->run[kind] && ((*rung)->max_n == 0 || n <= (*rung)->max_n))
                    check_block(&c, pattern, *rung, *block, tally);
    ladder_case_release(&c);
}

int main(void)
{
    const char *const missing = measure_open();
    if (missing) {
        printf("test_ladder: no CUDA device (%s)\n", missing);
        return getenv("IMGSTAT_REQUIRE_CUDA") ? 1 : SKIPPED;
    }
    const char *const given = getenv("IMGSTAT_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
    printf("test_ladder: IMGSTAT_SEED=%llu\n", (unsigned long long)seed);
    Tally tally = {0, 0, 0, false};
    for (const size_t n : sizes)
        for (int p = 0; p < LADDER_PATTERNS; p++)
            for (int kind = 0; kind < LADDER_KINDS && is_checked(n, (LadderPattern)p); kind++) {
                choose_order((LadderPattern)p, n);
                check_kind((LadderKind)kind, (LadderPattern)p, n, splitmix64(&seed), &tally);
            }
    printf("test_ladder: %zu cases, %zu bytes compared, %zu failures\n", tally.cases, tally.bytes,
           tally.failures);
    return tally.judged && tally.failures == 0 ? 0 : 1;
}
