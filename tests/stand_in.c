/* SPDX-License-Identifier: MIT */
/* stand_in.c: a module of GPUs that are none: the processor does the work of each, so that what is
 * dealt to several GPUs, and what becomes of it if one fails, is tested without any. The
 * environment says what they do: IMGSTAT_STAND_IN_GPUS is their number (2), and
 * IMGSTAT_STAND_IN_MEMORY the MiB that each seems to have (64); IMGSTAT_STAND_IN_MEET
 * that the first work of each waits, 20 s at most, until so many of them have work;
 * IMGSTAT_STAND_IN_FAULT, "1:3", that cuda:1 is lost in its third call that works ("1:0": when it
 * is opened), or several such faults with blanks between; IMGSTAT_STAND_IN_LOG names a file that
 * gets a line when a GPU is closed: its name, the calls that worked, and the images that these have
 * decoded. IMGSTAT_STAND_IN_STEP is what becomes of the n-th call of all that can fail, those for
 * memory and copies included: "memory 5" or "memory 5+", it lacks memory, once or from there on, or
 * "lost 5+"; IMGSTAT_STAND_IN_STEPS names a file that gets their number. When the last one is
 * closed, all are as new. They decode images by zlib and by the arithmetic of the kernels;
 * IMGSTAT_STAND_IN_DOUBT is the part of them, "3" for every third, that they doubt. */
#include "codec/decode_work.h"
#include "device/module.h"

#include "helper_plain_device.h"
#include "rows_in_c.h"
#include "tiles_in_c.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { GPUS_MOST = 100, OPEN_MOST = 1000, MEET_SECONDS = 20, MEMORY_MIB = 64 };

IMGSTAT_API const DeviceModule *imgstat_device_module(void);

typedef struct StandIn {
    const Device *device;
    int gpu;
    size_t calls, images;
} StandIn;

static DeviceOps ops;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static StandIn open_devices[OPEN_MOST];
static size_t calls_of[GPUS_MOST]; /* all devices on a GPU share it, and its faults */
static bool lost[GPUS_MOST];
static size_t n_open, n_steps;
static int working; /* GPUs that have had work, or could not be opened */

static int number_of(const char *variable, int otherwise)
{
    const char *const text = getenv(variable);
    return text ? atoi(text) : otherwise;
}

static uint64_t memory_bytes(void)
{
    return (uint64_t)number_of("IMGSTAT_STAND_IN_MEMORY", MEMORY_MIB) << 20;
}

/* The call of a GPU that fails; -1: none does. */
static long fault_of(int gpu)
{
    const char *at = getenv("IMGSTAT_STAND_IN_FAULT");
    while (at && *at) {
        char *end;
        const long which = strtol(at, &end, 10);
        const long call = *end == ':' ? strtol(end + 1, &end, 10) : -1;
        if (which == gpu)
            return call;
        at = *end == ' ' ? end + 1 : NULL;
    }
    return -1;
}

static ImgstatResult fail(int gpu, ImgstatError *err)
{
    return error_set(err, IMGSTAT_ERR_DEVICE, "cuda:%d: it was unplugged", gpu);
}

static StandIn *find(const Device *device)
{
    for (size_t i = 0; i < OPEN_MOST; i++)
        if (open_devices[i].device == device)
            return &open_devices[i];
    abort();
}

/* Waits for others to have work. The lock is held. */
static void meet(int wanted)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += MEET_SECONDS;
    pthread_cond_broadcast(&changed);
    while (working < wanted && pthread_cond_timedwait(&changed, &lock, &until) == 0) {
    }
}

/* First in every call that can fail. */
static ImgstatResult step(const Device *device, ImgstatError *err)
{
    const char *const text = getenv("IMGSTAT_STAND_IN_STEP");
    char what[8], more = '\0';
    size_t at = 0;
    pthread_mutex_lock(&lock);
    const size_t n = ++n_steps;
    const int gpu = find(device)->gpu;
    pthread_mutex_unlock(&lock);
    if (!text || sscanf(text, "%7s %zu%c", what, &at, &more) < 2 || n < at ||
        (n > at && more != '+'))
        return IMGSTAT_OK;
    if (strcmp(what, "lost") == 0)
        return fail(gpu, err);
    return error_set(err, IMGSTAT_ERR_MEMORY, "cuda:%d: out of device memory", gpu);
}

/* First in every call that works. */
static ImgstatResult work(const Device *device, ImgstatError *err)
{
    IMGSTAT_TRY(step(device, err));
    pthread_mutex_lock(&lock);
    StandIn *const own = find(device);
    const int gpu = own->gpu;
    const long fault = fault_of(gpu);
    working += calls_of[gpu]++ == 0;
    meet(number_of("IMGSTAT_STAND_IN_MEET", 0));
    lost[gpu] = lost[gpu] || (fault > 0 && calls_of[gpu] >= (size_t)fault);
    const bool fails = lost[gpu];
    find(device)->calls += !fails;
    pthread_mutex_unlock(&lock);
    return fails ? fail(gpu, err) : IMGSTAT_OK;
}

static size_t list_gpus(ImgstatDeviceInfo *info, size_t capacity)
{
    const int n = number_of("IMGSTAT_STAND_IN_GPUS", 2);
    for (int i = 0; i < n && (size_t)i < capacity; i++) {
        info[i] = (ImgstatDeviceInfo){.memory_bytes = memory_bytes()};
        snprintf(info[i].name, sizeof info[i].name, "cuda:%u", (unsigned char)i);
        snprintf(info[i].description, sizeof info[i].description, "a stand-in");
    }
    return (size_t)n;
}

static ImgstatResult open_gpu(int index, unsigned threads, Device **out, ImgstatError *err)
{
    *out = NULL;
    const int n = number_of("IMGSTAT_STAND_IN_GPUS", 2);
    if (index >= n || index >= GPUS_MOST)
        return error_set(
            err, IMGSTAT_ERR_DEVICE,
            n == 0 ? "no CUDA device: no stand-in" : "cuda:%d: there is no such stand-in", index);
    if (fault_of(index) == 0) {
        pthread_mutex_lock(&lock);
        working += calls_of[index]++ == 0;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
        return fail(index, err);
    }
    IMGSTAT_TRY(cpu_device_ops.open(0, threads, out, err));
    (*out)->ops = &ops;
    (*out)->info.memory_bytes = memory_bytes();
    snprintf((*out)->info.name, sizeof(*out)->info.name, "cuda:%u", (unsigned char)index);
    pthread_mutex_lock(&lock);
    *find(NULL) = (StandIn){.device = *out, .gpu = index};
    n_open++;
    pthread_mutex_unlock(&lock);
    return IMGSTAT_OK;
}

static void write_steps(void)
{
    const char *const path = getenv("IMGSTAT_STAND_IN_STEPS");
    FILE *const file = path ? fopen(path, "w") : NULL;
    if (file) {
        fprintf(file, "%zu\n", n_steps);
        fclose(file);
    }
    n_steps = 0;
}

static void close_gpu(Device *device)
{
    const char *const path = getenv("IMGSTAT_STAND_IN_LOG");
    pthread_mutex_lock(&lock);
    StandIn *const own = find(device);
    FILE *const log = path ? fopen(path, "a") : NULL;
    if (log) {
        fprintf(log, "cuda:%d %zu %zu\n", own->gpu, own->calls, own->images);
        fclose(log);
    }
    *own = (StandIn){0};
    if (--n_open == 0) {
        write_steps();
        memset(calls_of, 0, sizeof calls_of);
        memset(lost, 0, sizeof lost);
        working = 0;
    }
    pthread_mutex_unlock(&lock);
    cpu_device_ops.close(device);
}

/* ---- Memory ---- */

static ImgstatResult alloc(Device *device, size_t bytes, DevMem *out, ImgstatError *err)
{
    *out = (DevMem){0};
    IMGSTAT_TRY(step(device, err));
    return cpu_device_ops.alloc(device, bytes, out, err);
}

static ImgstatResult host_alloc(Device *device, size_t bytes, void **out, ImgstatError *err)
{
    *out = NULL;
    IMGSTAT_TRY(step(device, err));
    return cpu_device_ops.host_alloc(device, bytes, out, err);
}

static ImgstatResult upload(Device *device, DevMem to, size_t offset, const void *from,
                            size_t bytes, ImgstatError *err)
{
    IMGSTAT_TRY(step(device, err));
    return cpu_device_ops.upload(device, to, offset, from, bytes, err);
}

static ImgstatResult download(Device *device, void *to, DevMem from, size_t offset, size_t bytes,
                              ImgstatError *err)
{
    IMGSTAT_TRY(step(device, err));
    return cpu_device_ops.download(device, to, from, offset, bytes, err);
}

static ImgstatResult wait_for(Device *device, void *stream, ImgstatError *err)
{
    IMGSTAT_TRY(step(device, err));
    return cpu_device_ops.wait(device, stream, err);
}

/* ---- Pixels ---- */

/* An image in the memory of a stand-in, which is the processor's. */
static ImagePro on_host(const ImagePro *image)
{
    ImagePro host = *image;
    if (image->memory == IMGSTAT_CUDA)
        host.host = (void *)(uintptr_t)image->device.address;
    host.memory = IMGSTAT_HOST;
    host.device_id = 0;
    host.device.address = 0;
    return host;
}

static ImgstatResult measure(Device *device, const PixelSource *source, PixelView view,
                             const DeviceRecord *records, ImgstatError *err)
{
    IMGSTAT_TRY(work(device, err));
    for (size_t i = 0; i < source->n; i++) {
        const ImagePro image = on_host(&source->images[i]);
        const PixelSource one = pixels_of(&image);
        IMGSTAT_TRY(cpu_device_ops.measure(device, &one, view, &records[i], err));
    }
    return IMGSTAT_OK;
}

static ImgstatResult further_read(Device *device, const PixelSource *source, PixelView view,
                                  const ReadRequest *request, ImgstatError *err)
{
    IMGSTAT_TRY(work(device, err));
    for (size_t i = 0; i < source->n; i++) {
        const ImagePro image = on_host(&source->images[i]);
        const PixelSource one = pixels_of(&image);
        IMGSTAT_TRY(cpu_device_ops.read(device, &one, view, request, err));
    }
    return IMGSTAT_OK;
}

static ImgstatResult sort_begin(Device *device, ImgstatSample sample, uint64_t n, bool *sorts,
                                ImgstatError *err)
{
    *sorts = false;
    IMGSTAT_TRY(step(device, err));
    return cpu_device_ops.sort_begin(device, sample, n, sorts, err);
}

static ImgstatResult apply(Device *device, const ImgstatTransfer *transfer, const ImagePro *from,
                           int16_t alpha, ImagePro *to, ImgstatError *err)
{
    IMGSTAT_TRY(work(device, err));
    const ImagePro image = on_host(from);
    ImagePro mapped = on_host(to);
    return cpu_device_ops.apply(device, transfer, &image, alpha, &mapped, err);
}

static ImgstatResult clahe_read(Device *device, ClahePage *page, const ImagePro *band,
                                ImgstatError *err)
{
    IMGSTAT_TRY(work(device, err));
    const ImagePro image = on_host(band);
    return cpu_device_ops.clahe_read(device, page, &image, err);
}

static ImgstatResult clahe_finish(Device *device, ClahePage *page, ImgstatError *err)
{
    IMGSTAT_TRY(step(device, err));
    return cpu_device_ops.clahe_finish(device, page, err);
}

static ImgstatResult clahe_apply(Device *device, const ClahePage *page, const ImagePro *from,
                                 ImagePro *to, ImgstatError *err)
{
    IMGSTAT_TRY(work(device, err));
    const ImagePro image = on_host(from);
    ImagePro mapped = on_host(to);
    return cpu_device_ops.clahe_apply(device, page, &image, &mapped, err);
}

static ImgstatResult measure_async(Device *device, void *stream, const ImagePro *first,
                                   const DeviceSeries *series, const DeviceRecord *record,
                                   DevMem scratch, ImgstatError *err)
{
    IMGSTAT_TRY(work(device, err));
    const ImagePro host = on_host(first);
    return cpu_device_ops.measure_async(device, stream, &host, series, record, scratch, err);
}

static ImgstatResult transform_async(DeviceTransform *transform, void *stream, const ImagePro *from,
                                     ImagePro *to, const DeviceSeries *series, ImgstatError *err)
{
    const ImagePro image = on_host(from);
    ImagePro mapped = on_host(to);
    return cpu_device_ops.transform_async(transform, stream, &image, &mapped, series, err);
}

/* ---- Files ---- */

static ImgstatResult encode_async(Device *device, void *stream, const struct DeviceEncode *call,
                                  const DeviceCopies *copies, ImgstatError *err)
{
    IMGSTAT_TRY(step(device, err));
    return plain_encode(device, stream, call, copies, err);
}

static ImgstatResult decode_async(Device *device, void *stream, const struct DecodeWork *what,
                                  DevMem there, DevMem checks, ImgstatError *err)
{
    (void)stream;
    (void)there;
    DeflatedCheck *const check = (DeflatedCheck *)(uintptr_t)checks.address;
    const size_t doubts = (size_t)number_of("IMGSTAT_STAND_IN_DOUBT", 0);
    if (what->n_rows + what->n_pages == 0)
        return IMGSTAT_OK;
    IMGSTAT_TRY(work(device, err));
    for (size_t i = 0; i < what->n_rows; i++)
        check[i].doubt =
            (doubts && i % doubts == 0) || !rows_decode(&what->rows[i]) ? DOUBT_STREAM : 0;
    DeflatedCheck *const of_page = check + what->n_rows;
    tiles_upload(what);
    for (size_t i = 0; i < what->n_pages; i++)
        of_page[i].doubt = doubts && i % doubts == 0 ? DOUBT_STREAM : 0;
    for (size_t i = 0; i < what->n_tiles; i++)
        if (!tile_decode(&what->pages[what->tiles[i].page], &what->tiles[i]))
            of_page[what->tiles[i].page].doubt = DOUBT_STREAM;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < what->n_rows + what->n_pages; i++)
        find(device)->images += check[i].doubt == 0;
    pthread_mutex_unlock(&lock);
    return IMGSTAT_OK;
}

static void fill_table(void)
{
    ops = cpu_device_ops;
    ops.name = "cuda";
    ops.fetches = false;
    ops.list = list_gpus;
    ops.open = open_gpu;
    ops.close = close_gpu;
    ops.alloc = alloc;
    ops.host_alloc = host_alloc;
    ops.upload = upload;
    ops.download = download;
    ops.wait = wait_for;
    ops.measure = measure;
    ops.read = further_read;
    ops.sort_begin = sort_begin;
    ops.apply = apply;
    ops.clahe_read = clahe_read;
    ops.clahe_finish = clahe_finish;
    ops.clahe_apply = clahe_apply;
    ops.measure_async = measure_async;
    ops.transform_async = transform_async;
    ops.decode_async = decode_async;
    ops.encode_async = encode_async;
}

const DeviceModule *imgstat_device_module(void)
{
    static const DeviceModule module = {DEVICE_MODULE_INTERFACE, IMGSTAT_VERSION, &ops};
    pthread_once(&once, fill_table);
    return &module;
}
