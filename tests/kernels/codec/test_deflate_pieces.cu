/* SPDX-License-Identifier: MIT */
/* test_deflate_pieces.cu: the deflating kernel against the coder of the processor: the same bytes
 * and checksums of pieces of every kind, many in a launch, and nothing written beside them. */
#include "codec/deflate_pieces.h"

#include "deflate_patterns.h"
#include "support.h"

extern "C" {
#include "codec/deflate.h"
#include "codec/match_gain.h"
}

#include <stdio.h>
#include <time.h>
#include <vector>

enum { GUARD = 32, SKIPPED = 77, MOST = 200000 };

typedef std::vector<uint8_t> Bytes;

static struct {
    size_t pieces, bytes, failures, pay, searched;
    uint64_t state;
} test;

static void fatal(cudaError_t status, const char *what)
{
    if (status == cudaSuccess)
        return;
    fprintf(stderr, "test_deflate_pieces: %s: %s\n", what, cudaGetErrorString(status));
    exit(1);
}

template <typename T> static T *device_memory(size_t n)
{
    void *memory;
    fatal(cudaMalloc(&memory, (n + 1) * sizeof(T)), "cudaMalloc");
    return (T *)memory;
}

struct Case {
    Bytes bytes;
    bool last;
};

static void fail(const Case &c, DeflateCoding coding, const char *what, size_t at)
{
    if (test.failures++ < 20)
        printf("%zu bytes, coding %d, last %d: %s, %zu\n", c.bytes.size(), (int)coding, c.last,
               what, at);
}

/* What the processor makes of a piece, and what the device has at its place, guards around it. */
static void compare(DeflateCoder *coder, DeflateCoding coding, const Case &c,
                    const DeflatedPiece &result, const uint8_t *got)
{
    const size_t room = deflate_pieces_bound(c.bytes.size());
    Bytes expected(deflate_coder_bound(c.bytes.size()));
    const size_t n =
        deflate_coder_write(coder, coding, c.bytes.data(), c.bytes.size(), c.last, expected.data());
    test.pieces++;
    test.bytes += c.bytes.size();
    if (result.bytes != n)
        fail(c, coding, "size differs", result.bytes);
    for (size_t i = 0; i < n && i < room; i++) {
        if (got[i] != expected[i]) {
            fail(c, coding, "byte differs", i);
            break;
        }
    }
    if (result.adler != deflate_adler(c.bytes.data(), c.bytes.size()))
        fail(c, coding, "checksum differs", result.adler);
    if (n > room)
        fail(c, coding, "the bound is too small", room);
    if (!guard_holds(got - GUARD, GUARD) || !guard_holds(got + room, GUARD))
        fail(c, coding, "bytes beside the output", room);
}

/* Compares whether matches pay. */
static void check_gain(DeflateCoder *coder, DeflateCoding coding, const DeflatePiece *pieces,
                       const std::vector<Case> &cases)
{
    const size_t n = cases.size();
    Bytes got(n);
    MatchGain gain;
    uint8_t *const pays = device_memory<uint8_t>(n);
    fatal(cudaMemset(pays, POISON, n), "cudaMemset");
    fatal(cuda_match_gain(coding, pieces, n, pays, 0), "match gain");
    fatal(cudaMemcpy(got.data(), pays, n, cudaMemcpyDeviceToHost), "download");
    for (size_t i = 0; i < n; i++) {
        const Bytes &bytes = cases[i].bytes;
        const bool expected =
            match_gain_pays(&gain, coder, bytes.data(), bytes.size(), coding == DEFLATE_RUNS_FAST);
        test.pay += expected;
        if (got[i] != expected)
            fail(cases[i], coding, "what matches gain differs", got[i]);
    }
    fatal(cudaFree(pays), "cudaFree");
}

/* The coding of the pieces of a launch that are searched for matches. */
static DeflateCoding searched(DeflateCoding coding)
{
    return coding == DEFLATE_RUNS_FAST ? DEFLATE_SEARCH_FAST : DEFLATE_SEARCH;
}

/* Compresses all of them in one launch. Their bytes begin at every place after a boundary, and the
 * last ones end with their memory. share: one piece in so many is not searched; 0: none is. */
static void check(DeflateCoder *coder, DeflateCoding coding, const std::vector<Case> &cases,
                  size_t share)
{
    const size_t n = cases.size();
    std::vector<DeflatePiece> pieces(n);
    std::vector<size_t> in_at(n), out_at(n);
    size_t n_in = 0, n_out = GUARD;
    for (size_t i = 0; i < n; i++) {
        const size_t bytes = cases[i].bytes.size();
        in_at[i] = n_in + i % 18;
        n_in = in_at[i] + bytes;
        out_at[i] = n_out;
        n_out += deflate_pieces_bound(bytes) + GUARD;
    }
    Bytes from(n_in), to(n_out);
    uint8_t *const in = device_memory<uint8_t>(n_in - 1), *const out =
                                                              device_memory<uint8_t>(n_out);
    for (size_t i = 0; i < n; i++) {
        const size_t bytes = cases[i].bytes.size();
        if (bytes > 0)
            memcpy(&from[in_at[i]], cases[i].bytes.data(), bytes);
        pieces[i].from = (uintptr_t)in + in_at[i];
        pieces[i].to = (uintptr_t)out + out_at[i];
        pieces[i].n = bytes;
        pieces[i].last = cases[i].last;
    }
    const uint32_t blocks = deflate_pieces_number(coding, pieces.data(), n);
    DeflatePiece *const device_pieces = device_memory<DeflatePiece>(n);
    DeflatedPiece *const device_results = device_memory<DeflatedPiece>(n);
    const size_t scratch_bytes = deflate_pieces_scratch(n, blocks);
    uint8_t *const scratch = device_memory<uint8_t>(scratch_bytes);
    std::vector<DeflatedPiece> results(n);
    fatal(cudaMemcpy(in, from.data(), n_in, cudaMemcpyHostToDevice), "upload");
    fatal(cudaMemcpy(device_pieces, pieces.data(), n * sizeof pieces[0], cudaMemcpyHostToDevice),
          "upload");
    fatal(cudaMemset(out, POISON, n_out), "cudaMemset");
    fatal(cudaMemset(scratch, POISON, scratch_bytes), "cudaMemset");
    fatal(cudaMemset(device_results, POISON, n * sizeof results[0]), "cudaMemset");
    Bytes pays(n);
    for (size_t i = 0; i < n; i++)
        pays[i] = share > 0 && i % share != share - 1;
    uint8_t *const device_pays = device_memory<uint8_t>(n);
    fatal(cudaMemcpy(device_pays, pays.data(), n, cudaMemcpyHostToDevice), "upload");
    fatal(cuda_deflate(coding, device_pieces, n, blocks, share > 0 ? device_pays : NULL,
                       device_results, scratch, 0),
          "deflate");
    fatal(cudaMemcpy(to.data(), out, n_out, cudaMemcpyDeviceToHost), "download");
    fatal(cudaMemcpy(results.data(), device_results, n * sizeof results[0], cudaMemcpyDeviceToHost),
          "download");
    for (size_t i = 0; i < n; i++) {
        const bool search = coding != DEFLATE_STORED && pays[i];
        test.searched += search;
        compare(coder, search ? searched(coding) : coding, cases[i], results[i], &to[out_at[i]]);
    }
    if (coding != DEFLATE_STORED)
        check_gain(coder, coding, device_pieces, cases);
    fatal(cudaFree(in), "cudaFree");
    fatal(cudaFree(out), "cudaFree");
    fatal(cudaFree(device_pieces), "cudaFree");
    fatal(cudaFree(device_results), "cudaFree");
    fatal(cudaFree(scratch), "cudaFree");
    fatal(cudaFree(device_pays), "cudaFree");
}

/* Every pattern at sizes around all boundaries. */
static std::vector<Case> pattern_cases(void)
{
    static const size_t sizes[] = {0,     1,     2,      7,      8,      9,      17,    63,
                                   64,    65,    127,    128,    129,    257,    4097,  8191,
                                   8193,  8207,  8208,   16384,  16385,  32768,  65535, 65536,
                                   65537, 65544, 131070, 131071, 131072, 131073, MOST};
    std::vector<Case> cases;
    size_t number = 0;
    for (int pattern = 0; pattern < PATTERNS; pattern++) {
        for (const size_t n : sizes) {
            for (int last = 0; last < 2; last++) {
                if (!is_run(number++, 11))
                    continue;
                Case c = {Bytes(n), last == 1};
                fill_pattern((Pattern)pattern, 3, c.bytes.data(), n);
                cases.push_back(c);
            }
        }
    }
    return cases;
}

/* Pieces of any size, whose parts have patterns of their own. */
static std::vector<Case> random_cases(size_t n)
{
    std::vector<Case> cases;
    for (size_t i = 0; i < n; i++) {
        const uint64_t r = splitmix64(&test.state);
        const size_t bytes = r % 8 == 0 ? r / 8 % 400000 : r % 8 < 4 ? r / 8 % 70000 : r / 8 % 3000;
        Case c = {Bytes(bytes), r >> 63 != 0};
        for (size_t at = 0; at < bytes;) {
            const uint64_t part = splitmix64(&test.state);
            const size_t left = bytes - at, most = 1 + (part >> 8) % 20000;
            const size_t taken = left < most ? left : most;
            fill_pattern((Pattern)(part % PATTERNS), (uint32_t)(part >> 32), &c.bytes[at], taken);
            at += taken;
        }
        cases.push_back(c);
    }
    return cases;
}

int main(int argc, char **argv)
{
    const char *const required = getenv("IMGSTAT_REQUIRE_CUDA");
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        printf("test_deflate_pieces: no CUDA device\n");
        return required && *required == '1' ? 1 : SKIPPED;
    }
    test.state = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)time(NULL);
    printf("test_deflate_pieces: seed %llu\n", (unsigned long long)test.state);
    DeflateCoder *const coder = deflate_coder_create();
    const std::vector<Case> patterns = pattern_cases();
    for (int coding = DEFLATE_STORED; coding <= DEFLATE_RUNS_FAST; coding++) {
        for (size_t share = 0; share <= 5; share += 5) {
            check(coder, (DeflateCoding)coding, patterns, share);
            check(coder, (DeflateCoding)coding, random_cases(is_run(1, 2) ? 300 : 12), share);
            check(coder, (DeflateCoding)coding, std::vector<Case>(1, patterns[0]), share);
        }
    }
    deflate_coder_destroy(coder);
    printf("test_deflate_pieces: %zu pieces, %zu bytes, matches pay in %zu, %zu were searched, %zu "
           "failures\n",
           test.pieces, test.bytes, test.pay, test.searched, test.failures);
    return test.failures > 0 || test.pieces == 0;
}
