/* SPDX-License-Identifier: MIT */
/* measure.cu: times and rates on a GPU. */
#ifdef __CUDACC__
#include "ladder/measure.h"
#include "ladder/read_all.cuh"

#include <algorithm>
#include <stdio.h>
#include <time.h>

enum { RUNS = 15, ENOUGH_MS = 500 };
static const size_t CEILING_BYTES = (size_t)1 << 30;
static double read_ceiling, copy_ceiling; /* GB/s */

/* The median in milliseconds of RUNS runs, or of as many as take ENOUGH_MS. */
template <typename Work> static cudaError_t time_median(Work work, double *ms)
{
    cudaEvent_t begin, end;
    float times[RUNS] = {0}, all = 0;
    int runs = 0;
    cudaError_t status = cudaEventCreate(&begin);
    if (status == cudaSuccess)
        status = cudaEventCreate(&end);
    for (; status == cudaSuccess && runs < RUNS && all < ENOUGH_MS; runs++) {
        cudaEventRecord(begin);
        status = work();
        cudaEventRecord(end);
        if (status == cudaSuccess)
            status = cudaEventSynchronize(end);
        if (status == cudaSuccess)
            status = cudaEventElapsedTime(&times[runs], begin, end);
        all += times[runs];
    }
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    std::sort(times, times + runs);
    *ms = times[runs / 2];
    return status;
}

static cudaError_t measure_ceilings(void)
{
    unsigned char *in = NULL, *out = NULL;
    double read_ms = 1, copy_ms = 1;
    cudaError_t status = cudaMalloc((void **)&in, CEILING_BYTES);
    if (status == cudaSuccess)
        status = cudaMalloc((void **)&out, CEILING_BYTES);
    if (status == cudaSuccess)
        status = cudaMemset(in, 1, CEILING_BYTES);
    const size_t grid = ladder_grid(read_all, READ_BLOCK, 0, CEILING_BYTES);
    if (status == cudaSuccess)
        status = time_median(
            [&] { return ladder_launch(read_all, grid, READ_BLOCK, in, CEILING_BYTES / 16, out); },
            &read_ms);
    if (status == cudaSuccess)
        status = time_median(
            [&] { return cudaMemcpyAsync(out, in, CEILING_BYTES, cudaMemcpyDeviceToDevice); },
            &copy_ms);
    read_ceiling = (double)CEILING_BYTES / read_ms * 1e-6;
    copy_ceiling = 2 * (double)CEILING_BYTES / copy_ms * 1e-6;
    cudaFree(in);
    cudaFree(out);
    return status;
}

const char *measure_open(void)
{
    int devices = 0;
    const cudaError_t status = cudaGetDeviceCount(&devices);
    return status == cudaSuccess && devices > 0 ? NULL : cudaGetErrorString(status);
}

cudaError_t measure_machine(char *text, size_t size)
{
    cudaDeviceProp device;
    int driver = 0;
    char day[16];
    const time_t now = time(NULL);
    strftime(day, sizeof day, "%Y-%m-%d", gmtime(&now));
    cudaError_t status = cudaGetDeviceProperties(&device, 0);
    if (status == cudaSuccess)
        status = cudaDriverGetVersion(&driver);
    if (status == cudaSuccess)
        status = measure_ceilings();
    if (status == cudaSuccess)
        snprintf(text, size,
                 "%s: %s, %d multiprocessors, CUDA %d.%d; reads at most %.0f GB/s, reads and "
                 "writes at most %.0f GB/s",
                 day, device.name, device.multiProcessorCount, driver / 1000, driver % 1000 / 10,
                 read_ceiling, copy_ceiling);
    return status;
}

void measure_heads(MeasureCells heads)
{
    static const char *const texts[] = {"serial ms",  "GPU ms",   "GB/s",
                                        "of ceiling", "speed-up", ""};
    for (int k = 0; k < MEASURE_CELLS; k++)
        snprintf(heads[k], MEASURE_CELL, "%s", texts[k]);
}

cudaError_t measure_trial(const LadderCase *c, const LadderTrial *trial, MeasureCells cells)
{
    const LadderKindInfo *const kind = &ladder_kinds[c->kind];
    double ms = 1;
    const cudaError_t status = time_median([&] { return ladder_trial_run(c, trial); }, &ms);
    const double bytes = (double)(c->n * kind->sample_bytes) * (kind->writes ? 2 : 1);
    const double rate = bytes / ms * 1e-6;
    snprintf(cells[0], MEASURE_CELL, "%.*f", c->serial_ms < 1 ? 4 : 0, c->serial_ms);
    snprintf(cells[1], MEASURE_CELL, "%.*f", ms < 0.1 ? 4 : ms < 10 ? 3 : 0, ms);
    snprintf(cells[2], MEASURE_CELL, "%.*f", rate < 10 ? 1 : 0, rate);
    snprintf(cells[3], MEASURE_CELL, "%.0f %%",
             100 * rate / (kind->writes ? copy_ceiling : read_ceiling));
    snprintf(cells[4], MEASURE_CELL, "%.*f", c->serial_ms / ms < 10 ? 1 : 0, c->serial_ms / ms);
    cells[5][0] = 0;
    return status;
}

size_t measure_samples(LadderKind kind)
{
    const size_t moved = (size_t)512 << 20; /* bytes: ten times what caches hold */
    return moved / ladder_kinds[kind].sample_bytes / (ladder_kinds[kind].writes ? 2 : 1);
}
#else
typedef int ladder_nothing_to_measure; /* measure_emulated.cc */
#endif
