/* SPDX-License-Identifier: MIT */
/* test_inflate.cu: the inflating kernel on streams of every kind that zlib writes, many in a
 * launch: their bytes, and nothing written beside the outputs. test_hostile.cu has damaged ones. */
#include "codec/inflate_streams.h"

#include "deflate_streams.h"

#include <cuda_runtime.h>
#include <stdio.h>
#include <vector>

enum { GUARD = 32, SKIPPED = 77 };

typedef std::vector<uint8_t> Bytes;

static struct {
    size_t streams, bytes, failures;
    uint64_t state;
} test;

static void fatal(cudaError_t status, const char *what)
{
    if (status == cudaSuccess)
        return;
    fprintf(stderr, "test_inflate: %s: %s\n", what, cudaGetErrorString(status));
    exit(1);
}

/* A stream and its output. */
struct Case {
    Bytes stream, expected;
};

static void fail(size_t i, const char *what)
{
    if (test.failures++ < 20)
        printf("stream %zu: %s\n", i, what);
}

static size_t padded(size_t bytes, size_t to)
{
    return (bytes + to - 1) / to * to;
}

/* Decompresses all of them in one launch, guards between the outputs. */
static void check(const std::vector<Case> &cases)
{
    const size_t n = cases.size();
    size_t n_in = 0, n_out = GUARD;
    std::vector<DeflatedStream> streams(n);
    for (size_t i = 0; i < n; i++) {
        streams[i] = {NULL, (uint32_t)cases[i].stream.size(), NULL,
                      (uint32_t)cases[i].expected.size(), 1u << 15};
        n_in += padded(cases[i].stream.size(), 4);
        n_out += cases[i].expected.size() + GUARD;
    }
    uint8_t *in = NULL, *out = NULL;
    DeflatedStream *streams_there = NULL;
    uint32_t *verdicts_there = NULL;
    fatal(cudaMalloc(&in, n_in + 4), "cudaMalloc");
    fatal(cudaMalloc(&out, n_out), "cudaMalloc");
    fatal(cudaMalloc(&streams_there, n * sizeof(DeflatedStream)), "cudaMalloc");
    fatal(cudaMalloc(&verdicts_there, n * sizeof(uint32_t)), "cudaMalloc");
    Bytes all_in(n_in + 4), all_out(n_out);
    size_t in_at = 0, out_at = GUARD;
    for (size_t i = 0; i < n; i++) {
        streams[i].in = in + in_at;
        streams[i].out = out + out_at;
        if (!cases[i].stream.empty())
            memcpy(&all_in[in_at], cases[i].stream.data(), cases[i].stream.size());
        in_at += padded(cases[i].stream.size(), 4);
        out_at += cases[i].expected.size() + GUARD;
    }
    fatal(cudaMemcpy(in, all_in.data(), all_in.size(), cudaMemcpyHostToDevice), "upload");
    fatal(cudaMemcpy(streams_there, streams.data(), n * sizeof(DeflatedStream),
                     cudaMemcpyHostToDevice),
          "upload");
    fatal(cudaMemset(out, POISON, n_out), "cudaMemset");
    fatal(cudaMemset(verdicts_there, POISON, n * sizeof(uint32_t)), "cudaMemset");
    fatal(cuda_inflate(streams_there, n, verdicts_there, 0), "cuda_inflate");
    std::vector<uint32_t> verdicts(n);
    fatal(cudaMemcpy(verdicts.data(), verdicts_there, n * sizeof(uint32_t), cudaMemcpyDeviceToHost),
          "inflate_streams");
    fatal(cudaMemcpy(all_out.data(), out, n_out, cudaMemcpyDeviceToHost), "download");

    out_at = GUARD;
    if (!guard_holds(all_out.data(), GUARD))
        fail(0, "written before the first output");
    for (size_t i = 0; i < n; i++) {
        const size_t bytes = cases[i].expected.size();
        if (verdicts[i] != 0)
            fail(i, "refused");
        else if (bytes > 0 && memcmp(&all_out[out_at], cases[i].expected.data(), bytes) != 0)
            fail(i, "other bytes");
        if (!guard_holds(&all_out[out_at + bytes], GUARD))
            fail(i, "written behind the output");
        out_at += bytes + GUARD;
        test.bytes += bytes;
    }
    test.streams += n;
    fatal(cudaFree(in), "cudaFree");
    fatal(cudaFree(out), "cudaFree");
    fatal(cudaFree(streams_there), "cudaFree");
    fatal(cudaFree(verdicts_there), "cudaFree");
}

static void check_kinds(unsigned kinds)
{
    static const size_t sizes[] = {0, 1, 2, 3, 100, 258, 259, 5000, 40000, 300000};
    std::vector<Case> cases;
    Bytes content(300000);
    for (unsigned kind = 0; kind < STREAM_CONTENTS; kind++)
        for (const size_t size : sizes) {
            stream_content(content.data(), size, kind, &test.state);
            for (unsigned k = 0; k < kinds; k++) {
                uint8_t *stream;
                const size_t bytes =
                    stream_deflate(content.data(), size, stream_kind(&test.state), &stream);
                cases.push_back({Bytes(stream, stream + bytes),
                                 Bytes(content.begin(), content.begin() + (long)size)});
                free(stream);
            }
        }
    check(cases);
}

int main(void)
{
    const char *required = getenv("IMGSTAT_REQUIRE_CUDA");
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        printf("no CUDA device\n");
        return required && *required == '1' ? 1 : SKIPPED;
    }
    test.state = 1;
    check_kinds(is_run(1, 2) ? 20 : 1);
    printf("%zu streams, %zu bytes: %zu failures\n", test.streams, test.bytes, test.failures);
    return test.failures > 0;
}
