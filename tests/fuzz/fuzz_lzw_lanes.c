/* SPDX-License-Identifier: MIT */
/* fuzz_lzw_lanes: the arithmetic of the kernels of LZW and PackBits on any bytes: nothing beside
 * input and output, and where LZW is right, the bytes of the processor's decoder. The first bytes
 * say how much output there should be. */
#include "codec/lzw_lanes.h"
#include "codec/packbits_lanes.h"
#include "tiff/lzw.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD = 3 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static LzwLanes shared;
    static Lzw *lzw;
    if (size < HEAD)
        return -1;
    if (!lzw)
        lzw = lzw_create();
    const uint32_t bytes = (uint32_t)(size - HEAD);
    const uint32_t n = 1 + ((uint32_t)data[0] << 8 | data[1]), row = 1 + data[2];
    uint8_t *const in = malloc(bytes + !bytes), *const out = malloc(n);
    uint8_t *const padded = calloc(1, bytes + LZW_SPARE), *const expected = malloc(n);
    if (!in || !out || !padded || !expected || !lzw)
        abort();
    memcpy(in, data + HEAD, bytes);
    memcpy(padded, in, bytes);
    const LzwCall call = {in, bytes, out, n};
    if (lzw_by_lanes(&shared, &call) == LZW_RIGHT &&
        (!lzw_decode(lzw, padded, bytes, expected, n) || memcmp(out, expected, n) != 0))
        abort();
    (void)packbits_by_lanes(in, bytes, out, n - n % row, row);
    free(in);
    free(out);
    free(padded);
    free(expected);
    return 0;
}
