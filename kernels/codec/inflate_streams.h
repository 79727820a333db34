/* SPDX-License-Identifier: MIT */
/* codec/inflate_streams.h: host entry of the inflating kernel on bare device memory, for
 * imgstat-bench and for tests. Ordered by the stream given; nothing waits. */
#ifndef IMGSTAT_KERNELS_CODEC_INFLATE_STREAMS_H
#define IMGSTAT_KERNELS_CODEC_INFLATE_STREAMS_H

#include <cuda_runtime.h>
#include <stdint.h>

/* A deflate stream and its output, in device memory. */
typedef struct DeflatedStream {
    const uint8_t *in; /* on a boundary of 4; nothing behind n_in is read */
    uint32_t n_in;     /* <= 2^28 */
    uint8_t *out;      /* n_out bytes; nothing else is written */
    uint32_t n_out;    /* < 2^31 */
    uint32_t window;   /* largest distance, 2^15 at most */
} DeflatedStream;

/* Decompresses n streams. verdict[i], in device memory, becomes the InflateVerdict
 * (codec/inflate_lanes.h) of stream i: 0 if all of it was used and gave exactly n_out bytes; else
 * the output holds anything. */
cudaError_t cuda_inflate(const DeflatedStream *streams, size_t n, uint32_t *verdict,
                         cudaStream_t stream);

#endif
