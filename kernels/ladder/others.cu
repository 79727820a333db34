/* SPDX-License-Identifier: MIT */
/* others.cu: what production runs instead, behind the same calls: CUB's and imgstat's own. They
 * stand at the top of each group. */
#ifdef __CUDACC__
#include "ladder/ladder.h"
#include "scan/scan.h"

#include <cub/device/device_histogram.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>

static size_t scratch_bytes(size_t n)
{
    return ((size_t)1 << 20) + n / 64; /* more than any of them asks for; they look */
}

struct CubReduce {
    template <typename T, int OP> static cudaError_t run(const LadderCall *call)
    {
        typedef typename LadderAcc<T, OP>::type A;
        size_t bytes = scratch_bytes(call->n);
        const T *const in = (const T *)call->in;
        A *const out = (A *)call->out;
        if (OP == LADDER_SUM)
            return cub::DeviceReduce::Sum(call->scratch, bytes, in, out, call->n);
        if (call->n == 0) /* CUB's maximum of nothing is the lowest finite float */
            return ladder_store(out, ladder_identity<OP, A>());
        return cub::DeviceReduce::Max(call->scratch, bytes, in, out, call->n);
    }
};

struct CubScan {
    template <typename T> static cudaError_t run(const LadderCall *call)
    {
        size_t bytes = scratch_bytes(call->n);
        return cub::DeviceScan::InclusiveSum(call->scratch, bytes, (const T *)call->in,
                                             (T *)call->out, call->n);
    }
};

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

template <typename T> static cudaError_t cub_count(const LadderCall *call)
{
    size_t bytes = scratch_bytes(call->n);
    const int levels = (1 << (8 * sizeof(T))) + 1;
    if (call->n == 0)
        return cudaMemset(call->out, 0, sizeof(LadderCount) * (levels - 1));
    return cub::DeviceHistogram::HistogramEven(call->scratch, bytes, (const T *)call->in,
                                               (LadderCount *)call->out, levels, 0, levels - 1,
                                               (long long)call->n);
}

const LadderRung ladder_reduce_cub = ladder_reduce<CubReduce>(
    {"CUB", "What production runs: cub::DeviceReduce.", "n - 1", "", {256}, scratch_bytes});
const LadderRung ladder_scan_cub = ladder_scan<CubScan>(
    {"CUB", "What production runs: cub::DeviceScan.", "2 n", "", {128}, scratch_bytes});
const LadderRung ladder_scan_imgstat = ladder_scan<ImgstatScan>(
    {"imgstat", "What production runs: kernels/scan.", "2 n", "", {256}, cuda_scan_scratch});
const LadderRung ladder_histogram_cub = ladder_count(
    {"CUB", "What production runs: cub::DeviceHistogram.", "n", "", {384}, scratch_bytes},
    cub_count<uint8_t>, cub_count<uint16_t>);
#endif
