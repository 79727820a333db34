/* SPDX-License-Identifier: MIT */
/* codec/deflate_pieces.h: host entries of the deflating kernels on bare device memory. The bytes
 * are those of src/codec/deflate_coder.c. Ordered by the stream given; nothing waits. With no
 * pieces they only load the kernel. */
#ifndef IMGSTAT_KERNELS_CODEC_DEFLATE_PIECES_H
#define IMGSTAT_KERNELS_CODEC_DEFLATE_PIECES_H

#include <cuda_runtime.h>

extern "C" {
#include "codec/device_pieces.h"
}

/* Compresses n pieces: pieces, pays, results and scratch are in device memory, scratch on a
 * boundary of 16, of deflate_pieces_scratch bytes. pays[i]: 1 if piece i is searched for matches, 0
 * if for runs. NULL: all for runs. */
cudaError_t cuda_deflate(DeflateCoding coding, const DeflatePiece *pieces, size_t n,
                         uint32_t n_blocks, const uint8_t *pays, DeflatedPiece *results,
                         void *scratch, cudaStream_t stream);

/* Whether a search for matches would pay: pays[i], in device memory, becomes 1 or 0 for piece i. */
cudaError_t cuda_match_gain(DeflateCoding coding, const DeflatePiece *pieces, size_t n,
                            uint8_t *pays, cudaStream_t stream);

#endif
