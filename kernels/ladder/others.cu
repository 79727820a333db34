/* SPDX-License-Identifier: MIT */
/* others.cu: what production runs instead, behind the same calls: CUB's and imgstat's own. They
 * stand at the top of each group. */
#ifdef __CUDACC__
#include "ladder/ladder.h"
#include "scan/scan.h"

#include <cub/device/device_histogram.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>

template <typename T, typename A>
static cudaError_t cub_reduce(LadderOp op, void *scratch, size_t *bytes, const T *in, size_t n,
                              A *out)
{
    return op == LADDER_SUM ? cub::DeviceReduce::Sum(scratch, *bytes, in, out, n)
                            : cub::DeviceReduce::Max(scratch, *bytes, in, out, n);
}

struct CubReduce {
    static size_t scratch_bytes(size_t n)
    {
        size_t bytes = 0;
        cub_reduce(LADDER_SUM, NULL, &bytes, (const uint16_t *)NULL, n, (LadderCount *)NULL);
        return bytes + 4096; /* other types differ by little, and CUB checks */
    }

    template <typename T, int OP> static cudaError_t run(const LadderCall *call)
    {
        typedef typename LadderAcc<T, OP>::type A;
        size_t bytes = scratch_bytes(call->n);
        if (call->n == 0) /* of which CUB's maximum is the lowest finite float */
            return ladder_store(call->out, ladder_identity<OP, A>());
        return cub_reduce((LadderOp)OP, call->scratch, &bytes, (const T *)call->in, call->n,
                          (A *)call->out);
    }
};

struct CubScan {
    static size_t scratch_bytes(size_t n)
    {
        size_t bytes = 0;
        cub::DeviceScan::InclusiveSum(NULL, bytes, (const uint64_t *)NULL, (uint64_t *)NULL, n);
        return 2 * bytes + 4096; /* other types have other tiles, and CUB checks */
    }

    template <typename T> static cudaError_t run(const LadderCall *call)
    {
        size_t bytes = scratch_bytes(call->n);
        if (call->n == 0)
            return cudaSuccess;
        return cub::DeviceScan::InclusiveSum(call->scratch, bytes, (const T *)call->in,
                                             (T *)call->out, call->n);
    }
};

template <typename T>
static cudaError_t cub_histogram(void *scratch, size_t *bytes, const T *in, size_t n,
                                 LadderCount *bins)
{
    const int values = 1 << (8 * sizeof(T));
    return cub::DeviceHistogram::HistogramEven(scratch, *bytes, in, bins, values + 1, 0, values,
                                               (long long)n);
}

static size_t histogram_bytes(size_t n)
{
    size_t bytes = 0;
    cub_histogram(NULL, &bytes, (const uint16_t *)NULL, n, NULL);
    return bytes + 4096;
}

template <typename T> static cudaError_t cub_count(const LadderCall *call)
{
    size_t bytes = histogram_bytes(call->n);
    if (call->n == 0)
        return cudaMemset(call->out, 0, sizeof(LadderCount) << (8 * sizeof(T)));
    return cub_histogram(call->scratch, &bytes, (const T *)call->in, call->n,
                         (LadderCount *)call->out);
}

struct ImgstatScan {
    template <typename T> static cudaError_t run(const LadderCall *call)
    {
        if constexpr (sizeof(T) == 4)
            return cuda_scan_u32(SCAN_BEST, (const T *)call->in, (T *)call->out, call->n, true,
                                 call->scratch, 0);
        else
            return cuda_scan_u64(SCAN_BEST, (const T *)call->in, (T *)call->out, call->n, true,
                                 call->scratch, 0);
    }
};

const LadderRung ladder_reduce_cub = ladder_reduce<CubReduce>(
    {"CUB", "What production runs: cub::DeviceReduce.", {256}, CubReduce::scratch_bytes});
const LadderRung ladder_scan_cub = ladder_scan<CubScan>(
    {"CUB", "What production runs: cub::DeviceScan.", {128}, CubScan::scratch_bytes});
const LadderRung ladder_scan_imgstat = ladder_scan<ImgstatScan>(
    {"imgstat", "What production runs: kernels/scan.", {256}, cuda_scan_scratch});
const LadderRung ladder_histogram_cub =
    ladder_count({"CUB", "What production runs: cub::DeviceHistogram.", {384}, histogram_bytes},
                 cub_count<uint8_t>, cub_count<uint16_t>);
#endif
