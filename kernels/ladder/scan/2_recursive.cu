/* SPDX-License-Identifier: MIT */
/* scan/2_recursive.cu: the kernel of rung 1, in the levels of 2_recursive.cuh, which rung 3 uses
 * too. */
#include "ladder/scan/1_hillis_steele.cuh"
#include "ladder/scan/2_recursive.cuh"

struct Recursive {
    static const unsigned TILE = 256;
    static const bool EXCLUSIVE = false;

    template <typename T> static cudaError_t tiles(const T *in, size_t n, T *out, T *total)
    {
        return ladder_launch(scan_1_hillis_steele<T, TILE>, ladder_tiles(n, TILE), TILE, in, n, out,
                             total);
    }

    template <typename T> static cudaError_t run(const LadderCall *call)
    {
        return scan_all_levels<Recursive, T>(call);
    }
};

const LadderRung ladder_scan_recursive =
    ladder_scan<Recursive>({"recursive",
                            "Tiles, then their totals the same way, added back: any length.",
                            {Recursive::TILE},
                            total_bytes<Recursive::TILE>});
