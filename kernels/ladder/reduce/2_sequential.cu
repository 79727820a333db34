/* SPDX-License-Identifier: MIT */
/* reduce/2_sequential.cu: launches the kernel of 2_sequential.cuh, which rungs 3 and 4 use too. */
#include "ladder/reduce/2_sequential.cuh"

struct Sequential {
    template <typename T, int OP> static cudaError_t run(const LadderCall *call)
    {
        typedef typename LadderAcc<T, OP>::type A;
        return ladder_launch(reduce_2_sequential<T, A, OP>, ladder_tiles(call->n, BLOCK), BLOCK,
                             call->in, call->n, call->out);
    }
};

const LadderRung ladder_reduce_sequential = ladder_reduce<Sequential>(
    {"sequential", "The stride halves; working threads stay packed.", {BLOCK}, NULL, BLOCK});
