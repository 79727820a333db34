/* SPDX-License-Identifier: MIT */
/* codec/tiles.cuh: the launches that decode strips and tiles: those that decompress, then
 * launch_unpredict_tiles and launch_store_tiles; and the one that makes them. All lists are in
 * device memory; checks: of pages. Without tiles or images each only loads its kernel. */
#ifndef IMGSTAT_KERNELS_CODEC_TILES_CUH
#define IMGSTAT_KERNELS_CODEC_TILES_CUH

#include <cuda_runtime.h>

extern "C" {
#include "codec/decode_work.h"
#include "codec/device_pieces.h"
}

/* codec/inflate.cu, and the check of Adler-32 after it, codec/adler.cu */
cudaError_t launch_inflate_tiles(const DecodeWork *there, DeflatedCheck *checks,
                                 cudaStream_t stream);
cudaError_t launch_check_tiles(const DecodeWork *there, DeflatedCheck *checks, cudaStream_t stream);

/* codec/lzw.cu */
cudaError_t launch_lzw_tiles(const DecodeWork *there, DeflatedCheck *checks, cudaStream_t stream);
cudaError_t launch_packbits_tiles(const DecodeWork *there, DeflatedCheck *checks,
                                  cudaStream_t stream);

/* codec/tiles.cu. most_rows: of a tile. */
cudaError_t launch_unpredict_tiles(const DecodeWork *there, uint32_t most_rows,
                                   DeflatedCheck *checks, cudaStream_t stream);
cudaError_t launch_store_tiles(const DecodeWork *there, uint32_t most_rows, DeflatedCheck *checks,
                               cudaStream_t stream);

/* codec/tiles.cu: makes the bytes of strips and tiles. rows: of the image whose tiles have most. */
cudaError_t launch_predict_tiles(const TiledImage *images, size_t n, uint32_t rows,
                                 cudaStream_t stream);

#endif
