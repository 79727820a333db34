/* SPDX-License-Identifier: MIT */
/* cpu_measure.c: the measure slot: images cut into tasks, threads' partial records merged. */
#include "cpu_reference.h"

#include <stdlib.h>

/* A partial record of more counters than this is not kept per thread: such an image (hundreds of
 * channels of 65,536 bins) is counted by one thread, straight into its record. */
enum { PARTIAL_COUNTERS = 1 << 25 };
/* Counters are emptied into the record before they hold this many samples of a channel; a task
 * adds at most CPU_TASK_PIXELS, so 32 bits are enough. */
static const uint64_t PENDING_LIMIT = (uint64_t)1 << 31;

/* One call of measure. */
typedef struct Plan {
    CpuDevice *device;
    const ImagePro *images;
    const DeviceRecord *records;
    size_t n;
    size_t *first_task; /* n + 1; image i has tasks [first_task[i], first_task[i + 1]) */
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

/* Counters of a partial record; 0 where it has none. */
static size_t partial_counters(const DeviceRecord *record)
{
    if (!record_parts_bins(record->sample, record->parts))
        return 0;
    return (size_t)record->channels * sample_record_bins(record->sample);
}

static bool is_direct(const DeviceRecord *record)
{
    return partial_counters(record) > PARTIAL_COUNTERS;
}

/* Empties one channel's counters into the bins. */
static void flush_counts(ImgstatSample sample, uint32_t *counts, uint64_t *bins)
{
    const uint32_t n = sample_record_bins(sample);
    const bool narrow = sample_is_narrow(sample);
    for (uint32_t i = 0; i < n; i++) {
        if (counts[i])
            bins[narrow ? sample_key(sample, i) : i] += counts[i];
    }
    memset(counts, 0, n * sizeof *counts);
}

/* Merges the partial record of a thread into the record it belongs to. */
static void flush(const Plan *plan, CpuThread *thread)
{
    if (thread->owner == SIZE_MAX)
        return;
    const DeviceRecord *record = &plan->records[thread->owner];
    Tally *tally = record_tally(record);
    uint64_t *bins = record_bins(record);
    const size_t stride = sample_record_bins(record->sample);

    for (uint16_t c = 0; c < record->channels; c++)
        tally_end(&thread->tally[c]);
    pthread_mutex_lock(&plan->device->lock);
    for (uint16_t c = 0; c < record->channels; c++)
        tally_merge(&tally[c], &thread->tally[c]);
    if (bins) {
        for (uint16_t c = 0; c < record->channels; c++)
            flush_counts(record->sample, thread->counts + c * stride, bins + c * stride);
    }
    pthread_mutex_unlock(&plan->device->lock);
    thread->owner = SIZE_MAX;
}

static void adopt(CpuThread *thread, size_t owner, uint16_t channels)
{
    for (uint16_t c = 0; c < channels; c++)
        tally_begin(&thread->tally[c]);
    thread->owner = owner;
    thread->pending = 0;
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

static size_t image_of_task(const Plan *plan, size_t task)
{
    size_t low = 0, high = plan->n; /* first_task[low] <= task < first_task[high] */
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (plan->first_task[middle] <= task)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void measure_task(void *context, size_t task, unsigned number)
{
    const Plan *plan = context;
    CpuThread *thread = &plan->device->thread[number];
    const size_t i = image_of_task(plan, task);
    const ImagePro *image = &plan->images[i];
    const CpuGrid grid = cpu_grid(image);
    const CpuRect rect = cpu_rect(image, &grid, task - plan->first_task[i]);
    const uint64_t pixels = (uint64_t)(rect.y1 - rect.y0) * (rect.x1 - rect.x0);

    if (thread->owner != i || thread->pending + pixels > PENDING_LIMIT) {
        flush(plan, thread);
        adopt(thread, i, image->channels);
    }
    thread->pending += pixels;
    cpu_measure_rect(plan->device, thread, &rect, record_bins(&plan->records[i]) != NULL);
    normalize(image->sample, thread->tally, image->channels);
}

/* The tallies of a thread are used even here: their extrema have identities. */
static void measure_direct(const Plan *plan, size_t i)
{
    const ImagePro *image = &plan->images[i];
    const DeviceRecord *record = &plan->records[i];
    CpuThread *thread = &plan->device->thread[0];
    const CpuGrid grid = cpu_grid(image);
    const size_t tasks = (size_t)grid.segments * grid.bands;

    adopt(thread, i, image->channels);
    for (size_t task = 0; task < tasks; task++) {
        const CpuRect rect = cpu_rect(image, &grid, task);
        reference_measure(&rect, thread->tally, record_bins(record), NULL);
        normalize(image->sample, thread->tally, image->channels);
    }
    for (uint16_t c = 0; c < image->channels; c++) {
        tally_end(&thread->tally[c]);
        tally_merge(&record_tally(record)[c], &thread->tally[c]);
    }
    thread->owner = SIZE_MAX;
}

static ImgstatResult check(const ImagePro *image, const DeviceRecord *record, ImgstatError *err)
{
    IMGSTAT_TRY(cpu_check_image(image, err));
    if (record->sample != image->sample || record->channels != image->channels ||
        record->mem.bytes < record_bytes(record->sample, record->channels, record->parts) ||
        !record->mem.address)
        return error_set(err, IMGSTAT_ERR_ARG, "the record is not one for the image measured");
    return IMGSTAT_OK;
}

/* Memory for the partial records of every thread. Counters are zero between calls. */
static ImgstatResult reserve(CpuDevice *device, const Plan *plan, ImgstatError *err)
{
    size_t tallies = 0, counters = 0;
    for (size_t i = 0; i < plan->n; i++) {
        const DeviceRecord *record = &plan->records[i];
        const size_t own = is_direct(record) ? 0 : partial_counters(record);
        tallies = record->channels > tallies ? record->channels : tallies;
        counters = own > counters ? own : counters;
    }
    const size_t bytes = tallies * sizeof(Tally), all = counters * sizeof(uint32_t);
    for (unsigned t = 0; t < pool_threads(device->pool); t++) {
        device->thread[t].tally = cpu_memory_reserve(&device->tallies[t], bytes);
        device->thread[t].counts = cpu_memory_reserve(&device->counts[t], all);
        if (!device->thread[t].tally || !device->thread[t].counts)
            return error_memory(err, bytes + all, "partial records");
    }
    return IMGSTAT_OK;
}

ImgstatResult cpu_measure(Device *base, const ImagePro *images, const DeviceRecord *records,
                          size_t n, ImgstatError *err)
{
    CpuDevice *device = (CpuDevice *)base;
    Plan plan = {.device = device, .images = images, .records = records, .n = n};

    if (n >= SIZE_MAX / sizeof(size_t))
        return error_set(err, IMGSTAT_ERR_ARG, "too many images in one call");
    for (size_t i = 0; i < n; i++)
        IMGSTAT_TRY(check(&images[i], &records[i], err));
    plan.first_task = cpu_memory_reserve(&device->plan, (n + 1) * sizeof(size_t));
    if (!plan.first_task)
        return error_memory(err, (n + 1) * sizeof(size_t), "the list of images");
    IMGSTAT_TRY(reserve(device, &plan, err));

    size_t tasks = 0;
    for (size_t i = 0; i < n; i++) {
        const CpuGrid grid = cpu_grid(&images[i]);
        plan.first_task[i] = tasks;
        if (is_direct(&records[i]))
            measure_direct(&plan, i);
        else
            tasks += (size_t)grid.segments * grid.bands;
    }
    plan.first_task[n] = tasks;
    pool_run(device->pool, tasks, measure_task, &plan);
    for (unsigned t = 0; t < pool_threads(device->pool); t++)
        flush(&plan, &device->thread[t]);
    return IMGSTAT_OK;
}
