/* SPDX-License-Identifier: MIT */
/* helper_hog.cu: blocks that fill a multiprocessor each and wait. */
#include "helper_hog.h"

/*
 * hog: keeps multiprocessors from other work.
 *
 *   Idea      A block that needs most of the shared memory leaves no room for another kernel's.
 *   Work      waits for a flag in host memory, for LIMIT_NS at most.
 *   Memory    one word, again and again.
 *   Launch    <<<multiprocessors to be taken, 1, most of the shared memory>>>.
 *   Requires  flags is pinned host memory.
 *   Result    flags[0] counts the blocks that have begun.
 */
static __global__ void hog(volatile unsigned *flags)
{
    const unsigned long long LIMIT_NS = 20000000000ull;
    unsigned long long begin, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    atomicAdd_system((unsigned *)flags, 1u);
    do
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (!flags[1] && now - begin < LIMIT_NS);
}

cudaError_t hog_start(Hog *h, unsigned leave)
{
    *h = Hog{};
    int device, all, shared;
    cudaError_t status = cudaGetDevice(&device);
    if (status == cudaSuccess)
        status = cudaDeviceGetAttribute(&all, cudaDevAttrMultiProcessorCount, device);
    if (status == cudaSuccess)
        status = cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    if (status == cudaSuccess)
        status = cudaStreamCreateWithFlags(&h->stream, cudaStreamNonBlocking);
    if (status == cudaSuccess)
        status = cudaHostAlloc((void **)&h->flags, 2 * sizeof *h->flags, cudaHostAllocMapped);
    if (status == cudaSuccess)
        status = cudaFuncSetAttribute((const void *)hog,
                                      cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
    if (status != cudaSuccess)
        return status;
    h->flags[0] = h->flags[1] = 0;
    h->blocks = (unsigned)all > leave ? (unsigned)all - leave : 0;
    if (h->blocks == 0)
        return cudaSuccess;
    hog<<<h->blocks, 1, shared, h->stream>>>(h->flags);
    status = cudaGetLastError();
    while (status == cudaSuccess && *(volatile unsigned *)&h->flags[0] < h->blocks) {
        status = cudaStreamQuery(h->stream); /* ended before all had begun? */
        status = status == cudaErrorNotReady ? cudaSuccess
                 : status == cudaSuccess     ? cudaErrorLaunchTimeout
                                             : status;
    }
    return status;
}

cudaError_t hog_stop(Hog *h)
{
    cudaError_t status = cudaSuccess;
    if (h->flags)
        *(volatile unsigned *)&h->flags[1] = 1;
    if (h->stream) {
        status = cudaStreamSynchronize(h->stream);
        (void)cudaStreamDestroy(h->stream);
    }
    (void)cudaFreeHost(h->flags);
    *h = Hog{};
    return status;
}
