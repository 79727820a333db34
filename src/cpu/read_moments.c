/* SPDX-License-Identifier: MIT */
/* read_moments.c: power sums about a center, piece by piece (docs/float-sums.md). */
#include "cpu/read.h"
#include "cpu/reference.h"
#include "transfer/map.h"

#include <stdlib.h>

static void add_piece(const CpuLoops *loops, Central *central, const double *d, size_t n)
{
    double sum[4];
    loops->powers(d, n, sum);
    if (!isfinite(sum[0]) || !isfinite(sum[1]) || !isfinite(sum[2]) || !isfinite(sum[3])) {
        central->overflow++;
        return;
    }
    for (int power = 0; power < 4; power++)
        exact_add(&central->power[power], sum[power]);
}

/* Computes the distances of a piece's samples from the center; 0, which adds nothing, for samples
 * that are not valid. */
static void distances(const CpuLoops *loops, const ImagePro *image, uint32_t y, uint32_t x,
                      uint32_t n, uint16_t channel, double center, double *d)
{
    const size_t bytes = sample_bits(image->sample) / 8, stride = bytes * image->channels;
    const unsigned char *at = image_row(image, y) + x * stride + channel * bytes;
    const uint8_t *mask = mask_row(image, y);
    if (!sample_is_narrow(image->sample)) {
        loops->distances(image->sample, at, n, image->channels,
                         image->has_nodata ? &image->nodata_key : NULL, center, d);
        for (uint32_t i = 0; mask && i < n; i++)
            d[i] = mask[x + i] ? d[i] : 0.0;
        return;
    }
    for (uint32_t i = 0; i < n;
         i++, at += stride) { /* bins of narrow types give the same without a read */
        const uint64_t key = sample_key(image->sample, load_raw(at, bytes));
        const bool valid = (!mask || mask[x + i]) && cpu_valid(image, key);
        d[i] = valid ? map_value(image->sample, key) - center : 0.0;
    }
}

void cpu_central_rect(const CpuRead *read, const CpuRect *rect, unsigned thread)
{
    CpuDevice *const device = read->device;
    double *const d = device->thread[thread].scratch;
    const uint16_t first = read->view.first;

    for (uint16_t c = 0; c < read->image->channels; c++) {
        Central part = {0};
        for (uint32_t y = rect->y0; y < rect->y1; y++) {
            for (uint32_t x = rect->x0, n; x < rect->x1; x += n) {
                n = rect->x1 - x < PIECE ? rect->x1 - x : PIECE;
                distances(device->loops, rect->image, y, x, n, c, read->request->center[first + c],
                          d);
                add_piece(device->loops, &part, d, n);
            }
        }
        pthread_mutex_lock(&device->lock);
        central_merge(&read->request->central[first + c], &part);
        pthread_mutex_unlock(&device->lock);
    }
}
