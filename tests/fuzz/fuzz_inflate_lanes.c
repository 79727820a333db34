/* SPDX-License-Identifier: MIT */
/* fuzz_inflate_lanes: the arithmetic of the inflating kernels against zlib, on any bytes: the same
 * verdict and bytes, from whole streams and from parts of them. The first bytes say how much output
 * there should be. */
#include "codec/inflate_lanes.h"

#include "../deflate_streams.h"
#include "../parted_inflate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD = 4, OUTPUT_MOST = 1 << 17 };

/* Returns how many bytes zlib gives, at most OUTPUT_MOST. */
static size_t output_bytes(const uint8_t *stream, size_t bytes)
{
    static uint8_t out[OUTPUT_MOST];
    z_stream z = {0};
    if (inflateInit2(&z, -15) != Z_OK)
        abort();
    z.next_in = (Bytef *)(uintptr_t)stream;
    z.avail_in = (uInt)bytes;
    z.next_out = out;
    z.avail_out = sizeof out;
    (void)inflate(&z, Z_FINISH);
    const size_t n = z.total_out;
    (void)inflateEnd(&z);
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static InflateLanes shared;
    if (size < HEAD)
        return -1;
    const size_t bytes = size - HEAD;
    size_t n = output_bytes(data + HEAD, bytes), used;
    if (data[0] & 2) /* one byte less than there is */
        n -= n > 0;
    else if (data[0] & 1) /* else as much */
        n = ((size_t)data[1] << 8 | data[2]) + (n & 0xFF);
    uint8_t *const in = malloc(bytes + !bytes), *const out = malloc(n + !n);
    uint8_t *const expected = malloc(n + !n);
    if (!in || !out || !expected)
        abort();
    memcpy(in, data + HEAD, bytes);
    const bool right = stream_inflate(in, bytes, expected, n);
    const InflateCall call = inflate_call(in, (uint32_t)bytes, 0, out, (uint32_t)n, 1 << 15);
    for (unsigned in_parts = 0; in_parts < 2; in_parts++) {
        memset(out, POISON, n);
        const InflateVerdict verdict =
            in_parts ? parted_inflate(&call, &used) : inflate_by_lanes(&shared, &call);
        if (verdict != INFLATE_BAD_BLOCKS &&
            (right != (verdict == INFLATE_RIGHT) || (right && memcmp(out, expected, n) != 0)))
            abort();
    }
    free(in);
    free(out);
    free(expected);
    return 0;
}
