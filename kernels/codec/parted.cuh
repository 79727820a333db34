/* SPDX-License-Identifier: MIT */
/* codec/parted.cuh: the launches that decompress long streams in parts. */
#ifndef IMGSTAT_KERNELS_CODEC_PARTED_CUH
#define IMGSTAT_KERNELS_CODEC_PARTED_CUH

#include <cuda_runtime.h>

extern "C" {
#include "codec/deflated_rows.h"
#include "codec/parted_stream.h"
}

/* Decompresses n streams, a copy of which is in device memory. Streams whose words lie where those
 * of the first one do begin a new round: they wait for those before. checks: of their images, or
 * NULL. Without streams it only loads its kernels. */
cudaError_t launch_inflate_parted(const PartedStream *streams, const PartedStream *there, size_t n,
                                  DeflatedCheck *checks, cudaStream_t stream);

#endif
