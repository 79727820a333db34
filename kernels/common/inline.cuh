/* SPDX-License-Identifier: MIT */
/* common/inline.cuh: how functions of kernels are declared, unless they are called. */
#ifndef IMGSTAT_KERNELS_COMMON_INLINE_CUH
#define IMGSTAT_KERNELS_COMMON_INLINE_CUH

#define DEVICE static __device__ __forceinline__

#endif
