/* SPDX-License-Identifier: MIT */
/* bench_inflate.cu: deflate streams of rows as PNG has them of photographs, many in a call: whole
 * images, and pieces as tiles of TIFF are. */
#include "bench_nvcomp.h"
#include "codec/parted.cuh"

#include <stdlib.h>
#include <string.h>
#include <vector>
#include <zlib.h>

enum { CONTENTS = 4, STREAM_ALIGN = 256, WINDOW = 1 << 15 };

typedef std::vector<unsigned char> Bytes;

/* What the rows of a case go through. */
typedef struct InflateWork {
    const DeflatedStream *streams; /* in device memory, like the verdicts */
    uint32_t *verdicts;
    const PartedStream *parted, *parted_there; /* the same streams */
    NvcompStreams *nvcomp;                     /* of the same streams */
} InflateWork;

/* Filtered samples of a photograph: small differences, larger where there is more to see, and now
 * and then what was there a row before. */
static Bytes filtered_bytes(size_t n, uint64_t seed)
{
    enum { ROW = 7000, CALM = 512 };
    Bytes bytes(n);
    uint64_t z = seed * 2 + 1;
    unsigned spread = 4;
    for (size_t i = 0; i < n; i++) {
        z = z * 6364136223846793005u + 1442695040888963407u;
        const unsigned r = (unsigned)(z >> 33);
        if (i % CALM == 0)
            spread = 1 + r % 12 * (r / 16 % 4);
        const int sum = (int)(r % spread + (r >> 8) % spread + (r >> 16) % spread);
        bytes[i] = (unsigned char)(sum - 3 * (int)(spread - 1) / 2);
        if (i >= ROW && i / CALM % 8 == 7)
            bytes[i] = bytes[i - ROW];
    }
    return bytes;
}

static Bytes deflated(const unsigned char *from, size_t n)
{
    enum { LEVEL = 6, RAW = -15, MEMORY = 8 };
    z_stream z;
    memset(&z, 0, sizeof z);
    Bytes to(compressBound((uLong)n));
    if (deflateInit2(&z, LEVEL, Z_DEFLATED, RAW, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
        abort();
    z.next_in = (Bytef *)(uintptr_t)from;
    z.avail_in = (uInt)n;
    z.next_out = to.data();
    z.avail_out = (uInt)to.size();
    if (deflate(&z, Z_FINISH) != Z_STREAM_END)
        abort();
    to.resize(z.total_out);
    (void)deflateEnd(&z);
    return to;
}

static size_t padded(size_t bytes)
{
    return (bytes + STREAM_ALIGN - 1) / STREAM_ALIGN * STREAM_ALIGN;
}

static cudaError_t call_inflate(Bench *bench, const BenchCase *c, void *work, const void *in)
{
    const InflateWork *const w = (const InflateWork *)work;
    (void)in;
    return cuda_inflate(w->streams, c->images, w->verdicts, bench->stream);
}

static cudaError_t call_parted(Bench *bench, const BenchCase *c, void *work, const void *in)
{
    const InflateWork *const w = (const InflateWork *)work;
    (void)in;
    return launch_inflate_parted(w->parted, w->parted_there, c->images, NULL, bench->stream);
}

static cudaError_t call_nvcomp(Bench *bench, const BenchCase *c, void *work, const void *in)
{
    const InflateWork *const w = (const InflateWork *)work;
    (void)c;
    (void)in;
    return nvcomp_inflate(bench, w->nvcomp, w->verdicts);
}

/* Whether all verdicts become 0 and every output its content. */
static bool is_right(Bench *bench, const BenchCase *c, const char *what, BenchCall call,
                     const InflateWork *work, const std::vector<Bytes> &contents)
{
    std::vector<uint32_t> verdicts(c->images);
    Bytes got(contents[0].size());
    if (!bench_ok(bench, cudaMemset(bench->out, 0xA5, c->images * padded(got.size())),
                  "cudaMemset") ||
        !bench_ok(bench, call(bench, c, (void *)work, NULL), what) ||
        !bench_ok(bench, cudaStreamSynchronize(bench->stream), what) ||
        !bench_ok(bench,
                  cudaMemcpy(verdicts.data(), work->verdicts, c->images * sizeof(uint32_t),
                             cudaMemcpyDeviceToHost),
                  "download"))
        return false;
    bool right = true;
    for (size_t i = 0; i < c->images && right; i++) {
        right = verdicts[i] == 0;
        if (i % 16 < CONTENTS && right)
            right = bench_ok(bench,
                             cudaMemcpy(got.data(),
                                        (unsigned char *)bench->out + i * padded(got.size()),
                                        got.size(), cudaMemcpyDeviceToHost),
                             "download") &&
                    memcmp(got.data(), contents[i % contents.size()].data(), got.size()) == 0;
    }
    return right;
}

/* The same streams, to be decompressed in parts. Returns what they need besides. */
static size_t part_streams(const std::vector<DeflatedStream> &streams, uint32_t *verdicts,
                           std::vector<PartedStream> *parted)
{
    size_t at = 0, most = 0;
    for (size_t i = 0; i < streams.size(); i++) {
        PartedStream p = {};
        p.in = (uint64_t)streams[i].in;
        p.out = (uint64_t)streams[i].out;
        p.n_in = streams[i].n_in;
        p.n_out = streams[i].n_out;
        p.window = streams[i].window;
        at = parted_place(&p, at < PARTED_ROUND_BYTES ? at : 0);
        p.verdict = (uint64_t)(verdicts + i);
        most = at > most ? at : most;
        parted->push_back(p);
    }
    return most;
}

/* n streams of `bytes` bytes each, which differ in CONTENTS ways. */
static void inflate_row(Bench *bench, size_t n, size_t bytes)
{
    BenchCase c = bench_case("inflate", IMGSTAT_U8, 1, BENCH_SMOOTH, n * bytes);
    c.images = n;
    c.cached = true; /* one set of inputs */
    BenchCase none = c;
    none.bytes = none.samples = STREAM_ALIGN;
    const char *const ours = "inflate_streams", *const parts = "inflate_parted";
    const char *const theirs = "nvCOMP";
    if ((!bench_wanted(bench, &c, ours) && !bench_wanted(bench, &c, parts) &&
         !bench_wanted(bench, &c, theirs)) ||
        !bench_input(bench, &none))
        return;
    std::vector<Bytes> contents, packed;
    size_t at = 0;
    for (unsigned i = 0; i < CONTENTS; i++) {
        contents.push_back(filtered_bytes(bytes, bench->options.seed + i));
        packed.push_back(deflated(contents[i].data(), bytes));
    }
    const size_t list = padded(n * sizeof(DeflatedStream)), verdicts = padded(n * sizeof(uint32_t));
    const size_t parted_list = padded(n * sizeof(PartedStream));
    std::vector<DeflatedStream> streams(n);
    std::vector<PartedStream> parted;
    for (size_t i = 0; i < n; i++)
        streams[i] = {NULL, (uint32_t)packed[i % CONTENTS].size(), NULL, (uint32_t)bytes, WINDOW};
    size_t room = list + verdicts + parted_list + part_streams(streams, NULL, &parted);
    for (const Bytes &p : packed)
        room += padded(p.size());
    unsigned char *const scratch = (unsigned char *)bench_scratch(bench, room);
    unsigned char *const out = (unsigned char *)bench_out(bench, n * padded(bytes));
    if (!scratch || !out)
        return;
    std::vector<const unsigned char *> in;
    at = list + verdicts + parted_list;
    for (const Bytes &p : packed) {
        in.push_back(scratch + at);
        if (!bench_ok(bench, cudaMemcpy(scratch + at, p.data(), p.size(), cudaMemcpyHostToDevice),
                      "upload"))
            return;
        at += padded(p.size());
    }
    for (size_t i = 0; i < n; i++) {
        streams[i].in = in[i % CONTENTS];
        streams[i].out = out + i * padded(bytes);
    }
    uint32_t *const verdicts_there = (uint32_t *)(scratch + list);
    parted.clear();
    part_streams(streams, verdicts_there, &parted);
    for (PartedStream &p : parted) {
        const uint64_t verdict = p.verdict;
        parted_move(&p, (uint64_t)(scratch + at));
        p.verdict = verdict;
    }
    InflateWork work = {(const DeflatedStream *)scratch, verdicts_there, parted.data(),
                        (const PartedStream *)(scratch + list + verdicts), NULL};
    if (!bench_ok(
            bench,
            cudaMemcpy(scratch, streams.data(), n * sizeof(DeflatedStream), cudaMemcpyHostToDevice),
            "upload") ||
        !bench_ok(bench,
                  cudaMemcpy(scratch + list + verdicts, parted.data(), n * sizeof(PartedStream),
                             cudaMemcpyHostToDevice),
                  "upload"))
        return;
    bench_row(bench, &c, ours, call_inflate, &work,
              is_right(bench, &c, ours, call_inflate, &work, contents));
    bench_row(bench, &c, parts, call_parted, &work,
              is_right(bench, &c, parts, call_parted, &work, contents));
    work.nvcomp = nvcomp_streams_create(bench, streams.data(), n);
    if (work.nvcomp)
        bench_row(bench, &c, theirs, call_nvcomp, &work,
                  is_right(bench, &c, theirs, call_nvcomp, &work, contents));
    nvcomp_streams_destroy(work.nvcomp);
}

void bench_inflate(Bench *bench)
{
    const size_t mega = 1000 * 1000;
    inflate_row(bench, 64, 3 * mega);
    inflate_row(bench, 1024, 64 << 10);
    if (bench->options.quick)
        return;
    inflate_row(bench, 1, 12 * mega);
    inflate_row(bench, 1, 49 * mega);
    inflate_row(bench, 16, 12 * mega);
    inflate_row(bench, 64, 12 * mega);
    inflate_row(bench, 400, 12 * mega);
    inflate_row(bench, 3200, 3 * mega);
    inflate_row(bench, 16384, 64 << 10);
}
