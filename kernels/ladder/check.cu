/* SPDX-License-Identifier: MIT */
/* check.cu: the list of rungs, inputs, and serial loops. */
#include "ladder/check.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { GUARD = 256, POISON = 0xA5 };

static const LadderRung *const reduces[] = {&ladder_reduce_interleaved,
                                            &ladder_reduce_sequential,
                                            &ladder_reduce_finish_host,
                                            &ladder_reduce_finish_device,
                                            &ladder_reduce_block_size,
                                            &ladder_reduce_shuffle,
                                            &ladder_reduce_vector,
#ifdef __CUDACC__
                                            &ladder_reduce_cub,
#endif
                                            NULL};
static const LadderRung *const scans[] = {&ladder_scan_hillis_steele,
                                          &ladder_scan_recursive,
                                          &ladder_scan_blelloch,
                                          &ladder_scan_lookback,
#ifdef __CUDACC__
                                          &ladder_scan_cub,
                                          &ladder_scan_imgstat,
#endif
                                          NULL};
static const LadderRung *const histograms[] = {&ladder_histogram_global,
                                               &ladder_histogram_shared,
                                               &ladder_histogram_vector,
                                               &ladder_histogram_copies,
                                               &ladder_histogram_columns,
                                               &ladder_histogram_parts,
#ifdef __CUDACC__
                                               &ladder_histogram_cub,
#endif
                                               NULL};
static const LadderRung *const lookups[] = {&ladder_lookup_global, &ladder_lookup_constant,
                                            &ladder_lookup_shared, &ladder_lookup_vector, NULL};

const LadderGroup ladder_groups[] = {{"reduce", reduces},
                                     {"scan", scans},
                                     {"histogram", histograms},
                                     {"lookup", lookups},
                                     {NULL, NULL}};

const LadderKindInfo ladder_kinds[LADDER_KINDS] = {
    {"sum of u16", 2, 8, false},        {"maximum of u16", 2, 2, false},
    {"sum of f32", 4, 8, false},        {"maximum of f32", 4, 4, false},
    {"prefix sums of u32", 4, 4, true}, {"prefix sums of u64", 8, 8, true},
    {"histogram of u8", 1, 8, false},   {"histogram of u16", 2, 8, false},
    {"look-up of u8", 1, 1, true},
};

/* ---- Serial loops, written out: the rungs' own operations are not their own judges */

template <typename T, typename A> static void serial_sum(const T *in, size_t n, A *out)
{
    A sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (A)in[i];
    *out = sum;
}

template <typename T> static void serial_max(const T *in, size_t n, T least, T *out)
{
    T most = least;
    for (size_t i = 0; i < n; i++)
        if (in[i] > most)
            most = in[i];
    *out = most;
}

template <typename T> static void serial_scan(const T *in, size_t n, bool exclusive, T *out)
{
    T sum = 0;
    for (size_t i = 0; i < n; i++) {
        const T with = sum + in[i];
        out[i] = exclusive ? sum : with;
        sum = with;
    }
}

template <typename T> static void serial_count(const T *in, size_t n, LadderCount *bins)
{
    for (size_t i = 0; i < n; i++)
        bins[in[i]]++;
}

/* n samples to out, which is 0. */
static void serial(const LadderCase *c, const void *in, size_t n, void *out)
{
    switch (c->kind) {
    case LADDER_SUM_U16:
        return serial_sum((const uint16_t *)in, n, (LadderCount *)out);
    case LADDER_MAX_U16:
        return serial_max((const uint16_t *)in, n, (uint16_t)0, (uint16_t *)out);
    case LADDER_SUM_F32:
        return serial_sum((const float *)in, n, (double *)out);
    case LADDER_MAX_F32:
        return serial_max((const float *)in, n, -INFINITY, (float *)out);
    case LADDER_SCAN_U32:
        return serial_scan((const uint32_t *)in, n, c->exclusive, (uint32_t *)out);
    case LADDER_SCAN_U64:
        return serial_scan((const uint64_t *)in, n, c->exclusive, (uint64_t *)out);
    case LADDER_COUNT_U8:
        return serial_count((const uint8_t *)in, n, (LadderCount *)out);
    case LADDER_COUNT_U16:
        return serial_count((const uint16_t *)in, n, (LadderCount *)out);
    default:
        for (size_t i = 0; i < n; i++)
            ((uint8_t *)out)[i] = c->host_table[((const uint8_t *)in)[i]];
    }
}

static size_t results(LadderKind kind, size_t n, size_t tile)
{
    if (ladder_kinds[kind].writes)
        return n;
    if (kind == LADDER_COUNT_U8 || kind == LADDER_COUNT_U16)
        return (size_t)1 << (8 * ladder_kinds[kind].sample_bytes);
    return tile ? ladder_tiles(n, tile) : 1;
}

/* Makes c->expected for a rung, unless it is there from a rung alike. */
static bool expect(LadderCase *c, const LadderRung *rung)
{
    const LadderKindInfo *const kind = &ladder_kinds[c->kind];
    const size_t tile = rung->partial_tile;
    if (c->expected && c->tile == tile && c->exclusive == rung->exclusive)
        return true;
    free(c->expected);
    c->tile = tile;
    c->exclusive = rung->exclusive;
    c->expected_bytes = results(c->kind, c->n, tile) * kind->result_bytes;
    c->expected = (unsigned char *)malloc(c->expected_bytes + 1);
    if (!c->expected)
        return false;
    memset(c->expected, 0, c->expected_bytes); /* its pages exist before the clock runs */
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    if (tile == 0)
        serial(c, c->host, c->n, c->expected);
    for (size_t first = 0; tile > 0 && first < c->n; first += tile)
        serial(c, (const unsigned char *)c->host + first * kind->sample_bytes,
               c->n - first < tile ? c->n - first : tile,
               c->expected + first / tile * kind->result_bytes);
    clock_gettime(CLOCK_MONOTONIC, &end);
    c->serial_ms =
        (double)(end.tv_sec - begin.tv_sec) * 1e3 + (double)(end.tv_nsec - begin.tv_nsec) * 1e-6;
    return true;
}

/* ---- Inputs */

/* 64 bits that look random: splitmix64. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static float float_sample(LadderPattern pattern, size_t i, uint64_t *seed)
{
    if (pattern == LADDER_NOISE)
        return (float)(int)(next_random(seed) % 17) - 8;
    return pattern == LADDER_RAMP ? (float)(int)(i % 251) - 125 : -3e9f;
}

static void fill(LadderKind kind, LadderPattern pattern, size_t n, uint64_t seed, void *in)
{
    const size_t bytes = n * ladder_kinds[kind].sample_bytes;
    unsigned char *const to = (unsigned char *)in;
    if (kind == LADDER_SUM_F32 || kind == LADDER_MAX_F32)
        for (size_t i = 0; i < n; i++)
            ((float *)in)[i] = float_sample(pattern, i, &seed);
    else if (pattern == LADDER_NOISE)
        for (size_t i = 0; i < bytes; i += 8) {
            const uint64_t bits = next_random(&seed);
            memcpy(to + i, &bits, bytes - i < 8 ? bytes - i : 8);
        }
    else
        for (size_t i = 0; i < bytes; i++)
            to[i] = (unsigned char)(pattern == LADDER_RAMP ? i % 251 : 0xFE);
}

static cudaError_t device_copy(const void *host, size_t bytes, void **device)
{
    const cudaError_t status = cudaMalloc(device, bytes + 16);
    return status == cudaSuccess ? cudaMemcpy(*device, host, bytes, cudaMemcpyHostToDevice)
                                 : status;
}

cudaError_t ladder_case_create(LadderKind kind, LadderPattern pattern, size_t n, uint64_t seed,
                               LadderCase *c)
{
    const size_t bytes = n * ladder_kinds[kind].sample_bytes;
    *c = LadderCase();
    c->kind = kind;
    c->n = n;
    c->host = malloc(bytes + 1);
    if (!c->host)
        return cudaErrorMemoryAllocation;
    fill(kind, pattern, n, seed, c->host);
    for (unsigned v = 0; v < 256; v++)
        c->host_table[v] = (uint8_t)(v * 167 + seed); /* a permutation: each entry shows */
    const cudaError_t status = device_copy(c->host_table, 256, (void **)&c->device_table);
    return status == cudaSuccess ? device_copy(c->host, bytes, &c->device) : status;
}

void ladder_case_release(LadderCase *c)
{
    cudaFree(c->device_table);
    cudaFree(c->device);
    free(c->expected);
    free(c->host);
}

/* ---- Trials */

static cudaError_t guarded_create(size_t bytes, unsigned char **memory)
{
    const cudaError_t status = cudaMalloc((void **)memory, bytes + 2 * GUARD);
    return status == cudaSuccess ? cudaMemset(*memory, POISON, bytes + 2 * GUARD) : status;
}

static cudaError_t guards_whole(const unsigned char *memory, size_t bytes, bool *whole)
{
    unsigned char edge[2][GUARD];
    cudaError_t status = cudaMemcpy(edge[0], memory, GUARD, cudaMemcpyDeviceToHost);
    if (status == cudaSuccess)
        status = cudaMemcpy(edge[1], memory + GUARD + bytes, GUARD, cudaMemcpyDeviceToHost);
    for (unsigned i = 0; status == cudaSuccess && i < GUARD; i++)
        *whole = *whole && edge[0][i] == POISON && edge[1][i] == POISON;
    return status;
}

cudaError_t ladder_trial_create(LadderCase *c, const LadderRung *rung, unsigned block,
                                LadderTrial *trial)
{
    *trial = LadderTrial();
    if (!expect(c, rung))
        return cudaErrorMemoryAllocation;
    trial->rung = rung;
    trial->out_bytes = c->expected_bytes;
    trial->scratch_bytes = rung->scratch_bytes ? rung->scratch_bytes(c->n) : 0;
    cudaError_t status = guarded_create(trial->out_bytes, &trial->out);
    if (status == cudaSuccess)
        status = guarded_create(trial->scratch_bytes, &trial->scratch);
    trial->call = {c->device,       c->n, trial->out + GUARD, trial->scratch + GUARD,
                   c->device_table, block};
    return status;
}

void ladder_trial_release(LadderTrial *trial)
{
    cudaFree(trial->out);
    cudaFree(trial->scratch);
}

cudaError_t ladder_trial_run(const LadderCase *c, const LadderTrial *trial)
{
    return trial->rung->run[c->kind](&trial->call);
}

cudaError_t ladder_trial_right(const LadderCase *c, const LadderTrial *trial, bool *right)
{
    unsigned char *const got = (unsigned char *)malloc(trial->out_bytes + 1);
    if (!got)
        return cudaErrorMemoryAllocation;
    cudaError_t status = cudaMemcpy(got, trial->call.out, trial->out_bytes, cudaMemcpyDeviceToHost);
    *right = status == cudaSuccess && memcmp(got, c->expected, trial->out_bytes) == 0;
    free(got);
    if (status == cudaSuccess)
        status = guards_whole(trial->out, trial->out_bytes, right);
    if (status == cudaSuccess)
        status = guards_whole(trial->scratch, trial->scratch_bytes, right);
    return status;
}
