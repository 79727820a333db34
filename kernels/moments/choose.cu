/* SPDX-License-Identifier: MIT */
/* moments/choose.cu: which kernel measures wide samples. */
#include "moments/kernel.cuh"

size_t wide_state_bytes(unsigned channels)
{
    return sizeof(WideState) + channels * sizeof(WideChannel);
}

ImgstatResult launch_wide(const Launch *launch, ImgstatSample sample, unsigned channels, bool plain,
                          ImgstatError *err)
{
    if (sample == IMGSTAT_F32 || sample == IMGSTAT_F64)
        return launch_wide_float(launch, sample, channels, plain, err);
    return launch_wide_integer(launch, sample, channels, plain, err);
}
