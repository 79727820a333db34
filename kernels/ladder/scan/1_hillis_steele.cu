/* SPDX-License-Identifier: MIT */
/* scan/1_hillis_steele.cu: what one block holds, by the kernel of 1_hillis_steele.cuh, which rung 2
 * uses too. */
#include "ladder/scan/1_hillis_steele.cuh"

enum { BLOCK = 1024 };

struct HillisSteele {
    template <typename T> static cudaError_t run(const LadderCall *call)
    {
        if (call->n > BLOCK)
            return cudaErrorInvalidValue;
        return ladder_launch(scan_1_hillis_steele<T, BLOCK>, ladder_tiles(call->n, BLOCK), BLOCK,
                             call->in, call->n, call->out, (T *)NULL);
    }
};

const LadderRung ladder_scan_hillis_steele =
    ladder_scan<HillisSteele>({"hillis_steele",
                               "The distance doubles; two buffers take turns; one block.",
                               {BLOCK},
                               NULL,
                               0,
                               BLOCK});
