/* SPDX-License-Identifier: MIT */
/* reduce/3_finish_host.cu: any length, the simplest way: the host folds the partials. */
#include "ladder/reduce/2_sequential.cuh"

/*
 * finish_host: the kernel of rung 2, and one loop on the host.
 *
 *   Idea      Blocks cannot wait for one another inside a launch, so the partials go to the host,
 *             which folds them in order.
 *   Work      n-1 combinations, of which ceil(n / BLOCK) - 1 on the host; log2(BLOCK) steps and
 *             the serial loop.
 *   Memory    reads n samples once; ceil(n / BLOCK) accumulators cross the bus.
 *   Launch    that of rung 2; the call waits for the device.
 *   Requires  in and scratch do not overlap.
 *   Result    the sum or maximum of all, brought back to the device, where every other rung
 *             leaves it; the identity if n is 0.
 *
 * The rung below stopped at one partial per block: right for a block, not yet for an input.
 */
struct FinishHost {
    template <typename T, int OP> static cudaError_t run(const LadderCall *call)
    {
        typedef typename LadderAcc<T, OP>::type A;
        const size_t tiles = ladder_tiles(call->n, BLOCK);
        A *const partial = (A *)malloc((tiles + 1) * sizeof(A));
        if (!partial)
            return cudaErrorMemoryAllocation;
        cudaError_t status = ladder_launch(reduce_2_sequential<T, A, OP>, tiles, BLOCK, call->in,
                                           call->n, call->scratch);
        if (status == cudaSuccess)
            status = cudaMemcpy(partial, call->scratch, tiles * sizeof(A), cudaMemcpyDeviceToHost);
        A result = ladder_identity<OP, A>();
        for (size_t b = 0; status == cudaSuccess && b < tiles; b++)
            result = ladder_combine<OP>(result, partial[b]);
        free(partial);
        return status == cudaSuccess ? ladder_store(call->out, result) : status;
    }
};

static size_t scratch_bytes(size_t n)
{
    return ladder_tiles(n, BLOCK) * sizeof(LadderCount);
}

const LadderRung ladder_reduce_finish_host = ladder_reduce<FinishHost>(
    {"finish_host", "The host folds the partials: any length.", {BLOCK}, scratch_bytes});
