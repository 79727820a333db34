/* SPDX-License-Identifier: MIT */
/* test_parted.cu: the kernels that decompress streams in parts, on streams of every kind that zlib
 * writes and on damaged ones, many in a launch: verdict and bytes of zlib, and nothing written
 * beside the outputs. */
#include "codec/parted.cuh"

#include "deflate_streams.h"

#include <cuda_runtime.h>
#include <stdio.h>
#include <vector>

enum { SKIPPED = 77, ALIGN = 16, ROUND = 100, BYTES = 400000 };

typedef std::vector<uint8_t> Bytes;

static struct {
    size_t streams, right, bytes, failures;
    uint64_t state;
} test;

static void fatal(cudaError_t status, const char *what)
{
    if (status == cudaSuccess)
        return;
    fprintf(stderr, "test_parted: %s: %s\n", what, cudaGetErrorString(status));
    exit(1);
}

/* A stream, and what zlib makes of it. */
struct Case {
    Bytes stream, expected;
    bool right;
};

static void fail(size_t i, const char *what)
{
    if (test.failures++ < 20)
        printf("stream %zu: %s\n", i, what);
}

static void add_case(std::vector<Case> *cases, const uint8_t *stream, size_t bytes, size_t n)
{
    Case c = {Bytes(stream, stream + bytes), Bytes(n + !n), false};
    c.right = stream_inflate(stream, bytes, c.expected.data(), n);
    c.expected.resize(n);
    cases->push_back(c);
}

/* Decompresses all of them at once, in rounds; guards are between the outputs. */
static void check(const std::vector<Case> &cases)
{
    const size_t n = cases.size();
    size_t n_in = 0, n_out = ALIGN, n_scratch = 0;
    std::vector<PartedStream> streams(n);
    for (size_t i = 0, at = 0; i < n; i++) {
        PartedStream &p = streams[i];
        p = {};
        p.before = (uint32_t)i % 4;
        p.in = n_in;
        p.n_in = p.before + (uint32_t)cases[i].stream.size();
        p.out = n_out;
        p.n_out = (uint32_t)cases[i].expected.size();
        p.window = 1u << 15;
        p.check = (uint32_t)i;
        at = parted_place(&p, i % ROUND ? at : 0);
        n_scratch = at > n_scratch ? at : n_scratch;
        n_in += padded(p.n_in, ALIGN);
        n_out += padded(p.n_out, ALIGN) + ALIGN;
    }
    uint8_t *in = NULL, *out = NULL, *scratch = NULL;
    PartedStream *there = NULL;
    DeflatedCheck *checks_there = NULL;
    fatal(cudaMalloc(&in, n_in), "cudaMalloc");
    fatal(cudaMalloc(&out, n_out), "cudaMalloc");
    fatal(cudaMalloc(&scratch, n_scratch), "cudaMalloc");
    fatal(cudaMalloc(&there, n * sizeof(PartedStream)), "cudaMalloc");
    fatal(cudaMalloc(&checks_there, n * sizeof(DeflatedCheck)), "cudaMalloc");
    Bytes all_in(n_in, 0xFF), all_out(n_out);
    for (size_t i = 0; i < n; i++) {
        PartedStream &p = streams[i];
        if (!cases[i].stream.empty())
            memcpy(&all_in[p.in + p.before], cases[i].stream.data(), cases[i].stream.size());
        p.in += (uint64_t)in;
        p.out += (uint64_t)out;
        parted_move(&p, (uint64_t)scratch);
    }
    fatal(cudaMemcpy(in, all_in.data(), n_in, cudaMemcpyHostToDevice), "upload");
    fatal(cudaMemcpy(there, streams.data(), n * sizeof(PartedStream), cudaMemcpyHostToDevice),
          "upload");
    fatal(cudaMemset(out, POISON, n_out), "cudaMemset");
    fatal(cudaMemset(scratch, POISON, n_scratch), "cudaMemset");
    fatal(cudaMemset(checks_there, 0, n * sizeof(DeflatedCheck)), "cudaMemset");
    fatal(launch_inflate_parted(streams.data(), there, n, checks_there, 0), "launch");
    std::vector<DeflatedCheck> checks(n);
    fatal(
        cudaMemcpy(checks.data(), checks_there, n * sizeof(DeflatedCheck), cudaMemcpyDeviceToHost),
        "kernels");
    fatal(cudaMemcpy(all_out.data(), out, n_out, cudaMemcpyDeviceToHost), "download");

    if (!guard_holds(all_out.data(), ALIGN))
        fail(0, "written before the first output");
    for (size_t i = 0; i < n; i++) {
        const size_t bytes = cases[i].expected.size(), at = streams[i].out - (uint64_t)out;
        if (cases[i].right != (checks[i].doubt == 0))
            fail(i, cases[i].right ? "refused" : "not refused");
        else if (cases[i].right && bytes > 0 &&
                 memcmp(&all_out[at], cases[i].expected.data(), bytes) != 0)
            fail(i, "other bytes");
        if (!guard_holds(&all_out[at + padded(bytes, ALIGN)], ALIGN))
            fail(i, "written behind the output");
        test.bytes += bytes;
        test.right += cases[i].right;
    }
    test.streams += n;
    fatal(cudaFree(in), "cudaFree");
    fatal(cudaFree(out), "cudaFree");
    fatal(cudaFree(scratch), "cudaFree");
    fatal(cudaFree(there), "cudaFree");
    fatal(cudaFree(checks_there), "cudaFree");
}

/* n bytes of two contents, one behind the other. */
static size_t make_stream(uint8_t *content, size_t n, unsigned kind, uint8_t **stream)
{
    const size_t half = n / 2;
    stream_content(content, half, kind, &test.state);
    stream_content(content + half, n - half, kind + kind / STREAM_CONTENTS, &test.state);
    return stream_deflate(content, n, stream_kind(&test.state), stream);
}

static void check_kinds(unsigned kinds)
{
    static const size_t sizes[] = {0, 1, 100, 4095, 4096, 8193, 60000, BYTES};
    std::vector<Case> cases;
    Bytes content(BYTES);
    for (unsigned kind = 0; kind < 2 * STREAM_CONTENTS; kind++)
        for (const size_t size : sizes)
            for (unsigned k = 0; k < kinds && (size < BYTES || is_run(kind, 8)); k++) {
                uint8_t *stream;
                const size_t bytes = make_stream(content.data(), size, kind, &stream);
                add_case(&cases, stream, bytes, size);
                free(stream);
            }
    check(cases);
}

/* Streams of many groups, in which bytes of every part are those of the first one. */
static void check_long(unsigned damaged)
{
    enum { LARGE = 9 * PART_GROUP * PART_OUTPUT_LEAST + 5000 };
    static const unsigned repeats[] = {29, 300, 5000};
    std::vector<Case> cases;
    Bytes content(LARGE);
    for (unsigned k = 0; k < 12; k++) {
        uint8_t *stream;
        for (size_t i = 0; i < content.size(); i++)
            content[i] = i < 20000 || i % repeats[k % 3] == 0 ? (uint8_t)splitmix64(&test.state)
                                                              : content[i - 20000];
        const StreamKind kind = {k % 2 ? 9 : 1, Z_DEFAULT_STRATEGY, 15, 1 + (int)k % 9,
                                 k / 3 % 2 ? Z_SYNC_FLUSH : Z_NO_FLUSH};
        const size_t bytes = stream_deflate(content.data(), content.size(), kind, &stream);
        add_case(&cases, stream, bytes, content.size());
        for (unsigned i = 0; i < damaged; i++)
            add_case(&cases, stream, stream_damage(stream, bytes, &test.state), content.size());
        free(stream);
    }
    check(cases);
}

static void check_damaged(unsigned streams)
{
    std::vector<Case> cases;
    Bytes content(60000);
    for (unsigned k = 0; k < streams; k++) {
        const size_t n = splitmix64(&test.state) % content.size();
        uint8_t *stream;
        const size_t bytes = make_stream(content.data(), n, k, &stream);
        for (unsigned j = 0; j < 10; j++) {
            Bytes damaged(stream, stream + bytes);
            size_t left = stream_damage(damaged.data(), bytes, &test.state);
            if (j % 4 == 3)
                left = stream_damage(damaged.data(), left, &test.state);
            add_case(&cases, damaged.data(), left, j % 5 == 4 ? n + j % 3 - 1 + !n : n);
        }
        free(stream);
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
    check_kinds(is_run(1, 2) ? 5 : 1);
    check_damaged(is_run(1, 2) ? 500 : 20);
    if (is_run(1, 2))
        check_long(3);
    printf("%zu streams, %zu of them right, %zu bytes: %zu failures\n", test.streams, test.right,
           test.bytes, test.failures);
    return test.failures > 0;
}
