/* SPDX-License-Identifier: MIT */
/* fuzz_png_transform: any bytes as a PNG file that is measured and transformed into PNG or TIFF,
 * with the checksums of its chunks put right. Two bytes behind the last chunk choose how, or else
 * two of the header's checksum. */
#include "measure_transform.h"
#include "png_checksums.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { HEADER_END = 33 };
    static const uint8_t end[] = {0xAE, 0x42, 0x60, 0x82};
    if (!png_codec.probe(data, size) || size < HEADER_END)
        return -1; /* nothing to learn from it */
    const size_t at = memcmp(data + size - sizeof end, end, sizeof end) == 0 ? HEADER_END : size;
    const unsigned choice = data[at - 2] | (unsigned)data[at - 1] << 8;
    uint8_t *const corrected = malloc(size);
    if (!corrected)
        return 0;
    memcpy(corrected, data, size);
    correct_checksums(corrected, size);
    measure_and_transform(corrected, size, choice, choice >> 4 & 1 ? "tif" : "png");
    free(corrected);
    return 0;
}
