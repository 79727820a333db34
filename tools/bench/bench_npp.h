/* SPDX-License-Identifier: MIT */
/* bench_npp.h: what NPP's functions must be told of a stream and its device. */
#ifndef IMGSTAT_BENCH_NPP_H
#define IMGSTAT_BENCH_NPP_H

#include "bench_device.h"

#include <nppdefs.h>

static inline NppStreamContext bench_npp_context(const Bench *bench)
{
    NppStreamContext context = {};
    const struct cudaDeviceProp *const device = &bench->device;
    context.hStream = bench->stream;
    context.nCudaDeviceId = bench->options.device;
    context.nMultiProcessorCount = device->multiProcessorCount;
    context.nMaxThreadsPerMultiProcessor = device->maxThreadsPerMultiProcessor;
    context.nMaxThreadsPerBlock = device->maxThreadsPerBlock;
    context.nSharedMemPerBlock = device->sharedMemPerBlock;
    context.nCudaDevAttrComputeCapabilityMajor = device->major;
    context.nCudaDevAttrComputeCapabilityMinor = device->minor;
    context.nStreamFlags = cudaStreamNonBlocking;
    return context;
}

#endif
