/* SPDX-License-Identifier: MIT */
/* any_samples: TIFF's byte orders and predictors undone, in rows of PIXELS pixels of one or two
 * samples, and packed samples of 1 to 64 bits, SAMPLES of them: of any bytes, in memory of exactly
 * their size. */
#include "any.h"

#include "base/byteswap.c"
#include "codec/running_sum.c"
#include "tiff/predictor.c"
#include "tiff/unpack.c"

/* CBMC: --unwind 70 --object-bits 12 -DPIXELS=2 -DSAMPLES=3 */
/* CBMC, full: --unwind 70 --object-bits 12 -DPIXELS=4 -DSAMPLES=9 */

CpuLevel cpu_features_level(void)
{
    return PROCESSOR_PORTABLE;
}

static void undo(uint16_t predictor, unsigned bits, bool swapped)
{
    for (uint16_t step = 1; step <= (predictor == PREDICTOR_NONE ? 1 : 2); step++) {
        const size_t n = PIXELS * step * bits / 8;
        const size_t bytes = predictor == PREDICTOR_FLOATINGPOINT && bits == 16 ? 2 * n : n;
        uint8_t *const rows = malloc(bytes), *scratch = NULL;
        const TiffLayout layout = {.bits = (uint16_t)bits,
                                   .format = SAMPLEFORMAT_IEEEFP,
                                   .predictor = predictor,
                                   .per_tile = step,
                                   .swapped = swapped,
                                   .row_bytes = n};
        demand(tiff_predictor_known(&layout), "a predictor that is not known");
        (void)tiff_predictor_decode(&layout, rows, bytes, &scratch);
    }
}

static void unpack(unsigned bits, bool swapped)
{
    static const ImgstatSample samples[] = {IMGSTAT_U8, IMGSTAT_U16, IMGSTAT_U32, IMGSTAT_U64,
                                            IMGSTAT_I8, IMGSTAT_I16, IMGSTAT_I32, IMGSTAT_I64};
    const unsigned size = bits <= 8 ? 0 : bits <= 16 ? 1 : bits <= 32 ? 2 : 3;
    const TiffLayout layout = {.bits = (uint16_t)bits, .swapped = swapped};
    const uint8_t *const from = malloc((SAMPLES * bits + 7) / 8);
    if (bits <= 4 || bits % 12 == 0) /* of other widths one loop makes both */
        tiff_unpack(&layout, samples[size], from, malloc(SAMPLES << size), SAMPLES);
    tiff_unpack(&layout, samples[size + 4], from, malloc(SAMPLES << size), SAMPLES);
    if (bits == 24)
        tiff_unpack(&layout, IMGSTAT_F32, from, malloc(SAMPLES << size), SAMPLES);
}

void prove(void)
{
    for (unsigned bits = 8; bits <= 64; bits *= 2) {
        undo(PREDICTOR_NONE, bits, bits > 8);
        undo(PREDICTOR_HORIZONTAL, bits, false);
        if (bits > 8)
            undo(PREDICTOR_FLOATINGPOINT, bits, false);
    }
    for (unsigned bits = 1; bits <= 64; bits++)
        unpack(bits, bits == 24);
    unpack(24, false);
}
