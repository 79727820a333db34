/* SPDX-License-Identifier: MIT */
/* fuzz_tiff_transform: any bytes as a TIFF file that is measured and transformed into TIFF or PNG.
 * Its last two bytes choose how. */
#include "measure_transform.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!tiff_codec.probe(data, size) || size < 8)
        return -1; /* nothing to learn from it */
    const unsigned choice = data[size - 2] | (unsigned)data[size - 1] << 8;
    measure_and_transform(data, size, choice, (choice >> 8 & 7) == 7 ? "png" : "tif");
    return 0;
}
