/* SPDX-License-Identifier: MIT */
/* cost.c: measured constants, and the two sums that they make. */
#include "cost.h"

/* Fitted to the table that tests/bench/devices.sh gave on an NVIDIA H200 beside 16 processors of an
 * Intel Xeon (docs/benchmarks.md): the right side of the comparison everywhere, the difference to
 * within 0.2 s where not all results of floats are asked for. Other machines may differ by a factor
 * of two or three, which moves the point from which on a GPU wins, but not the side on which common
 * folders lie. */
static const double cpu_narrow = 1.5e9;   /* bytes a second and thread, u8 and u16 */
static const double cpu_wide = 3.6e9;     /* f32: extrema and sums, or a step of order statistics */
static const double cpu_slow = 0.65e9;    /* f32: mode; powers and bins over a range */
static const double cpu_image = 50e-6;    /* a page, beside its samples */
static const double cuda_open = 0.35;     /* the context and the kernels' code; and leaving them */
static const double cuda_handle = 20e-3;  /* a worker's buffers and streams, one after the other */
static const double cuda_slow = 4e9;      /* what takes the processors long takes the GPU this */
static const double cuda_sorted = 0.35e9; /* f64: mode, which one processor an image finds */
static const double cuda_stage = 8e9;     /* bytes a second and thread into pinned chunks */
static const double cuda_link = 50e9;     /* bytes a second from there to the GPU */
static const double cuda_image = 80e-6;   /* a page: the driver takes one thread at a time */
static const double cuda_read = 450e-6;   /* a read of a wide page: what its thread waits for */
static const double cuda_band = 100e-6;   /* a band: launches and a wait */
static const double band_bytes = 4 << 20;

void cost_add(CostWork *work, const ImgstatPage *page, const ImgstatMeasure *how)
{
    const double bytes = (double)page->width * page->height * page->channels *
                         (double)imgstat_sample_bytes(page->sample);
    work->images += 1;
    if (imgstat_sample_bytes(page->sample) <= 2) {
        work->narrow_bytes += bytes;
        return;
    }
    /* Order statistics are found 16 bits of the key at a time, the first 16 in the first read. */
    const double steps = (double)imgstat_sample_bytes(page->sample) / 2 - 1;
    const bool ranks = how->median || how->n_percentiles > 0;
    work->wide_bytes += bytes * (ranks ? 1 + steps : 1);
    work->slow_bytes += bytes * (how->mode + (how->shape || how->histogram));
    work->reads += (ranks ? 1 + steps : 1) + how->mode + (how->shape || how->histogram);
    if (how->mode && imgstat_sample_bytes(page->sample) == 8)
        work->sorted_bytes += bytes;
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

double cost_cpu(const CostWork *work, unsigned threads)
{
    return (work->narrow_bytes / cpu_narrow + work->wide_bytes / cpu_wide +
            work->slow_bytes / cpu_slow + work->images * cpu_image) /
           threads;
}

double cost_cuda(const CostWork *work, unsigned threads)
{
    const double bytes = work->narrow_bytes + work->wide_bytes + work->slow_bytes;
    const double handles = least(work->images, threads), sorted = work->sorted_bytes / cuda_sorted;
    return cuda_open + handles * cuda_handle + bytes / (cuda_stage * threads) + bytes / cuda_link +
           work->slow_bytes / cuda_slow + work->images * cuda_image +
           work->reads * cuda_read / threads + bytes / band_bytes * cuda_band +
           (sorted > 0 ? sorted / handles : 0);
}
