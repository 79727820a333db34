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

/* Compresses n pieces: pieces, results and scratch are in device memory, scratch on a boundary of
 * 16. Finds runs alone, whether or not matches would pay. */
cudaError_t cuda_deflate(DeflateCoding coding, const DeflatePiece *pieces, size_t n,
                         uint32_t n_blocks, DeflatedPiece *results, void *scratch,
                         cudaStream_t stream);

/* Whether a search for matches would pay: pays[i], in device memory, becomes 1 or 0 for piece i.
 * docs/deflate-coder.md has the rule; where it is 1, the processor compresses the piece. */
cudaError_t cuda_match_gain(DeflateCoding coding, const DeflatePiece *pieces, size_t n,
                            uint8_t *pays, cudaStream_t stream);

#endif
