/* SPDX-License-Identifier: MIT */
/* device_choice.c: adds up the steps of the work, at the cost of each step for a byte of samples.
 * A new step (a codec that runs on both devices, say) is a row of the table and a line in
 * work_add. */
#include "batch/device_choice.h"

#include "base/sample.h"
#include "base/thread_pool.h"
#include "batch/feeding.h"
#include "batch/job.h"
#include "codec/encoder.h"
#include "measure/page_reader.h"
#include "transfer/transfer.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef enum Step { READ, POWERS, RANKS, LUMA, TILES, MAP, MAP_CURVE, STEPS } Step;
typedef enum SampleClass { NARROW, FLOAT32, WIDE, CLASSES } SampleClass;

/* Nanoseconds of one thread for a byte of input samples: at most 16 bits, f32, wider types.
 * Medians of tests/bench/devices.sh on an Intel Xeon (docs/lab). */
static const double ns_a_byte[STEPS][CLASSES] = {
    [READ] = {0.67, 0.28, 0.28},   /* extrema, sums, bins; every further read takes as long */
    [POWERS] = {0, 1.5, 1.5},      /* third and fourth powers, bins over a range */
    [RANKS] = {0, 4.2, 5},         /* sort all samples, then search the ranks */
    [LUMA] = {1.0, 2.3, 2.3},      /* measure luma, rescale colours by it */
    [TILES] = {1.6, 1.6, 1.6},     /* tables of CLAHE and the mapping between them */
    [MAP] = {0.4, 0.7, 0.7},       /* table or line */
    [MAP_CURVE] = {0.4, 0.7, 2.5}, /* power */
};

/* An H200 and an H100 beside the same processors: opening the device and leaving it, a page, and
 * the bus with its launches. Each thread copies samples into pinned memory. */
static const double cuda_open_s = 0.5, cuda_page_s = 100e-6, cuda_byte_s = 0.044e-9;
static const double cuda_copy_s = 0.125e-9; /* of one thread, a byte */

/* Files that a GPU decodes, on an H100: by one thread, decoding PNG, of samples and of the file,
 * and opening it, and decoding tiles or strips; opening the GPU and leaving it, and what that takes
 * longer for each thread that is busy; what one thread brings it, and what it decodes, of samples;
 * a stream that is not decoded in parts. */
static const double png_byte_ns = 1.4, png_coded_ns = 4.5, png_file_ns = 1e5, tile_byte_ns = 1.7;
static const double fed_open_s = 0.65, fed_busy_s = 0.02;
static const double fed_byte_s = 0.12e-9, gpu_byte_s = 0.05e-9, stream_byte_s = 40e-9;

/* Compressing a byte of samples by one thread and by a GPU that decodes files, by default and fast;
 * and what a GPU that decodes bands leaves of that and of decoding. */
static const struct {
    double ns, gpu_ns, band_left;
} packing[][2] = {
    [FED_PNG] = {{2.2, 0.17, 1}, {1.3, 0.12, 1}},
    [FED_TIFF] = {{6.0, 0.09, 0.5}, {2.4, 0.06, 0.4}},
};

/* Bands of tiles: the first one, and what a GPU decodes of samples. */
static const double band_open_s = 0.2, band_byte_s = 0.05e-9;

/* The part of a page's work that only one thread does. */
static const double alone = 0.25;

/* Of many files the headers of this many, evenly spread, stand for all: opening one takes about
 * 50 us. */
enum { HEADERS_MAX = 16 };

static SampleClass class_of(ImgstatSample sample)
{
    if (imgstat_sample_bytes(sample) <= 2)
        return NARROW;
    return sample == IMGSTAT_F32 ? FLOAT32 : WIDE;
}

static bool is_luma(const ImgstatPage *page, const ImgstatWork *work)
{
    const TransferShape shape = {.sample = page->sample,
                                 .bits = page->bits,
                                 .channels = page->channels,
                                 .alpha = page->alpha,
                                 .rgb = page->channels - (page->alpha >= 0) == 3};
    if (work->transfer)
        return work->transfer->luma;
    return work->method && transfer_channels(work->method, &shape) == IMGSTAT_LUMA;
}

void work_add(WorkSum *sum, const ImgstatPage *page, const ImgstatWork *work, bool banded,
              double times)
{
    const SampleClass class = class_of(page->sample);
    const bool wide = class != NARROW;
    /* The leading 16 bits of a key are counted in the first read, 16 more in each further one. */
    const double steps = (double)imgstat_sample_bytes(page->sample) / 2 - 1;
    const double bytes = times * (double)page_bytes(page);
    double reads = 0, mapped = 0, count[STEPS] = {0};
    if (work->measure) {
        const ImgstatMeasure *const how = work->measure;
        reads = 1 + (how->median || how->n_percentiles > 0 ? steps : 0);
        count[POWERS] = wide && (how->shape || how->histogram);
    } else {
        const ImgstatTransform transform = work->method ? work->method->transform : IMGSTAT_STRETCH;
        const bool ranks = transform == IMGSTAT_EQUALIZE || transform == IMGSTAT_MATCH;
        if (work->method && transfer_measures(work->method))
            reads = 1 + (transform == IMGSTAT_PERCENTILE ? steps : ranks && wide);
        count[RANKS] = ranks && wide;
        count[LUMA] = is_luma(page, work);
        count[TILES] = transform == IMGSTAT_CLAHE;
        count[transform == IMGSTAT_GAMMA ? MAP_CURVE : MAP] = transform != IMGSTAT_CLAHE;
        sum->moved_bytes += bytes; /* mapped, in and out */
        mapped = bytes;
    }
    count[READ] = reads;
    for (Step step = READ; step < STEPS; step++)
        sum->cpu_ns += bytes * count[step] * ns_a_byte[step][class];
    const double in = bytes * (reads + count[POWERS]) + mapped;
    sum->moved_bytes += banded ? 0 : in;
    sum->band_bytes += banded ? in : 0;
    sum->band_ns += banded ? bytes * tile_byte_ns : 0;
    sum->pages += times;
}

void work_add_fed(WorkSum *sum, const ImgstatPage *page, double stream, double file, double times)
{
    const double bytes = times * (double)page_bytes(page);
    const bool png = strcmp(page->format, "png") == 0;
    sum->fed_pages += times;
    sum->fed_bytes += bytes;
    sum->stream_bytes = stream > sum->stream_bytes ? stream : sum->stream_bytes;
    sum->code_ns += png ? bytes * png_byte_ns + times * (file * png_coded_ns + png_file_ns)
                        : bytes * tile_byte_ns;
}

void work_add_packed(WorkSum *sum, const ImgstatPage *page, FedOutput to, bool fast, bool banded,
                     double times)
{
    const double bytes = times * (double)page_bytes(page), ns = bytes * packing[to][fast].ns;
    sum->code_ns += banded ? 0 : ns;
    sum->packed_ns += banded ? 0 : bytes * packing[to][fast].gpu_ns;
    sum->band_ns += banded ? ns : 0;
    sum->band_left_ns += banded ? packing[to][fast].band_left * ns : 0;
}

/* Threads that have a page. */
static double busy_threads(const WorkSum *sum, unsigned threads)
{
    return sum->pages < threads ? (sum->pages > 1 ? sum->pages : 1) : threads;
}

double work_seconds_cpu(const WorkSum *sum, unsigned threads)
{
    const double busy = busy_threads(sum, threads);
    return 1e-9 * sum->cpu_ns * (alone / busy + (1 - alone) / threads) +
           1e-9 * sum->code_ns / busy + 1e-9 * sum->band_ns / threads;
}

/* The processor works while the GPU opens, and then beside it. */
static double seconds_fed(const WorkSum *sum, unsigned threads)
{
    const double cpu = work_seconds_cpu(sum, threads);
    const double open = fed_open_s + fed_busy_s * threads + stream_byte_s * sum->stream_bytes;
    const double gpu = sum->fed_bytes * gpu_byte_s + 1e-9 * sum->packed_ns;
    const double brought = sum->fed_bytes * fed_byte_s / threads;
    const double fed = brought > gpu ? brought : gpu, left = 1 - open / cpu;
    return left > 0 ? open + left / (1 / fed + 1 / cpu) : open;
}

double work_seconds_cuda(const WorkSum *sum, unsigned threads)
{
    if (feeding_is_worthwhile(sum->pages, sum->fed_pages, sum->fed_bytes))
        return seconds_fed(sum, threads);
    const double bands = sum->band_bytes > 0 ? band_open_s + sum->band_bytes * band_byte_s +
                                                   1e-9 * sum->band_left_ns / threads
                                             : 0;
    return cuda_open_s + sum->pages * cuda_page_s +
           sum->moved_bytes * (cuda_byte_s + cuda_copy_s / threads) +
           1e-9 * sum->code_ns / busy_threads(sum, threads) + bands;
}

/* ---- The choice ------------------------------------------------------------------------------ */

/* A driver is loaded: seen without loading its library, which alone takes milliseconds. The last
 * file is Windows' under Linux. */
static bool has_driver(void)
{
    return access("/dev/nvidiactl", F_OK) == 0 ||
           access("/proc/driver/nvidia/version", F_OK) == 0 || access("/dev/dxg", F_OK) == 0;
}

/* Whether a GPU that decodes pages also does what follows. */
static bool reads_there(const ImgstatWork *work)
{
    if (work->measure)
        return !work->measure->hash && work->measure->preview == 0;
    return work->together != IMGSTAT_BY_ALL;
}

/* What a GPU that decodes a page then does with it. */
static FedOutput follows_there(const ImgstatJob *job, const ImgstatWork *work, Decoder *decoder)
{
    if (!reads_there(work))
        return FED_NOT;
    if (work->measure)
        return class_of(decoder->page.sample) == NARROW ? FED_MEASURED : FED_NOT;
    const EncodeFormat *const to = feeding_writes(job, work->write, decoder);
    return !to ? FED_NOT : to == &png_format ? FED_PNG : FED_TIFF;
}

/* Whether pages of a file are measured as one, without being written. */
static bool joins_pages(const ImgstatWork *work)
{
    return work->measure &&
           (work->together == IMGSTAT_BY_CHANNEL || work->together == IMGSTAT_BY_FILE);
}

/* Adds the page of an input that is selected, which stands for `times` of them. */
static void add_page(WorkSum *sum, const ImgstatFile *file, const ImgstatJob *job,
                     const ImgstatWork *work, double times)
{
    Decoder *const decoder = file->decoder;
    const ImgstatRegion *const region = work->measure ? &work->measure->region : NULL;
    const ImgstatPage part = feeding_part(decoder, region), *const page = &part;
    const bool banded =
        reads_there(work) && !(region && region->width > 0) && page_reader_tiles_there(decoder);
    const FedOutput to = follows_there(job, work, decoder);
    const bool fed = !banded && to != FED_NOT &&
                     file->n_chosen <= (joins_pages(work) ? 1 : BATCH_PAGES) &&
                     feeding_decodes(decoder);
    work_add(sum, page, work, banded, times);
    if (fed)
        work_add_fed(sum, page, (double)feeding_stream(decoder), (double)decoder->source->bytes,
                     times);
    if ((fed && to == FED_PNG) || ((fed || banded) && to == FED_TIFF))
        work_add_packed(sum, page, to, work->write && work->write->fast, banded, times);
}

/* Adds one input that stands for `stands_for` of them; what cannot be opened counts nothing here:
 * the work itself reports why. */
static void add_input(WorkSum *sum, const ImgstatJob *job, const ImgstatWork *work,
                      const ImgstatOpen *open, double stands_for)
{
    ImgstatOpen how = {.limits = open ? open->limits : (ImgstatLimits){0},
                       .indices = open && open->indices};
    ImgstatFile *file = NULL;
    if (!job_is_readable_again(job))
        return;
    if (job_open(job, &how, NULL, &file, NULL) == IMGSTAT_OK &&
        file_choose(file, job->pages, 0, NULL) == IMGSTAT_OK &&
        imgstat_file_page(file, file->chosen->page, NULL, NULL) == IMGSTAT_OK)
        add_page(sum, file, job, work, stands_for * file->n_chosen);
    imgstat_file_close(file);
}

const char *imgstat_device_choose(const ImgstatJob *jobs, size_t n, const ImgstatWork *work,
                                  const ImgstatOpen *open, unsigned threads, char *why,
                                  size_t why_bytes)
{
    if (!strstr(imgstat_devices_built(), "cuda") || !has_driver()) {
        snprintf(why, why_bytes, "%s",
                 has_driver() ? "this build knows no other" : "no NVIDIA driver is loaded");
        return "cpu";
    }
    WorkSum sum = {0};
    const size_t looked_at = n < HEADERS_MAX ? n : HEADERS_MAX,
                 all = work->jobs > n ? work->jobs : n;
    for (size_t i = 0; i < looked_at; i++)
        add_input(&sum, &jobs[i * n / looked_at], work, open, (double)all / (double)looked_at);
    threads = threads ? threads : thread_pool_processors();
    const double cpu = work_seconds_cpu(&sum, threads), cuda = work_seconds_cuda(&sum, threads);
    const bool codes =
        sum.fed_pages > 0 || sum.band_left_ns > 0 || (sum.band_bytes > 0 && work->measure);
    snprintf(why, why_bytes,
             "%s%.0f page%s should take %.2g s on cpu with %u "
             "thread%s, %.2g s on cuda",
             codes                ? ""
             : sum.band_bytes > 0 ? "beyond encoding, "
                                  : "beyond decoding and encoding, ",
             sum.pages, sum.pages == 1 ? "" : "s", cpu, threads, threads == 1 ? "" : "s", cuda);
    return cuda < cpu ? "cuda" : "cpu";
}
