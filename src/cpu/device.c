/* SPDX-License-Identifier: MIT */
/* device.c: the CPU as a device: opening, memory, and its table of operations. */
#define _GNU_SOURCE
#include "base/system_pages.h"
#include "cpu/reference.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

/* Alignment of host memory: a cache line and the widest vector. */
enum { CPU_ALIGN = 64 };

static void *aligned(void *memory)
{
    return (void *)(((uintptr_t)memory + CPU_ALIGN - 1) / CPU_ALIGN * CPU_ALIGN);
}

/* From calloc, which need not touch pages that are not used. */
void *cpu_memory_reserve(CpuMemory *memory, size_t bytes)
{
    if (memory->memory && memory->bytes >= bytes)
        return aligned(memory->memory);
    if (bytes > SIZE_MAX - CPU_ALIGN)
        return NULL;
    void *fresh = calloc(1, bytes + CPU_ALIGN);
    if (!fresh)
        return NULL;
    free(memory->memory);
    memory->memory = fresh;
    memory->bytes = bytes;
    return aligned(fresh);
}

static void cpu_memory_release(CpuMemory *memory)
{
    free(memory->memory);
    *memory = (CpuMemory){0};
}

typedef struct Run {
    const Cancel *cancel;
    void (*work)(void *context, size_t task, unsigned thread);
    void *context;
    atomic_bool ended;
} Run;

static void run_task(void *context, size_t task, unsigned thread)
{
    Run *const run = context;
    if (atomic_load_explicit(&run->ended, memory_order_relaxed))
        return;
    if (run->cancel->check && run->cancel->check(run->cancel->context))
        atomic_store(&run->ended, true);
    else
        run->work(run->context, task, thread);
}

ImgstatResult cpu_run(CpuDevice *device, size_t tasks,
                      void (*work)(void *context, size_t task, unsigned thread), void *context,
                      ImgstatError *err)
{
    Run run = {.cancel = &device->base.cancel, .work = work, .context = context};
    thread_pool_run(device->pool, tasks, run_task, &run);
    return atomic_load(&run.ended) ? cancel_report(err) : IMGSTAT_OK;
}

static void cpu_model(char *out, size_t bytes)
{
    char text[49] = "";
#if defined(__x86_64__) || defined(__i386__)
    unsigned word[12];
    if ((unsigned)__get_cpuid_max(0x80000000u, NULL) >= 0x80000004u) {
        for (unsigned i = 0; i < 3; i++)
            __get_cpuid(0x80000002u + i, &word[4 * i], &word[4 * i + 1], &word[4 * i + 2],
                        &word[4 * i + 3]);
        memcpy(text, word, 48);
    }
#endif
    const char *from = text + strspn(text, " ");
    size_t n = strlen(from);
    while (n > 0 && from[n - 1] == ' ')
        n--;
    snprintf(out, bytes, "%.*s", n ? (int)n : 3, n ? from : "CPU");
}

static uint64_t physical_memory(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
}

static void fill_info(ImgstatDeviceInfo *out, unsigned threads, CpuLevel level)
{
    char model[50];
    memset(out, 0, sizeof *out);
    cpu_model(model, sizeof model);
    snprintf(out->name, sizeof out->name, "cpu");
    snprintf(out->description, sizeof out->description, "%s, %u thread%s, %s", model, threads,
             threads == 1 ? "" : "s", cpu_features_level_names[level]);
    out->memory_bytes = physical_memory();
}

static size_t cpu_list(ImgstatDeviceInfo *info, size_t capacity)
{
    ThreadPool *pool;
    CpuLevel level;
    if (capacity == 0)
        return 1;
    (void)cpu_features_choose(&level, NULL);
    if (thread_pool_create(0, &pool, NULL) != IMGSTAT_OK)
        pool = NULL;
    fill_info(info, pool ? thread_pool_threads(pool) : 1, level);
    thread_pool_destroy(pool);
    return 1;
}

static void cpu_close(Device *base)
{
    CpuDevice *device = (CpuDevice *)base;
    if (!device)
        return;
    for (unsigned t = 0; t < device->threads; t++) {
        cpu_memory_release(&device->tallies[t]);
        cpu_memory_release(&device->counts[t]);
        free(device->thread[t].scratch);
    }
    free(device->plan.memory);
    free(device->tallies);
    free(device->counts);
    free(device->thread);
    thread_pool_destroy(device->pool);
    pthread_mutex_destroy(&device->lock);
    free(device);
}

static ImgstatResult cpu_open(int index, unsigned threads, Device **out, ImgstatError *err)
{
    *out = NULL;
    if (index != 0)
        return error_set(err, IMGSTAT_ERR_DEVICE, "cpu:%d: there is one CPU device, cpu", index);
    CpuLevel level;
    IMGSTAT_TRY(cpu_features_choose(&level, err));
    CpuDevice *device = calloc(1, sizeof *device);
    if (!device)
        return error_memory(err, sizeof *device, "a device");
    device->base.ops = &cpu_device_ops;
    device->level = level;
    device->loops = cpu_loops_of(level);
    if (pthread_mutex_init(&device->lock, NULL) != 0) {
        free(device);
        return error_memory(err, sizeof device->lock, "a lock");
    }
    ImgstatResult res = thread_pool_create(threads, &device->pool, err);
    if (res == IMGSTAT_OK) {
        const unsigned n = thread_pool_threads(device->pool);
        fill_info(&device->base.info, n, level);
        device->thread = calloc(n, sizeof *device->thread);
        device->tallies = calloc(n, sizeof *device->tallies);
        device->counts = calloc(n, sizeof *device->counts);
        bool complete = device->thread && device->tallies && device->counts;
        device->threads = complete ? n : 0;
        for (unsigned t = 0; complete && t < n; t++) {
            device->thread[t].owner = SIZE_MAX;
            device->thread[t].scratch = aligned_alloc(CPU_ALIGN, CPU_SCRATCH);
            complete = device->thread[t].scratch != NULL;
        }
        if (!complete)
            res = error_memory(err, n * (size_t)CPU_SCRATCH, "threads");
    }
    if (res != IMGSTAT_OK) {
        cpu_close(&device->base);
        return res;
    }
    *out = &device->base;
    return IMGSTAT_OK;
}

/* What the others had goes back to the system. */
static void cpu_use_threads(Device *base, unsigned threads)
{
    CpuDevice *const device = (CpuDevice *)base;
    thread_pool_use(device->pool, threads);
    for (unsigned t = threads; t < device->threads; t++) {
        cpu_memory_release(&device->tallies[t]);
        cpu_memory_release(&device->counts[t]);
        system_pages_advise(device->thread[t].scratch, CPU_SCRATCH, MADV_DONTNEED);
    }
}

static ImgstatResult cpu_host_alloc(Device *device, size_t bytes, void **out, ImgstatError *err)
{
    *out = buffer_cache_acquire(device->cache, bytes);
    return *out ? IMGSTAT_OK : error_memory(err, bytes, "a host buffer");
}

static void cpu_host_release(Device *device, void *memory)
{
    (void)device;
    buffer_cache_release(memory);
}

static ImgstatResult cpu_alloc(Device *device, size_t bytes, DevMem *out, ImgstatError *err)
{
    *out = (DevMem){0};
    void *memory = buffer_cache_acquire(device->cache, bytes);
    if (!memory)
        return error_memory(err, bytes, "device memory");
    memset(memory, 0, bytes);
    out->address = (uint64_t)(uintptr_t)memory;
    out->bytes = bytes;
    return IMGSTAT_OK;
}

static void cpu_release(Device *device, DevMem *mem)
{
    (void)device;
    if (!mem)
        return;
    buffer_cache_release((void *)(uintptr_t)mem->address);
    *mem = (DevMem){0};
}

static ImgstatResult check_range(DevMem mem, size_t offset, size_t bytes, ImgstatError *err)
{
    if (offset > mem.bytes || bytes > mem.bytes - offset)
        return error_set(err, IMGSTAT_ERR_ARG, "a transfer reaches outside its device memory");
    return IMGSTAT_OK;
}

static ImgstatResult cpu_upload(Device *device, DevMem to, size_t offset, const void *from,
                                size_t bytes, ImgstatError *err)
{
    (void)device;
    IMGSTAT_TRY(check_range(to, offset, bytes, err));
    if (bytes > 0)
        memcpy((unsigned char *)(uintptr_t)to.address + offset, from, bytes);
    return IMGSTAT_OK;
}

static ImgstatResult cpu_download(Device *device, void *to, DevMem from, size_t offset,
                                  size_t bytes, ImgstatError *err)
{
    (void)device;
    IMGSTAT_TRY(check_range(from, offset, bytes, err));
    if (bytes > 0)
        memcpy(to, (const unsigned char *)(uintptr_t)from.address + offset, bytes);
    return IMGSTAT_OK;
}

/* The CPU sorts gathered keys in the memory that its caller offers (measure/quantiles.c). */
static ImgstatResult cpu_sort_begin(Device *device, ImgstatSample sample, uint64_t n, bool *sorts,
                                    ImgstatError *err)
{
    (void)device;
    (void)sample;
    (void)n;
    (void)err;
    *sorts = false;
    return IMGSTAT_OK;
}

static ImgstatResult cpu_sort_end(Device *device, uint64_t *taken, struct RankKnot *runs,
                                  ImgstatError *err)
{
    (void)device;
    (void)taken;
    return runs ? error_set(err, IMGSTAT_ERR_ARG, "no sorting has begun") : IMGSTAT_OK;
}

/* Every call is done when it returns. */
static ImgstatResult cpu_wait(Device *device, void *stream, ImgstatError *err)
{
    (void)device;
    (void)stream;
    (void)err;
    return IMGSTAT_OK;
}

static size_t cpu_async_bytes(ImgstatSample sample, uint16_t channels, size_t n)
{
    (void)sample;
    (void)channels;
    (void)n;
    return 0;
}

static ImgstatResult cpu_measure_async(Device *device, void *stream, const ImagePro *first,
                                       const DeviceSeries *series, const DeviceRecord *record,
                                       DevMem scratch, ImgstatError *err)
{
    (void)stream;
    (void)scratch;
    DeviceRecord to = *record;
    for (size_t i = 0; i < series->n; i++, to.mem.address += to.mem.bytes) {
        const ImagePro image = image_of_series(first, i, series->step);
        const PixelSource source = pixels_of(&image);
        memset((void *)(uintptr_t)to.mem.address, 0, to.mem.bytes);
        IMGSTAT_TRY(cpu_measure(device, &source, (PixelView){.channels = VIEW_EACH}, &to, err));
    }
    return IMGSTAT_OK;
}

/* Leaves all images to the decoders. */
static ImgstatResult cpu_decode_async(Device *device, void *stream, const struct DecodeWork *work,
                                      DevMem there, DevMem checks, ImgstatError *err)
{
    (void)device;
    (void)stream;
    (void)work;
    (void)there;
    (void)err;
    if (checks.bytes > 0)
        memset((void *)(uintptr_t)checks.address, 0xFF, checks.bytes);
    return IMGSTAT_OK;
}

/* Leaves all pieces to the encoders. */
static ImgstatResult cpu_encode_async(Device *device, void *stream, const struct DeviceEncode *call,
                                      const DeviceCopies *copies, ImgstatError *err)
{
    (void)device;
    (void)stream;
    (void)call;
    (void)err;
    for (size_t i = 0; copies && i < copies->n; i++) {
        const DeviceCopy *const c = &copies->list[i];
        for (size_t y = 0; y < c->rows; y++)
            memcpy((char *)c->to + y * c->row_bytes,
                   (const char *)(uintptr_t)c->from + y * c->pitch, c->row_bytes);
    }
    return IMGSTAT_OK;
}

const DeviceOps cpu_device_ops = {
    .name = "cpu",
    .fetches = true,
    .list = cpu_list,
    .open = cpu_open,
    .close = cpu_close,
    .use_threads = cpu_use_threads,
    .alloc = cpu_alloc,
    .release = cpu_release,
    .host_alloc = cpu_host_alloc,
    .host_release = cpu_host_release,
    .upload = cpu_upload,
    .download = cpu_download,
    .wait = cpu_wait,
    .measure = cpu_measure,
    .read = cpu_read,
    .sort_begin = cpu_sort_begin,
    .sort_end = cpu_sort_end,
    .apply = cpu_apply,
    .clahe_read = cpu_clahe_read,
    .clahe_finish = cpu_clahe_finish,
    .clahe_apply = cpu_clahe_apply,
    .async_bytes = cpu_async_bytes,
    .measure_async = cpu_measure_async,
    .transform_create = cpu_transform_create,
    .transform_destroy = cpu_transform_destroy,
    .transform_async = cpu_transform_async,
    .decode_async = cpu_decode_async,
    .encode_async = cpu_encode_async,
};
