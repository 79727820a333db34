/* SPDX-License-Identifier: MIT */
/* bench_reduce.cu: the reductions of the ladder, beside CUB and a serial loop. */
#include "bench_check.h"
#include "ladder.h"

#include <cub/device/device_reduce.cuh>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct RungWork {
    const LadderReduce *rung;
    LadderType type;
    LadderOp op;
    unsigned block;
} RungWork;

static const char *const op_names[] = {"sum", "min", "max"};

static cudaError_t call_rung(Bench *bench, const BenchCase *c, void *work, const void *in)
{
    const RungWork *const w = (const RungWork *)work;
    const LadderCall call = {in,       c->samples, bench->out,   bench->scratch,
                             w->block, false,      bench->stream};
    return w->rung->run[w->type][w->op](&call);
}

typedef struct CubWork {
    LadderOp op;
    size_t temporary;
} CubWork;

template <typename T>
static cudaError_t cub_reduce(LadderOp op, void *temporary, size_t *bytes, const void *in,
                              void *out, size_t n, cudaStream_t stream)
{
    typedef typename LadderAcc<T, LADDER_SUM>::type Sum;
    const T *const samples = (const T *)in;
    if (op == LADDER_SUM)
        return cub::DeviceReduce::Sum(temporary, *bytes, samples, (Sum *)out, n, stream);
    if (op == LADDER_MIN)
        return cub::DeviceReduce::Min(temporary, *bytes, samples, (T *)out, n, stream);
    return cub::DeviceReduce::Max(temporary, *bytes, samples, (T *)out, n, stream);
}

static cudaError_t call_cub(Bench *bench, const BenchCase *c, void *work, const void *in)
{
    CubWork *const w = (CubWork *)work;
    if (c->sample == IMGSTAT_U16)
        return cub_reduce<uint16_t>(w->op, bench->scratch, &w->temporary, in, bench->out,
                                    c->samples, bench->stream);
    return cub_reduce<float>(w->op, bench->scratch, &w->temporary, in, bench->out, c->samples,
                             bench->stream);
}

/* `count` results of the operation as one double; partials are folded first. */
static double fold_results(LadderType type, LadderOp op, const void *results, size_t count)
{
    double all = 0;
    for (size_t i = 0; i < count; i++) {
        double x;
        if (op == LADDER_SUM)
            x = type == LADDER_U16 ? (double)((const uint64_t *)results)[i]
                                   : ((const double *)results)[i];
        else
            x = type == LADDER_U16 ? ((const uint16_t *)results)[i] : ((const float *)results)[i];
        if (i == 0)
            all = x;
        else if (op == LADDER_SUM)
            all += x;
        else if (op == LADDER_MIN ? x < all : x > all)
            all = x;
    }
    return all;
}

/* Runs once on poisoned memory and compares with the truth. Sums are exact in double. */
static bool is_right(Bench *bench, const BenchCase *c, BenchCall call, void *work, LadderType type,
                     LadderOp op, size_t count, const Truth *truth)
{
    const ChannelTruth *const t = &truth->channel[0];
    const double expected = op == LADDER_SUM ? t->sum : op == LADDER_MIN ? t->min : t->max;
    void *const host = malloc(count * 8);
    const bool good =
        host &&
        bench_ok(bench, cudaMemsetAsync(bench->out, 0xA5, count * 8, bench->stream),
                 "cudaMemset") &&
        bench_ok(bench, call(bench, c, work, bench_slot(bench, c, 0)), "reduce") &&
        bench_ok(bench, cudaStreamSynchronize(bench->stream), "reduce") &&
        bench_ok(bench, cudaMemcpy(host, bench->out, count * 8, cudaMemcpyDeviceToHost),
                 "download") &&
        fold_results(type, op, host, count) == expected;
    free(host);
    return good;
}

static void rung_row(Bench *bench, const BenchCase *c, const LadderReduce *rung, LadderType type,
                     LadderOp op, unsigned block, const Truth *truth)
{
    RungWork work = {rung, type, op, block};
    char what[BENCH_NAME];
    snprintf(what, sizeof what, rung->blocks[1] ? "%s %s B=%u" : "%s %s", rung->name, op_names[op],
             block);
    const size_t count =
        rung->partial_tile ? (c->samples + rung->partial_tile - 1) / rung->partial_tile : 1;
    if (!bench_wanted(bench, c, what) || !bench_out(bench, count * 8) ||
        !bench_scratch(bench, rung->scratch_bytes(c->samples)))
        return;
    const bool right = is_right(bench, c, call_rung, &work, type, op, count, truth);
    bench_row(bench, c, what, call_rung, &work, right);
}

static void cub_row(Bench *bench, const BenchCase *c, LadderType type, LadderOp op,
                    const Truth *truth)
{
    CubWork work = {op, 0};
    char what[BENCH_NAME];
    snprintf(what, sizeof what, "CUB %s", op_names[op]);
    if (!bench_wanted(bench, c, what) || !bench_out(bench, 64))
        return;
    const cudaError_t asked = c->sample == IMGSTAT_U16
                                  ? cub_reduce<uint16_t>(op, NULL, &work.temporary, bench->pool,
                                                         bench->out, c->samples, bench->stream)
                                  : cub_reduce<float>(op, NULL, &work.temporary, bench->pool,
                                                      bench->out, c->samples, bench->stream);
    if (!bench_ok(bench, asked, what) || !bench_scratch(bench, work.temporary))
        return;
    bench_row(bench, c, what, call_cub, &work,
              is_right(bench, c, call_cub, &work, type, op, 1, truth));
}

static void reductions_of(Bench *bench, ImgstatSample sample, LadderType type, size_t bytes)
{
    static const LadderOp ops[] = {LADDER_SUM, LADDER_MIN, LADDER_MAX};
    const BenchCase c = bench_case("reduce", sample, 1, BENCH_RANDOM, bytes);
    Truth truth;
    if (!bench_input(bench, &c) || !truth_create(bench, &c, &truth))
        return;
    BenchCase serial = c;
    serial.bytes = truth.serial_bytes;
    if (bench_wanted(bench, &serial, "serial CPU, all of them"))
        bench_host_row(bench, &serial, "serial CPU, all of them", truth.serial_ms, true);
    for (const LadderOp op : ops) {
        if (bench->options.quick && op == LADDER_MIN)
            continue; /* as the maximum */
        for (const LadderReduce *rung : ladder_reduces)
            for (const unsigned *block = rung->blocks; *block; block++)
                rung_row(bench, &c, rung, type, op, *block, &truth);
        cub_row(bench, &c, type, op, &truth);
    }
    truth_release(&truth);
}

void bench_reductions(Bench *bench)
{
    for (size_t s = 0; s < bench->options.n_sizes; s++) {
        reductions_of(bench, IMGSTAT_F32, LADDER_F32, bench->options.sizes[s]);
        reductions_of(bench, IMGSTAT_U16, LADDER_U16, bench->options.sizes[s]);
    }
}
