/* SPDX-License-Identifier: MIT */
/* test_inflate.cu: the inflating kernel against zlib: streams of every kind, and damaged ones, many
 * in a launch: the same bytes, the same verdicts, and nothing written beside the outputs.
 * usage: gpu_inflate [DAMAGED_STREAMS] */
#include "codec/inflate_streams.h"

#include "deflate_streams.h"

#include <cuda_runtime.h>
#include <stdio.h>
#include <vector>

enum { GUARD = 32, SKIPPED = 77 };

typedef std::vector<uint8_t> Bytes;

static struct {
    size_t streams, right, bytes, failures;
    uint64_t state;
} test;

static void fatal(cudaError_t status, const char *what)
{
    if (status == cudaSuccess)
        return;
    fprintf(stderr, "test_inflate: %s: %s\n", what, cudaGetErrorString(status));
    exit(1);
}

/* A stream, its output by zlib, and whether zlib accepts it. */
struct Case {
    Bytes stream, expected;
    bool right;
};

static Case case_of(const uint8_t *stream, size_t bytes, size_t n)
{
    Case c = {Bytes(stream, stream + bytes), Bytes(n), false};
    c.right = stream_inflate(c.stream.data(), bytes, c.expected.data(), n);
    return c;
}

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
        if (cases[i].right != (verdicts[i] == 0))
            fail(i, cases[i].right ? "refused" : "accepted, but not by zlib");
        else if (cases[i].right && bytes > 0 &&
                 memcmp(&all_out[out_at], cases[i].expected.data(), bytes) != 0)
            fail(i, "other bytes than zlib");
        if (!guard_holds(&all_out[out_at + bytes], GUARD))
            fail(i, "written behind the output");
        out_at += bytes + GUARD;
        test.right += cases[i].right;
        test.bytes += bytes;
    }
    test.streams += n;
    fatal(cudaFree(in), "cudaFree");
    fatal(cudaFree(out), "cudaFree");
    fatal(cudaFree(streams_there), "cudaFree");
    fatal(cudaFree(verdicts_there), "cudaFree");
}

/* Each input and output in an allocation of its own, which compute-sanitizer watches. */
static void check_alone(size_t n)
{
    std::vector<DeflatedStream> streams;
    std::vector<uint32_t *> verdicts;
    for (size_t i = 0; i < n; i++) {
        uint8_t content[3000], *stream;
        const size_t size = 1 + (size_t)(splitmix64(&test.state) % sizeof content);
        stream_content(content, size, (unsigned)i, &test.state);
        size_t bytes = stream_deflate(content, size, stream_kind(&test.state), &stream);
        if (i % 3)
            bytes = stream_damage(stream, bytes, &test.state);
        DeflatedStream one = {NULL, (uint32_t)bytes, NULL, (uint32_t)size, 1u << 15};
        DeflatedStream *there = NULL;
        uint32_t *verdict = NULL;
        uint8_t *in = NULL, *out = NULL;
        fatal(cudaMalloc(&in, bytes ? bytes : 1), "cudaMalloc");
        fatal(cudaMalloc(&out, size), "cudaMalloc");
        fatal(cudaMalloc(&there, sizeof one), "cudaMalloc");
        fatal(cudaMalloc(&verdict, sizeof *verdict), "cudaMalloc");
        one.in = in;
        one.out = out;
        fatal(cudaMemcpy(in, stream, bytes, cudaMemcpyHostToDevice), "upload");
        fatal(cudaMemcpy(there, &one, sizeof one, cudaMemcpyHostToDevice), "upload");
        fatal(cuda_inflate(there, 1, verdict, 0), "cuda_inflate");
        fatal(cudaDeviceSynchronize(), "inflate_streams");
        for (void *memory : {(void *)in, (void *)out, (void *)there, (void *)verdict})
            fatal(cudaFree(memory), "cudaFree");
        free(stream);
    }
    test.streams += n;
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
                cases.push_back(case_of(stream, bytes, size));
                free(stream);
            }
        }
    check(cases);
    if (test.right != cases.size())
        fail(0, "zlib refuses a stream of its own");
}

static void check_damaged(size_t streams)
{
    enum { EACH = 50, LAUNCH = 50000 };
    std::vector<Case> cases;
    for (size_t i = 0; i < streams / EACH; i++) {
        uint8_t content[6000], *stream;
        const size_t most = !is_run(1, 2) ? 200 : i % 8 ? 1000 : sizeof content;
        const size_t n = (size_t)(splitmix64(&test.state) % most);
        stream_content(content, n, (unsigned)i, &test.state);
        const size_t bytes = stream_deflate(content, n, stream_kind(&test.state), &stream);
        Bytes damaged(bytes);
        for (unsigned j = 0; j < EACH; j++) {
            memcpy(damaged.data(), stream, bytes);
            size_t left = stream_damage(damaged.data(), bytes, &test.state);
            if (j % 4 == 3)
                left = stream_damage(damaged.data(), left, &test.state);
            cases.push_back(case_of(damaged.data(), left, j % 5 == 4 && n > 0 ? n + j % 3 - 1 : n));
        }
        free(stream);
        if (cases.size() >= LAUNCH) {
            check(cases);
            cases.clear();
        }
    }
    if (!cases.empty())
        check(cases);
}

int main(int argc, char **argv)
{
    const char *required = getenv("IMGSTAT_REQUIRE_CUDA");
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        printf("no CUDA device\n");
        return required && *required == '1' ? 1 : SKIPPED;
    }
    test.state = 1;
    check_kinds(is_run(1, 2) ? 20 : 1);
    printf("%zu streams of zlib, %zu bytes\n", test.streams, test.bytes);
    const size_t damaged = is_run(1, 2) ? 400000 : 5000;
    check_damaged(argc > 1 ? strtoull(argv[1], NULL, 10) : damaged);
    check_alone(is_run(1, 2) ? 300 : 100);
    printf("%zu streams, %zu of them right, %zu bytes: %zu failures\n", test.streams, test.right,
           test.bytes, test.failures);
    return test.failures > 0 || test.right < test.streams / 20;
}
