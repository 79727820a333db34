/* SPDX-License-Identifier: MIT */
/* fuzz_png: the PNG decoder on any bytes. Every input is tried as it is and with the checksums of
 * its chunks put right, as nothing else gets past them. */
#include "decode_twice.h"
#include "png_checksums.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!png_codec.probe(data, size))
        return -1; /* nothing to learn from it */
    decode_twice(&png_codec, data, size, false);
    uint8_t *const corrected = malloc(size);
    if (!corrected)
        return 0;
    memcpy(corrected, data, size);
    correct_checksums(corrected, size);
    decode_twice(&png_codec, corrected, size, false);
    decode_twice(&png_codec, corrected, size, true);
    free(corrected);
    return 0;
}
