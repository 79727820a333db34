/* SPDX-License-Identifier: MIT */
/* fuzz_tiff: the TIFF decoder on any bytes. */
#include "decode_twice.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!tiff_codec.probe(data, size))
        return -1; /* nothing to learn from it */
    decode_twice(&tiff_codec, data, size, false);
    decode_twice(&tiff_codec, data, size, true);
    return 0;
}
