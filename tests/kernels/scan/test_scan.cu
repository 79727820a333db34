/* SPDX-License-Identifier: MIT */
/* test_scan.cu: prefix sums by each kernel, against a serial loop, at sizes around the boundaries
 * of tiles and rings, from and to odd places. */
#include "scan/scan.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <vector>

enum { GUARD = 64, SKIPPED = 77 };

static struct {
    size_t cases, elements, failures;
    uint64_t state;
    bool small, rings;
} test;

static void fatal(cudaError_t status, const char *what)
{
    if (status == cudaSuccess)
        return;
    fprintf(stderr, "test_scan: %s: %s\n", what, cudaGetErrorString(status));
    exit(1);
}

static uint64_t random64(void)
{
    return splitmix64(&test.state);
}

static cudaError_t scan(ScanKernel kernel, const uint32_t *in, uint32_t *out, size_t n,
                        bool inclusive, void *scratch)
{
    return cuda_scan_u32(kernel, in, out, n, inclusive, scratch, 0);
}

static cudaError_t scan(ScanKernel kernel, const uint64_t *in, uint64_t *out, size_t n,
                        bool inclusive, void *scratch)
{
    return cuda_scan_u64(kernel, in, out, n, inclusive, scratch, 0);
}

/* Where an array begins, in items after a 256-byte boundary, and which way it is scanned. */
typedef struct Case {
    ScanKernel kernel;
    size_t n, in_at, out_at;
    bool inclusive, in_place;
} Case;

/* Room for an array, what may lie before it, and a guard behind. */
template <typename T> static size_t room(size_t n)
{
    return (n + 4) * sizeof(T) + GUARD;
}

template <typename T>
static void check(const Case &c, const std::vector<T> &data, unsigned char *in, unsigned char *out,
                  void *scratch)
{
    const size_t bytes = c.n * sizeof(T);
    T *const from = (T *)in + c.in_at, *const to = c.in_place ? from : (T *)out + c.out_at;
    unsigned char *const base = c.in_place ? in : out;
    const size_t before = (size_t)((unsigned char *)to - base);
    fatal(cudaMemset(in, POISON, room<T>(c.n)), "cudaMemset");
    fatal(cudaMemset(out, POISON, room<T>(c.n)), "cudaMemset");
    fatal(cudaMemset(scratch, POISON, cuda_scan_scratch(c.n)), "cudaMemset");
    fatal(cudaMemcpy(from, data.data(), bytes, cudaMemcpyHostToDevice), "upload");
    fatal(scan(c.kernel, from, to, c.n, c.inclusive, scratch), "scan");
    std::vector<unsigned char> got(room<T>(c.n));
    fatal(cudaMemcpy(got.data(), base, got.size(), cudaMemcpyDeviceToHost), "download");

    size_t wrong = 0, first = 0;
    T sum = 0;
    for (size_t i = 0; i < c.n; i++) {
        T result;
        memcpy(&result, got.data() + before + i * sizeof(T), sizeof(T));
        const T expected = c.inclusive ? (T)(sum + data[i]) : sum;
        sum = (T)(sum + data[i]);
        first = result != expected && wrong == 0 ? i : first;
        wrong += result != expected;
    }
    size_t touched = 0;
    for (size_t i = 0; i < got.size(); i++)
        touched += (i < before || i >= before + bytes) && got[i] != POISON;
    test.cases++;
    test.elements += c.n;
    if ((wrong || touched) && ++test.failures <= 10)
        fprintf(stderr,
                "scan of %zu u%zu, kernel %d, from %zu to %zu, inclusive %d, in place %d: %zu "
                "wrong, first %zu; %zu bytes outside written\n",
                c.n, sizeof(T) * 8, (int)c.kernel, c.in_at, c.out_at, c.inclusive, c.in_place,
                wrong, first, touched);
}

template <typename T> static void check_size(size_t n)
{
    static const size_t places[][2] = {{0, 0}, {1, 1}, {1, 0}, {0, 1}, {3, 2}};
    std::vector<T> data(n);
    for (T &x : data)
        x = (T)random64();
    unsigned char *in, *out;
    void *scratch;
    fatal(cudaMalloc((void **)&in, room<T>(n)), "cudaMalloc");
    fatal(cudaMalloc((void **)&out, room<T>(n)), "cudaMalloc");
    fatal(cudaMalloc(&scratch, cuda_scan_scratch(n)), "cudaMalloc");
    for (const size_t(&place)[2] : places) {
        for (int way = 0; way < 4; way++) {
            const bool in_place = way & 1, aligned = place[0] == 0 && (in_place || place[1] == 0);
            for (int kernel = SCAN_BEST; kernel <= SCAN_RINGS; kernel++) {
                const Case c = {(ScanKernel)kernel, n,       place[0], place[1],
                                (way & 2) != 0,     in_place};
                if (kernel != SCAN_RINGS || (aligned && test.rings))
                    check(c, data, in, out, scratch);
            }
        }
    }
    fatal(cudaFree(in), "cudaFree");
    fatal(cudaFree(out), "cudaFree");
    fatal(cudaFree(scratch), "cudaFree");
}

/* Tiles are of 32 KiB; a device has a ring of up to 8 of them a multiprocessor. */
template <typename T> static void check_sizes(size_t multiprocessors)
{
    const size_t tile = (32 << 10) / sizeof(T), wave = tile * multiprocessors;
    const std::vector<size_t> few = {0,    1,        2,        3,        4,
                                     31,   33,       255,      1025,     tile - 1,
                                     tile, tile + 1, tile + 5, 2 * tile, 7 * tile + 2};
    const std::vector<size_t> many = {6 * tile,     8 * tile - 1, 13 * tile,    wave - 1,
                                      wave,         wave + 1,     2 * wave + 1, 6 * wave - 1,
                                      6 * wave + 3, 9 * wave + 77};
    for (const size_t n : few)
        check_size<T>(n);
    for (size_t i = 0; i < many.size() && !test.small; i++)
        check_size<T>(many[i]);
}

int main(int argc, char **argv)
{
    const char *const required = getenv("IMGSTAT_REQUIRE_CUDA");
    const char *const small = getenv("IMGSTAT_TEST_SMALL");
    int devices = 0, multiprocessors = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        printf("test_scan: no CUDA device\n");
        return required && *required == '1' ? 1 : SKIPPED;
    }
    test.small = small && *small == '1';
    test.state = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)time(NULL);
    printf("test_scan: seed %llu\n", (unsigned long long)test.state);
    fatal(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0), "device");

    uint32_t *probe;
    fatal(cudaMalloc((void **)&probe, 4096), "cudaMalloc");
    fatal(cudaMemset(probe, 0, 4096), "cudaMemset");
    const cudaError_t can = cuda_scan_u32(SCAN_RINGS, probe, probe, 4, true, probe + 512, 0);
    test.rings = can != cudaErrorNotSupported;
    fatal(test.rings ? can : cudaSuccess, "scan by rings");
    if (cuda_scan_u32(SCAN_RINGS, probe + 1, probe, 4, true, probe + 512, 0) !=
        cudaErrorMisalignedAddress) {
        fprintf(stderr, "test_scan: rings take arrays that are off their boundary\n");
        test.failures++;
    }
    fatal(cudaFree(probe), "cudaFree");

    check_sizes<uint32_t>((size_t)multiprocessors);
    check_sizes<uint64_t>((size_t)multiprocessors);
    printf("test_scan: %zu cases, %zu elements, rings %s, %zu failures\n", test.cases,
           test.elements, test.rings ? "tested" : "not supported here", test.failures);
    return test.failures > 0 || test.cases == 0;
}
