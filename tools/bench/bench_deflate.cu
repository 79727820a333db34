/* SPDX-License-Identifier: MIT */
/* bench_deflate.cu: what PNG encoding takes on the device: rows of an image filtered, then deflated
 * in pieces. */
#include "bench.h"
#include "codec/deflate_pieces.h"
#include "codec/filter_rows.h"

#include <string.h>
#include <vector>
#include <zlib.h>

enum { PIECE_BYTES = 512 << 10, ALIGN = 256 };

/* Everything in device memory; the filtered rows of a piece are where it is. */
typedef struct DeflateWork {
    const FilterImage *image;
    const DeflatePiece *pieces;
    DeflatedPiece *results;
    void *scratch;
    size_t n;
    uint32_t n_blocks;
    DeflateCoding coding;
    uint8_t *pays; /* a byte a piece; NULL: none is searched */
} DeflateWork;

static size_t padded(size_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static cudaError_t call_filter(Bench *bench, const BenchCase *c, void *work, const void *in)
{
    (void)in;
    return cuda_filter_rows(((const DeflateWork *)work)->image, 1, c->height, bench->stream);
}

static cudaError_t call_deflate(Bench *bench, const BenchCase *c, void *work, const void *in)
{
    const DeflateWork *const w = (const DeflateWork *)work;
    (void)c, (void)in;
    if (w->pays) {
        const cudaError_t status = cudaMemsetAsync(w->pays, 1, w->n, bench->stream);
        if (status != cudaSuccess)
            return status;
    }
    return cuda_deflate(w->coding, w->pieces, w->n, w->n_blocks, w->pays, w->results, w->scratch,
                        bench->stream);
}

static bool download(Bench *bench, std::vector<unsigned char> *to, const void *from, size_t bytes)
{
    to->resize(bytes);
    return bench_ok(bench, cudaMemcpy(to->data(), from, bytes, cudaMemcpyDeviceToHost), "download");
}

/* Whether zlib reads the filtered rows of the first pieces out of what they became. */
static bool is_right(Bench *bench, const BenchCase *c, DeflateWork *work,
                     const std::vector<DeflatePiece> &pieces)
{
    enum { CHECKED = 8, RAW = -15 };
    std::vector<DeflatedPiece> results(work->n);
    if (!bench_ok(bench, call_deflate(bench, c, work, NULL), "deflate_pieces") ||
        !bench_ok(bench, cudaStreamSynchronize(bench->stream), "deflate_pieces") ||
        !bench_ok(bench,
                  cudaMemcpy(results.data(), work->results, work->n * sizeof results[0],
                             cudaMemcpyDeviceToHost),
                  "download"))
        return false;
    for (size_t i = 0; i < work->n && i < CHECKED; i++) {
        std::vector<unsigned char> from, rows, got(pieces[i].n + 1);
        if (!download(bench, &from, (const void *)pieces[i].to, results[i].bytes) ||
            !download(bench, &rows, (const void *)pieces[i].from, pieces[i].n))
            return false;
        z_stream z;
        memset(&z, 0, sizeof z);
        z.next_in = from.data();
        z.avail_in = (uInt)from.size();
        z.next_out = got.data();
        z.avail_out = (uInt)got.size();
        if (inflateInit2(&z, RAW) != Z_OK)
            return false;
        (void)inflate(&z, Z_SYNC_FLUSH);
        const bool all = z.avail_in == 0 && z.total_out == rows.size();
        (void)inflateEnd(&z);
        if (!all || memcmp(got.data(), rows.data(), rows.size()) != 0)
            return false;
    }
    return true;
}

static void deflate_case(Bench *bench, size_t bytes, BenchPattern pattern)
{
    static const struct {
        const char *name;
        DeflateCoding coding;
        bool search;
    } settings[] = {{"deflate_pieces", DEFLATE_RUNS, false},
                    {"deflate_pieces, fast", DEFLATE_RUNS_FAST, false},
                    {"deflate_searched", DEFLATE_RUNS, true},
                    {"deflate_searched, fast", DEFLATE_RUNS_FAST, true}};
    BenchCase c = bench_case("deflate", IMGSTAT_U8, 3, pattern, bytes);
    c.writes = true;
    c.cached = true; /* one set of pieces */
    bool wanted = bench_wanted(bench, &c, "filter_rows");
    for (const auto &setting : settings)
        wanted = wanted || bench_wanted(bench, &c, setting.name);
    if (!wanted)
        return;
    const size_t row = (size_t)c.width * c.channels, rows = PIECE_BYTES / (1 + row);
    const size_t n = (c.height + rows - 1) / rows, from_bytes = padded(rows * (1 + row));
    const size_t to_bytes = padded(deflate_pieces_bound(from_bytes));
    std::vector<DeflatePiece> pieces(n);
    unsigned char *const out = (unsigned char *)bench_out(bench, n * (from_bytes + to_bytes));
    if (!out || !bench_input(bench, &c))
        return;
    for (size_t i = 0; i < n; i++) {
        const size_t left = c.height - i * rows, taken = left < rows ? left : rows;
        pieces[i].from = (uintptr_t)out + i * from_bytes;
        pieces[i].to = (uintptr_t)out + n * from_bytes + i * to_bytes;
        pieces[i].n = taken * (1 + row);
        pieces[i].last = i + 1 == n;
    }
    const uint32_t n_blocks = deflate_pieces_number(DEFLATE_RUNS, pieces.data(), n);
    const size_t list = padded(n * sizeof pieces[0]), results = padded(n * sizeof(DeflatedPiece));
    unsigned char *const scratch = (unsigned char *)bench_scratch(
        bench, ALIGN + list + results + padded(n) + deflate_pieces_scratch(n, n_blocks));
    if (!scratch)
        return;
    FilterImage image;
    memset(&image, 0, sizeof image);
    image.pixels = (uintptr_t)bench_slot(bench, &c, 0);
    image.to = (uintptr_t)out;
    image.pitch = row;
    image.piece_pitch = from_bytes;
    image.height = c.height;
    image.row_bytes = (uint32_t)row;
    image.piece_rows = (uint32_t)rows;
    image.pixel_bytes = (uint8_t)c.channels;
    image.choice = PNG_CHOOSE_LEAST;
    DeflateWork work = {(const FilterImage *)scratch,
                        (const DeflatePiece *)(scratch + ALIGN),
                        (DeflatedPiece *)(scratch + ALIGN + list),
                        scratch + ALIGN + list + results + padded(n),
                        n,
                        n_blocks,
                        DEFLATE_RUNS,
                        NULL};
    if (!bench_ok(bench, cudaMemcpy(scratch, &image, sizeof image, cudaMemcpyHostToDevice),
                  "upload") ||
        !bench_ok(bench,
                  cudaMemcpy(scratch + ALIGN, pieces.data(), n * sizeof pieces[0],
                             cudaMemcpyHostToDevice),
                  "upload") ||
        !bench_ok(bench, call_filter(bench, &c, &work, NULL), "filter_rows"))
        return;
    bench_row(bench, &c, "filter_rows", call_filter, &work, true);
    for (const auto &setting : settings) {
        work.coding = setting.coding;
        work.pays = setting.search ? scratch + ALIGN + list + results : NULL;
        if (bench_wanted(bench, &c, setting.name))
            bench_row(bench, &c, setting.name, call_deflate, &work,
                      is_right(bench, &c, &work, pieces));
    }
}

void bench_deflate(Bench *bench)
{
    for (size_t s = 0; s < bench->options.n_sizes; s++) {
        deflate_case(bench, bench->options.sizes[s], BENCH_SMOOTH);
        if (!bench->options.quick) {
            deflate_case(bench, bench->options.sizes[s], BENCH_RANDOM);
            deflate_case(bench, bench->options.sizes[s], BENCH_CONSTANT);
        }
    }
}
