/* SPDX-License-Identifier: MIT */
/* bench_input.cu: test images made on the device from a seed: the same on every machine. */
#include "bench.h"

#include <math.h>
#include <string.h>

/* Inputs rotate through at least so many bytes, several times any L2 cache. */
static const size_t POOL_BYTES = (size_t)512 << 20;

const char *bench_pattern_name(BenchPattern pattern)
{
    static const char *const names[BENCH_PATTERNS + 1] = {
        "random", "smooth", "12bit", "skewed", "constant", "checkerboard", "noise"};
    return names[pattern];
}

BenchCase bench_case(const char *group, ImgstatSample sample, uint16_t channels,
                     BenchPattern pattern, size_t bytes)
{
    BenchCase c;
    const size_t pixels = bytes / (channels * imgstat_sample_bytes(sample));
    memset(&c, 0, sizeof c);
    c.group = group;
    c.sample = sample;
    c.channels = channels;
    c.pattern = pattern;
    c.width = 64;
    while (c.width < 16384 && (size_t)c.width * c.width < pixels)
        c.width *= 2;
    c.height = (uint32_t)(pixels / c.width);
    c.images = 1;
    c.samples = (size_t)c.width * c.height * channels;
    c.bytes = c.samples * imgstat_sample_bytes(sample);
    return c;
}

const void *bench_slot(const Bench *bench, const BenchCase *c, size_t turn)
{
    return bench->pool + (c->cached ? 0 : turn % bench->slots * bench->slot_bytes);
}

static __device__ uint64_t mix(uint64_t z) /* splitmix64's finalizer */
{
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* 16 bits that a channel of a pixel holds; narrower and wider types follow from them. */
static __device__ uint32_t sample_16(BenchPattern pattern, uint32_t x, uint64_t y, uint32_t channel,
                                     uint64_t r)
{
    const uint32_t wave = (uint32_t)(x * 13 + y * 7 + channel * 9000) % 131072;
    const uint32_t slope = wave < 65536 ? wave : 131071 - wave;
    const uint32_t smooth = min(slope + (uint32_t)(r >> 56), 65535u);
    float u = (float)(r >> 40) * 0x1p-24f;
    switch (pattern) {
    case BENCH_SMOOTH:
        return smooth;
    case BENCH_TWELVE_BIT:
        return smooth >> 4;
    case BENCH_SKEWED:
        u *= u;
        u *= u;
        return (uint32_t)(u * u * 65535.0f);
    case BENCH_CONSTANT:
        return 0x5A5A;
    case BENCH_CHECKERBOARD:
        return (x + y) & 1 ? 65535 : 0;
    default:
        return (uint32_t)(r >> 48);
    }
}

/* One thread a sample. f32 and f64, but of noise: multiples of 1/64 in +-512, so that every order
 * of addition in double gives the same sum; u32 and u64: as u16. */
static __global__ void fill_samples(void *pool, size_t samples, ImgstatSample sample,
                                    uint32_t channels, uint32_t width, BenchPattern pattern,
                                    uint64_t seed)
{
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= samples)
        return;
    const size_t pixel = i / channels;
    const uint64_t r = mix(seed + (i + 1) * 0x9E3779B97F4A7C15u);
    const uint32_t v =
        sample_16(pattern, (uint32_t)(pixel % width), pixel / width, (uint32_t)(i % channels), r);
    if (pattern == BENCH_NOISE && sample == IMGSTAT_F32)
        ((float *)pool)[i] = (float)(int32_t)r * 0x1p-22f;
    else if (pattern == BENCH_NOISE && sample == IMGSTAT_F64)
        ((double *)pool)[i] = (double)(int64_t)r * 0x1p-54;
    else if (pattern == BENCH_NOISE && sample == IMGSTAT_U32)
        ((uint32_t *)pool)[i] = (uint32_t)r;
    else if (sample == IMGSTAT_U8)
        ((uint8_t *)pool)[i] = (uint8_t)(pattern == BENCH_TWELVE_BIT ? v >> 8 << 4 : v >> 8);
    else if (sample == IMGSTAT_U16)
        ((uint16_t *)pool)[i] = (uint16_t)v;
    else if (sample == IMGSTAT_I32)
        ((uint32_t *)pool)[i] = pattern == BENCH_RANDOM ? (uint32_t)r : v - 32768;
    else if (sample == IMGSTAT_U32)
        ((uint32_t *)pool)[i] = v;
    else if (sample == IMGSTAT_U64)
        ((uint64_t *)pool)[i] = v;
    else if (sample == IMGSTAT_F64)
        ((double *)pool)[i] = ((double)v - 32768.0) * (1.0 / 64);
    else
        ((float *)pool)[i] = ((float)v - 32768.0f) * (1.0f / 64);
}

bool bench_input(Bench *bench, const BenchCase *c)
{
    enum { BLOCK = 256 };
    bench->slot_bytes = (c->bytes + 511) / 512 * 512;
    bench->slots = POOL_BYTES / bench->slot_bytes;
    if (bench->slots < 2 && c->images == 1)
        bench->slots = 2;
    if (bench->slots < 1 || c->cached)
        bench->slots = 1;
    const size_t bytes = bench->slots * bench->slot_bytes;
    if (bytes > bench->pool_bytes) {
        cudaFree(bench->pool);
        bench->pool = NULL;
        bench->pool_bytes = 0;
        if (!bench_ok(bench, cudaMalloc((void **)&bench->pool, bytes), "cudaMalloc of inputs"))
            return false;
        bench->pool_bytes = bytes;
    }
    for (size_t s = 0; s < bench->slots; s++) { /* each slot an image that starts at (0, 0) */
        fill_samples<<<(unsigned)((c->samples + BLOCK - 1) / BLOCK), BLOCK, 0, bench->stream>>>(
            bench->pool + s * bench->slot_bytes, c->samples, c->sample, c->channels, c->width,
            c->pattern, bench->options.seed + (s << 40));
        if (!bench_ok(bench, cudaGetLastError(), "fill_samples"))
            return false;
    }
    return bench_ok(bench, cudaStreamSynchronize(bench->stream), "fill_samples");
}
