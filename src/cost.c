/* SPDX-License-Identifier: MIT */
/* cost.c: measured constants, and the two sums that they make. */
#include "cost.h"

/* Medians of an NVIDIA H200 beside 16 cores of an Intel Xeon (Sapphire Rapids), PCIe 5, driver 580,
 * taken by tests/bench/devices.sh and bench_cpu; docs/benchmarks.md has the table. Other machines
 * differ by a factor of two or three, which moves the point from which on the GPU wins but not
 * which side of it common folders lie on. */
static const double cpu_narrow = 4.0e9; /* bytes a second and thread: u8 and u16, smooth */
static const double cpu_wide = 1.5e9;   /* likewise, f32, one of several reads */
static const double cpu_image = 30e-6;  /* a page, beside its samples */
static const double cuda_open = 0.30;   /* the context and the kernels' code */
static const double cuda_handle = 3e-3; /* a worker's streams and buffers; one after the other */
static const double cuda_stage = 8e9;   /* bytes a second and thread, from the band to the chunk */
static const double cuda_link = 50e9;   /* bytes a second, pinned host memory to the device */
static const double cuda_image =
    200e-6; /* a page: launches, copies, waits; the driver has one lock */
static const double cuda_band = 100e-6; /* 4 MiB of samples: launches and a wait */
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
    double reads = 1;
    if (how->median || how->n_percentiles > 0)
        reads += steps;
    if (how->mode)
        reads += 1;
    if (how->shape || how->histogram)
        reads += 1; /* one read gives both */
    work->wide_bytes += bytes * reads;
}

double cost_cpu(const CostWork *work, unsigned threads)
{
    return (work->narrow_bytes / cpu_narrow + work->wide_bytes / cpu_wide +
            work->images * cpu_image) /
           threads;
}

double cost_cuda(const CostWork *work, unsigned threads)
{
    const double bytes = work->narrow_bytes + work->wide_bytes;
    const double handles = work->images < threads ? work->images : threads;
    return cuda_open + handles * cuda_handle + bytes / (cuda_stage * threads) + bytes / cuda_link +
           work->images * cuda_image + bytes / band_bytes * cuda_band;
}
