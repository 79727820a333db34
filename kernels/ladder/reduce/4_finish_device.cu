/* SPDX-License-Identifier: MIT */
/* reduce/4_finish_device.cu: the kernel of rung 2, in the levels of 4_finish_device.cuh, which
 * rungs 5 and 6 use too. */
#include "ladder/reduce/2_sequential.cuh"
#include "ladder/reduce/4_finish_device.cuh"

struct FinishDevice {
    static const size_t TILE = BLOCK;

    template <typename T, typename A, int OP>
    static cudaError_t partials(const T *in, size_t n, A *partial)
    {
        return ladder_launch(reduce_2_sequential<T, A, OP>, ladder_tiles(n, TILE), BLOCK, in, n,
                             partial);
    }

    template <typename T, int OP> static cudaError_t run(const LadderCall *call)
    {
        return reduce_all_levels<FinishDevice, T, OP>(call);
    }
};

const LadderRung ladder_reduce_finish_device =
    ladder_reduce<FinishDevice>({"finish_device",
                                 "The same kernel reduces the partials, until one is left.",
                                 {BLOCK},
                                 level_bytes<FinishDevice::TILE>});
