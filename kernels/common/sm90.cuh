/* SPDX-License-Identifier: MIT */
/* common/sm90.cuh: what devices of compute capability 9.0 have: launches that begin early, blocks
 * that reach each other's shared memory, and barriers in shared memory that bulk copies arrive at
 * (8.0 has the barriers). */
#ifndef IMGSTAT_KERNELS_COMMON_SM90_CUH
#define IMGSTAT_KERNELS_COMMON_SM90_CUH

#include "common/inline.cuh"

#include <stdint.h>

/* Blocks may begin while the last ones of the launch before are still at work (the launch asks for
 * it): what comes before this call touches nothing but shared memory, and reads what no launch
 * writes. */
DEVICE void after_launches_before(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;\n\tgriddepcontrol.wait;" ::: "memory");
#endif
}

/* A launch may begin while the blocks of the launch before end (the launch asks for it), with what
 * nothing depends on: what comes before this call touches only shared memory, and if work.early
 * pixels. Launches behind it begin after it, so that all before the launch before has been done. */
DEVICE void after_all_before(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;\n\tgriddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* Kernels whose blocks are clusters of n; what is compiled for older devices does nothing. */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define CLUSTERS_OF(n) __cluster_dims__(n, 1, 1)
#else
#define CLUSTERS_OF(n)
#endif

/* Waits for all threads of the cluster; what they have written to shared memory can be read. */
DEVICE void cluster_sync(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release;\n\t"
                 "barrier.cluster.wait.acquire;" ::
                     : "memory");
#endif
}

/* The place of `p`, in shared memory, in that of the cluster's block `rank`. */
template <typename T> DEVICE T *cluster_place(T *p, unsigned rank)
{
#if __CUDA_ARCH__ >= 900
    uint64_t there;
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(p), "r"(rank));
    return (T *)there;
#else
    return p + 0 * rank;
#endif
}

DEVICE unsigned shared_address(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

DEVICE void barrier_init(uint64_t *barrier, unsigned arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
                 "r"(arrivals)
                 : "memory");
}

DEVICE void barrier_arrive(uint64_t *barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier))
                 : "memory");
}

#if __CUDA_ARCH__ >= 900
#define BARRIER_LOOK "mbarrier.try_wait" /* the warp sleeps for a while */
#else
#define BARRIER_LOOK "mbarrier.test_wait"
#endif

/* Waits until the phase of that parity is over. */
DEVICE void barrier_wait(uint64_t *barrier, unsigned parity)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n" BARRIER_LOOK ".parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n"
                 "}\n" ::"r"(shared_address(barrier)),
                 "r"(parity)
                 : "memory");
}

/* Bulk copies; what compiles for older devices does not name them. */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
/* Arrives, and lets the phase end only when so many bytes have come as well. */
DEVICE void barrier_expect(uint64_t *barrier, unsigned bytes)
{
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
        "r"(bytes)
        : "memory");
}

/* Copies, and arrives as barrier_expect does. Everything on 16 bytes. */
DEVICE void load_bulk(void *to, const void *from, unsigned bytes, uint64_t *barrier)
{
    barrier_expect(barrier, bytes);
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];" ::"r"(shared_address(to)),
                 "l"(from), "r"(bytes), "r"(shared_address(barrier))
                 : "memory");
}

#endif

#endif
