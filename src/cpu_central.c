/* SPDX-License-Identifier: MIT */
/* cpu_central.c: power sums about a center, piece by piece (docs/float-sums.md). */
#include "cpu_reference.h"

#include <stdlib.h>

typedef struct Read {
    CpuDevice *device;
    const ImagePro *image;
    CpuGrid grid;
    const double *center;
    Central *out;
} Read;

/* Sums of the powers 1 to 4 of d, in the tree of a piece. */
static void power_sums(const double *d, size_t n, double out[4])
{
    double lane[4][PIECE_LANES] = {{0}};
    for (size_t i = 0; i < n; i++) {
        const size_t l = i % PIECE_LANES;
        const double square = d[i] * d[i];
        lane[0][l] += d[i];
        lane[1][l] += square;
        lane[2][l] += square * d[i];
        lane[3][l] += square * square;
    }
    for (int power = 0; power < 4; power++) {
        for (int h = PIECE_LANES / 2; h > 0; h /= 2) {
            for (int l = 0; l < h; l++)
                lane[power][l] += lane[power][l + h];
        }
        out[power] = lane[power][0];
    }
}

static void add_piece(Central *central, const double *d, size_t n)
{
    double sum[4];
    power_sums(d, n, sum);
    if (!isfinite(sum[0]) || !isfinite(sum[1]) || !isfinite(sum[2]) || !isfinite(sum[3])) {
        central->overflow++;
        return;
    }
    for (int power = 0; power < 4; power++)
        exact_add(&central->power[power], sum[power]);
}

/* Distances of a piece's samples from the center; 0 adds nothing, for those that are not valid. */
static void distances(const ImagePro *image, uint32_t y, uint32_t x, uint32_t n, uint16_t channel,
                      double center, double *d)
{
    const size_t bytes = sample_bits(image->sample) / 8, stride = bytes * image->channels;
    const unsigned char *at = image_row(image, y) + x * stride + channel * bytes;
    const uint8_t *mask = cpu_mask_row(image, y);
    for (uint32_t i = 0; i < n; i++, at += stride) {
        const uint64_t key = sample_key(image->sample, cpu_load(at, bytes));
        const bool valid = (!mask || mask[x + i]) && cpu_valid(image, key);
        d[i] = valid ? cpu_double(image->sample, key) - center : 0.0;
    }
}

static void central_merge(Central *into, Central *from)
{
    for (int power = 0; power < 4; power++) {
        exact_normalize(&from->power[power]);
        exact_merge(&into->power[power], &from->power[power]);
    }
    into->overflow += from->overflow;
}

static void central_task(void *context, size_t task, unsigned thread)
{
    const Read *read = context;
    CpuDevice *device = read->device;
    const CpuRect rect = cpu_rect(read->image, &read->grid, task);
    double *d = device->thread[thread].scratch;

    for (uint16_t c = 0; c < read->image->channels; c++) {
        Central part = {0};
        for (uint32_t y = rect.y0; y < rect.y1; y++) {
            for (uint32_t x = rect.x0, n; x < rect.x1; x += n) {
                n = rect.x1 - x < PIECE ? rect.x1 - x : PIECE;
                distances(read->image, y, x, n, c, read->center[c], d);
                add_piece(&part, d, n);
            }
        }
        pthread_mutex_lock(&device->lock);
        central_merge(&read->out[c], &part);
        pthread_mutex_unlock(&device->lock);
    }
}

ImgstatResult cpu_central(Device *device, const ImagePro *image, const double *center, Central *out,
                          ImgstatError *err)
{
    IMGSTAT_TRY(cpu_check_image(image, err));
    Read read = {.device = (CpuDevice *)device,
                 .image = image,
                 .grid = cpu_grid(image),
                 .center = center,
                 .out = out};
    const size_t tasks = (size_t)read.grid.segments * read.grid.bands;
    pool_run(read.device->pool, tasks, central_task, &read);
    return IMGSTAT_OK;
}
