/* SPDX-License-Identifier: MIT */
/* codec/deflate_pieces.h: host entry of the deflating kernel on bare device memory. The bytes are
 * those of src/codec/deflate_coder.c; docs/deflate-coder.md defines them. Ordered by the stream
 * given; nothing waits. */
#ifndef IMGSTAT_KERNELS_CODEC_DEFLATE_PIECES_H
#define IMGSTAT_KERNELS_CODEC_DEFLATE_PIECES_H

#include <cuda_runtime.h>
#include <stdint.h>

extern "C" {
#include "codec/deflate_coder.h"
}

/* Bytes that are compressed independently of all others. */
typedef struct DeflatePiece {
    const uint8_t *from; /* in device memory; on 16 bytes: faster */
    uint8_t *to;         /* in device memory, on a boundary of 4 */
    uint64_t n;
    uint32_t first_block; /* of all blocks of all pieces: deflate_pieces_number */
    bool last;            /* it ends its stream */
} DeflatePiece;

typedef struct DeflatedPiece {
    uint64_t bytes;
    uint32_t adler; /* of the bytes before compression */
} DeflatedPiece;

/* Returns how many bytes `to` must have for n bytes. */
size_t deflate_pieces_bound(uint64_t n);

/* Numbers the blocks of all pieces, which are in host memory yet. Returns how many there are, or 0
 * if that is more than a launch can have. */
uint32_t deflate_pieces_number(DeflateCoding coding, DeflatePiece *pieces, size_t n);

/* Returns how many bytes of scratch memory cuda_deflate takes. */
size_t deflate_pieces_scratch(size_t n, uint32_t n_blocks);

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
