/* SPDX-License-Identifier: MIT */
/* common/dispatch.cuh: from a sample type or a number of channels to the kernel that is compiled
 * for it. Each function calls `launch` with a constant: decltype(argument)::value. */
#ifndef IMGSTAT_KERNELS_COMMON_DISPATCH_CUH
#define IMGSTAT_KERNELS_COMMON_DISPATCH_CUH

#include "device/cuda_device.h"

#include <type_traits>

/* The type of a sample of 32 or 64 bits whose kernel measures it: signed integers go with unsigned
 * ones, from whose keys theirs differ in the leading bit (wide_sign). */
template <typename Launcher>
static ImgstatResult dispatch_unsigned(ImgstatSample sample, const Launcher &launch)
{
    assert(!sample_is_narrow(sample));
    switch (sample) {
    case IMGSTAT_F32:
        return launch(std::integral_constant<int, IMGSTAT_F32>());
    case IMGSTAT_F64:
        return launch(std::integral_constant<int, IMGSTAT_F64>());
    default:
        return sample_bits(sample) == 32 ? launch(std::integral_constant<int, IMGSTAT_U32>())
                                         : launch(std::integral_constant<int, IMGSTAT_U64>());
    }
}

/* The number of channels, 1 to 4. */
template <typename Launcher>
static ImgstatResult dispatch_channels(unsigned channels, const Launcher &launch)
{
    assert(channels >= 1 && channels <= 4);
    switch (channels) {
    case 1:
        return launch(std::integral_constant<int, 1>());
    case 2:
        return launch(std::integral_constant<int, 2>());
    case 3:
        return launch(std::integral_constant<int, 3>());
    default:
        return launch(std::integral_constant<int, 4>());
    }
}

/* The unsigned integer that holds a sample's bits: decltype(argument) itself. */
template <typename Launcher>
static ImgstatResult dispatch_bits(ImgstatSample sample, const Launcher &launch)
{
    switch (sample_bits(sample)) {
    case 8:
        return launch(uint8_t());
    case 16:
        return launch(uint16_t());
    case 32:
        return launch(uint32_t());
    default:
        return launch(uint64_t());
    }
}

#endif
