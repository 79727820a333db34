/* SPDX-License-Identifier: MIT */
/* scan/scan.h: host entries of the production kernels on bare device memory, for imgstat-bench
 * and for tests. Everything is ordered by the stream given and nothing waits. */
#ifndef IMGSTAT_KERNELS_SCAN_SCAN_H
#define IMGSTAT_KERNELS_SCAN_SCAN_H

#include <cuda_runtime.h>
#include <stdint.h>

/* The kernel: the best, a block a tile, or blocks with rings of tiles. Rings need in and out on 16
 * bytes (else cudaErrorMisalignedAddress), and a device with bulk copies and code for it (else
 * cudaErrorNotSupported). */
typedef enum ScanKernel { SCAN_BEST, SCAN_TILES, SCAN_RINGS } ScanKernel;

/* Prefix sums in one pass with decoupled look-back: out[i] = in[0] + ... + in[i] if inclusive,
 * else without in[i]; sums wrap. in and out are the same or do not overlap, and lie on boundaries
 * of their items (on 16 bytes both: faster). scratch: cuda_scan_scratch(n) bytes on a 16-byte
 * boundary; its contents are written before they are read. Signed integers: the same bits. */
size_t cuda_scan_scratch(size_t n);
cudaError_t cuda_scan_u32(ScanKernel kernel, const uint32_t *in, uint32_t *out, size_t n,
                          bool inclusive, void *scratch, cudaStream_t stream);
cudaError_t cuda_scan_u64(ScanKernel kernel, const uint64_t *in, uint64_t *out, size_t n,
                          bool inclusive, void *scratch, cudaStream_t stream);

#endif
