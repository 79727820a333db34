/* SPDX-License-Identifier: MIT */
/* fuzz_tiff_transform: any bytes as a TIFF file that is measured and transformed. Its last two
 * bytes choose how. */
#include "measure_transform.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!tiff_codec.probe(data, size) || size < 8)
        return -1; /* nothing to learn from it */
    measure_and_transform(data, size, data[size - 2] | (unsigned)data[size - 1] << 8, "tif");
    return 0;
}
