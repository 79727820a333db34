/* SPDX-License-Identifier: MIT */
/* device_choice.c: measured constants, and the two sums that they make. */
#include "batch/device_choice.h"
#include "batch/scheduler.h"

#include <string.h>

/* Fitted to the tables that tests/bench/devices.sh gave on an NVIDIA H200 beside 16 processors of
 * an Intel Xeon (docs/benchmarks.md): the right side of the comparison everywhere, or a loss below
 * a tenth; of stats the difference to within 0.2 s where not all results of floats are asked for.
 * Colours of wide samples: likewise beside an H100.
 * Other machines may differ by a factor of two or three, which moves the point from which on a GPU
 * wins, but not the side on which common folders lie. */
static const double cpu_narrow = 1.5e9;   /* bytes a second and thread, u8 and u16 */
static const double cpu_wide = 3.6e9;     /* f32: extrema and sums, or a step of order statistics */
static const double cpu_slow = 0.65e9;    /* f32: mode; powers and bins over a range */
static const double cpu_image = 50e-6;    /* a page, beside its samples */
static const double cuda_open = 0.35;     /* the context and the kernels' code; and leaving them */
static const double cuda_handle = 20e-3;  /* a worker's buffers and streams, one after the other */
static const double cuda_slow = 4e9;      /* what takes the processors long takes the GPU this */
static const double cuda_sorted = 0.35e9; /* f64: mode, which one processor an image finds */
static const double cuda_stage = 8e9;     /* bytes a second and thread into pinned chunks */
static const double cuda_link = 50e9;     /* bytes a second from there to the GPU, or back */
static const double cuda_image = 80e-6;   /* a page: the driver takes one thread at a time */
static const double cuda_read = 450e-6;   /* a read of a wide page: what its thread waits for */
static const double cuda_band = 100e-6;   /* a band: launches and a wait */
static const double cuda_ranks = 5e-3;    /* of a page: sorting, and what is made of them */
static const double band_bytes = 4 << 20;

/* What a processor takes to map a sample. The GPU does all of it in less time than the samples take
 * to come and go. */
static const double sample_table = 0.5e-9;     /* up to 16 bits */
static const double sample_vectors = 2e-9;     /* straight lines and powers of values of 32 bits, */
static const double sample_doubles = 3e-9;     /* lines of doubles, */
static const double sample_powers = 9e-9;      /* powers that become such */
static const double sample_knots = 3e-9;       /* the search of f32 among 65,536 ranks, */
static const double byte_knots = 6.6e-9;       /* and of other wide samples, by their size */
static const double sample_arithmetic = 20e-9; /* straight lines of what doubles do not hold */
static const double sample_curve = 120e-9;     /* and powers */
static const double cpu_written = 1.7e9;       /* bytes a second that are not mapped meanwhile */
static const double pixel_colours = 2.5e-9;    /* a pixel: colours that take over a new luma ... */
static const double pixel_luma = 1e-9;         /* ... which one thread computes, to be measured; */
static const double wide_colours = 20e-9;      /* the same of samples of more than 16 bits, whose */
static const double wide_luma = 7e-9;          /* luma is computed in every read */
static const double byte_ranks = 2.8e-9;       /* ranks of wide samples */
static const double sample_tiles = 1.25e-9;    /* between the tables of four tiles ... */
static const double tiles_alone = 0.4e-9;      /* ... which one thread of a channel makes */
static const double file_bytes = 28 << 20;     /* that a file at work takes beside its page */

/* ---- What headers tell ----------------------------------------------------------------------- */

static TransferShape shape_of(const ImgstatPage *page)
{
    return (TransferShape){.sample = page->sample,
                           .bits = page->bits,
                           .channels = page->channels,
                           .alpha = page->alpha,
                           .rgb = page->channels - (page->alpha >= 0) == 3};
}

static bool is(const CostTask *task, ImgstatTransform transform)
{
    return task->method && task->method->transform == transform;
}

/* Every rank of wide samples, for which their keys are sorted: by parts, in that many samples. */
static bool ranks_all(const CostTask *task)
{
    return is(task, IMGSTAT_EQUALIZE) || is(task, IMGSTAT_MATCH);
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

static double most(double a, double b)
{
    return a > b ? a : b;
}

static double memory_of(const CostTask *task)
{
    return (double)(task->memory ? task->memory : jobs_memory);
}

static bool is_luma(const ImgstatPage *page, const CostTask *task)
{
    const TransferShape shape = shape_of(page);
    if (task->measure)
        return false;
    return task->transfer ? task->transfer->luma
                          : transfer_channels(task->method, &shape) == IMGSTAT_LUMA;
}

/* For ranks, by processors: as often as memory has room for keys. */
static double rank_reads(double samples, const CostTask *task)
{
    enum { SHARE = 128, MOST = 32 };
    return least(most(samples * SHARE / memory_of(task), 1), MOST);
}

/* Of a page of wide samples, beyond the first. */
static double further_reads(const ImgstatPage *page, const CostTask *task)
{
    /* Order statistics are found 16 bits of the key at a time, the first 16 in the first read. */
    const double steps = (double)imgstat_sample_bytes(page->sample) / 2 - 1;
    if (task->measure)
        return task->measure->median || task->measure->n_percentiles > 0 ? steps : 0;
    if (ranks_all(task))
        return 1;
    return is(task, IMGSTAT_PERCENTILE) ? steps : 0;
}

static void add_reads(CostWork *work, const ImgstatPage *page, const CostTask *task, double times)
{
    const ImgstatMeasure *const how = task->measure;
    const size_t size = imgstat_sample_bytes(page->sample);
    const double samples =
        (double)page->width * page->height * (is_luma(page, task) ? 1 : page->channels);
    const double bytes = times * samples * (double)size;
    if (size <= 2) {
        work->narrow_bytes += bytes;
        return;
    }
    const double reads = 1 + further_reads(page, task);
    const double slow = how ? how->mode + (how->shape || how->histogram) : 0;
    work->wide_bytes += bytes * reads;
    work->slow_bytes += bytes * slow;
    work->reads += times * (reads + slow);
    if (ranks_all(task)) {
        work->again_bytes += bytes * (rank_reads(samples, task) - 1);
        work->ranked += times;
    }
    if (how && how->mode && size == 8)
        work->sorted_bytes += bytes;
}

/* ---- Mapping --------------------------------------------------------------------------------- */

static bool has_kind(const CostTask *task, MapKind kind)
{
    return task->transfer && task->transfer->maps[0].kind == kind;
}

static ImgstatSample output_of(const ImgstatPage *page, const CostTask *task)
{
    const TransferShape shape = shape_of(page);
    uint8_t bits;
    return task->transfer ? task->transfer->rescale.to.sample
                          : transfer_output(task->method, &shape, &bits);
}

/* Of a sample, by processors that share them. */
static double map_seconds(const ImgstatPage *page, const CostTask *task)
{
    if (is(task, IMGSTAT_CLAHE))
        return sample_tiles;
    if (imgstat_sample_bytes(page->sample) <= 2)
        return sample_table;
    const ImgstatSample from = page->sample, to = output_of(page, task);
    const bool values =
        !sample_exceeds_double(from) && !sample_exceeds_double(to) && to != IMGSTAT_F16;
    if (ranks_all(task) || has_kind(task, MAP_KNOTS))
        return from == IMGSTAT_F32 && values && sample_bits(to) <= 32
                   ? sample_knots
                   : byte_knots * (double)imgstat_sample_bytes(from);
    const bool power = is(task, IMGSTAT_GAMMA) || has_kind(task, MAP_POWER);
    if (!values)
        return power ? sample_curve : sample_arithmetic;
    if (power && to == IMGSTAT_F64)
        return sample_powers;
    return from == IMGSTAT_F64 ? sample_doubles : sample_vectors;
}

/* Then only the colours of the palette are mapped. */
static bool keeps_indices(const ImgstatPage *page, const CostTask *task)
{
    return strcmp(page->photometric, "palette") == 0 && !is(task, IMGSTAT_CLAHE) &&
           output_of(page, task) == page->sample;
}

static void add_mapping(CostWork *work, const ImgstatPage *page, const CostTask *task, double times)
{
    const double pixels = times * page->width * page->height;
    const double samples = pixels * page->channels;
    const bool luma = is_luma(page, task), tiles = is(task, IMGSTAT_CLAHE);
    const size_t size = imgstat_sample_bytes(page->sample);
    const double luma_seconds = luma ? (size > 2 ? wide_luma : pixel_luma) * pixels : 0;
    if (!task->transfer)
        work->alone += luma_seconds + (tiles ? tiles_alone : 0) * pixels;
    if (!task->transfer && ranks_all(task) && size > 2)
        work->ranks += byte_ranks * (double)size * (luma ? pixels : samples);
    if (keeps_indices(page, task))
        return;
    if (size > 2)
        work->alone += samples * (double)imgstat_sample_bytes(output_of(page, task)) / cpu_written;
    work->mapped_bytes += samples * (double)(size + imgstat_sample_bytes(output_of(page, task)));
    work->mapping += map_seconds(page, task) * (luma ? pixels : samples);
    work->mapping += luma ? (size > 2 ? wide_colours : pixel_colours) * pixels : 0;
    work->mapping += tiles ? luma_seconds : 0; /* again: no plane of it is kept */
}

/* As pipeline_bytes has it, about. */
static double pages_at_once(const ImgstatPage *page, const CostTask *task)
{
    enum { KEPT_SHARE = 4, SORT_SHARE = 8, KEY_BYTES = 16 };
    const double memory = memory_of(task), size = (double)imgstat_sample_bytes(page->sample);
    const double samples = (double)page->width * page->height * page->channels;
    const double sorted = size > 2 && ranks_all(task) ? KEY_BYTES * samples : 0;
    const double held =
        file_bytes + least(sorted, memory / SORT_SHARE) +
        (task->method && size * samples <= memory / KEPT_SHARE ? size * samples : 0);
    return most(memory / held, 1);
}

void cost_add(CostWork *work, const ImgstatPage *page, const CostTask *task, double times)
{
    work->images += times;
    if (task->measure || (task->method && !is(task, IMGSTAT_GAMMA)))
        add_reads(work, page, task, times);
    if (task->measure)
        return;
    const double at_once = pages_at_once(page, task);
    work->at_once = work->at_once > 0 ? least(work->at_once, at_once) : at_once;
    add_mapping(work, page, task, times);
}

/* ---- Sums ------------------------------------------------------------------------------------ */

/* Pages that are worked on at the same time, each by its share of the threads. */
typedef struct Shares {
    double handles, busy, processors;
} Shares;

static Shares shares_of(const CostWork *work, unsigned threads)
{
    const double handles = most(least(work->images, threads), 1);
    const double busy = work->at_once > 0 ? least(handles, work->at_once) : handles;
    return (Shares){handles, busy, threads * busy / handles};
}

double cost_cpu(const CostWork *work, unsigned threads)
{
    const Shares shares = shares_of(work, threads);
    return (work->narrow_bytes / cpu_narrow + (work->wide_bytes + work->again_bytes) / cpu_wide +
            work->slow_bytes / cpu_slow + work->mapping + work->ranks + work->images * cpu_image) /
               shares.processors +
           work->alone / shares.busy;
}

double cost_cuda(const CostWork *work, unsigned threads)
{
    const Shares shares = shares_of(work, threads);
    const double read = work->narrow_bytes + work->wide_bytes + work->slow_bytes;
    const double bytes = read + work->mapped_bytes;
    return cuda_open + shares.handles * cuda_handle + read / (cuda_stage * shares.processors) +
           bytes / cuda_link + work->slow_bytes / cuda_slow + work->images * cuda_image +
           work->reads * cuda_read / threads + bytes / band_bytes * cuda_band +
           work->sorted_bytes / cuda_sorted / shares.handles +
           work->ranked * cuda_ranks / shares.busy;
}
