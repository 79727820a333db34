/* SPDX-License-Identifier: MIT */
/* bench_ceiling.cu: what memory allows in this run: a kernel that only reads, and a plain copy. */
#include "bench.h"
#include "ladder/read_all.cuh"

/* Large enough that start and end of a launch do not count. */
static const size_t CEILING_BYTES = (size_t)1 << 30;

/* The same result the plain way, to check it. */
static __global__ void read_plain(const unsigned *__restrict__ in, size_t n, unsigned *out)
{
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicXor(out, in[i]);
}

static cudaError_t call_read(Bench *bench, const BenchCase *c, void *grid, const void *in)
{
    read_all<<<*(unsigned *)grid, READ_BLOCK, 0, bench->stream>>>((const uint4 *)in, c->bytes / 16,
                                                                  (unsigned *)bench->scratch);
    return cudaGetLastError();
}

cudaError_t bench_copy(Bench *bench, const BenchCase *c, void *, const void *in)
{
    return cudaMemcpyAsync(bench->out, in, c->bytes, cudaMemcpyDeviceToDevice, bench->stream);
}

static bool read_is_right(Bench *bench, const BenchCase *c, unsigned grid)
{
    unsigned sums[2] = {0, 1};
    unsigned *const out = (unsigned *)bench_scratch(bench, 4096);
    if (!out || !bench_ok(bench, cudaMemsetAsync(out, 0, 4096, bench->stream), "cudaMemset"))
        return false;
    const size_t words = c->bytes / 16 * 4;
    const void *const in = bench_slot(bench, c, 0);
    if (!bench_ok(bench, call_read(bench, c, &grid, in), "read_all"))
        return false;
    read_plain<<<(unsigned)((words + 255) / 256), 256, 0, bench->stream>>>((const unsigned *)in,
                                                                           words, out + 1);
    if (!bench_ok(bench, cudaGetLastError(), "read_plain") ||
        !bench_ok(bench, cudaStreamSynchronize(bench->stream), "read_plain") ||
        !bench_ok(bench, cudaMemcpy(sums, out, sizeof sums, cudaMemcpyDeviceToHost), "download"))
        return false;
    return sums[0] == sums[1];
}

static void ceilings_of(Bench *bench, size_t bytes, bool cached, double *read, double *copy)
{
    int resident = 1;
    BenchCase c = bench_case("ceiling", IMGSTAT_U8, 1, BENCH_RANDOM, bytes);
    c.cached = cached;
    const bool want_read = read || bench_wanted(bench, &c, "read");
    const bool want_copy = copy || bench_wanted(bench, &c, "copy");
    if ((!want_read && !want_copy) || !bench_input(bench, &c))
        return;
    if (!bench_ok(bench,
                  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, read_all, READ_BLOCK, 0),
                  "occupancy"))
        return;
    unsigned grid = (unsigned)(bench->device.multiProcessorCount * resident);
    const size_t useful = (c.bytes / 16 + READ_BLOCK - 1) / READ_BLOCK;
    if (grid > useful)
        grid = (unsigned)useful;
    if (want_read) {
        const double rate =
            bench_row(bench, &c, "read", call_read, &grid, read_is_right(bench, &c, grid));
        if (read)
            *read = rate;
    }
    c.writes = true;
    if (want_copy && bench_out(bench, c.bytes)) {
        const double rate = bench_row(bench, &c, "copy", bench_copy, NULL, true);
        if (copy)
            *copy = rate;
    }
}

void bench_ceilings(Bench *bench)
{
    ceilings_of(bench, CEILING_BYTES, false, &bench->read_ceiling, &bench->copy_ceiling);
    for (size_t s = 0; s < bench->options.n_sizes; s++) {
        const size_t bytes = bench->options.sizes[s];
        if (bytes != CEILING_BYTES)
            ceilings_of(bench, bytes, false, NULL, NULL);
        if (bytes <= (size_t)bench->device.l2CacheSize / 4)
            ceilings_of(bench, bytes, true, NULL, NULL);
    }
}
