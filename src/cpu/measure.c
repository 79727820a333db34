/* SPDX-License-Identifier: MIT */
/* measure.c: the measure slot: images cut into rectangles, each a task of a thread; threads'
 * partial records merged. */
#include "base/search.h"
#include "cpu/reference.h"

#include <stdlib.h>

/* Approximate samples of a rectangle: large enough to hide the cost of a task, small enough that
 * threads finish a band together and that 32-bit counters hold it many times over. A segment has
 * whole pieces. */
enum { TASK_SAMPLES = 1 << 18, SEGMENT_PIXELS = 64 * PIECE };
/* Bytes that a thread fetches for a rectangle: they stay in the cache of a core, beside
 * counters. */
enum { FETCH_BYTES = 1 << 19 };

/* A partial record of more counters than this is not kept per thread: such an image (hundreds of
 * channels of 65,536 bins) is counted by one thread, straight into its record. */
enum { PARTIAL_COUNTERS = 1 << 26 };
/* Counters are emptied into the record before they hold more samples of a channel than this. A task
 * adds at most 2^24: TASK_SAMPLES, and TILE_PIXELS in measure/page_reader.c. So 32 bits
 * are enough: 2^31 + 2^24 < 2^32. */
static const uint64_t PENDING_LIMIT = (uint64_t)1 << 31;

/* Bytes of an image that are counted before the loop for the rest is chosen: the choice costs as
 * much as counting some thousand. */
enum { CHOOSE_FROM = 1 << 14 };

/* ---- Rectangles ---- */

static size_t pixel_bytes(const ImagePro *image)
{
    return (size_t)image->channels * sample_bits(image->sample) / 8;
}

static CpuGrid cpu_grid(const ImagePro *image)
{
    CpuGrid grid = {0};
    if (image->width == 0 || image->height == 0)
        return grid;
    grid.segment = image->width < SEGMENT_PIXELS ? image->width : SEGMENT_PIXELS;
    grid.segments = (image->width - 1) / grid.segment + 1;
    const uint64_t across = (uint64_t)grid.segment * image->channels;
    const uint64_t rows = across < TASK_SAMPLES ? TASK_SAMPLES / across : 1;
    grid.rows = image->height < rows ? image->height : (uint32_t)rows;
    grid.bands = (image->height - 1) / grid.rows + 1;
    return grid;
}

CpuGrid cpu_source_grid(const PixelSource *source, const ImagePro *image)
{
    CpuGrid grid = cpu_grid(image);
    if (image->host || grid.bands == 0)
        return grid;
    const size_t fit = FETCH_BYTES / (image->width * pixel_bytes(image));
    if (source->tile_width) {
        grid.segment = source->tile_width;
        grid.rows = source->tile_height;
    } else if (fit < grid.rows) {
        grid.rows = fit > 0 ? (uint32_t)fit : 1;
    }
    grid.segments = (image->width - 1) / grid.segment + 1;
    grid.bands = (image->height - 1) / grid.rows + 1;
    return grid;
}

CpuRect cpu_rect(const ImagePro *image, const CpuGrid *grid, size_t task)
{
    CpuRect rect = {.image = image};
    rect.y0 = (uint32_t)(task / grid->segments) * grid->rows;
    rect.x0 = (uint32_t)(task % grid->segments) * grid->segment;
    rect.y1 = image->height - rect.y0 < grid->rows ? image->height : rect.y0 + grid->rows;
    rect.x1 = image->width - rect.x0 < grid->segment ? image->width : rect.x0 + grid->segment;
    return rect;
}

bool cpu_rect_fetch(const PixelSource *source, unsigned thread, CpuRect *rect, ImagePro *rows)
{
    const ImagePro *image = rect->image;
    if (image->host)
        return true;
    const uint32_t n = rect->y1 - rect->y0;
    const void *pixels;
    *rows = *image;
    rows->first_row += rect->y0;
    if (source->tile_width) {
        pixels = source->tile(source->context, thread, rect->x0, rect->y0, &rows->pitch);
        *rect = (CpuRect){.image = rows, .y1 = n, .x1 = rect->x1 - rect->x0, .left = rect->x0};
    } else {
        pixels = source->rows(source->context, thread, rect->y0, n);
        *rect = (CpuRect){.image = rows, .y1 = n, .x0 = rect->x0, .x1 = rect->x1};
    }
    rows->host = (void *)(uintptr_t)pixels; /* only read */
    rows->height = n;
    return pixels != NULL;
}

ImgstatResult cpu_check_image(const ImagePro *image, ImgstatError *err)
{
    if (image->memory != IMGSTAT_HOST && image->memory != IMGSTAT_PINNED)
        return error_set(err, IMGSTAT_ERR_ARG, "the CPU cannot read an image in device memory");
    if (!image->host && image->width > 0 && image->height > 0)
        return error_set(err, IMGSTAT_ERR_ARG, "the image has no pixels");
    return IMGSTAT_OK;
}

ImgstatResult cpu_check_source(const PixelSource *source, ImgstatError *err)
{
    if (source->rows || source->tile_width)
        return source->n == 1 ? IMGSTAT_OK
                              : error_set(err, IMGSTAT_ERR_ARG, "rows of one image are fetched");
    for (size_t i = 0; i < source->n; i++)
        IMGSTAT_TRY(cpu_check_image(&source->images[i], err));
    return IMGSTAT_OK;
}

/* ---- Records ---- */

/* One call of measure. */
typedef struct Plan {
    CpuDevice *device;
    const PixelSource *source;
    const ImagePro *images; /* those of the source */
    const DeviceRecord *records;
    size_t n;
    uint64_t *first_task; /* n + 1; image i has tasks [first_task[i], first_task[i + 1]) */
} Plan;

static Tally *record_tally(const DeviceRecord *record)
{
    return (Tally *)(uintptr_t)record->mem.address;
}

/* NULL where the record has none. */
static uint64_t *record_bins(const DeviceRecord *record)
{
    if (!record_parts_bins(record->sample, record->parts))
        return NULL;
    return (uint64_t *)(void *)(record_tally(record) + record->channels);
}

static CpuCounting counting_of(const Plan *plan, size_t i)
{
    return cpu_counting(&plan->images[i], plan->records[i].parts);
}

static bool is_direct(const Plan *plan, size_t i)
{
    return cpu_counters(&plan->images[i], counting_of(plan, i)) > PARTIAL_COUNTERS;
}

/* Moves counters of raw samples, or of keys' leading bits, into bins. Of wide types only those
 * between the extrema of the tally have counts. low: NULL, or the table of 8-bit counters that
 * belongs to them. */
static void flush_counts(uint32_t *counts, uint8_t *low, const Tally *tally, ImgstatSample sample,
                         uint64_t *bins)
{
    enum { SOME = 16 };
    const bool in_order = sample != IMGSTAT_F16; /* bins in the order of counters */
    const bool narrow = sample_is_narrow(sample);
    const uint32_t flip = narrow ? (uint32_t)sample_key(sample, 0) : 0;
    const uint8_t none[SOME] = {0};
    uint32_t i = 0, end = sample_record_bins(sample);
    if (!narrow && tally->n == 0)
        return;
    if (!narrow) {
        const unsigned shift = sample_bits(sample) - 16;
        i = (uint32_t)(tally->min_key >> shift) & ~(SOME - 1u);
        end = (uint32_t)(tally->max_key >> shift) + 1;
    }
    for (; i < end; i += SOME) {
        const uint8_t *const more = low ? low + i : none;
        uint32_t sum[SOME], any = 0;
        for (uint32_t k = 0; k < SOME; k++) {
            sum[k] = counts[i + k] + more[k];
            any |= sum[k];
        }
        if (any == 0)
            continue;
        for (uint32_t k = 0; in_order && k < SOME; k++)
            bins[(i ^ flip) + k] += sum[k];
        for (uint32_t k = 0; !in_order && k < SOME; k++)
            bins[sample_key(sample, i + k)] += sum[k];
        memset(counts + i, 0, SOME * sizeof *counts);
        if (low)
            memset(low + i, 0, SOME);
    }
}

/* Moves a table of 8-bit counters into 32-bit ones. */
static void flush_low(uint8_t *low, uint32_t *wide)
{
    enum { LINE = 64 };
    for (size_t i = 0; i < 65536; i += LINE) {
        uint64_t eight[LINE / 8], any = 0;
        memcpy(eight, low + i, LINE);
        for (unsigned k = 0; k < LINE / 8; k++)
            any |= eight[k];
        if (any == 0)
            continue;
        for (size_t k = i; k < i + LINE; k++)
            wide[k] += low[k];
        memset(low + i, 0, LINE);
    }
}

/* Moves a table of pairs into the counters of their first and second bytes. */
static void flush_pairs(uint32_t *row, uint32_t *first, uint32_t *second)
{
    for (unsigned high = 0; high < 256; high++, row += 256) {
        uint32_t sum = 0;
        for (unsigned low = 0; low < 256; low++)
            sum += row[low];
        if (sum == 0)
            continue;
        for (unsigned low = 0; low < 256; low++)
            first[low] += row[low];
        second[high] += sum;
        memset(row, 0, 256 * sizeof *row);
    }
}

/* Collects the counts of bytes in the first table of each channel. No counter exceeds the pixels
 * pending. */
static void flush_bytes(const LoopBytes *counters, unsigned channels, unsigned tables)
{
    for (unsigned t = 0; counters->pairs && t < loop_pair_tables(channels); t++)
        flush_pairs(counters->pairs + t * (size_t)COUNTERS32_STRIDE,
                    counters->bytes + 2 * t % channels * BYTE_COUNTERS, /* little-endian */
                    counters->bytes + (2 * t + 1) % channels * BYTE_COUNTERS);
    for (unsigned c = 0; c < channels; c++) {
        uint32_t *const first = counters->bytes + c * (size_t)BYTE_COUNTERS;
        for (unsigned t = 1; t < tables; t++) {
            uint32_t *const other = first + t * (size_t)BYTE_STRIDE;
            for (unsigned i = 0; i < 256; i++)
                first[i] += other[i];
            memset(other, 0, 256 * sizeof *other);
        }
    }
}

/* Collects the counts of words in the first 8-bit table of each channel and in its 32-bit one. */
static void flush_words(const LoopWords *counters, unsigned channels, unsigned tables)
{
    for (unsigned c = 0; c < channels; c++) {
        uint8_t *const first = counters->low + c * (size_t)COUNTERS8_TABLES * COUNTERS8_STRIDE;
        for (unsigned t = 1; t < tables; t++)
            flush_low(first + t * (size_t)COUNTERS8_STRIDE,
                      counters->wide + c * (size_t)COUNTERS32_STRIDE);
    }
}

/* Counts all samples of a tally as minima or maxima: COUNT_EXTREMA. */
static void count_extrema(const Tally *tally, uint64_t *bins)
{
    if (tally->n == 0)
        return;
    bins[tally->min_key]++;
    bins[tally->max_key] += tally->n - 1;
}

/* Merges the partial record of a thread into its record. */
static void flush(const Plan *plan, CpuThread *thread)
{
    if (thread->owner == SIZE_MAX)
        return;
    const DeviceRecord *record = &plan->records[thread->owner];
    const CpuCounting counting = counting_of(plan, thread->owner);
    const uint32_t n = sample_record_bins(record->sample);
    const bool in_bytes = counting == COUNT_BYTES || counting == COUNT_PAIRS;
    const size_t stride = in_bytes ? BYTE_COUNTERS : COUNTERS32_STRIDE;
    Tally *tally = record_tally(record);
    uint64_t *bins = record_bins(record);
    uint32_t *const counts = thread->counts;
    uint8_t *low = NULL;

    extrema_end(thread->extrema, &plan->images[thread->owner], thread->tally);
    for (uint16_t c = 0; c < record->channels; c++)
        tally_end(&thread->tally[c]);
    if (in_bytes) {
        const LoopBytes bytes = cpu_byte_counters(counts, record->channels, counting);
        flush_bytes(&bytes, record->channels, thread->choice.tables);
    } else if (counting == COUNT_WORDS || counting == COUNT_LEADING) {
        const LoopWords words = cpu_word_counters(counts, record->channels);
        flush_words(&words, record->channels, thread->choice.tables);
        low = words.low;
    }
    pthread_mutex_lock(&plan->device->lock);
    for (uint16_t c = 0; c < record->channels; c++)
        tally_merge(&tally[c], &thread->tally[c]);
    for (uint16_t c = 0; counting == COUNT_EXTREMA && c < record->channels; c++)
        count_extrema(&thread->tally[c], bins + (size_t)c * n);
    for (uint16_t c = 0; bins && counting != COUNT_EXTREMA && c < record->channels; c++)
        flush_counts(counts + c * stride,
                     low ? low + c * (size_t)COUNTERS8_TABLES * COUNTERS8_STRIDE : NULL,
                     &thread->tally[c], record->sample, bins + (size_t)c * n);
    pthread_mutex_unlock(&plan->device->lock);
    thread->owner = SIZE_MAX;
}

static void start_partial(CpuThread *thread, size_t owner, uint16_t channels)
{
    for (uint16_t c = 0; c < channels; c++)
        tally_begin(&thread->tally[c]);
    extrema_begin(thread->extrema, channels);
    thread->owner = owner;
    thread->pending = 0;
    thread->choice = (LoopChoice){.left = CHOOSE_FROM};
}

/* Sums of floats are normalized after each task: it has fewer than 2^30 terms. */
static void normalize(ImgstatSample sample, Tally *tally, uint16_t channels)
{
    if (sample_is_narrow(sample) || !sample_is_float(sample))
        return;
    for (uint16_t c = 0; c < channels; c++) {
        exact_normalize(&tally[c].fsum);
        exact_normalize(&tally[c].fsum2);
    }
}

static void measure_task(void *context, size_t task, unsigned number)
{
    const Plan *plan = context;
    CpuThread *thread = &plan->device->thread[number];
    const size_t i =
        first_above(plan->first_task, sizeof *plan->first_task, (uint32_t)plan->n, task) - 1;
    const ImagePro *image = &plan->images[i];
    const CpuGrid grid = cpu_source_grid(plan->source, image);
    CpuRect rect = cpu_rect(image, &grid, task - plan->first_task[i]);
    ImagePro rows;
    const uint64_t pixels = (uint64_t)(rect.y1 - rect.y0) * (rect.x1 - rect.x0);

    if (!cpu_rect_fetch(plan->source, number, &rect, &rows))
        return;
    if (thread->owner != i || thread->pending + pixels > PENDING_LIMIT) {
        flush(plan, thread);
        start_partial(thread, i, image->channels);
    }
    thread->pending += pixels;
    cpu_measure_rect(plan->device->loops, thread, &rect, counting_of(plan, i));
    if (rect.image != image ||
        grid.segments > 1) /* otherwise the pixels stay in memory, and bands follow */
        extrema_end(thread->extrema, image, thread->tally);
    normalize(image->sample, thread->tally, image->channels);
}

/* Uses the tallies of a thread even here, since their extrema start at identities. */
static void measure_direct(const Plan *plan, size_t i)
{
    const ImagePro *image = &plan->images[i];
    const DeviceRecord *record = &plan->records[i];
    CpuThread *thread = &plan->device->thread[0];
    const CpuGrid grid = cpu_source_grid(plan->source, image);
    const size_t tasks = (size_t)grid.segments * grid.bands;

    start_partial(thread, i, image->channels);
    for (size_t task = 0; task < tasks; task++) {
        CpuRect rect = cpu_rect(image, &grid, task);
        ImagePro rows;
        if (!cpu_rect_fetch(plan->source, 0, &rect, &rows))
            continue;
        reference_measure(&rect, thread->tally, record_bins(record));
        normalize(image->sample, thread->tally, image->channels);
    }
    for (uint16_t c = 0; c < image->channels; c++) {
        tally_end(&thread->tally[c]);
        tally_merge(&record_tally(record)[c], &thread->tally[c]);
    }
    thread->owner = SIZE_MAX;
}

static ImgstatResult check_record(const ImagePro *image, const DeviceRecord *record,
                                  ImgstatError *err)
{
    if (record->sample != image->sample || record->channels != image->channels ||
        record->mem.bytes < record_bytes(record->sample, record->channels, record->parts) ||
        !record->mem.address)
        return error_set(err, IMGSTAT_ERR_ARG, "the record is not one for the image measured");
    return IMGSTAT_OK;
}

/* Reserves memory for the partial records of every thread. Counters are zero between calls. */
static ImgstatResult reserve(CpuDevice *device, const Plan *plan, ImgstatError *err)
{
    size_t tallies = 0, counters = 0;
    for (size_t i = 0; i < plan->n; i++) {
        const uint16_t channels = plan->images[i].channels;
        const size_t own =
            is_direct(plan, i) ? 0 : cpu_counters(&plan->images[i], counting_of(plan, i));
        tallies = channels > tallies ? channels : tallies;
        counters = own > counters ? own : counters;
    }
    const size_t bytes = tallies * (sizeof(Tally) + sizeof(CpuExtrema));
    const size_t all = counters * sizeof(uint32_t);
    for (unsigned t = 0; t < thread_pool_threads(device->pool); t++) {
        device->thread[t].tally = cpu_memory_reserve(&device->tallies[t], bytes);
        device->thread[t].counts = cpu_memory_reserve(&device->counts[t], all);
        if (!device->thread[t].tally || !device->thread[t].counts)
            return error_memory(err, bytes + all, "partial records");
        device->thread[t].extrema = (CpuExtrema *)(void *)(device->thread[t].tally + tallies);
    }
    return IMGSTAT_OK;
}

/* Measures every channel of the images. */
static ImgstatResult measure_each(CpuDevice *device, const PixelSource *source,
                                  const DeviceRecord *records, ImgstatError *err)
{
    const size_t n = source->n;
    Plan plan = {
        .device = device, .source = source, .images = source->images, .records = records, .n = n};
    if (n >= UINT32_MAX)
        return error_set(err, IMGSTAT_ERR_ARG, "too many images in one call");
    IMGSTAT_TRY(cpu_check_source(source, err));
    for (size_t i = 0; i < n; i++)
        IMGSTAT_TRY(check_record(&plan.images[i], &records[i], err));
    plan.first_task = cpu_memory_reserve(&device->plan, (n + 1) * sizeof(uint64_t));
    if (!plan.first_task)
        return error_memory(err, (n + 1) * sizeof(uint64_t), "the list of images");
    IMGSTAT_TRY(reserve(device, &plan, err));

    size_t tasks = 0;
    for (size_t i = 0; i < n; i++) {
        const CpuGrid grid = cpu_source_grid(source, &plan.images[i]);
        plan.first_task[i] = tasks;
        if (is_direct(&plan, i))
            measure_direct(&plan, i);
        else
            tasks += (size_t)grid.segments * grid.bands;
    }
    plan.first_task[n] = tasks;
    const ImgstatResult res = cpu_run(device, tasks, measure_task, &plan, err);
    for (unsigned t = 0; t < thread_pool_threads(device->pool); t++)
        flush(&plan, &device->thread[t]);
    return res;
}

typedef struct LumaMeasure {
    CpuDevice *device;
    const DeviceRecord *record;
} LumaMeasure;

static ImgstatResult measure_luma(void *context, const ImagePro *luma, ImgstatError *err)
{
    const LumaMeasure *const m = context;
    const PixelSource source = pixels_of(luma);
    return measure_each(m->device, &source, m->record, err);
}

ImgstatResult cpu_measure(Device *base, const PixelSource *source, PixelView view,
                          const DeviceRecord *records, ImgstatError *err)
{
    CpuDevice *const device = (CpuDevice *)base;
    if (view.channels == VIEW_EACH)
        return measure_each(device, source, records, err);
    if (view.channels != VIEW_LUMA)
        return error_set(err, IMGSTAT_ERR_ARG, "channels are joined once they are measured");
    for (size_t i = 0; i < source->n; i++) {
        LumaMeasure m = {.device = device, .record = &records[i]};
        IMGSTAT_TRY(cpu_check_image(&source->images[i], err));
        IMGSTAT_TRY(cpu_luma_bands(base, &source->images[i], measure_luma, &m, err));
    }
    return IMGSTAT_OK;
}
